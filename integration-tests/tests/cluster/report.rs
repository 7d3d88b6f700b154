//! What each story showed: a table for people, `report.json` for programs.

use crate::traffic::Tally;
use serde::Serialize;
use std::{
    collections::BTreeMap,
    path::Path,
    time::{Duration, Instant},
};

/// A time that matters.
#[derive(Clone, Debug, Serialize)]
pub struct Measure {
    /// From what to what.
    pub what: &'static str,
    /// So many milliseconds.
    pub ms: u64,
    /// More is a failure.
    pub at_most_ms: Option<u64>,
}

/// The time since `began`.
pub fn measured(what: &'static str, began: Instant) -> Measure {
    Measure::new(what, began.elapsed())
}

impl Measure {
    /// A time.
    pub fn new(what: &'static str, took: Duration) -> Self {
        Self { what, ms: took.as_millis().try_into().unwrap_or(u64::MAX), at_most_ms: None }
    }

    /// With a bound.
    pub fn at_most(self, bound: Duration) -> Self {
        Self { at_most_ms: bound.as_millis().try_into().ok(), ..self }
    }

    fn is_too_long(&self) -> bool {
        self.at_most_ms.is_some_and(|bound| self.ms > bound)
    }
}

/// How a story went.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Result {
    /// It ended well.
    Passed,
    /// It did not.
    Failed,
    /// It cannot be told on this machine.
    Skipped,
}

/// A story that was told.
#[derive(Clone, Debug, Serialize)]
pub struct Told {
    /// Its name.
    pub name: &'static str,
    /// How it went.
    pub result: Result,
    /// Why it failed or was skipped.
    pub why: Vec<String>,
    /// Of the whole.
    pub seconds: f64,
    /// What traffic noticed.
    #[serde(flatten)]
    pub tally: Tally,
    /// The times that matter.
    pub measures: Vec<Measure>,
}

impl Told {
    /// Judges what was seen by its bounds: requests may be lost for `may_lose` milliseconds, from the first to the last.
    pub fn judge(&mut self, may_lose: Duration) {
        let lost = &self.tally.lost;
        let times = || lost.iter().map(|lost| lost.at_ms);
        if let (Some(first), Some(last)) = (times().min(), times().max()) {
            let lasted = Duration::from_millis(last - first);
            if may_lose.is_zero() || lasted > may_lose {
                let mut kinds: BTreeMap<&str, usize> = BTreeMap::new();
                lost.iter().for_each(|lost| *kinds.entry(&lost.why).or_default() += 1);
                self.why.push(format!(
                    "{} requests were lost, {first} to {last} ms after it began: {kinds:?}",
                    lost.len(),
                ));
            }
        }
        let late = self.measures.iter().filter(|measure| measure.is_too_long());
        self.why.extend(late.map(|measure| {
            let bound = measure.at_most_ms.unwrap_or_default();
            format!("{} took {} ms, more than {bound}", measure.what, measure.ms)
        }));
        if !self.why.is_empty() && self.result == Result::Passed {
            self.result = Result::Failed;
        }
    }

    /// One row of the table.
    pub fn row(&self) -> String {
        let result = match self.result {
            Result::Passed => "passed",
            Result::Failed => "FAILED",
            Result::Skipped => "skipped",
        };
        let times: Vec<String> =
            self.measures.iter().map(|m| format!("{} {:.1} s", m.what, m.ms as f64 / 1000.0)).collect();
        let mut row = format!(
            "| {:<28} | {result:<7} | {:>8} | {:>4} | {}",
            self.name,
            self.tally.requests,
            self.tally.lost.len(),
            times.join(", ")
        );
        row.extend(self.why.iter().map(|why| format!("\n    {why}")));
        row
    }
}

/// The head of the table.
pub const HEAD: &str = "| story                        | result  | requests | lost | times that matter";

/// Writes all of it for programs.
pub fn write(told: &[Told], file: &Path) -> std::io::Result<()> {
    std::fs::write(file, serde_json::to_vec_pretty(told)?)
}
