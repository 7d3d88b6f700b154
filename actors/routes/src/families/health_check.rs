//! Health checks, as HAProxy's two controllers read them.

use super::translation::Translation;

/// Sets what is asked by `PATH`, or by `METHOD PATH`, of which more words are left out. Whether that can be asked; otherwise it is ignored.
pub(super) fn set(text: &str, key: &str, out: &mut Translation<'_>) -> bool {
    let words: Vec<&str> = text.split_whitespace().collect();
    let (method, path, more) = match words[..] {
        [] => return true,
        [path] => ("OPTIONS", path, false),
        [method, path, ref more @ ..] => (method, path, !more.is_empty()),
    };
    if !out.is_value("health-check-method", method) || !out.is_value("health-check-path", path) {
        out.ignore(key, "is neither a path nor a method and a path");
        return false;
    }
    if more {
        out.differs(key, "has a version and maybe headers: they are left out");
    }
    out.set("health-check-method", method, key);
    out.set("health-check-path", path, key);
    true
}
