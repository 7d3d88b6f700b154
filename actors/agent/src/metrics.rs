//! The agent's own figures, in Prometheus' text format. Counting is an atomic addition; nothing here asks HAProxy anything.

use haptic_model::{Operation, agent_api::Outcome};
use std::{
    fmt::Write,
    sync::atomic::{AtomicU64, Ordering::Relaxed},
    time::Duration,
};

/// What the agent counts by itself.
#[derive(Debug, Default)]
pub(crate) struct Metrics {
    applies: [AtomicU64; OUTCOMES.len()],
    operations: AtomicU64,
    operations_failed: AtomicU64,
    operating: Histogram,
    worker_changes: AtomicU64,
    expired_certificates: AtomicU64,
}

const OUTCOMES: [&str; 6] = ["applied", "conflict", "stale", "missing", "refused", "failed"];

impl Metrics {
    /// An order came to this end.
    pub(crate) fn applied(&self, outcome: &Outcome) {
        let index = match outcome {
            Outcome::Applied { .. } => 0,
            Outcome::Conflict { .. } => 1,
            Outcome::Stale { .. } => 2,
            Outcome::Missing { .. } => 3,
            Outcome::Refused { .. } => 4,
            Outcome::Failed { .. } => 5,
        };
        if let Some(counter) = self.applies.get(index) {
            counter.fetch_add(1, Relaxed);
        }
    }

    /// Runtime operations were carried out, or one of them failed.
    pub(crate) fn operated(&self, operations: &[Operation], succeeded: bool, took: Duration) {
        if succeeded {
            self.operating.observe(took);
            self.operations.fetch_add(operations.len() as u64, Relaxed);
        } else {
            self.operations_failed.fetch_add(1, Relaxed);
        }
    }

    /// Another worker runs than before.
    pub(crate) fn worker_changed(&self) {
        self.worker_changes.fetch_add(1, Relaxed);
    }

    /// A certificate was brought that has expired already.
    pub(crate) fn expired_certificate(&self) {
        self.expired_certificates.fetch_add(1, Relaxed);
    }
}

/// What is true now, and is asked for when the figures are.
#[derive(Debug, Default)]
pub(crate) struct Now {
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

/// All figures.
pub(crate) fn text(now: &Now, metrics: &Metrics, round_trips: &Histogram) -> String {
    let mut page = Page(String::with_capacity(4096));
    let version = env!("CARGO_PKG_VERSION");
    page.family("haptic_agent_build_info", "gauge", "The agent's version; always 1.");
    page.line("haptic_agent_build_info", &format!("{{version=\"{version}\"}}"), 1);
    page.family("haptic_agent_haproxy_info", "gauge", "The running HAProxy's version; always 1.");
    let haproxy = now.haproxy_version.replace(['"', '\\', '\n'], "");
    page.line("haptic_agent_haproxy_info", &format!("{{version=\"{haproxy}\"}}"), 1);
    page.one("haptic_agent_haproxy_up", "gauge", "Whether a HAProxy worker runs.", u64::from(now.haproxy_up));
    page.one(
        "haptic_agent_haproxy_worker_pid",
        "gauge",
        "The current worker's process id; 0 for none.",
        u64::from(now.worker_pid),
    );
    page.one(
        "haptic_agent_haproxy_old_workers",
        "gauge",
        "Old workers that still finish connections.",
        u64::from(now.old_workers),
    );
    page.one(
        "haptic_agent_haproxy_reloads_total",
        "counter",
        "Reloads since the agent's start that succeeded, counted on HAProxy.",
        now.reloads,
    );
    page.one(
        "haptic_agent_haproxy_worker_changes_total",
        "counter",
        "Times that another worker was found than before.",
        metrics.worker_changes.load(Relaxed),
    );
    page.one(
        "haptic_agent_bundle_applied",
        "gauge",
        "Whether a bundle of a controller is in place.",
        u64::from(now.bundle_applied),
    );
    page.one("haptic_agent_bundle_files", "gauge", "Files of the bundle in place.", now.bundle_files);
    page.one("haptic_agent_bundle_bytes", "gauge", "Bytes of the bundle in place.", now.bundle_bytes);
    let name = "haptic_agent_applies_total";
    page.family(name, "counter", "Orders by their outcome.");
    for (outcome, counter) in OUTCOMES.iter().zip(&metrics.applies) {
        page.line(name, &format!("{{outcome=\"{outcome}\"}}"), counter.load(Relaxed));
    }
    page.one(
        "haptic_agent_operations_total",
        "counter",
        "Runtime operations carried out and read back.",
        metrics.operations.load(Relaxed),
    );
    page.one(
        "haptic_agent_operations_failed_total",
        "counter",
        "Orders whose runtime operations HAProxy refused or did not show afterwards.",
        metrics.operations_failed.load(Relaxed),
    );
    page.one(
        "haptic_agent_expired_certificates_total",
        "counter",
        "Certificates brought at run time that had expired already.",
        metrics.expired_certificates.load(Relaxed),
    );
    page.one(
        "haptic_agent_pending_deletions",
        "gauge",
        "Deleted servers and backends that still finish connections.",
        now.pending_deletions,
    );
    page.one(
        "haptic_agent_overdue_deletions",
        "gauge",
        "Those of them that have done so for longer than 30 s.",
        now.overdue_deletions,
    );
    page.histogram(
        "haptic_agent_operate_seconds",
        "Runtime operations of one order, carried out and read back.",
        &metrics.operating,
    );
    page.histogram(
        "haptic_agent_socket_seconds",
        "Round trips on HAProxy's command sockets; one may carry many commands.",
        round_trips,
    );
    page.0
}

/// Every figure's name, type and help, as they are printed: for the documentation.
#[must_use]
pub fn metric_families() -> Vec<(String, String, String)> {
    let page = text(&Now::default(), &Metrics::default(), &Histogram::default());
    let after = |line: &str, what: &str| {
        line.strip_prefix(what)?.split_once(' ').map(|(a, b)| (a.to_owned(), b.to_owned()))
    };
    let helps = page.lines().filter_map(|line| after(line, "# HELP "));
    let types = page.lines().filter_map(|line| after(line, "# TYPE "));
    helps.zip(types).map(|((name, help), (_, kind))| (name, kind, help)).collect()
}

struct Page(String);

impl Page {
    fn family(&mut self, name: &str, kind: &str, help: &str) {
        let _infallible = writeln!(self.0, "# HELP {name} {help}\n# TYPE {name} {kind}");
    }

