//! Brings the Services of all Gateways to what they should be, and says how each Gateway is reached.

use super::{
    ports_since::PortsSince,
    progress::FleetProgress,
    service::{self, Ownership},
    service_api::{ServiceApi, ServiceFailure, ServiceKind},
    status::GatewayAddresses,
};
use crate::addresses::published;
use haptic_model::{
    ActiveConfig, Generation, ReadyPod, Snapshot,
    crd::{GatewayServiceMode, GatewayServicesSpec},
    gateway::{
        GatewayPort, GatewayVerdict, GatewayVerdicts, NamespacedName, SERVICE_PREFIX, controller_name,
        service_name,
    },
    pipeline::Leadership,
};
use haptic_runtime::{Topic, cpu};
use k8s_openapi::{
    api::{core::v1::Service, networking::v1::IngressLoadBalancerIngress},
    apimachinery::pkg::util::intstr::IntOrString,
};
use serde::Deserialize;
use serde_json::Value;
use std::{collections::BTreeMap, net::IpAddr, sync::Arc};

/// What the Services of Gateways are made from.
#[derive(Clone)]
pub(crate) struct ServiceInputs {
    pub(crate) config: Arc<ActiveConfig>,
    pub(crate) verdicts: Arc<GatewayVerdicts>,
    pub(crate) services: Arc<Snapshot>,
    pub(crate) slices: Arc<Snapshot>,
    /// The Gateways; `None`: they are not read, so none of them is known to be gone.
    pub(crate) gateways: Option<Arc<Snapshot>>,
    /// The GatewayClasses, also those of others; `None`: they are not read.
    pub(crate) classes: Option<Arc<Snapshot>>,
    pub(crate) pods: Arc<Vec<ReadyPod>>,
    /// What they have acknowledged.
    pub(crate) fleet: Arc<FleetProgress>,
    pub(crate) ports: Arc<PortsSince>,
    /// Services that were made and that the store does not have yet.
    pub(crate) made: BTreeMap<NamespacedName, Arc<Value>>,
}

/// What a round ended with.
#[derive(Debug, Default)]
pub(crate) struct ServicesBrought {
    pub(crate) addresses: BTreeMap<NamespacedName, GatewayAddresses>,
    pub(crate) made: BTreeMap<NamespacedName, Arc<Value>>,
    /// How many objects were written.
    pub(crate) writes: usize,
    /// The first generation that a port waits for.
    pub(crate) awaited: Option<Generation>,
    /// Why some could not be written, by Gateway.
    pub(crate) failures: BTreeMap<NamespacedName, String>,
}

/// Whether Services of Gateways with the verdicts `now` may differ from those with `before`: routes come and go without them.
pub(crate) fn may_differ(
    before: &BTreeMap<NamespacedName, Arc<GatewayVerdict>>,
    now: &BTreeMap<NamespacedName, Arc<GatewayVerdict>>,
) -> bool {
    let is_other = |(before, now): (&Arc<GatewayVerdict>, &Arc<GatewayVerdict>)| {
        !Arc::ptr_eq(before, now)
            && (&before.uid, &before.ports, &before.addresses, &before.labels, &before.annotations)
                != (&now.uid, &now.ports, &now.addresses, &now.labels, &now.annotations)
    };
    !before.keys().eq(now.keys()) || before.values().zip(now.values()).any(is_other)
}

/// What one Gateway's round does.
enum ServiceChange {
    Create(ServiceKind, Value),
    Patch(ServiceKind, NamespacedName, Value),
    Delete(ServiceKind, NamespacedName, String),
}

/// Makes, corrects and deletes what differs.
pub(crate) async fn bring(
    inputs: ServiceInputs,
    api: ServiceApi,
    leadership: Topic<Leadership>,
) -> ServicesBrought {
    let planned = inputs.clone();
    let planned = cpu("gateway-status", move || planned.plan()).await;
    let (changes, mut brought) = match planned {
        Ok(planned) => planned,
        Err(panicked) => {
            tracing::error!("Services of Gateways: {panicked}");
            return ServicesBrought::default();
        }
    };
    for (gateway, change) in changes {
        if brought.failures.contains_key(&gateway) {
            continue;
        }
        if !leadership.latest().leads {
            break;
        }
        match carry_out(&api, change).await {
            Ok(made) => {
                brought.writes += 1;
                brought.made.extend(made.map(|(name, made)| (name, Arc::new(made))));
            }
            Err(ServiceFailure::Gone) => {}
            Err(ServiceFailure::Failed(why)) => {
                let unassigned = || GatewayAddresses::NotAssigned(why.clone());
                // One that is reached already goes on being reached.
                let addresses = brought.addresses.entry(gateway.clone()).or_insert_with(unassigned);
                if matches!(addresses, GatewayAddresses::NotLedYet(_)) {
                    *addresses = unassigned();
                }
                brought.failures.insert(gateway, why);
            }
        }
    }
    brought
}

