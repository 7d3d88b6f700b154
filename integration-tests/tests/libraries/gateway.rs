//! Gateway API: requests at listeners of Gateways, by tables made of the specification.

use crate::{
    SERIES,
    client::{self, Answer, Way},
    ports::free_port,
    site::Site,
};
use base64::{Engine, engine::general_purpose::STANDARD as BASE64};
use integration_tests::{
    certificate::{self, Certificate},
    program::HaproxySeries,
};
use serde_json::{Value, json};
use std::{
    cell::RefCell,
    collections::BTreeMap,
    net::{SocketAddr, TcpStream},
    time::{Duration, Instant},
};

mod changes;
mod classes;
mod external_auth;
mod hostnames;
mod isolation;
mod matching;
mod owners;
mod proxies;
mod random;
mod retries;
mod rules;
mod sizes;
mod streams;
mod tls;

const GROUP: &str = "gateway.networking.k8s.io/v1";

/// A site with Gateways. Each port of a listener is one of HAProxy's.
pub(super) struct GatewaySite {
    _site: Site,
    ports: BTreeMap<u16, u16>,
}

impl GatewaySite {
    pub fn start(series: HaproxySeries, manifests: &[Value]) -> Self {
        Self::start_with(series, manifests, |_| ())
    }

    /// One with a configuration that `change` changes.
    pub fn start_with(series: HaproxySeries, manifests: &[Value], change: impl Fn(&mut Value)) -> Self {
        let chosen = RefCell::new(BTreeMap::new());
        let wanted: Vec<u16> = listeners(manifests).collect();
        let site = Site::start_with(series, manifests, |spec| {
            let ports: BTreeMap<u16, u16> = wanted.iter().map(|port| (*port, free_port())).collect();
            spec["libraries"] = json!(["base", "ssl", "gateway"]);
            let targets: BTreeMap<String, u16> =
                ports.iter().map(|(port, target)| (port.to_string(), *target)).collect();
            spec["templatingSettings"]["extraContext"]["gateway"] =
                json!({"portMode": "same", "portTargets": targets});
            change(spec);
            chosen.replace(ports);
        });
        Self::of(site, chosen.into_inner())
    }

    /// A site that is there.
    pub fn of(site: Site, ports: BTreeMap<u16, u16>) -> Self {
        let this = Self { _site: site, ports };
        this.ports.keys().for_each(|port| this.wait_for(*port));
        this
    }

    /// HAProxy listens at one port after the other.
    fn wait_for(&self, port: u16) {
        let deadline = Instant::now() + Duration::from_secs(30);
        while TcpStream::connect(self.address(port)).is_err() {
            assert!(Instant::now() < deadline, "HAProxy does not listen at {port}");
            std::thread::park_timeout(Duration::from_millis(5));
        }
    }

    /// GET over HTTP at port 80 of the listener.
    pub fn get(&self, host: &str, path: &str) -> Answer {
        self.ask(80, None, "GET", host, path, "")
    }

    /// Any request, over TLS where it has a name for that. `headers`: whole lines, each with its end.
    pub fn ask(
        &self,
        port: u16,
        sni: Option<&str>,
        method: &str,
        host: &str,
        path: &str,
        headers: &str,
    ) -> Answer {
        let head = format!("{method} {path} HTTP/1.1\r\nHost: {host}\r\n{headers}");
        let asked = client::ask(&Way::to(self.address(port), sni), &head, "");
        asked.unwrap_or_else(|e| panic!("{method} {host}{path} at {port} for {sni:?}: {e}"))
    }

    pub fn address(&self, port: u16) -> SocketAddr {
        SocketAddr::from(([127, 0, 0, 1], self.ports[&port]))
    }
}

fn listeners(manifests: &[Value]) -> impl Iterator<Item = u16> {
    let listeners = manifests.iter().filter_map(|one| one.pointer("/spec/listeners")?.as_array()).flatten();
    listeners.map(|one| u16::try_from(one["port"].as_u64().unwrap()).unwrap())
}

/// Asks a site of each HAProxy.
fn on_each(manifests: &[Value], ask: impl Fn(&GatewaySite)) {
    for series in SERIES {
        ask(&GatewaySite::start(series, manifests));
    }
}

pub(super) fn object(kind: &str, namespace: &str, name: &str, spec: Value) -> Value {
    json!({"apiVersion": GROUP, "kind": kind, "metadata": {"namespace": namespace, "name": name, "generation": 1,
        "creationTimestamp": "2026-01-01T00:00:00Z"}, "spec": spec})
}

/// Our class, and the namespaces of the tests.
pub(super) fn around() -> Vec<Value> {
    let namespace = |name: &str, labels: Value| json!({"kind": "Namespace", "metadata": {"name": name, "labels": labels}});
    vec![
        object(
            "GatewayClass",
            "",
            "haptic",
            json!({"controllerName": "haproxy-haptic.org/gateway-controller"}),
        ),
        namespace("edge", json!({})),
        namespace("shop", json!({"team": "shop"})),
        namespace("blog", json!({"team": "blog"})),
    ]
}

/// The same, and a Gateway `gw` for all of them.
pub(super) fn around_gateway() -> Vec<Value> {
    let mut all = around();
    all.push(gateway("gw", json!([listener("http", None)])));
    all
}

/// The same with these routes.
pub(super) fn site(routes: impl IntoIterator<Item = Value>) -> Vec<Value> {
    around_gateway().into_iter().chain(routes).collect()
}

/// An HTTP listener at port 80 for routes of all namespaces.
pub(super) fn listener(name: &str, hostname: Option<&str>) -> Value {
    let mut listener = json!({"name": name, "port": 80, "protocol": "HTTP", "allowedRoutes": {"namespaces": {"from": "All"}}});
    if let Some(hostname) = hostname {
        listener["hostname"] = hostname.into();
    }
    listener
}

pub(super) fn gateway(name: &str, listeners: Value) -> Value {
    object("Gateway", "edge", name, json!({"gatewayClassName": "haptic", "listeners": listeners}))
}

/// A route of namespace shop at the Gateway `edge/gw`.
pub(super) fn route(name: &str, hostnames: &[&str], rules: Value) -> Value {
    let parents = json!([{"name": "gw", "namespace": "edge"}]);
    object("HTTPRoute", "shop", name, json!({"parentRefs": parents, "hostnames": hostnames, "rules": rules}))
}

/// The same as one that is older, the smaller the number.
pub(super) fn aged(mut object: Value, age: u8) -> Value {
    object["metadata"]["creationTimestamp"] = format!("2025-01-{age:02}T00:00:00Z").into();
    object
}

/// One service of the site's.
pub(super) fn to(number: u8) -> Value {
    json!([{"name": format!("s{number}"), "port": 80}])
}

/// The Secret of a certificate for a name.
pub(super) fn secret(namespace: &str, name: &str, host: &str) -> Value {
    secret_of(namespace, name, &certificate::for_host(host).unwrap())
}

/// The Secret of a certificate.
pub(super) fn secret_of(namespace: &str, name: &str, made: &Certificate) -> Value {
    json!({"kind": "Secret", "metadata": {"namespace": namespace, "name": name},
        "data": {"tls.crt": BASE64.encode(&made.pem), "tls.key": BASE64.encode(&made.key)}})
}
