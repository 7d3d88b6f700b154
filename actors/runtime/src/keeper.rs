//! Supervision: an actor that panics is rebuilt under the same address, with its queued messages.
//!
//! actix's own `Supervisor` restarts after a stop and not after a panic. The Keeper polls the actor's context
//! itself, so that an unwind stops here and not in tokio's task harness. The message that caused the panic is
//! dropped (its sender is told), so one bad message cannot loop. An actor that fails too often is dead: the process
//! ends, because a dead actor behind a Ready pod is the worst of all.
//!
//! Kept actors must not call `cancel_future`: actix keeps a cancelled handle across a restart and then cancels the
//! new life's first timers with it. A stale timer is better recognised by a counter the actor keeps.

use std::{
    fmt,
    future::Future,
    pin::Pin,
    sync::Arc,
    task::{Context as TaskContext, Poll, ready},
    time::Duration,
};

use actix::{
    Actor, Addr, ArbiterHandle, Context, Supervised, System,
    dev::{
        ContextFut,
        channel::{self, AddressReceiver},
    },
};
use tokio::time::{Instant, Sleep};

use crate::{
    health::{Health, Role},
    panics,
    restarts::{Failures, RestartPolicy},
    seat::{Kept, Seat},
    vitals::Life,
};

/// The process's exit code when an actor spent its restart budget (`EX_SOFTWARE` of sysexits.h).
pub const EXIT_ESCALATED: i32 = 70;

/// An actor a Keeper can keep: any supervised actor on actix's own context.
pub trait Stage: Supervised + Actor<Context = Context<Self>> + Unpin {}

impl<A: Supervised + Actor<Context = Context<A>> + Unpin> Stage for A {}

/// Under which name and bounds an actor runs.
#[derive(Clone, Debug)]
pub struct ActorSpec {
    /// Shown in logs, liveness and `/debug/actors`.
    pub name: Arc<str>,
    /// Messages the mailbox holds before senders wait, beside one for each sender.
    pub mailbox: usize,
    /// The longest time without coming back from its work before it counts as stuck.
    pub busy_bound: Duration,
}

/// One restart, as told to [`Supervision::on_restart`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Restart {
    /// The actor's name.
    pub actor: Arc<str>,
    /// The panic's message and place.
    pub reason: String,
    /// How often the actor was restarted so far, this time included.
    pub restarts: u32,
}

/// What all kept actors share: the registry, the restart policy, and who is told. Cheap to clone.
#[derive(Clone)]
pub struct Supervision {
    /// The registry the actors appear in.
    pub health: Health,
    /// Budget and back-off.
    pub policy: RestartPolicy,
    /// What depends on them.
    pub role: Role,
    on_restart: Arc<dyn Fn(&Restart) + Send + Sync>,
    on_escalate: Arc<dyn Fn(&str) + Send + Sync>,
}

/// The future that drives one actor through all its lives.
pub struct Keeper<A: Stage> {
    seat: Seat<A>,
    supervision: Supervision,
    failures: Failures,
    /// Keeps the mailbox open: a kept actor ends when it says so, not when a sender forgets it.
    _address: Addr<A>,
    life: Incarnation<A>,
    rest: Option<Pin<Box<Sleep>>>,
    span: tracing::Span,
}

/// What follows a failure.
#[derive(PartialEq)]
enum Verdict {
    Rests,
    GivenUp,
}

/// Whether there is an actor to poll.
enum Incarnation<A: Stage> {
    /// Never built successfully.
    Unborn(Option<AddressReceiver<A>>),
    Alive(ContextFut<A, Context<A>>),
    /// Failed; must be rebuilt before it is polled again.
    Broken(ContextFut<A, Context<A>>),
    Gone,
}

impl ActorSpec {
    /// A spec with room for 16 messages and a busy bound of 4 seconds: within 5 a stuck actor is told of.
    #[must_use]
    pub fn named(name: impl Into<Arc<str>>) -> Self {
        Self { name: name.into(), mailbox: 16, busy_bound: Duration::from_secs(4) }
    }

