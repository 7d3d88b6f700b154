//! Writes one store: applies updates to a snapshot and counts what they changed. Pure.
//!
//! A list replaces a scope atomically at its end; until then everything it has not named stays. A store that goes on
//! from an older snapshot (a restarted watch) is not offered before it has been listed completely once.
//! What is beyond the store's limits is not taken, and nothing of it is kept: the [quota](crate::quota) says who is in.

use crate::{
    guard::{self, Guard},
    ingest::{self, Ingested},
    pool::PoolLevel,
    quota::{self, Quota},
    rejected::RejectedLog,
    update::{ListScope, Update},
};
use haptic_model::{
    Limit, ObjectRef, Oversized, Snapshot, StoreLimits, limits, pipeline::Cause, store::StoreChange,
};
use std::{
    collections::{BTreeMap, BTreeSet, HashMap, HashSet},
    sync::Arc,
    time::Instant,
};

/// The one writer of a store.
#[derive(Debug)]
pub struct StoreWriter {
    snapshot: Snapshot,
    scopes: BTreeSet<ListScope>,
    /// Running lists, with what they have named so far.
    lists: BTreeMap<ListScope, HashSet<Arc<ObjectRef>>>,
    first: Option<FirstLists>,
    /// How many objects an earlier process had, if this one has had none yet.
    expected: Option<usize>,
    guard: Guard,
    guarded: bool,
    quota: Quota,
    rejected: RejectedLog,
    offer: Option<Offer>,
    /// Resource versions of references: the only way to see that one did not change.
    stamps: HashMap<Arc<ObjectRef>, Arc<str>>,
    /// Whether `status` of the objects is what this program says itself.
    owns_status: bool,
    cause: Cause,
    /// Whether there is a newer version of an object that is no reason to render.
    has_news: bool,
}

/// Objects that vanished at once and are held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VanishedObjects {
    /// How many.
    pub objects: usize,
    /// Of how many.
    pub of: usize,
    /// Since when.
    pub since: Instant,
    /// Whether only an earlier process saw them: then the store is not complete.
    pub at_start: bool,
}

/// Objects of a namespace that are offered again.
#[derive(Debug)]
struct Offer {
    namespace: ListScope,
    /// What the watch has told of since: it knows better than an offer that was on its way.
    overtaken: HashSet<Arc<ObjectRef>>,
}

/// Until every scope has been listed once.
#[derive(Debug, Default)]
struct FirstLists {
    known: bool,
    waiting: BTreeSet<ListScope>,
    seen: HashSet<Arc<ObjectRef>>,
    /// Since when all is listed, and too little to be believed.
    doubted: Option<Instant>,
}

impl StoreWriter {
    /// Goes on from `base`, with no more than `limits` allow.
    #[must_use]
    pub fn new(base: Snapshot, limits: StoreLimits) -> Self {
        let known: Vec<_> = base.iter().cloned().collect();
        let mut writer = Self {
            snapshot: base,
            scopes: BTreeSet::new(),
            lists: BTreeMap::new(),
            first: Some(FirstLists::default()),
            expected: None,
            guard: Guard::default(),
            guarded: false,
            quota: Quota::new(limits),
            rejected: RejectedLog::default(),
            offer: None,
            stamps: HashMap::new(),
            owns_status: false,
            cause: Cause::default(),
            has_news: false,
        };
        for object in known {
            let value = object.value().unwrap_or_default();
            let (created, takes) = (ingest::created(&value), quota::takes(&value, object.json.len()));
            let leaving = writer.quota.admit(&object.reference, created, takes);
            leaving.iter().for_each(|(object, limit)| writer.leave_out(object, *limit));
        }
        writer
    }

    /// The same with a guard against objects that vanish at once; `expected`: how many an earlier process had.
    #[must_use]
    pub fn guarded(self, expected: Option<usize>) -> Self {
        let is_anew = self.snapshot.is_empty() && !self.snapshot.is_synced();
        Self { guarded: true, expected: expected.filter(|_| is_anew), ..self }
    }

    /// The same; with `owns_status` another `status` is kept, but no change.
    #[must_use]
    pub fn with_own_status(self, owns_status: bool) -> Self {
        Self { owns_status, ..self }
    }