/// Carries out one change; a Service that it made.
async fn carry_out(
    api: &ServiceApi,
    change: ServiceChange,
) -> Result<Option<(NamespacedName, Value)>, ServiceFailure> {
    match change {
        ServiceChange::Create(kind, wanted) => {
            let made = api.create(kind, &wanted).await?;
            let made = match made {
                Some(made) => Some(made),
                None => replace(api, kind, &wanted).await?,
            };
            let made = made.filter(|_| kind == ServiceKind::Service);
            Ok(made.and_then(|made| name_of(&made).zip(Some(made))))
        }
        ServiceChange::Patch(kind, name, patch) => api.patch(kind, &name, &patch).await.map(|()| None),
        ServiceChange::Delete(kind, name, uid) => api.delete(kind, &name, &uid).await.map(|()| None),
    }
}

/// There is one already that the store does not show: the next round begins with it, where it is this Gateway's. Where it leads to is not changed
/// without a look at what the pods run.
async fn replace(
    api: &ServiceApi,
    kind: ServiceKind,
    wanted: &Value,
) -> Result<Option<Value>, ServiceFailure> {
    let Some(name) = name_of(wanted) else { return Ok(None) };
    let found = api.read(kind, &name).await?;
    match change(kind, name, Some(&found), wanted) {
        Ok(Some(ServiceChange::Patch(ServiceKind::Service, ..)) | None) => return Ok(Some(found)),
        Ok(Some(ServiceChange::Patch(kind, name, patch))) => api.patch(kind, &name, &patch).await?,
        Ok(Some(ServiceChange::Delete(kind, name, uid))) => api.delete(kind, &name, &uid).await?,
        Ok(Some(ServiceChange::Create(..))) => {}
        Err(why) => return Err(ServiceFailure::Failed(why)),
    }
    Ok(None)
}

/// What makes of `found` what is `wanted`.
fn change(
    kind: ServiceKind,
    name: NamespacedName,
    found: Option<&Value>,
    wanted: &Value,
) -> Result<Option<ServiceChange>, String> {
    let Some(found) = found else { return Ok(Some(ServiceChange::Create(kind, wanted.clone()))) };
    match service::ownership(found, wanted) {
        Ownership::Current => {
            Ok(service::correction(found, wanted).map(|patch| ServiceChange::Patch(kind, name, patch)))
        }
        // It is made anew once it is gone.
        Ownership::Former => Ok(uid_of(found).map(|uid| ServiceChange::Delete(kind, name, uid))),
        Ownership::Foreign => Err(format!(
            "{kind} {}/{} has the name of this Gateway's, and is somebody else's: delete it or rename the Gateway",
            name.0, name.1
        )),
    }
}

impl ServiceInputs {
    fn spec(&self) -> &GatewayServicesSpec {
        &self.config.spec.controller.gateway
    }

    fn plan(&self) -> (Vec<(NamespacedName, ServiceChange)>, ServicesBrought) {
        let (mut changes, mut brought) = (Vec::new(), ServicesBrought::default());
        for (name, verdict) in &self.verdicts.gateways {
            let addresses = match self.spec().service_mode {
                GatewayServiceMode::None => Ok(Some(GatewayAddresses::Unmanaged)),
                GatewayServiceMode::Shared => Ok(Some(self.shared(verdict))),
                GatewayServiceMode::PerGateway => self.own(name, verdict, &mut changes, &mut brought),
            };
            match addresses {
                Ok(addresses) => {
                    brought.addresses.extend(addresses.map(|addresses| (name.clone(), addresses)));
                }
                Err(why) => {
                    let unassigned = GatewayAddresses::NotAssigned(why.clone());
                    brought.addresses.insert(name.clone(), unassigned);
                    brought.failures.insert(name.clone(), why);
                }
            }
        }
        changes.extend(self.orphans());
        (changes, brought)
    }

