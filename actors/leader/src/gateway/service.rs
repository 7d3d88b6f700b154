//! The Service and the EndpointSlices of a Gateway, as they should be, and what differs from that in those that are there. Pure.
//!
//! The Service is in the Gateway's namespace, so whoever may edit it can take traffic from that Gateway alone, and it is set right. Nothing
//! of another owner is ever changed or deleted.

use super::references::GROUP;
use haptic_model::{
    ReadyPod,
    crd::{GatewayServiceMode, GatewayServicesSpec},
    gateway::{GATEWAY_NAME, GatewayPort, GatewayVerdict, NamespacedName, gateway_label, service_name},
};
use serde_json::{Map, Value, json};
use std::{collections::BTreeMap, net::IpAddr};

/// Who keeps it.
pub(crate) const MANAGED_BY: &str = "app.kubernetes.io/managed-by";
const OURS: &str = "haproxy-haptic.org";
/// The keys of `spec.infrastructure` that were given to it, so that they can be taken away.
const INFRASTRUCTURE: &str = "haproxy-haptic.org/infrastructure";
/// The label that ties an EndpointSlice to its Service.
const SERVICE_OF_SLICE: &str = "kubernetes.io/service-name";
const SLICE_MANAGED_BY: &str = "endpointslice.kubernetes.io/managed-by";

/// Whose an object at the API server is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ownership {
    /// This Gateway's.
    Current,
    /// A Gateway's of the same name that is gone.
    Former,
    /// Somebody else's.
    Foreign,
}

/// The Service of a Gateway with these ports; `None`: it has no port that is served, and a Service needs one.
pub(crate) fn service(
    (namespace, name): &NamespacedName,
    verdict: &GatewayVerdict,
    ports: &[GatewayPort],
    spec: &GatewayServicesSpec,
) -> Option<Value> {
    if spec.service_mode != GatewayServiceMode::PerGateway || ports.is_empty() {
        return None;
    }
    let is_allowed = |key: &&String| {
        key.as_str() != MANAGED_BY
            && key.as_str() != GATEWAY_NAME
            && key.as_str() != INFRASTRUCTURE
            && spec.annotation_prefixes.iter().any(|prefix| key.starts_with(prefix.as_str()))
    };
    let of_infrastructure = |all: &BTreeMap<String, String>| -> Map<String, Value> {
        let allowed = all.iter().filter(|(key, _)| is_allowed(key));
        allowed.map(|(key, value)| (key.clone(), value.as_str().into())).collect()
    };
    let (mut labels, mut annotations) =
        (of_infrastructure(&verdict.labels), of_infrastructure(&verdict.annotations));
    let keys = |all: &Map<String, Value>| all.keys().cloned().collect::<Vec<_>>();
    let recorded = json!({ "annotations": keys(&annotations), "labels": keys(&labels) });
    annotations.insert(INFRASTRUCTURE.into(), recorded.to_string().into());
    labels.insert(GATEWAY_NAME.into(), gateway_label(name).into());
    labels.insert(MANAGED_BY.into(), OURS.into());
    let ports = ports.iter().map(|port| {
        json!({"name": port_name(port.port), "port": port.port, "targetPort": port.target, "protocol": "TCP"})
    });
    let mut service = json!({
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {
            "namespace": &**namespace,
            "name": service_name(name),
            "labels": labels,
            "annotations": annotations,
            "ownerReferences": [{
                "apiVersion": format!("{GROUP}/v1"), "kind": "Gateway", "name": &**name, "uid": &*verdict.uid,
                "controller": true,
            }],
        },
        "spec": {
            "type": spec.service_type.name(),
            "ipFamilyPolicy": "PreferDualStack",
            "ports": ports.collect::<Vec<_>>(),
        },
    });
    let asked = asked_addresses(verdict, spec);
    if !asked.is_empty()
        && let Some(spec) = service.get_mut("spec").and_then(Value::as_object_mut)
    {
        let ips: Vec<String> = asked.iter().map(ToString::to_string).collect();
        spec.insert("externalIPs".into(), json!(ips));
    }
    Some(service)
}

/// The addresses that a Gateway asks for and the operator allows.
pub(crate) fn asked_addresses(verdict: &GatewayVerdict, spec: &GatewayServicesSpec) -> Vec<IpAddr> {
    let asked = verdict.addresses.iter().filter(|(kind, _)| kind == "IPAddress");
    asked
        .filter_map(|(_, value)| value.as_deref()?.parse::<IpAddr>().ok())
        .filter(|address| spec.allowed_addresses.iter().any(|network| network.contains(*address)))
        .collect()
}

