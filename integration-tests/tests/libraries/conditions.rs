//! Conditions of routes: methods, headers, parameters of the query.

use crate::{
    on_each_haproxy,
    patterns::ingress,
    site::{Scheme, Site, rendered_alone, sentences},
};
use serde_json::json;

const HOST: &str = "a.example";

/// Which service gets a request.
fn service(site: &Site, method: &str, path: &str, headers: &str) -> Option<u8> {
    site.ask(Scheme::Http, method, HOST, path, headers, "").service()
}

#[test]
fn a_request_goes_where_all_that_is_asked_of_it_holds() {
    let shop = |name: &'static str| ("shop", name);
    let all = [("/", "Prefix", "s1")];
    let manifests = [
        ingress(shop("plain"), HOST, &[], &[("/", "Prefix", "s1"), ("/long", "Prefix", "s2")]),
        ingress(shop("method"), HOST, &[("match-methods", "PUT, DELETE")], &[("/", "Prefix", "s3")]),
        ingress(
            shop("header"),
            HOST,
            &[("match-headers", "X-Version: 2, b;|%\nX-Who: anna")],
            &[("/", "Prefix", "s4")],
        ),
        ingress(
            shop("like"),
            HOST,
            &[("match-headers-regex", "X-Version: ^(3|4)[.][0-9]+$")],
            &[("/", "Prefix", "s5")],
        ),
        ingress(shop("query"), HOST, &[("match-query", "beta=yes please")], &[("/", "Prefix", "s6")]),
        ingress(
            shop("query-like"),
            HOST,
            &[("match-query-regex", "beta=^[0-9]{2}$")],
            &[("/", "Prefix", "s7")],
        ),
        ingress(
            shop("both"),
            HOST,
            &[("match-methods", "PUT"), ("match-query", "beta=yes please")],
            &[("/", "Prefix", "s8"), ("/whole", "Exact", "s9")],
        ),
        ingress(
            shop("regex"),
            HOST,
            &[("match-methods", "PATCH"), ("path-type", "regex")],
            &[("/[a-z]+/[0-9]+", "ImplementationSpecific", "s10")],
        ),
        ingress(("shop", "other"), "b.example", &[], &all),
    ];
    on_each_haproxy(&manifests, |site| {
        for (method, path, headers, expected) in [
            ("GET", "/x", "", 1),
            ("PUT", "/x", "", 3),
            ("DELETE", "/", "", 3),
            ("GET", "/x", "X-Version: 2, b;|%\r\nX-Who: anna\r\n", 4),
            ("GET", "/x", "x-version: 2, b;|%\r\n", 1),
            ("GET", "/x", "X-Version: 2\r\nX-Who: anna\r\n", 1),
            ("GET", "/x", "X-Version: 3.12\r\n", 5),
            ("GET", "/x", "X-Version: 5.1\r\n", 1),
            ("GET", "/x?a=1&beta=yes+please", "", 6),
            ("GET", "/x?beta=yes%20please&beta=no", "", 6),
            ("GET", "/x?Beta=yes%20please", "", 1),
            ("GET", "/x?beta=12", "", 7),
            ("GET", "/x?beta=123", "", 1),
            ("PUT", "/x?beta=yes+please", "", 8),
            ("PUT", "/whole?beta=yes+please", "", 9),
            ("GET", "/whole?beta=yes+please", "", 6),
            // A longer path counts before conditions.
            ("PUT", "/long/x", "", 2),
            ("PATCH", "/a/1", "", 10),
            ("GET", "/a/1", "", 1),
            ("PATCH", "/a/b", "", 1),
        ] {
            assert_eq!(service(site, method, path, headers), Some(expected), "{method} {path} {headers}");
        }
        assert_eq!(site.ask(Scheme::Http, "PUT", "b.example", "/", "", "").service(), Some(1));
    });
}

#[test]
fn conditions_of_a_path_count_for_it_alone_and_without_another_route_there_is_none() {
    let options = [("paths", "/a:\n  match-headers: 'X-A: 1'\n")];
    let paths = [("/a", "Prefix", "s1"), ("/b", "Prefix", "s2")];
    on_each_haproxy(&[ingress(("shop", "some"), HOST, &options, &paths)], |site| {
        assert_eq!(service(site, "GET", "/a/x", "X-A: 1\r\n"), Some(1));
        assert_eq!(site.get(Scheme::Http, HOST, "/a/x").status, 404);
        assert_eq!(service(site, "GET", "/b", ""), Some(2));
    });
}

#[test]
fn nobody_takes_requests_of_another_namespace_by_conditions() {
    let aged = |mut ingress: serde_json::Value, year: u16| {
        ingress["metadata"]["creationTimestamp"] = json!(format!("{year}-01-01T00:00:00Z"));
        ingress
    };
    let get = [("match-methods", "GET")];
    let manifests = [
        aged(ingress(("shop", "own"), HOST, &[], &[("/", "Prefix", "s1")]), 2020),
        aged(ingress(("evil", "get"), HOST, &get, &[("/", "Prefix", "no"), ("/x", "Exact", "no")]), 2021),
        // Nor does who has the host take paths from others.
        aged(ingress(("shop", "holder"), "b.example", &[], &[("/", "Prefix", "s2")]), 2020),
        aged(ingress(("other", "path"), "b.example", &[], &[("/other", "Prefix", "no")]), 2021),
        aged(
            ingress(
                ("shop", "late"),
                "b.example",
                &get,
                &[("/other", "Prefix", "s3"), ("/", "Prefix", "s3")],
            ),
            2022,
        ),
    ];
    let (_, warnings) = rendered_alone(&manifests).unwrap_or_else(|e| panic!("{}", sentences(&e)));
    let said = sentences(&warnings);
    assert!(said.contains("a.example is held by namespace shop, and only its own may be there"), "{said}");
    on_each_haproxy(&manifests, |site| {
        assert_eq!([service(site, "GET", "/", ""), service(site, "GET", "/x", "")], [Some(1); 2]);
        assert_eq!(site.get(Scheme::Http, "b.example", "/other").status, 503);
        assert_eq!(site.get(Scheme::Http, "b.example", "/x").service(), Some(3));
    });
}

#[test]
fn conditions_that_cannot_be_read_refuse_the_ingress() {
    for (option, value, expected) in [
        ("match-methods", "GET POST", "names separated by commas"),
        ("match-headers", "X-A", "must be lines of NAME: VALUE"),
        ("match-headers-regex", "X-A: (a+)+b", "must not go back and forth"),
        ("match-query", "beta", "must be lines of NAME=VALUE"),
        ("match-query-regex", "beta=(", "must be a regular expression"),
    ] {
        let one = ingress(("shop", "one"), HOST, &[(option, value)], &[("/", "Prefix", "s1")]);
        let said = sentences(&rendered_alone(&[one]).expect_err(option));
        assert!(said.contains(expected), "{said}");
    }
}
