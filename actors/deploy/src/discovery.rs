//! Which pods run HAProxy. Pure, but for [`list`]: what the watch delivers goes in, the sorted list of pods comes out.

use haptic_model::{ActiveConfig, HAProxyTemplateConfigSpec, HaproxyPod, ReadyPod};
use k8s_openapi::api::core::v1::Pod;
use kube::{Api, Client, api::ListParams, runtime::watcher::Event};
use std::{
    collections::{BTreeMap, BTreeSet},
    net::IpAddr,
    sync::Arc,
};

/// The pods that a watch has shown, by name.
#[derive(Debug, Default)]
pub struct PodSet {
    pods: BTreeMap<String, HaproxyPod>,
    /// Those of them that are Ready.
    ready: BTreeMap<String, ReadyPod>,
    /// Names seen since a new list began; those not among them are gone when it ends.
    listing: Option<BTreeSet<String>>,
    synced: bool,
}

impl PodSet {
    /// Takes one event of the watch; `port` is where agents listen. During a list pods that are not named yet stay,
    /// so that a broken watch never empties the fleet.
    pub fn take(&mut self, event: Event<Pod>, port: u16) {
        match event {
            Event::Init => self.listing = Some(BTreeSet::new()),
            Event::InitApply(pod) => {
                if let (Some(listing), Some(name)) = (&mut self.listing, &pod.metadata.name) {
                    listing.insert(name.clone());
                }
                self.apply(&pod, port);
            }
            Event::InitDone => {
                if let Some(listing) = self.listing.take() {
                    self.pods.retain(|name, _| listing.contains(name));
                    self.ready.retain(|name, _| listing.contains(name));
                }
                self.synced = true;
            }
            Event::Apply(pod) => self.apply(&pod, port),
            Event::Delete(pod) => {
                let name = pod.metadata.name.unwrap_or_default();
                self.pods.remove(&name);
                self.ready.remove(&name);
            }
        }
    }

    /// Whether a list was read to its end.
    #[must_use]
    pub fn is_synced(&self) -> bool {
        self.synced
    }

    /// The pods, sorted by name.
    #[must_use]
    pub fn pods(&self) -> Vec<HaproxyPod> {
        self.pods.values().cloned().collect()
    }

    /// Those that take traffic, sorted by name.
    #[must_use]
    pub fn ready(&self) -> Vec<ReadyPod> {
        self.ready.values().cloned().collect()
    }

    fn apply(&mut self, pod: &Pod, port: u16) {
        let Some(name) = pod.metadata.name.clone() else { return };
        let found = haproxy_pod(pod, port);
        match reachable_pod(pod, port).filter(|_| is_ready(pod)) {
            Some(reached) => {
                let node = pod.spec.as_ref().and_then(|spec| spec.node_name.as_deref()).map(Arc::from);
                let terminating = is_terminating(pod);
                self.ready.insert(name.clone(), ReadyPod { pod: reached, node, terminating });
            }
            None => _ = self.ready.remove(&name),
        }
        match found {
            Some(found) => self.pods.insert(name, found),
            None => self.pods.remove(&name),
        };
    }
}

/// The label selector of `spec`'s HAProxy pods, as kubectl's `-l`.
#[must_use]
pub fn selector(spec: &HAProxyTemplateConfigSpec) -> String {
    let labels = spec.pod_selector.match_labels.iter();
    labels.map(|(key, value)| format!("{key}={value}")).collect::<Vec<_>>().join(",")
}

/// The pods of `config` as the API server lists them now, sorted by name.
///
/// # Errors
/// What the API server said.
pub async fn list(client: &Client, config: &ActiveConfig) -> Result<Vec<HaproxyPod>, kube::Error> {
    let pods: Api<Pod> = Api::namespaced(client.clone(), &config.namespace);
    let listed = pods.list(&ListParams::default().labels(&selector(&config.spec))).await?;
    let mut pods: Vec<_> =
        listed.iter().filter_map(|pod| haproxy_pod(pod, config.spec.dataplane.port)).collect();
    pods.sort();
    Ok(pods)
}

