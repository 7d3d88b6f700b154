//! Snapshots of watched objects: persistent maps, so that one costs nothing to take and never changes under a reader.
//!
//! The watch stage writes new snapshots; everything else reads. Iteration order is always namespace, name.

use crate::{cause::StoreChanges, object::Object, object_json::ObjectJson};
use haptic_text::ObjectRef;
use imbl::{OrdMap, ordmap::DiffItem};
use std::{collections::BTreeMap, fmt, sync::Arc};

/// The values of an object's `indexBy` paths, in their order.
pub type Key = Arc<[Arc<str>]>;

/// One look into a store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Read {
    /// Which store.
    pub resource: Arc<str>,
    /// Key or key prefix, or namespace and name; empty for the whole store.
    pub key: Key,
}

/// Namespace and name.
type ObjectName = (Arc<str>, Arc<str>);

/// Why an object of an on-demand store cannot be had: a sentence that names it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FetchError {
    /// Nobody answered, or not with an object: whoever asks for another one may wait as long.
    #[error("{0}")]
    Unanswered(String),
    /// It is there, and larger or deeper than an object may be. That says nothing of any other.
    #[error("{0}")]
    Unusable(String),
}

/// Fetches an object that an on-demand store only knows by reference.
pub trait FetchObject: Send + Sync + fmt::Debug {
    /// The object's current version. May block: called from render threads only.
    ///
    /// # Errors
    /// A sentence naming the object and what the API server said. `Ok(None)`: it is gone.
    fn fetch(&self, reference: &Arc<ObjectRef>) -> Result<Option<Arc<Object>>, FetchError>;
}

/// One watched resource's objects at one moment.
#[derive(Clone, Debug, Default)]
pub struct Snapshot {
    /// Objects with the key they are indexed under.
    objects: OrdMap<ObjectName, StoreEntry>,
    /// What is under each full key.
    buckets: OrdMap<Key, Bucket>,
    /// Version of every prefix of keys that has members.
    prefixes: OrdMap<Key, u64>,
    /// Of JSON.
    bytes: usize,
    /// Grows with each change.
    version: u64,
    /// Whether the initial list was read to its end.
    synced: bool,
    /// Set for on-demand stores, whose entries hold no JSON.
    fetch: Option<Arc<dyn FetchObject>>,
}

#[derive(Clone, Debug)]
struct StoreEntry {
    object: Arc<Object>,
    key: Key,
    /// Shared by versions of the object that differ in `status` alone, of a store that knows of such: see [`Snapshot::apply_beside_status`].
    beside_status: Option<Arc<()>>,
}

/// One object that two snapshots of a store do not share: added, removed, changed, or under another key.
#[derive(Clone, Copy, Debug)]
pub struct Difference<'a> {
    /// What the earlier snapshot had, and under which key.
    pub before: Option<(&'a Arc<Object>, &'a Key)>,
    /// What the later one has.
    pub after: Option<(&'a Arc<Object>, &'a Key)>,
    /// Whether nothing differs but `status` of one object, as far as the store was told.
    pub is_status_only: bool,
}

/// The objects of one full key.
#[derive(Clone, Debug)]
struct Bucket {
    members: Members,
    /// What a recorded read compares.
    version: u64,
}

/// A key of its own is the usual case, and a whole map's node for each would be the
/// larger part of a store's memory.
#[derive(Clone, Debug)]
enum Members {
    One(Arc<ObjectRef>),
    Many(Box<OrdMap<ObjectName, Arc<ObjectRef>>>),
}

/// What one change did to a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StoreChange {
    /// The object is new.
    Created,
    /// Its bytes or its key changed.
    Modified,
    /// It is gone.
    Deleted,
    /// Same bytes, same key: nothing to do.
    Unchanged,
}

/// All stores at one moment, by the name they have under `watchedResources`.
#[derive(Clone, Debug, Default)]
pub struct Snapshots {
    stores: Arc<BTreeMap<Arc<str>, Arc<Snapshot>>>,
    changes: StoreChanges,
    prepared_for: Option<u64>,
}

