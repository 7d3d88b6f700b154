//! The Kubernetes objects that journeys write, as the JSON that a user's YAML would be.

use crate::certificate::Certificate;
use serde_json::{Value, json};
use std::net::Ipv4Addr;

/// The port of every backend.
pub const BACKEND_PORT: u16 = 8080;

/// The Namespace `name`.
#[must_use]
pub fn namespace(name: &str) -> Value {
    json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": name } })
}

/// A Service `name` with one port, 80.
#[must_use]
pub fn service(name: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Service", "metadata": { "name": name },
        "spec": { "ports": [{ "name": "http", "port": 80, "targetPort": BACKEND_PORT }], "selector": { "app": name } },
    })
}

/// The ready endpoints of Service `service`, as its one EndpointSlice.
#[must_use]
pub fn endpoints(service: &str, addresses: &[Ipv4Addr]) -> Value {
    let ready = json!({ "ready": true, "serving": true, "terminating": false });
    let endpoints: Vec<Value> =
        addresses.iter().map(|a| json!({ "addresses": [a], "conditions": ready })).collect();
    json!({
        "apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice",
        "metadata": { "name": format!("{service}-1"), "labels": { "kubernetes.io/service-name": service } },
        "addressType": "IPv4", "endpoints": endpoints,
        "ports": [{ "name": "http", "port": BACKEND_PORT, "protocol": "TCP" }],
    })
}

/// An Ingress `name` that sends all of `host` to port 80 of Service `service`.
#[must_use]
pub fn ingress(name: &str, host: &str, service: &str) -> Value {
    let backend = json!({ "service": { "name": service, "port": { "number": 80 } } });
    json!({
        "apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "metadata": { "name": name },
        "spec": {
            "ingressClassName": "haptic",
            "rules": [{ "host": host, "http": { "paths": [{ "path": "/", "pathType": "Prefix", "backend": backend }] } }],
        },
    })
}

/// [`ingress`] with the certificate of Secret `secret`.
#[must_use]
pub fn tls_ingress(name: &str, host: &str, service: &str, secret: &str) -> Value {
    let mut ingress = ingress(name, host, service);
    ingress["spec"]["tls"] = json!([{ "hosts": [host], "secretName": secret }]);
    ingress
}

/// A TLS Secret.
#[must_use]
pub fn tls_secret(name: &str, certificate: &Certificate) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/tls", "metadata": { "name": name },
        "stringData": { "tls.crt": certificate.pem, "tls.key": certificate.key },
    })
}

/// The Secret with the credentials of HAProxy pods.
#[must_use]
pub fn credentials(name: &str, username: &str, password: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": { "name": name },
        "stringData": { "dataplane_username": username, "dataplane_password": password },
    })
}

/// A HAProxy pod as its owner would create it.
#[must_use]
pub fn haproxy_pod(name: &str, labels: &Value) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": { "name": name, "labels": labels },
        "spec": { "containers": [{ "name": "haproxy", "image": "haproxy" }], "automountServiceAccountToken": false },
    })
}

/// What a kubelet writes once the pod runs at `address`.
#[must_use]
pub fn pod_status(address: Ipv4Addr, ready: bool) -> Value {
    let ready = if ready { "True" } else { "False" };
    json!({ "status": {
        "phase": "Running", "podIP": address, "podIPs": [{ "ip": address }],
        "conditions": [{ "type": "Ready", "status": ready }],
    }})
}
