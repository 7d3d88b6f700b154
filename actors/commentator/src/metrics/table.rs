//! Every metric of the controller: its name, what it counts, its labels and what limits them.
//!
//! This table is the promise to dashboards and alerts. What is recorded, described and documented is compared with it.

use std::fmt::Write;

use haptic_model::FindingKind;

use metrics::{Unit, counter, describe_counter, describe_gauge, describe_histogram};

/// One metric.
#[derive(Clone, Copy, Debug)]
pub struct Metric {
    /// Its name, with unit and `_total` as Prometheus has it.
    pub name: &'static str,
    /// What Prometheus makes of it.
    pub kind: MetricType,
    /// Its labels.
    pub labels: &'static [Label],
    /// What it says, for people.
    pub help: &'static str,
}

/// A metric's type.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum MetricType {
    /// Only ever grows, from 0 at the start of the process.
    Counter,
    /// What is the case now.
    Gauge,
    /// Durations in seconds, counted up to each of these.
    Histogram(&'static [f64]),
}

/// A label and its values.
#[derive(Clone, Copy, Debug)]
pub struct Label {
    /// Its name.
    pub name: &'static str,
    /// What it can be.
    pub values: LabelValues,
}

/// What a label can be. Nothing that users name is a value without a limit.
#[derive(Clone, Copy, Debug)]
pub enum LabelValues {
    /// One of these. They are there from the start, with 0.
    These(&'static [&'static str]),
    /// As many as the configuration or the fleet has of them: for people.
    OneFor(&'static str),
    /// No more than so many, and `other`.
    UpTo(usize, &'static str),
}

/// From a change at run time (milliseconds) to a full render and check of a large configuration (seconds).
const WORK: MetricType = MetricType::Histogram(&[
    0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0,
]);
/// From nothing to what an operator notices.
const WAITING: MetricType = MetricType::Histogram(&[0.001, 0.01, 0.1, 1.0, 10.0]);
/// Up to the ten seconds that an API server waits.
const ANSWERS: MetricType = MetricType::Histogram(&[0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0]);

/// The stages that are timed, and their parts.
const STAGES: LabelValues = LabelValues::These(&[
    "debounce", "render", "syntax", "validate", "search", "plan", "agent", "deploy", "store",
]);

const NONE: &[Label] = &[];

const fn metric(
    name: &'static str,
    kind: MetricType,
    labels: &'static [Label],
    help: &'static str,
) -> Metric {
    Metric { name, kind, labels, help }
}

const fn label(name: &'static str, values: LabelValues) -> Label {
    Label { name, values }
}

/// All of them, by subject.
pub const METRICS: &[Metric] = &[
    metric(
        "haptic_build_info",
        MetricType::Gauge,
        &[label("version", LabelValues::OneFor("process"))],
        "1; its label is this controller's version",
    ),
    metric("haptic_reconciliation_total", MetricType::Counter, NONE, "Reconciles begun"),
    metric(
        "haptic_reconciliation_errors_total",
        MetricType::Counter,
        NONE,
        "Reconciles whose render or validation failed",
    ),
    metric("haptic_reconciliation_duration_seconds", WORK, NONE, "Render and validation of one generation"),
    metric(
        "haptic_stage_duration_seconds",
        WORK,
        &[label("stage", STAGES)],
        "Work of one stage on one generation, or of a part of a stage: how long changes were gathered (debounce), syntax check (syntax), HAProxy's own check (validate), planning for one pod (plan), its agent's answer (agent), all of it (deploy), and files brought to its disk (store)",
    ),
    metric(
        "haptic_queue_wait_seconds",
        WAITING,
        &[label("stage", LabelValues::These(&["render", "validate", "observe"]))],
        "How long work waited until its stage began with it",
    ),
    metric(
        "haptic_mailbox_depth",
        MetricType::Gauge,
        &[label("actor", LabelValues::OneFor("kind of actor"))],
        "Messages that are not answered yet, the longest queue of each kind of actor",
    ),
    metric(
        "haptic_actor_restarts_total",
        MetricType::Counter,
        &[label("actor", LabelValues::OneFor("kind of actor"))],
        "Restarts of actors after a failure",
    ),
    metric(
        "haptic_render_blocks_total",
        MetricType::Counter,
        &[label("result", LabelValues::These(&["kept", "printed"]))],
        "Objects' blocks that renders kept from before, and that they printed anew",
    ),
    metric(
        "haptic_render_untracked_blocks",
        MetricType::Gauge,
        &[label("template", LabelValues::UpTo(64, "template with such blocks"))],
        "Blocks of objects that the last render could not keep, whatever had changed",
    ),
    metric(
        "haptic_render_differences_total",
        MetricType::Counter,
        NONE,
        "Incremental renders that were not the full one: a bug",
    ),
    metric(
        "haptic_kept_bytes",
        MetricType::Gauge,
        &[label("by", LabelValues::These(&["render", "syntax"]))],
        "Memory that a stage spends to look only at what changed",
    ),
    metric(
        "haptic_quarantined_objects",
        MetricType::Gauge,
        NONE,
        "Objects that are held back at present, so that they do not stop the others",
    ),
    metric(
        "haptic_findings",
        MetricType::Gauge,
        &[label("kind", LabelValues::These(FindingKind::NAMES))],
        "What is found at objects at present and holds nothing back, by kind: `docs/operations.md` says what each means",
    ),
    metric(
        "haptic_quarantines_total",
        MetricType::Counter,
        NONE,
        "Objects that were held back, or for another reason than before",
    ),
    metric(
        "haptic_validation_total",
        MetricType::Counter,
        NONE,
        "Bundles checked, including answers known from before",
    ),
    metric("haptic_validation_errors_total", MetricType::Counter, NONE, "Bundles refused"),
    metric(
        "haptic_check_protection",
        MetricType::Gauge,
        &[label("protection", LabelValues::OneFor("protection, as `/debug/checks` names them"))],
        "1 for each protection of `haproxy -c` that this machine allows",
    ),
    metric("haptic_config_accepted_total", MetricType::Counter, NONE, "Configurations that came into force"),
    metric("haptic_config_rejected_total", MetricType::Counter, NONE, "Configurations that were refused"),
    metric(
        "haptic_plans_total",
        MetricType::Counter,
        &[label("kind", LabelValues::These(&["nothing", "runtime", "reload"]))],
        "Plans for pods, by what HAProxy has to do",
    ),
    metric("haptic_deployment_total", MetricType::Counter, NONE, "Attempts to bring one pod to a generation"),
    metric(
        "haptic_deployment_errors_total",
        MetricType::Counter,
        NONE,
        "Attempts that failed and are tried again",
    ),
    metric("haptic_deployment_duration_seconds", WORK, NONE, "One pod, first call to acknowledgement"),
    metric(
        "haptic_reloads_total",
        MetricType::Counter,
        &[label("reason", RELOADS)],
        "Reloads of HAProxy by the kind of their first reason, over all pods; the log tells the reasons in full",
    ),
    metric(
        "haptic_generations_taken_back_total",
        MetricType::Counter,
        NONE,
        "Generations that were live and that HAProxy's checker refused, over all pods",
    ),
    metric(
        "haptic_drift_total",
        MetricType::Counter,
        NONE,
        "Changes of pods by somebody else that were found",
    ),
    metric(
        "haptic_convergence_lag_seconds",
        WORK,
        NONE,
        "First change seen, or first answer of a pod that came later, to its acknowledgement of what was sent",
    ),
    metric(
        POD_LAG,
        MetricType::Gauge,
        &[label("pod", LabelValues::OneFor("HAProxy pod that is there"))],
        "The same of each pod, for the newest generation that brought it anything",
    ),
    metric(
        STORE_SIZE,
        MetricType::Gauge,
        &[label("type", LabelValues::OneFor("watched resource, and haproxy-pods"))],
        "Objects in each store",
    ),
    metric(
        "haptic_held_deletions",
        MetricType::Gauge,
        &[label("type", LabelValues::OneFor("watched resource"))],
        "Objects that vanished at once and stay in force for a while",
    ),
    metric(
        "haptic_left_out_objects",
        MetricType::Gauge,
        &[
            label("type", LabelValues::OneFor("watched resource")),
            label(
                "limit",
                LabelValues::These(&["objectBytes", "objectsPerNamespace", "storeBytes", "watchedBytes"]),
            ),
        ],
        "Objects that are left out, or in force as they were, because they are too large or too many",
    ),
    metric(
        "haptic_limits_reached_total",
        MetricType::Counter,
        &[label(
            "limit",
            LabelValues::These(&[
                "objectBytes",
                "objectsPerNamespace",
                "storeBytes",
                "watchedBytes",
                "blockBytes",
                "valueBytes",
                "fileBytes",
                "mapEntries",
                "servers",
                "files",
            ]),
        )],
        "How often something came to be beyond a limit of `controller.limits`",
    ),
    metric(
        "haptic_watch_errors_total",
        MetricType::Counter,
        &[label("type", LabelValues::OneFor("watched resource"))],
        "Watches that failed and are tried again",
    ),
    metric(
        "haptic_malformed_objects_total",
        MetricType::Counter,
        NONE,
        "Times that an object could not be read and was left out",
    ),
    metric("haptic_leader", MetricType::Gauge, NONE, "1 while this replica leads"),
    metric(
        "haptic_leader_transitions_total",
        MetricType::Counter,
        NONE,
        "Times that this replica began or ceased to lead",
    ),
    metric(
        "haptic_lease_errors_total",
        MetricType::Counter,
        NONE,
        "Times that the Lease could no longer be used, or for another reason",
    ),
    metric("haptic_event_subscribers", MetricType::Gauge, NONE, "Observers of events"),
    metric("haptic_events_published_total", MetricType::Counter, NONE, "Events told to observers"),
    metric(
        "haptic_events_dropped_total",
        MetricType::Counter,
        &[label("observer", LabelValues::OneFor("observer"))],
        "Events that an observer had no room for",
    ),
    metric(
        "haptic_trace_spans_total",
        MetricType::Counter,
        &[label("result", LabelValues::These(&["exported", "failed"]))],
        "Spans sent to the collector, and those that could not be",
    ),
    metric(
        "haptic_webhook_requests_total",
        MetricType::Counter,
        &[
            label("resource", LabelValues::OneFor("watched resource, configuration and other")),
            label("verdict", LabelValues::OneFor("kind of answer: allowed, denied, unjudged")),
        ],
        "Reviews answered by the admission webhook",
    ),
    metric(
        "haptic_webhook_duration_seconds",
        ANSWERS,
        &[label("resource", LabelValues::OneFor("watched resource, configuration and other"))],
        "From a review's first byte to its answer",
    ),
    metric(
        "haptic_webhook_refused_total",
        MetricType::Counter,
        &[label("status", LabelValues::OneFor("status that is answered"))],
        "Requests to the webhook's port that were no review, by the status they got",
    ),
    metric(
        "haptic_webhook_certificate_expiry_timestamp_seconds",
        MetricType::Gauge,
        NONE,
        "When the webhook's certificate ends, in seconds since 1970",
    ),
];

/// Why HAProxy is reloaded; `agent`: it was planned otherwise, and the agent had to.
const RELOADS: LabelValues =
    LabelValues::These(&["first-bundle", "configuration", "server", "file", "refused", "drift", "agent"]);

/// The lag of a pod, which is written at each scrape.
pub(super) const POD_LAG: &str = "haptic_pod_convergence_lag_seconds";

/// The size of a store, which is, too.
pub(super) const STORE_SIZE: &str = "haptic_resource_count";

/// Gives every metric its help text and unit, and those with known labels their first value: a rate needs two. Call it
/// once, after a recorder is installed.
pub fn describe() {
    for metric in METRICS.iter().filter(|metric| ![POD_LAG, STORE_SIZE].contains(&metric.name)) {
        let unit = if metric.name.ends_with("_bytes") { Unit::Bytes } else { Unit::Count };
        match metric.kind {
            MetricType::Counter => {
                describe_counter!(metric.name, metric.help);
                begin(metric);
            }
            MetricType::Gauge => describe_gauge!(metric.name, unit, metric.help),
            MetricType::Histogram(_) => describe_histogram!(metric.name, Unit::Seconds, metric.help),
        }
    }
}

fn begin(metric: &Metric) {
    match metric.labels {
        [] => counter!(metric.name).increment(0),
        [Label { name, values: LabelValues::These(values) }] => {
            values.iter().for_each(|value| counter!(metric.name, *name => *value).increment(0));
        }
        _ => {}
    }
}

/// The table as a page of the documentation.
#[must_use]
pub fn as_markdown() -> String {
    let mut page = String::from("| Metric | Type | Labels | |\n|---|---|---|---|\n");
    for metric in METRICS {
        let kind = match metric.kind {
            MetricType::Counter => "counter",
            MetricType::Gauge => "gauge",
            MetricType::Histogram(_) => "histogram",
        };
        let labels: Vec<String> = metric.labels.iter().map(Label::in_text).collect();
        let _infallible =
            writeln!(page, "| `{}` | {kind} | {} | {} |", metric.name, labels.join("; "), metric.help);
    }
    page
}

impl Label {
    fn in_text(&self) -> String {
        match self.values {
            LabelValues::These(values) => format!("`{}`: `{}`", self.name, values.join("`, `")),
            LabelValues::OneFor(what) => format!("`{}`: one for each {what}", self.name),
            LabelValues::UpTo(most, what) => {
                format!("`{}`: one for each {what}, up to {most}, and `other`", self.name)
            }
        }
    }
}
