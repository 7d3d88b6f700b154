//! What an actor handles of its work, and what not once it has given the work up.

use super::subject::supervision;
use crate::{OwnHandle, Spec, Work, deliver, stats::lock};
use actix::prelude::*;
use futures::{FutureExt, stream};
use std::{
    future::ready,
    sync::{Arc, Mutex},
    time::Duration,
};
use tokio::time::sleep;

/// Given up when it is handled.
const GIVES_UP: u32 = 1;
/// Comes when all else was there.
const LAST: u32 = 99;

#[derive(Message)]
#[rtype(result = "()")]
struct Done(u32);

struct Worker {
    own: OwnHandle<Self>,
    begin: fn(&mut Context<Self>) -> Work,
    work: Option<Work>,
    handled: Arc<Mutex<Vec<u32>>>,
}

impl Actor for Worker {
    type Context = Context<Self>;

    fn started(&mut self, context: &mut Self::Context) {
        self.work = Some((self.begin)(context));
        deliver(context, sleep(Duration::from_millis(1)).map(|()| Done(LAST)));
    }
}

crate::rebuilt!(Worker);

impl Handler<Done> for Worker {
    type Result = ();

    fn handle(&mut self, Done(number): Done, _: &mut Self::Context) {
        lock(&self.handled).push(number);
        if number == GIVES_UP {
            self.work = None;
        }
    }
}

/// What is handled of the work that `begin` begins.
async fn handled_of(begin: fn(&mut Context<Worker>) -> Work) -> Vec<u32> {
    let handled = Arc::<Mutex<Vec<u32>>>::default();
    let written = Arc::clone(&handled);
    let _worker = Spec::named("worker").start(&Arbiter::current(), &supervision().0, move |own| Worker {
        own,
        begin,
        work: None,
        handled: Arc::clone(&written),
    });
    while lock(&handled).last() != Some(&LAST) {
        tokio::task::yield_now().await;
    }
    lock(&handled).clone()
}

#[actix::test]
async fn each_result_is_handled() {
    assert_eq!(handled_of(|context| Work::start(context, ready(Done(7)))).await, [7, LAST]);
    let items = |context: &mut _| Work::follow(context, stream::iter([7, 8, 9].map(Done)));
    assert_eq!(handled_of(items).await, [7, 8, 9, LAST]);
}

#[actix::test]
async fn of_work_that_is_given_up_nothing_is_handled_that_was_there_already() {
    let items = |context: &mut _| Work::follow(context, stream::iter([GIVES_UP, 2, 3].map(Done)));
    assert_eq!(handled_of(items).await, [GIVES_UP, LAST]);
}

#[actix::test]
async fn the_result_of_replaced_work_is_never_handled() {
    let replaced = handled_of(|context| {
        drop(Work::start(context, ready(Done(7))));
        Work::start(context, ready(Done(8)))
    });
    assert_eq!(replaced.await, [8, LAST]);
}
