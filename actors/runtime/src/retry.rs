//! How long to wait before a call that failed is made again, wherever there is always another try.

use backon::ExponentialBuilder;
use std::time::Duration;

const FIRST: Duration = Duration::from_millis(100);
/// The longest pause before its jitter, which is as much again at the most: a peer that comes back is seen within 2 s.
pub const LONGEST: Duration = Duration::from_secs(1);

/// Pauses from 100 ms, doubling, each with up to its own length of jitter so that not everybody comes at once; never more
/// than 2 s, without end.
#[must_use]
pub fn pauses() -> ExponentialBuilder {
    ExponentialBuilder::default()
        .with_min_delay(FIRST)
        .with_max_delay(LONGEST)
        .without_max_times()
        .with_jitter()
}

#[cfg(test)]
mod tests {
    use super::*;
    use backon::BackoffBuilder;

    #[test]
    fn pauses_grow_to_between_one_and_two_seconds_and_never_end() {
        let pauses: Vec<Duration> = pauses().build().take(100).collect();
        assert_eq!(pauses.len(), 100);
        assert!(pauses[0] < Duration::from_millis(200), "{:?}", pauses[0]);
        let late = Duration::from_secs(1)..=Duration::from_secs(2);
        assert!(pauses[10..].iter().all(|pause| late.contains(pause)), "{pauses:?}");
        assert!(pauses[10..].windows(2).any(|two| two[0] != two[1]), "no jitter: {pauses:?}");
    }
}
