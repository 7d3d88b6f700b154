//! What a change of objects changes for HAProxy, and where Gateways are reached.

use super::{GatewaySite, around, around_gateway, gateway, listener, object, on_each, route, to};
use crate::{
    SERIES,
    client::{self, Way},
    ports::free_port,
    site::{Site, rendered_for_with, version_of},
};
use haptic_deploy::{RunningView, Verdict, plan};
use haptic_model::{Bundle, Capabilities};
use integration_tests::program::HaproxySeries;
use serde_json::{Value, json};
use std::{cell::Cell, collections::BTreeMap};

fn rendered(series: HaproxySeries, libraries: &Value, routes: &[Value]) -> Bundle {
    let mut all = around_gateway();
    all.extend_from_slice(routes);
    rendered_for_with(series, &all, |spec| spec["libraries"] = libraries.clone()).unwrap().0
}

/// A route that needs Lua for all that there is.
fn first() -> Value {
    let rules = json!([{"matches": [{"method": "GET"}, {"path": {"value": "/x"}}],
        "filters": [{"type": "RequestHeaderModifier", "requestHeaderModifier": {"set": [{"name": "X-A", "value": "b"}]}}],
        "backendRefs": [{"name": "s1", "port": 80}, {"name": "s2", "port": 80}]}]);
    route("first", &["a.example"], rules)
}

#[test]
fn scripts_of_ours_need_no_permission_and_a_new_route_is_in_maps_alone() {
    let mut wrong = Vec::new();
    for series in SERIES {
        for libraries in [json!(["base", "ssl", "gateway"]), json!(["base", "ssl", "ingress", "gateway"])] {
            let one = rendered(series, &libraries, &[first()]);
            let problems = haptic_validate::syntax::problems(&one, &[version_of(series)], &[]);
            if !problems.is_empty() {
                wrong.push(format!(
                    "with {libraries} the digest is {}",
                    one.files["general/haptic.lua"].digest
                ));
            }
            let mut second = first();
            second["metadata"]["name"] = "second".into();
            second["spec"]["hostnames"] = json!(["*.b.example", "c.example"]);
            let two = rendered(series, &libraries, &[first(), second.clone()]);
            assert_eq!(one.config.text.to_string(), two.config.text.to_string(), "only maps differ");
            assert_ne!(one.digest, two.digest);
            second["spec"]["rules"][0]["backendRefs"] = to(3);
            let three = rendered(series, &libraries, &[first(), second]).config.text.to_string();
            let (before, backend) =
                three.split_once("backend gateway:shop_s3_80_h1 from roundrobin\n").unwrap();
            let rest = backend.split_once("\n\n").map_or("", |(_, rest)| rest);
            let without = format!("{before}{}", rest.trim_start_matches('\n'));
            let blank =
                |text: &str| text.lines().filter(|line| !line.is_empty()).collect::<Vec<_>>().join("\n");
            assert_eq!(
                blank(&without),
                blank(&one.config.text.to_string()),
                "a backend is new, nothing else"
            );
        }
    }
    assert_eq!(wrong, Vec::<String>::new());
}

#[test]
fn the_steps_of_a_rollout_are_entries_of_maps_from_the_first_to_the_last() {
    let step = |stable: u32, canary: u32| {
        let backends = json!([{"name": "s1", "port": 80, "weight": stable}, {"name": "s2", "port": 80, "weight": canary}]);
        let one = route("rollout", &["a.example"], json!([{"backendRefs": backends}]));
        rendered(HaproxySeries::V3_4, &json!(["base", "ssl", "gateway"]), &[one])
    };
    let first = step(100, 0);
    for (stable, canary) in [(95, 5), (50, 50), (0, 100)] {
        let next = step(stable, canary);
        assert_eq!(first.config.text.to_string(), next.config.text.to_string(), "{stable} to {canary}");
        assert_ne!(first.digest, next.digest);
    }
}

/// A route with so many matches of its hostname that a header decides, too.
fn of_many_matches(matches: usize, tag: &str) -> Value {
    let one = |number: usize| {
        json!({"path": {"type": "PathPrefix", "value": "/api/v1/customers"},
            "headers": [{"name": "x-tenant-id", "value": format!("customer-{number:04}-{tag}")}]})
    };
    let numbers: Vec<usize> = (0..matches).collect();
    let rules = numbers.chunks(8).map(
        |some| json!({"matches": some.iter().copied().map(one).collect::<Vec<_>>(), "backendRefs": to(1)}),
    );
    route("big", &["big.example"], rules.collect())
}

#[test]
fn a_hostname_may_have_any_number_of_matches_and_their_change_takes_no_reload() {
    for (series, matches) in
        SERIES.into_iter().flat_map(|series| [32, 64, 1000].map(|matches| (series, matches)))
    {
        let of = |tag: &str| {
            rendered(series, &json!(["base", "ssl", "gateway"]), &[of_many_matches(matches, tag)])
        };
        let running = RunningView::of(of("one"));
        let plan = plan(&running, &of("two"), Capabilities::of(version_of(series)));
        assert!(
            matches!(plan.verdict, Verdict::Runtime { .. }),
            "{matches}: {:?}",
            plan.verdict.reload_reason()
        );
    }
}

#[test]
fn nobody_pays_for_what_no_route_asks() {
    let plain = route("plain", &[], json!([{"backendRefs": to(1)}]));
    let text =
        rendered(HaproxySeries::V3_4, &json!(["base", "ssl", "gateway"]), &[plain]).config.text.to_string();
    assert!(
        !text.contains("lua")
            && text.contains(
                "bind 127.0.0.1:20000-20127 name many
"
            ),
        "{text}"
    );
}

