//! The context of all attempts on one pod: where they publish and which observers receive their events.

use super::{
    pod_status::PodStatus, progress::PodProgress, refused_reload::RefusedReload, state::DeploymentState,
    targets::NewestBundles,
};
use crate::planner::PlanCache;
use haptic_model::{
    Event, HaproxyPod,
    agent_api::Status,
    pipeline::{Leadership, PodState},
};
use haptic_runtime::{Events, Publisher, Topic};
use std::{sync::Arc, time::SystemTime};
use tokio::time::Instant;

/// What all attempts on one pod share.
pub(crate) struct Deployment {
    pub pod: HaproxyPod,
    /// Plans shared with the other pods.
    pub plans: PlanCache,
    pub publishers: Arc<PodPublishers>,
    pub events: Events,
    /// Read right before it counts: a message of it may be on its way.
    pub leadership: Topic<Leadership>,
    /// Shows the state at `/debug/actors`.
    pub show: Box<dyn Fn(&DeploymentState)>,
}

/// Where what is learnt of one pod is published: all lives of its deployment go on from what is retained.
pub(crate) struct PodPublishers {
    pub state: Publisher<PodState>,
    /// The newest, once there was one.
    pub refused_reload: Publisher<Option<RefusedReload>>,
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
        self.publishers.state.update(|state| {
            let mut state = state.clone();
            change(&mut state);
            state
        });
    }

    /// Takes what the pod says of itself. `began_anew`: when it was found to be in another incarnation.
    pub fn take_status(
        &self,
        progress: &mut PodProgress,
        status: Status,
        began_anew: Option<SystemTime>,
        newest: &NewestBundles,
    ) {
        let led = status.epoch;
        let known = PodStatus::from_status(status, Instant::now());
        // Whoever sends no order can only have failed to read.
        let only_reads = !self.leadership().leads || newest.validated.is_none();
        self.update(|state| {
            // What an order met stands until one succeeds.
            if only_reads {
                state.last_error = None;
            }
            state.capabilities = Some(known.capabilities);
            (state.running, state.stored) = (known.running, known.stored);
            state.began_anew = began_anew.or(state.began_anew);
            state.led = led;
        });
        if let Some(what) = progress.read(known, self.leadership()) {
            self.events.emit(Event::DriftFound { pod: self.name(), what });
        }
    }
}
