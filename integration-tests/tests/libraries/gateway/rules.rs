//! What rules do with requests: backends and their weights, redirects, rewrites, headers, CORS, timeouts.

use super::{GatewaySite, around, gateway, listener, on_each, route, to};
use crate::{
    around::{Full, service},
    client::{self, Way},
};
use integration_tests::program::HaproxySeries;
use serde_json::{Value, json};
use std::time::{Duration, Instant};

fn site(rules: Value) -> Vec<Value> {
    let mut all = around();
    all.push(gateway("gw", json!([listener("http", None), {"name": "more", "port": 8080, "protocol": "HTTP", "allowedRoutes": {"namespaces": {"from": "All"}}}])));
    all.push(route("r", &[], rules));
    all
}

fn at(path: &str) -> Value {
    json!([{"path": {"type": "PathPrefix", "value": path}}])
}

fn redirect(path: &str, redirect: Value) -> Value {
    json!({"matches": at(path), "filters": [{"type": "RequestRedirect", "requestRedirect": redirect}]})
}

fn location(site: &GatewaySite, port: u16, path: &str) -> (u16, String) {
    let answer = site.ask(port, None, "GET", "a.example", path, "");
    (answer.status, answer.header("location").unwrap_or_default().to_owned())
}

#[test]
fn redirects_change_what_they_name() {
    let prefix = |to: &str| json!({"type": "ReplacePrefixMatch", "replacePrefixMatch": to});
    let full = |to: &str| json!({"type": "ReplaceFullPath", "replaceFullPath": to});
    let rules = json!([
        redirect("/host", json!({"hostname": "example.org"})),
        redirect("/code", json!({"hostname": "example.org", "statusCode": 301})),
        redirect("/303", json!({"statusCode": 303, "hostname": "b.example"})),
        redirect("/307", json!({"statusCode": 307, "hostname": "b.example"})),
        redirect("/308", json!({"statusCode": 308, "hostname": "b.example"})),
        redirect("/https", json!({"scheme": "https"})),
        redirect("/http", json!({"scheme": "http"})),
        redirect("/port", json!({"port": 8083})),
        redirect("/port80", json!({"port": 80})),
        redirect("/both", json!({"scheme": "https", "port": 8443})),
        redirect("/both443", json!({"scheme": "https", "port": 443})),
        redirect("/original-prefix", json!({"path": prefix("/replacement-prefix")})),
        redirect("/strip-prefix", json!({"path": prefix("/")})),
        redirect("/full", json!({"path": full("/full/path/replacement")})),
        redirect("/attack", json!({"path": full("/a\r\nX-Evil: 1|b %?#")})),
    ]);
    on_each(&site(rules), |site| {
        for (path, code, expected) in [
            ("/host/x?q=1", 302, "http://example.org/host/x?q=1"),
            ("/code", 301, "http://example.org/code"),
            ("/303", 303, "http://b.example/303"),
            ("/307", 307, "http://b.example/307"),
            ("/308", 308, "http://b.example/308"),
            ("/https", 302, "https://a.example/https"),
            ("/http", 302, "http://a.example/http"),
            ("/port", 302, "http://a.example:8083/port"),
            ("/port80", 302, "http://a.example/port80"),
            ("/both", 302, "https://a.example:8443/both"),
            ("/both443", 302, "https://a.example/both443"),
            ("/original-prefix/lemon?q", 302, "http://a.example/replacement-prefix/lemon?q"),
            ("/original-prefix", 302, "http://a.example/replacement-prefix"),
            ("/strip-prefix", 302, "http://a.example/"),
            ("/strip-prefix/three", 302, "http://a.example/three"),
            ("/original-prefix/a%2Fb%2Bc?q", 302, "http://a.example/replacement-prefix/a%2Fb%2Bc?q"),
            ("/strip-prefix//evil.example", 302, "http://a.example/evil.example"),
            ("/full/x?q=1", 302, "http://a.example/full/path/replacement?q=1"),
            ("/attack", 302, "http://a.example/a%0D%0AX-Evil:%201%7Cb%20%25%3F%23"),
        ] {
            assert_eq!(location(site, 80, path), (code, expected.to_owned()), "{path}");
        }
        for (path, expected) in [
            ("/host", "http://example.org:8080/host"),
            ("/https", "https://a.example/https"),
            ("/http", "http://a.example/http"),
            ("/port80", "http://a.example/port80"),
        ] {
            assert_eq!(location(site, 8080, path), (302, expected.to_owned()), "{path}");
        }
    });
}

