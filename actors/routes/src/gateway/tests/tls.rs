//! Which certificates clients show, Gateways show to servers, and servers to Gateways.

use super::*;
use base64::{Engine as _, engine::general_purpose::STANDARD};
use haptic_model::FindingKind;

pub(super) fn pem() -> (String, String) {
    let made = rcgen::generate_simple_self_signed(vec!["a.example".to_owned()]).unwrap();
    (made.cert.pem(), made.signing_key.serialize_pem())
}

impl World {
    pub(super) fn authority(&mut self, namespace: &str, called: &str, text: &str) {
        let metadata = json!({"namespace": namespace, "name": called});
        self.apply("ConfigMap", &json!({"metadata": metadata, "data": {"ca.crt": text}}));
    }

    fn secret(&mut self, called: &str) {
        let (certificate, key) = pem();
        self.pair("edge", called, &certificate, &key);
    }

    pub(super) fn pair(&mut self, namespace: &str, called: &str, certificate: &str, key: &str) {
        let data = json!({"tls.crt": STANDARD.encode(certificate), "tls.key": STANDARD.encode(key)});
        self.apply("Secret", &json!({"metadata": {"namespace": namespace, "name": called}, "data": data}));
    }

    fn policy(&mut self, called: &str, age: u8, target: Value, validation: Value) {
        self.policy_of(called, age, json!([target]), validation);
    }

    fn policy_of(&mut self, called: &str, age: u8, targets: Value, validation: Value) {
        let created = format!("2026-01-01T00:00:0{age}Z");
        let metadata =
            json!({"namespace": "shop", "name": called, "generation": 3, "creationTimestamp": created});
        let spec = json!({"targetRefs": targets, "validation": validation});
        self.apply("BackendTLSPolicy", &json!({"metadata": metadata, "spec": spec}));
    }

    fn route(&mut self, called: &str, gateways: &[&str], rules: Value) {
        let parents: Vec<Value> =
            gateways.iter().map(|name| json!({"name": name, "namespace": "edge"})).collect();
        self.put("HTTPRoute", "shop", called, json!({"parentRefs": parents, "rules": rules}));
    }
}

fn service(called: &str, section: Option<&str>) -> Value {
    let mut target = json!({"group": "", "kind": "Service", "name": called});
    if let Some(section) = section {
        target["sectionName"] = section.into();
    }
    target
}

pub(super) fn by(authority: &str) -> Value {
    json!({"caCertificateRefs": [{"group": "", "kind": "ConfigMap", "name": authority}], "hostname": "a.example"})
}

/// Of the backends: name, protocol, hostname and the Secret that is shown.
fn backends(all: &Snapshots) -> Vec<(String, String, String, String)> {
    let store = all.get("routes of gateway backends").unwrap();
    let values = store.iter().map(|one| one.value().unwrap());
    let each = values.flat_map(|value| value["backends"].as_array().unwrap().clone());
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let of = |one: Value| {
        (
            text(&one["name"]),
            text(&one["protocol"]),
            text(&one["tls"]["hostname"]),
            text(&one["tls"]["client"]["name"]),
        )
    };
    each.map(of).collect()
}

