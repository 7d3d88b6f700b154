//! Events as metrics. Names are a promise to dashboards and alerts; [`METRICS`] lists them all.
//!
//! Everything is recorded through the `metrics` facade; who exports it is the binary's business. No label takes its
//! values from users' data without a limit.

pub mod table;

pub use table::{Label, LabelValues, METRICS, Metric, MetricType, as_markdown, describe};

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};

use haptic_model::{Event, Findings, Generation, Limit};
use haptic_runtime::{ActorState, Events};
use metrics::{counter, gauge, histogram};

/// Templates that get a label of their own among those with untracked blocks; the rest are `other`.
const TEMPLATES: usize = 64;
/// Generations that may be between render and validation.
const IN_FLIGHT: usize = 64;

/// What must be remembered between events.
#[derive(Clone, Debug, Default)]
pub(crate) struct MetricsRecorder {
    /// What each generation's render took, until its validation ends.
    rendered: BTreeMap<Generation, Duration>,
    /// Templates that have had uncacheable blocks.
    uncacheable: BTreeSet<String>,
}

impl MetricsRecorder {
    /// Nothing recorded yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Records one event.
    pub fn record(&mut self, event: &Event) {
        match event {
            Event::ReconcileStarted { .. } => counter!(table::RECONCILIATION_TOTAL.name).increment(1),
            Event::Rendered { generation, took, kept, printed, uncacheable, .. } => {
                self.rendered(*generation, *took);
                counter!(table::RENDER_BLOCKS_TOTAL.name, "result" => "kept").increment(*kept as u64);
                counter!(table::RENDER_BLOCKS_TOTAL.name, "result" => "printed").increment(*printed as u64);
                self.uncacheable(uncacheable);
            }
            Event::RenderDiffered { .. } => counter!(table::RENDER_DIFFERENCES_TOTAL.name).increment(1),
            Event::RenderFailed { diagnostics, .. } => {
                counter!(table::RECONCILIATION_ERRORS_TOTAL.name).increment(1);
                diagnostics.iter().filter_map(Limit::passed).for_each(limit_reached);
            }
            Event::QuarantineChanged { entered, .. } => {
                entered.iter().filter_map(|entered| Limit::passed(&entered.why)).for_each(limit_reached);
                counter!(table::QUARANTINES_TOTAL.name)
                    .increment(u64::try_from(entered.len()).unwrap_or(u64::MAX));
            }
            Event::Validated { generation, took, .. } => self.validated(*generation, *took),
            Event::ValidationFailed { generation, took, .. } => {
                self.validated(*generation, *took);
                counter!(table::VALIDATION_ERRORS_TOTAL.name).increment(1);
                counter!(table::RECONCILIATION_ERRORS_TOTAL.name).increment(1);
            }
            Event::Deployed { reload_kind, took, lag, .. } => deployed(*reload_kind, *took, *lag),
            Event::TakenBack { .. } => counter!(table::GENERATIONS_TAKEN_BACK_TOTAL.name).increment(1),
            Event::DriftFound { .. } => counter!(table::DRIFT_TOTAL.name).increment(1),
            Event::DeployFailed { .. } => {
                counter!(table::DEPLOYMENT_TOTAL.name).increment(1);
                counter!(table::DEPLOYMENT_ERRORS_TOTAL.name).increment(1);
            }
            Event::ActorRestarted { actor, .. } => restarted(actor),
            Event::Timed { part, took, .. } => stage(part.name(), *took),
            Event::Planned { kind, took, .. } => {
                stage("plan", *took);
                counter!(table::PLANS_TOTAL.name, "kind" => *kind).increment(1);
            }
            Event::Waited { stage, took } => waited(stage.name(), *took),
            Event::ConfigAccepted { .. } => counter!(table::CONFIG_ACCEPTED_TOTAL.name).increment(1),
            Event::ConfigRejected { .. } => counter!(table::CONFIG_REJECTED_TOTAL.name).increment(1),
            Event::WatchFailed { resource, .. } => {
                counter!(table::WATCH_ERRORS_TOTAL.name, "type" => resource.to_string()).increment(1);
            }
            Event::MassDeletionHeld { missing } => held_deletions(&missing.resource, missing.missing),
            Event::MassDeletionEnded { resource, .. } => held_deletions(resource, 0),
            Event::LimitReached { reached } => limit_reached(reached.limit()),
            Event::LeftOut { resource, counts } => {
                for (limit, count) in counts {
                    let labels = [("type", resource.to_string()), ("limit", limit.name().to_owned())];
                    gauge!(table::LEFT_OUT_OBJECTS.name, &labels).set(as_number(*count));
                }
            }
            Event::ObjectMalformed { .. } => counter!(table::MALFORMED_OBJECTS_TOTAL.name).increment(1),
            Event::ElectionTroubled { why: Some(_), .. } => {
                counter!(table::LEASE_ERRORS_TOTAL.name).increment(1);
            }
            Event::Kept { by, bytes } => {
                gauge!(table::KEPT_BYTES.name, "by" => by.name()).set(as_number(*bytes))
            }
            Event::LeadershipChanged { .. } => counter!(table::LEADER_TRANSITIONS_TOTAL.name).increment(1),
            _ => {}
        }
    }