    /// A Gateway's own Service: what has to be done, and how it is reached; `None` as long as there is none.
    fn own(
        &self,
        name: &NamespacedName,
        verdict: &GatewayVerdict,
        changes: &mut Vec<(NamespacedName, ServiceChange)>,
        brought: &mut ServicesBrought,
    ) -> Result<Option<GatewayAddresses>, String> {
        let service_name: NamespacedName = (name.0.clone(), service_name(&name.1).into());
        let stored = value_in(&self.services, &service_name);
        if stored.is_none()
            && let Some(made) = self.made.get(&service_name)
        {
            brought.made.insert(service_name.clone(), made.clone());
        }
        let stored = stored.or_else(|| self.made.get(&service_name).cloned());
        let leading = stored.as_deref().map(service::ports_in).unwrap_or_default();
        let ports: Vec<GatewayPort> =
            verdict.ports.iter().map(|port| self.as_it_may_be(name, port, &leading)).collect();
        let wanted = service::service(name, verdict, &ports, self.spec());
        let mut service_change = None;
        let owned = match &wanted {
            Some(wanted) => {
                service_change = change(ServiceKind::Service, service_name, stored.as_deref(), wanted)?;
                stored.filter(|stored| service::ownership(stored, wanted) == Ownership::Current)
            }
            // Nobody takes it away, so that the Gateway is still reached by it.
            None => stored.filter(|stored| service::is_of(stored, &name.1, &verdict.uid)),
        };
        // EndpointSlices come first: a port that the Service does not have any more is another Gateway's next.
        if let Some(service) = &owned {
            let ports = if wanted.is_some() { &ports } else { &leading };
            self.lead(name, service, ports, changes)?;
        }
        changes.extend(service_change.map(|change| (name.clone(), change)));
        let Some(service) = owned else {
            let unserved = || GatewayAddresses::NotAssigned("no listener of it is served".into());
            return Ok(wanted.is_none().then(unserved));
        };
        let awaited = verdict.ports.iter().filter_map(|port| self.awaited(name, port.target)).min();
        brought.awaited = brought.awaited.into_iter().chain(awaited).min();
        let addresses = self.addresses(verdict, &service);
        Ok(Some(match addresses {
            GatewayAddresses::Assigned(addresses) if awaited.is_some() => {
                GatewayAddresses::NotLedYet(addresses)
            }
            addresses => addresses,
        }))
    }

    /// The generation that pods have to run before they are led to this port of a Gateway; `None`: they do.
    fn awaited(&self, gateway: &NamespacedName, target: u16) -> Option<Generation> {
        let since = self.ports.of(gateway, target)?;
        (!self.fleet.has_run(since)).then_some(since)
    }

    fn is_run(&self, gateway: &NamespacedName, target: u16) -> bool {
        self.ports.of(gateway, target).is_some_and(|since| self.fleet.has_run(since))
    }

    /// A port as the Service may have it: it goes on `leading` where it does until the pods have what it shall lead to.
    fn as_it_may_be(
        &self,
        gateway: &NamespacedName,
        port: &GatewayPort,
        leading: &[GatewayPort],
    ) -> GatewayPort {
        let before = leading.iter().find(|one| one.port == port.port);
        before.filter(|_| !self.is_run(gateway, port.target)).unwrap_or(port).clone()
    }

    /// Brings EndpointSlices to `ports`: to new ones once the pods have them.
    fn lead(
        &self,
        gateway: &NamespacedName,
        service: &Value,
        ports: &[GatewayPort],
        changes: &mut Vec<(NamespacedName, ServiceChange)>,
    ) -> Result<(), String> {
        let stored = |slice: &str| value_in(&self.slices, &(gateway.0.clone(), slice.into()));
        let may_lead = |slice: &str, port: &GatewayPort| {
            self.is_run(gateway, port.target)
                || stored(slice).is_some_and(|stored| service::is_led_to(&stored, port))
        };
        for slice in service::slices(service, ports, &self.pods, may_lead) {
            let Some(slice_name) = name_of(&slice) else { continue };
            let stored = value_in(&self.slices, &slice_name);
            let is_empty = |field| slice.get(field).and_then(Value::as_array).is_none_or(Vec::is_empty);
            if stored.is_none() && (is_empty("endpoints") || is_empty("ports")) {
                continue;
            }
            let slice_change = change(ServiceKind::Slice, slice_name, stored.as_deref(), &slice)?;
            changes.extend(slice_change.map(|change| (gateway.clone(), change)));
        }
        Ok(())
    }

