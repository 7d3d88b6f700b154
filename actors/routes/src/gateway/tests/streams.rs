//! Listeners and routes of TLS and TCP: who gets connections, and what is said of them.

use super::*;
use base64::{Engine as _, engine::general_purpose::STANDARD};

impl World {
    fn certificate(&mut self, namespace: &str, called: &str) {
        let made = rcgen::generate_simple_self_signed(vec!["a.example".to_owned()]).unwrap();
        let data = json!({"tls.crt": STANDARD.encode(made.cert.pem()), "tls.key": STANDARD.encode(made.signing_key.serialize_pem())});
        self.apply("Secret", &json!({"metadata": {"namespace": namespace, "name": called}, "data": data}));
    }

    /// A route of that age at a listener of Gateway `gw`, or at all of them.
    fn stream(&mut self, kind: &str, called: &str, age: u8, section: Option<&str>, spec: &Value) {
        let mut spec = spec.clone();
        let mut parent = json!({"name": "gw", "namespace": "edge"});
        if let Some(section) = section {
            parent["sectionName"] = section.into();
        }
        spec["parentRefs"] = json!([parent]);
        let created = format!("2026-01-01T00:00:{age:02}Z");
        let metadata =
            json!({"namespace": "shop", "name": called, "generation": 3, "creationTimestamp": created});
        self.apply(kind, &json!({"metadata": metadata, "spec": spec}));
    }
}

fn listener(called: &str, port: u16, protocol: &str, hostname: Option<&str>) -> Value {
    let mut listener = http(called, hostname);
    (listener["port"], listener["protocol"]) = (port.into(), protocol.into());
    listener
}

fn passed(called: &str, port: u16, hostname: Option<&str>) -> Value {
    let mut listener = listener(called, port, "TLS", hostname);
    listener["tls"] = json!({"mode": "Passthrough"});
    listener
}

fn ended(called: &str, port: u16, protocol: &str, hostname: Option<&str>) -> Value {
    let mut listener = listener(called, port, protocol, hostname);
    listener["tls"] = json!({"certificateRefs": [{"name": "cert"}]});
    listener
}

/// Keys and values that routes of a kind have in maps.
fn entries(all: &Snapshots, resources: &str) -> Vec<(String, String)> {
    let store = all.get(&format!("routes of {resources}")).unwrap();
    let values = store.iter().map(|one| one.value().unwrap());
    let each = values.flat_map(|value| value["routes"].as_array().unwrap().clone());
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let mut all: Vec<_> = each.map(|one| (text(&one["key"]), text(&one["value"]))).collect();
    all.sort();
    all
}

/// Settings of the rules of a kind, by their names.
fn settings(all: &Snapshots, resources: &str) -> BTreeMap<String, String> {
    let store = all.get(&format!("routes of {resources}")).unwrap();
    let values = store.iter().map(|one| one.value().unwrap());
    let each = values.flat_map(|value| value["rules"].as_array().unwrap().clone());
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    each.map(|one| (text(&one["name"]), text(&one["settings"]))).collect()
}

fn reasons(verdicts: &GatewayVerdicts, kind: RouteKind, route: &str) -> (String, String) {
    let conditions = &verdicts.routes[&(kind, name("shop", route))].parents[0].conditions;
    (said(conditions, "Accepted").1.to_owned(), said(conditions, "ResolvedRefs").1.to_owned())
}

