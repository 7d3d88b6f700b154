//! Canaries: Ingresses that say nothing but which requests of another one's go to their Services.

use crate::{
    families::{Said, Translation},
    options::value::OptionValue,
};

/// `canary`, `canary-*`. Without `canary` the others have no effect.
pub fn canary(said: &Said<'_>, to: &mut Translation<'_>) {
    if !said.is_on("canary") {
        return;
    }
    let before = std::mem::take(&mut to.values);
    if let Some(header) = said.text("canary-by-header") {
        to.set("canary-header", header, "canary-by-header");
        if let Some(value) = said.text("canary-by-header-value") {
            to.set("canary-header-value", value, "canary-by-header-value");
        } else if let Some(pattern) = said.text("canary-by-header-pattern") {
            to.set("canary-header-pattern", pattern, "canary-by-header-pattern");
        }
    }
    if let Some(cookie) = said.text("canary-by-cookie") {
        to.set("canary-cookie", cookie, "canary-by-cookie");
    }
    let total = said.number("canary-weight-total").unwrap_or(100).max(100);
    let weight = said.number("canary-weight").unwrap_or(0).clamp(0, total);
    // Of a few requests none is not the same.
    let percent = match weight {
        0 => 0,
        weight => (weight.saturating_mul(100).saturating_add(total / 2) / total).clamp(1, 100),
    };
    to.set_value("canary-weight", OptionValue::Number(percent.unsigned_abs()));
    let is_legacy = said.text("affinity-canary-behavior") == Some("legacy");
    to.set("canary-sticky", if is_legacy { "false" } else { "all" }, "affinity-canary-behavior");
    to.canary = Some(std::mem::replace(&mut to.values, before));
}
