//! What was read of the objects of one store, each once while it is unchanged.

use super::objects::Readable;
use haptic_model::{ActiveConfig, ObjectRef, Snapshot, Snapshots, gateway::NamespacedName};
use std::{collections::BTreeMap, sync::Arc};

/// The objects of one store, by namespace and name.
#[derive(Debug)]
pub(super) struct ParsedObjects<T> {
    source: Option<Arc<Snapshot>>,
    known: BTreeMap<NamespacedName, Arc<T>>,
}

impl<T> Default for ParsedObjects<T> {
    fn default() -> Self {
        Self { source: None, known: BTreeMap::new() }
    }
}

impl<T: Readable> ParsedObjects<T> {
    /// Reads what is different. Returns the names of what was read, and of what is gone.
    pub fn update(&mut self, store: Option<&Arc<Snapshot>>) -> Vec<NamespacedName> {
        let none = Arc::new(Snapshot::full());
        let before = std::mem::replace(&mut self.source, store.cloned()).unwrap_or_else(|| none.clone());
        let now = store.unwrap_or(&none);
        if now.is_unchanged_since(&before) {
            return Vec::new();
        }
        let mut changed = Vec::new();
        for difference in now.differences_from(&before) {
            let Some((object, is_there)) = difference
                .after
                .map(|(object, _)| (object, true))
                .or(difference.before.map(|(object, _)| (object, false)))
            else {
                continue;
            };
            let name = (object.reference.namespace.clone(), object.reference.name.clone());
            match is_there.then(|| T::read(object)).flatten() {
                Some(read) => drop(self.known.insert(name.clone(), Arc::new(read))),
                None => drop(self.known.remove(&name)),
            }
            changed.push(name);
        }
        changed
    }

    pub fn get(&self, namespace: &str, name: &str) -> Option<&Arc<T>> {
        self.known.get(&(namespace.into(), name.into()))
    }

    /// The object of that name as the store knows it.
    pub fn reference(&self, (namespace, name): &NamespacedName) -> Option<Arc<ObjectRef>> {
        Some(self.source.as_ref()?.get(namespace, name)?.reference.clone())
    }

    pub fn iter(&self) -> impl Iterator<Item = (&NamespacedName, &Arc<T>)> {
        self.known.iter()
    }

    /// Whether the resource is watched.
    pub fn is_watched(&self) -> bool {
        self.source.is_some()
    }
}

/// All stores of a resource of the core group, also those that are on demand.
pub(super) fn stores_of(config: &ActiveConfig, snapshots: &Snapshots, resources: &str) -> Vec<Arc<Snapshot>> {
    let watched = config.spec.watched_resources.iter();
    let of = watched.filter(|(_, of)| of.resources == resources && of.api_version == "v1");
    of.filter_map(|(name, _)| snapshots.get(name)).cloned().collect()
}

/// The store of a resource, and its name; one that is on demand cannot be looked at.
pub(super) fn store_of<'s>(
    config: &'s ActiveConfig,
    snapshots: &'s Snapshots,
    group: &str,
    resources: &str,
) -> Option<(&'s str, &'s Arc<Snapshot>)> {
    let is = |version: &str| version.rsplit_once('/').map_or("", |(group, _)| group) == group;
    let mut watched = config
        .spec
        .watched_resources
        .iter()
        .filter(|(_, watched)| watched.resources == resources && is(&watched.api_version));
    watched.find_map(|(name, _)| {
        let store = snapshots.get(name)?;
        (!store.is_on_demand()).then_some((name.as_str(), store))
    })
}
