//! The two ends of a supervised actor: its [`OwnHandle`], and the [`ActorHandle`] of whoever started it.

use std::{any::type_name, fmt, sync::Arc};

use actix::{Actor, ActorContext, Addr, Context, Handler, Message, Supervised};
use serde::Serialize;

use crate::{
    mailbox::Mailbox,
    stats::{ActorState, ActorStats, Lifecycle},
    yield_every::{YieldEvery, yield_now},
};

type Factory<A> = dyn Fn(OwnHandle<A>) -> A + Send + Sync;

/// An actor that a supervisor can keep: any that actix can restart, on actix's own context.
pub trait SupervisedActor: Supervised + Actor<Context = Context<Self>> + Unpin {}

impl<A: Supervised + Actor<Context = Context<A>> + Unpin> SupervisedActor for A {}

/// What an actor holds of its own supervision. Its factory gets one with each life.
pub struct OwnHandle<A> {
    pub(crate) stats: Arc<ActorStats>,
    factory: Arc<Factory<A>>,
}

/// An actor under a supervisor, as its owner holds it; clones are the same actor.
pub struct ActorHandle<A: Actor> {
    address: Addr<A>,
    stats: Arc<ActorStats>,
}

/// How a supervised actor's life ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// It had nothing left to do, or was dismissed.
    Done,
    /// It failed more often than its budget allows, or its arbiter stopped.
    Dead,
}

impl<A> OwnHandle<A> {
    pub(crate) fn new(stats: Arc<ActorStats>, factory: Arc<Factory<A>>) -> Self {
        Self { stats, factory }
    }

    /// The name the actor was started under.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.stats.name
    }

    /// A fresh actor from the factory. The one line of every stage's `Supervised::restarting`:
    /// `*self = self.own.rebuild();`
    #[must_use]
    pub fn rebuild(&self) -> A {
        (self.factory)(self.clone())
    }

    /// First line of each handler: counts the message for `/debug/actors` and keeps a flood fair to timers.
    pub fn received<M>(&self, context: &mut Context<A>)
    where
        A: Actor<Context = Context<A>>,
    {
        if self.stats.received(type_name::<M>()).is_multiple_of(u64::from(YieldEvery::MESSAGES)) {
            yield_now::<A>(context);
        }
    }

    /// Ends this actor for good after the current message: its work is over.
    pub fn finish(&self, context: &mut Context<A>)
    where
        A: Actor<Context = Context<A>>,
    {
        self.stats.dismiss();
        context.stop();
    }

    /// What the actor says of itself at `/debug/actors`; the latest word stands.
    pub fn set_detail(&self, detail: &impl Serialize) {
        match serde_json::to_value(detail) {
            Ok(detail) => self.stats.set_detail(detail),
            Err(error) => tracing::warn!(actor = self.name(), %error, "this actor's detail is not JSON"),
        }
    }
}

impl<A: SupervisedActor> ActorHandle<A> {
    pub(crate) fn new(address: Addr<A>, stats: Arc<ActorStats>) -> Self {
        Self { address, stats }
    }

    /// The way to this actor for messages `M`.
    #[must_use]
    pub fn mailbox<M>(&self) -> Mailbox<M>
    where
        A: Handler<M>,
        M: Message + Send + 'static,
        M::Result: Send,
    {
        Mailbox::new(self.address.clone().recipient(), Arc::clone(&self.stats))
    }

    /// The actix address, for what a [`Mailbox`] cannot do; messages sent here are not counted.
    #[must_use]
    pub fn addr(&self) -> &Addr<A> {
        &self.address
    }

    /// The actor as shown at `/debug/actors`.
    #[must_use]
    pub fn state(&self) -> ActorState {
        self.stats.state()
    }

    /// Ends the actor for good after the message it is handling; queued messages come back as lost.
    pub fn dismiss(&self) {
        self.stats.dismiss();
    }

    /// Resolves when the actor has ended for good.
    pub async fn exited(&self) -> Exit {
        let mut lives = self.stats.watch_lives();
        let ended = lives.wait_for(|lives| matches!(lives.now, Lifecycle::Dead | Lifecycle::Done)).await;
        match ended.map(|lives| lives.now) {
            Ok(Lifecycle::Done) => Exit::Done,
            _ => Exit::Dead,
        }
    }
}

impl<A> Clone for OwnHandle<A> {
    fn clone(&self) -> Self {
        Self { stats: Arc::clone(&self.stats), factory: Arc::clone(&self.factory) }
    }
}

impl<A: Actor> Clone for ActorHandle<A> {
    fn clone(&self) -> Self {
        Self { address: self.address.clone(), stats: Arc::clone(&self.stats) }
    }
}

impl<A> fmt::Debug for OwnHandle<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("OwnHandle").field(&self.stats.name).finish()
    }
}

impl<A: Actor> fmt::Debug for ActorHandle<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ActorHandle").field(&self.stats.name).finish()
    }
}
