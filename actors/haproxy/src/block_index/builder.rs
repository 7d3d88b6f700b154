//! Cuts a text into blocks, and takes those that have not changed from the outline before.

use super::{
    Aggregate,
    block::{IndexedBlock, ends_line},
};
use crate::{document::SectionKind, lexer, views::Bases};
use haptic_model::text::Fragment;

pub(super) struct Builder<'b, L> {
    old: &'b [IndexedBlock],
    bases: &'b Bases,
    ledger: &'b mut L,
    forgetful: bool,
    done: Vec<IndexedBlock>,
    /// Which old blocks are blocks again.
    kept: Vec<bool>,
    open: Open,
    /// An old block, and the position of its first fragment.
    cursor: (usize, usize),
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
    pub fn new(old: &'b [IndexedBlock], bases: &'b Bases, ledger: &'b mut L, forgetful: bool) -> Self {
        Self {
            old,
            bases,
            ledger,
            forgetful,
            done: Vec::with_capacity(old.len() + 1),
            kept: vec![false; old.len()],
            open: Open::Nothing,
            cursor: (0, 0),
            global: false,
        }
    }

    /// Pieces that are not those of before.
    pub fn printed(&mut self, fragments: &[Fragment]) {
        for fragment in fragments {
            self.fragment(fragment);
        }
    }

    /// Pieces of before, from position `at` on.
    pub fn same(&mut self, fragments: &[Fragment], at: usize) {
        let mut rest = fragments;
        let mut at = at;
        while !rest.is_empty() {
            let Some(entry) = self.old_block_at(at) else { return self.printed(rest) };
            let (number, start) = self.cursor;
            let left = start + entry.fragments as usize - at;
            let (own, after) = rest.split_at(left.min(rest.len()));
            if at == start && own.len() == left && self.may_follow(entry) {
                self.close();
                self.open = Open::Old(number);
            } else {
                self.printed(own);
            }
            (rest, at) = (after, at + own.len());
        }
    }

    fn old_block_at(&mut self, at: usize) -> Option<&'b IndexedBlock> {
        loop {
            let (number, start) = self.cursor;
            let entry = self.old.get(number)?;
            let end = start + entry.fragments as usize;
            if at < end {
                return Some(entry);
            }
            self.cursor = (number + 1, end);
        }
    }

    /// Whether an old block is one here, too.
    fn may_follow(&self, entry: &IndexedBlock) -> bool {
        match &self.open {
            Open::Nothing => true,
            _ => entry.traits.headed && self.is_between_lines(),
        }
    }

    fn is_between_lines(&self) -> bool {
        match &self.open {
            Open::Nothing => true,
            Open::Old(number) => self.old.get(*number).is_some_and(|entry| entry.traits.ended),
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
                let before = self.old.get(*number).map(|entry| &*entry.block.fragments).unwrap_or_default();
                let fragments = before.iter().chain([fragment]).cloned().collect();
                self.open = Open::Printed(fragments);
            }
        }
    }

    fn close(&mut self) {
        match std::mem::replace(&mut self.open, Open::Nothing) {
            Open::Nothing => {}
            Open::Old(number) => {
                self.done.extend(self.old.get(number).cloned());
                if let Some(kept) = self.kept.get_mut(number) {
                    *kept = true;
                }
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
        let gone = self.old.iter().zip(&self.kept).filter(|(_, kept)| !**kept).map(|(entry, _)| entry);
        for entry in gone {
            self.global |= entry.traits.global;
            if !self.forgetful {
                entry.read(|document| self.ledger.remove(document, self.bases));
            }
        }
        (self.done, self.global)
    }
}

/// Whether the first line that means something is a section's header.
fn begins_section(text: &str) -> bool {
    let mut problems = Vec::new();
    let words = text
        .split_inclusive('\n')
        .map(|line| lexer::words(line.trim_end_matches(['\n', '\r']), 1, 4, &mut problems))
        .find(|words| !words.is_empty());
    words.is_some_and(|words| words.first().is_some_and(|word| SectionKind::of(&word.value).is_some()))
}
