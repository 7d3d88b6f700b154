//! The routes, resolved, and what they are together: who has which requests of a hostname, and what leads where.

use super::{
    attachment::ResolvedRoute,
    levels::{HostnameLevels, LevelShare, RouteId},
    parents::NamedParents,
    reached::ReachedServices,
    sets::Sets,
};
use haptic_model::gateway::{NamespacedName, RouteKind};
use litemap::LiteMap;
use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::Arc,
};

/// The share of a route in each level.
pub(super) type RouteShares = LiteMap<Arc<str>, LevelShare>;

/// All routes of ours.
#[derive(Clone, Debug, Default)]
pub(super) struct ResolvedRoutes {
    pub routes: BTreeMap<RouteId, Arc<ResolvedRoute>>,
    pub shares: BTreeMap<RouteId, RouteShares>,
    levels: HostnameLevels,
    attached: HashMap<Arc<str>, usize>,
    /// Each Service with each route that names it.
    pub naming: BTreeSet<(NamespacedName, RouteId)>,
    pub reached: ReachedServices,
    pub parents: NamedParents,
}

/// The work that is left after routes were resolved.
#[derive(Default)]
pub(super) struct RouteChanges {
    /// The levels that are shared otherwise.
    pub levels: BTreeSet<Arc<str>>,
    /// The routes whose sets are others.
    pub written: BTreeSet<RouteId>,
    /// The routes of which something else is found.
    pub found: BTreeSet<RouteId>,
    /// Whether listeners have other routes.
    pub is_attached_otherwise: bool,
}

impl ResolvedRoutes {
    /// Puts a route in the place of what it was before, which is returned.
    pub fn replace(
        &mut self,
        id: &RouteId,
        now: Arc<ResolvedRoute>,
        changes: &mut RouteChanges,
    ) -> Arc<ResolvedRoute> {
        let before = self.routes.remove(id).unwrap_or_default();
        changes.levels.extend(self.levels.update(id, &before.entries, &now.entries));
        if before.settings != now.settings {
            changes.written.insert(id.clone());
        }
        if before.doubts != now.doubts || before.verdict != now.verdict {
            changes.found.insert(id.clone());
        }
        self.reach(id, &before, &now);
        if before.attached != now.attached {
            changes.is_attached_otherwise = true;
            self.attach(&before.attached, &now.attached);
        }
        if now.verdict.is_some() {
            self.routes.insert(id.clone(), now);
        }
        before
    }

    /// Shares a level again; the routes that have something else of it than before.
    pub fn share(&mut self, level: &Arc<str>, sets: &mut Sets) -> BTreeSet<RouteId> {
        let mut now = self.levels.shares(level);
        let mut different = BTreeSet::new();
        let before = sets.routes_at(level, now.keys().cloned().collect());
        for id in before.into_iter().chain(now.keys().cloned().collect::<Vec<_>>()) {
            let Some(share) = now.remove(&id) else {
                if self.remove_share(&id, level) {
                    different.insert(id);
                }
                continue;
            };
            let shares = self.shares.entry(id.clone()).or_insert_with(|| LiteMap::with_capacity(1));
            if shares.get(level) != Some(&share) {
                shares.insert(level.clone(), share);
                different.insert(id);
            }
        }
        different
    }

    /// The routes that name a Service.
    pub fn naming(&self, service: NamespacedName) -> impl Iterator<Item = RouteId> {
        let first = (service.clone(), (RouteKind::Http, (Arc::from(""), Arc::from(""))));
        let all = self.naming.range(first..).take_while(move |(name, _)| *name == service);
        all.map(|(_, route)| route.clone())
    }

    /// How many routes a listener has.
    pub fn attached_to(&self, listener: &str) -> usize {
        self.attached.get(listener).copied().unwrap_or_default()
    }

    /// Whether there was any.
    fn remove_share(&mut self, id: &RouteId, level: &Arc<str>) -> bool {
        let Some(shares) = self.shares.get_mut(id) else { return false };
        let was_there = shares.remove(level).is_some();
        if was_there && shares.is_empty() {
            self.shares.remove(id);
        }
        was_there
    }

    /// Notes which Services the route names, and counts through which Gateways they are reached.
    fn reach(&mut self, id: &RouteId, before: &ResolvedRoute, now: &ResolvedRoute) {
        if before.uses == now.uses && before.gateways == now.gateways {
            return;
        }
        for service in before.uses.iter().filter(|service| now.uses.binary_search(service).is_err()) {
            self.naming.remove(&(service.clone(), id.clone()));
        }
        self.naming.extend(now.uses.iter().map(|service| (service.clone(), id.clone())));
        self.reached.count(&now.uses, &now.gateways);
        self.reached.discount(&before.uses, &before.gateways);
    }

    /// Counts a route at its listeners.
    fn attach(&mut self, before: &[Arc<str>], now: &[Arc<str>]) {
        for listener in now {
            *self.attached.entry(listener.clone()).or_default() += 1;
        }
        for listener in before {
            let Some(count) = self.attached.get_mut(listener) else { continue };
            *count = count.saturating_sub(1);
            if *count == 0 {
                self.attached.remove(listener);
            }
        }
    }
}
