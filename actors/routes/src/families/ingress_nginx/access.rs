//! Access: who is asked whether a request may pass, and how many may.

use super::{
    snippets::named_headers,
    values::{LIST, NAMES, URL},
};
use crate::{
    families::{
        ReadAnnotations, Translation,
        values::{GO_SWITCH, ValueReader},
    },
    options::{auth_url::without_scheme, header::plain, quantity::milliseconds, row::REFUSALS},
    sentences::shortened,
};
use std::collections::BTreeSet;

/// How long ours keeps an answer at the most, in milliseconds.
const LONGEST_KEPT: u64 = 600_000;

/// The most requests that ours lets in at once, in multiples of a period's.
const MOST_BURST: i64 = 100;

/// HAProxy counts bytes in 32 bits.
const MOST_KILOBYTES: i64 = 4_194_303;

/// The keys that are read only beside `auth-url`, and how.
const BESIDE_URL: [(&str, ValueReader); 4] = [
    ("auth-always-set-cookie", GO_SWITCH),
    ("auth-cache-duration", LIST),
    ("auth-request-redirect", URL),
    ("auth-response-headers", NAMES),
];

/// Whether all of it can be read. Where there everybody gets in for that, here nobody does.
fn are_readable(said: &ReadAnnotations<'_>, to: &mut Translation<'_>) -> bool {
    for (key, reader) in BESIDE_URL {
        let text = said.text(key).or_else(|| said.is_silent(key).then_some(""));
        // Without a value nothing but a switch is wrong there.
        let text = text.filter(|text| !text.is_empty() || key == "auth-always-set-cookie");
        if let Some(text) = text.filter(|text| (reader.read)(text).is_none()) {
            let text = serde_json::Value::from(shortened(text));
            to.close(key, &format!("is {text}, it must be {}", reader.expected));
            return false;
        }
    }
    true
}

/// `auth-url`, `auth-method`, `auth-signin`. What cannot be asked lets nobody in.
pub fn asked(said: &ReadAnnotations<'_>, to: &mut Translation<'_>) {
    // Of all Ingresses that have none of their own, unless they say no.
    let is_global = !said.has("auth-url") && said.switch("enable-global-auth").unwrap_or(true);
    for key in ["global-auth-url", "global-auth-method", "global-auth-response-headers"] {
        if let Some(why) = said.wrong_in_config(key).filter(|_| is_global) {
            return to.closed_by_config(key, why);
        }
    }
    let text = |key: &str| if is_global { said.text(&format!("global-{key}")) } else { said.text(key) };
    let Some(url) = text("auth-url") else {
        to.remove("auth-signin-redirect-param");
        return;
    };
    if !is_global && !are_readable(said, to) {
        return;
    }
    if is_global {
        to.remove("auth-signin-redirect-param");
        if let Some(text) = text("auth-signin-redirect-param") {
            to.set("auth-signin-redirect-param", text, "global-auth-url");
        }
    }
    let names = text("auth-response-headers").unwrap_or_default().split(',').map(str::trim);
    let names: Vec<&str> = names.filter(|name| !name.is_empty()).collect();
    if !names.is_empty() {
        let key = if is_global { "global-auth-response-headers" } else { "auth-response-headers" };
        to.set("auth-response-headers", &names.join(","), key);
    }
    let is_url = url.contains("://") && !url.contains("..");
    if !is_url {
        return to.close("auth-url", "is no URL");
    }
    to.set("auth-url", &without_scheme(url), "auth-url");
    if !to.has("auth-url") {
        return;
    }
    to.set("auth-error-status", "500", "auth-url");
    // As long as nginx waits for it, as far as ours does.
    to.set("auth-timeout", "10s", "auth-url");
    if let Some(method) = text("auth-method") {
        to.set("auth-method", method, "auth-method");
    }
    if said.has("auth-request-redirect") {
        to.differs("auth-request-redirect", "is not sent: X-Auth-Request-Redirect is the URI of the request");
    }
    if let Some(key) = text("auth-cache-key") {
        kept(key, text("auth-cache-duration"), to);
    }
    if let Some(page) = text("auth-signin") {
        to.set("auth-signin", page, "auth-signin");
    }
    if !to.has("auth-signin") {
        to.remove("auth-signin-redirect-param");
    }
    withhold(named_headers(text("auth-snippet").unwrap_or_default()).into_iter(), "auth-snippet", to);
}