#[test]
fn listeners_of_a_port_have_tls_or_none_of_them_has() {
    let mut world = World::new();
    world.certificate("edge", "cert");
    let mut strange = ended("strange", 449, "TLS", None);
    strange["tls"]["mode"] = "Sometimes".into();
    let mut bare = passed("kinds", 448, None);
    bare["allowedRoutes"]["kinds"] = json!([{"kind": "TCPRoute"}, {"kind": "TLSRoute"}]);
    world.gateway(
        "gw",
        json!([
            passed("passed", 443, Some("p.example")),
            ended("ended", 443, "TLS", Some("e.example")),
            ended("web", 443, "HTTPS", None),
            listener("tcp", 5432, "TCP", None),
            passed("one", 446, Some("p.example")),
            ended("same", 446, "TLS", Some("p.example")),
            listener("tcp-447", 447, "TCP", None),
            listener("http-447", 447, "HTTP", None),
            passed("tls-447", 447, None),
            listener("first", 5433, "TCP", None),
            listener("second", 5433, "TCP", None),
            ended("uncertified", 444, "TLS", None),
            strange,
            bare,
            listener("udp", 53, "UDP", None),
        ]),
    );
    world.delete("Secret", &name("edge", "none"));
    let (verdicts, all) = world.resolved();
    let gateway = &verdicts.gateways[&name("edge", "gw")];
    let told: Vec<_> = gateway
        .listeners
        .iter()
        .map(|one| {
            let kinds: Vec<_> = one.supported_kinds.iter().map(|(_, kind)| *kind).collect();
            (&*one.name, said(&one.conditions, "Accepted").1, kinds.join(","), one.is_served)
        })
        .collect();
    let (accepted, http) = ("Accepted", "HTTPRoute,GRPCRoute");
    let expected = [
        ("passed", accepted, "TLSRoute", true),
        ("ended", accepted, "TLSRoute", true),
        ("web", accepted, http, true),
        ("tcp", accepted, "TCPRoute", true),
        ("one", "HostnameConflict", "TLSRoute", false),
        ("same", "HostnameConflict", "TLSRoute", false),
        ("tcp-447", "ProtocolConflict", "TCPRoute", false),
        ("http-447", "ProtocolConflict", http, false),
        ("tls-447", "ProtocolConflict", "TLSRoute", false),
        ("first", "HostnameConflict", "TCPRoute", false),
        ("second", "HostnameConflict", "TCPRoute", false),
        ("uncertified", accepted, "TLSRoute", true),
        ("strange", "UnsupportedValue", "TLSRoute", false),
        ("kinds", accepted, "TLSRoute", true),
        ("udp", "UnsupportedProtocol", "", false),
    ];
    let expected: Vec<_> =
        expected.iter().map(|(one, why, kinds, is)| (*one, *why, (*kinds).to_owned(), *is)).collect();
    assert_eq!(told, expected);
    let ports: Vec<_> = gateway.ports.iter().map(|one| (one.port, one.target)).collect();
    assert_eq!(ports, [(443, 20_200), (444, 20_201), (448, 20_202), (5432, 20_300)]);
    let written = all.get("routes of gateway ports").unwrap().iter().next().unwrap().value().unwrap();
    let of = |number: usize| {
        let one = &written["tls"][number];
        let is_open = !one["open"].as_array().unwrap().is_empty();
        [one["web"] == true, one["ended"] == true, one["streams"] == true, is_open]
    };
    assert_eq!((of(0), of(1), of(2)), ([true; 4], [false, true, true, true], [false, false, true, false]));
    assert_eq!(written["tcp"], json!([20_300]));

    world.delete("Secret", &name("edge", "cert"));
    let (verdicts, _) = world.resolved();
    let listeners = &verdicts.gateways[&name("edge", "gw")].listeners;
    let of =
        |number: usize| (listeners[number].is_served, said(&listeners[number].conditions, "ResolvedRefs").1);
    assert_eq!((of(0), of(1)), ((true, "ResolvedRefs"), (false, "InvalidCertificateRef")));
}

