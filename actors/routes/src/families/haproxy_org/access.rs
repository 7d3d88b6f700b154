//! Access: lists of clients, passwords, rates, CORS.

use super::values::milliseconds;
use crate::{
    families::{annotations::ReadAnnotations, origins, secrets::own_secret, translation::Translation},
    options::{
        network::Network,
        quantity::{PERIODS, milliseconds_of},
        row::REFUSALS,
        value::OptionValue,
    },
};

const METHODS: [&str; 9] = ["GET", "POST", "PUT", "DELETE", "HEAD", "CONNECT", "OPTIONS", "TRACE", "PATCH"];

/// Lists of clients (`pkg/annotations/ingress/accessControl.go`); theirs are open where an element is wrong.
pub(super) fn sources(said: &ReadAnnotations<'_>, out: &mut Translation<'_>) {
    out.close_unknown_address(said, "src-ip-header", ["allow-list", "deny-list"]);
    for (key, option) in [("allow-list", "allow-from"), ("deny-list", "deny-from")] {
        let Some(text) = said.text(key) else { continue };
        let (good, wrong) = networks(text);
        if let Some(first) = wrong.first() {
            let why = format!("has {first:?}, which is no network");
            // Fewer who get in are no danger, fewer who are kept out are one.
            if option == "deny-from" || good.is_empty() {
                out.close(key, &why);
                continue;
            }
            out.differs(key, &format!("{why}: only the others of the list get in"));
        }
        out.set(option, &good.join(", "), key);
    }
}

/// Good networks as they stand, and what is none.
fn networks(text: &str) -> (Vec<&str>, Vec<&str>) {
    let all = text.split(',').map(str::trim).filter(|one| !one.is_empty());
    all.partition(|one| Network::of(one).is_some())
}

/// Of whom all hosts ask certificates is not known here.
pub(super) fn unknown_guards(said: &ReadAnnotations<'_>, out: &mut Translation<'_>) {
    if said.has("client-ca") && !said.is_on("client-crt-optional") {
        out.closed_by_config(
            "client-ca",
            "asks clients of all hosts for certificates, which is not known here",
        );
    }
}

/// Passwords, which `auth-type` switches on (`pkg/annotations/ingress/reqAuth.go`). Theirs are not asked for where it is anything else
/// than `basic-auth`.
pub(super) fn passwords(said: &ReadAnnotations<'_>, out: &mut Translation<'_>) {
    if !said.names("auth-type") {
        if said.has("auth-secret") {
            out.differs("auth-secret", "has no effect without auth-type: basic-auth");
        }
        return;
    }
    if let Some(other) = said.text("auth-type").filter(|kind| *kind != "basic-auth") {
        out.differs(
            "auth-type",
            &format!("is {other:?} and not basic-auth: passwords are asked for all the same"),
        );
    }
    let Some(secret) = said.text("auth-secret") else {
        return out.close("auth-type", "asks for passwords, and auth-secret names no Secret");
    };
    let Some(name) = own_secret(secret, out.about().namespace) else {
        return out.close("auth-secret", "names a Secret of another namespace");
    };
    out.set("auth-secret", name, "auth-secret");
    out.set("auth-realm", "Protected-Content", "auth-realm");
    if let Some(realm) = said.text("auth-realm") {
        out.set("auth-realm", &realm.replace(' ', "-"), "auth-realm");
    }
}

