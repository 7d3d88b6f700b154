//! Lines of a regular expression and a path: `rewrite-rules`.

use super::{form::Form, value::OptionValue};
use crate::{matching::regex_cost, sentences::shortened};
use regex_syntax::hir::{Hir, HirKind, Look};

/// The most lines.
const MOST: usize = 5;
/// The longest path of one.
const LONGEST: usize = 500;

/// Reads `text`.
///
/// # Errors
/// The form that they must have, behind the word "it".
pub fn read(text: &str) -> Result<OptionValue, String> {
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    if lines.is_empty() || lines.len() > MOST {
        return Err(format!("must be {}", expected()));
    }
    let rules: Vec<(String, String)> = lines.into_iter().map(rule).collect::<Result<_, _>>()?;
    let cost = regex_cost::cost_of_rewrites(rules.iter().map(|(pattern, _)| pattern.as_str()))?;
    let longest_path = (cost.longest_path < regex_cost::LONGEST_PATH).then_some(cost.longest_path);
    Ok(OptionValue::Rewrites { rules, longest_path })
}

fn rule(line: &str) -> Result<(String, String), String> {
    let wrong = || format!("must be {}: {:?} is none", expected(), shortened(line));
    let (pattern, path) = line.split_once(char::is_whitespace).ok_or_else(wrong)?;
    let path = path.trim();
    let begins = path.starts_with("\\1") && finds_beginning(pattern);
    let is_path = match begins {
        true => Form::Replacement.has(&format!("/{path}")),
        false => Form::Replacement.has(path),
    };
    (is_path && path.len() <= LONGEST).then(|| (pattern.to_owned(), path.to_owned())).ok_or_else(wrong)
}

/// Whether what the first group finds is the beginning of the path, and so begins with a slash.
fn finds_beginning(pattern: &str) -> bool {
    let parser = regex_syntax::ParserBuilder::new().unicode(false).utf8(false).build().parse(pattern);
    let Ok(HirKind::Concat(parts)) = parser.map(Hir::into_kind) else { return false };
    let [start, HirKind::Capture(group)] =
        parts.get(..2).unwrap_or_default().iter().map(Hir::kind).collect::<Vec<_>>()[..]
    else {
        return false;
    };
    let is_never_empty = group.sub.properties().minimum_len().is_some_and(|least| least > 0);
    matches!(start, HirKind::Look(Look::Start)) && group.index == 1 && is_never_empty
}

/// The form of a value, behind "it must be".
#[must_use]
pub fn expected() -> String {
    format!(
        "up to {MOST} lines of PATTERN PATH: a regular expression that does not go back and forth over a path, and a path of up to {LONGEST} characters that begins with /, or with \\1 where the expression begins with ^( and that group is never empty, without blanks"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_begins_with_a_slash_whatever_is_found() {
        for line in ["^/a/(.*) /b/\\1", "^([^.]*[^/])$ \\1/", "^(/.+) \\1", "(?i)^(/a)x \\1?y"] {
            assert!(read(line).is_ok(), "{line}");
        }
        for line in [
            "/foo/(.*) \\1",
            "^/foo/(.*) \\1",
            "^(/a)?(.*)b \\1",
            "(/a.) \\1",
            "^(a*)b \\1",
            "^(?:/a)(/b) \\1",
            "^(/a)(/b) \\2",
        ] {
            assert!(read(line).is_err(), "{line}");
        }
    }
}
