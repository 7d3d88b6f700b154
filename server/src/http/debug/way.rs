//! `/debug/explain?url=…`: which way a request goes through what was rendered last, unless HAProxy's check refused that.

use super::{Inside, json_of, nothing};
use crate::explain::{Ground, Request, explain};
use actix_web::{HttpResponse, web};
use haptic_model::{Generation, pipeline::Rendered};
use serde::Deserialize;
use serde_json::json;
use std::sync::Arc;

/// Which request.
#[derive(Debug, Deserialize)]
pub(super) struct Wanted {
    #[serde(default)]
    url: String,
}

pub(super) async fn show(inside: web::Data<Inside>, wanted: web::Query<Wanted>) -> HttpResponse {
    if wanted.url.is_empty() {
        let how = "say which request: /debug/explain?url=https://shop.example/cart\n";
        return HttpResponse::BadRequest().content_type("text/plain").body(how);
    }
    let request = match Request::parse(&wanted.url) {
        Ok(request) => request,
        Err(why) => return HttpResponse::BadRequest().content_type("text/plain").body(why + "\n"),
    };
    let numbered = |rendered: Arc<Rendered>| (rendered.reconcile.generation, rendered);
    let newest = (*inside.rendered.read()).clone().map(numbered);
    let checked = (*inside.validated.read()).as_ref().map(|v| numbered(v.rendered.clone()));
    let refused = (*inside.refused.read()).as_ref().map(|r| r.rendered.reconcile.generation);
    let ((generation, rendered), refused) = match in_force(newest, checked, refused) {
        Ok(found) => found,
        Err(why) => return nothing(why),
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
        Ok(mut explanation) => {
            explanation.generation = Some(generation.0);
            explanation.refused = refused.map(|refused| refused.0);
            json_of(&json!(explanation))
        }
        Err(why) => HttpResponse::InternalServerError().body(format!("{why}\n")),
    }
}

/// The newest generation, or the one that passed its check last where the newest was refused; with the one that was.
fn in_force<T>(
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
        assert_eq!(in_force(Some(two), Some(one), None), Ok((two, None)), "live before its check has ended");
        assert_eq!(in_force(Some(two), Some(one), Some(two.0)), Ok((one, Some(two.0))));
        assert_eq!(in_force(Some(three), Some(one), Some(two.0)), Ok((three, None)), "it is being checked");
        assert!(in_force(Some(two), None, Some(two.0)).unwrap_err().contains("refused generation 2"));
        assert!(in_force::<u64>(None, None, None).unwrap_err().contains("nothing has been rendered"));
    }
}
