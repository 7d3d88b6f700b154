//! Verdicts and sets, from objects as files have them.

mod changes;
mod classes;
mod entries;
mod findings;
mod listed_hosts;
mod router;
mod streams;
mod tls;

use super::*;
use haptic_model::{
    Object, ObjectRef, Snapshot,
    gateway::{
        CONTROLLER, GATEWAY_NAME, ListenerVerdict, NamespacedName, RouteKind, StatusCondition, service_name,
    },
    host_holds,
};
use serde_json::{Value, json};
use std::time::Duration;

/// Objects, and what is made of them.
#[derive(Default)]
struct World {
    model: GatewayModel,
    stores: BTreeMap<Arc<str>, Snapshot>,
    settings: Value,
    /// `spec.hosts`.
    hosts: Value,
    clock: Option<Clock>,
}

const RESOURCES: [(&str, &str, &str); 13] = [
    ("gatewayclasses", "GatewayClass", GROUP),
    ("gateways", "Gateway", GROUP),
    ("listenersets", "ListenerSet", GROUP),
    ("httproutes", "HTTPRoute", GROUP),
    ("grpcroutes", "GRPCRoute", GROUP),
    ("tlsroutes", "TLSRoute", GROUP),
    ("tcproutes", "TCPRoute", GROUP),
    ("referencegrants", "ReferenceGrant", GROUP),
    ("backendtlspolicies", "BackendTLSPolicy", GROUP),
    ("namespaces", "Namespace", ""),
    ("services", "Service", ""),
    ("secrets", "Secret", ""),
    ("configmaps", "ConfigMap", ""),
];

impl World {
    /// With the Gateway `gw`, which listens for HTTP.
    fn with_gateway() -> Self {
        let mut world = Self::new();
        world.gateway("gw", json!([http("http", None)]));
        world
    }

    fn new() -> Self {
        let mut world = Self::default();
        for (resource, ..) in RESOURCES {
            let mut store = Snapshot::full();
            store.set_synced();
            world.stores.insert(resource.into(), store);
        }
        world.put("GatewayClass", "", "haptic", json!({"controllerName": CONTROLLER}));
        for (namespace, labels) in
            [("edge", json!({})), ("shop", json!({"team": "shop"})), ("blog", json!({}))]
        {
            world.apply("Namespace", &json!({"metadata": {"name": namespace, "labels": labels}}));
        }
        for service in ["s1", "s2"] {
            world.put(
                "Service",
                "shop",
                service,
                json!({"ports": [{"port": 80}, {"port": 81, "appProtocol": "kubernetes.io/h2c"}]}),
            );
        }
        world
    }

    fn put(&mut self, kind: &str, namespace: &str, name: &str, spec: Value) {
        let metadata = json!({"namespace": namespace, "name": name, "generation": 3, "uid": name});
        self.apply(kind, &json!({"metadata": metadata, "spec": spec}));
    }

    fn apply(&mut self, kind: &str, object: &Value) {
        let resource = RESOURCES.iter().find(|(_, known, _)| *known == kind).unwrap().0;
        let text = |field: &str| object["metadata"][field].as_str().unwrap_or_default();
        let reference = ObjectRef::new(resource, text("namespace"), text("name"));
        self.stores.get_mut(resource).unwrap().put(reference, object);
    }

    /// As whoever writes statuses does.
    fn write_status(&mut self, kind: &str, namespace: &str, name: &str) {
        let resource = RESOURCES.iter().find(|(_, known, _)| *known == kind).unwrap().0;
        let store = self.stores.get_mut(resource).unwrap();
        let (object, key) =
            store.entry(namespace, name).map(|(object, key)| (object.clone(), key.clone())).unwrap();
        let mut value = object.value().unwrap();
        value["status"] = json!({"written": value["status"]["written"].as_u64().unwrap_or_default() + 1});
        store.apply_beside_status(Object::new(object.reference.clone(), &value), key, true);
    }

    fn delete(&mut self, kind: &str, name: &NamespacedName) {
        let resource = RESOURCES.iter().find(|(_, known, _)| *known == kind).unwrap().0;
        self.stores.get_mut(resource).unwrap().remove(&ObjectRef::new(resource, &name.0, &name.1));
    }

    fn gateway(&mut self, name: &str, listeners: Value) {
        self.put("Gateway", "edge", name, json!({"gatewayClassName": "haptic", "listeners": listeners}));
    }

    /// The Service that was made for a Gateway.
    fn service_of(&mut self, (namespace, gateway): &NamespacedName, ports: &[(u16, u16)]) {
        let ports: Vec<Value> =
            ports.iter().map(|(port, to)| json!({"port": port, "targetPort": to})).collect();
        let service = json!({"metadata": {"namespace": namespace, "name": service_name(gateway),
                "labels": {GATEWAY_NAME: gateway},
                "ownerReferences": [{"apiVersion": format!("{GROUP}/v1"), "kind": "Gateway", "name": gateway,
                    "uid": gateway, "controller": true}]},
            "spec": {"ports": ports}});
        self.apply("Service", &service);
    }

    fn snapshots(&self) -> Snapshots {
        let stores = self.stores.iter().map(|(name, store)| (name.clone(), Arc::new(store.clone())));
        Snapshots::new(stores.collect())
    }

