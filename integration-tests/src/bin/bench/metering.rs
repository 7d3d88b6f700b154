//! What the controller's and the agent's own metrics say of a stretch of time.

use integration_tests::{Failure, Outcome, http};
use std::{collections::BTreeMap, net::SocketAddr};

/// The metric that has a label for each stage.
const STAGES: &str = "haptic_stage_duration_seconds";
/// From the first change seen by the controller to the acknowledgement of the pod.
const LAG: &str = "haptic_convergence_lag_seconds";

/// Reloads by reason.
const RELOADS: &str = "haptic_reloads_total{reason=\"";

/// What a controller's metrics say.
#[derive(Debug, Default)]
pub struct Metrics {
    /// Seconds and number of times, by stage.
    stages: BTreeMap<String, (f64, f64)>,
    /// How often, by reason.
    reloads: BTreeMap<String, f64>,
}

impl Metrics {
    /// Since the controller at `address` started.
    pub async fn read(address: SocketAddr) -> Outcome<Self> {
        Ok(Self::of(&metrics(address).await?))
    }

    fn of(metrics: &str) -> Self {
        let mut read = Self::default();
        for line in metrics.lines() {
            let Some((series, number)) = line.rsplit_once(' ') else { continue };
            let Ok(number) = number.parse::<f64>() else { continue };
            let sum = stage_of(series, "sum").map(|stage| (stage, (number, 0.0)));
            let count = || stage_of(series, "count").map(|stage| (stage, (0.0, number)));
            if let Some((stage, (sum, count))) = sum.or_else(count) {
                let known = read.stages.entry(stage.to_owned()).or_default();
                *known = (known.0 + sum, known.1 + count);
            } else if let Some(reason) = series.strip_prefix(RELOADS) {
                read.reloads.insert(reason.trim_end_matches("\"}").to_owned(), number);
            }
        }
        read
    }

    /// The mean of each stage since `before`, in milliseconds; stages that did nothing have none.
    pub fn means_since(&self, before: &Self) -> Vec<(String, f64)> {
        let then = |stage| before.stages.get(stage).copied().unwrap_or_default();
        let spans =
            self.stages.iter().map(|(stage, now)| (stage, now.0 - then(stage).0, now.1 - then(stage).1));
        spans
            .filter(|(.., count)| *count > 0.0)
            .map(|(stage, sum, count)| (stage.clone(), sum / count * 1e3))
            .collect()
    }

    /// The reloads since `before`, by reason.
    pub fn reloads_since(&self, before: &Self) -> Vec<(String, f64)> {
        let more = |(reason, now): (&String, &f64)| {
            let more = now - before.reloads.get(reason).copied().unwrap_or_default();
            (more > 0.0).then(|| (reason.clone(), more))
        };
        self.reloads.iter().filter_map(more).collect()
    }
}

/// The stage that a series of the kind `part` is about.
fn stage_of<'s>(series: &'s str, part: &str) -> Option<&'s str> {
    let of = |name: &str| series.strip_prefix(name)?.strip_prefix('_')?.strip_prefix(part);
    match (of(STAGES), of(LAG)) {
        (Some(labels), _) => labels.split_once("stage=\"")?.1.split('"').next(),
        (_, Some(_)) => Some("seen_to_deployed"),
        _ => None,
    }
}

/// Reloads since the agent at `address` started. Its metrics need no credentials, and those of a local agent are
/// known to its controller alone.
pub async fn reloads(address: SocketAddr) -> Outcome<u64> {
    let reloads = value(&metrics(address).await?, "haptic_agent_haproxy_reloads_total ");
    reloads.ok_or_else(|| Failure::new("the agent's metrics do not count reloads"))
}

async fn metrics(address: SocketAddr) -> Outcome<String> {
    let answer = http::get(address, "metrics", "/metrics").await?;
    answer.has_status(200)?;
    Ok(answer.body)
}

fn value(metrics: &str, start: &str) -> Option<u64> {
    metrics.lines().find_map(|line| line.strip_prefix(start))?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mean_is_that_of_the_stretch_alone() {
        let text = |sum: f64, count: u8| {
            format!(
                "# HELP x\nhaptic_stage_duration_seconds_sum{{stage=\"render\"}} {sum}\nhaptic_stage_duration_seconds_count{{stage=\"render\"}} {count}\n"
            )
        };
        let (before, after) = (Metrics::of(&text(10.0, 1)), Metrics::of(&text(10.5, 3)));
        assert_eq!(after.means_since(&before), [("render".to_owned(), 250.0)]);
        assert_eq!(after.means_since(&after), []);
    }

    #[test]
    fn reloads_are_told_with_their_reasons() {
        let text = |count: u8| format!("haptic_reloads_total{{reason=\"a bind changed\"}} {count}\n");
        let (before, after) = (Metrics::of(&text(1)), Metrics::of(&text(3)));
        assert_eq!(after.reloads_since(&before), [("a bind changed".to_owned(), 2.0)]);
        assert_eq!(after.reloads_since(&after), []);
    }
}
