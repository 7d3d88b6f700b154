//! All stores on one cell of the board, each with exactly one writer.
//!
//! A writer holds a claim. A new claim on a name voids the one before, so a pump that is being stopped can publish
//! nothing any more. Version numbers of a name never start again, so no read recorded before can be mistaken.

use haptic_model::{AllLeftOut, LeftOut, MassDeletion, MassDeletions, Snapshot, Snapshots};
use haptic_runtime::{CellReader, CellWriter, cell};
use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

/// The combined cell; clones write to the same.
#[derive(Clone, Debug)]
pub struct Stores(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    cell: CellWriter<Snapshots>,
    troubles: CellWriter<Troubles>,
    missing: CellWriter<MassDeletions>,
    left_out: CellWriter<AllLeftOut>,
    tenants: Mutex<BTreeMap<Arc<str>, Tenant>>,
}

/// Why resources cannot be read at the moment, by their names: sentences for readiness and `/debug`.
pub type Troubles = BTreeMap<Arc<str>, String>;

#[derive(Debug, Default)]
struct Tenant {
    /// Of the latest claim.
    claim: u64,
    /// What was published last.
    last: Arc<Snapshot>,
    on_board: bool,
}

/// The right to publish one store.
#[derive(Debug)]
pub struct Claim {
    stores: Stores,
    name: Arc<str>,
    number: u64,
}

impl Stores {
    /// No stores yet, with a reader of the combined cell.
    #[must_use]
    pub fn new() -> (Self, CellReader<Snapshots>) {
        let ((snapshots, reader), (troubles, _)) = (cell(Snapshots::default()), cell(Troubles::new()));
        let ((missing, _), (left_out, _)) = (cell(MassDeletions::new()), cell(AllLeftOut::new()));
        let tenants = Mutex::default();
        (Self(Arc::new(Shared { cell: snapshots, troubles, missing, left_out, tenants })), reader)
    }

    /// Why resources cannot be read at the moment; one that is read has no entry.
    #[must_use]
    pub fn troubles(&self) -> CellReader<Troubles> {
        self.0.troubles.reader()
    }

    /// Objects that vanished at once and are held.
    #[must_use]
    pub fn missing(&self) -> CellReader<MassDeletions> {
        self.0.missing.reader()
    }

    /// What stores do not hold because of their limits.
    #[must_use]
    pub fn left_out(&self) -> CellReader<AllLeftOut> {
        self.0.left_out.reader()
    }

    /// Claims a store and gives what it last held, to go on from.
    #[must_use]
    pub fn claim(&self, name: &Arc<str>) -> (Claim, Snapshot) {
        let mut tenants = self.tenants();
        let tenant = tenants.entry(name.clone()).or_default();
        tenant.claim += 1;
        let claim = Claim { stores: self.clone(), name: name.clone(), number: tenant.claim };
        (claim, (*tenant.last).clone())
    }

    /// Takes a store off the board because its meaning changes; the next claim goes on from it.
    pub fn hide(&self, name: &str) {
        let mut tenants = self.tenants();
        if let Some(tenant) = tenants.get_mut(name) {
            tenant.claim += 1;
            tenant.on_board = false;
        }
        self.set_trouble(name, None);
        self.set_missing(&name.into(), None);
        self.set_left_out(&name.into(), &LeftOut::default());
        self.publish(&tenants);
    }

    /// Takes a store off the board and frees its objects.
    pub fn forget(&self, name: &str) {
        if let Some(tenant) = self.tenants().get_mut(name) {
            let mut emptied = (*tenant.last).clone();
            let references: Vec<_> = emptied.iter().map(|object| object.reference.clone()).collect();
            for reference in references {
                emptied.remove(&reference);
            }
            tenant.last = Arc::new(emptied);
        }
        self.hide(name);
    }

    /// Every store at this moment.
    #[must_use]
    pub fn read(&self) -> Arc<Snapshots> {
        self.0.cell.read()
    }

    /// Another reader of the combined cell.
    #[must_use]
    pub fn reader(&self) -> CellReader<Snapshots> {
        self.0.cell.reader()
    }

    fn set_trouble(&self, name: &str, why: Option<&str>) {
        let before = self.0.troubles.read();
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
        let mut all = (*self.0.missing.read()).clone();
        match missing {
            Some(missing) => drop(all.insert(name.clone(), missing.clone())),
            None => drop(all.remove(name)),
        }
        self.0.missing.publish_if_changed(all);
    }

    fn set_left_out(&self, name: &Arc<str>, left_out: &LeftOut) {
        let mut all = (*self.0.left_out.read()).clone();
        match left_out.is_nothing() {
            true => drop(all.remove(name)),
            false => drop(all.insert(name.clone(), left_out.clone())),
        }
        self.0.left_out.publish_if_changed(all);
    }

