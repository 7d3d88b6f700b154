//! Which names are asked for: those of Services of type ExternalName, and of who Ingresses name outside of the cluster to be asked whether
//! requests may pass; a number of each namespace's.
//!
//! Follows the stores change by change: thousands of Services are read once.

use haptic_model::{Object, Snapshot, external_names::ExternalTarget};
use haptic_routes::hosts_named_by;
use serde::Deserialize;
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

/// Names of one namespace that are asked for; the first ones by their letters.
pub const OF_NAMESPACE: usize = 100;
/// Names that are asked for at all: of each namespace as many as of others.
pub const AT_ALL: usize = 5000;

/// Namespace and name of an object.
type NamingObject = (Arc<str>, Arc<str>);

/// The names that objects name.
#[derive(Debug, Default)]
pub struct RequestedNames {
    stores: BTreeMap<Arc<str>, NamedStore>,
}

#[derive(Debug, Default)]
struct NamedStore {
    seen: Arc<Snapshot>,
    names: BTreeMap<NamingObject, BTreeSet<Arc<str>>>,
}

impl RequestedNames {
    /// Reads what has changed in `stores`; those that are not among them any more are forgotten. Whether names may have
    /// changed.
    pub fn update<'s>(
        &mut self,
        stores: impl IntoIterator<Item = (&'s Arc<str>, &'s Arc<Snapshot>)>,
    ) -> bool {
        let mut changed = false;
        let mut before = std::mem::take(&mut self.stores);
        for (name, snapshot) in stores {
            let mut store = before.remove(name).unwrap_or_default();
            changed |= store.update(snapshot);
            self.stores.insert(name.clone(), store);
        }
        changed | before.values().any(|gone| !gone.names.is_empty())
    }

    /// Those that are asked for, each once: one of each namespace, then a second one of each. So nobody's many come before
    /// another's first. And those that are too many.
    #[must_use]
    pub fn names(&self) -> (Vec<Arc<str>>, BTreeSet<Arc<str>>) {
        let mut of_namespaces: BTreeMap<&Arc<str>, BTreeSet<&Arc<str>>> = BTreeMap::new();
        for ((namespace, _), names) in self.stores.values().flat_map(|store| &store.names) {
            of_namespaces.entry(namespace).or_default().extend(names);
        }
        let mut ranked: Vec<(usize, &Arc<str>)> =
            of_namespaces.values().flat_map(|names| names.iter().copied().enumerate()).collect();
        ranked.sort_by_key(|(rank, _)| *rank);
        let (mut asked, mut known, mut others) = (Vec::new(), BTreeSet::new(), BTreeSet::new());
        for (rank, name) in ranked {
            if known.contains(name) {
                continue;
            }
            if rank < OF_NAMESPACE && asked.len() < AT_ALL {
                known.insert(name);
                asked.push(name.clone());
            } else {
                others.insert(name.clone());
            }
        }
        (asked, others)
    }
}

impl NamedStore {
    fn update(&mut self, snapshot: &Arc<Snapshot>) -> bool {
        // The objects of an on-demand store are not there to be looked at.
        if snapshot.is_on_demand() || snapshot.is_unchanged_since(&self.seen) {
            return false;
        }
        let before = std::mem::replace(&mut self.seen, snapshot.clone());
        let mut changed = false;
        for difference in snapshot.differences_from(&before) {
            let Some((object, _)) = difference.after.or(difference.before) else { continue };
            let by = (object.reference.namespace.clone(), object.reference.name.clone());
            let names = difference.after.map(|(object, _)| names_of(object)).unwrap_or_default();
            changed |= if names.is_empty() {
                self.names.remove(&by).is_some()
            } else {
                self.names.insert(by, names.clone()) != Some(names)
            };
        }
        changed
    }
}

/// The names that a Service or an Ingress names.
fn names_of(object: &Object) -> BTreeSet<Arc<str>> {
    let hosts = hosts_named_by(&object.json.bytes());
    let hosts = hosts.iter().filter_map(|host| match ExternalTarget::of(host) {
        ExternalTarget::Name(name) => Some(name),
        _ => None,
    });
    hosts.chain(name_of(object)).collect()
}

