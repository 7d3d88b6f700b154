//! FenceActor: ends a leadership at its deadline. It has a thread to itself, so that no other actor can keep it from that.

use crate::Fence;
use actix::prelude::*;
use haptic_runtime::{Alarm, Envelope, OwnHandle};
use tokio::time::Instant;

/// A leadership has another deadline, or none.
pub type DeadlineMoved = Envelope<Option<Instant>>;

/// Waits for the deadline.
pub struct FenceActor {
    own: OwnHandle<Self>,
    fence: Fence,
    deadline: Option<Instant>,
    alarm: Alarm,
}

impl FenceActor {
    /// An actor that has received nothing yet.
    #[must_use]
    pub fn new(own: OwnHandle<Self>, fence: Fence) -> Self {
        Self { own, fence, deadline: None, alarm: Alarm::default() }
    }

    fn advance(&mut self, context: &mut Context<Self>) {
        match self.deadline {
            Some(deadline) if Instant::now() < deadline => self.alarm.set(deadline, context, Self::advance),
            // What the fence does here comes back as another deadline.
            Some(_) => self.fence.end_overdue(),
            None => {}
        }
    }
}

haptic_runtime::supervised!(FenceActor);

impl Handler<DeadlineMoved> for FenceActor {
    type Result = ();

    fn handle(&mut self, deadline: DeadlineMoved, context: &mut Self::Context) {
        self.deadline = *deadline;
        self.advance(context);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{election::Term, sole_replica};
    use haptic_model::{agent_api::Epoch, pipeline::Leadership};
    use haptic_runtime::{Events, Health, Spec, Supervision, Topic, topic};
    use std::time::Duration;

    const SECOND: Duration = Duration::from_secs(1);

    fn term(transitions: i64, seconds: u32) -> Term {
        let epoch = Epoch { lease_created: 1, transitions };
        Term { epoch, until: Instant::now() + SECOND * seconds }
    }

    /// A fence that an actor guards, on a clock that stands still while anything is to be done.
    fn guarded() -> (Fence, Topic<Leadership>) {
        tokio::time::pause();
        let (publisher, leadership) = topic(Leadership::default());
        let fence = Fence::new(publisher, Events::silent());
        let guarded = fence.clone();
        Spec::named("fence").subscribes(&fence.deadline()).start(
            &Arbiter::current(),
            &Supervision::new(Health::new()),
            move |own| FenceActor::new(own, guarded.clone()),
        );
        (fence, leadership)
    }

    #[actix::test]
    async fn a_leadership_ends_at_its_deadline() {
        let (fence, mut leadership) = guarded();
        fence.hold(term(1, 10));
        assert!(leadership.latest().leads);
        let began = Instant::now();
        leadership.wait_for(|l| !l.leads).await;
        assert_eq!(began.elapsed().as_secs(), 10);
        assert_eq!(leadership.latest().epoch.transitions, 1);
    }

    #[actix::test]
    async fn a_prolonged_leadership_goes_on_and_wakes_nobody() {
        let (fence, mut leadership) = guarded();
        fence.hold(term(1, 10));
        leadership.changed().await;
        for _ in 0..20 {
            tokio::time::sleep(SECOND * 9).await;
            fence.hold(term(1, 10));
            tokio::select! {
                biased;
                changed = leadership.changed() => panic!("it changed to {changed:?}"),
                () = std::future::ready(()) => {}
            }
        }
        assert!(leadership.latest().leads);
    }

    #[actix::test]
    async fn a_term_that_is_over_begins_nothing() {
        let (fence, leadership) = guarded();
        let over = term(1, 1);
        tokio::time::sleep(SECOND * 2).await;
        fence.hold(over);
        assert!(!leadership.latest().leads);
    }

    #[actix::test]
    async fn without_a_lease_there_is_no_deadline() {
        let (fence, leadership) = guarded();
        fence.hold(term(1, 10));
        fence.hold_alone();
        tokio::time::sleep(SECOND * 200_000).await;
        assert_eq!(*leadership.latest(), sole_replica());
        fence.end();
        assert!(!leadership.latest().leads);
    }

    #[actix::test]
    async fn a_guard_that_fails_ends_the_leadership_in_its_next_life() {
        tokio::time::pause();
        let (publisher, mut leadership) = topic(Leadership::default());
        let fence = Fence::new(publisher, Events::silent());
        let (health, guarded) = (Health::new(), fence.clone());
        let guard = Spec::named("fence").subscribes(&fence.deadline()).start(
            &Arbiter::current(),
            &Supervision::new(health.clone()),
            move |own| FenceActor::new(own, guarded.clone()),
        );
        fence.hold(term(1, 10));
        leadership.wait_for(|l| l.leads).await;
        tokio::time::sleep(SECOND).await;
        assert!(health.make_panic("fence"));
        let began = Instant::now();
        leadership.wait_for(|l| !l.leads).await;
        assert_eq!((began.elapsed().as_secs(), guard.state().restarts), (9, 1));
    }
}
