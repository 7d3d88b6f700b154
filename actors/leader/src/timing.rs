//! The three times of an election, from the configuration.

use haptic_model::crd::{Interval, LeaderElectionSpec};
use std::time::Duration;

/// How long a lease lasts, and how its holder keeps it. `retry < renew_deadline < lease`, which the configuration's
/// validation enforces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timing {
    /// Others may take a lease that did not change for this long.
    pub lease: Duration,
    /// A holder that could not renew for this long does not lead any more.
    pub renew_deadline: Duration,
    /// Pause between renewals, and between attempts that failed.
    pub retry: Duration,
}

impl Timing {
    /// The times that `spec` asks for. It may be of a configuration that was refused: the default counts for a time that cannot be read.
    #[must_use]
    pub fn of(spec: &LeaderElectionSpec) -> Self {
        let default = LeaderElectionSpec::default();
        let read = |asked: &Interval, default: &Interval| asked.duration().unwrap_or(default.get());
        Self {
            lease: read(&spec.lease_duration, &default.lease_duration),
            renew_deadline: read(&spec.renew_deadline, &default.renew_deadline),
            retry: read(&spec.retry_period, &default.retry_period),
        }
    }

    /// The longest one attempt may take: a call that hangs leaves time for two more before the deadline.
    #[must_use]
    pub fn attempt(&self) -> Duration {
        self.renew_deadline / 3
    }

    /// What a Lease says of its duration: whole seconds, never less than is meant.
    #[must_use]
    pub fn lease_seconds(&self) -> u64 {
        self.lease.as_secs() + u64::from(self.lease.subsec_nanos() > 0)
    }
}

impl Default for Timing {
    fn default() -> Self {
        Self::of(&LeaderElectionSpec::default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_defaults_are_those_of_the_resource() {
        assert_eq!(Timing::of(&LeaderElectionSpec::default()), Timing::default());
        assert_eq!(Timing::default().lease, Duration::from_secs(15));
    }

    #[test]
    fn a_lease_never_says_less_than_is_meant() {
        let timing = Timing { lease: Duration::from_millis(1500), ..Timing::default() };
        assert_eq!(timing.lease_seconds(), 2);
        assert_eq!(Timing::default().lease_seconds(), 15);
    }
}
