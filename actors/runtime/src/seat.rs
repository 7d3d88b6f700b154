//! The two ends of a kept actor: its own [`Seat`], and the [`Kept`] handle of whoever started it.

use std::{any::type_name, fmt, sync::Arc};

use actix::{Actor, ActorContext, Addr, Context, Handler, Message};
use serde::Serialize;

use crate::{
    keeper::Stage,
    post::Post,
    vitals::{ActorState, Life, Vitals},
    yield_every::{YieldEvery, yield_now},
};

type Factory<A> = dyn Fn(Seat<A>) -> A + Send + Sync;

/// What an actor holds of its own supervision. Its factory gets one with each life.
pub struct Seat<A> {
    pub(crate) vitals: Arc<Vitals>,
    factory: Arc<Factory<A>>,
}

/// An actor under a Keeper, as its owner holds it; clones are the same actor.
pub struct Kept<A: Actor> {
    address: Addr<A>,
    vitals: Arc<Vitals>,
}

/// How a kept actor's life ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// It had nothing left to do, or was dismissed.
    Done,
    /// It failed more often than its budget allows, or its arbiter stopped.
    Dead,
}

impl<A> Seat<A> {
    pub(crate) fn new(vitals: Arc<Vitals>, factory: Arc<Factory<A>>) -> Self {
        Self { vitals, factory }
    }

    /// The name the actor was started under.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.vitals.name
    }

    /// A fresh actor from the factory. The one line of every stage's `Supervised::restarting`:
    /// `*self = self.seat.rebuild();`
    #[must_use]
    pub fn rebuild(&self) -> A {
        (self.factory)(self.clone())
    }

    /// First line of each handler: counts the message for `/debug/actors` and keeps a flood fair to timers.
    pub fn received<M>(&self, context: &mut Context<A>)
    where
        A: Actor<Context = Context<A>>,
    {
        if self.vitals.received(type_name::<M>()).is_multiple_of(u64::from(YieldEvery::MESSAGES)) {
            yield_now::<A>(context);
        }
    }

    /// Ends this actor for good after the current message: its work is over.
    pub fn finish(&self, context: &mut Context<A>)
    where
        A: Actor<Context = Context<A>>,
    {
        self.vitals.dismiss();
        context.stop();
    }

    /// What the actor says of itself at `/debug/actors`; the latest word stands.
    pub fn set_detail(&self, detail: &impl Serialize) {
        match serde_json::to_value(detail) {
            Ok(detail) => self.vitals.set_detail(detail),
            Err(error) => tracing::warn!(actor = self.name(), %error, "this actor's detail is not JSON"),
        }
    }
}

impl<A: Stage> Kept<A> {
    pub(crate) fn new(address: Addr<A>, vitals: Arc<Vitals>) -> Self {
        Self { address, vitals }
    }

    /// The way to this actor for messages `M`.
    #[must_use]
    pub fn post<M>(&self) -> Post<M>
    where
        A: Handler<M>,
        M: Message + Send + 'static,
        M::Result: Send,
    {
        Post::new(self.address.clone().recipient(), Arc::clone(&self.vitals))
    }

    /// The actix address, for what a [`Post`] cannot do; messages sent here are not counted.
    #[must_use]
    pub fn addr(&self) -> &Addr<A> {
        &self.address
    }

    /// The actor as shown at `/debug/actors`.
    #[must_use]
    pub fn state(&self) -> ActorState {
        self.vitals.state()
    }

    /// Ends the actor for good after the message it is handling; queued messages come back as lost.
    pub fn dismiss(&self) {
        self.vitals.dismiss();
    }

    /// Resolves when the actor has ended for good.
    pub async fn exited(&self) -> Exit {
        let mut lives = self.vitals.watch_lives();
        let ended = lives.wait_for(|lives| matches!(lives.now, Life::Dead | Life::Done)).await;
        match ended.map(|lives| lives.now) {
            Ok(Life::Done) => Exit::Done,
            _ => Exit::Dead,
        }
    }
}

impl<A> Clone for Seat<A> {
    fn clone(&self) -> Self {
        Self { vitals: Arc::clone(&self.vitals), factory: Arc::clone(&self.factory) }
    }
}

impl<A: Actor> Clone for Kept<A> {
    fn clone(&self) -> Self {
        Self { address: self.address.clone(), vitals: Arc::clone(&self.vitals) }
    }
}

impl<A> fmt::Debug for Seat<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Seat").field(&self.vitals.name).finish()
    }
}

impl<A: Actor> fmt::Debug for Kept<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Kept").field(&self.vitals.name).finish()
    }
}
