//! Paths of Ingresses as matches of routes, and what takes their place as a filter.

use haptic_routes::{
    matching::{Match, MatchShape},
    patterns::Rewrite,
};
use serde_json::{Value, json};

/// So many characters a path, or an expression, has in a match.
const LONGEST: usize = 1_024;

/// The same requests, as `matches[].path`.
///
/// # Errors
/// Why no match has such a path.
pub(super) fn path_match(wanted: &Match) -> Result<Value, &'static str> {
    let path = if wanted.path.is_empty() { "/" } else { &*wanted.path };
    let (kind, value) = match &wanted.shape {
        MatchShape::Exact => ("Exact", path.to_owned()),
        MatchShape::Prefix => ("PathPrefix", path.to_owned()),
        MatchShape::Beginning => ("RegularExpression", format!("{}.*", regex::escape(path))),
        MatchShape::AnyCase => ("RegularExpression", format!("(?i){}.*", regex::escape(path))),
        MatchShape::Regex(text) => ("RegularExpression", whole(text)),
    };
    if value.chars().count() > LONGEST {
        return Err("has more than 1024 characters, and a match has not");
    }
    if kind != "RegularExpression" && !is_path(&value) {
        return Err("has characters or elements that no path of a match has");
    }
    Ok(json!({"type": kind, "value": value}))
}

/// Whether a match may have a path that is no expression.
fn is_path(text: &str) -> bool {
    const REFUSED: [&str; 5] = ["//", "/./", "/../", "%2f", "%2F"];
    let is_inner = |byte: u8| byte.is_ascii_alphanumeric() || b"-/._~!$&'()*+,;=:@%".contains(&byte);
    let mut escapes = text.split('%').skip(1).map(|rest| rest.as_bytes().get(..2));
    text.starts_with('/')
        && text.bytes().all(is_inner)
        && escapes.all(|two| two.is_some_and(|two| two.iter().all(u8::is_ascii_hexdigit)))
        && !REFUSED.iter().any(|part| text.contains(part))
        && !["/..", "/."].iter().any(|end| text.ends_with(end))
}

/// The flag of an expression for the beginning of paths, and what it is without.
pub(super) fn within(text: &str) -> (&'static str, &str) {
    let (flag, rest) = text.strip_prefix("(?i)").map_or(("", text), |rest| ("(?i)", rest));
    (flag, rest.strip_prefix("^(?:").and_then(|inner| inner.strip_suffix(')')).unwrap_or(rest))
}

/// An expression for the beginning of paths as one for whole paths.
fn whole(text: &str) -> String {
    let (flag, inner) = within(text);
    if inner.contains('|') {
        return format!("{flag}(?:{inner}).*");
    }
    let without = |end: &str| inner.strip_suffix(end).filter(|start| !start.ends_with('\\'));
    match without("$") {
        Some(start) => format!("{flag}{start}"),
        None if without(".*").is_some() || inner.ends_with("(.*)") => format!("{flag}{inner}"),
        None => format!("{flag}{inner}.*"),
    }
}

/// What takes the place of a path that an Ingress rewrites, as `urlRewrite.path`.
///
/// # Errors
/// Why no filter does the same.
pub(super) fn rewritten(rewrite: &Rewrite, wanted: &Match) -> Result<Value, &'static str> {
    let is_prefix = wanted.shape == MatchShape::Prefix;
    let is_path = |text: &str| text.starts_with('/') && !text.contains(['?', '#']);
    let below = |text: &str| json!({"type": "ReplacePrefixMatch", "replacePrefixMatch": text});
    let full = |text: &str| json!({"type": "ReplaceFullPath", "replaceFullPath": text});
    match rewrite {
        Rewrite::Whole(text) if is_path(text) => Ok(full(text)),
        Rewrite::Rest(text) if is_path(text) && wanted.shape == MatchShape::Exact => Ok(full(text)),
        Rewrite::Rest(text) if is_path(text) && is_prefix && !text.ends_with('/') => Ok(below(text)),
        // Of a path that ends with a slash the filter leaves it out where nothing stands behind it.
        Rewrite::Below(text) if is_prefix && (text == "/" || is_path(text) && wanted.path.is_empty()) => {
            Ok(below(text))
        }
        Rewrite::Groups(_) => Err("filter URLRewrite puts no groups of an expression into a path"),
        _ => Err("filter URLRewrite replaces whole paths, or prefixes by elements"),
    }
}

