//! Requests to servers: their headers, their protocol, and how long they may take.

use super::{nginx_text::with_variables, passwords::own_secret};
use crate::{
    families::{ReadAnnotations, Translation},
    options::value::OptionValue,
};
use std::collections::BTreeSet;

/// Of a request without `proxy-body-size`.
const BODY: &str = "1048576";

/// Seconds that a server may say nothing without `proxy-read-timeout`.
const SILENCE: u64 = 60;

/// How often a server is asked without `proxy-next-upstream-tries`.
const TRIES: i64 = 3;
/// How often ours sends a request again at the most.
const MOST_AGAIN: i64 = 10;

/// `proxy-body-size`, `proxy-connect-timeout`, `proxy-read-timeout`, `proxy-send-timeout`, with nginx's own defaults.
pub fn bodies_and_times(said: &ReadAnnotations<'_>, to: &mut Translation<'_>) {
    let most = said.text("proxy-body-size").unwrap_or(BODY);
    if most != "0" {
        to.set("max-body-size", most, "proxy-body-size");
    }
    to.set(
        "timeout-connect",
        time(said.text("proxy-connect-timeout").unwrap_or("5s")),
        "proxy-connect-timeout",
    );
    let seconds = |key: &str| said.text(key)?.trim_end_matches('s').parse::<u64>().ok();
    let silence = match (seconds("proxy-read-timeout"), seconds("proxy-send-timeout")) {
        (Some(read), Some(send)) => read.max(send),
        (Some(read), None) => read,
        (None, send) => send.unwrap_or_default().max(SILENCE),
    };
    let silence = format!("{silence}s");
    for option in ["timeout-server", "timeout-tunnel"] {
        to.set(option, time(&silence), "proxy-read-timeout");
    }
}

/// The time that ours can have: none without a value, and none beyond a day.
fn time(text: &str) -> &str {
    let seconds: u64 = text.trim_end_matches('s').parse().unwrap_or(u64::MAX);
    match seconds {
        0 => "1s",
        1..=86_400 => text,
        _ => "24h",
    }
}

/// `ssl-passthrough`: without the argument of its controller that switches it on it has no effect there, either.
pub fn passthrough(said: &ReadAnnotations<'_>, to: &mut Translation<'_>) {
    if !said.is_on("ssl-passthrough") {
        return;
    }
    if to.may_pass_tls() {
        to.set("ssl-passthrough", "true", "ssl-passthrough");
    } else {
        to.cannot(
            "ssl-passthrough",
            "it is switched off for all, as by the setting passthrough; TLS ends here",
        );
    }
}

/// `proxy-next-upstream`, `proxy-next-upstream-tries`, `retry-non-idempotent` of the ConfigMap.
pub fn tries(said: &ReadAnnotations<'_>, to: &mut Translation<'_>) {
    let words: Vec<&str> =
        said.text("proxy-next-upstream").unwrap_or("error timeout").split_whitespace().collect();
    if words.iter().any(|word| word.starts_with("http_")) {
        to.differs("proxy-next-upstream", "has statuses: answers with these are not tried again");
    }
    let failures = failures(&words);
    if words.contains(&"off") || failures.is_empty() {
        return to.set("retries", "0", "proxy-next-upstream");
    }
    let is_all = words.contains(&"non_idempotent") || said.is_on("retry-non-idempotent");
    to.set("retry", if is_all { "all" } else { "idempotent" }, "proxy-next-upstream");
    to.set("retry-on", &failures.join(","), "proxy-next-upstream");
    // There the first try counts, too.
    let tries = said.number("proxy-next-upstream-tries").unwrap_or(TRIES);
    let wanted = tries.saturating_sub(1);
    let again = if tries <= 0 { MOST_AGAIN } else { wanted.min(MOST_AGAIN) };
    if again != wanted {
        let how = format!("is {tries}: a server is asked up to {} times", MOST_AGAIN + 1);
        to.differs("proxy-next-upstream-tries", &how);
    }
    to.set("retries", &again.to_string(), "proxy-next-upstream-tries");
}

/// After which failures a request is sent again, by the words of `proxy-next-upstream`.
fn failures(words: &[&str]) -> Vec<&'static str> {
    let of = |word: &&str| -> &'static [&'static str] {
        match *word {
            "error" => &["conn-failure", "empty-response"],
            "timeout" => &["conn-failure", "response-timeout"],
            "invalid_header" => &["junk-response"],
            _ => &[],
        }
    };
    let all: BTreeSet<&'static str> = words.iter().flat_map(of).copied().collect();
    all.into_iter().collect()
}

