//! Which rule a request gets: paths, headers, methods, queries, and their order over all routes.

use super::{GatewaySite, aged, on_each, route, site, to};
use crate::SERIES;
use serde_json::{Value, json};

fn path(kind: &str, value: &str) -> Value {
    json!({"path": {"type": kind, "value": value}})
}

fn header(name: &str, value: &str) -> Value {
    json!({"name": name, "value": value})
}

#[test]
fn paths_are_exact_or_prefixes_by_elements() {
    let rules = json!([
        {"matches": [path("Exact", "/one")], "backendRefs": to(1)},
        {"matches": [path("Exact", "/two/")], "backendRefs": to(2)},
        {"matches": [path("PathPrefix", "/v2")], "backendRefs": to(3)},
        {"matches": [path("PathPrefix", "/match/prefix/one")], "backendRefs": to(4)},
        {"matches": [path("PathPrefix", "/match/")], "backendRefs": to(5)},
        {"matches": [path("Exact", "/match/exact/one")], "backendRefs": to(6)},
        {"matches": [path("PathPrefix", "/match/exact")], "backendRefs": to(7)},
        {"matches": [path("RegularExpression", "/re/[0-9]+")], "backendRefs": to(8)},
    ]);
    on_each(&site(vec![route("r", &[], rules)]), |site| {
        for (path, service) in [
            ("/one", Some(1)),
            ("/one?x=1", Some(1)),
            ("/one/", None),
            ("/one/example", None),
            ("/One", None),
            ("/two/", Some(2)),
            ("/two", None),
            ("/v2", Some(3)),
            ("/v2/", Some(3)),
            ("/v2/example", Some(3)),
            ("/v2example", None),
            ("/foo/v2", None),
            ("/match/any", Some(5)),
            ("/match", Some(5)),
            ("/match/prefix/one/any", Some(4)),
            ("/match/prefix/onerous", Some(5)),
            ("/match/exact/one", Some(6)),
            ("/match/exact/two", Some(7)),
            ("/match/exact/one/two", Some(7)),
            ("/re/12", Some(8)),
            ("/re/12x", None),
            ("/", None),
        ] {
            let answer = site.get("a.example", path);
            assert_eq!(answer.service(), service, "{path}: {answer:?}");
            assert!(answer.status == if service.is_some() { 200 } else { 404 }, "{path}: {answer:?}");
        }
    });
}

#[test]
fn more_is_asked_first_over_all_routes() {
    let first = json!([
        {"matches": [path("PathPrefix", "/"), {"headers": [header("version", "one")]}], "backendRefs": to(1)},
        {"matches": [{"headers": [header("Version", "two"), header("color", "orange")]}], "backendRefs": to(3)},
        {"matches": [{"headers": [header("color", "blue")]}], "backendRefs": to(4)},
        {"matches": [{"headers": [header("color", "green")]}], "backendRefs": to(5)},
        {"matches": [{"method": "PATCH"}], "backendRefs": to(6)},
        {"matches": [{"queryParams": [header("animal", "whale")]}], "backendRefs": to(7)},
        {"matches": [{"queryParams": [header("animal", "whale"), header("Sea", "a b")]}], "backendRefs": to(8)},
    ]);
    let second = json!([
        {"matches": [path("PathPrefix", "/v2"), {"headers": [header("version", "two")]}], "backendRefs": to(2)},
        {"matches": [json!({"path": {"type": "Exact", "value": "/v2/whole"}, "method": "POST"})], "backendRefs": to(9)},
    ]);
    let routes = vec![
        aged(route("a", &["a.example", "b.example"], first), 1),
        aged(route("b", &["a.example"], second), 2),
    ];
    on_each(&site(routes), |site| {
        for (method, host, path, headers, service) in [
            ("GET", "a.example", "/", "", 1),
            ("GET", "a.example", "/x", "version: one\r\n", 1),
            ("GET", "a.example", "/v2example", "", 1),
            ("GET", "a.example", "/v2/example", "", 2),
            ("GET", "a.example", "/x", "version: two\r\n", 2),
            ("GET", "b.example", "/x", "version: two\r\n", 1),
            ("GET", "a.example", "/x", "VERSION: two\r\ncolor: orange\r\n", 3),
            ("GET", "a.example", "/x", "version: two\r\ncolor: blue\r\n", 4),
            ("GET", "a.example", "/v2", "version: one\r\n", 2),
            ("GET", "a.example", "/x", "color: Blue\r\n", 1),
            ("PATCH", "a.example", "/x", "color: blue\r\n", 6),
            ("GET", "a.example", "/x?animal=whale", "", 7),
            ("GET", "a.example", "/x?animal=whale2", "", 1),
            ("GET", "a.example", "/x?ANIMAL=whale", "", 1),
            ("GET", "a.example", "/x?animal=whale&animal=dog", "", 7),
            ("GET", "a.example", "/x?animal=dog&animal=whale", "", 1),
            ("GET", "a.example", "/x?Sea=a%20b&animal=whale", "", 8),
            ("GET", "a.example", "/x?animal=whale", "color: green\r\n", 5),
            ("POST", "a.example", "/v2/whole", "", 9),
            ("GET", "a.example", "/v2/whole", "", 2),
        ] {
            let answer = site.ask(80, None, method, host, path, headers);
            assert_eq!(answer.service(), Some(service), "{method} {host}{path} {headers:?}: {answer:?}");
        }
    });
}

