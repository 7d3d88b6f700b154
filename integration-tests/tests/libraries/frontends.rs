//! What clients see of a host before any request: certificates of labelled Secrets, ciphers, versions, protocols, HTTP/3; and what of requests is logged.

use crate::{
    around::Around,
    client::{Way, ask, converse},
    on_each_haproxy, on_each_haproxy_with,
    options::{both, certificate},
    site::{SCHEMES, Scheme, Site, rendered_alone, sentences},
};
use base64::{Engine, engine::general_purpose::STANDARD as BASE64};
use integration_tests::{
    certificate::{Authority, for_host},
    http::{client_config, client_config_with},
};
use rustls::{
    CipherSuite, ClientConnection,
    crypto::ring::cipher_suite::{
        TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256, TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384,
    },
    pki_types::ServerName,
};
use serde_json::{Value, json};
use std::{net::TcpStream, sync::Arc};

const HOST: &str = "a.example";

/// Whether a client that knows only that cipher of TLS 1.2 gets an answer.
fn answers_over(site: &Site, cipher: rustls::SupportedCipherSuite) -> bool {
    let config = Arc::new(client_config_with(vec![cipher]).unwrap());
    let way = Way { tls: Some((HOST, config)), ..site.way(Scheme::Https, HOST) };
    assert_ne!(cipher.suite(), CipherSuite::TLS13_AES_128_GCM_SHA256);
    ask(&way, &format!("GET /on HTTP/1.1\r\nHost: {HOST}\r\n"), "").is_ok_and(|answer| answer.status == 200)
}

/// The protocol that is chosen of some.
fn chosen_of(site: &Site, protocols: &[&str]) -> String {
    let mut config = client_config().unwrap();
    config.alpn_protocols = protocols.iter().map(|protocol| protocol.as_bytes().to_vec()).collect();
    let name = ServerName::try_from(HOST).unwrap();
    let mut tls = ClientConnection::new(Arc::new(config), name).unwrap();
    let mut tcp = TcpStream::connect(site.address(Scheme::Https)).unwrap();
    while tls.is_handshaking() {
        tls.complete_io(&mut tcp).unwrap();
    }
    String::from_utf8(tls.alpn_protocol().unwrap_or_default().to_vec()).unwrap()
}

#[test]
fn a_labelled_secret_of_any_type_brings_a_certificate() {
    let own = for_host(HOST).unwrap();
    let secret = |labelled: bool| {
        let mut secret = json!({"kind": "Secret", "type": "Opaque",
            "metadata": {"namespace": "shop", "name": "a-tls", "labels": {"haproxy-haptic.org/use": "tls"}},
            "data": {"tls.crt": BASE64.encode(&own.pem), "tls.key": BASE64.encode(&own.key)}});
        if !labelled {
            secret["metadata"]["namespace"] = json!("other");
        }
        secret
    };
    for labelled in [true, false] {
        let mut manifests = both(&[]);
        manifests.push(secret(labelled));
        on_each_haproxy(&manifests, |site| {
            let way = site.way(Scheme::Https, HOST);
            let head = format!("GET /on HTTP/1.1\r\nHost: {HOST}\r\n");
            let (answer, shown) = converse(&way, &head, "").unwrap();
            let der = own.pem.lines().filter(|line| !line.starts_with('-')).collect::<String>();
            assert_eq!(answer.service(), Some(1));
            assert_eq!(shown == BASE64.decode(der).ok(), labelled);
        });
    }
}

