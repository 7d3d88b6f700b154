//! What speaks to a site, and what it speaks to: HTTP/2, TLS, the PROXY protocol, IPv6.

use crate::{
    around::{Around, both_kinds, service},
    client::{Way, ask, converse},
    echo, on_each_haproxy, on_each_haproxy_with,
    options::{both, certificate},
    site::{SCHEMES, Scheme},
};
use base64::{Engine, engine::general_purpose::STANDARD as BASE64};
use integration_tests::{certificate::Authority, http::client_config_with};
use rustls::crypto::ring::cipher_suite::{
    TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256, TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,
};
use serde_json::{Value, json};
use std::{net::TcpListener, sync::Arc};

const HOST: &str = "a.example";

/// The Ingress `on` leads to `service` instead of one of the site's own.
pub fn leading_to(service: &str, port: u16, options: &[(&str, &str)]) -> Vec<Value> {
    let mut manifests = both(options);
    let backend = &mut manifests[0]["spec"]["rules"][0]["http"]["paths"][0]["backend"]["service"];
    *backend = json!({"name": service, "port": {"number": port}});
    manifests.push(certificate());
    manifests
}

fn ca(name: &str, pem: &str) -> Value {
    json!({"kind": "Secret", "metadata": {"namespace": "shop", "name": name, "labels": {"haproxy-haptic.org/use": "yes"}},
        "data": {"ca.crt": BASE64.encode(pem)}})
}

fn head(path: &str) -> String {
    format!("GET {path} HTTP/1.1\r\nHost: {HOST}\r\n")
}

#[test]
fn servers_are_spoken_to_in_the_protocol_that_is_asked_for() {
    let authority = Authority::new("servers").unwrap();
    let servers = Around::servers(&authority, HOST);
    for (protocol, service, answer) in [
        ("h2", "h2", "h2 HTTP/2.0"),
        ("https", "h1-tls", "h1-tls HTTP/1.1 h1-tls.shop.svc"),
        ("h2s", "h2-tls", "h2-tls HTTP/2.0 h2-tls.shop.svc"),
    ] {
        let mut manifests = leading_to(service, 80, &[("protocol", protocol)]);
        manifests.extend(servers.services());
        on_each_haproxy(&manifests, |site| {
            for scheme in SCHEMES {
                let got = site.get(scheme, HOST, "/on/x");
                assert!(got.status == 200 && got.body.starts_with(answer), "{protocol}: {got:?}");
                assert_eq!(site.get(scheme, HOST, "/off").service(), Some(2));
            }
        });
    }
}

#[test]
fn only_servers_that_the_authority_signed_are_trusted_and_only_by_the_services_name() {
    let (authority, stranger) = (Authority::new("servers").unwrap(), Authority::new("stranger").unwrap());
    let (right, other) = (Around::servers(&authority, "h1-tls.shop.svc"), Around::servers(&authority, HOST));
    for (servers, signed_by, status) in
        [(&right, &authority, 200), (&right, &stranger, 503), (&other, &authority, 503)]
    {
        let mut manifests =
            leading_to("h1-tls", 80, &[("protocol", "https"), ("server-ca-secret", "servers")]);
        manifests.extend(servers.services());
        manifests.push(ca("servers", &signed_by.pem));
        on_each_haproxy(&manifests, |site| {
            for scheme in SCHEMES {
                assert_eq!(site.get(scheme, HOST, "/on").status, status);
                assert_eq!(site.get(scheme, HOST, "/off").service(), Some(2));
            }
        });
    }
}

#[test]
fn an_authority_may_stand_in_another_entry_of_its_secret() {
    let (authority, stranger) = (Authority::new("servers").unwrap(), Authority::new("stranger").unwrap());
    let servers = Around::servers(&authority, "h1-tls.shop.svc");
    for (entry, status) in [("tls.crt", 200), ("ca.crt", 503)] {
        let options = [("protocol", "https"), ("server-ca-secret", "servers"), ("server-ca-entry", entry)];
        let mut manifests = leading_to("h1-tls", 80, &options);
        manifests.extend(servers.services());
        let mut secret = ca("servers", &stranger.pem);
        secret["data"]["tls.crt"] = json!(BASE64.encode(&authority.pem));
        manifests.push(secret);
        on_each_haproxy(&manifests, |site| {
            for scheme in SCHEMES {
                assert_eq!(site.get(scheme, HOST, "/on").status, status, "{entry}");
            }
        });
    }
}

#[test]
fn clients_with_a_certificate_of_the_authority_come_in_and_others_do_not() {
    let (authority, stranger) = (Authority::new("clients").unwrap(), Authority::new("stranger").unwrap());
    let mut manifests = both(&[("client-ca-secret", "clients")]);
    manifests.extend([certificate(), ca("clients", &authority.pem)]);
    on_each_haproxy(&manifests, |site| {
        let status = |signed_by: &Authority, path: &str| {
            let clients = Around::clients(signed_by, site.address(Scheme::Https), HOST);
            ask(&Way::to(clients.with_certificate(), None), &head(path), "").unwrap().status
        };
        assert_eq!(status(&authority, "/on"), 200);
        // A certificate of somebody else ends the handshake.
        assert!(status(&stranger, "/on") >= 400);
        assert_eq!(status(&authority, "/off"), 200);
        for scheme in SCHEMES {
            assert_eq!(site.get(scheme, HOST, "/on").status, 403);
            assert_eq!(site.get(scheme, HOST, "/off").service(), Some(2));
        }
    });
}

