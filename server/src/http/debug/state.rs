//! What every page below `/debug` is made of.

use crate::logging::LogLevel;
use actix_web::{HttpResponse, http::header};
use haptic_inspect::{Readers, recording::stream::RecordingSource};
use serde::Serialize;
use serde_json::Value;
use std::sync::Arc;

/// What can be looked at.
#[derive(Clone, Debug)]
pub struct DebugState {
    /// What the pipeline publishes.
    pub readers: Readers,
    pub log_level: LogLevel,
    /// What the last generations were made from.
    pub recorder: RecordingSource,
    /// What protects checks, as it is everywhere: [`crate::process`].
    pub protections: Arc<Value>,
    /// Who is told, for tests.
    #[cfg(debug_assertions)]
    pub events: haptic_runtime::Events,
}

pub(super) fn json_of(value: &impl Serialize) -> HttpResponse {
    match serde_json::to_string_pretty(value) {
        Ok(text) => HttpResponse::Ok()
            .content_type("application/json")
            .insert_header((header::CACHE_CONTROL, "no-store"))
            .body(text + "\n"),
        Err(error) => {
            HttpResponse::InternalServerError().body(format!("this page cannot be written: {error}\n"))
        }
    }
}

/// That there is no such page.
pub(super) fn nothing(why: String) -> HttpResponse {
    HttpResponse::NotFound().content_type("text/plain; charset=utf-8").body(why + "\n")
}
