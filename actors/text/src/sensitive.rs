//! Values that must never be printed.

use std::sync::Arc;
use zeroize::Zeroizing;

/// A password or key: prints as `[redacted]`, is wiped from memory on drop.
#[derive(Clone, PartialEq, Eq)]
pub struct Sensitive(Arc<Zeroizing<String>>);

impl Sensitive {
    /// Wraps a value that must not be printed.
    #[must_use]
    pub fn new(value: String) -> Self {
        Self(Arc::new(Zeroizing::new(value)))
    }

    /// The value, for the one place that needs it.
    #[must_use]
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Debug for Sensitive {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("[redacted]")
    }
}
