//! A reload that a pod's HAProxy refuses: whether objects answer for it, or the pod. Pure.

use crate::roster::PodStates;
use haptic_model::{FailureReport, HaproxyPod, pipeline::PodState};
use std::time::Duration;

/// In this time the other pods of a fleet have been reloaded, too, as a rule.
const OTHERS_ANSWER_WITHIN: Duration = Duration::from_secs(3);

/// What HAProxy's words about a refused reload lead to.
#[derive(Clone, Debug)]
pub(crate) struct RefusedReload {
    /// Whom they name.
    pub report: FailureReport,
    /// For how long the pod has refused reloads.
    pub refused_for: Duration,
}

impl RefusedReload {
    /// Whether the refusal of `pod` counts against objects; unless another pod of its version runs that bundle: then it is the
    /// pod's own trouble, for which nobody else pays. While there are others, they get the time to show it.
    pub fn counts(&self, pod: &HaproxyPod, states: &PodStates) -> bool {
        let version = |state: &PodState| state.capabilities.map(|capabilities| capabilities.version);
        let own = states.get(pod).and_then(version);
        let digest = self.report.rendered.digest;
        let runs = |state: &PodState| state.running.is_some_and(|running| running.digest == digest);
        let mut alike =
            states.iter().filter(|(other, state)| *other != pod && version(state) == own).peekable();
        let others_answered = alike.peek().is_none() || self.refused_for >= OTHERS_ANSWER_WITHIN;
        others_answered && !alike.any(|(_, state)| runs(state))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{deployment::test_bundles, roster::test_pods};
    use haptic_model::{Generation, agent_api::Running};
    use haptic_text::Digest;

    #[test]
    fn what_one_pod_refuses_and_another_of_its_version_runs_is_nobodys_fault() {
        let rendered = test_bundles::basis(Digest::of(b"x"));
        let running = Some(Running { digest: rendered.digest, generation: Generation(1) });
        let report = FailureReport {
            rendered,
            good: None,
            objects: Vec::new(),
            suspects: Vec::new(),
            templates: None,
            took: Duration::ZERO,
        };
        let (sick, sound) = (test_pods::pod("a", "1"), test_pods::pod("b", "2"));
        let counts = |millis, other: Option<(u16, Option<Running>)>| {
            let other = other
                .map(|(minor, running)| (sound.clone(), PodState { running, ..test_pods::answered(minor) }));
            let states = other.into_iter().chain([(sick.clone(), test_pods::answered(4))]).collect();
            let refused_for = Duration::from_millis(millis);
            RefusedReload { report: report.clone(), refused_for }.counts(&sick, &states)
        };
        let (at_once, long) = (200, 4_000);
        assert!(!counts(long, Some((4, running))));
        assert!(counts(at_once, Some((2, running))), "another version may well take it");
        assert!(!counts(at_once, Some((4, None))), "the other pod may be about to show that it can be run");
        assert!(counts(long, Some((4, None))));
        assert!(counts(at_once, None), "there is nobody to wait for");
    }
}
