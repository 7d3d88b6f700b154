//! The actor that remembers what generations were made from.

use std::{sync::Arc, time::SystemTime};

use actix::prelude::*;
use haptic_model::{ActiveConfig, Event, pipeline::Attempts};
use haptic_runtime::{Envelope, OwnHandle, Topic};

use crate::recording::{Recording, wanted};

/// Keeps what each render was made from.
#[derive(Debug)]
pub struct RecorderActor {
    own: OwnHandle<Self>,
    recorded: Recorded,
}

/// What the recorder looks at, and where it keeps it; the same for each of its lives.
#[derive(Clone, Debug)]
pub struct Recorded {
    /// What the last renders were made from.
    pub attempted: Topic<Attempts>,
    /// How many generations are kept is in the configuration in force.
    pub config: Topic<Option<Arc<ActiveConfig>>>,
    /// Where they are kept.
    pub recording: Recording,
}

impl RecorderActor {
    /// An actor that has seen nothing yet.
    #[must_use]
    pub fn new(own: OwnHandle<Self>, recorded: Recorded) -> Self {
        Self { own, recorded }
    }
}

haptic_runtime::supervised!(RecorderActor);

impl Handler<Envelope<Event>> for RecorderActor {
    type Result = ();

    fn handle(&mut self, _: Envelope<Event>, context: &mut Self::Context) {
        self.own.received::<Envelope<Event>>(context);
        // Whatever happened: the event that told of a render may be among those that were lost.
        let size = wanted(self.recorded.config.latest().as_ref().as_ref().map(AsRef::as_ref));
        for attempt in &*self.recorded.attempted.latest() {
            self.recorded.recording.keep(attempt, SystemTime::now(), size);
        }
    }
}
