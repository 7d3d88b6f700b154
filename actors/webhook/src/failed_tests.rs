//! What the API server is shown when tests of a configuration fail: how many passed, and of each that did not what does not hold.
//! Several lines, and not more than a terminal shows. Pure.

use haptic_inspect::tests_of_config::{AssertionResult, TestResult};
use haptic_text::shortened;

/// Tests that are shown.
const TESTS: usize = 10;
/// Of each, so many assertions.
const ASSERTIONS: usize = 5;
/// Of each, so many bytes of what it is, and of why it fails.
const TITLE_LENGTH: usize = 120;
const ERROR_LENGTH: usize = 300;
/// Who mends those sees the rest.
const ALL_LENGTH: usize = 6000;

/// The message. `failed` are those that came to their end among `all`.
pub(super) fn message(failed: &[&TestResult], passed: usize, all: usize) -> String {
    let mut message = format!("validation failed: {passed}/{all} tests passed\n");
    let mut shown = 0;
    for test in failed.iter().take(TESTS) {
        let text = of_test(test);
        if message.len() + text.len() > ALL_LENGTH {
            break;
        }
        message.push_str(&text);
        shown += 1;
    }
    message.push_str(&more(failed.len() - shown, "tests that fail"));
    message.trim_end().to_owned()
}

fn of_test(test: &TestResult) -> String {
    let mut text = format!("\n✗ {}\n", shortened(&test.name, TITLE_LENGTH));
    text.push_str(&test.error.as_deref().map(|error| of_error(error, "  ")).unwrap_or_default());
    let failed: Vec<&AssertionResult> =
        test.assertions.iter().filter(|assertion| !assertion.passed).collect();
    for assertion in failed.iter().take(ASSERTIONS) {
        text.push_str(&format!("  ✗ {}\n", shortened(&assertion.title(), TITLE_LENGTH)));
        let error = assertion.error.as_deref().unwrap_or("it does not hold");
        text.push_str(&of_error(error, "    "));
    }
    text.push_str(&more(failed.len().saturating_sub(ASSERTIONS), "assertions that fail"));
    text
}

fn of_error(error: &str, indent: &str) -> String {
    let lines: Vec<String> = shortened(error, ERROR_LENGTH).lines().map(without_controls).collect();
    format!("{indent}Error: {}\n", lines.join(&format!("\n{indent}       ")))
}

fn more(left: usize, what: &str) -> String {
    if left == 0 { String::new() } else { format!("  and {left} more {what}\n") }
}

fn without_controls(line: &str) -> String {
    line.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn assertion(number: usize, error: &str) -> AssertionResult {
        AssertionResult {
            kind: "contains",
            description: (number == 0).then(|| "It has a frontend".to_owned()),
            target: Some("haproxy_config".into()),
            passed: number == 1,
            error: (number != 1).then(|| error.to_owned()),
            lines: Vec::new(),
        }
    }

    fn test(name: &str, assertions: usize, error: &str) -> TestResult {
        let assertions = (0..assertions).map(|number| assertion(number, error)).collect();
        TestResult { name: name.into(), assertions, ..TestResult::default() }
    }

    #[test]
    fn each_failed_test_is_told_with_all_that_does_not_hold() {
        let unreadable = TestResult { error: Some("no store".into()), ..test("fixtures", 0, "") };
        assert_eq!(
            message(&[&test("paths", 3, "not found\nbut \u{7}there"), &unreadable], 2, 4),
            "validation failed: 2/4 tests passed\n\n\
             ✗ paths\n  ✗ It has a frontend\n    Error: not found\n           but  there\n  \
             ✗ contains haproxy_config\n    Error: not found\n           but  there\n\n\
             ✗ fixtures\n  Error: no store"
        );
    }

    #[test]
    fn many_and_long_failures_are_told_in_short() {
        let long = "ü".repeat(5000);
        let tests: Vec<TestResult> = (0..40).map(|n| test(&format!("{n}{long}"), 30, &long)).collect();
        let said = message(&tests.iter().collect::<Vec<_>>(), 1, 41);
        assert!(said.len() < ALL_LENGTH + 100, "{}", said.len());
        assert!(said.contains("and 24 more assertions that fail"), "{said}");
        let shown = said.matches("\n✗ ").count();
        assert!(shown > 0 && said.ends_with(&format!("and {} more tests that fail", 40 - shown)), "{said}");
    }
}
