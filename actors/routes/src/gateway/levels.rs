//! Who gets which requests of a hostname at a listener: what all routes there ask for is one list, in the order of the specification.
//!
//! https://gateway-api.sigs.k8s.io/reference/spec/, `HTTPRouteRule.matches`. What paths alone decide are keys of maps; all else stands in a list
//! that HAProxy's Lua asks ([`crate::lists`]).

use super::objects::RouteSeniority;
use crate::{
    lists::{HostList, ListEntry},
    matching::Match,
    regex_cost::PatternCost,
};
use haptic_model::gateway::{NamespacedName, RouteKind};
use std::{
    collections::{BTreeMap, BTreeSet, HashSet},
    sync::Arc,
};

/// A route among all.
pub(super) type RouteId = (RouteKind, NamespacedName);

/// By which an entry comes before others.
pub(super) type EntryRank = (super::matches::Rank, RouteSeniority, usize, usize);

/// Requests that a route asks for, at one level.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct LevelEntry {
    pub rank: EntryRank,
    pub wanted: Match,
    pub cost: Option<PatternCost>,
    /// What HAProxy finds: the rule, and how much of a path it matches.
    pub value: Arc<str>,
}

/// What a route has of one level.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct LevelShare {
    pub entries: Vec<Arc<LevelEntry>>,
    /// Whether the level itself is written with this route.
    pub is_first: bool,
    /// The level's list, in pieces, if it is written with this route and there is one.
    pub list: Vec<String>,
}

/// All levels.
#[derive(Debug, Default)]
pub(super) struct HostnameLevels {
    asked: BTreeMap<Arc<str>, BTreeMap<RouteId, Vec<Arc<LevelEntry>>>>,
}

impl HostnameLevels {
    /// Takes what a route asked for before, and puts there what it asks for now. Returns the levels that are concerned.
    pub fn update(
        &mut self,
        route: &RouteId,
        before: &BTreeMap<Arc<str>, Vec<Arc<LevelEntry>>>,
        now: &BTreeMap<Arc<str>, Vec<Arc<LevelEntry>>>,
    ) -> BTreeSet<Arc<str>> {
        let all: BTreeSet<&Arc<str>> = before.keys().chain(now.keys()).collect();
        let concerned = all.into_iter().filter(|level| before.get(*level) != now.get(*level));
        let mut touched = BTreeSet::new();
        for level in concerned {
            let routes = self.asked.entry(level.clone()).or_default();
            match now.get(level) {
                Some(entries) => drop(routes.insert(route.clone(), entries.clone())),
                None => drop(routes.remove(route)),
            }
            if routes.is_empty() {
                self.asked.remove(level);
            }
            touched.insert(level.clone());
        }
        touched
    }

    /// What each route has of a level.
    pub fn shares(&self, level: &str) -> BTreeMap<RouteId, LevelShare> {
        let mut shares = BTreeMap::new();
        let Some(routes) = self.asked.get(level) else { return shares };
        let all = routes.iter().flat_map(|(id, entries)| entries.iter().map(move |entry| (id, entry)));
        let mut all: Vec<(&RouteId, &Arc<LevelEntry>)> = all.collect();
        all.sort_by(|(_, one), (_, other)| one.rank.cmp(&other.rank));
        let mut known = HashSet::new();
        all.retain(|(_, entry)| known.insert(&entry.wanted));
        let listed = all.iter().filter(|(_, entry)| entry.wanted.is_listed());
        let listed = listed.map(|(_, entry)| ListEntry { wanted: &entry.wanted, cost: entry.cost }).collect();
        let list = HostList::ordered("", listed);
        for (id, entry) in &all {
            let share: &mut LevelShare = shares.entry((*id).clone()).or_default();
            share.entries.push((*entry).clone());
        }
        if let Some((_, first)) = shares.iter_mut().next() {
            first.is_first = true;
            if !list.entries.is_empty() {
                first.list = list.chunks();
            }
        }
        shares
    }
}
