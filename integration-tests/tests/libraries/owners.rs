//! What belongs to whom, asked of HAProxy: certificates, client verification and routes of hosts that two namespaces claim.
//! The table is in docs/concepts.md.

use crate::{
    SERIES,
    around::{Around, both_kinds},
    client::{Way, ask, converse},
    echo, on_each_haproxy, on_each_haproxy_with,
    site::{Scheme, Site},
};
use base64::{Engine, engine::general_purpose::STANDARD as BASE64};
use integration_tests::certificate::{self, Authority, Certificate};
use serde_json::{Value, json};

const HOST: &str = "a.shop.example";
const WILDCARD: &str = "*.shop.example";

/// An Ingress: which paths of which hosts, the hosts of its certificate, whether clients must show one.
struct Claims<'c> {
    namespace: &'c str,
    created: u8,
    rules: &'c [(&'c str, &'c str)],
    tls: &'c [&'c str],
    client_ca: Option<&'c Authority>,
}

/// What there is of an Ingress: itself, its Service, its Secrets.
struct Made {
    manifests: Vec<Value>,
    certificate: Certificate,
}

impl Claims<'_> {
    /// The Service's server has the last number `service`.
    fn made(&self, server: u16, service: u8) -> Made {
        let Self { namespace, created, rules, tls, client_ca } = self;
        let backend = json!({"service": {"name": "own", "port": {"number": 80}}});
        let rules: Vec<Value> = rules
            .iter()
            .map(|(host, path)| {
                let http = json!({"paths": [{"path": path, "pathType": "Prefix", "backend": backend}]});
                if host.is_empty() { json!({"http": http}) } else { json!({"host": host, "http": http}) }
            })
            .collect();
        let annotations = client_ca.map(|_| json!({"haproxy-haptic.org/client-ca-secret": "clients"}));
        let certificate = certificate::for_host(tls.first().unwrap_or(&HOST)).unwrap();
        let secret =
            json!({"tls.crt": BASE64.encode(&certificate.pem), "tls.key": BASE64.encode(&certificate.key)});
        let mut manifests = vec![
            json!({"kind": "Ingress", "metadata": {"namespace": namespace, "name": "own", "annotations": annotations.unwrap_or(json!({})),
                "creationTimestamp": format!("2026-01-{created:02}T00:00:00Z")}, "spec": {"rules": rules}}),
            json!({"kind": "Service", "metadata": {"namespace": namespace, "name": "own"}, "spec": {"ports": [{"port": 80}]}}),
            json!({"kind": "EndpointSlice",
                "metadata": {"namespace": namespace, "name": "own", "labels": {"kubernetes.io/service-name": "own"}},
                "addressType": "IPv4", "ports": [{"port": server}], "endpoints": [{"addresses": [format!("127.0.1.{service}")]}]}),
            json!({"kind": "Secret", "metadata": {"namespace": namespace, "name": "own-tls"}, "data": secret}),
        ];
        if !tls.is_empty() {
            manifests[0]["spec"]["tls"] = json!([{"hosts": tls, "secretName": "own-tls"}]);
        }
        if let Some(authority) = client_ca {
            manifests.push(json!({"kind": "Secret",
                "metadata": {"namespace": namespace, "name": "clients", "labels": {"haproxy-haptic.org/use": "yes"}},
                "data": {"ca.crt": BASE64.encode(&authority.pem)}}));
        }
        Made { manifests, certificate }
    }
}

/// What a client with a certificate that `signed_by` signed gets.
fn status(site: &Site, signed_by: &Authority, host: &str, path: &str) -> u16 {
    let clients = Around::clients(signed_by, site.address(Scheme::Https), host);
    let head = format!("GET {path} HTTP/1.1\r\nHost: {host}\r\n");
    ask(&Way::to(clients.with_certificate(), None), &head, "").unwrap().status
}

/// The certificate that is shown for a host, and the service that answers.
fn shown(site: &Site, host: &str, path: &str) -> (Vec<u8>, Option<u8>) {
    let head = format!("GET {path} HTTP/1.1\r\nHost: {host}\r\n");
    let (answer, certificate) = converse(&site.way(Scheme::Https, host), &head, "").unwrap();
    (certificate.unwrap(), answer.service())
}

