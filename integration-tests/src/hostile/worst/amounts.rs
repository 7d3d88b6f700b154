//! Amounts: as many of each thing as one object may have, and few objects that somebody multiplies.

use super::super::{
    admission::{ENDPOINTS, PORTS},
    case::{Around, Ask, Case, Mallory, OPTIONS, backend},
    texts::HUGE,
};
use crate::{certificate, failure::Outcome};
use serde_json::{Map, Value, json};

pub fn cases(around: Around) -> Outcome<Vec<Case>> {
    let case =
        |name: &str, objects: fn(&Mallory) -> Vec<Value>| Case::new(around, name, |m| m.with_web(objects(m)));
    let mut cases = vec![
        case("hosts by the thousand", |m| vec![of_hosts(m, 5_500)]),
        case("paths by the thousand", |m| {
            let paths: Vec<String> = (0..9_000).map(|n| format!("/path/{n}")).collect();
            vec![m.ingress_of("web", &[&m.host], &paths.iter().map(String::as_str).collect::<Vec<_>>())]
        }),
        case("paths as long as they may be", |m| {
            let paths: Vec<String> = (0..5).map(|n| format!("/{n}{}", "a/".repeat(100_000))).collect();
            vec![m.ingress_of("web", &[&m.host], &paths.iter().map(String::as_str).collect::<Vec<_>>())]
        }),
        case("paths that are words elsewhere", |m| {
            let odd = [
                "/ ",
                "/x y",
                "/\n",
                "/x\n    http-request deny",
                "/\u{0}",
                "/#",
                "/%00",
                "/%",
                "/{{x}}",
                "/%[env(HOME)]",
                "/\u{e000}",
                "/\"'\\",
                "/(a+)+$",
                "/.*",
                "//",
                "/./",
                "/../",
                "/%2F",
                "/x|y",
                "/x;y",
                "/x?y",
                "/é",
                "/\u{2028}",
            ];
            odd.iter().enumerate().map(|(n, path)| {
                let mut ingress = m.ingress(&format!("i{n}"));
                ingress["spec"]["rules"][0]["http"]["paths"] =
                    json!([{ "path": path, "pathType": "ImplementationSpecific", "backend": backend("web") }]);
                ingress
            }).collect()
        }),
        case("hosts of one TLS entry by the thousand", |m| {
            let hosts: Vec<String> = (0..15_000).map(|n| format!("h{n}.{}", m.host)).collect();
            let mut ingress = m.ingress("web");
            ingress["spec"]["tls"] = json!([{ "hosts": hosts, "secretName": "own" }]);
            vec![ingress]
        }),
        case("TLS entries by the thousand", |m| {
            let entries: Vec<Value> = (0..9_000)
                .map(|n| json!({ "hosts": [format!("h{n}.{}", m.host)], "secretName": format!("s{n}") }))
                .collect();
            let mut ingress = m.ingress("web");
            ingress["spec"]["tls"] = entries.into();
            vec![ingress]
        }),
        case("TLS entries without hosts", |m| {
            let mut ingress = m.ingress("web");
            ingress["spec"]["tls"] = (0..9_000).map(|n| json!({ "secretName": format!("s{n}") })).collect();
            vec![ingress]
        }),
        case("ports by the thousand", |m| {
            let port = |n: usize| json!({ "name": format!("p{n}"), "port": n + 1 });
            let mut service = m.service("many");
            service["spec"]["ports"] = (0..10_000).map(port).collect();
            let mut slice = m.slice("many", "many", &[m.around.server.to_string()], 8080);
            slice["ports"] = (0..PORTS)
                .map(|n| json!({ "name": format!("p{n}"), "port": n % 65_000 + 1, "protocol": "TCP" }))
                .collect();
            let mut ingress = m.ingress("web");
            ingress["spec"]["rules"][0]["http"]["paths"] = (1..2_000).map(|n| json!({
                "path": format!("/p{n}"), "pathType": "Exact", "backend": { "service": { "name": "many", "port": { "number": n } } },
            })).collect();
            vec![service, slice, ingress]
        }),
        case("a thousand endpoints", |m| with_endpoints(m, 1, 1)),
        case("20,000 endpoints of one Service", |m| with_endpoints(m, 20, 1)),
        case("a thousand endpoints behind eleven settings", |m| with_endpoints(m, 1, 11)),
        case("a thousand endpoints behind a hundred settings", |m| with_endpoints(m, 1, 100)),
        case("options of one Service for Ingresses by the thousand", with_options_of_a_service),
        case("large options of an Ingress for Services by the thousand", with_options_of_services),
        case("a hundred addresses an endpoint", |m| {
            let addresses =
                |n: usize| (0..ENDPOINTS.1).map(|a| format!("10.98.{}.{a}", n % 256)).collect::<Vec<_>>();
            let mut slice = m.slice("many", "web", &[], 8080);
            slice["endpoints"] = (0..500).map(|n| json!({ "addresses": addresses(n) })).collect();
            vec![slice, m.ingress("web")]
        }),
        case("labels by the thousand", |m| {
            let labels: Map<String, Value> =
                (0..20_000).map(|n| (format!("label-{n}.example/{n}"), "v".into())).collect();
            let mut ingress = m.ingress("web");
            ingress["metadata"]["labels"] = labels.into();
            vec![ingress]
        }),
        case("metadata that nobody reads", |m| {
            let mut ingress = m.ingress("web");
            ingress["metadata"]["finalizers"] = (0..5_000).map(|n| format!("example.com/f{n}")).collect();
            ingress["metadata"]["ownerReferences"] = (0..5_000)
                .map(|n| json!({ "apiVersion": "v1", "kind": "ConfigMap", "name": format!("c{n}"), "uid": format!("u{n}") }))
                .collect();
            ingress["metadata"]["annotations"] = json!({ "example.com/huge": "v".repeat(HUGE) });
            vec![ingress]
        }),
        case("a thousand Ingresses for one host and path", |m| {
            (0..1_000).map(|n| m.ingress(&format!("i{n}"))).collect()
        }),
        case("a thousand Ingresses, each with settings of its own", |m| {
            let set = |n: usize| {
                let annotations = [
                    ("rate-limit", (n + 1).to_string()),
                    ("timeout-server", format!("{}ms", n + 1)),
                    ("affinity", "cookie".into()),
                    ("affinity-cookie-name", format!("c{n}")),
                    ("retries", n.to_string()),
                    ("request-headers", format!("X-{n}: {n}")),
                ];
                let mut ingress = m.annotated(&format!("i{n}"), &annotations);
                ingress["spec"]["rules"][0]["host"] = format!("i{n}.{}", m.host).into();
                ingress
            };
            (0..1_000).map(set).collect()
        }),
        case("a wrong annotation in a thousand Ingresses", |m| {
            (0..1_000).map(|n| m.annotated(&format!("i{n}"), &[("timeout-server", "soon".into())])).collect()
        }),
        case("a mistake only HAProxy finds in a thousand Ingresses", |m| {
            (0..1_000)
                .map(|n| {
                    m.annotated(
                        &format!("i{n}"),
                        &[("rewrite-regex", "^/(?<!a*)b".into()), ("rewrite-replacement", "/x".into())],
                    )
                })
                .collect()
        }),
        case("a thousand Services that are names", |m| {
            let pair = |n: usize| {
                let mut ingress = m.ingress(&format!("i{n}"));
                ingress["spec"]["rules"][0]["http"]["paths"] = json!([
                    { "path": format!("/p{n}"), "pathType": "Prefix", "backend": backend(&format!("e{n}")) }
                ]);
                [ingress, m.external(&format!("e{n}"), &format!("e{n}.nowhere.invalid"), 80)]
            };
            (0..1_000).flat_map(pair).collect()
        }),
        case("a default backend in a thousand Ingresses", |m| {
            let catch_all = |n: usize| {
                let mut ingress = m.ingress(&format!("i{n}"));
                ingress["spec"] = json!({ "ingressClassName": "haptic", "defaultBackend": backend("web") });
                ingress
            };
            (0..1_000).map(catch_all).collect()
        }),
        case("rules without a host by the thousand", |m| {
            let mut ingress = m.ingress("web");
            ingress["spec"]["rules"] = (0..5_000)
                .map(|n| json!({ "http": { "paths": [{ "path": format!("/nobody-asks/{n}"), "pathType": "Exact", "backend": backend("web") }] } }))
                .collect();
            vec![ingress]
        }),
    ];
    let made = certificate::for_host(&Mallory::new(around, "a thousand Ingresses of one certificate").host)?;
    cases.push(Case::new(around, "a thousand Ingresses of one certificate", |m| {
        let mut objects: Vec<Value> =
            (0..1_000).map(|n| m.secured(&format!("i{n}"), &[&m.host], "own")).collect();
        objects.push(m.tls("own", &made.pem, &made.key));
        m.with_web(objects)
    }));
    cases.push(
        Case::new(around, "5,500 hosts of one certificate", |m| {
            let hosts: Vec<String> = (0..5_500).map(|n| format!("h{n}.{}", m.host)).collect();
            let mut ingress = of_hosts(m, 5_500);
            ingress["spec"]["tls"] = json!([{ "hosts": hosts, "secretName": "own" }]);
            m.with_web(vec![ingress, m.tls("own", &made.pem, &made.key)])
        })
        .asking(|m| Ask { tls: true, ..Ask::get(&format!("h1.{}", m.host), "/") }),
    );
    for case in &mut cases {
        case.is_rare = RARE.contains(&&*case.name);
    }
    Ok(cases)
}

