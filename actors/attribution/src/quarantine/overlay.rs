//! The stores with what is held back replaced or taken out, kept up to date change by change.
//!
//! A replacement of an object stays the same piece of memory from render to render, so that its blocks are kept, too.

use super::entry::QuarantineEntry;
use haptic_model::{ObjectRef, Snapshot, Snapshots};
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

/// The stores that differ from what they are, as of the last render.
#[derive(Clone, Debug, Default)]
pub(super) struct StoreOverlay(BTreeMap<Arc<str>, Layer>);

#[derive(Clone, Debug)]
struct Layer {
    /// The store as it was.
    source: Arc<Snapshot>,
    /// The store as it was rendered.
    laid: Arc<Snapshot>,
    /// The objects that were held back.
    held: BTreeSet<Arc<ObjectRef>>,
}

impl StoreOverlay {
    /// `snapshots` without what `entries` hold back, with what stands in for them.
    pub fn over(
        &mut self,
        snapshots: &Snapshots,
        entries: &BTreeMap<Arc<ObjectRef>, QuarantineEntry>,
    ) -> Snapshots {
        let mut of_store: BTreeMap<&Arc<str>, Vec<(&Arc<ObjectRef>, &QuarantineEntry)>> = BTreeMap::new();
        for (object, entry) in entries {
            of_store.entry(&object.resource).or_default().push((object, entry));
        }
        self.0.retain(|resource, _| of_store.contains_key(resource));
        let mut all = snapshots.clone();
        for (resource, entries) in of_store {
            let Some(source) = snapshots.get(resource) else { continue };
            let layer = match self.0.remove(resource) {
                Some(layer) => layer.updated(source, &entries),
                None => Layer::new(source).updated(source, &entries),
            };
            all = all.with(resource.clone(), layer.laid.clone());
            self.0.insert(resource.clone(), layer);
        }
        all
    }
}

impl Layer {
    fn new(source: &Arc<Snapshot>) -> Self {
        Self { source: source.clone(), laid: source.clone(), held: BTreeSet::new() }
    }

    fn updated(self, source: &Arc<Snapshot>, entries: &[(&Arc<ObjectRef>, &QuarantineEntry)]) -> Self {
        let mut laid = (*self.laid).clone();
        for difference in source.differences_from(&self.source) {
            match (difference.after, difference.before) {
                (Some((object, key)), _) => laid.restore(object.clone(), key.clone()),
                (None, Some((object, _))) => _ = laid.remove(&object.reference),
                (None, None) => {}
            }
        }
        let held: BTreeSet<Arc<ObjectRef>> = entries.iter().map(|(object, _)| (*object).clone()).collect();
        for object in self.held.difference(&held) {
            match source.entry(&object.namespace, &object.name) {
                Some((present, key)) => laid.restore(present.clone(), key.clone()),
                None => _ = laid.remove(object),
            }
        }
        for (object, entry) in entries {
            match entry.instead() {
                Some(instead) => laid.restore(instead.object.clone(), instead.key.clone()),
                None => _ = laid.remove(object),
            }
        }
        let laid = if laid.is_unchanged_since(&self.laid) { self.laid } else { Arc::new(laid) };
        Self { source: source.clone(), laid, held }
    }
}
