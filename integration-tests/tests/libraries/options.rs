//! Each annotation of our own, over HTTP and HTTPS, beside another Ingress of the same host that must not feel it; and
//! with a wrong value.

use crate::{
    around::{Full, service},
    client::{Answer, ask},
    on_each_haproxy, on_each_haproxy_with,
    site::{SCHEMES, Scheme, Site, rendered_alone, rendered_for, sentences, version_of},
};
use base64::{Engine, engine::general_purpose::STANDARD as BASE64};
use haptic_deploy::planner::{RunningView, plan};
use haptic_model::Capabilities;
use haptic_routes::options::{
    level::Level,
    table::{Reload, Row, TABLE, With, row},
};
use integration_tests::{http::client_config_with, program::HaproxySeries};
use serde_json::{Map, Value, json};
use std::io::Write;

/// An Ingress with annotations at `a.example/on`, and one without at `a.example/off`, of services 1 and 2.
pub fn both(options: &[(&str, &str)]) -> Vec<Value> {
    let ingress = |name: &str, annotations: Map<String, Value>, service: u8| {
        json!({"kind": "Ingress", "metadata": {"namespace": "shop", "name": name, "annotations": annotations},
            "spec": {"tls": [{"hosts": ["a.example"], "secretName": "a-tls"}], "rules": [{"host": "a.example", "http": {"paths": [
                {"path": format!("/{name}"), "pathType": "Prefix",
                    "backend": {"service": {"name": format!("s{service}"), "port": {"number": 80}}}}]}}]}})
    };
    vec![ingress("on", annotations(options), 1), ingress("off", Map::new(), 2)]
}

/// These options as an object has them.
pub fn annotations(options: &[(&str, &str)]) -> Map<String, Value> {
    options.iter().map(|(name, value)| (format!("haproxy-haptic.org/{name}"), json!(value))).collect()
}

/// Asks both Ingresses over both schemes on each HAProxy; the other one must serve as if nothing were.
fn with(options: &[(&str, &str)], check: impl Fn(&Site, Scheme)) {
    let mut manifests = both(options);
    manifests.extend([users(), authority(), certificate()]);
    on_each_haproxy(&manifests, |site| {
        for scheme in SCHEMES {
            check(site, scheme);
            let answer = site.get(scheme, "a.example", "/off/x");
            assert_eq!(answer.service(), Some(2), "{options:?} {scheme:?}: {answer:?}");
            assert_eq!(answer.request_line(), "GET /off/x HTTP/1.1");
            assert!(answer.sent("x-own").is_none() && answer.header("x-own").is_none());
            assert!(answer.header("access-control-allow-origin").is_none(), "{answer:?}");
            assert!(answer.header("strict-transport-security").is_none(), "{answer:?}");
            assert!(answer.header("set-cookie").is_none(), "{answer:?}");
        }
    });
}

fn on(site: &Site, scheme: Scheme, path: &str) -> Answer {
    site.get(scheme, "a.example", path)
}

/// That of the host.
pub fn certificate() -> Value {
    let own = integration_tests::certificate::for_host("a.example").unwrap();
    json!({"kind": "Secret", "metadata": {"namespace": "shop", "name": "a-tls"},
        "data": {"tls.crt": BASE64.encode(own.pem), "tls.key": BASE64.encode(own.key)}})
}

fn authority() -> Value {
    let pem = integration_tests::certificate::for_host("authority").unwrap().pem;
    json!({"kind": "Secret", "metadata": {"namespace": "shop", "name": "ca", "labels": {"haproxy-haptic.org/use": "yes"}},
        "data": {"ca.crt": BASE64.encode(pem)}})
}

/// The users anna (password "secret").
pub fn users() -> Value {
    json!({"kind": "Secret", "metadata": {"namespace": "shop", "name": "users", "labels": {"haproxy-haptic.org/use": "yes"}},
        "data": {"auth": BASE64.encode("anna:$5$salt$kpa26zwgX83BPSR8d7w93OIXbFt/d3UOTZaAu5vsTM6\n")}})
}

#[test]
fn redirects_to_https_only_where_it_is_asked_for() {
    with(&[("ssl-redirect", "true")], |site, scheme| {
        let answer = on(site, scheme, "/on/x?y=1");
        match scheme {
            Scheme::Http => {
                assert_eq!(answer.status, 308);
                assert_eq!(answer.header("location"), Some("https://a.example/on/x?y=1"));
            }
            Scheme::Https => assert_eq!(answer.service(), Some(1)),
        }
    });
}

#[test]
fn redirects_lead_to_the_port_where_clients_find_https() {
    let mut manifests = both(&[("ssl-redirect", "true")]);
    manifests.push(certificate());
    for (port, expected) in [(443, "https://a.example/on?x=1"), (8443, "https://a.example:8443/on?x=1")] {
        let public =
            |spec: &mut Value| spec["templatingSettings"]["extraContext"]["httpsPublicPort"] = json!(port);
        on_each_haproxy_with(&manifests, public, |site| {
            for host in ["a.example", "a.example:7080"] {
                let answer = site.get(Scheme::Http, host, "/on?x=1");
                assert_eq!((answer.status, answer.header("location")), (308, Some(expected)), "{host}");
            }
        });
    }
}

