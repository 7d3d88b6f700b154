//! Publishes the leadership and, unless it is prolonged, takes it back at its deadline by itself.
//!
//! It runs on the shared pool and outlives the actor: a leader that panics, or whose thread is stuck, does not lead
//! longer than one whose API server is gone.

use crate::{election::Tenure, sole_replica};
use haptic_model::{Event, pipeline::Leadership};
use haptic_runtime::{CellReader, CellWriter, Events};
use std::{sync::Arc, time::Duration};
use tokio::{sync::watch, time::Instant};

/// The only hand that writes the leadership. Clones are the same.
#[derive(Clone, Debug)]
pub struct Fence(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    leadership: CellWriter<Leadership>,
    /// Changed and published under one lock.
    deadline: watch::Sender<Option<Instant>>,
    events: Events,
}

impl Fence {
    /// A fence that writes `leadership`, and tells `events` when it begins and ends. Call it within a tokio runtime.
    #[must_use]
    pub fn new(leadership: CellWriter<Leadership>, events: Events) -> Self {
        let (deadline, changed) = watch::channel(None);
        let fence = Self(Arc::new(Inner { leadership, deadline, events }));
        tokio::spawn(guard(Arc::downgrade(&fence.0), changed));
        fence
    }

    /// Leads with `tenure` until its end. One that is over already begins nothing.
    pub fn hold(&self, tenure: Tenure) {
        if Instant::now() < tenure.until {
            self.put(Some(tenure.until), Leadership { leads: true, epoch: tenure.epoch });
        } else {
            self.end();
        }
    }

    /// Leads for good, without a Lease.
    pub fn hold_alone(&self) {
        self.put(None, sole_replica());
    }

    /// Tells that the Lease cannot be used, or can be again.
    pub(crate) fn tell_trouble(&self, lease: &str, why: Option<&str>) {
        let (lease, why) = (lease.into(), why.map(str::to_owned));
        self.0.events.tell(Event::ElectionTroubled { lease, why });
    }

    /// Does not lead from now on.
    pub fn end(&self) {
        let epoch = self.0.leadership.read().epoch;
        self.put(None, Leadership { leads: false, epoch });
    }

    /// Who may read it.
    #[must_use]
    pub fn leadership(&self) -> CellReader<Leadership> {
        self.0.leadership.reader()
    }

    fn put(&self, until: Option<Instant>, leadership: Leadership) {
        self.0.deadline.send_if_modified(|deadline| {
            let moved = *deadline != until;
            *deadline = until;
            self.0.publish(leadership, None);
            moved
        });
    }
}

impl Inner {
    fn publish(&self, leadership: Leadership, why: Option<&'static str>) {
        let led = self.leadership.read().leads;
        self.leadership.publish_if_changed(leadership);
        if led != leadership.leads {
            self.events.tell(Event::LeadershipChanged { leads: leadership.leads, why });
        }
    }

    /// Ends the leadership if its deadline has passed.
    fn fence(&self) {
        self.deadline.send_if_modified(|deadline| {
            let over = deadline.is_some_and(|until| until <= Instant::now());
            if over {
                *deadline = None;
                let epoch = self.leadership.read().epoch;
                let why = "the Lease could not be renewed in time";
                self.publish(Leadership { leads: false, epoch }, Some(why));
            }
            over
        });
    }
}

async fn guard(inner: std::sync::Weak<Inner>, mut changed: watch::Receiver<Option<Instant>>) {
    loop {
        let deadline = *changed.borrow_and_update();
        let far = Instant::now() + Duration::from_secs(86_400);
        tokio::select! {
            moved = changed.changed() => if moved.is_err() { return },
            () = tokio::time::sleep_until(deadline.unwrap_or(far)) => match inner.upgrade() {
                Some(inner) => inner.fence(),
                None => return,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use haptic_model::agent_api::Epoch;
    use haptic_runtime::cell;

    const SECOND: Duration = Duration::from_secs(1);

    fn tenure(transitions: i64, seconds: u32) -> Tenure {
        let epoch = Epoch { lease_created: 1, transitions };
        Tenure { epoch, until: Instant::now() + SECOND * seconds }
    }

    fn fence() -> (Fence, CellReader<Leadership>) {
        let (writer, reader) = cell(Leadership::default());
        (Fence::new(writer, Events::silent()), reader)
    }

    #[tokio::test(start_paused = true)]
    async fn a_leadership_ends_by_itself_at_its_deadline() {
        let (fence, mut leadership) = fence();
        fence.hold(tenure(1, 10));
        assert!(leadership.read().leads);
        let began = Instant::now();
        leadership.wait_for(|l| !l.leads).await;
        assert_eq!(began.elapsed().as_secs(), 10);
        assert_eq!(leadership.read().epoch.transitions, 1);
    }

    #[tokio::test(start_paused = true)]
    async fn a_prolonged_leadership_goes_on_and_wakes_nobody() {
        let (fence, mut leadership) = fence();
        fence.hold(tenure(1, 10));
        leadership.changed().await;
        for _ in 0..20 {
            tokio::time::sleep(SECOND * 9).await;
            fence.hold(tenure(1, 10));
            tokio::select! {
                biased;
                changed = leadership.changed() => panic!("it changed to {changed:?}"),
                () = std::future::ready(()) => {}
            }
        }
        assert!(leadership.read().leads);
    }

    #[tokio::test(start_paused = true)]
    async fn a_tenure_that_is_over_begins_nothing() {
        let (fence, leadership) = fence();
        let over = tenure(1, 1);
        tokio::time::sleep(SECOND * 2).await;
        fence.hold(over);
        assert!(!leadership.read().leads);
    }

    #[tokio::test(start_paused = true)]
    async fn without_a_lease_there_is_no_deadline() {
        let (fence, leadership) = fence();
        fence.hold(tenure(1, 10));
        fence.hold_alone();
        tokio::time::sleep(SECOND * 200_000).await;
        assert_eq!(*leadership.read(), sole_replica());
        fence.end();
        assert!(!leadership.read().leads);
    }
}
