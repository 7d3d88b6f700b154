//! The actor that turns events into spans and hands them on.

use std::{
    fmt,
    sync::Arc,
    time::{Duration, SystemTime},
};

use actix::prelude::*;
use haptic_model::{Event, Fleet};
use haptic_runtime::{CellReader, Envelope, Seat};

use crate::traces::{Span, Traces};

/// How often traces that nothing is heard of are looked for.
const SWEEP: Duration = Duration::from_secs(5);

/// Where finished spans go; it must not wait.
pub type SpanSink = Arc<dyn Fn(Vec<Span>) + Send + Sync>;

/// Makes a trace of each generation.
pub struct TracesActor {
    seat: Seat<Self>,
    fleet: CellReader<Fleet>,
    sink: SpanSink,
    traces: Traces,
}

impl TracesActor {
    /// An actor that has heard nothing yet.
    #[must_use]
    pub fn new(seat: Seat<Self>, fleet: CellReader<Fleet>, sink: SpanSink) -> Self {
        Self { seat, fleet, sink, traces: Traces::new() }
    }

    fn hand_on(&self, spans: Vec<Span>) {
        if !spans.is_empty() {
            (self.sink)(spans);
        }
    }
}

impl fmt::Debug for TracesActor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TracesActor").field("traces", &self.traces).finish_non_exhaustive()
    }
}

impl Actor for TracesActor {
    type Context = Context<Self>;

    fn started(&mut self, context: &mut Self::Context) {
        context.run_interval(SWEEP, |actor, _| {
            let spans = actor.traces.sweep(SystemTime::now());
            actor.hand_on(spans);
        });
    }

    fn stopped(&mut self, _: &mut Self::Context) {
        let spans = self.traces.finish();
        self.hand_on(spans);
    }
}

impl Supervised for TracesActor {
    fn restarting(&mut self, _: &mut Self::Context) {
        *self = self.seat.rebuild();
    }
}

impl Handler<Envelope<Event>> for TracesActor {
    type Result = ();

    fn handle(&mut self, event: Envelope<Event>, context: &mut Self::Context) {
        self.seat.received::<Envelope<Event>>(context);
        let now = SystemTime::now();
        let told = now.checked_sub(event.waited()).unwrap_or(now);
        let spans = self.traces.hear(&event.payload, told, &self.fleet.read());
        self.hand_on(spans);
    }
}
