//! Events that stages emit for observers.

use haptic_model::Event;

use crate::{envelope::Envelope, outbox::Outbox};

/// The outbox every stage holds: observers receive `Envelope<Event>`.
pub type Events = Outbox<Envelope<Event>>;

impl Events {
    /// Sends an event to every observer; never waits, losses are counted.
    pub fn emit(&self, event: Event) {
        self.send(Envelope::new(event));
    }
}
