//! Sets that are kept up to date change by change are those of a fresh start, whatever happened: Ingresses, their annotations and
//! paths, the options of Services, certificates, the date and what the class says. So is what is found at Ingresses.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]

mod certificates;

use certificates::secret;
use haptic_model::{ActiveConfig, Object, ObjectRef, Snapshot, Snapshots};
use haptic_routes::{Routes, options_of, store_of, userlists_of};
use proptest::prelude::*;
use serde_json::{Value, json};
use std::{
    collections::BTreeMap,
    sync::{Arc, LazyLock},
    time::{Duration, UNIX_EPOCH},
};

const NAMESPACES: [&str; 2] = ["a", "b"];
const HOSTS: [&str; 3] = ["a.example", "b.example", "*.example"];
const NAMES: [&str; 3] = ["x", "y", "z"];
const OF_INGRESSES: [&str; 25] = [
    "{}",
    r#"{"haproxy-haptic.org/retry": "all", "haproxy-haptic.org/auth-secret": "x"}"#,
    r#"{"haproxy-haptic.org/paths": "/x: {retries: 1, auth-secret: y}\n/y: {balance: random}"}"#,
    r#"{"haproxy-haptic.org/paths": "/x: {retries: many}"}"#,
    r#"{"haproxy-haptic.org/affinity": "cookie", "haproxy-haptic.org/nonesuch": "1"}"#,
    r#"{"haproxy-haptic.org/path-type": "regex"}"#,
    r#"{"haproxy-haptic.org/path-type": "regex", "haproxy-haptic.org/rewrite-target": "/\\1"}"#,
    r#"{"haproxy-haptic.org/paths": "/z[0-9]+: {path-type: regex, retries: 1}"}"#,
    r#"{"haproxy-haptic.org/match-methods": "GET", "haproxy-haptic.org/match-headers": "X-A: 1"}"#,
    r#"{"haproxy-haptic.org/paths": "/x: {match-query: a=1}\n/z[0-9]+: {path-type: regex, match-methods: PUT}"}"#,
    r#"{"haproxy-haptic.org/canary-service": "x:80", "haproxy-haptic.org/canary-weight": "5", "haproxy-haptic.org/weights": "y:80=1"}"#,
    r#"{"haproxy-haptic.org/auth-url": "http://y.b.svc/check"}"#,
    r#"{"haproxy-haptic.org/auth-url": "https://$host/x/check"}"#,
    r#"{"haproxy-haptic.org/paths": "/y: {auth-url: https://$host/z1}\n/x: {auth-url: http://y/check}"}"#,
    r#"{"haproxy-haptic.org/ssl-redirect": "false", "haproxy-haptic.org/client-ca-secret": "x"}"#,
    r#"{"nginx.ingress.kubernetes.io/use-regex": "true"}"#,
    r#"{"nginx.ingress.kubernetes.io/rewrite-target": "/x"}"#,
    r#"{"nginx.ingress.kubernetes.io/canary": "true", "nginx.ingress.kubernetes.io/canary-weight": "5"}"#,
    r#"{"nginx.ingress.kubernetes.io/auth-tls-secret": "a/x"}"#,
    r#"{"nginx.ingress.kubernetes.io/server-alias": "b.example", "nginx.ingress.kubernetes.io/app-root": "/y"}"#,
    r#"{"haproxy-ingress.github.io/redirect-from": "b.example", "haproxy-ingress.github.io/app-root": "/y"}"#,
    r#"{"nginx.ingress.kubernetes.io/auth-type": "basic", "nginx.ingress.kubernetes.io/auth-secret": "x"}"#,
    r#"{"haproxy-haptic.org/ssl-passthrough": "true"}"#,
    r#"{"haproxy-haptic.org/ssl-passthrough": "true", "haproxy-haptic.org/ssl-passthrough-http-port": "81"}"#,
    r#"{"nginx.ingress.kubernetes.io/ssl-passthrough": "true", "haproxy-haptic.org/auth-secret": "x"}"#,
];
const PATHS: [&str; 6] = ["/x", "/", "/y", "/z[0-9]+", "/x(/|$)(.*)", "/(a|b)c"];
const OF_SERVICES: [&str; 6] = [
    "{}",
    r#"{"other.example/note": "haproxy-haptic.org/"}"#,
    r#"{"haproxy-haptic.org/protocol": "h2", "haproxy-haptic.org/retries": "2"}"#,
    r#"{"haproxy-haptic.org/protocol": "gopher", "haproxy-haptic.org/auth-secret": "x"}"#,
    r#"{"haproxy-haptic.org/tcp-ports": "80, 81:82"}"#,
    r#"{"haproxy-haptic.org/tcp-ports": "80:web", "haproxy-haptic.org/tcp-allow-from": "10.0.0.0/8", "haproxy-haptic.org/tcp-tls-secret": "x"}"#,
];
static CERTIFICATES: LazyLock<[Value; 4]> = LazyLock::new(|| {
    [
        secret(&["a.example"], 10, 100),
        secret(&["*.example"], 0, 40),
        secret(&["b.example"], 30, 110),
        json!({"metadata": {}, "data": {}}),
    ]
});
const CLASSES: [&str; 4] = [
    "{}",
    "{}",
    r#"{"defaults": {"retry": "idempotent"}}"#,
    r#"{"enforced": {"retries": 1, "closed": true}}"#,
];