#[test]
fn a_redirect_has_the_headers_of_its_rule_and_other_answers_of_haproxy_have_none() {
    let headers = json!({"type": "ResponseHeaderModifier", "responseHeaderModifier": {
        "set": [{"name": "Cache-Control", "value": "no-store"}], "add": [{"name": "X-New", "value": "1"}]}});
    let to_other = json!({"type": "RequestRedirect", "requestRedirect": {"hostname": "b.example"}});
    let rules = json!([
        {"matches": at("/moved"), "filters": [headers, to_other]},
        {"matches": at("/own"), "backendRefs": [{"name": "s1", "port": 80, "filters": [to_other, headers]}]},
        redirect("/plain", json!({"hostname": "b.example"})),
        {"matches": at("/none"), "filters": [headers]},
    ]);
    on_each(&site(rules), |site| {
        for (path, status, told) in [
            ("/moved", 302, [Some("no-store"), Some("1")]),
            ("/own", 302, [Some("no-store"), Some("1")]),
            ("/plain", 302, [Some("no-cache"), None]),
            ("/none", 500, [None, None]),
        ] {
            let answer = site.get("a.example", path);
            let headers = ["cache-control", "x-new"].map(|name| answer.header(name));
            assert_eq!((answer.status, headers), (status, told), "{path}: {answer:?}");
        }
    });
}

#[test]
fn nothing_is_redirected_to_a_host_that_nobody_names() {
    let rules = json!([
        redirect("/https", json!({"scheme": "https"})),
        redirect("/host", json!({"hostname": "b.example"})),
    ]);
    on_each(&site(rules), |site| {
        let way = Way::to(site.address(80), None);
        for (path, status, location) in [("/https", 400, None), ("/host", 302, Some("http://b.example/host"))]
        {
            let answer = client::ask(&way, &format!("GET {path} HTTP/1.0\r\n"), "").unwrap();
            assert_eq!((answer.status, answer.header("location")), (status, location), "{path}");
        }
    });
}

#[test]
fn a_request_without_room_for_the_headers_of_its_rule_reaches_no_server() {
    let modifier = json!({"set": [{"name": "X-Tenant", "value": "t".repeat(2_000)}], "add": [{"name": "X-Add", "value": "a"}]});
    let filters = json!([{"type": "RequestHeaderModifier", "requestHeaderModifier": modifier}]);
    on_each(&site(json!([{"matches": at("/on"), "filters": filters, "backendRefs": to(1)}])), |site| {
        let mut statuses = Vec::new();
        for length in (11_000..=15_500).step_by(250) {
            let long = format!("X-Add: a\r\nX-Long: {}\r\n", "l".repeat(length));
            let answer = site.ask(80, None, "GET", "a.example", "/on", &long);
            let tenant = answer.sent("x-tenant").map(str::len);
            assert!(answer.status != 200 || tenant == Some(2_000), "{length}: {tenant:?}");
            statuses.push(answer.status);
        }
        assert!(statuses.contains(&200) && statuses.contains(&503), "{statuses:?}");
    });
}