    fn config(&self) -> ActiveConfig {
        let watched: serde_json::Map<String, Value> = RESOURCES
            .iter()
            .map(|(resource, _, group)| {
                let version = if group.is_empty() { "v1".to_owned() } else { format!("{group}/v1") };
                ((*resource).to_owned(), json!({"apiVersion": version, "resources": resource}))
            })
            .collect();
        let spec = json!({"watchedResources": watched, "podSelector": {"matchLabels": {"a": "b"}}, "credentialsSecretRef": {"name": "c"},
            "hosts": self.hosts.as_array().cloned().unwrap_or_default(), "templatingSettings": {"extraContext": {"gateway": self.settings}}});
        ActiveConfig::of("c", "n", serde_json::from_value(spec).unwrap())
    }

    fn resolved(&mut self) -> (Arc<GatewayVerdicts>, Snapshots) {
        let (snapshots, config) = (self.snapshots(), self.config());
        let all = self.model.beside(
            &config,
            &snapshots,
            snapshots.clone(),
            self.clock.as_ref().map(|clock| clock.now),
            self.clock,
        );
        let mut fresh = self.model.emptied();
        let again = fresh.beside(
            &config,
            &snapshots,
            snapshots.clone(),
            self.clock.as_ref().map(|clock| clock.now),
            self.clock,
        );
        assert_eq!(self.model.verdicts(), fresh.verdicts());
        assert_eq!(self.model.findings(), fresh.findings());
        for (name, store) in all.iter() {
            let texts = |store: &Snapshot| {
                store.iter().map(|one| (one.reference.clone(), one.json.clone())).collect::<Vec<_>>()
            };
            assert_eq!(texts(store), texts(again.get(name).unwrap()), "{name}");
        }
        (self.model.verdicts(), all)
    }
}

fn http(name: &str, hostname: Option<&str>) -> Value {
    let mut listener = json!({"name": name, "port": 80, "protocol": "HTTP", "allowedRoutes": {"namespaces": {"from": "All"}}});
    if let Some(hostname) = hostname {
        listener["hostname"] = hostname.into();
    }
    listener
}

fn said<'c>(conditions: &'c [StatusCondition], kind: &str) -> (bool, &'c str) {
    conditions.iter().find(|one| one.kind == kind).map_or((false, "none"), |one| (one.holds, one.reason))
}

/// The reasons of the condition Accepted of these.
fn accepted(listeners: &[ListenerVerdict]) -> Vec<&str> {
    listeners.iter().map(|one| said(&one.conditions, "Accepted").1).collect()
}

fn name(namespace: &str, name: &str) -> NamespacedName {
    (namespace.into(), name.into())
}

fn rules(service: &str) -> Value {
    json!([{"backendRefs": [{"name": service, "port": 80}]}])
}

#[test]
fn a_route_is_attached_where_it_may_be() {
    let mut world = World::new();
    let mut same = http("same", None);
    same["allowedRoutes"] = json!({"namespaces": {"from": "Same"}});
    same["port"] = 81.into();
    world.gateway("gw", json!([http("a", Some("*.a.example")), same]));
    let to =
        |parent: Value| json!({"parentRefs": [parent], "hostnames": ["x.a.example"], "rules": rules("s1")});
    for (route, parent) in [
        ("whole", json!({"name": "gw", "namespace": "edge"})),
        ("section", json!({"name": "gw", "namespace": "edge", "sectionName": "a", "port": 80})),
        ("nowhere", json!({"name": "gw", "namespace": "edge", "sectionName": "a", "port": 81})),
        ("refused", json!({"name": "gw", "namespace": "edge", "sectionName": "same"})),
        ("other", json!({"name": "others", "namespace": "edge"})),
    ] {
        world.put("HTTPRoute", "shop", route, to(parent));
    }
    let mut elsewhere = to(json!({"name": "gw", "namespace": "edge"}));
    elsewhere["hostnames"] = json!(["b.example"]);
    world.put("HTTPRoute", "shop", "hostname", elsewhere);
    let (verdicts, all) = world.resolved();
    for (route, expected) in [
        ("whole", (true, "Accepted")),
        ("section", (true, "Accepted")),
        ("nowhere", (false, "NoMatchingParent")),
        ("refused", (false, "NotAllowedByListeners")),
        ("hostname", (false, "NoMatchingListenerHostname")),
    ] {
        let verdict = &verdicts.routes[&(RouteKind::Http, name("shop", route))];
        assert_eq!(said(&verdict.parents[0].conditions, "Accepted"), expected, "{route}");
        assert_eq!(
            (verdict.generation, said(&verdict.parents[0].conditions, "ResolvedRefs")),
            (3, (true, "ResolvedRefs"))
        );
    }
    assert!(!verdicts.routes.contains_key(&(RouteKind::Http, name("shop", "other"))));
    let gateway = &verdicts.gateways[&name("edge", "gw")];
    assert_eq!(gateway.listeners.iter().map(|one| one.attached_routes).collect::<Vec<_>>(), [2, 0]);
    assert_eq!(
        gateway.ports.iter().map(|one| (one.port, one.target)).collect::<Vec<_>>(),
        [(80, 20_000), (81, 20_001)]
    );
    assert_eq!(all.get("routes of httproutes").unwrap().len(), 1);
    assert_eq!(all.get("routes of gateway backends").unwrap().len(), 1);
}

