//! Services that lead back to HAProxy: their EndpointSlices have ports that HAProxy's own pods listen at. A server at such a Service's
//! address would bring each connection back, until HAProxy has no more to give.
//!
//! Beside the stores there is one of the addresses of these Services. Of EndpointSlices only those that changed are read.

use super::destinations::{Destinations, meanings};
use haptic_model::{
    ActiveConfig, Fleet, HAProxyTemplateConfigSpec, HaproxyPod, Object, ObjectRef, Snapshot, Snapshots,
    store::Key,
};
use serde::Deserialize;
use std::{
    collections::{BTreeMap, BTreeSet, HashMap, HashSet},
    net::IpAddr,
    sync::Arc,
};

/// The name of the store. No watched resource has such a name.
pub(crate) const STORE: &str = "fleet services";

const SERVICE_NAME: &str = "kubernetes.io/service-name";

/// The Services that lead to HAProxy's pods, from one render to the next.
#[derive(Clone, Debug, Default)]
pub(crate) struct FleetServices {
    inputs: Option<FleetInputs>,
    /// The EndpointSlices as they were read, by the name of the watched resource.
    slices: BTreeMap<Arc<str>, Arc<Snapshot>>,
    leading: BTreeMap<Arc<ObjectRef>, LeadingSlice>,
    services: HashMap<Arc<ObjectRef>, ServiceAddresses>,
    addresses: Snapshot,
}

/// The inputs that tell which EndpointSlices lead to HAProxy.
#[derive(Clone, Debug)]
struct FleetInputs {
    spec: Arc<HAProxyTemplateConfigSpec>,
    pods: Vec<HaproxyPod>,
    /// Those of pods and of their nodes.
    addresses: HashSet<IpAddr>,
    nodes: BTreeSet<IpAddr>,
}

/// An EndpointSlice that leads to HAProxy.
#[derive(Clone, Debug)]
struct LeadingSlice {
    namespace: Arc<str>,
    service: String,
    /// The names of its ports that do.
    ports: Vec<String>,
}

/// Where a Service is reached.
#[derive(Clone, Debug)]
struct ServiceAddresses {
    object: Arc<Object>,
    /// Those that the cluster gave it.
    given: Vec<IpAddr>,
    /// Those that whoever wrote it named.
    named: Vec<IpAddr>,
    ports: Vec<NumberedPort>,
}

#[derive(Deserialize)]
struct SliceJson {
    metadata: SliceLabels,
    endpoints: Option<Vec<SliceEndpoint>>,
    ports: Option<Vec<NumberedPort>>,
}

#[derive(Deserialize)]
struct SliceLabels {
    labels: Option<BTreeMap<String, String>>,
}

#[derive(Deserialize)]
struct SliceEndpoint {
    addresses: Vec<String>,
}

/// A port of an EndpointSlice or a Service.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct NumberedPort {
    name: Option<String>,
    port: Option<u64>,
    /// A Service's at every node.
    node_port: Option<u64>,
}

