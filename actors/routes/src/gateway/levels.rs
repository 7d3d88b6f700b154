//! The requests of a hostname at a listener: the demands of all routes there are one list, in the order of the specification.
//!
//! https://gateway-api.sigs.k8s.io/reference/spec/, `HTTPRouteRule.matches`. What paths alone decide are keys of maps; all else stands in a list
//! that HAProxy's Lua asks ([`crate::matching::lists`]).

use super::objects::RouteSeniority;
use crate::matching::{
    Match,
    lists::{HostList, ListEntry},
    regex_cost::PatternCost,
};
use haptic_model::gateway::{NamespacedName, RouteKind};
use litemap::LiteMap;
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
    /// The value that HAProxy finds: the rule, and how much of a path it matches.
    pub value: Arc<str>,
}

/// The share of a route in one level.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct LevelShare {
    pub entries: Vec<Arc<LevelEntry>>,
    /// Whether the level itself is written with this route.
    pub is_first: bool,
    /// The level's list, in pieces, if it is written with this route and there is one.
    pub list: Vec<String>,
    /// How many of its entries the list has no room for.
    pub left_out: usize,
}

#[derive(Clone, Debug, Default)]
pub(super) struct HostnameLevels {
    asked: BTreeMap<Arc<str>, LiteMap<RouteId, Vec<Arc<LevelEntry>>>>,
}

impl HostnameLevels {
    /// Takes what a route asked for before, and puts there what it asks for now. Returns the levels that are concerned.
    pub fn update(
        &mut self,
        route: &RouteId,
        before: &LiteMap<Arc<str>, Vec<Arc<LevelEntry>>>,
        now: &LiteMap<Arc<str>, Vec<Arc<LevelEntry>>>,
    ) -> BTreeSet<Arc<str>> {
        let all: BTreeSet<&Arc<str>> = before.keys().chain(now.keys()).collect();
        let involved = all.into_iter().filter(|level| before.get(*level) != now.get(*level));
        let mut touched = BTreeSet::new();
        for level in involved {
            // Most levels are those of one route.
            let routes = self.asked.entry(level.clone()).or_insert_with(|| LiteMap::with_capacity(1));
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

    /// The share of each route in a level.
    pub fn shares(&self, level: &str) -> BTreeMap<RouteId, LevelShare> {
        let mut shares = BTreeMap::new();
        let Some(routes) = self.asked.get(level) else { return shares };
        let all = routes.iter().flat_map(|(id, entries)| entries.iter().map(move |entry| (id, entry)));
        let mut all: Vec<(&RouteId, &Arc<LevelEntry>)> = all.collect();
        all.sort_by(|(_, one), (_, other)| one.rank.cmp(&other.rank));
        let mut known = HashSet::new();
        all.retain(|(_, entry)| known.insert(&entry.wanted));
        let listed = all.iter().filter(|(_, entry)| entry.wanted.is_listed()).map(|(id, entry)| {
            let namespace: &str = &id.1.0;
            (namespace, ListEntry { wanted: &entry.wanted, owner: namespace, cost: entry.cost })
        });
        let list = HostList::shared(&listed.collect::<Vec<_>>());
        let asked: HashSet<&Match> = list.entries.iter().map(|entry| entry.wanted).collect();
        for (id, entry) in &all {
            let share: &mut LevelShare = shares.entry((*id).clone()).or_default();
            share.left_out += usize::from(entry.wanted.is_listed() && !asked.contains(&entry.wanted));
            share.entries.push((*entry).clone());
        }
        // What is written counts as what the route prints, so it is of those who have most of it: nobody is held back for what others ask for.
        let mut asking: BTreeMap<&str, BTreeMap<&RouteId, usize>> = BTreeMap::new();
        for (id, entry) in all.iter().filter(|(_, entry)| asked.contains(&entry.wanted)) {
            let (bytes, _) = ListEntry { wanted: &entry.wanted, owner: &id.1.0, cost: entry.cost }.size();
            *asking.entry(&id.1.0).or_default().entry(*id).or_default() += bytes;
        }
        let namespace = asking.values().max_by_key(|routes| routes.values().sum::<usize>());
        let most = namespace.and_then(|routes| routes.iter().max_by_key(|(_, bytes)| **bytes));
        let writer = most.map(|(id, _)| RouteId::clone(id)).or_else(|| shares.keys().next().cloned());
        if let Some(share) = writer.and_then(|id| shares.get_mut(&id)) {
            share.is_first = true;
            if !list.entries.is_empty() {
                share.list = list.chunks();
            }
        }
        shares.values_mut().for_each(|share| share.entries.shrink_to_fit());
        shares
    }
}
