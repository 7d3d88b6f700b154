//! What tests of libraries say of a configuration that is not only theirs.

use serde_json::{Map, Value};
use std::{collections::BTreeMap, fmt};

/// So many parts are named.
const SHOWN: usize = 3;

/// How many tests of each library: `15 tests of the libraries base (10), ssl (5)`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TestsOfLibraries(BTreeMap<&'static str, usize>);

impl TestsOfLibraries {
    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// How many there are of all libraries.
    #[must_use]
    pub fn total(&self) -> usize {
        self.0.values().sum()
    }
}

impl FromIterator<&'static str> for TestsOfLibraries {
    /// Of the library of each test.
    fn from_iter<I: IntoIterator<Item = &'static str>>(libraries: I) -> Self {
        let mut counts = BTreeMap::new();
        libraries.into_iter().for_each(|library| *counts.entry(library).or_default() += 1);
        Self(counts)
    }
}

impl fmt::Display for TestsOfLibraries {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let total = self.total();
        let tests = if total == 1 { "test" } else { "tests" };
        match self.0.iter().next() {
            Some((only, _)) if self.0.len() == 1 => write!(f, "{total} {tests} of the library {only}"),
            _ => {
                let each: Vec<String> =
                    self.0.iter().map(|(name, count)| format!("{name} ({count})")).collect();
                write!(f, "{total} {tests} of the libraries {}", each.join(", "))
            }
        }
    }
}

/// Tests of libraries that say nothing of a configuration.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Untested {
    /// Those that are not run.
    pub tests: TestsOfLibraries,
    /// The parts of libraries that are replaced: `files.404.http`.
    pub replaced: Vec<String>,
    /// Those that are run without their requests: what a HAProxy answers is a matter of all lines.
    pub unasked: TestsOfLibraries,
    /// The snippets of the configuration's own, which may print any line: `templateSnippets.frontend-35-robots`.
    pub added: Vec<String>,
}

impl fmt::Display for Untested {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { tests, unasked, .. } = self;
        let mut sentences = Vec::new();
        if !tests.is_empty() {
            let are = if tests.total() == 1 { "is" } else { "are" };
            let replaced = self.replaced.join(", ");
            sentences.push(format!("{tests} {are} not run, because the configuration replaces {replaced}"));
        }
        if !unasked.is_empty() {
            let parts: Vec<&str> = self.replaced.iter().chain(&self.added).map(String::as_str).collect();
            let mut named = parts.iter().take(SHOWN).copied().collect::<Vec<_>>().join(", ");
            if parts.len() > SHOWN {
                named.push_str(&format!(" and {} more", parts.len() - SHOWN));
            }
            sentences.push(format!("the requests of {unasked} are not sent, because the configuration has lines of its own: {named}"));
        }
        f.write_str(&sentences.join("; "))
    }
}

/// Takes out of the `tests` of libraries, each of one in `origins`, what has no meaning for a configuration that replaces and
/// adds such parts.
pub(super) fn leave_meaningful(
    tests: &mut Map<String, Value>,
    origins: &BTreeMap<String, &'static str>,
    replaced: Vec<String>,
    added: Vec<String>,
) -> Option<Untested> {
    if replaced.is_empty() && added.is_empty() {
        return None;
    }
    let library = |name: &String| origins.get(name).copied();
    let mut gone = Vec::new();
    tests.retain(|name, test| {
        let about = replaced.iter().any(|part| is_about(test, part));
        gone.extend(library(name).filter(|_| about));
        !about
    });
    let mut unasked = Vec::new();
    for (name, test) in tests.iter_mut() {
        let requests = test.as_object_mut().and_then(|test| test.remove("requests"));
        unasked.extend(library(name).filter(|_| requests.is_some()));
    }
    tests.retain(|_, test| test.get("assertions").is_some());
    let untested = Untested {
        tests: gone.into_iter().collect(),
        replaced,
        unasked: unasked.into_iter().collect(),
        added,
    };
    (!untested.tests.is_empty() || !untested.unasked.is_empty()).then_some(untested)
}

/// Whether a test may say something of that part. What a file holds is seen by those that look at it; of another part that may be all.
fn is_about(test: &Value, part: &str) -> bool {
    let targets = test.get("assertions").and_then(Value::as_array).into_iter().flatten();
    let mut targets = targets.filter_map(|assertion| assertion.get("target")?.as_str());
    !part.starts_with("files.") || targets.any(|target| target == part)
}
