//! The context of all attempts on one pod: where they publish and which observers receive their events.

use super::{pod_status::PodStatus, progress::PodProgress, state::DeploymentState};
use crate::{planner::PlanCache, roster::Roster};
use haptic_model::{
    Event, HaproxyPod,
    agent_api::Status,
    pipeline::{Leadership, PodState},
};
use haptic_runtime::{Events, Topic};
use std::{sync::Arc, time::SystemTime};
use tokio::time::Instant;

/// What all attempts on one pod share.
pub(crate) struct Deployment {
    pub pod: HaproxyPod,
    /// Plans shared with the other pods.
    pub plans: PlanCache,
    /// Where what is learnt of the pod is published.
    pub roster: Roster,
    pub events: Events,
    /// Read right before it counts: a message of it may be on its way.
    pub leadership: Topic<Leadership>,
    /// Shows the state at `/debug/actors`.
    pub show: Box<dyn Fn(&DeploymentState)>,
}

impl Deployment {
    pub fn name(&self) -> Arc<str> {
        self.pod.to_string().into()
    }

    pub fn show(&self, state: &DeploymentState) {
        (self.show)(state);
    }

    pub fn leadership(&self) -> Leadership {
        *self.leadership.latest()
    }

    /// Changes what is published of the pod.
    pub fn update(&self, change: impl FnOnce(&mut PodState)) {
        self.roster.update(&self.pod, change);
    }

    /// Takes what the pod says of itself. `began_anew`: when it was found to be in another incarnation. `only_reads`: nothing is sent
    /// to it, so that all that can have failed is to read.
    pub fn take_status(
        &self,
        progress: &mut PodProgress,
        status: Status,
        began_anew: Option<SystemTime>,
        only_reads: bool,
    ) {
        let known = PodStatus::from_status(status, Instant::now());
        self.update(|state| {
            // What an order met stands until one succeeds.
            if only_reads {
                state.last_error = None;
            }
            state.capabilities = Some(known.capabilities);
            (state.running, state.stored) = (known.running, known.stored);
            state.began_anew = began_anew.or(state.began_anew);
        });
        if let Some(what) = progress.read(known, self.leadership()) {
            self.events.emit(Event::DriftFound { pod: self.name(), what });
        }
    }
}
