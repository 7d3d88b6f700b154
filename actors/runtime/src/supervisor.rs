//! Supervision: an actor that panics is rebuilt under the same address, with its queued messages.
//!
//! actix's own `Supervisor` restarts after a stop and not after a panic. The Supervisor polls the actor's context
//! itself, so that an unwind stops here and not in tokio's task harness. The message that caused the panic is
//! dropped (its sender is told), so one bad message cannot loop. An actor that fails too often is dead: the process
//! ends, because a dead actor behind a Ready pod is the worst of all.
//!
//! Supervised actors must not call `cancel_future`: actix keeps a cancelled handle across a restart and then cancels the
//! new life's first timers with it. A stale timer is better recognised by a counter the actor keeps.

use std::{
    fmt,
    future::Future,
    pin::Pin,
    rc::Rc,
    sync::Arc,
    task::{Context as TaskContext, Poll, ready},
};

use actix::{
    Addr, ArbiterHandle, Context, System,
    dev::{
        ContextFut,
        channel::{self, AddressReceiver},
    },
};
use tokio::time::{Instant, Sleep};

use crate::{
    handle::{ActorHandle, OwnHandle, SupervisedActor},
    health::{Health, HealthRole},
    inbox::Inbox,
    panics,
    restarts::{Failures, RestartPolicy},
    spec::Spec,
    stats::Lifecycle,
};

/// The process's exit code when an actor spent its restart budget (`EX_SOFTWARE` of sysexits.h).
pub const EXIT_ESCALATED: i32 = 70;

/// Makes an actor of a type whose field `own` is its [`OwnHandle`]: on actix's own context, and built anew after a failure.
#[macro_export]
macro_rules! supervised {
    ($actor:ty) => {
        impl ::actix::Actor for $actor {
            type Context = ::actix::Context<Self>;
        }

        $crate::rebuilt!($actor);
    };
}

/// Has an actor whose field `own` is its [`OwnHandle`] built anew after a failure.
#[macro_export]
macro_rules! rebuilt {
    ($actor:ty) => {
        impl ::actix::Supervised for $actor {
            fn restarting(&mut self, _: &mut Self::Context) {
                *self = self.own.rebuild();
            }
        }
    };
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
    pub role: HealthRole,
    on_restart: Arc<dyn Fn(&Restart) + Send + Sync>,
    on_escalate: Arc<dyn Fn(&str) + Send + Sync>,
}

/// The future that drives one actor through all its lives.
pub struct Supervisor<A: SupervisedActor> {
    own: OwnHandle<A>,
    supervision: Supervision,
    failures: Failures,
    /// Keeps the mailbox open: a kept actor ends when it says so, not when a sender forgets it.
    _address: Addr<A>,
    instance: ActorInstance<A>,
    inbox: Rc<Inbox<A>>,
    rest: Option<Pin<Box<Sleep>>>,
    span: tracing::Span,
}

/// What follows a failure.
#[derive(PartialEq)]
enum FailureAction {
    Rests,
    GivenUp,
}

/// Whether there is an actor to poll.
enum ActorInstance<A: SupervisedActor> {
    /// Never built successfully.
    Unborn(Option<AddressReceiver<A>>),
    Alive(ContextFut<A, Context<A>>),
    /// Failed; must be rebuilt before it is polled again.
    Broken(ContextFut<A, Context<A>>),
    Gone,
}

impl Supervision {
    /// The default policy; over budget the running `System` stops with code 70.
    #[must_use]
    pub fn new(health: Health) -> Self {
        Self {
            health,
            policy: RestartPolicy::default(),
            role: HealthRole::Works,
            on_restart: Arc::new(|_| {}),
            on_escalate: Arc::new(|_| System::current().stop_with_code(EXIT_ESCALATED)),
        }
    }

    /// For actors that only observe: nobody waits for one that is stuck or dead.
    #[must_use]
    pub fn observing(self) -> Self {
        Self { role: HealthRole::Observes, ..self }
    }

    /// With another policy.
    #[must_use]
    pub fn policy(self, policy: RestartPolicy) -> Self {
        Self { policy, ..self }
    }

    /// Calls `callback` at each restart, for instance to make an event of it.
    #[must_use]
    pub fn on_restart(self, callback: impl Fn(&Restart) + Send + Sync + 'static) -> Self {
        Self { on_restart: Arc::new(callback), ..self }
    }

    /// Calls `callback` with the actor's name when its budget is spent, instead of stopping the system.
    #[must_use]
    pub fn on_escalate(self, callback: impl Fn(&str) + Send + Sync + 'static) -> Self {
        Self { on_escalate: Arc::new(callback), ..self }
    }
}

impl<A: SupervisedActor> Supervisor<A> {
    /// Starts an actor on `arbiter` and keeps it.
    pub(crate) fn start(
        arbiter: &ArbiterHandle,
        spec: Spec<A>,
        supervision: &Supervision,
        factory: impl Fn(OwnHandle<A>) -> A + Send + Sync + 'static,
    ) -> ActorHandle<A> {
        let (sender, receiver) = channel::channel(spec.mailbox);
        let address = Addr::new(sender);
        let stats = supervision.health.enrol(Arc::clone(&spec.name), spec.busy_bound, supervision.role);
        let own = OwnHandle::new(Arc::clone(&stats), Arc::new(factory));
        let own_address = address.clone();
        let supervision = supervision.clone();
        let running = arbiter.spawn_fn(move || {
            let span = tracing::error_span!("actor", name = own.name());
            let inbox = Inbox::new(spec.subscriptions, &own.stats);
            actix_rt::spawn(Self {
                failures: Failures::new(supervision.policy),
                own,
                supervision,
                _address: own_address,
                instance: ActorInstance::Unborn(Some(receiver)),
                inbox,
                rest: None,
                span,
            });
        });
        if !running {
            stats.note_failure("its arbiter had stopped before it started");
            stats.set_lifecycle(Lifecycle::Dead);
        }
        ActorHandle::new(address, stats)
    }