#[test]
fn a_host_has_ciphers_versions_and_protocols_of_its_own() {
    let (weak, strong) = (TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256, TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384);
    for (option, over_weak, over_strong) in [
        (("tls-ciphers", "ECDHE-ECDSA-AES256-GCM-SHA384"), false, true),
        (("tls-min-version", "TLSv1.3"), false, false),
        (("tls-min-version", "TLSv1.2"), true, true),
        (("tls-alpn", "http/1.1"), true, true),
    ] {
        let mut manifests = both(&[option]);
        // Both Ingresses bring the same certificate: that of the host counts.
        manifests[1]["spec"]["tls"] = json!(null);
        manifests.push(certificate());
        on_each_haproxy(&manifests, |site| {
            assert_eq!(
                (answers_over(site, weak), answers_over(site, strong)),
                (over_weak, over_strong),
                "{option:?}"
            );
            assert_eq!(site.get(Scheme::Https, HOST, "/on").service(), Some(1));
            let spoken = if option.0 == "tls-alpn" { "http/1.1" } else { "h2" };
            assert_eq!(chosen_of(site, &["h2", "http/1.1"]), spoken, "{option:?}");
        });
    }
    // A client may name another host in the handshake; then the request is refused.
    let mut manifests = both(&[("tls-min-version", "TLSv1.3")]);
    let mut other = manifests[1].clone();
    (other["metadata"]["name"], other["spec"]["rules"][0]["host"]) = (json!("other"), json!("b.example"));
    (other["spec"]["tls"], manifests[1]["spec"]["tls"]) = (json!([{"hosts": ["b.example"]}]), json!(null));
    manifests.extend([other, certificate()]);
    on_each_haproxy(&manifests, |site| {
        let config = Arc::new(client_config_with(vec![weak]).unwrap());
        let way = Way { tls: Some(("b.example", config)), ..site.way(Scheme::Https, HOST) };
        let over =
            |path: &str| ask(&way, &format!("GET {path} HTTP/1.1\r\nHost: {HOST}\r\n"), "").unwrap().status;
        assert_eq!((over("/on"), over("/off")), (403, 200));
    });
    for (option, wrong) in [
        ("tls-ciphers", "RC4-MD5"),
        ("tls-ciphers", "ALL:!aNULL"),
        ("tls-alpn", "h3"),
        ("tls-min-version", "TLSv1.0"),
    ] {
        let said = sentences(&rendered_alone(&both(&[(option, wrong)])).expect_err(wrong));
        assert!(said.contains(option) && said.contains("it must be"), "{said}");
    }
}

#[test]
fn clients_speak_http_3_where_that_is_set() {
    let mut manifests = both(&[("response-headers", "X-From: ${client-address} ${tls-version}")]);
    manifests.push(certificate());
    let authority = Authority::new("clients").unwrap();
    for on in [true, false] {
        let setting = |spec: &mut Value| spec["templatingSettings"]["extraContext"]["http3"] = json!(on);
        on_each_haproxy_with(&manifests, setting, |site| {
            let told = site.get(Scheme::Https, HOST, "/on").header("alt-svc").map(str::to_owned);
            assert_eq!(told.as_deref(), on.then_some("h3=\":443\"; ma=3600"));
            assert_eq!(site.get(Scheme::Http, HOST, "/on").header("alt-svc"), None);
            if on {
                let client = Around::over_http3(&authority, site.address(Scheme::Https), HOST);
                let way = Way::to(client.over_h2(), None);
                let head = format!("GET /on/x HTTP/1.1\r\nHost: {HOST}\r\n");
                let answer = ask(&way, &head, "").unwrap();
                assert_eq!((answer.service(), answer.header("x-from")), (Some(1), Some("127.0.0.1 TLSv1.3")));
                assert_eq!(answer.sent("x-forwarded-proto"), Some("https"));
            }
        });
    }
    let said = crate::site::refused_with(|spec| {
        let context = &mut spec["templatingSettings"]["extraContext"];
        (context["http3"], context["proxyProtocol"]) = (json!(true), json!(true));
    });
    assert!(said.contains("http3 and proxyProtocol are both true"), "{said}");
}

