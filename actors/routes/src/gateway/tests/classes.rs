//! What a class names by its parameters, and how often routes may have HAProxy reloaded.

use super::*;
use haptic_model::FindingKind;

fn parameters(world: &mut World, data: Option<Value>) {
    let named = json!({"group": "", "kind": "ConfigMap", "namespace": "edge", "name": "class"});
    world.put("GatewayClass", "", "haptic", json!({"controllerName": CONTROLLER, "parametersRef": named}));
    match data {
        Some(data) => {
            let metadata = json!({"namespace": "edge", "name": "class"});
            world.apply("ConfigMap", &json!({ "metadata": metadata, "data": data }));
        }
        None => world.delete("ConfigMap", &name("edge", "class")),
    }
}

/// Whether the class is accepted, why, how many Gateways are served, and what its requests have enforced.
fn evaluated(world: &mut World) -> (bool, String, usize, String) {
    let (verdicts, stores) = world.resolved();
    let accepted = verdicts.classes["haptic"].conditions[0].clone();
    assert!(accepted.holds || accepted.reason == "InvalidParameters", "{accepted:?}");
    let classes = stores.get("routes of gateway classes").unwrap();
    let class = classes.get("", "haptic").map(|object| object.value().unwrap()).unwrap_or_default();
    let enforced = class["enforced"].as_str().unwrap_or_default().to_owned();
    (accepted.holds, accepted.message.to_string(), verdicts.gateways.len(), enforced)
}

#[test]
fn a_config_map_of_a_class_counts_as_soon_as_it_is_there_and_its_last_good_version_stays() {
    let mut world = World::with_gateway();
    parameters(&mut world, None);
    let (is_accepted, message, gateways, _) = evaluated(&mut world);
    assert_eq!((is_accepted, gateways), (false, 0));
    assert_eq!(message, "parametersRef names ConfigMap edge/class: there is no such ConfigMap");
    parameters(&mut world, Some(json!({"enforced": "closed: perhaps"})));
    let (is_accepted, message, gateways, _) = evaluated(&mut world);
    assert!(
        !is_accepted && gateways == 0 && message.contains("data.enforced.closed is \"perhaps\""),
        "{message}"
    );
    parameters(&mut world, Some(json!({"enforced": "closed: true", "defaults": "compression: gzip"})));
    let (is_accepted, message, gateways, enforced) = evaluated(&mut world);
    assert_eq!((is_accepted, gateways, &*enforced), (true, 1, "closed=true"));
    assert!(message.ends_with("these options do not count for its routes: compression"), "{message}");
    for wrong in [Some(json!({"enforced": "max-body-size: 1k"})), None] {
        parameters(&mut world, wrong);
        let (is_accepted, message, gateways, enforced) = evaluated(&mut world);
        assert_eq!((is_accepted, gateways, &*enforced), (false, 1, "closed=true"));
        assert!(message.contains("what was the last to be good counts"), "{message}");
    }
    parameters(&mut world, Some(json!({})));
    assert_eq!(evaluated(&mut world), (true, "the class is ours".to_owned(), 1, String::new()));
    // Another configuration is another controller's.
    let other = json!({"group": "haproxy-haptic.org", "kind": "HAProxyTemplateConfig", "namespace": "n", "name": "x"});
    world.put("GatewayClass", "", "haptic", json!({"controllerName": CONTROLLER, "parametersRef": other}));
    assert_eq!(evaluated(&mut world).2, 0);
}

#[test]
fn a_route_that_is_tried_again_otherwise_all_the_time_waits_for_its_turn() {
    let (mut world, begin) = (World::new(), Instant::now());
    world.gateway("gw", json!([http("http", None)]));
    let at = |seconds: u64| {
        Some(Clock { now: begin + Duration::from_secs(seconds), hold: Duration::from_secs(600) })
    };
    let put = |world: &mut World, attempts: u32| {
        let rules = json!([{"retry": {"attempts": attempts}, "backendRefs": [{"name": "s1", "port": 80}]}]);
        let parents = json!([{"name": "gw", "namespace": "edge"}]);
        world.put("HTTPRoute", "shop", "cart", json!({"parentRefs": parents, "rules": rules}));
    };
    // What waits, and in which way requests are tried again.
    let seen = |world: &mut World| {
        let (_, stores) = world.resolved();
        let found = world.model.findings().of(&ObjectRef::new("httproutes", "shop", "cart")).to_vec();
        let waits = found.iter().any(|one| one.kind == FindingKind::ReloadDelayed);
        let profiles = stores.get("routes of gateway retries").unwrap().iter();
        (waits, profiles.map(|one| one.reference.name.to_string()).collect::<Vec<_>>().join(" "))
    };
    world.clock = at(0);
    world.resolved();
    // The first one is there from the beginning, and three may come at once.
    for attempts in 1..=5 {
        put(&mut world, attempts);
        let expected = if attempts < 5 { (false, attempts) } else { (true, 4) };
        assert_eq!(seen(&mut world), (expected.0, format!("gateway_retry_{}", expected.1)), "{attempts}");
    }
    assert_eq!(world.model.due(), Some(begin + Duration::from_secs(60)));
    // Nor does it come by what routes stand on.
    world.gateway("other", json!([http("http", None)]));
    assert_eq!(seen(&mut world), (true, "gateway_retry_4".to_owned()));
    world.clock = at(60);
    assert_eq!(seen(&mut world), (false, "gateway_retry_5".to_owned()));
}
