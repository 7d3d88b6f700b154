//! What verdicts say no to is found at the objects, and ends with its cause.

use super::*;
use haptic_model::FindingKind;

fn found(world: &mut World, resource: &str, namespace: &str, object: &str) -> Vec<(FindingKind, String)> {
    world.resolved();
    let of = world.model.findings().of(&ObjectRef::new(resource, namespace, object)).iter();
    of.map(|one| (one.kind, one.sentence.clone())).collect()
}

fn kinds(world: &mut World, resource: &str, namespace: &str, object: &str) -> Vec<FindingKind> {
    found(world, resource, namespace, object).into_iter().map(|(kind, _)| kind).collect()
}

fn route(world: &mut World, parents: Value, service: &str) {
    let rules = json!([{"backendRefs": [{"name": service, "port": 80}]}]);
    world.put("HTTPRoute", "shop", "cart", json!({"parentRefs": parents, "rules": rules}));
}

#[test]
fn a_route_is_told_of_until_it_is_right() {
    let mut world = World::new();
    world.gateway("gw", json!([http("http", None), http("other", Some("other.example"))]));
    let parent = json!([{"name": "gw", "namespace": "edge", "sectionName": "http"}]);
    route(&mut world, parent.clone(), "missing");
    assert_eq!(kinds(&mut world, "httproutes", "shop", "cart"), [FindingKind::ReferenceUnresolved]);
    route(&mut world, parent.clone(), "s1");
    assert_eq!(kinds(&mut world, "httproutes", "shop", "cart"), []);
    route(&mut world, json!([{"name": "gw", "namespace": "edge", "sectionName": "none"}]), "s1");
    assert_eq!(kinds(&mut world, "httproutes", "shop", "cart"), [FindingKind::RouteNotTaken]);
    let regex =
        json!([{"matches": [{"headers": [{"name": "a", "type": "RegularExpression", "value": "("}]}]}]);
    world.put("HTTPRoute", "shop", "cart", json!({"parentRefs": parent, "rules": regex}));
    assert_eq!(kinds(&mut world, "httproutes", "shop", "cart"), [FindingKind::RouteUnservable]);
    world.delete("HTTPRoute", &name("shop", "cart"));
    assert_eq!(kinds(&mut world, "httproutes", "shop", "cart"), []);
}

#[test]
fn a_backend_whose_filter_cannot_be_done_leaves_the_rule_accepted() {
    let mut world = World::with_gateway();
    let broken = json!({"name": "s2", "port": 80, "filters": [{"type": "ExtensionRef"}]});
    for (refs, accepted) in [(json!([{"name": "s1", "port": 80}, broken]), true), (json!([broken]), false)] {
        let parents = json!([{"name": "gw", "namespace": "edge"}]);
        world.put(
            "HTTPRoute",
            "shop",
            "cart",
            json!({"parentRefs": parents, "rules": [{"backendRefs": refs}]}),
        );
        let (verdicts, _) = world.resolved();
        let conditions = &verdicts.routes[&(RouteKind::Http, name("shop", "cart"))].parents[0].conditions;
        assert_eq!(said(conditions, "Accepted").0, accepted, "{refs}");
        assert_eq!(said(conditions, "PartiallyInvalid").0, accepted, "{refs}");
        let told = found(&mut world, "httproutes", "shop", "cart");
        let [(kind, sentence)] = told.as_slice() else { panic!("{told:?}") };
        assert_eq!(*kind == FindingKind::RulesDropped, accepted, "{kind}");
        assert!(sentence.starts_with("Dropped Rule 0: "), "{sentence}");
        assert_eq!(sentence.contains("backendRef s2: filter ExtensionRef"), accepted, "{sentence}");
    }
}

#[test]
fn a_path_that_takes_others_than_it_says_is_told() {
    let mut world = World::with_gateway();
    let rule = |path: &str| json!({"matches": [{"path": {"type": "Exact", "value": path}}], "backendRefs": [{"name": "s1", "port": 80}]});
    let parents = json!([{"name": "gw", "namespace": "edge"}]);
    let spec = json!({"parentRefs": parents, "rules": [rule("/p/a;v=1"), rule("/p/a"), rule("/caf\u{e9}")]});
    world.put("HTTPRoute", "shop", "cart", spec);
    let told = found(&mut world, "httproutes", "shop", "cart");
    let [(FindingKind::PathRespelled, sentence)] = told.as_slice() else { panic!("{told:?}") };
    assert!(sentence.starts_with("path \"/p/a;v=1\" is compared as \"/p/a\""), "{sentence}");
    world.put("HTTPRoute", "shop", "cart", json!({"parentRefs": parents, "rules": [rule("/p/a")]}));
    assert_eq!(kinds(&mut world, "httproutes", "shop", "cart"), []);
}

