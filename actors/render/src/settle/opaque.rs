//! Files that HAProxy reads as a whole: certificates, error pages and other content. Values are copied.

use super::marked::Span;
use super::refusal::{Place, Refusal, Refusals};

/// PEM is text: control characters other than line ends and tabs are not part of it.
pub(super) fn encode_certificate(line: &[Span<'_>], out: &mut String, refusals: &mut Refusals<'_>) {
    for span in line {
        if let Span::Value(value) = span {
            let control = |c: &char| c.is_ascii_control() && !matches!(c, '\n' | '\r' | '\t');
            if let Some(c) = value.text.chars().find(control) {
                refusals.add(value, Place::Certificate, Refusal::Control(c));
            }
        }
        out.push_str(span.text());
    }
}

/// Anything goes.
pub(super) fn encode_general(line: &[Span<'_>], out: &mut String) {
    for span in line {
        out.push_str(span.text());
    }
}
