//! Waiting for what HAProxy does by itself.

use std::time::{Duration, Instant};

/// Waits until it is so.
pub fn within_patience(mut is_so: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(20);
    while !is_so() {
        assert!(Instant::now() < deadline, "it never was so");
        std::thread::park_timeout(Duration::from_millis(5));
    }
}
