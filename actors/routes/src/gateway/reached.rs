//! Through which Gateways Services are reached, and by how many routes.

use haptic_model::gateway::NamespacedName;
use std::{collections::BTreeMap, sync::Arc};

/// How many routes lead to a Service through a Gateway; the Service comes first.
#[derive(Clone, Debug, Default)]
pub(super) struct ReachedServices(BTreeMap<(NamespacedName, NamespacedName), usize>);

impl ReachedServices {
    /// Counts a route that leads to these Services through these Gateways.
    pub fn count(&mut self, services: &[NamespacedName], gateways: &[NamespacedName]) {
        for pair in pairs(services, gateways) {
            *self.0.entry(pair).or_default() += 1;
        }
    }

    /// Forgets such a route.
    pub fn discount(&mut self, services: &[NamespacedName], gateways: &[NamespacedName]) {
        for pair in pairs(services, gateways) {
            let Some(count) = self.0.get_mut(&pair) else { continue };
            *count -= 1;
            if *count == 0 {
                self.0.remove(&pair);
            }
        }
    }

    /// The Gateways through which a Service is reached, in their order.
    pub fn through<'s>(&'s self, service: &'s NamespacedName) -> impl Iterator<Item = &'s NamespacedName> {
        let first = (service.clone(), (Arc::from(""), Arc::from("")));
        let all = self.0.range(first..).map(|(pair, _)| pair).take_while(move |(of, _)| of == service);
        all.map(|(_, gateway)| gateway)
    }
}

fn pairs(
    services: &[NamespacedName],
    gateways: &[NamespacedName],
) -> impl Iterator<Item = (NamespacedName, NamespacedName)> {
    services.iter().flat_map(|service| gateways.iter().map(|gateway| (service.clone(), gateway.clone())))
}
