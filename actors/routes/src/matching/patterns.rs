//! Paths that are regular expressions: which of them say no more than a key can, and what all others begin with.

mod groups;

use super::{
    Match, MatchShape, host_of, path,
    regex_cost::{self, Compared, PatternCost},
};
use regex_syntax::ast::{AssertionKind, Ast, parse::Parser};
use std::sync::Arc;

/// The type of paths of which case makes no difference.
pub const IGNORING_CASE: &str = "regex-ignore-case";

/// A path that was read.
#[derive(Clone, Debug, PartialEq)]
pub struct Pattern {
    shape: MatchShape,
    path: Arc<str>,
    /// The cost of asking it, where it is asked.
    pub cost: Option<PatternCost>,
    /// The text in place of the path.
    pub rewrite: Option<Rewrite>,
}

/// The text in place of a path that an expression takes.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rewrite {
    /// This, whatever the groups are.
    Whole(String),
    /// This, and what stands behind the path's beginning.
    Rest(String),
    /// The same without a slash between.
    Below(String),
    /// This, with what the groups took.
    Groups(String),
}

impl Rewrite {
    /// As what templates read it.
    #[must_use]
    pub fn option(&self) -> (&'static str, &str) {
        match self {
            Self::Whole(text) => ("rewrite-whole", text),
            Self::Rest(text) => ("rewrite-rest", text),
            Self::Below(text) => ("rewrite-below", text),
            Self::Groups(text) => ("rewrite-target", text),
        }
    }
}

impl Pattern {
    /// Of a path that is compared as it stands.
    #[must_use]
    pub fn literal(wanted: Match, rewrite: Option<Rewrite>) -> Self {
        Self { shape: wanted.shape, path: wanted.path, cost: None, rewrite }
    }

    /// Requests for these paths of `host`.
    #[must_use]
    pub fn of(&self, host: &str) -> Match {
        match self.shape {
            MatchShape::Prefix => Match::prefix(host, &self.path),
            _ => Match {
                host: host_of(host),
                shape: self.shape.clone(),
                path: self.path.clone(),
                conditions: None,
            },
        }
    }
}

/// How an expression ends that a key can stand for, how the key is compared, and the group with the rest of the path.
const TAILS: &[(&str, MatchShape, Option<char>)] = &[
    ("(/|$)(.*)", MatchShape::Prefix, Some('2')),
    ("(?:/|$)(.*)", MatchShape::Prefix, Some('1')),
    ("(/|$).*", MatchShape::Prefix, None),
    ("(?:/|$).*", MatchShape::Prefix, None),
    ("(/|$)", MatchShape::Prefix, None),
    ("(.*)", MatchShape::Beginning, Some('1')),
    (".*", MatchShape::Beginning, None),
    ("$", MatchShape::Exact, None),
    ("", MatchShape::Beginning, None),
];

/// Reads an expression, and what takes the place of paths that it takes.
///
/// # Errors
/// The form that it must have, behind the word "it".
pub fn read(text: &str, target: Option<&str>) -> Result<Pattern, String> {
    if let Some(pattern) = key(text, target) {
        return Ok(pattern);
    }
    let (flag, rest) = text.strip_prefix("(?i)").map_or(("", text), |rest| ("(?i)", rest));
    let mut expression = format!("{flag}^(?:{rest})");
    if let Some(last) = target.and_then(last_group) {
        let present = groups::present(&expression);
        if present.first_left_out.is_some_and(|left_out| left_out < last) {
            return Err(format!(
                "must take part with each group before \\{last}, which takes the path's place: one of these is in another alternative, or repeated by * or {{0,…}}"
            ));
        }
        expression = present.expression;
    }
    // What finds nothing has nothing to be replaced.
    let cost = match target {
        Some(_) => regex_cost::cost_of_replaced(&expression)?,
        None => regex_cost::cost(&expression, Compared::Path)?,
    };
    let path = if flag.is_empty() { beginning(text) } else { "/".to_owned() };
    let rewrite = target.map(|target| match has_group(target) {
        true => Rewrite::Groups(target.to_owned()),
        false => Rewrite::Whole(target.to_owned()),
    });
    Ok(Pattern { shape: MatchShape::Regex(expression.into()), path: path.into(), cost: Some(cost), rewrite })
}

/// Refuses what is no expression by itself, though it may be a part of one.
///
/// # Errors
/// The form that it must have, behind the word "it".
pub fn check_whole(text: &str) -> Result<(), String> {
    let read = Parser::new().parse(text);
    read.map(drop).map_err(|why| format!("must be a regular expression: {}", why.kind()))
}

/// The key that says the same.
fn key(text: &str, target: Option<&str>) -> Option<Pattern> {
    let text = text.strip_prefix('^').unwrap_or(text);
    let tails = TAILS.iter().filter_map(|(tail, shape, rest)| {
        let open = text.strip_suffix('$').filter(|_| tail.ends_with(".*") || tail.ends_with(".*)"));
        let start = text.strip_suffix(tail).or_else(|| open?.strip_suffix(tail))?;
        Some((literal(start)?, shape, *rest))
    });
    let (path, shape, rest) = tails.into_iter().next()?;
    let is_normal = path::normal(&path).is_ok_and(|normal| normal.text == path);
    if !is_normal || (*shape == MatchShape::Prefix && path.ends_with('/')) {
        return None;
    }
    let rewrite = match target {
        None => None,
        Some(target) => Some(by_key(target, shape, rest)?),
    };
    let shape =
        if *shape == MatchShape::Beginning && path == "/" { MatchShape::Prefix } else { shape.clone() };
    Some(Pattern { shape, path: path.into(), cost: None, rewrite })
}

