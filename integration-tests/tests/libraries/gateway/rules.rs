//! What rules do with requests: backends and their weights, redirects, rewrites, headers, CORS, timeouts.

use super::{GatewaySite, around, gateway, listener, on_each, route, to};
use serde_json::{Value, json};

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
        ] {
            assert_eq!(site.get("a.example", path).request_line(), line, "{path}");
        }
        assert_eq!(site.get("a.example", "/full").sent("host"), Some("one.example.org"));
        let sent = "X-SET: old\r\nX-Add: some\r\nx-gone: 1\r\nX-Other: 2\r\n";
        let answer = site.ask(80, None, "GET", "a.example", "/headers", sent);
        assert_eq!(answer.sent("x-set"), Some("a|b; \"c\" %[src] é"), "{answer:?}");
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
    let cors = |path: &str, value: Value| json!({"matches": at(path), "filters": [{"type": "CORS", "cors": value}], "backendRefs": to(1)});
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

#[test]
fn a_server_that_takes_too_long_is_not_waited_for() {
    let rules = json!([{"matches": at("/never"), "timeouts": {"request": "10s", "backendRequest": "300ms"}, "backendRefs": to(1)}]);
    on_each(&site(rules), |site| assert_eq!(site.get("a.example", "/never").status, 504));
}