#[test]
fn redirects_are_cut_absolute_or_first_where_that_is_asked_for() {
    with(&[("ssl-redirect", "true"), ("ssl-redirect-slash", "cut")], |site, scheme| {
        let answer = on(site, scheme, "/on/x/");
        match scheme {
            Scheme::Http => {
                assert_eq!((answer.status, answer.header("location")), (308, Some("https://a.example/on/x")));
            }
            Scheme::Https => assert_eq!(answer.service(), Some(1)),
        }
    });
    let first = [
        ("ssl-redirect", "true"),
        ("redirect-to", "/new"),
        ("redirect-first", "true"),
        ("redirect-absolute", "true"),
    ];
    with(&first, |site, scheme| {
        let answer = on(site, scheme, "/on");
        let expected = match scheme {
            Scheme::Http => "http://a.example/new",
            Scheme::Https => "https://a.example/new",
        };
        assert_eq!((answer.status, answer.header("location")), (302, Some(expected)));
    });
}

#[test]
fn redirects_come_before_lists_where_that_is_asked_for() {
    let options = [("redirect-to", "/new"), ("allow-from", "10.0.0.0/8")];
    with(&options, |site, scheme| assert_eq!(on(site, scheme, "/on").status, 403));
    with(&[&options[..], &[("redirect-early", "true")]].concat(), |site, scheme| {
        assert_eq!(leads(site, scheme, &["/on"]), [to(302, "/new")]);
    });
}

#[test]
fn an_ingress_says_where_its_redirects_lead() {
    let given = [("ssl-redirect", "true"), ("ssl-redirect-code", "302"), ("ssl-redirect-port", "443")];
    with(&given, |site, scheme| {
        let answer = site.get(scheme, "a.example:7080", "/on/x?y=1");
        match scheme {
            Scheme::Http => {
                assert_eq!(
                    (answer.status, answer.header("location")),
                    (302, Some("https://a.example:443/on/x?y=1"))
                );
            }
            Scheme::Https => assert_eq!(answer.service(), Some(1)),
        }
    });
    let port_alone = [("ssl-redirect", "true"), ("ssl-redirect-port", "8443")];
    with(&port_alone, |site, scheme| {
        let answer = on(site, scheme, "/on");
        if scheme == Scheme::Http {
            assert_eq!((answer.status, answer.header("location")), (308, Some("https://a.example:8443/on")));
        }
    });
}

#[test]
fn rules_rewrite_a_path_one_after_the_other() {
    let rules = "^/on/a/(.*) /b/\\1\n\n/(c|d)/ /x/\\1\n ^/never /z";
    with(&[("rewrite-rules", rules)], |site, scheme| {
        for (path, served) in [
            ("/on/a/q?x=/c/", "/b/q?x=/c/"),
            ("/on/a/c/q", "/x/c"),
            ("/on/d/", "/x/d"),
            ("/on/y", "/on/y"),
            ("/on/./a//q", "/b/q"),
        ] {
            let answer = on(site, scheme, path);
            assert_eq!(answer.request_line(), format!("GET {served} HTTP/1.1"), "{path}");
        }
    });
    for (text, wanted) in [
        ("/a", "lines of PATTERN PATH"),
        ("/a b", "a path of up to"),
        ("(a+)+b /x", "back and forth"),
        ("/a /1\n/a /2\n/a /3\n/a /4\n/a /5\n/a /6", "up to 5 lines"),
    ] {
        let problems = rendered_alone(&both(&[("rewrite-rules", text)])).expect_err(text);
        assert!(sentences(&problems).contains(wanted), "{text}: {}", sentences(&problems));
    }
}

#[test]
fn preflight_requests_are_answered_here_or_by_servers() {
    let origin = "Origin: https://shop.example\r\nAccess-Control-Request-Method: PUT\r\n";
    let listed = ("cors-allow-origin", "https://shop.example");
    let all = ("cors-allow-methods", "*");
    with(&[listed, all, ("cors-preflight", "pass")], |site, scheme| {
        let answer = site.ask(scheme, "OPTIONS", "a.example", "/on", origin, "");
        assert_eq!(answer.service(), Some(1), "{answer:?}");
        assert_eq!(answer.header("access-control-allow-methods"), Some("*"));
        assert_eq!(answer.header("access-control-max-age"), Some("86400"));
        assert_eq!(answer.header("access-control-allow-origin"), Some("https://shop.example"));
        let other = site.ask(scheme, "OPTIONS", "a.example", "/on", "Origin: https://evil.example\r\n", "");
        assert_eq!((other.service(), other.header("access-control-allow-methods")), (Some(1), None));
    });
    with(&[listed, ("cors-preflight", "all")], |site, scheme| {
        for (headers, allowed) in [(origin, Some("https://shop.example")), ("", None)] {
            let answer = site.ask(scheme, "OPTIONS", "a.example", "/on", headers, "");
            assert_eq!(answer.status, 204, "{answer:?}");
            assert_eq!(answer.header("access-control-allow-origin"), allowed);
        }
        assert_eq!(site.ask(scheme, "OPTIONS", "a.example", "/off/x", origin, "").service(), Some(2));
    });
    with(&[listed, ("cors-allow-headers", "*")], |site, scheme| {
        let answer = site.ask(scheme, "OPTIONS", "a.example", "/on", origin, "");
        assert_eq!((answer.status, answer.header("access-control-allow-headers")), (204, Some("*")));
    });
}

