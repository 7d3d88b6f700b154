//! Who owns what: hosts of `spec.hosts`, asked for by routes and listeners of a namespace that they do not belong to, whoever came first.

use super::{GatewaySite, aged, around, gateway, listener, object, route, secret_of, to};
use crate::{
    SERIES,
    client::{Way, converse},
};
use integration_tests::certificate::{self, Authority, Certificate};
use serde_json::{Value, json};

const HOST: &str = "pay.example";

/// The ages of the owner's objects and of those of others: the attacker comes second, first, and after a restore all are as old.
const AGES: [(u8, u8); 3] = [(1, 9), (9, 1), (5, 5)];

/// The host and those below it are shop's.
fn listed(spec: &mut Value) {
    spec["hosts"] = json!([{"hosts": [HOST, "*.pay.example"], "namespaces": ["shop"]}]);
}

fn below(path: &str, number: u8) -> Value {
    let mut backends = to(number);
    backends[0]["namespace"] = "shop".into();
    json!([{"matches": [{"path": {"value": path}}], "backendRefs": backends}])
}

/// A route of a namespace that has nothing of the host.
fn foreign(kind: &str, name: &str, hostnames: &[&str], rules: Value) -> Value {
    let mut spec = json!({"parentRefs": [{"name": "gw", "namespace": "edge"}], "rules": rules});
    if !hostnames.is_empty() {
        spec["hostnames"] = json!(hostnames);
    }
    object(kind, "blog", name, spec)
}

/// Routes of blog may lead to Services of shop, so that whoever answers is known by its number.
fn grant() -> Value {
    let from = ["HTTPRoute", "GRPCRoute", "TLSRoute"]
        .map(|kind| json!({"group": "gateway.networking.k8s.io", "kind": kind, "namespace": "blog"}));
    object("ReferenceGrant", "shop", "blog", json!({"from": from, "to": [{"group": "", "kind": "Service"}]}))
}

#[test]
fn a_route_gets_nothing_of_a_listed_host_of_others() {
    for (own, others) in AGES {
        let mut all = around();
        all.extend([grant(), gateway("gw", json!([listener("http", None)]))]);
        all.push(aged(route("own", &[HOST], below("/app", 1)), own));
        all.push(aged(route("wide", &["*.wide.example"], below("/", 5)), own));
        let attack = [
            foreign("HTTPRoute", "login", &[HOST], below("/app/login", 2)),
            foreign(
                "HTTPRoute",
                "more",
                &["own.pay.example", "*.pay.example", "free.example"],
                below("/", 2),
            ),
            foreign("HTTPRoute", "wild", &["*.example"], below("/", 3)),
            foreign("HTTPRoute", "all", &[], below("/", 4)),
        ];
        all.extend(attack.map(|route| aged(route, others)));
        for series in SERIES {
            let site = GatewaySite::start_with(series, &all, listed);
            for (host, path, service) in [
                (HOST, "/app", Some(1)),
                (HOST, "/app/login", Some(1)),
                ("PAY.example.:80", "/app/login", Some(1)),
                (HOST, "/login", None),
                ("own.pay.example", "/", None),
                ("deep.own.pay.example", "/", None),
                ("a.wide.example", "/", Some(5)),
                ("free.example", "/", Some(2)),
                ("other.example", "/", Some(3)),
                ("notpay.example", "/", Some(3)),
                ("elsewhere.invalid", "/", Some(4)),
            ] {
                let answer = site.get(host, path);
                let status = if service.is_some() { 200 } else { 404 };
                let told = format!("{own} {others} {host}{path}");
                assert_eq!((answer.status, answer.service()), (status, service), "{told}");
            }
        }
    }
}

#[test]
fn a_shared_gateway_that_is_not_listed_serves_those_who_choose_it() {
    for hostname in [None, Some("*.example")] {
        let mut all = around();
        all.extend([
            gateway("gw", json!([listener("http", hostname)])),
            route("own", &[HOST], below("/", 1)),
        ]);
        for series in SERIES {
            let site = GatewaySite::start_with(series, &all, listed);
            assert_eq!(site.get(HOST, "/").service(), Some(1), "{hostname:?}");
        }
    }
}

