//! `/debug/explain?url=…`: which way a request goes through what was rendered last.

use super::{Inside, json_of, nothing};
use crate::explain::{Ground, Request, explain};
use actix_web::{HttpResponse, web};
use serde::Deserialize;
use serde_json::json;

/// Which request.
#[derive(Debug, Deserialize)]
pub(super) struct Wanted {
    url: String,
}

pub(super) async fn show(inside: web::Data<Inside>, wanted: web::Query<Wanted>) -> HttpResponse {
    let request = match Request::parse(&wanted.url) {
        Ok(request) => request,
        Err(why) => return HttpResponse::BadRequest().content_type("text/plain").body(why + "\n"),
    };
    let Some(rendered) = (*inside.rendered.read()).clone() else {
        return nothing("nothing has been rendered yet".into());
    };
    let (snapshots, quarantine) = (inside.vitality.snapshots.read(), inside.quarantine.read());
    let explained = haptic_runtime::cpu("debug", move || {
        let ground = Ground {
            bundle: &rendered.bundle,
            config: &rendered.config,
            snapshots: &snapshots,
            quarantine: &quarantine,
        };
        explain(&ground, request)
    });
    match explained.await {
        Ok(explanation) => json_of(&json!(explanation)),
        Err(why) => HttpResponse::InternalServerError().body(format!("{why}\n")),
    }
}