#[test]
fn what_is_closed_answers_nothing_else() {
    with(&[("closed", "true"), ("redirect-to", "/elsewhere")], |site, scheme| {
        assert_eq!(on(site, scheme, "/on").status, 503);
    });
    with(&[("closed", "false")], |site, scheme| assert_eq!(on(site, scheme, "/on").service(), Some(1)));
}

#[test]
fn redirects_to_another_place() {
    with(&[("redirect-to", "https://b.example/a?b=c&d=%41"), ("redirect-code", "301")], |site, scheme| {
        let answer = on(site, scheme, "/on");
        assert_eq!((answer.status, answer.header("location")), (301, Some("https://b.example/a?b=c&d=%41")));
    });
}

/// Status and location of each answer.
fn leads(site: &Site, scheme: Scheme, paths: &[&str]) -> Vec<(u16, Option<String>)> {
    let one = |path: &&str| {
        let answer = on(site, scheme, path);
        (answer.status, answer.header("location").map(str::to_owned))
    };
    paths.iter().map(one).collect()
}

fn to(code: u16, location: &str) -> (u16, Option<String>) {
    (code, Some(location.to_owned()))
}

#[test]
fn redirects_with_path_and_query() {
    let options =
        [("redirect-to", "https://b.example/v2"), ("redirect-keep-path", "true"), ("redirect-code", "307")];
    with(&options, |site, scheme| {
        let expected = [to(307, "https://b.example/v2/on/x?y=1"), to(307, "https://b.example/v2/on")];
        assert_eq!(leads(site, scheme, &["/on/x?y=1", "/on"]), expected);
    });
}

#[test]
fn redirects_with_the_query_alone() {
    let options = [("redirect-to", "https://b.example/v2"), ("redirect-keep-query", "true")];
    with(&options, |site, scheme| {
        let expected = [to(302, "https://b.example/v2?y=1"), to(302, "https://b.example/v2")];
        assert_eq!(leads(site, scheme, &["/on/x?y=1", "/on"]), expected);
    });
}

#[test]
fn redirects_with_path_and_query_that_come_first() {
    for first in ["redirect-first", "redirect-early"] {
        let options = [("redirect-to", "https://b.example"), ("redirect-keep-path", "true"), (first, "true")];
        with(&options, |site, scheme| {
            assert_eq!(leads(site, scheme, &["/on/x?y=1"]), [to(302, "https://b.example/on/x?y=1")]);
        });
    }
}

#[test]
fn redirects_to_another_host_with_scheme_path_and_query() {
    with(&[("redirect-host", "b.example:8443"), ("redirect-code", "308")], |site, scheme| {
        let start = if scheme == Scheme::Https { "https" } else { "http" };
        let expected = [to(308, &format!("{start}://b.example:8443/on//c.example/x?y=%41"))];
        assert_eq!(leads(site, scheme, &["/on//c.example/x?y=%41"]), expected);
    });
}

#[test]
fn a_slash_at_the_end_is_added_or_removed() {
    for scheme_of in [Scheme::Http, Scheme::Https] {
        let start = if scheme_of == Scheme::Https { "https" } else { "http" };
        with(&[("trailing-slash", "add"), ("redirect-code", "301")], |site, scheme| {
            if scheme == scheme_of {
                let added = to(301, &format!("{start}://a.example/on/?x=/"));
                assert_eq!(
                    leads(site, scheme, &["/on?x=/", "/on/", "/on/x"]),
                    [added, (200, None), (200, None)]
                );
            }
        });
        with(&[("trailing-slash", "remove")], |site, scheme| {
            if scheme == scheme_of {
                let removed = |path: &str| to(302, &format!("{start}://a.example{path}"));
                let expected = [removed("/on?x=/"), removed("/on/x"), (200, None), (200, None)];
                assert_eq!(leads(site, scheme, &["/on/?x=/", "/on/x//", "/on", "/on/x?y/"]), expected);
            }
        });
    }
}

#[test]
fn the_root_of_a_host_is_redirected() {
    let mut manifests = both(&[("app-root", "/on/start?a=b")]);
    let rules = manifests[0].pointer_mut("/spec/rules/0/http/paths/0/path").unwrap();
    *rules = json!("/");
    manifests.push(certificate());
    on_each_haproxy(&manifests, |site| {
        for scheme in SCHEMES {
            let expected = [to(302, "/on/start?a=b"), (200, None)];
            assert_eq!(leads(site, scheme, &["/?x=1", "/on/start"]), expected);
            assert_eq!(site.get(scheme, "a.example", "/off").service(), Some(2));
        }
    });
}

#[test]
fn the_host_with_www_in_front_leads_to_the_one_without_and_back() {
    for (host, other) in [("a.example", "www.a.example"), ("www.a.example", "a.example")] {
        let mut manifests = both(&[("redirect-www", "true"), ("redirect-code", "301")]);
        for ingress in &mut manifests {
            ingress["spec"]["rules"][0]["host"] = json!(host);
        }
        on_each_haproxy(&manifests, |site| {
            for scheme in SCHEMES {
                let start = if scheme == Scheme::Https { "https" } else { "http" };
                let answer = site.get(scheme, other, "/anything?x=1");
                assert_eq!(answer.header("location"), Some(&*format!("{start}://{host}/anything?x=1")));
                assert_eq!(site.get(scheme, host, "/on").service(), Some(1));
            }
        });
        // Who has routes there keeps them.
        manifests[1]["spec"]["rules"][0]["host"] = json!(other);
        on_each_haproxy(&manifests, |site| {
            assert_eq!(site.get(Scheme::Http, other, "/off").service(), Some(2));
        });
    }
}

