//! What an actor is subscribed to, and how its supervisor delivers it.
//!
//! The supervisor polls the actor's context anyway, so it delivers, and not the mailbox: no task for a subscription, no copy that waits in the
//! mailbox. In each life the retained messages come first, in declared order, then each topic has its turn beside the mailbox.
//!
//! A message whose handler panicked in two lives in a row is withheld until a newer one comes: the next life begins as if that topic were
//! empty. A message that comes from the API server comes again after any restart of the process, so a crash loop would help nobody.

use crate::{
    envelope::Envelope,
    handle::SupervisedActor,
    stats::{ActorStats, short_type_name},
    topic::{Subscription, Topic},
};
use actix::{ActorFuture, AsyncContext, Context, Handler, dev::MessageResponse};
use futures::task::AtomicWaker;
use std::{
    any::type_name,
    cell::Cell,
    pin::Pin,
    rc::Rc,
    sync::Arc,
    task::{Context as Task, Poll},
};

/// Messages delivered in one poll of the actor before its neighbours have their turn. Few: tokio lets a task that wakes itself run up to
/// 31 times before one that another thread has woken.
const TURNS: u32 = 4;
/// A message that has ended so many lives in a row is withheld.
const LIVES: u32 = 2;

/// `A` handles what topics of `M` deliver.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot subscribe to `Topic<{M}>`: it has no `Handler<Envelope<{M}>>`"
)]
pub trait Subscriber<M: Send + Sync + 'static>: SupervisedActor + Handler<Envelope<M>> {}

impl<M: Send + Sync + 'static, A: SupervisedActor + Handler<Envelope<M>>> Subscriber<M> for A {}

/// A subscription without the type of its messages.
pub(crate) trait Inlet<A: SupervisedActor>: Send {
    /// The name of its messages' type.
    fn topic(&self) -> String;
    fn newest(&self) -> u64;
    /// Notes the newest number in `seen`, then has the actor handle the message.
    fn deliver(&self, seen: &Cell<u64>, actor: &mut A, context: &mut Context<A>, stats: &ActorStats);
}

/// A subscription that is declared and not made yet: its waker is that of the supervisor's task.
pub(crate) type Declared<A> = Box<dyn FnOnce(&Arc<AtomicWaker>) -> Box<dyn Inlet<A>> + Send>;

/// All subscriptions of an actor. They outlive the actor's lives.
pub(crate) struct Inbox<A: SupervisedActor> {
    slots: Vec<Slot<A>>,
    /// Which slot is looked at first, so that none starves.
    next: Cell<usize>,
    credit: Cell<u32>,
    /// Whether the context has its [`Delivery`].
    delivers: Cell<bool>,
    handling: Cell<Option<usize>>,
    stats: Arc<ActorStats>,
}

struct Slot<A> {
    inlet: Box<dyn Inlet<A>>,
    /// The number of the message handled last in this life.
    seen: Cell<u64>,
    /// The message that was handled when a life ended by a panic, and how many lives.
    ended: Cell<(u64, u32)>,
    is_withheld: Cell<bool>,
}

/// The retained message of one topic, in front of the mailbox.
struct Retained<A: SupervisedActor> {
    inbox: Rc<Inbox<A>>,
    index: usize,
}

/// Delivers beside the mailbox for as long as the actor waits for nothing.
struct Delivery<A: SupervisedActor>(Rc<Inbox<A>>);

/// A subscription to `topic`, to be made where the actor runs.
pub(crate) fn declare<A: Subscriber<M>, M: Send + Sync + 'static>(topic: &Topic<M>) -> Declared<A> {
    let topic = topic.clone();
    Box::new(move |waker| Box::new(Subscription::new(&topic, waker)))
}

impl<M: Send + Sync + 'static, A: Subscriber<M>> Inlet<A> for Subscription<M> {
    fn topic(&self) -> String {
        short_type_name(type_name::<M>())
    }

    fn newest(&self) -> u64 {
        self.newest()
    }

    fn deliver(&self, seen: &Cell<u64>, actor: &mut A, context: &mut Context<A>, stats: &ActorStats) {
        let Some((number, envelope)) = self.newer_than(seen.get()) else { return };
        seen.set(number);
        stats.received(type_name::<M>());
        let span = envelope.span.clone();
        span.in_scope(|| actor.handle(envelope, context).handle(context, None));
    }
}

