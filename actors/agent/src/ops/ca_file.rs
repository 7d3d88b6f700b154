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
