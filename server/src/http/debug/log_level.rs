//! `/debug/log-level`: what is logged, and `PUT /debug/log-level/debug` until `DELETE` for whoever is on this machine.

use super::state::{DebugState, json_of};
use actix_web::{HttpRequest, HttpResponse, web};
use haptic_commentator::MessageLevel;
use serde_json::json;

/// The level, where it comes from, and the configured one behind it.
pub(super) async fn show(state: web::Data<DebugState>) -> HttpResponse {
    let levels = state.log_level.levels();
    let level = levels.forced.map_or(levels.configured.clone(), |forced| forced.name().to_owned());
    json_of(&json!({"level": level, "configured": levels.configured, "forced": levels.forced}))
}

/// Another level than the configured one, until it is let go or the process ends.
pub(super) async fn force(
    request: HttpRequest,
    state: web::Data<DebugState>,
    level: web::Path<String>,
) -> HttpResponse {
    let Some(level) = MessageLevel::parse(&level) else {
        return HttpResponse::BadRequest().body("a level is trace, debug, info, warn or error\n");
    };
    change(&request, state, Some(level)).await
}

/// The configured level again.
pub(super) async fn let_go(request: HttpRequest, state: web::Data<DebugState>) -> HttpResponse {
    change(&request, state, None).await
}

async fn change(
    request: &HttpRequest,
    state: web::Data<DebugState>,
    level: Option<MessageLevel>,
) -> HttpResponse {
    if !is_from_here(request) {
        return HttpResponse::Forbidden()
            .body("the level is changed from this machine only: kubectl port-forward\n");
    }
    state.log_level.force(level);
    show(state).await
}

/// Whether the caller is on this machine, also when `/debug` listens elsewhere.
fn is_from_here(request: &HttpRequest) -> bool {
    let Some(peer) = request.peer_addr().map(|peer| peer.ip()) else { return false };
    peer.is_loopback() || peer == request.app_config().local_addr().ip()
}

#[cfg(test)]
mod tests {
    use super::*;
    use actix_web::test::TestRequest;

    #[test]
    fn callers_from_elsewhere_are_strangers() {
        let from = |peer: &str| {
            let peer = format!("{peer}:4711").parse().expect("an address");
            is_from_here(&TestRequest::default().peer_addr(peer).to_http_request())
        };
        assert!(from("127.0.0.1") && from("127.0.7.1") && from("[::1]"));
        assert!(!from("10.0.0.7") && !from("[2001:db8::1]"));
        assert!(!is_from_here(&TestRequest::default().to_http_request()), "nobody knows from where");
    }
}
