//! All stores on one topic, each with exactly one writer.
//!
//! A writer holds a claim. A new claim on a name voids the one before, so a pump that is being stopped can publish
//! nothing any more. Version numbers of a name never start again, so no read recorded before can be mistaken.

use crate::named::NamedStores;
use haptic_model::{
    AllRejected, MassDeletion, MassDeletions, RejectedObjects, Snapshot, Snapshots, cause::StoreChanges,
    pipeline::Cause,
};
use haptic_runtime::{Publisher, Topic, topic};
use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

/// The combined topic; clones publish on the same.
#[derive(Clone, Debug)]
pub struct Stores(Arc<StoresState>);

#[derive(Debug)]
struct StoresState {
    snapshots: Publisher<Snapshots>,
    troubles: Publisher<Troubles>,
    missing: Publisher<MassDeletions>,
    rejected: Publisher<AllRejected>,
    state: Mutex<State>,
    named: NamedStores,
}

#[derive(Debug, Default)]
struct State {
    stores: BTreeMap<Arc<str>, Store>,
    /// All changes since the process started.
    changes: StoreChanges,
    /// The revision of the accepted configuration that the watches were brought to last.
    prepared_for: Option<u64>,
}

/// Why resources cannot be read at the moment, by their names: sentences for readiness and `/debug`.
pub type Troubles = BTreeMap<Arc<str>, String>;

#[derive(Debug, Default)]
struct Store {
    /// Of the latest claim.
    claim: u64,
    /// What was published last.
    last: Arc<Snapshot>,
    is_published: bool,
}

/// The right to publish one store.
#[derive(Debug)]
pub struct Claim {
    stores: Stores,
    name: Arc<str>,
    number: u64,
}

impl Stores {
    /// No stores yet, and their topic.
    #[must_use]
    pub fn new() -> (Self, Topic<Snapshots>) {
        let ((snapshots, topic_of_all), (troubles, _)) =
            (topic(Snapshots::default()), topic(Troubles::new()));
        let ((missing, _), (rejected, _)) = (topic(MassDeletions::new()), topic(AllRejected::new()));
        let shared = StoresState {
            snapshots,
            troubles,
            missing,
            rejected,
            state: Mutex::default(),
            named: NamedStores::default(),
        };
        (Self(Arc::new(shared)), topic_of_all)
    }

    /// Why resources cannot be read at the moment; one that is read has no entry.
    #[must_use]
    pub fn troubles(&self) -> Topic<Troubles> {
        self.0.troubles.topic()
    }

    /// Objects that vanished at once and are held.
    #[must_use]
    pub fn missing(&self) -> Topic<MassDeletions> {
        self.0.missing.topic()
    }

    /// What stores do not hold because of their limits.
    #[must_use]
    pub fn rejected(&self) -> Topic<AllRejected> {
        self.0.rejected.topic()
    }

    /// Those of them that hold what others name.
    #[must_use]
    pub fn named(&self) -> &NamedStores {
        &self.0.named
    }

    /// What a store was published with last, or was taken off the topic with.
    pub(crate) fn last(&self, name: &str) -> Arc<Snapshot> {
        self.state().stores.get(name).map(|store| store.last.clone()).unwrap_or_default()
    }

    /// Claims a store and gives what it last held, to go on from.
    #[must_use]
    pub fn claim(&self, name: &Arc<str>) -> (Claim, Snapshot) {
        let mut state = self.state();
        let store = state.stores.entry(name.clone()).or_default();
        store.claim += 1;
        let claim = Claim { stores: self.clone(), name: name.clone(), number: store.claim };
        (claim, (*store.last).clone())
    }

    /// Takes a store off the topic because its meaning changes; the next claim goes on from it.
    pub fn hide(&self, name: &str) {
        let mut state = self.state();
        if let Some(store) = state.stores.get_mut(name) {
            store.claim += 1;
            store.is_published = false;
        }
        self.set_trouble(name, None);
        self.set_missing(&name.into(), None);
        self.set_rejected(&name.into(), &RejectedObjects::default());
        self.publish(&state);
    }

    /// Takes a store off the topic and frees its objects.
    pub fn forget(&self, name: &str) {
        if let Some(store) = self.state().stores.get_mut(name) {
            let mut emptied = (*store.last).clone();
            emptied.retain(|_| false);
            store.last = Arc::new(emptied);
        }
        self.hide(name);
    }

    /// Every store at this moment.
    #[must_use]
    pub fn read(&self) -> Arc<Snapshots> {
        self.0.snapshots.latest()
    }

    /// The combined topic.
    #[must_use]
    pub fn topic(&self) -> Topic<Snapshots> {
        self.0.snapshots.topic()
    }

    fn set_trouble(&self, name: &str, why: Option<&str>) {
        let before = self.0.troubles.latest();
        if before.get(name).map(String::as_str) == why {
            return;
        }
        let mut troubles = (*before).clone();
        match why {
            Some(why) => drop(troubles.insert(name.into(), why.to_owned())),
            None => drop(troubles.remove(name)),
        }
        self.0.troubles.publish(troubles);
    }

    fn set_missing(&self, name: &Arc<str>, missing: Option<&MassDeletion>) {
        let mut all = (*self.0.missing.latest()).clone();
        match missing {
            Some(missing) => drop(all.insert(name.clone(), missing.clone())),
            None => drop(all.remove(name)),
        }
        self.0.missing.publish_if_changed(all);
    }

