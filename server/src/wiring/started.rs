//! What actors are started with: the topics that they may subscribe to, and where and how they run.

use super::topics::Edges;
use actix::ArbiterHandle;
use haptic_inspect::Readers;
use haptic_runtime::{ActorHandle, OwnHandle, Spec, SupervisedActor, Supervision};

/// What the actors of one thread are started with.
pub(super) struct Started<'w> {
    pub readers: &'w Readers,
    pub edges: &'w Edges,
    pub arbiter: &'w ArbiterHandle,
    pub supervision: &'w Supervision,
}

impl Started<'_> {
    /// Starts an actor that subscribes to nothing, and again whenever it fails.
    pub fn keep<A: SupervisedActor>(
        &self,
        name: &'static str,
        factory: impl Fn(OwnHandle<A>) -> A + Send + Sync + 'static,
    ) -> ActorHandle<A> {
        Spec::named(name).start(self.arbiter, self.supervision, factory)
    }
}
