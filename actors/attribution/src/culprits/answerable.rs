//! Whom what is made of several objects is laid on: those that somebody can hold back.

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
        let mut answerable = Answerable { stores, bundle, good, parts: None };
        for accused in [&mut self.culprits, &mut self.suspects] {
            *accused = answerable.in_place_of(std::mem::take(accused));
        }
        self
    }
}

/// Who answers for the blocks of a bundle.
struct Answerable<'b> {
    stores: &'b Snapshots,
    bundle: &'b Bundle,
    good: Option<&'b Bundle>,
    /// Made when somebody is accused who is in no store.
    parts: Option<Parts<'b>>,
}

impl Answerable<'_> {
    fn in_place_of(&mut self, accused: FailingByCause) -> FailingByCause {
        let mut all = BTreeMap::new();
        for (object, why) in accused {
            if self.stores.has(&object) {
                all.insert(object, why);
                continue;
            }
            for answerable in self.of(&object) {
                all.entry(answerable).or_insert_with(|| why.clone());
            }
        }
        all.into_iter().collect()
    }

    fn of(&mut self, object: &Arc<ObjectRef>) -> ObjectSet {
        let parts = self.parts.get_or_insert_with(|| Parts::of(self.bundle));
        let mut all = parts.naming(object);
        all.retain(|one| self.stores.has(one));
        if all.is_empty() && !object.namespace.is_empty() {
            let is_answerable =
                |one: &&Arc<ObjectRef>| one.namespace == object.namespace && self.stores.has(one);
            all = parts.all().filter(is_answerable).cloned().collect();
        }
        let changed = self.bundle.changed_since(self.good);
        if all.iter().any(|one| changed.contains(one)) {
            all.retain(|one| changed.contains(one));
        }
        all
    }
}
