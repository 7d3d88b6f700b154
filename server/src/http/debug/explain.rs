//! `/debug/explain?url=…`: which way a request goes through what was rendered last, unless HAProxy's check refused that.

use super::state::{DebugState, json_of, nothing};
use actix_web::{HttpResponse, web};
use haptic_inspect::explain::{Context, ExplainedRequest, explain};
use haptic_model::{Generation, pipeline::Rendered};
use serde::Deserialize;
use serde_json::json;
use std::sync::Arc;

#[derive(Debug, Deserialize)]
pub(super) struct ExplainQuery {
    #[serde(default)]
    url: String,
}

pub(super) async fn show(state: web::Data<DebugState>, wanted: web::Query<ExplainQuery>) -> HttpResponse {
    if wanted.url.is_empty() {
        let how = "say which request: /debug/explain?url=https://shop.example/cart\n";
        return HttpResponse::BadRequest().content_type("text/plain").body(how);
    }
    let request = match ExplainedRequest::parse(&wanted.url) {
        Ok(request) => request,
        Err(why) => return HttpResponse::BadRequest().content_type("text/plain").body(why + "\n"),
    };
    let numbered = |rendered: Arc<Rendered>| (rendered.reconcile.generation, rendered);
    let newest = (*state.readers.rendered.latest()).clone().map(numbered);
    let checked = (*state.readers.validated.latest()).as_ref().map(|v| numbered(v.rendered.clone()));
    let refused = (*state.readers.refused.latest()).as_ref().map(|r| r.rendered.reconcile.generation);
    let ((generation, rendered), refused) = match active(newest, checked, refused) {
        Ok(found) => found,
        Err(why) => return nothing(why),
    };
    let (snapshots, quarantine) = (state.readers.snapshots.latest(), state.readers.quarantine.latest());
    let explained = haptic_runtime::cpu("debug", move || {
        let context = Context {
            bundle: &rendered.bundle,
            config: &rendered.config,
            snapshots: &snapshots,
            quarantine: &quarantine,
            findings: &rendered.findings,
        };
        explain(&context, request)
    });
    match explained.await {
        Ok(mut explanation) => {
            explanation.generation = Some(generation.0);
            explanation.refused = refused.map(|refused| refused.0);
            json_of(&json!(explanation))
        }
        Err(why) => HttpResponse::InternalServerError().body(format!("{why}\n")),
    }
}

/// The newest generation, or the one that passed its check last where the newest was refused; with the one that was.
fn active<T>(
    newest: Option<(Generation, T)>,
    checked: Option<(Generation, T)>,
    refused: Option<Generation>,
) -> Result<((Generation, T), Option<Generation>), String> {
    let newest = newest.ok_or("nothing has been rendered yet")?;
    match refused.filter(|refused| *refused == newest.0) {
        None => Ok((newest, None)),
        Some(refused) => checked.map(|checked| (checked, Some(refused))).ok_or_else(|| {
            format!("HAProxy's check refused generation {refused}, and none passed it before: `haptic status` says why")
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_haproxys_check_refused_is_not_followed() {
        let [one, two, three] = [1, 2, 3].map(|number| (Generation(number), number));
        assert_eq!(active(Some(two), Some(one), None), Ok((two, None)), "live before its check has ended");
        assert_eq!(active(Some(two), Some(one), Some(two.0)), Ok((one, Some(two.0))));
        assert_eq!(active(Some(three), Some(one), Some(two.0)), Ok((three, None)), "it is being checked");
        assert!(active(Some(two), None, Some(two.0)).unwrap_err().contains("refused generation 2"));
        assert!(active::<u64>(None, None, None).unwrap_err().contains("nothing has been rendered"));
    }
}
