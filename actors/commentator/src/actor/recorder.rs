//! The actor that remembers what generations were made from.

use std::{sync::Arc, time::SystemTime};

use actix::prelude::*;
use haptic_model::{ActiveConfig, Event, pipeline::Attempts};
use haptic_runtime::{CellReader, Envelope, Seat};

use crate::recording::{Recording, wanted};

/// Keeps what each render was made from.
#[derive(Debug)]
pub struct RecorderActor {
    seat: Seat<Self>,
    recorded: Recorded,
}

/// What the recorder looks at, and where it keeps it; the same for each of its lives.
#[derive(Clone, Debug)]
pub struct Recorded {
    /// What the last renders were made from.
    pub attempted: CellReader<Attempts>,
    /// How many generations are kept is in the configuration in force.
    pub config: CellReader<Option<Arc<ActiveConfig>>>,
    /// Where they are kept.
    pub recording: Recording,
}

impl RecorderActor {
    /// An actor that has seen nothing yet.
    #[must_use]
    pub fn new(seat: Seat<Self>, recorded: Recorded) -> Self {
        Self { seat, recorded }
    }
}

impl Actor for RecorderActor {
    type Context = Context<Self>;
}

impl Supervised for RecorderActor {
    fn restarting(&mut self, _: &mut Self::Context) {
        *self = self.seat.rebuild();
    }
}

impl Handler<Envelope<Event>> for RecorderActor {
    type Result = ();

    fn handle(&mut self, _: Envelope<Event>, context: &mut Self::Context) {
        self.seat.received::<Envelope<Event>>(context);
        // Whatever happened: the event that told of a render may be among those that were lost.
        let size = wanted(self.recorded.config.read().as_ref().as_ref().map(AsRef::as_ref));
        for attempt in &*self.recorded.attempted.read() {
            self.recorded.recording.keep(attempt, SystemTime::now(), size);
        }
    }
}