#[test]
fn a_policy_says_how_servers_are_asked_and_what_it_cannot_have_is_told() {
    let mut world = World::with_gateway();
    let ports = json!([{"name": "web", "port": 80}, {"name": "rest", "port": 81}]);
    world.put("Service", "shop", "s1", json!({"ports": ports}));
    world.authority("shop", "ca", &pem().0);
    world.authority("shop", "empty", "");
    world.policy("a", 2, service("s1", None), by("ca"));
    let mut strange = by("ca");
    strange["caCertificateRefs"][0]["kind"] = "Secret".into();
    world.policy("kind", 1, service("s2", None), strange);
    let both = json!([{"backendRefs": [{"name": "s1", "port": 80}]}, {"backendRefs": [{"name": "s1", "port": 81}]},
        {"backendRefs": [{"name": "s2", "port": 80}]}]);
    world.route("r", &["gw"], both);
    let (verdicts, all) = world.resolved();
    let said_of = |verdicts: &GatewayVerdicts, policy: &str| {
        let verdict = &verdicts.policies[&name("shop", policy)];
        assert_eq!(verdict.ancestors.len(), 1);
        assert_eq!(verdict.ancestors[0].reference.value()["name"], "gw");
        let of = |kind| said(&verdict.ancestors[0].conditions, kind);
        let (accepted, resolved) = (of("Accepted"), of("ResolvedRefs"));
        (accepted.1.to_owned(), resolved.1.to_owned())
    };
    let pair = |one: &str, other: &str| (one.to_owned(), other.to_owned());
    assert_eq!(said_of(&verdicts, "a"), pair("Accepted", "ResolvedRefs"));
    assert_eq!(said_of(&verdicts, "kind"), pair("NoValidCACertificate", "InvalidKind"));
    let names: Vec<_> = backends(&all).into_iter().map(|one| (one.1, one.2)).collect();
    assert_eq!(
        names,
        [pair("https", "a.example"), pair("https", "a.example")],
        "what a broken policy is for is not asked"
    );

    world.policy("older", 1, service("s1", None), by("empty"));
    world.policy("port", 3, service("s1", Some("rest")), by("ca"));
    let (verdicts, all) = world.resolved();
    assert_eq!(said_of(&verdicts, "a"), pair("Conflicted", "ResolvedRefs"));
    assert_eq!(said_of(&verdicts, "older"), pair("NoValidCACertificate", "InvalidCACertificateRef"));
    assert_eq!(said_of(&verdicts, "port"), pair("Accepted", "ResolvedRefs"));
    assert_eq!(backends(&all).len(), 1);

    world.authority("shop", "empty", &pem().0);
    let mut named = by("ca");
    named["subjectAltNames"] = json!([{"type": "Hostname", "hostname": "b.example"}]);
    world.policy("port", 3, service("s1", Some("rest")), named);
    let (verdicts, all) = world.resolved();
    assert_eq!(said_of(&verdicts, "older"), pair("Accepted", "ResolvedRefs"));
    assert_eq!(said_of(&verdicts, "port"), pair("Invalid", "ResolvedRefs"));
    assert_eq!(backends(&all).len(), 1);
    world.delete("HTTPRoute", &name("shop", "r"));
    let (verdicts, _) = world.resolved();
    assert!(verdicts.policies.is_empty(), "no Gateway leads there any more");
}

#[test]
fn a_policy_for_a_port_that_the_service_has_not_is_not_in_force() {
    let mut world = World::with_gateway();
    world.authority("shop", "ca", &pem().0);
    world.policy("a", 1, service("s1", Some("web")), by("ca"));
    world.route("r", &["gw"], rules("s1"));
    let accepted = |world: &mut World| {
        let (verdicts, all) = world.resolved();
        let conditions = &verdicts.policies[&name("shop", "a")].ancestors[0].conditions;
        let found = world.model.findings().of(&ObjectRef::new("backendtlspolicies", "shop", "a"));
        assert_eq!(found.is_empty(), said(conditions, "Accepted").0, "{found:?}");
        (said(conditions, "Accepted").1.to_owned(), backends(&all)[0].1.clone())
    };
    assert_eq!(accepted(&mut world), ("TargetNotFound".into(), "h1".into()));
    world.put("Service", "shop", "s1", json!({"ports": [{"name": "web", "port": 80}]}));
    assert_eq!(accepted(&mut world), ("Accepted".into(), "https".into()));
    world.put("Service", "shop", "s1", json!({"ports": [{"name": "other", "port": 80}]}));
    assert_eq!(accepted(&mut world), ("TargetNotFound".into(), "h1".into()));
}

