//! Waiting until something shows, without knowing how long it takes.

use crate::failure::{Failure, Outcome};
use std::{fmt::Display, panic::Location, time::Duration};
use tokio::time::{Instant, sleep};

/// How long [`eventually`] waits: generous, for a loaded machine. How fast things are is what the benchmark measures.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// Tries every 10 ms until `attempt` succeeds.
///
/// # Errors
/// After [`PATIENCE`]: what the last attempt said.
#[track_caller]
pub fn eventually<T>(
    what: impl Display,
    attempt: impl AsyncFnMut() -> Outcome<T>,
) -> impl Future<Output = Outcome<T>> {
    eventually_within(PATIENCE, what, attempt)
}

/// [`eventually`] with a patience of its own.
///
/// # Errors
/// After `patience`: what the last attempt said.
#[track_caller]
pub fn eventually_within<T>(
    patience: Duration,
    what: impl Display,
    mut attempt: impl AsyncFnMut() -> Outcome<T>,
) -> impl Future<Output = Outcome<T>> {
    let place = Location::caller();
    async move {
        let deadline = Instant::now() + patience;
        let mut last = None;
        while Instant::now() < deadline {
            match tokio::time::timeout_at(deadline, attempt()).await {
                Ok(Ok(value)) => return Ok(value),
                Ok(Err(failure)) => last = Some(failure),
                Err(_) => break,
            }
            sleep(Duration::from_millis(10)).await;
        }
        let last =
            last.map_or_else(|| "no answer at all".to_owned(), |failure| failure.sentence().to_owned());
        Err(Failure::at(place, format!("not within {} s: {what}; at last: {last}", patience.as_secs())))
    }
}