#[test]
fn rewrites_and_headers_reach_the_server_and_the_client() {
    let rewrite = |value: Value| json!({"type": "URLRewrite", "urlRewrite": value});
    let prefix = |to: &str| json!({"path": {"type": "ReplacePrefixMatch", "replacePrefixMatch": to}});
    let request = json!({"type": "RequestHeaderModifier", "requestHeaderModifier": {
        "set": [{"name": "X-Set", "value": "a|b; \"c\" %[src] é"}], "add": [{"name": "x-add", "value": "more"}],
        "remove": ["X-Gone", "x-other"]}});
    let response = json!({"type": "ResponseHeaderModifier", "responseHeaderModifier": {
        "set": [{"name": "X-Served", "value": "no"}], "add": [{"name": "X-New", "value": "1"}], "remove": ["Content-Type"]}});
    let rules = json!([
        {"matches": at("/prefix/one"), "filters": [rewrite(prefix("/one"))], "backendRefs": to(1)},
        {"matches": at("/strip-prefix"), "filters": [rewrite(prefix("/"))], "backendRefs": to(1)},
        {"matches": at("/full"), "backendRefs": to(1),
            "filters": [rewrite(json!({"hostname": "one.example.org", "path": {"type": "ReplaceFullPath", "replaceFullPath": "/one"}}))]},
        {"matches": at("/headers"), "filters": [request, response], "backendRefs": to(1)},
        {"matches": at("/own"), "backendRefs": [{"name": "s2", "port": 80, "filters": [request, rewrite(json!({"hostname": "own.example"}))]}]},
        {"matches": at("/evil"), "backendRefs": to(1),
            "filters": [{"type": "RequestHeaderModifier", "requestHeaderModifier": {"set": [{"name": "X", "value": "a\r\nY: b"}]}}]},
    ]);
    on_each(&site(rules), |site| {
        for (path, line) in [
            ("/prefix/one/two?q=1", "GET /one/two?q=1 HTTP/1.1"),
            ("/prefix/one", "GET /one HTTP/1.1"),
            ("/strip-prefix", "GET / HTTP/1.1"),
            ("/strip-prefix/three", "GET /three HTTP/1.1"),
            ("/full/x?q=1", "GET /one?q=1 HTTP/1.1"),
            // What stands behind the prefix is passed on as it came.
            ("/prefix/one/group%2Fproject?q", "GET /one/group%2Fproject?q HTTP/1.1"),
            ("/prefix/one/a;v=1/b%2Bc//d", "GET /one/a;v=1/b%2Bc//d HTTP/1.1"),
            ("/strip-prefix/a%20b/https://x", "GET /a%20b/https://x HTTP/1.1"),
            // But not where the prefix was compared otherwise, or slashes would join.
            ("/prefix//one/a%2Bb", "GET /one/a+b HTTP/1.1"),
            ("/strip-prefix//x", "GET /x HTTP/1.1"),
            ("/prefix/one;v=1/x", "GET /one/x HTTP/1.1"),
        ] {
            assert_eq!(site.get("a.example", path).request_line(), line, "{path}");
        }
        for above in ["/../one/x", "/%2e%2e/one/x", "/a%2F..%2Fb"] {
            let answer = site.get("a.example", &format!("/prefix/one{above}"));
            assert_eq!((answer.status, answer.service()), (400, None), "{above}");
        }
        assert_eq!(site.get("a.example", "/full").sent("host"), Some("one.example.org"));
        let sent = "X-SET: old\r\nX-Add: some\r\nx-gone: 1\r\nX-Other: 2\r\nX_Set: theirs\r\nX_Gone: theirs\r\nConnection: close, X-Set\r\n";
        let answer = site.ask(80, None, "GET", "a.example", "/headers", sent);
        assert_eq!(answer.sent("x-set"), Some("a|b; \"c\" %[src] é"), "{answer:?}");
        assert!(!answer.body.contains("theirs"), "{answer:?}");
        assert!(
            !answer.sent("connection").unwrap_or_default().to_lowercase().contains("x-set"),
            "{answer:?}"
        );
        let added: Vec<&str> =
            answer.body.lines().filter(|line| line.to_lowercase().starts_with("x-add:")).collect();
        assert_eq!(added.len(), 2, "{answer:?}");
        assert_eq!((answer.sent("x-gone"), answer.sent("x-other")), (None, None));
        let shown = ["x-served", "x-new", "content-type"].map(|name| answer.header(name));
        assert_eq!(shown, [Some("no"), Some("1"), None]);
        let own = site.ask(80, None, "GET", "a.example", "/own", sent);
        assert_eq!(
            (own.service(), own.sent("host"), own.sent("x-gone")),
            (Some(2), Some("own.example"), None)
        );
        assert_eq!(site.get("a.example", "/evil").status, 500);
    });
}