/// `backend-protocol`, `upstream-vhost`, `service-upstream`, `enable-access-log`.
pub fn protocol(said: &ReadAnnotations<'_>, to: &mut Translation<'_>) {
    match said.text("backend-protocol") {
        Some("https") => to.set("protocol", "https", "backend-protocol"),
        Some("grpc") => to.set("protocol", "h2", "backend-protocol"),
        Some("grpcs") => to.set("protocol", "h2s", "backend-protocol"),
        Some("fcgi") => to.cannot("backend-protocol", "FastCGI is not spoken to servers, they are sent HTTP"),
        Some("auto_http") => to.differs("backend-protocol", "is AUTO_HTTP: servers are sent HTTP"),
        _ => {}
    }
    if let Some(host) = said.text("upstream-vhost") {
        host_of_servers(host, to);
    }
    if said.is_on("service-upstream") {
        to.set("connect-to", "service", "service-upstream");
    }
    to.set("connect-error-status", "502", "proxy-connect-timeout");
    let is_silent = said.is_on("disable-access-log") || said.is_on("disable-http-access-log");
    if !said.switch("enable-access-log").unwrap_or(!is_silent) {
        to.set("access-log", "false", "enable-access-log");
    }
}

/// `upstream-vhost`, whose variables are as well known as those of headers.
fn host_of_servers(text: &str, to: &mut Translation<'_>) {
    const KEY: &str = "upstream-vhost";
    const VARIABLES: [&str; 2] = ["${host}", "${service}"];
    let of_request = ["$host", "${host}", "$http_host", "${http_host}"];
    if of_request.contains(&text) {
        return;
    }
    let about = to.about();
    let known = with_variables(text, |name| match name {
        "host" => Some("${host}".to_owned()),
        "service_name" => Some("${service}".to_owned()),
        "namespace" => Some(about.namespace.to_owned()),
        "ingress_name" => Some(about.name.to_owned()),
        _ => None,
    });
    let Some(host) = known.map(|host| host.to_ascii_lowercase()) else {
        return to.ignore(KEY, "has variables that are not known here");
    };
    if to.is_value("host-rewrite", &host) {
        return to.set("host-rewrite", &host, KEY);
    }
    let plain = VARIABLES.iter().fold(host.clone(), |text, variable| text.replace(variable, ""));
    match plain.chars().all(|c| c.is_ascii_alphanumeric() || ".-_:".contains(c)) {
        true => to.add("request-headers", &format!("Host: {host}"), KEY),
        false => to.ignore(KEY, "has characters that no host has"),
    }
}

/// `hide-headers`: what of answers is never told, besides `Server` unless `allow-backend-server-header` is on.
pub fn hidden(said: &ReadAnnotations<'_>, to: &mut Translation<'_>) {
    let mut names = Vec::new();
    if !said.is_on("allow-backend-server-header") {
        names.push("Server".to_owned());
    }
    if let Some(OptionValue::Names(already)) = to.value("remove-response-headers") {
        names.extend(already.iter().cloned());
    }
    let more = said.text("hide-headers").unwrap_or_default().split(',').map(str::trim);
    names.extend(more.filter(|name| !name.is_empty()).map(str::to_owned));
    if !names.is_empty() {
        to.set("remove-response-headers", &names.join(","), "hide-headers");
    }
}

/// `proxy-ssl-*`: only where servers are asked over TLS.
pub fn over_tls(said: &ReadAnnotations<'_>, to: &mut Translation<'_>) {
    let is_tls = matches!(said.text("backend-protocol"), Some("https" | "grpcs"));
    let Some(secret) = said.text("proxy-ssl-secret") else {
        if is_tls && said.is_on("proxy-ssl-verify") {
            to.close(
                "proxy-ssl-verify",
                "is on without proxy-ssl-secret, by which servers would be verified",
            );
        }
        name(said, to, is_tls);
        return;
    };
    let Some(secret) = own_secret("proxy-ssl-secret", secret, to) else { return };
    if !is_tls {
        return;
    }
    if said.is_on("proxy-ssl-verify") {
        to.set("server-ca-secret", secret, "proxy-ssl-secret");
    }
    to.set("server-certificate-secret", secret, "proxy-ssl-secret");
    // It may have nothing but the CA.
    to.set("server-certificate", "if-any", "proxy-ssl-secret");
    name(said, to, is_tls);
}

fn name(said: &ReadAnnotations<'_>, to: &mut Translation<'_>, is_tls: bool) {
    // Who is verified is verified by the name.
    let is_nameless = said.switch("proxy-ssl-server-name") == Some(false);
    if is_tls && is_nameless && !to.has("server-ca-secret") {
        return to.set("server-tls-name", "$none", "proxy-ssl-server-name");
    }
    if let Some(name) = said.text("proxy-ssl-name").filter(|_| is_tls) {
        match name {
            "$host" | "$http_host" => to.set("server-tls-name", "$host", "proxy-ssl-name"),
            name => to.set("server-tls-name", &name.to_ascii_lowercase(), "proxy-ssl-name"),
        }
    }
}