    fn rendered(&mut self, generation: Generation, took: Duration) {
        stage("render", took);
        self.rendered.insert(generation, took);
        while self.rendered.len() > IN_FLIGHT {
            self.rendered.pop_first();
        }
    }

    /// A template that has no such blocks any more is shown with 0.
    fn uncacheable(&mut self, blocks: &BTreeMap<Arc<str>, usize>) {
        let mut counts: BTreeMap<String, usize> = self.uncacheable.iter().map(|t| (t.clone(), 0)).collect();
        for (template, count) in blocks {
            let known = counts.contains_key(&**template) || counts.len() < TEMPLATES;
            *counts.entry(if known { template.to_string() } else { "other".to_owned() }).or_default() +=
                count;
        }
        for (template, count) in &counts {
            gauge!(table::RENDER_UNTRACKED_BLOCKS.name, "template" => template.clone())
                .set(as_number(*count));
        }
        self.uncacheable = counts.into_keys().collect();
    }

    fn validated(&mut self, generation: Generation, took: Duration) {
        stage("validate", took);
        counter!(table::VALIDATION_TOTAL.name).increment(1);
        if let Some(render) = self.rendered.remove(&generation) {
            histogram!(table::RECONCILIATION_DURATION_SECONDS.name).record(render + took);
        }
    }
}

fn deployed(reload: Option<&'static str>, took: Duration, lag: Option<Duration>) {
    stage("deploy", took);
    counter!(table::DEPLOYMENT_TOTAL.name).increment(1);
    histogram!(table::DEPLOYMENT_DURATION_SECONDS.name).record(took);
    if let Some(lag) = lag {
        histogram!(table::CONVERGENCE_LAG_SECONDS.name).record(lag);
    }
    if let Some(reason) = reload {
        counter!(table::RELOADS_TOTAL.name, "reason" => reason).increment(1);
    }
}

/// Counts the restart of an actor; observers, whom nobody tells of their own, call it themselves.
pub fn restarted(actor: &str) {
    counter!(table::ACTOR_RESTARTS_TOTAL.name, "actor" => stage_of(actor)).increment(1);
}

/// Records for how long something waited until `stage` began with it.
pub(crate) fn waited(stage: &'static str, took: Duration) {
    histogram!(table::QUEUE_WAIT_SECONDS.name, "stage" => stage).record(took);
}

fn limit_reached(limit: Limit) {
    counter!(table::LIMITS_REACHED_TOTAL.name, "limit" => limit.name()).increment(1);
}

