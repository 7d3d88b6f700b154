//! The spellings of hosts and paths in which controllers differ.

use super::{NOTHING, RequestReason};
use crate::migrate::compare::samples;
use std::collections::HashSet;

/// A name of a host: of a wildcard one that it covers.
pub(super) fn named(host: &str) -> String {
    host.strip_prefix("*.").map_or_else(|| host.to_owned(), |rest| format!("{NOTHING}.{rest}"))
}

/// A path that a request can have; of an expression one that it takes.
pub(super) fn base(path: &str) -> String {
    let sample = if samples::is_expression(path) { samples::sample(path) } else { None };
    let path = sample.unwrap_or_else(|| path.to_owned());
    if path.starts_with('/') { path } else { format!("/{path}") }
}

/// The path, and the spellings of it in which controllers differ.
pub(super) fn spellings(path: &str) -> Vec<(RequestReason, String)> {
    let mut all = vec![(RequestReason::Path, encoded(path))];
    let bare = path.trim_end_matches('/');
    if bare.is_empty() {
        return all;
    }
    let bare = encoded(bare);
    let swapped: String = bare.chars().map(swapped).collect();
    all.push((RequestReason::Slash, format!("{bare}/")));
    all.push((RequestReason::NoSlash, bare.clone()));
    all.push((RequestReason::Below, format!("{bare}/{NOTHING}")));
    all.push((RequestReason::Longer, format!("{bare}x")));
    all.push((RequestReason::Case, swapped));
    let last = bare.rfind('/').map_or(0, |at| at + 1);
    let letter = bare.get(last..).and_then(|end| end.chars().next()).filter(char::is_ascii_alphanumeric);
    if let Some((letter, (before, behind))) = letter.zip(bare.split_at_checked(last)) {
        let behind = behind.get(1..).unwrap_or_default();
        all.push((RequestReason::Encoded, format!("{before}%{:02X}{behind}", u32::from(letter))));
    }
    if let Some((before, behind)) = bare.get(..last).filter(|before| before.len() > 1).map(|before| {
        let before = before.trim_end_matches('/');
        (before, bare.get(last..).unwrap_or_default())
    }) {
        all.push((RequestReason::EncodedSlash, format!("{before}%2F{behind}")));
    }
    let mut seen = HashSet::new();
    all.retain(|(_, target)| seen.insert(target.clone()));
    all
}

fn swapped(letter: char) -> char {
    if letter.is_ascii_uppercase() { letter.to_ascii_lowercase() } else { letter.to_ascii_uppercase() }
}

/// A path as it can be sent: what is percent-encoded already stays so.
pub(super) fn encoded(path: &str) -> String {
    let bytes = path.as_bytes();
    let is_encoded =
        |at: usize| bytes.get(at + 1..at + 3).is_some_and(|two| two.iter().all(u8::is_ascii_hexdigit));
    let mut text = String::new();
    for (at, byte) in bytes.iter().enumerate() {
        match byte {
            b'%' if is_encoded(at) => text.push('%'),
            byte if byte.is_ascii_alphanumeric() || b"-._~!$&'()*+,;=:@/".contains(byte) => {
                text.push(char::from(*byte))
            }
            byte => text.push_str(&format!("%{byte:02X}")),
        }
    }
    text
}

/// A name or value of a query.
pub(super) fn of_query(text: &str) -> String {
    encoded(text).replace('&', "%26").replace('+', "%2B").replace('=', "%3D")
}
