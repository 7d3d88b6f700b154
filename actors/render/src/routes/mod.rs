//! The route model: what watched objects ask for, who gets it, and why others do not.
//!
//! Templates should not have to solve precedence. Beside each watched resource that holds routes there is a store of
//! *sets*, one for each object, that says what the object got: `routes "ingresses"` reads it as `list` reads the
//! resource itself. Because a set is an object like any other, blocks that are printed for it are kept from render to
//! render, and only those are printed anew whose own set changed: the index is updated by what changed in the store.
//!
//! A function of stores and configuration; no I/O. What is asked for ([`claims`]) knows nothing of who gets it
//! ([`index`]), and neither knows anything of Ingress ([`ingress`]).

pub mod claims;
pub mod class;
pub mod destinations;
pub mod endpoints;
pub mod index;
pub mod ingress;
pub mod matching;
mod options;
pub mod path;
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
    classes: Classes,
    index: RouteIndex,
    sets: Arc<Snapshot>,
    options: Arc<Snapshot>,
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
    /// `snapshots` with a store of sets and one of options beside each store that holds routes.
    #[must_use]
    pub fn beside(&mut self, config: &ActiveConfig, snapshots: &Snapshots) -> Snapshots {
        let classes = Classes::of(config, snapshots);
        let mut all = snapshots.clone();
        let known: Vec<Arc<str>> = class::ingress_stores(&config.spec).collect();
        self.tables.retain(|name, _| known.contains(name));
        for name in known {
            // The objects of an on-demand store are not there to be looked at.
            let Some(source) = snapshots.get(&name).filter(|store| !store.is_on_demand()) else { continue };
            let table = match self.tables.remove(&name) {
                Some(table) => table.updated(source, &classes),
                None => Table::new(source, &classes),
            };
            all = all.with(store_of(&name), table.sets.clone()).with(options_of(&name), table.options.clone());
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
    fn new(source: &Arc<Snapshot>, classes: &Classes) -> Self {
        let mut index = RouteIndex::default();
        index.update(source.iter().map(|object| changed(object, classes)));
        let (sets, options) = (Arc::new(index.sets().clone()), Arc::new(index.options().clone()));
        Self { source: source.clone(), classes: classes.clone(), index, sets, options }
    }

    fn updated(mut self, source: &Arc<Snapshot>, classes: &Classes) -> Self {
        if self.classes != *classes {
            return Self::new(source, classes);
        }
        if source.is_unchanged_since(&self.source) {
            return self;
        }
        let before = std::mem::replace(&mut self.source, source.clone());
        let changes = source.differences_from(&before).filter_map(|d| match (d.after, d.before) {
            (Some((object, _)), _) => Some(changed(object, classes)),
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
}

fn changed(object: &Object, classes: &Classes) -> (Arc<ObjectRef>, Option<Claims>) {
    let claims = match ingress::claims(&object.json, classes) {
        Ok(claims) => claims,
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
    Claims { refused: vec![why], fields, ..Claims::default() }
}
