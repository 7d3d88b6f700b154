//! What the controller's and the agent's own metrics say of a stretch of time.

use integration_tests::{Failure, Outcome, http};
use std::{collections::BTreeMap, net::SocketAddr};

/// Where a stage's durations are, by the name that the figure gets.
const STAGES: [(&str, &str, &str); 4] = [
    ("render", "haptic_stage_duration_seconds", r#"{stage="render"}"#),
    ("check", "haptic_stage_duration_seconds", r#"{stage="validate"}"#),
    ("deploy", "haptic_deployment_duration_seconds", ""),
    ("deployed", "haptic_convergence_lag_seconds", ""),
];

/// Seconds and number of times, by stage.
#[derive(Debug, Default)]
pub struct Stages(BTreeMap<&'static str, (f64, f64)>);

impl Stages {
    /// Since the controller at `address` started.
    ///
    /// # Errors
    /// It does not answer.
    pub async fn read(address: SocketAddr) -> Outcome<Self> {
        Ok(Self::of(&metrics(address).await?))
    }

    fn of(metrics: &str) -> Self {
        let all = STAGES.into_iter().map(|(stage, name, labels)| {
            let number = |part: &str| value(metrics, &format!("{name}_{part}{labels} ")).unwrap_or_default();
            (stage, (number("sum"), number("count")))
        });
        Self(all.collect())
    }

    /// The mean of each stage since `before`, in milliseconds; stages that did nothing have none.
    pub fn means_since(&self, before: &Self) -> Vec<(&'static str, f64)> {
        let then = |stage| before.0.get(stage).copied().unwrap_or_default();
        let spans = self.0.iter().map(|(stage, now)| (*stage, now.0 - then(stage).0, now.1 - then(stage).1));
        spans
            .filter(|(.., count)| *count > 0.0)
            .map(|(stage, sum, count)| (stage, sum / count * 1e3))
            .collect()
    }
}

/// Reloads since the agent at `address` started. Its metrics need no credentials, and those of a local agent are
/// known to its controller alone.
///
/// # Errors
/// It does not answer, or counts none.
pub async fn reloads(address: SocketAddr) -> Outcome<f64> {
    let reloads = value(&metrics(address).await?, "haptic_agent_haproxy_reloads_total ");
    reloads.ok_or_else(|| Failure::new("the agent's metrics do not count reloads"))
}

async fn metrics(address: SocketAddr) -> Outcome<String> {
    let answer = http::get(address, "metrics", "/metrics").await?;
    answer.has_status(200)?;
    Ok(answer.body)
}

fn value(metrics: &str, start: &str) -> Option<f64> {
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
        let (before, after) = (Stages::of(&text(10.0, 1)), Stages::of(&text(10.5, 3)));
        assert_eq!(after.means_since(&before), [("render", 250.0)]);
        assert_eq!(after.means_since(&after), []);
    }
}
