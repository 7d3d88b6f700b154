//! The observers: everything that happens is an event, and they receive it. Nothing waits for them.

use super::{
    leading::BeforeLeading,
    supervision::{keep, unobserved},
    topics::Edges,
};
use crate::logging::{LogLevel, LogLevelActor};
use actix::ArbiterHandle;
use haptic_commentator::{
    CommentatorActor, MetricsActor, Observed, Recorded, RecorderActor, SpanSink, TracesActor, Upkeep,
};
use haptic_inspect::Readers;
use haptic_leader::{GatewayReporting, Reporting};
use haptic_model::Event;
use haptic_runtime::{ActorHandle, Envelope, Events, Losses, Mailbox, Observer, Publisher, Spec};

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
    arbiter: &ArbiterHandle,
    readers: &Readers,
    edges: &Edges,
    sinks: Sinks,
    reporter: Option<Mailbox<Envelope<Event>>>,
) -> Events {
    let supervision = unobserved(&readers.actors);
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
    let commentator =
        keep(arbiter, "commentator", &supervision, move |own| CommentatorActor::new(own, observed.clone()));
    Spec::named("log-level")
        .subscribes(&readers.config)
        .start(arbiter, &supervision, move |own| LogLevelActor::new(own, log_level.clone()));
    let metrics = keep(arbiter, "metrics", &supervision, move |own| MetricsActor::new(own, upkeep.clone()));
    let traces = traces.map(|sink| {
        let actor = move |own| TracesActor::new(own, fleet.clone(), sink.clone());
        keep(arbiter, "traces", &supervision, actor).mailbox()
    });
    let recorder =
        keep(arbiter, "recorder", &supervision, move |own| RecorderActor::new(own, recorded.clone()));
    let others = [Some(metrics.mailbox()), Some(recorder.mailbox()), traces, reporter]
        .into_iter()
        .flatten()
        .map(Observer::from);
    let all = std::iter::once(Observer::new(commentator.mailbox(), losses)).chain(others);
    Events::new(BACKLOG, all.collect())
}

/// The one that reports to the API server, where there is one.
pub(super) fn reporter(
    arbiter: &ArbiterHandle,
    readers: &Readers,
    edges: &Edges,
    beginning: &BeforeLeading,
    reporting: Publisher<Reporting>,
) -> Option<Mailbox<Envelope<Event>>> {
    let reporter = beginning.reporter(readers, edges, reporting, arbiter, &unobserved(&readers.actors));
    reporter.as_ref().map(ActorHandle::mailbox)
}

/// The one that writes statuses of the Gateway API, where there is an API server.
pub(super) fn gateway_status(
    arbiter: &ArbiterHandle,
    readers: &Readers,
    edges: &Edges,
    beginning: &BeforeLeading,
    reporting: Publisher<GatewayReporting>,
) {
    beginning.gateway_status(readers, edges, reporting, arbiter, &unobserved(&readers.actors));
}