#[test]
fn lines_of_one_header_are_one_value() {
    let to_beta =
        |name: &str, value: &str| json!([{"path": {"value": "/x"}, "headers": [header(name, value)]}]);
    let rules = json!([
        {"matches": to_beta("X-User", "zzz,beta"), "backendRefs": to(2)},
        {"matches": to_beta("X-User", "beta"), "backendRefs": to(1)},
    ]);
    on_each(&site(vec![route("r", &[], rules)]), |site| {
        for (headers, service) in [
            ("X-User: beta\r\n", Some(1)),
            ("X-User: zzz\r\nx-user: beta\r\n", Some(2)),
            ("X-User: zzz,beta\r\n", Some(2)),
            ("X-User: beta\r\nX-User: zzz\r\n", None),
        ] {
            let answer = site.ask(80, None, "GET", "a.example", "/x", headers);
            assert_eq!(answer.service(), service, "{headers:?}: {answer:?}");
        }
    });
}

#[test]
fn of_the_same_the_older_route_and_the_first_rule_count() {
    let one = |number: u8| json!([{"matches": [path("PathPrefix", "/x")], "backendRefs": to(number)}]);
    let conditional = |number: u8| json!([{"matches": [json!({"path": {"value": "/y"}, "headers": [header("a", "b")]})], "backendRefs": to(number)}]);
    let rules = json!([
        {"matches": [path("PathPrefix", "/broken")], "backendRefs": [{"name": "nothing", "port": 80}]},
        {"matches": [path("PathPrefix", "/broken")], "backendRefs": to(5)},
    ]);
    let routes = vec![
        aged(route("young", &[], one(1)), 20),
        aged(route("old", &[], one(2)), 10),
        aged(route("a-young", &[], conditional(3)), 20),
        aged(route("z-old", &[], conditional(4)), 10),
        aged(route("rules", &[], rules), 1),
    ];
    on_each(&site(routes), |site| {
        assert_eq!(site.get("a.example", "/x").service(), Some(2));
        assert_eq!(site.ask(80, None, "GET", "a.example", "/y", "a: b\r\n").service(), Some(4));
        assert_eq!(site.get("a.example", "/y").status, 404);
        assert_eq!(site.get("a.example", "/broken").status, 500);
    });
}

#[test]
fn an_expression_takes_what_is_empty_and_nothing_that_it_does_not_say() {
    let named =
        |name: &str, value: &str| json!([{"name": name, "value": value, "type": "RegularExpression"}]);
    let rules = json!([
        {"matches": [path("RegularExpression", "/a)(b|c"), path("RegularExpression", "/a\\")], "backendRefs": to(1)},
        {"matches": [path("Exact", "/ok")], "backendRefs": to(2)},
        {"matches": [{"path": {"value": "/header"}, "headers": named("x-any", ".*")}], "backendRefs": to(3)},
        {"matches": [{"path": {"value": "/query"}, "queryParams": named("any", "^(a|b)?$")}], "backendRefs": to(4)},
    ]);
    let any = json!([{"matches": [path("RegularExpression", ".*")], "backendRefs": to(5)}]);
    on_each(&site(vec![route("r", &["a.example"], rules), route("any", &["b.example"], any)]), |site| {
        for (host, path, headers, service) in [
            ("a.example", "/ab", "", None),
            ("a.example", "/ac", "", None),
            ("a.example", "/a", "", None),
            ("a.example", "/a$", "", None),
            ("a.example", "/ok", "", Some(2)),
            ("a.example", "/header", "X-Any: x\r\n", Some(3)),
            ("a.example", "/header", "X-Any:\r\n", Some(3)),
            ("a.example", "/header", "", None),
            ("a.example", "/query?any=b", "", Some(4)),
            ("a.example", "/query?any=", "", Some(4)),
            ("a.example", "/query?any=c", "", None),
            ("b.example", "/any/path", "", Some(5)),
            ("b.example", "/", "", Some(5)),
        ] {
            let answer = site.ask(80, None, "GET", host, path, headers);
            assert_eq!(answer.service(), service, "{host}{path} {headers:?}: {answer:?}");
        }
    });
}

