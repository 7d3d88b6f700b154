//! Expressions for origins (`cors-allow-origin`), as the lists of origins that they stand for.
//!
//! Theirs find something in an origin; ours are compared whole. So of `https://shop.example` the origin `https://shop.example.evil`
//! is none, which it is there.

use super::translation::Translation;
use regex_syntax::hir::{Class, Hir, HirKind};

/// An origin that no page has.
const NOBODY: &str = "https://nobody.invalid";

/// Expressions that find something in every origin, as one of whole origins.
const ANY: [&str; 5] = [".*", "^.*$", ".+", "^.+$", "^.*"];
const ANY_WHOLE: &str = ".+";

/// With which an expression takes letters of either case.
const ANY_CASE: &str = "(?i)";

/// The most origins that one expression stands for.
const MOST: usize = 100;
/// No origin has more bytes: a scheme, a host's name and a port.
const LONGEST: usize = 300;

/// Lets in the origins in which one of these expressions finds something, as whole ones: few of them as a list, others by an expression.
/// Whether that can be.
pub fn set(expressions: &[&str], more: &[&str], key: &str, out: &mut Translation<'_>) -> bool {
    let read = |text: &&str| {
        read(text).filter(|all| all.iter().all(|origin| origin == "*" || !origin.contains('*')))
    };
    let lists: Option<Vec<Vec<String>>> = expressions.iter().map(read).collect();
    let more: Vec<String> = more.iter().map(|origin| (*origin).to_owned()).collect();
    if let Some(lists) = lists {
        let all: Vec<String> = lists.concat().into_iter().chain(more).collect();
        out.set("cors-allow-origin", &all.join(", "), key);
        return out.has("cors-allow-origin");
    }
    // The case counts in all of them, or in none.
    let flag = if expressions.iter().all(|text| text.starts_with(ANY_CASE)) { ANY_CASE } else { "" };
    let whole = |text: &&str| {
        let text = text.strip_prefix(flag).unwrap_or(text);
        let text = if ANY.contains(&text) { ANY_WHOLE } else { text };
        let text = text.strip_prefix('^').unwrap_or(text);
        format!("(?:{})", text.strip_suffix('$').unwrap_or(text))
    };
    let pattern = expressions.iter().map(whole).collect::<Vec<_>>().join("|");
    if let Some(rest) = expressions.iter().find(|text| begins_within(text)) {
        let how = format!("has {rest:?}, which is compared with whole origins and takes none of them");
        out.differs(key, &how);
    }
    out.set("cors-allow-origin-regex", &format!("{flag}{pattern}"), key);
    if !out.has("cors-allow-origin-regex") {
        return false;
    }
    let all: Vec<String> = more.into_iter().chain([NOBODY.to_owned()]).collect();
    out.set("cors-allow-origin", &all.join(", "), key);
    true
}

/// Whether an expression finds something behind the begin of an origin alone: each begins with its scheme.
fn begins_within(text: &str) -> bool {
    let text = text.strip_prefix(ANY_CASE).unwrap_or(text);
    let is_literal = text.starts_with("\\.") || text.starts_with(|c: char| c.is_ascii_alphanumeric());
    is_literal && !text.contains("//") && text != "null"
}

/// `*`, of which pages are told as it stands, or the origins; `None` where the expression is not one of whole origins.
#[must_use]
pub fn read(text: &str) -> Option<Vec<String>> {
    if text == "*" {
        return Some(vec!["*".to_owned()]);
    }
    let hir = regex_syntax::ParserBuilder::new().unicode(false).utf8(false).build().parse(text).ok()?;
    let all = texts(&hir)?;
    let is_origin = |origin: &String| {
        let host = origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://"));
        host.is_some_and(|host| {
            let host = host.strip_prefix("*.").unwrap_or(host);
            !host.is_empty() && host.chars().all(|c| c.is_ascii_alphanumeric() || ".-:".contains(c))
        })
    };
    (!all.is_empty() && all.iter().all(is_origin)).then_some(all)
}

/// All texts of it, in which `*` stands for a label.
fn texts(hir: &Hir) -> Option<Vec<String>> {
    match hir.kind() {
        HirKind::Empty | HirKind::Look(_) => Some(vec![String::new()]),
        HirKind::Literal(literal) => Some(vec![std::str::from_utf8(&literal.0).ok()?.to_owned()]),
        HirKind::Capture(capture) => texts(&capture.sub),
        HirKind::Alternation(some) => {
            let all: Vec<String> = some.iter().map(texts).collect::<Option<Vec<_>>>()?.concat();
            (all.len() <= MOST).then_some(all)
        }
        HirKind::Concat(parts) => parts.iter().try_fold(vec![String::new()], |all, part| {
            if matches!(part.kind(), HirKind::Empty | HirKind::Look(_)) {
                return Some(all);
            }
            let next = texts(part)?;
            let joined: Vec<String> = all
                .iter()
                .flat_map(|first| next.iter().map(move |second| format!("{first}{second}")))
                .collect();
            (joined.len() <= MOST && joined.iter().all(|text| text.len() <= LONGEST)).then_some(joined)
        }),
        HirKind::Repetition(repetition) if repetition.min == 0 && repetition.max == Some(1) => {
            let mut all = texts(&repetition.sub)?;
            all.push(String::new());
            Some(all)
        }
        // Of what may be anything a label is left.
        HirKind::Repetition(repetition) if repetition.max.is_none() => match repetition.sub.kind() {
            HirKind::Class(_) => Some(vec!["*".to_owned()]),
            _ => None,
        },
        // A dot that nobody escaped.
        HirKind::Class(_) if is_any(hir) => Some(vec![".".to_owned()]),
        HirKind::Class(Class::Bytes(class)) => {
            let all = class.ranges().iter().flat_map(|range| range.start()..=range.end());
            let few: Vec<String> = all.take(MOST + 1).map(|byte| char::from(byte).to_string()).collect();
            (few.len() <= MOST).then_some(few)
        }
        HirKind::Class(Class::Unicode(class)) => {
            let all = class.ranges().iter().flat_map(|range| range.start()..=range.end());
            let few: Vec<String> = all.take(MOST + 1).map(String::from).collect();
            (few.len() <= MOST).then_some(few)
        }
        _ => None,
    }
}

fn is_any(hir: &Hir) -> bool {
    *hir == Hir::dot(regex_syntax::hir::Dot::AnyByteExceptLF)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_expression_of_origins_is_a_list_of_them() {
        for (text, expected) in [
            ("*", "*"),
            ("https://shop.example", "https://shop.example"),
            ("^https://shop\\.example$", "https://shop.example"),
            (
                "^https://(a|b)\\.shop\\.example(:8443)?$",
                "https://a.shop.example:8443 https://a.shop.example https://b.shop.example:8443 https://b.shop.example",
            ),
            ("https?://shop.example", "https://shop.example http://shop.example"),
            ("^https://.*\\.shop\\.example$", "https://*.shop.example"),
            ("^https://[^.]+\\.shop\\.example$", "https://*.shop.example"),
        ] {
            assert_eq!(read(text).map(|all| all.join(" ")).as_deref(), Some(expected), "{text}");
        }
        for text in [
            "(",
            "shop",
            "https://",
            "^https://[a-z]{2}\\.shop\\.example$",
            "https://a.*b",
            "null",
            ".*",
            "^.+$",
        ] {
            assert_eq!(read(text), None, "{text}");
        }
        let long = format!("https://[a-j][a-j]{}", ".a".repeat(30_000));
        assert_eq!(read(&long), None, "no host has such a name");
    }
}