#[test]
fn a_policy_that_counts_for_one_of_its_services_says_for_which() {
    let mut world = World::new();
    world.authority("shop", "ca", &pem().0);
    world.policy("older", 1, service("s1", None), by("ca"));
    world.policy_of("both", 2, json!([service("s1", None), service("s2", None)]), by("ca"));
    for (gateway, services) in [("all", ["s1", "s2"].as_slice()), ("second", &["s2"])] {
        world.gateway(gateway, json!([http("http", None)]));
        let rules: Value =
            services.iter().map(|name| json!({"backendRefs": [{"name": name, "port": 80}]})).collect();
        world.route(gateway, &[gateway], rules);
    }
    let (verdicts, all) = world.resolved();
    let of: Vec<_> = verdicts.policies[&name("shop", "both")]
        .ancestors
        .iter()
        .map(|one| (one.reference.value()["name"].as_str().unwrap().to_owned(), &one.conditions[0]))
        .collect();
    let [(one, partly), (other, whole)] = of.as_slice() else { panic!("{of:?}") };
    assert_eq!((&**one, &**other), ("all", "second"));
    assert_eq!((partly.holds, partly.reason), (false, "Conflicted"));
    assert!(partly.message.contains("Service s1,") && partly.message.ends_with("it counts for Service s2"));
    assert_eq!((whole.holds, whole.reason), (true, "Accepted"));
    assert!(backends(&all).iter().all(|one| one.1 == "https"), "{:?}", backends(&all));
}

#[test]
fn what_a_port_speaks_is_asked_for_or_told() {
    let mut world = World::with_gateway();
    world.gateway("streams", json!([{"name": "tcp", "port": 90, "protocol": "TCP", "allowedRoutes": {"namespaces": {"from": "All"}}}]));
    let rules = json!([{"backendRefs": [{"name": "s1", "port": 80}]}]);
    let spec =
        |gateway: &str| json!({"parentRefs": [{"name": gateway, "namespace": "edge"}], "rules": rules});
    world.authority("shop", "ca", &pem().0);
    for (kind, protocol, with_policy, resolved, told) in [
        ("HTTPRoute", "kubernetes.io/ws", false, true, vec![]),
        ("HTTPRoute", "kubernetes.io/wss", false, false, vec![FindingKind::ReferenceUnresolved]),
        ("HTTPRoute", "kubernetes.io/wss", true, true, vec![]),
        ("HTTPRoute", "https", false, true, vec![FindingKind::TlsWithoutPolicy]),
        ("HTTPRoute", "https", true, true, vec![]),
        ("HTTPRoute", "HTTP", false, true, vec![]),
        ("HTTPRoute", "tcp", false, true, vec![]),
        ("HTTPRoute", "example.com/redis", false, false, vec![FindingKind::ReferenceUnresolved]),
        ("HTTPRoute", "example.com/http", true, false, vec![FindingKind::ReferenceUnresolved]),
        ("HTTPRoute", "kubernetes.io/other", false, false, vec![FindingKind::ReferenceUnresolved]),
        ("HTTPRoute", "mysql", false, false, vec![FindingKind::ReferenceUnresolved]),
        ("HTTPRoute", "http2", false, false, vec![FindingKind::ReferenceUnresolved]),
        ("GRPCRoute", "redis", false, false, vec![FindingKind::ReferenceUnresolved]),
        ("GRPCRoute", "example.com/grpc", false, false, vec![FindingKind::ReferenceUnresolved]),
        ("GRPCRoute", "http2", false, true, vec![]),
        ("TCPRoute", "example.com/redis", false, true, vec![]),
        ("TCPRoute", "redis", false, true, vec![]),
        ("GRPCRoute", "kubernetes.io/ws", false, false, vec![FindingKind::ReferenceUnresolved]),
        ("GRPCRoute", "kubernetes.io/wss", true, false, vec![FindingKind::ReferenceUnresolved]),
        ("GRPCRoute", "kubernetes.io/h2c", false, true, vec![]),
        ("GRPCRoute", "https", false, true, vec![FindingKind::TlsWithoutPolicy]),
    ] {
        world.put("Service", "shop", "s1", json!({"ports": [{"port": 80, "appProtocol": protocol}]}));
        if with_policy {
            world.policy("a", 1, service("s1", None), by("ca"));
        }
        world.put(kind, "shop", "r", spec(if kind == "TCPRoute" { "streams" } else { "gw" }));
        let (verdicts, _) = world.resolved();
        let (of, resource) = match kind {
            "HTTPRoute" => (RouteKind::Http, "httproutes"),
            "TCPRoute" => (RouteKind::Tcp, "tcproutes"),
            _ => (RouteKind::Grpc, "grpcroutes"),
        };
        let conditions = &verdicts.routes[&(of, name("shop", "r"))].parents[0].conditions;
        let reason = if resolved { "ResolvedRefs" } else { "UnsupportedProtocol" };
        assert_eq!(said(conditions, "ResolvedRefs"), (resolved, reason), "{kind} {protocol}");
        let found = world.model.findings().of(&ObjectRef::new(resource, "shop", "r")).iter();
        assert_eq!(found.map(|one| one.kind).collect::<Vec<_>>(), told, "{kind} {protocol}");
        world.delete(kind, &name("shop", "r"));
        world.delete("BackendTLSPolicy", &name("shop", "a"));
    }
}

