//! Whose Ingresses are served, and which certificates.

use crate::{
    on_each_haproxy,
    site::{Scheme, rendered_alone, sentences},
};
use serde_json::json;

#[test]
fn an_ingress_of_another_class_is_not_served() {
    let ingress = |name: &str, class: &str, created: &str| {
        json!({"kind": "Ingress", "metadata": {"namespace": "shop", "name": name, "creationTimestamp": created},
            "spec": {"ingressClassName": class, "defaultBackend": {"service": {"name": name, "port": {"number": 80}}}}})
    };
    let manifests =
        [ingress("s1", "other", "2020-01-01T00:00:00Z"), ingress("s2", "haptic", "2026-01-01T00:00:00Z")];
    on_each_haproxy(&manifests, |site| assert_eq!(site.get(Scheme::Http, "x", "/").service(), Some(2)));
}

#[test]
fn the_class_may_stand_in_the_annotation_of_old() {
    let ingress = |name: &str, class: &str| {
        json!({"kind": "Ingress",
            "metadata": {"namespace": "shop", "name": name, "annotations": {"kubernetes.io/ingress.class": class}},
            "spec": {"rules": [{"host": class, "http": {"paths": [{"path": "/", "pathType": "Prefix",
                "backend": {"service": {"name": name, "port": {"number": 80}}}}]}}]}})
    };
    // There is an IngressClass haptic, and none of another name.
    on_each_haproxy(&[ingress("s1", "haptic"), ingress("s2", "other")], |site| {
        let served = ["haptic", "other"].map(|host| site.get(Scheme::Http, host, "/").service());
        assert_eq!(served, [Some(1), None]);
    });
}

#[test]
fn what_cannot_be_served_is_told_and_holds_nothing_back() {
    let bucket =
        json!({"resource": {"apiGroup": "k8s.example.com", "kind": "StorageBucket", "name": "static"}});
    let manifests = [
        json!({"kind": "Ingress", "metadata": {"namespace": "shop", "name": "i"}, "spec": {
            "tls": [{"hosts": ["a.example"], "secretName": "nonesuch"}],
            "rules": [{"host": "a.example", "http": {"paths": [
                {"path": "/static", "pathType": "Prefix", "backend": bucket},
                {"path": "/", "pathType": "Prefix", "backend": {"service": {"name": "s1", "port": {"number": 80}}}},
            ]}}],
        }}),
        json!({"kind": "Ingress", "metadata": {"namespace": "shop", "name": "j"}, "spec": {
            "rules": [{"host": "a.example", "http": {"paths": [
                {"path": "/", "pathType": "Prefix", "backend": {"service": {"name": "s2", "port": {"number": 80}}}},
            ]}}],
        }}),
    ];
    let (_, warnings) = rendered_alone(&manifests).unwrap_or_else(|e| panic!("{}", sentences(&e)));
    let said = sentences(&warnings);
    for expected in [
        "a.example/static (Prefix) leads to the resource StorageBucket static; only Services can be reached",
        "a.example/ (Prefix) is taken by ingresses shop/i, which comes first by name",
        "there is no Secret shop/nonesuch of type kubernetes.io/tls or with the label haproxy-haptic.org/use: the default certificate is served for a.example",
    ] {
        assert!(said.contains(expected), "{said}");
    }
    on_each_haproxy(&manifests, |site| {
        assert_eq!(site.get(Scheme::Http, "a.example", "/x").service(), Some(1));
    });
}
