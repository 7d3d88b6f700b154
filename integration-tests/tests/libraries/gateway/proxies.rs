//! Behind a proxy that ends TLS and is trusted: what it says of a client counts at listeners of Gateways.

use super::{GatewaySite, around, gateway, listener, route, secret, to};
use crate::SERIES;
use serde_json::{Value, json};

const OVER_HTTPS: &str = "X-Forwarded-Proto: https\r\n";

/// Listeners for HTTP at the ports 80 and 8080, for HTTPS at 8443, and one route with these rules.
fn manifests(rules: Value) -> Vec<Value> {
    let mut more = listener("more", None);
    more["port"] = 8080.into();
    let mut https = listener("https", Some("a.example"));
    (https["port"], https["protocol"]) = (8443.into(), "HTTPS".into());
    https["tls"] = json!({"certificateRefs": [{"name": "cert"}]});
    let mut all = around();
    all.push(gateway("gw", json!([listener("http", None), more, https])));
    all.push(secret("edge", "cert", "a.example"));
    all.push(route("r", &[], rules));
    all
}

/// Asks a site of each HAProxy with these settings, of which the proxy is one that is trusted if `trusts` is so.
fn on_each(rules: Value, trusts: bool, settings: &Value, ask: impl Fn(&GatewaySite)) {
    let manifests = manifests(rules);
    let change = |spec: &mut Value| {
        let context = &mut spec["templatingSettings"]["extraContext"];
        context["trustedProxies"] = if trusts { json!(["127.0.0.1"]) } else { json!([]) };
        for (name, value) in settings.as_object().unwrap() {
            context[name.as_str()] = value.clone();
        }
    };
    for series in SERIES {
        ask(&GatewaySite::start_with(series, &manifests, change));
    }
}

#[test]
fn what_a_class_asks_of_tls_is_asked_of_the_client() {
    let enforced = json!({"routes": {"enforced": {"min-tls-version": "TLSv1.2", "hsts-max-age": "9"}}});
    for trusts in [true, false] {
        on_each(json!([{"backendRefs": to(1)}]), trusts, &enforced, |site| {
            for (headers, is_served) in
                [(OVER_HTTPS, trusts), ("X-Forwarded-Proto: http\r\n", false), ("", false)]
            {
                let answer = site.ask(80, None, "GET", "a.example", "/", headers);
                let told = (answer.status, answer.header("strict-transport-security"));
                let expected = if is_served { (200, Some("max-age=9")) } else { (403, None) };
                assert_eq!(told, expected, "{headers:?}, trusted: {trusts}");
            }
            let over_tls = site.ask(8443, Some("a.example"), "GET", "a.example", "/", "");
            let told = (over_tls.status, over_tls.header("strict-transport-security"));
            assert_eq!(told, (200, Some("max-age=9")));
        });
    }
}

#[test]
fn a_redirect_without_a_scheme_keeps_the_clients() {
    let redirect = |path: &str, redirect: Value| json!({"matches": [{"path": {"value": path}}], "filters": [{"type": "RequestRedirect", "requestRedirect": redirect}]});
    let rules = || {
        json!([
            redirect("/host", json!({"hostname": "b.example"})),
            redirect("/http", json!({"scheme": "http"})),
            redirect("/https", json!({"scheme": "https"})),
            redirect("/port", json!({"port": 81})),
        ])
    };
    let location = |site: &GatewaySite, port: u16, sni: Option<&str>, path: &str, headers: &str| {
        let answer = site.ask(port, sni, "GET", "a.example", path, headers);
        assert_eq!(answer.status, 302, "{answer:?}");
        answer.header("location").unwrap_or_default().to_owned()
    };
    for (public, suffix) in [(443, ""), (9443, ":9443")] {
        on_each(rules(), true, &json!({"httpsPublicPort": public}), |site| {
            for port in [80, 8080] {
                for (path, expected) in [
                    ("/host", format!("https://b.example{suffix}/host")),
                    ("/http", "http://a.example/http".to_owned()),
                    ("/https", "https://a.example/https".to_owned()),
                    ("/port", "https://a.example:81/port".to_owned()),
                ] {
                    assert_eq!(location(site, port, None, path, OVER_HTTPS), expected, "{port} {path}");
                }
            }
            assert_eq!(location(site, 80, None, "/host", ""), "http://b.example/host");
            assert_eq!(location(site, 8080, None, "/host", ""), "http://b.example:8080/host");
            let over_tls = location(site, 8443, Some("a.example"), "/host", OVER_HTTPS);
            assert_eq!(over_tls, "https://b.example:8443/host");
        });
    }
    // Anybody may say so.
    on_each(rules(), false, &json!({}), |site| {
        assert_eq!(location(site, 80, None, "/host", OVER_HTTPS), "http://b.example/host");
    });
}

#[test]
fn servers_are_told_the_listeners_port_unless_a_trusted_proxy_says_another_one() {
    let settings = json!({"forwardedHeaders": ["port"], "httpPublicPort": 81, "httpsPublicPort": 444});
    let says_port = "X-Forwarded-Port: 9000\r\n";
    let says_both = format!("{OVER_HTTPS}{says_port}");
    for trusts in [true, false] {
        on_each(json!([{"backendRefs": to(1)}]), trusts, &settings, |site| {
            let (https, own) = if trusts { ("444", "9000") } else { ("8080", "8080") };
            for (headers, expected) in
                [("", "8080"), (OVER_HTTPS, https), (says_port, own), (says_both.as_str(), own)]
            {
                let answer = site.ask(8080, None, "GET", "a.example", "/", headers);
                assert_eq!(answer.sent("x-forwarded-port"), Some(expected), "{headers:?}, trusted: {trusts}");
            }
            let plain = site.ask(80, None, "GET", "a.example", "/", "");
            let over_tls = site.ask(8443, Some("a.example"), "GET", "a.example", "/", "");
            let told = [plain, over_tls].map(|answer| answer.sent("x-forwarded-port").map(str::to_owned));
            assert_eq!(told, [Some("80".to_owned()), Some("8443".to_owned())]);
        });
    }
}
