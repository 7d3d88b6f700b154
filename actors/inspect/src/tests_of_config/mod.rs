//! Runs the tests that a configuration brings along (`validationTests`): fixtures in, verdicts out.
//!
//! The command line, the webhook and the built-in libraries' own tests all come here. Each test renders by itself, from
//! its own stores; they share nothing but the compiled templates and the checker. Nothing is read and nothing printed.

mod answers;
mod assertion;
mod check;
mod excerpt;
mod report;
mod requests;
#[cfg(test)]
mod requests_tests;
mod run;
mod subject;
mod target;
#[cfg(test)]
mod tests;

pub use excerpt::ExcerptLine;
pub use report::{AssertionResult, Report, TestResult};
pub use run::{Suite, run};

use check::Check;
use haptic_model::{Diagnostic, HAProxyTemplateConfigSpec};

const PROVES_NOTHING: &str = "a test without assertions and requests proves nothing";

/// What is wrong with the tests themselves: one that proves nothing, an assertion that says too little or too much, a request
/// that cannot be sent.
#[must_use]
pub fn problems(spec: &HAProxyTemplateConfigSpec) -> Vec<Diagnostic> {
    let mut problems = Vec::new();
    for (name, test) in &spec.validation_tests.by_name {
        let field = format!("spec.validationTests.{name}");
        if name.is_empty() {
            let wrong = Diagnostic::error("tests", "a test has no name").at_field("spec.validationTests");
            problems.push(wrong.help("Write {name: NAME, assertions: [...]}"));
        }
        if test.assertions.is_empty() && test.requests.is_empty() {
            problems.push(
                Diagnostic::error("tests", PROVES_NOTHING)
                    .at_field(format!("{field}.assertions"))
                    .help("Give at least one, for example {type: haproxy_valid}"),
            );
        }
        for (number, assertion) in test.assertions.iter().enumerate() {
            if let Err(why) = Check::read(assertion) {
                problems
                    .push(Diagnostic::error("tests", why).at_field(format!("{field}.assertions[{number}]")));
            }
        }
    }
    problems.extend(requests::problems(&spec.validation_tests));
    problems
}