impl<A: SupervisedActor> Inbox<A> {
    pub(crate) fn new(declared: Vec<Declared<A>>, stats: &Arc<ActorStats>) -> Rc<Self> {
        let slot = |declared: Declared<A>| Slot {
            inlet: declared(&stats.waker),
            seen: Cell::new(0),
            ended: Cell::default(),
            is_withheld: Cell::new(false),
        };
        Rc::new(Self {
            slots: declared.into_iter().map(slot).collect(),
            next: Cell::new(0),
            credit: Cell::new(0),
            delivers: Cell::new(false),
            handling: Cell::new(None),
            stats: Arc::clone(stats),
        })
    }

    /// A life begins: what is retained waits in front of the mailbox, unless it is withheld.
    pub(crate) fn begin(self: &Rc<Self>, context: &mut Context<A>) {
        // actix polls last what was pushed first.
        for (index, slot) in self.slots.iter().enumerate().rev() {
            let (number, lives) = slot.ended.get();
            slot.is_withheld.set(lives >= LIVES && number == slot.inlet.newest());
            if slot.is_withheld.get() {
                slot.seen.set(number);
            } else {
                slot.seen.set(0);
                context.wait(Retained { inbox: Rc::clone(self), index });
            }
        }
        self.show_withheld();
    }

    /// Before each poll of the context, which has no delivery after a restart, or after one of actix's stale cancellations.
    pub(crate) fn attend(self: &Rc<Self>, context: &mut Context<A>) {
        self.credit.set(TURNS);
        if !self.slots.is_empty() && !self.delivers.replace(true) {
            context.spawn(Delivery(Rc::clone(self)));
        }
    }

    /// After a panic: the topic whose message was being handled, if one was.
    pub(crate) fn blame(&self) -> Option<String> {
        let slot = self.slots.get(self.handling.take()?)?;
        let (number, lives) = slot.ended.get();
        let lives = if number == slot.seen.get() { lives + 1 } else { 1 };
        slot.ended.set((slot.seen.get(), lives));
        Some(slot.inlet.topic())
    }

    /// Hands over what is new on one topic; whether there was anything.
    fn deliver(&self, index: usize, actor: &mut A, context: &mut Context<A>) -> bool {
        let Some(slot) = self.slots.get(index).filter(|slot| slot.inlet.newest() > slot.seen.get()) else {
            return false;
        };
        self.handling.set(Some(index));
        slot.inlet.deliver(&slot.seen, actor, context, &self.stats);
        self.handling.set(None);
        slot.ended.set((0, 0));
        if slot.is_withheld.replace(false) {
            self.show_withheld();
        }
        true
    }

    fn is_behind(&self) -> bool {
        self.slots.iter().any(|slot| slot.inlet.newest() > slot.seen.get())
    }

    fn show_withheld(&self) {
        let withheld = self.slots.iter().filter(|slot| slot.is_withheld.get());
        self.stats.set_withheld(withheld.map(|slot| slot.inlet.topic()).collect());
    }
}

impl<A: SupervisedActor> ActorFuture<A> for Retained<A> {
    type Output = ();

    fn poll(self: Pin<&mut Self>, actor: &mut A, context: &mut Context<A>, _: &mut Task<'_>) -> Poll<()> {
        self.inbox.deliver(self.index, actor, context);
        Poll::Ready(())
    }
}

impl<A: SupervisedActor> ActorFuture<A> for Delivery<A> {
    type Output = ();

    fn poll(self: Pin<&mut Self>, actor: &mut A, context: &mut Context<A>, task: &mut Task<'_>) -> Poll<()> {
        let inbox = &self.0;
        let count = inbox.slots.len();
        for _ in 0..count {
            if context.waiting() || inbox.credit.get() == 0 {
                break;
            }
            let index = inbox.next.replace((inbox.next.get() + 1) % count);
            if inbox.deliver(index, actor, context) {
                inbox.credit.set(inbox.credit.get() - 1);
            }
        }
        if inbox.is_behind() {
            task.waker().wake_by_ref();
        }
        Poll::Pending
    }
}

impl<A: SupervisedActor> Drop for Delivery<A> {
    fn drop(&mut self) {
        self.0.delivers.set(false);
    }
}
