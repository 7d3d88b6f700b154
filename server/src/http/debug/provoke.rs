//! Makes actors fail, for journeys only and in debug builds only.

use super::state::DebugState;
use actix_web::{HttpResponse, web};
use haptic_model::Event;

/// Proves that a panic at any stage loses nothing.
pub(super) async fn panic_actor(state: web::Data<DebugState>, actor: web::Path<String>) -> HttpResponse {
    done_to(&actor, state.readers.actors.make_panic(&actor))
}

/// The same for an actor that does not come back from its work.
pub(super) async fn block_actor(state: web::Data<DebugState>, actor: web::Path<String>) -> HttpResponse {
    done_to(&actor, state.readers.actors.make_block(&actor, true))
}

pub(super) async fn unblock_actor(state: web::Data<DebugState>, actor: web::Path<String>) -> HttpResponse {
    done_to(&actor, state.readers.actors.make_block(&actor, false))
}

/// The same for observers that are told more than they can take.
pub(super) async fn flood_observers(state: web::Data<DebugState>, events: web::Path<usize>) -> HttpResponse {
    for objects in 0..*events {
        state.events.emit(Event::StoreSize { resource: "flood".into(), objects });
    }
    HttpResponse::Accepted().finish()
}

fn done_to(actor: &str, is_there: bool) -> HttpResponse {
    match is_there {
        true => HttpResponse::Accepted().finish(),
        false => HttpResponse::NotFound().body(format!("there is no actor {actor}\n")),
    }
}
