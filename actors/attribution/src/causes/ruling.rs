//! The ruling of a check on a bundle, and the outcome of a search.

use haptic_model::{Diagnostic, ObjectRef};
use std::sync::Arc;

/// The ruling of a check on a bundle.
#[derive(Clone, Debug)]
pub enum Ruling {
    /// Nothing speaks against it.
    Passes,
    /// It is wrong for these reasons.
    Refused(Vec<Diagnostic>),
    /// The check came to no end in the time and memory that a bundle like it needs, or could not run.
    Unfinished(Diagnostic),
}

/// Objects, each with what is wrong.
pub type FailingByCause = Vec<(Arc<ObjectRef>, Diagnostic)>;

/// The objects at fault.
#[derive(Debug, Default)]
pub struct FailureCauses {
    /// These are, each with what is wrong.
    pub proven: FailingByCause,
    /// These are not cleared: among them may be some that are, and there was no time to find out which.
    pub suspects: FailingByCause,
    /// Why it is no object.
    pub nobodys: Option<Nobodys>,
}

/// Why no object is at fault.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Nobodys {
    /// The text that templates print for no object, or for whichever object, is refused by itself.
    Templates(Diagnostic),
    /// A bundle that passed before does not pass any more, or its check comes to no end.
    Machine(Diagnostic),
    /// All that changed passes by itself, and with what did not change.
    Nothing,
}

impl FailureCauses {
    /// Whether no object is accused.
    #[must_use]
    pub fn is_nobody(&self) -> bool {
        self.proven.is_empty() && self.suspects.is_empty()
    }

    /// Whether objects are accused, and nothing but them.
    #[must_use]
    pub fn is_only_objects(&self) -> bool {
        !self.is_nobody() && self.nobodys.is_none()
    }
}

impl Ruling {
    /// The first thing that it says against the bundle.
    #[must_use]
    pub fn why(&self) -> Option<&Diagnostic> {
        match self {
            Self::Passes => None,
            Self::Refused(said) => said.first(),
            Self::Unfinished(why) => Some(why),
        }
    }

    /// Whether nothing speaks against the bundle.
    #[must_use]
    pub fn passes(&self) -> bool {
        matches!(self, Self::Passes)
    }
}
