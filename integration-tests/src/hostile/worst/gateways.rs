//! Gateways and their routes: as many of each thing as one object may have, and what belongs to others.

use super::super::{
    admission::{LISTENERS, NAME, ROUTE_HOSTNAMES, ROUTE_MATCHES, ROUTE_RULES},
    case::{Around, Case, Mallory},
    texts::regexes,
};
use crate::{certificate, failure::Outcome};
use serde_json::{Value, json};

const API: &str = "gateway.networking.k8s.io/v1";
/// Conditions of each kind that a match may have.
const CONDITIONS: usize = 16;

pub fn cases(around: Around) -> Outcome<Vec<Case>> {
    let made = certificate::for_host("*.mallory.example")?;
    let case =
        |name: &str, objects: fn(&Mallory) -> Vec<Value>| Case::new(around, name, |m| m.with_web(objects(m)));
    let mut cases = vec![
        case("a thousand rules of many routes", |m| {
            let routes = (0..63).map(|number| {
                let rules = (0..ROUTE_RULES).map(|rule| {
                    let paths = (0..4).map(|path| json!({"path": {"type": "PathPrefix", "value": format!("/{number}/{rule}/{path}")}}));
                    json!({"matches": paths.collect::<Vec<_>>(), "backendRefs": [web()]})
                });
                route(m, "HTTPRoute", &format!("r{number}"), json!({"rules": rules.collect::<Vec<_>>()}))
            });
            routes.chain([plain(m)]).collect()
        }),
        case("Gateways whose names are as long as they may be", |m| {
            let long = "g".repeat(NAME);
            let listener = json!({"name": long, "port": 80, "protocol": "HTTP", "hostname": m.host});
            let gateway =
                object(m, "Gateway", &long, json!({"gatewayClassName": "haptic", "listeners": [listener]}));
            let parent = json!({"name": long, "sectionName": long});
            let rule = json!({"name": long, "backendRefs": [{"name": long, "port": 80}, web()]});
            let routed = object(m, "HTTPRoute", &long, json!({"parentRefs": [parent], "rules": [rule]}));
            // It differs from the first in its last character alone.
            let mut other = routed.clone();
            other["metadata"]["name"] = format!("{}h", "g".repeat(NAME - 1)).into();
            vec![gateway, routed, other]
        }),
        case("references to what is others'", |m| {
            let stolen = json!({"group": "", "kind": "Secret", "namespace": "alpha", "name": "own"});
            let listener = json!({"name": "https", "port": 443, "protocol": "HTTPS", "hostname": "alpha.example",
                "tls": {"mode": "Terminate", "certificateRefs": [stolen]}});
            let gateway = object(
                m,
                "Gateway",
                "gateway",
                json!({"gatewayClassName": "haptic", "listeners": [
                listener, {"name": "http", "port": 80, "protocol": "HTTP", "hostname": "alpha.example"}]}),
            );
            let rule = json!({"backendRefs": [{"namespace": "alpha", "name": "web", "port": 80}],
                "filters": [{"type": "RequestMirror", "requestMirror": {"backendRef": {"namespace": "alpha", "name": "moving", "port": 80}}}]});
            let parents = json!([{"name": "gateway"}, {"namespace": "alpha", "name": "gateway"}]);
            let routed = object(
                m,
                "HTTPRoute",
                "web",
                json!({"parentRefs": parents, "hostnames": ["alpha.example"], "rules": [rule]}),
            );
            // Only who has the Service may grant it.
            let grant = object(
                m,
                "ReferenceGrant",
                "grant",
                json!({
                "from": [{"group": "gateway.networking.k8s.io", "kind": "HTTPRoute", "namespace": m.namespace}],
                "to": [{"group": "", "kind": "Service"}, {"group": "", "kind": "Secret"}]}),
            );
            vec![gateway, routed, grant]
        }),
        case("matches of headers and patterns", |m| {
            let patterns: Vec<String> = regexes().into_iter().filter(|regex| regex.len() <= 1024).collect();
            let pattern = |number: usize| patterns[number % patterns.len()].clone();
            let conditions = |number: usize, name: &str| -> Vec<Value> {
                let one = |at| json!({"type": "RegularExpression", "name": format!("{name}{at}"), "value": pattern(number + at)});
                (0..CONDITIONS).map(one).collect()
            };
            let rules = (0..2).map(|rule| {
                let matches = (0..ROUTE_MATCHES / 2).map(|number| {
                    json!({
                        "path": {"type": "RegularExpression", "value": pattern(rule + number)},
                        "headers": conditions(number, "X-"), "queryParams": conditions(number, "q"),
                    })
                });
                json!({"matches": matches.collect::<Vec<_>>(), "backendRefs": [web()]})
            });
            let spec = json!({"rules": rules.collect::<Vec<_>>()});
            let routes = (0..8).map(|number| route(m, "HTTPRoute", &format!("r{number}"), spec.clone()));
            routes.chain([plain(m)]).collect()
        }),
        case("routes of as many hostnames as they may have", |m| {
            let routes = ["HTTPRoute", "GRPCRoute"]
                .into_iter()
                .flat_map(|kind| (0..64).map(move |number| (kind, number)));
            let routes = routes.map(|(kind, number)| {
                let hosts = (0..ROUTE_HOSTNAMES)
                    .map(|host| format!("h{host}.{}{number}.{}", kind.to_lowercase(), m.host));
                let spec =
                    json!({"hostnames": hosts.collect::<Vec<_>>(), "rules": [{"backendRefs": [web()]}]});
                route(m, kind, &format!("r{number}"), spec)
            });
            routes.chain([plain(m)]).collect()
        }),
        case("header lines of as many filters as there may be", |m| {
            let lines = |of: &str| {
                (0..CONDITIONS)
                    .map(|n| json!({"name": format!("X-{of}-{n}"), "value": "%[env(HOME)]".repeat(340)}))
                    .collect::<Vec<_>>()
            };
            let filters = json!([
                {"type": "RequestHeaderModifier", "requestHeaderModifier": {"set": lines("Set"), "add": lines("Add")}},
                {"type": "ResponseHeaderModifier", "responseHeaderModifier": {"set": lines("Set"), "add": lines("Add")}},
            ]);
            // An object of one and a half megabytes is none.
            let rules: Vec<Value> = (0..4)
                .map(|rule| {
                    json!({"filters": filters, "backendRefs": [web()],
                "matches": [{"path": {"type": "Exact", "value": format!("/{rule}")}}]})
                })
                .collect();
            let routes =
                (0..4).map(|number| route(m, "HTTPRoute", &format!("r{number}"), json!({"rules": rules})));
            routes.chain([plain(m)]).collect()
        }),
        case("servers under TLS by no authority", |m| {
            let policy = |number: usize| {
                object(
                    m,
                    "BackendTLSPolicy",
                    &format!("p{number}"),
                    json!({
                "targetRefs": [{"group": "", "kind": "Service", "name": "web"}],
                "validation": {"hostname": "alpha.example", "caCertificateRefs": [{"group": "", "kind": "ConfigMap", "name": "nosuch"}]}}),
                )
            };
            let spec = json!({"rules": [{"backendRefs": [web()]}]});
            (0..100).map(policy).chain([plain(m), route(m, "HTTPRoute", "web", spec)]).collect()
        }),
    ];
    cases.push(Case::new(around, "sixty-four listeners of each protocol", |m| {
        let mut objects = vec![m.tls("own", &made.pem, &made.key)];
        for protocol in ["HTTP", "HTTPS", "TLS", "TCP"] {
            let name = protocol.to_lowercase();
            let listeners: Vec<Value> = (0..LISTENERS).map(|n| listener(m, protocol, n)).collect();
            let spec = json!({"gatewayClassName": "haptic", "listeners": listeners});
            objects.push(object(m, "Gateway", &name, spec));
            let more: Vec<Value> = (LISTENERS..2 * LISTENERS).map(|n| listener(m, protocol, n)).collect();
            let spec = json!({"parentRef": {"name": name}, "listeners": more});
            objects.push(object(m, "ListenerSet", &name, spec));
        }
        m.with_web(objects)
    }));
    Ok(cases)
}

