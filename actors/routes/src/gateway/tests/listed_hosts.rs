//! Hosts of `spec.hosts`: nobody else has a route, a listener or a certificate there, whoever came first.

use super::*;
use haptic_model::FindingKind;

/// `pay.example` and the hosts below it are shop's, but for those below `deep.pay.example`, which are blog's.
fn listed() -> Value {
    json!([
        {"hosts": ["pay.example", "*.Pay.example"], "namespaces": ["shop", "edge"]},
        {"hosts": ["*.deep.pay.example"], "namespaces": ["blog"]},
    ])
}

fn world(listeners: Value) -> World {
    let mut world = World { hosts: listed(), ..World::new() };
    world.gateway("gw", listeners);
    world.put("Service", "blog", "s1", json!({"ports": [{"port": 80}]}));
    world
}

fn route(world: &mut World, kind: &str, namespace: &str, hostnames: &[&str]) {
    let parents = json!([{"name": "gw", "namespace": "edge"}]);
    let spec = json!({"parentRefs": parents, "hostnames": hostnames, "rules": rules("s1")});
    world.put(kind, namespace, "r", spec);
}

/// The condition Accepted of the route of a namespace, and the hostnames at which it gets requests.
fn taken(world: &mut World, kind: RouteKind, namespace: &str) -> (String, Vec<String>) {
    let (verdicts, _) = world.resolved();
    let id = (kind, name(namespace, "r"));
    let (_, reason) = said(&verdicts.routes[&id].parents[0].conditions, "Accepted");
    let shares = world.model.resolved.shares.get(&id).into_iter();
    let hosts = shares.flat_map(|shares| shares.keys()).filter_map(|level| level.split_once('|'));
    (reason.to_owned(), hosts.map(|(_, host)| host.to_owned()).collect())
}

/// The sentences of the findings at the route of a namespace.
fn told(world: &World, namespace: &str) -> Vec<(FindingKind, String)> {
    let findings = world.model.findings();
    let of = findings.of(&ObjectRef::new("httproutes", namespace, "r")).iter();
    of.map(|one| (one.kind, one.sentence.clone())).collect()
}

#[test]
fn a_listed_host_is_taken_by_routes_of_its_namespaces_only() {
    let all: [(&str, &[&str], &str, &[&str]); 10] = [
        ("shop", &["pay.example"], "Accepted", &["pay.example"]),
        ("blog", &["pay.example"], "NotAllowedByListeners", &[]),
        ("blog", &["PAY.example", "a.pay.example", "*.pay.example"], "NotAllowedByListeners", &[]),
        ("blog", &["own.example", "pay.example"], "Accepted", &["own.example"]),
        ("blog", &["a.deep.pay.example"], "Accepted", &["a.deep.pay.example"]),
        ("shop", &["a.deep.pay.example"], "NotAllowedByListeners", &[]),
        ("shop", &["*.pay.example"], "Accepted", &["*.pay.example"]),
        ("blog", &["*.example"], "Accepted", &["*.example"]),
        ("blog", &["notpay.example"], "Accepted", &["notpay.example"]),
        ("blog", &[], "Accepted", &["*"]),
    ];
    for (namespace, hostnames, reason, hosts) in all {
        for (kind, of) in [("HTTPRoute", RouteKind::Http), ("GRPCRoute", RouteKind::Grpc)] {
            let mut world = world(json!([http("http", None)]));
            route(&mut world, kind, namespace, hostnames);
            let expected = (reason.to_owned(), hosts.iter().map(|host| (*host).to_owned()).collect());
            assert_eq!(taken(&mut world, of, namespace), expected, "{kind} {namespace} {hostnames:?}");
        }
    }
}

#[test]
fn a_wide_route_is_not_taken_by_a_narrow_listener_of_a_listed_host() {
    for (hostnames, reason) in [
        (vec![], "NotAllowedByListeners"),
        (vec!["*.example"], "NotAllowedByListeners"),
        (vec!["other.example"], "NoMatchingListenerHostname"),
    ] {
        let mut world = world(json!([http("pay", Some("pay.example"))]));
        route(&mut world, "HTTPRoute", "blog", &hostnames);
        route(&mut world, "HTTPRoute", "shop", &["*.example"]);
        assert_eq!(taken(&mut world, RouteKind::Http, "blog"), (reason.to_owned(), vec![]), "{hostnames:?}");
        assert_eq!(taken(&mut world, RouteKind::Http, "shop").1, ["*.example"]);
    }
}

#[test]
fn a_wide_route_that_a_wide_listener_takes_is_told_of_no_host_that_it_does_not_name() {
    let mut world = world(json!([http("any", None), http("pay", Some("pay.example"))]));
    route(&mut world, "HTTPRoute", "blog", &["*.example"]);
    assert_eq!(taken(&mut world, RouteKind::Http, "blog").1, ["*.example"]);
    assert_eq!(told(&world, "blog"), []);
}

