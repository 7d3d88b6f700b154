//! Objects that annotations of Ingresses name, or the ConfigMaps of families: other ConfigMaps, and custom resources of haproxytech/kubernetes-ingress. Each
//! is read when an Ingress is read for which it counts, and such Ingresses are read again when it changes.

use haptic_model::{HAProxyTemplateConfigSpec, Snapshot, Snapshots, store::FetchError};
use serde_json::Value;
use std::{
    collections::{BTreeMap, HashMap, HashSet, hash_map::Entry},
    sync::{Arc, Mutex, PoisonError},
};

/// An object with more bytes is not read: each Ingress reads it again.
const LONGEST: usize = 64 << 10;

/// A name of more bytes is nobody's (the longest that the API server accepts).
const LONGEST_NAME: usize = 253;

/// The kinds that may be named.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ReferencedKind {
    /// A ConfigMap.
    ConfigMap,
    /// `Backend` of haproxytech/kubernetes-ingress.
    Backend,
    /// `Defaults` of it.
    Defaults,
}

/// Namespace and name of an Ingress.
pub(crate) type ReferencingIngress = (Arc<str>, Arc<str>);

/// An object that is named.
type Referenced = (ReferencedKind, Arc<str>, Arc<str>);

/// The watched stores of what may be named, by their names.
pub(crate) type ReferencedStores = BTreeMap<Arc<str>, (ReferencedKind, Arc<Snapshot>)>;

/// The objects, and which Ingresses name them.
#[derive(Debug, Default)]
pub struct ReferencedObjects {
    stores: ReferencedStores,
    readers: Mutex<ReferencingIngresses>,
}

#[derive(Clone, Debug, Default)]
struct ReferencingIngresses {
    of: HashMap<Referenced, HashSet<ReferencingIngress>>,
    named_by: HashMap<ReferencingIngress, Vec<Referenced>>,
    /// The objects that could not be fetched.
    missed: HashSet<Referenced>,
}

impl Clone for ReferencedObjects {
    fn clone(&self) -> Self {
        let readers = self.readers.lock().unwrap_or_else(PoisonError::into_inner).clone();
        Self { stores: self.stores.clone(), readers: Mutex::new(readers) }
    }
}

impl ReferencedKind {
    /// How sentences call it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::ConfigMap => "ConfigMap",
            Self::Backend => "Backend",
            Self::Defaults => "Defaults",
        }
    }

    fn of(api_version: &str, resources: &str) -> Option<Self> {
        let is_theirs = ["ingress.v1.haproxy.org/", "ingress.v3.haproxy.org/"]
            .iter()
            .any(|group| api_version.starts_with(group));
        match resources {
            "configmaps" if api_version == "v1" => Some(Self::ConfigMap),
            "backends" if is_theirs => Some(Self::Backend),
            "defaults" if is_theirs => Some(Self::Defaults),
            _ => None,
        }
    }
}

/// The stores of what may be named, as far as they are watched.
#[must_use]
pub(crate) fn watched(spec: &HAProxyTemplateConfigSpec, snapshots: &Snapshots) -> ReferencedStores {
    let watched = spec.watched_resources.iter();
    let stores = watched.filter_map(|(name, of)| {
        let kind = ReferencedKind::of(&of.api_version, &of.resources)?;
        Some((Arc::from(name.as_str()), (kind, snapshots.get(name.as_str())?.clone())))
    });
    stores.collect()
}

impl ReferencedObjects {
    /// Follows the stores. Returns the Ingresses that named what is different now.
    pub(crate) fn update(&mut self, stores: &ReferencedStores) -> HashSet<ReferencingIngress> {
        let before = std::mem::replace(&mut self.stores, stores.clone());
        let ReferencingIngresses { of, missed, .. } =
            self.readers.get_mut().unwrap_or_else(PoisonError::into_inner);
        if of.is_empty() {
            return HashSet::new();
        }
        let mut different = std::mem::take(missed);
        let none = Snapshot::full();
        for (name, (kind, store)) in stores {
            let before = before.get(name).map_or(&none, |(_, store)| &**store);
            different.extend(differences(*kind, store, before));
        }
        for (_, (kind, store)) in before.iter().filter(|(name, _)| !stores.contains_key(*name)) {
            different.extend(differences(*kind, &none, store));
        }
        different.iter().filter_map(|object| of.remove(object)).flatten().collect()
    }

    /// An Ingress is gone, or is read again: what it named does not count any more.
    pub(crate) fn forget(&self, ingress: &ReferencingIngress) {
        let mut readers = self.readers.lock().unwrap_or_else(PoisonError::into_inner);
        for object in readers.named_by.remove(ingress).unwrap_or_default() {
            if let Entry::Occupied(mut naming) = readers.of.entry(object) {
                naming.get_mut().remove(ingress);
                if naming.get().is_empty() {
                    naming.remove();
                }
            }
        }
    }

