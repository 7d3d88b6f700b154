//! Writes one store: applies updates to a snapshot and counts what they changed. Pure.
//!
//! A list replaces a scope atomically at its end; until then everything it has not named stays. A store that goes on
//! from an older snapshot (a restarted watch) is not offered before it has been listed completely once.

use crate::{
    ingest::Ingested,
    update::{Scope, Update},
};
use haptic_model::{ObjectRef, Snapshot, pipeline::Cause, store::Change};
use std::{
    collections::{BTreeMap, BTreeSet, HashMap, HashSet},
    sync::Arc,
};

/// The one writer of a store.
#[derive(Debug)]
pub struct StoreWriter {
    snapshot: Snapshot,
    scopes: BTreeSet<Scope>,
    /// Running lists, with what they have named so far.
    lists: BTreeMap<Scope, HashSet<Arc<ObjectRef>>>,
    first: Option<FirstRound>,
    /// Resource versions of references: the only way to see that one did not change.
    stamps: HashMap<Arc<ObjectRef>, Arc<str>>,
    cause: Cause,
}

/// Until every scope has been listed once.
#[derive(Debug, Default)]
struct FirstRound {
    known: bool,
    waiting: BTreeSet<Scope>,
    seen: HashSet<Arc<ObjectRef>>,
}

impl StoreWriter {
    /// Goes on from `base`.
    #[must_use]
    pub fn new(base: Snapshot) -> Self {
        Self {
            snapshot: base,
            scopes: BTreeSet::new(),
            lists: BTreeMap::new(),
            first: Some(FirstRound::default()),
            stamps: HashMap::new(),
            cause: Cause::default(),
        }
    }

