//! What a deployment knows of its pod and how far it brought it. All of it may be lost: a new life asks the pod.

use super::{
    order::MissingContent,
    pod_status::PodStatus,
    targets::{Check, DeployTarget},
};
use crate::planner::{Reason, ReasonKind, RunningView};
use haptic_model::{Epoch, Generation, pipeline::Leadership};
use haptic_text::Digest;
use std::{sync::Arc, time::Duration};
use tokio::time::Instant;

/// The progress of one pod's deployment.
#[derive(Default)]
pub(crate) struct PodProgress {
    /// How the pod is. `None`: it must be asked, for instance because an order left whose answer never came.
    pub known: Option<PodStatus>,
    /// When it first said what it can do.
    pub first_read: Option<Instant>,
    pub views: BundleViews,
    /// What this deployment brought the pod to, or found it at.
    pub reached: Option<DeployTarget>,
    pub obstacles: Obstacles,
    pub missing_to_store: MissingContent,
    pub last_reload: Option<Instant>,
    /// The newest generation that was said to wait for HAProxy's own checker.
    pub awaited_check: Option<Generation>,
    converged: Option<Converged>,
    /// The leadership that the pod was read under.
    led: Option<Epoch>,
    /// The newest refusal whose rollback was told.
    rolled_back: Option<Generation>,
}

/// Bundles that are held, so that a plan need not read them back from the pod.
#[derive(Default)]
pub(crate) struct BundleViews {
    pub running: Option<Arc<RunningView>>,
    pub stored: Option<Arc<RunningView>>,
    pub target: Option<Arc<RunningView>>,
}

/// What orders met, until one succeeds.
#[derive(Default)]
pub(crate) struct Obstacles {
    pub forced_reload: Option<ForcedReload>,
    pub missing: MissingContent,
    /// Since when HAProxy refuses what it is given.
    refused: Option<Instant>,
}

/// Operations are of no use until a reload.
pub(crate) struct ForcedReload {
    pub reason: Reason,
    /// The generation whose operations failed: its check is waited for, so that one reload is enough.
    pub failed: Option<Generation>,
}

/// A pod as this replica brought it, or found it to be right, while it led.
struct Converged {
    known: PodStatus,
    /// Another leader changes pods, too: what is found under another leadership says nothing of who changed it.
    under: Leadership,
}

impl PodProgress {
    /// This replica leads; whether it did not before. What was known until then, another leader may have changed.
    pub fn take_over(&mut self, leadership: Leadership) -> bool {
        leadership.leads && self.led.replace(leadership.epoch) != Some(leadership.epoch)
    }

    /// The pod says how it is. What somebody else changed since it was last known to be right, if anything: told once, because what
    /// follows is measured against what is found now.
    pub fn read(&mut self, known: PodStatus, now: Leadership) -> Option<String> {
        // Another leader may have changed the pod while it was asked.
        self.converged.take_if(|converged| converged.under != now);
        let drift = self.converged.as_ref().and_then(|converged| known.drift(&converged.known));
        self.converged.take_if(|_| drift.is_some());
        self.first_read = self.first_read.or(Some(known.at));
        self.known = Some(known);
        drift
    }

    /// The pod must be asked before anything else is done to it.
    pub fn forget(&mut self) {
        self.known = None;
    }

    /// An order leaves. Until its answer is there, and if none comes, nobody knows what the pod runs.
    pub fn order_leaves(&mut self) -> Option<PodStatus> {
        self.converged = None;
        self.known.take()
    }

    /// Only a reload helps from here on. `failed`: the generation whose operations failed.
    pub fn force_reload(&mut self, kind: ReasonKind, sentence: String, failed: Option<Generation>) {
        self.obstacles.forced_reload = Some(ForcedReload { reason: Reason { kind, sentence }, failed });
    }

    /// HAProxy refuses a bundle. For how long it has done so, if not for the first time.
    pub fn refused(&mut self) -> Option<Duration> {
        let before = self.obstacles.refused.map(|since| since.elapsed());
        self.obstacles.refused = self.obstacles.refused.or(Some(Instant::now()));
        before
    }

    /// The pod is at `target`, whose view is held. Whether its generation is another one than before.
    pub fn converge(&mut self, target: &DeployTarget, view: Arc<RunningView>, under: Leadership) -> bool {
        self.converged = self.known.clone().map(|known| Converged { known, under });
        self.obstacles.refused = None;
        (self.views.running, self.views.target) = (Some(view), None);
        let before = self.reached.replace(target.clone());
        before.is_none_or(|before| before.generation() != target.generation())
    }

    /// The worker that ran when the pod was last as it should be.
    pub fn converged_worker(&self) -> Option<u32> {
        self.converged.as_ref().map(|converged| converged.known.worker_pid)
    }

    /// The refusal of `generation`, which was live, leads back to an older bundle. Whether that is news.
    pub fn roll_back(&mut self, generation: Generation) -> bool {
        self.rolled_back.replace(generation) != Some(generation)
    }

    /// The generation that the pod runs, if this deployment brought it there.
    pub fn reached(&self) -> Option<Generation> {
        let known = self.known.as_ref().filter(|known| known.exact)?;
        let reached = self.reached.as_ref()?;
        (known.digest() == Some(reached.bundle().digest)).then(|| reached.generation())
    }

    /// Whether servers of what the pod runs went ahead of a reload.
    pub fn is_ahead(&self) -> bool {
        let digest = self.known.as_ref().and_then(PodStatus::digest);
        let ahead = self.reached.as_ref().filter(|reached| reached.check == Check::ServersOnly);
        ahead.is_some_and(|ahead| digest == Some(ahead.bundle().digest))
    }
}

impl BundleViews {
    /// The view of the bundle with `digest`, if it is held.
    pub fn find(&self, digest: Digest) -> Option<Arc<RunningView>> {
        let held = [&self.running, &self.stored, &self.target];
        held.into_iter().flatten().find(|view| view.digest() == Some(digest)).cloned()
    }
}