    /// With room for `messages`.
    #[must_use]
    pub fn mailbox(self, messages: usize) -> Self {
        Self { mailbox: messages, ..self }
    }

    /// With another busy bound.
    #[must_use]
    pub fn busy_bound(self, busy_bound: Duration) -> Self {
        Self { busy_bound, ..self }
    }
}

impl Supervision {
    /// The default policy; over budget the running `System` stops with code 70.
    #[must_use]
    pub fn new(health: Health) -> Self {
        Self {
            health,
            policy: RestartPolicy::default(),
            role: Role::Works,
            on_restart: Arc::new(|_| {}),
            on_escalate: Arc::new(|_| System::current().stop_with_code(EXIT_ESCALATED)),
        }
    }

    /// For actors that only observe: nobody waits for one that is stuck or dead.
    #[must_use]
    pub fn observing(self) -> Self {
        Self { role: Role::Observes, ..self }
    }

    /// With another policy.
    #[must_use]
    pub fn policy(self, policy: RestartPolicy) -> Self {
        Self { policy, ..self }
    }

    /// Calls `told` at each restart, for instance to make an event of it.
    #[must_use]
    pub fn on_restart(self, told: impl Fn(&Restart) + Send + Sync + 'static) -> Self {
        Self { on_restart: Arc::new(told), ..self }
    }

    /// Calls `told` with the actor's name when its budget is spent, instead of stopping the system.
    #[must_use]
    pub fn on_escalate(self, told: impl Fn(&str) + Send + Sync + 'static) -> Self {
        Self { on_escalate: Arc::new(told), ..self }
    }
}

impl<A: Stage> Keeper<A> {
    /// Starts an actor on `arbiter` and keeps it. `factory` builds each of its lives from the same arguments; it
    /// must capture clones and cells, never state of a former life.
    pub fn start(
        arbiter: &ArbiterHandle,
        spec: ActorSpec,
        supervision: &Supervision,
        factory: impl Fn(Seat<A>) -> A + Send + Sync + 'static,
    ) -> Kept<A> {
        let (sender, receiver) = channel::channel(spec.mailbox);
        let address = Addr::new(sender);
        let vitals = supervision.health.enrol(Arc::clone(&spec.name), spec.busy_bound, supervision.role);
        let seat = Seat::new(Arc::clone(&vitals), Arc::new(factory));
        let keeper_address = address.clone();
        let supervision = supervision.clone();
        let running = arbiter.spawn_fn(move || {
            let span = tracing::error_span!("actor", name = seat.name());
            actix_rt::spawn(Self {
                failures: Failures::new(supervision.policy),
                seat,
                supervision,
                _address: keeper_address,
                life: Incarnation::Unborn(Some(receiver)),
                rest: None,
                span,
            });
        });
        if !running {
            vitals.note_failure("its arbiter had stopped before it started");
            vitals.set_life(Life::Dead);
        }
        Kept::new(address, vitals)
    }

    /// One turn of the actor: build or rebuild it if need be, then poll it. Panics of any of these end here.
    fn turn(&mut self, task: &mut TaskContext<'_>) -> Result<Poll<()>, String> {
        let Self { seat, life, span, .. } = self;
        let _entered = span.enter();
        let _busy = seat.vitals.busy();
        panics::catch(&seat.vitals.name, || {
            life.make_alive(seat);
            seat.vitals.do_what_a_test_asks();
            match life {
                Incarnation::Alive(context) => Pin::new(context).poll(task),
                _ => Poll::Ready(()),
            }
        })
    }

