//! Ways of balancing as HAProxy writes them, in our options.

use super::translation::Translation;

/// Sets `balance` or `balance-hash` to what HAProxy calls `text`.
pub(super) fn set(text: &str, key: &str, out: &mut Translation<'_>) {
    let is_random = text.starts_with("random(") && text.ends_with(')');
    let inner = |name: &str| text.strip_prefix(name)?.split_once(')').map(|(inner, _)| inner.trim());
    let mut words = text.split_whitespace();
    let (first, second) = (words.next().unwrap_or_default(), words.next());
    if let Some(header) = inner("hdr(") {
        out.set("balance-hash", &format!("header:{header}"), key);
    } else if first == "uri" {
        if second.is_some() {
            out.differs(key, "is by the whole path and query");
        }
        out.set("balance-hash", "uri", key);
    } else if let ("url_param", Some(parameter)) = (first, second) {
        if words.next().is_some() {
            out.differs(key, "is by the parameter of the query alone");
        }
        out.set("balance-hash", &format!("query:{parameter}"), key);
    } else {
        out.set("balance", if is_random { "random" } else { text }, key);
    }
}
