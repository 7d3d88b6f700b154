//! The lists of all objects of stores: made once for all files of a render, and the same in the next one while the store is.

use crate::value::{Value, watched::Watched};
use haptic_model::{Object, ObjectRef, Snapshot, Snapshots, store::Difference};
use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
};

/// Of more objects that have changed the list is made again.
const MOST_CHANGES: usize = 64;

/// The lists that were asked for, by store.
#[derive(Debug, Default)]
pub(crate) struct StoreLists(Mutex<BTreeMap<Arc<str>, StoreList>>);

#[derive(Debug)]
struct StoreList {
    store: Arc<Snapshot>,
    /// Handles that nobody has read: templates read those that they take from a list again.
    handles: Arc<Vec<Value>>,
    /// Those of their objects in memory.
    addresses: Arc<Vec<usize>>,
    /// Whether somebody has read one all the same. Then the list holds what was parsed, and is not kept.
    is_read: Arc<AtomicBool>,
    /// Whether anybody has asked for it in this render.
    is_used: bool,
}

impl StoreLists {
    /// All objects of `store`, which has that name.
    pub fn all(&self, name: &Arc<str>, store: &Arc<Snapshot>) -> Value {
        let lists = &mut *self.lists();
        let is_same = |known: &StoreList| {
            known.store.is_unchanged_since(store) && !store.is_on_demand() && !known.store.is_on_demand()
        };
        if let Some(known) = lists.get_mut(name).filter(|known| is_same(known)) {
            known.is_used = true;
            return Value::List(known.handles.clone());
        }
        let list = StoreList::of(store, lists.remove(name));
        let handles = list.handles.clone();
        lists.insert(name.clone(), list);
        Value::List(handles)
    }

    /// The addresses of the objects of `list`, if it is one of these.
    pub fn addresses_of(&self, list: &Arc<Vec<Value>>) -> Option<Arc<Vec<usize>>> {
        let lists = self.lists();
        let found = lists.values().find(|known| Arc::ptr_eq(&known.handles, list));
        found.map(|known| known.addresses.clone())
    }

    /// A render of `snapshots` has ended: keeps what it used, or would have if all files had been printed again, and what was not parsed.
    pub fn end_render(&self, snapshots: &Snapshots) {
        self.lists().retain(|name, list| {
            let is_current = || snapshots.get(name).is_some_and(|now| now.is_unchanged_since(&list.store));
            let is_wanted = std::mem::take(&mut list.is_used) || is_current();
            is_wanted && !list.is_read.load(Relaxed) && !list.store.is_on_demand()
        });
    }

    fn lists(&self) -> MutexGuard<'_, BTreeMap<Arc<str>, StoreList>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl StoreList {
    fn of(store: &Arc<Snapshot>, before: Option<Self>) -> Self {
        let before = before.filter(|list| !list.store.is_on_demand() && !store.is_on_demand());
        let Some(before) = before else { return Self::anew(store, Arc::default()) };
        let changes: Vec<Difference<'_>> =
            store.differences_from(&before.store).take(MOST_CHANGES + 1).collect();
        if changes.len() > MOST_CHANGES {
            return Self::anew(store, before.is_read);
        }
        // Nobody has them any more, as a rule: ten thousand handles are not even counted then.
        let mut handles = Arc::unwrap_or_clone(before.handles);
        let mut addresses = Arc::unwrap_or_clone(before.addresses);
        for Difference { before: gone, after: come, .. } in changes {
            let Some((named, _)) = come.or(gone) else { continue };
            let place =
                handles.binary_search_by(|handle| name_of(handle).cmp(&Some(names(&named.reference))));
            let (at, is_there) = place.map_or_else(|at| (at, false), |at| (at, true));
            if is_there {
                handles.remove(at);
                addresses.remove(at);
            }
            if let Some((object, _)) = come {
                handles.insert(at, handle(object, store, &before.is_read));
                addresses.insert(at, address(object));
            }
        }
        let (handles, addresses) = (Arc::new(handles), Arc::new(addresses));
        Self { store: store.clone(), handles, addresses, is_read: before.is_read, is_used: true }
    }