/// The victim has a wildcard's certificate and asks clients for one of its own; the attacker asks for the same.
#[test]
fn a_host_asks_clients_for_nobody_elses_certificate() {
    let (own, foreign) = (Authority::new("own").unwrap(), Authority::new("foreign").unwrap());
    let server = echo::start();
    let exact: &[(&str, &str)] = &[(HOST, "/")];
    let wildcard: &[(&str, &str)] = &[(WILDCARD, "/")];
    let evil = "evil.shop.example";
    // The victim's rules and the attacker's, the hosts of the attacker's certificate, and the host its client asks for.
    for (rules, theirs, tls, host) in [
        (exact, &[][..], &[HOST][..], HOST),
        (exact, &[], &[HOST, WILDCARD], HOST),
        (exact, &[(HOST, "/other"), (WILDCARD, "/"), ("", "/")], &[HOST, WILDCARD], HOST),
        // A path that is not the attacker's is answered by the victim's wildcard.
        (wildcard, &[(evil, "/theirs")], &[evil], evil),
    ] {
        let victim =
            Claims { namespace: "victim", created: 1, rules, tls: &[WILDCARD], client_ca: Some(&own) };
        let attack =
            Claims { namespace: "attacker", created: 2, rules: theirs, tls, client_ca: Some(&foreign) };
        let (victim, attack) = (victim.made(server, 41), attack.made(server, 42));
        on_each_haproxy(&[victim.manifests, attack.manifests].concat(), |site| {
            assert_ne!(status(site, &foreign, host, "/x"), 200, "{theirs:?} {tls:?}");
            assert_eq!(status(site, &own, HOST, "/x"), 200, "{theirs:?} {tls:?}");
            assert_eq!(shown(site, HOST, "/x").0, victim.certificate.der, "{theirs:?} {tls:?}");
            assert_eq!(site.get(Scheme::Https, HOST, "/x").status, 403);
        });
    }
}

/// HAProxy prefers a key of an elliptic curve, whether its certificate is that of the host or of the wildcard over it.
#[test]
fn a_wildcard_with_a_better_kind_of_key_is_not_shown_for_another_namespaces_host() {
    let (own, foreign) = (Authority::new("own").unwrap(), Authority::new("foreign").unwrap());
    let server = echo::start();
    let rules: &[(&str, &str)] = &[(HOST, "/")];
    let victim = Claims { namespace: "victim", created: 2, rules, tls: &[HOST], client_ca: Some(&own) };
    let (theirs, tls): (&[(&str, &str)], &[&str]) = (&[(WILDCARD, "/")], &[WILDCARD]);
    let attack = Claims { namespace: "attacker", created: 1, rules: theirs, tls, client_ca: Some(&foreign) };
    let (mut victim, attack) = (victim.made(server, 41), attack.made(server, 42));
    let rsa = both_kinds(HOST).into_iter().find(|secret| secret["metadata"]["name"] == "rsa").unwrap();
    let place = victim.manifests.iter().position(|object| object["metadata"]["name"] == "own-tls").unwrap();
    victim.manifests[place]["data"] = rsa["data"].clone();
    on_each_haproxy(&[victim.manifests, attack.manifests].concat(), |site| {
        assert_ne!(shown(site, HOST, "/").0, attack.certificate.der);
        assert_ne!(status(site, &foreign, HOST, "/"), 200);
        assert_eq!(status(site, &own, HOST, "/"), 200);
        assert_eq!(status(site, &foreign, "b.shop.example", "/"), 200);
    });
}

#[test]
fn a_host_without_a_certificate_has_the_default_one_and_no_other_namespaces() {
    let server = echo::start();
    let rules: &[(&str, &str)] = &[(HOST, "/")];
    for (theirs, tls) in [
        (&[][..], &[HOST][..]),
        (&[], &[HOST, WILDCARD]),
        (&[(WILDCARD, "/")], &[WILDCARD]),
        (&[(HOST, "/other"), ("", "/")], &[HOST, WILDCARD]),
    ] {
        let victim = Claims { namespace: "victim", created: 1, rules, tls: &[], client_ca: None };
        let attack = Claims { namespace: "attacker", created: 2, rules: theirs, tls, client_ca: None };
        let attack = attack.made(server, 42);
        let manifests = [victim.made(server, 41).manifests, attack.manifests].concat();
        on_each_haproxy(&manifests, |site| {
            let (certificate, service) = shown(site, HOST, "/x");
            assert_eq!(service, Some(41));
            assert_ne!(certificate, attack.certificate.der, "{theirs:?} {tls:?}");
            // The very one that hosts have which nobody knows.
            assert_eq!(certificate, shown(site, "default.example", "/").0);
        });
    }
}

