//! How everything is, from what the topics show: a configuration, its last render and check, the pods.

use crate::reporting::Reporting;
use haptic_model::{
    ActiveConfig, AllRejected, Diagnostic, Event, Generation, HaproxyPod, MassDeletions, Quarantine,
    Snapshots,
    config::ConfigVerdict,
    pipeline::{PodState, Validated},
};
use std::{collections::BTreeMap, sync::Arc, time::Duration};
use tokio::time::Instant;

/// A pod that is behind for this long without any progress is reported; until then it is only being brought up.
pub const LAG_TOLERATED: Duration = Duration::from_secs(10);

/// The stage at which a generation failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailedStage {
    /// It could not be rendered.
    Render,
    /// It did not pass the checks.
    Check,
}

impl FailedStage {
    /// Of a condition or an Event.
    #[must_use]
    pub fn reason(self) -> &'static str {
        match self {
            Self::Render => "RenderFailed",
            Self::Check => "CheckFailed",
        }
    }
}

/// What happened to the newest generation, if it failed.
#[derive(Clone, Debug, PartialEq)]
pub struct FailedGeneration {
    /// Which.
    pub generation: Generation,
    /// `metadata.generation` of the configuration it was made from.
    pub configuration: i64,
    /// Where.
    pub stage: FailedStage,
    /// Why; never empty.
    pub diagnostics: Vec<Diagnostic>,
}

impl FailedGeneration {
    /// Remembers what `event` tells of a generation; `failed` is what was known before.
    #[must_use]
    pub fn after(failed: Option<Self>, event: &Event) -> Option<Self> {
        match event {
            Event::RenderFailed { generation, configuration, diagnostics } => {
                Some(Self::new(*generation, *configuration, FailedStage::Render, diagnostics))
            }
            Event::ValidationFailed { generation, configuration, diagnostics, .. } => {
                Some(Self::new(*generation, *configuration, FailedStage::Check, diagnostics))
            }
            // What passes of an older configuration says nothing of a newer one that fails.
            Event::Validated { generation, configuration, .. } => failed
                .filter(|failed| failed.generation > *generation || failed.configuration > *configuration),
            _ => failed,
        }
    }

    fn new(
        generation: Generation,
        configuration: i64,
        stage: FailedStage,
        diagnostics: &[Diagnostic],
    ) -> Self {
        Self { generation, configuration, stage, diagnostics: diagnostics.to_vec() }
    }

    /// Whether an object is at fault, and not the configuration.
    #[must_use]
    pub fn is_an_objects(&self) -> bool {
        self.diagnostics.iter().any(|diagnostic| diagnostic.object.is_some())
    }
}

/// How the pods are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FleetHealth {
    /// Nothing passed all checks yet.
    NothingToDeploy,
    /// No pod fits the selector.
    NoPods,
    /// All of them run the newest bundle; how many.
    Deployed(usize),
    /// Some are being brought to it.
    Catching,
    /// Some are not brought to it, with the reason of one of them.
    Behind {
        /// Those that are not.
        pods: Vec<String>,
        /// Of how many.
        of: usize,
        /// What the first one's last attempt failed with.
        why: Option<String>,
    },
}

/// How far the newest valid configuration is on its way to the pods.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Progress {
    /// It cannot be in force until these resources can be read: a line for each.
    Waits(String),
    /// Nothing that was rendered from it has passed all checks yet.
    Comes,
    /// The newest bundle that passed all checks is rendered from it.
    Rendered,
}

impl Progress {
    /// How far `accepted` is. `troubles`: why watched resources cannot be read.
    #[must_use]
    pub fn of(
        accepted: Option<&ActiveConfig>,
        validated: Option<&Validated>,
        snapshots: &Snapshots,
        troubles: &BTreeMap<Arc<str>, String>,
    ) -> Self {
        let Some(accepted) = accepted else { return Self::Comes };
        if validated.is_some_and(|validated| validated.rendered.config.revision >= accepted.revision) {
            return Self::Rendered;
        }
        let why = |name: &str| Some(format!("{name}: {}", troubles.get(name)?));
        let unreadable: Vec<String> = accepted.unread(snapshots).filter_map(why).collect();
        if unreadable.is_empty() { Self::Comes } else { Self::Waits(unreadable.join("\n")) }
    }
}