/// A listener with a port of its own; of those with names, with one, too.
fn listener(m: &Mallory, protocol: &str, number: usize) -> Value {
    let mut listener = json!({"name": format!("l{number}"), "port": 10_000 + number, "protocol": protocol});
    if protocol != "TCP" {
        listener["hostname"] = format!("l{number}.{}", m.host).into();
    }
    match protocol {
        "HTTPS" => {
            listener["tls"] = json!({"mode": "Terminate", "certificateRefs": [{"group": "", "kind": "Secret", "name": "own"}]});
        }
        "TLS" => listener["tls"] = json!({"mode": "Passthrough"}),
        _ => {}
    }
    listener
}

/// A Gateway for whatever host.
fn plain(m: &Mallory) -> Value {
    let listeners = json!([{"name": "http", "port": 80, "protocol": "HTTP"}]);
    object(m, "Gateway", "gateway", json!({"gatewayClassName": "haptic", "listeners": listeners}))
}

/// A route at the Gateway of [`plain`].
fn route(m: &Mallory, kind: &str, name: &str, mut spec: Value) -> Value {
    spec["parentRefs"] = json!([{"name": "gateway"}]);
    object(m, kind, name, spec)
}

fn web() -> Value {
    json!({"name": "web", "port": 80})
}

fn object(m: &Mallory, kind: &str, name: &str, spec: Value) -> Value {
    let metadata =
        json!({"namespace": m.namespace, "name": name, "creationTimestamp": "2026-06-01T00:00:00Z"});
    json!({"apiVersion": API, "kind": kind, "metadata": metadata, "spec": spec})
}
