//! The status of redirects, as HAProxy's two controllers read it.

use super::{annotations::ReadAnnotations, translation::Translation};

/// Where certificates are asked for.
pub(super) const ACME: &str = "/.well-known/acme-challenge";

const CODES: [&str; 5] = ["301", "302", "303", "307", "308"];

/// The code that a key asks for; 302 where it asks for none, or for one that is no redirect.
pub(super) fn code(said: &ReadAnnotations<'_>, key: &str, out: &mut Translation<'_>) -> &'static str {
    let Some(given) = said.number(key) else { return "302" };
    let given = given.to_string();
    CODES.into_iter().find(|code| *code == given).unwrap_or_else(|| {
        out.differs(key, &format!("is none of {}: it is 302", CODES.join(", ")));
        "302"
    })
}
