//! Access: lists of clients, passwords, certificates, rates.

use super::values::{SourceRanges, sources};
use crate::{
    families::{
        annotations::ReadAnnotations,
        secrets::own_secret,
        translation::{EVERYBODY, Translation},
    },
    options::{header::Header, network::Network},
};

/// Lists of clients, of which some are exceptions. Theirs are open where no element of a list is good.
pub(super) fn clients(said: &ReadAnnotations<'_>, out: &mut Translation<'_>) {
    let lists = ["allowlist-source-range", "denylist-source-range"];
    out.close_unknown_address(said, "allowlist-source-header", lists);
    let mut denied: Vec<String> = Vec::new();
    if let Some(text) = said.text("allowlist-source-range") {
        let SourceRanges { networks, exceptions, wrong } = sources(text);
        denied.extend(exceptions.iter().map(|one| (*one).to_owned()));
        if networks.is_empty() && (exceptions.is_empty() || !wrong.is_empty()) {
            out.close("allowlist-source-range", "has no network that can be read");
        } else if wrong.iter().any(|one| one.starts_with('!')) {
            out.close(
                "allowlist-source-range",
                &format!("has the exception {}, which is no network", wrong.concat()),
            );
        } else {
            if let Some(one) = wrong.first() {
                let how = format!("has {one:?}, which is no network: only the others of the list get in");
                out.differs("allowlist-source-range", &how);
            }
            if !networks.is_empty() {
                out.set("allow-from", &networks.join(", "), "allowlist-source-range");
            }
        }
    }
    if let Some(text) = said.text("denylist-source-range") {
        let SourceRanges { networks, exceptions, wrong } = sources(text);
        if let Some(one) = wrong.first() {
            return out.close("denylist-source-range", &format!("has {one:?}, which is no network"));
        }
        let mut networks = networks;
        if networks.is_empty() && !exceptions.is_empty() {
            // Everybody but these is kept out.
            match said.has("allowlist-source-range") {
                true => networks.extend(EVERYBODY.split(", ")),
                false => out.set("allow-from", &exceptions.join(", "), "denylist-source-range"),
            }
        }
        let Some(left) = without(&networks, &exceptions) else {
            return out.close("denylist-source-range", "has too many networks and exceptions");
        };
        denied.extend(left);
    }
    if !denied.is_empty() {
        out.set("deny-from", &denied.join(", "), "denylist-source-range");
    }
}

/// The networks without what the exceptions have of them; `None` where finding out takes too long.
fn without(networks: &[&str], exceptions: &[&str]) -> Option<Vec<String>> {
    const MOST_STEPS: usize = 200_000;
    let read = |all: &[&str]| all.iter().filter_map(|one| Network::of(one)).collect::<Vec<_>>();
    let exceptions = read(exceptions);
    let mut left = read(networks);
    let mut steps = 0;
    for exception in &exceptions {
        steps += left.len();
        if steps > MOST_STEPS {
            return None;
        }
        left = left.iter().flat_map(|network| network.minus(exception)).collect();
    }
    Some(left.iter().map(|network| network.text().to_owned()).collect())
}

/// Passwords. Theirs are not asked for where the Secret is not there.
pub(super) fn passwords(said: &ReadAnnotations<'_>, out: &mut Translation<'_>) {
    let Some(secret) = said.text("auth-secret") else { return };
    let Some(name) = own_secret(secret, out.about().namespace) else {
        return out.close("auth-secret", "names no Secret of the same namespace");
    };
    out.set("auth-secret", name, "auth-secret");
    let realm = said.text("auth-realm").filter(|realm| {
        let is_good = out.is_value("auth-realm", realm);
        if !is_good {
            out.ignore("auth-realm", "has quotation marks, backslashes, or too much");
        }
        is_good
    });
    out.set("auth-realm", realm.unwrap_or("localhost"), "auth-realm");
}

/// The headers that tell servers of a certificate in any case.
const TOLD: &str = "X-SSL-Client-CN: cn\nX-SSL-Client-DN: subject\nX-SSL-Client-SHA1: sha1";

