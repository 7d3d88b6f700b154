//! What many measurements come to.

use std::time::Duration;

/// The smallest measurement that at least `percent` of all are not above (nearest rank); nothing for none at all.
pub fn percentile(measured: &[Duration], percent: usize) -> Option<Duration> {
    let mut sorted = measured.to_vec();
    sorted.sort_unstable();
    let rank = (sorted.len() * percent).div_ceil(100).max(1);
    sorted.get(rank - 1).copied()
}

/// Milliseconds with their fractions.
pub fn milliseconds(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e3
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(milliseconds: impl IntoIterator<Item = u64>, percent: usize) -> Option<u64> {
        let all: Vec<Duration> = milliseconds.into_iter().map(Duration::from_millis).collect();
        percentile(&all, percent).map(|found| u64::try_from(found.as_millis()).unwrap())
    }

    #[test]
    fn a_percentile_is_a_measurement_that_was_made() {
        assert_eq!(of((1..=200).rev(), 50), Some(100));
        assert_eq!(of((1..=200).rev(), 99), Some(198));
        assert_eq!(of([7], 99), Some(7));
        assert_eq!(of([1, 2, 3], 50), Some(2));
        assert_eq!(of([], 50), None);
    }
}