#[test]
fn a_service_that_comes_or_goes_is_seen_by_the_routes_that_name_it() {
    let mut world = World::new();
    world.gateway("gw", json!([http("plain", None)]));
    let to =
        |service: &str| json!({"parentRefs": [{"name": "gw", "namespace": "edge"}], "rules": rules(service)});
    let resolves = |world: &mut World, route: &str| {
        let (verdicts, _) = world.resolved();
        let verdict = &verdicts.routes[&(RouteKind::Http, name("shop", route))];
        said(&verdict.parents[0].conditions, "ResolvedRefs").0
    };
    world.put("HTTPRoute", "shop", "early", to("late"));
    world.put("HTTPRoute", "shop", "other", to("s1"));
    assert!(!resolves(&mut world, "early"));
    world.put("Service", "shop", "late", json!({"ports": [{"port": 80}]}));
    assert!(resolves(&mut world, "early"));
    world.put("HTTPRoute", "shop", "early", to("s2"));
    assert!(resolves(&mut world, "early") && world.model.resolved.naming.len() == 2);
    world.delete("Service", &name("shop", "late"));
    assert!(resolves(&mut world, "early"));
    world.delete("Service", &name("shop", "s2"));
    assert!(!resolves(&mut world, "early") && resolves(&mut world, "other"));
    world.delete("HTTPRoute", &name("shop", "early"));
    world.resolved();
    assert_eq!(world.model.resolved.naming.len(), 1);
}

#[test]
fn what_a_reference_leads_to_is_told_and_a_broken_rule_harms_only_itself() {
    let mut world = World::with_gateway();
    let parents = json!([{"name": "gw", "namespace": "edge"}]);
    let mut put = |route: &str, namespace: &str, rules: Value| {
        world.put("HTTPRoute", namespace, route, json!({"parentRefs": parents, "rules": rules}));
    };
    put("missing", "shop", rules("nothing"));
    put("port", "shop", json!([{"backendRefs": [{"name": "s1", "port": 82}]}]));
    put("kind", "shop", json!([{"backendRefs": [{"group": "x", "kind": "Y", "name": "s1"}]}]));
    let foreign = json!([{"backendRefs": [{"name": "s1", "namespace": "shop", "port": 80}]}]);
    put("foreign", "blog", foreign.clone());
    put("granted", "edge", foreign);
    let mirrored =
        json!({"backendRefs": [{"name": "s1", "port": 80}], "filters": [{"type": "ExtensionRef"}]});
    put("partial", "shop", json!([mirrored, rules("s1")[0], {"matches": [{"path": 7}]}]));
    put("broken", "shop", json!([mirrored]));
    let (missing, broken) = (json!({"name": "nothing", "port": 80}), json!({"type": "ExtensionRef"}));
    let copied = json!({"type": "RequestMirror", "requestMirror": {"backendRef": missing}});
    put("both", "shop", json!([{"backendRefs": [missing], "filters": [broken]}]));
    put(
        "copied",
        "shop",
        json!([{"backendRefs": [{"name": "s1", "port": 80}], "filters": [broken, copied]}]),
    );
    world.put(
        "ReferenceGrant",
        "shop",
        "edge",
        json!({"from": [{"group": GROUP, "kind": "HTTPRoute", "namespace": "edge"}],
        "to": [{"group": "", "kind": "Service"}]}),
    );
    world.put(
        "BackendTLSPolicy",
        "shop",
        "tls",
        json!({"targetRefs": [{"group": "", "kind": "Service", "name": "s2"}]}),
    );
    let mut put = |route: &str, rules: Value| {
        world.put("HTTPRoute", "shop", route, json!({"parentRefs": parents, "rules": rules}));
    };
    put("secured", rules("s2"));
    let (verdicts, all) = world.resolved();
    let of = |namespace: &str, route: &str, kind: &'static str| {
        let verdict = &verdicts.routes[&(RouteKind::Http, name(namespace, route))];
        let (holds, reason) = said(&verdict.parents[0].conditions, kind);
        (holds, reason.to_owned())
    };
    for (namespace, route, kind, holds, reason) in [
        ("shop", "missing", "ResolvedRefs", false, "BackendNotFound"),
        ("shop", "missing", "Accepted", true, "Accepted"),
        ("shop", "port", "ResolvedRefs", false, "BackendNotFound"),
        ("shop", "kind", "ResolvedRefs", false, "InvalidKind"),
        ("blog", "foreign", "ResolvedRefs", false, "RefNotPermitted"),
        ("edge", "granted", "ResolvedRefs", true, "ResolvedRefs"),
        ("shop", "partial", "PartiallyInvalid", true, "UnsupportedValue"),
        ("shop", "partial", "Accepted", true, "Accepted"),
        ("shop", "broken", "Accepted", false, "UnsupportedValue"),
        ("shop", "broken", "ResolvedRefs", true, "ResolvedRefs"),
        ("shop", "both", "Accepted", false, "UnsupportedValue"),
        ("shop", "both", "ResolvedRefs", false, "BackendNotFound"),
        ("shop", "copied", "ResolvedRefs", false, "BackendNotFound"),
        ("shop", "secured", "ResolvedRefs", false, "UnsupportedProtocol"),
    ] {
        assert_eq!(of(namespace, route, kind), (holds, reason.to_owned()), "{route} {kind}");
    }
    let partial = &verdicts.routes[&(RouteKind::Http, name("shop", "partial"))].parents[0];
    let dropped = partial.conditions.iter().find(|one| one.kind == "PartiallyInvalid").unwrap();
    assert!(dropped.message.starts_with("Dropped Rule 0: "), "{}", dropped.message);
    assert!(dropped.message.ends_with("; rule 2 cannot be done either"), "{}", dropped.message);
    let backends: Vec<String> = all
        .get("routes of gateway backends")
        .unwrap()
        .iter()
        .map(|one| one.reference.name.to_string())
        .collect();
    assert_eq!(backends, ["s1"], "nothing is sent in clear to what a policy secures");
    world.delete("ReferenceGrant", &name("shop", "edge"));
    let (verdicts, _) = world.resolved();
    let granted = &verdicts.routes[&(RouteKind::Http, name("edge", "granted"))];
    assert_eq!(said(&granted.parents[0].conditions, "ResolvedRefs"), (false, "RefNotPermitted"));
}