    /// The object of that name, for an Ingress that is read again when it changes.
    ///
    /// # Errors
    /// Why it cannot be read, in words behind its name.
    pub(crate) fn read(
        &self,
        kind: ReferencedKind,
        (namespace, name): (&str, &str),
        ingress: (&str, &str),
    ) -> Result<Value, &'static str> {
        if namespace.len() > LONGEST_NAME || name.len() > LONGEST_NAME {
            return Err("whose name is longer than a name may be");
        }
        let object: Referenced = (kind, namespace.into(), name.into());
        let ingress: ReferencingIngress = (ingress.0.into(), ingress.1.into());
        let mut readers = self.readers.lock().unwrap_or_else(PoisonError::into_inner);
        if readers.of.entry(object.clone()).or_default().insert(ingress.clone()) {
            readers.named_by.entry(ingress).or_default().push(object.clone());
        }
        let stores = self.stores.values().filter(|(of, _)| *of == kind);
        let mut found = stores.filter_map(|(_, store)| Some((store, store.get(namespace, name)?)));
        let Some((store, known)) = found.next() else { return Err("which is not there or not watched") };
        // Where one cannot be fetched the next one would wait as long.
        let fetched = readers.missed.is_empty().then(|| store.load(known));
        match fetched {
            Some(Ok(Some(loaded))) if loaded.json.len() > LONGEST => Err("which has more than 64 KiB"),
            Some(Ok(Some(loaded))) => loaded.value().map_err(|_| "which cannot be read"),
            Some(Ok(None)) => Err("which is not there"),
            Some(Err(FetchError::Unusable(_))) => Err("which is larger or deeper than an object may be"),
            Some(Err(FetchError::Unanswered(_))) | None => {
                readers.missed.insert(object);
                Err("which could not be fetched, and is asked for again")
            }
        }
    }
}

fn differences(kind: ReferencedKind, now: &Snapshot, before: &Snapshot) -> impl Iterator<Item = Referenced> {
    let objects = now.differences_from(before).filter_map(move |difference| {
        let (object, _) = difference.after.or(difference.before)?;
        Some((kind, object.reference.namespace.clone(), object.reference.name.clone()))
    });
    objects.collect::<Vec<_>>().into_iter()
}

#[cfg(test)]
mod tests {
    use super::*;
    use haptic_model::{Object, ObjectJson, ObjectRef, store::FetchObject};
    use serde_json::json;

    fn with(store: &Snapshot, name: &str, data: &str) -> Snapshot {
        let mut store = store.clone();
        store.put(ObjectRef::new("configmaps", "shop", name), &json!({"data": {"X-A": data}}));
        store
    }

    fn stores(store: &Snapshot) -> ReferencedStores {
        BTreeMap::from([("configmaps".into(), (ReferencedKind::ConfigMap, Arc::new(store.clone())))])
    }

    #[test]
    fn who_names_an_object_is_read_again_when_it_comes_and_when_it_changes() {
        let mut objects = ReferencedObjects::default();
        let reads = |objects: &ReferencedObjects| {
            let read = objects.read(ReferencedKind::ConfigMap, ("shop", "headers"), ("shop", "a"));
            read.map(|value| value["data"]["X-A"].as_str().unwrap_or_default().to_owned())
        };
        let empty = Snapshot::full();
        assert!(objects.update(&stores(&empty)).is_empty());
        assert_eq!(reads(&objects), Err("which is not there or not watched"));
        let other = with(&empty, "other", "1");
        assert!(objects.update(&stores(&other)).is_empty());
        let there = with(&other, "headers", "1");
        let again: Vec<ReferencingIngress> = objects.update(&stores(&there)).into_iter().collect();
        let expected: ReferencingIngress = ("shop".into(), "a".into());
        assert_eq!(again, [expected]);
        assert_eq!(reads(&objects).as_deref(), Ok("1"));
        let changed = with(&there, "headers", "2");
        assert_eq!(objects.update(&stores(&changed)).len(), 1);
        // Who did not read it again does not name it any more.
        assert!(objects.update(&stores(&with(&changed, "headers", "3"))).is_empty());
    }
    #[test]
    fn what_an_ingress_named_before_is_forgotten() {
        let objects = ReferencedObjects::default();
        let ingress: ReferencingIngress = ("shop".into(), "a".into());
        for number in 0..1000 {
            objects.forget(&ingress);
            let name = format!("headers-{number}");
            assert!(objects.read(ReferencedKind::ConfigMap, ("shop", &name), ("shop", "a")).is_err());
        }
        let long = "x".repeat(60_000);
        assert!(objects.read(ReferencedKind::ConfigMap, ("shop", &long), ("shop", "a")).is_err());
        let readers = objects.readers.lock().unwrap();
        assert_eq!((readers.of.len(), readers.named_by.len()), (1, 1));
    }

    #[test]
    fn an_object_that_nobody_can_use_keeps_nobody_from_another_one() {
        #[derive(Debug)]
        struct OneIsTooLarge;
        impl FetchObject for OneIsTooLarge {
            fn fetch(&self, reference: &Arc<ObjectRef>) -> Result<Option<Arc<Object>>, FetchError> {
                if &*reference.namespace == "evil" {
                    return Err(FetchError::Unusable("too large".into()));
                }
                let json = br#"{"data":{}}"#.as_slice();
                Ok(Some(Arc::new(Object::new(reference.clone(), json))))
            }
        }
        let mut store = Snapshot::on_demand(Arc::new(OneIsTooLarge));
        for namespace in ["evil", "shop"] {
            store.put(ObjectRef::new("configmaps", namespace, "headers"), ObjectJson::default());
        }
        let mut objects = ReferencedObjects::default();
        objects.update(&stores(&store));
        let read = |of: &str| objects.read(ReferencedKind::ConfigMap, (of, "headers"), (of, "a"));
        assert!(read("evil").is_err());
        assert!(read("shop").is_ok());
    }
}
