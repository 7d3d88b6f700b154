//! How long a review may take.

use std::time::Duration;
use tokio::time::Instant;

/// Below the ten seconds that the API server waits.
pub const BUDGET: Duration = Duration::from_secs(8);
/// What a check found out, or that it did not end, must be told, too.
const TO_ANSWER: Duration = Duration::from_secs(1);

/// When the last `haproxy -c` of a review ends that came at `came`.
#[must_use]
pub fn end_of_checks(came: Instant) -> Instant {
    came + (BUDGET - TO_ANSWER)
}
