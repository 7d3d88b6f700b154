//! What is known of every pod, for templates (the fleet), status, metrics and debugging.

use haptic_model::{Capabilities, FailedReloads, FailureReport, Fleet, HaproxyPod, pipeline::PodState};
use haptic_runtime::Publisher;
use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

/// In this time the other pods of a fleet have been reloaded, too, as a rule.
const OTHERS_ANSWER_WITHIN: Duration = Duration::from_secs(3);

/// Every discovered pod, with what it said last.
pub type PodStates = BTreeMap<HaproxyPod, PodState>;

/// Where deployments write what they learn of their pods. A cheap handle; clones write to the same topics.
#[derive(Clone, Debug)]
pub struct Roster(Arc<Mutex<RosterTopics>>);

#[derive(Debug)]
struct RosterTopics {
    states: Publisher<PodStates>,
    fleet: Publisher<Fleet>,
    failed_reloads: Option<Publisher<FailedReloads>>,
}

impl Roster {
    /// A roster that publishes each change to `states`, and to `fleet` what templates may see of it.
    #[must_use]
    pub fn new(states: Publisher<PodStates>, fleet: Publisher<Fleet>) -> Self {
        Self(Arc::new(Mutex::new(RosterTopics { states, fleet, failed_reloads: None })))
    }

    /// The same, with a topic for what reloads of pods find at fault.
    #[must_use]
    pub fn reporting_to(self, failed_reloads: Publisher<FailedReloads>) -> Self {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).failed_reloads = Some(failed_reloads);
        self
    }

    /// Says whom the failed reloads of `pod` lead to; unless another pod of its version runs that bundle: then it is the pod's
    /// own trouble, for which nobody else pays. While there are others, they get the time to show it.
    pub fn report_failure(&self, pod: &HaproxyPod, report: FailureReport, refused_for: Duration) {
        let topics = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let states = topics.states.latest();
        let version = |state: &PodState| state.capabilities.map(|capabilities| capabilities.version);
        let own = states.get(pod).and_then(version);
        let digest = report.rendered.digest;
        let runs = |state: &PodState| state.running.is_some_and(|running| running.digest == digest);
        let mut alike =
            states.iter().filter(|(other, state)| *other != pod && version(state) == own).peekable();
        let is_alone = alike.peek().is_none();
        if alike.any(|(_, state)| runs(state)) || !is_alone && refused_for < OTHERS_ANSWER_WITHIN {
            return;
        }
        if let Some(failed_reloads) = &topics.failed_reloads {
            failed_reloads.update(|failed| failed.with(report));
        }
    }

    /// Takes exactly `pods` as the discovered ones; those that stay keep their state.
    pub fn set_pods(&self, pods: &[HaproxyPod]) {
        self.change(|states| {
            pods.iter().map(|pod| (pod.clone(), states.get(pod).cloned().unwrap_or_default())).collect()
        });
    }

    /// Changes the state of one pod; nothing happens when it has gone meanwhile.
    pub fn update(&self, pod: &HaproxyPod, change: impl FnOnce(&mut PodState)) {
        self.change(|states| {
            let mut states = states.clone();
            if let Some(state) = states.get_mut(pod) {
                change(state);
            }
            states
        });
    }

    fn change(&self, change: impl FnOnce(&PodStates) -> PodStates) {
        let topics = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        topics.states.update(change);
        topics.fleet.publish_if_changed(fleet_of(&topics.states.latest()));
    }
}