#[derive(Clone, Debug)]
enum Step {
    Ingress { namespace: usize, name: usize, host: usize, paths: usize, annotations: usize, tls: usize },
    Service { namespace: usize, name: usize, annotations: usize },
    Gone { store: &'static str, namespace: usize, name: usize },
    Secret { namespace: usize, name: usize, certificate: usize },
    Class(usize),
    Day(u64),
}

fn step() -> impl Strategy<Value = Step> {
    let (namespace, name) = (0..NAMESPACES.len(), 0..NAMES.len());
    prop_oneof![
        6 => (namespace.clone(), name.clone(), 0..HOSTS.len(), 0..7_usize, 0..OF_INGRESSES.len(), 0..4_usize).prop_map(
            |(namespace, name, host, paths, annotations, tls)| Step::Ingress { namespace, name, host, paths, annotations, tls }
        ),
        4 => (namespace.clone(), name.clone(), 0..OF_SERVICES.len())
            .prop_map(|(namespace, name, annotations)| Step::Service { namespace, name, annotations }),
        3 => (namespace.clone(), name.clone(), 0..CERTIFICATES.len())
            .prop_map(|(namespace, name, certificate)| Step::Secret { namespace, name, certificate }),
        2 => (prop_oneof![Just("ingresses"), Just("services"), Just("secrets")], namespace, name)
            .prop_map(|(store, namespace, name)| Step::Gone { store, namespace, name }),
        1 => (0..CLASSES.len()).prop_map(Step::Class),
        1 => (5..120_u64).prop_map(Step::Day),
    ]
}

fn config(class: usize) -> ActiveConfig {
    let families =
        if class % 2 == 1 { json!({"ingress-nginx": {}, "haproxy-ingress": {}}) } else { json!({}) };
    let class: Value = serde_json::from_str(CLASSES[class]).unwrap();
    let spec = json!({
        "credentialsSecretRef": {"name": "c"}, "podSelector": {"matchLabels": {"a": "b"}},
        "templatingSettings": {"extraContext": {"routes": class, "annotationFamilies": families, "passthrough": true, "tcpPorts": [80]}},
        "watchedResources": {
            "ingresses": {"apiVersion": "networking.k8s.io/v1", "resources": "ingresses"},
            "services": {"apiVersion": "v1", "resources": "services"},
            "secrets": {"apiVersion": "v1", "resources": "secrets"},
        },
    });
    ActiveConfig::of("c", "n", serde_json::from_value(spec).unwrap())
}

#[derive(Default)]
struct World {
    stores: BTreeMap<Arc<str>, Snapshot>,
    class: usize,
    day: u64,
}

impl World {
    fn take(&mut self, step: &Step) {
        match *step {
            Step::Ingress { namespace, name, host, paths, annotations, tls } => {
                let path = |(path, service): (&str, usize)| {
                    json!({"path": path, "pathType": "Prefix",
                        "backend": {"service": {"name": NAMES[service], "port": {"number": 80}}}})
                };
                let paths: Vec<Value> =
                    PATHS.into_iter().zip([name, 1, 0, 1, 2, 0]).take(paths).map(path).collect();
                let host = HOSTS[host];
                let rule = json!({"host": host, "http": {"paths": paths}});
                let tls = match tls {
                    0 => json!([]),
                    1 => json!([{"hosts": [host]}]),
                    secret => json!([{"hosts": [host], "secretName": NAMES[secret - 1]}]),
                };
                let spec = json!({"rules": [rule], "tls": tls});
                self.put("ingresses", namespace, name, OF_INGRESSES[annotations], spec);
            }
            Step::Service { namespace, name, annotations } => {
                self.put("services", namespace, name, OF_SERVICES[annotations], json!({}));
            }
            Step::Gone { store, namespace, name } => {
                let reference = ObjectRef::new(store, NAMESPACES[namespace], NAMES[name]);
                self.store(store).remove(&reference);
            }
            Step::Secret { namespace, name, certificate } => {
                self.put_object("secrets", namespace, name, CERTIFICATES[certificate].clone());
            }
            Step::Class(class) => self.class = class,
            Step::Day(day) => self.day = day,
        }
    }