    fn anew(store: &Arc<Snapshot>, is_read: Arc<AtomicBool>) -> Self {
        let handles = store.iter().map(|object| handle(object, store, &is_read)).collect::<Vec<_>>();
        let addresses = store.iter().map(address).collect::<Vec<_>>();
        let (handles, addresses) = (Arc::new(handles), Arc::new(addresses));
        Self { store: store.clone(), handles, addresses, is_read, is_used: true }
    }
}

fn handle(object: &Arc<Object>, store: &Arc<Snapshot>, is_read: &Arc<AtomicBool>) -> Value {
    Value::Object(Arc::new(Watched::new(object.clone(), store).telling(is_read.clone())))
}

fn address(object: &Arc<Object>) -> usize {
    Arc::as_ptr(object).addr()
}

fn name_of(handle: &Value) -> Option<(&str, &str)> {
    handle.as_object().map(|object| names(object.reference()))
}

/// The names that stores are sorted by.
fn names(of: &ObjectRef) -> (&str, &str) {
    (&of.namespace, &of.name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn apply(store: &mut Snapshot, name: &str, json: &str) {
        store.put(ObjectRef::new("things", "a", name), json.as_bytes());
    }

    /// The stores of a render.
    fn with(name: &Arc<str>, store: &Arc<Snapshot>) -> Snapshots {
        Snapshots::new(BTreeMap::from([(name.clone(), store.clone())]))
    }

    fn handles(list: &Value) -> Vec<Arc<Watched>> {
        let Value::List(items) = list else { panic!("no list") };
        items.iter().map(|item| if let Value::Object(one) = item { one.clone() } else { panic!() }).collect()
    }

    #[test]
    fn a_list_has_what_its_store_has_and_handles_of_what_is_unchanged() {
        let (lists, mut store, name) = (StoreLists::default(), Snapshot::full(), Arc::from("things"));
        (0..20).for_each(|n| apply(&mut store, &format!("{n:02}"), "{}"));
        let before = Arc::new(store.clone());
        let first = handles(&lists.all(&name, &before));
        lists.end_render(&with(&name, &before));
        assert!(Arc::ptr_eq(&first[7], &handles(&lists.all(&name, &Arc::new(store.clone())))[7]));
        apply(&mut store, "03", r#"{"x":1}"#);
        apply(&mut store, "075", "{}");
        store.remove(&ObjectRef::new("things", "a", "12"));
        let store = Arc::new(store);
        let second = handles(&lists.all(&name, &store));
        assert!(second.iter().zip(store.iter()).all(|(handle, object)| Arc::ptr_eq(handle.object(), object)));
        let shared = second.iter().filter(|one| first.iter().any(|other| Arc::ptr_eq(one, other))).count();
        assert_eq!((second.len(), shared), (20, 18));
    }

    #[test]
    fn a_list_of_which_something_was_parsed_or_that_nobody_wants_any_more_is_not_kept() {
        let (lists, mut store, name) = (StoreLists::default(), Snapshot::full(), Arc::from("things"));
        apply(&mut store, "x", r#"{"x":1}"#);
        let store = Arc::new(store);
        let taken = handles(&lists.all(&name, &store));
        taken[0].fresh().read().unwrap();
        lists.end_render(&with(&name, &store));
        assert_eq!(lists.lists().len(), 1);
        lists.all(&name, &store);
        taken[0].field("x").unwrap();
        lists.end_render(&with(&name, &store));
        assert_eq!(lists.lists().len(), 0);
        lists.all(&name, &store);
        lists.end_render(&with(&name, &store));
        lists.end_render(&with(&name, &store));
        assert_eq!(lists.lists().len(), 1, "nothing had to be printed anew");
        let other = Arc::new(Snapshot::full());
        lists.end_render(&with(&name, &other));
        assert_eq!(lists.lists().len(), 0);
    }
}