#[test]
fn the_port_of_the_host_without_www_is_said_where_that_is_asked_for() {
    let manifests = both(&[("redirect-www", "true"), ("redirect-port", "true")]);
    on_each_haproxy(&manifests, |site| {
        let answer = site.get(Scheme::Http, "www.a.example", "/x?y=1");
        assert_eq!(answer.header("location"), Some("http://a.example:80/x?y=1"));
    });
}

#[test]
fn redirects_to_https_where_there_is_no_tls_of_its_own() {
    let mut manifests = both(&[("ssl-redirect", "always")]);
    for ingress in &mut manifests {
        ingress["spec"].as_object_mut().unwrap().remove("tls");
    }
    on_each_haproxy(&manifests, |site| {
        let answer = on(site, Scheme::Http, "/on/x?y=1");
        assert_eq!((answer.status, answer.header("location")), (308, Some("https://a.example/on/x?y=1")));
        assert_eq!(on(site, Scheme::Https, "/on").service(), Some(1));
        assert_eq!(on(site, Scheme::Http, "/off").service(), Some(2));
    });
}

#[test]
fn rewrites_the_path_that_matched() {
    let line = |site: &Site, scheme, path| on(site, scheme, path).request_line().to_owned();
    with(&[("rewrite-path", "/new")], |site, scheme| {
        assert_eq!(line(site, scheme, "/on/x?y=/on"), "GET /new/x?y=/on HTTP/1.1");
        assert_eq!(line(site, scheme, "/on"), "GET /new HTTP/1.1");
    });
    with(&[("rewrite-path", "/")], |site, scheme| {
        assert_eq!(line(site, scheme, "/on/x"), "GET /x HTTP/1.1");
        assert_eq!(line(site, scheme, "/on"), "GET / HTTP/1.1");
    });
}

#[test]
fn a_server_that_is_too_slow_is_given_up() {
    with(&[("timeout-server", "200ms"), ("rewrite-path", "/never")], |site, scheme| {
        assert_eq!(on(site, scheme, "/on").status, 504);
    });
}

#[test]
fn a_request_that_waits_too_long_for_a_server_is_given_up() {
    let options = [("timeout-queue", "200ms"), ("max-connections", "1")];
    let mut manifests = both(&options);
    manifests.push(certificate());
    let patient =
        |spec: &mut Value| spec["templatingSettings"]["extraContext"]["timeouts"] = json!({"queue": "10m"});
    on_each_haproxy_with(&manifests, patient, |site| {
        let mut first = std::net::TcpStream::connect(site.address(Scheme::Http)).unwrap();
        first.write_all(b"GET /on/never HTTP/1.1\r\nHost: a.example\r\n\r\n").unwrap();
        for scheme in SCHEMES {
            // Until the only place is taken there is one.
            let statuses = std::iter::repeat_with(|| on(site, scheme, "/on").status);
            assert_eq!(statuses.take(1000).find(|status| *status != 200), Some(503));
            assert_eq!(site.get(scheme, "a.example", "/off").service(), Some(2));
        }
        drop(first);
    });
}

#[test]
fn a_server_that_cannot_be_connected_is_given_up() {
    let full = Full::listener();
    let mut manifests = both(&[("timeout-connect", "200ms"), ("retries", "0")]);
    manifests.extend(service("full", "IPv4", full.port, &["127.0.0.1"]));
    manifests[0]["spec"]["rules"][0]["http"]["paths"][0]["backend"]["service"]["name"] = json!("full");
    manifests.push(certificate());
    let patient =
        |spec: &mut Value| spec["templatingSettings"]["extraContext"]["timeouts"] = json!({"connect": "10m"});
    on_each_haproxy_with(&manifests, patient, |site| {
        for scheme in SCHEMES {
            assert_eq!(on(site, scheme, "/on").status, 503);
            assert_eq!(site.get(scheme, "a.example", "/off").service(), Some(2));
        }
    });
}

#[test]
fn servers_that_cannot_be_connected_are_told_apart_where_that_is_asked_for() {
    let full = Full::listener();
    for (port, address, status) in [(1, "127.0.3.1", 502), (full.port, "127.0.0.1", 504)] {
        let mut manifests =
            both(&[("timeout-connect", "200ms"), ("retries", "0"), ("connect-error-status", "502")]);
        manifests.extend(service("away", "IPv4", port, &[address]));
        manifests[0]["spec"]["rules"][0]["http"]["paths"][0]["backend"]["service"]["name"] = json!("away");
        manifests.push(certificate());
        on_each_haproxy(&manifests, |site| {
            for scheme in SCHEMES {
                assert_eq!(on(site, scheme, "/on").status, status);
                assert_eq!(site.get(scheme, "a.example", "/off").service(), Some(2));
            }
        });
    }
}

