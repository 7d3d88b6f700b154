//! The objects of one store, and which of them are different now: read once while they are unchanged, or each time that they are asked for.

use super::objects::{Readable, ServiceFacts};
use crate::reload_pace::{ReadAtStart, ReloadPace};
use haptic_model::{ActiveConfig, Object, ObjectRef, Snapshot, Snapshots, gateway::NamespacedName};
use std::{
    cell::RefCell,
    collections::{BTreeMap, BTreeSet},
    rc::Rc,
    sync::Arc,
};

/// The objects of one store, as they are stored.
#[derive(Clone, Debug, Default)]
pub(super) struct StoredObjects(Option<Arc<Snapshot>>);

/// The objects of one store as they were read, by namespace and name.
#[derive(Clone, Debug)]
pub(super) struct ParsedObjects<T> {
    source: StoredObjects,
    known: BTreeMap<NamespacedName, Arc<T>>,
}

impl StoredObjects {
    /// Takes the store as it is now. Returns the names of the objects that are different, in more than their `status`, with what there is
    /// of them.
    pub fn update(&mut self, store: Option<&Arc<Snapshot>>) -> Vec<(NamespacedName, Option<Arc<Object>>)> {
        self.update_and_renew(store, |_, _, _| {})
    }

    /// The same; `renew` gets what differs in its `status` alone: its name, what there was and what there is.
    pub fn update_and_renew(
        &mut self,
        store: Option<&Arc<Snapshot>>,
        mut renew: impl FnMut(NamespacedName, &Arc<Object>, &Arc<Object>),
    ) -> Vec<(NamespacedName, Option<Arc<Object>>)> {
        let none = Arc::new(Snapshot::full());
        let before = std::mem::replace(&mut self.0, store.cloned()).unwrap_or_else(|| none.clone());
        let now = store.unwrap_or(&none);
        if now.is_unchanged_since(&before) {
            return Vec::new();
        }
        let changed = now.differences_from(&before).filter_map(|difference| {
            let now = difference.after.map(|(object, _)| object);
            if let Some((now, (before, _))) = now.zip(difference.before).filter(|_| difference.is_status_only)
            {
                renew(name_of(&now.reference), before, now);
                return None;
            }
            let named = now.or(difference.before.map(|(object, _)| object))?;
            Some((name_of(&named.reference), now.cloned()))
        });
        changed.collect()
    }

    pub fn get(&self, (namespace, name): &NamespacedName) -> Option<&Arc<Object>> {
        self.0.as_ref()?.get(namespace, name)
    }

    /// Reads the object of that name.
    pub fn read<T: Readable>(&self, name: &NamespacedName) -> Option<T> {
        T::read(self.get(name)?)
    }

    /// The object of that name as the store knows it.
    pub fn reference(&self, name: &NamespacedName) -> Option<Arc<ObjectRef>> {
        Some(self.get(name)?.reference.clone())
    }

    /// Whether the resource is watched.
    pub fn is_watched(&self) -> bool {
        self.0.is_some()
    }

    pub fn names(&self) -> impl Iterator<Item = NamespacedName> {
        self.0.iter().flat_map(|store| store.iter()).map(|object| name_of(&object.reference))
    }
}

/// Services that are read while routes are resolved, each once: many routes may lead to a large one.
pub(super) struct ReadServices<'s> {
    stored: &'s StoredObjects,
    read: RefCell<BTreeMap<NamespacedName, Option<Rc<ServiceFacts>>>>,
}

impl<'s> ReadServices<'s> {
    pub fn of(stored: &'s StoredObjects) -> Self {
        Self { stored, read: RefCell::default() }
    }

    pub fn is_watched(&self) -> bool {
        self.stored.is_watched()
    }

    pub fn get(&self, name: &NamespacedName) -> Option<Rc<ServiceFacts>> {
        let mut read = self.read.borrow_mut();
        read.entry(name.clone()).or_insert_with(|| self.stored.read(name).map(Rc::new)).clone()
    }
}

fn name_of(object: &ObjectRef) -> NamespacedName {
    (object.namespace.clone(), object.name.clone())
}

impl<T> Default for ParsedObjects<T> {
    fn default() -> Self {
        Self { source: StoredObjects::default(), known: BTreeMap::new() }
    }
}

impl<T: Readable> ParsedObjects<T> {
    /// Reads what is different; whether anything is.
    pub fn update(&mut self, store: Option<&Arc<Snapshot>>) -> bool {
        let changed = self.source.update(store);
        let is_any = !changed.is_empty();
        for (name, object) in changed {
            match object.and_then(|object| T::read(&object)) {
                Some(read) => drop(self.known.insert(name, Arc::new(read))),
                None => drop(self.known.remove(&name)),
            }
        }
        is_any
    }

    /// The same of a resource whose objects are held to the pace of reloads.
    pub fn update_paced(
        &mut self,
        store: Option<&Arc<Snapshot>>,
        resource: &str,
        pace: &mut ReloadPace<T>,
    ) -> bool
    where
        T: ReadAtStart,
    {
        let is_free = !self.source.is_watched();
        let mut names: BTreeSet<NamespacedName> = pace.due_objects().map(|object| name_of(object)).collect();
        names.extend(self.source.update(store).into_iter().map(|(name, _)| name));
        for name in &names {
            let object = Arc::new(ObjectRef::new(resource, &name.0, &name.1));
            let known = self.known.remove(name);
            let counting = match self.source.read(name).map(Arc::new) {
                Some(wanted) => pace.admit(&object, known.as_ref(), wanted, is_free),
                None => {
                    pace.delete(&object, known.as_deref());
                    None
                }
            };
            self.known.extend(counting.map(|counting| (name.clone(), counting)));
        }
        !names.is_empty()
    }

    /// The object of that name as the store knows it.
    pub fn reference(&self, name: &NamespacedName) -> Option<Arc<ObjectRef>> {
        self.source.reference(name)
    }

    pub fn get(&self, name: &NamespacedName) -> Option<&Arc<T>> {
        self.known.get(name)
    }

    pub fn iter(&self) -> impl Iterator<Item = (&NamespacedName, &Arc<T>)> {
        self.known.iter()
    }
}

/// All stores of a resource of the core group, also those that are on demand.
pub(super) fn stores_of(config: &ActiveConfig, snapshots: &Snapshots, resources: &str) -> Vec<Arc<Snapshot>> {
    let watched = config.spec.watched_resources.iter();
    let of = watched.filter(|(_, of)| of.resources == resources && of.api_version == "v1");
    of.filter_map(|(name, _)| snapshots.get(name)).cloned().collect()
}

/// The store of a resource; one that is on demand cannot be looked at.
pub(super) fn watched_store<'s>(
    config: &'s ActiveConfig,
    snapshots: &'s Snapshots,
    group: &str,
    resources: &str,
) -> Option<&'s Arc<Snapshot>> {
    let is = |version: &str| version.rsplit_once('/').map_or("", |(group, _)| group) == group;
    let mut watched = config
        .spec
        .watched_resources
        .iter()
        .filter(|(_, watched)| watched.resources == resources && is(&watched.api_version));
    watched.find_map(|(name, _)| {
        let store = snapshots.get(name)?;
        (!store.is_on_demand()).then_some(store)
    })
}