/// Withholds headers that would tell the service that is asked something: clients do not send them in its place.
pub fn withhold(names: impl Iterator<Item = String>, key: &str, to: &mut Translation<'_>) {
    const OPTION: &str = "auth-withheld-headers";
    let names = names.map(|name| plain(&name));
    let names: BTreeSet<String> = names.filter(|name| to.is_value(OPTION, name)).collect();
    if !names.is_empty() {
        to.add(OPTION, &names.into_iter().collect::<Vec<_>>().join(","), key);
    }
}

/// `auth-cache-key`, `auth-cache-duration`: answers that let requests pass count for others like these.
fn kept(key: &str, durations: Option<&str>, to: &mut Translation<'_>) {
    let Some(parts) = alike(key) else {
        return to
            .differs("auth-cache-key", "has what is not known of requests here: every request is asked for");
    };
    let durations = durations.unwrap_or("200 202 401 5m");
    if !durations.split(',').all(is_duration) {
        return to.close("auth-cache-duration", "is no list of statuses with a time behind them");
    }
    let Some(time) = time_of_passing(durations).filter(|time| *time > 0) else {
        return to.differs("auth-cache-duration", "has no time for 200: every request is asked for");
    };
    to.set("auth-cache", &format!("{}ms", time.min(LONGEST_KEPT)), "auth-cache-duration");
    to.set("auth-cache-key", &parts, "auth-cache-key");
}

/// The variables of ours, maybe more, that requests have in common where they have those of a text in common.
fn alike(key: &str) -> Option<String> {
    let mut parts = BTreeSet::new();
    for behind in key.split('$').skip(1) {
        let behind = behind.trim_start_matches('{');
        let end = behind.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(behind.len());
        let (name, _) = behind.split_at(end);
        parts.insert(match name {
            "host" | "http_host" => "host",
            "remote_addr" | "binary_remote_addr" | "the_real_ip" => "address",
            "request_uri" | "uri" => "path",
            "request_method" => "method",
            "remote_user" => "headers",
            _ if name.starts_with("arg_") => "path",
            _ if name.starts_with("http_") || name.starts_with("cookie_") => "headers",
            _ => return None,
        });
    }
    // What is the same for everybody lets nobody pass.
    (!parts.is_empty()).then(|| parts.into_iter().collect::<Vec<_>>().join(", "))
}

/// Whether an entry is statuses, or none, and a time.
fn is_duration(entry: &str) -> bool {
    let words: Vec<&str> = entry.split_whitespace().collect();
    let Some((time, codes)) = words.split_last() else { return false };
    let is_status =
        |code: &&str| *code == "any" || code.parse().is_ok_and(|code: u16| (100..=599).contains(&code));
    let unit = time.trim_start_matches(|c: char| c.is_ascii_digit());
    let is_time = unit.len() < time.len() && ["", "ms", "s", "m", "h", "d", "w", "M", "y"].contains(&unit);
    codes.iter().all(is_status) && is_time
}

/// Of `200 202 10m, 401 1m` the time for 200, in milliseconds.
fn time_of_passing(durations: &str) -> Option<u64> {
    durations.split(',').find_map(|entry| {
        let words: Vec<&str> = entry.split_whitespace().collect();
        let (time, codes) = words.split_last()?;
        let is_of_passing = codes.is_empty() || codes.iter().any(|code| ["200", "any"].contains(code));
        let is_seconds = time.bytes().all(|byte| byte.is_ascii_digit());
        let time = if is_seconds { format!("{time}s") } else { (*time).to_owned() };
        milliseconds(&time).filter(|_| is_of_passing)
    })
}

