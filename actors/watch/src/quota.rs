//! Which objects a store may hold when there are too many, or they take too much. Pure.
//!
//! In a namespace the oldest stay, by the time that the API server created them and then by name; when the store as a whole is
//! full, the newest of the namespace that takes most leave. So who is in follows from the objects alone, not from the order
//! in which they came: it is the same in every replica and after every restart, and nobody's junk displaces what others have.

use crate::pool::PoolLevel;
use haptic_model::{Limit, ObjectRef, StoreLimits};
use serde_json::Value;
use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::Arc,
};

/// What an object takes beside its bytes: its names, its places in the indexes, and here.
pub const OVERHEAD: usize = 1 << 10;
/// What is made of each rule, path, host or endpoint takes more than its text.
const ELEMENT: usize = 512;

/// When an object was created, in seconds since 1970; 0 when it does not say.
pub type Created = i64;

/// All objects of a store by age.
#[derive(Debug)]
pub struct Quota {
    limits: StoreLimits,
    level: PoolLevel,
    shares: BTreeMap<Arc<str>, Share>,
    known: HashMap<Arc<ObjectRef>, (Created, usize)>,
    bytes: usize,
}

/// What one namespace has.
#[derive(Debug, Default)]
struct Share {
    /// Oldest first.
    by_age: BTreeSet<(Created, Arc<ObjectRef>)>,
    bytes: usize,
}

impl Quota {
    /// Of an empty store.
    #[must_use]
    pub fn new(limits: StoreLimits) -> Self {
        Self { limits, level: PoolLevel::NONE, shares: BTreeMap::new(), known: HashMap::new(), bytes: 0 }
    }

    /// The object is there, and takes so much. Who must leave for that, and by which limit: others, itself, or nobody.
    pub fn admit(
        &mut self,
        object: &Arc<ObjectRef>,
        created: Created,
        takes: usize,
    ) -> Vec<(Arc<ObjectRef>, Limit)> {
        self.remove(object);
        let share = self.shares.entry(object.namespace.clone()).or_default();
        share.by_age.insert((created, object.clone()));
        share.bytes += takes;
        self.bytes += takes;
        self.known.insert(object.clone(), (created, takes));
        let mut leaving = Vec::new();
        if share.by_age.len() > self.limits.objects_per_namespace {
            let youngest = share.by_age.last().map(|(_, object)| object.clone());
            leaving.extend(youngest.map(|object| (object, Limit::ObjectsPerNamespace)));
        }
        leaving.iter().for_each(|(object, _)| self.remove(object));
        leaving.extend(self.shrink());
        leaving
    }

    /// The store may take so much. Who must leave for that.
    pub fn set_level(&mut self, level: PoolLevel) -> Vec<(Arc<ObjectRef>, Limit)> {
        self.level = level;
        self.shrink()
    }

    /// What the store takes.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// What the store may take, and what says so.
    fn most(&self) -> (usize, Limit) {
        match self.level.bytes < self.limits.store_bytes {
            true => (self.level.bytes, Limit::WatchedBytes),
            false => (self.limits.store_bytes, Limit::StoreBytes),
        }
    }

    fn shrink(&mut self) -> Vec<(Arc<ObjectRef>, Limit)> {
        let ((most, limit), mut leaving) = (self.most(), Vec::new());
        while self.bytes > most {
            let Some(object) = self.youngest_of_largest() else { break };
            self.remove(&object);
            leaving.push((object, limit));
        }
        leaving
    }

    /// The object is not in the store any more.
    pub fn remove(&mut self, object: &Arc<ObjectRef>) {
        let Some((known, (created, takes))) = self.known.remove_entry(object) else { return };
        self.bytes = self.bytes.saturating_sub(takes);
        if let Some(share) = self.shares.get_mut(&object.namespace) {
            share.bytes = share.bytes.saturating_sub(takes);
            share.by_age.remove(&(created, known));
            if share.by_age.is_empty() {
                self.shares.remove(&object.namespace);
            }
        }
    }

    /// Whether objects of `namespace` that were left out could come in. Of the store an eighth must be free for that: it is
    /// full of objects of any size, and the next one would not fit again.
    #[must_use]
    pub fn has_room(&self, namespace: &str) -> bool {
        let held = self.shares.get(namespace).map_or(0, |share| share.by_age.len());
        held < self.limits.objects_per_namespace && self.bytes <= self.most().0 - self.most().0 / 8
    }

