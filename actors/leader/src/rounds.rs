//! When something that is done again and again is done next: after a change, though never before its pause is over.

use tokio::time::Instant;

/// The rounds of one task. The first one is due at once.
#[derive(Debug)]
pub(crate) struct Rounds {
    is_running: bool,
    /// Whether something changed since the last round began.
    changed: bool,
    /// The end of the pause after the last round.
    not_before: Instant,
    /// When the next round begins though nothing changes.
    due: Option<Instant>,
}

impl Rounds {
    pub(crate) fn new(now: Instant) -> Self {
        Self { is_running: false, changed: true, not_before: now, due: None }
    }

    /// Something changed that the next round is to take up.
    pub(crate) fn changed(&mut self) {
        self.changed = true;
    }

    /// Ends the pause.
    pub(crate) fn wake(&mut self, now: Instant) {
        (self.changed, self.not_before) = (true, now);
    }

    /// Whether a round begins at `now`.
    pub(crate) fn begin(&mut self, now: Instant) -> bool {
        let begins = self.next().is_some_and(|next| next <= now);
        if begins {
            (self.is_running, self.changed, self.due) = (true, false, None);
        }
        begins
    }

    /// The round has ended: the next one comes after `not_before` if something changed, and else when it is `due`.
    pub(crate) fn ended(&mut self, not_before: Instant, due: Option<Instant>) {
        (self.is_running, self.not_before, self.due) = (false, not_before, due);
    }

    /// When the next round begins. `None`: one is under way, or nothing is to be done.
    pub(crate) fn next(&self) -> Option<Instant> {
        let at =
            if self.changed { Some(self.not_before) } else { self.due.map(|due| due.max(self.not_before)) };
        at.filter(|_| !self.is_running)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn a_change_waits_for_the_end_of_the_pause_and_one_during_a_round_asks_for_another() {
        let now = Instant::now();
        let later = now + Duration::from_secs(5);
        let mut rounds = Rounds::new(now);
        assert!(rounds.begin(now));
        rounds.changed();
        assert_eq!((rounds.next(), rounds.begin(later)), (None, false), "one is under way");
        rounds.ended(later, None);
        assert!(!rounds.begin(now) && rounds.begin(later));
        rounds.ended(later, None);
        assert_eq!(rounds.next(), None, "nothing changed");
    }

    #[test]
    fn a_round_that_is_due_needs_no_change_and_a_hurry_no_pause() {
        let now = Instant::now();
        let [soon, later] = [5, 10].map(|seconds| now + Duration::from_secs(seconds));
        let mut rounds = Rounds::new(now);
        assert!(rounds.begin(now));
        rounds.ended(soon, Some(later));
        assert!(!rounds.begin(soon));
        assert_eq!(rounds.next(), Some(later));
        rounds.wake(now);
        assert!(rounds.begin(now));
    }
}