#[test]
fn servers_are_spoken_to_as_behind_an_ingress() {
    let mut world = World::with_gateway();
    world.route("r", &["gw"], rules("s1"));
    for (protocol, spoken) in [
        ("kubernetes.io/h2c", "h2"),
        ("h2c", "h2"),
        ("grpc", "h2"),
        ("http", "h1"),
        ("kubernetes.io/ws", "h1"),
    ] {
        world.put("Service", "shop", "s1", json!({"ports": [{"port": 80, "appProtocol": protocol}]}));
        let (_, all) = world.resolved();
        let spoken_with: Vec<String> = backends(&all).into_iter().map(|(_, spoken, ..)| spoken).collect();
        assert_eq!(spoken_with, [spoken], "{protocol}");
    }
}

#[test]
fn each_gateway_shows_servers_its_own_certificate() {
    let mut world = World::new();
    world.authority("shop", "ca", &pem().0);
    world.policy("a", 1, service("s1", None), by("ca"));
    for (gateway, secret) in
        [("one", Some("first")), ("two", Some("second")), ("plain", None), ("bad", Some("none"))]
    {
        let mut spec = json!({"gatewayClassName": "haptic", "listeners": [http("http", None)]});
        if let Some(secret) = secret {
            spec["tls"] = json!({"backend": {"clientCertificateRef": {"name": secret}}});
        }
        world.put("Gateway", "edge", gateway, spec);
    }
    world.secret("first");
    world.secret("second");
    world.route("r", &["one", "two", "plain", "bad"], rules("s1"));
    world.route("clear", &["one"], rules("s2"));
    let (verdicts, all) = world.resolved();
    let resolved =
        |gateway: &str| said(&verdicts.gateways[&name("edge", gateway)].conditions, "ResolvedRefs");
    assert_eq!(
        (resolved("one"), resolved("bad")),
        ((true, "ResolvedRefs"), (false, "InvalidClientCertificateRef"))
    );
    assert_eq!(said(&verdicts.gateways[&name("edge", "bad")].conditions, "Accepted"), (true, "Accepted"));
    let backends = backends(&all);
    let mut shown: Vec<&str> = backends.iter().map(|one| one.3.as_str()).collect();
    shown.sort_unstable();
    assert_eq!(shown, ["", "", "first", "second"]);
    let routes = all.get("routes of httproutes").unwrap();
    let route = routes.get("shop", "r").unwrap().value().unwrap();
    let rule_names: Vec<&str> =
        route["rules"].as_array().unwrap().iter().map(|one| one["name"].as_str().unwrap()).collect();
    let common = rule_names[0];
    assert_eq!(rule_names, [common, &format!("{common}@edge:one"), &format!("{common}@edge:two")]);
    let clear = routes.get("shop", "clear").unwrap().value().unwrap();
    assert_eq!(clear["rules"][0]["name"], common.replace(":r:", ":clear:"));
}

