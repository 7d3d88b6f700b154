//! The objects that answer for objects made of several: those that somebody can hold back.

use super::{
    FailureCauses,
    parts::{ObjectSet, Parts},
    ruling::FailingByCause,
};
use haptic_model::{Bundle, ObjectRef, Snapshots};
use std::{collections::BTreeMap, sync::Arc};

impl FailureCauses {
    /// The same, with objects of `stores` in the place of what is in none: blocks may also be of what is made of several objects, such as who
    /// is asked for all Ingresses of a namespace. Whoever names it in the bundle is accused, else all of its namespace; and of those only
    /// who changed since the last good bundle, if any did. What is of no namespace, such as all ports of all Gateways, is nobody's.
    #[must_use]
    pub fn in_stores(mut self, stores: &Snapshots, bundle: &Bundle, good: Option<&Bundle>) -> Self {
        let accused = self.proven.iter().chain(&self.suspects).map(|(object, _)| object);
        let derived: ObjectSet = accused.filter(|object| !stores.has(object)).cloned().collect();
        if derived.is_empty() {
            return self;
        }
        let answerable = answerable(&derived, stores, bundle, good);
        for accused in [&mut self.proven, &mut self.suspects] {
            *accused = in_place_of(std::mem::take(accused), &answerable);
        }
        self
    }
}

/// Those with objects in their place have these accused instead.
fn in_place_of(accused: FailingByCause, answerable: &BTreeMap<Arc<ObjectRef>, ObjectSet>) -> FailingByCause {
    let mut all = BTreeMap::new();
    for (object, why) in accused {
        let Some(others) = answerable.get(&object) else {
            all.insert(object, why);
            continue;
        };
        for other in others {
            all.entry(other.clone()).or_insert_with(|| why.clone());
        }
    }
    all.into_iter().collect()
}

/// The objects that answer for each of `derived`. The bundle is gone through once, however many they are.
fn answerable(
    derived: &ObjectSet,
    stores: &Snapshots,
    bundle: &Bundle,
    good: Option<&Bundle>,
) -> BTreeMap<Arc<ObjectRef>, ObjectSet> {
    let (parts, changed) = (Parts::of(bundle), bundle.changed_since(good));
    let stored: ObjectSet = parts.all().filter(|object| stores.has(object)).cloned().collect();
    let mut naming = parts.naming(derived);
    let of = |object: &Arc<ObjectRef>| {
        let mut all = naming.remove(object).unwrap_or_default();
        all.retain(|one| stored.contains(one));
        if all.is_empty() && !object.namespace.is_empty() {
            all = stored.iter().filter(|one| one.namespace == object.namespace).cloned().collect();
        }
        if all.iter().any(|one| changed.contains(one)) {
            all.retain(|one| changed.contains(one));
        }
        (object.clone(), all)
    };
    derived.iter().map(of).collect()
}
