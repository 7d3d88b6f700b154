//! How the lines of two sections differ, and that in a few words.

use std::{collections::BTreeMap, fmt};

use crate::document::{Line, Word};

/// How many keywords a sentence names before it says "and 3 more".
const NAMED: usize = 3;

/// How the lines of two sections differ.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LinesChange {
    /// They are the same, in another order.
    Order,
    /// Lines of these keywords, in their order: `option httpchk`, `acl`.
    Keywords(Vec<(String, KeywordChange)>),
}

/// What became of the lines of a keyword.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeywordChange {
    /// There are more.
    Added,
    /// There are fewer.
    Removed,
    /// Some say something else.
    Changed,
}

impl LinesChange {
    /// Whether lines of this keyword say something else, and nothing else differs.
    pub fn is_change_of(&self, keyword: &str) -> bool {
        let Self::Keywords(all) = self else { return false };
        matches!(all.as_slice(), [(only, KeywordChange::Changed)] if only == keyword)
    }
}

impl fmt::Display for LinesChange {
    /// `option httpchk changed, acl added`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self::Keywords(keywords) = self else { return f.write_str("lines stand in another order") };
        let sentence = |(keyword, change): &(String, KeywordChange)| match change {
            KeywordChange::Added => format!("{keyword} added"),
            KeywordChange::Removed => format!("{keyword} removed"),
            KeywordChange::Changed => format!("{keyword} changed"),
        };
        let mut sentences: Vec<String> = keywords.iter().take(NAMED).map(sentence).collect();
        if let Some(more @ 1..) = keywords.len().checked_sub(NAMED) {
            sentences.push(format!("and {more} more"));
        }
        f.write_str(&sentences.join(", "))
    }
}

/// `None` when HAProxy sees the same words in the same order.
pub(super) fn what_changed(old: &[&Line<'_>], new: &[&Line<'_>]) -> Option<LinesChange> {
    let (old, new) = (without_blank(old), without_blank(new));
    let is_same = |(a, b): (&&Line<'_>, &&Line<'_>)| same_words(&a.words, &b.words);
    if old.len() == new.len() && old.iter().zip(&new).all(is_same) {
        return None;
    }
    // For each keyword: lines that are only in the old, and only in the new section.
    let mut keywords: BTreeMap<String, (usize, usize)> = BTreeMap::new();
    for (line, count) in counted(&old, &new) {
        let entry = keywords.entry(keyword(line)).or_default();
        match count {
            0 => continue,
            1.. => entry.1 += count.unsigned_abs(),
            _ => entry.0 += count.unsigned_abs(),
        }
    }
    keywords.retain(|_, counts| *counts != (0, 0));
    if keywords.is_empty() {
        return Some(LinesChange::Order);
    }
    let change = |(keyword, counts)| match counts {
        (0, _) => (keyword, KeywordChange::Added),
        (_, 0) => (keyword, KeywordChange::Removed),
        _ => (keyword, KeywordChange::Changed),
    };
    Some(LinesChange::Keywords(keywords.into_iter().map(change).collect()))
}

fn without_blank<'l, 'd>(lines: &[&'l Line<'d>]) -> Vec<&'l Line<'d>> {
    lines.iter().copied().filter(|line| !line.words.is_empty()).collect()
}

fn same_words(a: &[Word<'_>], b: &[Word<'_>]) -> bool {
    a.len() == b.len()
        && a.iter()
            .zip(b)
            .all(|(a, b)| a.raw == b.raw || (a.value == b.value && a.has_variable == b.has_variable))
}

/// Each distinct line with how many more times it stands in `new` than in `old`.
fn counted<'l, 'o, 'n>(old: &[&'l Line<'o>], new: &[&'l Line<'n>]) -> Vec<(&'l Line<'l>, isize)>
where
    'o: 'l,
    'n: 'l,
{
    let mut counts: BTreeMap<Vec<(&str, bool)>, (&'l Line<'l>, isize)> = BTreeMap::new();
    let words =
        |line: &'l Line<'l>| line.words.iter().map(|word| (word.value.as_ref(), word.has_variable)).collect();
    for line in old {
        counts.entry(words(line)).or_insert((line, 0)).1 -= 1;
    }
    for line in new {
        counts.entry(words(line)).or_insert((line, 0)).1 += 1;
    }
    counts.into_values().collect()
}

/// The words that name what a line sets: `maxconn`, `option httpchk`, `timeout client`.
fn keyword(line: &Line<'_>) -> String {
    let first = usize::from(matches!(line.keyword(), "no" | "default"));
    let words = match line.value(first) {
        "option"
        | "timeout"
        | "stats"
        | "http-request"
        | "http-response"
        | "http-after-response"
        | "http-check"
        | "tcp-check"
        | "compression"
        | "capture"
        | "hold"
        | "stick"
        | "email-alert"
        | "errorfile"
        | "filter" => 2,
        "tcp-request" | "tcp-response" => 3,
        _ => 1,
    };
    let words: Vec<&str> =
        line.words.iter().skip(first).take(words).map(|word| word.value.as_ref()).collect();
    words.join(" ")
}
