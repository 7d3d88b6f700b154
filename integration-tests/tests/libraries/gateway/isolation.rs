//! A request belongs to one listener, a TLS connection to one listener's certificates, and a route to the listeners that take it.

use super::{
    GatewaySite, aged, around, around_gateway, gateway, listener, object, on_each, route, secret, secret_of,
    to,
};
use crate::client::{Way, converse};
use integration_tests::certificate::{Authority, Certificate};
use rustls::pki_types::{CertificateDer, pem::PemObject as _};
use serde_json::{Value, json};

fn section(mut route: Value, section: &str) -> Value {
    route["spec"]["parentRefs"][0]["sectionName"] = section.into();
    route
}

fn rule(number: u8, path: &str) -> Value {
    json!([{"matches": [{"path": {"value": path}}], "backendRefs": to(number)}])
}

#[test]
fn of_four_listeners_each_serves_its_own_hosts_only() {
    let listeners = [
        ("empty", None, "other.com"),
        ("wild", Some("*.example.com"), "bar.example.com"),
        ("foo", Some("*.foo.example.com"), "x.foo.example.com"),
        ("abc", Some("abc.foo.example.com"), "abc.foo.example.com"),
    ];
    let mut all = around();
    let each: Vec<Value> = listeners.iter().map(|(name, hostname, _)| listener(name, *hostname)).collect();
    all.push(gateway("gw", Value::Array(each)));
    for (number, (name, ..)) in (1..).zip(listeners) {
        all.push(section(route(name, &[], rule(number, &format!("/{name}"))), name));
    }
    on_each(&all, |site| {
        for (name, _, host) in listeners {
            for (number, (other, ..)) in (1..).zip(listeners) {
                let expected = (name == other).then_some(number);
                assert_eq!(site.get(host, &format!("/{other}")).service(), expected, "{host} /{other}");
            }
        }
    });
}

#[test]
fn gateways_and_namespaces_are_apart() {
    let mut all = around();
    let at = |port: u16, from: Value| json!([{"name": "http", "port": port, "protocol": "HTTP", "allowedRoutes": {"namespaces": from}}]);
    all.push(gateway("gw", at(80, json!({"from": "All"}))));
    all.push(gateway(
        "team",
        at(8080, json!({"from": "Selector", "selector": {"matchLabels": {"team": "blog"}}})),
    ));
    all.push(gateway("same", at(8090, json!({"from": "Same"}))));
    let mut routes = route("everywhere", &[], rule(1, "/"));
    routes["spec"]["parentRefs"] = json!([
        {"name": "gw", "namespace": "edge"}, {"name": "team", "namespace": "edge"}, {"name": "same", "namespace": "edge"},
    ]);
    all.push(routes);
    let foreign = |name: &str, path: &str| {
        let refs = json!([{"name": "s2", "namespace": "shop", "port": 80}]);
        let rules = json!([{"matches": [{"path": {"value": path}}], "backendRefs": refs}]);
        object(
            "HTTPRoute",
            "blog",
            name,
            json!({"parentRefs": [{"name": "team", "namespace": "edge"}], "rules": rules}),
        )
    };
    all.push(foreign("granted", "/granted"));
    all.push(object(
        "ReferenceGrant",
        "shop",
        "blog",
        json!({"from": [{"group": "gateway.networking.k8s.io", "kind": "HTTPRoute", "namespace": "blog"}],
            "to": [{"group": "", "kind": "Service", "name": "s2"}]}),
    ));
    let mut refused = foreign("refused", "/refused");
    refused["spec"]["rules"][0]["backendRefs"][0]["name"] = "s3".into();
    all.push(refused);
    on_each(&all, |site| {
        assert_eq!(site.get("a.example", "/").service(), Some(1));
        for (port, path, status, service) in [
            (8080, "/", 404, None),
            (8090, "/", 404, None),
            (8080, "/granted", 200, Some(2)),
            (8080, "/refused", 500, None),
        ] {
            let answer = site.ask(port, None, "GET", "a.example", path, "");
            assert_eq!((answer.status, answer.service()), (status, service), "{port}{path}");
        }
    });
}

