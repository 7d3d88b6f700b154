//! Operations on texts: as filters, as methods of texts, and by `format`.
//!
//! A result made of a text of the template stays one; a result made of a value, or with one, is a value.

mod braces;
mod format;
pub(super) mod pieces;

use super::{
    arguments::FilterArguments,
    evaluate::JinjaEvaluator,
    operand::Operand,
    operators::{check_length, text_from},
};
use crate::evaluation::EvaluationResult;
use std::sync::Arc;

/// A text, and what is given to make something of it.
pub(super) struct TextSubject<'s, 'p> {
    pub operand: &'s Operand<'p>,
    /// The text that is printed of it.
    pub text: Arc<str>,
    pub given: FilterArguments<'p>,
    /// The bytes that a text made of it may have.
    longest: usize,
}

/// The operation of a filter or a method on a text.
#[derive(Clone, Copy, Debug)]
pub(super) enum TextOperation {
    /// Makes another text of it.
    Makes(fn(&TextSubject<'_, '_>) -> Result<String, String>),
    /// Gives any value.
    Gives(for<'p> fn(&mut JinjaEvaluator<'_, 'p>, &TextSubject<'_, 'p>) -> EvaluationResult<Operand<'p>>),
}

impl<'p> TextSubject<'_, 'p> {
    /// The text that is printed of the argument at that place.
    pub fn argument(&self, place: usize) -> Option<Arc<str>> {
        self.given.positional.get(place).and_then(Operand::printed)
    }

    /// A text that is made of it.
    fn made(&self, text: &str) -> Operand<'p> {
        text_from(text, &self.given.with(self.operand))
    }

    fn check_length(&self, bytes: usize) -> Result<(), String> {
        check_length(bytes, self.longest)
    }

    /// The part of it that the second and the third argument say, and how many characters stand before that.
    pub fn part(&self) -> (&str, usize) {
        let (start, end) = (self.given.positional.get(1), self.given.positional.get(2));
        if start.is_none() && end.is_none() {
            return (&*self.text, 0);
        }
        let count = i64::try_from(self.text.chars().count()).unwrap_or(i64::MAX);
        let place = |bound: Option<&Operand<'_>>, otherwise: i64| match bound.and_then(Operand::whole) {
            Some(bound) if bound < 0 => bound.saturating_add(count).max(0),
            Some(bound) => bound.min(count),
            None => otherwise,
        };
        let (start, end) = (place(start, 0), place(end, count));
        let byte = |place: i64| {
            let place = usize::try_from(place).unwrap_or(0);
            self.text.char_indices().nth(place).map_or(self.text.len(), |(at, _)| at)
        };
        let part = self.text.get(byte(start)..byte(end)).unwrap_or_default();
        (part, usize::try_from(start).unwrap_or(0))
    }
}

impl<'p> JinjaEvaluator<'_, 'p> {
    pub fn text_operation(
        &mut self,
        operation: TextOperation,
        operand: &Operand<'p>,
        text: Arc<str>,
        given: FilterArguments<'p>,
    ) -> EvaluationResult<Operand<'p>> {
        let of = TextSubject { operand, text, given, longest: self.longest_text() };
        match operation {
            TextOperation::Makes(make) => {
                let text = make(&of)?;
                self.machine.made(text.len())?;
                Ok(of.made(&text))
            }
            TextOperation::Gives(give) => give(self, &of),
        }
    }
}

pub(super) fn starts_with(of: &TextSubject<'_, '_>) -> bool {
    any_argument(of, |with| of.part().0.starts_with(with))
}

pub(super) fn ends_with(of: &TextSubject<'_, '_>) -> bool {
    any_argument(of, |with| of.part().0.ends_with(with))
}

/// Whether the first argument fits, or any text of it where it is a tuple.
fn any_argument(of: &TextSubject<'_, '_>, fits: impl Fn(&str) -> bool) -> bool {
    match of.given.positional.first() {
        Some(Operand::Tuple(all)) => all.iter().filter_map(Operand::printed).any(|one| fits(&one)),
        _ => of.argument(0).is_some_and(|one| fits(&one)),
    }
}

pub(super) fn capitalized(of: &TextSubject<'_, '_>) -> Result<String, String> {
    let mut characters = of.text.chars();
    let first = characters.next().map(title_case).unwrap_or_default();
    Ok(first + &characters.as_str().to_lowercase())
}

/// A character as a word begins with it: of several that it becomes, one is large.
pub(super) fn title_case(c: char) -> String {
    let mut large = c.to_uppercase();
    large.next().into_iter().chain(large.flat_map(char::to_lowercase)).collect()
}

pub(super) fn replaced(of: &TextSubject<'_, '_>) -> Result<String, String> {
    let old = of.given.text(0, "old").unwrap_or_default();
    let new = of.given.text(1, "new").unwrap_or_default();
    let count = of.given.get(2, "count").and_then(Operand::whole);
    of.check_length(of.text.len().saturating_mul(new.len().max(1)))?;
    Ok(match count.and_then(|count| usize::try_from(count).ok()) {
        Some(count) => of.text.replacen(&*old, &new, count),
        None => of.text.replace(&*old, &new),
    })
}

/// Without white space, or the characters that are given, at its start, its end or both.
pub(super) fn trimmed(of: &TextSubject<'_, '_>, [start, end]: [bool; 2]) -> String {
    let asked = of.given.get(0, "chars").filter(|chars| !chars.is_none()).and_then(Operand::printed);
    let goes = |c: char| match &asked {
        Some(asked) => asked.contains(c),
        None => c.is_whitespace() || ('\u{1c}'..='\u{1f}').contains(&c),
    };
    let text = if start { of.text.trim_start_matches(goes) } else { &*of.text };
    let text = if end { text.trim_end_matches(goes) } else { text };
    text.to_owned()
}

pub(super) fn centered(of: &TextSubject<'_, '_>) -> Result<String, String> {
    filled(of, |missing, width| {
        // As Python does: of an odd number the larger half stands before, if the width is odd.
        let before = missing / 2 + (missing & width & 1);
        [before, missing - before]
    })
}

/// The text with as much filling before and behind it as `sides` says of what is missing to the width.
pub(super) fn filled(
    of: &TextSubject<'_, '_>,
    sides: impl Fn(usize, usize) -> [usize; 2],
) -> Result<String, String> {
    let filling = of.argument(1).and_then(|text| text.chars().next()).unwrap_or(' ');
    let width = width(of)?;
    let fill = |count: usize| filling.to_string().repeat(count);
    let [before, behind] = sides(missing(of, width), width);
    Ok(fill(before) + &of.text + &fill(behind))
}

/// With zeros before it, or behind its sign.
pub(super) fn zero_filled(of: &TextSubject<'_, '_>) -> Result<String, String> {
    let zeros = "0".repeat(missing(of, width(of)?));
    Ok(match of.text.strip_prefix(['-', '+']) {
        Some(digits) => format!("{}{zeros}{digits}", of.text.get(..1).unwrap_or_default()),
        None => zeros + &of.text,
    })
}

fn missing(of: &TextSubject<'_, '_>, width: usize) -> usize {
    width.saturating_sub(of.text.chars().count())
}

/// The width that is given, which a text may have.
fn width(of: &TextSubject<'_, '_>) -> Result<usize, String> {
    let width = usize::try_from(of.given.whole(0, "width", 80)).unwrap_or(0);
    of.check_length(width.saturating_add(of.text.len()))?;
    Ok(width)
}
