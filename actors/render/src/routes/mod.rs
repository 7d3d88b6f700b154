//! The route model: what watched objects ask for, who gets it, and why others do not.
//!
//! Templates should not have to solve precedence. Beside each watched resource that holds routes there is a store of
//! *sets*, one for each object, that says what the object got: `routes "ingresses"` reads it as `list` reads the
//! resource itself. Because a set is an object like any other, blocks that are printed for it are kept from render to
//! render, and only those are printed anew whose own set changed: the index is updated by what changed in the store.
//!
//! A function of stores and configuration; no I/O. What is asked for ([`claims`]) knows nothing of who gets it
//! ([`index`]), and neither knows anything of Ingress ([`ingress`]).

mod apart;
mod bounds;
pub mod claims;
pub mod class;
pub mod contest;
pub mod destinations;
pub mod endpoints;
mod hosts;
pub mod index;
pub mod ingress;
pub mod matching;
pub mod memory;
mod options;
pub mod owners;
pub mod path;
mod record;
mod sentences;

use crate::userlists::{self, Userlists};
use claims::Claims;
use class::Classes;
use haptic_model::{ActiveConfig, Object, ObjectRef, Snapshot, Snapshots};
use index::RouteIndex;
use memory::Clock;
use owners::Owners;
use std::{
    collections::BTreeMap,
    sync::Arc,
    time::{Duration, Instant},
};

/// How long things are kept for namespaces that are gone, if a configuration that is wrong does not say.
const HOLD: Duration = Duration::from_secs(600);

/// The indexes of all resources that hold routes, from render to render.
#[derive(Debug, Default)]
pub struct Routes {
    tables: BTreeMap<Arc<str>, Table>,
    now: Option<Instant>,
}

#[derive(Debug)]
struct Table {
    /// The store as the index knows it.
    source: Arc<Snapshot>,
    ground: Ground,
    index: RouteIndex,
    sets: Arc<Snapshot>,
    options: Arc<Snapshot>,
    userlists: Userlists,
}

/// What, besides the objects themselves, decides who gets what.
#[derive(Clone, Debug, PartialEq)]
struct Ground {
    classes: Classes,
    owners: Arc<Owners>,
    /// Routes that one object may have.
    most: usize,
}

/// The name of the store of sets beside the store `resource`. No watched resource has such a name.
#[must_use]
pub fn store_of(resource: &str) -> Arc<str> {
    format!("routes of {resource}").into()
}

/// The name of the store that has an object for each option that any object of the store `resource` asks for.
#[must_use]
pub fn options_of(resource: &str) -> Arc<str> {
    format!("options of {resource}").into()
}

impl Routes {
    /// What time the next call of [`Self::beside`] has. Without a time nothing is kept for those that are gone.
    pub fn set_time(&mut self, now: Instant) {
        self.now = Some(now);
    }

    /// The same with nothing in it but what is remembered: what it gives next is that of a fresh start which knows as much.
    #[must_use]
    pub fn emptied(&self) -> Self {
        let tables = self.tables.iter().map(|(name, table)| (name.clone(), table.emptied()));
        Self { tables: tables.collect(), now: self.now }
    }

    /// `snapshots` with a store of sets and ones of options and of userlists beside each store that holds routes.
    #[must_use]
    pub fn beside(&mut self, config: &ActiveConfig, snapshots: &Snapshots) -> Snapshots {
        let most = config.spec.controller.limits.routes_per_object;
        let ground = Ground {
            classes: Classes::of(config, snapshots),
            owners: Arc::new(Owners::of(&config.spec)),
            most,
        };
        let hold = config.spec.controller.host_hold.or(HOLD);
        let clock = self.now.map(|now| Clock { now, hold }).filter(|clock| !clock.hold.is_zero());
        let mut all = snapshots.clone();
        let known: Vec<Arc<str>> = class::ingress_stores(&config.spec).collect();
        self.tables.retain(|name, _| known.contains(name));
        for name in known {
            // The objects of an on-demand store are not there to be looked at.
            let Some(source) = snapshots.get(&name).filter(|store| !store.is_on_demand()) else { continue };
            let table = self.tables.remove(&name).unwrap_or_else(|| Table::new(&ground));
            let mut table = table.updated(source, &ground, clock);
            let userlists = table.userlists.update(config, snapshots, &table.sets);
            all =
                all.with(store_of(&name), table.sets.clone()).with(options_of(&name), table.options.clone());
            all = all.with(userlists::store_of(&name), userlists);
            self.tables.insert(name, table);
        }
        all
    }

