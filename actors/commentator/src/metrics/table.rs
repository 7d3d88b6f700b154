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

const fn label(name: &'static str, values: LabelValues) -> Label {
    Label { name, values }
}

/// Each metric as a constant by which it is recorded, and all of them as [`METRICS`].
macro_rules! metrics {
    ($($metric:ident = $name:literal, $kind:expr, $labels:expr, $help:literal;)+) => {
        $(
            #[doc = $help]
            pub const $metric: Metric = Metric { name: $name, kind: $kind, labels: $labels, help: $help };
        )+

        /// All of them, by subject.
        pub const METRICS: &[Metric] = &[$($metric),+];
    };
}

metrics! {
    BUILD_INFO = "haptic_build_info", MetricType::Gauge, &[label("version", LabelValues::OneFor("process"))],
        "1; its label is this controller's version";
    RECONCILIATION_TOTAL = "haptic_reconciliation_total", MetricType::Counter, NONE, "Reconciles begun";
    RECONCILIATION_ERRORS_TOTAL = "haptic_reconciliation_errors_total", MetricType::Counter, NONE,
        "Reconciles whose render or validation failed";
    RECONCILIATION_DURATION_SECONDS = "haptic_reconciliation_duration_seconds", WORK, NONE,
        "Render and validation of one generation";
    STAGE_DURATION_SECONDS = "haptic_stage_duration_seconds", WORK, &[label("stage", STAGES)],
        "Work of one stage on one generation, or of a part of a stage: how long changes were gathered (debounce), syntax check (syntax), HAProxy's own check (validate), planning for one pod (plan), its agent's answer (agent), all of it (deploy), and files brought to its disk (store)";
    QUEUE_WAIT_SECONDS = "haptic_queue_wait_seconds",
        WAITING, &[label("stage", LabelValues::These(&["render", "validate", "observe"]))],
        "How long work waited until its stage began with it";
    MAILBOX_DEPTH = "haptic_mailbox_depth",
        MetricType::Gauge, &[label("actor", LabelValues::OneFor("kind of actor"))],
        "Messages that are not answered yet, the longest queue of each kind of actor";
    ACTOR_RESTARTS_TOTAL = "haptic_actor_restarts_total",
        MetricType::Counter, &[label("actor", LabelValues::OneFor("kind of actor"))],
        "Restarts of actors after a failure";
    RENDER_BLOCKS_TOTAL = "haptic_render_blocks_total",
        MetricType::Counter, &[label("result", LabelValues::These(&["kept", "printed"]))],
        "Objects' blocks that renders kept from before, and that they printed anew";
    RENDER_UNTRACKED_BLOCKS = "haptic_render_untracked_blocks",
        MetricType::Gauge, &[label("template", LabelValues::UpTo(64, "template with such blocks"))],
        "Blocks of objects that the last render could not keep, whatever had changed";
    RENDER_DIFFERENCES_TOTAL = "haptic_render_differences_total", MetricType::Counter, NONE,
        "Incremental renders that were not the full one: a bug";
    KEPT_BYTES = "haptic_kept_bytes",
        MetricType::Gauge, &[label("by", LabelValues::These(&["render", "syntax"]))],
        "Memory that a stage spends to look only at what changed";
    QUARANTINED_OBJECTS = "haptic_quarantined_objects", MetricType::Gauge, NONE,
        "Objects that are held back at present, so that they do not stop the others";
    FINDINGS = "haptic_findings", MetricType::Gauge, &[label("kind", LabelValues::These(FindingKind::NAMES))],
        "What is found at objects at present and holds nothing back, by kind: `docs/operations.md` says what each means";
    QUARANTINES_TOTAL = "haptic_quarantines_total", MetricType::Counter, NONE,
        "Objects that were held back, or for another reason than before";
    VALIDATION_TOTAL = "haptic_validation_total", MetricType::Counter, NONE,
        "Bundles checked, including answers known from before";
    VALIDATION_ERRORS_TOTAL = "haptic_validation_errors_total", MetricType::Counter, NONE, "Bundles refused";
    CHECK_PROTECTION = "haptic_check_protection",
        MetricType::Gauge,
        &[label("protection", LabelValues::OneFor("protection, as `/debug/checks` names them"))],
        "1 for each protection of `haproxy -c` that this machine allows";
    CONFIG_ACCEPTED_TOTAL = "haptic_config_accepted_total", MetricType::Counter, NONE,
        "Configurations that came into force";
    CONFIG_REJECTED_TOTAL = "haptic_config_rejected_total", MetricType::Counter, NONE,
        "Configurations that were refused";
    PLANS_TOTAL = "haptic_plans_total",
        MetricType::Counter, &[label("kind", LabelValues::These(&["nothing", "runtime", "reload"]))],
        "Plans for pods, by what HAProxy has to do";
    DEPLOYMENT_TOTAL = "haptic_deployment_total", MetricType::Counter, NONE,
        "Attempts to bring one pod to a generation";
    DEPLOYMENT_ERRORS_TOTAL = "haptic_deployment_errors_total", MetricType::Counter, NONE,
        "Attempts that failed and are tried again";
    DEPLOYMENT_DURATION_SECONDS = "haptic_deployment_duration_seconds", WORK, NONE,
        "One pod, first call to acknowledgement";
    RELOADS_TOTAL = "haptic_reloads_total", MetricType::Counter, &[label("reason", RELOADS)],
        "Reloads of HAProxy by the kind of their first reason, over all pods; the log tells the reasons in full";
    GENERATIONS_TAKEN_BACK_TOTAL = "haptic_generations_taken_back_total", MetricType::Counter, NONE,
        "Generations that were live and that HAProxy's checker refused, over all pods";
    DRIFT_TOTAL = "haptic_drift_total", MetricType::Counter, NONE,
        "Changes of pods by somebody else that were found";
    CONVERGENCE_LAG_SECONDS = "haptic_convergence_lag_seconds", WORK, NONE,
        "First change seen, or first answer of a pod that came later, to its acknowledgement of what was sent";
    POD_CONVERGENCE_LAG_SECONDS = "haptic_pod_convergence_lag_seconds",
        MetricType::Gauge, &[label("pod", LabelValues::OneFor("HAProxy pod that is there"))],
        "The same of each pod, for the newest generation that brought it anything";
    RESOURCE_COUNT = "haptic_resource_count",
        MetricType::Gauge, &[label("type", LabelValues::OneFor("watched resource, and haproxy-pods"))],
        "Objects in each store";
    HELD_DELETIONS = "haptic_held_deletions",
        MetricType::Gauge, &[label("type", LabelValues::OneFor("watched resource"))],
        "Objects that vanished at once and stay in force for a while";
    LEFT_OUT_OBJECTS = "haptic_left_out_objects",
        MetricType::Gauge, &[label("type", LabelValues::OneFor("watched resource")), label("limit", LIMITS_OF_STORES)],
        "Objects that are left out, or in force as they were, because they are too large or too many";
    LIMITS_REACHED_TOTAL = "haptic_limits_reached_total",
        MetricType::Counter, &[label("limit", LIMITS)],
        "How often something came to be beyond a limit of `controller.limits`";
    WATCH_ERRORS_TOTAL = "haptic_watch_errors_total",
        MetricType::Counter, &[label("type", LabelValues::OneFor("watched resource"))],
        "Watches that failed and are tried again";
    MALFORMED_OBJECTS_TOTAL = "haptic_malformed_objects_total", MetricType::Counter, NONE,
        "Times that an object could not be read and was left out";
    LEADER = "haptic_leader", MetricType::Gauge, NONE, "1 while this replica leads";
    LEADER_TRANSITIONS_TOTAL = "haptic_leader_transitions_total", MetricType::Counter, NONE,
        "Times that this replica began or ceased to lead";
    LEASE_ERRORS_TOTAL = "haptic_lease_errors_total", MetricType::Counter, NONE,
        "Times that the Lease could no longer be used, or for another reason";
    EVENT_SUBSCRIBERS = "haptic_event_subscribers", MetricType::Gauge, NONE, "Observers of events";
    EVENTS_PUBLISHED_TOTAL = "haptic_events_published_total", MetricType::Counter, NONE,
        "Events told to observers";
    EVENTS_DROPPED_TOTAL = "haptic_events_dropped_total",
        MetricType::Counter, &[label("observer", LabelValues::OneFor("observer"))],
        "Events that an observer had no room for";
    TRACE_SPANS_TOTAL = "haptic_trace_spans_total",
        MetricType::Counter, &[label("result", LabelValues::These(&["exported", "failed"]))],
        "Spans sent to the collector, and those that could not be";
    WEBHOOK_REQUESTS_TOTAL = "haptic_webhook_requests_total",
        MetricType::Counter, &[label("resource", REVIEWED), label("verdict", LabelValues::OneFor("kind of answer: allowed, denied, unjudged"))],
        "Reviews answered by the admission webhook";
    WEBHOOK_DURATION_SECONDS = "haptic_webhook_duration_seconds",
        ANSWERS, &[label("resource", REVIEWED)],
        "From a review's first byte to its answer";
    WEBHOOK_REFUSED_TOTAL = "haptic_webhook_refused_total",
        MetricType::Counter, &[label("status", LabelValues::OneFor("status that is answered"))],
        "Requests to the webhook's port that were no review, by the status they got";
    WEBHOOK_CERTIFICATE_EXPIRY_TIMESTAMP_SECONDS = "haptic_webhook_certificate_expiry_timestamp_seconds",
        MetricType::Gauge, NONE, "When the webhook's certificate ends, in seconds since 1970";
}

/// Why HAProxy is reloaded; `agent`: it was planned otherwise, and the agent had to.
const RELOADS: LabelValues =
    LabelValues::These(&["first-bundle", "configuration", "server", "file", "refused", "drift", "agent"]);

/// What admission reviews are about.
const REVIEWED: LabelValues = LabelValues::OneFor("watched resource, configuration and other");

/// The limits of stores, then those of what is rendered.
const LIMITS_OF_STORES: LabelValues =
    LabelValues::These(&["objectBytes", "objectsPerNamespace", "storeBytes", "watchedBytes"]);
const LIMITS: LabelValues = LabelValues::These(&[
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
]);

/// What is not recorded but written at each scrape.
const WRITTEN: [&str; 2] = [POD_CONVERGENCE_LAG_SECONDS.name, RESOURCE_COUNT.name];

/// Gives every metric its help text and unit, and those with known labels their first value: a rate needs two. Call it
/// once, after a recorder is installed.
pub fn describe() {
    for metric in METRICS.iter().filter(|metric| !WRITTEN.contains(&metric.name)) {
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
