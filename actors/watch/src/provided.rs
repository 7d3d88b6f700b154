//! Stores of objects that are given instead of watched: what the watches would hold if a cluster had just these. Pure.

use crate::{
    ingest::Ingest,
    source::directory::{FolderContents, Manifest, NamespaceLabels, Selection},
    spec::WatchSpec,
};
use haptic_model::{
    HAProxyTemplateConfigSpec, LimitReached, Object, ObjectRef, Snapshot, Snapshots, StoreLimits,
    crd::{StoreKind, WatchedResource},
    store::{FetchError, FetchObject, StoreChange},
};
use serde_json::{Map, Value};
use std::{collections::BTreeMap, sync::Arc};

/// Kubernetes objects by the name of their watched resource.
pub type ProvidedObjects = BTreeMap<String, Vec<Map<String, Value>>>;

/// Every store of `spec`, read to its end, with those of `objects` that its selectors take. Objects are completed as
/// kubectl and the API server do: the namespace `default`, a Secret's `stringData`.
///
/// # Errors
/// A sentence for each object that its store cannot hold.
pub fn snapshots(
    spec: &HAProxyTemplateConfigSpec,
    objects: &ProvidedObjects,
) -> Result<Snapshots, Vec<String>> {
    let mut problems = unknown(spec, objects);
    let (manifests, unreadable) = read(objects);
    problems.extend(unreadable);
    let namespaces = namespaces(&manifests);
    let mut stores = BTreeMap::new();
    for (name, resource) in &spec.watched_resources {
        let given = manifests.get(name).map(Vec::as_slice).unwrap_or_default();
        match store(spec, name, resource, given, &namespaces) {
            Ok(store) => drop(stores.insert(name.as_str().into(), Arc::new(store))),
            Err(more) => problems.extend(more),
        }
    }
    if problems.is_empty() { Ok(Snapshots::new(stores)) } else { Err(problems) }
}

/// `snapshots` with one object more, or changed. Selectors and completion as in [`snapshots()`]: an object that is not
/// selected is not in its store afterwards. `namespace_labels` are those of its namespace, for a `namespaceSelector`.
///
/// # Errors
/// Why its store cannot hold it.
pub fn with_object(
    spec: &HAProxyTemplateConfigSpec,
    snapshots: &Snapshots,
    resource: &str,
    object: Map<String, Value>,
    namespace_labels: &Map<String, Value>,
) -> Result<Snapshots, Vec<String>> {
    let not_watched = || vec![format!("{resource:?} is not watched")];
    let watched = spec.watched_resources.get(resource).ok_or_else(not_watched)?;
    let live = snapshots.get(resource).ok_or_else(not_watched)?;
    let (manifests, unreadable) = read(&ProvidedObjects::from([(resource.to_owned(), vec![object])]));
    let Some(manifest) = manifests.get(resource).and_then(|one| one.first()) else { return Err(unreadable) };
    let (namespace, name) = (manifest.identity.namespace.clone(), manifest.identity.name.clone());
    let labels = NamespaceLabels::from([(namespace.clone(), namespace_labels.clone())]);
    let alone = store(spec, resource, watched, std::slice::from_ref(manifest), &labels)?;
    let Some((object, key)) = alone.entries().next() else {
        return Ok(without_object(snapshots, &ObjectRef { resource: resource.into(), namespace, name }));
    };
    let mut store = Snapshot::clone(live);
    if live.is_on_demand() {
        store = store.with_fetch(Some(Arc::new(LaidOver { object: object.clone(), below: live.clone() })));
    }
    store.apply(Object::clone(object), key.clone());
    Ok(snapshots.with(resource.into(), Arc::new(store)))
}

/// `snapshots` without this object.
#[must_use]
pub fn without_object(snapshots: &Snapshots, object: &ObjectRef) -> Snapshots {
    let Some(store) = snapshots.get(&object.resource) else { return snapshots.clone() };
    let mut store = Snapshot::clone(store);
    store.remove(object);
    snapshots.with(object.resource.clone(), Arc::new(store))
}

/// Fetches one object from here, all others as before.
#[derive(Debug)]
struct LaidOver {
    object: Arc<Object>,
    below: Arc<Snapshot>,
}