#[test]
fn an_expression_that_is_too_dear_for_a_path_refuses_it_to_its_own_namespace_only() {
    let mut all = around_gateway();
    let dear = |path: &str| json!([{"matches": [{"path": {"type": "RegularExpression", "value": path}}], "backendRefs": to(2)}]);
    all.push(route("all", &[], rule(1, "/")));
    all.push(route("own", &[], dear("/own/.*a.*b")));
    let parents = json!([{"name": "gw", "namespace": "edge"}]);
    all.push(object("HTTPRoute", "blog", "dear", json!({"parentRefs": parents, "rules": dear("/.*a.*b")})));
    let long = "z".repeat(1500);
    on_each(&all, |site| {
        assert_eq!(site.get("a.example", &format!("/{long}")).service(), Some(1));
        assert_eq!(site.get("a.example", &format!("/own/{long}")).status, 414);
    });
}

#[test]
fn a_wildcard_is_for_the_deeper_names_of_its_certificate() {
    let https = |name: &str, hostname: &str| {
        let mut listener = listener(name, Some(hostname));
        (listener["port"], listener["protocol"]) = (443.into(), "HTTPS".into());
        listener["tls"] = json!({"certificateRefs": [{"name": name}]});
        listener
    };
    let mut all = around();
    all.push(gateway("gw", json!([https("wild", "*.example.org"), https("own", "*.own.example.org")])));
    all.push(secret("edge", "wild", "a.b.example.org"));
    all.push(secret("edge", "own", "a.own.example.org"));
    all.push(route("r", &["*.example.org"], json!([{"backendRefs": to(1)}])));
    on_each(&all, |site| {
        for name in ["a.example.org", "a.b.example.org", "a.own.example.org"] {
            assert_eq!(site.ask(443, Some(name), "GET", name, "/", "").status, 200, "{name}");
        }
    });
}

#[test]
fn a_connection_is_for_the_hosts_of_its_listener() {
    let https = |name: &str, hostname: Option<&str>, secret: &str| {
        let mut listener = listener(name, hostname);
        listener["port"] = 443.into();
        listener["protocol"] = "HTTPS".into();
        listener["tls"] = json!({"certificateRefs": [{"name": secret}]});
        listener
    };
    let mut all = around();
    all.push(gateway(
        "gw",
        json!([
            https("none", None, "any"),
            https("second", Some("second-example.org"), "second"),
            https("wild", Some("*.wildcard.org"), "wild"),
            https("fourth", Some("fourth-example.wildcard.org"), "fourth"),
        ]),
    ));
    for (name, host) in [
        ("any", "example.org"),
        ("second", "second-example.org"),
        ("wild", "*.wildcard.org"),
        ("fourth", "fourth-example.wildcard.org"),
    ] {
        all.push(secret("edge", name, host));
    }
    let hosts = [
        "example.org",
        "second-example.org",
        "third-example.wildcard.org",
        "fith-example.wildcard.org",
        "fourth-example.wildcard.org",
    ];
    all.push(route("r", &hosts, json!([{"backendRefs": to(1)}])));
    on_each(&all, |site| {
        for (sni, host, status) in [
            ("example.org", "example.org", 200),
            ("example.org", "second-example.org", 421),
            ("example.org", "unknown-example.org", 404),
            ("second-example.org", "second-example.org", 200),
            ("second-example.org", "example.org", 421),
            ("second-example.org", "unknown-example.org", 421),
            ("third-example.wildcard.org", "third-example.wildcard.org", 200),
            ("third-example.wildcard.org", "fith-example.wildcard.org", 200),
            ("third-example.wildcard.org", "fourth-example.wildcard.org", 421),
            ("third-example.wildcard.org", "second-example.org", 421),
            ("third-example.wildcard.org", "unknown-example.org", 421),
            ("fourth-example.wildcard.org", "fourth-example.wildcard.org", 200),
            ("fourth-example.wildcard.org", "fith-example.wildcard.org", 421),
            ("unknown-example.org", "example.org", 200),
            ("unknown-example.org", "unknown-example.org", 404),
        ] {
            assert_eq!(site.ask(443, Some(sni), "GET", host, "/", "").status, status, "{sni} -> {host}");
        }
    });
}

/// The certificate that clients who ask for `name` are shown.
fn shown(site: &GatewaySite, name: &str) -> Vec<u8> {
    let way = Way::to(site.address(443), Some(name));
    let (_, shown) = converse(&way, &format!("GET / HTTP/1.1\r\nHost: {name}\r\n"), "").unwrap();
    shown.unwrap()
}

