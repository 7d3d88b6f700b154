//! The objects that were wanted last: one that is wanted again soon is not parsed again. Paths of many Ingresses lead to one
//! Service, and a Service may have a megabyte.

use super::watched::Watched;
use haptic_model::{Object, Snapshot};
use std::{collections::VecDeque, sync::Arc};

/// The number of objects that are kept.
const FEW: usize = 16;
/// A larger one takes the place of another large one: parsed, an object takes many times its bytes.
const LARGE: usize = 64 << 10;
/// The number of large ones that are kept: a Service, and its EndpointSlice.
const FEW_LARGE: usize = 2;

/// Handles to them, parsed as far as somebody has read them.
#[derive(Debug, Default)]
pub(crate) struct RecentObjects {
    small: VecDeque<Arc<Watched>>,
    large: VecDeque<Arc<Watched>>,
}

impl RecentObjects {
    /// The handle to an object of `store`.
    pub fn handle(&mut self, object: &Arc<Object>, store: &Arc<Snapshot>) -> Arc<Watched> {
        self.known(object, || Arc::new(Watched::new(object.clone(), store)))
    }

    /// The handle that stands for `watched`.
    pub fn again(&mut self, watched: &Watched) -> Arc<Watched> {
        self.known(watched.object(), || watched.fresh())
    }

    fn known(&mut self, object: &Arc<Object>, fresh: impl FnOnce() -> Arc<Watched>) -> Arc<Watched> {
        let (kept, most) = match object.json.len() > LARGE {
            true => (&mut self.large, FEW_LARGE),
            false => (&mut self.small, FEW),
        };
        if let Some(known) = kept.iter().find(|known| Arc::ptr_eq(known.object(), object)) {
            return known.clone();
        }
        if kept.len() >= most {
            kept.pop_front();
        }
        let fresh = fresh();
        kept.push_back(fresh.clone());
        fresh
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use haptic_model::ObjectRef;

    #[test]
    fn a_large_one_is_parsed_once_for_all_who_want_it_between_many_small_ones() {
        let store = Arc::new(Snapshot::full());
        let object = |name: usize, bytes: usize| {
            let reference = Arc::new(ObjectRef::new("services", "n", &name.to_string()));
            let json = format!("\"{}\"", "x".repeat(bytes)).into_bytes().into();
            Arc::new(Object { reference, version: 1, json })
        };
        let (mut recent, large) = (RecentObjects::default(), object(0, LARGE));
        let first = recent.handle(&large, &store);
        for n in 1..=FEW + 1 {
            recent.handle(&object(n, 10), &store);
        }
        assert!(Arc::ptr_eq(&first, &recent.again(&first.fresh())));
        for n in 1..=FEW_LARGE {
            recent.handle(&object(n, LARGE), &store);
        }
        assert!(!Arc::ptr_eq(&first, &recent.handle(&large, &store)));
        assert_eq!((recent.small.len(), recent.large.len()), (FEW, FEW_LARGE));
    }
}
