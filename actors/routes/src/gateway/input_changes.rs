//! The inputs of routes that differ from before, and so the routes that are resolved again: one object's change is no work for the routes of all.

use super::{
    grants::Referrers,
    inputs::{GatewayInputs, ResolvedGateway},
    parents::ParentName,
};
use haptic_model::gateway::NamespacedName;
use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::Arc,
};

/// The differences between two inputs.
#[derive(Debug, Default, PartialEq)]
pub(super) struct InputChanges {
    /// Whether anything is another at all.
    pub is_any: bool,
    /// Whether this concerns every route.
    pub is_of_every_route: bool,
    /// Parents whose routes are involved.
    pub parents: BTreeSet<ParentName>,
    /// Namespaces whose routes are involved.
    pub namespaces: BTreeSet<Arc<str>>,
    /// Those of which grants allow something else.
    pub granted: BTreeSet<Referrers>,
    /// Services that are asked otherwise.
    pub services: BTreeSet<NamespacedName>,
}

impl InputChanges {
    pub fn between(before: &GatewayInputs, now: &GatewayInputs) -> Self {
        let GatewayInputs {
            classes,
            options,
            gateways,
            listener_sets,
            grants,
            namespaces,
            ports,
            policies,
            routes_per_object,
            spelling,
            owners,
        } = now;
        let is_of_every_route = *routes_per_object != before.routes_per_object
            || *spelling != before.spelling
            || *owners != before.owners;
        let namespaces = involved_namespaces(&before.namespaces, namespaces);
        let granted = grants.involved(&before.grants);
        let is_any = is_of_every_route
            || !namespaces.is_empty()
            || !granted.is_empty()
            || *classes != before.classes
            || *options != before.options
            || *gateways != before.gateways
            || *listener_sets != before.listener_sets
            || *ports != before.ports
            || *policies != before.policies;
        let parents = involved_parents(before, now);
        let services = policies.involved(&before.policies);
        Self { is_any, is_of_every_route, parents, namespaces, granted, services }
    }
}

/// Namespaces whose labels are others.
fn involved_namespaces(
    before: &HashMap<Arc<str>, BTreeMap<String, String>>,
    now: &HashMap<Arc<str>, BTreeMap<String, String>>,
) -> BTreeSet<Arc<str>> {
    let all = before.keys().chain(now.keys());
    all.filter(|name| before.get(*name) != now.get(*name)).cloned().collect()
}

/// Parents whose listeners are others, or that show servers another certificate.
fn involved_parents(before: &GatewayInputs, now: &GatewayInputs) -> BTreeSet<ParentName> {
    let gateways: BTreeSet<&NamespacedName> = before.gateways.keys().chain(now.gateways.keys()).collect();
    let sets: BTreeSet<&NamespacedName> =
        before.listener_sets.keys().chain(now.listener_sets.keys()).collect();
    let mut involved = BTreeSet::new();
    let mut showing = BTreeSet::new();
    for name in gateways {
        let (was, is) = (before.gateways.get(name), now.gateways.get(name));
        let shows_another = client_of(was) != client_of(is);
        if shows_another {
            showing.insert(name);
        }
        if shows_another || was.map(|of| &of.listeners) != is.map(|of| &of.listeners) {
            involved.insert(("Gateway", name.clone()));
        }
    }
    for name in sets {
        let (was, is) = (before.listener_sets.get(name), now.listener_sets.get(name));
        let shows_another = was.into_iter().chain(is).any(|set| showing.contains(&set.gateway));
        if shows_another || was.map(|of| &of.listeners) != is.map(|of| &of.listeners) {
            involved.insert(("ListenerSet", name.clone()));
        }
    }
    involved
}

/// The Secret whose certificate servers are shown.
fn client_of(gateway: Option<&ResolvedGateway>) -> Option<&NamespacedName> {
    gateway.and_then(|gateway| gateway.client.as_ref())
}