/// A port that is free, and the next one too.
fn two_ports() -> u16 {
    let pairs = std::iter::repeat_with(|| (free_port(), free_port()));
    pairs.filter(|(one, other)| one + 1 == *other).map(|(one, _)| one).next().unwrap()
}

#[test]
fn gateways_with_the_same_port_have_ports_of_their_own() {
    let mut all = around();
    all.push(super::aged(gateway("one", json!([listener("http", None)])), 1));
    all.push(super::aged(gateway("two", json!([listener("http", None)])), 2));
    for (name, number) in [("one", 1), ("two", 2)] {
        let mut route = route(
            name,
            &[],
            json!([{"matches": [{"path": {"value": format!("/{name}")}}], "backendRefs": to(number)},
            {"matches": [{"path": {"value": "/from"}}], "filters": [{"type": "RequestRedirect", "requestRedirect": {"hostname": "b.example"}}]}]),
        );
        route["spec"]["parentRefs"][0]["name"] = name.into();
        all.push(route);
    }
    for (series, is_proxied) in SERIES.into_iter().flat_map(|series| [(series, false), (series, true)]) {
        let first = Cell::new(0);
        let site = Site::start_with(series, &all, |spec| {
            first.set(two_ports());
            spec["libraries"] = json!(["base", "ssl", "gateway"]);
            let context = &mut spec["templatingSettings"]["extraContext"];
            context["gateway"] = json!({"firstPort": first.get(), "ports": 2, "namespaceShare": 100});
            context["proxyProtocol"] = is_proxied.into();
        });
        let site = GatewaySite::of(site, BTreeMap::from([(1, first.get()), (2, first.get() + 1)]));
        // The port that the PROXY protocol tells decides nothing.
        let told = if is_proxied { "PROXY TCP4 192.0.2.1 192.0.2.2 1000 80\r\n" } else { "" };
        let ask = |port: u16, path: &str| {
            let way = Way { first: told, ..Way::to(site.address(port), None) };
            client::ask(&way, &format!("GET {path} HTTP/1.1\r\nHost: a.example\r\n"), "").unwrap()
        };
        for (port, path, service) in
            [(1, "/one", Some(1)), (1, "/two", None), (2, "/two", Some(2)), (2, "/one", None)]
        {
            assert_eq!(ask(port, path).service(), service, "{port} {path}");
        }
        let redirected = ask(2, "/from");
        assert_eq!(
            redirected.header("location"),
            Some("http://b.example/from"),
            "the port is the listener's"
        );
    }
}

#[test]
fn listeners_of_sets_are_apart_from_those_of_their_gateway() {
    let mut all = around();
    let listeners = json!([listener("http", Some("gw.example"))]);
    all.push(object("Gateway", "edge", "gw", json!({"gatewayClassName": "haptic", "listeners": listeners,
        "allowedListeners": {"namespaces": {"from": "Selector", "selector": {"matchLabels": {"team": "shop"}}}}})));
    let set = |namespace: &str, hostname: &str| {
        let parent = json!({"name": "gw", "namespace": "edge"});
        object(
            "ListenerSet",
            namespace,
            "set",
            json!({"parentRef": parent, "listeners": [listener("http", Some(hostname))]}),
        )
    };
    all.extend([set("shop", "set.example"), set("blog", "blog.example")]);
    let to_set = |name: &str, namespace: &str, number: u8| {
        let mut route = route(name, &[], json!([{"backendRefs": to(number)}]));
        route["spec"]["parentRefs"] = json!([{"kind": "ListenerSet", "name": "set", "namespace": namespace}]);
        route
    };
    all.extend([
        to_set("of-set", "shop", 1),
        to_set("of-blog", "blog", 2),
        route("of-gateway", &[], json!([{"backendRefs": to(3)}])),
    ]);
    on_each(&all, |site| {
        for (host, service) in [("set.example", Some(1)), ("blog.example", None), ("gw.example", Some(3))] {
            assert_eq!(site.get(host, "/").service(), service, "{host}");
        }
    });
}

#[test]
fn calls_of_grpc_go_by_service_and_method() {
    let mut all = around_gateway();
    let rules = json!([
        {"matches": [{"method": {"service": "a.B", "method": "Get"}}], "backendRefs": [{"name": "nothing", "port": 80}]},
        {"matches": [{"method": {"method": "Any"}, "headers": [{"name": "x", "value": "y"}]}], "backendRefs": [{"name": "nothing", "port": 80}]},
        {"matches": [{"method": {"service": "c.D"}}], "backendRefs": to(1)},
    ]);
    let mut route = route("r", &[], rules);
    route["kind"] = "GRPCRoute".into();
    let text = rendered(HaproxySeries::V3_4, &json!(["base", "ssl", "gateway"]), &[route.clone()])
        .config
        .text
        .to_string();
    let (_, backend) = text.split_once("backend gateway:shop_s1_80_h2 ").unwrap();
    assert!(backend.lines().nth(1).is_some_and(|server| server.ends_with(" proto h2")), "{backend}");
    all.push(route);
    on_each(&all, |site| {
        for (path, headers, status) in [
            ("/a.B/Get", "", 503),
            ("/a.B/Put", "", 404),
            ("/axB/Get", "", 404),
            ("/z.Z/Any", "x: y\r\n", 503),
            ("/z.Z/Any", "", 404),
        ] {
            assert_eq!(
                site.ask(80, None, "POST", "a.example", path, headers).status,
                status,
                "{path} {headers}"
            );
        }
    });
}