/// The slices of `service`, which has an `uid`, with those of `ports` that they may have: one for each family of addresses that pods have. Those that terminate stay in them, as Kubernetes
/// has it for Services with a selector: https://kubernetes.io/docs/concepts/services-networking/endpoint-slices/#conditions.
pub(crate) fn slices(
    service: &Value,
    ports: &[GatewayPort],
    pods: &[ReadyPod],
    may_lead: impl Fn(&str, &GatewayPort) -> bool,
) -> Vec<Value> {
    let (Some(name), Some(uid)) = (text(service, "/metadata/name"), text(service, "/metadata/uid")) else {
        return Vec::new();
    };
    let ports_of = |slice: &str| {
        let ports = ports.iter().filter(|port| may_lead(slice, port));
        let ports =
            ports.map(|port| json!({"name": port_name(port.port), "port": port.target, "protocol": "TCP"}));
        ports.collect::<Vec<Value>>()
    };
    let of_family = |is_v4: bool| {
        let endpoints = pods.iter().flat_map(|ready| {
            let addresses = std::iter::once(&ready.pod.address).chain(&ready.pod.other_addresses);
            addresses.filter(move |address| address.is_ipv4() == is_v4).take(1).map(|address| {
                let conditions =
                    json!({"ready": !ready.terminating, "serving": true, "terminating": ready.terminating});
                let mut endpoint = json!({"addresses": [address.to_string()], "conditions": conditions});
                if let (Some(node), Some(endpoint)) = (&ready.node, endpoint.as_object_mut()) {
                    endpoint.insert("nodeName".into(), (**node).into());
                }
                endpoint
            })
        });
        endpoints.collect::<Vec<Value>>()
    };
    let slice = |kind: &str, suffix: &str, endpoints: Vec<Value>| {
        let slice_name = format!("{name}{suffix}");
        json!({
            "apiVersion": "discovery.k8s.io/v1",
            "kind": "EndpointSlice",
            "metadata": {
                "namespace": text(service, "/metadata/namespace"),
                "name": slice_name,
                "labels": {
                    SERVICE_OF_SLICE: name, SLICE_MANAGED_BY: OURS,
                    GATEWAY_NAME: service.pointer("/metadata/labels").and_then(|labels| labels.get(GATEWAY_NAME)),
                },
                "ownerReferences": [{
                    "apiVersion": "v1", "kind": "Service", "name": name, "uid": uid, "controller": true,
                }],
            },
            "addressType": kind,
            "endpoints": endpoints,
            "ports": ports_of(&slice_name),
        })
    };
    // One without endpoints stays, so that pods that go are taken out of it.
    vec![slice("IPv4", "-v4", of_family(true)), slice("IPv6", "-v6", of_family(false))]
}

/// Whose `found` is, which has the name of what `wanted` says.
pub(crate) fn ownership(found: &Value, wanted: &Value) -> Ownership {
    let owner = |object: &Value, field: &str| {
        object
            .pointer("/metadata/ownerReferences")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .find(|owner| owner.get("controller") == Some(&Value::Bool(true)))
            .and_then(|owner| owner.get(field).and_then(Value::as_str).map(str::to_owned))
    };
    let same = |field: &str| owner(found, field) == owner(wanted, field);
    match same("kind") && same("name") {
        true if same("uid") => Ownership::Current,
        true => Ownership::Former,
        false => Ownership::Foreign,
    }
}

/// The Gateway for which `service` was made, by name and uid; `None`: it is not ours.
pub(crate) fn gateway_of(service: &Value) -> Option<(String, String)> {
    let labels = service.pointer("/metadata/labels")?;
    let owners = service.pointer("/metadata/ownerReferences").and_then(Value::as_array)?;
    let owner = owners.iter().find(|owner| owner.get("controller") == Some(&Value::Bool(true)))?;
    let is_gateway = owner.get("kind")? == "Gateway"
        && owner.get("apiVersion").and_then(Value::as_str)?.starts_with(GROUP);
    let (name, uid) = (owner.get("name")?.as_str()?, owner.get("uid")?.as_str()?);
    let is_ours = labels.get(MANAGED_BY)? == OURS
        && labels.get(GATEWAY_NAME)?.as_str()? == gateway_label(name)
        && text(service, "/metadata/name") == Some(&service_name(name));
    (is_gateway && is_ours).then(|| (name.to_owned(), uid.to_owned()))
}

