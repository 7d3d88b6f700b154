//! Who gets which part of the requests of a path.

use super::matches::whole_value;
use haptic_routes::options::{RouteOptions, value::OptionValue};
use serde_json::{Value, json};

/// The headers by which requests go to the canary, or do not.
pub(super) fn headers(options: &RouteOptions) -> Vec<(Value, bool)> {
    let name = options.text("canary-header").filter(|_| options.text("canary-service").is_some());
    let Some(name) = name else { return Vec::new() };
    let header = |kind: &str, value: &str| json!({"type": kind, "name": name, "value": value});
    if let Some(value) = options.text("canary-header-value") {
        return vec![(header("Exact", value), true)];
    }
    if let Some(OptionValue::Regex { pattern, .. }) = options.values.get("canary-header-pattern") {
        return vec![(header("RegularExpression", &whole_value(pattern)), true)];
    }
    vec![(header("Exact", "always"), true), (header("Exact", "never"), false)]
}

/// References to Services, each with its percentage of requests; the rest is that of `main`.
pub(super) fn shared(main: Value, mut shares: Vec<(Value, u64)>) -> Vec<Value> {
    shares.retain(|(_, weight)| *weight > 0);
    if shares.is_empty() {
        return vec![main];
    }
    let rest = 100_u64.saturating_sub(shares.iter().map(|(_, weight)| weight).sum());
    std::iter::once((main, rest)).chain(shares).map(weighted).collect()
}

fn weighted((mut backend, weight): (Value, u64)) -> Value {
    if let Some(fields) = backend.as_object_mut() {
        fields.insert("weight".to_owned(), json!(weight));
    }
    backend
}
