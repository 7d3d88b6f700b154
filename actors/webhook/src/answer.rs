//! What the API server is told, and in which words. Pure.

use haptic_model::{Diagnostic, crd::FailurePolicy};
use haptic_text::shortened;
use serde::Serialize;
use serde_json::{Value, json};

/// So many faults are told; who mends these sees the next.
const SHOWN: usize = 3;
/// A fault is told in so many characters.
const FAULT_LENGTH: usize = 600;
/// The API server cuts off longer warnings.
const WARNING_LENGTH: usize = 256;
/// And more of them than fit a header.
const WARNINGS: usize = 8;

/// As the API server reads it.
#[derive(Serialize)]
struct ReviewBody<'u> {
    uid: &'u str,
    allowed: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<Value>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<String>,
}

/// The answer to a review.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReviewAnswer {
    /// It may be done.
    Allowed {
        /// What is worth knowing about it.
        warnings: Vec<String>,
    },
    /// It may not be done.
    Denied {
        /// What is wrong, where, and what to do.
        message: String,
    },
    /// It could not be judged; the configuration says what that means.
    Undecided {
        /// Why not.
        why: String,
    },
}

impl ReviewAnswer {
    /// Yes, and nothing more to say.
    #[must_use]
    pub fn allowed() -> Self {
        Self::Allowed { warnings: Vec::new() }
    }

    /// No, because of `faults`.
    #[must_use]
    pub fn denied(faults: &[Diagnostic]) -> Self {
        let mut text: Vec<String> = faults.iter().map(|fault| text_of(fault, FAULT_LENGTH)).collect();
        text.dedup();
        let more = text.len().saturating_sub(SHOWN);
        text.truncate(SHOWN);
        let mut message = text.join("; ");
        if more > 0 {
            message.push_str(&format!("; and {more} more"));
        }
        Self::Denied { message }
    }

    /// Yes, with the warnings among `diagnostics`.
    #[must_use]
    pub fn warned(diagnostics: &[Diagnostic]) -> Self {
        let mut warnings: Vec<String> = diagnostics.iter().map(|d| text_of(d, WARNING_LENGTH)).collect();
        warnings.dedup();
        warnings.truncate(WARNINGS);
        Self::Allowed { warnings }
    }

    /// One word for metrics and logs.
    #[must_use]
    pub fn verdict(&self) -> &'static str {
        match self {
            Self::Allowed { .. } => "allowed",
            Self::Denied { .. } => "denied",
            Self::Undecided { .. } => "unjudged",
        }
    }

    /// The `AdmissionReview` that answers the one with this `uid`.
    #[must_use]
    pub fn to_review(&self, uid: &str, policy: FailurePolicy) -> Value {
        let (allowed, message, warnings) = match self {
            Self::Allowed { warnings } => (true, None, warnings.clone()),
            Self::Denied { message } => (false, Some(message.clone()), Vec::new()),
            Self::Undecided { why } => {
                let text = line_of(&format!("HAPTIC did not check this: {why}"), WARNING_LENGTH);
                match policy {
                    FailurePolicy::Ignore => (true, None, vec![text]),
                    FailurePolicy::Fail => (false, Some(text), Vec::new()),
                }
            }
        };
        let status = message.map(|message| json!({"code": 403, "reason": "Forbidden", "message": message}));
        let response = ReviewBody { uid, allowed, status, warnings };
        json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response})
    }
}

/// What is wrong, the object and field, the template's line, and what to do; no line of haproxy.cfg, which whoever writes an
/// object does not know.
fn text_of(fault: &Diagnostic, length: usize) -> String {
    let mut places = Vec::new();
    places.extend(fault.object.as_ref().map(ToString::to_string));
    places.extend(fault.field.as_ref().map(|field| format!("field {field}")));
    places.extend(fault.template.as_ref().map(|at| format!("template {}:{}", at.template, at.line)));
    let mut text = fault.message.trim_end_matches('.').to_owned();
    if !places.is_empty() {
        text = format!("{text} ({})", places.join(", "));
    }
    if let Some(help) = fault.help.as_deref().filter(|help| !help.is_empty()) {
        text = format!("{text}. {help}");
    }
    line_of(&text, length)
}

/// One line of at most `length` bytes.
fn line_of(text: &str, length: usize) -> String {
    let text: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    if text.len() <= length {
        return text;
    }
    shortened(&text, length.saturating_sub('…'.len_utf8())).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use haptic_model::ObjectRef;
    use std::sync::Arc;

    fn fault(message: &str) -> Diagnostic {
        let object = Arc::new(ObjectRef::new("ingresses", "shop", "web"));
        Diagnostic::error("render", message).at_template("path.map", 5, 3).of_object(Some(object))
    }

    #[test]
    fn a_denial_names_object_and_line_and_what_to_do() {
        let denied =
            ReviewAnswer::denied(&[fault("the path is bad.").help("Remove it"), fault("b"), fault("b")]);
        let ReviewAnswer::Denied { message } = denied else { panic!("it is denied") };
        assert_eq!(
            message,
            "the path is bad (ingresses shop/web, template path.map:5). Remove it; b (ingresses shop/web, template path.map:5)"
        );
    }

    #[test]
    fn many_and_long_faults_are_told_in_short() {
        let faults: Vec<_> = (0..9).map(|n| fault(&format!("{n}{}", "ü\n".repeat(2000)))).collect();
        let ReviewAnswer::Denied { message } = ReviewAnswer::denied(&faults) else { panic!("it is denied") };
        assert!(message.ends_with("; and 6 more") && message.len() < 2000 && !message.contains('\n'));
    }

    #[test]
    fn what_could_not_be_judged_is_answered_as_configured() {
        let undecided = ReviewAnswer::Undecided { why: "too many at once".into() };
        let ignored = undecided.to_review("u", FailurePolicy::Ignore);
        assert_eq!(ignored["response"]["allowed"], true);
        assert_eq!(ignored["response"]["warnings"][0], "HAPTIC did not check this: too many at once");
        let failed = undecided.to_review("u", FailurePolicy::Fail);
        assert_eq!(failed["response"]["allowed"], false);
        assert_eq!(failed["response"]["status"]["code"], 403);
    }
}