    /// What vanished at once and is held.
    #[must_use]
    pub fn missing(&self) -> Option<VanishedObjects> {
        if let (Some(first), Some(expected)) = (&self.first, self.expected)
            && let Some(since) = first.doubted
        {
            let objects = expected.saturating_sub(first.seen.len());
            return Some(VanishedObjects { objects, of: expected, since, at_start: true });
        }
        let (objects, of, since) = self.guard.holds()?;
        Some(VanishedObjects { objects, of, since, at_start: false })
    }

    /// Lets go what is held.
    pub fn let_go(&mut self) {
        self.expected = None;
        let held = self.guard.release();
        held.iter().for_each(|reference| self.remove(reference));
        self.end_first_round();
    }

    /// Takes one update. Failures change no store.
    pub fn apply(&mut self, update: Update) {
        match update {
            Update::Scopes(scopes) => self.set_scopes(scopes),
            Update::ListBegun(scope) => {
                self.rejected.forget_all(&scope);
                self.lists.insert(scope, HashSet::new());
            }
            Update::Listed(scope, object) | Update::Put(scope, object) => self.put(&scope, object),
            Update::Kept(scope, reference) => self.saw(&scope, &reference),
            Update::Malformed(scope, reference, _) => self.malformed(&scope, &reference),
            Update::ListEnded(scope) => self.end_list(&scope),
            Update::Gone(scope, reference) => self.gone(&scope, &reference),
            Update::Oversized(scope, oversized) => self.oversized(&scope, &oversized),
            Update::OfferBegun(namespace) => {
                self.rejected.recount(&namespace);
                self.offer = Some(Offer { namespace, overtaken: HashSet::new() });
            }
            Update::Offered(namespace, object) => self.offered(&namespace, object),
            Update::OfferEnded(_) => self.offer = None,
            Update::Absent(_) if self.snapshot.is_empty() => self.set_scopes(BTreeSet::new()),
            Update::Absent(_) | Update::Failed(_) | Update::Recovered | Update::Awaited(_) => {}
        }
        self.end_first_round();
    }

