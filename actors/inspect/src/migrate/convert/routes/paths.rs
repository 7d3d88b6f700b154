//! Paths of Ingresses as matches of routes, and what takes their place as a filter.

use haptic_routes::{
    matching::{Match, MatchShape},
    patterns::Rewrite,
};
use serde_json::{Value, json};

/// The same requests, as `matches[].path`.
pub(super) fn path_match(wanted: &Match) -> Value {
    let path = if wanted.path.is_empty() { "/" } else { &*wanted.path };
    let (kind, value) = match &wanted.shape {
        MatchShape::Exact => ("Exact", path.to_owned()),
        MatchShape::Prefix => ("PathPrefix", path.to_owned()),
        MatchShape::Beginning => ("RegularExpression", format!("{}.*", regex::escape(path))),
        MatchShape::AnyCase => ("RegularExpression", format!("(?i){}.*", regex::escape(path))),
        MatchShape::Regex(text) => ("RegularExpression", whole(text)),
    };
    json!({"type": kind, "value": value})
}

/// An expression for the beginning of paths as one for whole paths.
fn whole(text: &str) -> String {
    let (flag, rest) = text.strip_prefix("(?i)").map_or(("", text), |rest| ("(?i)", rest));
    let inner = rest.strip_prefix("^(?:").and_then(|inner| inner.strip_suffix(')')).unwrap_or(rest);
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

/// What takes the place of the path that matched, by our own option.
///
/// # Errors
/// As [`rewritten`].
pub(super) fn replaced(text: &str, wanted: &Match) -> Result<Value, &'static str> {
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
            let one = path_match(&wanted);
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
        assert_eq!(replaced("/", &prefix).unwrap()["replacePrefixMatch"], "/");
    }
}
