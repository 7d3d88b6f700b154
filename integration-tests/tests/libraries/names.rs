//! Names as long as Kubernetes allows, and names that are nearly others', wherever the libraries make names of them; and
//! certificates for more hosts than a line holds.

use crate::{
    client::converse,
    echo, on_each_haproxy,
    site::{SCHEMES, Scheme, Site},
};
use base64::{Engine, engine::general_purpose::STANDARD as BASE64};
use integration_tests::certificate::{self, Certificate};
use serde_json::{Value, json};

/// One tenant: its host, users and certificate are its own, its server is the one of that number.
struct Tenant {
    number: usize,
    namespace: String,
    /// Its Ingress and its Secrets are called so.
    name: String,
    service: String,
    certificate: Certificate,
}

impl Tenant {
    fn new(number: usize, namespace: &str, name: &str, service: &str) -> Self {
        let certificate = certificate::for_host(&format!("t{number}.example")).unwrap();
        let (namespace, name, service) = (namespace.to_owned(), name.to_owned(), service.to_owned());
        Self { number, namespace, name, service, certificate }
    }

    fn host(&self, of: &str) -> String {
        format!("{of}.t{}.example", self.number)
    }

    fn manifests(&self, port: u16) -> Vec<Value> {
        let Self { number, namespace, name, service, certificate } = self;
        let hash = "$5$salt$kpa26zwgX83BPSR8d7w93OIXbFt/d3UOTZaAu5vsTM6";
        let labels = json!({"haproxy-haptic.org/use": "yes"});
        let mut all = vec![
            json!({"kind": "Secret", "metadata": {"namespace": namespace, "name": name},
                "data": {"tls.crt": BASE64.encode(&certificate.pem), "tls.key": BASE64.encode(&certificate.key)}}),
            json!({"kind": "Secret", "metadata": {"namespace": namespace, "name": name, "labels": labels},
                "data": {"ca.crt": BASE64.encode(&certificate.pem), "auth": BASE64.encode(format!("user{number}:{hash}\n"))}}),
            json!({"kind": "Service", "metadata": {"namespace": namespace, "name": service}, "spec": {"ports": [{"name": "web", "port": 80}]}}),
            json!({"kind": "EndpointSlice",
                "metadata": {"namespace": namespace, "name": service, "labels": {"kubernetes.io/service-name": service}},
                "addressType": "IPv4", "ports": [{"name": "web", "port": port}],
                "endpoints": [{"addresses": [format!("127.0.1.{number}")]}]}),
        ];
        // Each place where a name goes has an Ingress of its own; of all but the first the name is shorter by what tells them apart.
        for (of, options) in [
            (
                "auth",
                json!({"haproxy-haptic.org/auth-secret": name, "haproxy-haptic.org/affinity": "cookie"}),
            ),
            ("clients", json!({"haproxy-haptic.org/client-ca-secret": name})),
            (
                "servers",
                json!({"haproxy-haptic.org/server-ca-secret": name, "haproxy-haptic.org/protocol": "https"}),
            ),
        ] {
            let path = if of == "servers" { "/tls" } else { "/" };
            let own =
                if of == "auth" { name.clone() } else { format!("{of}-{}", name.get(8..).unwrap_or(name)) };
            all.push(json!({"kind": "Ingress", "metadata": {"namespace": namespace, "name": own, "annotations": options},
                "spec": {"tls": [{"hosts": [self.host(of)], "secretName": name}], "rules": [{"host": self.host(of), "http": {"paths": [
                    {"path": path, "pathType": "Prefix", "backend": {"service": {"name": service, "port": {"name": "web"}}}}]}}]}}));
        }
        all
    }

    /// What comes back for the user of that number.
    fn service_for(&self, site: &Site, scheme: Scheme, user: usize) -> Option<u8> {
        let credentials = format!("Authorization: Basic {}\r\n", BASE64.encode(format!("user{user}:secret")));
        site.ask(scheme, "GET", &self.host("auth"), "/", &credentials, "").service()
    }
}

