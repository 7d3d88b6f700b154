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

/// The fault of a path that somebody wrote: it is read all the same, as if it were right.
pub(crate) fn problem(path: &str) -> Option<&'static str> {
    let outside = path.split('[').enumerate().map(|(place, part)| match place {
        0 => Some(part),
        _ => part.split_once(']').map(|(_, behind)| behind),
    });
    let outside: Option<Vec<&str>> = outside.collect();
    let Some(outside) = outside else { return Some("a [ is not closed") };
    let is_empty = |part: &&str| ["..", "//", "./", "/."].iter().any(|twice| part.contains(twice));
    let ends = path.ends_with('.') || path.starts_with('.');
    (ends || outside.iter().any(is_empty)).then_some("there is no name between two dots, or at an end")
}

fn unquoted(key: &str) -> &str {
    let inside = |quote| key.strip_prefix(quote).and_then(|k| k.strip_suffix(quote));
    inside('\'').or_else(|| inside('"')).unwrap_or(key)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_with_an_empty_name_is_wrong() {
        for path in ["spec..host", ".spec", "spec.", "a.['b", "a.[b.c"] {
            assert!(problem(path).is_some(), "{path}");
        }
        for path in
            ["spec.host", "metadata.labels.[app.kubernetes.io/name]", "a['b..c'].d", "0.port", "host", ""]
        {
            assert_eq!(problem(path), None, "{path}");
        }
    }
}
