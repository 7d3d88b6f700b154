//! How long to wait before an API call is tried again.

use backon::{BackoffBuilder, ExponentialBackoff, ExponentialBuilder};
use std::time::Duration;

/// From 100 ms, doubling, with jitter, to at most about 2 s: an API server that comes back is seen soon.
const LONGEST: Duration = Duration::from_secs(2);

/// Waits between failures in a row.
#[derive(Debug)]
pub(crate) struct Backoff {
    waits: ExponentialBackoff,
    failures: u32,
}

impl Backoff {
    pub(crate) fn new() -> Self {
        let waits = ExponentialBuilder::default()
            .with_min_delay(Duration::from_millis(100))
            .with_max_delay(LONGEST)
            .without_max_times()
            .with_jitter()
            .build();
        Self { waits, failures: 0 }
    }

    /// A success: the next failure is the first one again.
    pub(crate) fn reset(&mut self) {
        if self.failures > 0 {
            *self = Self::new();
        }
    }

    /// Counts a failure and waits.
    pub(crate) async fn wait(&mut self) {
        self.failures += 1;
        tokio::time::sleep(self.waits.next().unwrap_or(LONGEST)).await;
    }

    /// Failures since the last success.
    pub(crate) fn failures(&self) -> u32 {
        self.failures
    }
}
