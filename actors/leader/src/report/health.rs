//! How everything is, from what the board shows: a configuration, its last render and check, the pods.

use crate::reporting::Reporting;
use haptic_model::{
    AllLeftOut, Diagnostic, Event, Generation, HaproxyPod, MassDeletions, Quarantine,
    config::Judgement,
    pipeline::{PodState, Validated},
};
use std::{collections::BTreeMap, sync::Arc, time::Duration};
use tokio::time::Instant;

/// A pod that is behind for this long without any progress is reported; until then it is only being brought up.
pub const PATIENCE: Duration = Duration::from_secs(10);

/// What happened to the newest generation, if it failed.
#[derive(Clone, Debug, PartialEq)]
pub struct Failed {
    /// Which.
    pub generation: Generation,
    /// Where: `RenderFailed` or `CheckFailed`.
    pub reason: &'static str,
    /// Why; never empty.
    pub diagnostics: Vec<Diagnostic>,
}

impl Failed {
    /// Remembers what `event` tells of a generation; `failed` is what was known before.
    #[must_use]
    pub fn after(failed: Option<Self>, event: &Event) -> Option<Self> {
        match event {
            Event::RenderFailed { generation, diagnostics } => {
                Some(Self::new(*generation, "RenderFailed", diagnostics))
            }
            Event::ValidationFailed { generation, diagnostics, .. } => {
                Some(Self::new(*generation, "CheckFailed", diagnostics))
            }
            Event::Validated { generation, .. } => failed.filter(|failed| failed.generation > *generation),
            _ => failed,
        }
    }

    fn new(generation: Generation, reason: &'static str, diagnostics: &[Diagnostic]) -> Self {
        Self { generation, reason, diagnostics: diagnostics.to_vec() }
    }

    /// Whether an object is at fault, and not the configuration.
    #[must_use]
    pub fn is_an_objects(&self) -> bool {
        self.diagnostics.iter().any(|diagnostic| diagnostic.object.is_some())
    }
}

/// How the pods are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fleet {
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

/// Everything that the status is made of.
#[derive(Clone, Debug, PartialEq)]
pub struct Health {
    /// The verdict on the newest configuration.
    pub judgement: Judgement,
    /// How its newest generation failed.
    pub failed: Option<Failed>,
    /// How the pods are.
    pub fleet: Fleet,
    /// What is held back.
    pub quarantine: Arc<Quarantine>,
    /// Objects that vanished at once and are held.
    pub missing: Arc<MassDeletions>,
    /// What stores do not hold because of their limits.
    pub left_out: Arc<AllLeftOut>,
    /// How many objects of each watched resource there are, of those that were read.
    pub watched: BTreeMap<String, usize>,
    /// How what is told to the API server is taken.
    pub reporting: Arc<Reporting>,
}

/// Remembers since when each pod is behind.
#[derive(Clone, Debug, Default)]
pub struct Lag(BTreeMap<HaproxyPod, (Option<Generation>, Instant)>);

impl Lag {
    /// How the pods are at `now`.
    pub fn look(
        &mut self,
        validated: Option<&Validated>,
        pods: &BTreeMap<HaproxyPod, PodState>,
        now: Instant,
    ) -> Fleet {
        let Some(validated) = validated else { return Fleet::NothingToDeploy };
        let behind: Vec<(&HaproxyPod, &PodState)> =
            pods.iter().filter(|(_, state)| !is_current(state, validated)).collect();
        self.0.retain(|pod, _| behind.iter().any(|(other, _)| *other == pod));
        let mut stuck = Vec::new();
        for (pod, state) in &behind {
            let since = self.0.entry((*pod).clone()).or_insert((state.deployed, now));
            if since.0 != state.deployed {
                *since = (state.deployed, now);
            }
            if now.duration_since(since.1) >= PATIENCE {
                stuck.push((pod.to_string(), state.last_error.clone()));
            }
        }
        match (pods.len(), behind.len(), stuck.first()) {
            (0, ..) => Fleet::NoPods,
            (all, 0, _) => Fleet::Deployed(all),
            (_, _, None) => Fleet::Catching,
            (of, _, Some((_, why))) => {
                let why = why.clone();
                Fleet::Behind { pods: stuck.into_iter().map(|(pod, _)| pod).collect(), of, why }
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
            diagnostics: vec![Diagnostic::error("render", "no")],
        }
    }

    fn validated(generation: u64) -> Event {
        Event::Validated { generation: Generation(generation), took: Duration::ZERO, cached: false }
    }

    #[test]
    fn a_failure_is_over_when_a_newer_generation_passes() {
        let failed = Failed::after(None, &failure(5));
        assert!(Failed::after(failed.clone(), &validated(4)).is_some(), "an older one proves nothing");
        assert!(Failed::after(failed.clone(), &Event::CredentialsChanged).is_some());
        assert!(Failed::after(failed, &validated(6)).is_none());
    }
}
