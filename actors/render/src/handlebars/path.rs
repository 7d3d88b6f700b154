//! Paths to values: `ing.spec.rules`, `this`, `../name`, `@root.config`, `@index`, `labels.[app.kubernetes.io/name]`.

use crate::value::keypath;
use std::sync::Arc;

/// Where a path begins and which keys it follows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Path {
    pub raw: Arc<str>,
    pub start: PathStart,
    pub keys: Vec<Arc<str>>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum PathStart {
    /// The first key is a block parameter, a variable, or a field of `this`.
    Name,
    /// `this`, or with `../` the `this` of a block further out.
    This { up: usize },
    /// `@root`: the top of the context.
    Root,
    /// `@index`, `@first`, `@last`, `@key`; with `@../` of a block further out. The first key is the name.
    Local { up: usize },
}

impl Path {
    pub fn parse(raw: &str) -> Self {
        let mut rest = raw.trim();
        let mut start = PathStart::Name;
        if let Some(after) = rest.strip_prefix("./") {
            (rest, start) = (after, PathStart::This { up: 0 });
        }
        if let Some(after) = strip_word(rest, "@root") {
            (rest, start) = (after, PathStart::Root);
        } else {
            if let Some(after) = rest.strip_prefix('@') {
                (rest, start) = (after, PathStart::Local { up: 0 });
            }
            while let Some(after) = rest.strip_prefix("../").or_else(|| rest.strip_prefix("...")) {
                rest = after;
                start = match start {
                    PathStart::Local { up } => PathStart::Local { up: up + 1 },
                    PathStart::This { up } => PathStart::This { up: up + 1 },
                    _ => PathStart::This { up: 1 },
                };
            }
            if start != PathStart::Root
                && let Some(after) = strip_word(rest, "this")
            {
                rest = after;
                if start == PathStart::Name {
                    start = PathStart::This { up: 0 };
                }
            }
        }
        Self { raw: raw.trim().into(), start, keys: keypath::keys(rest) }
    }
}

/// `rest` behind `word` and the separator that follows it, if it begins with that whole word.
fn strip_word<'a>(text: &'a str, word: &str) -> Option<&'a str> {
    let after = text.strip_prefix(word)?;
    match after.chars().next() {
        None => Some(after),
        Some('.' | '/') => after.get(1..),
        Some(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(raw: &str) -> (PathStart, Vec<String>) {
        let path = Path::parse(raw);
        (path.start, path.keys.iter().map(ToString::to_string).collect())
    }

    #[test]
    fn each_form_of_a_path_is_understood() {
        let cases: [(&str, PathStart, &[&str]); 12] = [
            ("a.b", PathStart::Name, &["a", "b"]),
            ("a/b", PathStart::Name, &["a", "b"]),
            ("this", PathStart::This { up: 0 }, &[]),
            ("this.a", PathStart::This { up: 0 }, &["a"]),
            ("./a", PathStart::This { up: 0 }, &["a"]),
            ("thisish.a", PathStart::Name, &["thisish", "a"]),
            ("../../a", PathStart::This { up: 2 }, &["a"]),
            ("../this", PathStart::This { up: 1 }, &[]),
            ("@root.config.x", PathStart::Root, &["config", "x"]),
            ("@index", PathStart::Local { up: 0 }, &["index"]),
            ("@../index", PathStart::Local { up: 1 }, &["index"]),
            ("m.[a.b/c].['d.e'].0", PathStart::Name, &["m", "a.b/c", "d.e", "0"]),
        ];
        for (raw, start, keys) in cases {
            assert_eq!(parsed(raw), (start, keys.iter().map(ToString::to_string).collect()), "{raw}");
        }
    }
}
