//! What changed, for those who act on it and those who say why.

use haptic_text::ObjectRef;
use std::sync::Arc;

/// Why a reconcile happens.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cause {
    /// Objects created since the last reconcile.
    pub created: usize,
    /// Objects modified.
    pub modified: usize,
    /// Objects deleted.
    pub deleted: usize,
    /// One of them, for the commentary.
    pub example: Option<Arc<ObjectRef>>,
    /// The configuration or the fleet changed, or this is the first time.
    pub other: Option<&'static str>,
}

/// The changes of all stores since the process started. They are totals: a receiver that missed a message has missed no change.
#[derive(Clone, Debug, Default)]
pub struct StoreChanges {
    total: Cause,
    /// Changes that are not of watched objects.
    others: usize,
}

impl Cause {
    /// A change that is not one of objects: a configuration, the fleet.
    #[must_use]
    pub fn other(what: &'static str) -> Self {
        Self { other: Some(what), ..Self::default() }
    }

    /// How many objects changed.
    #[must_use]
    pub fn objects(&self) -> usize {
        self.created + self.modified + self.deleted
    }

    /// Adds `more`. The first example and the first other reason stand; counts add up.
    pub fn merge(&mut self, more: Self) {
        self.created += more.created;
        self.modified += more.modified;
        self.deleted += more.deleted;
        self.example = self.example.take().or(more.example);
        self.other = self.other.or(more.other);
    }
}

impl StoreChanges {
    /// Adds `more`, of which the example is the newest one from now on, if anything changed.
    pub fn add(&mut self, more: Cause) {
        if more.objects() == 0 && more.other.is_none() {
            return;
        }
        let total = &mut self.total;
        total.created += more.created;
        total.modified += more.modified;
        total.deleted += more.deleted;
        self.others += usize::from(more.other.is_some());
        (total.example, total.other) = (more.example, more.other);
    }

    /// What has changed since `earlier`; `None`: nothing has.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Option<Cause> {
        let (now, before) = (&self.total, &earlier.total);
        let cause = Cause {
            created: now.created.saturating_sub(before.created),
            modified: now.modified.saturating_sub(before.modified),
            deleted: now.deleted.saturating_sub(before.deleted),
            ..now.clone()
        };
        let is_any = cause.objects() > 0 || self.others > earlier.others;
        is_any.then_some(cause)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(created: usize, modified: usize) -> Cause {
        Cause { created, modified, ..Cause::default() }
    }

    #[test]
    fn causes_add_up_and_the_first_example_stands() {
        let example = |name: &str| Some(Arc::new(ObjectRef::new("services", "n", name)));
        let mut cause = Cause { example: example("first"), ..of(2, 0) };
        cause.merge(Cause { deleted: 1, example: example("second"), ..of(0, 3) });
        cause.merge(Cause::other("configuration"));
        cause.merge(Cause::other("fleet"));
        let all = Cause { deleted: 1, example: example("first"), other: Some("configuration"), ..of(2, 3) };
        assert_eq!(cause, all);
    }

    #[test]
    fn whoever_missed_a_total_missed_no_change() {
        let mut changes = StoreChanges::default();
        let at_first = changes.clone();
        assert_eq!(changes.since(&at_first), None);
        changes.add(Cause::default());
        assert_eq!(changes.since(&at_first), None);
        changes.add(of(1, 0));
        let seen = changes.clone();
        changes.add(of(0, 2));
        changes.add(Cause::other("default certificate"));
        assert_eq!(changes.since(&at_first), Some(Cause { other: Some("default certificate"), ..of(1, 2) }));
        changes.add(of(0, 1));
        assert_eq!(changes.since(&seen), Some(of(0, 3)));
        assert_eq!(changes.since(&changes.clone()), None, "a change that is no news is none");
    }
}
