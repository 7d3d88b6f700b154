//! The records of an index's objects, kept up to date with it.

use super::record::{self, RecordInput};
use crate::ownership::index::RouteIndex;
use haptic_model::{Findings, ObjectRef, Snapshot};
use std::sync::Arc;

/// A record of each object that asks for routes, and what is found at each object.
#[derive(Clone, Debug)]
pub struct Records {
    sets: Snapshot,
    findings: Findings,
}

impl Default for Records {
    fn default() -> Self {
        let mut sets = Snapshot::full();
        sets.set_synced();
        Self { sets, findings: Findings::default() }
    }
}

impl Records {
    /// Writes the records of `objects` again, as `index` has them.
    pub fn write(&mut self, index: &RouteIndex, objects: impl IntoIterator<Item = Arc<ObjectRef>>) {
        for object in objects {
            self.write_one(index, &object);
        }
    }

    fn write_one(&mut self, index: &RouteIndex, object: &Arc<ObjectRef>) {
        let delay = index.delay_of(object);
        let Some(claims) = index.claims_of(object) else {
            self.sets.remove(object);
            self.findings.set(object, delay.into_iter().collect());
            return;
        };
        let (json, mut findings) = record::of(&RecordInput { object, claims, index });
        findings.extend(delay);
        self.findings.set(object, findings);
        self.sets.put(object.clone(), json);
    }

    /// For each object what it got, under its own name; an object that asks for nothing is not there.
    #[must_use]
    pub fn sets(&self) -> &Snapshot {
        &self.sets
    }

    /// The findings at each object.
    #[must_use]
    pub fn findings(&self) -> &Findings {
        &self.findings
    }
}