    /// Takes one update. Failures and malformed objects change no store and are not for it.
    pub fn apply(&mut self, update: Update) {
        match update {
            Update::Scopes(scopes) => self.set_scopes(scopes),
            Update::ListBegun(scope) => {
                self.lists.insert(scope, HashSet::new());
            }
            Update::Listed(scope, object) | Update::Put(scope, object) => self.put(&scope, object),
            Update::Kept(scope, reference) => self.saw(&scope, &reference),
            Update::ListEnded(scope) => self.end_list(&scope),
            Update::Gone(scope, reference) => self.gone(&scope, &reference),
            Update::Malformed(..) | Update::Failed(_) => {}
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

    /// What has changed since this was asked last; `None` when nothing has.
    pub fn take_changes(&mut self) -> Option<Cause> {
        let cause = std::mem::take(&mut self.cause);
        (cause.created + cause.modified + cause.deleted > 0).then_some(cause)
    }

    fn set_scopes(&mut self, scopes: BTreeSet<Scope>) {
        if let Some(first) = &mut self.first {
            first.waiting.retain(|scope| scopes.contains(scope));
            first.waiting.extend(scopes.difference(&self.scopes).cloned());
            first.known = true;
        }
        let left: BTreeSet<Scope> = self.scopes.difference(&scopes).cloned().collect();
        self.scopes = scopes;
        for scope in left {
            self.lists.remove(&scope);
            self.remove_unless(&scope, |_| false);
        }
    }

    fn put(&mut self, scope: &Scope, incoming: Ingested) {
        if !self.scopes.contains(scope) {
            return;
        }
        let reference = incoming.object.reference.clone();
        self.saw(scope, &reference);
        if self.snapshot.is_on_demand() {
            let before = self.stamps.insert(reference.clone(), incoming.stamp.clone());
            let known = self.snapshot.get(&reference.namespace, &reference.name).is_some();
            if known && !incoming.stamp.is_empty() && before.as_ref() == Some(&incoming.stamp) {
                return;
            }
        }
        let change = self.snapshot.apply(incoming.object, incoming.key);
        self.count(change, &reference);
    }

    fn saw(&mut self, scope: &Scope, reference: &Arc<ObjectRef>) {
        if let Some(list) = self.lists.get_mut(scope) {
            list.insert(reference.clone());
        }
        if let Some(first) = &mut self.first {
            first.seen.insert(reference.clone());
        }
    }

    fn gone(&mut self, scope: &Scope, reference: &Arc<ObjectRef>) {
        if !self.scopes.contains(scope) {
            return;
        }
        if let Some(list) = self.lists.get_mut(scope) {
            list.remove(reference);
        }
        if let Some(first) = &mut self.first {
            first.seen.remove(reference);
        }
        self.remove(reference);
    }

    fn end_list(&mut self, scope: &Scope) {
        let Some(listed) = self.lists.remove(scope) else { return };
        if let Some(first) = &mut self.first {
            first.waiting.remove(scope);
        }
        self.remove_unless(scope, |reference| listed.contains(reference));
    }

    fn end_first_round(&mut self) {
        if self.first.as_ref().is_some_and(|first| first.known && first.waiting.is_empty())
            && let Some(first) = self.first.take()
        {
            self.remove_unless(&Scope::from(""), |reference| first.seen.contains(reference));
            self.snapshot.set_synced();
        }
    }

    fn remove_unless(&mut self, scope: &Scope, stays: impl Fn(&Arc<ObjectRef>) -> bool) {
        let inside = |reference: &ObjectRef| scope.is_empty() || reference.namespace == *scope;
        let leaving: Vec<_> = self
            .snapshot
            .iter()
            .map(|object| &object.reference)
            .filter(|reference| inside(reference) && !stays(reference))
            .cloned()
            .collect();
        for reference in leaving {
            self.remove(&reference);
        }
    }

    fn remove(&mut self, reference: &Arc<ObjectRef>) {
        self.stamps.remove(reference);
        let change = self.snapshot.remove(reference);
        self.count(change, reference);
    }

    fn count(&mut self, change: Change, reference: &Arc<ObjectRef>) {
        match change {
            Change::Created => self.cause.created += 1,
            Change::Modified => self.cause.modified += 1,
            Change::Deleted => self.cause.deleted += 1,
            Change::Unchanged => return,
        }
        self.cause.example = Some(reference.clone());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use haptic_model::{Object, store::FetchObject};

    fn object(namespace: &str, name: &str, content: &str) -> Ingested {
        Ingested {
            object: Object {
                reference: Arc::new(ObjectRef::new("services", namespace, name)),
                version: 0,
                json: content.as_bytes().into(),
            },
            key: [Arc::from(namespace), Arc::from(name)].into(),
            stamp: content.into(),
        }
    }

    fn scopes(names: &[&str]) -> Update {
        Update::Scopes(names.iter().map(|name| Scope::from(*name)).collect())
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

    fn counts(writer: &mut StoreWriter) -> (usize, usize, usize) {
        writer.take_changes().map_or((0, 0, 0), |cause| (cause.created, cause.modified, cause.deleted))
    }

    #[test]
    fn a_store_is_complete_when_the_list_of_every_scope_has_ended() {
        let mut writer = StoreWriter::new(Snapshot::full());
        writer.apply(scopes(&["a", "b"]));
        list(&mut writer, "a", &[("a", "x", "1")]);
        assert!(!writer.is_complete() && !writer.snapshot().is_synced());
        list(&mut writer, "b", &[]);
        assert!(writer.is_complete() && writer.snapshot().is_synced());
        assert_eq!(counts(&mut writer), (1, 0, 0));
    }

    #[test]
    fn a_selector_that_matches_no_namespace_gives_an_empty_complete_store() {
        let mut writer = StoreWriter::new(Snapshot::full());
        writer.apply(scopes(&[]));
        assert!(writer.is_complete());
    }

    #[test]
    fn a_second_list_removes_what_it_does_not_name_at_its_end_and_not_before() {
        let mut writer = StoreWriter::new(Snapshot::full());
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
        let mut writer = StoreWriter::new(Snapshot::full());
        writer.apply(scopes(&[""]));
        writer.apply(Update::ListBegun("".into()));
        writer.apply(Update::Listed("".into(), object("a", "deleted-meanwhile", "1")));
        list(&mut writer, "", &[("a", "x", "1")]);
        assert_eq!(names(writer.snapshot()), ["a/x"]);
    }

    #[test]
    fn a_list_of_one_namespace_leaves_the_others_alone() {
        let mut writer = StoreWriter::new(Snapshot::full());
        writer.apply(scopes(&["a", "b"]));
        list(&mut writer, "a", &[("a", "x", "1")]);
        list(&mut writer, "b", &[("b", "y", "1")]);
        list(&mut writer, "a", &[]);
        assert_eq!(names(writer.snapshot()), ["b/y"]);
    }

    #[test]
    fn a_namespace_that_leaves_takes_its_objects_and_its_late_updates_with_it() {
        let mut writer = StoreWriter::new(Snapshot::full());
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
        let mut old = StoreWriter::new(Snapshot::full());
        old.apply(scopes(&[""]));
        list(&mut old, "", &[("a", "gone", "1"), ("a", "same", "1"), ("b", "other", "1")]);
        let base = old.snapshot().clone();
        let version = base.version();
        let mut writer = StoreWriter::new(base);
        writer.apply(scopes(&["a"]));
        assert!(!writer.is_complete());
        list(&mut writer, "a", &[("a", "same", "1")]);
        assert_eq!(names(writer.snapshot()), ["a/same"]);
        assert_eq!(counts(&mut writer), (0, 0, 2));
        assert!(writer.snapshot().version() > version);
    }

    #[test]
    fn an_object_that_cannot_be_read_at_present_stays() {
        let mut writer = StoreWriter::new(Snapshot::full());
        writer.apply(scopes(&[""]));
        list(&mut writer, "", &[("a", "x", "1")]);
        writer.apply(Update::ListBegun("".into()));
        writer.apply(Update::Kept("".into(), Arc::new(ObjectRef::new("services", "a", "x"))));
        writer.apply(Update::ListEnded("".into()));
        assert_eq!(names(writer.snapshot()), ["a/x"]);
    }

    #[derive(Debug)]
    struct Never;

    impl FetchObject for Never {
        fn fetch(&self, _: &Arc<ObjectRef>) -> Result<Option<Arc<Object>>, String> {
            Ok(None)
        }
    }

    #[test]
    fn a_reference_listed_again_with_the_same_resource_version_is_no_change() {
        let mut writer = StoreWriter::new(Snapshot::on_demand(Arc::new(Never)));
        writer.apply(scopes(&[""]));
        list(&mut writer, "", &[("a", "x", "7"), ("a", "y", "7")]);
        counts(&mut writer);
        list(&mut writer, "", &[("a", "x", "7"), ("a", "y", "8")]);
        assert_eq!(counts(&mut writer), (0, 1, 0));
    }
}