#[test]
fn a_name_has_the_oldest_route_that_asks_for_it_and_a_port_of_tcp_has_one_route() {
    let mut world = World::new();
    world.gateway(
        "gw",
        json!([
            passed("a", 443, Some("*.a.example")),
            passed("b", 443, Some("b.example")),
            listener("tcp", 5432, "TCP", Some("ignored.example"))
        ]),
    );
    let to = |hostnames: Value| json!({"hostnames": hostnames, "rules": rules("s1")});
    world.stream("TLSRoute", "young", 9, None, &to(json!(["x.a.example", "y.a.example"])));
    world.stream(
        "TLSRoute",
        "old",
        1,
        None,
        &to(json!(["x.a.example", "*.a.example", "*.example", "c.example"])),
    );
    world.stream("TLSRoute", "elsewhere", 1, None, &to(json!(["c.example"])));
    world.stream("TLSRoute", "at-tcp", 1, Some("tcp"), &to(json!(["x.a.example"])));
    world.stream("TCPRoute", "young", 9, None, &json!({"rules": rules("s1")}));
    world.stream("TCPRoute", "old", 1, Some("tcp"), &json!({"rules": rules("s2")}));
    world.stream("TCPRoute", "at-tls", 1, Some("a"), &json!({"rules": rules("s2")}));
    world.stream("HTTPRoute", "web", 1, Some("a"), &json!({"rules": rules("s2")}));
    let (verdicts, all) = world.resolved();
    let pair = |key: &str, value: &str| (key.to_owned(), value.to_owned());
    assert_eq!(
        entries(&all, "tlsroutes"),
        [
            pair("edge/gw/a|*.a.example", "passed//shop:old:0/0"),
            pair("edge/gw/a|*.example", "passed//shop:old:0/0"),
            pair("edge/gw/a|x.a.example", "passed//shop:old:0/0"),
            pair("edge/gw/a|y.a.example", "passed//shop:young:0/0"),
            pair("edge/gw/b|*.example", "passed//shop:old:0/0"),
        ]
    );
    assert_eq!(entries(&all, "tcproutes"), [pair("edge/gw/tcp|*", "tcp//shop:old:0/0")]);
    let (accepted, resolved) = ("Accepted".to_owned(), "ResolvedRefs".to_owned());
    for (kind, route, reason) in [
        (RouteKind::Tls, "young", "Accepted"),
        (RouteKind::Tls, "elsewhere", "NoMatchingListenerHostname"),
        (RouteKind::Tls, "at-tcp", "NotAllowedByListeners"),
        (RouteKind::Tcp, "at-tls", "NotAllowedByListeners"),
        (RouteKind::Http, "web", "NotAllowedByListeners"),
    ] {
        assert_eq!(reasons(&verdicts, kind, route), (reason.to_owned(), resolved.clone()), "{route}");
    }
    assert_eq!(reasons(&verdicts, RouteKind::Tcp, "young"), (accepted, resolved));
    let attached: Vec<usize> =
        verdicts.gateways[&name("edge", "gw")].listeners.iter().map(|one| one.attached_routes).collect();
    assert_eq!(attached, [2, 1, 2]);

    world.delete("TCPRoute", &name("shop", "old"));
    let (_, all) = world.resolved();
    assert_eq!(entries(&all, "tcproutes"), [pair("edge/gw/tcp|*", "tcp//shop:young:0/0")]);
}

#[test]
fn what_leads_nowhere_is_told_and_its_share_ends() {
    let mut world = World::new();
    world.gateway("gw", json!([passed("tls", 443, None), listener("tcp", 5432, "TCP", None)]));
    world.put("Service", "blog", "theirs", json!({"ports": [{"port": 80}]}));
    let back = |backends: Value| json!({"hostnames": ["a.example"], "rules": [{"backendRefs": backends}]});
    let foreign = json!({"name": "theirs", "namespace": "blog", "port": 80});
    let (own, many) = (json!({"name": "s1", "port": 80}), vec![json!({"name": "s1", "port": 80}); 17]);
    for (route, backends, reason, accepted) in [
        ("missing", json!([{"name": "nothing", "port": 80}]), "BackendNotFound", "Accepted"),
        ("kind", json!([{"name": "s1", "kind": "Pod", "port": 80}]), "InvalidKind", "Accepted"),
        ("foreign", json!([foreign]), "RefNotPermitted", "Accepted"),
        ("none", json!([]), "ResolvedRefs", "Accepted"),
        ("broken", json!("x"), "ResolvedRefs", "UnsupportedValue"),
        ("many", json!(many), "ResolvedRefs", "UnsupportedValue"),
    ] {
        for (kind, of) in [("TLSRoute", RouteKind::Tls), ("TCPRoute", RouteKind::Tcp)] {
            world.stream(kind, route, 1, None, &back(backends.clone()));
            let (verdicts, all) = world.resolved();
            let expected = (accepted.to_owned(), reason.to_owned());
            assert_eq!(reasons(&verdicts, of, route), expected, "{kind} {route}");
            let rules = settings(&all, if of == RouteKind::Tls { "tlsroutes" } else { "tcproutes" });
            assert!(rules.values().all(|settings| settings == "status=closed"), "{kind} {route} {rules:?}");
            assert_eq!(all.get("routes of gateway backends").unwrap().len(), 0);
            world.delete(kind, &name("shop", route));
        }
    }
    let weighted = json!([{"name": "s1", "port": 80, "weight": 3}, {"name": "nothing", "port": 80}, {"name": "s2", "port": 80, "weight": 0}]);
    world.stream("TCPRoute", "weighted", 1, None, &back(weighted));
    let (_, all) = world.resolved();
    let told = settings(&all, "tcproutes");
    let of = |ending: &str| told.get(&format!("tcp//shop:weighted:0{ending}")).map(String::as_str);
    assert_eq!(of(""), Some("choice=to,0,3;to,1,1;total,4,;"));
    assert_eq!((of("+0"), of("+1")), (Some("backend=gateway:shop_s1_80_tcp"), Some("status=closed")));

    // A grant is for one kind.
    world.stream("TLSRoute", "foreign", 1, None, &back(json!([foreign, own])));
    let grant = |kind: &str| json!({"from": [{"group": GROUP, "kind": kind, "namespace": "shop"}], "to": [{"group": "", "kind": "Service"}]});
    world.put("ReferenceGrant", "blog", "g", grant("TCPRoute"));
    let (verdicts, _) = world.resolved();
    assert_eq!(reasons(&verdicts, RouteKind::Tls, "foreign").1, "RefNotPermitted");
    world.put("ReferenceGrant", "blog", "g", grant("TLSRoute"));
    let (verdicts, _) = world.resolved();
    assert_eq!(reasons(&verdicts, RouteKind::Tls, "foreign").1, "ResolvedRefs");
}