/// The name that a Service of type ExternalName leads to.
fn name_of(service: &Object) -> Option<Arc<str>> {
    #[derive(Deserialize)]
    struct Service {
        spec: Spec,
    }
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Spec {
        #[serde(rename = "type")]
        kind: String,
        external_name: String,
    }

    let Service { spec } = serde_json::from_slice(&service.json.bytes()).ok()?;
    match ExternalTarget::of(&spec.external_name) {
        ExternalTarget::Name(name) if spec.kind == "ExternalName" => Some(name),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use haptic_model::ObjectRef;
    use serde_json::{Value, json};

    fn put(store: &mut Snapshot, namespace: &str, name: &str, spec: Value) {
        store.put(ObjectRef::new("services", namespace, name), &json!({ "spec": spec }));
    }

    fn external(name: &str) -> Value {
        json!({"type": "ExternalName", "externalName": name})
    }

    fn asked(wanted: &RequestedNames) -> Vec<String> {
        let names: BTreeSet<String> = wanted.names().0.iter().map(ToString::to_string).collect();
        names.into_iter().collect()
    }

    fn seen(wanted: &mut RequestedNames, store: &Snapshot) -> (bool, Vec<String>) {
        let store = (Arc::from("services"), Arc::new(store.clone()));
        let changed = wanted.update([(&store.0, &store.1)]);
        (changed, asked(wanted))
    }

    #[test]
    fn names_follow_the_services() {
        let (mut wanted, mut store) = (RequestedNames::default(), Snapshot::full());
        put(&mut store, "a", "one", external("One.example."));
        put(&mut store, "a", "ip", external("127.0.0.1"));
        put(&mut store, "a", "plain", json!({"ports": [{"port": 80}], "externalName": "not.asked.for"}));
        put(&mut store, "a", "odd", json!({"type": "ExternalName", "externalName": 7}));
        assert_eq!(seen(&mut wanted, &store), (true, vec!["one.example".into()]));
        put(&mut store, "a", "plain", json!({"ports": [{"port": 81}]}));
        assert!(!seen(&mut wanted, &store).0, "a Service of another type");
        put(&mut store, "b", "same", external("one.example"));
        put(&mut store, "a", "one", external("two.example"));
        assert_eq!(seen(&mut wanted, &store).1, ["one.example", "two.example"]);
        store.remove(&ObjectRef::new("services", "b", "same"));
        assert_eq!(seen(&mut wanted, &store), (true, vec!["two.example".into()]));
        assert!(wanted.update([]));
        assert!(asked(&wanted).is_empty());
    }

    #[test]
    fn an_ingress_names_whom_to_ask() {
        let (mut wanted, mut store) = (RequestedNames::default(), Snapshot::full());
        let put = |store: &mut Snapshot, annotations: Value| {
            let reference = Arc::new(ObjectRef::new("ingresses", "a", "web"));
            let annotations: serde_json::Map<String, Value> = annotations
                .as_object()
                .unwrap()
                .iter()
                .map(|(name, value)| (format!("haproxy-haptic.org/{name}"), value.clone()))
                .collect();
            store.put(reference, &json!({"metadata": {"annotations": annotations}, "spec": {}}));
        };
        put(
            &mut store,
            json!({"auth-url": "https://Auth.example/x", "paths": "/a: {auth-url: 'http://b.example/'}"}),
        );
        assert_eq!(seen(&mut wanted, &store), (true, vec!["auth.example".into(), "b.example".into()]));
        for none in ["https://$host/x", "http://sso.auth.svc/", "http://sso/", "http://10.0.0.1/", "?"] {
            put(&mut store, json!({"auth-url": none}));
            assert_eq!(seen(&mut wanted, &store).1, [""; 0], "{none}");
        }
    }

    #[test]
    fn no_namespace_crowds_out_others() {
        let (mut wanted, mut store) = (RequestedNames::default(), Snapshot::full());
        for namespace in 0..100 {
            for name in 0..120 {
                let host = format!("n{name}.a{namespace}.example");
                put(&mut store, &format!("a{namespace}"), &format!("s{name}"), external(&host));
            }
        }
        put(&mut store, "z", "only", external("only.example"));
        let names = seen(&mut wanted, &store).1;
        assert_eq!(names.len(), AT_ALL);
        let (asked, others) = wanted.names();
        assert!(asked[..101].contains(&"only.example".into()));
        assert!(others.len() == 120 * 100 + 1 - AT_ALL && others.iter().all(|name| !asked.contains(name)));
        let of = |namespace: &str| names.iter().filter(|name| name.contains(namespace)).count();
        assert!((49..=50).contains(&of(".a0.")) && (49..=50).contains(&of(".a99.")), "{}", of(".a99."));
    }
}
