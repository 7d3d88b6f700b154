//! Nudges coalesce and lose nothing; an outbox reaches its observers.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::SeqCst},
    },
    time::Duration,
};

use actix::prelude::*;
use tokio::time::{pause, sleep};

use crate::{ActorSpec, Health, Keeper, Kept, Look, Nudge, Outbox, Seat, Supervision};

/// Copies the latest state at each look, taking a while, as a stage does.
struct Looker {
    seat: Seat<Self>,
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    state: AtomicUsize,
    seen: AtomicUsize,
    looks: AtomicUsize,
}

#[derive(Message, Clone)]
#[rtype(result = "()")]
struct Happened;

impl Actor for Looker {
    type Context = Context<Self>;
}

impl Supervised for Looker {
    fn restarting(&mut self, _: &mut Self::Context) {
        *self = self.seat.rebuild();
    }
}

impl Handler<Look> for Looker {
    type Result = AtomicResponse<Self, ()>;

    fn handle(&mut self, _: Look, context: &mut Self::Context) -> Self::Result {
        self.seat.received::<Look>(context);
        self.shared.seen.store(self.shared.state.load(SeqCst), SeqCst);
        self.shared.looks.fetch_add(1, SeqCst);
        AtomicResponse::new(Box::pin(sleep(Duration::from_millis(10)).into_actor(self)))
    }
}

impl Handler<Happened> for Looker {
    type Result = ();

    fn handle(&mut self, _: Happened, context: &mut Self::Context) {
        self.seat.received::<Happened>(context);
        self.shared.looks.fetch_add(1, SeqCst);
    }
}

fn start() -> (Kept<Looker>, Arc<Shared>) {
    let shared = Arc::new(Shared::default());
    let captured = Arc::clone(&shared);
    let supervision = Supervision::new(Health::new());
    let kept = Keeper::start(&Arbiter::current(), ActorSpec::named("looker"), &supervision, move |seat| {
        Looker { seat, shared: Arc::clone(&captured) }
    });
    (kept, shared)
}

#[actix::test]
async fn any_number_of_nudges_during_a_look_make_exactly_one_more() {
    pause();
    let (kept, shared) = start();
    let nudge = Nudge::new(kept.post(), Look);
    nudge.nudge();
    sleep(Duration::from_millis(5)).await;
    assert_eq!(shared.looks.load(SeqCst), 1);
    for change in 1..=10_000 {
        shared.state.store(change, SeqCst);
        nudge.nudge();
    }
    assert!(kept.state().mailbox <= 1);
    sleep(Duration::from_secs(1)).await;
    assert_eq!(shared.looks.load(SeqCst), 2);
    assert_eq!(shared.seen.load(SeqCst), 10_000, "the last change was seen");
}

#[actix::test]
async fn nudges_from_many_threads_lose_nothing() {
    let (kept, shared) = start();
    let nudge = Nudge::new(kept.post(), Look);
    let threads: Vec<_> = (0..4)
        .map(|_| {
            let (nudge, shared) = (nudge.clone(), Arc::clone(&shared));
            std::thread::spawn(move || {
                for _ in 0..1000 {
                    shared.state.fetch_add(1, SeqCst);
                    nudge.nudge();
                }
            })
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().expect("it ends"));
    let patience = tokio::time::timeout(Duration::from_secs(5), async {
        while shared.seen.load(SeqCst) != 4000 {
            sleep(Duration::from_millis(1)).await;
        }
    });
    patience.await.expect("the last change is seen");
    assert!(shared.looks.load(SeqCst) < 4000);
}

#[actix::test]
async fn an_outbox_delivers_to_each_observer_in_order_and_counts_what_it_cannot_hold() {
    pause();
    let ((first, seen_by_first), (second, seen_by_second)) = (start(), start());
    let outbox = Outbox::new(10, vec![first.post(), second.post()]);
    (0..25).for_each(|_| outbox.emit(Happened));
    outbox.flushed().await;
    sleep(Duration::from_millis(1)).await;
    assert_eq!((outbox.emitted(), outbox.dropped(), outbox.observers()), (25, 30, 2));
    assert_eq!(seen_by_first.looks.load(SeqCst), 10);
    assert_eq!(seen_by_second.looks.load(SeqCst), 10);
}
