//! The names of Services' ports, of each Service read once: many policies may name ports of a large one.

use super::{objects::ServiceFacts, parsed::StoredObjects};
use haptic_model::gateway::NamespacedName;
use std::{
    cell::RefCell,
    collections::{HashMap, HashSet},
    sync::Arc,
};

/// Those of Services that were asked for; `None` where there is no such Service.
pub(super) struct PortNames<'s> {
    stored: &'s StoredObjects,
    known: RefCell<HashMap<NamespacedName, Option<HashSet<Arc<str>>>>>,
}

impl<'s> PortNames<'s> {
    pub fn of(stored: &'s StoredObjects) -> Self {
        Self { stored, known: RefCell::default() }
    }

    /// Whether a Service may have a port of that name: of one that is not there nobody knows.
    pub fn may_have(&self, service: &NamespacedName, port: &str) -> bool {
        let mut known = self.known.borrow_mut();
        let names = known.entry(service.clone()).or_insert_with(|| self.read(service));
        names.as_ref().is_none_or(|names| names.contains(port))
    }

    fn read(&self, service: &NamespacedName) -> Option<HashSet<Arc<str>>> {
        let service: ServiceFacts = self.stored.read(service)?;
        Some(service.spec.ports.into_iter().filter_map(|port| port.name).collect())
    }
}
