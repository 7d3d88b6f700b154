//! Cuts a text into blocks, and takes those that have not changed from the outline before.

use super::{
    Aggregate,
    block::{IndexedBlock, ends_line},
};
use crate::{document::SectionKind, lexer, views::Bases};
use haptic_text::Fragment;

pub(super) struct Builder<'b, L> {
    /// Those that are blocks again are taken from it.
    old: Vec<Option<IndexedBlock>>,
    bases: &'b Bases,
    ledger: &'b mut L,
    forgetful: bool,
    done: Vec<IndexedBlock>,
    open: Open,
    /// An old block, and the positions of its first fragment and of the one behind its last.
    cursor: (usize, usize, usize),
    global: bool,
}

/// The block that has begun and may go on.
enum Open {
    Nothing,
    /// An old block, by number.
    Old(usize),
    Printed(Vec<Fragment>),
}

impl<'b, L: Aggregate> Builder<'b, L> {
    pub fn new(old: Vec<IndexedBlock>, bases: &'b Bases, ledger: &'b mut L, forgetful: bool) -> Self {
        let first = old.first().map_or(0, |entry| entry.fragments as usize);
        Self {
            done: Vec::with_capacity(old.len() + 1),
            old: old.into_iter().map(Some).collect(),
            bases,
            ledger,
            forgetful,
            open: Open::Nothing,
            cursor: (0, 0, first),
            global: false,
        }
    }

    /// Pieces that are not those of before.
    pub fn printed(&mut self, fragments: &[&Fragment]) {
        for fragment in fragments {
            self.fragment(fragment);
        }
    }

    /// Pieces of before, from position `at` on.
    pub fn same(&mut self, fragments: &[&Fragment], at: usize) {
        let mut rest = fragments;
        let mut at = at;
        while !rest.is_empty() {
            let Some((number, start, end)) = self.old_block_at(at) else { return self.printed(rest) };
            let left = end - at;
            let (own, after) = rest.split_at(left.min(rest.len()));
            if at == start && own.len() == left && self.may_follow(number) {
                self.close();
                self.open = Open::Old(number);
            } else {
                self.printed(own);
            }
            (rest, at) = (after, at + own.len());
        }
    }

    fn old_block_at(&mut self, at: usize) -> Option<(usize, usize, usize)> {
        loop {
            let (number, _, end) = self.cursor;
            if at < end {
                return Some(self.cursor);
            }
            let fragments = self.old(number + 1)?.fragments as usize;
            self.cursor = (number + 1, end, end + fragments);
        }
    }

    fn old(&self, number: usize) -> Option<&IndexedBlock> {
        self.old.get(number)?.as_ref()
    }

    /// Whether an old block is one here, too.
    fn may_follow(&self, number: usize) -> bool {
        match &self.open {
            Open::Nothing => true,
            _ => self.old(number).is_some_and(|entry| entry.traits.headed) && self.is_between_lines(),
        }
    }

    fn is_between_lines(&self) -> bool {
        match &self.open {
            Open::Nothing => true,
            Open::Old(number) => self.old(*number).is_some_and(|entry| entry.traits.ended),
            Open::Printed(fragments) => fragments.last().is_some_and(ends_line),
        }
    }

    fn fragment(&mut self, fragment: &Fragment) {
        if !matches!(self.open, Open::Nothing) && self.is_between_lines() && begins_section(fragment.as_str())
        {
            self.close();
        }
        match &mut self.open {
            Open::Printed(fragments) => fragments.push(fragment.clone()),
            Open::Nothing => self.open = Open::Printed(vec![fragment.clone()]),
            Open::Old(number) => {
                let before = self.old.get(*number).and_then(Option::as_ref);
                let before = before.map(|entry| &*entry.block.fragments).unwrap_or_default();
                let fragments = before.iter().chain([fragment]).cloned().collect();
                self.open = Open::Printed(fragments);
            }
        }
    }

    fn close(&mut self) {
        match std::mem::replace(&mut self.open, Open::Nothing) {
            Open::Nothing => {}
            Open::Old(number) => {
                self.done.extend(self.old.get_mut(number).and_then(Option::take));
            }
            Open::Printed(fragments) => {
                let mut entry = IndexedBlock::new(fragments);
                entry.traits.marked = entry.read(|document| self.ledger.enter(document, self.bases));
                self.global |= entry.traits.global;
                self.done.push(entry);
            }
        }
    }

    /// All blocks, and whether one with a `global` section has come or gone.
    pub fn finish(mut self) -> (Vec<IndexedBlock>, bool) {
        self.close();
        for entry in self.old.iter().flatten() {
            self.global |= entry.traits.global;
            if !self.forgetful {
                entry.read(|document| self.ledger.remove(document, self.bases));
            }
        }
        (self.done, self.global)
    }
}

/// Whether the first line that means something is a section's header.
pub(super) fn begins_section(text: &str) -> bool {
    let mut problems = Vec::new();
    let words = text
        .split_inclusive('\n')
        .map(|line| lexer::words(line.trim_end_matches(['\n', '\r']), 1, 4, &mut problems))
        .find(|words| !words.is_empty());
    words.is_some_and(|words| words.first().is_some_and(|word| SectionKind::of(&word.value).is_some()))
}