#[test]
fn parents_that_say_the_same_are_told_by_name_and_those_of_others_not_at_all() {
    let mut world = World::new();
    world.gateway("a", json!([http("http", None)]));
    world.gateway("b", json!([http("http", None)]));
    let parents = json!([{"name": "a", "namespace": "edge"}, {"name": "b", "namespace": "edge", "sectionName": "none"}, {"name": "foreign"}]);
    route(&mut world, parents, "s1");
    let found = found(&mut world, "httproutes", "shop", "cart");
    let [(FindingKind::RouteNotTaken, sentence)] = found.as_slice() else { panic!("{found:?}") };
    assert!(sentence.starts_with("Gateway edge/b, listener none: "), "{sentence}");
}

#[test]
fn gateways_and_classes_are_told_of_until_they_are_gone() {
    let mut world = World::new();
    let mut https = http("https", None);
    (https["port"], https["protocol"]) = (443.into(), "HTTPS".into());
    https["tls"] = json!({"certificateRefs": [{"name": "missing"}]});
    world.gateway("gw", json!([http("http", None), https, http("same", None)]));
    let told = found(&mut world, "gateways", "edge", "gw");
    let of: Vec<FindingKind> = told.iter().map(|(kind, _)| *kind).collect();
    let (refused, unresolved) = (FindingKind::ListenerRefused, FindingKind::ReferenceUnresolved);
    assert_eq!(of, [refused, unresolved, refused]);
    for ((_, sentence), listener) in told.iter().zip(["http", "https", "same"]) {
        assert!(sentence.starts_with(&format!("listener {listener}: ")), "{told:?}");
    }
    world.delete("Gateway", &name("edge", "gw"));
    assert_eq!(kinds(&mut world, "gateways", "edge", "gw"), []);
    let config = |name: &str, group: &str| json!({"group": group, "kind": "HAProxyTemplateConfig", "namespace": "n", "name": name});
    for (parameters, refused) in [
        (json!({"group": "", "kind": "Secret", "name": "x"}), vec![FindingKind::ListenerRefused]),
        (config("missing", "haproxy-haptic.org"), vec![FindingKind::ListenerRefused]),
        (config("c", "example.com"), vec![FindingKind::ListenerRefused]),
        (config("c", "haproxy-haptic.org"), vec![]),
    ] {
        let spec = json!({"controllerName": CONTROLLER, "parametersRef": parameters});
        world.put("GatewayClass", "", "haptic", spec);
        assert_eq!(kinds(&mut world, "gatewayclasses", "", "haptic"), refused, "{parameters}");
    }
    world.put("GatewayClass", "", "haptic", json!({"controllerName": "example.com/other"}));
    assert_eq!(kinds(&mut world, "gatewayclasses", "", "haptic"), []);
}

#[test]
fn a_policy_is_told_of_where_its_service_gets_requests() {
    let mut world = World::with_gateway();
    let policy = json!({"targetRefs": [{"group": "", "kind": "Service", "name": "s1"}],
        "validation": {"hostname": "s.example", "caCertificateRefs": [{"group": "", "kind": "ConfigMap", "name": "missing"}]}});
    world.put("BackendTLSPolicy", "shop", "tls", policy);
    assert_eq!(kinds(&mut world, "backendtlspolicies", "shop", "tls"), []);
    route(&mut world, json!([{"name": "gw", "namespace": "edge"}]), "s1");
    let told = kinds(&mut world, "backendtlspolicies", "shop", "tls");
    assert!(!told.is_empty(), "{told:?}");
    world.delete("HTTPRoute", &name("shop", "cart"));
    assert_eq!(kinds(&mut world, "backendtlspolicies", "shop", "tls"), []);
}

#[test]
fn what_a_list_has_no_room_for_is_told_and_takes_nothing_from_another_namespace() {
    let mut world = World::with_gateway();
    let parents = json!([{"name": "gw", "namespace": "edge"}]);
    let to = json!([{"name": "s1", "port": 80}]);
    let admin = json!([{"matches": [{"path": {"value": "/admin"}, "headers": [{"name": "x-admin", "value": "1"}]}], "backendRefs": to}]);
    world.put("HTTPRoute", "shop", "cart", json!({"parentRefs": parents, "rules": admin}));
    // Longer paths come first.
    let matches: Vec<Value> = (0..600)
        .map(|number| json!({"path": {"value": format!("/a/longer/path/{number}")}, "headers": [{"name": "a", "value": "b"}]}))
        .collect();
    let many = json!([{"matches": matches, "backendRefs": to}]);
    world.put("HTTPRoute", "blog", "many", json!({"parentRefs": parents, "rules": many}));
    assert_eq!(kinds(&mut world, "httproutes", "shop", "cart"), []);
    let told = found(&mut world, "httproutes", "blog", "many");
    let is_told = |one: &(FindingKind, String)| {
        one.0 == FindingKind::TooManyRoutes && one.1.contains("matches for * at listener edge/gw/http")
    };
    assert!(told.iter().any(is_told), "{told:?}");
    let few = json!([{"matches": matches[..3], "backendRefs": to}]);
    world.put("HTTPRoute", "blog", "many", json!({"parentRefs": parents, "rules": few}));
    let told = found(&mut world, "httproutes", "blog", "many");
    assert!(!told.iter().any(is_told), "{told:?}");
}