#[derive(Deserialize)]
struct ServiceJson {
    spec: ServiceAddressSpec,
    status: Option<ServiceStatusJson>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ServiceAddressSpec {
    #[serde(rename = "clusterIP")]
    cluster_ip: Option<String>,
    #[serde(rename = "clusterIPs")]
    cluster_ips: Option<Vec<String>>,
    #[serde(rename = "externalIPs")]
    external_ips: Option<Vec<String>>,
    ports: Option<Vec<NumberedPort>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ServiceStatusJson {
    load_balancer: Option<BalancerJson>,
}

#[derive(Deserialize)]
struct BalancerJson {
    ingress: Option<Vec<BalancerAddress>>,
}

#[derive(Deserialize)]
struct BalancerAddress {
    ip: Option<String>,
}

/// The key of a read of the store: the addresses near this one. Pods and Services have networks of their own, so that what becomes of a
/// Service is no news to whoever leads to pods.
#[must_use]
pub(crate) fn key(address: IpAddr) -> Key {
    let network = match address {
        IpAddr::V4(address) => {
            let [a, b, ..] = address.octets();
            format!("{a}.{b}")
        }
        IpAddr::V6(address) => {
            let [a, b, c, ..] = address.segments();
            format!("{a:x}:{b:x}:{c:x}")
        }
    };
    [Arc::from(network)].into()
}

/// Whether the store has that port of that address.
#[must_use]
pub(crate) fn has(store: &Snapshot, address: IpAddr, port: u64) -> bool {
    if store.is_empty() {
        return false;
    }
    let ports = store.get("", &address.to_string());
    let ports: Option<BTreeSet<u64>> =
        ports.and_then(|object| serde_json::from_slice(&object.json.bytes()).ok());
    ports.is_some_and(|ports| ports.contains(&port))
}

impl FleetServices {
    /// `snapshots` with the store of addresses beside them.
    #[must_use]
    pub fn beside(&mut self, config: &ActiveConfig, snapshots: &Snapshots, fleet: &Fleet) -> Snapshots {
        self.start_over_with_other_inputs(config, fleet);
        if !fleet.pods.is_empty() {
            self.read_slices(config, snapshots, fleet);
        }
        let services = config.spec.service_stores().filter_map(|name| snapshots.get(name));
        let services: Vec<&Arc<Snapshot>> = services.filter(|store| !store.is_on_demand()).collect();
        let addresses = self.found(&services);
        self.store(&addresses);
        snapshots.with(STORE.into(), Arc::new(self.addresses.clone()))
    }

    fn start_over_with_other_inputs(&mut self, config: &ActiveConfig, fleet: &Fleet) {
        let is_known =
            |known: &FleetInputs| Arc::ptr_eq(&known.spec, &config.spec) && known.pods == fleet.pods;
        if self.inputs.as_ref().is_some_and(is_known) {
            return;
        }
        let nodes: BTreeSet<IpAddr> =
            fleet.pods.iter().flat_map(|pod| &pod.node_addresses).copied().collect();
        let own = fleet.pods.iter().flat_map(|pod| std::iter::once(&pod.address).chain(&pod.other_addresses));
        let addresses = own.chain(&nodes).flat_map(|address| meanings(*address)).collect();
        self.inputs =
            Some(FleetInputs { spec: config.spec.clone(), pods: fleet.pods.clone(), addresses, nodes });
        self.slices.clear();
        self.leading.clear();
    }

    /// Reads what is different in the stores of EndpointSlices.
    fn read_slices(&mut self, config: &ActiveConfig, snapshots: &Snapshots, fleet: &Fleet) {
        let Self { inputs: Some(inputs), slices, leading, .. } = self else { return };
        let destinations = Destinations::new(&config.spec, fleet);
        let is_own = |address: IpAddr| meanings(address).any(|meant| inputs.addresses.contains(&meant));
        let leads = |address: IpAddr, port| destinations.own_port(address, port).is_some();
        let watched = config.spec.watched_resources.iter().filter(|(_, of)| {
            of.resources == "endpointslices" && of.api_version.starts_with("discovery.k8s.io/")
        });
        for (name, _) in watched {
            let store = snapshots.get(name).filter(|store| !store.is_on_demand());
            let now = store.cloned().unwrap_or_default();
            let before = slices.insert(name.as_str().into(), now.clone()).unwrap_or_default();
            for difference in now.differences_from(&before) {
                if let Some((slice, _)) = difference.before {
                    leading.remove(&slice.reference);
                }
                let read = difference.after.and_then(|(slice, _)| {
                    Some((slice.reference.clone(), LeadingSlice::read(slice, is_own, leads)?))
                });
                leading.extend(read);
            }
        }
    }

    /// The ports of each address of a Service that leads to HAProxy.
    fn found(&mut self, stores: &[&Arc<Snapshot>]) -> BTreeMap<IpAddr, BTreeSet<u64>> {
        let mut found: BTreeMap<IpAddr, BTreeSet<u64>> = BTreeMap::new();
        let mut services = std::mem::take(&mut self.services);
        let pods = self.inputs.iter().flat_map(|inputs| &inputs.pods);
        let own_namespaces: BTreeSet<&str> = pods.map(|pod| &*pod.namespace).collect();
        let nodes = || self.inputs.iter().flat_map(|inputs| &inputs.nodes);
        for slice in self.leading.values() {
            for object in stores.iter().filter_map(|store| store.get(&slice.namespace, &slice.service)) {
                let known = self.services.remove(&object.reference);
                let known = known.or_else(|| services.remove(&object.reference));
                let service = known.filter(|known| Arc::ptr_eq(&known.object, object));
                let service = service.unwrap_or_else(|| ServiceAddresses::read(object));
                let (at_service, at_nodes) = service.numbers_of(&slice.ports);
                let is_of_haproxy = own_namespaces.contains(&*slice.namespace);
                for address in service.counting(is_of_haproxy).filter(|_| !at_service.is_empty()) {
                    found.entry(address).or_default().extend(&at_service);
                }
                for node in nodes().filter(|_| !at_nodes.is_empty()) {
                    found.entry(*node).or_default().extend(&at_nodes);
                }
                self.services.insert(object.reference.clone(), service);
            }
        }
        found
    }

    /// Makes the store one of these addresses.
    fn store(&mut self, addresses: &BTreeMap<IpAddr, BTreeSet<u64>>) {
        self.addresses.retain(|object| {
            object.reference.name.parse().is_ok_and(|address: IpAddr| addresses.contains_key(&address))
        });
        for (address, ports) in addresses {
            let reference = ObjectRef::new(STORE, "", &address.to_string());
            let json = serde_json::to_vec(ports).unwrap_or_default();
            self.addresses.apply(Object::new(reference, json), key(*address));
        }
    }
}

impl LeadingSlice {
    /// Of one that does not lead to HAProxy, or is no EndpointSlice, nothing.
    fn read(
        slice: &Object,
        is_own: impl Fn(IpAddr) -> bool,
        leads: impl Fn(IpAddr, u64) -> bool,
    ) -> Option<Self> {
        let SliceJson { metadata, endpoints, ports } = serde_json::from_slice(&slice.json.bytes()).ok()?;
        let service = metadata.labels?.remove(SERVICE_NAME)?;
        let endpoints = endpoints.unwrap_or_default();
        let addresses = endpoints.iter().flat_map(|endpoint| &endpoint.addresses);
        let own: Vec<IpAddr> = addresses
            .filter_map(|address| address.parse::<IpAddr>().ok())
            .filter(|address| is_own(*address))
            .collect();
        let is_leading = |port: &NumberedPort| {
            port.port.is_some_and(|number| own.iter().any(|address| leads(*address, number)))
        };
        let ports = ports.unwrap_or_default().into_iter().filter(is_leading);
        let ports: Vec<String> = ports.map(|port| port.name.unwrap_or_default()).collect();
        let namespace = slice.reference.namespace.clone();
        (!ports.is_empty()).then_some(Self { namespace, service, ports })
    }
}

impl ServiceAddresses {
    fn read(object: &Arc<Object>) -> Self {
        let nowhere =
            Self { object: object.clone(), given: Vec::new(), named: Vec::new(), ports: Vec::new() };
        let Ok(ServiceJson { spec, status }) = serde_json::from_slice(&object.json.bytes()) else {
            return nowhere;
        };
        let balancer = status.and_then(|status| status.load_balancer);
        let balanced = balancer.and_then(|balancer| balancer.ingress).unwrap_or_default();
        let given = spec.cluster_ip.into_iter().chain(spec.cluster_ips.unwrap_or_default());
        let given = given.chain(balanced.into_iter().filter_map(|ingress| ingress.ip));
        Self {
            given: given.filter_map(|address| address.parse().ok()).collect(),
            named: spec.external_ips.iter().flatten().filter_map(|address| address.parse().ok()).collect(),
            ports: spec.ports.unwrap_or_default(),
            ..nowhere
        }
    }

    /// Its addresses. What somebody else's Service names may be anybody's: it counts in HAProxy's own namespaces alone.
    fn counting(&self, is_of_haproxy: bool) -> impl Iterator<Item = IpAddr> {
        let named = self.named.iter().filter(move |_| is_of_haproxy);
        self.given.iter().chain(named).copied()
    }

    /// The ports of these names: at the Service's addresses, and at every node.
    fn numbers_of(&self, names: &[String]) -> (Vec<u64>, Vec<u64>) {
        let is_named = |port: &&NumberedPort| {
            let name = port.name.as_deref().unwrap_or_default();
            names.iter().any(|named| named == name)
        };
        let named = || self.ports.iter().filter(is_named);
        (named().filter_map(|port| port.port).collect(), named().filter_map(|port| port.node_port).collect())
    }
}

#[cfg(test)]
mod tests;
