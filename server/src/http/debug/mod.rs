//! `/debug`: what every part of the process is doing, as JSON. On loopback unless told otherwise; secrets never.

#[cfg(debug_assertions)]
mod provoke;
mod quarantine;

use actix_web::{HttpResponse, web};
use haptic_commentator::History;
use haptic_config::ConfigState;
use haptic_deploy::PodStates;
use haptic_model::{
    ActiveConfig, Quarantine, Snapshots,
    pipeline::{Rendered, Validated},
};
use haptic_runtime::{CellReader, Health};
use serde_json::{Value, json};
use std::sync::Arc;

/// What can be looked at.
#[derive(Clone, Debug)]
pub struct Inside {
    /// Actors and arbiters.
    pub actors: Health,
    /// How the configuration is.
    pub config_state: CellReader<ConfigState>,
    /// The configuration in force.
    pub config: CellReader<Option<Arc<ActiveConfig>>>,
    /// All stores.
    pub snapshots: CellReader<Snapshots>,
    /// What was rendered last.
    pub rendered: CellReader<Option<Arc<Rendered>>>,
    /// What passed all checks last.
    pub validated: CellReader<Option<Arc<Validated>>>,
    /// What is held back.
    pub quarantine: CellReader<Quarantine>,
    /// What is known of each pod.
    pub pods: CellReader<PodStates>,
    /// What happened.
    pub history: History,
    /// What protects checks, as it is everywhere: [`crate::protections`].
    pub protections: Arc<Value>,
    /// Who is told, for tests.
    #[cfg(debug_assertions)]
    pub events: haptic_runtime::Events,
}

/// All paths below `/debug`.
pub fn routes(inside: Inside) -> impl Fn(&mut web::ServiceConfig) + Clone + Send + 'static {
    move |service| {
        service
            .app_data(web::Data::new(inside.clone()))
            .route("/debug", web::get().to(index))
            .route("/debug/actors", web::get().to(actors))
            .route("/debug/config", web::get().to(config))
            .route("/debug/stores", web::get().to(stores))
            .route("/debug/events", web::get().to(events))
            .route("/debug/generations", web::get().to(generations))
            .route("/debug/pods", web::get().to(pods))
            .route("/debug/checks", web::get().to(checks))
            .route("/debug/quarantine", web::get().to(held_back));
        #[cfg(debug_assertions)]
        service
            .route("/debug/panic/{actor:.*}", web::post().to(provoke::panic_actor))
            .route("/debug/block/{actor:.*}", web::post().to(provoke::block_actor))
            .route("/debug/unblock/{actor:.*}", web::post().to(provoke::unblock_actor))
            .route("/debug/flood/{events}", web::post().to(provoke::flood_observers));
    }
}

async fn index() -> HttpResponse {
    json_of(&json!(
        ["actors", "config", "stores", "events", "generations", "pods", "checks", "quarantine"]
            .map(|p| format!("/debug/{p}"))
    ))
}

async fn actors(inside: web::Data<Inside>) -> HttpResponse {
    let complaints = inside.actors.why_not_live();
    json_of(&json!({"actors": inside.actors.actors(), "complaints": complaints}))
}

async fn config(inside: web::Data<Inside>) -> HttpResponse {
    let state = match &*inside.config_state.read() {
        ConfigState::Waiting(why) => json!({"state": "waiting", "why": why}),
        ConfigState::Valid => json!({"state": "valid"}),
        ConfigState::Invalid(problems) => json!({"state": "invalid", "problems": problems}),
        ConfigState::Deleted => json!({"state": "deleted"}),
    };
    let active = inside.config.read();
    let active = (*active).as_ref().map(|a| {
        json!({"name": a.name, "namespace": a.namespace, "resourceGeneration": a.resource_generation,
            "revision": a.revision, "spec": *a.spec})
    });
    json_of(&json!({"state": state, "active": active}))
}

async fn stores(inside: web::Data<Inside>) -> HttpResponse {
    let snapshots = inside.snapshots.read();
    let all: serde_json::Map<String, Value> = snapshots
        .iter()
        .map(|(name, store)| {
            let shown = json!({"objects": store.len(), "bytes": store.bytes(), "synced": store.is_synced(),
                "onDemand": store.is_on_demand(), "version": store.version()});
            (name.to_string(), shown)
        })
        .collect();
    json_of(&Value::Object(all))
}

async fn events(inside: web::Data<Inside>) -> HttpResponse {
    let latest = inside.history.latest(1000);
    json_of(&json!(latest.iter().map(AsRef::as_ref).collect::<Vec<_>>()))
}

async fn generations(inside: web::Data<Inside>) -> HttpResponse {
    let rendered = (*inside.rendered.read()).as_ref().map(|r| {
        json!({"generation": r.reconcile.generation, "digest": r.bundle.digest, "bytes": r.bundle.size(),
            "files": r.bundle.files.len() + 1, "renderMs": r.took.as_millis()})
    });
    let validated = (*inside.validated.read()).as_ref().map(
        |v| json!({"generation": v.generation(), "digest": v.bundle().digest, "checkMs": v.took.as_millis()}),
    );
    json_of(&json!({"rendered": rendered, "validated": validated}))
}

async fn held_back(inside: web::Data<Inside>) -> HttpResponse {
    json_of(&quarantine::shown(&inside.quarantine.read(), std::time::Instant::now()))
}

async fn checks(inside: web::Data<Inside>) -> HttpResponse {
    json_of(&json!({ "protections": *inside.protections }))
}

async fn pods(inside: web::Data<Inside>) -> HttpResponse {
    let pods = inside.pods.read();
    let all: Vec<Value> = pods
        .iter()
        .map(|(pod, state)| {
            json!({"pod": pod.to_string(), "address": format!("{}:{}", pod.address, pod.port),
                "haproxy": state.capabilities.map(|c| c.version), "deployed": state.deployed,
                "running": state.running.as_ref().map(|r| r.digest), "lastError": state.last_error})
        })
        .collect();
    json_of(&json!(all))
}

fn json_of(value: &Value) -> HttpResponse {
    HttpResponse::Ok().content_type("application/json").body(format!("{value:#}\n"))
}
