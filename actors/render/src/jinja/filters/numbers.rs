//! Filters that give numbers, as Python's do.

use crate::{
    jinja::{arguments::FilterArguments, operand::Operand},
    value::Value,
};
use std::{
    borrow::Cow,
    num::{IntErrorKind, ParseIntError},
};

/// From here on numbers with a fraction do not fit in a whole one.
const TOO_LARGE: f64 = 9.2e18;

pub(super) fn absolute<'p>(subject: &Operand<'p>) -> Result<Operand<'p>, String> {
    match (subject.whole(), subject.number()) {
        (Some(number), _) => Ok(whole(number.checked_abs().unwrap_or(i64::MAX))),
        (None, Some(number)) => fraction(number.abs()),
        _ => Err(format!("abs: {} is no number", subject.describe())),
    }
}

pub(super) fn logarithm<'p>(
    subject: &Operand<'p>,
    given: &FilterArguments<'p>,
) -> Result<Operand<'p>, String> {
    let of = subject.number().filter(|n| *n > 0.0);
    let of = of.ok_or_else(|| format!("log: {} has no logarithm", subject.describe()))?;
    fraction(match given.get(0, "base").and_then(Operand::number) {
        None => of.ln(),
        Some(2.0) => of.log2(),
        Some(10.0) => of.log10(),
        Some(base) => of.ln() / base.ln(),
    })
}

pub(super) fn int<'p>(subject: &Operand<'p>, given: &FilterArguments<'p>) -> Result<Operand<'p>, String> {
    if let Some(number) = subject.whole() {
        return Ok(whole(number));
    }
    let base =
        u32::try_from(given.whole(1, "base", 10)).ok().filter(|base| (2..=36).contains(base)).unwrap_or(10);
    let spelled = subject.printed().filter(|_| subject.is_text());
    match spelled.as_deref().map(|text| spelled_whole(text, base)) {
        Some(Ok(number)) => return Ok(whole(number)),
        Some(Err(e)) if matches!(e.kind(), IntErrorKind::PosOverflow | IntErrorKind::NegOverflow) => {
            return Err(format!("int: {} has more than 64 bits", subject.describe()));
        }
        Some(Err(_)) | None => {}
    }
    let number = subject.number().or_else(|| spelled.and_then(|text| ungrouped(text.trim()).parse().ok()));
    Ok(match number.filter(|number| number.abs() < TOO_LARGE) {
        Some(number) => whole(truncated(number)),
        None => given.get(0, "default").cloned().unwrap_or(Operand::count(0)),
    })
}

/// The whole number that a text spells in that base.
fn spelled_whole(text: &str, base: u32) -> Result<i64, ParseIntError> {
    let text = &*ungrouped(text.trim());
    let digits = text.trim_start_matches(['-', '+']);
    // 0x, 0b and 0o may stand before a number of that base.
    let letter = digits.strip_prefix('0').and_then(|rest| rest.chars().next());
    let has_prefix =
        matches!((base, letter), (16, Some('x' | 'X')) | (8, Some('o' | 'O')) | (2, Some('b' | 'B')));
    match digits.split_at_checked(2).filter(|_| has_prefix) {
        Some((_, digits)) if text.starts_with('-') => i64::from_str_radix(&format!("-{digits}"), base),
        Some((_, digits)) => i64::from_str_radix(digits, base),
        None => i64::from_str_radix(text, base),
    }
}

/// Digits without the `_` between them, where each stands between two.
fn ungrouped(digits: &str) -> Cow<'_, str> {
    let is_digit = |c: Option<char>| c.is_some_and(|c| c.is_ascii_alphanumeric());
    let mut groups = digits.split('_').peekable();
    let mut is_grouped = digits.contains('_');
    while let Some(group) = groups.next() {
        let Some(next) = groups.peek() else { break };
        is_grouped &= is_digit(group.chars().next_back()) && is_digit(next.chars().next());
    }
    if is_grouped { digits.replace('_', "").into() } else { digits.into() }
}

pub(super) fn float<'p>(subject: &Operand<'p>, given: &FilterArguments<'p>) -> Result<Operand<'p>, String> {
    let spelled = || {
        subject.printed().filter(|_| subject.is_text()).and_then(|text| ungrouped(text.trim()).parse().ok())
    };
    match subject.number().or_else(spelled).filter(|number: &f64| number.is_finite()) {
        Some(number) => fraction(number),
        None => given.get(0, "default").cloned().map_or_else(|| fraction(0.0), Ok),
    }
}

pub(super) fn rounded<'p>(subject: &Operand<'p>, given: &FilterArguments<'p>) -> Result<Operand<'p>, String> {
    let number = subject.number().ok_or_else(|| format!("round: {} is no number", subject.describe()))?;
    let digits = i32::try_from(given.whole(0, "precision", 0)).unwrap_or(0).clamp(-300, 300);
    let method = given.text(1, "method").unwrap_or_else(|| "common".into());
    let scale = 10f64.powi(digits);
    let scaled = number * scale;
    let result = match &*method {
        // Python goes by a whole number, which has no -0.
        "ceil" => (scaled.ceil() + 0.0) / scale,
        "floor" => (scaled.floor() + 0.0) / scale,
        "common" if digits >= 0 => {
            let digits = usize::try_from(digits).unwrap_or(0);
            format!("{number:.digits$}").parse().unwrap_or(number)
        }
        "common" => scaled.round_ties_even() / scale,
        other => return Err(format!("round: {other:?} is none of common, ceil, floor")),
    };
    match (&*method, subject.whole()) {
        // Python rounds a whole number to a whole number, but with `ceil` and `floor`.
        ("common", Some(_)) if result.abs() < TOO_LARGE => Ok(whole(truncated(result))),
        _ => fraction(result),
    }
}

fn whole<'p>(number: i64) -> Operand<'p> {
    Operand::Value(Value::integer(number))
}

fn fraction<'p>(number: f64) -> Result<Operand<'p>, String> {
    let number = serde_json::Number::from_f64(number).ok_or("the result is not a finite number")?;
    Ok(Operand::Value(Value::Number(number)))
}

#[expect(clippy::cast_possible_truncation, reason = "it is checked to fit; a fraction is cut off")]
fn truncated(number: f64) -> i64 {
    number as i64
}
