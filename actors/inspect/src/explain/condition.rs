//! Whether a rule applies to a request: `if host_shop { path_beg /cart } || !secure`.

use super::expression::{Sample, Traveller};
use haptic_haproxy::{Section, Word};
use regex::Regex;

/// `Ok(None)`: whether it does is not known, because of the fetch or flag that `Err` would name.
pub type ConditionValue = Result<bool, String>;

/// Judges the words from `if` or `unless` on; no words: it always applies.
pub fn applies(words: &[Word<'_>], section: &Section<'_>, traveller: &mut Traveller<'_>) -> ConditionValue {
    let Some((first, terms)) = words.split_first() else { return Ok(true) };
    let negated = match &*first.value {
        "if" => false,
        "unless" => true,
        other => return Err(other.to_owned()),
    };
    let mut unknown = None;
    for alternative in terms.split(|word| is_or(&word.value)) {
        match all_of(alternative, section, traveller) {
            Ok(true) => return Ok(!negated),
            Ok(false) => {}
            Err(why) => unknown = Some(why),
        }
    }
    unknown.map_or(Ok(negated), Err)
}

fn is_or(word: &str) -> bool {
    word == "||" || word.eq_ignore_ascii_case("or")
}

/// Terms that must all hold. One that does not hold decides, whatever the others are.
fn all_of(terms: &[Word<'_>], section: &Section<'_>, traveller: &mut Traveller<'_>) -> ConditionValue {
    let mut rest = terms;
    let mut unknown = None;
    while let Some((first, after)) = rest.split_first() {
        let mut name = &*first.value;
        let mut negated = false;
        let mut words = after;
        while let Some(stripped) = name.strip_prefix('!') {
            (name, negated) = (stripped, !negated);
        }
        if name.is_empty() {
            let Some((next, after)) = words.split_first() else { return Err("!".into()) };
            (name, words) = (&*next.value, after);
        }
        let holds = if name == "{" {
            let end = words.iter().position(|word| word.value == "}").unwrap_or(words.len());
            let (inside, after) = words.split_at_checked(end).unwrap_or((words, &[]));
            words = after.get(1..).unwrap_or_default();
            test(inside, traveller)
        } else {
            named(name, section, traveller)
        };
        match holds {
            Ok(holds) if holds == negated => return Ok(false),
            Ok(_) => {}
            Err(why) => unknown = Some(why),
        }
        rest = words;
    }
    unknown.map_or(Ok(true), Err)
}

/// An `acl` of the section: any of its lines may hold.
fn named(name: &str, section: &Section<'_>, traveller: &mut Traveller<'_>) -> ConditionValue {
    match name {
        "TRUE" => return Ok(true),
        "FALSE" => return Ok(false),
        "METH_GET" => return Ok(true),
        name if name.starts_with("METH_") => return Ok(false),
        _ => {}
    }
    let mut unknown = Some(name.to_owned());
    for line in section.lines.iter().filter(|line| line.keyword() == "acl" && line.value(1) == name) {
        match test(line.from(2), traveller) {
            Ok(true) => return Ok(true),
            Ok(false) => unknown = None,
            Err(why) => unknown = Some(why),
        }
    }
    unknown.map_or(Ok(false), Err)
}

/// One test: an expression, flags, patterns.
fn test(words: &[Word<'_>], traveller: &mut Traveller<'_>) -> ConditionValue {
    let Some((expression, rest)) = words.split_first() else { return Err("an empty test".into()) };
    let value = traveller.sample(&expression.value);
    let (mut any_case, mut how) = (false, of_fetch(&expression.value));
    let mut rest = rest;
    while let Some((flag, after)) = rest.split_first() {
        match &*flag.value {
            "-i" => any_case = true,
            "-m" => {
                how = after.first().map(|word| word.value.to_string()).unwrap_or_default();
                rest = after;
            }
            "--" => {
                rest = after;
                break;
            }
            flag if flag.starts_with('-') => return Err(flag.to_owned()),
            _ => break,
        }
        rest = rest.get(1..).unwrap_or_default();
    }
    let text = match value {
        Sample::Unknown(why) => return Err(why),
        Sample::Nothing => return Ok(false),
        Sample::Text(text) if any_case => text.to_ascii_lowercase(),
        Sample::Text(text) => text,
    };
    if how == "found" {
        return Ok(true);
    }
    if how == "bool" || rest.is_empty() {
        return Ok(text == "1" || text == "true");
    }
    if let [operator, number] = rest
        && let Some(holds) = compared(&text, &operator.value, &number.value)
    {
        return Ok(holds);
    }
    let mut holds = false;
    for pattern in rest {
        let pattern = if any_case { pattern.value.to_ascii_lowercase() } else { pattern.value.to_string() };
        holds |= match how.as_str() {
            "str" => text == pattern,
            "beg" => text.starts_with(&pattern),
            "end" => text.ends_with(&pattern),
            "sub" => text.contains(&pattern),
            "dir" => text.split('/').any(|part| part == pattern.trim_matches('/')),
            "reg" => Regex::new(&pattern).map_err(|_| pattern.clone())?.is_match(&text),
            other => return Err(format!("-m {other}")),
        };
    }
    Ok(holds)
}

/// `gt 5000`: of two integers. `None`: it is no comparison.
fn compared(text: &str, operator: &str, number: &str) -> Option<bool> {
    let (value, number): (i64, i64) = (text.parse().ok()?, number.parse().ok()?);
    match operator {
        "eq" => Some(value == number),
        "ge" => Some(value >= number),
        "gt" => Some(value > number),
        "le" => Some(value <= number),
        "lt" => Some(value < number),
        _ => None,
    }
}

/// The match that a fetch's own name asks for: `path_beg`.
fn of_fetch(expression: &str) -> String {
    let name = expression.split(['(', ',']).next().unwrap_or_default();
    let ends = ["beg", "end", "sub", "dir", "reg"].into_iter().find(|how| name.ends_with(&format!("_{how}")));
    ends.unwrap_or("str").to_owned()
}
