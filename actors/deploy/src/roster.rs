//! What is known of every pod, for templates (the fleet), status, metrics and debugging.

use haptic_model::{Capabilities, Epoch, Fleet, HaproxyPod, pipeline::PodState};
use std::collections::BTreeMap;

/// Every discovered pod, with what it said last.
pub type PodStates = BTreeMap<HaproxyPod, PodState>;

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

/// The newest leadership that any of them has seen.
#[must_use]
pub fn newest_leadership(states: &PodStates) -> Epoch {
    states.values().map(|state| state.led).max().unwrap_or_default()
}

/// Pods of tests.
#[cfg(test)]
pub(crate) mod test_pods {
    use super::*;
    use haptic_model::HaproxyVersion;

    pub fn pod(name: &str, uid: &str) -> HaproxyPod {
        HaproxyPod { uid: uid.into(), ..HaproxyPod::at("n", name, ([10, 0, 0, 1], 5555)) }
    }

    /// Of a pod with HAProxy 3.`minor`.
    pub fn answered(minor: u16) -> PodState {
        let capabilities = Some(Capabilities::of(HaproxyVersion::new(3, minor)));
        PodState { capabilities, ..PodState::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::{
        test_pods::{answered, pod},
        *,
    };
    use haptic_model::HaproxyVersion;

    #[test]
    fn a_mixed_fleet_has_what_all_pods_can_do() {
        let mut states: PodStates =
            [pod("b", "2"), pod("a", "1")].into_iter().map(|pod| (pod, PodState::default())).collect();
        let seen = fleet_of(&states);
        assert_eq!((seen.common, seen.unanswered), (None, 2));
        states.insert(pod("a", "1"), answered(4));
        assert_eq!(fleet_of(&states).unanswered, 1);
        states.insert(pod("b", "2"), answered(2));
        let fleet = fleet_of(&states);
        assert_eq!(fleet.pods.iter().map(|p| &*p.name).collect::<Vec<_>>(), ["a", "b"]);
        assert_eq!(fleet.versions, [HaproxyVersion::new(3, 2), HaproxyVersion::new(3, 4)]);
        assert_eq!(fleet.unanswered, 0);
        assert!(!fleet.common.unwrap().dynamic_backends);
    }
}