/// Whether `service` was made for this Gateway.
pub(crate) fn is_of(service: &Value, gateway: &str, uid: &str) -> bool {
    gateway_of(service).is_some_and(|(name, owner)| name == gateway && owner == uid)
}

/// What makes `found` what is `wanted`, as a merge patch; `None`: nothing has to be done.
pub(crate) fn correction(found: &Value, wanted: &Value) -> Option<Value> {
    let mut patch = Map::new();
    let mut metadata = Map::new();
    for field in ["labels", "annotations"] {
        let (is, should) = (map_at(found, field), map_at(wanted, field));
        let mut changes = Map::new();
        for (key, value) in &should {
            if is.get(key) != Some(value) {
                changes.insert(key.clone(), value.clone());
            }
        }
        for key in recorded(found, field) {
            if is.contains_key(&key) && !should.contains_key(&key) {
                changes.insert(key, Value::Null);
            }
        }
        if !changes.is_empty() {
            metadata.insert(field.into(), changes.into());
        }
    }
    if !metadata.is_empty() {
        patch.insert("metadata".into(), metadata.into());
    }
    if wanted.get("kind").and_then(Value::as_str) == Some("Service") {
        let spec = spec_correction(found, wanted);
        if !spec.is_empty() {
            patch.insert("spec".into(), spec.into());
        }
    } else {
        for field in ["endpoints", "ports"] {
            let (is, should) = (found.get(field), wanted.get(field));
            if !is_covered(is, should) {
                patch.insert(field.into(), should.cloned().unwrap_or_default());
            }
        }
    }
    (!patch.is_empty()).then_some(Value::Object(patch))
}

/// Nothing else of a Service leads traffic away from the HAProxy pods.
fn spec_correction(found: &Value, wanted: &Value) -> Map<String, Value> {
    let is = |field: &str| found.pointer("/spec").and_then(|spec| spec.get(field));
    let should = |field: &str| wanted.pointer("/spec").and_then(|spec| spec.get(field));
    let mut changes = Map::new();
    for field in ["type", "ports"] {
        if !is_covered(is(field), should(field)) {
            changes.insert(field.into(), should(field).cloned().unwrap_or_default());
        }
    }
    for field in ["selector", "externalIPs"] {
        let is_empty = |value: &Value| {
            value.is_null()
                || value.as_array().is_some_and(Vec::is_empty)
                || value.as_object().is_some_and(Map::is_empty)
        };
        let (is, should) =
            (is(field).filter(|one| !is_empty(one)), should(field).filter(|one| !is_empty(one)));
        if is != should {
            changes.insert(field.into(), should.cloned().unwrap_or_default());
        }
    }
    changes
}

/// Whether `is` says all that `should` says: what the API server fills in is no difference, another length of a list is one.
fn is_covered(is: Option<&Value>, should: Option<&Value>) -> bool {
    match (is, should) {
        (_, None | Some(Value::Null)) => true,
        (Some(Value::Object(is)), Some(Value::Object(should))) => {
            should.iter().all(|(key, value)| is_covered(is.get(key), Some(value)))
        }
        (Some(Value::Array(is)), Some(Value::Array(should))) => {
            is.len() == should.len()
                && is.iter().zip(should).all(|(is, should)| is_covered(Some(is), Some(should)))
        }
        // The API server leaves empty lists out.
        (None | Some(Value::Null), Some(Value::Array(should))) => should.is_empty(),
        (is, should) => is == should,
    }
}

/// The keys of the Gateway's infrastructure that `service` was given.
fn recorded(service: &Value, field: &str) -> Vec<String> {
    let recorded = map_at(service, "annotations").remove(INFRASTRUCTURE);
    let recorded = recorded.and_then(|recorded| serde_json::from_str::<Value>(recorded.as_str()?).ok());
    let keys = recorded.as_ref().and_then(|recorded| recorded.get(field)?.as_array());
    let keys = keys.into_iter().flatten().filter_map(|key| key.as_str().map(str::to_owned));
    // Whoever edits the record takes no label of ours away by it.
    keys.filter(|key| key != MANAGED_BY && key != GATEWAY_NAME).collect()
}

fn map_at(object: &Value, field: &str) -> Map<String, Value> {
    let map = object.pointer("/metadata").and_then(|metadata| metadata.get(field)?.as_object());
    map.cloned().unwrap_or_default()
}

