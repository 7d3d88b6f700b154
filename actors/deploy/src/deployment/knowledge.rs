//! What is known of a pod, and what follows from it. Pure.

use crate::planner::Plan;
use haptic_model::{
    Bundle, Capabilities, Digest, Epoch, Generation,
    agent_api::{Apply, Method, Running, Status},
};
use std::collections::{BTreeMap, BTreeSet};
use tokio::time::Instant;

/// A pod as it was when it last answered.
#[derive(Clone, Debug)]
pub(super) struct Knowledge {
    pub capabilities: Capabilities,
    pub running: Option<Running>,
    pub worker_pid: u32,
    pub alive: bool,
    pub intact: bool,
    /// When it was asked.
    pub at: Instant,
}

/// What a pod needs to be at a bundle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Need {
    /// Nothing: it is there.
    Nothing,
    /// HAProxy itself must come back first.
    Haproxy,
    /// Files on its disk were changed by somebody else; the process runs what it should.
    Files,
    /// As before, and somebody restarted or reloaded HAProxy with them.
    FilesAndReload,
    /// A plan from what it runs.
    Plan,
}

impl Knowledge {
    pub fn from_status(status: Status, at: Instant) -> Self {
        Self {
            capabilities: Capabilities::of(status.version),
            running: status.running,
            worker_pid: status.worker_pid,
            alive: status.alive,
            intact: status.intact,
            at,
        }
    }

    pub fn digest(&self) -> Option<Digest> {
        self.running.as_ref().map(|running| running.digest)
    }

    /// `before` is what was known when the pod last was as it should be.
    pub fn need(&self, target: Digest, worker_before: Option<u32>) -> Need {
        if self.digest() != Some(target) {
            Need::Plan
        } else if !self.alive {
            Need::Haproxy
        } else if self.intact {
            Need::Nothing
        } else if worker_before.is_some_and(|worker| worker != self.worker_pid) {
            Need::FilesAndReload
        } else {
            Need::Files
        }
    }

    /// What somebody else changed since `before`, in words.
    pub fn drift(&self, before: &Self) -> Option<String> {
        let short = |digest: Option<Digest>| digest.map_or("its bootstrap file".to_owned(), |d| d.short());
        if self.digest() != before.digest() {
            return Some(format!("it runs {} instead of {}", short(self.digest()), short(before.digest())));
        }
        if before.intact && !self.intact {
            return Some("files on its disk differ from what it runs".to_owned());
        }
        (before.alive && !self.alive).then(|| "HAProxy does not answer its socket".to_owned())
    }

    /// The order that carries out `plan`. Only contents that the pod does not have are sent, and those of `missing`.
    pub fn order(
        &self,
        plan: &Plan,
        bundle: &Bundle,
        epoch: Epoch,
        generation: Generation,
        missing: &[String],
    ) -> Apply {
        let present: BTreeSet<Digest> =
            self.running.iter().flat_map(|running| running.files.values().copied()).collect();
        let lacks =
            |path: &str, digest: &Digest| !present.contains(digest) || missing.iter().any(|m| m == path);
        let contents = bundle
            .all()
            .filter(|file| lacks(&file.path, &file.digest))
            .map(|file| (file.path.to_string(), file.text.to_string()))
            .collect();
        let method = match plan.verdict.reload_reason() {
            Some(reason) => Method::Reload { reason },
            None => Method::Runtime { operations: plan.verdict.operations().to_vec() },
        };
        Apply {
            epoch,
            generation,
            base: self.digest(),
            target: bundle.digest,
            config: bundle.config.path.to_string(),
            files: digests(bundle),
            contents,
            method,
        }
    }

    /// The pod runs `bundle` now.
    pub fn applied(&mut self, bundle: &Bundle, generation: Generation, worker_pid: u32) {
        self.running = Some(Running { digest: bundle.digest, generation, files: digests(bundle) });
        self.worker_pid = worker_pid;
        (self.alive, self.intact) = (true, true);
    }
}

fn digests(bundle: &Bundle) -> BTreeMap<String, Digest> {
    bundle.all().map(|file| (file.path.to_string(), file.digest)).collect()
}
