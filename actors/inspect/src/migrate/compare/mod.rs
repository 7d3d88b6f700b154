//! Whether two controllers answer the same: `haptic migrate compare`.
//!
//! What is asked follows from Ingresses ([`requests`]), what counts of an answer is fixed ([`answers`]), and what was answered
//! can be kept in a file ([`recording`]) for when the old controller is gone. Nothing here sends anything.

pub mod answers;
pub mod recording;
pub mod report;
pub mod requests;
mod samples;
#[cfg(test)]
mod tests;
mod text;

pub use answers::{AnswerDifference, ComparedAnswer, differences};
pub use report::{AnswerComparison, ComparedObject, ComparedOutcome, ComparisonReport};
pub use requests::{ComparedRequest, ComparedScheme, RequestPlan};
pub use text::{as_comparison_page, as_comparison_summary};

use haptic_model::ObjectRef;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// An Ingress that requests are made of.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ComparedIngress {
    /// Where it is.
    pub namespace: Arc<str>,
    /// What it is called.
    pub name: Arc<str>,
}

impl From<&ObjectRef> for ComparedIngress {
    fn from(object: &ObjectRef) -> Self {
        Self { namespace: object.namespace.clone(), name: object.name.clone() }
    }
}