    fn publish(&self, tenants: &BTreeMap<Arc<str>, Tenant>) {
        let shown = tenants.iter().filter(|(_, tenant)| tenant.on_board);
        self.0.cell.publish(Snapshots::new(
            shown.map(|(name, tenant)| (name.clone(), tenant.last.clone())).collect(),
        ));
    }

    fn tenants(&self) -> MutexGuard<'_, BTreeMap<Arc<str>, Tenant>> {
        self.0.tenants.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Claim {
    /// Says why this store cannot be read, or that it can again; a claim that was taken over says nothing.
    pub fn note_trouble(&self, why: Option<&str>) {
        let tenants = self.stores.tenants();
        if tenants.get(&self.name).is_some_and(|tenant| tenant.claim == self.number) {
            self.stores.set_trouble(&self.name, why);
        }
    }

    /// Says which objects of this store vanished at once and are held. If the store was not on the board before, it is not read
    /// for that reason.
    pub fn note_missing(&self, missing: Option<&MassDeletion>) {
        let tenants = self.stores.tenants();
        if tenants.get(&self.name).is_none_or(|tenant| tenant.claim != self.number) {
            return;
        }
        self.stores.set_missing(&self.name, missing);
        let why = missing.filter(|missing| missing.at_start).map(ToString::to_string);
        self.stores.set_trouble(&self.name, why.as_deref());
    }

    /// Says what this store does not hold because of its limits; a claim that was taken over says nothing.
    pub fn note_left_out(&self, left_out: &LeftOut) {
        let tenants = self.stores.tenants();
        if tenants.get(&self.name).is_some_and(|tenant| tenant.claim == self.number) {
            self.stores.set_left_out(&self.name, left_out);
        }
    }

    /// Puts `snapshot` on the board; whether this claim is still the latest.
    pub fn publish(&self, snapshot: &Snapshot) -> bool {
        let mut tenants = self.stores.tenants();
        let Some(tenant) = tenants.get_mut(&self.name).filter(|tenant| tenant.claim == self.number) else {
            return false;
        };
        tenant.last = Arc::new(snapshot.clone());
        tenant.on_board = true;
        self.stores.publish(&tenants);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use haptic_model::{Object, ObjectRef};

    fn filled(mut snapshot: Snapshot, name: &str) -> Snapshot {
        let reference = Arc::new(ObjectRef::new("a", "n", name));
        snapshot.apply(Object { reference, version: 0, json: name.as_bytes().into() }, Arc::from([]));
        snapshot.set_synced();
        snapshot
    }

    #[test]
    fn an_older_claim_can_publish_nothing() {
        let (stores, board) = Stores::new();
        let (old, base) = stores.claim(&"a".into());
        let (new, _) = stores.claim(&"a".into());
        assert!(!old.publish(&filled(base.clone(), "x")));
        assert!(board.read().get("a").is_none());
        assert!(new.publish(&filled(base, "y")));
        assert_eq!(board.read().get("a").unwrap().len(), 1);
    }

    #[test]
    fn trouble_stays_until_it_is_over_and_only_the_latest_claim_may_tell() {
        let (stores, _) = Stores::new();
        let troubles = stores.troubles();
        let (old, _) = stores.claim(&"a".into());
        let (new, _) = stores.claim(&"a".into());
        old.note_trouble(Some("old"));
        assert!(troubles.read().is_empty());
        new.note_trouble(Some("no permission"));
        assert_eq!(troubles.read().get("a").map(String::as_str), Some("no permission"));
        new.note_trouble(None);
        assert!(troubles.read().is_empty());
        new.note_trouble(Some("gone"));
        stores.forget("a");
        assert!(troubles.read().is_empty());
    }

    #[test]
    fn many_writers_lose_no_update() {
        let (stores, board) = Stores::new();
        std::thread::scope(|scope| {
            for writer in 0..8 {
                let stores = stores.clone();
                scope.spawn(move || {
                    let name: Arc<str> = format!("store{writer}").into();
                    let (claim, mut snapshot) = stores.claim(&name);
                    for object in 0..50 {
                        snapshot = filled(snapshot, &format!("o{object}"));
                        assert!(claim.publish(&snapshot));
                    }
                });
            }
        });
        let all = board.read();
        assert_eq!(all.iter().map(|(_, store)| store.len()).collect::<Vec<_>>(), [50; 8]);
    }

    #[test]
    fn a_hidden_store_counts_as_not_synced_and_versions_go_on() {
        let (stores, board) = Stores::new();
        let (claim, base) = stores.claim(&"a".into());
        claim.publish(&filled(base, "x"));
        stores.hide("a");
        assert!(!board.read().synced(["a"]));
        let (_, base) = stores.claim(&"a".into());
        assert_eq!((base.len(), base.version()), (1, 1));
        stores.forget("a");
        let (_, base) = stores.claim(&"a".into());
        assert!(base.is_empty() && base.version() > 1);
    }
}
