//! An actor that panics comes back; one that panics too often does not, and everyone knows.

use std::{
    sync::{Arc, atomic::Ordering::SeqCst},
    time::Duration,
};

use actix::System;
use tokio::time::{Instant, advance, pause, sleep};

use super::subject::{Add, Counters, Finish, Panic, Place, StopUnasked, start, supervision};
use crate::{Exit, Health, Lifecycle, Lost, Mailbox, RestartPolicy, Supervision};

async fn ask(post: &Mailbox<Add>, number: usize) -> Result<usize, Lost> {
    post.send(Add(number)).await
}

#[actix::test]
async fn queued_messages_are_answered_by_the_rebuilt_actor_at_the_same_address() {
    pause();
    let (supervision, _) = supervision();
    let counters = Arc::new(Counters::default());
    let kept = start(&supervision, &counters);
    let (add, panic) = (kept.mailbox::<Add>(), kept.mailbox::<Panic>());
    assert_eq!(ask(&add, 5).await, Ok(5));

    let failing = panic.send(Panic(Place::Handle));
    let (first, second) = (add.send(Add(1)), add.send(Add(2)));
    assert_eq!(kept.state().mailbox, 3);
    assert!(failing.await.is_err(), "the sender of the panicking message is told");
    assert_eq!((first.await, second.await), (Ok(1), Ok(3)), "state begins afresh, messages are kept");

    let state = kept.state();
    assert_eq!((state.state, state.restarts, state.mailbox), (Lifecycle::Running, 1, 0));
    assert!(state.last_panic.is_some_and(|why| why.contains("boom in handle")));
    assert_eq!(state.handled, 4);
    assert_eq!(state.last_message.as_deref(), Some("Add"));
}

#[actix::test]
async fn panics_in_every_place_are_survived() {
    pause();
    for place in [Place::Handle, Place::Atomic, Place::Later] {
        let (supervision, escalated) = supervision();
        let counters = Arc::new(Counters::default());
        let kept = start(&supervision, &counters);
        let _lost_or_not = kept.mailbox::<Panic>().send(Panic(place)).await;
        sleep(Duration::from_millis(200)).await;
        assert_eq!(kept.state().restarts, 1, "{place:?}");
        assert_eq!(ask(&kept.mailbox(), 7).await, Ok(7), "{place:?}");
        assert_eq!(counters.started.load(SeqCst), 2, "{place:?}");
        assert!(supervision.health.is_live());
        assert!(crate::stats::lock(&escalated).is_empty());
    }
}

#[actix::test]
async fn timers_of_the_new_life_tick_and_those_of_the_old_one_do_not() {
    pause();
    let (supervision, _) = supervision();
    let counters = Arc::new(Counters::default());
    let kept = start(&supervision, &counters);
    let _lost = kept.mailbox::<Panic>().send(Panic(Place::Handle)).await;
    sleep(Duration::from_millis(100)).await;
    let before = counters.ticks.load(SeqCst);
    sleep(Duration::from_millis(100)).await;
    let ticks = counters.ticks.load(SeqCst) - before;
    assert!((19..=21).contains(&ticks), "{ticks} ticks of 5 ms in 100 ms");
}

#[actix::test]
async fn an_actor_that_panics_in_started_or_in_its_factory_is_tried_again() {
    pause();
    let (supervision, escalated) = supervision();
    let counters = Arc::new(Counters::default());
    counters.panics_on_build.store(1, SeqCst);
    counters.panics_on_start.store(2, SeqCst);
    let kept = start(&supervision, &counters);
    assert_eq!(ask(&kept.mailbox(), 1).await, Ok(1));
    assert_eq!(kept.state().restarts, 3);
    assert!(crate::stats::lock(&escalated).is_empty());
}

#[actix::test]
async fn an_actor_that_rests_between_two_lives_is_still_there_and_does_in_the_next_one_what_is_asked() {
    pause();
    let (supervision, _) = supervision();
    let kept = start(&supervision, &Arc::new(Counters::default()));
    let _lost = kept.mailbox::<Panic>().send(Panic(Place::Handle)).await;
    while kept.state().state != Lifecycle::Restarting {
        tokio::task::yield_now().await;
    }
    assert!(supervision.health.make_panic("subject"), "it is known while it rests");
    assert_eq!(ask(&kept.mailbox(), 1).await, Ok(1));
    assert_eq!(kept.state().restarts, 2);
    assert!(!supervision.health.make_panic("nobody"));
}

#[actix::test]
async fn over_budget_the_actor_is_dead_not_live_by_name_and_escalated_once() {
    pause();
    let (supervision, escalated) = supervision();
    let kept = start(&supervision, &Arc::new(Counters::default()));
    for _ in 0..6 {
        let _lost = kept.mailbox::<Panic>().send(Panic(Place::Handle)).await;
    }
    assert_eq!(kept.exited().await, Exit::Dead);
    assert_eq!(*crate::stats::lock(&escalated), ["subject"]);
    assert_eq!(kept.state().state, Lifecycle::Dead);
    let reasons = supervision.health.why_not_live();
    assert_eq!(reasons.len(), 1);
    assert!(reasons[0].starts_with("actor subject is dead: boom in handle"), "{reasons:?}");
    let lost = ask(&kept.mailbox(), 1).await.expect_err("nobody is there");
    assert!(lost.to_string().contains("subject"));
}

