//! TLS with clients in words of HAProxy and OpenSSL, in our options.

use super::{annotations::ReadAnnotations, translation::Translation};
use crate::options::tls::GOOD_CIPHERS;

/// TLS that ends at the servers: it is not opened here, whether or not the operator lets it pass.
pub(super) fn passthrough(said: &ReadAnnotations<'_>, out: &mut Translation<'_>) {
    if !said.is_on("ssl-passthrough") {
        return;
    }
    if !out.may_pass_tls() {
        return out.close("ssl-passthrough", "is true, and the setting passthrough is not");
    }
    out.set("ssl-passthrough", "true", "ssl-passthrough");
}

/// Sets `tls-alpn` to what of a list is spoken.
pub(super) fn alpn(list: &str, key: &str, out: &mut Translation<'_>) {
    let named: Vec<&str> = list.split(',').map(str::trim).filter(|one| !one.is_empty()).collect();
    match named[..] {
        [] | ["h2", "http/1.1"] => {}
        _ => out.set("tls-alpn", &named.join(", "), key),
    }
}

/// Sets `tls-min-version` where options of a `bind` line allow nothing but TLS 1.3.
pub(super) fn bind_options(text: &str, key: &str, out: &mut Translation<'_>) {
    let words: Vec<&str> = text.split_whitespace().collect();
    let has = |word: &str| words.contains(&word);
    let least = words.iter().zip(words.iter().skip(1)).find(|(word, _)| **word == "ssl-min-ver");
    if has("no-tlsv12") || has("force-tlsv13") || least.is_some_and(|(_, version)| *version == "TLSv1.3") {
        out.set("tls-min-version", "TLSv1.3", key);
    }
    let known = [
        "no-sslv3",
        "no-tlsv10",
        "no-tlsv11",
        "no-tlsv12",
        "no-tls-tickets",
        "force-tlsv13",
        "ssl-min-ver",
        "TLSv1.0",
        "TLSv1.1",
        "TLSv1.2",
        "TLSv1.3",
    ];
    if let Some(other) = words.iter().find(|word| !known.contains(word)) {
        out.differs(
            key,
            &format!("has {other:?}: of its options those count that say which versions of TLS there are"),
        );
    }
}

/// Sets `tls-ciphers` to those of a list that ours has. A list without one is ignored: what is left counts for all hosts.
pub(super) fn ciphers(list: &str, key: &str, out: &mut Translation<'_>) {
    let named: Vec<&str> = list.split([':', ',', ' ']).filter(|one| !one.is_empty()).collect();
    let good: Vec<&str> = named.iter().copied().filter(|one| GOOD_CIPHERS.contains(one)).collect();
    if good.is_empty() {
        return out.ignore(key, "names none of the ciphers that tls-ciphers has");
    }
    // What every host has needs no saying.
    if GOOD_CIPHERS.iter().all(|one| good.contains(one)) {
        return;
    }
    if good.len() < named.len() {
        let left = named.iter().find(|one| !GOOD_CIPHERS.contains(one)).copied().unwrap_or_default();
        out.differs(key, &format!("has {left:?}, which tls-ciphers has not: the others of it count"));
    }
    out.set("tls-ciphers", &good.join(", "), key);
}
