//! Events as metrics. Names are a promise to dashboards and alerts; [`describe`] lists them all.
//!
//! Everything is recorded through the `metrics` facade; who exports it is the binary's business. No label takes its
//! values from users' data without a limit.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};

use haptic_model::{Event, Generation};
use haptic_runtime::Events;
use metrics::{Unit, counter, describe_counter, describe_gauge, describe_histogram, gauge, histogram};

/// Distinct reload reasons that get a label of their own; later ones count as `other`.
const REASONS: usize = 32;
/// Templates that get a label of their own among those with untracked blocks; the rest are `other`.
const TEMPLATES: usize = 64;
/// Generations that may be between render and validation.
const IN_FLIGHT: usize = 64;

/// What must be remembered between events.
#[derive(Clone, Debug, Default)]
pub struct Recorder {
    /// What each generation's render took, until its validation ends.
    rendered: BTreeMap<Generation, Duration>,
    reasons: BTreeSet<String>,
    /// Templates that have had untracked blocks.
    untracked: BTreeSet<String>,
}

impl Recorder {
    /// Nothing recorded yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Records one event.
    pub fn record(&mut self, event: &Event) {
        match event {
            Event::ReconcileStarted { .. } => counter!("haptic_reconciliation_total").increment(1),
            Event::Rendered { generation, took, untracked, .. } => {
                self.rendered(*generation, *took);
                self.untracked(untracked);
            }
            Event::RenderDiffered { .. } => counter!("haptic_render_differences_total").increment(1),
            Event::RenderFailed { .. } => counter!("haptic_reconciliation_errors_total").increment(1),
            Event::QuarantineChanged { entered, held, .. } => {
                counter!("haptic_quarantines_total")
                    .increment(u64::try_from(entered.len()).unwrap_or(u64::MAX));
                gauge!("haptic_quarantined_objects").set(as_number(*held));
            }
            Event::Validated { generation, took, .. } => self.validated(*generation, *took),
            Event::ValidationFailed { generation, took, .. } => {
                self.validated(*generation, *took);
                counter!("haptic_validation_errors_total").increment(1);
                counter!("haptic_reconciliation_errors_total").increment(1);
            }
            Event::Deployed { reload, took, lag, .. } => {
                self.deployed(reload.as_deref(), *took, *lag);
            }
            Event::TakenBack { .. } => counter!("haptic_generations_taken_back_total").increment(1),
            Event::DriftFound { .. } => counter!("haptic_drift_total").increment(1),
            Event::DeployFailed { .. } => {
                counter!("haptic_deployment_total").increment(1);
                counter!("haptic_deployment_errors_total").increment(1);
            }
            Event::StoreSynced { resource, objects } | Event::StoreSize { resource, objects } => {
                gauge!("haptic_resource_count", "type" => resource.to_string()).set(as_number(*objects));
            }
            Event::ActorRestarted { actor, .. } => {
                counter!("haptic_actor_restarts_total", "actor" => stage_of(actor)).increment(1);
            }
            Event::Timed { part, took } => stage(part, *took),
            Event::Kept { by, bytes } => gauge!("haptic_kept_bytes", "by" => *by).set(as_number(*bytes)),
            Event::LeadershipChanged { leads } => gauge!("haptic_leader").set(f64::from(u8::from(*leads))),
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
    fn untracked(&mut self, blocks: &BTreeMap<Arc<str>, usize>) {
        let mut counts: BTreeMap<String, usize> = self.untracked.iter().map(|t| (t.clone(), 0)).collect();
        for (template, count) in blocks {
            let known = counts.contains_key(&**template) || counts.len() < TEMPLATES;
            *counts.entry(if known { template.to_string() } else { "other".to_owned() }).or_default() +=
                count;
        }
        for (template, count) in &counts {
            gauge!("haptic_render_untracked_blocks", "template" => template.clone()).set(as_number(*count));
        }
        self.untracked = counts.into_keys().collect();
    }

    fn validated(&mut self, generation: Generation, took: Duration) {
        stage("validate", took);
        counter!("haptic_validation_total").increment(1);
        if let Some(render) = self.rendered.remove(&generation) {
            histogram!("haptic_reconciliation_duration_seconds").record(render + took);
        }
    }

    fn deployed(&mut self, reload: Option<&str>, took: Duration, lag: Duration) {
        stage("deploy", took);
        counter!("haptic_deployment_total").increment(1);
        histogram!("haptic_deployment_duration_seconds").record(took);
        histogram!("haptic_convergence_lag_seconds").record(lag);
        if let Some(reason) = reload {
            counter!("haptic_reloads_total", "reason" => self.label_for(reason)).increment(1);
        }
    }

    /// Reasons may name objects; only the first few distinct ones become label values.
    fn label_for(&mut self, reason: &str) -> String {
        if self.reasons.len() < REASONS {
            self.reasons.insert(reason.to_owned());
        }
        if self.reasons.contains(reason) { reason.to_owned() } else { "other".to_owned() }
    }
}

/// An actor's name without the pod or resource it works for: pods come and go, series would only come.
fn stage_of(actor: &str) -> String {
    actor.split([' ', '/']).next().unwrap_or(actor).to_owned()
}

/// Records the state of the outbox itself; call it at each scrape.
pub fn record_outbox(events: &Events) {
    gauge!("haptic_event_subscribers").set(as_number(events.observers()));
    counter!("haptic_events_published_total").absolute(events.emitted());
    counter!("haptic_events_dropped_total").absolute(events.dropped());
}

/// What [`PodLag`] shows is not recorded but written at each scrape: the series of a pod ends with the pod.
pub type PodLag = (String, Duration);

/// The lag of each pod's newest generation, in Prometheus' text format.
#[must_use]
pub fn pod_lags(pods: impl IntoIterator<Item = PodLag>) -> String {
    const NAME: &str = "haptic_pod_convergence_lag_seconds";
    let mut text = format!(
        "# HELP {NAME} First change seen to acknowledgement, of each pod's newest generation\n# TYPE {NAME} gauge\n"
    );
    for (pod, lag) in pods {
        text.push_str(&format!("{NAME}{{pod={pod:?}}} {}\n", lag.as_secs_f64()));
    }
    text
}

/// Gives every metric its help text and unit. Call it once, after a recorder is installed.
pub fn describe() {
    describe_counter!("haptic_reconciliation_total", "Reconciles begun");
    describe_counter!("haptic_reconciliation_errors_total", "Reconciles whose render or validation failed");
    describe_histogram!(
        "haptic_reconciliation_duration_seconds",
        Unit::Seconds,
        "Render and validation of one generation"
    );
    describe_counter!("haptic_deployment_total", "Attempts to bring one pod to a generation");
    describe_counter!("haptic_deployment_errors_total", "Attempts that failed and are tried again");
    describe_histogram!(
        "haptic_deployment_duration_seconds",
        Unit::Seconds,
        "One pod, first call to acknowledgement"
    );
    describe_counter!("haptic_validation_total", "Bundles checked, including answers known from before");
    describe_counter!("haptic_validation_errors_total", "Bundles refused");
    describe_gauge!("haptic_resource_count", "Objects in the store of each watched resource");
    describe_gauge!("haptic_event_subscribers", "Observers of events");
    describe_counter!("haptic_events_published_total", "Events told to observers");
    describe_counter!("haptic_events_dropped_total", "Copies of events an observer had no room for");
    describe_gauge!(
        "haptic_render_untracked_blocks",
        "Blocks of objects that the last render could not keep, by template"
    );
    describe_counter!(
        "haptic_render_differences_total",
        "Incremental renders that were not the full one: a bug"
    );
    describe_counter!("haptic_reloads_total", "Reloads of HAProxy by reason, over all pods");
    describe_counter!("haptic_actor_restarts_total", "Restarts of actors after a failure");
    describe_histogram!(
        "haptic_stage_duration_seconds",
        Unit::Seconds,
        "Work of one stage on one generation, and of its parts: debounce, syntax, plan, agent"
    );
    describe_histogram!(
        "haptic_convergence_lag_seconds",
        Unit::Seconds,
        "First change seen to acknowledgement by one pod"
    );
    describe_gauge!(
        "haptic_kept_bytes",
        Unit::Bytes,
        "Memory that a stage spends to look only at what changed"
    );
    describe_counter!(
        "haptic_generations_taken_back_total",
        "Generations that were live and that HAProxy's checker refused, over all pods"
    );
    describe_gauge!(
        "haptic_quarantined_objects",
        "Objects that are held back at present, so that they do not stop the others"
    );
    describe_counter!(
        "haptic_quarantines_total",
        "Objects that were held back, or for another reason than before"
    );
    describe_counter!("haptic_drift_total", "Changes of pods by somebody else that were found");
    describe_gauge!("haptic_leader", "1 while this replica leads");
}

fn stage(name: &'static str, took: Duration) {
    histogram!("haptic_stage_duration_seconds", "stage" => name).record(took);
}

/// Counts of objects are far below 2^53, where `f64` would lose them.
#[allow(clippy::cast_precision_loss, reason = "counts stay far below 2^53")]
fn as_number(count: usize) -> f64 {
    count as f64
}

#[cfg(test)]
mod tests {
    use haptic_model::pipeline::Cause;
    use metrics_exporter_prometheus::PrometheusBuilder;

    use super::*;

    fn scrape(events: &[Event]) -> String {
        let exporter = PrometheusBuilder::new().build_recorder();
        metrics::with_local_recorder(&exporter, || {
            describe();
            let mut recorder = Recorder::new();
            events.iter().for_each(|event| recorder.record(event));
        });
        exporter.handle().render()
    }

    fn deployed(reload: Option<&str>) -> Event {
        Event::Deployed {
            generation: Generation(1),
            pod: "default/haproxy-0".into(),
            reload: reload.map(str::to_owned),
            operations: 1,
            files: 0,
            took: Duration::from_millis(40),
            lag: Duration::from_millis(90),
        }
    }

    fn has(scrape: &str, line: &str) {
        assert!(scrape.lines().any(|found| found == line), "no line `{line}` in\n{scrape}");
    }

    #[test]
    fn a_generation_is_counted_from_reconcile_to_pod() {
        let generation = Generation(1);
        let text = scrape(&[
            Event::ReconcileStarted { generation, cause: Cause::default() },
            Event::Rendered {
                generation,
                bytes: 9,
                files: 1,
                digest: haptic_model::Digest::of(b"x"),
                took: Duration::from_millis(500),
                untracked: BTreeMap::new(),
            },
            Event::Validated { generation, took: Duration::from_millis(250), cached: false },
            deployed(None),
            deployed(Some("a bind changed")),
        ]);
        has(&text, "haptic_reconciliation_total 1");
        has(&text, "haptic_reconciliation_duration_seconds_sum 0.75");
        has(&text, "haptic_validation_total 1");
        has(&text, "haptic_deployment_total 2");
        has(&text, "haptic_deployment_duration_seconds_count 2");
        has(&text, r#"haptic_reloads_total{reason="a bind changed"} 1"#);
        has(&text, r#"haptic_stage_duration_seconds_sum{stage="render"} 0.5"#);
        has(&text, r#"haptic_stage_duration_seconds_count{stage="deploy"} 2"#);
    }

    #[test]
    fn failures_count_as_attempts_and_as_errors() {
        let generation = Generation(1);
        let text = scrape(&[
            Event::RenderFailed { generation, diagnostics: Vec::new() },
            Event::ValidationFailed { generation, diagnostics: Vec::new(), took: Duration::ZERO },
            Event::DeployFailed {
                generation,
                pod: "default/haproxy-0".into(),
                message: "refused".into(),
                retry_in: Duration::from_secs(1),
            },
            Event::ActorRestarted {
                actor: "deploy default/haproxy-0".into(),
                reason: "boom".into(),
                restarts: 1,
            },
            Event::ActorRestarted { actor: "render".into(), reason: "boom".into(), restarts: 1 },
        ]);
        has(&text, "haptic_reconciliation_errors_total 2");
        has(&text, "haptic_validation_total 1");
        has(&text, "haptic_validation_errors_total 1");
        has(&text, "haptic_deployment_total 1");
        has(&text, "haptic_deployment_errors_total 1");
        has(&text, r#"haptic_actor_restarts_total{actor="deploy"} 1"#);
        has(&text, r#"haptic_actor_restarts_total{actor="render"} 1"#);
    }

    #[test]
    fn a_store_is_shown_at_its_latest_size() {
        let size = |objects| Event::StoreSize { resource: "ingresses".into(), objects };
        has(&scrape(&[size(3), size(7), size(5)]), r#"haptic_resource_count{type="ingresses"} 5"#);
    }

    #[test]
    fn reload_reasons_cannot_grow_the_metric_without_end() {
        let events: Vec<_> = (0..1000).map(|n| deployed(Some(&format!("backend b{n} is new")))).collect();
        let text = scrape(&events);
        assert_eq!(
            text.lines().filter(|line| line.starts_with("haptic_reloads_total{")).count(),
            REASONS + 1
        );
        has(&text, r#"haptic_reloads_total{reason="other"} 968"#);
    }

    fn rendered(untracked: &[(&str, usize)]) -> Event {
        Event::Rendered {
            generation: Generation(1),
            bytes: 9,
            files: 1,
            digest: haptic_model::Digest::of(b"x"),
            took: Duration::from_millis(500),
            untracked: untracked.iter().map(|(template, count)| (Arc::from(*template), *count)).collect(),
        }
    }

    #[test]
    fn blocks_that_cannot_be_kept_are_shown_by_template_until_there_are_none() {
        let text =
            scrape(&[rendered(&[("host.map", 3), ("haproxyConfig", 1)]), rendered(&[("host.map", 4)])]);
        has(&text, r#"haptic_render_untracked_blocks{template="host.map"} 4"#);
        has(&text, r#"haptic_render_untracked_blocks{template="haproxyConfig"} 0"#);
        let many: Vec<String> = (0..1000).map(|n| format!("t{n:04}")).collect();
        let many: Vec<(&str, usize)> = many.iter().map(|name| (name.as_str(), 1)).collect();
        let text = scrape(&[rendered(&many)]);
        has(&text, r#"haptic_render_untracked_blocks{template="other"} 936"#);
    }

    #[test]
    fn parts_of_stages_are_timed_and_what_they_keep_is_counted() {
        let text = scrape(&[
            Event::Timed { part: "plan", took: Duration::from_millis(250) },
            Event::Kept { by: "syntax", bytes: 9 },
            Event::Kept { by: "syntax", bytes: 7 },
        ]);
        has(&text, r#"haptic_stage_duration_seconds_sum{stage="plan"} 0.25"#);
        has(&text, r#"haptic_kept_bytes{by="syntax"} 7"#);
    }

    #[test]
    fn each_pod_that_is_there_shows_its_lag() {
        let text = pod_lags([("default/haproxy-0".to_owned(), Duration::from_millis(90))]);
        has(&text, r#"haptic_pod_convergence_lag_seconds{pod="default/haproxy-0"} 0.09"#);
        assert_eq!(pod_lags([]).lines().count(), 2);
    }

    #[test]
    fn the_outbox_reports_itself() {
        let (events, _kept) = haptic_runtime::Outbox::channel(1);
        let exporter = PrometheusBuilder::new().build_recorder();
        for _ in 0..3 {
            events.tell(Event::CredentialsChanged);
        }
        metrics::with_local_recorder(&exporter, || record_outbox(&events));
        let text = exporter.handle().render();
        has(&text, "haptic_event_subscribers 1");
        has(&text, "haptic_events_published_total 3");
        has(&text, "haptic_events_dropped_total 2");
    }
}
