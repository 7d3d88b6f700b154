//! Keys in a dotted path: `metadata.labels.[app.kubernetes.io/name]`.

use std::sync::Arc;

/// The keys of `path`, separated by `.` or `/`; what stands in `[…]` is one key.
pub(crate) fn keys(path: &str) -> Vec<Arc<str>> {
    let mut rest = path;
    let mut keys = Vec::new();
    while !rest.is_empty() {
        if let Some(inside) = rest.strip_prefix('[') {
            let (key, after) = inside.split_once(']').unwrap_or((inside, ""));
            keys.push(unquoted(key).into());
            rest = after.strip_prefix(['.', '/']).unwrap_or(after);
        } else {
            let end = rest.find(['.', '/', '[']).unwrap_or(rest.len());
            let (key, after) = rest.split_at(end);
            if !key.is_empty() && key != "this" {
                keys.push(key.into());
            }
            rest = after.strip_prefix(['.', '/']).unwrap_or(after);
        }
    }
    keys
}

fn unquoted(key: &str) -> &str {
    let inside = |quote| key.strip_prefix(quote).and_then(|k| k.strip_suffix(quote));
    inside('\'').or_else(|| inside('"')).unwrap_or(key)
}
