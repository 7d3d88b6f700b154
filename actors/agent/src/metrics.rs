//! The agent's own metrics. Each agent has a recorder of its own: several may run in one process, beside a controller's.

use haptic_model::{Operation, agent_api::Outcome};
use metrics::{
    Histogram, counter, describe_counter, describe_gauge, describe_histogram, gauge, histogram,
    with_local_recorder,
};
use metrics_exporter_prometheus::{PrometheusBuilder, PrometheusRecorder};
use std::time::Duration;

const OUTCOMES: [&str; 6] = ["applied", "conflict", "stale", "missing", "refused", "failed"];
/// Seconds, from 100 µs, a fast answer, to 10 s, longer than any is waited for.
const BOUNDS: [f64; 11] = [0.0001, 0.000_25, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.05, 0.25, 1.0, 10.0];

/// Names and helps.
type Families = &'static [(&'static str, &'static str)];

const GAUGES: Families = &[
    ("haptic_agent_build_info", "The agent's version; always 1."),
    ("haptic_agent_haproxy_info", "The running HAProxy's version; always 1."),
    ("haptic_agent_haproxy_up", "Whether a HAProxy worker runs."),
    ("haptic_agent_haproxy_worker_pid", "The current worker's process id; 0 for none."),
    ("haptic_agent_haproxy_old_workers", "Old workers that still finish connections."),
    ("haptic_agent_bundle_applied", "Whether a bundle of a controller is in place."),
    ("haptic_agent_bundle_files", "Files of the bundle in place."),
    ("haptic_agent_bundle_bytes", "Bytes of the bundle in place."),
    ("haptic_agent_pending_deletions", "Deleted servers and backends that still finish connections."),
    ("haptic_agent_overdue_deletions", "Those of them that have done so for longer than 30 s."),
];
const COUNTERS: Families = &[
    ("haptic_agent_haproxy_reloads_total", "Successful reloads since the agent's start, counted by HAProxy."),
    ("haptic_agent_haproxy_worker_changes_total", "Times that another worker was found than before."),
    ("haptic_agent_applies_total", "Apply requests by their outcome."),
    ("haptic_agent_operations_total", "Runtime operations carried out and read back."),
    ("haptic_agent_operations_failed_total", "Apply requests whose runtime operations failed."),
    ("haptic_agent_expired_certificates_total", "Certificates brought at run time that had expired already."),
];
const HISTOGRAMS: Families = &[
    ("haptic_agent_operate_seconds", "Runtime operations of one order, carried out and read back."),
    ("haptic_agent_socket_seconds", "Round trips on HAProxy's sockets; one may carry many commands."),
];

/// Every metric's name, type and help: for the documentation.
#[must_use]
pub fn metric_families() -> Vec<(String, String, String)> {
    let kinds = [("gauge", GAUGES), ("counter", COUNTERS), ("histogram", HISTOGRAMS)];
    let family =
        |kind: &str, (name, help): &(&str, &str)| ((*name).to_owned(), kind.to_owned(), (*help).to_owned());
    kinds.into_iter().flat_map(|(kind, all)| all.iter().map(move |one| family(kind, one))).collect()
}

/// What the agent counts by itself.
#[derive(Debug)]
pub(crate) struct Metrics {
    recorder: PrometheusRecorder,
    /// Round trips on HAProxy's sockets.
    pub(crate) round_trips: Histogram,
}

/// What is true now, and is asked for when the metrics are.
#[derive(Debug, Default)]
pub(crate) struct Gauges {
    pub(crate) haproxy_up: bool,
    pub(crate) haproxy_version: String,
    pub(crate) worker_pid: u32,
    pub(crate) old_workers: u32,
    pub(crate) reloads: u64,
    pub(crate) bundle_applied: bool,
    pub(crate) bundle_files: u64,
    pub(crate) bundle_bytes: u64,
    pub(crate) pending_deletions: u64,
    pub(crate) overdue_deletions: u64,
}

impl Metrics {
    pub(crate) fn new() -> Self {
        let recorder = recorder();
        // A counter that is 0 is shown, too.
        let round_trips = with_local_recorder(&recorder, || {
            for outcome in OUTCOMES {
                counter!("haptic_agent_applies_total", "outcome" => outcome).increment(0);
            }
            counter!("haptic_agent_haproxy_worker_changes_total").increment(0);
            counter!("haptic_agent_operations_total").increment(0);
            counter!("haptic_agent_operations_failed_total").increment(0);
            counter!("haptic_agent_expired_certificates_total").increment(0);
            drop(histogram!("haptic_agent_operate_seconds"));
            histogram!("haptic_agent_socket_seconds")
        });
        Self { recorder, round_trips }
    }

    /// An order came to this end.
    pub(crate) fn applied(&self, outcome: &Outcome) {
        let [applied, conflict, stale, missing, refused, failed] = OUTCOMES;
        let outcome = match outcome {
            Outcome::Applied { .. } => applied,
            Outcome::Conflict { .. } => conflict,
            Outcome::Stale { .. } => stale,
            Outcome::Missing { .. } => missing,
            Outcome::Refused { .. } => refused,
            Outcome::Failed { .. } => failed,
        };
        self.record(|| counter!("haptic_agent_applies_total", "outcome" => outcome).increment(1));
    }