#[test]
fn a_port_whose_authorities_are_not_there_lets_nobody_in() {
    let mut world = World::new();
    world.secret("cert");
    world.authority("edge", "ca", &pem().0);
    world.authority("shop", "theirs", &pem().0);
    let https = |called: &str, port: u16| json!({"name": called, "port": port, "protocol": "HTTPS", "tls": {"certificateRefs": [{"name": "cert"}]}});
    let validated = |reference: Value| json!({"validation": {"caCertificateRefs": [reference]}});
    let per_port = json!([
        {"port": 444, "tls": validated(json!({"group": "", "kind": "ConfigMap", "name": "missing"}))},
        {"port": 445, "tls": validated(json!({"group": "", "kind": "Service", "name": "s1"}))},
        {"port": 446, "tls": validated(json!({"group": "", "kind": "ConfigMap", "name": "theirs", "namespace": "shop"}))},
        {"port": 80, "tls": validated(json!({"group": "", "kind": "ConfigMap", "name": "missing"}))},
        {"port": 447, "tls": {"validation": {"mode": "AllowInsecureFallback",
            "caCertificateRefs": [{"group": "", "kind": "ConfigMap", "name": "ca"}]}}},
        {"port": 448, "tls": {}},
    ]);
    let default = validated(json!({"group": "", "kind": "ConfigMap", "name": "ca"}));
    let listeners: Vec<Value> = std::iter::once(http("http", None))
        .chain((443..=448).map(|port| https(&format!("https-{port}"), port)))
        .collect();
    let spec = json!({"gatewayClassName": "haptic", "listeners": listeners,
        "tls": {"frontend": {"default": default, "perPort": per_port}}});
    world.put("Gateway", "edge", "gw", spec);
    let (verdicts, all) = world.resolved();
    let gateway = &verdicts.gateways[&name("edge", "gw")];
    let of = |number: usize| {
        let listener = &gateway.listeners[number];
        (
            said(&listener.conditions, "Accepted").1,
            said(&listener.conditions, "ResolvedRefs").1,
            listener.is_served,
        )
    };
    for (number, wanted) in [
        (0, ("Accepted", "ResolvedRefs", true)),
        (1, ("Accepted", "ResolvedRefs", true)),
        (2, ("NoValidCACertificate", "InvalidCACertificateRef", false)),
        (3, ("NoValidCACertificate", "InvalidCACertificateKind", false)),
        (4, ("NoValidCACertificate", "RefNotPermitted", false)),
        (5, ("Accepted", "ResolvedRefs", true)),
        (6, ("Accepted", "ResolvedRefs", true)),
    ] {
        assert_eq!(of(number), wanted, "{number}");
    }
    let insecure = said(&gateway.conditions, "InsecureFrontendValidationMode");
    assert_eq!(insecure, (true, "ConfigurationChanged"));
    let ports = all.get("routes of gateway ports").unwrap().iter().next().unwrap().value().unwrap();
    let clients: Vec<Value> =
        ports["tls"].as_array().unwrap().iter().map(|one| one["clients"]["lenient"].clone()).collect();
    assert_eq!(clients, [json!(false), json!(true), Value::Null]);
}

fn https(called: &str, port: u16, hostname: Option<&str>, secret: &str) -> Value {
    let mut listener = http(called, hostname);
    (listener["port"], listener["protocol"]) = (port.into(), "HTTPS".into());
    listener["tls"] = json!({"certificateRefs": [{"name": secret}]});
    listener
}

#[test]
fn a_certificate_with_the_key_of_another_is_none() {
    let mut world = World::new();
    let ((certificate, key), (_, other)) = (pem(), pem());
    world.pair("edge", "right", &certificate, &key);
    world.pair("edge", "wrong", &certificate, &other);
    world.gateway("gw", json!([https("right", 443, None, "right"), https("wrong", 444, None, "wrong")]));
    let (verdicts, all) = world.resolved();
    let gateway = &verdicts.gateways[&name("edge", "gw")];
    let of = |number: usize| {
        let listener = &gateway.listeners[number];
        (said(&listener.conditions, "ResolvedRefs"), listener.is_served)
    };
    assert_eq!(of(0), ((true, "ResolvedRefs"), true));
    assert_eq!(of(1), ((false, "InvalidCertificateRef"), false));
    let ports = all.get("routes of gateway ports").unwrap().iter().next().unwrap().value().unwrap();
    assert_eq!(ports["tls"].as_array().unwrap().len(), 1);
    assert_eq!(ports["tls"][0]["open"], json!([{"namespace": "edge", "name": "right"}]));
}

