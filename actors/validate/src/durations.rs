//! How much time of a CPU a check takes as a rule, learnt from those that passed: whoever takes much more than others as large
//! need not be waited for. Pure.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

/// What is small enough to show how long a check of nothing takes, and large enough to show how long one of much does.
const SMALL: usize = 64 << 10;
const LARGE: usize = 256 << 10;
/// A check may take so many times as long as one of nothing, and this at least ...
const TIMES_AS_LONG: u32 = 10;
const FLOOR: Duration = Duration::from_secs(1);
/// ... and so many times as long as others took for as many bytes.
const TIMES_AS_SLOW: u32 = 2;
const UNKNOWN: Duration = Duration::from_millis(600);
/// Before anything large has passed nobody knows how long that takes: whoever is cut short is checked at length later.
const WHILE_UNKNOWN: Duration = Duration::from_secs(6);

/// What one object may add, however large it is.
const ONE_OBJECT: Duration = Duration::from_millis(1500);

/// What checks took. Clones share it.
#[derive(Clone, Debug, Default)]
pub struct CheckDurations(Arc<Mutex<KnownDuration>>);

#[derive(Debug)]
struct KnownDuration {
    /// A check of nothing.
    nothing: Duration,
    /// A MB more, once something large has passed.
    megabyte: Option<Duration>,
}

impl Default for KnownDuration {
    fn default() -> Self {
        Self { nothing: Duration::from_millis(200), megabyte: None }
    }
}

impl CheckDurations {
    /// How long a check of so many bytes may take before it is not like others.
    #[must_use]
    pub fn allowed(&self, bytes: usize) -> Duration {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let fixed = (known.nothing * TIMES_AS_LONG).max(FLOOR);
        let of_bytes = |megabyte: Duration| fixed + (megabyte * TIMES_AS_SLOW).mul_f64(megabytes(bytes));
        known.megabyte.map_or_else(|| of_bytes(UNKNOWN).min(fixed.max(WHILE_UNKNOWN)), of_bytes)
    }

    /// How long a check of one object's pieces may take: nobody has a right to more, whoever writes much.
    #[must_use]
    pub fn allowed_for_one(&self, bytes: usize) -> Duration {
        self.allowed(bytes).min(self.allowed(0) + ONE_OBJECT)
    }

    /// A check of so many bytes passed.
    pub fn learn(&self, bytes: usize, took: Duration) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if bytes <= SMALL {
            known.nothing = settled(known.nothing, took);
        } else if bytes >= LARGE {
            let rate = took.saturating_sub(known.nothing).div_f64(megabytes(bytes));
            known.megabyte = Some(settled(known.megabyte.unwrap_or(rate), rate));
        }
    }
}

/// A machine that becomes slow is so at once; one that was slow is trusted to be quick again bit by bit.
fn settled(before: Duration, now: Duration) -> Duration {
    now.max((before + now) / 2)
}

fn megabytes(bytes: usize) -> f64 {
    #[allow(clippy::cast_precision_loss, reason = "nobody counts bytes here")]
    let bytes = bytes as f64;
    bytes / f64::from(1 << 20)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_check_may_take_follows_what_others_took() {
        let (pace, second) = (CheckDurations::default(), Duration::from_secs(1));
        assert!(
            pace.allowed(0) >= 2 * second && pace.allowed(30 << 20) == WHILE_UNKNOWN,
            "nothing is known yet"
        );
        for _ in 0..20 {
            pace.learn(1000, Duration::from_millis(30));
            pace.learn(3 << 20, second);
        }
        assert_eq!((pace.allowed(0), pace.allowed_for_one(30 << 20)), (FLOOR, FLOOR + ONE_OBJECT));
        let large = pace.allowed(3 << 20);
        assert!((2 * second..4 * second).contains(&large), "{large:?}");
        pace.learn(1000, Duration::from_millis(500));
        assert_eq!(pace.allowed(0), 5 * second, "it has become slow");
    }
}