/// The rewrite for which no groups need be known, if there is one.
fn by_key(target: &str, shape: &MatchShape, rest: Option<char>) -> Option<Rewrite> {
    if !has_group(target) {
        return Some(Rewrite::Whole(target.to_owned()));
    }
    let before = target.strip_suffix(rest?)?.strip_suffix('\\').filter(|before| !has_group(before))?;
    let of = if *shape == MatchShape::Prefix { Rewrite::Below } else { Rewrite::Rest };
    Some(of(before.to_owned()))
}

/// The highest group in it.
fn last_group(target: &str) -> Option<u32> {
    let digits = target.as_bytes().windows(2).filter(|two| two.first() == Some(&b'\\'));
    let numbers = digits.filter_map(|two| char::from(*two.get(1)?).to_digit(10));
    numbers.max()
}

fn has_group(target: &str) -> bool {
    target.as_bytes().windows(2).any(|two| matches!(two, [b'\\', b'0'..=b'9']))
}

/// The text that an expression of characters alone takes.
fn literal(text: &str) -> Option<String> {
    let ast = Parser::new().parse(text).ok()?;
    let all = parts(&ast).iter().map(character).collect::<Option<String>>()?;
    all.starts_with('/').then_some(all)
}

/// The beginning of everything that the expression takes.
#[must_use]
pub fn beginning(text: &str) -> String {
    let Ok(ast) = Parser::new().parse(text) else { return String::new() };
    let is_start = |part: &&Ast| matches!(part, Ast::Assertion(a) if matches!(a.kind, AssertionKind::StartLine | AssertionKind::StartText));
    parts(&ast).iter().skip_while(is_start).map_while(character).collect()
}

fn parts(ast: &Ast) -> &[Ast] {
    match ast {
        Ast::Concat(concat) => &concat.asts,
        Ast::Empty(_) => &[],
        one => std::slice::from_ref(one),
    }
}

fn character(ast: &Ast) -> Option<char> {
    match ast {
        Ast::Literal(literal) if literal.c.is_ascii_graphic() => Some(literal.c),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(text: &str) -> (MatchShape, String) {
        let read = read(text, None).unwrap();
        (read.shape, read.path.to_string())
    }

    #[test]
    fn what_a_key_says_as_well_is_one() {
        for (text, expected, path) in [
            ("/api(/|$)(.*)", MatchShape::Prefix, "/api"),
            ("^/api(?:/|$).*$", MatchShape::Prefix, "/api"),
            ("/a\\.b(/|$)", MatchShape::Prefix, "/a.b"),
            ("/.*", MatchShape::Prefix, "/"),
            ("/(.*)$", MatchShape::Prefix, "/"),
            ("/", MatchShape::Prefix, "/"),
            ("/api/(.*)", MatchShape::Beginning, "/api/"),
            ("/api.*", MatchShape::Beginning, "/api"),
            ("/api", MatchShape::Beginning, "/api"),
            ("/api$", MatchShape::Exact, "/api"),
        ] {
            assert_eq!(shape(text), (expected, path.to_owned()), "{text}");
        }
    }

    #[test]
    fn what_no_key_says_is_asked_and_begins_with_its_literal_part() {
        for (text, path) in [
            ("/api/v[0-9]+", "/api/v"),
            ("/api/?$", "/api"),
            ("/a|/b", ""),
            ("^/x(/.*)?", "/x"),
            ("/a//b", "/a//b"),
            ("/a/(/|$)(.*)", "/a/"),
            ("(?i)/API/.*", "/"),
            (".*", ""),
        ] {
            let (shape, beginning) = shape(text);
            assert!(matches!(shape, MatchShape::Regex(_)), "{text}");
            assert_eq!(beginning, path, "{text}");
        }
        assert!(read("/(a+)+b", None).is_err());
        assert!(read("/(", None).is_err());
        assert!(read(".*", Some("/x")).unwrap_err().contains("must not match the empty path"));
    }

    #[test]
    fn a_key_rewrites_only_what_it_knows() {
        let rewrite = |text: &str, target: &str| read(text, Some(target)).unwrap().rewrite.unwrap();
        assert_eq!(rewrite("/api(/|$)(.*)", "/\\2"), Rewrite::Below("/".into()));
        assert_eq!(rewrite("/api/(.*)", "/v2/\\1"), Rewrite::Rest("/v2/".into()));
        assert_eq!(rewrite("/api(/|$)(.*)", "/v2"), Rewrite::Whole("/v2".into()));
        assert_eq!(rewrite("/api(/|$)(.*)", "/v2\\1x\\2"), Rewrite::Groups("/v2\\1x\\2".into()));
        assert_eq!(rewrite("/api/([0-9]+)", "/v2"), Rewrite::Whole("/v2".into()));
    }

    #[test]
    fn groups_behind_an_optional_one_are_not_lost() {
        let (shape, _) = shape_with("/api(/v1)?/(.*)", "/\\2").unwrap();
        assert_eq!(shape, MatchShape::Regex("^(?:/api((?:/v1)?)/(.*))".into()));
        assert!(shape_with("/(?:(a)|(b))/(.*)", "/\\3").unwrap_err().contains("before \\3"));
        assert!(shape_with("/(?:(a)|(b))/(.*)", "/\\1").is_ok());
    }

    fn shape_with(text: &str, target: &str) -> Result<(MatchShape, String), String> {
        read(text, Some(target)).map(|read| (read.shape, read.path.to_string()))
    }
}