    /// Runtime operations were carried out, or one of them failed.
    pub(crate) fn operated(&self, operations: &[Operation], succeeded: bool, took: Duration) {
        self.record(|| {
            if succeeded {
                histogram!("haptic_agent_operate_seconds").record(took);
                counter!("haptic_agent_operations_total").increment(operations.len() as u64);
            } else {
                counter!("haptic_agent_operations_failed_total").increment(1);
            }
        });
    }

    /// Another worker runs than before.
    pub(crate) fn worker_changed(&self) {
        self.record(|| counter!("haptic_agent_haproxy_worker_changes_total").increment(1));
    }

    /// A certificate was brought that has expired already.
    pub(crate) fn expired_certificate(&self) {
        self.record(|| counter!("haptic_agent_expired_certificates_total").increment(1));
    }

    fn record(&self, record: impl FnOnce()) {
        with_local_recorder(&self.recorder, record);
    }

    /// Folds histograms; without it they grow for ever.
    pub(crate) fn fold(&self) {
        self.recorder.handle().run_upkeep();
    }

    /// All metrics in Prometheus' text format. Those of `now` are recorded afresh, so that a version that no longer runs
    /// leaves no series behind.
    pub(crate) fn page(&self, now: &Gauges) -> String {
        let recorder = recorder();
        with_local_recorder(&recorder, || now.record());
        recorder.handle().render() + &self.recorder.handle().render()
    }
}

impl Gauges {
    fn record(&self) {
        gauge!("haptic_agent_build_info", "version" => env!("CARGO_PKG_VERSION")).set(1);
        gauge!("haptic_agent_haproxy_info", "version" => self.haproxy_version.clone()).set(1);
        gauge!("haptic_agent_haproxy_up").set(u32::from(self.haproxy_up));
        gauge!("haptic_agent_haproxy_worker_pid").set(self.worker_pid);
        gauge!("haptic_agent_haproxy_old_workers").set(self.old_workers);
        counter!("haptic_agent_haproxy_reloads_total").absolute(self.reloads);
        gauge!("haptic_agent_bundle_applied").set(u32::from(self.bundle_applied));
        gauge!("haptic_agent_bundle_files").set(self.bundle_files as f64);
        gauge!("haptic_agent_bundle_bytes").set(self.bundle_bytes as f64);
        gauge!("haptic_agent_pending_deletions").set(self.pending_deletions as f64);
        gauge!("haptic_agent_overdue_deletions").set(self.overdue_deletions as f64);
    }
}

fn recorder() -> PrometheusRecorder {
    // It fails for no bounds at all.
    let recorder = PrometheusBuilder::new().set_buckets(&BOUNDS).unwrap_or_default().build_recorder();
    with_local_recorder(&recorder, || {
        GAUGES.iter().for_each(|(name, help)| describe_gauge!(*name, *help));
        COUNTERS.iter().for_each(|(name, help)| describe_counter!(*name, *help));
        HISTOGRAMS.iter().for_each(|(name, help)| describe_histogram!(*name, *help));
    });
    recorder
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_histogram_counts_each_duration_in_all_buckets_above_it() {
        let metrics = Metrics::new();
        for us in [50, 100, 700, 20_000_000] {
            metrics.round_trips.record(Duration::from_micros(us));
        }
        let page = metrics.page(&Gauges::default());
        for line in [
            "haptic_agent_socket_seconds_bucket{le=\"0.0001\"} 2",
            "haptic_agent_socket_seconds_bucket{le=\"0.0005\"} 2",
            "haptic_agent_socket_seconds_bucket{le=\"0.001\"} 3",
            "haptic_agent_socket_seconds_bucket{le=\"10\"} 3",
            "haptic_agent_socket_seconds_bucket{le=\"+Inf\"} 4",
            "haptic_agent_socket_seconds_sum 20.00085",
            "haptic_agent_socket_seconds_count 4",
        ] {
            assert!(page.lines().any(|l| l == line), "{line} is not in\n{page}");
        }
    }

    #[test]
    fn every_figure_says_what_it_is() {
        let metrics = Metrics::new();
        metrics.applied(&Outcome::Conflict { running: None });
        let page = metrics.page(&Gauges { haproxy_version: "3.4.7-1".to_owned(), ..Gauges::default() });
        assert!(page.contains("haptic_agent_applies_total{outcome=\"conflict\"} 1\n"), "{page}");
        assert!(page.contains("haptic_agent_haproxy_info{version=\"3.4.7-1\"} 1\n"), "{page}");
        let mut shown: Vec<&str> = page.lines().filter_map(|line| line.strip_prefix("# TYPE ")).collect();
        shown.sort_unstable();
        let mut families: Vec<String> =
            metric_families().iter().map(|(name, kind, _)| format!("{name} {kind}")).collect();
        families.sort_unstable();
        assert_eq!(shown, families);
        for line in page.lines().filter(|l| !l.is_empty() && !l.starts_with('#')) {
            let name: String = line.chars().take_while(|c| *c != '{' && *c != ' ').collect();
            let family = ["_bucket", "_sum", "_count"]
                .iter()
                .fold(name.as_str(), |n, s| n.strip_suffix(s).unwrap_or(n));
            assert!(page.contains(&format!("# HELP {family} ")), "{name} has no help");
            assert!(page.contains(&format!("# TYPE {family} ")), "{name} has no type");
        }
    }
}
