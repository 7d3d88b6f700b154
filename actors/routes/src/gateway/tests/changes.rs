//! What is resolved again after a change of something that routes stand on: as much as is concerned, and no less than all that is other then.

use super::*;
use proptest::prelude::*;

const NAMESPACES: [&str; 3] = ["edge", "shop", "blog"];

/// A change of one object, by which of a few it is and how it is then; `None`: it is gone.
type Change = (u8, usize, usize, Option<u8>);

impl World {
    fn change(&mut self, (kind, one, other, now): Change) {
        let (namespace, elsewhere) = (NAMESPACES[one % 3], NAMESPACES[other % 3]);
        let (kind, spec) = match kind {
            0 => {
                ("ReferenceGrant", grant(["HTTPRoute", "ListenerSet", "Gateway"][other % 3], elsewhere, now))
            }
            1 => ("ListenerSet", self::set(elsewhere, now)),
            2 => ("Gateway", self::gateway(now)),
            3 => ("BackendTLSPolicy", policy(now)),
            4 => return self.apply("Namespace", &labelled(namespace, now)),
            _ => ("HTTPRoute", route(elsewhere, now)),
        };
        match now {
            Some(_) => self.put(kind, namespace, &format!("o{}", other % 2), spec),
            None => self.delete(kind, &name(namespace, &format!("o{}", other % 2))),
        }
    }

    /// The routes that are resolved otherwise or again than `before`.
    fn resolved_again(&self, before: &BTreeMap<RouteId, Arc<ResolvedRoute>>) -> BTreeSet<RouteId> {
        let now = self.model.resolved.routes.iter();
        let again = now.filter(|(id, route)| before.get(*id).is_none_or(|known| !Arc::ptr_eq(known, route)));
        again.map(|(id, _)| id.clone()).collect()
    }
}

fn grant(kind: &str, from: &str, now: Option<u8>) -> Value {
    let to = json!([{"group": "", "kind": "Service"}, {"group": "", "kind": "Secret"}]);
    let from = json!([{"group": GROUP, "kind": kind, "namespace": from}]);
    json!({"from": if now == Some(0) { json!([]) } else { from }, "to": to})
}

fn listeners(now: Option<u8>) -> Value {
    let number = now.unwrap_or_default();
    let selected = json!({"from": "Selector", "selector": {"matchLabels": {"team": "shop"}}});
    let mut one = http(&format!("l{}", number % 2), (number < 2).then_some("*.a.example"));
    one["port"] = (80 + u16::from(number % 2)).into();
    if number == 3 {
        one["allowedRoutes"]["namespaces"] = selected;
    }
    json!([one])
}

fn gateway(now: Option<u8>) -> Value {
    json!({"gatewayClassName": "haptic", "listeners": listeners(now), "allowedListeners": {"namespaces": {"from": "All"}}})
}

fn set(parent: &str, now: Option<u8>) -> Value {
    json!({"parentRef": {"name": "o0", "namespace": parent}, "listeners": listeners(now)})
}

fn policy(now: Option<u8>) -> Value {
    let hostname = format!("h{}.example", now.unwrap_or_default());
    let validation = json!({"wellKnownCACertificates": "System", "hostname": hostname});
    json!({"targetRefs": [{"group": "", "kind": "Service", "name": "s1"}], "validation": validation})
}

fn labelled(namespace: &str, now: Option<u8>) -> Value {
    let labels =
        if now.is_some_and(|now| now.is_multiple_of(2)) { json!({"team": "shop"}) } else { json!({}) };
    json!({"metadata": {"name": namespace, "labels": labels}})
}

fn route(parent: &str, now: Option<u8>) -> Value {
    let number = now.unwrap_or_default();
    let kind = if number.is_multiple_of(2) { "Gateway" } else { "ListenerSet" };
    let backends = json!([{"backendRefs": [{"name": "s1", "namespace": NAMESPACES[usize::from(number) % 3], "port": 80}]}]);
    json!({"parentRefs": [{"kind": kind, "name": "o0", "namespace": parent}], "hostnames": ["x.a.example"], "rules": backends})
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn whatever_changes_routes_are_as_if_all_were_resolved_anew(
        changes in prop::collection::vec((0_u8..8, 0_usize..3, 0_usize..6, prop::option::weighted(0.8, 0_u8..4)), 1..24),
    ) {
        let mut world = World::new();
        for change in changes {
            world.change(change);
            // It compares with another model, which begins with what is there.
            world.resolved();
        }
    }
}

#[test]
fn a_change_is_no_work_for_routes_that_it_does_not_concern() {
    let mut world = World::new();
    world.put("Gateway", "edge", "o0", gateway(Some(2)));
    world.put("ListenerSet", "blog", "o0", set("edge", Some(1)));
    world.put("HTTPRoute", "shop", "of-gateway", route("edge", Some(0)));
    world.put("HTTPRoute", "blog", "of-set", route("blog", Some(1)));
    world.put("BackendTLSPolicy", "blog", "tls", policy(Some(0)));
    world.resolved();
    let mut again = |change: &dyn Fn(&mut World)| {
        let before = world.model.resolved.routes.clone();
        change(&mut world);
        world.resolved();
        let again = world.resolved_again(&before);
        again.into_iter().map(|(_, (_, name))| name.to_string()).collect::<Vec<_>>()
    };
    let nobody: [&str; 0] = [];
    assert_eq!(
        again(&|world| world.put("ReferenceGrant", "edge", "g", grant("HTTPRoute", "elsewhere", Some(1)))),
        nobody
    );
    assert_eq!(
        again(&|world| world.put("ReferenceGrant", "edge", "g", grant("HTTPRoute", "blog", Some(1)))),
        ["of-set"]
    );
    assert_eq!(again(&|world| world.put("ListenerSet", "blog", "o0", set("edge", Some(0)))), ["of-set"]);
    assert_eq!(again(&|world| world.put("ListenerSet", "shop", "more", set("edge", Some(3)))), nobody);
    assert_eq!(again(&|world| world.apply("Namespace", &labelled("blog", Some(0)))), ["of-set"]);
    assert_eq!(again(&|world| world.put("BackendTLSPolicy", "blog", "tls", policy(Some(1)))), nobody);
    assert_eq!(again(&|world| world.put("BackendTLSPolicy", "edge", "tls", policy(Some(1)))), ["of-gateway"]);
    let labels = json!({"gateway.networking.k8s.io/gateway-name": "o0"});
    let service = json!({"metadata": {"namespace": "edge", "name": "o0", "labels": labels}, "spec": {"ports": [{"port": 80, "targetPort": 20_000}]}});
    assert_eq!(again(&|world| world.apply("Service", &service)), nobody);
}
