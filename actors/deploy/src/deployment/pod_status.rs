//! What is known of a pod, and what follows from it. Pure.

use haptic_model::{
    Bundle, Capabilities, Generation,
    agent_api::{Running, Status},
};
use haptic_text::Digest;
use tokio::time::Instant;

/// A pod as it was when it last answered.
#[derive(Clone, Debug)]
pub(crate) struct PodStatus {
    pub capabilities: Capabilities,
    pub running: Option<Running>,
    pub exact: bool,
    pub stored: Option<Running>,
    pub incarnation: u64,
    /// Why it is behind what it was brought to.
    pub last_failure: Option<String>,
    pub worker_pid: u32,
    pub alive: bool,
    pub intact: bool,
    /// When it was asked.
    pub at: Instant,
}

/// What a pod needs to be at a bundle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PodNeed {
    /// Nothing: it is there.
    Nothing,
    /// HAProxy itself must come back first.
    Haproxy,
    /// Somebody else changed files on its disk, and restarted or reloaded HAProxy with them.
    FilesAndReload,
    /// A plan from what it runs.
    Plan,
}

impl PodStatus {
    pub fn from_status(status: Status, at: Instant) -> Self {
        Self {
            capabilities: status.capabilities(),
            running: status.running,
            exact: status.exact,
            stored: status.stored,
            incarnation: status.incarnation,
            last_failure: status.setback,
            worker_pid: status.worker_pid,
            alive: status.alive,
            intact: status.intact,
            at,
        }
    }

    pub fn digest(&self) -> Option<Digest> {
        self.running.map(|running| running.digest)
    }

    pub fn stored_digest(&self) -> Option<Digest> {
        self.stored.map(|stored| stored.digest)
    }

    /// `worker_before`: which worker ran when the pod last was as it should be.
    pub fn need(&self, target: Digest, worker_before: Option<u32>) -> PodNeed {
        let restarted = worker_before.is_some_and(|worker| worker != self.worker_pid);
        if !self.exact || self.digest() != Some(target) {
            PodNeed::Plan
        } else if !self.alive {
            PodNeed::Haproxy
        } else if !self.intact && restarted && self.stored_digest() == Some(target) {
            PodNeed::FilesAndReload
        } else {
            PodNeed::Nothing
        }
    }

    /// What somebody else changed since `before`, in words.
    pub fn drift(&self, before: &Self) -> Option<String> {
        let short = |digest: Option<Digest>| digest.map_or("its bootstrap file".to_owned(), |d| d.short());
        if self.digest() != before.digest() {
            let what = format!("it runs {} instead of {}", short(self.digest()), short(before.digest()));
            return Some(match &self.last_failure {
                Some(failure) => format!("{failure}: {what}"),
                None => what,
            });
        }
        if before.exact && !self.exact {
            return Some("HAProxy was changed half-way".to_owned());
        }
        if before.intact && !self.intact {
            return Some("files on its disk differ from what they should be".to_owned());
        }
        (before.alive && !self.alive).then(|| "HAProxy does not answer its socket".to_owned())
    }

    /// The pod runs `bundle` now.
    pub fn applied(&mut self, bundle: &Bundle, generation: Generation, worker_pid: u32) {
        self.running = Some(Running { digest: bundle.digest, generation });
        self.worker_pid = worker_pid;
        self.last_failure = None;
        (self.alive, self.exact) = (true, true);
    }

    /// `bundle` is on its disk now.
    pub fn stored(&mut self, bundle: &Bundle, generation: Generation) {
        self.stored = Some(Running { digest: bundle.digest, generation });
        self.intact = true;
    }
}