impl Snapshot {
    /// An empty store that keeps objects in full.
    #[must_use]
    pub fn full() -> Self {
        Self::default()
    }

    /// An empty store that keeps references and asks `fetch` for objects.
    #[must_use]
    pub fn on_demand(fetch: Arc<dyn FetchObject>) -> Self {
        Self { fetch: Some(fetch), ..Self::default() }
    }

    /// The same store, keeping objects in full (`None`) or asking `fetch` for them from now on. Its version goes on, so
    /// that no read recorded before can be taken for one made after.
    #[must_use]
    pub fn with_fetch(self, fetch: Option<Arc<dyn FetchObject>>) -> Self {
        Self { fetch, ..self }
    }

    /// Puts `object` under `key` and takes it from the key it had before.
    /// Its version is set to this store's next one.
    pub fn apply(&mut self, object: Object, key: Key) -> StoreChange {
        self.apply_marked(object, key, |_| None)
    }

    /// Puts an object under its namespace and name.
    pub fn put(&mut self, reference: impl Into<Arc<ObjectRef>>, json: impl Into<ObjectJson>) -> StoreChange {
        let object = Object::new(reference, json);
        let key = [object.reference.namespace.clone(), object.reference.name.clone()].into();
        self.apply(object, key)
    }

    /// As [`Self::apply`], in a store of objects whose `status` this program writes itself. `is_same`: nothing else of it differs from the
    /// version before.
    pub fn apply_beside_status(&mut self, object: Object, key: Key, is_same: bool) -> StoreChange {
        self.apply_marked(object, key, |before| Some(before.filter(|_| is_same).unwrap_or_default()))
    }

    fn apply_marked(
        &mut self,
        mut object: Object,
        key: Key,
        beside_status: impl FnOnce(Option<Arc<()>>) -> Option<Arc<()>>,
    ) -> StoreChange {
        let name = name_of(&object.reference);
        let (change, before) = match self.objects.get(&name) {
            Some(old) if old.key == key && self.same_content(&old.object, &object) => {
                return StoreChange::Unchanged;
            }
            Some(old) => {
                let (old, before) = (old.key.clone(), old.beside_status.clone());
                self.version += 1;
                self.leave(&object.reference, &old);
                (StoreChange::Modified, before)
            }
            None => {
                self.version += 1;
                (StoreChange::Created, None)
            }
        };
        object.version = self.version;
        self.enter(&object.reference, &key);
        let beside_status = beside_status(before);
        self.keep(name, StoreEntry { object: Arc::new(object), key, beside_status });
        change
    }

    /// Puts another store's version of an object under `key`, the very same piece of memory.
    pub fn restore(&mut self, object: Arc<Object>, key: Key) {
        let name = name_of(&object.reference);
        let entry = StoreEntry { object, key, beside_status: None };
        match self.objects.get(&name) {
            Some(old) if *old == entry => return,
            Some(old) => {
                let old = old.key.clone();
                self.version += 1;
                self.leave(&entry.object.reference, &old);
            }
            None => self.version += 1,
        }
        self.enter(&entry.object.reference, &entry.key);
        self.keep(name, entry);
    }

    fn keep(&mut self, name: ObjectName, entry: StoreEntry) {
        self.bytes += entry.object.json.len();
        if let Some(before) = self.objects.insert(name, entry) {
            self.bytes -= before.object.json.len();
        }
    }

    /// Takes the object out.
    pub fn remove(&mut self, reference: &ObjectRef) -> StoreChange {
        let name = name_of(reference);
        let Some(entry) = self.objects.remove(&name) else { return StoreChange::Unchanged };
        self.version += 1;
        self.bytes -= entry.object.json.len();
        self.leave(reference, &entry.key);
        StoreChange::Deleted
    }

