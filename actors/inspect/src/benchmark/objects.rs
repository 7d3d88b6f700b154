//! Made-up objects of the usual kinds: Ingresses, each with its Service and its endpoints. Pure.

use haptic_model::{HAProxyTemplateConfigSpec, crd::WatchedResource};
use haptic_routes::class::CONTROLLER;
use haptic_watch::provided::ProvidedObjects;
use serde_json::{Map, Value, json};

/// Ingresses of one namespace.
const A_NAMESPACE: usize = 100;

/// How many there shall be.
#[derive(Clone, Copy, Debug)]
pub struct BenchmarkSize {
    /// Ingresses, and Services.
    pub ingresses: usize,
    /// Endpoints of each Service.
    pub endpoints: usize,
}

/// Objects for those of `spec`'s watched resources that are of a usual kind.
pub(super) fn all(spec: &HAProxyTemplateConfigSpec, size: BenchmarkSize) -> ProvidedObjects {
    let of = |resource: &WatchedResource| -> Vec<Map<String, Value>> {
        let make: Box<dyn Fn(usize) -> Value> = match kind(resource) {
            Some("ingresses") => Box::new(ingress),
            Some("services") => Box::new(service),
            Some("endpointslices") => Box::new(|n| slice(n, size.endpoints, 0)),
            Some("ingressclasses") => return vec![as_object(class(spec))],
            _ => return Vec::new(),
        };
        (0..size.ingresses).map(|number| as_object(make(number))).collect()
    };
    spec.watched_resources.iter().map(|(name, resource)| (name.clone(), of(resource))).collect()
}

/// The plural name, if it is of the API that has the usual kind of that name.
fn kind(resource: &WatchedResource) -> Option<&str> {
    let api = match &*resource.resources {
        "ingresses" | "ingressclasses" => "networking.k8s.io/v1",
        "services" => "v1",
        "endpointslices" => "discovery.k8s.io/v1",
        _ => return None,
    };
    (resource.api_version == api).then_some(&resource.resources)
}

/// The watched resource of that plural name, as templates call it.
pub(super) fn watched<'s>(spec: &'s HAProxyTemplateConfigSpec, plural: &str) -> Option<&'s String> {
    spec.watched_resources.iter().find(|(_, resource)| kind(resource) == Some(plural)).map(|(name, _)| name)
}

/// The EndpointSlice of Service `number` after `change` changes.
pub(super) fn slice(number: usize, endpoints: usize, change: usize) -> Value {
    let address = |index: usize| {
        let [.., b, c, d] = (number * endpoints + index + change * 7).to_be_bytes();
        json!({"addresses": [format!("10.{b}.{c}.{d}")], "conditions": {"ready": true}})
    };
    json!({
        "apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice", "addressType": "IPv4",
        "metadata": metadata(number, "-1", json!({"kubernetes.io/service-name": name(number)})),
        "ports": [{"name": "http", "port": 8080, "protocol": "TCP"}],
        "endpoints": (0..endpoints).map(address).collect::<Vec<_>>(),
    })
}

/// Ingress `number`.
pub(super) fn ingress(number: usize) -> Value {
    json!({
        "apiVersion": "networking.k8s.io/v1", "kind": "Ingress",
        "metadata": metadata(number, "", json!({})),
        "spec": {"ingressClassName": "haproxy", "rules": [{
            "host": format!("{}.example.com", name(number)),
            "http": {"paths": [{"path": "/", "pathType": "Prefix",
                "backend": {"service": {"name": name(number), "port": {"number": 80}}}}]},
        }]},
    })
}

/// The class of all Ingresses, as ours.
fn class(spec: &HAProxyTemplateConfigSpec) -> Value {
    let own = spec.templating_settings.extra_context.get("ingressClass").and_then(|c| c.get("controller"));
    let controller = own.and_then(Value::as_str).unwrap_or(CONTROLLER);
    json!({
        "apiVersion": "networking.k8s.io/v1", "kind": "IngressClass",
        "metadata": {"name": "haproxy"}, "spec": {"controller": controller},
    })
}

fn service(number: usize) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Service",
        "metadata": metadata(number, "", json!({})),
        "spec": {"ports": [{"name": "http", "port": 80, "targetPort": 8080, "protocol": "TCP"}]},
    })
}

fn metadata(number: usize, ending: &str, labels: Value) -> Value {
    json!({
        "name": format!("{}{ending}", name(number)), "namespace": format!("bench-{:04}", number / A_NAMESPACE),
        "uid": format!("00000000-0000-0000-0000-{number:012}"),
        "creationTimestamp": "2026-01-01T00:00:00Z", "labels": labels,
    })
}

fn name(number: usize) -> String {
    format!("shop-{number:05}")
}

pub(super) fn as_object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(fields) => fields,
        _ => Map::new(),
    }
}
