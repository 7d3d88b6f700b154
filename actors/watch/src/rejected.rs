//! Remembers what a store does not hold because of its limits. Pure.
//!
//! Of an object that is left out nothing is kept but a number of eight bytes, so that it is known again when it changes or
//! goes; a hundred thousand of them are two megabytes. Of those that are too large the first of each namespace are kept by
//! name, to be told of.

use crate::{quota::Quota, update::ListScope};
use haptic_model::{Limit, ObjectRef, Oversized, limits};
use std::{
    collections::{BTreeMap, HashSet, hash_map::RandomState},
    hash::BuildHasher,
    sync::Arc,
};

/// So many objects of a namespace that are too large are told of.
const NAMED: usize = 10;

/// What one store does not hold.
#[derive(Debug, Default)]
pub struct RejectedLog {
    /// Nobody can name objects so that they have the same number.
    hasher: RandomState,
    crowded: BTreeMap<Arc<str>, (Limit, HashSet<u64>)>,
    oversized: BTreeMap<Arc<str>, Large>,
}

/// What is too large in one namespace.
#[derive(Debug, Default)]
struct Large {
    named: BTreeMap<Arc<str>, Arc<Oversized>>,
    others: HashSet<u64>,
}

impl RejectedLog {
    /// The object is left out, because of `limit`.
    pub fn crowded(&mut self, object: &ObjectRef, limit: Limit) {
        let number = self.number(object);
        let empty = || (limit, HashSet::new());
        let (by, numbers) = self.crowded.entry(object.namespace.clone()).or_insert_with(empty);
        *by = limit;
        numbers.insert(number);
    }

    /// The object is too large.
    pub fn oversized(&mut self, oversized: Arc<Oversized>) {
        let object = oversized.object.clone();
        let number = self.number(&object);
        let large = self.oversized.entry(object.namespace.clone()).or_default();
        if large.named.len() < NAMED || large.named.contains_key(&object.name) {
            large.named.insert(object.name.clone(), oversized);
        } else {
            large.others.insert(number);
        }
    }

    /// The object is in the store as it is, or gone.
    pub fn forget(&mut self, object: &ObjectRef) {
        let number = self.number(object);
        if let Some((_, numbers)) = self.crowded.get_mut(&object.namespace) {
            numbers.remove(&number);
            if numbers.is_empty() {
                self.crowded.remove(&object.namespace);
            }
        }
        if let Some(large) = self.oversized.get_mut(&object.namespace) {
            large.named.remove(&object.name);
            large.others.remove(&number);
            if large.named.is_empty() && large.others.is_empty() {
                self.oversized.remove(&object.namespace);
            }
        }
    }

    /// All objects of `scope` are named anew.
    pub fn forget_all(&mut self, scope: &ListScope) {
        if scope.is_empty() {
            self.crowded.clear();
            self.oversized.clear();
        } else {
            self.crowded.remove(scope);
            self.oversized.remove(scope);
        }
    }

    /// All objects of `namespace` that are no more than too many are named anew.
    pub fn recount(&mut self, namespace: &str) {
        self.crowded.remove(namespace);
    }

    /// Whether objects are left out because the store takes too much.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.crowded.values().any(|(by, _)| matches!(by, Limit::StoreBytes | Limit::WatchedBytes))
    }

    /// The namespaces of which objects are left out because they are too many.
    pub fn crowded_namespaces(&self) -> impl Iterator<Item = &Arc<str>> {
        self.crowded.keys()
    }

    /// All of it, for whoever tells of it.
    #[must_use]
    pub fn summary(&self, quota: &Quota) -> limits::RejectedObjects {
        let crowded = |(namespace, (by, numbers)): (&Arc<str>, &(Limit, HashSet<u64>))| {
            let crowded = limits::Crowded { by: *by, most: quota.number(*by), rejected: numbers.len() };
            (namespace.clone(), crowded)
        };
        let large = || self.oversized.values();
        limits::RejectedObjects {
            crowded: self.crowded.iter().map(crowded).collect(),
            oversized: large().flat_map(|large| large.named.values().cloned()).collect(),
            oversized_count: large().map(|large| large.named.len() + large.others.len()).sum(),
        }
    }

    fn number(&self, object: &ObjectRef) -> u64 {
        self.hasher.hash_one((&object.namespace, &object.name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use haptic_model::StoreLimits;

    fn object(namespace: &str, name: &str) -> Arc<ObjectRef> {
        Arc::new(ObjectRef::new("ingresses", namespace, name))
    }

    fn oversized(namespace: &str, name: &str) -> Arc<Oversized> {
        Arc::new(Oversized {
            object: object(namespace, name),
            api_version: "v1".into(),
            kind: "Ingress".into(),
            uid: "".into(),
            bytes: 9,
            limit: 8,
            replaced: false,
        })
    }

    fn counts(rejected: &RejectedLog) -> [usize; 4] {
        rejected.summary(&Quota::new(StoreLimits::default())).counts().map(|(_, count)| count)
    }

    #[test]
    fn each_object_counts_once_until_it_is_forgotten() {
        let mut rejected = RejectedLog::default();
        for name in ["a", "b", "a"] {
            rejected.crowded(&object("junk", name), Limit::ObjectsPerNamespace);
        }
        rejected.crowded(&object("other", "a"), Limit::StoreBytes);
        assert_eq!(counts(&rejected), [0, 2, 1, 0]);
        rejected.forget(&object("junk", "a"));
        rejected.forget(&object("junk", "never-seen"));
        rejected.recount("other");
        assert_eq!(counts(&rejected), [0, 1, 0, 0]);
        rejected.forget_all(&"junk".into());
        assert!(
            rejected.summary(&Quota::new(StoreLimits::default())).is_nothing()
                && rejected.crowded_namespaces().next().is_none()
        );
    }

    #[test]
    fn of_thousands_that_are_too_large_a_few_of_each_namespace_are_kept_by_name() {
        let mut rejected = RejectedLog::default();
        for number in 0..5000 {
            rejected.oversized(oversized("junk", &number.to_string()));
        }
        rejected.oversized(oversized("shop", "big"));
        let summary = rejected.summary(&Quota::new(StoreLimits::default()));
        assert_eq!((summary.oversized.len(), summary.oversized_count), (NAMED + 1, 5001));
        assert_eq!(&*summary.oversized[NAMED].object.name, "big");
        (0..5000).for_each(|number| rejected.forget(&object("junk", &number.to_string())));
        assert_eq!(counts(&rejected), [1, 0, 0, 0]);
    }
}
