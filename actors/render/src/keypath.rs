//! Keys in a dotted path: `metadata.labels.[app.kubernetes.io/name]`.

use std::sync::Arc;

/// The keys of `path`, separated by `.` or `/`; what stands in `[…]` is one key.
pub(crate) fn keys(path: &str) -> Vec<Arc<str>> {
    walk(path).map(Arc::from).collect()
}

/// As [`keys`], without a list.
pub(crate) fn walk(path: &str) -> impl Iterator<Item = &str> {
    let mut rest = path;
    std::iter::from_fn(move || {
        while !rest.is_empty() {
            let (key, after) = match rest.strip_prefix('[') {
                Some(inside) => {
                    let (key, after) = inside.split_once(']').unwrap_or((inside, ""));
                    (unquoted(key), after)
                }
                None => rest.split_at(rest.find(['.', '/', '[']).unwrap_or(rest.len())),
            };
            let bracketed = rest.starts_with('[');
            rest = after.strip_prefix(['.', '/']).unwrap_or(after);
            if bracketed || (!key.is_empty() && key != "this") {
                return Some(key);
            }
        }
        None
    })
}

fn unquoted(key: &str) -> &str {
    let inside = |quote| key.strip_prefix(quote).and_then(|k| k.strip_suffix(quote));
    inside('\'').or_else(|| inside('"')).unwrap_or(key)
}
