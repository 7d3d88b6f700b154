//! Scripts of other origins (CORS), and browsers that use HTTPS alone (HSTS).

use crate::families::{annotations::ReadAnnotations, origins, translation::Translation};

const METHODS: &str = "GET, PUT, POST, DELETE, PATCH, OPTIONS";
const HEADERS: &str = "DNT, X-CustomHeader, Keep-Alive, User-Agent, X-Requested-With, If-Modified-Since, Cache-Control, Content-Type, Authorization";

/// `cors-enable` and what goes with it. Theirs lets every origin in where one of the list is wrong.
pub(super) fn cors(said: &ReadAnnotations<'_>, out: &mut Translation<'_>) {
    if !said.is_on("cors-enable") {
        return;
    }
    let listed = said.text("cors-allow-origin");
    let expressions = said.text("cors-allow-origin-regex");
    if expressions.is_some() || said.is_given("cors-allow-origin") && listed.is_none() {
        let key = if expressions.is_some() { "cors-allow-origin-regex" } else { "cors-allow-origin" };
        let Some(expressions) = expressions else {
            return out.ignore(key, "is no list of whole origins, and no origin is let in");
        };
        let expressions: Vec<&str> = expressions.split_whitespace().collect();
        let listed: Vec<&str> = listed.into_iter().flat_map(|list| list.split(',').map(str::trim)).collect();
        if !origins::set(&expressions, &listed, key, out) {
            return;
        }
    } else {
        out.set("cors-allow-origin", listed.unwrap_or("*"), "cors-allow-origin");
    }
    if !out.has("cors-allow-origin") {
        return;
    }
    out.set("cors-preflight", "all", "cors-enable");
    let any = listed.is_none_or(|list| list.trim() == "*") && expressions.is_none();
    if said.is_on("cors-allow-credentials") {
        if any {
            out.differs(
                "cors-allow-credentials",
                "is true, and every origin is let in: name the origins that may send cookies",
            );
        } else {
            out.set("cors-allow-credentials", "true", "cors-allow-credentials");
        }
    }
    for (key, otherwise) in [("cors-allow-methods", METHODS), ("cors-allow-headers", HEADERS)] {
        let list = said.text(key).filter(|list| {
            let is_good = out.is_value(key, list);
            if !is_good {
                out.ignore(key, "is no list of names with commas between");
            }
            is_good
        });
        out.set(key, list.unwrap_or(otherwise), key);
    }
    if let Some(headers) = said.text("cors-expose-headers") {
        out.set("cors-expose-headers", headers, "cors-expose-headers");
    }
    let age = said.number("cors-max-age").filter(|age| *age >= 0).unwrap_or(86_400);
    out.set("cors-max-age", &age.to_string(), "cors-max-age");
}

/// HSTS, which is on unless somebody says otherwise.
pub(super) fn hsts(said: &ReadAnnotations<'_>, out: &mut Translation<'_>) {
    if said.switch("hsts") == Some(false) {
        return;
    }
    let age = said.number("hsts-max-age").filter(|age| *age >= 0).unwrap_or(15_768_000);
    out.set("hsts-max-age", &age.to_string(), "hsts-max-age");
    for (key, option) in [("hsts-include-subdomains", "hsts-subdomains"), ("hsts-preload", "hsts-preload")] {
        if said.is_on(key) {
            out.set(option, "true", key);
        }
    }
}
