//! The parents that routes name, whosever these are: where one becomes another, only its routes have other inputs.

use super::levels::RouteId;
use haptic_model::gateway::{NamespacedName, RouteKind};
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

/// A parent, by its kind.
pub(super) type ParentName = (&'static str, NamespacedName);

/// Each route's parents, and each parent's routes.
#[derive(Clone, Debug, Default)]
pub(super) struct NamedParents {
    of_routes: BTreeMap<RouteId, Box<[ParentName]>>,
    routes: BTreeSet<(ParentName, RouteId)>,
}

impl NamedParents {
    /// Notes which parents a route names now.
    pub fn note(&mut self, id: &RouteId, now: BTreeSet<ParentName>) {
        if self.of_routes.get(id).is_some_and(|known| known.iter().eq(&now)) {
            return;
        }
        for parent in self.of_routes.remove(id).into_iter().flatten() {
            self.routes.remove(&(parent, id.clone()));
        }
        self.routes.extend(now.iter().map(|parent| (parent.clone(), id.clone())));
        if !now.is_empty() {
            self.of_routes.insert(id.clone(), now.into_iter().collect());
        }
    }

    /// The routes that name a parent.
    pub fn naming<'s>(&'s self, parent: &'s ParentName) -> impl Iterator<Item = RouteId> + 's {
        let first = (parent.clone(), (RouteKind::Http, (Arc::from(""), Arc::from(""))));
        let all = self.routes.range(first..).take_while(move |(named, _)| named == parent);
        all.map(|(_, route)| route.clone())
    }
}
