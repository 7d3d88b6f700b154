//! How long a text may be so that PCRE2's stack surely holds where a match may go back to.
//!
//! PCRE2 with its compiler (JIT) has 32 KB for that, and where these are full it says neither yes nor no, which HAProxy takes for no. What is
//! repeated by itself takes two words however long it is; of a group, each round stays until the match ends. The words here are
//! four tenths more than the most that PCRE2 10.46 and 10.48 took for generated expressions.

use super::{compared::LONGEST_PATH, read::rounds};
use regex_syntax::ast::{Ast, Group, GroupKind, Repetition};

/// Of eight bytes.
const WORDS: f64 = 4096.0;
/// The stack for a group, whether its end is found by number or not, beside what is in it.
const CAPTURE: f64 = 3.0;
const GROUP: f64 = 1.0;
const ALTERNATIVES: f64 = 1.0;
const REPETITION: f64 = 2.0;
/// A counted element takes as much as all its rounds, unless it may pass over a text of this length.
const SHORT: f64 = 256.0;

/// The stack that a match takes.
#[derive(Clone, Copy, Debug)]
pub(super) struct StackUse {
    /// Words for a text of any length.
    words: f64,
    /// Words for each byte.
    per_byte: f64,
    /// Bytes that are matched at the least.
    shortest: f64,
}

impl StackUse {
    pub fn of(ast: &Ast) -> Self {
        match ast {
            Ast::Empty(_) | Ast::Flags(_) | Ast::Assertion(_) => Self::bytes(0.0),
            Ast::Literal(_)
            | Ast::Dot(_)
            | Ast::ClassUnicode(_)
            | Ast::ClassPerl(_)
            | Ast::ClassBracketed(_) => Self::bytes(1.0),
            Ast::Group(group) => Self::of_group(group),
            Ast::Repetition(repetition) => Self::of_repetition(repetition),
            Ast::Alternation(all) => {
                let most = all.asts.iter().map(Self::of).reduce(Self::or).unwrap_or(Self::bytes(0.0));
                Self { words: most.words + ALTERNATIVES, ..most }
            }
            Ast::Concat(all) => all.asts.iter().map(Self::of).fold(Self::bytes(0.0), Self::then),
        }
    }

    /// The longest text that it surely holds the places of.
    pub fn longest(self) -> usize {
        let room = WORDS - self.words;
        let longest = if room < 0.0 { 0.0 } else { room / self.per_byte };
        // More than any number where no byte takes anything.
        LONGEST_PATH.min(longest as usize)
    }

    fn bytes(shortest: f64) -> Self {
        Self { words: 0.0, per_byte: 0.0, shortest }
    }

    fn then(self, next: Self) -> Self {
        Self {
            words: self.words + next.words,
            per_byte: self.per_byte.max(next.per_byte),
            shortest: self.shortest + next.shortest,
        }
    }

    fn or(self, other: Self) -> Self {
        Self {
            words: self.words.max(other.words),
            per_byte: self.per_byte.max(other.per_byte),
            shortest: self.shortest.min(other.shortest),
        }
    }

    fn of_group(group: &Group) -> Self {
        let inner = Self::of(&group.ast);
        let own = if matches!(group.kind, GroupKind::NonCapturing(_)) { GROUP } else { CAPTURE };
        Self { words: inner.words + own, ..inner }
    }

    fn of_repetition(repetition: &Repetition) -> Self {
        let inner = Self::of(&repetition.ast);
        let (least, most) = rounds(&repetition.op.kind);
        let (least, most) = (f64::from(least), most.map(f64::from));
        let shortest = inner.shortest * least;
        if !matches!(&*repetition.ast, Ast::Group(_)) {
            return Self { words: REPETITION, per_byte: 0.0, shortest };
        }
        let round = inner.words + REPETITION;
        match most {
            Some(most) if most * inner.shortest < SHORT => {
                Self { words: most * round + REPETITION, per_byte: inner.per_byte, shortest }
            }
            _ => {
                let per_byte = inner.per_byte + round / inner.shortest.max(1.0);
                Self { words: REPETITION, per_byte, shortest }
            }
        }
    }
}
