//! What became of a bundle.

use haptic_attribution::causes::Ruling;
use haptic_model::{Diagnostic, Severity};
use std::time::Duration;

/// The outcome of all checks of one bundle.
#[derive(Clone, Debug, Default)]
pub struct CheckVerdict {
    /// Errors and warnings, in the order of the checks.
    pub diagnostics: Vec<Diagnostic>,
    /// How long the checks took.
    pub took: Duration,
    /// How much time of a CPU HAProxy's own checker took of it.
    pub work: Duration,
    /// Whether the answer was known already.
    pub cached: bool,
    /// A check did not come to its end: it took too much time or memory, or could not run. That may be the bundle's fault, or
    /// the machine's.
    pub undecided: bool,
}

impl CheckVerdict {
    /// Whether nothing speaks against the bundle.
    #[must_use]
    pub fn passed(&self) -> bool {
        self.diagnostics.iter().all(|d| d.severity < Severity::Error)
    }

    /// The same, in short.
    #[must_use]
    pub fn ruling(&self) -> Ruling {
        let errors = self.diagnostics.iter().filter(|diagnostic| diagnostic.severity == Severity::Error);
        let mut errors = errors.cloned().peekable();
        match errors.peek() {
            None => Ruling::Passes,
            Some(why) if self.undecided => Ruling::Unfinished(why.clone()),
            Some(_) => Ruling::Refused(errors.collect()),
        }
    }
}
