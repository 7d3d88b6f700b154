//! The tables of the Ingress documentation (https://kubernetes.io/docs/concepts/services-networking/ingress, "Examples"
//! of path types and "Hostname wildcards"), row by row.

use crate::{
    on_each_haproxy,
    site::{SCHEMES, Site},
};
use serde_json::{Value, json};

type Row = (&'static [(&'static str, &'static str)], &'static str, u8);

/// The paths of an Ingress (kind, path; the first leads to service 1, the second to 2, …), a request's path, and the
/// service that answers; 0 for the default backend.
const PATHS: [Row; 22] = [
    (&[("Prefix", "/")], "/", 1),
    (&[("Prefix", "/")], "/any/path", 1),
    (&[("Exact", "/foo")], "/foo", 1),
    (&[("Exact", "/foo")], "/bar", 0),
    (&[("Exact", "/foo")], "/foo/", 0),
    (&[("Exact", "/foo/")], "/foo", 0),
    (&[("Prefix", "/foo")], "/foo", 1),
    (&[("Prefix", "/foo")], "/foo/", 1),
    (&[("Prefix", "/foo/")], "/foo", 1),
    (&[("Prefix", "/foo/")], "/foo/", 1),
    (&[("Prefix", "/aaa/bb")], "/aaa/bbb", 0),
    (&[("Prefix", "/aaa/bbb")], "/aaa/bbb", 1),
    (&[("Prefix", "/aaa/bbb/")], "/aaa/bbb", 1),
    (&[("Prefix", "/aaa/bbb")], "/aaa/bbb/", 1),
    (&[("Prefix", "/aaa/bbb")], "/aaa/bbb/ccc", 1),
    (&[("Prefix", "/aaa/bbb")], "/aaa/bbbxyz", 0),
    (&[("Prefix", "/"), ("Prefix", "/aaa")], "/aaa/ccc", 2),
    (&[("Prefix", "/"), ("Prefix", "/aaa"), ("Prefix", "/aaa/bbb")], "/aaa/bbb", 3),
    (&[("Prefix", "/"), ("Prefix", "/aaa"), ("Prefix", "/aaa/bbb")], "/ccc", 1),
    (&[("Prefix", "/aaa")], "/ccc", 0),
    (&[("Prefix", "/foo"), ("Exact", "/foo")], "/foo", 2),
    (&[("ImplementationSpecific", "/foo")], "/foo/bar", 1),
];

/// A rule's host, a request's, and whether they match.
const HOSTS: [(&str, &str, bool); 5] = [
    ("*.foo.com", "bar.foo.com", true),
    ("*.foo.com", "baz.bar.foo.com", false),
    ("*.foo.com", "foo.com", false),
    ("foo.bar.com", "foo.bar.com", true),
    ("foo.bar.com", "FOO.bar.com:7080", true),
];

/// Answers what no rule takes.
const DEFAULT: u8 = 40;

fn backend(number: u8) -> Value {
    json!({"service": {"name": format!("s{number}"), "port": {"name": "web"}}})
}

fn ingress(name: &str, spec: Value) -> Value {
    json!({"kind": "Ingress", "metadata": {"namespace": "shop", "name": name}, "spec": spec})
}

fn expect(site: &Site, host: &str, path: &str, service: u8) {
    for scheme in SCHEMES {
        let answer = site.get(scheme, host, path);
        assert_eq!(answer.service(), Some(service), "{scheme:?} {host}{path}: {answer:?}");
    }
}

#[test]
fn paths_match_as_the_table_of_the_documentation_says() {
    let host = |row: usize| format!("row-{row}.example");
    let mut manifests: Vec<Value> = (PATHS.iter().enumerate())
        .map(|(row, (paths, ..))| {
            let paths: Vec<Value> = (1..)
                .zip(*paths)
                .map(|(service, (kind, path))| json!({"path": path, "pathType": kind, "backend": backend(service)}))
                .collect();
            ingress(&format!("row-{row}"), json!({"rules": [{"host": host(row), "http": {"paths": paths}}]}))
        })
        .collect();
    manifests.push(ingress("default", json!({"defaultBackend": backend(DEFAULT)})));
    on_each_haproxy(&manifests, |site| {
        for (row, (_, path, service)) in PATHS.iter().enumerate() {
            expect(site, &host(row), path, if *service == 0 { DEFAULT } else { *service });
        }
    });
}

#[test]
fn hosts_match_as_the_table_of_the_documentation_says() {
    let rule = |host: &str, number: u8| {
        ingress(
            &format!("i{number}"),
            json!({"rules": [{"host": host, "http": {"paths": [{"path": "/", "pathType": "Prefix", "backend": backend(number)}]}}]}),
        )
    };
    let manifests = [
        rule("*.foo.com", 1),
        rule("foo.bar.com", 2),
        ingress("default", json!({"defaultBackend": backend(DEFAULT)})),
    ];
    on_each_haproxy(&manifests, |site| {
        for (rule, host, matches) in HOSTS {
            let service = if rule == "*.foo.com" { 1 } else { 2 };
            expect(site, host, "/x", if matches { service } else { DEFAULT });
        }
    });
}

#[test]
fn a_precise_host_goes_before_a_wildcard_before_none_and_a_default_backend_takes_what_is_left() {
    let paths =
        |path: &str, number: u8| json!([{"path": path, "pathType": "Prefix", "backend": backend(number)}]);
    let manifests = [
        ingress("own", json!({"rules": [{"host": "a.foo.com", "http": {"paths": paths("/own", 1)}}]})),
        ingress("wild", json!({"rules": [{"host": "*.foo.com", "http": {"paths": paths("/", 2)}}]})),
        ingress(
            "any",
            json!({"rules": [{"http": {"paths": paths("/own/deep", 3)}}, {"http": {"paths": paths("/any", 4)}}]}),
        ),
        ingress(
            "rest",
            json!({"defaultBackend": backend(5), "rules": [{"host": "b.example", "http": {"paths": paths("/b", 6)}}, {"host": "c.example"}]}),
        ),
    ];
    on_each_haproxy(&manifests, |site| {
        expect(site, "a.foo.com", "/own/deep", 1);
        expect(site, "a.foo.com", "/any", 2);
        expect(site, "b.foo.com", "/any", 2);
        expect(site, "other.example", "/own/deep", 3);
        expect(site, "other.example", "/any", 4);
        expect(site, "b.example", "/b", 6);
        expect(site, "b.example", "/other", 5);
        expect(site, "c.example", "/", 5);
        for scheme in SCHEMES {
            let answer = site.get(scheme, "other.example", "/other");
            assert_eq!(answer.status, 404, "{answer:?}");
        }
    });
}
