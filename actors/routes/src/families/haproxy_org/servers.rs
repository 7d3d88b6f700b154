//! How servers are reached (`pkg/annotations/service`).

use crate::families::{
    annotations::ReadAnnotations, balance, health_check, secrets::own_secret, translation::Translation,
};

/// How long requests wait where servers take so many at a time: there five seconds, unless the ConfigMap says otherwise.
pub(super) fn queue(said: &ReadAnnotations<'_>, out: &mut Translation<'_>) {
    if said.has("pod-maxconn") && !said.has("timeout-queue") {
        out.set("timeout-queue", "5s", "timeout-queue");
    }
}

/// How requests are spread.
pub(super) fn balance(said: &ReadAnnotations<'_>, out: &mut Translation<'_>) {
    if let Some(text) = said.text("load-balance") {
        balance::set(text, "load-balance", out);
    }
}

/// Checks, where somebody asks for them; theirs makes a connection every two seconds unless somebody says otherwise.
pub(super) fn checks(said: &ReadAnnotations<'_>, out: &mut Translation<'_>) {
    let request = said.text("check-http");
    if said.switch("check") == Some(false)
        || !(said.is_on("check") || request.is_some() || said.has("check-interval"))
    {
        return;
    }
    let is_http = request.is_some_and(|request| health_check::set(request, "check-http", out));
    out.set("health-check", if is_http { "http" } else { "tcp" }, "check");
    for (key, option) in
        [("check-interval", "health-check-interval"), ("timeout-check", "health-check-timeout")]
    {
        if let Some(time) = said.text(key) {
            out.set(option, time, key);
        }
    }
}

/// The protocol that they speak, and who they must be. Theirs are asked for no name.
pub(super) fn protocol(said: &ReadAnnotations<'_>, out: &mut Translation<'_>) {
    let (ca, certificate) = (said.names("server-ca"), said.names("server-crt"));
    let over_tls = said.is_on("server-ssl") || ca || certificate;
    let h2 = match said.text("server-proto") {
        Some("h2") => true,
        None | Some("h1") => false,
        Some(_) => {
            out.ignore("server-proto", "is neither h1 nor h2");
            false
        }
    };
    let protocol = match (over_tls, h2) {
        (true, true) => "h2s",
        (true, false) => "https",
        (false, true) => "h2",
        (false, false) => return,
    };
    out.set("protocol", protocol, "server-proto");
    if over_tls {
        out.set("server-tls-name", "$none", "server-ssl");
    }
    for (key, option) in [("server-ca", "server-ca-secret"), ("server-crt", "server-certificate-secret")] {
        let Some(text) = said.text(key) else { continue };
        match own_secret(text, out.about().namespace) {
            Some(name) => out.set(option, name, key),
            None => out.close(key, "names a Secret of another namespace"),
        }
    }
    if out.has("server-ca-secret") {
        out.set("server-ca-entry", "tls.crt", "server-ca");
    }
}

/// The version of the PROXY protocol for servers.
pub(super) fn proxy_protocol(said: &ReadAnnotations<'_>, out: &mut Translation<'_>) {
    let Some(text) = said.text("send-proxy-protocol") else { return };
    let version = match text {
        "proxy" | "proxy-v1" => "v1",
        "proxy-v2" => "v2",
        "proxy-v2-ssl" => "v2-ssl",
        "proxy-v2-ssl-cn" => "v2-ssl-cn",
        _ => {
            return out.ignore(
                "send-proxy-protocol",
                "is none of proxy, proxy-v1, proxy-v2, proxy-v2-ssl and proxy-v2-ssl-cn",
            );
        }
    };
    out.set("proxy-protocol", version, "send-proxy-protocol");
}

/// By which cookie a client finds its server again.
pub(super) fn affinity(said: &ReadAnnotations<'_>, out: &mut Translation<'_>) {
    let keys = ["cookie-persistence", "cookie-persistence-no-dynamic"];
    let named: Vec<(&str, &str)> = keys.into_iter().filter_map(|key| Some((key, said.text(key)?))).collect();
    match named[..] {
        [] => {}
        [(key, name)] => {
            // What stands behind the name are words of HAProxy's own line.
            let name = name.split_whitespace().next().unwrap_or_default();
            out.set("affinity-cookie-name", name, key);
            if !out.has("affinity-cookie-name") {
                return;
            }
            out.set("affinity", "cookie", key);
            out.set("affinity-cookie-same-site", "unset", key);
        }
        _ => out
            .ignore("cookie-persistence", "stands beside cookie-persistence-no-dynamic: there is no cookie"),
    }
}