    /// The number of a limit of stores.
    #[must_use]
    pub fn number(&self, limit: Limit) -> usize {
        match limit {
            Limit::WatchedBytes => self.level.of,
            Limit::StoreBytes => self.limits.store_bytes,
            _ => self.limits.objects_per_namespace,
        }
    }

    /// The limits.
    #[must_use]
    pub fn limits(&self) -> StoreLimits {
        self.limits
    }

    fn youngest_of_largest(&self) -> Option<Arc<ObjectRef>> {
        let largest = self.shares.values().max_by_key(|share| share.bytes)?;
        largest.by_age.last().map(|(_, object)| object.clone())
    }
}

/// What an object counts that is kept as so many bytes.
#[must_use]
pub fn takes(value: &Value, bytes: usize) -> usize {
    // Of a reference nothing is kept that has elements.
    let elements = if bytes == 0 { 0 } else { elements(value) };
    bytes + OVERHEAD + elements * ELEMENT
}

/// The same of an object whose status this program writes: what it says of a route is no part of what is made of the route.
#[must_use]
pub fn takes_without_status(value: &Value, bytes: usize) -> usize {
    let of_status = value.get("status").map_or(0, |status| elements(status) * ELEMENT);
    let takes = takes(value, bytes);
    if bytes == 0 { takes } else { takes - of_status }
}

