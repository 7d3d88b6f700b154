//! An outbox reaches its observers.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::SeqCst},
    },
    time::Duration,
};

use actix::prelude::*;
use tokio::time::{pause, sleep};

use crate::{ActorHandle, Health, Outbox, OwnHandle, Spec, Supervision};

struct Counter {
    own: OwnHandle<Self>,
    received: Arc<AtomicUsize>,
}

#[derive(Message, Clone)]
#[rtype(result = "()")]
struct Happened;

crate::supervised!(Counter);

impl Handler<Happened> for Counter {
    type Result = ();

    fn handle(&mut self, _: Happened, context: &mut Self::Context) {
        self.own.received::<Happened>(context);
        self.received.fetch_add(1, SeqCst);
    }
}

fn start() -> (ActorHandle<Counter>, Arc<AtomicUsize>) {
    let received = Arc::new(AtomicUsize::new(0));
    let captured = Arc::clone(&received);
    let kept =
        Spec::named("counter").start(&Arbiter::current(), &Supervision::new(Health::new()), move |own| {
            Counter { own, received: Arc::clone(&captured) }
        });
    (kept, received)
}

#[actix::test]
async fn an_outbox_delivers_to_each_observer_in_order_and_counts_what_it_cannot_hold() {
    pause();
    let ((first, seen_by_first), (second, seen_by_second)) = (start(), start());
    let outbox = Outbox::new(10, vec![first.mailbox(), second.mailbox()]);
    (0..25).for_each(|_| outbox.send(Happened));
    outbox.flushed().await;
    sleep(Duration::from_millis(1)).await;
    assert_eq!((outbox.emitted(), outbox.dropped(), outbox.observers()), (25, 30, 2));
    assert_eq!(seen_by_first.load(SeqCst), 10);
    assert_eq!(seen_by_second.load(SeqCst), 10);
}
