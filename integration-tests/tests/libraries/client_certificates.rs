//! Clients' certificates: who needs one, whose it must be, what servers are told of it, and whom all of that stops.

use crate::{
    client::{Answer, Way, ask},
    on_each_haproxy,
    options::{both, certificate},
    site::{SCHEMES, Scheme, Site, rendered_alone, rendered_for_with, sentences},
};
use base64::{Engine, engine::general_purpose::STANDARD as BASE64};
use integration_tests::{
    certificate::{self, Authority, Certificate},
    http::{client_config, client_config_of, client_config_over},
    program::HaproxySeries,
};
use rustls::{
    ClientConfig, NamedGroup,
    client::{
        ClientSessionMemoryCache, ClientSessionStore, Resumption, Tls12ClientSessionValue,
        Tls13ClientSessionValue,
    },
    crypto::ring::cipher_suite::TLS13_AES_128_GCM_SHA256,
    pki_types::ServerName,
    version::{TLS12, TLS13},
};
use serde_json::{Value, json};
use std::sync::Arc;

const HOST: &str = "a.example";

/// The Ingress with these options, its CA `clients` and all that they need.
fn manifests(authority: &Authority, options: &[(&str, &str)]) -> Vec<Value> {
    let mut manifests = both(&[&[("client-ca-secret", "clients")], options].concat());
    manifests.extend([certificate(), ca("clients", authority)]);
    manifests
}

fn ca(name: &str, authority: &Authority) -> Value {
    json!({"kind": "Secret", "metadata": {"namespace": "shop", "name": name, "labels": {"haproxy-haptic.org/use": "yes"}},
        "data": {"ca.crt": BASE64.encode(&authority.pem)}})
}

/// A client, with a certificate or none.
struct Client(Arc<ClientConfig>);

impl Client {
    fn with(certificate: &Certificate) -> Self {
        Self(Arc::new(client_config_of(certificate).unwrap()))
    }

    fn without() -> Self {
        Self(Arc::new(client_config().unwrap()))
    }

    /// Asks for `HOST`, in a session of the host `named`.
    fn try_ask(&self, site: &Site, named: &str, path: &str, headers: &str) -> std::io::Result<Answer> {
        let way =
            Way { tls: Some((named, self.0.clone())), ..Way::to(site.address(Scheme::Https), Some(named)) };
        ask(&way, &format!("GET {path} HTTP/1.1\r\nHost: {HOST}\r\n{headers}"), "")
    }

    fn get(&self, site: &Site, path: &str, headers: &str) -> Answer {
        self.try_ask(site, HOST, path, headers).unwrap()
    }

    fn status(&self, site: &Site, path: &str) -> u16 {
        self.get(site, path, "").status
    }
}

#[test]
fn who_has_no_certificate_comes_in_where_it_is_optional() {
    let (authority, stranger) = (Authority::new("clients").unwrap(), Authority::new("stranger").unwrap());
    let known = Client::with(&authority.sign_client("anna", &[]).unwrap());
    let bad = [
        Client::with(&stranger.sign_client("anna", &[]).unwrap()),
        Client::with(&authority.sign_expired(&["anna".to_owned()]).unwrap()),
    ];
    for (options, without) in [
        (&[][..], 403),
        (&[("client-certificate", "required")], 403),
        (&[("client-certificate", "optional")], 200),
    ] {
        on_each_haproxy(&manifests(&authority, options), |site| {
            assert_eq!(known.status(site, "/on"), 200);
            assert_eq!((Client::without().status(site, "/on"), known.status(site, "/off")), (without, 200));
            assert_eq!(site.get(Scheme::Http, HOST, "/on").status, without);
            for client in &bad {
                assert!(client.try_ask(site, HOST, "/on", "").is_err());
            }
        });
    }
}

