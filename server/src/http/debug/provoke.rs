//! Makes actors fail, for journeys only and in debug builds only.

use super::Inside;
use actix_web::{HttpResponse, web};

/// Proves that a panic at any stage loses nothing.
pub(super) async fn panic_actor(inside: web::Data<Inside>, actor: web::Path<String>) -> HttpResponse {
    done_to(&actor, inside.actors.make_panic(&actor))
}

/// The same for an actor that does not come back from its work.
pub(super) async fn block_actor(inside: web::Data<Inside>, actor: web::Path<String>) -> HttpResponse {
    done_to(&actor, inside.actors.make_block(&actor, true))
}

pub(super) async fn unblock_actor(inside: web::Data<Inside>, actor: web::Path<String>) -> HttpResponse {
    done_to(&actor, inside.actors.make_block(&actor, false))
}

fn done_to(actor: &str, is_there: bool) -> HttpResponse {
    match is_there {
        true => HttpResponse::Accepted().finish(),
        false => HttpResponse::NotFound().body(format!("there is no actor {actor}\n")),
    }
}