#[test]
fn clients_may_speak_http_2() {
    let mut manifests = both(&[("rewrite-path", "/new"), ("response-headers", "X-Own: yes")]);
    manifests.push(certificate());
    on_each_haproxy(&manifests, |site| {
        let clients = Around::clients(&Authority::new("any").unwrap(), site.address(Scheme::Https), HOST);
        let get = |path: &str| ask(&Way::to(clients.over_h2(), None), &head(path), "").unwrap();
        let on = get("/on/x");
        assert_eq!((on.service(), on.request_line()), (Some(1), "GET /new/x HTTP/1.1"));
        assert_eq!((on.header("x-own"), on.sent("x-forwarded-proto")), (Some("yes"), Some("https")));
        let off = get("/off/x");
        assert_eq!((off.service(), off.header("x-own")), (Some(2), None));
    });
}

#[test]
fn each_client_gets_the_certificate_of_the_kind_that_it_knows() {
    let ingress = json!({"kind": "Ingress", "metadata": {"namespace": "shop", "name": "i"}, "spec": {
        "tls": [{"hosts": [HOST], "secretName": "ecdsa"}, {"hosts": [HOST], "secretName": "rsa"}],
        "defaultBackend": {"service": {"name": "s1", "port": {"number": 80}}},
    }});
    let mut manifests = vec![ingress];
    manifests.extend(both_kinds(HOST));
    on_each_haproxy(&manifests, |site| {
        let shown = |suite| {
            let mut way = site.way(Scheme::Https, HOST);
            way.tls = Some((HOST, Arc::new(client_config_with(vec![suite]).unwrap())));
            let (answer, certificate) = converse(&way, &head("/"), "").unwrap();
            assert_eq!(answer.service(), Some(1));
            certificate.unwrap()
        };
        let ecdsa = shown(TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256);
        let rsa = shown(TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256);
        assert_ne!(ecdsa, rsa);
    });
}

#[test]
fn who_the_client_is_comes_through_the_proxy_protocol_and_limits_follow_it() {
    let options = [("deny-from", "2001:db8::/32"), ("rate-limit", "2"), ("rate-limit-period", "hour")];
    let mut manifests = both(&options);
    manifests.push(certificate());
    let proxied = |spec: &mut Value| {
        spec["templatingSettings"]["extraContext"]["proxyProtocol"] = json!(true);
    };
    on_each_haproxy_with(&manifests, proxied, |site| {
        for scheme in SCHEMES {
            let from = |client: &str, path: &str| {
                let family = if client.contains(':') { "TCP6" } else { "TCP4" };
                let here = if family == "TCP6" { "::1" } else { "127.0.0.1" };
                let first = format!("PROXY {family} {client} {here} 1000 80\r\n");
                ask(&Way { first: &first, ..site.way(scheme, HOST) }, &head(path), "").unwrap()
            };
            let other = from("192.0.2.1", "/off");
            assert_eq!(
                (other.sent("x-real-ip"), other.sent("x-forwarded-for")),
                (Some("192.0.2.1"), Some("192.0.2.1"))
            );
            assert_eq!(from("2001:db8:1::1", "/on").status, 403);
            assert_eq!(from("2001:db8:1::1", "/off").service(), Some(2));
            // Addresses of one /64 are one client; each of IPv4 is one. Each scheme has clients of its own here.
            let (v6, v4) = if scheme == Scheme::Http { ("fd00:0:0:1", 10) } else { ("fd00:0:0:2", 20) };
            let statuses = |clients: [String; 3]| clients.map(|client| from(&client, "/on").status);
            assert_eq!(statuses([1, 2, 3].map(|n| format!("{v6}::{n}"))), [200, 200, 429]);
            assert_eq!(statuses([1, 2, 3].map(|n| format!("192.0.2.{}", v4 + n))), [200; 3]);
        }
    });
}

#[test]
fn every_request_has_a_number_and_one_that_came_with_it_stays() {
    on_each_haproxy(&[both(&[]), vec![certificate()]].concat(), |site| {
        for scheme in SCHEMES {
            let (first, second) = (site.get(scheme, HOST, "/on"), site.get(scheme, HOST, "/on"));
            let number = first.header("x-request-id").unwrap();
            assert_eq!(first.sent("x-request-id"), Some(number));
            assert_ne!(second.header("x-request-id"), Some(number));
            let own = site.ask(scheme, "GET", HOST, "/on", "X-Request-ID: mine\r\n", "");
            assert_eq!((own.sent("x-request-id"), own.header("x-request-id")), (Some("mine"), Some("mine")));
        }
    });
}

#[test]
fn clients_and_servers_may_be_reached_over_ipv6() {
    let Ok(listener) = TcpListener::bind("[::1]:0") else {
        eprintln!("this machine has no IPv6: what runs over it was not tried");
        return;
    };
    let mut manifests = leading_to("six", 80, &[("allow-from", "::1")]);
    manifests.extend(service("six", "IPv6", echo::at(listener), &["::1"]));
    let both_families = |spec: &mut Value| {
        spec["templatingSettings"]["extraContext"]["bindAddresses"] = json!(["127.0.0.1", "::1"]);
    };
    on_each_haproxy_with(&manifests, both_families, |site| {
        for scheme in SCHEMES {
            let mut way = site.way(scheme, HOST);
            way.address.set_ip("::1".parse().unwrap());
            let answer = ask(&way, &head("/on"), "").unwrap();
            assert_eq!((answer.status, answer.body.lines().next()), (200, Some("::1")));
            assert_eq!(answer.sent("x-real-ip"), Some("::1"));
            assert_eq!(ask(&way, &head("/off"), "").unwrap().service(), Some(2));
            assert_eq!(site.get(scheme, HOST, "/on").status, 403);
        }
    });
}