#[test]
fn a_certificate_that_cannot_be_used_leaves_no_room_for_another_namespaces() {
    let (own, foreign) = (Authority::new("own").unwrap(), Authority::new("foreign").unwrap());
    let server = echo::start();
    let rules: &[(&str, &str)] = &[(HOST, "/")];
    let victim = Claims { namespace: "victim", created: 1, rules, tls: &[HOST], client_ca: Some(&own) };
    let theirs: &[(&str, &str)] = &[(WILDCARD, "/")];
    let attack = Claims {
        namespace: "attacker",
        created: 2,
        rules: theirs,
        tls: &[WILDCARD],
        client_ca: Some(&foreign),
    };
    let (mut victim, attack) = (victim.made(server, 41), attack.made(server, 42));
    victim.manifests.retain(|object| object["metadata"]["name"] != "own-tls");
    on_each_haproxy(&[victim.manifests, attack.manifests].concat(), |site| {
        assert_ne!(status(site, &foreign, HOST, "/x"), 200);
        assert_ne!(shown(site, HOST, "/x").0, attack.certificate.der);
        assert_eq!(status(site, &foreign, "other.shop.example", "/x"), 200);
    });
}

#[test]
fn of_two_cas_on_one_host_each_path_trusts_its_own_or_nobody() {
    let (first, second) = (Authority::new("first").unwrap(), Authority::new("second").unwrap());
    let server = echo::start();
    let made = |name: &str, created, path, authority| {
        let rules: &[(&str, &str)] = &[(HOST, path)];
        let claims = Claims { namespace: "shop", created, rules, tls: &[HOST], client_ca: Some(authority) };
        let mut made = claims.made(server, 41).manifests;
        for object in &mut made {
            object["metadata"]["name"] =
                json!(format!("{name}-{}", object["metadata"]["name"].as_str().unwrap()));
        }
        made[0]["spec"]["tls"][0]["secretName"] = json!("one-own-tls");
        made[0]["spec"]["rules"][0]["http"]["paths"][0]["backend"]["service"]["name"] =
            json!(format!("{name}-own"));
        made[0]["metadata"]["annotations"]["haproxy-haptic.org/client-ca-secret"] =
            json!(format!("{name}-clients"));
        made[2]["metadata"]["labels"]["kubernetes.io/service-name"] = json!(format!("{name}-own"));
        made
    };
    // The names are in another order than the ages.
    let manifests = [made("one", 2, "/second", &second), made("two", 1, "/first", &first)].concat();
    on_each_haproxy(&manifests, |site| {
        assert_eq!(status(site, &first, HOST, "/first"), 200);
        assert_eq!(status(site, &first, HOST, "/second"), 403);
        assert_ne!(status(site, &second, HOST, "/second"), 200);
        assert_ne!(status(site, &second, HOST, "/first"), 200);
    });
}

#[test]
fn listed_hosts_are_answered_by_their_namespaces_alone() {
    let server = echo::start();
    let made = |namespace, created, rules: &[(&str, &str)], tls: &[&str], service| {
        Claims { namespace, created, rules, tls, client_ca: None }.made(server, service)
    };
    let certificates = made("certs", 5, &[], &[WILDCARD], 43);
    let attack = made(
        "attacker",
        1,
        &[(HOST, "/"), ("deep.a.shop.example", "/"), ("*.other.example", "/"), ("", "/")],
        &[HOST],
        42,
    );
    let manifests = [
        made("shop", 3, &[(HOST, "/app")], &[], 41).manifests,
        made("auth", 4, &[(HOST, "/oauth2")], &[], 44).manifests,
        certificates.manifests,
        attack.manifests,
    ]
    .concat();
    let listed = |spec: &mut Value| {
        spec["hosts"] = json!([
            {"hosts": ["shop.example", WILDCARD], "namespaces": ["shop", "auth", "certs"]},
            {"hosts": ["pay.other.example"], "namespaces": ["shop"]},
        ]);
    };
    on_each_haproxy_with(&manifests, listed, |site| {
        assert_eq!(shown(site, HOST, "/app"), (certificates.certificate.der.clone(), Some(41)));
        assert_eq!(shown(site, HOST, "/oauth2/x"), (certificates.certificate.der.clone(), Some(44)));
        for scheme in [Scheme::Http, Scheme::Https] {
            for host in [HOST, "shop.example", "b.shop.example", "deep.a.shop.example", "PAY.other.example"] {
                assert_eq!(site.get(scheme, host, "/x").status, 404, "{host}");
            }
            assert_eq!(site.get(scheme, "free.other.example", "/x").service(), Some(42));
            assert_eq!(site.get(scheme, "notshop.example", "/x").service(), Some(42));
        }
    });
    let all = |spec: &mut Value| spec["hosts"] = json!([{"hosts": ["*"], "namespaces": ["shop"]}]);
    let site = Site::start_with(SERIES[2], &manifests, all);
    assert_eq!(site.get(Scheme::Http, "free.other.example", "/x").status, 404);
    assert_eq!(site.get(Scheme::Http, HOST, "/app").service(), Some(41));
}
