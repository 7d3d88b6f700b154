//! The actor that comments: each event goes to the history and, if important enough, to the log.

use std::{sync::Arc, time::Instant};

use actix::prelude::*;
use haptic_model::{ActiveConfig, Event, Fleet};
use haptic_runtime::{CellReader, Envelope, Losses, Seat};

use crate::{
    commentary::{self, Commentary, Level, Line, Moment},
    history::History,
    settings::Settings,
};

/// Comments on every event it receives.
#[derive(Debug)]
pub struct CommentatorActor {
    seat: Seat<Self>,
    observed: Observed,
    commentary: Commentary,
}

/// What the commentator looks at, and where it keeps what it says; the same for each of its lives.
#[derive(Clone, Debug)]
pub struct Observed {
    /// Its settings are those of the configuration in force.
    pub config: CellReader<Option<Arc<ActiveConfig>>>,
    /// The pods.
    pub fleet: CellReader<Fleet>,
    /// The level that somebody wants in place of the configured one.
    pub forced_level: CellReader<Option<Level>>,
    /// Where every event is kept.
    pub history: History,
    /// How many events it was too slow for.
    pub losses: Losses,
}

impl CommentatorActor {
    /// An actor that has heard nothing yet.
    #[must_use]
    pub fn new(seat: Seat<Self>, observed: Observed) -> Self {
        Self { seat, observed, commentary: Commentary::new() }
    }

    fn comment(&mut self, event: &Event) {
        let settings = Settings::of(self.observed.config.read().as_ref().as_ref().map(AsRef::as_ref));
        let fleet = self.observed.fleet.read();
        let moment = Moment { now: Instant::now(), fleet: &fleet, remembered: settings.buffer_size };
        let line = self.commentary.tell(event, &moment);
        self.observed.history.keep(event, &line, settings.buffer_size);
        let forced = *self.observed.forced_level.read();
        let wanted = settings.traced || (settings.enabled && line.level >= settings.level);
        if forced.map_or(wanted, |forced| line.level >= forced) {
            log(event, &line);
        }
    }

    /// A figure is nothing to remember; whoever follows every step sees it.
    fn trace(&self, figure: &Event) {
        let forced = *self.observed.forced_level.read();
        let traced = || Settings::of(self.observed.config.read().as_ref().as_ref().map(AsRef::as_ref)).traced;
        if forced.map_or_else(traced, |forced| forced == Level::Trace) {
            log(figure, &commentary::figure(figure));
        }
    }

    /// The place in the story where events are missing.
    fn tell_losses(&mut self, before: &Envelope<Event>) {
        let events = self.observed.losses.take_before(before.sent);
        if events > 0 {
            self.comment(&Event::EventsLost { events });
        }
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
            return self.trace(&event.payload);
        }
        self.tell_losses(&event);
        event.span.in_scope(|| self.comment(&event.payload));
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