#[test]
fn a_certificate_for_all_hosts_is_shown_for_none_of_another_listener() {
    let authority = Authority::new("anybody's").unwrap();
    let sign = |names: &[&str]| {
        authority.sign(&names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>()).unwrap()
    };
    let own = sign(&["victim.example", "*.wild.example", "of.own.wild.example"]);
    let theirs = sign(&["victim.example", "x.wild.example", "*.wild.example", "thief.example", "*.example"]);
    let set = |namespace: &str, hostnames: &[Option<&str>]| {
        let listeners = hostnames.iter().enumerate().map(|(number, hostname)| {
            let mut listener = listener(&format!("l{number}"), *hostname);
            (listener["port"], listener["protocol"]) = (443.into(), "HTTPS".into());
            listener["tls"] = json!({"certificateRefs": [{"name": "cert"}]});
            listener
        });
        let parent = json!({"name": "gw", "namespace": "edge"});
        let listeners: Vec<Value> = listeners.collect();
        object("ListenerSet", namespace, "set", json!({"parentRef": parent, "listeners": listeners}))
    };
    let mut gateway = gateway("gw", json!([listener("http", None)]));
    gateway["spec"]["allowedListeners"] = json!({"namespaces": {"from": "All"}});
    let mut all = around();
    all.push(gateway);
    all.push(aged(set("shop", &[Some("victim.example"), Some("*.wild.example")]), 1));
    all.push(set("blog", &[None]));
    all.extend([secret_of("shop", "cert", &own), secret_of("blog", "cert", &theirs)]);
    on_each(&all, |site| {
        for (name, certificate) in [
            ("victim.example", &own),
            ("x.wild.example", &own),
            ("y.wild.example", &own),
            ("of.own.wild.example", &own),
            ("thief.example", &theirs),
            ("other.example", &theirs),
            ("nobody.invalid", &theirs),
        ] {
            assert!(shown(site, name) == certificate.der, "{name}");
        }
        // The wildcard is for it, and no certificate of its listener.
        let name = "deep.deep.wild.example";
        let way = Way::to(site.address(443), Some(name));
        assert!(converse(&way, &format!("GET / HTTP/1.1\r\nHost: {name}\r\n"), "").is_err());
    });
}

/// A certificate for rsa.example with a key of RSA: all others in these tests have one of an elliptic curve.
fn of_rsa() -> Certificate {
    let both = include_str!("../../../../actors/render/tests/pem/rsa.pem");
    let (pem, key) = both.split_at(both.find("-----BEGIN PRIVATE KEY").unwrap());
    let der = CertificateDer::from_pem_slice(pem.as_bytes()).unwrap().to_vec();
    Certificate { pem: pem.to_owned(), key: key.to_owned(), der }
}

#[test]
fn a_wildcards_certificate_is_shown_for_no_host_that_has_one_of_its_own() {
    let sign = |name: &str| Authority::new("anybody's").unwrap().sign(&[name.to_owned()]).unwrap();
    let (own, theirs) = (of_rsa(), sign("*.example"));
    let set = |namespace: &str, hostname: Option<&str>| {
        let mut listener = listener("tls", hostname);
        (listener["port"], listener["protocol"]) = (443.into(), "HTTPS".into());
        listener["tls"] = json!({"certificateRefs": [{"name": "cert"}]});
        let parent = json!({"name": "gw", "namespace": "edge"});
        object("ListenerSet", namespace, "set", json!({"parentRef": parent, "listeners": [listener]}))
    };
    for wide in [Some("*.example"), None] {
        let mut gateway = gateway("gw", json!([listener("http", None)]));
        gateway["spec"]["allowedListeners"] = json!({"namespaces": {"from": "All"}});
        let mut all = around();
        all.extend([gateway, set("shop", Some("rsa.example")), set("blog", wide)]);
        all.extend([secret_of("shop", "cert", &own), secret_of("blog", "cert", &theirs)]);
        on_each(&all, |site| {
            assert!(shown(site, "rsa.example") == own.der, "{wide:?}");
            assert!(shown(site, "other.example") == theirs.der, "{wide:?}");
        });
    }
}