/// `block-cidrs` of the ConfigMap: kept out besides those that the Ingress keeps out.
pub fn blocked(said: &ReadAnnotations<'_>, to: &mut Translation<'_>) {
    if let Some(why) = said.wrong_in_config("block-cidrs") {
        return to.closed_by_config("block-cidrs", why);
    }
    let Some(blocked) = said.text("block-cidrs") else { return };
    let own = said.text("denylist-source-range").map(|own| format!("{own},")).unwrap_or_default();
    to.set("deny-from", &format!("{own}{blocked}"), "block-cidrs");
    to.block(blocked);
}

/// `use-forwarded-headers`, `enable-real-ip`: whom lists of clients are for. With the PROXY protocol no header says it.
pub fn clients_of_proxies(said: &ReadAnnotations<'_>, to: &mut Translation<'_>) {
    let key = ["use-forwarded-headers", "enable-real-ip"].into_iter().find(|key| said.is_on(key));
    let Some(key) = key.filter(|_| !said.is_on("use-proxy-protocol")) else { return };
    let header = said.text("forwarded-for-header").unwrap_or("X-Forwarded-For");
    if !to.trusts_proxies() {
        let why = "has a header say who clients are, and extraContext.trustedProxies names no proxy that may: set it, or take the key out where clients come directly";
        to.close_lists(key, why);
    } else if !header.trim().eq_ignore_ascii_case("x-forwarded-for") {
        to.close_lists("forwarded-for-header", "is none by which clients are known: that is X-Forwarded-For");
    }
}

/// The status of refusals that the ConfigMap says, as far as HAProxy can have it; 503 without it.
fn refusal(said: &ReadAnnotations<'_>, key: &str, known: &[&str], to: &mut Translation<'_>) -> String {
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
pub fn limits(said: &ReadAnnotations<'_>, to: &mut Translation<'_>) {
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
        let times = said.number("limit-burst-multiplier").filter(|times| *times > 0).unwrap_or(5);
        if times > MOST_BURST {
            to.differs("limit-burst-multiplier", &format!("is {times}: it is {MOST_BURST}"));
        }
        to.set("rate-limit-burst", &limit.saturating_mul(times.min(MOST_BURST)).to_string(), key);
        if let Some(networks) = said.text("limit-allowlist") {
            to.set("rate-limit-exempt", networks, "limit-allowlist");
        }
    }
    if let Some(most) = given("limit-connections") {
        to.set("concurrency-limit", &most.to_string(), "limit-connections");
        if let Some(networks) = said.text("limit-allowlist") {
            to.set("concurrency-limit-exempt", networks, "limit-allowlist");
        }
        let status = refusal(said, "limit-conn-status-code", &["429", "503"], to);
        to.set("concurrency-limit-status", &status, "limit-connections");
    }
    if let Some(kilobytes) = given("limit-rate") {
        to.set("bandwidth", &format!("{}k", kilobytes.min(MOST_KILOBYTES)), "limit-rate");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_alike_by_variables_and_nobody_by_a_text() {
        assert_eq!(alike("$remote_user$http_authorization").as_deref(), Some("headers"));
        assert_eq!(alike("${cookie_a}-$host$request_uri").as_deref(), Some("headers, host, path"));
        for key in ["", "all", "$ssl_client_s_dn", "$host$upstream_addr", "$"] {
            assert_eq!(alike(key), None, "{key}");
        }
    }

    #[test]
    fn an_entry_is_statuses_and_a_time() {
        assert!(["200 202 10m", " any 1d", "5", "401 1M"].into_iter().all(is_duration));
        assert!(!["", "200 soon", "ok 1m", "200 10q", "m"].into_iter().any(is_duration));
    }

    #[test]
    fn the_time_for_200_counts() {
        assert_eq!(time_of_passing("401 1m, 200 202 10m"), Some(600_000));
        assert_eq!(time_of_passing("200 30"), Some(30_000));
        assert_eq!(time_of_passing("401 1m"), None);
    }
}
