//! What came of a comparison, Ingress by Ingress. What is kept is bounded however many there are and however much differs.

use super::{AnswerDifference, ComparedIngress, ComparedRequest};
use serde::Serialize;

/// Requests that are shown of one Ingress; of more only their number is known.
const SHOWN_OF_INGRESS: usize = 5;
/// The same of all Ingresses together.
const SHOWN: usize = 20_000;

/// What is known of a comparison.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ComparisonReport {
    /// Of which controller the Ingresses are.
    pub family: String,
    /// Who answered before.
    pub reference: Vec<String>,
    /// Who answers now.
    pub ours: Vec<String>,
    /// How many of which kind.
    pub totals: ComparisonTotals,
    /// Ingresses of which not all is answered the same.
    pub ingresses: Vec<ComparedObject>,
}

/// How many of which kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ComparisonTotals {
    /// All that something was asked for.
    pub ingresses: usize,
    /// Those of which all is answered the same.
    pub same: usize,
    /// Those of which something is answered otherwise.
    pub differs: usize,
    /// All requests.
    pub requests: usize,
    /// Requests that are answered otherwise.
    pub differing: usize,
    /// Requests that one of both gave no answer to.
    pub not_asked: usize,
}

/// An Ingress of which not all is answered the same.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ComparedObject {
    /// Where it is, and what it is called.
    #[serde(flatten)]
    pub ingress: ComparedIngress,
    /// How often something was asked for it.
    pub requests: usize,
    /// How many of these are answered otherwise.
    pub differing: usize,
    /// How many of these got no answer.
    pub not_asked: usize,
    /// The first of both.
    pub shown: Vec<ShownRequest>,
}

/// A request that is not answered the same.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ShownRequest {
    /// What was asked.
    pub request: ComparedRequest,
    /// What is different.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub differences: Vec<AnswerDifference>,
    /// Why there is no answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
}

/// What came of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ComparedOutcome {
    /// Both answer the same.
    Same,
    /// They do not.
    Differs(Vec<AnswerDifference>),
    /// One of both gave no answer.
    NotAsked(String),
}

/// A comparison that goes on. Requests for one Ingress come one after the other.
#[derive(Debug)]
pub struct AnswerComparison {
    report: ComparisonReport,
    current: Option<ComparedObject>,
    shown: usize,
}

impl AnswerComparison {
    /// One in which nothing was asked.
    #[must_use]
    pub fn new(family: &str, reference: Vec<String>, ours: Vec<String>) -> Self {
        let (totals, ingresses) = (ComparisonTotals::default(), Vec::new());
        let report = ComparisonReport { family: family.to_owned(), reference, ours, totals, ingresses };
        Self { report, current: None, shown: 0 }
    }

    /// One more request.
    pub fn add(&mut self, ingress: &ComparedIngress, request: ComparedRequest, outcome: ComparedOutcome) {
        if self.current.as_ref().is_none_or(|current| current.ingress != *ingress) {
            self.finish();
        }
        let current = self.current.get_or_insert_with(|| ComparedObject {
            ingress: ingress.clone(),
            requests: 0,
            differing: 0,
            not_asked: 0,
            shown: Vec::new(),
        });
        current.requests += 1;
        let (differences, failure) = match outcome {
            ComparedOutcome::Same => return,
            ComparedOutcome::Differs(differences) => {
                current.differing += 1;
                (differences, None)
            }
            ComparedOutcome::NotAsked(why) => {
                current.not_asked += 1;
                (Vec::new(), Some(why))
            }
        };
        if current.shown.len() < SHOWN_OF_INGRESS && self.shown < SHOWN {
            self.shown += 1;
            current.shown.push(ShownRequest { request, differences, failure });
        }
    }

    /// How far it is.
    #[must_use]
    pub fn totals(&self) -> ComparisonTotals {
        let mut totals = self.report.totals;
        if let Some(current) = &self.current {
            totals.count(current);
        }
        totals
    }

    /// What came of it.
    #[must_use]
    pub fn done(mut self) -> ComparisonReport {
        self.finish();
        self.report
    }

    fn finish(&mut self) {
        let Some(done) = self.current.take() else { return };
        self.report.totals.count(&done);
        if done.differing + done.not_asked > 0 {
            self.report.ingresses.push(done);
        }
    }
}

impl ComparisonTotals {
    fn count(&mut self, object: &ComparedObject) {
        self.ingresses += 1;
        self.same += usize::from(object.differing + object.not_asked == 0);
        self.differs += usize::from(object.differing > 0);
        self.requests += object.requests;
        self.differing += object.differing;
        self.not_asked += object.not_asked;
    }
}
