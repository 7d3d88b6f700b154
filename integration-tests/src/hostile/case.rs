//! A case: objects of one hostile tenant, and what is asked of its hosts. The tenant's objects are right but for what the
//! case changes.

use crate::manifest::BACKEND_PORT;
use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde_json::{Map, Value, json};
use std::net::Ipv4Addr;

/// What hostile namespaces begin with.
pub const NAMESPACE: &str = "mallory";
/// What our own annotations begin with.
pub const OPTIONS: &str = "haproxy-haptic.org/";

/// Addresses that hostile objects name.
#[derive(Clone, Copy, Debug)]
pub struct Around {
    /// HAProxy's own.
    pub haproxy: Ipv4Addr,
    /// A server of mallory.
    pub server: Ipv4Addr,
}

/// Objects that an API server takes, and requests for them.
#[derive(Clone, Debug)]
pub struct Case {
    /// In words.
    pub name: String,
    /// Whose objects.
    pub mallory: Mallory,
    /// All objects, with their namespaces.
    pub objects: Vec<Value>,
    /// What a client asks when they are there.
    pub asks: Vec<Ask>,
    /// Whether long runs alone try it: others are like it.
    pub is_rare: bool,
}

/// A request of a client whom mallory sends.
#[derive(Clone, Debug)]
pub struct Ask {
    /// Over TLS.
    pub tls: bool,
    /// The host.
    pub host: String,
    /// The path.
    pub path: String,
    /// Whole lines, each with its end.
    pub headers: String,
}

/// A hostile tenant, with a namespace and a host of its own.
#[derive(Clone, Debug)]
pub struct Mallory {
    /// Its namespace.
    pub namespace: String,
    /// Its host.
    pub host: String,
    /// Where it is.
    pub around: Around,
}

impl Case {
    /// What a tenant of its own writes.
    #[must_use]
    pub fn new(around: Around, name: &str, objects: impl FnOnce(&Mallory) -> Vec<Value>) -> Self {
        let mallory = Mallory::new(around, name);
        let asks = vec![Ask::get(&mallory.host, "/"), Ask { tls: true, ..Ask::get(&mallory.host, "/") }];
        Self { name: name.to_owned(), objects: objects(&mallory), mallory, asks, is_rare: false }
    }

    /// The same with this request, too.
    #[must_use]
    pub fn asking(mut self, ask: impl FnOnce(&Mallory) -> Ask) -> Self {
        self.asks.push(ask(&self.mallory));
        self
    }

    /// The same, for long runs alone.
    #[must_use]
    pub fn rarely(self) -> Self {
        Self { is_rare: true, ..self }
    }

    /// Its name as part of names of objects and files.
    #[must_use]
    pub fn slug(&self) -> String {
        slug(&self.name)
    }
}

impl Ask {
    /// GET over plain HTTP.
    #[must_use]
    pub fn get(host: &str, path: &str) -> Self {
        Self { tls: false, host: host.to_owned(), path: path.to_owned(), headers: String::new() }
    }

    /// The same with the password `secret` of user `anna`.
    #[must_use]
    pub fn with_password(self) -> Self {
        let credentials = STANDARD.encode("anna:secret");
        Self { headers: format!("Authorization: Basic {credentials}\r\n"), ..self }
    }
}

impl Mallory {
    /// Whose namespace and host come of `name`.
    #[must_use]
    pub fn new(around: Around, name: &str) -> Self {
        let slug = slug(name);
        Self { namespace: format!("{NAMESPACE}-{slug}"), host: format!("{slug}.mallory.example"), around }
    }

    /// An Ingress for its host, with its Service.
    #[must_use]
    pub fn ingress(&self, name: &str) -> Value {
        self.ingress_of(name, &[&self.host], &["/"])
    }

    /// An Ingress for these hosts, each with these paths.
    #[must_use]
    pub fn ingress_of(&self, name: &str, hosts: &[&str], paths: &[&str]) -> Value {
        let paths: Vec<Value> = paths
            .iter()
            .map(|path| json!({"path": path, "pathType": "Prefix", "backend": backend("web")}))
            .collect();
        let rules: Vec<Value> =
            hosts.iter().map(|host| json!({"host": host, "http": {"paths": paths.clone()}})).collect();
        json!({
            "apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "metadata": self.metadata(name),
            "spec": {"ingressClassName": "haptic", "rules": rules},
        })
    }

