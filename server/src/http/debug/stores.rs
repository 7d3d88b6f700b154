//! `/debug/stores`: watched objects. Objects of a store on demand are not fetched to be shown.

use super::state::{DebugState, json_of, nothing};
use actix_web::{HttpResponse, web};
use haptic_inspect::redaction;
use serde::Deserialize;
use serde_json::{Value, json};

/// So many objects of a store are listed.
const LISTED: usize = 1000;

/// Which objects are listed.
#[derive(Debug, Deserialize)]
pub(super) struct StoreQuery {
    /// A part of `namespace/name`.
    #[serde(default)]
    q: String,
}

pub(super) async fn all(state: web::Data<DebugState>) -> HttpResponse {
    let snapshots = state.readers.snapshots.latest();
    let troubles = state.readers.troubles.latest();
    let shown = snapshots.iter().map(|(name, store)| {
        let shown = json!({"objects": store.len(), "bytes": store.bytes(), "synced": store.is_synced(),
            "onDemand": store.is_on_demand(), "version": store.version(), "trouble": troubles.get(name.as_ref())});
        (name.to_string(), shown)
    });
    json_of(&Value::Object(shown.collect()))
}

pub(super) async fn one(
    state: web::Data<DebugState>,
    store: web::Path<String>,
    wanted: web::Query<StoreQuery>,
) -> HttpResponse {
    let snapshots = state.readers.snapshots.latest();
    let Some(found) = snapshots.get(&store) else { return nothing(format!("there is no store {store}")) };
    let mut objects = found.iter().filter_map(|object| {
        let reference = &object.reference;
        let name = format!("{}/{}", reference.namespace, reference.name);
        let shown = || json!({"name": name, "version": object.version, "bytes": object.json.len()});
        name.contains(&wanted.q).then(shown)
    });
    let listed: Vec<Value> = objects.by_ref().take(LISTED).collect();
    json_of(&json!({"store": *store, "objects": listed, "notListed": objects.count()}))
}

pub(super) async fn object(state: web::Data<DebugState>, path: web::Path<(String, String)>) -> HttpResponse {
    let (store, name) = path.into_inner();
    let snapshots = state.readers.snapshots.latest();
    let (namespace, own) = name.split_once('/').unwrap_or(("", &name));
    let is_it = |object: &&std::sync::Arc<haptic_model::Object>| {
        *object.reference.name == *own && *object.reference.namespace == *namespace
    };
    let found = snapshots.get(&store).and_then(|store| store.iter().find(is_it));
    match found.map(|object| object.value()) {
        Some(Ok(mut value)) => {
            redaction::fields(&mut value);
            json_of(&value)
        }
        Some(Err(why)) => nothing(format!("{store} {name} is not held here as JSON: {why}")),
        None => nothing(format!("there is no {name} in the store {store}")),
    }
}
