//! Reloads: asked for by pushes, brought by a ticker, remembered by a number.

use super::{
    haproxy, said,
    state::{Double, State},
};
use actix_web::{
    HttpResponse,
    web::{self, Data, Path},
};
use serde_json::json;

pub fn routes(app: &mut web::ServiceConfig) {
    app.route("/reloads/{id}", web::get().to(one));
}

/// The number of the next reload, which is asked for now.
pub fn ask(state: &mut State) -> String {
    state.asked.get_or_insert_with(|| format!("2026-11-21-{}", state.reloads)).clone()
}

/// Brings the reload that was asked for.
pub async fn reload_if_asked(double: &Double) {
    if double.faults.lock().await.held_reloads {
        return;
    }
    let _others_wait = double.reloading.lock().await;
    let Some(id) = double.state.lock().await.asked.take() else { return };
    if double.is_due(|faults| &mut faults.forgotten_reloads).await {
        let mut state = double.state.lock().await;
        (state.reloads, state.ended) = (0, Default::default());
        return;
    }
    let loaded = std::fs::read_to_string(&double.settings.config_file).unwrap_or_default();
    let (is_good, log) = haproxy::reload(&double.settings).await;
    let mut state = double.state.lock().await;
    // After a failure what the last good one had is on disk again, and the version stays.
    if is_good {
        state.last_good = loaded;
    } else {
        let _disk_full = std::fs::write(&double.settings.config_file, &state.last_good);
    }
    state.reloads += 1;
    state.ended.insert(id, (is_good, log));
}

async fn one(double: Data<Double>, id: Path<String>) -> HttpResponse {
    let _after_one_under_way = double.reloading.lock().await;
    let state = double.state.lock().await;
    if state.asked.as_deref() == Some(&**id) {
        return HttpResponse::Ok().json(json!({ "status": "in_progress" }));
    }
    match state.ended.get(&**id) {
        Some((is_good, log)) => HttpResponse::Ok().json(json!({
            "id": *id, "reload_timestamp": 0, "response": log,
            "status": if *is_good { "succeeded" } else { "failed" },
        })),
        None => said(404, &format!("Reload with ID {id} does not exist")),
    }
}