    fn shared(&self, verdict: &GatewayVerdict) -> GatewayAddresses {
        let shared = self.config.spec.controller.ingress_status.clone().unwrap_or_default();
        let service = shared.service.and_then(|service| {
            let namespace = service.namespace.unwrap_or_else(|| self.config.namespace.to_string());
            value_in(&self.services, &(namespace.into(), service.name.into()))
        });
        let service = service.and_then(|service| as_service(&service));
        let all = published::addresses(service.as_ref(), &shared.addresses);
        let is_there = |asked: IpAddr| all.iter().any(|one| one.ip.as_deref() == Some(&*asked.to_string()));
        if let Some(why) = unusable(verdict, is_there, "which this Gateway shares with all others") {
            return GatewayAddresses::NotUsable(why);
        }
        // Addresses that the operator names may lead to HAProxy in another way.
        let by_service = service.as_ref().filter(|_| shared.addresses.is_empty());
        if let Some(why) = by_service.and_then(|service| missing_port(verdict, service)) {
            return GatewayAddresses::NotUsable(why);
        }
        assigned(&all, "controller.ingressStatus names no Service with an address, and no addresses")
    }

    fn addresses(&self, verdict: &GatewayVerdict, service: &Value) -> GatewayAddresses {
        let allowed = service::asked_addresses(verdict, self.spec());
        let why = "which controller.gateway.allowedAddresses of the HAProxyTemplateConfig does not hold";
        if let Some(why) = unusable(verdict, |asked| allowed.contains(&asked), why) {
            return GatewayAddresses::NotUsable(why);
        }
        if !allowed.is_empty() {
            let asked = allowed.iter().map(|address| ("IPAddress", address.to_string()));
            return GatewayAddresses::Assigned(asked.collect());
        }
        let service = as_service(service);
        assigned(&published::addresses(service.as_ref(), &[]), "its Service has no address yet")
    }

    /// Services of Gateways that are gone or another controller's now, and all of them when they are not wanted any more.
    fn orphans(&self) -> Vec<(NamespacedName, ServiceChange)> {
        let is_wanted = self.spec().service_mode == GatewayServiceMode::PerGateway;
        let candidates = self.services.iter().filter(|one| one.reference.name.starts_with(SERVICE_PREFIX));
        let orphan = |object: &Arc<haptic_model::Object>| {
            let found = object.value().ok()?;
            let (gateway, owner) = service::gateway_of(&found)?;
            let namespace = &object.reference.namespace;
            if is_wanted {
                let gateways = self.gateways.as_ref()?;
                let stored = gateways.get(namespace, &gateway).and_then(|stored| stored.value().ok());
                let is_there =
                    stored.as_ref().is_some_and(|stored| uid_of(stored).is_some_and(|uid| uid == owner));
                if is_there && stored.is_some_and(|stored| !self.is_of_others(&stored)) {
                    return None;
                }
                // Made anew under its name: what its own round does.
                if self.verdicts.gateways.contains_key(&(namespace.clone(), gateway.as_str().into())) {
                    return None;
                }
            }
            let name = (namespace.clone(), object.reference.name.clone());
            let delete = ServiceChange::Delete(ServiceKind::Service, name, uid_of(&found)?);
            Some(((namespace.clone(), gateway.into()), delete))
        };
        candidates.filter_map(orphan).collect()
    }

    /// Whether a Gateway is of a class of another controller. One whose class is gone waits for it, as where somebody deletes it and makes it anew.
    fn is_of_others(&self, gateway: &Value) -> bool {
        let class = gateway.pointer("/spec/gatewayClassName").and_then(Value::as_str);
        let class = self.classes.as_ref().zip(class).and_then(|(classes, name)| classes.get("", name));
        let class = class.and_then(|class| class.value().ok());
        let theirs = class.as_ref().and_then(|class| class.pointer("/spec/controllerName")?.as_str());
        let ours = controller_name(&self.config.spec.templating_settings.extra_context);
        theirs.is_some_and(|theirs| theirs != ours)
    }
}

/// What a Gateway asks for in vain.
fn unusable(verdict: &GatewayVerdict, is_usable: impl Fn(IpAddr) -> bool, why: &str) -> Option<String> {
    verdict.addresses.iter().find_map(|(kind, value)| {
        let value = value.as_deref().filter(|value| !value.is_empty())?;
        let usable = kind == "IPAddress" && value.parse().is_ok_and(&is_usable);
        (!usable).then(|| format!("spec.addresses asks for {kind} {value}, {why}"))
    })
}