    /// An Ingress with these annotations of ours.
    #[must_use]
    pub fn annotated(&self, name: &str, annotations: &[(&str, String)]) -> Value {
        let annotations: Map<String, Value> = annotations
            .iter()
            .map(|(option, value)| (format!("{OPTIONS}{option}"), value.clone().into()))
            .collect();
        let mut ingress = self.ingress(name);
        ingress["metadata"]["annotations"] = annotations.into();
        ingress
    }

    /// An Ingress with a certificate for its hosts.
    #[must_use]
    pub fn secured(&self, name: &str, hosts: &[&str], secret: &str) -> Value {
        let mut ingress = self.ingress(name);
        ingress["spec"]["tls"] = json!([{ "hosts": hosts, "secretName": secret }]);
        ingress
    }

    /// The Service `web`, with its server.
    #[must_use]
    pub fn web(&self) -> Vec<Value> {
        vec![self.service("web"), self.slice("web", "web", &[self.around.server.to_string()], BACKEND_PORT)]
    }

    /// These objects, and [`Mallory::web`].
    #[must_use]
    pub fn with_web(&self, mut objects: Vec<Value>) -> Vec<Value> {
        objects.extend(self.web());
        objects
    }

    /// A Service with port 80.
    #[must_use]
    pub fn service(&self, name: &str) -> Value {
        json!({
            "apiVersion": "v1", "kind": "Service", "metadata": self.metadata(name),
            "spec": {"clusterIP": "None", "ports": [{"name": "http", "port": 80, "targetPort": BACKEND_PORT}]},
        })
    }

    /// An EndpointSlice of a Service.
    #[must_use]
    pub fn slice(&self, name: &str, service: &str, addresses: &[String], port: u16) -> Value {
        let family = if addresses.iter().any(|address| address.contains(':')) { "IPv6" } else { "IPv4" };
        let endpoints: Vec<Value> =
            addresses.iter().map(|a| json!({"addresses": [a], "conditions": {"ready": true}})).collect();
        let mut metadata = self.metadata(name);
        metadata["labels"] = json!({ "kubernetes.io/service-name": service });
        json!({
            "apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice", "metadata": metadata,
            "addressType": family, "endpoints": endpoints,
            "ports": [{"name": "http", "port": port, "protocol": "TCP"}],
        })
    }

    /// A Service that is a name.
    #[must_use]
    pub fn external(&self, name: &str, target: &str, port: u16) -> Value {
        json!({
            "apiVersion": "v1", "kind": "Service", "metadata": self.metadata(name),
            "spec": {"type": "ExternalName", "externalName": target, "ports": [{"name": "http", "port": port}]},
        })
    }

    /// A TLS Secret with these bytes.
    #[must_use]
    pub fn tls(&self, name: &str, certificate: impl AsRef<[u8]>, key: impl AsRef<[u8]>) -> Value {
        let data = json!({ "tls.crt": STANDARD.encode(certificate), "tls.key": STANDARD.encode(key) });
        self.secret(name, "kubernetes.io/tls", data)
    }

    /// A Secret that annotations may name, with one key.
    #[must_use]
    pub fn labelled(&self, name: &str, key: &str, value: impl AsRef<[u8]>) -> Value {
        let mut secret = self.secret(name, "Opaque", json!({ key: STANDARD.encode(value) }));
        secret["metadata"]["labels"] = json!({ "haproxy-haptic.org/use": "ingress" });
        secret
    }

    fn secret(&self, name: &str, kind: &str, data: Value) -> Value {
        json!({
            "apiVersion": "v1", "kind": "Secret", "type": kind, "metadata": self.metadata(name), "data": data,
        })
    }

    /// Later than everybody else's.
    fn metadata(&self, name: &str) -> Value {
        json!({ "namespace": self.namespace, "name": name, "creationTimestamp": "2026-06-01T00:00:00Z" })
    }
}

/// Port 80 of a Service of the same namespace.
#[must_use]
pub fn backend(service: &str) -> Value {
    json!({ "service": { "name": service, "port": { "number": 80 } } })
}

fn slug(name: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' };
    let slug: String = name.chars().map(plain).take(48).collect();
    slug.trim_matches('-').to_owned()
}
