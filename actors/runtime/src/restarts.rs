//! How often an actor may fail, and how long it rests before it is rebuilt. Pure: time comes in as an argument.

use std::{collections::VecDeque, time::Duration};

use tokio::time::Instant;

/// The budget and back-off of restarts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RestartPolicy {
    /// Failures within `window` that are answered by a restart; one more is the end.
    pub budget: usize,
    /// The time a failure counts.
    pub window: Duration,
    /// Rest before the first restart; doubles with each failure in the window.
    pub first_rest: Duration,
    /// The longest rest.
    pub longest_rest: Duration,
}

impl RestartPolicy {
    /// For an actor that nothing depends on: however often it fails, it is rebuilt and the process goes on.
    #[must_use]
    pub fn endless() -> Self {
        Self { budget: usize::MAX, ..Self::default() }
    }
}

impl Default for RestartPolicy {
    fn default() -> Self {
        Self {
            budget: 5,
            window: Duration::from_secs(60),
            first_rest: Duration::from_millis(10),
            longest_rest: Duration::from_secs(2),
        }
    }
}

/// The failures of one actor that still count.
#[derive(Debug)]
pub(crate) struct Failures {
    policy: RestartPolicy,
    recent: VecDeque<Instant>,
}

impl Failures {
    pub(crate) fn new(policy: RestartPolicy) -> Self {
        Self { policy, recent: VecDeque::new() }
    }

    /// Counts a failure; the rest before the restart, or `None` when the budget is spent.
    pub(crate) fn backoff_after(&mut self, now: Instant) -> Option<Duration> {
        while self.recent.front().is_some_and(|at| now.duration_since(*at) >= self.policy.window) {
            self.recent.pop_front();
        }
        self.recent.push_back(now);
        let count = self.recent.len();
        if count > self.policy.budget {
            return None;
        }
        let doublings = u32::try_from(count - 1).unwrap_or(u32::MAX).min(31);
        Some(self.policy.first_rest.saturating_mul(1 << doublings).min(self.policy.longest_rest))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rests_double_until_the_budget_is_spent() {
        let mut failures = Failures::new(RestartPolicy::default());
        let now = Instant::now();
        let rests: Vec<_> =
            (0..6).map(|_| failures.backoff_after(now).map(|rest| rest.as_millis())).collect();
        assert_eq!(rests, [Some(10), Some(20), Some(40), Some(80), Some(160), None]);
    }

    #[test]
    fn old_failures_are_forgotten() {
        let mut failures = Failures::new(RestartPolicy::default());
        let start = Instant::now();
        for minute in 0..100 {
            assert_eq!(
                failures.backoff_after(start + Duration::from_secs(60 * minute)),
                Some(Duration::from_millis(10))
            );
        }
    }

    #[test]
    fn no_rest_is_longer_than_the_cap() {
        let policy = RestartPolicy { budget: 100, ..RestartPolicy::default() };
        let mut failures = Failures::new(policy);
        let now = Instant::now();
        assert_eq!((0..100).filter_map(|_| failures.backoff_after(now)).max(), Some(policy.longest_rest));
    }
}
