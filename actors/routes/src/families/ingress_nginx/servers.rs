//! What servers are sent, how, and how long it may take.

use super::passwords::own_secret;
use crate::{
    families::{Said, Translation},
    options::value::OptionValue,
};

/// Of a request without `proxy-body-size`.
const BODY: &str = "1048576";

/// `proxy-body-size`, `proxy-connect-timeout`, `proxy-read-timeout`, `proxy-send-timeout`, with nginx's own defaults.
pub fn bodies_and_times(said: &Said<'_>, to: &mut Translation<'_>) {
    let most = said.text("proxy-body-size").unwrap_or(BODY);
    if most != "0" {
        to.set("max-body-size", most, "proxy-body-size");
    }
    to.set(
        "timeout-connect",
        time(said.text("proxy-connect-timeout").unwrap_or("5s")),
        "proxy-connect-timeout",
    );
    let seconds = |key: &str| -> u64 {
        let text = said.text(key).unwrap_or("60s");
        text.trim_end_matches('s').parse().unwrap_or(60)
    };
    let silence = format!("{}s", seconds("proxy-read-timeout").max(seconds("proxy-send-timeout")));
    for option in ["timeout-server", "timeout-tunnel"] {
        to.set(option, time(&silence), "proxy-read-timeout");
    }
}

/// What ours can have: no time that is none, and none beyond a day.
fn time(text: &str) -> &str {
    let seconds: u64 = text.trim_end_matches('s').parse().unwrap_or(u64::MAX);
    match seconds {
        0 => "1s",
        1..=86_400 => text,
        _ => "24h",
    }
}

/// `ssl-passthrough`: without the argument of its controller that switches it on it has no effect there, either.
pub fn passthrough(said: &Said<'_>, to: &mut Translation<'_>) {
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
pub fn tries(said: &Said<'_>, to: &mut Translation<'_>) {
    let words: Vec<&str> =
        said.text("proxy-next-upstream").unwrap_or("error timeout").split_whitespace().collect();
    if words.contains(&"off") {
        to.set("retries", "0", "proxy-next-upstream");
        return;
    }
    let is_all = words.contains(&"non_idempotent") || said.is_on("retry-non-idempotent");
    let which = if is_all { "all" } else { "idempotent" };
    if ["error", "timeout", "invalid_header", "non_idempotent"].iter().any(|word| words.contains(word)) {
        to.set("retry", which, "proxy-next-upstream");
    }
    if words.iter().any(|word| word.starts_with("http_")) {
        to.differs("proxy-next-upstream", "has statuses: answers with these are not tried again");
    }
    if let Some(tries) = said.number("proxy-next-upstream-tries").filter(|tries| *tries != 3) {
        let again = if tries <= 0 { 10 } else { (tries - 1).min(10) };
        to.set("retries", &again.to_string(), "proxy-next-upstream-tries");
    }
}

/// `backend-protocol`, `upstream-vhost`, `service-upstream`, `enable-access-log`.
pub fn protocol(said: &Said<'_>, to: &mut Translation<'_>) {
    match said.text("backend-protocol") {
        Some("https") => to.set("protocol", "https", "backend-protocol"),
        Some("grpc") => to.set("protocol", "h2", "backend-protocol"),
        Some("grpcs") => to.set("protocol", "h2s", "backend-protocol"),
        Some("fcgi") => to.cannot("backend-protocol", "FastCGI is not spoken to servers, they are sent HTTP"),
        Some("auto_http") => to.differs("backend-protocol", "is AUTO_HTTP: servers are sent HTTP"),
        _ => {}
    }
    match said.text("upstream-vhost") {
        None | Some("$host" | "$http_host") => {}
        Some(host) if host.contains('$') => to.ignore("upstream-vhost", "has variables"),
        Some(host) => to.set("host-rewrite", &host.to_ascii_lowercase(), "upstream-vhost"),
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

/// `hide-headers`: what of answers is never told, besides `Server` unless `allow-backend-server-header` is on.
pub fn hidden(said: &Said<'_>, to: &mut Translation<'_>) {
    let mut names = Vec::new();
    if !said.is_on("allow-backend-server-header") {
        names.push("Server".to_owned());
    }
    if let Some(OptionValue::Names(already)) = to.values.get("remove-response-headers") {
        names.extend(already.iter().cloned());
    }
    let more = said.text("hide-headers").unwrap_or_default().split(',').map(str::trim);
    names.extend(more.filter(|name| !name.is_empty()).map(str::to_owned));
    if !names.is_empty() {
        to.set("remove-response-headers", &names.join(","), "hide-headers");
    }
}

/// `proxy-ssl-*`: only where servers are asked over TLS.
pub fn over_tls(said: &Said<'_>, to: &mut Translation<'_>) {
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
        // It may have nothing but the CA.
        to.set("server-certificate", "optional", "proxy-ssl-secret");
    }
    to.set("server-certificate-secret", secret, "proxy-ssl-secret");
    name(said, to, is_tls);
}

fn name(said: &Said<'_>, to: &mut Translation<'_>, is_tls: bool) {
    // Who is verified is verified by the name.
    let is_nameless = said.switch("proxy-ssl-server-name") == Some(false);
    if is_tls && is_nameless && !to.values.contains_key("server-ca-secret") {
        return to.set("server-tls-name", "$none", "proxy-ssl-server-name");
    }
    if let Some(name) = said.text("proxy-ssl-name").filter(|_| is_tls) {
        match name {
            "$host" | "$http_host" => to.set("server-tls-name", "$host", "proxy-ssl-name"),
            name => to.set("server-tls-name", &name.to_ascii_lowercase(), "proxy-ssl-name"),
        }
    }
}