/// The pod as a target: it has an address and is neither going nor finished. Whether it is Ready does not matter:
/// it becomes Ready by running what we deploy.
#[must_use]
pub fn haproxy_pod(pod: &Pod, port: u16) -> Option<HaproxyPod> {
    reachable_pod(pod, port).filter(|_| !is_terminating(pod))
}

/// The pod with its address, unless it is finished.
fn reachable_pod(pod: &Pod, port: u16) -> Option<HaproxyPod> {
    let status = pod.status.as_ref()?;
    if matches!(status.phase.as_deref(), Some("Succeeded" | "Failed")) {
        return None;
    }
    let text = |field: &Option<String>| field.as_deref().map(Arc::<str>::from);
    let address = status.pod_ip.as_deref()?.parse().ok()?;
    let all = status.pod_ips.iter().flatten().filter_map(|ip| ip.ip.parse().ok());
    let nodes = status.host_ips.iter().flatten().map(|host| &host.ip).chain(&status.host_ip);
    let nodes: BTreeSet<IpAddr> = nodes.filter_map(|ip| ip.parse().ok()).collect();
    let containers = pod.spec.iter().flat_map(|spec| &spec.containers);
    let ports = containers.flat_map(|container| container.ports.iter().flatten());
    Some(HaproxyPod {
        namespace: text(&pod.metadata.namespace)?,
        name: text(&pod.metadata.name)?,
        uid: text(&pod.metadata.uid).unwrap_or_default(),
        address,
        other_addresses: all.filter(|other| *other != address).collect(),
        port,
        node_addresses: nodes.into_iter().collect(),
        host_ports: ports.filter_map(|port| u16::try_from(port.host_port?).ok()).collect(),
    })
}

fn is_terminating(pod: &Pod) -> bool {
    pod.metadata.deletion_timestamp.is_some()
}

