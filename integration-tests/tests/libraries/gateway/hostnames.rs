//! Hostnames of listeners and routes.

use super::{around, gateway, listener, on_each, route, to};
use serde_json::json;

#[test]
fn requests_belong_to_hostnames_that_listener_and_route_have_in_common() {
    let mut all = around();
    all.push(gateway(
        "gw",
        json!([
            listener("a", Some("very.specific.com")),
            listener("b", Some("*.wildcard.io")),
            listener("c", Some("*.anotherwildcard.io")),
        ]),
    ));
    let rule =
        |number: u8, path: &str| json!([{"matches": [{"path": {"value": path}}], "backendRefs": to(number)}]);
    all.push(route("specific", &["non.matching.com", "*.nonmatching.io", "*.specific.com"], rule(1, "/s1")));
    all.push(route("wildcard", &["foo.wildcard.io", "bar.wildcard.io", "wildcard.io"], rule(2, "/s2")));
    all.push(route("below", &["*.wildcard.io"], rule(3, "/s3")));
    all.push(route("none", &["x.other.io"], rule(4, "/s4")));
    all.push(route("all", &[], rule(5, "/s5")));
    on_each(&all, |site| {
        for (host, path, service) in [
            ("very.specific.com", "/s1", Some(1)),
            ("VERY.specific.com:1234", "/s1", Some(1)),
            ("very.specific.com", "/s3", None),
            ("other.specific.com", "/s1", None),
            ("non.matching.com", "/s1", None),
            ("foo.nonmatching.io", "/s1", None),
            ("foo.wildcard.io", "/s2", Some(2)),
            ("foo.bar.wildcard.io", "/s3", Some(3)),
            ("foo.wildcard.io", "/s3", Some(3)),
            ("a.b.c.d.e.f.g.h.i.j.wildcard.io", "/s3", Some(3)),
            ("wildcard.io", "/s2", None),
            ("xwildcard.io", "/s3", None),
            ("x.other.io", "/s4", None),
            ("x.anotherwildcard.io", "/s5", Some(5)),
            ("very.specific.com", "/s5", Some(5)),
            ("other.com", "/s5", None),
        ] {
            assert_eq!(site.get(host, path).service(), service, "{host}{path}");
        }
    });
}

#[test]
fn the_routes_of_a_hostname_come_before_those_of_wider_ones_that_take_the_rest() {
    let mut all = around();
    all.push(gateway("gw", json!([listener("http", Some("*.example.com"))])));
    let rules = |paths: &[(&str, u8)]| {
        paths
            .iter()
            .map(|(path, number)| json!({"matches": [{"path": {"value": path}}], "backendRefs": to(*number)}))
            .collect()
    };
    all.push(super::aged(route("wide", &["*.example.com"], rules(&[("/deep/path", 1), ("/only", 2)])), 1));
    all.push(super::aged(route("own", &["a.example.com"], rules(&[("/deep", 3)])), 9));
    all.push(route("any", &[], rules(&[("/", 4)])));
    all.push(route("deeper", &["*.b.example.com"], rules(&[("/only", 5)])));
    on_each(&all, |site| {
        for (host, path, service) in [
            ("a.example.com", "/deep/path", 3),
            ("a.example.com", "/only", 2),
            ("a.example.com", "/else", 4),
            ("x.example.com", "/deep/path", 1),
            ("x.example.com", "/deep", 4),
            ("c.b.example.com", "/only", 5),
            ("c.b.example.com", "/deep/path", 1),
            ("b.example.com", "/only", 2),
        ] {
            assert_eq!(site.get(host, path).service(), Some(service), "{host}{path}");
        }
    });
}