#[test]
fn weights_share_requests_and_what_is_broken_has_its_share_of_errors() {
    let weighted = |refs: &[(&str, u32)]| -> Value {
        refs.iter().map(|(name, weight)| json!({"name": name, "port": 80, "weight": weight})).collect()
    };
    let rules = json!([
        {"matches": at("/weights"), "backendRefs": weighted(&[("s1", 70), ("s2", 30), ("s3", 0)])},
        {"matches": at("/half"), "backendRefs": weighted(&[("s1", 1_000_000), ("nothing", 1_000_000)])},
        {"matches": at("/none"), "backendRefs": weighted(&[("s1", 0)])},
        {"matches": at("/empty")},
        {"matches": at("/kind"), "backendRefs": [{"group": "x.example", "kind": "Y", "name": "s1"}]},
    ]);
    on_each(&site(rules), |site| {
        let mut served = [0_u32; 4];
        for _ in 0..400 {
            served[usize::from(site.get("a.example", "/weights").service().unwrap())] += 1;
        }
        assert!(
            (240..=320).contains(&served[1]) && served[3] == 0 && served[1] + served[2] == 400,
            "{served:?}"
        );
        let failed = (0..200).filter(|_| site.get("a.example", "/half").status == 500).count();
        assert!((60..=140).contains(&failed), "{failed}");
        for path in ["/none", "/empty", "/kind"] {
            assert_eq!(site.get("a.example", path).status, 500, "{path}");
        }
    });
}

#[test]
fn origins_are_told_what_they_may() {
    let rules = json!([
        cors(
            "/listed",
            json!({"allowOrigins": ["https://www.foo.com", "https://*.bar.com"], "allowMethods": ["GET", "PUT"],
            "allowHeaders": ["x-a", "x-b"], "exposeHeaders": ["x-c"], "maxAge": 3600, "allowCredentials": true})
        ),
        cors("/any", json!({"allowOrigins": ["*"], "allowMethods": ["*"], "allowHeaders": ["*"]})),
        cors("/known", json!({"allowOrigins": ["*"], "allowCredentials": true})),
    ]);
    let allowed = |site: &GatewaySite, method: &str, path: &str, origin: &str| {
        let asks = "Access-Control-Request-Method: PUT\r\nAccess-Control-Request-Headers: x-z\r\n";
        site.ask(80, None, method, "a.example", path, &format!("Origin: {origin}\r\n{asks}"))
    };
    on_each(&site(rules), |site| {
        for (origin, is_allowed) in [
            ("https://www.foo.com", true),
            ("https://a.b.bar.com", true),
            ("https://foobar.com", false),
            ("https://bar.com", false),
            ("http://a.bar.com", false),
            ("https://evil.com/.bar.com", false),
            ("https://www.foo.com.evil.com", false),
        ] {
            let expected = is_allowed.then_some(origin);
            let preflight = allowed(site, "OPTIONS", "/listed", origin);
            assert_eq!(
                (preflight.status, preflight.header("access-control-allow-origin")),
                (204, expected),
                "{origin}"
            );
            let more = [
                "access-control-allow-methods",
                "access-control-max-age",
                "access-control-allow-credentials",
            ];
            let values = if is_allowed { [Some("GET,PUT"), Some("3600"), Some("true")] } else { [None; 3] };
            assert_eq!(more.map(|name| preflight.header(name)), values, "{origin}");
            let actual = allowed(site, "GET", "/listed", origin);
            assert_eq!(
                (actual.service(), actual.header("access-control-allow-origin")),
                (Some(1), expected),
                "{origin}"
            );
            assert_eq!(actual.header("access-control-expose-headers"), is_allowed.then_some("x-c"));
        }
        let any = allowed(site, "OPTIONS", "/any", "https://x.example");
        let shown = [
            "access-control-allow-origin",
            "access-control-allow-methods",
            "access-control-allow-headers",
            "access-control-allow-credentials",
        ];
        assert_eq!(shown.map(|name| any.header(name)), [Some("*"), Some("PUT"), Some("x-z"), None]);
        // What names one origin no cache may give another one; nor what names none because nobody asked.
        let known = allowed(site, "GET", "/known", "https://x.example");
        assert_eq!(
            ["access-control-allow-origin", "vary"].map(|name| known.header(name)),
            [Some("https://x.example"), Some("Origin")]
        );
        assert_eq!(any.header("vary"), None);
        assert_eq!(site.get("a.example", "/any").header("vary"), Some("Origin"));
    });
}