fn is_ready(pod: &Pod) -> bool {
    let conditions = pod.status.as_ref().and_then(|status| status.conditions.as_deref()).unwrap_or_default();
    conditions.iter().any(|condition| condition.type_ == "Ready" && condition.status == "True")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn pod(name: &str, phase: &str, ip: Option<&str>) -> Pod {
        serde_json::from_value(json!({
            "metadata": {"namespace": "n", "name": name, "uid": name},
            "status": {"phase": phase, "podIP": ip},
        }))
        .unwrap()
    }

    fn names(set: &PodSet) -> Vec<String> {
        set.pods().iter().map(|pod| pod.name.to_string()).collect()
    }

    #[test]
    fn only_pods_with_an_address_that_are_neither_going_nor_finished_count() {
        assert!(haproxy_pod(&pod("a", "Running", Some("10.0.0.1")), 5555).is_some());
        assert!(haproxy_pod(&pod("a", "Pending", Some("fd99::1")), 5555).is_some());
        assert!(haproxy_pod(&pod("a", "Pending", None), 5555).is_none());
        assert!(haproxy_pod(&pod("a", "Failed", Some("10.0.0.1")), 5555).is_none());
        assert!(haproxy_pod(&pod("a", "Succeeded", Some("10.0.0.1")), 5555).is_none());
        let mut going = pod("a", "Running", Some("10.0.0.1"));
        going.metadata = serde_json::from_value(
            json!({"namespace": "n", "name": "a", "deletionTimestamp": "2026-01-01T00:00:00Z"}),
        )
        .unwrap();
        assert!(haproxy_pod(&going, 5555).is_none());
    }

    #[test]
    fn a_new_list_drops_what_it_does_not_name_and_only_at_its_end() {
        let mut set = PodSet::default();
        for event in [Event::Init, Event::InitApply(pod("a", "Running", Some("10.0.0.1")))] {
            set.take(event, 5555);
        }
        assert!(!set.is_synced());
        set.take(Event::InitDone, 5555);
        set.take(Event::Apply(pod("b", "Running", Some("10.0.0.2"))), 5555);
        assert_eq!(names(&set), ["a", "b"]);
        set.take(Event::Init, 5555);
        set.take(Event::InitApply(pod("b", "Running", Some("10.0.0.2"))), 5555);
        assert_eq!(names(&set), ["a", "b"]);
        set.take(Event::InitDone, 5555);
        assert_eq!(names(&set), ["b"]);
    }

    #[test]
    fn a_pod_that_finishes_is_gone_before_it_is_deleted() {
        let mut set = PodSet::default();
        set.take(Event::Apply(pod("a", "Running", Some("10.0.0.1"))), 5555);
        set.take(Event::Apply(pod("a", "Failed", Some("10.0.0.1"))), 5555);
        assert_eq!(names(&set), Vec::<String>::new());
    }

    #[test]
    fn a_pod_may_have_an_address_of_each_family() {
        let mut both = pod("a", "Running", Some("10.0.0.1"));
        let addresses = json!([{"ip": "10.0.0.1"}, {"ip": "fd99::1"}]);
        both.status.as_mut().unwrap().pod_ips = serde_json::from_value(addresses).unwrap();
        let pod = haproxy_pod(&both, 5555).unwrap();
        assert_eq!(
            (pod.address.to_string(), pod.other_addresses),
            ("10.0.0.1".into(), vec!["fd99::1".parse().unwrap()])
        );
    }

    #[test]
    fn a_pod_is_reached_at_ports_of_its_node() {
        let pod = json!({
            "metadata": {"namespace": "n", "name": "a"},
            "spec": {"containers": [
                {"name": "haproxy", "ports": [{"containerPort": 7080, "hostPort": 80}, {"containerPort": 7084}]},
                {"name": "agent"},
            ]},
            "status": {"podIP": "10.1.0.1", "hostIP": "10.0.0.7", "hostIPs": [{"ip": "10.0.0.7"}, {"ip": "fd00::7"}]},
        });
        let pod = haproxy_pod(&serde_json::from_value(pod).unwrap(), 5555).unwrap();
        assert_eq!(pod.node_addresses, ["10.0.0.7", "fd00::7"].map(|ip| ip.parse::<IpAddr>().unwrap()));
        assert_eq!(pod.host_ports, [80]);
    }

    #[test]
    fn a_pod_takes_traffic_as_long_as_it_is_ready_and_stays_a_pod_when_it_is_not() {
        let mut set = PodSet::default();
        let readiness = |status: &str| {
            let mut pod = pod("a", "Running", Some("10.0.0.1"));
            let status = json!([{"type": "Ready", "status": status}]);
            pod.status.as_mut().unwrap().conditions = serde_json::from_value(status).unwrap();
            pod.spec = serde_json::from_value(json!({"nodeName": "node-1", "containers": []})).unwrap();
            pod
        };
        set.take(Event::Apply(readiness("False")), 5555);
        assert_eq!((names(&set), set.ready().len()), (vec!["a".to_owned()], 0));
        set.take(Event::Apply(readiness("True")), 5555);
        assert_eq!(set.ready()[0].node.as_deref(), Some("node-1"));
        assert_eq!(set.ready()[0].pod, set.pods()[0]);
        set.take(Event::Apply(readiness("False")), 5555);
        assert_eq!((names(&set), set.ready().len()), (vec!["a".to_owned()], 0));
        set.take(Event::Apply(readiness("True")), 5555);
        assert!(!set.ready()[0].terminating);
        let going = |status: &str| {
            let mut pod = readiness(status);
            pod.metadata.deletion_timestamp = serde_json::from_value(json!("2026-01-01T00:00:00Z")).unwrap();
            pod
        };
        set.take(Event::Apply(going("True")), 5555);
        assert!(names(&set).is_empty() && set.ready()[0].terminating, "it serves to its end");
        set.take(Event::Apply(going("False")), 5555);
        assert!(set.ready().is_empty());
        set.take(Event::Apply(readiness("True")), 5555);
        for event in [Event::Init, Event::InitDone] {
            set.take(event, 5555);
        }
        assert!(set.ready().is_empty());
    }

    #[test]
    fn a_pod_with_a_new_address_is_another_pod() {
        let (old, new) = (pod("a", "Running", Some("10.0.0.1")), pod("a", "Running", Some("10.0.0.2")));
        assert_ne!(haproxy_pod(&old, 5555), haproxy_pod(&new, 5555));
    }
}
