//! Canaries: Ingresses that say nothing but which requests of another one's go to their Services.

use crate::{
    families::{ReadAnnotations, Translation},
    options::value::OptionValue,
};

/// `canary`, `canary-*`. Without `canary` the others have no effect.
pub fn canary(said: &ReadAnnotations<'_>, to: &mut Translation<'_>) {
    if !said.is_on("canary") {
        return;
    }
    let before = std::mem::take(&mut to.level.written.values);
    if let Some(header) = said.text("canary-by-header") {
        to.set("canary-header", header, "canary-by-header");
        let more = [
            ("canary-by-header-value", "canary-header-value"),
            ("canary-by-header-pattern", "canary-header-pattern"),
        ];
        let given = more.into_iter().find(|(key, _)| said.has(key));
        if let Some((key, option)) = given.filter(|_| to.has("canary-header")) {
            to.set(option, said.text(key).unwrap_or_default(), key);
            // Beside it `always` and `never` mean nothing: the header alone would lead others to the canary.
            if !to.has(option) {
                to.remove("canary-header");
            }
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
    to.ingress.canary = Some(std::mem::replace(&mut to.level.written.values, before));
}