#[test]
fn http_3_is_not_offered_where_an_ingress_says_what_its_hosts_speak() {
    let mut manifests = both(&[("tls-alpn", "http/1.1")]);
    manifests.push(certificate());
    let setting = |spec: &mut Value| spec["templatingSettings"]["extraContext"]["http3"] = json!(true);
    on_each_haproxy_with(&manifests, setting, |site| {
        assert_eq!(site.get(Scheme::Https, HOST, "/on").header("alt-svc"), None);
        assert!(site.get(Scheme::Https, HOST, "/off").header("alt-svc").is_some());
    });
}

#[test]
fn requests_of_an_ingress_are_not_logged_where_that_is_asked_for() {
    let mut manifests = both(&[("access-log", "false")]);
    manifests.push(certificate());
    let log = |spec: &mut Value| spec["templatingSettings"]["extraContext"]["accessLog"] = json!("json");
    on_each_haproxy_with(&manifests, log, |site| {
        for scheme in SCHEMES {
            assert_eq!(site.get(scheme, HOST, "/on/unseen").service(), Some(1));
            assert_eq!(site.get(scheme, HOST, &format!("/off/{scheme:?}")).service(), Some(2));
            let all = site.logs(&format!("off\\/{scheme:?}\""));
            assert!(!all.contains("unseen"), "{all}");
        }
    });
}

#[test]
fn pages_of_the_internet_may_ask_a_private_network_where_that_is_allowed() {
    for (allowed, told) in [("true", Some("true")), ("false", None)] {
        let mut manifests =
            both(&[("cors-allow-origin", "https://shop.example"), ("cors-allow-private-network", allowed)]);
        manifests.push(certificate());
        on_each_haproxy(&manifests, |site| {
            let preflight = |origin: &str, more: &str| {
                let headers = format!("Origin: {origin}\r\nAccess-Control-Request-Method: GET\r\n{more}");
                let answer = site.ask(Scheme::Https, "OPTIONS", HOST, "/on", &headers, "");
                answer.header("access-control-allow-private-network").map(str::to_owned)
            };
            let asked = "Access-Control-Request-Private-Network: true\r\n";
            assert_eq!(preflight("https://shop.example", asked).as_deref(), told);
            assert_eq!(preflight("https://shop.example", ""), None);
            assert_eq!(preflight("https://evil.example", asked), None);
        });
    }
}

#[test]
fn scripts_of_origins_that_an_expression_says_may_read_answers() {
    let options = [
        ("cors-allow-origin", "https://listed.example"),
        ("cors-allow-origin-regex", "https://(a|b{2})-[0-9]+[.]shop[.]example"),
    ];
    let mut manifests = both(&options);
    manifests.push(certificate());
    on_each_haproxy(&manifests, |site| {
        for (origin, is_allowed) in [
            ("https://a-1.shop.example", true),
            ("https://bb-17.shop.example", true),
            ("https://listed.example", true),
            ("https://a-1.shop.example.evil", false),
            ("xhttps://a-1.shop.example", false),
            ("https://b-1.shop.example", false),
            ("https://a-1xshop.example", false),
            ("null", false),
        ] {
            let answer = site.ask(Scheme::Https, "GET", HOST, "/on", &format!("Origin: {origin}\r\n"), "");
            assert_eq!(answer.service(), Some(1));
            assert_eq!(
                answer.header("access-control-allow-origin"),
                is_allowed.then_some(origin),
                "{origin}"
            );
            assert_eq!(answer.header("vary"), Some("Origin"));
        }
        assert_eq!(site.get(Scheme::Http, HOST, "/off").header("vary"), None);
    });
    for wrong in ["(a+)+b", "(", "[", ".*.*.*x"] {
        let options = [options[0], ("cors-allow-origin-regex", wrong)];
        assert!(
            sentences(&rendered_alone(&both(&options)).expect_err(wrong)).contains("cors-allow-origin-regex")
        );
    }
    assert!(rendered_alone(&both(&options[1..])).is_err(), "it goes with the list");
}