#[test]
fn listeners_are_judged_one_by_one() {
    let mut world = World::new();
    let mut kinds = http("kinds", Some("k.example"));
    kinds["allowedRoutes"]["kinds"] = json!([{"kind": "TLSRoute"}, {"kind": "HTTPRoute"}]);
    let mut https = http("https", None);
    (https["port"], https["protocol"]) = (443.into(), "HTTPS".into());
    https["tls"] = json!({"certificateRefs": [{"name": "missing"}]});
    let mut foreign = https.clone();
    foreign["name"] = "foreign".into();
    foreign["port"] = 444.into();
    foreign["tls"]["certificateRefs"][0]["namespace"] = "shop".into();
    let mut unknown = http("unknown", None);
    (unknown["port"], unknown["protocol"]) = (1111.into(), "SCTP".into());
    world.gateway("gw", json!([http("a", None), kinds, https, foreign, unknown, http("same", None)]));
    let (verdicts, _) = world.resolved();
    let gateway = &verdicts.gateways[&name("edge", "gw")];
    let of = |number: usize, kind: &str| said(&gateway.listeners[number].conditions, kind);
    // Of two of one Gateway that are not distinct none is served.
    for number in [0, 5] {
        assert_eq!(
            (of(number, "Conflicted"), of(number, "Accepted")),
            ((true, "HostnameConflict"), (false, "HostnameConflict")),
            "{number}"
        );
    }
    assert_eq!(of(1, "Accepted"), (true, "Accepted"));
    assert_eq!(of(1, "ResolvedRefs"), (false, "InvalidRouteKinds"));
    assert_eq!(gateway.listeners[1].supported_kinds, [(GROUP, "HTTPRoute")]);
    assert_eq!(of(2, "ResolvedRefs"), (false, "InvalidCertificateRef"));
    assert_eq!(of(3, "ResolvedRefs"), (false, "RefNotPermitted"));
    assert_eq!(
        (of(4, "Accepted"), gateway.listeners[4].supported_kinds.len()),
        ((false, "UnsupportedProtocol"), 0)
    );
    let served: Vec<bool> = gateway.listeners.iter().map(|one| one.is_served).collect();
    assert_eq!(served, [false, true, false, false, false, false]);
    assert_eq!(said(&gateway.conditions, "Accepted"), (true, "ListenersNotValid"));
    assert_eq!(said(&gateway.conditions, "ResolvedRefs"), (false, "ListenersNotResolved"));
    world.gateway("gw", json!([unknown]));
    let (verdicts, _) = world.resolved();
    assert_eq!(
        said(&verdicts.gateways[&name("edge", "gw")].conditions, "Accepted"),
        (false, "ListenersNotValid")
    );
}

#[test]
fn a_route_is_attached_where_it_is_not_served_and_that_is_known() {
    let mut world = World::new();
    let mut https = http("https", None);
    (https["port"], https["protocol"]) = (443.into(), "HTTPS".into());
    https["tls"] = json!({"certificateRefs": [{"name": "missing"}]});
    world.gateway("gw", json!([http("http", None), https]));
    for (route, section, is_served) in [("shown", "http", true), ("hidden", "https", false)] {
        let parents = json!([{"name": "gw", "namespace": "edge", "sectionName": section}]);
        world.put("HTTPRoute", "shop", route, json!({"parentRefs": parents, "rules": rules("s1")}));
        let (verdicts, _) = world.resolved();
        let parent = &verdicts.routes[&(RouteKind::Http, name("shop", route))].parents[0];
        assert_eq!(said(&parent.conditions, "Accepted"), (true, "Accepted"));
        assert_eq!(parent.is_served, is_served, "{route}");
    }
}