#[test]
fn servers_are_asked_over_tls_where_a_policy_says_so_but_not_twice() {
    let mut world = World::new();
    world.certificate("edge", "cert");
    world.gateway(
        "gw",
        json!([passed("passed", 443, Some("*.p.example")), ended("ended", 443, "TLS", Some("*.e.example"))]),
    );
    let made = rcgen::generate_simple_self_signed(vec!["ca".to_owned()]).unwrap();
    let metadata = json!({"namespace": "shop", "name": "ca"});
    world.apply("ConfigMap", &json!({"metadata": metadata, "data": {"ca.crt": made.cert.pem()}}));
    let policy = |ca: &str| {
        json!({"targetRefs": [{"group": "", "kind": "Service", "name": "s1"}], "validation": {"hostname": "s.example",
            "caCertificateRefs": [{"group": "", "kind": "ConfigMap", "name": ca}]}})
    };
    world.put("BackendTLSPolicy", "shop", "p", policy("ca"));
    let spec = json!({"hostnames": ["a.p.example", "a.e.example"], "rules": rules("s1")});
    world.stream("TLSRoute", "both", 1, None, &spec);
    let (verdicts, all) = world.resolved();
    let told = settings(&all, "tlsroutes");
    assert_eq!(told["passed//shop:both:0"], "backend=gateway:shop_s1_80_tcp");
    let (over_tls, word) = told["tls//shop:both:0"].rsplit_once('_').unwrap();
    assert_eq!((over_tls, word.len()), ("backend=gateway:shop_s1_80_tcps", 12));
    assert_eq!(reasons(&verdicts, RouteKind::Tls, "both").1, "ResolvedRefs");

    world.put("BackendTLSPolicy", "shop", "p", policy("missing"));
    let (verdicts, all) = world.resolved();
    let told = settings(&all, "tlsroutes");
    assert_eq!(told["passed//shop:both:0"], "backend=gateway:shop_s1_80_tcp");
    assert_eq!(told["tls//shop:both:0"], "status=closed", "nothing is sent in clear");
    assert_eq!(reasons(&verdicts, RouteKind::Tls, "both").1, "UnsupportedProtocol");
    world.stream("TLSRoute", "both", 1, Some("passed"), &spec);
    let (verdicts, _) = world.resolved();
    assert_eq!(reasons(&verdicts, RouteKind::Tls, "both").1, "ResolvedRefs");
}

#[test]
fn many_listeners_get_as_many_ports_as_there_are() {
    let mut world = World::new();
    world.settings = json!({"namespaceShare": 100});
    world.gateway("a", json!([passed("tls", 443, None)]));
    let tls = (0..32).map(|number| passed(&format!("tls-{number}"), 1000 + number, None));
    let tcp = (0..32).map(|number| listener(&format!("tcp-{number}"), 2000 + number, "TCP", None));
    world.gateway("large", json!(tls.chain(tcp).collect::<Vec<_>>()));
    let (verdicts, _) = world.resolved();
    assert!(verdicts.gateways[&name("edge", "a")].listeners[0].is_served);
    let large = &verdicts.gateways[&name("edge", "large")].listeners;
    let refused: Vec<_> = large.iter().filter(|one| !one.is_served).collect();
    assert_eq!(refused.len(), 1);
    assert_eq!(said(&refused[0].conditions, "Accepted").1, "PortUnavailable");
    world.settings = json!({"portMode": "same", "portTargets": {"443": 7443}, "namespaceShare": 100});
    let (verdicts, _) = world.resolved();
    assert!(verdicts.gateways[&name("edge", "a")].listeners[0].is_served);
    assert_eq!(
        verdicts.gateways[&name("edge", "large")].listeners.iter().filter(|one| one.is_served).count(),
        63
    );
}
