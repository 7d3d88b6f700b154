//! The observers: everything that happens is an event, and they receive it. Nothing waits for them.

use super::started::Started;
use crate::logging::{LogLevel, LogLevelActor};
use haptic_commentator::{
    CommentatorActor, MetricsActor, Observed, Recorded, RecorderActor, SpanSink, TracesActor, Upkeep,
};
use haptic_model::Event;
use haptic_runtime::{Envelope, Events, Losses, Mailbox, Observer, Spec};

/// Events each observer may lag behind before it loses some.
const BACKLOG: usize = 4096;

/// Where what observers tell goes.
pub(super) struct Sinks {
    pub log_level: LogLevel,
    pub upkeep: Option<Upkeep>,
    pub traces: Option<SpanSink>,
}

/// Starts all of them; `reporter` is the one that there is in a cluster.
pub(super) fn start(
    started: &Started<'_>,
    sinks: Sinks,
    reporter: Option<Mailbox<Envelope<Event>>>,
) -> Events {
    let Started { readers, edges, .. } = started;
    let Sinks { log_level, upkeep, traces } = sinks;
    let observed = Observed {
        config: readers.config.clone(),
        fleet: readers.fleet.clone(),
        forced_level: log_level.forced(),
        level_of_environment: log_level.of_environment(),
        history: readers.history.clone(),
        losses: Losses::default(),
    };
    let recorded = Recorded {
        attempted: edges.attempted.clone(),
        config: readers.config.clone(),
        recording: readers.recording.clone(),
    };
    let (losses, fleet) = (observed.losses.clone(), readers.fleet.clone());
    let commentator = started.keep("commentator", move |own| CommentatorActor::new(own, observed.clone()));
    Spec::named("log-level").subscribes(&readers.config).start(
        started.arbiter,
        started.supervision,
        move |own| LogLevelActor::new(own, log_level.clone()),
    );
    let metrics = started.keep("metrics", move |own| MetricsActor::new(own, upkeep.clone()));
    let traces = traces.map(|sink| {
        let actor = move |own| TracesActor::new(own, fleet.clone(), sink.clone());
        started.keep("traces", actor).mailbox()
    });
    let recorder = started.keep("recorder", move |own| RecorderActor::new(own, recorded.clone()));
    let others = [Some(metrics.mailbox()), Some(recorder.mailbox()), traces, reporter]
        .into_iter()
        .flatten()
        .map(Observer::from);
    let all = std::iter::once(Observer::new(commentator.mailbox(), losses)).chain(others);
    Events::new(BACKLOG, all.collect())
}
