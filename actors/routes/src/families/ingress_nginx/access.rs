//! Who is asked whether a request may pass, and how many may.

use crate::{
    families::{Said, Translation},
    options::table::REFUSALS,
};

/// `auth-url`, `auth-method`, `auth-signin`. What cannot be asked lets nobody in.
pub fn asked(said: &Said<'_>, to: &mut Translation<'_>) {
    // Of all Ingresses that have none of their own, unless they say no.
    let is_global = !said.has("auth-url") && said.switch("enable-global-auth").unwrap_or(true);
    for key in ["global-auth-url", "global-auth-method", "global-auth-response-headers"] {
        if let Some(why) = said.wrong_in_config(key).filter(|_| is_global) {
            return to.closed_by_config(key, why);
        }
    }
    let text = |key: &str| if is_global { said.text(&format!("global-{key}")) } else { said.text(key) };
    let Some(url) = text("auth-url") else {
        to.values.remove("auth-response-headers");
        to.values.remove("auth-signin-redirect-param");
        return;
    };
    for option in ["auth-response-headers", "auth-signin-redirect-param"].into_iter().filter(|_| is_global) {
        to.values.remove(option);
        if let Some(text) = text(option) {
            to.set(option, text, "global-auth-url");
        }
    }
    let is_url = url.contains("://") && !url.contains("..");
    if !is_url {
        return to.close("auth-url", "is no URL");
    }
    to.set("auth-url", &crate::auth::without_scheme(url), "auth-url");
    if !to.values.contains_key("auth-url") {
        return;
    }
    to.set("auth-error-status", "500", "auth-url");
    // As long as nginx waits for it, as far as ours does.
    to.set("auth-timeout", "10s", "auth-url");
    if let Some(method) = text("auth-method") {
        to.set("auth-method", method, "auth-method");
    }
    if let Some(page) = text("auth-signin") {
        to.set("auth-signin", page, "auth-signin");
    }
    if !to.values.contains_key("auth-signin") {
        to.values.remove("auth-signin-redirect-param");
    }
}

/// `block-cidrs` of the ConfigMap: kept out besides those that the Ingress keeps out.
pub fn blocked(said: &Said<'_>, to: &mut Translation<'_>) {
    if let Some(why) = said.wrong_in_config("block-cidrs") {
        return to.closed_by_config("block-cidrs", why);
    }
    let Some(blocked) = said.text("block-cidrs") else { return };
    let own = said.text("denylist-source-range").map(|own| format!("{own},")).unwrap_or_default();
    to.set("deny-from", &format!("{own}{blocked}"), "block-cidrs");
    to.block(blocked);
}

/// The status of refusals that the ConfigMap says, as far as HAProxy can have it; 503 without it.
fn refusal(said: &Said<'_>, key: &str, known: &[&str], to: &mut Translation<'_>) -> String {
    let Some(status) = said.number(key).filter(|status| (400..=599).contains(status)) else {
        return "503".to_owned();
    };
    let status = status.to_string();
    if known.contains(&&*status) {
        return status;
    }
    to.differs(key, &format!("is {status}: it is 503"));
    "503".to_owned()
}

/// `limit-*`.
pub fn limits(said: &Said<'_>, to: &mut Translation<'_>) {
    let given = |key: &str| said.number(key).filter(|limit| *limit > 0);
    let (second, minute) = (given("limit-rps"), given("limit-rpm"));
    let rate = match (second, minute) {
        (Some(second), Some(minute)) if minute >= second.saturating_mul(60) => {
            Some((second, "second", "limit-rps"))
        }
        (Some(second), None) => Some((second, "second", "limit-rps")),
        (_, Some(minute)) => Some((minute, "minute", "limit-rpm")),
        (None, None) => None,
    };
    if let Some((limit, period, key)) = rate {
        to.set("rate-limit", &limit.to_string(), key);
        to.set("rate-limit-period", period, key);
        let status = refusal(said, "limit-req-status-code", REFUSALS, to);
        to.set("rate-limit-status", &status, key);
        let times = said.number("limit-burst-multiplier").filter(|times| *times > 0).unwrap_or(5).min(100);
        to.set("rate-limit-burst", &limit.saturating_mul(times).to_string(), key);
        if let Some(networks) = said.text("limit-allowlist") {
            to.set("rate-limit-exempt", networks, "limit-allowlist");
        }
    }
    if let Some(most) = given("limit-connections") {
        to.set("concurrency-limit", &most.to_string(), "limit-connections");
        let status = refusal(said, "limit-conn-status-code", &["429", "503"], to);
        to.set("concurrency-limit-status", &status, "limit-connections");
    }
    if let Some(kilobytes) = given("limit-rate") {
        to.set("bandwidth", &format!("{kilobytes}k"), "limit-rate");
    }
}