/// Others are like them.
const RARE: [&str; 8] = [
    "TLS entries without hosts",
    "a thousand endpoints",
    // A namespace's share of servers takes 250 MB by itself, and more behind a case whose memory is not given back yet.
    "a thousand endpoints behind a hundred settings",
    "a hundred addresses an endpoint",
    "labels by the thousand",
    "metadata that nobody reads",
    "a default backend in a thousand Ingresses",
    "a thousand Ingresses for one host and path",
];

fn of_hosts(m: &Mallory, count: usize) -> Value {
    let mut ingress = m.ingress("web");
    ingress["spec"]["rules"] = (0..count)
        .map(|n| json!({ "host": format!("h{n}.{}", m.host), "http": { "paths": [{ "path": "/", "pathType": "Prefix", "backend": backend("web") }] } }))
        .collect();
    ingress
}

/// A Service whose annotations are as large as they may be, good ones and ones that nobody knows, and Ingresses that lead to it.
fn with_options_of_a_service(m: &Mallory) -> Vec<Value> {
    let mut annotations: Map<String, Value> =
        (0..2_000).map(|n| (format!("{OPTIONS}unknown-{n}"), "v".repeat(HUGE / 3_000).into())).collect();
    for (option, value) in
        [("timeout-server", "40s"), ("retries", "2"), ("affinity", "cookie"), ("protocol", "h2")]
    {
        annotations.insert(format!("{OPTIONS}{option}"), value.into());
    }
    let mut service = m.service("many");
    service["metadata"]["annotations"] = annotations.into();
    let ingresses = (0..1_000).map(|n| {
        let mut ingress = m.ingress(&format!("i{n}"));
        ingress["spec"]["rules"][0]["http"]["paths"] =
            json!([{ "path": format!("/p{n}"), "pathType": "Prefix", "backend": backend("many") }]);
        ingress
    });
    ingresses.chain([service]).collect()
}

