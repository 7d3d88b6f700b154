//! Authorities (`ca-file`): `new`, `set`, `commit` and `del ssl ca-file`. They are not read back.

use super::{exchange::Preparation, pem};

const KIND: &str = "ca-file";

pub(super) fn add<'o>(path: &str, content: &str) -> Preparation<'o> {
    pem::add(KIND, path, content)
}

pub(super) fn set<'o>(path: &str, content: &str) -> Preparation<'o> {
    pem::set(KIND, path, content)
}

pub(super) fn delete<'o>(path: &str) -> Preparation<'o> {
    pem::delete(KIND, path)
}

/// What HAProxy answers when it did what it was told.
pub(super) fn is_success(answer: &str) -> bool {
    let last = answer.lines().last().unwrap_or_default().trim();
    answer.starts_with("New CA file created")
        || last.starts_with("transaction created for CA")
        || last.starts_with("CA file '") && last.ends_with("deleted!")
}
