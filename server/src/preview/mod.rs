//! What would change on a pod: files as a diff, and how its HAProxy would follow. Pure; nobody is asked here.

pub(crate) mod diff;
#[cfg(test)]
mod tests;
mod words;

pub use diff::{Fate, FileChange};
pub use words::{as_json, as_text};

use haptic_deploy::{Plan, RunningView, Verdict, plan};
use haptic_model::{Bundle, Capabilities, HaproxyVersion};

/// What a bundle would change on one pod.
#[derive(Clone, Debug)]
pub struct PodPreview {
    /// `namespace/name`, or the folder its bundle was read from.
    pub pod: String,
    /// Of its HAProxy.
    pub version: HaproxyVersion,
    /// How it would get there.
    pub plan: Plan,
    /// The files that would change, by path.
    pub files: Vec<FileChange>,
}

impl PodPreview {
    /// Compares what `pod` runs with what it should run.
    #[must_use]
    pub fn of(pod: String, version: HaproxyVersion, running: &RunningView, desired: &Bundle) -> Self {
        let plan = plan(running, desired, Capabilities::of(version));
        let files = diff::changes(&plan, running.bundle(), desired);
        Self { pod, version, plan, files }
    }

    /// Whether anything would change, be it only a comment.
    #[must_use]
    pub fn changes(&self) -> bool {
        !self.plan.is_empty()
    }

    /// The outcome in one word: `nothing`, `files`, `runtime` or `reload`.
    #[must_use]
    pub fn verdict(&self) -> &'static str {
        match &self.plan.verdict {
            Verdict::Nothing if self.changes() => "files",
            Verdict::Nothing => "nothing",
            Verdict::Runtime { .. } => "runtime",
            Verdict::Reload { .. } => "reload",
        }
    }

    /// Whether another pod would change in the same way.
    fn is_like(&self, other: &Self) -> bool {
        self.version == other.version && self.plan == other.plan
    }
}