/// A port of a Gateway that the Service which all share does not have, or that leads elsewhere there: to Ingresses, as 80 and 443 of the chart's.
fn missing_port(verdict: &GatewayVerdict, service: &Service) -> Option<String> {
    let ports = service.spec.as_ref().and_then(|spec| spec.ports.as_deref()).unwrap_or_default();
    let leads = |asked: &&GatewayPort| {
        let target = IntOrString::Int(asked.target.into());
        ports.iter().any(|one| {
            one.port == i32::from(asked.port)
                && one.protocol.as_deref().is_none_or(|protocol| protocol == "TCP")
                && one.target_port.as_ref().map_or(asked.port == asked.target, |leads_to| *leads_to == target)
        })
    };
    let missing = verdict.ports.iter().find(|asked| !leads(asked))?;
    let name = service.metadata.name.as_deref().unwrap_or_default();
    Some(format!(
        "Service {name}, which this Gateway shares with all others, has no port {} with the targetPort {}: add it, or listen at another port",
        missing.port, missing.target
    ))
}

fn assigned(all: &[IngressLoadBalancerIngress], otherwise: &str) -> GatewayAddresses {
    let addresses: Vec<_> = all
        .iter()
        .filter_map(|one| match (&one.ip, &one.hostname) {
            (Some(ip), _) => Some(("IPAddress", ip.clone())),
            (None, Some(host)) => Some(("Hostname", host.clone())),
            (None, None) => None,
        })
        .collect();
    if addresses.is_empty() {
        GatewayAddresses::NotAssigned(otherwise.to_owned())
    } else {
        GatewayAddresses::Assigned(addresses)
    }
}

fn as_service(value: &Value) -> Option<Service> {
    Service::deserialize(value).ok()
}

fn value_in(store: &Snapshot, (namespace, name): &NamespacedName) -> Option<Arc<Value>> {
    store.get(namespace, name)?.value().ok().map(Arc::new)
}

fn name_of(object: &Value) -> Option<NamespacedName> {
    let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).map(Arc::from);
    text("/metadata/namespace").zip(text("/metadata/name"))
}

