//! Conditions as they stand in verdicts.

use haptic_model::gateway::StatusCondition;
use std::borrow::Cow;

/// `True`, with a sentence.
pub(super) fn met(
    kind: &'static str,
    reason: &'static str,
    message: impl Into<Cow<'static, str>>,
) -> StatusCondition {
    StatusCondition { kind, holds: true, reason, message: message.into() }
}

/// `False`, with a sentence.
pub(super) fn unmet(
    kind: &'static str,
    reason: &'static str,
    message: impl Into<Cow<'static, str>>,
) -> StatusCondition {
    StatusCondition { kind, holds: false, reason, message: message.into() }
}

/// Whether a condition of that type is there, and `True`.
pub(super) fn is_met(conditions: &[StatusCondition], kind: &str) -> bool {
    conditions.iter().any(|one| one.kind == kind && one.holds)
}