#[test]
fn no_path_is_so_long_that_it_passes_an_expression_by() {
    let rules = json!([
        {"matches": [path("RegularExpression", "/admin(/[a-z]+)*")], "backendRefs": to(1)},
        {"matches": [path("PathPrefix", "/")], "backendRefs": to(2)},
    ]);
    on_each(&site(vec![route("r", &[], rules)]), |site| {
        for rounds in [1, 500, 900, 1300, 1400, 2000, 5000, 7000] {
            let answer = site.get("a.example", &format!("/admin{}", "/a".repeat(rounds)));
            let is_taken = answer.service() == Some(1);
            assert!(is_taken || (answer.status == 414 && rounds > 900), "{rounds}: {answer:?}");
            assert_eq!(site.get("a.example", &format!("/x{}", "/a".repeat(rounds))).service(), Some(2));
        }
    });
}

/// A rule for a path and a header that an expression takes.
fn by_header(path: &str, name: &str, value: &str, service: u8) -> Value {
    let headers = json!([{"name": name, "value": value, "type": "RegularExpression"}]);
    json!({"matches": [{"path": {"value": path}, "headers": headers}], "backendRefs": to(service)})
}

#[test]
fn an_expression_finds_words_and_elements_in_long_cookies() {
    let rules = json!([
        by_header("/flagger", "cookie", ".*flagger-cookie.*abcdefghij.*", 1),
        by_header("/istio", "cookie", "^(.*?; ?)?(canary=always)(;.*)?$", 2),
        {"matches": [path("PathPrefix", "/")], "backendRefs": to(7)},
    ]);
    on_each(&site(vec![route("r", &[], rules)]), |site| {
        for length in [0, 100, 2000, 4500] {
            let around = "flagger_a;canary-;".repeat(length / 18);
            for (path, cookie, service) in [
                ("/flagger", format!("{around}flagger-cookie=x{around}abcdefghij{around}"), 1),
                ("/flagger", format!("{around}abcdefghij{around}flagger-cookie=x"), 7),
                ("/istio", format!("{around} canary=always;{around}"), 2),
                ("/istio", format!("{around}canary=always"), 2),
                ("/istio", format!("{around}xcanary=always"), 7),
            ] {
                let answer = site.ask(80, None, "GET", "a.example", path, &format!("cookie: {cookie}\r\n"));
                assert_eq!(answer.service(), Some(service), "{path} {length}: {answer:?}");
            }
        }
    });
}

#[test]
fn an_expression_takes_a_whole_value() {
    let query = json!([{"name": "q", "value": "a.*", "type": "RegularExpression"}]);
    let rules = json!([
        by_header("/user", "x-user", "beta.*", 3),
        by_header("/role", "x-user", "admin", 4),
        by_header("/either", "x-user", "(?i)admin|root", 5),
        {"matches": [{"path": {"value": "/query"}, "queryParams": query}], "backendRefs": to(6)},
        {"matches": [path("PathPrefix", "/")], "backendRefs": to(7)},
    ]);
    on_each(&site(vec![route("r", &[], rules)]), |site| {
        for (path, user, service) in [
            ("/user", "beta1", 3),
            ("/user", "notbeta1", 7),
            ("/role", "admin", 4),
            ("/role", "notadmin", 7),
            ("/either", "Root", 5),
            ("/either", "rooted", 7),
            ("/query?q=ab", "", 6),
            ("/query?q=ba", "", 7),
            ("/query?q=a%0Ab", "", 7),
        ] {
            let answer = site.ask(80, None, "GET", "a.example", path, &format!("x-user: {user}\r\n"));
            assert_eq!(answer.service(), Some(service), "{path} {user}: {answer:?}");
        }
    });
}

#[test]
fn a_path_with_a_parameter_is_one_of_its_own_where_paths_are_compared_byte_by_byte() {
    let rules = json!([
        {"matches": [path("Exact", "/p/a;v=1")], "backendRefs": to(2)},
        {"matches": [path("Exact", "/p/a")], "backendRefs": to(3)},
        {"matches": [path("PathPrefix", "/caf%c3%a9;x")], "backendRefs": to(4)},
    ]);
    let manifests = site(vec![route("r", &[], rules)]);
    let raw = |spec: &mut Value| spec["templatingSettings"]["extraContext"]["paths"] = json!("raw");
    for series in SERIES {
        let site = GatewaySite::start_with(series, &manifests, raw);
        for (path, service) in [
            ("/p/a;v=1", Some(2)),
            ("/p/a", Some(3)),
            ("/p/a;v=2", None),
            ("/caf%c3%a9;x/y", Some(4)),
            ("/caf%C3%A9;x/y", None),
        ] {
            assert_eq!(site.get("a.example", path).service(), service, "{path}");
        }
    }
    // Otherwise it is that of what the path is read as, which the first has.
    on_each(&manifests, |site| {
        for path in ["/p/a;v=1", "/p/a", "/p/a;v=2"] {
            assert_eq!(site.get("a.example", path).service(), Some(2), "{path}");
        }
    });
}
