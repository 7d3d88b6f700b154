//! CPU work off the arbiters: no handler blocks, and a panic in the work is an error with the stage's name.

use std::sync::Arc;

use crate::panics;

/// The work panicked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{stage} panicked: {reason}; this is a bug in HAPTIC, please report it with the log line of the panic"
)]
pub struct CpuPanicked {
    /// The stage whose work it was.
    pub stage: Arc<str>,
    /// The panic's message and place.
    pub reason: String,
}

/// Runs `work` on tokio's blocking pool. Dropping the future does not stop work that has begun.
///
/// # Errors
/// [`CpuPanicked`] when the work panicked, or was cancelled because the runtime shuts down.
pub async fn cpu<T: Send + 'static>(
    stage: impl Into<Arc<str>>,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, CpuPanicked> {
    let stage = stage.into();
    let actor = Arc::clone(&stage);
    let span = tracing::Span::current();
    let task = tokio::task::spawn_blocking(move || span.in_scope(|| panics::catch(&actor, work)));
    let result = task.await.unwrap_or_else(|error| Err(error.to_string()));
    result.map_err(|reason| CpuPanicked { stage, reason })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_panic_in_cpu_work_is_an_error_that_names_the_stage() {
        let error = cpu("render", || panic!("index 9")).await.expect_err("it panicked");
        assert!(error.to_string().starts_with("render panicked: index 9"), "{error}");
        assert_eq!(cpu("render", || 2 + 2).await, Ok(4));
    }
}