#[test]
fn clients_are_verified_beside_the_default_certificate_and_those_of_other_hosts_are_not() {
    let (authority, stranger) = (Authority::new("clients").unwrap(), Authority::new("stranger").unwrap());
    let known = Client::with(&authority.sign_client("anna", &[]).unwrap());
    let unknown = Client::with(&stranger.sign_client("anna", &[]).unwrap());
    for (host, tls) in [(HOST, json!([{"hosts": [HOST]}])), (HOST, json!([])), ("*.example", json!([]))] {
        let mut manifests = both(&[("client-ca-secret", "clients")]);
        for (ingress, tls, host) in [(0, tls, host), (1, json!([]), "b.example")] {
            manifests[ingress]["spec"]["tls"] = tls;
            manifests[ingress]["spec"]["rules"][0]["host"] = json!(host);
        }
        // Its own names say nothing: hosts have lines.
        let default = certificate::for_host(host).unwrap();
        manifests.extend([
            ca("clients", &authority),
            json!({"kind": "Secret",
            "metadata": {"namespace": "edge", "name": "default-tls"},
            "data": {"tls.crt": BASE64.encode(default.pem), "tls.key": BASE64.encode(default.key)}}),
        ]);
        on_each_haproxy(&manifests, |site| {
            let statuses = [known.status(site, "/on"), Client::without().status(site, "/on")];
            assert_eq!(statuses, [200, 403], "{host}");
            assert!(unknown.try_ask(site, HOST, "/on", "").is_err(), "{host}");
            assert_eq!(site.get(Scheme::Http, HOST, "/on").status, 403);
            let way = Way {
                tls: Some(("b.example", unknown.0.clone())),
                ..Way::to(site.address(Scheme::Https), Some("b.example"))
            };
            let other = ask(&way, "GET /off HTTP/1.1\r\nHost: b.example\r\n", "").unwrap();
            assert_eq!(other.service(), Some(2), "{host}: {other:?}");
        });
    }
}

#[test]
fn one_path_needs_a_certificate_and_another_does_not() {
    let authority = Authority::new("clients").unwrap();
    let mut manifests = manifests(&authority, &[("paths", "/on/open: {client-certificate: optional}")]);
    let path = json!({"path": "/on/open", "pathType": "Prefix", "backend": {"service": {"name": "s3", "port": {"number": 80}}}});
    manifests[0]["spec"]["rules"][0]["http"]["paths"].as_array_mut().unwrap().push(path);
    on_each_haproxy(&manifests, |site| {
        assert_eq!(
            ["/on", "/on/open", "/on/open/../x", "/on//open/%2e%2e/x"]
                .map(|path| Client::without().status(site, path)),
            [403, 200, 403, 403]
        );
    });
}

#[test]
fn only_certificates_with_one_of_the_names_come_in() {
    let authority = Authority::new("clients").unwrap();
    let names = "anna, *.clients.example, *@shop.example, spiffe://shop/cart";
    on_each_haproxy(&manifests(&authority, &[("client-certificate-names", names)]), |site| {
        for (common_name, alternative, status) in [
            ("anna", &[][..], 200),
            ("x.clients.example", &[], 200),
            ("bob", &["other.example", "A.B.Clients.Example"], 200),
            ("bob", &["bob@shop.example"], 200),
            ("bob", &["spiffe://shop/cart"], 200),
            ("bob", &[], 403),
            ("Anna", &[], 403),
            ("anna, bob", &[], 403),
            ("annax", &["clients.example", "x.clients.example.evil", "xclients.example"], 403),
            ("bob", &["@shop.example", "bob@evil.shop.example", "spiffe://shop/cart/x"], 403),
            ("*.clients.example.", &["spiffe://x/CN=anna"], 403),
        ] {
            let client = Client::with(&authority.sign_client(common_name, alternative).unwrap());
            assert_eq!(client.status(site, "/on"), status, "{common_name} {alternative:?}");
            assert_eq!(client.status(site, "/off"), 200);
        }
        assert_eq!(Client::without().status(site, "/on"), 403);
    });
}

