//! `/debug/config`: the configuration in force, and what is wrong with the newest one.

use super::state::{DebugState, json_of};
use actix_web::{HttpResponse, web};
use haptic_config::ConfigState;
use haptic_inspect::redaction;
use haptic_model::ActiveConfig;
use serde_json::{Value, json};

pub(super) async fn show(state: web::Data<DebugState>) -> HttpResponse {
    let newest = match &*state.readers.config_state.latest() {
        ConfigState::Waiting(why) => json!({"state": "waiting", "why": why}),
        ConfigState::Valid => json!({"state": "valid"}),
        ConfigState::Invalid(problems) => json!({"state": "invalid", "problems": problems}),
        ConfigState::Deleted => json!({"state": "deleted"}),
    };
    let active = state.readers.config.latest();
    json_of(&json!({"state": newest, "active": (*active).as_ref().map(|active| shown(active))}))
}

fn shown(active: &ActiveConfig) -> Value {
    let mut spec = json!(*active.spec);
    redaction::fields(&mut spec);
    json!({"name": active.name, "namespace": active.namespace, "resourceGeneration": active.resource_generation,
        "revision": active.revision, "spec": spec})
}
