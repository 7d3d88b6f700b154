//! Annotations of ours: what they begin with, how long they may be, what of YAML is written in one, and what is found at one.

use haptic_model::{Finding, FindingKind};
use serde_json::Value as Json;

/// The prefix of our own annotations.
pub const PREFIX: &str = "haproxy-haptic.org/";

/// The most bytes of one of them: twice what any option takes. Of a larger one only its size is told.
pub(crate) const MOST_BYTES: usize = 64 << 10;

/// A finding at an option of ours.
pub(crate) fn finding(kind: FindingKind, option: &str, sentence: String) -> Finding {
    Finding::new(kind, sentence).at_annotation(&format!("{PREFIX}{option}"))
}

/// A scalar as somebody would write it in an annotation; lists with commas between.
pub(super) fn text_of(value: &Json) -> String {
    match value {
        Json::String(text) => text.clone(),
        Json::Array(items) => items.iter().map(text_of).collect::<Vec<_>>().join(", "),
        other => other.to_string(),
    }
}