    /// Takes out all objects but those that are `kept`.
    pub fn retain(&mut self, mut kept: impl FnMut(&Object) -> bool) {
        let others = self.iter().filter(|object| !kept(object)).map(|object| object.reference.clone());
        for other in others.collect::<Vec<_>>() {
            self.remove(&other);
        }
    }

    /// Declares the initial list complete.
    pub fn set_synced(&mut self) {
        self.synced = true;
    }

    /// Whether the initial list was read to its end.
    #[must_use]
    pub fn is_synced(&self) -> bool {
        self.synced
    }

    /// Grows with each change of the store.
    #[must_use]
    pub fn version(&self) -> u64 {
        self.version
    }

    /// How many objects there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.objects.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.objects.is_empty()
    }

    /// Whether objects are fetched when read.
    #[must_use]
    pub fn is_on_demand(&self) -> bool {
        self.fetch.is_some()
    }

    /// Bytes of JSON held.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// All objects (references only, in an on-demand store), by namespace and name.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<Object>> {
        self.objects.values().map(|e| &e.object)
    }

    /// All objects with the key that each is indexed under, by namespace and name.
    pub fn entries(&self) -> impl Iterator<Item = (&Arc<Object>, &Key)> {
        self.objects.values().map(|e| (&e.object, &e.key))
    }

    /// The objects whose key starts with `prefix`; the full key is the fast case. By namespace and name within a key.
    pub fn matching<'a>(&'a self, prefix: &'a [Arc<str>]) -> impl Iterator<Item = &'a Arc<Object>> {
        let start: Key = prefix.into();
        self.buckets
            .range(start..)
            .take_while(move |(key, _)| key.starts_with(prefix))
            .flat_map(|(_, bucket)| bucket.members.iter())
            .filter_map(|reference| self.objects.get(&name_of(reference)))
            .map(|e| &e.object)
    }

    /// The object of that name.
    #[must_use]
    pub fn get(&self, namespace: &str, name: &str) -> Option<&Arc<Object>> {
        self.objects.get(&(namespace.into(), name.into())).map(|e| &e.object)
    }

    /// The object of that name, with the key it is under.
    #[must_use]
    pub fn entry(&self, namespace: &str, name: &str) -> Option<(&Arc<Object>, &Key)> {
        self.objects.get(&(namespace.into(), name.into())).map(|e| (&e.object, &e.key))
    }

    /// The version of what [`Self::matching`] gives for `prefix`: differs whenever any of it changed; 0 while it is
    /// empty. The empty prefix is the whole store.
    #[must_use]
    pub fn version_of(&self, prefix: &[Arc<str>]) -> u64 {
        if prefix.is_empty() {
            return self.version;
        }
        let of_bucket = self.buckets.get(prefix).map(|bucket| bucket.version);
        of_bucket.max(self.prefixes.get(prefix).copied()).unwrap_or(0)
    }

    /// Whether both hold the very same objects under the same keys, told without looking at them. Two that were filled
    /// apart never do.
    #[must_use]
    pub fn is_unchanged_since(&self, before: &Self) -> bool {
        self.objects.ptr_eq(&before.objects)
    }

    /// What differs from an earlier snapshot. Told by the objects themselves, not by versions, so it holds for any two
    /// snapshots; it costs as much as there are differences when one came of the other.
    pub fn differences_from<'a>(&'a self, before: &'a Self) -> impl Iterator<Item = Difference<'a>> {
        let side = |entry: &'a StoreEntry| Some((&entry.object, &entry.key));
        before.objects.diff(&self.objects).map(move |item| match item {
            DiffItem::Add(_, new) => Difference { before: None, after: side(new), is_status_only: false },
            DiffItem::Update { old: (_, old), new: (_, new) } => Difference {
                before: side(old),
                after: side(new),
                is_status_only: old.is_same_beside_status(new),
            },
            DiffItem::Remove(_, old) => Difference { before: side(old), after: None, is_status_only: false },
        })
    }

    /// The object with its JSON: itself in a full store, fetched in an on-demand one.
    ///
    /// # Errors
    /// A sentence naming the object and what the API server said.
    pub fn load(&self, object: &Arc<Object>) -> Result<Option<Arc<Object>>, FetchError> {
        match &self.fetch {
            None => Ok(Some(object.clone())),
            Some(fetch) => fetch.fetch(&object.reference),
        }
    }

    fn enter(&mut self, reference: &Arc<ObjectRef>, key: &Key) {
        let version = self.version;
        match self.buckets.get_mut(key) {
            Some(bucket) => {
                bucket.members.join(reference);
                bucket.version = version;
            }
            None => {
                let members = Members::One(reference.clone());
                self.buckets.insert(key.clone(), Bucket { members, version });
            }
        }
        self.touch_prefixes(key);
    }

    fn leave(&mut self, reference: &ObjectRef, key: &Key) {
        let version = self.version;
        let is_empty = self.buckets.get_mut(key).is_some_and(|bucket| {
            bucket.version = version;
            bucket.members.lose(reference)
        });
        if is_empty {
            self.buckets.remove(key);
        }
        self.touch_prefixes(key);
    }

    /// Gives each prefix of `key` the current version, or none when nothing is left below it.
    fn touch_prefixes(&mut self, key: &Key) {
        for length in 1..key.len() {
            let Some(prefix) = key.get(..length) else { return };
            let start: Key = prefix.into();
            let inhabited =
                self.buckets.range(start.clone()..).next().is_some_and(|(k, _)| k.starts_with(prefix));
            if inhabited {
                self.prefixes.insert(start, self.version);
            } else {
                self.prefixes.remove(&start);
            }
        }
    }

    /// On-demand entries hold no JSON: any event means a change there.
    fn same_content(&self, old: &Object, new: &Object) -> bool {
        self.fetch.is_none() && old.json == new.json
    }
}

