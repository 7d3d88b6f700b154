//! How stages tell observers what happened.

use haptic_model::Event;

use crate::{envelope::Envelope, outbox::Outbox};

/// The outbox every stage holds: observers receive `Envelope<Event>`.
pub type Events = Outbox<Envelope<Event>>;

impl Events {
    /// Tells every observer; never waits, losses are counted.
    pub fn tell(&self, event: Event) {
        let generation = event.generation().unwrap_or_default();
        self.emit(Envelope::new(event, generation));
    }
}
