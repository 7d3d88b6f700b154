//! Whoever blocks fails liveness by name; a flood delays no timer.

use std::{
    sync::{Arc, mpsc},
    time::{Duration, Instant},
};

use actix::prelude::*;
use tokio::sync::oneshot;

use crate::{ActorHandle, Arbiters, Health, OwnHandle, Spec, Supervision};

struct Blocker(OwnHandle<Self>);

/// Blocks its arbiter's thread until the other end is dropped.
#[derive(Message)]
#[rtype(result = "()")]
struct BlockUntil(mpsc::Receiver<()>);

impl Actor for Blocker {
    type Context = Context<Self>;
}

impl Supervised for Blocker {
    fn restarting(&mut self, _: &mut Self::Context) {
        *self = self.0.rebuild();
    }
}

impl Handler<BlockUntil> for Blocker {
    type Result = ();

    fn handle(&mut self, BlockUntil(released): BlockUntil, context: &mut Self::Context) {
        self.0.received::<BlockUntil>(context);
        let _disconnected = released.recv();
    }
}

const BOUND: Duration = Duration::from_millis(40);

async fn until(mut holds: impl FnMut() -> bool) {
    let patience = tokio::time::timeout(Duration::from_secs(10), async {
        while !holds() {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    });
    patience.await.expect("it never came to hold");
}

#[test]
fn a_blocked_actor_and_its_arbiter_fail_liveness_by_name_until_they_return() {
    let runtime = Arc::new(tokio::runtime::Runtime::new().expect("a runtime"));
    let code = crate::run(Arc::clone(&runtime), async move {
        let health = Health::new();
        let arbiters = Arbiters::new(runtime, health.clone(), BOUND);
        let arbiter = arbiters.start("validation").expect("a thread");
        let spec = Spec::named("validate").busy_bound(BOUND);
        let kept: ActorHandle<Blocker> = spec.start(&arbiter, &Supervision::new(health.clone()), Blocker);

        let (release, released) = mpsc::channel();
        let blocked = kept.mailbox().send(BlockUntil(released));
        // On a busy machine others may be late for a moment, too.
        until(|| {
            let reasons = health.why_not_live();
            let is_told =
                |begin: &str, end: &str| reasons.iter().any(|c| c.starts_with(begin) && c.ends_with(end));
            is_told("actor validate has been busy for ", "last message BlockUntil")
                && is_told("arbiter validation has not answered for ", "")
        })
        .await;
        assert!(kept.state().busy_ms.is_some());

        drop(release);
        blocked.await.expect("it was handled");
        until(|| health.is_live()).await;
        assert_eq!(kept.state().busy_ms, None);
        0
    });
    assert_eq!(code.expect("the system ran"), 0);
}

#[test]
fn a_blocked_observer_and_its_arbiter_are_named_and_the_process_stays_live() {
    let runtime = Arc::new(tokio::runtime::Runtime::new().expect("a runtime"));
    let code = crate::run(Arc::clone(&runtime), async move {
        let health = Health::new();
        let arbiters = Arbiters::new(runtime, health.clone(), BOUND);
        let arbiter = arbiters.start_observing("observe").expect("a thread");
        let spec = Spec::named("metrics").busy_bound(BOUND);
        let supervision = Supervision::new(health.clone()).observing();
        let kept: ActorHandle<Blocker> = spec.start(&arbiter, &supervision, Blocker);

        let (release, released) = mpsc::channel();
        let blocked = kept.mailbox().send(BlockUntil(released));
        until(|| {
            let reasons = health.why_not_observed();
            let is_told = |begin: &str| reasons.iter().any(|reason| reason.starts_with(begin));
            is_told("actor metrics has been busy for ") && is_told("arbiter observe has not answered for ")
        })
        .await;
        until(|| health.is_live() && health.all_running()).await;

        drop(release);
        blocked.await.expect("it was handled");
        until(|| health.why_not_observed().is_empty()).await;
        0
    });
    assert_eq!(code.expect("the system ran"), 0);
}

#[actix::test]
async fn an_arbiter_that_stops_takes_liveness_with_it() {
    let health = Health::new();
    let arbiter = Arbiter::new();
    let kept: ActorHandle<Blocker> = Spec::named("validate").start(
        &arbiter.handle(),
        &Supervision::new(health.clone()).on_escalate(|_| {}),
        Blocker,
    );
    until(|| health.all_running()).await;
    arbiter.stop();
    assert_eq!(kept.exited().await, crate::Exit::Dead);
    assert_eq!(health.why_not_live(), ["actor validate is dead: its arbiter stopped"]);
}

/// When the timer fired, and after how many messages.
type Fired = (Duration, u64);

struct Timer {
    own: OwnHandle<Self>,
    started: Instant,
    fired: Arc<std::sync::Mutex<Option<oneshot::Sender<Fired>>>>,
}

#[derive(Message)]
#[rtype(result = "()")]
struct Work;

impl Actor for Timer {
    type Context = Context<Self>;

    fn started(&mut self, context: &mut Self::Context) {
        context.run_later(Duration::from_millis(50), |timer, _| {
            let handled = timer.own.stats.state().handled;
            if let Some(fired) = crate::stats::lock(&timer.fired).take() {
                let _gone = fired.send((timer.started.elapsed(), handled));
            }
        });
    }
}

crate::rebuilt!(Timer);

impl Handler<Work> for Timer {
    type Result = ();

    fn handle(&mut self, _: Work, context: &mut Self::Context) {
        self.own.received::<Work>(context);
        let start = Instant::now();
        while start.elapsed() < Duration::from_micros(20) {
            std::hint::spin_loop();
        }
    }
}

#[actix::test]
async fn a_flooded_actors_timer_fires_in_time() {
    let (sender, fired) = oneshot::channel();
    let fired_slot = Arc::new(std::sync::Mutex::new(Some(sender)));
    let arbiter = Arbiter::new();
    let kept =
        Spec::named("debounce").start(&arbiter.handle(), &Supervision::new(Health::new()), move |own| {
            Timer { own, started: Instant::now(), fired: Arc::clone(&fired_slot) }
        });
    let address = kept.addr().clone();
    let flood = std::thread::spawn(move || {
        let start = Instant::now();
        while start.elapsed() < Duration::from_millis(300) {
            #[allow(clippy::disallowed_methods, reason = "a flood is the point")]
            address.do_send(Work);
        }
    });
    let (after, handled) = fired.await.expect("the timer fires");
    assert!(handled > 64, "only {handled} messages: no flood");
    assert!(after < Duration::from_secs(2), "a 50 ms timer fired after {after:?}");
    flood.join().expect("the flood ends");
    arbiter.stop();
}