impl StoreEntry {
    fn is_same_beside_status(&self, other: &Self) -> bool {
        let marks = self.beside_status.as_ref().zip(other.beside_status.as_ref());
        self.key == other.key && marks.is_some_and(|(one, other)| Arc::ptr_eq(one, other))
    }
}

impl PartialEq for StoreEntry {
    /// The same version of an object under the same key.
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.object, &other.object) && self.key == other.key
    }
}

impl Members {
    fn iter(&self) -> impl Iterator<Item = &Arc<ObjectRef>> {
        let (one, many) = match self {
            Self::One(reference) => (Some(reference), None),
            Self::Many(references) => (None, Some(references)),
        };
        one.into_iter().chain(many.into_iter().flat_map(|references| references.values()))
    }

    fn join(&mut self, reference: &Arc<ObjectRef>) {
        match self {
            Self::One(only) if is_named_as(only, reference) => {}
            Self::One(only) => {
                let both = [only.clone(), reference.clone()].map(|one| (name_of(&one), one));
                *self = Self::Many(Box::new(both.into_iter().collect()));
            }
            Self::Many(references) => {
                references.insert(name_of(reference), reference.clone());
            }
        }
    }

    /// Whether nobody is left.
    fn lose(&mut self, reference: &ObjectRef) -> bool {
        match self {
            Self::One(only) => is_named_as(only, reference),
            Self::Many(references) => {
                references.remove(&name_of(reference));
                references.is_empty()
            }
        }
    }
}

fn is_named_as(one: &ObjectRef, other: &ObjectRef) -> bool {
    (&one.namespace, &one.name) == (&other.namespace, &other.name)
}

impl Snapshots {
    /// All stores.
    #[must_use]
    pub fn new(stores: BTreeMap<Arc<str>, Arc<Snapshot>>) -> Self {
        Self { stores: Arc::new(stores), ..Self::default() }
    }

    /// The same stores, with all their changes, and the revision of the configuration that they are watched for.
    #[must_use]
    pub fn after(self, changes: StoreChanges, prepared_for: Option<u64>) -> Self {
        Self { changes, prepared_for, ..self }
    }