/// The header with the whole certificate, where the Ingress asks for it.
pub const WHOLE: &str = "X-SSL-Client-Cert";

/// The headers for servers where the Ingress says by itself whether they get the whole certificate, too.
pub fn certificate_headers(of_host: &[Header], whole: bool) -> Vec<Header> {
    let mut headers: Vec<Header> = of_host.iter().filter(|header| header.name != WHOLE).cloned().collect();
    headers.extend(whole.then(|| Header { name: WHOLE.to_owned(), value: "der".to_owned() }));
    headers
}

/// Certificates of clients.
pub(super) fn certificates(said: &ReadAnnotations<'_>, out: &mut Translation<'_>) {
    out.level.passes_certificate = Some(said.is_on("auth-tls-cert-header"));
    let Some(secret) = said.text("auth-tls-secret") else { return };
    let how = match said.text("auth-tls-verify-client") {
        // Nobody is asked for a certificate, and servers believe what these headers say all the same.
        Some("off") => {
            let all = format!("{TOLD}\n{WHOLE}: der");
            return out.set("client-certificate-headers", &all, "auth-tls-secret");
        }
        Some("optional") => "optional",
        Some("optional_no_ca") => {
            out.differs(
                "auth-tls-verify-client",
                "is optional_no_ca: a certificate that is shown must be signed by the CA all the same",
            );
            "optional"
        }
        Some("on") | None => "required",
        Some(_) => {
            out.differs(
                "auth-tls-verify-client",
                "is none of off, optional, on and optional_no_ca: it is on",
            );
            "required"
        }
    };
    let Some(name) = own_secret(secret, out.about().namespace) else {
        return out.close("auth-tls-secret", "names no Secret of the same namespace");
    };
    out.set("client-ca-secret", name, "auth-tls-secret");
    out.set("client-certificate", how, "auth-tls-verify-client");
    out.set("client-certificate-status", "495", "auth-tls-secret");
    let whole = if said.is_on("auth-tls-cert-header") { format!("\n{WHOLE}: der") } else { String::new() };
    out.set("client-certificate-headers", &format!("{TOLD}{whole}"), "auth-tls-secret");
    if let Some(page) = said.text("auth-tls-error-page") {
        out.set("client-certificate-error-page", page, "auth-tls-error-page");
    }
    if said.switch("auth-tls-strict") == Some(false) {
        out.differs("auth-tls-strict", "is false: without the Secret requests are refused all the same");
    }
}

/// Requests of a client in a second, and at a time.
pub(super) fn rates(said: &ReadAnnotations<'_>, out: &mut Translation<'_>) {
    let positive = |key: &str| said.number(key).filter(|number| *number > 0);
    if let Some(limit) = positive("limit-rps") {
        out.set("rate-limit", &limit.to_string(), "limit-rps");
        out.set("rate-limit-period", "second", "limit-rps");
    }
    if let Some(limit) = positive("limit-connections") {
        out.set("concurrency-limit", &limit.to_string(), "limit-connections");
    }
    let Some(text) = said.text("limit-whitelist") else { return };
    let SourceRanges { networks, wrong, .. } = sources(text);
    if let Some(one) = wrong.first() {
        out.differs("limit-whitelist", &format!("has {one:?}, which is no network: the limit counts for it"));
    }
    for (key, option) in
        [("limit-rps", "rate-limit-exempt"), ("limit-connections", "concurrency-limit-exempt")]
    {
        if !networks.is_empty() && positive(key).is_some() {
            out.set(option, &networks.join(", "), "limit-whitelist");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_of_exceptions_are_not_worked_out() {
        let exceptions: Vec<String> = (1..8_000).map(|number| format!("{number:x}::")).collect();
        let exceptions: Vec<&str> = exceptions.iter().map(String::as_str).collect();
        assert_eq!(without(&["::/0"], &exceptions), None);
        let few = without(&["10.0.0.0/30"], &["10.0.0.1"]).unwrap();
        assert_eq!(few.join(" "), "10.0.0.2/31 10.0.0.0/32");
    }
}