#[test]
fn a_tunnel_in_which_nothing_is_said_is_closed() {
    let upgrade = "Connection: upgrade\r\nUpgrade: test\r\n";
    with(&[("timeout-tunnel", "200ms")], |site, scheme| {
        // Back only when HAProxy closes it; by default after an hour.
        assert_eq!(site.ask(scheme, "GET", "a.example", "/on", upgrade, "").status, 101);
    });
}

#[test]
fn a_request_without_an_answer_is_sent_again_where_that_is_asked_for() {
    for (retry, post) in [("idempotent", 502), ("all", 200)] {
        with(&[("retry", retry)], |site, scheme| {
            assert_eq!(on(site, scheme, &format!("/on/flaky/{scheme:?}")).service(), Some(1));
            // Where the server's connection had been used before, HAProxy ends the client's without an answer.
            let status = |method: &str, path: &str| {
                let head = format!("{method} {path}/flaky/{scheme:?} HTTP/1.1\r\nHost: a.example\r\n");
                ask(&site.way(scheme, "a.example"), &head, "x").map_or(502, |answer| answer.status)
            };
            assert_eq!((status("POST", "/on"), status("GET", "/off")), (post, 502));
        });
    }
}

#[test]
fn only_requests_over_a_new_tls_version_come_in() {
    let old = vec![rustls::crypto::ring::cipher_suite::TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256];
    let old = std::sync::Arc::new(client_config_with(old).unwrap());
    for (version, over_1_2) in [("TLSv1.3", 403), ("TLSv1.2", 200)] {
        with(&[("min-tls-version", version)], |site, scheme| match scheme {
            Scheme::Http => assert_eq!(on(site, scheme, "/on").status, 403),
            Scheme::Https => {
                assert_eq!(on(site, scheme, "/on").service(), Some(1));
                let mut way = site.way(scheme, "a.example");
                way.tls = Some(("a.example", std::sync::Arc::clone(&old)));
                let get = |path: &str| {
                    ask(&way, &format!("GET {path} HTTP/1.1\r\nHost: a.example\r\n"), "").unwrap().status
                };
                assert_eq!((get("/on"), get("/off")), (over_1_2, 200));
            }
        });
    }
}

#[test]
fn rewrites_paths_by_a_regular_expression() {
    with(&[("rewrite-regex", "^/on/(.*)/x$"), ("rewrite-replacement", "/new/\\1%20")], |site, scheme| {
        let line = |path: &str| on(site, scheme, path).request_line().to_owned();
        assert_eq!(line("/on/a b/x".replace(' ', "+").as_str()), "GET /new/a+b%20 HTTP/1.1");
        assert_eq!(line("/on/a/x?y=/on/b/x"), "GET /new/a%20?y=/on/b/x HTTP/1.1");
        assert_eq!(line("/on/a"), "GET /on/a HTTP/1.1");
    });
}

#[test]
fn bodies_that_are_too_large_are_refused() {
    with(&[("max-body-size", "1k")], |site, scheme| {
        let post = |size: usize| site.ask(scheme, "POST", "a.example", "/on", "", &"x".repeat(size));
        assert_eq!(post(1024).service(), Some(1));
        assert_eq!(post(1025).status, 413);
    });
}

#[test]
fn clients_are_limited_one_by_one() {
    with(&[("rate-limit", "3"), ("rate-limit-period", "hour")], |site, scheme| {
        let statuses: Vec<u16> = (0..5).map(|_| on(site, scheme, "/on").status).collect();
        match scheme {
            Scheme::Http => assert_eq!(statuses, [200, 200, 200, 429, 429]),
            // Both schemes count together.
            Scheme::Https => assert_eq!(statuses, [429; 5]),
        }
    });
}

#[test]
fn only_clients_from_allowed_networks_come_in() {
    with(&[("allow-from", "10.0.0.0/8, fd00::/8")], |site, scheme| {
        assert_eq!(on(site, scheme, "/on").status, 403);
    });
    with(&[("allow-from", "127.0.0.0/9")], |site, scheme| {
        assert_eq!(on(site, scheme, "/on").service(), Some(1));
    });
    with(&[("deny-from", "127.0.0.1")], |site, scheme| {
        assert_eq!(on(site, scheme, "/on").status, 403);
    });
    with(&[("allow-from", "127.0.0.0/8"), ("deny-from", "127.0.0.2/31")], |site, scheme| {
        assert_eq!(on(site, scheme, "/on").service(), Some(1));
    });
}

#[test]
fn cross_origin_requests_are_answered_with_their_preflight() {
    let asked = "Origin: https://shop.example\r\nAccess-Control-Request-Method: PUT\r\n";
    let options = [
        ("cors-allow-origin", "https://shop.example, https://other.example"),
        ("cors-allow-credentials", "true"),
        ("cors-max-age", "60"),
        ("cors-allow-headers", "X-A, X-B"),
    ];
    with(&options, |site, scheme| {
        let preflight = site.ask(scheme, "OPTIONS", "a.example", "/on", asked, "");
        assert_eq!(preflight.status, 204, "{preflight:?}");
        for (name, value) in [
            ("access-control-allow-origin", "https://shop.example"),
            ("access-control-allow-credentials", "true"),
            ("access-control-max-age", "60"),
            ("access-control-allow-methods", "GET, HEAD, POST, PUT, PATCH, DELETE"),
            ("access-control-allow-headers", "X-A, X-B"),
        ] {
            assert_eq!(preflight.header(name), Some(value), "{preflight:?}");
        }
        let get =
            |origin: &str| site.ask(scheme, "GET", "a.example", "/on", &format!("Origin: {origin}\r\n"), "");
        assert_eq!(
            get("https://other.example").header("access-control-allow-origin"),
            Some("https://other.example")
        );
        let stranger = get("https://evil.example");
        assert_eq!((stranger.service(), stranger.header("access-control-allow-origin")), (Some(1), None));
    });
    with(&[("cors-allow-origin", "*"), ("cors-allow-methods", "GET, PUT")], |site, scheme| {
        let preflight = site.ask(scheme, "OPTIONS", "a.example", "/on", asked, "");
        assert_eq!(preflight.header("access-control-allow-methods"), Some("GET, PUT"));
        let answer = site.ask(scheme, "GET", "a.example", "/on", "Origin: https://any.example\r\n", "");
        assert_eq!(answer.header("access-control-allow-origin"), Some("*"));
    });
}