impl FetchObject for LaidOver {
    fn fetch(&self, reference: &Arc<ObjectRef>) -> Result<Option<Arc<Object>>, FetchError> {
        if *reference == self.object.reference {
            return Ok(Some(self.object.clone()));
        }
        match self.below.get(&reference.namespace, &reference.name) {
            Some(known) => self.below.load(known),
            None => Ok(None),
        }
    }
}

fn unknown(spec: &HAProxyTemplateConfigSpec, objects: &ProvidedObjects) -> Vec<String> {
    let known = || spec.watched_resources.keys().cloned().collect::<Vec<_>>().join(", ");
    let unknown = objects.keys().filter(|name| !spec.watched_resources.contains_key(*name));
    unknown.map(|name| format!("{name:?} is not watched; watchedResources has: {}", known())).collect()
}

fn read(objects: &ProvidedObjects) -> (BTreeMap<String, Vec<Manifest>>, Vec<String>) {
    let (mut manifests, mut problems) = (BTreeMap::new(), Vec::new());
    for (name, list) in objects {
        let mut contents = FolderContents::default();
        for (number, object) in list.iter().enumerate() {
            contents.add(&format!("{name}, object {}", number + 1), Value::Object(object.clone()));
        }
        problems.extend(contents.problems);
        manifests.insert(name.clone(), contents.manifests);
    }
    (manifests, problems)
}

fn namespaces(manifests: &BTreeMap<String, Vec<Manifest>>) -> NamespaceLabels {
    let all = manifests.values().flatten().filter(|m| &*m.identity.kind == "Namespace");
    all.map(|m| {
        let labels = m.value.pointer("/metadata/labels").and_then(Value::as_object);
        (m.identity.name.clone(), labels.cloned().unwrap_or_default())
    })
    .collect()
}