fn cors(path: &str, value: Value) -> Value {
    json!({"matches": at(path), "filters": [{"type": "CORS", "cors": value}], "backendRefs": to(1)})
}

/// The origin that may read an answer.
fn allowed_origin(site: &GatewaySite, path: &str, origin: &str) -> Option<String> {
    let answer = site.ask(80, None, "GET", "a.example", path, &format!("Origin: {origin}\r\n"));
    answer.header("access-control-allow-origin").map(str::to_owned)
}

#[test]
fn a_star_among_other_characters_allows_nothing_more() {
    let rules = json!([cors(
        "/",
        json!({"allowOrigins": ["https://a.com"], "allowCredentials": true, "allowHeaders": ["X-Team-*"],
            "allowMethods": ["GET", "*X"]})
    )]);
    on_each(&site(rules), |site| {
        let asks = "Origin: https://a.com\r\nAccess-Control-Request-Method: DELETE\r\nAccess-Control-Request-Headers: authorization,x-admin\r\n";
        let preflight = site.ask(80, None, "OPTIONS", "a.example", "/", asks);
        let told = ["access-control-allow-headers", "access-control-allow-methods"];
        assert_eq!(told.map(|name| preflight.header(name)), [Some("X-Team-*"), Some("GET,*X")]);
    });
}

#[test]
fn where_there_are_credentials_nothing_is_answered_by_a_star() {
    let all = |credentials: bool| json!({"allowOrigins": ["*"], "allowCredentials": credentials, "allowMethods": ["*"], "allowHeaders": ["*"], "exposeHeaders": ["*"]});
    let mut some = all(true);
    some["exposeHeaders"] = json!(["*", "X-A"]);
    let rules = json!([cors("/known", all(true)), cors("/some", some), cors("/any", all(false))]);
    on_each(&site(rules), |site| {
        let asked = |method: &str, path: &str, more: &str| {
            let asks = format!("Origin: https://q.com\r\nAccess-Control-Request-Method: PUT\r\n{more}");
            site.ask(80, None, method, "a.example", path, &asks)
        };
        for (path, more, headers, exposed) in [
            ("/known", "", None, None),
            ("/known", "Access-Control-Request-Headers: x-q\r\n", Some("x-q"), None),
            ("/some", "", None, Some("X-A")),
            ("/any", "", Some("*"), Some("*")),
        ] {
            let preflight = asked("OPTIONS", path, more);
            let told = ["access-control-allow-headers", "access-control-allow-methods"];
            assert_eq!(told.map(|name| preflight.header(name)), [headers, Some("PUT")], "{path} {more}");
            let answer = asked("GET", path, "");
            assert_eq!(answer.header("access-control-expose-headers"), exposed, "{path}");
        }
    });
}