#[test]
fn the_refused_hosts_are_told_with_the_rule_until_it_is_gone() {
    let mut world = world(json!([http("http", None)]));
    route(&mut world, "HTTPRoute", "blog", &["pay.example", "own.example"]);
    taken(&mut world, RouteKind::Http, "blog");
    let why = "pay.example belongs to the namespaces shop, edge by spec.hosts: nothing of it is served there";
    assert_eq!(told(&world, "blog"), [(FindingKind::HostConflict, why.to_owned())]);
    route(&mut world, "HTTPRoute", "blog", &["pay.example"]);
    taken(&mut world, RouteKind::Http, "blog");
    assert_eq!(told(&world, "blog"), [(FindingKind::RouteNotTaken, why.to_owned())]);
    world.hosts = json!([]);
    assert_eq!(taken(&mut world, RouteKind::Http, "blog").1, ["pay.example"]);
    assert_eq!(told(&world, "blog"), []);
}

#[test]
fn however_many_hosts_are_refused_little_is_said() {
    let mut world = world(json!([http("http", None)]));
    let many: Vec<String> = (0..500).map(|number| format!("h{number}.pay.example")).collect();
    let mut many: Vec<&str> = many.iter().map(String::as_str).collect();
    route(&mut world, "HTTPRoute", "blog", &many);
    taken(&mut world, RouteKind::Http, "blog");
    let [(_, sentence)] = &told(&world, "blog")[..] else { panic!() };
    assert!(sentence.ends_with("; and 497 more like these"), "{sentence}");
    many.push("own.example");
    route(&mut world, "HTTPRoute", "blog", &many);
    taken(&mut world, RouteKind::Http, "blog");
    let told = told(&world, "blog");
    let rest = "490 more hosts that it names belong to others by spec.hosts";
    assert!(told.len() == 11 && told.iter().any(|(_, sentence)| sentence == rest), "{told:?}");
}

#[test]
fn a_listener_for_a_listed_host_is_one_of_its_namespaces() {
    let set = |namespace: &str, hostname: &str| {
        let parent = json!({"name": "gw", "namespace": "edge"});
        (namespace.to_owned(), json!({"parentRef": parent, "listeners": [http("own", Some(hostname))]}))
    };
    let mut world = world(json!([http("any", None), http("pay", Some("pay.example"))]));
    let mut spec = json!({"gatewayClassName": "haptic", "listeners": [
        http("any", None), http("wide", Some("*.example")), http("deep", Some("*.deep.pay.example")),
        {"name": "tcp", "port": 9000, "protocol": "TCP", "hostname": "x.deep.pay.example"},
    ]});
    spec["allowedListeners"] = json!({"namespaces": {"from": "All"}});
    world.put("Gateway", "edge", "gw", spec);
    // Older by name than the owner's, which it is not in the way of.
    for (namespace, spec) in [set("blog", "a.pay.example"), set("shop", "a.pay.example")] {
        world.put("ListenerSet", &namespace, "set", spec);
    }
    let (verdicts, _) = world.resolved();
    let gateway = &verdicts.gateways[&name("edge", "gw")];
    assert_eq!(accepted(&gateway.listeners), ["Accepted", "Accepted", "NotAllowed", "Accepted"]);
    let message = &gateway.listeners[2].conditions[0].message;
    assert!(message.starts_with("*.deep.pay.example belongs to namespace blog by spec.hosts"), "{message}");
    assert!(message.contains("lists namespace edge"), "{message}");
    for (namespace, reason, is_served) in [("blog", "NotAllowed", false), ("shop", "Accepted", true)] {
        let listeners = &verdicts.listener_sets[&name(namespace, "set")].listeners;
        assert_eq!(accepted(listeners), [reason], "{namespace}");
        assert_eq!(listeners[0].is_served, is_served, "{namespace}");
    }
}

#[test]
fn where_every_host_is_listed_a_listener_without_a_hostname_is_for_routes_of_its_namespaces() {
    let mut world = world(json!([http("any", None), {"name": "tcp", "port": 90, "protocol": "TCP",
        "allowedRoutes": {"namespaces": {"from": "All"}}}]));
    world.hosts = json!([{"hosts": ["*"], "namespaces": ["shop"]}]);
    for (namespace, hostnames) in [("shop", vec![]), ("blog", vec![])] {
        route(&mut world, "HTTPRoute", namespace, &hostnames);
        route(&mut world, "TCPRoute", namespace, &hostnames);
    }
    assert_eq!(taken(&mut world, RouteKind::Http, "shop").1, ["*"]);
    assert_eq!(taken(&mut world, RouteKind::Http, "blog"), ("NotAllowedByListeners".to_owned(), vec![]));
    assert_eq!(taken(&mut world, RouteKind::Tcp, "blog").0, "Accepted");
    let sentence = &told(&world, "blog")[0].1;
    assert!(sentence.starts_with("every host belongs to namespace shop by spec.hosts"), "{sentence}");
}