#[test]
fn listeners_that_clients_may_take_for_each_other_say_so() {
    let mut world = World::new();
    let made = rcgen::generate_simple_self_signed(vec!["a.example".to_owned()]).unwrap();
    let encoded = |text: String| base64::Engine::encode(&base64::engine::general_purpose::STANDARD, text);
    let data =
        json!({"tls.crt": encoded(made.cert.pem()), "tls.key": encoded(made.signing_key.serialize_pem())});
    for secret in ["a", "b", "c", "d", "e"] {
        world.apply("Secret", &json!({"metadata": {"namespace": "edge", "name": secret}, "data": data}));
    }
    let https = |called: &str, port: u16, hostname: &str, secret: &str| {
        json!({"name": called, "port": port, "protocol": "HTTPS", "hostname": hostname,
            "tls": {"certificateRefs": [{"name": secret}]}})
    };
    world.gateway(
        "gw",
        json!([
            https("wild", 443, "*.a.example", "a"),
            https("below", 443, "x.a.example", "b"),
            https("apart", 443, "b.example", "c"),
            https("elsewhere", 444, "x.a.example", "a"),
            https("same", 443, "c.example", "c"),
            https("alone", 443, "d.example", "d"),
            json!({"name": "passed", "port": 443, "protocol": "TLS", "hostname": "*.b.example", "tls": {"mode": "Passthrough"}}),
            https("of-passed", 443, "x.b.example", "e"),
        ]),
    );
    let (verdicts, _) = world.resolved();
    let listeners = &verdicts.gateways[&name("edge", "gw")].listeners;
    let said: Vec<&str> =
        listeners.iter().map(|one| said(&one.conditions, "OverlappingTLSConfig").1).collect();
    let (hosts, certificates) = ("OverlappingHostnames", "OverlappingCertificates");
    assert_eq!(said, [hosts, hosts, certificates, "none", certificates, "none", hosts, hosts]);
    // Of what is passed through HAProxy sees no requests.
    let message = |number: usize| {
        let conditions = &listeners[number].conditions;
        &*conditions.iter().find(|one| one.kind == "OverlappingTLSConfig").unwrap().message
    };
    assert!(message(7).contains("get 421") && !message(6).contains("421"), "{}", message(6));
}

#[test]
fn listener_sets_belong_to_gateways_that_allow_them() {
    let mut world = World::new();
    let gateway = |from: Value| json!({"gatewayClassName": "haptic", "listeners": [http("http", None)], "allowedListeners": {"namespaces": from}});
    world.put(
        "Gateway",
        "edge",
        "gw",
        gateway(json!({"from": "Selector", "selector": {"matchLabels": {"team": "shop"}}})),
    );
    let set =
        |listeners: Value| json!({"parentRef": {"name": "gw", "namespace": "edge"}, "listeners": listeners});
    world.put(
        "ListenerSet",
        "shop",
        "good",
        set(json!([http("own", Some("s.example")), http("taken", None)])),
    );
    world.put("ListenerSet", "blog", "refused", set(json!([http("own", Some("b.example"))])));
    let mut without = http("https", None);
    (without["port"], without["protocol"]) = (443.into(), "HTTPS".into());
    without["tls"] = json!({"certificateRefs": [{"name": "missing"}]});
    world.put("ListenerSet", "shop", "without", set(json!([without])));
    let (verdicts, _) = world.resolved();
    let accepted = |namespace: &str, set: &str| {
        let (holds, reason) = said(&verdicts.listener_sets[&name(namespace, set)].conditions, "Accepted");
        (holds, reason.to_owned())
    };
    assert_eq!(accepted("shop", "good"), (true, "ListenersNotValid".to_owned()));
    assert_eq!(accepted("blog", "refused"), (false, "NotAllowed".to_owned()));
    assert_eq!(accepted("shop", "without"), (false, "ListenersNotValid".to_owned()));
    assert_eq!(verdicts.gateways[&name("edge", "gw")].attached_listener_sets, 1);
    let taken = &verdicts.listener_sets[&name("shop", "good")].listeners[1];
    assert_eq!(said(&taken.conditions, "Conflicted"), (true, "HostnameConflict"));
    assert!(verdicts.gateways[&name("edge", "gw")].listeners[0].is_served, "it comes first");
    for (from, is_allowed) in [
        (json!({"from": "Selector"}), false),
        (json!({"from": "Selector", "selector": {}}), true),
        (json!({"from": "None"}), false),
    ] {
        world.put("Gateway", "edge", "gw", gateway(from.clone()));
        let (verdicts, _) = world.resolved();
        let accepted = said(&verdicts.listener_sets[&name("shop", "good")].conditions, "Accepted");
        assert_eq!(accepted.0, is_allowed, "{from}");
    }
    world.put("Gateway", "edge", "gw", gateway(json!({"from": "None"})));
    let (verdicts, _) = world.resolved();
    assert_eq!(
        said(&verdicts.listener_sets[&name("shop", "good")].conditions, "Accepted"),
        (false, "NotAllowed")
    );
}

#[test]
fn what_listeners_of_a_gateway_dispute_no_listener_set_gets() {
    let mut world = World::new();
    let mut streams = http("streams", None);
    (streams["port"], streams["protocol"]) = (81.into(), "TCP".into());
    let mut web = http("web", None);
    web["port"] = 81.into();
    let listeners = json!([http("a", Some("a.example")), http("b", Some("a.example")), streams, web]);
    let spec = json!({"gatewayClassName": "haptic", "listeners": listeners, "allowedListeners": {"namespaces": {"from": "All"}}});
    world.put("Gateway", "edge", "gw", spec);
    let mut at_81 = http("port", Some("own.example"));
    at_81["port"] = 81.into();
    let own = json!([http("host", Some("a.example")), at_81, http("good", Some("own.example"))]);
    let parent = json!({"name": "gw", "namespace": "edge"});
    world.put("ListenerSet", "shop", "set", json!({"parentRef": parent, "listeners": own}));
    let (verdicts, _) = world.resolved();
    let gateway = &verdicts.gateways[&name("edge", "gw")];
    let (host, protocol) = ("HostnameConflict", "ProtocolConflict");
    assert_eq!(accepted(&gateway.listeners), [host, host, protocol, protocol]);
    assert_eq!(said(&gateway.conditions, "Accepted"), (false, "ListenersNotValid"));
    let set = &verdicts.listener_sets[&name("shop", "set")];
    assert_eq!(accepted(&set.listeners), [host, protocol, "Accepted"]);
}