    fn line(&mut self, name: &str, labels: &str, value: u64) {
        let _infallible = writeln!(self.0, "{name}{labels} {value}");
    }

    fn one(&mut self, name: &str, kind: &str, help: &str, value: u64) {
        self.family(name, kind, help);
        self.line(name, "", value);
    }

    fn histogram(&mut self, name: &str, help: &str, histogram: &Histogram) {
        self.family(name, "histogram", help);
        let mut below = 0;
        for (bound, counter) in BOUNDS_US.iter().zip(&histogram.buckets) {
            below += counter.load(Relaxed);
            self.line(&format!("{name}_bucket"), &format!("{{le=\"{}\"}}", seconds(*bound)), below);
        }
        let count = below + histogram.above.load(Relaxed);
        self.line(&format!("{name}_bucket"), "{le=\"+Inf\"}", count);
        let sum = seconds(histogram.sum_us.load(Relaxed));
        let _infallible = writeln!(self.0, "{name}_sum {sum}\n{name}_count {count}");
    }
}

/// From 100 µs, a fast answer, to 10 s, longer than any is waited for.
const BOUNDS_US: [u64; 11] =
    [100, 250, 500, 1_000, 2_500, 5_000, 10_000, 50_000, 250_000, 1_000_000, 10_000_000];

/// Durations by size.
#[derive(Debug, Default)]
pub(crate) struct Histogram {
    buckets: [AtomicU64; BOUNDS_US.len()],
    above: AtomicU64,
    sum_us: AtomicU64,
}

impl Histogram {
    pub(crate) fn observe(&self, duration: Duration) {
        let us = u64::try_from(duration.as_micros()).unwrap_or(u64::MAX);
        let bucket = BOUNDS_US.iter().position(|bound| us <= *bound).and_then(|at| self.buckets.get(at));
        bucket.unwrap_or(&self.above).fetch_add(1, Relaxed);
        self.sum_us.fetch_add(us, Relaxed);
    }
}

/// Microseconds as seconds, without the errors of binary fractions.
fn seconds(us: u64) -> String {
    let text = format!("{}.{:06}", us / 1_000_000, us % 1_000_000);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_histogram_counts_each_duration_in_all_buckets_above_it() {
        let histogram = Histogram::default();
        for us in [50, 100, 700, 20_000_000] {
            histogram.observe(Duration::from_micros(us));
        }
        let page = text(&Now::default(), &Metrics::default(), &histogram);
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
        let metrics = Metrics::default();
        metrics.applied(&Outcome::Conflict { running: None });
        let page = text(
            &Now { haproxy_version: "3.4.7-1".to_owned(), ..Now::default() },
            &metrics,
            &Histogram::default(),
        );
        assert!(page.contains("haptic_agent_applies_total{outcome=\"conflict\"} 1\n"), "{page}");
        assert!(page.contains("haptic_agent_haproxy_info{version=\"3.4.7-1\"} 1\n"), "{page}");
        for line in page.lines().filter(|l| !l.starts_with('#')) {
            let name: String = line.chars().take_while(|c| *c != '{' && *c != ' ').collect();
            let family = ["_bucket", "_sum", "_count"]
                .iter()
                .fold(name.as_str(), |n, s| n.strip_suffix(s).unwrap_or(n));
            assert!(page.contains(&format!("# HELP {family} ")), "{name} has no help");
            assert!(page.contains(&format!("# TYPE {family} ")), "{name} has no type");
        }
    }
}
