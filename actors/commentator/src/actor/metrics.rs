//! The actor that turns events into metrics.

use actix::prelude::*;
use haptic_model::Event;
use haptic_runtime::{Envelope, OwnHandle};
use std::{sync::Arc, time::Duration};

use crate::metrics::{MetricsRecorder, waited};

/// How often histograms are folded; without it they grow without bound.
const UPKEEP: Duration = Duration::from_secs(5);

/// Folds the histograms of the installed recorder.
pub type Upkeep = Arc<dyn Fn() + Send + Sync>;

/// Records every event it receives.
pub struct MetricsActor {
    own: OwnHandle<Self>,
    recorder: MetricsRecorder,
    upkeep: Option<Upkeep>,
}

impl MetricsActor {
    /// An actor that has recorded nothing; counters live in the installed recorder and go on.
    #[must_use]
    pub fn new(own: OwnHandle<Self>, upkeep: Option<Upkeep>) -> Self {
        Self { own, recorder: MetricsRecorder::new(), upkeep }
    }
}

impl Actor for MetricsActor {
    type Context = Context<Self>;

    fn started(&mut self, context: &mut Self::Context) {
        if let Some(upkeep) = self.upkeep.clone() {
            context.run_interval(UPKEEP, move |_, _| upkeep());
        }
    }
}

haptic_runtime::rebuilt!(MetricsActor);

impl Handler<Envelope<Event>> for MetricsActor {
    type Result = ();

    fn handle(&mut self, event: Envelope<Event>, context: &mut Self::Context) {
        self.own.received::<Envelope<Event>>(context);
        waited("observe", event.waited());
        self.recorder.record(&event.payload);
    }
}