fn der(certificate: &Certificate) -> Vec<u8> {
    let lines = certificate.pem.lines().filter(|line| !line.starts_with("-----"));
    BASE64.decode(lines.collect::<String>()).unwrap()
}

fn shown(site: &Site, host: &str) -> Option<Vec<u8>> {
    converse(&site.way(Scheme::Https, host), &format!("GET / HTTP/1.1\r\nHost: {host}\r\n"), "").unwrap().1
}

#[test]
fn names_of_any_length_and_kind_lead_to_their_own_and_nobody_elses() {
    let (namespace, service) = ("n".repeat(63), |end: &str| format!("{}{end}", "s".repeat(62)));
    let longest = |end: &str| format!("{}{end}", "x".repeat(253 - end.len()));
    let dots = format!("{}x", "x.".repeat(126));
    let tenants: Vec<Tenant> = [
        (&*namespace, &*longest("a"), &*service("a")),
        (&namespace, &longest("b"), &service("b")),
        (&namespace, &dots, &service("c")),
        (&namespace, &format!("{}-x", &dots[..251]), "s"),
        ("a-b", "c", "s"),
        ("a", "b-c", "s"),
        ("a", "b.c", "s-1"),
        ("a", "b", "c-s"),
        ("a", "pem", "s-2"),
        ("ca", "b.pem", "s"),
    ]
    .iter()
    .enumerate()
    .map(|(number, (namespace, name, service))| Tenant::new(number + 1, namespace, name, service))
    .collect();
    let port = echo::start();
    let manifests: Vec<Value> = tenants.iter().flat_map(|tenant| tenant.manifests(port)).collect();
    on_each_haproxy(&manifests, |site| {
        for tenant in &tenants {
            for scheme in SCHEMES {
                let own = u8::try_from(tenant.number).unwrap();
                assert_eq!(tenant.service_for(site, scheme, tenant.number), Some(own), "tenant {own}");
                // Users of the next one are not its own: a hash takes HAProxy a while, so not all are tried with all.
                let next = tenant.number % tenants.len() + 1;
                assert_eq!(tenant.service_for(site, scheme, next), None, "tenant {own}");
                assert_eq!(site.get(scheme, &tenant.host("clients"), "/").status, 403);
                // The server behind it speaks no TLS, so nobody asks it: HAProxy has started with its CA.
                assert_eq!(site.get(scheme, &tenant.host("servers"), "/").status, 404);
            }
            for of in ["auth", "clients", "servers"] {
                assert_eq!(
                    shown(site, &tenant.host(of)),
                    Some(der(&tenant.certificate)),
                    "tenant {}",
                    tenant.number
                );
            }
        }
    });
}

#[test]
fn a_certificate_for_thousands_of_hosts_is_shown_for_each_of_them() {
    let certificate = certificate::for_host("many.example").unwrap();
    let hosts: Vec<String> = (0..4_000).map(|n| format!("host-number-{n}.of.many.example")).collect();
    let manifests = [
        json!({"kind": "Secret", "metadata": {"namespace": "shop", "name": "many"},
            "data": {"tls.crt": BASE64.encode(&certificate.pem), "tls.key": BASE64.encode(&certificate.key)}}),
        json!({"kind": "Ingress", "metadata": {"namespace": "shop", "name": "many"}, "spec": {
            "tls": [{"hosts": hosts, "secretName": "many"}],
            "rules": [{"host": hosts[0], "http": {"paths": [
                {"path": "/", "pathType": "Prefix", "backend": {"service": {"name": "s1", "port": {"number": 80}}}}]}}]}}),
    ];
    on_each_haproxy(&manifests, |site| {
        assert_eq!(site.get(Scheme::Https, &hosts[0], "/").service(), Some(1));
        for host in hosts.iter().step_by(61).chain(hosts.last()) {
            assert_eq!(shown(site, host), Some(der(&certificate)), "{host}");
        }
        assert_ne!(shown(site, "host-number-4000.of.many.example"), Some(der(&certificate)));
    });
}