    /// One turn of the actor: build or rebuild it if need be, then poll it. Panics of any of these end here.
    fn turn(&mut self, task: &mut TaskContext<'_>) -> Result<Poll<()>, String> {
        let Self { own, instance, inbox, span, .. } = self;
        let _entered = span.enter();
        let _busy = own.stats.busy();
        panics::catch(&own.stats.name, || {
            instance.make_alive(own, inbox);
            own.stats.do_what_a_test_asks();
            match instance {
                ActorInstance::Alive(context) => {
                    inbox.attend(context.ctx());
                    Pin::new(context).poll(task)
                }
                _ => Poll::Ready(()),
            }
        })
    }

    /// The actor panicked or stopped unasked: rest and rebuild, or give up.
    fn failed(&mut self, why: &str) -> FailureAction {
        self.instance.break_down();
        let topic = self.inbox.blame();
        let Some(rest) = self.failures.backoff_after(Instant::now()) else {
            return self.give_up(why);
        };
        let actor = self.own.name();
        let rest_ms = u64::try_from(rest.as_millis()).unwrap_or(u64::MAX);
        tracing::warn!(actor, why, topic, rest_ms, "actor failed, restarting after backoff");
        let restarts = self.own.stats.failed(why);
        let actor = Arc::clone(&self.own.stats.name);
        (self.supervision.on_restart)(&Restart { actor, reason: why.to_owned(), restarts });
        self.rest = Some(Box::pin(tokio::time::sleep(rest)));
        FailureAction::Rests
    }

    fn give_up(&mut self, why: &str) -> FailureAction {
        let actor = self.own.name().to_owned();
        tracing::error!(actor, why, policy = ?self.supervision.policy, "actor failed too often; giving up");
        self.own.stats.note_failure(why);
        self.end(Lifecycle::Dead);
        (self.supervision.on_escalate)(&actor);
        FailureAction::GivenUp
    }

    /// Drops the actor; actix runs its `stopping` and `stopped` while the context is dropped.
    fn end(&mut self, lifecycle: Lifecycle) {
        let last = std::mem::replace(&mut self.instance, ActorInstance::Gone);
        if let Err(why) = panics::catch(&self.own.stats.name, || drop(last)) {
            self.own.stats.note_failure(&why);
        }
        self.own.stats.set_lifecycle(lifecycle);
    }
}

impl<A: SupervisedActor> Future for Supervisor<A> {
    type Output = ();

    fn poll(self: Pin<&mut Self>, task: &mut TaskContext<'_>) -> Poll<()> {
        let this = self.get_mut();
        this.own.stats.waker.register(task.waker());
        loop {
            if this.own.stats.is_dismissed() {
                this.end(Lifecycle::Done);
                return Poll::Ready(());
            }
            if let Some(rest) = &mut this.rest {
                ready!(rest.as_mut().poll(task));
                this.rest = None;
            }
            let turn = this.turn(task);
            if this.own.stats.is_dismissed() {
                continue;
            }
            let verdict = match turn {
                Ok(Poll::Pending) => {
                    this.own.stats.set_lifecycle(Lifecycle::Running);
                    return Poll::Pending;
                }
                Ok(Poll::Ready(())) => this.failed("it stopped its context without OwnHandle::finish"),
                Err(why) => this.failed(&why),
            };
            if verdict == FailureAction::GivenUp {
                return Poll::Ready(());
            }
        }
    }
}

impl<A: SupervisedActor> ActorInstance<A> {
    fn make_alive(&mut self, own: &OwnHandle<A>, inbox: &Rc<Inbox<A>>) {
        match self {
            Self::Unborn(receiver) => {
                let actor = own.rebuild();
                if let Some(receiver) = receiver.take() {
                    *self = Self::begin(Context::with_receiver(receiver).into_future(actor), inbox);
                }
            }
            Self::Broken(context) => {
                context.restart();
                if let Self::Broken(context) = std::mem::replace(self, Self::Gone) {
                    *self = Self::begin(context, inbox);
                }
            }
            Self::Alive(_) | Self::Gone => {}
        }
    }

    fn begin(mut context: ContextFut<A, Context<A>>, inbox: &Rc<Inbox<A>>) -> Self {
        inbox.begin(context.ctx());
        Self::Alive(context)
    }

    fn break_down(&mut self) {
        *self = match std::mem::replace(self, Self::Gone) {
            Self::Alive(context) => Self::Broken(context),
            other => other,
        };
    }
}

/// The arbiter went away under the actor: during a shutdown nobody looks, otherwise liveness must fail.
impl<A: SupervisedActor> Drop for Supervisor<A> {
    fn drop(&mut self) {
        if !matches!(self.instance, ActorInstance::Gone) {
            self.own.stats.note_failure("its arbiter stopped");
            self.end(Lifecycle::Dead);
        }
    }
}

impl fmt::Debug for Supervision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { policy, role, .. } = self;
        f.debug_struct("Supervision").field("policy", policy).field("role", role).finish_non_exhaustive()
    }
}

impl<A: SupervisedActor> fmt::Debug for Supervisor<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Supervisor").field(&self.own.name()).finish()
    }
}
