//! Which bundle a pod is to be brought to: what the topics say, and what follows from it. Pure.

use haptic_model::{
    Bundle, Capabilities, Generation,
    pipeline::{Candidate, Refused, Rendered, Validated},
};
use std::sync::Arc;

/// The newest bundles and verdicts.
#[derive(Clone, Debug, Default)]
pub(crate) struct NewestBundles {
    /// The newest that passed everything but HAProxy's checker.
    pub candidate: Option<Arc<Candidate>>,
    /// The newest that passed that as well.
    pub validated: Option<Arc<Validated>>,
    /// The newest that was checked, when it did not pass.
    pub refused: Option<Arc<Refused>>,
    /// Whether anything may go live before HAProxy's own checker has ended.
    pub allows_fast_path: bool,
}

/// A bundle to bring a pod to.
#[derive(Clone, Debug)]
pub(crate) struct DeployTarget {
    pub rendered: Arc<Rendered>,
    pub check: Check,
}

/// What HAProxy's own checker says of a target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Check {
    /// It passed: it may be stored and reloaded.
    Passed,
    /// It has not ended.
    Pending,
    /// Nothing, because it is never asked: servers that go ahead of a reload which brings all else.
    ServersOnly,
}

impl NewestBundles {
    /// A bundle that may go live before its check ends, by operations alone. `reached`: the generation that the pod runs.
    ///
    /// While the newest check is a refusal there is none: what comes next most likely holds the same mistake, and pods would
    /// go to and fro. Nor does a new configuration go live before it has passed once: it concerns everybody. There is none, either, where the configuration wants nothing live that is not checked.
    pub fn fast_path(&self, reached: Option<Generation>) -> Option<DeployTarget> {
        let (candidate, validated) = (self.candidate.as_ref()?, self.validated.as_ref()?);
        let is_newer =
            candidate.generation() > validated.generation() && Some(candidate.generation()) >= reached;
        let has_passed = Arc::ptr_eq(&candidate.rendered.config.spec, &validated.rendered.config.spec);
        (is_newer && has_passed && self.refused.is_none() && self.allows_fast_path)
            .then(|| DeployTarget { rendered: Arc::clone(&candidate.rendered), check: Check::Pending })
    }

    /// Whether there is a newer bundle than the checked one, and nothing is said against it yet.
    pub fn is_checking(&self) -> bool {
        self.awaiting_check().is_some()
    }

    /// The newest bundle, while nothing is said of it yet.
    pub fn awaiting_check(&self) -> Option<Generation> {
        let checked = self.validated.as_ref().map(|validated| validated.generation());
        let newest = self.candidate.as_ref().map(|candidate| candidate.generation());
        newest.filter(|_| newest > checked && self.refused.is_none())
    }

    /// The checked bundle that the pod is to run; `None` while it runs a newer one that nobody has refused.
    pub fn checked(&self, reached: Option<Generation>) -> Option<DeployTarget> {
        let validated = self.validated.as_ref()?;
        let is_behind = reached.is_some_and(|reached| reached > validated.generation());
        (!is_behind || self.refused.is_some())
            .then(|| DeployTarget { rendered: Arc::clone(&validated.rendered), check: Check::Passed })
    }

    /// The generation that was rendered for pods of which nothing was known, and is not for one with `capabilities`: templates
    /// take it that such pods can add backends.
    pub fn unfit(&self, capabilities: Capabilities) -> Option<Generation> {
        let rendered = &self.validated.as_ref()?.rendered;
        let is_unfit = rendered.fleet.common.is_none() && !capabilities.dynamic_backends;
        is_unfit.then_some(rendered.reconcile.generation)
    }

    /// The newest generation that there is a verdict on.
    pub fn validated_or_refused(&self) -> Option<Generation> {
        let refused = self.refused.as_ref().map(|refused| refused.rendered.reconcile.generation);
        refused.max(self.validated.as_ref().map(|validated| validated.generation()))
    }

    /// The newest generation.
    pub fn newest(&self) -> Option<Generation> {
        self.candidate.as_ref().map(|candidate| candidate.generation()).max(self.validated_or_refused())
    }
}

impl DeployTarget {
    pub fn generation(&self) -> Generation {
        self.rendered.reconcile.generation
    }

    pub fn bundle(&self) -> &Bundle {
        &self.rendered.bundle
    }
}