    /// Whether every scope has been listed completely.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.first.is_none()
    }

    /// The store as it is now.
    #[must_use]
    pub fn snapshot(&self) -> &Snapshot {
        &self.snapshot
    }

    /// What the store does not hold because of its limits; `None` while objects are being named anew.
    #[must_use]
    pub fn rejected(&self) -> Option<limits::RejectedObjects> {
        self.is_converged().then(|| self.rejected.summary(&self.quota))
    }

    /// What the store takes, or would if it could.
    #[must_use]
    pub fn wants(&self) -> usize {
        if self.rejected.is_full() { self.quota.limits().store_bytes } else { self.quota.bytes() }
    }

    /// The store may take so much.
    pub fn set_level(&mut self, level: PoolLevel) {
        let leaving = self.quota.set_level(level);
        leaving.iter().for_each(|(object, limit)| self.leave_out(object, *limit));
    }

    /// The namespaces of which objects are left out though there is room for some.
    #[must_use]
    pub fn wanting(&self) -> BTreeSet<ListScope> {
        let crowded = self.rejected.crowded_namespaces().filter(|_| self.is_converged());
        crowded.filter(|namespace| self.quota.has_room(namespace)).cloned().collect()
    }

    fn is_converged(&self) -> bool {
        self.is_complete() && self.lists.is_empty() && self.offer.is_none()
    }

    /// What has changed since this was asked last; `None` when nothing has. A cause without objects: there are newer versions, and they are no
    /// reason to render.
    pub fn take_changes(&mut self) -> Option<Cause> {
        let (cause, has_news) = (std::mem::take(&mut self.cause), std::mem::take(&mut self.has_news));
        (cause.objects() > 0 || has_news).then_some(cause)
    }

    fn set_scopes(&mut self, scopes: BTreeSet<ListScope>) {
        if let Some(first) = &mut self.first {
            first.waiting.retain(|scope| scopes.contains(scope));
            first.waiting.extend(scopes.difference(&self.scopes).cloned());
            first.known = true;
        }
        let left: BTreeSet<ListScope> = self.scopes.difference(&scopes).cloned().collect();
        self.scopes = scopes;
        for scope in left {
            self.lists.remove(&scope);
            self.rejected.forget_all(&scope);
            self.remove_unless(&scope, |_| false);
        }
    }

    fn put(&mut self, scope: &ListScope, incoming: Ingested) {
        if !self.scopes.contains(scope) {
            return;
        }
        self.saw(scope, &incoming.object.reference);
        self.take(incoming);
    }

    /// An object that was left out may come in; what the watch told of is as it told.
    fn offered(&mut self, namespace: &ListScope, incoming: Ingested) {
        let reference = &incoming.object.reference;
        let watched = self.scopes.contains("") || self.scopes.contains(namespace);
        let overtaken = self.offer.as_ref().is_none_or(|offer| offer.overtaken.contains(reference));
        let held = self.snapshot.get(&reference.namespace, &reference.name).is_some();
        if watched && !overtaken && !held {
            self.take(incoming);
        }
    }

    /// Takes an object if there is room, and what must leave for it out.
    fn take(&mut self, incoming: Ingested) {
        let reference = incoming.object.reference.clone();
        self.rejected.forget(&reference);
        let leaving = self.quota.admit(&reference, incoming.created, incoming.takes);
        leaving.iter().for_each(|(object, limit)| self.leave_out(object, *limit));
        if leaving.iter().any(|(object, _)| *object == reference) {
            return;
        }
        if self.snapshot.is_on_demand() {
            let before = self.stamps.insert(reference.clone(), incoming.stamp.clone());
            let known = self.snapshot.get(&reference.namespace, &reference.name).is_some();
            if known && !incoming.stamp.is_empty() && before.as_ref() == Some(&incoming.stamp) {
                return;
            }
        }
        if !self.owns_status {
            let change = self.snapshot.apply(incoming.object, incoming.key);
            return self.count(change, &reference);
        }
        let before = self.snapshot.get(&reference.namespace, &reference.name).map(|before| &before.json);
        let before = before.filter(|before| **before != incoming.object.json);
        let is_same = before
            .is_some_and(|before| ingest::is_same_but_status(&before.bytes(), &incoming.object.json.bytes()));
        match self.snapshot.apply_beside_status(incoming.object, incoming.key, is_same) {
            StoreChange::Modified if is_same => self.has_news = true,
            change => self.count(change, &reference),
        }
    }

    /// What is too large is not taken: the version before stays, unless that is too large itself.
    fn oversized(&mut self, scope: &ListScope, oversized: &Arc<Oversized>) {
        if !self.scopes.contains(scope) {
            return;
        }
        let reference = &oversized.object;
        self.saw(scope, reference);
        self.rejected.forget(reference);
        let before = self.snapshot.get(&reference.namespace, &reference.name).map(|before| before.json.len());
        let replaced = before.is_some_and(|bytes| bytes <= oversized.limit);
        if !replaced {
            self.remove(reference);
        }
        self.rejected.oversized(Arc::new(Oversized { replaced, ..Oversized::clone(oversized) }));
    }

    /// What cannot be used is there all the same: the version before stays.
    fn malformed(&mut self, scope: &ListScope, reference: &Arc<ObjectRef>) {
        if self.scopes.contains(scope) {
            self.saw(scope, reference);
            self.rejected.forget(reference);
        }
    }

    fn leave_out(&mut self, reference: &Arc<ObjectRef>, limit: Limit) {
        self.rejected.forget(reference);
        self.rejected.crowded(reference, limit);
        self.unsee(reference);
        self.remove(reference);
    }

    fn saw(&mut self, scope: &ListScope, reference: &Arc<ObjectRef>) {
        self.guard.forget(reference);
        self.overtake(reference);
        if let Some(list) = self.lists.get_mut(scope) {
            list.insert(reference.clone());
        }
        if let Some(first) = &mut self.first {
            first.seen.insert(reference.clone());
        }
    }

    fn gone(&mut self, scope: &ListScope, reference: &Arc<ObjectRef>) {
        if !self.scopes.contains(scope) {
            return;
        }
        self.overtake(reference);
        self.rejected.forget(reference);
        self.unsee(reference);
        self.remove(reference);
    }

    /// The object was named, and does not count as named any more.
    fn unsee(&mut self, reference: &Arc<ObjectRef>) {
        self.guard.forget(reference);
        for scope in ["", &*reference.namespace] {
            if let Some(list) = self.lists.get_mut(scope) {
                list.remove(reference);
            }
        }
        if let Some(first) = &mut self.first {
            first.seen.remove(reference);
        }
    }

    fn overtake(&mut self, reference: &Arc<ObjectRef>) {
        if let Some(offer) = self.offer.as_mut().filter(|offer| offer.namespace == reference.namespace) {
            offer.overtaken.insert(reference.clone());
        }
    }

    fn end_list(&mut self, scope: &ListScope) {
        let Some(listed) = self.lists.remove(scope) else { return };
        if let Some(first) = &mut self.first {
            first.waiting.remove(scope);
        }
        self.remove_unless(scope, |reference| listed.contains(reference));
    }

    fn end_first_round(&mut self) {
        let Some(first) = self.first.as_mut().filter(|first| first.known && first.waiting.is_empty()) else {
            return;
        };
        // Objects that cannot be used, or are too large, are in no snapshot, and have not vanished.
        let named = first.seen.len();
        let missing = |expected: usize| (expected.saturating_sub(named), expected);
        if self.expected.map(missing).is_some_and(|(missing, of)| guard::is_mass(missing, of)) {
            first.doubted.get_or_insert_with(Instant::now);
            return;
        }
        self.expected = None;
        if let Some(first) = self.first.take() {
            self.remove_unless(&ListScope::from(""), |reference| first.seen.contains(reference));
            self.snapshot.set_synced();
        }
    }

    fn remove_unless(&mut self, scope: &ListScope, stays: impl Fn(&Arc<ObjectRef>) -> bool) {
        let inside = |reference: &ObjectRef| scope.is_empty() || reference.namespace == *scope;
        let leaving: Vec<_> = self
            .snapshot
            .iter()
            .map(|object| &object.reference)
            .filter(|reference| inside(reference) && !stays(reference))
            .cloned()
            .collect();
        if !self.guarded || self.guard.lets(&leaving, self.snapshot.len(), Instant::now()) {
            leaving.iter().for_each(|reference| self.remove(reference));
        }
    }

    fn remove(&mut self, reference: &Arc<ObjectRef>) {
        self.stamps.remove(reference);
        self.quota.remove(reference);
        let change = self.snapshot.remove(reference);
        self.count(change, reference);
    }

    fn count(&mut self, change: StoreChange, reference: &Arc<ObjectRef>) {
        match change {
            StoreChange::Created => self.cause.created += 1,
            StoreChange::Modified => self.cause.modified += 1,
            StoreChange::Deleted => self.cause.deleted += 1,
            StoreChange::Unchanged => return,
        }
        self.cause.example = Some(reference.clone());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use haptic_model::{
        Object,
        store::{FetchError, FetchObject},
    };

    fn object(namespace: &str, name: &str, content: &str) -> Ingested {
        Ingested {
            object: Object {
                reference: Arc::new(ObjectRef::new("services", namespace, name)),
                version: 0,
                json: content.as_bytes().into(),
            },
            key: [Arc::from(namespace), Arc::from(name)].into(),
            stamp: content.into(),
            created: 0,
            takes: content.len(),
        }
    }

    fn scopes(names: &[&str]) -> Update {
        Update::Scopes(names.iter().map(|name| ListScope::from(*name)).collect())
    }

    fn list(writer: &mut StoreWriter, scope: &str, objects: &[(&str, &str, &str)]) {
        writer.apply(Update::ListBegun(scope.into()));
        for (namespace, name, content) in objects {
            writer.apply(Update::Listed(scope.into(), object(namespace, name, content)));
        }
        writer.apply(Update::ListEnded(scope.into()));
    }

    fn names(snapshot: &Snapshot) -> Vec<String> {
        snapshot.iter().map(|o| format!("{}/{}", o.reference.namespace, o.reference.name)).collect()
    }

    #[test]
    fn a_status_of_our_own_is_kept_and_no_reason_to_render() {
        let put = |writer: &mut StoreWriter, content: &str| {
            writer.apply(Update::Put("".into(), object("a", "x", content)));
            writer.take_changes().map(|cause| cause.objects())
        };
        for (owns_status, counted) in [(true, 0), (false, 1)] {
            let mut writer =
                StoreWriter::new(Snapshot::full(), StoreLimits::default()).with_own_status(owns_status);
            writer.apply(scopes(&[""]));
            list(&mut writer, "", &[("a", "x", r#"{"spec":1}"#)]);
            writer.take_changes();
            let before = writer.snapshot().clone();
            assert_eq!(put(&mut writer, r#"{"spec":1,"status":{"a":1}}"#), Some(counted));
            let now = writer.snapshot().clone();
            let mut differences = now.differences_from(&before);
            assert!(differences.next().is_some_and(|difference| difference.is_status_only == owns_status));
            assert_eq!(put(&mut writer, r#"{"spec":1,"status":{"a":1}}"#), None);
            assert_eq!(
                &*writer.snapshot().get("a", "x").unwrap().json.bytes(),
                br#"{"spec":1,"status":{"a":1}}"#
            );
            assert_eq!(put(&mut writer, r#"{"spec":2,"status":{"a":1}}"#), Some(1));
            assert_eq!(put(&mut writer, r#"{"spec":3,"status":{"a":2}}"#), Some(1));
            assert_eq!(put(&mut writer, r#"{"spec":3}"#), Some(counted));
        }
    }

    fn counts(writer: &mut StoreWriter) -> (usize, usize, usize) {
        writer.take_changes().map_or((0, 0, 0), |cause| (cause.created, cause.modified, cause.deleted))
    }

    #[test]
    fn a_store_is_complete_when_the_list_of_every_scope_has_ended() {
        let mut writer = StoreWriter::new(Snapshot::full(), StoreLimits::default());
        writer.apply(scopes(&["a", "b"]));
        list(&mut writer, "a", &[("a", "x", "1")]);
        assert!(!writer.is_complete() && !writer.snapshot().is_synced());
        list(&mut writer, "b", &[]);
        assert!(writer.is_complete() && writer.snapshot().is_synced());
        assert_eq!(counts(&mut writer), (1, 0, 0));
    }

    #[test]
    fn a_selector_that_matches_no_namespace_gives_an_empty_complete_store() {
        let mut writer = StoreWriter::new(Snapshot::full(), StoreLimits::default());
        writer.apply(scopes(&[]));
        assert!(writer.is_complete());
    }

    #[test]
    fn a_kind_that_is_absent_is_an_empty_complete_store_and_takes_nothing_from_one_with_objects() {
        let absent = || Update::Absent("no such kind".into());
        let mut writer = StoreWriter::new(Snapshot::full(), StoreLimits::default());
        writer.apply(absent());
        assert!(writer.is_complete() && writer.snapshot().is_synced());
        writer.apply(scopes(&[""]));
        list(&mut writer, "", &[("a", "x", "1")]);
        assert_eq!(names(writer.snapshot()), ["a/x"]);
        writer.apply(absent());
        assert_eq!(names(writer.snapshot()), ["a/x"]);
    }

    #[test]
    fn a_second_list_removes_what_it_does_not_name_at_its_end_and_not_before() {
        let mut writer = StoreWriter::new(Snapshot::full(), StoreLimits::default());
        writer.apply(scopes(&[""]));
        list(&mut writer, "", &[("a", "x", "1"), ("a", "y", "1"), ("b", "z", "1")]);
        counts(&mut writer);
        writer.apply(Update::ListBegun("".into()));
        writer.apply(Update::Listed("".into(), object("a", "y", "2")));
        assert_eq!(names(writer.snapshot()), ["a/x", "a/y", "b/z"]);
        writer.apply(Update::Listed("".into(), object("b", "z", "1")));
        writer.apply(Update::ListEnded("".into()));
        assert_eq!(names(writer.snapshot()), ["a/y", "b/z"]);
        assert_eq!(counts(&mut writer), (0, 1, 1));
    }

    #[test]
    fn a_list_that_is_begun_again_forgets_its_first_half() {
        let mut writer = StoreWriter::new(Snapshot::full(), StoreLimits::default());
        writer.apply(scopes(&[""]));
        writer.apply(Update::ListBegun("".into()));
        writer.apply(Update::Listed("".into(), object("a", "deleted-meanwhile", "1")));
        list(&mut writer, "", &[("a", "x", "1")]);
        assert_eq!(names(writer.snapshot()), ["a/x"]);
    }

    #[test]
    fn a_list_of_one_namespace_leaves_the_others_alone() {
        let mut writer = StoreWriter::new(Snapshot::full(), StoreLimits::default());
        writer.apply(scopes(&["a", "b"]));
        list(&mut writer, "a", &[("a", "x", "1")]);
        list(&mut writer, "b", &[("b", "y", "1")]);
        list(&mut writer, "a", &[]);
        assert_eq!(names(writer.snapshot()), ["b/y"]);
    }

    #[test]
    fn a_namespace_that_leaves_takes_its_objects_and_its_late_updates_with_it() {
        let mut writer = StoreWriter::new(Snapshot::full(), StoreLimits::default());
        writer.apply(scopes(&["a", "b"]));
        list(&mut writer, "a", &[("a", "x", "1")]);
        list(&mut writer, "b", &[("b", "y", "1")]);
        writer.apply(scopes(&["b"]));
        writer.apply(Update::Put("a".into(), object("a", "late", "1")));
        assert_eq!(names(writer.snapshot()), ["b/y"]);
        writer.apply(scopes(&["b", "c"]));
        assert!(writer.is_complete(), "a complete store stays complete while a new namespace is listed");
    }

    #[test]
    fn a_restarted_watch_goes_on_from_the_old_store_and_changes_only_what_changed() {
        let mut old = StoreWriter::new(Snapshot::full(), StoreLimits::default());
        old.apply(scopes(&[""]));
        list(&mut old, "", &[("a", "gone", "1"), ("a", "same", "1"), ("b", "other", "1")]);
        let base = old.snapshot().clone();
        let version = base.version();
        let mut writer = StoreWriter::new(base, StoreLimits::default());
        writer.apply(scopes(&["a"]));
        assert!(!writer.is_complete());
        list(&mut writer, "a", &[("a", "same", "1")]);
        assert_eq!(names(writer.snapshot()), ["a/same"]);
        assert_eq!(counts(&mut writer), (0, 0, 2));
        assert!(writer.snapshot().version() > version);
    }

    #[test]
    fn an_object_that_cannot_be_read_at_present_stays() {
        let mut writer = StoreWriter::new(Snapshot::full(), StoreLimits::default());
        writer.apply(scopes(&[""]));
        list(&mut writer, "", &[("a", "x", "1")]);
        writer.apply(Update::ListBegun("".into()));
        writer.apply(Update::Kept("".into(), Arc::new(ObjectRef::new("services", "a", "x"))));
        writer.apply(Update::ListEnded("".into()));
        assert_eq!(names(writer.snapshot()), ["a/x"]);
    }

    #[test]
    fn an_object_that_cannot_be_used_stays_as_it_was_and_has_not_vanished() {
        let malformed = |number: usize| {
            let reference = Arc::new(ObjectRef::new("services", "a", &number.to_string()));
            Update::Malformed("".into(), reference, "deep".into())
        };
        let mut writer = forty();
        writer.apply(Update::ListBegun("".into()));
        (0..40).for_each(|number| writer.apply(malformed(number)));
        writer.apply(Update::ListEnded("".into()));
        assert_eq!((writer.snapshot().len(), writer.missing()), (40, None));

        // A new process knows how many there were, and nothing else of them.
        let mut writer = StoreWriter::new(Snapshot::full(), StoreLimits::default()).guarded(Some(40));
        writer.apply(scopes(&[""]));
        writer.apply(Update::ListBegun("".into()));
        (0..40).for_each(|number| writer.apply(malformed(number)));
        writer.apply(Update::ListEnded("".into()));
        assert!(writer.is_complete() && writer.snapshot().is_empty());
    }

    /// A store of 40 objects behind a guard.
    fn forty() -> StoreWriter {
        let mut writer = StoreWriter::new(Snapshot::full(), StoreLimits::default()).guarded(None);
        writer.apply(scopes(&[""]));
        list_numbers(&mut writer, 0..40);
        counts(&mut writer);
        writer
    }

    fn list_numbers(writer: &mut StoreWriter, numbers: std::ops::Range<usize>) {
        let names: Vec<String> = numbers.map(|number| number.to_string()).collect();
        let objects: Vec<_> = names.iter().map(|name| ("a", name.as_str(), "1")).collect();
        list(writer, "", &objects);
    }

    #[test]
    fn what_vanishes_from_a_list_at_once_stays_and_everything_else_goes_on() {
        let mut writer = forty();
        list_numbers(&mut writer, 0..10);
        let missing = writer.missing().unwrap();
        assert_eq!((missing.objects, missing.of, missing.at_start), (30, 40, false));
        assert_eq!(writer.snapshot().len(), 40);
        writer.apply(Update::Put("".into(), object("a", "3", "2")));
        writer.apply(Update::Put("".into(), object("a", "new", "1")));
        writer.apply(Update::Gone("".into(), Arc::new(ObjectRef::new("services", "a", "5"))));
        assert_eq!(counts(&mut writer), (1, 1, 1));
        list_numbers(&mut writer, 0..39);
        assert_eq!(writer.missing(), None, "they are named again");
        list_numbers(&mut writer, 0..10);
        writer.let_go();
        assert_eq!((writer.snapshot().len(), writer.missing()), (10, None));
    }

    #[test]
    fn objects_that_are_deleted_one_by_one_are_gone_however_many() {
        let mut writer = forty();
        for number in 0..40 {
            writer.apply(Update::Gone(
                "".into(),
                Arc::new(ObjectRef::new("services", "a", &number.to_string())),
            ));
        }
        assert!(writer.snapshot().is_empty() && writer.missing().is_none());
    }

    #[test]
    fn namespaces_that_leave_together_are_a_mass_too() {
        let mut writer = StoreWriter::new(Snapshot::full(), StoreLimits::default()).guarded(None);
        writer.apply(scopes(&["a", "b"]));
        let names: Vec<String> = (0..30).map(|number| number.to_string()).collect();
        list(&mut writer, "a", &names.iter().map(|name| ("a", name.as_str(), "1")).collect::<Vec<_>>());
        list(&mut writer, "b", &[("b", "y", "1")]);
        writer.apply(scopes(&["b"]));
        assert_eq!(writer.missing().map(|missing| missing.objects), Some(30));
    }

    #[test]
    fn a_first_list_with_much_less_than_an_earlier_process_had_is_doubted_until_it_is_let_go() {
        let first = |expected, listed| {
            let mut writer = StoreWriter::new(Snapshot::full(), StoreLimits::default()).guarded(expected);
            writer.apply(scopes(&[""]));
            list_numbers(&mut writer, 0..listed);
            writer
        };
        assert!(first(Some(40), 25).is_complete() && first(None, 0).is_complete());
        let mut writer = first(Some(40), 3);
        let missing = writer.missing().unwrap();
        assert_eq!((missing.objects, missing.of, missing.at_start), (37, 40, true));
        assert!(!writer.is_complete() && !writer.snapshot().is_synced());
        list_numbers(&mut writer, 0..38);
        assert!(writer.is_complete() && writer.missing().is_none(), "the next list has them");
        let mut writer = first(Some(40), 3);
        writer.let_go();
        assert!(writer.is_complete() && writer.snapshot().is_synced());
    }

    #[derive(Debug)]
    struct Never;

    impl FetchObject for Never {
        fn fetch(&self, _: &Arc<ObjectRef>) -> Result<Option<Arc<Object>>, FetchError> {
            Ok(None)
        }
    }

    #[test]
    fn a_reference_listed_again_with_the_same_resource_version_is_no_change() {
        let mut writer = StoreWriter::new(Snapshot::on_demand(Arc::new(Never)), StoreLimits::default());
        writer.apply(scopes(&[""]));
        list(&mut writer, "", &[("a", "x", "7"), ("a", "y", "7")]);
        counts(&mut writer);
        list(&mut writer, "", &[("a", "x", "7"), ("a", "y", "8")]);
        assert_eq!(counts(&mut writer), (0, 1, 0));
    }
}

#[cfg(test)]
mod tests_of_limits;