/// The fleet as templates see it. Pods that have not answered yet say nothing of versions.
#[must_use]
pub fn fleet_of(states: &PodStates) -> Fleet {
    let answered: Vec<Capabilities> = states.values().filter_map(|state| state.capabilities).collect();
    let mut versions: Vec<_> = answered.iter().map(|capabilities| capabilities.version).collect();
    versions.sort();
    versions.dedup();
    let mut pods: Vec<_> = states.keys().cloned().collect();
    pods.sort();
    let unanswered = pods.len() - answered.len();
    Fleet { pods, versions, common: answered.into_iter().reduce(Capabilities::common), unanswered }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::deployment::test_bundles;
    use haptic_model::{Generation, HaproxyVersion, agent_api::Running};
    use haptic_runtime::topic;
    use haptic_text::Digest;

    fn pod(name: &str, uid: &str) -> HaproxyPod {
        HaproxyPod {
            namespace: "n".into(),
            name: name.into(),
            uid: uid.into(),
            address: [10, 0, 0, 1].into(),
            other_addresses: Vec::new(),
            node_addresses: Vec::new(),
            host_ports: Vec::new(),
            port: 5555,
        }
    }

    fn answer(minor: u16) -> impl FnOnce(&mut PodState) {
        move |state| state.capabilities = Some(Capabilities::of(HaproxyVersion::new(3, minor)))
    }

    #[test]
    fn a_mixed_fleet_has_what_all_pods_can_do() {
        let ((states, _), (fleet, seen)) = (topic(PodStates::new()), topic(Fleet::default()));
        let roster = Roster::new(states, fleet);
        roster.set_pods(&[pod("b", "2"), pod("a", "1")]);
        assert_eq!((seen.latest().common, seen.latest().unanswered), (None, 2));
        roster.update(&pod("a", "1"), answer(4));
        assert_eq!(seen.latest().unanswered, 1);
        roster.update(&pod("b", "2"), answer(2));
        let fleet = seen.latest();
        assert_eq!(fleet.pods.iter().map(|p| &*p.name).collect::<Vec<_>>(), ["a", "b"]);
        assert_eq!(fleet.versions, [HaproxyVersion::new(3, 2), HaproxyVersion::new(3, 4)]);
        assert_eq!(fleet.unanswered, 0);
        assert!(!fleet.common.unwrap().dynamic_backends);
    }

    #[test]
    fn what_one_pod_refuses_and_another_of_its_version_runs_is_nobodys_fault() {
        let ((states, _), (fleet, _)) = (topic(PodStates::new()), topic(Fleet::default()));
        let (publisher, failed_reloads) = topic(FailedReloads::default());
        let roster = Roster::new(states, fleet).reporting_to(publisher);
        let (sick, sound) = (pod("a", "1"), pod("b", "2"));
        roster.set_pods(&[sick.clone(), sound.clone()]);
        roster.update(&sick, answer(4));
        let rendered = test_bundles::basis(Digest::of(b"x"));
        let running = Running { digest: rendered.digest, generation: Generation(1) };
        let report = || FailureReport {
            rendered: rendered.clone(),
            good: None,
            objects: Vec::new(),
            suspects: Vec::new(),
            templates: None,
            took: std::time::Duration::ZERO,
        };
        let runs = |minor| {
            move |state: &mut PodState| {
                answer(minor)(state);
                state.running = Some(running);
            }
        };
        let (at_once, long) = (Duration::from_millis(200), Duration::from_secs(4));
        roster.update(&sound, runs(4));
        roster.report_failure(&sick, report(), long);
        assert!(failed_reloads.latest().0.is_empty());
        roster.update(&sound, runs(2));
        roster.report_failure(&sick, report(), at_once);
        assert_eq!(failed_reloads.latest().0.len(), 1, "another version may well take it");
        roster.update(&sound, |state| {
            answer(4)(state);
            state.running = None;
        });
        roster.report_failure(&sick, report(), at_once);
        assert_eq!(
            failed_reloads.latest().0.len(),
            1,
            "the other pod may be about to show that it can be run"
        );
        (0..20).for_each(|_| roster.report_failure(&sick, report(), long));
        assert_eq!(failed_reloads.latest().0.len(), 8, "only the newest are kept");
    }

    #[test]
    fn a_pod_that_comes_back_under_its_name_is_another_pod() {
        let ((states, seen), (fleet, _)) = (topic(PodStates::new()), topic(Fleet::default()));
        let roster = Roster::new(states, fleet);
        roster.set_pods(&[pod("a", "1")]);
        roster.update(&pod("a", "1"), answer(4));
        roster.set_pods(&[pod("a", "2")]);
        assert_eq!(seen.latest().get(&pod("a", "2")).unwrap().capabilities, None);
        roster.update(&pod("a", "1"), answer(4));
        assert_eq!(seen.latest().len(), 1);
    }
}