#[test]
fn hsts_is_sent_over_https_only() {
    with(&[("hsts-max-age", "31536000"), ("hsts-subdomains", "true")], |site, scheme| {
        let answer = on(site, scheme, "/on");
        let expected = (scheme == Scheme::Https).then_some("max-age=31536000; includeSubDomains");
        assert_eq!(answer.header("strict-transport-security"), expected);
    });
}

#[test]
fn headers_are_set_on_requests_and_answers() {
    let options =
        [("request-headers", "X-Own: a 100% b\nX-Other: c"), ("response-headers", "X-Own: \"quoted\"")];
    with(&options, |site, scheme| {
        let answer = on(site, scheme, "/on");
        assert_eq!((answer.sent("x-own"), answer.sent("x-other")), (Some("a 100% b"), Some("c")));
        assert_eq!(answer.header("x-own"), Some("\"quoted\""));
    });
}

#[test]
fn users_are_asked_for_their_password() {
    with(&[("auth-secret", "users"), ("auth-realm", "my shop")], |site, scheme| {
        let with = |credentials: &str| {
            let header = format!("Authorization: Basic {}\r\n", BASE64.encode(credentials));
            site.ask(scheme, "GET", "a.example", "/on", &header, "")
        };
        let stranger = on(site, scheme, "/on");
        assert_eq!(
            (stranger.status, stranger.header("www-authenticate")),
            (401, Some("Basic realm=\"my shop\""))
        );
        assert_eq!(with("anna:wrong").status, 401);
        assert_eq!(with("anna:secret").service(), Some(1));
    });
}

#[test]
fn clients_of_a_list_need_no_password_where_either_is_enough() {
    let password = format!("Authorization: Basic {}\r\n", BASE64.encode("anna:secret"));
    let either = [("satisfy", "any"), ("auth-secret", "users")];
    for (lists, without) in [
        (&[("allow-from", "127.0.0.0/8")][..], 200),
        (&[("allow-from", "10.0.0.0/8")], 401),
        (&[("deny-from", "127.0.0.0/8")], 401),
        (&[("allow-from", "127.0.0.0/8"), ("deny-from", "127.0.0.1")], 401),
        (&[], 401),
    ] {
        with(&[&either[..], lists].concat(), |site, scheme| {
            assert_eq!(on(site, scheme, "/on").status, without, "{lists:?}");
            assert_eq!(site.ask(scheme, "GET", "a.example", "/on", &password, "").status, 200, "{lists:?}");
        });
    }
}

#[test]
fn lists_alone_let_in_nobody_else_whatever_would_be_enough() {
    for lists in [("allow-from", "10.0.0.0/8"), ("deny-from", "127.0.0.0/8")] {
        with(&[("satisfy", "any"), lists], |site, scheme| {
            assert_eq!(on(site, scheme, "/on").status, 403, "{lists:?}");
        });
    }
}

#[test]
fn without_a_certificate_of_its_own_no_client_comes_in() {
    for secret in ["ca", "nonesuch"] {
        with(&[("client-ca-secret", secret)], |site, scheme| {
            assert_eq!(on(site, scheme, "/on").status, 403);
        });
    }
}

#[test]
fn servers_may_speak_http_2_and_a_ca_that_is_missing_trusts_nobody() {
    // The server behind it speaks neither: what is asked here is that only this Ingress feels it.
    for options in
        [[("protocol", "h2"), ("retry", "all")], [("protocol", "https"), ("server-ca-secret", "nonesuch")]]
    {
        with(&options, |site, scheme| {
            assert!(on(site, scheme, "/on").status >= 500);
        });
    }
}

#[test]
fn without_the_secret_of_the_users_nobody_comes_in() {
    with(&[("auth-secret", "nonesuch")], |site, scheme| {
        assert_eq!(on(site, scheme, "/on").status, 503);
    });
}

#[test]
fn clients_find_their_server_again_by_a_cookie() {
    with(&[("affinity", "cookie"), ("balance", "leastconn"), ("max-connections", "10")], |site, scheme| {
        let answer = on(site, scheme, "/on");
        assert_eq!(attributes(&answer, "HAPTIC_AFFINITY"), expected_attributes(scheme), "{answer:?}");
        assert!(!answer.header("set-cookie").unwrap_or_default().contains("127.0.1"), "{answer:?}");
    });
}