    /// All changes since the process started.
    #[must_use]
    pub fn changes(&self) -> &StoreChanges {
        &self.changes
    }

    /// The revision of the newest accepted configuration whose stores these are: a store that another configuration filled is not among
    /// them any more.
    #[must_use]
    pub fn prepared_for(&self) -> Option<u64> {
        self.prepared_for
    }

    /// The store of that name.
    #[must_use]
    pub fn get(&self, resource: &str) -> Option<&Arc<Snapshot>> {
        self.stores.get(resource)
    }

    /// Whether an object is in the store of its resource. Not all that a block may be of is.
    #[must_use]
    pub fn has(&self, object: &ObjectRef) -> bool {
        self.get(&object.resource).is_some_and(|store| store.get(&object.namespace, &object.name).is_some())
    }

    /// Names and stores.
    pub fn iter(&self) -> impl Iterator<Item = (&Arc<str>, &Arc<Snapshot>)> {
        self.stores.iter()
    }

    /// The same stores with one replaced.
    #[must_use]
    pub fn with(&self, resource: Arc<str>, snapshot: Arc<Snapshot>) -> Self {
        let mut stores = (*self.stores).clone();
        stores.insert(resource, snapshot);
        Self { stores: Arc::new(stores), ..self.clone() }
    }

    /// Whether every one of `resources` has read its initial list to the end.
    pub fn synced<'a>(&self, resources: impl IntoIterator<Item = &'a str>) -> bool {
        resources.into_iter().all(|name| self.get(name).is_some_and(|s| s.is_synced()))
    }
}

