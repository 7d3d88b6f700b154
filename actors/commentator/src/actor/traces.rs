//! The actor that turns events into spans and hands them on.

use std::{
    fmt,
    sync::Arc,
    time::{Duration, SystemTime},
};

use actix::prelude::*;
use haptic_model::{Event, Fleet};
use haptic_runtime::{Envelope, OwnHandle, Topic};

use crate::traces::{Span, Traces};

/// How often traces that nothing is heard of are looked for.
const SWEEP: Duration = Duration::from_secs(5);

/// Where finished spans go; it must not wait.
pub type SpanSink = Arc<dyn Fn(Vec<Span>) + Send + Sync>;

/// Makes a trace of each generation.
pub struct TracesActor {
    own: OwnHandle<Self>,
    fleet: Topic<Fleet>,
    sink: SpanSink,
    traces: Traces,
}

impl TracesActor {
    /// An actor that has heard nothing yet.
    #[must_use]
    pub fn new(own: OwnHandle<Self>, fleet: Topic<Fleet>, sink: SpanSink) -> Self {
        Self { own, fleet, sink, traces: Traces::new() }
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

haptic_runtime::rebuilt!(TracesActor);

impl Handler<Envelope<Event>> for TracesActor {
    type Result = ();

    fn handle(&mut self, event: Envelope<Event>, context: &mut Self::Context) {
        self.own.received::<Envelope<Event>>(context);
        let now = SystemTime::now();
        let emitted = now.checked_sub(event.waited()).unwrap_or(now);
        let spans = self.traces.receive(&event.payload, emitted, &self.fleet.latest());
        self.hand_on(spans);
    }
}