#[test]
fn of_the_subject_alone_no_alternative_name_comes_in() {
    let authority = Authority::new("clients").unwrap();
    let options =
        [("client-certificate-names", "anna, *.a.example"), ("client-certificate-names-in", "subject")];
    on_each_haproxy(&manifests(&authority, &options), |site| {
        for (common_name, alternative, status) in [
            ("anna", &["bob.example"][..], 200),
            ("x.a.example", &[], 200),
            ("bob", &["anna"], 403),
            ("bob", &["x.a.example", "spiffe://anna/x"], 403),
        ] {
            let client = Client::with(&authority.sign_client(common_name, alternative).unwrap());
            assert_eq!(client.status(site, "/on"), status, "{common_name} {alternative:?}");
        }
    });
}

const HEADERS: &str = "X-Client-DN: subject\nX-Client-Issuer: issuer\nX-Client-Digest: sha256\nX-Client-Cert: pem\nX-Client-Verify: verify\nX-Client-Name: cn\nX-Client-Sha1: sha1\nX-Client-Der: der";

/// What a client says of itself.
const SPOOFED: &str = "X-Client-DN: CN=root\r\nX_Client_DN: CN=root\r\nx-client_dn: CN=root\r\nX.Client.DN: CN=root\r\n\
    X-Client-Verify: SUCCESS\r\nX-Client-Verify: SUCCESS\r\nX_CLIENT_VERIFY: SUCCESS\r\nX-Client-Cert: root\r\nX-Client-Digest: root\r\n";

