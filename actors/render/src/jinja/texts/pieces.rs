//! Texts cut into pieces, as Python's methods cut them.

use super::TextSubject;
use crate::{
    evaluation::EvaluationResult,
    jinja::{evaluate::JinjaEvaluator, operand::Operand, operators::text_from},
};

impl<'p> JinjaEvaluator<'_, 'p> {
    /// `split` and `rsplit`.
    pub fn split_text(&mut self, of: &TextSubject<'_, 'p>, name: &str) -> EvaluationResult<Operand<'p>> {
        check_separator(of, name)?;
        self.new_list(made(of, &split(of, name == "rsplit")))
    }

    pub fn split_lines(&mut self, of: &TextSubject<'_, 'p>) -> EvaluationResult<Operand<'p>> {
        self.new_list(made(of, &lines(&of.text, of.given.is_true(0, "keepends", false))))
    }
}

/// The text before the first separator, the separator, and the text behind it.
pub(in crate::jinja) fn parted<'p>(of: &TextSubject<'_, 'p>) -> Result<Operand<'p>, String> {
    check_separator(of, "partition")?;
    let by = of.argument(0).unwrap_or_default();
    let cut = of.text.split_once(&*by);
    Ok(tuple(of, cut.map_or([&*of.text, "", ""], |(before, after)| [before, &*by, after])))
}

/// The same for the last separator.
pub(in crate::jinja) fn parted_from_end<'p>(of: &TextSubject<'_, 'p>) -> Result<Operand<'p>, String> {
    check_separator(of, "rpartition")?;
    let by = of.argument(0).unwrap_or_default();
    let cut = of.text.rsplit_once(&*by);
    Ok(tuple(of, cut.map_or(["", "", &*of.text], |(before, after)| [before, &*by, after])))
}

fn check_separator(of: &TextSubject<'_, '_>, name: &str) -> Result<(), String> {
    match of.given.get(0, "sep").is_some_and(|by| by.is_text() && !by.is_true()) {
        true => Err(format!("{name}: the separator is empty")),
        false => Ok(()),
    }
}

fn tuple<'p>(of: &TextSubject<'_, 'p>, pieces: [&str; 3]) -> Operand<'p> {
    Operand::Tuple(made(of, &pieces).into())
}

fn made<'p>(of: &TextSubject<'_, 'p>, pieces: &[impl AsRef<str>]) -> Vec<Operand<'p>> {
    let from = of.given.with(of.operand);
    pieces.iter().map(|piece| text_from(piece.as_ref(), &from)).collect()
}

fn split<'t>(of: &'t TextSubject<'_, '_>, from_end: bool) -> Vec<&'t str> {
    let (given, text) = (&of.given, &*of.text);
    let by = given.text(0, "sep").filter(|_| given.get(0, "sep").is_some_and(|by| !by.is_none()));
    let most = given.get(1, "maxsplit").and_then(Operand::whole).and_then(|most| usize::try_from(most).ok());
    match (by, most) {
        (Some(by), None) => text.split(&*by).collect(),
        (Some(by), Some(most)) if from_end => {
            let mut pieces: Vec<_> = text.rsplitn(most.saturating_add(1), &*by).collect();
            pieces.reverse();
            pieces
        }
        (Some(by), Some(most)) => text.splitn(most.saturating_add(1), &*by).collect(),
        (None, None) => text.split_whitespace().collect(),
        (None, Some(most)) => split_at_space(text, from_end, most),
    }
}

/// Words, the last or the first one with all that is left after so many.
fn split_at_space(text: &str, from_end: bool, most: usize) -> Vec<&str> {
    let mut pieces = Vec::new();
    let mut rest = if from_end { text.trim_end() } else { text.trim_start() };
    while pieces.len() < most
        && let Some((a, b)) = if from_end {
            rest.rsplit_once(char::is_whitespace)
        } else {
            rest.split_once(char::is_whitespace)
        }
    {
        let (piece, left) = if from_end { (b, a.trim_end()) } else { (a, b.trim_start()) };
        pieces.push(piece);
        rest = left;
    }
    if !rest.is_empty() {
        pieces.push(rest);
    }
    if from_end {
        pieces.reverse();
    }
    pieces
}

/// The lines of a text, as Python tells them apart.
fn lines(of: &str, keeps_ends: bool) -> Vec<&str> {
    let mut lines = Vec::new();
    let mut rest = of;
    while !rest.is_empty() {
        let is_end = |c: char| {
            matches!(c, '\n' | '\r' | '\x0b' | '\x0c' | '\x1c'..='\x1e' | '\u{85}' | '\u{2028}' | '\u{2029}')
        };
        let end = rest.find(is_end).unwrap_or(rest.len());
        let behind = rest.get(end..).unwrap_or_default();
        let length =
            if behind.starts_with("\r\n") { 2 } else { behind.chars().next().map_or(0, char::len_utf8) };
        let (line, after) = rest.split_at_checked(end + length).unwrap_or((rest, ""));
        lines.push(if keeps_ends { line } else { line.get(..end).unwrap_or(line) });
        rest = after;
    }
    lines
}