#[test]
fn the_cookie_may_have_another_name() {
    with(&[("affinity", "cookie"), ("affinity-cookie-name", "SHOP")], |site, scheme| {
        let answer = on(site, scheme, "/on");
        assert_eq!(attributes(&answer, "SHOP"), expected_attributes(scheme), "{answer:?}");
    });
}

/// What an answer says of its only cookie, which has this name.
fn attributes<'a>(answer: &'a Answer, name: &str) -> Vec<&'a str> {
    let cookies: Vec<&str> =
        answer.headers.iter().filter(|(n, _)| n == "set-cookie").map(|(_, v)| &**v).collect();
    let [cookie] = &*cookies else { panic!("{answer:?}") };
    let mut attributes: Vec<&str> = cookie.split("; ").collect();
    assert!(attributes.remove(0).starts_with(&format!("{name}=")), "{answer:?}");
    attributes.sort_unstable();
    attributes
}

fn expected_attributes(scheme: Scheme) -> Vec<&'static str> {
    let secure = (scheme == Scheme::Https).then_some("Secure");
    ["HttpOnly", "SameSite=Lax"].into_iter().chain(secure).chain(["path=/"]).collect()
}

#[test]
fn a_snippet_of_ones_own_reads_any_annotation_of_an_ingress() {
    let mut manifests = both(&[]);
    manifests[0]["metadata"]["annotations"] = json!({"example.com/team": "100% \"a\""});
    manifests.push(certificate());
    let own = |spec: &mut Value| {
        let template = "{{#if (has options \"[example.com/team]\")}}\n\
                        http-response set-header X-Team {{lf (get options \"[example.com/team]\")}}\n\
                        {{/if}}\n";
        spec["templatingSettings"]["extraContext"]["ingressOptions"] = json!(["example.com/team"]);
        spec["templateSnippets"] = json!({"ingress-own-10-team": {"template": template}});
    };
    on_each_haproxy_with(&manifests, own, |site| {
        let team = |path: &str| {
            let answer = site.get(Scheme::Http, "a.example", path);
            assert_eq!(answer.status, 200, "{answer:?}");
            answer.header("x-team").map(str::to_owned)
        };
        assert_eq!((team("/on").as_deref(), team("/off")), (Some("100% \"a\""), None));
    });
}

#[test]
fn every_annotation_is_tried_here() {
    let tried = concat!(
        include_str!("auth.rs"),
        include_str!("balancing.rs"),
        include_str!("canaries.rs"),
        include_str!("class_objects.rs"),
        include_str!("client_certificates.rs"),
        include_str!("conditions.rs"),
        include_str!("frontends.rs"),
        include_str!("limits.rs"),
        include_str!("mirrors.rs"),
        include_str!("options.rs"),
        include_str!("passthrough.rs"),
        include_str!("pages.rs"),
        include_str!("patterns.rs"),
        include_str!("protocols.rs"),
        include_str!("servers.rs"),
        include_str!("tcp.rs")
    );
    for option in TABLE.iter().map(|row| row.name) {
        assert!(tried.contains(&format!("(\"{option}\", ")), "{option} is tried nowhere");
    }
}

/// What an option goes with.
fn company(of: &Row) -> Vec<(&'static str, &'static str)> {
    let (With::Needs(other) | With::Beside(other)) = of.with else { return Vec::new() };
    let other = row(other).unwrap();
    [company(other), vec![(other.name, other.example)]].concat()
}

#[test]
fn what_the_table_says_takes_no_reload_takes_none() {
    let series = HaproxySeries::V3_4;
    let bundle = |options: &[(&str, &str)]| {
        let manifests = [both(options), vec![users(), authority(), certificate()]].concat();
        rendered_for(series, &manifests)
            .unwrap_or_else(|problems| panic!("{options:?}: {}", sentences(&problems)))
            .0
    };
    let is_free = |row: &&Row| row.reload == Reload::No && row.levels.contains(&Level::Ingress);
    for row in TABLE.iter().filter(is_free) {
        let without = company(row);
        let with = [without.clone(), vec![(row.name, row.example)]].concat();
        let (without, with) = (bundle(&without), bundle(&with));
        for (before, after) in [(&without, &with), (&with, &without)] {
            let plan = plan(&RunningView::of(before.clone()), after, Capabilities::of(version_of(series)));
            assert_eq!(plan.verdict.reload_reason(), None, "{}", row.name);
        }
    }
}