/// Everything that the status is made of.
#[derive(Clone, Debug, PartialEq)]
pub struct ReportedHealth {
    /// The verdict on the newest configuration.
    pub judgement: ConfigVerdict,
    /// How far the newest valid one is.
    pub progress: Progress,
    /// `metadata.generation` of the configuration that the newest checked bundle is rendered from.
    pub checked: Option<i64>,
    /// How the newest generation failed.
    pub failed: Option<FailedGeneration>,
    /// How the pods are: whether they run the newest checked bundle.
    pub fleet: FleetHealth,
    /// What is held back.
    pub quarantine: Arc<Quarantine>,
    /// Objects that vanished at once and are held.
    pub missing: Arc<MassDeletions>,
    /// What stores do not hold because of their limits.
    pub rejected: Arc<AllRejected>,
    /// How many objects of each watched resource there are, of those that were read.
    pub watched: BTreeMap<String, usize>,
    /// How what is told to the API server is taken.
    pub reporting: Arc<Reporting>,
}

/// Remembers since when each pod is behind.
#[derive(Clone, Debug, Default)]
pub struct Lag(BTreeMap<HaproxyPod, (Option<Generation>, Instant)>);

impl ReportedHealth {
    /// How the newest generation of the newest configuration failed; what failed of one before it says nothing any more.
    #[must_use]
    pub fn failed(&self) -> Option<&FailedGeneration> {
        self.failed.as_ref().filter(|failed| failed.configuration == self.judgement.resource_generation)
    }

    /// Why the newest configuration is wrong, whoever found it: validators, its render or its check.
    #[must_use]
    pub fn invalid(&self) -> &[Diagnostic] {
        match (&self.judgement.problems[..], self.failed()) {
            ([], Some(failed)) if !failed.is_an_objects() => &failed.diagnostics,
            (problems, _) => problems,
        }
    }
}

impl Lag {
    /// Takes the pods as they are at `now`, and returns how far they follow.
    pub fn advance(
        &mut self,
        validated: Option<&Validated>,
        pods: &BTreeMap<HaproxyPod, PodState>,
        now: Instant,
    ) -> FleetHealth {
        let Some(validated) = validated else { return FleetHealth::NothingToDeploy };
        let behind: Vec<(&HaproxyPod, &PodState)> =
            pods.iter().filter(|(_, state)| !is_current(state, validated)).collect();
        self.0.retain(|pod, _| behind.iter().any(|(other, _)| *other == pod));
        let mut stuck = Vec::new();
        for (pod, state) in &behind {
            let since = self.0.entry((*pod).clone()).or_insert((state.deployed, now));
            if since.0 != state.deployed {
                *since = (state.deployed, now);
            }
            if now.duration_since(since.1) >= LAG_TOLERATED {
                stuck.push((pod.to_string(), state.last_error.clone()));
            }
        }
        match (pods.len(), behind.len(), stuck.first()) {
            (0, ..) => FleetHealth::NoPods,
            (all, 0, _) => FleetHealth::Deployed(all),
            (_, _, None) => FleetHealth::Catching,
            (of, _, Some((_, why))) => {
                let why = why.clone();
                FleetHealth::Behind { pods: stuck.into_iter().map(|(pod, _)| pod).collect(), of, why }
            }
        }
    }
}

fn is_current(state: &PodState, validated: &Validated) -> bool {
    let acknowledged = state.deployed.is_some_and(|generation| generation >= validated.generation());
    let runs = state.running.as_ref().is_some_and(|running| running.digest == validated.bundle().digest);
    state.last_error.is_none() && (acknowledged || runs)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failure(generation: u64) -> Event {
        Event::RenderFailed {
            generation: Generation(generation),
            configuration: 1,
            diagnostics: vec![Diagnostic::error("render", "no")],
        }
    }

    fn validated(generation: u64, configuration: i64) -> Event {
        let generation = Generation(generation);
        Event::Validated { generation, configuration, took: Duration::ZERO, cached: false }
    }

    #[test]
    fn a_failure_is_over_when_a_newer_generation_passes() {
        let failed = FailedGeneration::after(None, &failure(5));
        assert!(
            FailedGeneration::after(failed.clone(), &validated(4, 1)).is_some(),
            "an older one proves nothing"
        );
        assert!(
            FailedGeneration::after(failed.clone(), &validated(6, 0)).is_some(),
            "nor does an older configuration"
        );
        assert!(FailedGeneration::after(failed.clone(), &Event::CredentialsChanged).is_some());
        assert!(FailedGeneration::after(failed, &validated(6, 1)).is_none());
    }
}
