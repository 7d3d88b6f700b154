//! Publishes the leadership and, unless it is prolonged, takes it back at its deadline.
//!
//! [`FenceActor`](crate::FenceActor) waits for the deadline on a thread of its own: a leader that panics, or whose thread is stuck, does
//! not lead longer than one whose API server is gone.

use crate::{election::Term, sole_replica};
use haptic_model::{Event, pipeline::Leadership};
use haptic_runtime::{Events, Publisher, Topic, topic};
use std::sync::Arc;
use tokio::time::Instant;

/// The only publisher of the leadership. Clones are the same.
#[derive(Clone, Debug)]
pub struct Fence(Arc<FenceState>);

#[derive(Debug)]
struct FenceState {
    leadership: Publisher<Leadership>,
    /// The leadership is published while this is being changed, so that they always fit together.
    deadline: Publisher<Option<Instant>>,
    events: Events,
}

impl Fence {
    /// A fence that publishes `leadership`, and emits an event when it begins and ends.
    #[must_use]
    pub fn new(leadership: Publisher<Leadership>, events: Events) -> Self {
        Self(Arc::new(FenceState { leadership, deadline: topic(None).0, events }))
    }

    /// Leads for `term` until its end. One that is over already begins nothing.
    pub fn hold(&self, term: Term) {
        if Instant::now() < term.until {
            self.put(Some(term.until), Leadership { leads: true, epoch: term.epoch });
        } else {
            self.end();
        }
    }

    /// Leads for good, without a Lease.
    pub fn hold_alone(&self) {
        self.put(None, sole_replica());
    }

    /// Emits that the Lease cannot be used, or can be again.
    pub(crate) fn emit_trouble(&self, lease: &str, why: Option<&str>) {
        let (lease, why) = (lease.into(), why.map(str::to_owned));
        self.0.events.emit(Event::ElectionTroubled { lease, why });
    }

    /// Does not lead from now on.
    pub fn end(&self) {
        let epoch = self.0.leadership.latest().epoch;
        self.put(None, Leadership { leads: false, epoch });
    }

    /// Does not lead from now on if the deadline has passed.
    pub fn end_overdue(&self) {
        self.0.deadline.update(|deadline| {
            let deadline = *deadline;
            if deadline.is_none_or(|until| Instant::now() < until) {
                return deadline;
            }
            let epoch = self.0.leadership.latest().epoch;
            let why = "the Lease could not be renewed in time";
            self.0.publish(Leadership { leads: false, epoch }, Some(why));
            None
        });
    }

    /// Whether this replica leads.
    #[must_use]
    pub fn leadership(&self) -> Topic<Leadership> {
        self.0.leadership.topic()
    }

    /// When the leadership ends; `None`: there is none, or it lasts for good.
    #[must_use]
    pub fn deadline(&self) -> Topic<Option<Instant>> {
        self.0.deadline.topic()
    }

    fn put(&self, until: Option<Instant>, leadership: Leadership) {
        self.0.deadline.update(|_| {
            self.0.publish(leadership, None);
            until
        });
    }
}

impl FenceState {
    fn publish(&self, leadership: Leadership, why: Option<&'static str>) {
        let led = self.leadership.latest().leads;
        self.leadership.publish_if_changed(leadership);
        if led != leadership.leads {
            self.events.emit(Event::LeadershipChanged { leads: leadership.leads, why });
        }
    }
}
