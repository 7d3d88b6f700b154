//! Words with anything between, as in `.*beta.*on.*`: asked so that a value is gone through once.
//!
//! As it is written, PCRE2 tries each place of a word with each of the next one. The first place of a word is as good as any other: what comes
//! behind a later one comes behind it, too, because words are as long wherever they stand.

use super::{
    compared::Compared,
    node::{Bytes, Node},
};
use std::fmt::Write;

/// The words of an expression.
pub(super) struct SoughtWords {
    words: Vec<Vec<Bytes>>,
    /// Whether the value begins with the first, and ends with the last.
    at_start: bool,
    at_end: bool,
}

impl SoughtWords {
    /// `None`: there is more in it than words and what takes anything.
    pub fn of(node: &Node) -> Option<Self> {
        let Node::Seq(nodes) = node else { return None };
        let is_start = |node: &&Node| matches!(node, Node::Start);
        let is_end = |node: &&Node| matches!(node, Node::End);
        let starts = nodes.iter().take_while(is_start).count();
        let ends = nodes.iter().rev().take_while(is_end).count();
        let inner = nodes.get(starts..nodes.len().checked_sub(ends)?)?;
        let at_start = starts > 0 && !inner.first().is_some_and(is_gap);
        let at_end = ends > 0 && !inner.last().is_some_and(is_gap);
        let words = inner.split(is_gap).filter(|word| !word.is_empty());
        let words = words.map(|word| word.iter().map(only_byte).collect()).collect::<Option<Vec<_>>>()?;
        (words.len() > 1).then_some(Self { words, at_start, at_end })
    }

    /// The same for PCRE2.
    pub fn expression(&self) -> String {
        let last = self.words.len() - 1;
        let mut all = "^".to_owned();
        for (number, word) in self.words.iter().enumerate() {
            let word: String = word.iter().map(|bytes| bytes.written()).collect();
            _ = match number {
                0 if self.at_start => write!(all, "{word}"),
                _ if self.at_end && number == last => write!(all, ".*{word}$"),
                _ => write!(all, "(?>.*?{word})"),
            };
        }
        all
    }

    /// Steps for the worst value of `length` bytes: at each of them a whole word may be compared, and once more at the end.
    pub fn worst(&self, length: usize) -> f64 {
        let longest = self.words.iter().map(Vec::len).max().unwrap_or(0);
        2.0 * length as f64 * (longest + 1) as f64
    }
}

/// Whether an element takes anything, also nothing.
fn is_gap(node: &Node) -> bool {
    matches!(node, Node::Repeat { least: 0, .. }) && node.takes_everything(Compared::Value)
}

fn only_byte(node: &Node) -> Option<Bytes> {
    match node {
        Node::One(bytes) => Some(*bytes),
        _ => None,
    }
}
