//! Says what protects checks on this machine, and what does not: once in the log, as a metric, and for `/debug`.

use haptic_commentator::metrics::table;
use haptic_validate::{Checker, sandbox::PROTECTIONS};
use metrics::gauge;
use serde_json::{Map, Value};

/// Logs what is missing, and sets a gauge for each protection. What it gives back is for `/debug`: `on`, or why not.
#[must_use]
pub fn report(checker: &Checker) -> Value {
    let missing = checker.unprotected_by();
    for missing in &missing {
        tracing::warn!("haproxy -c runs without a protection: {missing}");
    }
    let shown: Map<String, Value> =
        PROTECTIONS
            .into_iter()
            .map(|protection| {
                let why = missing.iter().find(|missing| missing.protection == protection);
                gauge!(table::CHECK_PROTECTION.name, "protection" => protection.name())
                    .set(if why.is_none() { 1.0 } else { 0.0 });
                let state = why.map_or("on", |missing| &*missing.why);
                (protection.name().to_owned(), Value::String(state.to_owned()))
            })
            .collect();
    Value::Object(shown)
}