    fn set_rejected(&self, name: &Arc<str>, rejected: &RejectedObjects) {
        let mut all = (*self.0.rejected.latest()).clone();
        match rejected.is_nothing() {
            true => drop(all.remove(name)),
            false => drop(all.insert(name.clone(), rejected.clone())),
        }
        self.0.rejected.publish_if_changed(all);
    }

    /// The watches are those of the accepted configuration of this revision, and what others filled is not published any more.
    pub fn prepared_for(&self, revision: u64) {
        let mut state = self.state();
        if state.prepared_for.replace(revision) != Some(revision) {
            self.publish(&state);
        }
    }

    fn publish(&self, state: &State) {
        let published = state.stores.iter().filter(|(_, store)| store.is_published);
        let stores = published.map(|(name, store)| (name.clone(), store.last.clone())).collect();
        let snapshots = Snapshots::new(stores).after(state.changes.clone(), state.prepared_for);
        self.0.snapshots.publish(snapshots);
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Claim {
    /// Says why this store cannot be read, or that it can again; a claim that was taken over says nothing.
    pub fn note_trouble(&self, why: Option<&str>) {
        let state = self.stores.state();
        if state.stores.get(&self.name).is_some_and(|store| store.claim == self.number) {
            self.stores.set_trouble(&self.name, why);
        }
    }

    /// Says which objects of this store vanished at once and are held. If the store was not published before, it is not read
    /// for that reason.
    pub fn note_missing(&self, missing: Option<&MassDeletion>) {
        let state = self.stores.state();
        if state.stores.get(&self.name).is_none_or(|store| store.claim != self.number) {
            return;
        }
        self.stores.set_missing(&self.name, missing);
        let why = missing.filter(|missing| missing.at_start).map(ToString::to_string);
        self.stores.set_trouble(&self.name, why.as_deref());
    }

    /// Says what this store does not hold because of its limits; a claim that was taken over says nothing.
    pub fn note_rejected(&self, rejected: &RejectedObjects) {
        let state = self.stores.state();
        if state.stores.get(&self.name).is_some_and(|store| store.claim == self.number) {
            self.stores.set_rejected(&self.name, rejected);
        }
    }

    /// Publishes `snapshot`, and what has changed; whether this claim is still the latest.
    pub fn publish(&self, snapshot: &Snapshot, change: Cause) -> bool {
        let mut state = self.stores.state();
        let Some(store) = state.stores.get_mut(&self.name).filter(|store| store.claim == self.number) else {
            return false;
        };
        store.last = Arc::new(snapshot.clone());
        store.is_published = true;
        state.changes.add(change);
        self.stores.publish(&state);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use haptic_model::ObjectRef;

    fn filled(mut snapshot: Snapshot, name: &str) -> Snapshot {
        snapshot.put(ObjectRef::new("a", "n", name), name.as_bytes());
        snapshot.set_synced();
        snapshot
    }

    #[test]
    fn an_older_claim_can_publish_nothing() {
        let (stores, topic) = Stores::new();
        let (old, base) = stores.claim(&"a".into());
        let (new, _) = stores.claim(&"a".into());
        assert!(!old.publish(&filled(base.clone(), "x"), Cause::default()));
        assert!(topic.latest().get("a").is_none());
        assert!(new.publish(&filled(base, "y"), Cause::default()));
        assert_eq!(topic.latest().get("a").unwrap().len(), 1);
    }

    #[test]
    fn trouble_stays_until_it_is_over_and_only_the_latest_claim_may_tell() {
        let (stores, _) = Stores::new();
        let troubles = stores.troubles();
        let (old, _) = stores.claim(&"a".into());
        let (new, _) = stores.claim(&"a".into());
        old.note_trouble(Some("old"));
        assert!(troubles.latest().is_empty());
        new.note_trouble(Some("no permission"));
        assert_eq!(troubles.latest().get("a").map(String::as_str), Some("no permission"));
        new.note_trouble(None);
        assert!(troubles.latest().is_empty());
        new.note_trouble(Some("gone"));
        stores.forget("a");
        assert!(troubles.latest().is_empty());
    }

    #[test]
    fn many_writers_lose_no_update() {
        let (stores, topic) = Stores::new();
        std::thread::scope(|scope| {
            for writer in 0..8 {
                let stores = stores.clone();
                scope.spawn(move || {
                    let name: Arc<str> = format!("store{writer}").into();
                    let (claim, mut snapshot) = stores.claim(&name);
                    for object in 0..50 {
                        snapshot = filled(snapshot, &format!("o{object}"));
                        assert!(claim.publish(&snapshot, Cause::default()));
                    }
                });
            }
        });
        let all = topic.latest();
        assert_eq!(all.iter().map(|(_, store)| store.len()).collect::<Vec<_>>(), [50; 8]);
    }

    #[test]
    fn a_hidden_store_counts_as_not_synced_and_versions_go_on() {
        let (stores, topic) = Stores::new();
        let (claim, base) = stores.claim(&"a".into());
        claim.publish(&filled(base, "x"), Cause::default());
        stores.hide("a");
        assert!(!topic.latest().synced(["a"]));
        let (_, base) = stores.claim(&"a".into());
        assert_eq!((base.len(), base.version()), (1, 1));
        stores.forget("a");
        let (_, base) = stores.claim(&"a".into());
        assert!(base.is_empty() && base.version() > 1);
    }
}
