//! The Helm chart as helm renders it, without a cluster. Journeys `chart_…` install and run it.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]

mod agreement;
mod dataplaneapi;
mod image;
mod matrix;
mod values;

use integration_tests::{Outcome, chart::Release};
use serde_json::{Value, json};

/// A password is made anew at each rendering; a Secret of the user's keeps the output the same.
fn steady() -> Value {
    json!({ "credentials": { "existingSecret": "given" } })
}

/// What helm makes of `values`.
async fn render(values: &Value) -> Outcome<Vec<Value>> {
    let dir = tempfile::tempdir()?;
    Release::rendered("haptic", "edge", dir.path()).render(values).await
}