#[test]
fn a_selector_that_is_not_there_selects_no_namespace() {
    let mut world = World::new();
    let parents = json!([{"name": "gw", "namespace": "edge"}]);
    world.put("HTTPRoute", "shop", "r", json!({"parentRefs": parents, "rules": rules("s1")}));
    for (from, expected) in [
        (json!({"from": "Selector"}), (false, "NotAllowedByListeners")),
        (json!({"from": "Selector", "selector": {}}), (true, "Accepted")),
        (
            json!({"from": "Selector", "selector": {"matchLabels": {"team": "blog"}}}),
            (false, "NotAllowedByListeners"),
        ),
    ] {
        let mut listener = http("http", None);
        listener["allowedRoutes"]["namespaces"] = from.clone();
        world.gateway("gw", json!([listener]));
        let (verdicts, _) = world.resolved();
        let verdict = &verdicts.routes[&(RouteKind::Http, name("shop", "r"))];
        assert_eq!(said(&verdict.parents[0].conditions, "Accepted"), expected, "{from}");
    }
}

#[test]
fn what_is_not_accepted_does_not_count_as_attached() {
    let mut world = World::with_gateway();
    let parents = json!([{"name": "gw", "namespace": "edge"}]);
    let broken = json!({"backendRefs": [{"name": "s1", "port": 80}], "filters": [{"type": "ExtensionRef"}]});
    for (route, rules, attached) in [
        ("none", json!([broken]), 0),
        ("partly", json!([broken, rules("s1")[0]]), 1),
        ("all", rules("s1"), 2),
    ] {
        world.put("HTTPRoute", "shop", route, json!({"parentRefs": parents, "rules": rules}));
        let (verdicts, _) = world.resolved();
        let counted = verdicts.gateways[&name("edge", "gw")].listeners[0].attached_routes;
        assert_eq!(counted, attached, "{route}");
    }
}

#[test]
fn a_route_that_is_not_accepted_takes_no_requests() {
    let mut world = World::with_gateway();
    let parents = json!([{"name": "gw", "namespace": "edge"}]);
    let backoff =
        json!({"retry": {"codes": [503], "backoff": "1s"}, "backendRefs": [{"name": "s1", "port": 80}]});
    for (rules, is_there) in [(json!([backoff]), false), (json!([backoff, rules("s1")[0]]), true)] {
        let spec = json!({"parentRefs": parents, "hostnames": ["a.r.example"], "rules": rules});
        world.put("HTTPRoute", "shop", "young", spec);
        let (verdicts, all) = world.resolved();
        let conditions = &verdicts.routes[&(RouteKind::Http, name("shop", "young"))].parents[0].conditions;
        assert_eq!(said(conditions, "Accepted").0, is_there, "{rules}");
        assert_eq!(all.get("routes of httproutes").unwrap().get("shop", "young").is_some(), is_there);
    }
}

#[test]
fn one_route_has_no_more_entries_than_it_may() {
    let mut world = World::new();
    let listeners = (0..64).map(|number| {
        let mut listener = http(&format!("l{number}"), None);
        listener["port"] = (1000 + number).into();
        listener
    });
    world.gateway("gw", listeners.collect());
    let matches: Vec<Value> =
        (0..128).map(|number| json!({"path": {"value": format!("/{number}")}})).collect();
    let hostnames: Vec<String> = (0..16).map(|number| format!("h{number}.example")).collect();
    let backends = json!([{"name": "s1", "port": 80}]);
    let parents = json!([{"name": "gw", "namespace": "edge"}]);
    let spec = json!({"parentRefs": parents, "hostnames": hostnames, "rules": [{"matches": matches, "backendRefs": backends}]});
    world.put("HTTPRoute", "shop", "large", spec);
    world.put("HTTPRoute", "shop", "small", json!({"parentRefs": parents, "rules": rules("s1")}));
    let (verdicts, all) = world.resolved();
    let routes = all.get("routes of httproutes").unwrap();
    let entries =
        |route: &str| routes.get("shop", route).unwrap().value().unwrap()["routes"].as_array().unwrap().len();
    assert_eq!((entries("large"), entries("small")), (8_192, 64));
    let conditions = &verdicts.routes[&(RouteKind::Http, name("shop", "large"))].parents[0].conditions;
    assert_eq!(said(conditions, "Accepted"), (true, "Accepted"));
    let partly = conditions.iter().find(|one| one.kind == "PartiallyInvalid").unwrap();
    assert!(partly.holds && partly.message.starts_with("Dropped Rule"), "{partly:?}");
    assert!(partly.message.contains("131072") && partly.message.contains("routesPerObject"), "{partly:?}");
    let small = &verdicts.routes[&(RouteKind::Http, name("shop", "small"))].parents[0].conditions;
    assert_eq!(said(small, "PartiallyInvalid"), (false, "none"));
}