#[test]
fn a_wrong_value_refuses_the_ingress_and_says_what_is_right() {
    let wrong = [
        ("affinity", "ip", "it must be cookie"),
        ("affinity-cookie-name", "SHOP", "given together with affinity"),
        ("allow-from", "10.0.0.0/33", "networks such as 10.0.0.0/8"),
        ("allow-from", "", "networks such as 10.0.0.0/8"),
        ("app-root", "//evil.example", "begins with one /"),
        ("redirect-host", "https://b.example", "a host in lower case"),
        ("trailing-slash", "yes", "add or remove"),
        ("closed", "perhaps", "it must be true or false"),
        ("auth-secret", "../users", "the name of a Secret"),
        ("auth-url", "auth", "a URL of up to 1000 characters"),
        ("auth-url", "http://sso/$uri", "a URL of up to 1000 characters"),
        ("auth-method", "TRACE", "GET, HEAD, POST, PUT or DELETE"),
        ("auth-timeout", "11s", "longer than 0 and up to 10s"),
        ("auth-cache", "11m", "up to 10m"),
        ("auth-cache-key", "nothing", "some of address, headers, host, method, path"),
        ("auth-signin", "//evil.example", "a URL or path"),
        ("auth-signin-redirect-param", "a b", "1 to 64 letters"),
        ("auth-request-headers", "X A", "names of headers"),
        ("auth-response-headers", "Content-Length", "names of headers"),
        ("auth-client-headers", "X-Haptic-A", "names of headers"),
        ("balance", "fastest", "it must be one of roundrobin, leastconn, random, source"),
        ("cors-allow-origin", "shop.example", "origins such as"),
        ("deny-from", "all", "networks such as"),
        ("hsts-max-age", "1y", "a number of seconds"),
        ("max-body-size", "10MB", "a size such as"),
        ("max-connections", "0", "a number of connections"),
        ("min-tls-version", "1.3", "TLSv1.2 or TLSv1.3"),
        ("protocol", "ftp", "h1, h2, https or h2s"),
        ("rate-limit", "-1", "a number of requests"),
        ("redirect-to", "javascript:x", "a URL or path"),
        ("request-headers", "no colon", "lines of NAME: VALUE"),
        ("request-headers", "transfer-encoding: chunked", "without transfer-encoding"),
        ("request-headers", "Connection: X-Real-IP", "without Connection"),
        ("response-headers", "Content-Length: 5", "without Content-Length"),
        ("request-headers", "X-Haptic-Auth: yes", "without X-Haptic-Auth"),
        ("response-headers", "Bad Name: x", "lines of NAME: VALUE"),
        ("retries", "many", "a number from 0 to 10"),
        ("retries", "11", "a number from 0 to 10"),
        ("cors-max-age", "1h", "a number of seconds"),
        ("auth-realm", "My \"Realm\"", "without quotes, backslashes and control characters"),
        ("retry", "always", "idempotent or all"),
        ("rewrite-path", "new", "a path that begins with /"),
        ("rewrite-regex", "^/a", "given together with rewrite-replacement"),
        ("rewrite-regex", "(", "it must be a regular expression: unclosed group"),
        ("rewrite-regex", "(a+)+b", "must not go back and forth"),
        ("rewrite-regex", "a*", "must not match the empty path"),
        ("rewrite-replacement", "/a", "given together with rewrite-regex"),
        ("ssl-redirect", "yes", "true, false or always"),
        ("timeout-connect", "-1s", "a time such as"),
        ("timeout-queue", "soon", "a time such as"),
        ("timeout-server", "30 seconds", "a time such as"),
        ("timeout-server", "30", "30 what? Write 30s"),
        ("timeout-server", "25h", "up to 24h"),
        ("timeout-tunnel", "0", "longer than 0"),
    ];
    for (option, value, expected) in wrong {
        // These mean something beside others only.
        let beside = match option {
            "cors-max-age" => ("cors-allow-origin", "*"),
            "auth-realm" => ("auth-secret", "users"),
            "auth-signin-redirect-param" => ("auth-signin", "/login"),
            "rewrite-regex" if value != "^/a" => ("rewrite-replacement", "/x"),
            _ => (option, value),
        };
        let mut manifests = both(&[(option, value), beside]);
        manifests.push(users());
        let problems = rendered_alone(&manifests).expect_err(option);
        let said = sentences(&problems);
        assert!(said.contains(expected), "{option}={value}: {said}");
        assert!(said.contains(&format!("annotation haproxy-haptic.org/{option}")), "{option}: {said}");
        assert!(problems.iter().all(|p| p.object.as_ref().is_some_and(|o| &*o.name == "on")), "{said}");
    }
}

#[test]
fn what_leads_nowhere_and_what_others_read_is_told() {
    let mut manifests = both(&[("ssl-redirect", "true")]);
    manifests[0]["metadata"]["annotations"]["nginx.ingress.kubernetes.io/rewrite-target"] = json!("/");
    manifests[0]["spec"].as_object_mut().unwrap().remove("tls");
    *manifests[0].pointer_mut("/spec/rules/0/http/paths/0/backend/service/name").unwrap() = json!("nonesuch");
    *manifests[1].pointer_mut("/spec/rules/0/http/paths/0/backend/service/port").unwrap() =
        json!({"number": 81});
    let (_, warnings) = rendered_alone(&manifests).unwrap_or_else(|e| panic!("{}", sentences(&e)));
    let said = sentences(&warnings);
    for part in [
        "a.example/on (Prefix) leads to Service nonesuch, which is not there: such requests get 503; object ingresses shop/on",
        "a.example/off (Prefix) leads to port 81 of Service s2, which has 80 (web): such requests get 503",
        "nginx.ingress.kubernetes.io/rewrite-target (here rewrite-path",
        "haproxy-haptic.org/ssl-redirect has no effect over HTTP, and spec.tls has no host",
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }
}

#[test]
fn an_annotation_that_means_nothing_is_told() {
    let (_, warnings) =
        rendered_alone(&both(&[("timeout-servr", "1s")])).unwrap_or_else(|e| panic!("{}", sentences(&e)));
    let said = sentences(&warnings);
    let expected = r#"there is no annotation haproxy-haptic.org/timeout-servr (did you mean "timeout-server"?), it is ignored"#;
    assert!(said.contains(expected), "{said}");
}