fn uid_of(object: &Value) -> Option<String> {
    object.pointer("/metadata/uid").and_then(Value::as_str).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use haptic_model::ObjectRef;
    use serde_json::json;

    const UID: &str = "uid";

    fn gateway() -> NamespacedName {
        ("shop".into(), "web".into())
    }

    fn verdict(ports: Vec<GatewayPort>) -> GatewayVerdict {
        GatewayVerdict { generation: 1, uid: UID.into(), ports, ..GatewayVerdict::default() }
    }

    fn snapshot(plural: &str, objects: &[Value]) -> Arc<Snapshot> {
        let mut all = Snapshot::full();
        for object in objects {
            let text = |field: &str| object["metadata"][field].as_str().unwrap_or_default();
            all.put(ObjectRef::new(plural, text("namespace"), text("name")), object);
        }
        Arc::new(all)
    }

    /// The Service of the Gateway, as the API server stores it.
    fn stored() -> Value {
        let ports = vec![GatewayPort { port: 443, target: 20_200 }];
        let mut service =
            service::service(&gateway(), &verdict(Vec::new()), &ports, &GatewayServicesSpec::default())
                .unwrap();
        service["metadata"]["uid"] = json!("of-service");
        service["status"] = json!({"loadBalancer": {"ingress": [{"ip": "192.0.2.7"}]}});
        service
    }

    fn inputs(verdicts: GatewayVerdicts, services: &[Value]) -> ServiceInputs {
        let spec = json!({"credentialsSecretRef": {"name": "c"}, "podSelector": {"matchLabels": {"a": "b"}}});
        ServiceInputs {
            config: Arc::new(ActiveConfig::of("c", "edge", serde_json::from_value(spec).unwrap())),
            verdicts: Arc::new(verdicts),
            services: snapshot("services", services),
            slices: Arc::default(),
            gateways: None,
            classes: None,
            pods: Arc::default(),
            fleet: Arc::default(),
            ports: Arc::default(),
            made: BTreeMap::new(),
        }
    }

    #[test]
    fn a_gateway_without_a_port_is_still_reached_by_the_service_that_it_has() {
        let gateways = [(gateway(), Arc::new(verdict(Vec::new())))].into();
        let verdicts = GatewayVerdicts { gateways, ..GatewayVerdicts::default() };
        let reached = |services: &[Value]| {
            let (changes, mut brought) = inputs(verdicts.clone(), services).plan();
            assert!(changes.is_empty());
            brought.addresses.remove(&gateway()).unwrap()
        };
        let mut former = stored();
        former["metadata"]["ownerReferences"][0]["uid"] = json!("of-a-former-one");
        assert_eq!(
            reached(&[stored()]),
            GatewayAddresses::Assigned(vec![("IPAddress", "192.0.2.7".to_owned())])
        );
        for services in [&[former][..], &[]] {
            assert!(matches!(reached(services), GatewayAddresses::NotAssigned(_)));
        }
    }

    #[test]
    fn a_service_goes_with_its_gateway_and_not_while_the_class_is_away() {
        let object =
            |spec: Value| json!({"metadata": {"namespace": "shop", "name": "web", "uid": UID}, "spec": spec});
        let gateway = object(json!({"gatewayClassName": "team"}));
        let class = |name: &str, controller: &str| json!({"metadata": {"name": name}, "spec": {"controllerName": controller}});
        let ours = class("haptic", haptic_model::gateway::CONTROLLER);
        let theirs = class("team", "example.com/other");
        let deleted = |gateways: &[Value], classes: &[Value]| {
            let inputs = ServiceInputs {
                gateways: Some(snapshot("gateways", gateways)),
                classes: Some(snapshot("gatewayclasses", classes)),
                ..inputs(GatewayVerdicts::default(), &[stored()])
            };
            let changes = inputs.plan().0;
            matches!(changes.as_slice(), [(_, ServiceChange::Delete(ServiceKind::Service, ..))])
        };
        assert!(!deleted(std::slice::from_ref(&gateway), &[]));
        assert!(
            !deleted(std::slice::from_ref(&gateway), std::slice::from_ref(&ours)),
            "its class may come again"
        );
        assert!(deleted(&[gateway], &[ours.clone(), theirs]));
        assert!(deleted(&[], &[ours]));
    }

    /// How a Gateway with port 8081 is reached by a Service with these ports.
    fn reached(ports: &Value, addresses: &Value) -> GatewayAddresses {
        let spec = json!({
            "credentialsSecretRef": {"name": "c"}, "podSelector": {"matchLabels": {"a": "b"}},
            "controller": {"gateway": {"serviceMode": "shared"},
                "ingressStatus": {"service": {"name": "haptic"}, "addresses": addresses}},
        });
        let service = json!({"apiVersion": "v1", "kind": "Service", "metadata": {"namespace": "edge", "name": "haptic"},
            "spec": {"type": "ClusterIP", "clusterIP": "10.96.0.9", "ports": ports}});
        let verdict = verdict(vec![GatewayPort { port: 8081, target: 8081 }]);
        let gateways = [(gateway(), Arc::new(verdict))].into();
        let verdicts = GatewayVerdicts { gateways, ..GatewayVerdicts::default() };
        let inputs = ServiceInputs {
            config: Arc::new(ActiveConfig::of("c", "edge", serde_json::from_value(spec).unwrap())),
            ..inputs(verdicts, &[service])
        };
        let (changes, mut brought) = inputs.plan();
        assert!(changes.is_empty(), "nobody's Service is written");
        brought.addresses.remove(&gateway()).unwrap()
    }

    #[test]
    fn a_gateway_is_reached_by_the_service_of_all_where_that_has_its_ports() {
        let at = |ip: &str| GatewayAddresses::Assigned(vec![("IPAddress", ip.to_owned())]);
        let none = json!([]);
        assert_eq!(reached(&json!([{"port": 8081}]), &none), at("10.96.0.9"));
        assert_eq!(reached(&json!([{"port": 8081, "targetPort": 8081}]), &none), at("10.96.0.9"));
        for ports in [
            json!([{"port": 80, "targetPort": "http"}]),
            json!([{"port": 8081, "targetPort": "http"}]),
            json!([{"port": 8081, "protocol": "UDP"}]),
        ] {
            let GatewayAddresses::NotUsable(why) = reached(&ports, &none) else { panic!("{ports}") };
            assert!(why.starts_with("Service haptic") && why.contains("no port 8081"), "{why}");
        }
        let both = reached(&json!([{"port": 80}]), &json!(["192.0.2.1"]));
        assert!(matches!(both, GatewayAddresses::Assigned(_)), "{both:?}");
    }
}
