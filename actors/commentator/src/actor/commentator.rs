//! The actor that comments: each event goes to the history and, if important enough, to the log.

use std::{sync::Arc, time::Instant};

use actix::prelude::*;
use haptic_model::{ActiveConfig, Event, Fleet};
use haptic_runtime::{Envelope, Losses, OwnHandle, Topic};

use crate::{
    event_log::{self, EventContext, EventLog, LogLine, MessageLevel},
    history::History,
    settings::ObserverSettings,
};

/// Comments on every event it receives.
#[derive(Debug)]
pub struct CommentatorActor {
    own: OwnHandle<Self>,
    observed: Observed,
    event_log: EventLog,
}

/// What the commentator looks at, and where it keeps what it says; the same for each of its lives.
#[derive(Clone, Debug)]
pub struct Observed {
    /// Its settings are those of the configuration in force.
    pub config: Topic<Option<Arc<ActiveConfig>>>,
    /// The pods.
    pub fleet: Topic<Fleet>,
    /// The level that somebody wants in place of the configured one.
    pub forced_level: Topic<Option<MessageLevel>>,
    /// The level of a configuration that asks for none.
    pub level_of_environment: MessageLevel,
    /// Where every event is kept.
    pub history: History,
    /// How many events it was too slow for.
    pub losses: Losses,
}

impl CommentatorActor {
    /// An actor that has heard nothing yet.
    #[must_use]
    pub fn new(own: OwnHandle<Self>, observed: Observed) -> Self {
        Self { own, observed, event_log: EventLog::new() }
    }

    fn settings(&self) -> ObserverSettings {
        let config = self.observed.config.latest();
        ObserverSettings::of(config.as_ref().as_ref().map(AsRef::as_ref), self.observed.level_of_environment)
    }

    fn comment(&mut self, event: &Event) {
        let settings = self.settings();
        let fleet = self.observed.fleet.latest();
        let context = EventContext { now: Instant::now(), fleet: &fleet, remembered: settings.buffer_size };
        let line = self.event_log.format(event, &context);
        self.observed.history.keep(event, &line, settings.buffer_size);
        let forced = *self.observed.forced_level.latest();
        let wanted = settings.traced || (settings.enabled && line.level >= settings.level);
        if forced.map_or(wanted, |forced| line.level >= forced) {
            log(event, &line);
        }
    }

    /// A figure is nothing to remember; whoever follows every step sees it.
    fn trace(&self, figure: &Event) {
        let forced = *self.observed.forced_level.latest();
        if forced.map_or_else(|| self.settings().traced, |forced| forced == MessageLevel::Trace) {
            log(figure, &event_log::figure(figure));
        }
    }

    /// The place in the story where events are missing.
    fn emit_losses(&mut self, before: &Envelope<Event>) {
        let events = self.observed.losses.take_before(before.sent);
        if events > 0 {
            self.comment(&Event::EventsLost { events });
        }
    }
}

haptic_runtime::supervised!(CommentatorActor);

impl Handler<Envelope<Event>> for CommentatorActor {
    type Result = ();

    fn handle(&mut self, event: Envelope<Event>, context: &mut Self::Context) {
        self.own.received::<Envelope<Event>>(context);
        if event.payload.is_figure() {
            return self.trace(&event.payload);
        }
        self.emit_losses(&event);
        event.span.in_scope(|| self.comment(&event.payload));
    }
}

/// tracing takes levels as constants only.
fn log(event: &Event, line: &LogLine) {
    let kind = event.kind();
    let generation = event.generation().map(|generation| generation.0);
    let object = line.object.as_deref();
    let text = &line.text;
    match line.level {
        MessageLevel::Trace => tracing::trace!(kind, generation, object, "{text}"),
        MessageLevel::Debug => tracing::debug!(kind, generation, object, "{text}"),
        MessageLevel::Info => tracing::info!(kind, generation, object, "{text}"),
        MessageLevel::Warn => tracing::warn!(kind, generation, object, "{text}"),
        MessageLevel::Error => tracing::error!(kind, generation, object, "{text}"),
    }
}

#[cfg(test)]
mod tests;
