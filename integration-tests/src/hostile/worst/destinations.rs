//! Destinations: names and addresses behind which nothing of mallory's is.

use super::super::case::{Around, Ask, Case};
use crate::{configuration::HEALTH_PORT, haproxy_pod::AGENT_PORT, manifest::BACKEND_PORT};

/// Names of this machine and of metadata servers, in each way that a resolver takes.
const NAMES: [&str; 16] = [
    "127.0.0.1",
    "127.1",
    "2130706433",
    "0x7f000001",
    "0177.0.0.1",
    "0",
    "0.0.0.0",
    "localhost",
    "localhost.localdomain",
    "ip6-localhost",
    "169.254.169.254",
    "0xa9fea9fe",
    "2852039166",
    "metadata.google.internal",
    "instance-data.ec2.internal",
    "kubernetes.default.svc.cluster.local",
];

pub fn cases(around: Around) -> Vec<Case> {
    let mut cases = vec![Case::new(around, "names of this machine", |m| {
        let pair = |(number, name): (usize, &&str)| {
            let service = format!("e{number}");
            let mut ingress = m.ingress(&service);
            ingress["spec"]["rules"][0]["host"] = format!("{service}.{}", m.host).into();
            ingress["spec"]["rules"][0]["http"]["paths"][0]["backend"]["service"]["name"] =
                service.clone().into();
            [ingress, m.external(&service, name, BACKEND_PORT)]
        };
        let mut objects: Vec<_> = NAMES.iter().enumerate().flat_map(pair).collect();
        for object in objects.iter_mut().filter(|object| object["kind"] == "Ingress") {
            object["spec"]["rules"][0]["http"]["paths"][0]["backend"]["service"]["port"] =
                serde_json::json!({ "number": BACKEND_PORT });
        }
        m.with_web(objects)
    })];
    if let Some(case) = cases.first_mut() {
        let host = case.mallory.host.clone();
        case.asks.extend((0..NAMES.len()).map(|n| Ask::get(&format!("e{n}.{host}"), "/")));
    }
    let own = around.haproxy.to_string();
    for (name, port) in [("health port", HEALTH_PORT), ("agent's port", AGENT_PORT)] {
        for path in ["/stats", "/metrics"] {
            let what = path.trim_start_matches('/');
            let named = Case::new(around, &format!("{what} at HAProxy's {name} by a name"), |m| {
                let mut ingress = m.ingress("web");
                ingress["spec"]["rules"][0]["http"]["paths"][0]["backend"]["service"]["port"] =
                    serde_json::json!({ "number": port });
                vec![ingress, m.external("web", &own, port)]
            });
            let listed = Case::new(around, &format!("{what} at HAProxy's {name} by an endpoint"), |m| {
                let slice = m.slice("web", "web", std::slice::from_ref(&own), port);
                vec![m.ingress("web"), m.service("web"), slice]
            });
            for case in [named, listed] {
                let case = case.asking(|m| Ask::get(&m.host, path));
                cases.push(if port == HEALTH_PORT { case } else { case.rarely() });
            }
        }
    }
    let looped = Case::new(around, "a server that is HAProxy itself", |m| {
        vec![
            m.ingress("web"),
            m.service("web"),
            m.slice("web", "web", std::slice::from_ref(&own), crate::configuration::FRONTEND_PORTS.0),
        ]
    });
    cases.push((0..4).fold(looped, |case, _| case.asking(|m| Ask::get(&m.host, "/"))));
    let looped = Case::new(around, "HAProxy itself under alpha's name", |m| {
        let mut ingress = m.annotated("web", &[("request-headers", "Host: alpha.example".into())]);
        ingress["spec"]["rules"][0]["http"]["paths"][0]["path"] = "/private".into();
        vec![
            ingress,
            m.service("web"),
            m.slice("web", "web", std::slice::from_ref(&own), crate::configuration::FRONTEND_PORTS.0),
        ]
    });
    cases.push(looped.asking(|m| Ask::get(&m.host, "/private")));
    cases.push(Case::new(around, "endpoints that are no servers", |m| {
        let addresses = [
            "fd00:ec2::254",
            "100.100.100.200",
            "192.0.0.192",
            "64:ff9b::7f00:1",
            "2002:7f00:1::",
            "::7f00:1",
        ];
        let pair = |(number, address): (usize, &&str)| {
            let service = format!("e{number}");
            let mut ingress = m.ingress(&service);
            ingress["spec"]["rules"][0]["host"] = format!("{service}.{}", m.host).into();
            ingress["spec"]["rules"][0]["http"]["paths"][0]["backend"]["service"]["name"] =
                service.clone().into();
            let slice = m.slice(&service, &service, &[(*address).to_owned()], BACKEND_PORT);
            [ingress, m.service(&service), slice]
        };
        addresses.iter().enumerate().flat_map(pair).collect()
    }));
    cases
}
