//! What became of a bundle.

use haptic_model::{Diagnostic, Severity};
use std::time::Duration;

/// The outcome of all checks of one bundle.
#[derive(Clone, Debug, Default)]
pub struct Verdict {
    /// Errors and warnings, in the order of the checks.
    pub diagnostics: Vec<Diagnostic>,
    /// How long the checks took.
    pub took: Duration,
    /// Whether the answer was known already.
    pub cached: bool,
    /// A check did not come to its end: the diagnostics tell of the machine, and nothing is known of the bundle.
    pub undecided: bool,
}

impl Verdict {
    /// Whether nothing speaks against the bundle.
    #[must_use]
    pub fn passed(&self) -> bool {
        self.diagnostics.iter().all(|d| d.severity < Severity::Error)
    }
}
