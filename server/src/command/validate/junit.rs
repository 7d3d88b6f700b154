//! Examined as JUnit's XML, which CI systems show: each test a test case, and the configuration itself one more.

use super::findings::Examined;
use haptic_inspect::tests_of_config::TestResult;
use haptic_model::Severity;
use std::time::Duration;

/// The whole document, a suite for each configuration.
pub(super) fn xml(all: &[Examined]) -> String {
    let suites: String = all.iter().map(suite).collect();
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites {}>\n{suites}</testsuites>\n",
        counts(all)
    )
}

fn suite(findings: &Examined) -> String {
    let cases: String = findings.tests.tests.iter().map(|test| case(&findings.name, test)).collect();
    format!(
        "<testsuite name=\"{}\" {}>\n{}{cases}</testsuite>\n",
        escaped(&findings.name),
        counts(std::slice::from_ref(findings)),
        configuration(findings)
    )
}

/// Each configuration is a test, too.
fn counts(all: &[Examined]) -> String {
    let sum = |of: fn(&Examined) -> usize| all.iter().map(of).sum::<usize>();
    format!(
        "tests=\"{}\" failures=\"{}\" errors=\"{}\" time=\"{}\"",
        sum(|f| f.tests.total + 1),
        sum(|f| f.tests.failed),
        sum(|f| usize::from(f.errors() > 0)),
        seconds(all.iter().map(|f| f.tests.took).sum())
    )
}

fn configuration(findings: &Examined) -> String {
    let errors = findings.diagnostics.iter().filter(|d| d.severity == Severity::Error);
    let errors: Vec<String> = errors.map(ToString::to_string).collect();
    let name = escaped(&findings.name);
    match errors.first() {
        None => format!("<testcase classname=\"{name}\" name=\"configuration\" time=\"0\"/>\n"),
        Some(first) => format!(
            "<testcase classname=\"{name}\" name=\"configuration\" time=\"0\"><error message=\"{}\">{}</error></testcase>\n",
            escaped(first),
            escaped(&errors.join("\n"))
        ),
    }
}

fn case(of: &str, test: &TestResult) -> String {
    let head = format!(
        "<testcase classname=\"{}\" name=\"{}\" time=\"{}\"",
        escaped(of),
        escaped(&test.name),
        seconds(test.took)
    );
    if test.passed {
        return format!("{head}/>\n");
    }
    let failed = test.assertions.iter().filter(|assertion| !assertion.passed);
    let failures = failed.map(|assertion| {
        let lines = assertion
            .lines
            .iter()
            .map(|line| format!("{} {} | {}\n", if line.marked { ">" } else { " " }, line.number, line.text));
        let error = assertion.error.as_deref().unwrap_or_default();
        format!("{}: {error}\n{}", assertion.title(), lines.collect::<String>())
    });
    let text: String = test.error.iter().map(|error| format!("{error}\n")).chain(failures).collect();
    let first = text.lines().next().unwrap_or_default();
    format!("{head}><failure message=\"{}\">{}</failure></testcase>\n", escaped(first), escaped(&text))
}

fn seconds(took: Duration) -> String {
    format!("{:.3}", took.as_secs_f64())
}

/// XML knows no control characters but these three, not even escaped.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\n' => out.push_str("&#10;"),
            '\t' | '\r' => out.push(' '),
            control if control.is_control() || matches!(control, '\u{fffe}' | '\u{ffff}') => {
                out.push('\u{fffd}')
            }
            other => out.push(other),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_stays_text_in_xml() {
        assert_eq!(escaped("a<b & \"c\"\n\u{1}"), "a&lt;b &amp; &quot;c&quot;&#10;\u{fffd}");
    }
}