/// Requests of a client in some time (`pkg/annotations/ingress/reqRateLimit.go`).
pub(super) fn rates(said: &ReadAnnotations<'_>, out: &mut Translation<'_>) {
    let Some(limit) = said.number("rate-limit-requests") else { return };
    let Ok(limit) = u64::try_from(limit) else {
        return out.forbid("rate-limit-requests", "is less than what any client asks for");
    };
    if limit == 0 {
        return;
    }
    let period = said.text("rate-limit-period").and_then(milliseconds).filter(|period| *period > 0);
    let period = period.unwrap_or(1000);
    let lengths = PERIODS.iter().filter_map(|name| Some((*name, milliseconds_of(name)?)));
    let (name, length) = lengths
        .filter(|(_, length)| *length >= period)
        .min_by_key(|(_, length)| *length)
        .unwrap_or(("hour", 3_600_000));
    let scaled = u128::from(limit) * u128::from(length) / u128::from(period);
    let scaled = u64::try_from(scaled).unwrap_or(u64::MAX).clamp(1, 999_999_999);
    if length != period {
        let how =
            format!("is {period} ms: of each client {scaled} requests in one {name} are let in instead");
        out.differs("rate-limit-period", &how);
    }
    out.set("rate-limit", &scaled.to_string(), "rate-limit-requests");
    out.set("rate-limit-period", name, "rate-limit-period");
    let status = said.number("rate-limit-status-code").unwrap_or(403).to_string();
    let status = REFUSALS.iter().copied().find(|known| *known == status).unwrap_or_else(|| {
        out.differs("rate-limit-status-code", &format!("is none of {}: it is 403", REFUSALS.join(", ")));
        "403"
    });
    out.set("rate-limit-status", status, "rate-limit-status-code");
    if let Some(text) = said.text("rate-limit-whitelist") {
        let (good, wrong) = networks(text);
        if let Some(one) = wrong.first() {
            out.differs(
                "rate-limit-whitelist",
                &format!("has {one:?}, which is no network: the limit counts for it"),
            );
        }
        if !good.is_empty() {
            out.set("rate-limit-exempt", &good.join(", "), "rate-limit-whitelist");
        }
    }
}

/// CORS, which `cors-enable` switches on (`pkg/annotations/ingress/resSetCORS.go`).
pub(super) fn cors(said: &ReadAnnotations<'_>, out: &mut Translation<'_>) {
    if !said.is_on("cors-enable") {
        return;
    }
    let Some(text) =
        said.text("cors-allow-origin").or_else(|| (!said.is_given("cors-allow-origin")).then_some("*"))
    else {
        return;
    };
    if !origins::set(&[text], &[], "cors-allow-origin", out) {
        return;
    }
    let answers = said.text("cors-respond-to-options") == Some("true");
    out.set("cors-preflight", if answers { "last" } else { "pass" }, "cors-respond-to-options");
    methods(said, out);
    match said.is_silent("cors-allow-headers") {
        true => out.set_value("cors-allow-headers", no_names()),
        false => {
            let headers = said.text("cors-allow-headers").unwrap_or("*").replace(char::is_whitespace, "");
            out.set_value("cors-allow-headers", no_names());
            out.set("cors-allow-headers", &headers, "cors-allow-headers");
        }
    }
    if said.text("cors-allow-credentials") == Some("true") {
        if text == "*" {
            out.differs(
                "cors-allow-credentials",
                "is true, and every origin is let in: browsers refuse both together",
            );
        } else {
            out.set("cors-allow-credentials", "true", "cors-allow-credentials");
        }
    }
    let age = said.text("cors-max-age").and_then(milliseconds).unwrap_or(5000);
    out.set("cors-max-age", &(age / 1000).to_string(), "cors-max-age");
}

/// The methods that pages are told of; none where one of them is unknown.
fn methods(said: &ReadAnnotations<'_>, out: &mut Translation<'_>) {
    const KEY: &str = "cors-allow-methods";
    let methods = said.text(KEY).unwrap_or("*").to_ascii_uppercase();
    let methods: Vec<&str> = methods.split(',').map(str::trim).collect();
    let are_known = methods == ["*"] || methods.iter().all(|method| METHODS.contains(method));
    if are_known && !said.is_silent(KEY) {
        return out.set(KEY, &methods.join(", "), KEY);
    }
    out.set_value(KEY, no_names());
    if !are_known {
        out.differs(KEY, &format!("is not * or some of {}: pages are told of no method", METHODS.join(", ")));
    }
}

/// A header that is not sent, and not the one of the option's default either.
fn no_names() -> OptionValue {
    OptionValue::Names([].into())
}
