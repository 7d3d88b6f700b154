//! Whose servers may go ahead of everything else that changed: those of objects that are as they were, and so is all that they name.
//! What remains is a cluster in which endpoints changed first, and nobody promises another order. Pure.

use haptic_model::{ActiveConfig, Object, ObjectRef, Snapshots, crd::WatchedResource};
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

/// What changed beside endpoints.
#[derive(Clone, Debug, Default)]
pub(super) struct OtherChanges {
    objects: BTreeSet<Arc<ObjectRef>>,
    /// Their names, by namespace.
    names: BTreeMap<Arc<str>, BTreeSet<Arc<str>>>,
    now: Snapshots,
}

impl OtherChanges {
    /// What changed from `before` to `now`.
    pub fn of(before: &Snapshots, now: &Snapshots, config: &ActiveConfig) -> Self {
        let mut apart = Self { now: now.clone(), ..Self::default() };
        for (resource, store) in now.iter().filter(|(resource, _)| !is_of_endpoints(resource, config)) {
            let Some(before) = before.get(resource) else { continue };
            for difference in store.differences_from(before) {
                let Some((object, _)) = difference.after.or(difference.before) else { continue };
                apart.add(&object.reference);
            }
        }
        apart
    }

    /// Whether the servers of this object's block may go.
    pub fn may_go(&self, object: &ObjectRef) -> bool {
        let is_of_all = self.names.contains_key("");
        let present =
            self.now.get(&object.resource).and_then(|store| store.get(&object.namespace, &object.name));
        let is_same = !self.objects.contains(object);
        !is_of_all && is_same && present.is_some_and(|object| !self.names_any(object))
    }

    fn add(&mut self, object: &Arc<ObjectRef>) {
        self.objects.insert(object.clone());
        self.names.entry(object.namespace.clone()).or_default().insert(object.name.clone());
    }

    /// Whether a text in `object` is the name of what changed in its namespace. Of an object that is not kept whole, nobody knows.
    /// It is read once, however many names there are: a namespace may change thousands of objects at once.
    fn names_any(&self, object: &Object) -> bool {
        let json = object.json.bytes();
        let Ok(json) = std::str::from_utf8(&json) else { return true };
        let names = self.names.get(&object.reference.namespace);
        json.is_empty() || names.is_some_and(|names| texts_and_words(json).any(|text| names.contains(text)))
    }
}

/// The texts of `json`, and their words as far as they may be a name: `shop/users` and `a, b` name objects, too.
fn texts_and_words(json: &str) -> impl Iterator<Item = &str> {
    let words = json.split(|c: char| !c.is_ascii_alphanumeric() && c != '-' && c != '.');
    json.split('"').chain(words)
}

fn is_of_endpoints(resource: &str, config: &ActiveConfig) -> bool {
    config.spec.watched_resources.get(resource).is_some_and(|watched: &WatchedResource| {
        watched.api_version.starts_with("discovery.k8s.io/") || watched.resources == "endpoints"
    })
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use haptic_model::{Snapshot, store::Key};
    use serde_json::{Value, json};

    fn config() -> ActiveConfig {
        let resource = |version: &str, name: &str| json!({ "apiVersion": version, "resources": name });
        let spec = json!({
            "credentialsSecretRef": { "name": "c" }, "podSelector": { "matchLabels": { "a": "b" } },
            "watchedResources": {
                "ingresses": resource("networking.k8s.io/v1", "ingresses"),
                "services": resource("v1", "services"),
                "slices": resource("discovery.k8s.io/v1", "endpointslices"),
            },
        });
        ActiveConfig::of("edge", "haptic", serde_json::from_value(spec).unwrap())
    }

    pub fn put(
        snapshots: &Snapshots,
        resource: &str,
        namespace: &str,
        name: &str,
        value: &Value,
    ) -> Snapshots {
        let mut store = snapshots.get(resource).map_or_else(Snapshot::full, |store| Snapshot::clone(store));
        let object = Object::new(ObjectRef::new(resource, namespace, name), value);
        store.apply(object, Key::from([namespace.into()]));
        snapshots.with(resource.into(), Arc::new(store))
    }

    #[test]
    fn who_changed_or_names_what_changed_waits_and_others_go() {
        let (ingress, config) =
            (|service: &str| json!({ "backend": { "service": { "name": service } } }), config());
        let mut before = Snapshots::default();
        for (namespace, name) in [("n", "a"), ("n", "b"), ("m", "a")] {
            before = put(&before, "ingresses", namespace, name, &ingress(&format!("{name}-service")));
            before = put(&before, "services", namespace, &format!("{name}-service"), &json!({}));
        }
        before = put(&before, "slices", "n", "a-1", &json!({ "labels": { "service-name": "a-service" } }));
        let is_free = |now: &Snapshots, namespace: &str, name: &str| {
            OtherChanges::of(&before, now, &config).may_go(&ObjectRef::new("ingresses", namespace, name))
        };
        let moved =
            put(&before, "slices", "n", "a-1", &json!({ "labels": { "service-name": "a-service" }, "x": 1 }));
        assert!(is_free(&moved, "n", "a"), "only endpoints changed");
        let also_new = put(&moved, "ingresses", "n", "new", &ingress("c-service"));
        assert!(is_free(&also_new, "n", "a"), "what is new is nothing to it");
        assert!(
            !is_free(&put(&moved, "ingresses", "n", "a", &ingress("b-service")), "n", "a"),
            "it changed itself"
        );
        let service = put(&moved, "services", "n", "a-service", &json!({ "guarded": true }));
        assert!(!is_free(&service, "n", "a") && is_free(&service, "n", "b") && is_free(&service, "m", "a"));
        let listed = put(&before, "ingresses", "n", "listed", &json!({ "users": "b, n/a-service" }));
        let service = put(&listed, "services", "n", "a-service", &json!({ "guarded": true }));
        let named_in_a_text = ObjectRef::new("ingresses", "n", "listed");
        assert!(
            !OtherChanges::of(&listed, &service, &config).may_go(&named_in_a_text),
            "a text may hold several names"
        );
        let slice = ObjectRef::new("slices", "n", "a-1");
        assert!(!OtherChanges::of(&before, &service, &config).may_go(&slice), "the slice names its Service");
        assert!(OtherChanges::of(&before, &also_new, &config).may_go(&slice));
        let of_all =
            put(&put(&before, "services", "", "class", &json!({})), "slices", "n", "a-1", &json!({}));
        let known = put(&before, "services", "", "other", &json!({}));
        assert!(
            !OtherChanges::of(&known, &of_all, &config).may_go(&slice),
            "what is in no namespace may concern all"
        );
        assert!(!is_free(&before, "n", "gone"));
    }
}
