//! The actor that comments: each event goes to the history and, if important enough, to the log.

use std::sync::Arc;

use actix::prelude::*;
use haptic_model::{ActiveConfig, Event};
use haptic_runtime::{CellReader, Envelope, Seat};

use crate::{
    commentary::{Commentary, Level, Line},
    history::History,
    settings::Settings,
};

/// Comments on every event it receives.
#[derive(Debug)]
pub struct CommentatorActor {
    seat: Seat<Self>,
    config: CellReader<Option<Arc<ActiveConfig>>>,
    history: History,
    commentary: Commentary,
}

impl CommentatorActor {
    /// An actor that keeps events in `history` and takes its settings from the configuration in force.
    #[must_use]
    pub fn new(seat: Seat<Self>, config: CellReader<Option<Arc<ActiveConfig>>>, history: History) -> Self {
        Self { seat, config, history, commentary: Commentary::new() }
    }
}

impl Actor for CommentatorActor {
    type Context = Context<Self>;
}

impl Supervised for CommentatorActor {
    fn restarting(&mut self, _: &mut Self::Context) {
        *self = self.seat.rebuild();
    }
}

impl Handler<Envelope<Event>> for CommentatorActor {
    type Result = ();

    fn handle(&mut self, event: Envelope<Event>, context: &mut Self::Context) {
        self.seat.received::<Envelope<Event>>(context);
        if event.payload.is_figure() {
            return;
        }
        let settings = Settings::of(self.config.read().as_ref().as_ref().map(AsRef::as_ref));
        let line = self.commentary.tell(&event.payload);
        self.history.keep(&event.payload, &line, settings.buffer_size);
        if settings.enabled && line.level >= settings.level {
            event.span.in_scope(|| log(&event.payload, &line));
        }
    }
}

/// tracing takes levels as constants only.
fn log(event: &Event, line: &Line) {
    let kind = event.kind();
    let generation = event.generation().map(|generation| generation.0);
    let object = line.object.as_deref();
    let text = &line.text;
    match line.level {
        Level::Trace => tracing::trace!(kind, generation, object, "{text}"),
        Level::Debug => tracing::debug!(kind, generation, object, "{text}"),
        Level::Info => tracing::info!(kind, generation, object, "{text}"),
        Level::Warn => tracing::warn!(kind, generation, object, "{text}"),
        Level::Error => tracing::error!(kind, generation, object, "{text}"),
    }
}

#[cfg(test)]
mod tests;
