//! What is known of every pod, for templates (the fleet), status, metrics and debugging.

use haptic_model::{Capabilities, Complaint, Fleet, HaproxyPod, pipeline::PodState};
use haptic_runtime::CellWriter;
use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
};

/// Every discovered pod, with what it said last.
pub type PodStates = BTreeMap<HaproxyPod, PodState>;

/// Where deployments write what they learn of their pods. A cheap handle; clones write to the same cells.
#[derive(Clone, Debug)]
pub struct Roster(Arc<Mutex<Cells>>);

#[derive(Debug)]
struct Cells {
    states: CellWriter<PodStates>,
    fleet: CellWriter<Fleet>,
    complaint: Option<CellWriter<Option<Arc<Complaint>>>>,
}

impl Roster {
    /// A roster that publishes each change to `states`, and to `fleet` what templates may see of it.
    #[must_use]
    pub fn new(states: CellWriter<PodStates>, fleet: CellWriter<Fleet>) -> Self {
        Self(Arc::new(Mutex::new(Cells { states, fleet, complaint: None })))
    }

    /// The same, with a cell for what reloads of pods find at fault.
    #[must_use]
    pub fn complaining_to(self, complaint: CellWriter<Option<Arc<Complaint>>>) -> Self {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).complaint = Some(complaint);
        self
    }

    /// Says whom a failed reload leads to.
    pub fn complain(&self, complaint: Complaint) {
        let cells = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(cell) = &cells.complaint {
            cell.publish(Some(Arc::new(complaint)));
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
        let cells = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        cells.states.update(change);
        cells.fleet.publish_if_changed(fleet_of(&cells.states.read()));
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
    Fleet { pods, versions, common: answered.into_iter().reduce(Capabilities::common) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use haptic_model::HaproxyVersion;
    use haptic_runtime::cell;

    fn pod(name: &str, uid: &str) -> HaproxyPod {
        HaproxyPod {
            namespace: "n".into(),
            name: name.into(),
            uid: uid.into(),
            address: [10, 0, 0, 1].into(),
            port: 5555,
        }
    }

    fn answer(minor: u16) -> impl FnOnce(&mut PodState) {
        move |state| state.capabilities = Some(Capabilities::of(HaproxyVersion::new(3, minor)))
    }

    #[test]
    fn a_mixed_fleet_has_what_all_pods_can_do() {
        let ((states, _), (fleet, seen)) = (cell(PodStates::new()), cell(Fleet::default()));
        let roster = Roster::new(states, fleet);
        roster.set_pods(&[pod("b", "2"), pod("a", "1")]);
        assert_eq!(seen.read().common, None);
        roster.update(&pod("a", "1"), answer(4));
        roster.update(&pod("b", "2"), answer(2));
        let fleet = seen.read();
        assert_eq!(fleet.pods.iter().map(|p| &*p.name).collect::<Vec<_>>(), ["a", "b"]);
        assert_eq!(fleet.versions, [HaproxyVersion::new(3, 2), HaproxyVersion::new(3, 4)]);
        assert!(!fleet.common.unwrap().dynamic_backends);
    }

    #[test]
    fn a_pod_that_comes_back_under_its_name_is_another_pod() {
        let ((states, seen), (fleet, _)) = (cell(PodStates::new()), cell(Fleet::default()));
        let roster = Roster::new(states, fleet);
        roster.set_pods(&[pod("a", "1")]);
        roster.update(&pod("a", "1"), answer(4));
        roster.set_pods(&[pod("a", "2")]);
        assert_eq!(seen.read().get(&pod("a", "2")).unwrap().capabilities, None);
        roster.update(&pod("a", "1"), answer(4));
        assert_eq!(seen.read().len(), 1);
    }
}