/// An Ingress whose annotations are as large as they may be, and whose every path leads to a Service with options of its own: each
/// has a group of its own, in which all of them count.
fn with_options_of_services(m: &Mallory) -> Vec<Value> {
    let networks: Vec<String> = (0..500).map(|n| format!("10.{}.{}.0/24", n / 250, n % 250)).collect();
    let lines: String = (0..32).map(|n| format!("X-{n}: {}\n", "v".repeat(900))).collect();
    let large =
        [("allow-from", networks.join(",")), ("request-headers", lines.clone()), ("response-headers", lines)];
    let mut ingress = m.annotated("web", &large);
    ingress["spec"]["rules"][0]["http"]["paths"] = (0..2_000)
        .map(|n| json!({ "path": format!("/p{n}"), "pathType": "Exact", "backend": backend(&format!("s{n}")) }))
        .collect();
    let services = (0..2_000).map(|n| {
        let mut service = m.service(&format!("s{n}"));
        service["metadata"]["annotations"] = json!({ format!("{OPTIONS}timeout-server"): "5s" });
        service
    });
    services.chain([ingress]).collect()
}

/// So many full EndpointSlices of one Service, which so many Ingresses lead to, each with settings of its own.
fn with_endpoints(m: &Mallory, slices: usize, settings: usize) -> Vec<Value> {
    let addresses = |slice: usize| {
        (0..ENDPOINTS.0).map(|n| format!("10.{}.{}.{}", 64 + slice, n / 250, n % 250 + 1)).collect::<Vec<_>>()
    };
    let slices = (0..slices).map(|slice| m.slice(&format!("many-{slice}"), "many", &addresses(slice), 8080));
    let ingresses = (0..settings).map(|n| {
        let mut ingress = m.annotated(&format!("i{n}"), &[("timeout-server", format!("{}s", n + 1))]);
        ingress["spec"]["rules"][0]["http"]["paths"] =
            json!([{ "path": format!("/p{n}"), "pathType": "Prefix", "backend": backend("many") }]);
        ingress
    });
    slices.chain(ingresses).chain([m.service("many")]).collect()
}