#[test]
fn names_of_narrower_listeners_are_not_those_of_a_certificate_for_all_hosts() {
    let mut world = World::new();
    let mut made = rcgen::CertificateParams::new(
        ["victim.example", "x.wild.example", "*.wild.example", "*.example", "own.example"].map(String::from),
    )
    .unwrap();
    // HAProxy reads common names, too, whatever they are written in.
    made.distinguished_name = rcgen::DistinguishedName::new();
    let common = rcgen::string::BmpString::try_from("common.example").unwrap();
    made.distinguished_name.push(rcgen::DnType::CommonName, rcgen::DnValue::BmpString(common));
    let key = rcgen::KeyPair::generate().unwrap();
    let certificate = made.self_signed(&key).unwrap().pem();
    world.pair("edge", "all", &certificate, &key.serialize_pem());
    let names = |world: &mut World, narrower: &[&str]| {
        let open = std::iter::once(https("open", 443, None, "all"));
        let others = narrower.iter().map(|host| https(host, 443, Some(host), "all"));
        world.gateway("gw", open.chain(others).collect());
        let (_, all) = world.resolved();
        let written = all.get("routes of gateways").unwrap().get("edge", "gw").unwrap().value().unwrap();
        let lines = written["listeners"][0]["certificates"][0]["lines"].as_array().unwrap().clone();
        assert_eq!(lines.len(), 1);
        (lines[0]["names"].clone(), lines[0]["except"].clone())
    };
    let all = (json!([]), json!([]));
    assert_eq!((names(&mut world, &[]), names(&mut world, &["elsewhere.example.org"])), (all.clone(), all));
    assert_eq!(
        names(&mut world, &["victim.example", "*.wild.example", "a.own.example"]),
        (json!(["*.example", "common.example", "own.example"]), json!(["victim.example"]))
    );
    let (left, except) = names(&mut world, &["common.example"]);
    assert!(!left.to_string().contains("common") && except == json!(["common.example"]), "{left} {except}");
    let (left, except) = names(&mut world, &["below.example"]);
    assert!(left.to_string().contains("common") && except == json!(["below.example"]), "{left} {except}");
}

/// The ports of HAProxy that two Gateways have, one in each namespace.
fn targets(world: &mut World) -> [Option<u16>; 2] {
    let (verdicts, _) = world.resolved();
    [("edge", "victim"), ("blog", "thief")].map(|(namespace, gateway)| {
        verdicts.gateways[&name(namespace, gateway)].ports.first().map(|one| one.target)
    })
}

#[test]
fn a_listener_without_its_secret_loses_no_port() {
    let mut world = World::new();
    let (certificate, key) = pem();
    let spec = |secret: &str| json!({"gatewayClassName": "haptic", "listeners": [https("https", 443, None, secret)]});
    world.put("Gateway", "edge", "victim", spec("own"));
    world.pair("edge", "own", &certificate, &key);
    world.resolved();
    world.delete("Secret", &name("edge", "own"));
    world.resolved();
    // It comes first, by its namespace.
    world.pair("blog", "theirs", &certificate, &key);
    world.put("Gateway", "blog", "thief", spec("theirs"));
    let apart = [Some(20_200), Some(20_201)];
    assert_eq!(targets(&mut world), apart, "clients of the victim still come to its port");
    world.pair("edge", "own", &certificate, &key);
    assert_eq!(targets(&mut world), apart);
}

#[test]
fn a_new_process_knows_by_its_service_whose_port_it_is() {
    let mut world = World::new();
    let (certificate, key) = pem();
    let spec = |secret: &str| json!({"gatewayClassName": "haptic", "listeners": [https("https", 443, None, secret)]});
    world.service_of(&name("edge", "victim"), &[(443, 20_200)]);
    world.put("Gateway", "edge", "victim", spec("own"));
    world.pair("blog", "theirs", &certificate, &key);
    world.put("Gateway", "blog", "thief", spec("theirs"));
    assert_eq!(targets(&mut world), [Some(20_200), Some(20_201)]);
}