/// What takes the place of the path that matched, by our own option, which is read without a slash at its end.
///
/// # Errors
/// As [`rewritten`].
pub(super) fn replaced(text: &str, wanted: &Match) -> Result<Value, &'static str> {
    let text = if text.is_empty() { "/" } else { text };
    rewritten(&Rewrite::Rest(text.to_owned()), wanted).or_else(|why| match wanted.shape {
        MatchShape::Prefix => rewritten(&Rewrite::Below(text.to_owned()), wanted),
        _ => Err(why),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_compared_as_they_were() {
        let of = |wanted: Match| {
            let one = path_match(&wanted).unwrap();
            format!("{} {}", one["type"].as_str().unwrap(), one["value"].as_str().unwrap())
        };
        assert_eq!(of(Match::exact("", "/a")), "Exact /a");
        assert_eq!(of(Match::prefix("", "/a/")), "PathPrefix /a");
        assert_eq!(of(Match::prefix("", "/")), "PathPrefix /");
        assert_eq!(of(Match::beginning("", "/a.b", false)), "RegularExpression /a\\.b.*");
        assert_eq!(of(Match::beginning("", "/A", true)), "RegularExpression (?i)/a.*");
        for (text, value) in [
            ("(?i)^(?:/v[0-9]+)", "(?i)/v[0-9]+.*"),
            ("^(?:/a|/b)", "(?:/a|/b).*"),
            ("^(?:/v[0-9]$)", "/v[0-9]"),
            ("^(?:/v[0-9]/(.*))", "/v[0-9]/(.*)"),
            ("^(?:/v[0-9]\\.*)", "/v[0-9]\\.*.*"),
        ] {
            let regex = Match { shape: MatchShape::Regex(text.into()), ..Match::prefix("", "/") };
            assert_eq!(of(regex), format!("RegularExpression {value}"));
        }
    }

    #[test]
    fn what_the_definition_refuses_is_no_path_of_a_match() {
        let long = format!("/{}", "a".repeat(LONGEST));
        for path in ["/a//b", "/a b", "/a/../b", "/a%2Fb", "/a%x", "/a{b}", "a", "/\u{e4}", &long] {
            assert!(path_match(&Match::exact("", path)).is_err(), "{path}");
            assert!(path_match(&Match::prefix("", path)).is_err(), "{path}");
        }
        assert!(path_match(&Match::prefix("", "/a%20b/..c/.d:e@f")).is_ok());
        assert!(path_match(&Match::beginning("", &long, true)).is_err());
    }

    #[test]
    fn only_what_a_filter_does_is_carried() {
        let (prefix, exact, all) = (Match::prefix("", "/a"), Match::exact("", "/a"), Match::prefix("", "/"));
        let of = |rewrite: Rewrite, wanted: &Match| {
            let filter = rewritten(&rewrite, wanted).ok()?;
            Some(filter["type"].as_str().unwrap().to_owned())
        };
        let (below, full) = (Some("ReplacePrefixMatch".to_owned()), Some("ReplaceFullPath".to_owned()));
        assert_eq!(of(Rewrite::Whole("/v2".into()), &prefix), full);
        assert_eq!(of(Rewrite::Rest("/v2".into()), &prefix), below);
        assert_eq!(of(Rewrite::Rest("/v2".into()), &exact), full);
        assert_eq!(of(Rewrite::Below("/".into()), &prefix), below);
        assert_eq!(of(Rewrite::Below("/v2/".into()), &all), below);
        assert_eq!(of(Rewrite::Below("/v2/".into()), &prefix), None);
        assert_eq!(of(Rewrite::Groups("/\\1".into()), &prefix), None);
        assert_eq!(of(Rewrite::Rest("/v2".into()), &Match::beginning("", "/a", false)), None);
        for root in ["/", ""] {
            assert_eq!(replaced(root, &prefix).unwrap()["replacePrefixMatch"], "/");
            assert_eq!(replaced(root, &exact).unwrap()["replaceFullPath"], "/");
        }
    }
}
