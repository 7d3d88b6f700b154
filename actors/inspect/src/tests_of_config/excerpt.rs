//! The lines around a place, each with the template line and the object it comes from.

use haptic_text::Text;
use serde::Serialize;
use std::collections::BTreeSet;

/// Lines shown before and after.
const AROUND: usize = 2;

/// Places shown; a pattern may match everywhere.
const PLACES: usize = 3;

/// Lines that are compared in search of a similar one.
const SEARCHED: usize = 5000;

/// A line less similar than this is no help.
const SIMILAR: f64 = 0.3;

/// One line of a rendered file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ExcerptLine {
    /// From 1.
    pub number: usize,
    /// Without its end.
    pub text: String,
    /// `haproxyConfig:12`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub template: Option<String>,
    /// `ingresses default/shop`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub object: Option<String>,
    /// Whether it is the line meant; the others are around it.
    pub marked: bool,
}

/// The lines around those of these numbers (from 1).
pub(super) fn around(text: &Text, numbers: &[usize]) -> Vec<ExcerptLine> {
    let content = text.to_string();
    let marked: BTreeSet<usize> = numbers.iter().copied().take(PLACES).collect();
    let shown = |number: usize| marked.iter().any(|m| m.abs_diff(number) <= AROUND);
    let lines = content.lines().enumerate().map(|(index, line)| (index + 1, line));
    lines
        .filter(|(number, _)| shown(*number))
        .map(|(number, line)| {
            let origin = u32::try_from(number).ok().and_then(|number| text.origin(number));
            ExcerptLine {
                number,
                text: line.to_owned(),
                template: origin.as_ref().map(|o| format!("{}:{}", o.template, o.line)),
                object: origin.and_then(|o| o.object).map(|o| o.to_string()),
                marked: marked.contains(&number),
            }
        })
        .collect()
}

/// The number of the line that `offset` of `content` is in.
pub(super) fn line_of(content: &str, offset: usize) -> usize {
    content.bytes().take(offset).filter(|byte| *byte == b'\n').count() + 1
}

/// The line most like `pattern`, if any is: what was probably meant.
pub(super) fn similar(content: &str, pattern: &str) -> Option<usize> {
    let plain = plain(pattern);
    let likeness = |line: &str| strsim::sorensen_dice(&plain, line.trim());
    let lines = content.lines().take(SEARCHED).enumerate().map(|(index, line)| (likeness(line), index + 1));
    let (score, number) = lines.max_by(|a, b| a.0.total_cmp(&b.0))?;
    (score >= SIMILAR).then_some(number)
}

/// A regular expression's letters, without what it says about them.
fn plain(pattern: &str) -> String {
    let mut plain = String::new();
    let mut characters = pattern.chars();
    while let Some(character) = characters.next() {
        match character {
            '\\' => match characters.next() {
                Some('s' | 'S' | 'b') => plain.push(' '),
                Some('d' | 'w' | 'W' | 'D') | None => {}
                Some(escaped) => plain.push(escaped),
            },
            '^' | '$' | '(' | ')' | '[' | ']' | '+' | '*' | '?' | '|' => {}
            other => plain.push(other),
        }
    }
    plain
}
