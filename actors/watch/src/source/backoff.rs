//! How long to wait before an API call is tried again.

use backon::{BackoffBuilder, ExponentialBackoff};
use haptic_runtime::retry::{self, pauses};

/// Waits between failures in a row.
#[derive(Debug)]
pub(crate) struct Backoff {
    waits: ExponentialBackoff,
    failures: u32,
}

impl Backoff {
    pub(crate) fn new() -> Self {
        Self { waits: pauses().build(), failures: 0 }
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
        tokio::time::sleep(self.waits.next().unwrap_or(retry::LONGEST)).await;
    }

    /// Failures since the last success.
    pub(crate) fn failures(&self) -> u32 {
        self.failures
    }
}
