//! How long to wait before an API call is tried again.

use backon::{BackoffBuilder, ExponentialBackoff};
use haptic_runtime::retry::{self, pauses};
use std::time::Duration;

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
        tokio::time::sleep(self.pause()).await;
    }

    /// Counts a failure: how long to wait.
    pub(crate) fn pause(&mut self) -> Duration {
        self.failures += 1;
        self.waits.next().unwrap_or(retry::LONGEST)
    }

    /// Failures since the last success.
    pub(crate) fn failures(&self) -> u32 {
        self.failures
    }
}
