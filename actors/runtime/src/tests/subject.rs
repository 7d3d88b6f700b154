//! The actor under test: it panics wherever it is asked to.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::SeqCst},
    },
    time::Duration,
};

use actix::prelude::*;

use crate::{ActorHandle, Health, OwnHandle, Spec, Supervision};

pub struct Subject {
    own: OwnHandle<Self>,
    counters: Arc<Counters>,
    /// State that must not survive a restart.
    sum: usize,
}

#[derive(Default)]
pub struct Counters {
    pub built: AtomicUsize,
    pub started: AtomicUsize,
    pub ticks: AtomicUsize,
    pub panics_on_start: AtomicUsize,
    pub panics_on_build: AtomicUsize,
}

#[derive(Clone, Copy, Debug)]
pub enum Place {
    Handle,
    Atomic,
    Later,
}

#[derive(Message)]
#[rtype(result = "usize")]
pub struct Add(pub usize);

#[derive(Message, Clone, Copy)]
#[rtype(result = "()")]
pub struct Panic(pub Place);

#[derive(Message)]
#[rtype(result = "()")]
pub struct Finish;

#[derive(Message)]
#[rtype(result = "()")]
pub struct StopUnasked;

impl Actor for Subject {
    type Context = Context<Self>;

    fn started(&mut self, context: &mut Self::Context) {
        self.counters.started.fetch_add(1, SeqCst);
        if take_one(&self.counters.panics_on_start) {
            panic!("boom in started");
        }
        context.run_interval(Duration::from_millis(5), |subject, _| {
            subject.counters.ticks.fetch_add(1, SeqCst);
        });
    }
}

crate::rebuilt!(Subject);

impl Handler<Add> for Subject {
    type Result = usize;

    fn handle(&mut self, Add(number): Add, context: &mut Self::Context) -> usize {
        self.own.received::<Add>(context);
        self.sum += number;
        self.sum
    }
}

impl Handler<Panic> for Subject {
    type Result = AtomicResponse<Self, ()>;

    fn handle(&mut self, Panic(place): Panic, context: &mut Self::Context) -> Self::Result {
        self.own.received::<Panic>(context);
        self.sum += 1000;
        match place {
            Place::Handle => panic!("boom in handle"),
            Place::Atomic => AtomicResponse::new(Box::pin(
                async {
                    tokio::time::sleep(Duration::from_millis(1)).await;
                    panic!("boom in AtomicResponse")
                }
                .into_actor(self),
            )),
            Place::Later => {
                context.run_later(Duration::from_millis(1), |_, _| panic!("boom in run_later"));
                AtomicResponse::new(Box::pin(actix::fut::ready(())))
            }
        }
    }
}

impl Handler<Finish> for Subject {
    type Result = ();

    fn handle(&mut self, _: Finish, context: &mut Self::Context) {
        self.own.finish(context);
    }
}

impl Handler<StopUnasked> for Subject {
    type Result = ();

    fn handle(&mut self, _: StopUnasked, context: &mut Self::Context) {
        context.stop();
    }
}

/// A kept subject on the test's own arbiter.
pub fn start(supervision: &Supervision, counters: &Arc<Counters>) -> ActorHandle<Subject> {
    let counters = Arc::clone(counters);
    Spec::named("subject").start(&Arbiter::current(), supervision, move |own| {
        counters.built.fetch_add(1, SeqCst);
        assert!(!take_one(&counters.panics_on_build), "boom in the factory");
        Subject { own, counters: Arc::clone(&counters), sum: 0 }
    })
}

/// Supervision that remembers who escalated instead of stopping the test's system.
pub fn supervision() -> (Supervision, Arc<std::sync::Mutex<Vec<String>>>) {
    let escalated = Arc::new(std::sync::Mutex::new(Vec::new()));
    let told = Arc::clone(&escalated);
    let supervision = Supervision::new(Health::new())
        .on_escalate(move |actor| crate::stats::lock(&told).push(actor.to_owned()));
    (supervision, escalated)
}

fn take_one(counter: &AtomicUsize) -> bool {
    counter.fetch_update(SeqCst, SeqCst, |left| left.checked_sub(1)).is_ok()
}