#[test]
fn an_origin_has_the_port_of_its_scheme_and_a_wildcard_any_host() {
    let rules = json!([
        cors("/hosts", json!({"allowOrigins": ["https://*"]})),
        cors(
            "/ports",
            json!({"allowOrigins": ["https://p.com:443", "http://*.p.com:80", "http://p.com:8080", "https://q.com"]})
        ),
        cors("/names", json!({"allowOrigins": ["https://foo*"]})),
    ]);
    on_each(&site(rules), |site| {
        for (path, origin, is_allowed) in [
            ("/hosts", "https://q.com", true),
            ("/hosts", "https://a.b.q.com:443", true),
            ("/hosts", "https://q.com:8443", false),
            ("/hosts", "http://q.com", false),
            ("/hosts", "https://", false),
            ("/hosts", "https://a@b", false),
            ("/ports", "https://p.com", true),
            ("/ports", "https://p.com:8443", false),
            ("/ports", "http://a.p.com", true),
            ("/ports", "http://p.com:8080", true),
            ("/ports", "http://p.com", false),
            ("/ports", "https://q.com:443", true),
            ("/ports", "https://q.com:80", false),
            ("/names", "https://foo.evil.com", false),
        ] {
            let expected = is_allowed.then(|| origin.to_owned());
            assert_eq!(allowed_origin(site, path, origin), expected, "{path} {origin}");
        }
    });
}

#[test]
fn a_filter_of_a_backend_takes_the_place_of_the_rules_of_its_type() {
    let rewrite = |value: Value| json!({"type": "URLRewrite", "urlRewrite": value});
    let full = json!({"type": "ReplaceFullPath", "replaceFullPath": "/whole"});
    let prefix = json!({"type": "ReplacePrefixMatch", "replacePrefixMatch": "/below"});
    let set = |value: &str| json!({"type": "RequestHeaderModifier", "requestHeaderModifier": {"set": [{"name": "X-L", "value": value}], "add": [{"name": "X-All", "value": value}]}});
    let origin = |value: Value| json!({"type": "CORS", "cors": value});
    let rule = |path: &str, of_rule: Value, of_backend: Value| json!({"matches": at(path), "filters": [of_rule], "backendRefs": [{"name": "s1", "port": 80, "filters": [of_backend]}]});
    let rules = json!([
        rule("/a", rewrite(json!({"path": prefix})), rewrite(json!({"path": full}))),
        rule(
            "/b",
            rewrite(json!({"path": full, "hostname": "rule.example"})),
            rewrite(json!({"path": prefix}))
        ),
        rule("/headers", set("rule"), set("backend")),
        rule(
            "/cors",
            origin(json!({"allowOrigins": ["https://rule.com"], "allowCredentials": true})),
            origin(json!({"allowOrigins": ["https://backend.com"]}))
        ),
    ]);
    on_each(&site(rules), |site| {
        let (a, b) = (site.get("a.example", "/a/x"), site.get("a.example", "/b/x"));
        assert_eq!(a.request_line(), "GET /whole HTTP/1.1");
        assert_eq!((b.request_line(), b.sent("host")), ("GET /below/x HTTP/1.1", Some("a.example")));
        let headers = site.get("a.example", "/headers");
        assert_eq!(headers.sent("x-l"), Some("backend"));
        for value in ["rule", "backend"] {
            assert!(headers.body.to_lowercase().contains(&format!("x-all: {value}")), "{headers:?}");
        }
        assert_eq!(allowed_origin(site, "/cors", "https://rule.com"), None);
        let answer = site.ask(80, None, "GET", "a.example", "/cors", "Origin: https://backend.com\r\n");
        let told = ["access-control-allow-origin", "access-control-allow-credentials"];
        assert_eq!(told.map(|name| answer.header(name)), [Some("https://backend.com"), None]);
    });
}

