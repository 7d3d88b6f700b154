//! Decides whether objects that a list does not name any more may leave a store. Pure.
//!
//! A wrong selector, a list that is empty by mistake, namespaces that lose a label: objects vanish together. Objects that are
//! deleted are seen one by one, and are never asked about here. What vanishes within one [`WINDOW`] counts together, so that
//! many small scopes are no way around.

use haptic_model::ObjectRef;
use std::{
    collections::BTreeSet,
    sync::Arc,
    time::{Duration, Instant},
};

/// Fewer never matter.
pub const FEW: usize = 20;
/// What vanishes within this time counts together.
pub const WINDOW: Duration = Duration::from_secs(60);

/// What is held of one store.
#[derive(Debug, Default)]
pub struct Guard {
    /// Since when what leaves is counted, how many there were then, and how many have left.
    window: Option<(Instant, usize, usize)>,
    held: BTreeSet<Arc<ObjectRef>>,
    since: Option<Instant>,
}

/// Whether so many are a mass.
#[must_use]
pub fn is_mass(missing: usize, of: usize) -> bool {
    missing >= FEW && missing > of / 2
}

impl Guard {
    /// Whether `leaving`, which one list does not name, may leave a store of `present` objects; if not, they are held.
    pub fn lets(&mut self, leaving: &[Arc<ObjectRef>], present: usize, now: Instant) -> bool {
        let (began, before, gone) = match self.window {
            Some(window) if now < window.0 + WINDOW => window,
            _ => (now, present, 0),
        };
        let named: BTreeSet<_> = leaving.iter().collect();
        let held_elsewhere = self.held.iter().filter(|held| !named.contains(held)).count();
        if is_mass(gone + leaving.len() + held_elsewhere, before) {
            self.window = Some((began, before, gone));
            self.held.extend(leaving.iter().cloned());
            self.since.get_or_insert(now);
            return false;
        }
        self.window = Some((began, before, gone + leaving.len()));
        leaving.iter().for_each(|object| self.forget(object));
        true
    }

    /// This object is there, or is deleted for good: it is held no more.
    pub fn forget(&mut self, object: &Arc<ObjectRef>) {
        if self.held.remove(object) && self.held.is_empty() {
            self.since = None;
        }
    }

    /// How many are held, of how many, and since when.
    #[must_use]
    pub fn holds(&self) -> Option<(usize, usize, Instant)> {
        let before = self.window.map_or(0, |(_, before, _)| before);
        Some((self.held.len(), before.max(self.held.len()), self.since?))
    }

    /// Lets everything go: what leaves now is not counted.
    pub fn release(&mut self) -> BTreeSet<Arc<ObjectRef>> {
        (self.window, self.since) = (None, None);
        std::mem::take(&mut self.held)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn objects(names: std::ops::Range<usize>) -> Vec<Arc<ObjectRef>> {
        names.map(|n| Arc::new(ObjectRef::new("ingresses", "n", &n.to_string()))).collect()
    }

    #[test]
    fn more_than_half_and_at_least_twenty_are_a_mass() {
        for (missing, of, mass) in
            [(19, 19, false), (20, 20, true), (20, 40, false), (21, 40, true), (0, 0, false)]
        {
            assert_eq!(is_mass(missing, of), mass, "{missing} of {of}");
        }
    }

    #[test]
    fn a_mass_is_held_until_it_is_released_and_counts_from_its_beginning() {
        let (mut guard, start) = (Guard::default(), Instant::now());
        assert!(!guard.lets(&objects(0..60), 100, start));
        assert_eq!(guard.holds(), Some((60, 100, start)));
        // The next list says the same, later.
        assert!(!guard.lets(&objects(0..60), 100, start + 2 * WINDOW));
        assert_eq!(guard.holds().map(|(_, _, since)| since), Some(start));
        assert_eq!(guard.release().len(), 60);
        assert_eq!(guard.holds(), None);
        assert!(guard.lets(&[], 40, start + 2 * WINDOW));
    }

    #[test]
    fn what_comes_back_or_is_deleted_for_good_is_held_no_more() {
        let (mut guard, start) = (Guard::default(), Instant::now());
        guard.lets(&objects(0..30), 40, start);
        objects(0..30).iter().for_each(|object| guard.forget(object));
        assert_eq!(guard.holds(), None);
        guard.lets(&objects(0..30), 40, start + 2 * WINDOW);
        objects(5..30).iter().for_each(|object| guard.forget(object));
        assert!(guard.lets(&objects(0..5), 40, start + 4 * WINDOW), "the rest is named again");
    }

    #[test]
    fn many_small_scopes_within_a_minute_count_together_and_slow_ones_do_not() {
        let start = Instant::now();
        let scope = |n: usize| objects(n * 10..n * 10 + 10);
        let mut guard = Guard::default();
        let at = |n: usize| start + Duration::from_secs(n as u64);
        let let_go: Vec<bool> = (0..10).map(|n| guard.lets(&scope(n), 100 - 10 * n.min(5), at(n))).collect();
        assert_eq!(let_go.iter().filter(|let_go| **let_go).count(), 5);
        assert_eq!(guard.holds().map(|(held, of, _)| (held, of)), Some((50, 100)));
        let mut guard = Guard::default();
        assert!((0..9).all(|n| guard.lets(
            &scope(n),
            100 - 10 * n,
            start + WINDOW * u32::try_from(n).unwrap()
        )));
    }
}