#[test]
fn a_list_is_written_with_the_route_that_has_most_of_it() {
    let mut world = World::with_gateway();
    let parents = json!([{"name": "gw", "namespace": "edge"}]);
    for (namespace, matches) in [("blog", 1), ("shop", 20)] {
        let matches: Vec<Value> = (0..matches)
            .map(|number| json!({"path": {"value": format!("/{namespace}/{number}")}, "headers": [{"name": "a", "value": "b"}]}))
            .collect();
        world.put(
            "HTTPRoute",
            namespace,
            "one",
            json!({"parentRefs": parents, "rules": [{"matches": matches}]}),
        );
    }
    let (_, all) = world.resolved();
    let sets = all.get("routes of httproutes").unwrap();
    for (namespace, levels) in [("blog", 0), ("shop", 1)] {
        let set: Value = serde_json::from_slice(&sets.get(namespace, "one").unwrap().json.bytes()).unwrap();
        assert_eq!(set["levels"].as_array().unwrap().len(), levels, "{namespace}: {set}");
    }
}

#[test]
fn only_a_route_of_which_nobody_can_serve_anything_is_refused() {
    let mut world = World::with_gateway();
    let (ours, other) = (json!({"name": "gw", "namespace": "edge"}), json!({"name": "envoy"}));
    let backoff =
        json!({"retry": {"codes": [503], "backoff": "100ms"}, "backendRefs": [{"name": "s1", "port": 80}]});
    let matches: Vec<Value> =
        (0..64).map(|number| json!({"path": {"value": format!("/{number}")}})).collect();
    let hostnames: Vec<String> = (0..200).map(|number| format!("h{number}.example")).collect();
    let crowded = json!([{"matches": matches, "backendRefs": [{"name": "s1", "port": 80}]}]);
    for (parents, hostnames, rules, is_refused) in [
        (json!([ours]), json!([]), json!([backoff]), true),
        (json!([ours, other]), json!([]), json!([backoff]), false),
        (json!([ours]), json!([]), json!([backoff, rules("s1")[0]]), false),
        (json!([ours]), json!(hostnames), crowded, false),
    ] {
        let spec = json!({"parentRefs": parents, "hostnames": hostnames, "rules": rules});
        world.put("HTTPRoute", "shop", "cart", spec);
        world.resolved();
        let told = world.model.findings().of(&ObjectRef::new("httproutes", "shop", "cart")).to_vec();
        let [finding] = told.as_slice() else { panic!("{told:?}") };
        assert_eq!(finding.is_refused(), is_refused, "{parents} {finding:?}");
    }
}

#[test]
fn a_hostname_that_cannot_be_served_is_told_and_one_alone_is_not_accepted() {
    let mut world = World::with_gateway();
    let deep = "*.a.b.c.d.e.f.g.h.i";
    for (hostnames, accepted, partly) in [
        (json!([deep, "a.example"]), (true, "Accepted"), (true, "UnsupportedValue")),
        (json!([deep]), (false, "UnsupportedValue"), (false, "none")),
        (json!(["a.example"]), (true, "Accepted"), (false, "none")),
    ] {
        let parents = json!([{"name": "gw", "namespace": "edge"}]);
        let spec = json!({"parentRefs": parents, "hostnames": hostnames, "rules": rules("s1")});
        world.put("HTTPRoute", "shop", "cart", spec);
        let (verdicts, _) = world.resolved();
        let conditions = &verdicts.routes[&(RouteKind::Http, name("shop", "cart"))].parents[0].conditions;
        let both = (said(conditions, "Accepted"), said(conditions, "PartiallyInvalid"));
        assert_eq!(both, (accepted, partly), "{hostnames}");
        let told = found(&mut world, "httproutes", "shop", "cart");
        let has_deep = hostnames[0] == deep;
        let kind = if accepted.0 { FindingKind::RulesDropped } else { FindingKind::RouteUnservable };
        let is_told = told.iter().any(|(told, why)| *told == kind && why.contains(deep));
        assert_eq!((is_told, told.len()), (has_deep, usize::from(has_deep)), "{told:?}");
    }
}