#[test]
fn a_filter_that_cannot_be_done_keeps_only_its_backend_from_requests() {
    let broken = json!([{"type": "ExtensionRef", "extensionRef": {"group": "x", "kind": "Y", "name": "z"}}]);
    let refs = |weight: u32| json!([{"name": "s1", "port": 80}, {"name": "s2", "port": 80, "weight": weight, "filters": broken}]);
    let rules = json!([
        {"matches": at("/none"), "backendRefs": refs(0)},
        {"matches": at("/half"), "backendRefs": refs(1)},
        {"matches": at("/all"), "backendRefs": [{"name": "s1", "port": 80, "filters": broken}]},
    ]);
    on_each(&site(rules), |site| {
        assert_eq!(site.get("a.example", "/none").service(), Some(1));
        assert_eq!(site.get("a.example", "/all").status, 500);
        let answers = (0..40).map(|_| site.get("a.example", "/half"));
        let kinds: std::collections::BTreeSet<_> = answers.map(|one| (one.status, one.service())).collect();
        assert_eq!(kinds.into_iter().collect::<Vec<_>>(), [(200, Some(1)), (500, None)]);
    });
}

#[test]
fn servers_are_asked_in_no_other_way_than_their_service_says() {
    let mut all = site(json!([
        {"matches": at("/ws"), "backendRefs": [{"name": "ws", "port": 80}]},
        {"matches": at("/wss"), "backendRefs": [{"name": "wss", "port": 80}]},
        {"matches": at("/redis"), "backendRefs": [{"name": "redis", "port": 80}]},
        {"matches": at("/mysql"), "backendRefs": [{"name": "mysql", "port": 80}]},
        {"matches": at("/half"), "backendRefs": [{"name": "redis", "port": 80}, {"name": "ws", "port": 80}]},
    ]));
    for (name, protocol) in [
        ("ws", "kubernetes.io/ws"),
        ("wss", "kubernetes.io/wss"),
        ("redis", "example.com/redis"),
        ("mysql", "mysql"),
    ] {
        let [mut service, slice] = service(name, "IPv4", 9, &["127.0.0.1"]);
        service["spec"]["ports"][0]["appProtocol"] = protocol.into();
        all.extend([service, slice]);
    }
    // No server is there: who asks one gets 503.
    on_each(&all, |site| {
        assert_eq!(site.get("a.example", "/ws").status, 503);
        assert_eq!(site.get("a.example", "/wss").status, 500, "nothing is sent in clear");
        assert_eq!(site.get("a.example", "/redis").status, 500, "HTTP is not sent to it");
        assert_eq!(site.get("a.example", "/mysql").status, 500, "HTTP is not sent to it");
        let answers: std::collections::BTreeSet<u16> =
            (0..40).map(|_| site.get("a.example", "/half").status).collect();
        assert_eq!(answers.into_iter().collect::<Vec<_>>(), [500, 503]);
    });
}

#[test]
fn a_server_that_no_connection_is_made_to_is_not_waited_for() {
    let full = Full::listener();
    let mut all = site(json!([
        {"matches": at("/request"), "timeouts": {"request": "500ms"}, "backendRefs": [{"name": "full", "port": 80}]},
        {"matches": at("/backend"), "timeouts": {"request": "20s", "backendRequest": "500ms"}, "backendRefs": [{"name": "full", "port": 80}]},
    ]));
    all.extend(service("full", "IPv4", full.port, &["127.0.0.1"]));
    // Of HAProxy 3.2 one connection has the time that all have.
    for (series, most) in [(HaproxySeries::V3_4, 2), (HaproxySeries::V3_2, 8)] {
        let site = GatewaySite::start(series, &all);
        for path in ["/request", "/backend"] {
            let begun = Instant::now();
            assert_eq!(site.get("a.example", path).status, 503);
            let waited = begun.elapsed();
            assert!(waited < Duration::from_secs(most), "{series:?} {path}: {waited:?}");
        }
    }
}

#[test]
fn a_server_that_takes_too_long_is_not_waited_for() {
    let rules = json!([{"matches": at("/never"), "timeouts": {"request": "10s", "backendRequest": "300ms"}, "backendRefs": to(1)}]);
    on_each(&site(rules), |site| assert_eq!(site.get("a.example", "/never").status, 504));
}
