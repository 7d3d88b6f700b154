//! What came of the tests.

use super::ExcerptLine;
use serde::{Serialize, Serializer};
use std::{collections::BTreeMap, time::Duration};

/// All tests, in the order of their names.
#[derive(Clone, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Report {
    /// How many there are.
    pub total: usize,
    /// How many passed.
    pub passed: usize,
    /// How many did not.
    pub failed: usize,
    /// From the first to the last, in milliseconds.
    #[serde(rename = "durationMs", serialize_with = "milliseconds")]
    pub took: Duration,
    /// Each.
    pub tests: Vec<TestResult>,
}

/// One test.
#[derive(Clone, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TestResult {
    /// Its name in the configuration.
    pub name: String,
    /// What it proves.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// Whether all assertions hold.
    pub passed: bool,
    /// In milliseconds.
    #[serde(rename = "durationMs", serialize_with = "milliseconds")]
    pub took: Duration,
    /// Why it could not run: fixtures that no store can hold.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Whether HAProxy's check did not come to its end: nothing is known of what the test would prove.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub undecided: bool,
    /// Why some of its requests were not sent, where that is no failure: nothing is known of what they would prove.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unsent: Option<String>,
    /// Each assertion and then each request, in the order of the configuration.
    pub assertions: Vec<AssertionResult>,
    /// Content by path, when that was asked for.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub rendered: BTreeMap<String, String>,
}

/// One assertion, or one request.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AssertionResult {
    /// What it says of its target: the name of an assertion, or `request`; `requests` where none of a test's could be sent.
    #[serde(rename = "type")]
    pub kind: &'static str,
    /// What it proves.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// What it looks at.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
    /// Whether it holds.
    pub passed: bool,
    /// Why it does not, in a sentence or a few.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Where, if it is somewhere.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub lines: Vec<ExcerptLine>,
}

impl Report {
    /// The report of these results.
    #[must_use]
    pub fn of(mut tests: Vec<TestResult>, took: Duration) -> Self {
        tests.sort_by(|a, b| a.name.cmp(&b.name));
        let passed = tests.iter().filter(|test| test.passed).count();
        Self { total: tests.len(), passed, failed: tests.len() - passed, took, tests }
    }

    /// Whether no test failed.
    #[must_use]
    pub fn all_passed(&self) -> bool {
        self.failed == 0
    }
}

impl AssertionResult {
    /// What it says, in words: its description, else its type and target.
    #[must_use]
    pub fn title(&self) -> String {
        match (&self.description, &self.target) {
            (Some(description), _) => description.clone(),
            (None, Some(target)) => format!("{} {target}", self.kind),
            (None, None) => self.kind.to_owned(),
        }
    }
}

fn milliseconds<S: Serializer>(took: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_u64(u64::try_from(took.as_millis()).unwrap_or(u64::MAX))
}
