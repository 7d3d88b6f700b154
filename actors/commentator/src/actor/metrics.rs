//! The actor that turns events into metrics.

use actix::prelude::*;
use haptic_model::Event;
use haptic_runtime::{Envelope, Seat};

use crate::metrics::{Recorder, waited};

/// Records every event it receives.
#[derive(Debug)]
pub struct MetricsActor {
    seat: Seat<Self>,
    recorder: Recorder,
}

impl MetricsActor {
    /// An actor that has recorded nothing; counters live in the installed recorder and go on.
    #[must_use]
    pub fn new(seat: Seat<Self>) -> Self {
        Self { seat, recorder: Recorder::new() }
    }
}

impl Actor for MetricsActor {
    type Context = Context<Self>;
}

impl Supervised for MetricsActor {
    fn restarting(&mut self, _: &mut Self::Context) {
        *self = self.seat.rebuild();
    }
}

impl Handler<Envelope<Event>> for MetricsActor {
    type Result = ();

    fn handle(&mut self, event: Envelope<Event>, context: &mut Self::Context) {
        self.seat.received::<Envelope<Event>>(context);
        waited("observe", event.waited());
        self.recorder.record(&event.payload);
    }
}