#[test]
fn a_listener_whose_secret_is_gone_keeps_the_port_that_the_service_leads_to() {
    let mut world = World::new();
    let gateway = |from: &str| {
        let listeners = json!([http("http", None), https("https", 443, None, "pair")]);
        json!({"gatewayClassName": "haptic", "listeners": listeners, "allowedListeners": {"namespaces": {"from": from}}})
    };
    let of_set = https("https", 8443, None, "pair");
    world.put("Gateway", "edge", "gw", gateway("Same"));
    world.put("ListenerSet", "edge", "set", json!({"parentRef": {"name": "gw"}, "listeners": [of_set]}));
    let led_to = |world: &mut World| {
        let (verdicts, _) = world.resolved();
        let ports = &verdicts.gateways[&name("edge", "gw")].ports;
        ports.iter().map(|one| (one.port, one.target)).collect::<Vec<_>>()
    };
    assert_eq!(led_to(&mut world), [(80, 20_000)], "what was never served has no port");
    world.secret("pair");
    let all = [(80, 20_000), (443, 20_200), (8443, 20_201)];
    assert_eq!(led_to(&mut world), all);
    world.delete("Secret", &name("edge", "pair"));
    assert_eq!(led_to(&mut world), all);
    world.service_of(&name("edge", "gw"), &all);
    world.model = GatewayModel::default();
    assert_eq!(led_to(&mut world), all, "another process reads them from the Service");
    world.put("Gateway", "edge", "gw", gateway("None"));
    assert_eq!(led_to(&mut world), all[..2], "what is not allowed any more is given up");
}

#[test]
fn a_port_of_anothers_wildcard_has_names_apart_from_a_certificate_for_all_hosts() {
    let mut world = World::new();
    world.secret("pair");
    let (certificate, key) = pem();
    world.pair("blog", "pair", &certificate, &key);
    let of_port = |world: &mut World, own: &[Option<&str>]| {
        let own =
            own.iter().enumerate().map(|(number, host)| https(&format!("l{number}"), 443, *host, "pair"));
        let spec = json!({"gatewayClassName": "haptic", "listeners": own.collect::<Vec<_>>(), "allowedListeners": {"namespaces": {"from": "All"}}});
        world.put("Gateway", "edge", "gw", spec);
        let (_, all) = world.resolved();
        let ports = all.get("routes of gateway ports").unwrap().iter().next().unwrap().value().unwrap();
        (ports["tls"][0]["apart"] == true, ports["tls"][0]["streams"] == true)
    };
    let parent = json!({"name": "gw", "namespace": "edge"});
    assert_eq!(of_port(&mut world, &[Some("*.wild.example"), None]), (false, false), "both are one's own");
    let open = json!({"parentRef": parent, "listeners": [https("open", 443, None, "pair")]});
    world.put("ListenerSet", "blog", "set", open);
    assert_eq!(of_port(&mut world, &[Some("*.wild.example")]), (true, true));
    assert_eq!(
        of_port(&mut world, &[Some("x.wild.example")]),
        (false, false),
        "HAProxy knows it by its name"
    );
    let wild =
        json!({"parentRef": parent, "listeners": [https("wild", 443, Some("*.wild.example"), "pair")]});
    world.put("ListenerSet", "blog", "set", wild);
    assert_eq!(of_port(&mut world, &[None]), (true, true));
}

#[test]
fn listener_sets_use_up_no_ports_of_their_gateways_namespace() {
    let mut world = World::new();
    let spec = |port: u16| {
        let mut listener = http("http", None);
        listener["port"] = port.into();
        json!({"gatewayClassName": "haptic", "listeners": [listener], "allowedListeners": {"namespaces": {"from": "All"}}})
    };
    let set = |ports: std::ops::Range<u16>| {
        let listener = |port: u16| {
            let mut listener = http(&format!("l{port}"), None);
            listener["port"] = port.into();
            listener
        };
        let parent = json!({"name": "shared", "namespace": "edge"});
        json!({"parentRef": parent, "listeners": ports.map(listener).collect::<Vec<_>>()})
    };
    world.put("Gateway", "edge", "shared", spec(80));
    world.put("ListenerSet", "blog", "greedy", set(1_000..1_064));
    world.put("ListenerSet", "blog", "greedy-too", set(2_000..2_064));
    world.put("ListenerSet", "shop", "honest", set(8_080..8_081));
    world.put("Gateway", "edge", "second", spec(80));
    let (verdicts, _) = world.resolved();
    let served = |of: &[ListenerVerdict]| of.iter().filter(|listener| listener.is_served).count();
    let of_set = |namespace, set| served(&verdicts.listener_sets[&name(namespace, set)].listeners);
    assert_eq!((of_set("blog", "greedy"), of_set("blog", "greedy-too")), (64, 0));
    assert_eq!(of_set("shop", "honest"), 1);
    assert_eq!(served(&verdicts.gateways[&name("edge", "second")].listeners), 1);
}
