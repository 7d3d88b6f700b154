//! Passwords: every kind of hash that a Secret may have, by requests, and what wrong ones cost.

use crate::{
    SERIES,
    client::Answer,
    on_each_haproxy,
    options::{both, certificate},
    site::{Scheme, Site, rendered_alone, rendered_for, sentences},
};
use base64::{Engine, engine::general_purpose::STANDARD as BASE64};
use serde_json::{Map, Value, json};

fn secret(entries: &[(&str, &str)]) -> Value {
    let data: Map<String, Value> =
        entries.iter().map(|(name, text)| ((*name).to_owned(), json!(BASE64.encode(text)))).collect();
    json!({"kind": "Secret", "metadata": {"namespace": "shop", "name": "users", "labels": {"haproxy-haptic.org/use": "yes"}},
        "data": data})
}

fn protected(users: Value) -> Vec<Value> {
    let mut manifests = both(&[("auth-secret", "users")]);
    manifests.extend([users, certificate()]);
    manifests
}

fn with(site: &Site, credentials: &str) -> Answer {
    let header = format!("Authorization: Basic {}\r\n", BASE64.encode(credentials));
    site.ask(Scheme::Http, "GET", "a.example", "/on", &header, "")
}

/// Users, their hashes by `openssl passwd` and `htpasswd`, and their passwords.
const USERS: [(&str, &str, &str); 9] = [
    ("six", "$5$salt$kpa26zwgX83BPSR8d7w93OIXbFt/d3UOTZaAu5vsTM6", "secret"),
    ("apr", "$apr1$salt1234$G61s9lpZAELkzUFCbj/53/", "secret"),
    ("long", "$apr1$x$IGg4f7B/u5w9pSv2.ODOK/", "a longer password: with äöü, and more than sixteen bytes"),
    ("one", "$apr1$abcdefgh$82JubPF2dQkt1tVfvLnXS.", "x"),
    ("sha", "{SHA}5en6G6MezRroT3XKqkdPOmY/BfQ=", "secret"),
    ("bcrypt", "$2y$05$abcdefghijklmnopqrstuuOQiyCxlgf/oeuTqixKmWdcYUh4Hjl0a", "secret"),
    ("plain", "{PLAIN}it's \"my\" $HOME %[src] #1", "it's \"my\" $HOME %[src] #1"),
    ("md5", "$1$salt$ez2vlPGdaLYkJam5pWs/Y1", "secret"),
    ("a/b", "{SHA}5en6G6MezRroT3XKqkdPOmY/BfQ=", "secret"),
];

#[test]
fn every_kind_of_password_lets_its_user_in() {
    let lines: String = USERS.iter().map(|(name, hash, _)| format!("{name}:{hash}\n")).collect();
    let entries: Vec<(&str, &str)> =
        USERS.iter().filter(|(name, ..)| !name.contains('/')).map(|(name, hash, _)| (*name, *hash)).collect();
    for (users, secret) in [(&USERS[..], secret(&[("auth", &lines)])), (&USERS[..8], secret(&entries))] {
        on_each_haproxy(&protected(secret), |site| {
            for (name, _, password) in users {
                // The second time it is remembered.
                for _ in 0..2 {
                    let answer = with(site, &format!("{name}:{password}"));
                    assert_eq!(answer.service(), Some(1), "{name}: {answer:?}");
                }
                for wrong in
                    [format!("{name}:{password}x"), format!("{name}:"), format!("{name}x:{password}")]
                {
                    let status = with(site, &wrong).status;
                    assert!(matches!(status, 401 | 429), "{wrong} {status}");
                }
            }
            let stranger = site.get(Scheme::Http, "a.example", "/on");
            assert_eq!((stranger.status, stranger.service()), (401, None));
            assert_eq!(site.get(Scheme::Http, "a.example", "/off").service(), Some(2));
        });
    }
}

#[test]
fn of_several_passwords_none_is_tried() {
    for hash in ["{SHA}5en6G6MezRroT3XKqkdPOmY/BfQ=", "$5$salt$kpa26zwgX83BPSR8d7w93OIXbFt/d3UOTZaAu5vsTM6"] {
        on_each_haproxy(&protected(secret(&[("auth", &format!("anna:{hash}\n"))])), |site| {
            let header =
                |credentials: &str| format!("Authorization: Basic {}\r\n", BASE64.encode(credentials));
            let long = header(&format!("anna:{}", "a".repeat(4_000)));
            let right = header("anna:secret");
            for headers in [&long, &right].map(|first| [format!("{first}{right}"), format!("{first}{long}")])
            {
                for headers in headers {
                    let answer = site.ask(Scheme::Http, "GET", "a.example", "/on", &headers, "");
                    assert_eq!((answer.status, answer.service()), (400, None), "{} bytes", headers.len());
                }
            }
            assert_eq!(site.ask(Scheme::Http, "GET", "a.example", "/on", &long, "").status, 401);
            assert_eq!(with(site, "anna:secret").service(), Some(1));
        });
    }
}