    /// When something that is kept for those that are gone is free, though nothing may change until then.
    #[must_use]
    pub fn due(&self) -> Option<Instant> {
        self.tables.values().filter_map(|table| table.index.due()).min()
    }

    /// The index of the resource of that name, as of the last call of [`Self::beside`].
    #[must_use]
    pub fn index(&self, resource: &str) -> Option<&RouteIndex> {
        self.tables.get(resource).map(|table| &table.index)
    }
}

impl Table {
    fn new(ground: &Ground) -> Self {
        Self::around(RouteIndex::with_owners(ground.owners.clone()), ground.clone())
    }

    fn emptied(&self) -> Self {
        Self::around(self.index.emptied(self.ground.owners.clone()), self.ground.clone())
    }

    fn around(index: RouteIndex, ground: Ground) -> Self {
        let (sets, options) = (Arc::new(index.sets().clone()), Arc::new(index.options().clone()));
        Self {
            source: Arc::new(Snapshot::full()),
            ground,
            index,
            sets,
            options,
            userlists: Userlists::default(),
        }
    }

    fn updated(mut self, source: &Arc<Snapshot>, ground: &Ground, clock: Option<Clock>) -> Self {
        if self.ground != *ground {
            self = self.on(ground, clock);
        }
        self.index.set_clock(clock);
        if source.is_unchanged_since(&self.source) && !self.index.is_due() {
            return self;
        }
        let before = std::mem::replace(&mut self.source, source.clone());
        let changes = source.differences_from(&before).filter_map(|d| match (d.after, d.before) {
            (Some((object, _)), _) => Some(changed(object, ground)),
            (None, Some((object, _))) => Some((object.reference.clone(), None)),
            (None, None) => None,
        });
        self.index.update(changes);
        if !self.index.sets().is_unchanged_since(&self.sets) {
            self.sets = Arc::new(self.index.sets().clone());
        }
        if !self.index.options().is_unchanged_since(&self.options) {
            self.options = Arc::new(self.index.options().clone());
        }
        self
    }

    /// The same objects where other classes are ours, or hosts belong to others: all of them are read anew.
    fn on(self, ground: &Ground, clock: Option<Clock>) -> Self {
        let Self { source, mut index, userlists, .. } = self;
        index.set_clock(clock);
        index.set_owners(ground.owners.clone());
        index.update(source.iter().map(|object| changed(object, ground)));
        let (sets, options) = (Arc::new(index.sets().clone()), Arc::new(index.options().clone()));
        Self { source, ground: ground.clone(), index, sets, options, userlists }
    }
}

fn changed(object: &Object, ground: &Ground) -> (Arc<ObjectRef>, Option<Claims>) {
    let claims = match ingress::claims(&object.json, &ground.classes) {
        Ok(claims) => claims.map(|claims| claims.within(ground.most)),
        Err(why) => Some(unreadable(&object.reference, why)),
    };
    (object.reference.clone(), claims)
}

/// What is known of an object that cannot be read: who it is, and why it gets nothing.
fn unreadable(object: &ObjectRef, why: String) -> Claims {
    let metadata = serde_json::json!({ "namespace": object.namespace, "name": object.name });
    let fields = serde_json::Map::from_iter([
        ("metadata".to_owned(), metadata),
        ("options".to_owned(), serde_json::json!({})),
        ("oversized".to_owned(), serde_json::json!({})),
    ]);
    Claims { refused: vec![why], fields: fields.into(), ..Claims::default() }
}
