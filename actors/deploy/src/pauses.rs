//! How long to wait before a failed watch is tried again: kube's own pauses grow to 30 s, and what changes just after an API
//! server has come back would be seen that much later.

use kube::runtime::utils::Backoff;
use std::time::Duration;

const FIRST: Duration = Duration::from_millis(250);
const LONGEST: Duration = Duration::from_secs(2);

/// Doubles from 250 ms to 2 s, and begins anew with a success.
#[derive(Debug)]
pub(crate) struct Pauses(Duration);

impl Default for Pauses {
    fn default() -> Self {
        Self(FIRST)
    }
}

impl Iterator for Pauses {
    type Item = Duration;

    fn next(&mut self) -> Option<Duration> {
        let next = self.0;
        self.0 = (next * 2).min(LONGEST);
        Some(next)
    }
}

impl Backoff for Pauses {
    fn reset(&mut self) {
        *self = Self::default();
    }
}
