//! What tests of libraries say of a configuration that is not only theirs.

use serde_json::{Map, Value};
use std::fmt;

/// So many parts are named.
const SHOWN: usize = 3;

/// Tests of libraries that say nothing of a configuration.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Untested {
    /// How many are not run.
    pub tests: usize,
    /// The parts of libraries that are replaced: `files.404.http`.
    pub replaced: Vec<String>,
    /// How many are run without their requests: what a HAProxy answers is a matter of all lines.
    pub unasked: usize,
    /// The snippets of the configuration's own, which may print any line: `templateSnippets.frontend-35-robots`.
    pub added: Vec<String>,
}

impl fmt::Display for Untested {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let of_libraries = |count: usize| match count {
            1 => "1 test of the libraries".to_owned(),
            many => format!("{many} tests of the libraries"),
        };
        let mut sentences = Vec::new();
        if self.tests > 0 {
            let are = if self.tests == 1 { "is" } else { "are" };
            let replaced = self.replaced.join(", ");
            let tests = of_libraries(self.tests);
            sentences.push(format!("{tests} {are} not run, because the configuration replaces {replaced}"));
        }
        if self.unasked > 0 {
            let parts: Vec<&str> = self.replaced.iter().chain(&self.added).map(String::as_str).collect();
            let mut named = parts.iter().take(SHOWN).copied().collect::<Vec<_>>().join(", ");
            if parts.len() > SHOWN {
                named.push_str(&format!(" and {} more", parts.len() - SHOWN));
            }
            let tests = of_libraries(self.unasked);
            sentences.push(format!("the requests of {tests} are not sent, because the configuration has lines of its own: {named}"));
        }
        f.write_str(&sentences.join("; "))
    }
}

/// Takes out of the `tests` of libraries what has no meaning for a configuration that replaces and adds such parts.
pub(super) fn leave_meaningful(
    tests: &mut Map<String, Value>,
    replaced: Vec<String>,
    added: Vec<String>,
) -> Option<Untested> {
    let before = tests.len();
    tests.retain(|_, test| !replaced.iter().any(|part| is_about(test, part)));
    let mut untested = Untested { tests: before - tests.len(), replaced, unasked: 0, added };
    if untested.replaced.is_empty() && untested.added.is_empty() {
        return None;
    }
    for test in tests.values_mut().filter_map(Value::as_object_mut) {
        untested.unasked += usize::from(test.remove("requests").is_some());
    }
    tests.retain(|_, test| test.get("assertions").is_some());
    (untested.tests + untested.unasked > 0).then_some(untested)
}

/// Whether a test may say something of that part. What a file holds is seen by those that look at it; of another part that may be all.
fn is_about(test: &Value, part: &str) -> bool {
    let targets = test.get("assertions").and_then(Value::as_array).into_iter().flatten();
    let mut targets = targets.filter_map(|assertion| assertion.get("target")?.as_str());
    !part.starts_with("files.") || targets.any(|target| target == part)
}
