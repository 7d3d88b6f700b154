//! How an actor is started: its name and bounds, what it subscribes to, how it is built.

use crate::{
    handle::{ActorHandle, OwnHandle, SupervisedActor},
    inbox::{Declared, Subscriber, declare},
    supervisor::{Supervision, Supervisor},
    topic::Topic,
};
use actix::ArbiterHandle;
use std::{fmt, sync::Arc, time::Duration};

/// An actor as it is wired: all topics that reach it. What it publishes through and whom it sends to, its factory has got.
pub struct Spec<A: SupervisedActor> {
    pub(crate) name: Arc<str>,
    /// Messages the mailbox holds before senders wait, beside one for each sender.
    pub(crate) mailbox: usize,
    pub(crate) busy_bound: Duration,
    pub(crate) subscriptions: Vec<Declared<A>>,
}

impl<A: SupervisedActor> Spec<A> {
    /// A spec with room for 16 messages and a busy bound of 4 seconds: a stuck actor is reported within 5. The name is shown in logs,
    /// liveness and `/debug/actors`.
    #[must_use]
    pub fn named(name: impl Into<Arc<str>>) -> Self {
        let (mailbox, busy_bound) = (16, Duration::from_secs(4));
        Self { name: name.into(), mailbox, busy_bound, subscriptions: Vec::new() }
    }

    /// Starts the actor on `arbiter` and keeps it. `factory` builds each of its lives from the same arguments: it must capture
    /// clones, topics and publishers, never the state of a former life.
    pub fn start(
        self,
        arbiter: &ArbiterHandle,
        supervision: &Supervision,
        factory: impl Fn(OwnHandle<A>) -> A + Send + Sync + 'static,
    ) -> ActorHandle<A> {
        Supervisor::start(arbiter, self, supervision, factory)
    }

    /// With room for `messages`.
    #[must_use]
    pub fn mailbox(self, messages: usize) -> Self {
        Self { mailbox: messages, ..self }
    }

    /// With another longest time without coming back from its work before it counts as stuck.
    #[must_use]
    pub fn busy_bound(self, busy_bound: Duration) -> Self {
        Self { busy_bound, ..self }
    }

    /// Has the messages of `topic` delivered to the actor, the retained one first. Retained messages come in the order of these calls.
    #[must_use]
    pub fn subscribes<M: Send + Sync + 'static>(mut self, topic: &Topic<M>) -> Self
    where
        A: Subscriber<M>,
    {
        self.subscriptions.push(declare(topic));
        self
    }
}

impl<A: SupervisedActor> fmt::Debug for Spec<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Spec").field(&self.name).finish()
    }
}