fn name_of(reference: &ObjectRef) -> ObjectName {
    (reference.namespace.clone(), reference.name.clone())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn object(namespace: &str, name: &str, json: &str) -> Object {
        Object {
            reference: Arc::new(ObjectRef::new("endpoints", namespace, name)),
            version: 0,
            json: json.as_bytes().into(),
        }
    }

    fn key(values: &[&str]) -> Key {
        values.iter().map(|v| Arc::from(*v)).collect()
    }

    fn names(found: Vec<&Arc<Object>>) -> Vec<String> {
        found.iter().map(|o| o.reference.name.to_string()).collect()
    }

    #[test]
    fn deleting_one_object_of_a_shared_key_leaves_the_others() {
        let mut store = Snapshot::full();
        store.apply(object("a", "shop-1", "{}"), key(&["a", "shop"]));
        store.apply(object("a", "shop-2", "{}"), key(&["a", "shop"]));
        assert_eq!(store.remove(&ObjectRef::new("endpoints", "a", "shop-1")), StoreChange::Deleted);
        assert_eq!(names(store.matching(&key(&["a", "shop"])).collect()), ["shop-2"]);
    }

    #[test]
    fn a_changed_key_leaves_no_stale_entry() {
        let mut store = Snapshot::full();
        store.apply(object("a", "x", "{}"), key(&["a", "old"]));
        assert_eq!(store.apply(object("a", "x", "{}"), key(&["a", "new"])), StoreChange::Modified);
        assert_eq!(store.matching(&key(&["a", "old"])).count(), 0);
        assert_eq!(store.version_of(&key(&["a", "old"])), 0);
        assert_eq!(store.matching(&key(&["a"])).count(), 1);
    }

    #[test]
    fn a_key_that_an_object_leaves_is_another_version_though_others_stay() {
        let moved = |by: fn(&mut Snapshot)| {
            let mut store = Snapshot::full();
            store.apply(object("a", "stays", "{}"), key(&["a", "shop"]));
            store.apply(object("a", "goes", "{}"), key(&["a", "shop"]));
            let before = store.version_of(&key(&["a", "shop"]));
            by(&mut store);
            assert_eq!(names(store.matching(&key(&["a", "shop"])).collect()), ["stays"]);
            assert_ne!(store.version_of(&key(&["a", "shop"])), before);
        };
        moved(|store| _ = store.apply(object("a", "goes", "{}"), key(&["a", "other"])));
        moved(|store| store.restore(Arc::new(object("a", "goes", "{}")), key(&["a", "other"])));
        moved(|store| _ = store.remove(&ObjectRef::new("endpoints", "a", "goes")));
    }

    /// An object's name and key, and whether it is put, put back or taken out.
    fn change() -> impl Strategy<Value = (&'static str, [&'static str; 2], u8)> {
        let part = || proptest::sample::select(vec!["x", "y", "z"]);
        (part(), [part(), part()], 0..4_u8)
    }

    proptest! {
        #[test]
        fn whatever_is_under_a_key_or_prefix_changes_with_its_version(
            changes in proptest::collection::vec(change(), 1..40),
        ) {
            let (mut store, parts) = (Snapshot::full(), ["x", "y", "z"]);
            let keys = || parts.iter().flat_map(|one| parts.iter().map(move |other| vec![*one, *other]));
            let prefixes: Vec<Key> = keys().chain(parts.iter().map(|one| vec![*one])).map(|k| key(&k)).collect();
            for (number, (name, under, what)) in changes.into_iter().enumerate() {
                let before = store.clone();
                let json = if what == 0 { "{}".to_owned() } else { format!("{{\"number\":{number}}}") };
                match what {
                    0 | 1 => _ = store.apply(object("a", name, &json), key(&under)),
                    2 => store.restore(Arc::new(object("a", name, &json)), key(&under)),
                    _ => _ = store.remove(&ObjectRef::new("endpoints", "a", name)),
                }
                for prefix in &prefixes {
                    let found = |store: &Snapshot| -> Vec<usize> {
                        store.matching(prefix).map(|object| Arc::as_ptr(object).addr()).collect()
                    };
                    if found(&before) != found(&store) {
                        prop_assert_ne!(before.version_of(prefix), store.version_of(prefix), "{:?}", prefix);
                    }
                    prop_assert_eq!(store.version_of(prefix) == 0, found(&store).is_empty());
                }
            }
        }
    }

    #[test]
    fn an_equal_object_is_no_change() {
        let mut store = Snapshot::full();
        store.apply(object("a", "x", "{}"), key(&["a"]));
        let before = store.version();
        assert_eq!(store.apply(object("a", "x", "{}"), key(&["a"])), StoreChange::Unchanged);
        assert_eq!(store.version(), before);
    }

    #[test]
    fn a_prefix_changes_version_with_everything_below_it_and_with_nothing_else() {
        let mut store = Snapshot::full();
        store.apply(object("a", "x", "{}"), key(&["a", "x"]));
        store.apply(object("b", "x", "{}"), key(&["b", "x"]));
        let (a, b) = (store.version_of(&key(&["a"])), store.version_of(&key(&["b"])));
        store.remove(&ObjectRef::new("endpoints", "a", "x"));
        assert_ne!(store.version_of(&key(&["a"])), a);
        assert_eq!(store.version_of(&key(&["b"])), b);
    }

    #[test]
    fn iteration_is_by_namespace_and_name_whatever_came_first() {
        let mut store = Snapshot::full();
        for (ns, n) in [("b", "a"), ("a", "z"), ("a", "b")] {
            store.apply(object(ns, n, "{}"), key(&[ns, n]));
        }
        assert_eq!(names(store.iter().collect()), ["b", "z", "a"]);
    }

    #[test]
    fn a_restored_object_is_the_very_same_and_found_where_it_was() {
        let mut store = Snapshot::full();
        store.apply(object("a", "x", "{}"), key(&["a", "old"]));
        let before = store.clone();
        store.apply(object("a", "x", "{\"y\":1}"), key(&["a", "new"]));
        assert_eq!((before.bytes(), store.bytes()), (2, 7));
        let (old, at) = before.entry("a", "x").unwrap();
        store.restore(old.clone(), at.clone());
        assert_eq!(store.differences_from(&before).count(), 0);
        assert_eq!(store.matching(&key(&["a", "new"])).count(), 0);
        assert_eq!(names(store.matching(&key(&["a", "old"])).collect()), ["x"]);
        let version = store.version();
        store.restore(old.clone(), at.clone());
        assert_eq!(store.version(), version, "nothing was changed");
    }

    #[test]
    fn two_snapshots_differ_in_exactly_what_was_done_between_them() {
        let mut store = Snapshot::full();
        for number in 0..500 {
            let name = format!("{number:03}");
            store.apply(object("a", &name, "{}"), key(&["a", &name]));
        }
        let before = store.clone();
        assert!(store.is_unchanged_since(&before) && store.differences_from(&before).next().is_none());
        store.apply(object("a", "007", "{\"x\":1}"), key(&["a", "007"]));
        store.apply(object("a", "042", "{}"), key(&["a", "other"]));
        store.remove(&ObjectRef::new("endpoints", "a", "300"));
        store.apply(object("a", "new", "{}"), key(&["a", "new"]));
        let found: Vec<String> = store
            .differences_from(&before)
            .map(|d| {
                let side = |side: Option<(&Arc<Object>, &Key)>| {
                    side.map_or_else(|| "-".into(), |(o, k)| format!("{} {}", o.reference.name, k.join("/")))
                };
                format!("{} > {}", side(d.before), side(d.after))
            })
            .collect();
        let expected = ["007 a/007 > 007 a/007", "042 a/042 > 042 a/other", "300 a/300 > -", "- > new a/new"];
        assert_eq!(found, expected);
        assert!(!store.is_unchanged_since(&before));
    }

    #[test]
    fn of_a_store_that_is_told_it_is_known_where_a_status_alone_differs() {
        let mut store = Snapshot::full();
        let mut put = |name: &str, json: &str, is_same| {
            store.apply_beside_status(object("a", name, json), key(&["a", name]), is_same);
            store.clone()
        };
        put("y", "1", false);
        let first = put("x", "1", false);
        let status = put("x", "2", true);
        let spec = put("x", "3", false);
        let both = put("x", "4", true);
        let is_status_only = |before: &Snapshot, after: &Snapshot| {
            after.differences_from(before).map(|difference| difference.is_status_only).collect::<Vec<_>>()
        };
        assert_eq!(is_status_only(&first, &status), [true]);
        assert_eq!(is_status_only(&first, &spec), [false]);
        assert_eq!(is_status_only(&first, &both), [false], "whatever came last");
        assert_eq!(is_status_only(&spec, &both), [true]);
        assert_eq!(is_status_only(&Snapshot::full(), &first), [false, false]);
        let mut untold = first.clone();
        untold.apply(object("a", "x", "2"), key(&["a", "x"]));
        assert_eq!(is_status_only(&first, &untold), [false]);
        let mut elsewhere = first.clone();
        elsewhere.apply_beside_status(object("a", "x", "2"), key(&["a", "other"]), true);
        assert_eq!(is_status_only(&first, &elsewhere), [false], "it is found elsewhere");
    }

    #[test]
    fn a_store_that_was_filled_anew_differs_in_every_object() {
        let fill = || {
            let mut store = Snapshot::full();
            store.apply(object("a", "x", "{}"), key(&["a"]));
            store.apply(object("a", "y", "{}"), key(&["a"]));
            store
        };
        assert_eq!(fill().differences_from(&fill()).count(), 2);
    }

    #[test]
    fn a_snapshot_does_not_see_later_changes() {
        let mut store = Snapshot::full();
        store.apply(object("a", "x", "{}"), key(&["a"]));
        let before = store.clone();
        store.remove(&ObjectRef::new("endpoints", "a", "x"));
        assert_eq!((before.len(), store.len()), (1, 0));
        assert_eq!((before.bytes(), store.bytes()), (2, 0));
    }
}
