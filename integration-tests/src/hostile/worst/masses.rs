//! Masses: of every watched kind more large objects than the stores of a small container take, each as bad as one of its kind
//! may be.

use super::super::{
    admission::ENDPOINTS,
    case::{Around, Mallory, OPTIONS, backend},
    texts::{HUGE, shapes},
};
use serde_json::{Value, json};

/// Of those whose texts are large.
const OF_TEXTS: usize = 150;
/// Of those that count a megabyte.
const OF_A_MEGABYTE: usize = 60;
/// Of those that have lists by the thousand, and count five.
const OF_LISTS: usize = 16;
/// Namespaces that share a mass.
const NAMESPACES: usize = 8;

/// A mass by its name.
pub struct Mass {
    /// What it is.
    pub name: &'static str,
    make: fn(&Mallory, usize) -> Value,
    count: usize,
}

/// All of them.
pub const ALL: [Mass; 8] = [
    Mass { name: "mass of header lines", make: of_header_lines, count: OF_TEXTS },
    Mass { name: "mass of annotations nobody reads", make: of_foreign_annotations, count: OF_TEXTS },
    Mass { name: "mass of paths", make: of_paths, count: OF_LISTS },
    Mass { name: "mass of hosts", make: of_hosts, count: OF_LISTS },
    Mass { name: "mass of hosts under TLS", make: of_tls_hosts, count: OF_LISTS },
    Mass { name: "mass of endpoints", make: of_endpoints, count: OF_A_MEGABYTE },
    Mass { name: "mass of ports", make: of_ports, count: OF_LISTS },
    Mass { name: "mass of Secrets", make: of_secrets, count: OF_A_MEGABYTE },
];

impl Mass {
    /// Its objects, in namespaces of its own. Each namespace has an Ingress that leads to its Service.
    #[must_use]
    pub fn objects(&self, around: Around) -> Vec<Value> {
        let of = |n| Mallory::new(around, &format!("{} {n}", self.name));
        let spread: Vec<Mallory> = (0..NAMESPACES).map(of).collect();
        let mass = (0..self.count).zip(spread.iter().cycle()).map(|(n, m)| (self.make)(m, n));
        spread.iter().flat_map(|m| m.with_web(vec![m.ingress("web")])).chain(mass).collect()
    }
}

fn of_header_lines(m: &Mallory, n: usize) -> Value {
    let lines = shapes(HUGE / 4).into_iter().find(|(name, _)| *name == "header lines").unwrap_or_default().1;
    let options = ["request-headers", "response-headers", "allow-from", "cors-allow-origin"];
    let mut ingress = m.annotated(&format!("i{n}"), &options.map(|option| (option, lines.clone())));
    ingress["spec"]["rules"][0]["host"] = format!("i{n}.{}", m.host).into();
    ingress
}

fn of_foreign_annotations(m: &Mallory, n: usize) -> Value {
    let mut ingress = m.ingress(&format!("i{n}"));
    ingress["metadata"]["annotations"] = json!({ "example.com/huge": "v".repeat(HUGE * 3 / 4), format!("{OPTIONS}unknown"): "v".repeat(HUGE / 4) });
    ingress["spec"]["rules"][0]["host"] = format!("i{n}.{}", m.host).into();
    ingress
}

fn of_paths(m: &Mallory, n: usize) -> Value {
    let paths: Vec<Value> = (0..9_000)
        .map(|p| json!({ "path": format!("/path/{n}/{p}"), "pathType": "Prefix", "backend": backend("web") }))
        .collect();
    let mut ingress = m.ingress(&format!("i{n}"));
    ingress["spec"]["rules"] = json!([{ "host": m.host, "http": { "paths": paths } }]);
    ingress
}

fn of_hosts(m: &Mallory, n: usize) -> Value {
    let path = json!([{ "path": "/", "pathType": "Prefix", "backend": backend("web") }]);
    let mut ingress = m.ingress(&format!("i{n}"));
    ingress["spec"]["rules"] = (0..5_500)
        .map(|h| json!({ "host": format!("h{h}.i{n}.{}", m.host), "http": { "paths": path.clone() } }))
        .collect();
    ingress
}

fn of_tls_hosts(m: &Mallory, n: usize) -> Value {
    let hosts: Vec<String> = (0..15_000).map(|h| format!("h{h}.i{n}.{}", m.host)).collect();
    let mut ingress = m.ingress(&format!("i{n}"));
    ingress["spec"]["tls"] = json!([{ "hosts": hosts, "secretName": "own" }]);
    ingress
}

fn of_endpoints(m: &Mallory, n: usize) -> Value {
    let addresses: Vec<String> =
        (0..ENDPOINTS.0).map(|e| format!("10.{}.{}.{}", 64 + n % 64, e / 250, e % 250 + 1)).collect();
    m.slice(&format!("many-{n}"), "web", &addresses, 8080)
}

fn of_ports(m: &Mallory, n: usize) -> Value {
    let mut service = m.service(&format!("many-{n}"));
    service["spec"]["ports"] =
        (1..=9_000).map(|p| json!({ "name": format!("p{p}"), "port": p, "targetPort": p })).collect();
    service
}

fn of_secrets(m: &Mallory, n: usize) -> Value {
    m.labelled(&format!("s{n}"), "auth", "v".repeat(700 << 10))
}