#[test]
fn ports_stay_and_are_read_back_from_the_service() {
    let mut world = World::new();
    world.service_of(&name("edge", "gw"), &[(80, 20_005)]);
    world.gateway("gw", json!([http("http", None)]));
    let target =
        |verdicts: &GatewayVerdicts, gateway: &str| verdicts.gateways[&name("edge", gateway)].ports[0].target;
    let (verdicts, _) = world.resolved();
    assert_eq!(target(&verdicts, "gw"), 20_005);
    world.delete("Service", &name("edge", &service_name("gw")));
    world.gateway("a", json!([http("http", None)]));
    let (verdicts, _) = world.resolved();
    assert_eq!((target(&verdicts, "gw"), target(&verdicts, "a")), (20_005, 20_000));
}

#[test]
fn a_service_that_was_not_made_for_the_gateway_says_nothing_of_its_ports() {
    let mut world = World::with_gateway();
    let mut claim = json!({"metadata": {"namespace": "edge", "name": "claim", "labels": {GATEWAY_NAME: "gw"}},
        "spec": {"ports": [{"port": 80, "targetPort": 20_003}]}});
    let given = |world: &mut World, claim: &Value| {
        world.model = GatewayModel::default();
        world.apply("Service", claim);
        world.resolved().0.gateways[&name("edge", "gw")].ports[0].target
    };
    let owner = |uid: &str, kind: &str, controller: bool| json!([{"apiVersion": format!("{GROUP}/v1"), "kind": kind, "name": "gw", "uid": uid, "controller": controller}]);
    assert_eq!(given(&mut world, &claim), 20_000, "a label alone");
    claim["metadata"]["ownerReferences"] = owner("gw", "Gateway", true);
    assert_eq!(given(&mut world, &claim), 20_000, "under another name");
    claim["metadata"]["name"] = json!(service_name("gw"));
    for other in
        [owner("another", "Gateway", true), owner("gw", "Other", true), owner("gw", "Gateway", false)]
    {
        claim["metadata"]["ownerReferences"] = other;
        assert_eq!(given(&mut world, &claim), 20_000, "for somebody else: {claim}");
    }
    claim["metadata"]["ownerReferences"] = owner("gw", "Gateway", true);
    assert_eq!(given(&mut world, &claim), 20_003);
}