fn elements(value: &Value) -> usize {
    match value {
        Value::Array(items) => items.len() + items.iter().map(elements).sum::<usize>(),
        Value::Object(fields) => fields.values().map(elements).sum(),
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    const KIB: usize = 1 << 10;

    fn limits(objects_per_namespace: usize, store_bytes: usize) -> StoreLimits {
        StoreLimits { object_bytes: usize::MAX, objects_per_namespace, store_bytes, watched_bytes: None }
    }

    fn object(namespace: &str, name: &str) -> Arc<ObjectRef> {
        Arc::new(ObjectRef::new("ingresses", namespace, name))
    }

    fn admit(quota: &mut Quota, namespace: &str, name: &str, created: Created) -> Vec<String> {
        let leaving = quota.admit(&object(namespace, name), created, 2 * KIB);
        leaving.iter().map(|(object, _)| format!("{}/{}", object.namespace, object.name)).collect()
    }

    #[test]
    fn the_oldest_of_a_namespace_stay_whatever_comes_first_and_others_do_not_notice() {
        let mut quota = Quota::new(limits(2, usize::MAX));
        assert!(admit(&mut quota, "junk", "c", 3).is_empty() && admit(&mut quota, "junk", "b", 2).is_empty());
        assert_eq!(admit(&mut quota, "junk", "d", 4), ["junk/d"]);
        assert_eq!(admit(&mut quota, "junk", "a", 1), ["junk/c"]);
        assert_eq!(
            admit(&mut quota, "junk", "aa", 2),
            ["junk/b"],
            "of the same second the first by name stays"
        );
        assert!(admit(&mut quota, "shop", "x", 9).is_empty());
        assert!(admit(&mut quota, "junk", "a", 1).is_empty(), "an update is no second object");
        assert!(quota.has_room("shop") && !quota.has_room("junk"));
        quota.remove(&object("junk", "a"));
        assert!(quota.has_room("junk"));
    }

    #[test]
    fn where_stores_have_to_share_the_newest_leave_at_once_and_are_told_why() {
        let mut quota = Quota::new(limits(100, 20 * KIB));
        (0..8).for_each(|number| drop(admit(&mut quota, "junk", &number.to_string(), number)));
        let leaving = quota.set_level(PoolLevel { bytes: 12 * KIB, of: 100 * KIB });
        let names: Vec<&str> = leaving.iter().map(|(object, _)| &*object.name).collect();
        assert_eq!(names, ["7", "6"]);
        assert!(leaving.iter().all(|(_, limit)| *limit == Limit::WatchedBytes));
        assert_eq!(quota.number(Limit::WatchedBytes), 100 * KIB);
        assert!(quota.set_level(PoolLevel::NONE).is_empty() && quota.has_room("junk"));
    }

    #[test]
    fn what_is_made_of_a_list_counts() {
        let value = serde_json::json!({"rules": [{"paths": [1, 2]}, {"paths": [3]}], "name": "x"});
        assert_eq!(takes(&value, 50), 50 + OVERHEAD + 5 * ELEMENT);
        assert_eq!(takes(&value, 0), OVERHEAD, "a reference has no elements");
        let written = json!({"spec": value, "status": {"parents": [{"conditions": [{}, {}, {}]}]}});
        assert_eq!(takes(&written, 90), 90 + OVERHEAD + 9 * ELEMENT);
        assert_eq!(takes_without_status(&written, 90), 90 + OVERHEAD + 5 * ELEMENT);
        assert_eq!(takes_without_status(&value, 50), takes(&value, 50));
        assert_eq!(takes_without_status(&written, 0), OVERHEAD);
    }

    #[test]
    fn of_a_full_store_the_newest_of_whoever_takes_most_leave() {
        // Each takes 2 KiB.
        let mut quota = Quota::new(limits(100, 20 * KIB));
        for number in 0..8 {
            assert!(admit(&mut quota, "junk", &number.to_string(), number).is_empty());
        }
        for number in 0..4 {
            let left = admit(&mut quota, "shop", &number.to_string(), 100 + number);
            assert_eq!(left.is_empty(), number < 2, "{left:?}");
            assert!(left.iter().all(|name| name.starts_with("junk/")), "{left:?}");
        }
        assert!(!quota.has_room("junk"));
        quota.remove(&object("shop", "0"));
        assert!(!quota.has_room("junk"), "one place is not an eighth");
        quota.remove(&object("shop", "1"));
        assert!(quota.has_room("junk"));
    }

    proptest! {
        /// Who is in follows from what there is, not from the order in which it came and went.
        #[test]
        fn the_order_of_arrival_decides_nothing_within_a_namespace(
            ages in proptest::collection::vec(0..6_i64, 1..40), most in 1..12_usize, seed in any::<u64>()
        ) {
            let mut order: Vec<usize> = (0..ages.len()).collect();
            order.sort_by_key(|place| (*place as u64 + 1).wrapping_mul(seed | 1));
            let mut quota = Quota::new(limits(most, usize::MAX));
            let mut held = BTreeSet::new();
            for place in order {
                let reference = object("n", &format!("{place:02}"));
                held.insert(reference.name.clone());
                for (leaving, _) in quota.admit(&reference, ages[place], 0) {
                    held.remove(&leaving.name);
                }
            }
            let mut oldest: Vec<(Created, String)> =
                ages.iter().enumerate().map(|(place, age)| (*age, format!("{place:02}"))).collect();
            oldest.sort();
            oldest.truncate(most);
            let expected: BTreeSet<Arc<str>> = oldest.into_iter().map(|(_, name)| name.into()).collect();
            prop_assert_eq!(held, expected);
        }

        /// Whatever comes and goes, the sums are those of what is there, and within the limits.
        #[test]
        fn a_store_never_takes_more_than_it_may(
            steps in proptest::collection::vec((0..4_usize, 0..12_usize, 0..5_i64, 0..5_000_usize, any::<bool>()), 1..120)
        ) {
            let mut quota = Quota::new(limits(5, 24 * KIB));
            let mut held: BTreeMap<Arc<ObjectRef>, usize> = BTreeMap::new();
            for (namespace, name, created, bytes, comes) in steps {
                let reference = object(&namespace.to_string(), &name.to_string());
                if comes {
                    held.insert(reference.clone(), bytes);
                    for (leaving, _) in quota.admit(&reference, created, bytes + OVERHEAD) {
                        held.remove(&leaving);
                    }
                } else {
                    held.remove(&reference);
                    quota.remove(&reference);
                }
                let takes: usize = held.values().map(|bytes| bytes + OVERHEAD).sum();
                prop_assert!(takes <= 24 * KIB);
                prop_assert_eq!((quota.bytes, quota.known.len()), (takes, held.len()));
                prop_assert_eq!(quota.shares.values().map(|share| share.bytes).sum::<usize>(), takes);
                prop_assert!(quota.shares.values().all(|share| (1..=5).contains(&share.by_age.len())));
            }
        }
    }
}
