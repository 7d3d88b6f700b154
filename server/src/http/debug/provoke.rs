//! Makes actors fail, for journeys only and in debug builds only.

use super::Inside;
use actix_web::{HttpResponse, web};
use haptic_model::Event;

/// Proves that a panic at any stage loses nothing.
pub(super) async fn panic_actor(inside: web::Data<Inside>, actor: web::Path<String>) -> HttpResponse {
    done_to(&actor, inside.vitality.actors.make_panic(&actor))
}

/// The same for an actor that does not come back from its work.
pub(super) async fn block_actor(inside: web::Data<Inside>, actor: web::Path<String>) -> HttpResponse {
    done_to(&actor, inside.vitality.actors.make_block(&actor, true))
}

pub(super) async fn unblock_actor(inside: web::Data<Inside>, actor: web::Path<String>) -> HttpResponse {
    done_to(&actor, inside.vitality.actors.make_block(&actor, false))
}

/// The same for observers that are told more than they can take.
pub(super) async fn flood_observers(inside: web::Data<Inside>, events: web::Path<usize>) -> HttpResponse {
    for objects in 0..*events {
        inside.events.tell(Event::StoreSize { resource: "flood".into(), objects });
    }
    HttpResponse::Accepted().finish()
}

fn done_to(actor: &str, is_there: bool) -> HttpResponse {
    match is_there {
        true => HttpResponse::Accepted().finish(),
        false => HttpResponse::NotFound().body(format!("there is no actor {actor}\n")),
    }
}
