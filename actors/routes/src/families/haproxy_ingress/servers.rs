//! How servers are reached.

use crate::{
    families::{
        annotations::ReadAnnotations, balance, health_check, secrets::own_secret, tls,
        translation::Translation,
    },
    sentences::shortened,
};
use std::collections::BTreeSet;

/// How requests are spread.
pub(super) fn balance(said: &ReadAnnotations<'_>, out: &mut Translation<'_>) {
    balance::set(said.text("balance-algorithm").unwrap_or("random(2)"), "balance-algorithm", out);
}

/// Checks, where somebody asks for them; theirs makes a connection every two seconds in any case.
pub(super) fn checks(said: &ReadAnnotations<'_>, out: &mut Translation<'_>) {
    let path = said.text("health-check-uri");
    let others = [
        ("health-check-port", "health-check-port"),
        ("health-check-interval", "health-check-interval"),
        ("health-check-rise-count", "health-check-rise"),
        ("health-check-fall-count", "health-check-fall"),
    ];
    if path.is_none() && !others.iter().any(|(key, _)| said.has(key)) {
        return;
    }
    let is_http = path.is_some_and(|path| health_check::set(path, "health-check-uri", out));
    out.set("health-check", if is_http { "http" } else { "tcp" }, "health-check-uri");
    for (key, option) in others {
        if let Some(text) = said.text(key) {
            out.set(option, text, key);
        }
    }
}

/// Agents beside servers, which say how these do.
pub(super) fn agents(said: &ReadAnnotations<'_>, out: &mut Translation<'_>) {
    let Some(port) = said.text("agent-check-port") else { return };
    out.set("agent-check-port", port, "agent-check-port");
    if let Some(interval) = said.text("agent-check-interval") {
        out.set("agent-check-interval", interval, "agent-check-interval");
    }
}

/// Whether the cluster chooses the server.
pub(super) fn upstream(said: &ReadAnnotations<'_>, out: &mut Translation<'_>) {
    if said.is_on("service-upstream") {
        out.set("connect-to", "service", "service-upstream");
    }
}

/// The protocol that they speak, and who they must be. With an unknown protocol all else of it is ignored, as theirs does.
pub(super) fn protocol(said: &ReadAnnotations<'_>, out: &mut Translation<'_>) {
    let given = said.text("backend-protocol").unwrap_or("h1").to_ascii_lowercase();
    let (h2, tls) = match given.as_str() {
        "h1" | "http" => (false, false),
        "h1-ssl" | "https" => (false, true),
        "h2" | "grpc" => (true, false),
        "h2-ssl" | "grpcs" => (true, true),
        "fcgi" | "fcgi-ssl" => {
            return out.ignore("backend-protocol", "is fcgi, which is not there: HTTP/1.1 is spoken");
        }
        _ => {
            return out.ignore("backend-protocol", "is none of h1, h1-ssl, h2, h2-ssl and their other names");
        }
    };
    let tls = tls || said.is_on("secure-backends");
    let protocol = match (tls, h2) {
        (false, false) => return,
        (false, true) => "h2",
        (true, false) => "https",
        (true, true) => "h2s",
    };
    out.set("protocol", protocol, "backend-protocol");
    if !tls {
        return;
    }
    for (key, option) in
        [("secure-verify-ca-secret", "server-ca-secret"), ("secure-crt-secret", "server-certificate-secret")]
    {
        let Some(text) = said.text(key) else { continue };
        match own_secret(text, out.about().namespace) {
            Some(name) => out.set(option, name, key),
            None => out.close(key, "names no Secret of the same namespace"),
        }
    }
    let name = match (said.text("secure-verify-hostname"), said.text("secure-sni")) {
        (Some(name), sni) => {
            if sni.is_some_and(|sni| sni != name) {
                out.differs("secure-sni", "is what secure-verify-hostname is");
            }
            name
        }
        (None, Some("host" | "sni")) => "$host",
        (None, Some(name)) => name,
        (None, None) => "$none",
    };
    out.set("server-tls-name", &name.to_ascii_lowercase(), "secure-sni");
}

