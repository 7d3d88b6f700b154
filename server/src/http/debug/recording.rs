//! `/debug/recording`: what the last generations were made from, as one file that is sent while it is made.

use super::state::{DebugState, nothing};
use actix_web::{
    HttpResponse,
    http::{StatusCode, header},
    web::{self, Bytes},
};
use futures::stream;
use haptic_inspect::recording::{make::Stopped, stream::StreamRefusal};
use std::convert::Infallible;

pub(super) async fn show(state: web::Data<DebugState>) -> HttpResponse {
    let receiver = match state.recorder.begin(state.readers.history.clone()) {
        Ok(receiver) => receiver,
        Err(StreamRefusal::Busy) => {
            return HttpResponse::build(StatusCode::TOO_MANY_REQUESTS)
                .content_type("text/plain; charset=utf-8")
                .body("another recording is being made; ask again when it is done\n");
        }
        Err(StreamRefusal::Nothing) => {
            return nothing(Stopped::Nothing.to_string());
        }
    };
    let pieces = stream::unfold(receiver, |mut receiver| async move {
        let piece: Bytes = receiver.recv().await?;
        Some((Ok::<_, Infallible>(piece), receiver))
    });
    // Whether all of it is there its last line tells.
    HttpResponse::Ok()
        .content_type("application/jsonl")
        .insert_header((header::CACHE_CONTROL, "no-store"))
        .streaming(pieces)
}
