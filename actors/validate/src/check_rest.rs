//! How long the check of what is live already waits after the one before.
//!
//! A longer rest saves more, and costs more where HAProxy's own checker refuses what is live, and no object is at fault or the next bundle is
//! refused, too: everybody's changes since the last check are taken back with it.

use std::time::Duration;
use tokio::time::Instant;

/// In a stream of changes, checks take this part of a CPU.
const PART: u32 = 4;
/// What is live is checked, and then stored, about so late at most.
const LATEST: Duration = Duration::from_secs(20);

/// The time until the next check, if there is a rest before it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct CheckRest(Option<Instant>);

impl CheckRest {
    /// The rest after a check that ends now and took so much time of a CPU.
    pub fn after(work: Duration) -> Self {
        Self(Some(Instant::now() + rest_after(work)))
    }

    /// When it is over; `None`: it is.
    pub fn until(self) -> Option<Instant> {
        self.0.filter(|until| *until > Instant::now())
    }
}

fn rest_after(work: Duration) -> Duration {
    // A change may come right after a check began: it waits for that one, the rest, and its own.
    (work * (PART - 1)).min(LATEST.saturating_sub(work * 2))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checks_take_a_quarter_of_a_cpu_and_nothing_waits_for_more_than_about_twenty_seconds() {
        let rest = |millis: u64| rest_after(Duration::from_millis(millis)).as_millis();
        assert_eq!([rest(0), rest(30), rest(400)], [0, 90, 1_200]);
        assert_eq!([rest(6_000), rest(10_000), rest(60_000)], [8_000, 0, 0]);
    }
}