fn text<'a>(object: &'a Value, pointer: &str) -> Option<&'a str> {
    object.pointer(pointer).and_then(Value::as_str)
}

/// The ports of `found`, a Service.
pub(crate) fn ports_in(found: &Value) -> Vec<GatewayPort> {
    let all = found.pointer("/spec/ports").and_then(Value::as_array).into_iter().flatten();
    let number = |port: &Value, field: &str| u16::try_from(port.get(field)?.as_u64()?).ok();
    all.filter_map(|one| Some(GatewayPort { port: number(one, "port")?, target: number(one, "targetPort")? }))
        .collect()
}

/// Whether `found`, an EndpointSlice, leads a Gateway's port to this port of HAProxy.
pub(crate) fn is_led_to(found: &Value, port: &GatewayPort) -> bool {
    let mut all = found.get("ports").and_then(Value::as_array).into_iter().flatten();
    let (name, target) = (port_name(port.port), u64::from(port.target));
    all.any(|one| {
        one.get("name").and_then(Value::as_str) == Some(&*name)
            && one.get("port").and_then(Value::as_u64) == Some(target)
    })
}

fn port_name(port: u16) -> String {
    format!("port-{port}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use haptic_model::{HaproxyPod, gateway::GatewayPort};
    use std::sync::Arc;

    fn verdict() -> GatewayVerdict {
        let strings = |pairs: &[(&str, &str)]| {
            pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
        };
        GatewayVerdict {
            generation: 1,
            uid: "uid-1".into(),
            ports: vec![GatewayPort { port: 80, target: 20000 }, GatewayPort { port: 443, target: 20443 }],
            addresses: vec![("IPAddress".into(), Some("192.0.2.7".into())), ("IPAddress".into(), None)],
            labels: strings(&[("team.example/name", "shop"), (MANAGED_BY, "me"), ("other", "x")]),
            annotations: strings(&[("team.example/cost", "1")]),
            ..GatewayVerdict::default()
        }
    }

    fn spec() -> GatewayServicesSpec {
        GatewayServicesSpec {
            annotation_prefixes: vec!["team.example/".into()],
            ..GatewayServicesSpec::default()
        }
    }

    fn made(verdict: &GatewayVerdict, spec: &GatewayServicesSpec) -> Value {
        service(&("shop".into(), "web".into()), verdict, &verdict.ports, spec).unwrap()
    }

    /// As the API server stores it.
    fn stored(mut service: Value) -> Value {
        service["metadata"]["uid"] = json!("uid-of-service");
        service["spec"]["clusterIP"] = json!("10.0.0.7");
        for port in service["spec"]["ports"].as_array_mut().unwrap() {
            port["nodePort"] = json!(30000);
        }
        service
    }

    fn pod(addresses: &[&str]) -> ReadyPod {
        let mut addresses = addresses.iter().map(|one| one.parse().unwrap());
        let address: IpAddr = addresses.next().unwrap();
        let pod = HaproxyPod::at("haptic", "a", (address, 5555));
        let pod = HaproxyPod { other_addresses: addresses.collect(), ..pod };
        ReadyPod { pod, node: Some("node-1".into()), terminating: false }
    }

    #[test]
    fn what_the_api_server_fills_in_is_no_difference_and_what_a_tenant_does_is_undone() {
        let wanted = made(&verdict(), &spec());
        assert_eq!(correction(&stored(wanted.clone()), &wanted), None);
        let mut edited = stored(wanted.clone());
        edited["spec"]["selector"] = json!({"app": "mine"});
        edited["spec"]["externalIPs"] = json!(["198.51.100.1"]);
        edited["spec"]["ports"][0]["targetPort"] = json!(8080);
        edited["metadata"]["labels"]["mine"] = json!("stays");
        let patch = correction(&edited, &wanted).unwrap();
        assert_eq!((&patch["spec"]["selector"], &patch["spec"]["externalIPs"]), (&Value::Null, &Value::Null));
        assert_eq!(patch["spec"]["ports"], wanted["spec"]["ports"]);
        assert!(patch.get("metadata").is_none() && patch["spec"].get("type").is_none());
    }

    #[test]
    fn of_the_infrastructure_only_allowed_prefixes_come_and_they_go_again() {
        let wanted = made(&verdict(), &spec());
        let labels = &wanted["metadata"]["labels"];
        assert_eq!((&labels["team.example/name"], &labels[MANAGED_BY]), (&json!("shop"), &json!(OURS)));
        assert!(labels.get("other").is_none());
        let later = GatewayVerdict { labels: BTreeMap::new(), ..verdict() };
        let patch = correction(&stored(wanted), &made(&later, &spec())).unwrap();
        assert_eq!(patch["metadata"]["labels"], json!({"team.example/name": null}));
        let none = made(&verdict(), &GatewayServicesSpec::default());
        assert!(none["metadata"]["labels"].get("team.example/name").is_none());
    }

    #[test]
    fn an_address_is_given_only_from_networks_of_the_operator() {
        assert!(made(&verdict(), &spec())["spec"].get("externalIPs").is_none());
        let allowed =
            GatewayServicesSpec { allowed_addresses: vec!["192.0.2.0/24".parse().unwrap()], ..spec() };
        assert_eq!(made(&verdict(), &allowed)["spec"]["externalIPs"], json!(["192.0.2.7"]));
    }

    #[test]
    fn what_is_somebody_elses_is_told_from_ours() {
        let wanted = made(&verdict(), &spec());
        assert_eq!(ownership(&stored(wanted.clone()), &wanted), Ownership::Current);
        let former = made(&GatewayVerdict { uid: "uid-0".into(), ..verdict() }, &spec());
        assert_eq!(ownership(&former, &wanted), Ownership::Former);
        assert_eq!(ownership(&json!({"metadata": {"name": "x"}}), &wanted), Ownership::Foreign);
        assert_eq!(gateway_of(&wanted), Some(("web".into(), "uid-1".into())));
        let mut renamed = wanted.clone();
        renamed["metadata"]["name"] = json!("mine");
        assert_eq!(gateway_of(&renamed), None, "labels alone make nothing ours");
    }

    #[test]
    fn slices_hold_the_ready_pods_of_a_family_with_their_nodes() {
        let service = stored(made(&verdict(), &spec()));
        let wanted = slices(
            &service,
            &verdict().ports,
            &[pod(&["10.0.0.1", "fd00::1"]), pod(&["10.0.0.2"])],
            |_, _| true,
        );
        assert_eq!(wanted.len(), 2);
        assert_eq!(wanted[0]["endpoints"][1]["addresses"], json!(["10.0.0.2"]));
        assert_eq!(wanted[0]["endpoints"][0]["nodeName"], "node-1");
        assert_eq!(wanted[1]["endpoints"].as_array().unwrap().len(), 1);
        assert_eq!(wanted[0]["ports"][1], json!({"name": "port-443", "port": 20443, "protocol": "TCP"}));
        assert_eq!(correction(&wanted[0], &wanted[0]), None);
        let fewer = slices(&service, &verdict().ports, &[pod(&["10.0.0.2"])], |_, _| true);
        let patch = correction(&wanted[0], &fewer[0]).unwrap();
        assert_eq!(patch, json!({"endpoints": fewer[0]["endpoints"]}));
    }

    #[test]
    fn a_pod_that_terminates_serves_while_nobody_else_does() {
        let service = stored(made(&verdict(), &spec()));
        let conditions = |terminating| {
            let pod = ReadyPod { terminating, ..pod(&["10.0.0.1"]) };
            slices(&service, &verdict().ports, &[pod], |_, _| true)[0]["endpoints"][0]["conditions"].clone()
        };
        assert_eq!(conditions(false), json!({"ready": true, "serving": true, "terminating": false}));
        assert_eq!(conditions(true), json!({"ready": false, "serving": true, "terminating": true}));
    }

    #[test]
    fn names_are_as_long_as_services_may_be_and_nobody_elses() {
        let long: Vec<String> = ["a", "b"].map(|end| "x.".repeat(126) + end).into();
        let names: Vec<String> = long.iter().map(|name| service_name(name)).collect();
        assert!(names.iter().all(|name| name.len() <= 63 && !name.contains('.')));
        assert_ne!(names[0], names[1]);
        assert_ne!(service_name("a.b"), service_name("a-b"));
        assert!(gateway_label(&long[0]).len() <= 63);
        let gateway: NamespacedName = (Arc::from("shop"), long[0].as_str().into());
        let service = stored(service(&gateway, &verdict(), &verdict().ports, &spec()).unwrap());
        let slices = slices(&service, &verdict().ports, &[], |_, _| true);
        assert_ne!(slices[0]["metadata"]["name"], slices[1]["metadata"]["name"]);
    }
}