/// Resources are named by the configuration.
fn held_deletions(resource: &str, objects: usize) {
    gauge!(table::HELD_DELETIONS.name, "type" => resource.to_owned()).set(as_number(objects));
}

/// An actor's name without the pod or resource it works for: pods come and go, series would only come.
fn stage_of(actor: &str) -> String {
    actor.split([' ', '/']).next().unwrap_or(actor).to_owned()
}

/// What is the case, from the topics: events of it may be lost.
#[derive(Clone, Copy, Debug)]
pub struct Now<'n> {
    /// Whose counters are read.
    pub events: &'n Events,
    /// Whose queues are.
    pub actors: &'n [ActorState],
    /// Whether this replica leads.
    pub leads: bool,
    /// How many objects are held back.
    pub held_back: usize,
    /// What is found at objects.
    pub findings: &'n Findings,
}

/// Records what is the case: call it at each scrape.
pub fn record_now(now: &Now<'_>) {
    let Now { events, actors, leads, held_back, findings } = *now;
    gauge!(table::LEADER.name).set(f64::from(u8::from(leads)));
    gauge!(table::QUARANTINED_OBJECTS.name).set(as_number(held_back));
    for (kind, count) in findings.counts() {
        gauge!(table::FINDINGS.name, "kind" => kind.name()).set(as_number(count));
    }
    gauge!(table::BUILD_INFO.name, "version" => env!("CARGO_PKG_VERSION")).set(1.0);
    gauge!(table::EVENT_SUBSCRIBERS.name).set(as_number(events.observers()));
    counter!(table::EVENTS_PUBLISHED_TOTAL.name).absolute(events.emitted());
    for (observer, lost) in events.losses() {
        counter!(table::EVENTS_DROPPED_TOTAL.name, "observer" => observer.to_owned()).absolute(lost);
    }
    let mut deepest: BTreeMap<String, usize> = BTreeMap::new();
    for actor in actors {
        let depth = deepest.entry(stage_of(&actor.name)).or_default();
        *depth = actor.mailbox.max(*depth);
    }
    for (actor, depth) in deepest {
        gauge!(table::MAILBOX_DEPTH.name, "actor" => actor).set(as_number(depth));
    }
}

/// What [`PodLag`] shows is not recorded but written at each scrape: the series of a pod ends with the pod.
pub type PodLag = (String, Duration);

/// The lag of each pod's newest generation, in Prometheus' text format.
#[must_use]
pub fn pod_lags(pods: impl IntoIterator<Item = PodLag>) -> String {
    written(&table::POD_CONVERGENCE_LAG_SECONDS, pods.into_iter().map(|(pod, lag)| (pod, lag.as_secs_f64())))
}

/// How many objects there are of each watched resource, the same way: the series of a resource ends with its watch.
#[must_use]
pub fn store_sizes(stores: impl IntoIterator<Item = (String, usize)>) -> String {
    written(&table::RESOURCE_COUNT, stores.into_iter().map(|(name, count)| (name, as_number(count))))
}

/// A gauge with one label, in Prometheus' text format.
fn written(metric: &Metric, series: impl Iterator<Item = (String, f64)>) -> String {
    let Metric { name, help, labels, .. } = metric;
    let label = labels.first().map_or("", |label| label.name);
    let mut text = format!("# HELP {name} {help}\n# TYPE {name} gauge\n");
    for (of, value) in series {
        text.push_str(&format!("{name}{{{label}={of:?}}} {value}\n"));
    }
    text
}

fn stage(name: &'static str, took: Duration) {
    histogram!(table::STAGE_DURATION_SECONDS.name, "stage" => name).record(took);
}

/// Counts of objects are far below 2^53, where `f64` would lose them.
#[allow(clippy::cast_precision_loss, reason = "counts stay far below 2^53")]
fn as_number(count: usize) -> f64 {
    count as f64
}

#[cfg(test)]
mod tests;