    fn store(&mut self, name: &str) -> &mut Snapshot {
        self.stores.entry(name.into()).or_insert_with(Snapshot::full)
    }

    fn put(&mut self, store: &str, namespace: usize, name: usize, annotations: &str, spec: Value) {
        let annotations: Value = serde_json::from_str(annotations).unwrap();
        let object = json!({"metadata": {"annotations": annotations}, "spec": spec});
        self.put_object(store, namespace, name, object);
    }

    fn put_object(&mut self, store: &str, namespace: usize, name: usize, mut json: Value) {
        let (namespace, name) = (NAMESPACES[namespace], NAMES[name]);
        json["metadata"]["namespace"] = json!(namespace);
        json["metadata"]["name"] = json!(name);
        self.store(store).put(ObjectRef::new(store, namespace, name), &json);
    }

    fn snapshots(&self) -> Snapshots {
        Snapshots::new(
            self.stores.iter().map(|(name, store)| (name.clone(), Arc::new(store.clone()))).collect(),
        )
    }
}

/// All that templates see, as text.
fn seen(routes: &mut Routes, world: &World) -> Vec<String> {
    routes.set_date(UNIX_EPOCH + Duration::from_secs(world.day * 24 * 3600));
    let all = routes.beside(&config(world.class), &world.snapshots());
    let stores = [
        store_of("ingresses"),
        options_of("ingresses"),
        userlists_of("ingresses"),
        store_of("tcp"),
        store_of("tcp ports"),
    ];
    let objects = stores.iter().filter_map(|name| Some((name, all.get(name)?)));
    objects
        .flat_map(|(name, store)| {
            let text = move |object: &Arc<Object>| {
                format!("{name} {}: {}", object.reference, String::from_utf8_lossy(&object.json.bytes()))
            };
            store.iter().map(text).collect::<Vec<_>>()
        })
        .chain(routes.findings().iter().map(|(object, finding)| format!("{object} {finding:?}")))
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn sets_are_those_of_a_fresh_start_after_any_history(steps in prop::collection::vec(step(), 1..40)) {
        let (mut world, mut routes) = (World::default(), Routes::default());
        for name in ["ingresses", "services", "secrets"] {
            world.store(name).set_synced();
        }
        for step in &steps {
            world.take(step);
            prop_assert_eq!(seen(&mut routes, &world), seen(&mut Routes::default(), &world), "{:?}", step);
        }
    }
}
