//! What has changed since the last reconcile, gathered before any mailbox: a storm costs one slot.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Instant,
};

use haptic_model::pipeline::Cause;
use tokio::sync::Notify;

/// Where every stage notes changes; clones are the same place. Noting is allowed from any thread and never waits.
#[derive(Clone, Debug, Default)]
pub struct Changes(Arc<Gathered>);

#[derive(Debug, Default)]
struct Gathered {
    pending: Mutex<Option<Pending>>,
    /// Stores one permit, so any number of notes makes the reader look once more.
    noted: Notify,
}

/// Changes no reconcile has taken.
#[derive(Clone, Debug)]
pub struct Pending {
    /// All of them in one.
    pub cause: Cause,
    /// When the first was noted.
    pub first: Instant,
}

impl Changes {
    /// Nothing has changed.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds to what the next reconcile answers for, and makes it happen. Write the store or cell first, then note.
    pub fn note(&self, cause: Cause) {
        {
            let mut pending = self.lock();
            match pending.as_mut() {
                Some(pending) => pending.merge(cause),
                None => *pending = Some(Pending { cause, first: Instant::now() }),
            }
        }
        self.0.noted.notify_one();
    }

    /// Notes a change that is not one of objects: a configuration, the fleet.
    pub fn note_other(&self, what: &'static str) {
        self.note(Cause { other: Some(what), ..Cause::default() });
    }

    /// Takes everything noted so far. Take before reading stores: what is noted after belongs to the next reconcile.
    pub fn take(&self) -> Option<Pending> {
        self.lock().take()
    }

    /// Whether nothing was noted since it was last taken.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.lock().is_none()
    }

    /// Resolves once something was noted since it last resolved. Cancel safe.
    pub async fn noted(&self) {
        self.0.noted.notified().await;
    }

    fn lock(&self) -> MutexGuard<'_, Option<Pending>> {
        self.0.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Pending {
    /// The first example and the first other reason stand; counts add up.
    fn merge(&mut self, more: Cause) {
        let cause = &mut self.cause;
        cause.created += more.created;
        cause.modified += more.modified;
        cause.deleted += more.deleted;
        cause.example = cause.example.take().or(more.example);
        cause.other = cause.other.or(more.other);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_add_up_until_they_are_taken() {
        let changes = Changes::new();
        changes.note(Cause { created: 2, ..Cause::default() });
        changes.note(Cause { modified: 3, deleted: 1, ..Cause::default() });
        changes.note_other("configuration");
        let taken = changes.take().expect("noted");
        assert_eq!(
            taken.cause,
            Cause { created: 2, modified: 3, deleted: 1, example: None, other: Some("configuration") }
        );
        assert!(changes.take().is_none());
    }
}