#[actix::test]
async fn panics_far_apart_never_spend_the_budget() {
    pause();
    let (supervision, escalated) = supervision();
    let kept = start(&supervision, &Arc::new(Counters::default()));
    for _ in 0..30 {
        let _lost = kept.mailbox::<Panic>().send(Panic(Place::Handle)).await;
        advance(Duration::from_secs(13)).await;
    }
    assert_eq!(ask(&kept.mailbox(), 1).await, Ok(1));
    assert_eq!(kept.state().restarts, 30);
    assert!(crate::stats::lock(&escalated).is_empty());
}

#[actix::test]
async fn each_restart_is_told_with_its_reason_and_number() {
    pause();
    let told = Arc::new(std::sync::Mutex::new(Vec::new()));
    let seen = Arc::clone(&told);
    let supervision =
        supervision().0.on_restart(move |restart| crate::stats::lock(&seen).push(restart.clone()));
    let kept = start(&supervision, &Arc::new(Counters::default()));
    for _ in 0..2 {
        let _lost = kept.mailbox::<Panic>().send(Panic(Place::Handle)).await;
        ask(&kept.mailbox(), 1).await.expect("it is back");
    }
    let told = crate::stats::lock(&told);
    assert_eq!(told.iter().map(|restart| restart.restarts).collect::<Vec<_>>(), [1, 2]);
    assert!(told.iter().all(|restart| &*restart.actor == "subject" && restart.reason.contains("boom")));
}

#[actix::test]
async fn restarts_wait_longer_each_time() {
    pause();
    let policy = RestartPolicy { budget: 100, ..RestartPolicy::default() };
    let supervision = supervision().0.policy(policy);
    let kept = start(&supervision, &Arc::new(Counters::default()));
    let mut rests = Vec::new();
    for _ in 0..10 {
        let _lost = kept.mailbox::<Panic>().send(Panic(Place::Handle)).await;
        let failed = Instant::now();
        ask(&kept.mailbox(), 1).await.expect("answered after the rest");
        rests.push(failed.elapsed());
    }
    assert!(rests.is_sorted(), "{rests:?}");
    assert!(rests[0] < Duration::from_millis(20), "{rests:?}");
    assert!(rests[9] >= Duration::from_secs(2) && rests[9] < Duration::from_millis(2100), "{rests:?}");
}

#[actix::test]
async fn an_actor_that_finishes_is_done_and_not_restarted() {
    pause();
    let (supervision, _) = supervision();
    let counters = Arc::new(Counters::default());
    let kept = start(&supervision, &counters);
    kept.mailbox::<Finish>().send(Finish).await.expect("handled");
    assert_eq!(kept.exited().await, Exit::Done);
    sleep(Duration::from_secs(60)).await;
    assert_eq!(counters.built.load(SeqCst), 1);
    assert!(ask(&kept.mailbox(), 1).await.is_err());
    assert!(supervision.health.is_live());
}

#[actix::test]
async fn a_dismissed_actor_ends_even_while_it_rests() {
    pause();
    let (supervision, _) = supervision();
    let kept = start(&supervision, &Arc::new(Counters::default()));
    let _lost = kept.mailbox::<Panic>().send(Panic(Place::Handle)).await;
    kept.dismiss();
    assert_eq!(kept.exited().await, Exit::Done);
}

#[actix::test]
async fn stopping_the_context_unasked_is_a_failure_and_restarts() {
    pause();
    let (supervision, _) = supervision();
    let kept = start(&supervision, &Arc::new(Counters::default()));
    kept.mailbox::<StopUnasked>().send(StopUnasked).await.expect("handled");
    assert_eq!(ask(&kept.mailbox(), 4).await, Ok(4));
    assert!(kept.state().last_panic.is_some_and(|why| why.contains("without OwnHandle::finish")));
}

#[actix::test]
async fn an_actor_stays_although_nobody_holds_its_address() {
    pause();
    let (supervision, _) = supervision();
    let counters = Arc::new(Counters::default());
    drop(start(&supervision, &counters));
    sleep(Duration::from_millis(101)).await;
    assert!(counters.ticks.load(SeqCst) >= 19);
    assert_eq!(supervision.health.actors()[0].state, Lifecycle::Running);
}

#[test]
fn a_spent_budget_ends_the_process_with_code_70() {
    let runtime = Arc::new(tokio::runtime::Runtime::new().expect("a runtime"));
    let code = crate::run(runtime, async {
        let policy = RestartPolicy { budget: 0, ..RestartPolicy::default() };
        let supervision = Supervision::new(Health::new()).policy(policy);
        let kept = start(&supervision, &Arc::new(Counters::default()));
        let _lost = kept.mailbox::<Panic>().send(Panic(Place::Handle)).await;
        std::future::pending().await
    });
    assert_eq!(code.expect("the system ran"), 70);
}

#[test]
fn the_code_of_main_is_the_code_of_the_process() {
    let runtime = Arc::new(tokio::runtime::Runtime::new().expect("a runtime"));
    let code = crate::run(Arc::clone(&runtime), async {
        assert!(System::is_registered());
        3
    });
    assert_eq!(code.expect("the system ran"), 3);
    assert_eq!(crate::run(runtime, async { panic!("main is broken") }).expect("the system ran"), 70);
}