/// The version of the PROXY protocol for servers (`buildBackendProxyProtocol` in `pkg/converters/ingress/annotations/backend.go`).
pub(super) fn proxy_protocol(said: &ReadAnnotations<'_>, out: &mut Translation<'_>) {
    match said.text("proxy-protocol") {
        None | Some("no") => {}
        Some(version @ ("v1" | "v2" | "v2-ssl" | "v2-ssl-cn")) => {
            out.set("proxy-protocol", version, "proxy-protocol");
        }
        Some(_) => out.ignore("proxy-protocol", "is none of no, v1, v2, v2-ssl and v2-ssl-cn"),
    }
}

/// By which cookie a client finds its server again.
pub(super) fn affinity(said: &ReadAnnotations<'_>, out: &mut Translation<'_>) {
    match said.text("affinity") {
        None => return,
        Some("cookie") => {}
        Some(_) => return out.ignore("affinity", "is not cookie"),
    }
    out.set("affinity", "cookie", "affinity");
    let name = said.text("session-cookie-name").filter(|name| {
        let is_good = out.is_value("affinity-cookie-name", name);
        if !is_good {
            out.ignore(
                "session-cookie-name",
                "is no name of a cookie with up to 64 letters, digits, -, _ and .",
            );
        }
        is_good
    });
    out.set("affinity-cookie-name", name.unwrap_or("INGRESSCOOKIE"), "session-cookie-name");
    if let Some(strategy) = said.text("session-cookie-strategy").filter(|strategy| *strategy != "insert") {
        out.differs("session-cookie-strategy", &format!("is {strategy:?}: the cookie is inserted"));
    }
    if let Some(words) = said.text("session-cookie-keywords").filter(|words| !are_ours(words)) {
        out.differs(
            "session-cookie-keywords",
            &format!("is {:?}: the cookie has `indirect nocache httponly`", shortened(words)),
        );
    }
    if said.text("session-cookie-value-strategy") == Some("pod-uid") {
        out.differs("session-cookie-value-strategy", "is pod-uid: the value is made of the server's name");
    }
    out.set("affinity-cookie-same-site", "unset", "session-cookie-name");
    if said.is_on("session-cookie-same-site") {
        out.set("affinity-cookie-same-site", "None", "session-cookie-same-site");
        out.set("affinity-cookie-secure", "true", "session-cookie-same-site");
    }
    if let Some(domain) = said.text("session-cookie-domain") {
        out.set("affinity-cookie-domain", domain.trim_start_matches('.'), "session-cookie-domain");
    }
    for key in ["session-cookie-preserve", "session-cookie-shared"] {
        if said.is_on(key) {
            out.differs(key, "is true, and the cookie is HAProxy's own, for this host alone");
        }
    }
}

/// Whether words of a cookie are those that ours has.
fn are_ours(words: &str) -> bool {
    words.split_whitespace().collect::<BTreeSet<_>>() == BTreeSet::from(["httponly", "indirect", "nocache"])
}

/// The limits of requests that wait for a server; those of HAPTIC are others.
pub(super) fn queue(said: &ReadAnnotations<'_>, out: &mut Translation<'_>) {
    if let Some(most) = said.number("maxconn-server").filter(|most| *most > 0) {
        out.set("max-connections", &most.to_string(), "maxconn-server");
        if let Some(most) = said.number("maxqueue-server").filter(|most| *most > 0) {
            out.set("max-queue", &most.to_string(), "maxqueue-server");
        }
        if !said.has("timeout-queue") {
            out.set("timeout-queue", "5s", "timeout-queue");
        }
    }
}

/// TLS that ends at the servers, and where requests in clear go then.
pub(super) fn passthrough(said: &ReadAnnotations<'_>, out: &mut Translation<'_>) {
    tls::passthrough(said, out);
    if out.has("ssl-passthrough")
        && let Some(port) = said.text("ssl-passthrough-http-port")
    {
        out.set("ssl-passthrough-http-port", port, "ssl-passthrough-http-port");
    }
}