#[test]
fn who_guesses_passwords_is_sent_away_and_others_are_not() {
    let mut manifests = protected(secret(&[("auth", "sha:{SHA}5en6G6MezRroT3XKqkdPOmY/BfQ=\n")]));
    manifests[0]["metadata"]["annotations"]["haproxy-haptic.org/auth-realm"] = json!("x");
    on_each_haproxy(&manifests, |site| {
        let statuses: Vec<u16> = (0..25).map(|n| with(site, &format!("sha:{n}")).status).collect();
        assert_eq!((statuses[0], statuses[19], statuses[24]), (401, 401, 429), "{statuses:?}");
        assert_eq!(with(site, "sha:secret").status, 429, "not even by the right one, for a while");
        assert_eq!(with(site, "nobody:x").status, 401);
        assert_eq!(site.get(Scheme::Http, "a.example", "/on").status, 401);
    });
}

/// Manifests of another namespace, whose site is at `evil.example` and has users of its own.
fn of_another_namespace(secret: &Value) -> Vec<Value> {
    let mut users = secret.clone();
    users["metadata"]["namespace"] = json!("evil");
    let annotations = json!({"haproxy-haptic.org/auth-secret": "users"});
    let ingress = json!({"kind": "Ingress", "metadata": {"namespace": "evil", "name": "on", "annotations": annotations},
        "spec": {"rules": [{"host": "evil.example", "http": {"paths": [{"path": "/", "pathType": "Prefix",
            "backend": {"service": {"name": "s1", "port": {"number": 80}}}}]}}]}});
    vec![users, ingress]
}

#[test]
fn wrong_passwords_of_another_namespaces_site_lock_nobody_out() {
    let users = secret(&[("auth", "sha:{SHA}5en6G6MezRroT3XKqkdPOmY/BfQ=\n")]);
    let mut manifests = of_another_namespace(&users);
    manifests.extend(protected(users));
    on_each_haproxy(&manifests, |site| {
        let at = |host: &str, credentials: &str| {
            let header = format!("Authorization: Basic {}\r\n", BASE64.encode(credentials));
            site.ask(Scheme::Http, "GET", host, "/on", &header, "")
        };
        for n in 0..25 {
            at("evil.example", &format!("sha:{n}"));
        }
        assert_eq!(at("evil.example", "sha:secret").status, 429);
        assert_eq!(at("a.example", "sha:secret").service(), Some(1));
        for n in 0..25 {
            at("a.example", &format!("sha:{n}"));
        }
        assert_eq!(at("a.example", "sha:secret").status, 429, "the namespace's own are counted");
    });
}

#[test]
fn what_lua_checks_changes_without_a_reload() {
    for series in SERIES {
        let config = |users: &str| {
            let (bundle, _) = rendered_for(series, &protected(secret(&[("auth", users)]))).unwrap();
            (bundle.config.text.to_string(), bundle.all().count())
        };
        let one = config("sha:{SHA}5en6G6MezRroT3XKqkdPOmY/BfQ=\n");
        assert_eq!(
            one,
            config("sha:{SHA}5en6G6MezRroT3XKqkdPOmY/BfQ=\nother:{SHA}2jmj7l5rSw0yVb/vlWAYkK/YBwk=\n")
        );
        assert_ne!(one, config("plain:{PLAIN}x\n"));
    }
}

#[test]
fn a_password_that_nobody_can_check_is_told_with_its_user_and_kind() {
    let users = "good:{SHA}5en6G6MezRroT3XKqkdPOmY/BfQ=\nbad:{SSHA}c2VrcmV0\nworse:sekret\n";
    let (_, warnings) = rendered_alone(&protected(secret(&[("auth", users)]))).unwrap();
    let said = sentences(&warnings);
    for word in ["shop/users", "user bad (line 2)", "{SSHA}", "user worse (line 3)", "plain text"] {
        assert!(said.contains(word), "{word}: {said}");
    }
    assert!(!said.contains("sekret") && !said.contains("c2Vr"), "{said}");
}