fn store(
    spec: &HAProxyTemplateConfigSpec,
    name: &str,
    resource: &WatchedResource,
    given: &[Manifest],
    namespaces: &NamespaceLabels,
) -> Result<Snapshot, Vec<String>> {
    // Nothing is there to fetch from: what is given is kept.
    let resource = WatchedResource { store: StoreKind::Full, ..resource.clone() };
    let one = |error: String| vec![error];
    let limits = StoreLimits::from(&spec.controller.limits);
    let watch = WatchSpec::new(name, &resource, &spec.watched_resources_ignore_fields, limits);
    let ingest = Ingest::new(&watch).map_err(|e| one(e.to_string()))?;
    let selection = Selection::new(&resource).map_err(|e| one(format!("watchedResources.{name}: {e}")))?;
    let (mut store, mut problems) = (Snapshot::full(), Vec::new());
    for manifest in given {
        let identity = &manifest.identity;
        if !identity.is_of(&resource.api_version, &resource.resources) {
            problems.push(format!(
                "{name}: {identity} is of {}, and no object of {} {}",
                identity.api_version, resource.api_version, resource.resources
            ));
        } else if selection.selects(manifest, namespaces) {
            match ingest.take(manifest.value.clone()) {
                Err(malformed) => problems.push(format!("{}: {}", malformed.object, malformed.message)),
                Ok(ingested) => {
                    if let Some(oversized) = ingest.too_large(&ingested.object) {
                        problems.push(LimitReached::Object(Arc::new(oversized)).to_string());
                    } else if store.apply(ingested.object, ingested.key) != StoreChange::Created {
                        problems.push(format!("{name}: {identity} is given twice"));
                    }
                }
            }
        }
    }
    store.set_synced();
    if problems.is_empty() { Ok(store) } else { Err(problems) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use haptic_model::ObjectJson;
    use serde_json::json;

    fn spec(selector: &str) -> HAProxyTemplateConfigSpec {
        serde_json::from_value(json!({
            "credentialsSecretRef": {"name": "c"}, "podSelector": {"matchLabels": {"a": "b"}},
            "watchedResources": {
                "services": {"apiVersion": "v1", "resources": "services", "labelSelector": selector},
                "secrets": {"apiVersion": "v1", "resources": "secrets", "store": "on-demand"},
            },
        }))
        .unwrap()
    }

    fn given(objects: Value) -> ProvidedObjects {
        serde_json::from_value(objects).unwrap()
    }

    fn names(snapshots: &Snapshots, resource: &str) -> Vec<String> {
        snapshots.get(resource).unwrap().iter().map(|o| o.reference.to_string()).collect()
    }

    #[test]
    fn objects_are_completed_selected_and_kept_whole() {
        let objects = given(json!({
            "services": [
                {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "shop", "labels": {"expose": "web"}}},
                {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "inner"}},
            ],
            "secrets": [
                {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s", "namespace": "a"}, "stringData": {"x": "y"}},
            ],
        }));
        let stores = snapshots(&spec("expose=web"), &objects).unwrap();
        assert!(stores.synced(["services", "secrets"]));
        assert_eq!(names(&stores, "services"), ["services default/shop"]);
        let secret = stores.get("secrets").unwrap().get("a", "s").unwrap().value().unwrap();
        assert_eq!(secret["data"]["x"], "eQ==");
    }

    #[test]
    fn one_object_more_leaves_the_others_as_they_are_and_one_that_is_no_longer_selected_goes() {
        let service = |name: &str, label: &str| {
            json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": name, "labels": {"expose": label}}})
                .as_object()
                .unwrap()
                .clone()
        };
        let spec = spec("expose=web");
        let mut stores =
            snapshots(&spec, &ProvidedObjects::from([("services".into(), vec![service("a", "web")])]))
                .unwrap();
        for (name, label, expected) in [
            ("b", "web", ["services default/a", "services default/b"].as_slice()),
            ("b", "web", &["services default/a", "services default/b"]),
            ("a", "no", &["services default/b"]),
        ] {
            stores = with_object(&spec, &stores, "services", service(name, label), &Map::new()).unwrap();
            assert_eq!(names(&stores, "services"), expected);
        }
        stores = without_object(&stores, &ObjectRef::new("services", "default", "b"));
        assert!(names(&stores, "services").is_empty());
    }

    #[test]
    fn a_store_that_fetches_gives_the_object_that_is_laid_over_it() {
        #[derive(Debug)]
        struct Older;
        impl FetchObject for Older {
            fn fetch(&self, reference: &Arc<ObjectRef>) -> Result<Option<Arc<Object>>, FetchError> {
                let json = br#"{"data":{"x":"older"}}"#.as_slice().into();
                Ok(Some(Arc::new(Object { reference: reference.clone(), version: 1, json })))
            }
        }
        let mut store = Snapshot::on_demand(Arc::new(Older));
        store.put(ObjectRef::new("secrets", "a", "other"), ObjectJson::default());
        let stores = Snapshots::new(BTreeMap::from([("secrets".into(), Arc::new(store))]));
        let new = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s", "namespace": "a"}, "data": {"x": "new"}});
        let new = new.as_object().unwrap().clone();
        let stores = with_object(&spec(""), &stores, "secrets", new, &Map::new()).unwrap();
        let store = stores.get("secrets").unwrap();
        let read = |name| store.load(store.get("a", name).unwrap()).unwrap().unwrap().value().unwrap();
        assert_eq!((&read("s")["data"]["x"], &read("other")["data"]["x"]), (&json!("new"), &json!("older")));
    }

    #[test]
    fn the_labels_of_its_namespace_decide_where_a_watch_selects_by_them() {
        let mut spec = spec("");
        spec.watched_resources.get_mut("services").unwrap().namespace_selector = Some("team=web".into());
        let stores = snapshots(&spec, &ProvidedObjects::new()).unwrap();
        let service =
            json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "x", "namespace": "n"}});
        for (team, count) in [("web", 1), ("other", 0)] {
            let labels = json!({"team": team}).as_object().unwrap().clone();
            let service = service.as_object().unwrap().clone();
            let laid = with_object(&spec, &stores, "services", service, &labels).unwrap();
            assert_eq!(names(&laid, "services").len(), count);
        }
    }

    #[test]
    fn what_no_store_can_hold_is_told() {
        let service = json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "x"}});
        for (objects, told) in [
            (json!({"servces": []}), "\"servces\" is not watched; watchedResources has: secrets, services"),
            (
                json!({"secrets": [service]}),
                "secrets: Service default/x is of v1, and no object of v1 secrets",
            ),
            (json!({"services": [service, service]}), "services: Service default/x is given twice"),
            (json!({"services": [{"kind": "Service"}]}), "services, object 1 has no apiVersion"),
        ] {
            let said = snapshots(&spec(""), &given(objects)).unwrap_err();
            assert!(said.len() == 1 && said[0].starts_with(told), "{said:?}, not {told:?}");
        }
    }
}
