//! Secrets that are there and cannot be used: what they protect lets nobody in, and everybody else is served.

use crate::{
    client::Answer,
    on_each_haproxy,
    options::{both, certificate},
    site::{Scheme, Site},
};
use base64::{Engine, engine::general_purpose::STANDARD as BASE64};
use serde_json::{Value, json};

const HOST: &str = "a.example";

fn secret(label: bool, key: &str, value: &str) -> Value {
    let labels = if label { json!({"haproxy-haptic.org/use": "yes"}) } else { json!({}) };
    json!({"kind": "Secret", "metadata": {"namespace": "shop", "name": "broken", "labels": labels},
        "data": {key: BASE64.encode(value)}})
}

/// Asks the Ingress with this annotation, which names `secret`; that beside it is served.
fn asked(option: &str, secret: Value, headers: &str, check: impl Fn(Scheme, Answer)) {
    let mut manifests = both(&[(option, "broken")]);
    manifests.extend([certificate(), secret]);
    on_each_haproxy(&manifests, |site: &Site| {
        for scheme in [Scheme::Http, Scheme::Https] {
            check(scheme, site.ask(scheme, "GET", HOST, "/on", headers, ""));
            assert_eq!(site.get(scheme, HOST, "/off").service(), Some(2), "{option} {scheme:?}");
        }
    });
}

#[test]
fn without_a_user_that_can_be_read_nobody_comes_in() {
    let anna = format!("Authorization: Basic {}\r\n", BASE64.encode("anna:secret"));
    let good = "anna:$5$salt$kpa26zwgX83BPSR8d7w93OIXbFt/d3UOTZaAu5vsTM6\n";
    asked("auth-secret", secret(true, "auth", good), &anna, |_, answer| {
        assert_eq!(answer.service(), Some(1), "with a good one she does");
    });
    for (what, broken) in [
        ("another key", secret(true, "users", good)),
        ("nothing", secret(true, "auth", "")),
        ("a password in clear", secret(true, "auth", "anna:secret\n")),
        ("a kind of hash that HAProxy does not know", secret(true, "auth", "anna:$apr1$x$y\n")),
        ("no name", secret(true, "auth", ":$5$salt$kpa26zwgX83BPSR8d7w93OIXbFt/d3UOTZaAu5vsTM6\n")),
        ("no label", secret(false, "auth", good)),
    ] {
        asked("auth-secret", broken, &anna, |_, answer| {
            assert!(matches!(answer.status, 401 | 503), "{what}: {answer:?}");
        });
    }
}

#[test]
fn without_a_ca_that_can_be_read_nobody_comes_in_and_no_server_is_trusted() {
    let chain = "-----BEGIN CERTIFICATE-----\nbm90IG9uZQ==\n-----END CERTIFICATE-----\n";
    for broken in ["", "not PEM", chain] {
        asked("client-ca-secret", secret(true, "ca.crt", broken), "", |_, answer| {
            assert_eq!(answer.status, 403, "{broken:?}: {answer:?}");
        });
        asked("server-ca-secret", secret(true, "ca.crt", broken), "", |_, answer| {
            assert_eq!(answer.status, 503, "{broken:?}: {answer:?}");
        });
    }
}