#[test]
fn servers_are_told_of_a_certificate_and_never_by_the_client() {
    let authority = Authority::new("clients").unwrap();
    let own = authority.sign_client("anna \"\u{e4}\"\r\nX-Admin: yes", &[]).unwrap();
    let options = [("client-certificate", "optional"), ("client-certificate-headers", HEADERS)];
    let pem: String = own.pem.replace("\r\n", "\n");
    on_each_haproxy(&manifests(&authority, &options), |site| {
        let told = Client::with(&own).get(site, "/on", SPOOFED);
        assert_eq!(told.status, 200, "{told:?}");
        assert!(!told.body.contains("root") && told.sent("x-admin").is_none(), "{told:?}");
        let dn = told.sent("x-client-dn").unwrap();
        assert!(dn.starts_with(r#"O=Shop\, Inc.,CN=anna \"\C3\A4\"\0D\0A"#), "{dn}");
        assert_eq!(told.sent("x-client-issuer"), Some("CN=clients"));
        assert_eq!(told.sent("x-client-verify"), Some("SUCCESS"));
        let digest = hex(&own.der);
        assert_eq!(told.sent("x-client-digest"), Some(&*digest));
        assert_eq!(decoded(told.sent("x-client-cert").unwrap()).trim_end(), pem.trim_end());
        let name = told.sent("x-client-name").unwrap();
        assert!(name.starts_with("anna \"") && name.ends_with(r#""\0D\0AX-Admin: yes"#), "{name}");
        let sha1 = told.sent("x-client-sha1").unwrap();
        let is_capital = |c: char| c.is_ascii_digit() || ('A'..='F').contains(&c);
        assert!(sha1.len() == 40 && sha1.chars().all(is_capital), "{sha1}");
        let der: String = pem.lines().filter(|line| !line.starts_with('-')).collect();
        assert_eq!(told.sent("x-client-der"), Some(&*der));
        for scheme in SCHEMES {
            let none = site.ask(scheme, "GET", HOST, "/on", SPOOFED, "");
            assert_eq!((none.status, none.sent("x-client-verify")), (200, Some("NONE")), "{none:?}");
            assert!(!none.body.contains("root") && !none.body.contains("SUCCESS"), "{none:?}");
        }
        assert!(Client::with(&own).get(site, "/off", "X-Client-DN: CN=root\r\n").body.contains("root"));
        // As of one connection, servers would throw them away.
        let taken = Client::with(&own).get(site, "/on", "Connection: close, X_Client-Verify\r\n");
        assert_eq!(taken.status, 400);
    });
}

#[test]
fn without_an_authority_servers_are_told_that_nobody_has_a_certificate() {
    let authority = Authority::new("clients").unwrap();
    let mut manifests = both(&[("client-certificate-headers", HEADERS)]);
    // Another route of the host asks for one.
    manifests[1]["metadata"]["annotations"] = json!({"haproxy-haptic.org/client-ca-secret": "clients"});
    manifests.extend([certificate(), ca("clients", &authority)]);
    let known = Client::with(&authority.sign_client("anna", &[]).unwrap());
    on_each_haproxy(&manifests, |site| {
        assert_eq!(known.status(site, "/off"), 200);
        let strangers = SCHEMES.map(|scheme| site.ask(scheme, "GET", HOST, "/on", SPOOFED, ""));
        for answer in strangers.into_iter().chain([known.get(site, "/on", SPOOFED)]) {
            assert_eq!((answer.status, answer.sent("x-client-verify")), (200, Some("NONE")), "{answer:?}");
            assert!(!answer.body.contains("root") && !answer.body.contains("SUCCESS"), "{answer:?}");
        }
    });
}

/// The SHA-256 of a certificate.
fn hex(der: &[u8]) -> String {
    let digest = TLS13_AES_128_GCM_SHA256.tls13().unwrap().common.hash_provider.hash(der);
    digest.as_ref().iter().map(|byte| format!("{byte:02x}")).collect()
}

fn decoded(text: &str) -> String {
    let mut parts = text.split('%');
    let first = parts.next().unwrap().to_owned();
    parts.fold(first, |all, part| {
        let (code, rest) = part.split_at(2);
        format!("{all}{}{rest}", char::from(u8::from_str_radix(code, 16).unwrap()))
    })
}

#[test]
fn a_request_without_room_for_what_servers_are_told_is_refused() {
    let authority = Authority::new("clients").unwrap();
    let headers: String = (0..8).map(|n| format!("X-Cert-{n}: pem\n")).collect();
    let client = Client::with(&authority.sign_client("anna", &[]).unwrap());
    on_each_haproxy(&manifests(&authority, &[("client-certificate-headers", &headers)]), |site| {
        assert!(client.get(site, "/on", "").sent("x-cert-7").is_some());
        let long = format!("X-Long: {}\r\nX-Cert-7: mine\r\n", "x".repeat(13_000));
        let answer = client.get(site, "/on", &long);
        assert_eq!(answer.status, 503, "{answer:?}");
    });
}

#[test]
fn who_has_no_certificate_is_shown_a_page() {
    let authority = Authority::new("clients").unwrap();
    let client = Client::with(&authority.sign_client("bob", &[]).unwrap());
    let page = "https://help.example/certificates?from=a&x=1";
    let options = [("client-certificate-error-page", page), ("client-certificate-names", "anna")];
    on_each_haproxy(&manifests(&authority, &options), |site| {
        for scheme in SCHEMES {
            let answer = site.get(scheme, HOST, "/on");
            assert_eq!((answer.status, answer.header("location")), (303, Some(page)));
        }
        assert_eq!(client.status(site, "/on"), 403);
        assert_eq!(client.try_ask(site, "b.example", "/on", "").unwrap().status, 421);
    });
}

#[test]
fn who_is_refused_gets_the_status_that_is_asked_for_and_guards_of_others_stand() {
    let (authority, open) = (Authority::new("clients").unwrap(), Authority::new("open").unwrap());
    let known = Client::with(&authority.sign_client("anna", &[]).unwrap());
    let bad = [
        Client::with(&open.sign_client("anna", &[]).unwrap()),
        Client::with(&authority.sign_expired(&["anna".to_owned()]).unwrap()),
    ];
    for (status, without, wrong) in [("400", 400, 400), ("495", 496, 495)] {
        let mut manifests = manifests(&authority, &[("client-certificate-status", status)]);
        other_host(&mut manifests, &authority);
        // The host of others has the CA that signed one of the bad ones, and no status of its own.
        *manifests.last_mut().unwrap() = ca("open", &open);
        on_each_haproxy(&manifests, |site| {
            assert_eq!(known.status(site, "/on"), 200);
            assert_eq!(Client::without().status(site, "/on"), without);
            for client in &bad {
                assert_eq!(client.status(site, "/on"), wrong);
            }
            let at_other = |client: &Client| {
                let way = Way {
                    tls: Some(("b.example", client.0.clone())),
                    ..Way::to(site.address(Scheme::Https), Some("b.example"))
                };
                ask(&way, "GET /on HTTP/1.1\r\nHost: b.example\r\n", "").unwrap().status
            };
            assert_eq!([&bad[0], &bad[1], &known].map(at_other), [200, 403, 403]);
            assert_eq!(at_other(&Client::without()), 403);
        });
    }
}

#[test]
fn over_http_3_too_wrong_certificates_are_refused_by_rules_where_a_status_is_asked_for() {
    let authority = Authority::new("clients").unwrap();
    let manifests = manifests(&authority, &[("client-certificate-status", "495")]);
    let http3 = |spec: &mut Value| spec["templatingSettings"]["extraContext"]["http3"] = json!(true);
    let (bundle, _) = rendered_for_with(HaproxySeries::V3_4, &manifests, http3).unwrap();
    let text = bundle.config.text.to_string();
    let mut binds = text.lines().filter(|line| line.contains("certificates.txt"));
    assert!(binds.all(|line| line.ends_with(" ca-ignore-err all crt-ignore-err all")), "{text}");
}

/// Another host with its own CA, of which every client may have a certificate.
fn other_host(manifests: &mut Vec<Value>, open: &Authority) {
    let own = certificate::for_host("b.example").unwrap();
    manifests.push(json!({"kind": "Secret", "metadata": {"namespace": "shop", "name": "b-tls"},
        "data": {"tls.crt": BASE64.encode(own.pem), "tls.key": BASE64.encode(own.key)}}));
    let text = manifests[0].to_string().replace("a.example", "b.example").replace("a-tls", "b-tls");
    let mut ingress: Value = serde_json::from_str(&text).unwrap();
    ingress["metadata"]["name"] = json!("other");
    ingress["metadata"]["annotations"] = json!({"haproxy-haptic.org/client-ca-secret": "open"});
    manifests.extend([ingress, ca("open", open)]);
}

#[test]
fn a_session_of_another_host_counts_for_nothing() {
    let (authority, open) = (Authority::new("clients").unwrap(), Authority::new("open").unwrap());
    for how in ["required", "optional"] {
        let options = [("client-certificate", how), ("client-certificate-headers", HEADERS)];
        let mut manifests = manifests(&authority, &options);
        other_host(&mut manifests, &open);
        let mallory = Client::with(&open.sign_client("anna", &[]).unwrap());
        on_each_haproxy(&manifests, |site| {
            for named in ["b.example", "c.example", "A.EXAMPLE.b.example"] {
                for client in [&mallory, &Client::without()] {
                    assert_eq!(client.try_ask(site, named, "/on", "").unwrap().status, 421, "{named}");
                }
            }
            assert!(mallory.try_ask(site, HOST, "/on", "").is_err());
        });
    }
}

/// Sessions of all hosts in one place, so that each is resumed at any host.
#[derive(Debug)]
struct Mixed(ClientSessionMemoryCache);

const ANY: &str = "any.example";

impl Mixed {
    fn key() -> ServerName<'static> {
        ServerName::try_from(ANY).unwrap()
    }
}

impl ClientSessionStore for Mixed {
    fn set_kx_hint(&self, _: ServerName<'static>, group: NamedGroup) {
        self.0.set_kx_hint(Self::key(), group);
    }

    fn kx_hint(&self, _: &ServerName<'_>) -> Option<NamedGroup> {
        self.0.kx_hint(&Self::key())
    }

    fn set_tls12_session(&self, _: ServerName<'static>, session: Tls12ClientSessionValue) {
        self.0.set_tls12_session(Self::key(), session);
    }

    fn tls12_session(&self, _: &ServerName<'_>) -> Option<Tls12ClientSessionValue> {
        self.0.tls12_session(&Self::key())
    }

    fn remove_tls12_session(&self, _: &ServerName<'static>) {
        self.0.remove_tls12_session(&Self::key());
    }

    fn insert_tls13_ticket(&self, _: ServerName<'static>, ticket: Tls13ClientSessionValue) {
        self.0.insert_tls13_ticket(Self::key(), ticket);
    }

    fn take_tls13_ticket(&self, _: &ServerName<'static>) -> Option<Tls13ClientSessionValue> {
        self.0.take_tls13_ticket(&Self::key())
    }
}

#[test]
fn a_session_of_another_host_cannot_be_resumed_at_this_one() {
    let (authority, open) = (Authority::new("clients").unwrap(), Authority::new("open").unwrap());
    let mut manifests = manifests(&authority, &[]);
    other_host(&mut manifests, &open);
    on_each_haproxy(&manifests, |site| {
        for version in [&TLS12, &TLS13] {
            let own = open.sign_client("anna", &[]).unwrap();
            let mut config = client_config_over(&own, version).unwrap();
            config.resumption = Resumption::store(Arc::new(Mixed(ClientSessionMemoryCache::new(8))));
            let mallory = Client(Arc::new(config));
            for _ in 0..3 {
                assert_eq!(mallory.try_ask(site, "b.example", "/on", "").unwrap().status, 421);
                let answer = mallory.try_ask(site, HOST, "/on", "");
                assert!(
                    answer.as_ref().map_or(true, |answer| [403, 421].contains(&answer.status)),
                    "{version:?}: {answer:?}"
                );
            }
        }
    });
}

#[test]
fn a_certificate_of_the_ca_of_another_ingress_is_none() {
    let (authority, other) = (Authority::new("clients").unwrap(), Authority::new("other").unwrap());
    let options = [("client-certificate", "optional"), ("client-certificate-headers", HEADERS)];
    let mut manifests = manifests(&authority, &options);
    manifests[1]["metadata"]["annotations"] = json!({"haproxy-haptic.org/client-ca-secret": "other"});
    manifests[1]["metadata"]["creationTimestamp"] = json!("2020-01-01T00:00:00Z");
    manifests[0]["metadata"]["creationTimestamp"] = json!("2021-01-01T00:00:00Z");
    manifests.push(ca("other", &other));
    let client = Client::with(&other.sign_client("anna", &[]).unwrap());
    on_each_haproxy(&manifests, |site| {
        assert_eq!((client.status(site, "/off"), client.status(site, "/on")), (200, 403));
        let none = Client::without().get(site, "/on", SPOOFED);
        assert_eq!((none.status, none.sent("x-client-verify")), (200, Some("NONE")));
    });
}

#[test]
fn what_cannot_be_read_closes_the_route() {
    for (option, text) in [
        ("client-certificate", "perhaps"),
        ("client-certificate-names", "*"),
        ("client-certificate-names", "a|client-ca=optional"),
        ("client-certificate-headers", "X-A: dn"),
        ("client-certificate-headers", "X_A: subject"),
    ] {
        let options = both(&[("client-ca-secret", "clients"), (option, text)]);
        let said = rendered_alone(&options).map_or_else(|said| sentences(&said), |_| String::new());
        assert!(said.contains(&format!("annotation haproxy-haptic.org/{option} ")), "{said}");
    }
    for (options, part) in [
        (&[("client-certificate", "required")][..], "must be given together with client-ca-secret"),
        (&[("client-certificate-names", "anna")], "must be given together with client-ca-secret"),
        (
            &[
                ("client-ca-secret", "clients"),
                ("client-certificate", "optional"),
                ("client-certificate-names", "anna"),
            ],
            "must be required where client-certificate-names says",
        ),
    ] {
        let said = rendered_alone(&both(options)).map_or_else(|said| sentences(&said), |_| String::new());
        assert!(said.contains(part), "{said}");
    }
}
