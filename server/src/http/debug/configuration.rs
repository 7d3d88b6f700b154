//! `/debug/config`: the configuration in force, and what is wrong with the newest one.

use super::{Inside, json_of, redaction};
use actix_web::{HttpResponse, web};
use haptic_config::ConfigState;
use haptic_model::ActiveConfig;
use serde_json::{Value, json};

pub(super) async fn show(inside: web::Data<Inside>) -> HttpResponse {
    let state = match &*inside.vitality.config_state.read() {
        ConfigState::Waiting(why) => json!({"state": "waiting", "why": why}),
        ConfigState::Valid => json!({"state": "valid"}),
        ConfigState::Invalid(problems) => json!({"state": "invalid", "problems": problems}),
        ConfigState::Deleted => json!({"state": "deleted"}),
    };
    let active = inside.vitality.config.read();
    json_of(&json!({"state": state, "active": (*active).as_ref().map(|active| shown(active))}))
}

fn shown(active: &ActiveConfig) -> Value {
    let mut spec = json!(*active.spec);
    redaction::fields(&mut spec);
    json!({"name": active.name, "namespace": active.namespace, "resourceGeneration": active.resource_generation,
        "revision": active.revision, "spec": spec})
}
