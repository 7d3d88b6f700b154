//! An assertion, read: with everything it needs and nothing else.

use super::target::{HAPROXY_CONFIG, Target};
use haptic_model::crd::{Assertion, AssertionKind};
use haptic_text::FieldPath;
use regex::{Regex, RegexBuilder};

/// What must hold.
#[derive(Clone, Debug)]
pub(super) enum Check {
    /// All checks accept the bundle.
    Valid,
    /// A second render gives the same bytes.
    Deterministic,
    /// The pattern is found, or is not.
    Contains { target: Target, pattern: Regex, wanted: bool },
    /// The whole text.
    Equals { target: Target, expected: String },
    /// The pattern is found so often.
    Count { target: Target, pattern: Regex, expected: usize },
    /// The patterns are found one after the other.
    Order { target: Target, patterns: Vec<Regex> },
    /// The path leads to a value; without a target, in the render context.
    Path { target: Option<Target>, path: FieldPath, expected: Option<String> },
}

impl Check {
    /// Reads `assertion`.
    ///
    /// # Errors
    /// A field that is missing, is not used by its type, or cannot be read.
    pub fn read(assertion: &Assertion) -> Result<Self, String> {
        let kind = assertion.kind;
        only_used(assertion)?;
        let target = assertion.target.as_deref().map(Target::parse).transpose()?;
        let required =
            || target.clone().ok_or_else(|| format!("{kind} needs a target, for example haproxy_config"));
        let pattern = || {
            let pattern = assertion.pattern.as_deref().filter(|pattern| !pattern.is_empty());
            regex(pattern.ok_or_else(|| format!("{kind} needs a pattern, a regular expression"))?)
        };
        let expected = || assertion.expected.clone().ok_or_else(|| format!("{kind} needs expected"));
        Ok(match kind {
            AssertionKind::HaproxyValid => Self::Valid,
            AssertionKind::Deterministic => Self::Deterministic,
            AssertionKind::Contains => {
                Self::Contains { target: required()?, pattern: pattern()?, wanted: true }
            }
            AssertionKind::NotContains => {
                Self::Contains { target: required()?, pattern: pattern()?, wanted: false }
            }
            AssertionKind::Equals => Self::Equals { target: required()?, expected: expected()? },
            AssertionKind::MatchCount => {
                let expected = expected()?;
                let count = expected.trim().parse();
                let count =
                    count.map_err(|_| format!("{kind} needs a whole number as expected, not {expected:?}"));
                Self::Count { target: required()?, pattern: pattern()?, expected: count? }
            }
            AssertionKind::MatchOrder => {
                if assertion.patterns.is_empty() {
                    return Err(format!("{kind} needs patterns, a list of regular expressions"));
                }
                let patterns = assertion.patterns.iter().map(|p| regex(p)).collect::<Result<_, _>>()?;
                Self::Order { target: required()?, patterns }
            }
            AssertionKind::Jsonpath => {
                let path = assertion.jsonpath.as_deref().ok_or_else(|| format!("{kind} needs jsonpath"))?;
                let path = FieldPath::parse(path).map_err(|e| e.to_string())?;
                // haproxy.cfg is no JSON: what it was rendered from is meant.
                let target = target.filter(|_| assertion.target.as_deref() != Some(HAPROXY_CONFIG));
                Self::Path { target, path, expected: assertion.expected.clone() }
            }
        })
    }
}

/// A field that an assertion does not use is a misunderstanding, and must not look as if it were checked.
fn only_used(assertion: &Assertion) -> Result<(), String> {
    use AssertionKind::{
        Contains, Deterministic, Equals, HaproxyValid, Jsonpath, MatchCount, MatchOrder, NotContains,
    };
    let kind = assertion.kind;
    let given = [
        ("target", names_a_file(assertion), !matches!(kind, HaproxyValid | Deterministic)),
        ("pattern", assertion.pattern.is_some(), matches!(kind, Contains | NotContains | MatchCount)),
        ("patterns", !assertion.patterns.is_empty(), matches!(kind, MatchOrder)),
        ("expected", assertion.expected.is_some(), matches!(kind, Equals | MatchCount | Jsonpath)),
        ("jsonpath", assertion.jsonpath.is_some(), matches!(kind, Jsonpath)),
    ];
    match given.iter().find(|(_, given, used)| *given && !used) {
        Some((field, ..)) => {
            Err(format!("{kind} does not use {field}: leave it out, or choose another type"))
        }
        None => Ok(()),
    }
}

/// Whether the target is more than what `haproxy_valid` looks at anyhow.
fn names_a_file(assertion: &Assertion) -> bool {
    let is_whole = assertion.kind == AssertionKind::HaproxyValid;
    assertion.target.as_deref().is_some_and(|target| !is_whole || target != HAPROXY_CONFIG)
}

/// `^` and `$` are at the ends of lines: what is looked at is lines.
fn regex(pattern: &str) -> Result<Regex, String> {
    RegexBuilder::new(pattern).multi_line(true).build().map_err(|e| {
        let why = e.to_string();
        let why = why.lines().last().unwrap_or_default().trim().trim_start_matches("error: ");
        format!("{pattern:?} is not a regular expression: {why}")
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn read(assertion: Value) -> Result<Check, String> {
        Check::read(&serde_json::from_value(assertion).unwrap())
    }

    #[test]
    fn an_assertion_that_says_too_little_or_too_much_is_refused() {
        for (assertion, told) in [
            (json!({"type": "contains", "pattern": "x"}), "contains needs a target"),
            (json!({"type": "contains", "target": "haproxy_config"}), "contains needs a pattern"),
            (json!({"type": "contains", "target": "", "pattern": "x"}), "there is no target \"\""),
            (json!({"type": "not_contains", "target": "maps.a", "pattern": ""}), "needs a pattern"),
            (
                json!({"type": "contains", "target": "maps.a", "pattern": "("}),
                "\"(\" is not a regular expression",
            ),
            (json!({"type": "equals", "target": "maps.a"}), "equals needs expected"),
            (
                json!({"type": "match_count", "target": "maps.a", "pattern": "x", "expected": "two"}),
                "not \"two\"",
            ),
            (json!({"type": "match_order", "target": "maps.a", "pattern": "x"}), "does not use pattern"),
            (json!({"type": "match_order", "target": "maps.a"}), "match_order needs patterns"),
            (json!({"type": "jsonpath", "target": "maps.a"}), "jsonpath needs jsonpath"),
            (json!({"type": "jsonpath", "jsonpath": "a[["}), "a[["),
            (json!({"type": "haproxy_valid", "target": "maps.a"}), "does not use target"),
            (json!({"type": "deterministic", "target": "haproxy_config"}), "does not use target"),
            (json!({"type": "deterministic", "expected": "x"}), "does not use expected"),
        ] {
            let said = read(assertion.clone()).unwrap_err();
            assert!(said.contains(told), "{assertion}: {said:?}, not {told:?}");
        }
    }

    #[test]
    fn what_haproxy_cfg_adds_to_an_assertion_is_nothing() {
        assert!(matches!(
            read(json!({"type": "haproxy_valid", "target": "haproxy_config"})),
            Ok(Check::Valid)
        ));
        let path = read(json!({"type": "jsonpath", "target": "haproxy_config", "jsonpath": "a"}));
        assert!(matches!(path, Ok(Check::Path { target: None, .. })), "{path:?}");
    }

    #[test]
    fn a_count_may_be_a_number() {
        let check = read(json!({"type": "match_count", "target": "maps.a", "pattern": "x", "expected": 2}));
        assert!(matches!(check, Ok(Check::Count { expected: 2, .. })), "{check:?}");
    }
}
