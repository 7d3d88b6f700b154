//! Three tenants with everything that the libraries read, one of them hostile: what the webhook judges a change against.

use haptic_model::{ActiveConfig, Fleet, HaproxyVersion};
use haptic_watch::provided::{self, ProvidedObjects};
use haptic_webhook::render_cache::{Live, RenderCache};
use serde_json::{Map, Value, json};
use std::sync::Arc;

/// The namespace of the hostile one.
pub const EVIL: &str = "evil";
const GOOD: [&str; 2] = ["tenant-a", "tenant-b"];
const OBJECTS: &str = include_str!("../../../fixtures/hostile/objects.yaml");
/// A certificate, and its key.
const PEM: &str = include_str!("../../../actors/render/tests/pem/rsa.pem");

/// A cluster as the webhook knows it.
pub struct Cluster {
    /// Configuration and stores.
    pub live: Live,
    /// Keeps what was rendered last.
    pub cache: RenderCache,
    /// The objects of the hostile tenant.
    pub evil: Vec<Map<String, Value>>,
}

impl Cluster {
    pub fn new() -> Self {
        let spec = json!({
            "libraries": ["base", "ssl", "ingress"],
            "credentialsSecretRef": {"name": "credentials"},
            "podSelector": {"matchLabels": {"app": "haproxy"}},
        });
        let candidate = haptic_config::parse(&spec.to_string(), "edge.yaml").expect("a configuration");
        let mut spec = (*candidate.spec).clone();
        for watched in spec.watched_resources.values_mut() {
            watched.enable_validation_webhook = true;
        }
        let evil = tenant(EVIL);
        let mut objects = vec![class()];
        objects.extend(GOOD.iter().flat_map(|name| tenant(name)));
        objects.extend(evil.iter().cloned());
        let mut given = ProvidedObjects::new();
        for (name, watched) in &spec.watched_resources {
            let of_it = objects.iter().filter(|object| resource(object).1 == watched.resources);
            given.insert(name.clone(), of_it.cloned().collect());
        }
        let snapshots = provided::snapshots(&spec, &given).expect("stores");
        let version = HaproxyVersion::new(3, 4);
        let live = Live {
            config: Arc::new(ActiveConfig::of(&candidate.name, &candidate.namespace, spec)),
            snapshots: Arc::new(snapshots),
            quarantine: Arc::default(),
            fleet: Arc::new(Fleet::of_version(version)),
        };
        Self { live, cache: RenderCache::default(), evil }
    }
}

/// API group and plural name of an object's kind.
pub fn resource(object: &Map<String, Value>) -> (String, String) {
    let text = |field: &str| object.get(field).and_then(Value::as_str).unwrap_or_default();
    let kind = text("kind").to_lowercase();
    let group = text("apiVersion").split_once('/').map_or("", |(group, _)| group);
    (group.to_owned(), if kind.ends_with("ss") { format!("{kind}es") } else { format!("{kind}s") })
}

fn class() -> Map<String, Value> {
    let class = json!({
        "apiVersion": "networking.k8s.io/v1", "kind": "IngressClass",
        "metadata": {"name": "haptic", "annotations": {"ingressclass.kubernetes.io/is-default-class": "true"}},
        "spec": {"controller": "haproxy-haptic.org/ingress-controller"},
    });
    class.as_object().cloned().unwrap_or_default()
}

fn tenant(name: &str) -> Vec<Map<String, Value>> {
    let (certificate, key) = PEM.split_at(PEM.find("-----BEGIN PRIVATE KEY").expect("a key"));
    let objects = OBJECTS
        .replace("NAMESPACE", name)
        .replace("HOST", &format!("{name}.example"))
        .replace("CERTIFICATE", &base64(certificate))
        .replace("KEY", &base64(key));
    serde_saphyr::from_str(&objects).expect("objects")
}

fn base64(text: &str) -> String {
    use base64::{Engine as _, engine::general_purpose::STANDARD};
    STANDARD.encode(text)
}
