//! Lines of a regular expression and a path: `rewrite-rules`.

use super::{kind::Form, value::OptionValue};
use crate::{regex_cost, sentences::shortened};

/// So many lines.
const MOST: usize = 5;
/// The longest path of one.
const LONGEST: usize = 500;

/// Reads `text`.
///
/// # Errors
/// What it must be, behind the word "it".
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
    let is_path = path.len() <= LONGEST && Form::Replacement.has(path);
    is_path.then(|| (pattern.to_owned(), path.to_owned())).ok_or_else(wrong)
}

/// What a value must be, behind "it must be".
#[must_use]
pub fn expected() -> String {
    format!(
        "up to {MOST} lines of PATTERN PATH: a regular expression that does not go back and forth over a path, and a path of up to {LONGEST} characters that begins with /, without blanks"
    )
}
