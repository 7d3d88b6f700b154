//! How long the entries of maps become: HAProxy takes each at run time.

use super::*;
use haptic_model::map_entry;
use proptest::prelude::*;

/// What routes of a kind print into maps: keys with their values.
fn entries(all: &Snapshots) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let array = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let mut entries = Vec::new();
    for route in all.get("routes of httproutes").unwrap().iter() {
        let set = route.value().unwrap();
        entries.extend(array(&set["routes"]).iter().map(|one| (text(&one["key"]), text(&one["value"]))));
        entries.extend(array(&set["rules"]).iter().map(|one| (text(&one["name"]), text(&one["settings"]))));
        for level in array(&set["levels"]) {
            let chunks = array(&level["chunks"]).into_iter().enumerate();
            entries.extend(
                chunks.map(|(number, chunk)| (format!("{}|{number}", text(&level["key"])), text(&chunk))),
            );
        }
    }
    entries
}

/// A world whose names are as long as names may be, with a route of these rules there.
fn of_long_names(rules: &[Value]) -> World {
    let namespaces = ["g", "s", "r"].map(|letter| letter.repeat(63));
    let names = ["g", "s", "r", "b"].map(|letter| letter.repeat(253));
    let [gateways, sets, routes] = &namespaces;
    let [gateway, set, route, backend] = &names;
    let mut world = World::new();
    for namespace in &namespaces {
        world.apply("Namespace", &json!({"metadata": {"name": namespace}}));
    }
    let client = json!({"backend": {"clientCertificateRef": {"name": "shown"}}});
    let all = json!({"namespaces": {"from": "All"}});
    world.put(
        "Gateway",
        gateways,
        gateway,
        json!({"gatewayClassName": "haptic", "tls": client, "allowedListeners": all,
            "listeners": [http(&"l".repeat(253), None)]}),
    );
    let (certificate, key) = tls::pem();
    world.pair(gateways, "shown", &certificate, &key);
    let parent = json!({"name": gateway, "namespace": gateways});
    world.put(
        "ListenerSet",
        sets,
        set,
        json!({"parentRef": parent, "listeners": [http(&"m".repeat(253), Some("*.example"))]}),
    );
    world.authority(routes, "ca", &certificate);
    for (number, service) in [backend.as_str(), "b"].into_iter().enumerate() {
        world.put("Service", routes, service, json!({"ports": [{"port": 65535}]}));
        let target = json!({"group": "", "kind": "Service", "name": service});
        world.put(
            "BackendTLSPolicy",
            routes,
            &format!("p{number}"),
            json!({"targetRefs": [target], "validation": tls::by("ca")}),
        );
    }
    let hostname =
        format!("{}.example", ["h".repeat(63), "h".repeat(63), "h".repeat(63), "h".repeat(53)].join("."));
    let of_set = json!({"kind": "ListenerSet", "name": set, "namespace": sets});
    world.put(
        "HTTPRoute",
        routes,
        route,
        json!({"parentRefs": [parent, of_set], "hostnames": [hostname, "short.example"], "rules": rules}),
    );
    world
}

fn rule(headers: usize, matches: usize, mirrors: usize, value: &str) -> Value {
    let all: Vec<Value> = (0..headers)
        .map(|number| json!({"name": format!("x-{number}-{}", "n".repeat(value.len())), "value": value}))
        .collect();
    let paths = (0..matches).map(|number| {
        json!({"path": {"value": format!("/{number}/{}", "%25".repeat(value.len()))}, "headers": all})
    });
    let path_alone = json!({"path": {"value": format!("/{}", "p".repeat(1023))}});
    let target = json!({"name": "b", "port": 65535});
    let mirror = json!({"type": "RequestMirror", "requestMirror": {"backendRef": target}});
    let modifier = json!({"type": "RequestHeaderModifier", "requestHeaderModifier": {"set": all}});
    json!({"matches": paths.chain([path_alone]).collect::<Vec<_>>(), "backendRefs": [target, {"name": "b".repeat(253), "port": 65535}],
        "filters": std::iter::once(modifier).chain(vec![mirror; mirrors]).collect::<Vec<_>>()})
}

/// Beside a rule that can be done: a route with none prints nothing.
fn too_long(rules: &[Value]) -> Vec<String> {
    let (_, all) = of_long_names(&[rules, &[rule(1, 1, 1, "v")]].concat()).resolved();
    let all = entries(&all);
    assert!(!all.is_empty());
    let lengths = all.iter().map(|(key, value)| (key, key.len() + value.len()));
    lengths
        .filter(|(_, bytes)| *bytes > map_entry::LONGEST)
        .map(|(key, bytes)| format!("{bytes} bytes: {key}"))
        .collect()
}

#[test]
fn a_rule_with_many_copies_to_servers_that_are_shown_a_certificate_fits_an_entry() {
    for mirrors in [1, 16, 60, 100, 200] {
        assert_eq!(too_long(&[rule(1, 1, mirrors, "v")]), [""; 0], "{mirrors}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(6))]

    #[test]
    fn whatever_routes_ask_for_is_in_entries_that_haproxy_takes_at_run_time(
        rules in proptest::collection::vec((0..16_usize, 1..40_usize, 0..16_usize, "[ -~]{0,200}"), 1..4)
    ) {
        let rules: Vec<Value> = rules
            .iter()
            .map(|(headers, matches, mirrors, value)| rule(*headers, *matches, *mirrors, value))
            .collect();
        prop_assert_eq!(too_long(&rules), Vec::<String>::new());
    }
}