/// A Gateway with a listener for the host whose certificate, and the authority of its clients, are those of its namespace.
fn secured(namespace: &str, made: &Certificate, clients: Option<&Authority>, age: u8) -> Vec<Value> {
    let listener = json!({"name": "https", "port": 443, "protocol": "HTTPS", "hostname": HOST,
        "tls": {"certificateRefs": [{"name": "cert"}]}, "allowedRoutes": {"namespaces": {"from": "All"}}});
    let mut gateway =
        object("Gateway", namespace, "gw", json!({"gatewayClassName": "haptic", "listeners": [listener]}));
    let mut all = vec![secret_of(namespace, "cert", made)];
    if let Some(clients) = clients {
        let reference = json!({"group": "", "kind": "ConfigMap", "name": "clients"});
        gateway["spec"]["tls"] =
            json!({"frontend": {"default": {"validation": {"caCertificateRefs": [reference]}}}});
        all.push(json!({"kind": "ConfigMap", "metadata": {"namespace": namespace, "name": "clients"},
            "data": {"ca.crt": clients.pem}}));
    }
    all.push(aged(gateway, age));
    all
}

#[test]
fn a_listener_for_a_listed_host_of_others_shows_no_certificate_and_asks_for_none() {
    let (mine, theirs) = (certificate::for_host(HOST).unwrap(), certificate::for_host(HOST).unwrap());
    let clients = Authority::new("clients").unwrap();
    for (own, others) in AGES {
        let mut all = around();
        all.extend(secured("shop", &mine, None, own));
        all.extend(secured("blog", &theirs, Some(&clients), others));
        let mut route = route("own", &[], below("/", 1));
        route["spec"]["parentRefs"] = json!([{"name": "gw"}]);
        all.push(route);
        for series in SERIES {
            let site = GatewaySite::start_with(series, &all, listed);
            let way = Way::to(site.address(443), Some(HOST));
            let (answer, shown) = converse(&way, &format!("GET / HTTP/1.1\r\nHost: {HOST}\r\n"), "").unwrap();
            assert_eq!(answer.service(), Some(1), "{own} {others}");
            assert!(shown.unwrap() == mine.der, "{own} {others}");
        }
    }
}

#[test]
fn a_listener_set_of_others_takes_no_requests_for_a_listed_host() {
    for (own, others) in AGES {
        let mut all = around();
        let mut gateway = gateway("gw", json!([listener("http", None)]));
        gateway["spec"]["allowedListeners"] = json!({"namespaces": {"from": "All"}});
        let parent = json!({"name": "gw", "namespace": "edge"});
        let spec = json!({"parentRef": parent, "listeners": [listener("own", Some(HOST))]});
        all.extend([gateway, aged(object("ListenerSet", "blog", "set", spec), others)]);
        all.push(aged(route("own", &[HOST], below("/", 1)), own));
        for series in SERIES {
            let site = GatewaySite::start_with(series, &all, listed);
            assert_eq!(site.get(HOST, "/").service(), Some(1), "{own} {others}");
        }
    }
}

#[test]
fn where_every_host_is_listed_nobody_else_answers() {
    let mut all = around();
    all.extend([grant(), gateway("gw", json!([listener("http", None)]))]);
    all.push(foreign("HTTPRoute", "all", &[], below("/", 2)));
    all.push(aged(foreign("HTTPRoute", "host", &[HOST], below("/", 3)), 1));
    all.push(route("own", &[], below("/own", 1)));
    for series in SERIES {
        let site = GatewaySite::start_with(series, &all, |spec| {
            spec["hosts"] = json!([{"hosts": ["*"], "namespaces": ["shop"]}]);
        });
        assert_eq!(site.get(HOST, "/own").service(), Some(1));
        assert_eq!(site.get(HOST, "/").status, 404);
    }
}