    /// The actor panicked or stopped unasked: rest and rebuild, or give up.
    fn failed(&mut self, why: &str) -> Verdict {
        self.life.break_down();
        let Some(rest) = self.failures.rest_after(Instant::now()) else {
            return self.give_up(why);
        };
        let actor = self.seat.name();
        let rest_ms = u64::try_from(rest.as_millis()).unwrap_or(u64::MAX);
        tracing::warn!(actor, why, rest_ms, "actor failed; it is rebuilt after a rest");
        let restarts = self.seat.vitals.failed(why);
        let actor = Arc::clone(&self.seat.vitals.name);
        (self.supervision.on_restart)(&Restart { actor, reason: why.to_owned(), restarts });
        self.rest = Some(Box::pin(tokio::time::sleep(rest)));
        Verdict::Rests
    }

    fn give_up(&mut self, why: &str) -> Verdict {
        let actor = self.seat.name().to_owned();
        tracing::error!(actor, why, policy = ?self.supervision.policy, "actor failed too often; giving up");
        self.seat.vitals.note_failure(why);
        self.end(Life::Dead);
        (self.supervision.on_escalate)(&actor);
        Verdict::GivenUp
    }

    /// Drops the actor; actix runs its `stopping` and `stopped` while the context is dropped.
    fn end(&mut self, life: Life) {
        let last = std::mem::replace(&mut self.life, Incarnation::Gone);
        if let Err(why) = panics::catch(&self.seat.vitals.name, || drop(last)) {
            self.seat.vitals.note_failure(&why);
        }
        self.seat.vitals.set_life(life);
    }
}

impl<A: Stage> Future for Keeper<A> {
    type Output = ();

    fn poll(self: Pin<&mut Self>, task: &mut TaskContext<'_>) -> Poll<()> {
        let this = self.get_mut();
        this.seat.vitals.keeper.register(task.waker());
        loop {
            if this.seat.vitals.is_dismissed() {
                this.end(Life::Done);
                return Poll::Ready(());
            }
            if let Some(rest) = &mut this.rest {
                ready!(rest.as_mut().poll(task));
                this.rest = None;
            }
            let turn = this.turn(task);
            if this.seat.vitals.is_dismissed() {
                continue;
            }
            let verdict = match turn {
                Ok(Poll::Pending) => {
                    this.seat.vitals.set_life(Life::Running);
                    return Poll::Pending;
                }
                Ok(Poll::Ready(())) => this.failed("it stopped its context without Seat::finish"),
                Err(why) => this.failed(&why),
            };
            if verdict == Verdict::GivenUp {
                return Poll::Ready(());
            }
        }
    }
}

impl<A: Stage> Incarnation<A> {
    fn make_alive(&mut self, seat: &Seat<A>) {
        match self {
            Self::Unborn(receiver) => {
                let actor = seat.rebuild();
                if let Some(receiver) = receiver.take() {
                    *self = Self::Alive(Context::with_receiver(receiver).into_future(actor));
                }
            }
            Self::Broken(context) => {
                context.restart();
                if let Self::Broken(context) = std::mem::replace(self, Self::Gone) {
                    *self = Self::Alive(context);
                }
            }
            Self::Alive(_) | Self::Gone => {}
        }
    }

    fn break_down(&mut self) {
        *self = match std::mem::replace(self, Self::Gone) {
            Self::Alive(context) => Self::Broken(context),
            other => other,
        };
    }
}

/// The arbiter went away under the actor: during a shutdown nobody looks, otherwise liveness must fail.
impl<A: Stage> Drop for Keeper<A> {
    fn drop(&mut self) {
        if !matches!(self.life, Incarnation::Gone) {
            self.seat.vitals.note_failure("its arbiter stopped");
            self.end(Life::Dead);
        }
    }
}

impl fmt::Debug for Supervision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { policy, role, .. } = self;
        f.debug_struct("Supervision").field("policy", policy).field("role", role).finish_non_exhaustive()
    }
}

impl<A: Stage> fmt::Debug for Keeper<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Keeper").field(&self.seat.name()).finish()
    }
}
