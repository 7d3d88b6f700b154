//! The route model: what watched objects ask for, who gets it, and why others do not.
//!
//! Templates should not have to solve precedence. Beside each watched resource that holds routes there is a store of
//! *sets*, one for each object, that says what the object got: `routes "ingresses"` reads it as `list` reads the
//! resource itself. Because a set is an object like any other, blocks that are printed for it are kept from render to
//! render, and only those are printed anew whose own set changed: the index is updated by what changed in the store.
//!
//! A function of stores and configuration; no I/O. What is asked for ([`claims`]) knows nothing of who gets it
//! ([`index`]), and neither knows anything of Ingress ([`ingress`]).

mod bounds;
pub mod claims;
pub mod class;
pub mod endpoints;
pub mod index;
pub mod ingress;
pub mod matching;
mod record;

use claims::Claims;
use class::Classes;
use haptic_model::{ActiveConfig, Object, ObjectRef, Snapshot, Snapshots};
use index::RouteIndex;
use std::{collections::BTreeMap, sync::Arc};

/// The indexes of all resources that hold routes, from render to render.
#[derive(Debug, Default)]
pub struct Routes {
    tables: BTreeMap<Arc<str>, Table>,
}

#[derive(Debug)]
struct Table {
    /// The store as the index knows it.
    source: Arc<Snapshot>,
    ground: Ground,
    index: RouteIndex,
    sets: Arc<Snapshot>,
}

/// What, besides the objects themselves, decides who gets what.
#[derive(Clone, Debug, PartialEq)]
struct Ground {
    classes: Classes,
    /// See [`haptic_model::crd::LimitsSpec::routes_per_object`].
    most: usize,
}

/// The name of the store of sets beside the store `resource`. No watched resource has such a name.
#[must_use]
pub fn store_of(resource: &str) -> Arc<str> {
    format!("routes of {resource}").into()
}

impl Routes {
    /// `snapshots` with a store of sets beside each store that holds routes.
    #[must_use]
    pub fn beside(&mut self, config: &ActiveConfig, snapshots: &Snapshots) -> Snapshots {
        let most = config.spec.controller.limits.routes_per_object;
        let ground = Ground { classes: Classes::of(config, snapshots), most };
        let mut all = snapshots.clone();
        let known: Vec<Arc<str>> = class::ingress_stores(&config.spec).collect();
        self.tables.retain(|name, _| known.contains(name));
        for name in known {
            // The objects of an on-demand store are not there to be looked at.
            let Some(source) = snapshots.get(&name).filter(|store| !store.is_on_demand()) else { continue };
            let table = match self.tables.remove(&name) {
                Some(table) => table.updated(source, &ground),
                None => Table::new(source, &ground),
            };
            all = all.with(store_of(&name), table.sets.clone());
            self.tables.insert(name, table);
        }
        all
    }

    /// The index of the resource of that name, as of the last call of [`Self::beside`].
    #[must_use]
    pub fn index(&self, resource: &str) -> Option<&RouteIndex> {
        self.tables.get(resource).map(|table| &table.index)
    }
}

impl Table {
    fn new(source: &Arc<Snapshot>, ground: &Ground) -> Self {
        let mut index = RouteIndex::default();
        index.update(source.iter().map(|object| changed(object, ground)));
        let sets = Arc::new(index.sets().clone());
        Self { source: source.clone(), ground: ground.clone(), index, sets }
    }

    fn updated(mut self, source: &Arc<Snapshot>, ground: &Ground) -> Self {
        if self.ground != *ground {
            return Self::new(source, ground);
        }
        if source.is_unchanged_since(&self.source) {
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
        self
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
    let metadata = serde_json::json!({
        "namespace": object.namespace, "name": object.name, "annotations": {},
    });
    let fields = serde_json::Map::from_iter([
        ("metadata".to_owned(), metadata),
        ("options".to_owned(), serde_json::json!({})),
    ]);
    Claims { refused: vec![why], fields: fields.into(), ..Claims::default() }
}
