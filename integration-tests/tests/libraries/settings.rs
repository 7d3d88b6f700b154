//! Settings of the libraries that clients, and who reads logs, depend on: asked by requests, what they print is looked at nowhere.

use crate::{
    client::{ask, converse},
    on_each_haproxy_with,
    options::{both, certificate},
    site::{Scheme, Site},
};
use base64::{Engine, engine::general_purpose::STANDARD as BASE64};
use integration_tests::{certificate::for_host, http::client_config_with};
use serde_json::{Value, json};
use std::sync::Arc;

const HOST: &str = "a.example";

fn with(settings: Value) -> impl Fn(&mut Value) {
    move |spec| {
        for (name, value) in settings.as_object().unwrap() {
            spec["templatingSettings"]["extraContext"][name] = value.clone();
        }
    }
}

fn manifests() -> Vec<Value> {
    let mut all = both(&[]);
    all.push(certificate());
    all
}

#[test]
fn a_line_of_the_log_is_json_whatever_a_request_holds() {
    on_each_haproxy_with(&manifests(), with(json!({"accessLog": "json"})), |site| {
        for (number, (path, id)) in [
            ("/on", "plain"),
            ("/on?x=\"},{\"status\":200,\"x\":\"", "\"},{\"client\":\"10.0.0.1"),
            ("/on?back\\slash", "back\\slash\\"),
            ("/on?percent=%22%0a%25[src]", "%[src]%ci"),
        ]
        .into_iter()
        .enumerate()
        {
            let headers = format!("X-Request-Id: {number} {id}\r\n");
            assert_eq!(site.ask(Scheme::Http, "GET", HOST, path, &headers, "").status, 200, "{path}");
            let lines = site.logs(&format!("\"id\":\"{number} "));
            let line = lines.lines().rfind(|line| line.contains(&format!("\"id\":\"{number} "))).unwrap();
            let logged: Value = serde_json::from_str(line).unwrap_or_else(|e| panic!("{e}: {line}"));
            assert_eq!(
                (&logged["host"], &logged["path"], &logged["id"]),
                (&json!(HOST), &json!(path), &json!(format!("{number} {id}"))),
                "{line}"
            );
            assert_eq!((&logged["client"], &logged["status"]), (&json!("127.0.0.1"), &json!(200)), "{line}");
        }
    });
}

#[test]
fn a_client_of_an_older_tls_version_than_the_setting_gets_no_session() {
    let old = vec![rustls::crypto::ring::cipher_suite::TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256];
    let old = Arc::new(client_config_with(old).unwrap());
    for (version, comes_in) in [("TLSv1.2", true), ("TLSv1.3", false)] {
        on_each_haproxy_with(&manifests(), with(json!({"sslMinVersion": version})), |site| {
            let mut way = site.way(Scheme::Https, HOST);
            way.tls = Some((HOST, Arc::clone(&old)));
            let answered = ask(&way, &format!("GET /on HTTP/1.1\r\nHost: {HOST}\r\n"), "").is_ok();
            assert_eq!(answered, comes_in, "{version}");
            assert_eq!(site.get(Scheme::Https, HOST, "/on").status, 200, "{version}");
        });
    }
}

#[test]
fn where_there_is_no_default_certificate_an_unknown_host_gets_no_session() {
    let asks = |site: &Site, name: &str| {
        let head = format!("GET /on HTTP/1.1\r\nHost: {name}\r\n");
        ask(&site.way(Scheme::Https, name), &head, "").is_ok()
    };
    on_each_haproxy_with(&manifests(), with(json!({"defaultCertificate": "none"})), |site| {
        assert_eq!((asks(site, HOST), asks(site, "unknown.example")), (true, false));
    });
    on_each_haproxy_with(
        &manifests(),
        |_| {},
        |site| {
            assert!(asks(site, "unknown.example"), "with one it does");
        },
    );
}

#[test]
fn the_default_certificate_may_be_that_of_any_labelled_secret() {
    let own = for_host("default.example").unwrap();
    let labels = json!({"haproxy-haptic.org/use": "certificate"});
    let mut all = manifests();
    all.push(json!({"kind": "Secret", "type": "Opaque",
        "metadata": {"namespace": "edge", "name": "labelled", "labels": labels},
        "data": {"tls.crt": BASE64.encode(&own.pem), "tls.key": BASE64.encode(&own.key)}}));
    let of_it = with(json!({"defaultCertificate": {"namespace": "edge", "name": "labelled"}}));
    on_each_haproxy_with(&all, of_it, |site| {
        let (name, head) = ("unknown.example", "GET /on HTTP/1.1\r\nHost: unknown.example\r\n");
        let (_, shown) = converse(&site.way(Scheme::Https, name), head, "").unwrap();
        assert_eq!(shown, Some(own.der.clone()));
    });
}

#[test]
fn who_finds_no_route_or_no_server_gets_a_page_that_is_kept_nowhere() {
    let mut all = manifests();
    all[0]["spec"]["rules"][0]["http"]["paths"][0]["backend"]["service"]["name"] = json!("nonesuch");
    on_each_haproxy_with(
        &all,
        |_| {},
        |site| {
            for (path, status, words) in [
                ("/nowhere", 404, "There is no route for this host and path."),
                ("/on", 503, "There is no ready endpoint behind this route."),
            ] {
                let answer = site.get(Scheme::Http, HOST, path);
                assert_eq!((answer.status, answer.body.trim()), (status, words));
                let headers = ["content-type", "cache-control"].map(|name| answer.header(name));
                assert_eq!(headers, [Some("text/plain"), Some("no-cache")], "{answer:?}");
            }
        },
    );
}

#[test]
fn a_server_that_is_silent_for_longer_than_the_setting_is_given_up() {
    on_each_haproxy_with(&manifests(), with(json!({"timeouts": {"server": "200ms"}})), |site| {
        assert_eq!(site.get(Scheme::Http, HOST, "/on/never").status, 504);
        assert_eq!(site.get(Scheme::Http, HOST, "/on").status, 200);
    });
}