#[test]
fn whatever_a_service_claims_the_next_controller_gives_each_gateway_the_port_that_it_had() {
    let mut world = World::new();
    let (victim, attacker) = (name("edge", "shared"), name("shop", "ah"));
    let listens = json!({"gatewayClassName": "haptic", "listeners": [http("http", None)]});
    for (namespace, gateway) in [("blog", "x"), ("edge", "shared"), ("shop", "ah")] {
        world.put("Gateway", namespace, gateway, listens.clone());
    }
    let now = Instant::now();
    let config = world.config();
    let targets = |routes: &mut crate::Routes, snapshots: &Snapshots| {
        routes.set_time(now);
        drop(routes.beside(&config, snapshots));
        let verdicts = routes.gateway_verdicts();
        [&victim, &attacker].map(|gateway| verdicts.gateways[gateway].ports[0].target)
    };
    let mut before = crate::Routes::default();
    assert_eq!(targets(&mut before, &world.snapshots()), [20_001, 20_002]);
    let hold = Duration::from_secs(600);
    let record = before.holds().unwrap().record(hold, now, 100_000);

    // A Gateway goes and gives a lower port free, and the attacker's own Service leads where the victim's does.
    world.delete("Gateway", &name("blog", "x"));
    world.service_of(&victim, &[(80, 20_001)]);
    world.service_of(&attacker, &[(80, 20_001)]);
    let store = Arc::new(host_holds::store(Snapshot::full(), &record));
    let snapshots = world.snapshots().with(host_holds::STORE.into(), store);
    assert_eq!(targets(&mut crate::Routes::default(), &snapshots), [20_001, 20_002]);
    // Nor does it where the record is read later, as by a replica that begins to lead.
    let mut late = crate::Routes::default();
    assert_eq!(targets(&mut late, &world.snapshots()), [20_000, 20_002], "of none is known who had it");
    assert_eq!(targets(&mut late, &snapshots), [20_001, 20_002]);
    let written = late.holds().unwrap().record(hold, now, 100_000);
    assert!(
        record.contains(r#"\"gateway\":\"x\""#) && !written.contains(r#"\"gateway\":\"x\""#),
        "{written}"
    );
}

#[test]
fn the_port_of_a_gateway_that_is_gone_is_free_once_its_service_is() {
    let mut world = World::new();
    let before = name("edge", "before");
    world.gateway("before", json!([http("http", None)]));
    world.resolved();
    world.service_of(&before, &[(80, 20_000)]);
    world.delete("Gateway", &before);
    world.gateway("newer", json!([http("http", None)]));
    let target = |world: &mut World, gateway: &str| {
        world.resolved().0.gateways[&name("edge", gateway)].ports[0].target
    };
    assert_eq!(target(&mut world, "newer"), 20_001, "clients of the former one still come there");
    world.delete("Service", &name("edge", &service_name("before")));
    world.gateway("newest", json!([http("http", None)]));
    assert_eq!(target(&mut world, "newest"), 20_000);
}

#[test]
fn what_the_last_route_needed_stays_for_the_time_of_the_hold() {
    let mut world = World::new();
    let (begin, hold) = (Instant::now(), Duration::from_secs(60));
    let at = |seconds: u64| Some(Clock { now: begin + Duration::from_secs(seconds), hold });
    let needs = |world: &mut World, clock: Option<Clock>| -> Vec<String> {
        world.clock = clock;
        let (_, all) = world.resolved();
        let needs = all.get("options of gateway").unwrap();
        needs.iter().map(|need| need.reference.name.to_string()).collect()
    };
    let with_condition = json!({"parentRefs": [{"name": "gw", "namespace": "edge"}],
        "rules": [{"matches": [{"headers": [{"name": "a", "value": "b"}]}]}]});
    world.gateway("gw", json!([http("http", None)]));
    for second in [0, 20] {
        world.put("HTTPRoute", "shop", "cart", with_condition.clone());
        assert_eq!(needs(&mut world, at(second)), ["lists", "lua"]);
        assert_eq!(world.model.due(), None);
        world.delete("HTTPRoute", &name("shop", "cart"));
        assert_eq!(needs(&mut world, at(second + 10)), ["lists", "lua"], "lines that go take a reload");
    }
    assert_eq!(world.model.due(), at(90).map(|clock| clock.now));
    assert!(needs(&mut world, at(90)).is_empty());
    world.put("HTTPRoute", "shop", "cart", with_condition);
    assert_eq!(needs(&mut world, None), ["lists", "lua"]);
    world.delete("HTTPRoute", &name("shop", "cart"));
    assert!(needs(&mut world, None).is_empty());
}

#[test]
fn a_status_that_is_written_has_nothing_resolved_anew() {
    let mut world = World::new();
    world.gateway("web", json!([{"name": "http", "port": 80, "protocol": "HTTP", "allowedRoutes": {"namespaces": {"from": "All"}}}]));
    let route = json!({"parentRefs": [{"namespace": "edge", "name": "web"}], "hostnames": ["a.example"],
        "rules": [{"backendRefs": [{"name": "s1", "port": 80}]}]});
    world.put("HTTPRoute", "shop", "r", route);
    let id = (RouteKind::Http, (Arc::from("shop"), Arc::from("r")));
    // The first one that is written is not known to be the same as what was there before.
    for (kind, namespace, name) in [("HTTPRoute", "shop", "r"), ("Gateway", "edge", "web")] {
        world.write_status(kind, namespace, name);
    }
    world.resolved();
    let (resolved, inputs) = (world.model.resolved.routes[&id].clone(), world.model.inputs.clone());
    for (kind, namespace, name) in [("HTTPRoute", "shop", "r"), ("Gateway", "edge", "web")] {
        world.write_status(kind, namespace, name);
    }
    world.resolved();
    assert!(
        Arc::ptr_eq(&resolved, &world.model.resolved.routes[&id])
            && Arc::ptr_eq(&inputs, &world.model.inputs)
    );
    let present = world.stores["httproutes"].get("shop", "r").unwrap();
    assert!(world.model.counting.holds(&id, present), "the version before is in nobody's memory");
    world.put("HTTPRoute", "shop", "r", json!({"hostnames": ["b.example"]}));
    world.resolved();
    assert!(!world.model.resolved.routes.get(&id).is_some_and(|now| Arc::ptr_eq(&resolved, now)));
}

/// What the rules of route `shop/r` are called, by what each is to lead to.
fn rule_names(world: &mut World, rules: Value) -> Vec<(String, String)> {
    let route = json!({"parentRefs": [{"namespace": "edge", "name": "web"}], "rules": rules});
    world.put("HTTPRoute", "shop", "r", route);
    let (_, all) = world.resolved();
    let set = all.get("routes of httproutes").unwrap().get("shop", "r").unwrap().value().unwrap();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    set["rules"]
        .as_array()
        .unwrap()
        .iter()
        .map(|rule| (text(&rule["name"]), text(&rule["settings"])))
        .collect()
}

#[test]
fn a_rule_that_is_tried_again_is_so_whatever_the_method_and_the_codes_are() {
    let mut world = World::new();
    world.gateway("web", json!([http("http", None)]));
    for (retry, is_retried) in [
        (json!({"attempts": 2}), true),
        (json!({}), true),
        (json!({"codes": [500], "attempts": 1}), true),
        (json!({"attempts": 0}), false),
        (Value::Null, false),
    ] {
        let rule = json!({"retry": retry, "backendRefs": [{"name": "s1", "port": 80}]});
        let (_, settings) = rule_names(&mut world, json!([rule])).remove(0);
        assert_eq!(settings.split('|').any(|one| one == "retry=all"), is_retried, "{retry}: {settings}");
    }
}

#[test]
fn a_rule_is_called_by_its_requests_wherever_it_stands_and_whatever_it_does() {
    let mut world = World::new();
    world.gateway("web", json!([http("http", None)]));
    let rule = |path: &str, service: &str| json!({"matches": [{"path": {"value": path}}], "backendRefs": [{"name": service, "port": 80}]});
    let before = rule_names(&mut world, json!([rule("/a", "s1"), rule("/b", "s2")]));
    let after = rule_names(&mut world, json!([rule("/new", "s1"), rule("/b", "s1"), rule("/a", "s1")]));
    let names = |all: &[(String, String)]| all.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>();
    assert_eq!(names(&after)[1..], [before[1].0.clone(), before[0].0.clone()]);
    assert_ne!(before[1].1, after[1].1, "it does something else");
    assert!(!names(&before).contains(&after[0].0));
    let twice = names(&rule_names(&mut world, json!([rule("/a", "s1"), rule("/a", "s2")])));
    assert_eq!(twice, [before[0].0.clone(), format!("{}-2", before[0].0)]);
}
