//! Cuts a text into blocks, and takes those that have not changed from the index before, in runs where all of a run stands again.

use super::{
    Aggregate,
    block::{IndexedBlock, ends_line},
    block_run::{BlockRun, RunsBuilder},
};
use crate::{document::SectionKind, lexer, views::Bases};
use haptic_text::{Fragment, Text};
use std::{ops::Range, sync::Arc};

pub(super) struct Builder<'b, L> {
    old: Vec<OldRun>,
    bases: &'b Bases,
    aggregate: &'b mut L,
    forgetful: bool,
    done: RunsBuilder,
    open: Open,
    cursor: Cursor,
    global: bool,
}

/// A run of before, and what of it is a block again.
struct OldRun {
    run: Arc<BlockRun>,
    again: Again,
}

enum Again {
    Nothing,
    Blocks(Box<[bool]>),
    All,
}

/// An old block, by the number of its run and its own there, and the positions of its pieces.
#[derive(Clone)]
struct Cursor {
    at: (usize, usize),
    pieces: Range<usize>,
}

/// The block that has begun and may go on.
enum Open {
    Nothing,
    /// An old block.
    Old(usize, usize),
    /// The last one of an old run of which all stands again.
    OldRun(usize),
    Printed(Vec<Fragment>),
}

impl OldRun {
    fn block(&mut self, number: usize) -> Option<IndexedBlock> {
        if let Again::Nothing = self.again {
            self.again = Again::Blocks(vec![false; self.run.blocks.len()].into());
        }
        if let Again::Blocks(again) = &mut self.again {
            *again.get_mut(number)? = true;
        }
        self.run.blocks.get(number).cloned()
    }

    /// The blocks that are none any more.
    fn gone(&self) -> impl Iterator<Item = &IndexedBlock> {
        let blocks = if let Again::All = self.again { &[] } else { &*self.run.blocks };
        let stands = |at: usize| matches!(&self.again, Again::Blocks(again) if again.get(at) == Some(&true));
        blocks.iter().enumerate().filter(move |(at, _)| !stands(*at)).map(|(_, block)| block)
    }
}

impl<'b, L: Aggregate> Builder<'b, L> {
    pub fn new(old: &[Arc<BlockRun>], bases: &'b Bases, aggregate: &'b mut L, forgetful: bool) -> Self {
        let first = old.first().and_then(|run| run.blocks.first());
        let first = first.map_or(0, |block| block.fragments as usize);
        Self {
            done: RunsBuilder::default(),
            old: old.iter().map(|run| OldRun { run: run.clone(), again: Again::Nothing }).collect(),
            bases,
            aggregate,
            forgetful,
            open: Open::Nothing,
            cursor: Cursor { at: (0, 0), pieces: 0..first },
            global: false,
        }
    }

    /// Pieces that are not those of before.
    pub fn printed<'t>(&mut self, fragments: impl Iterator<Item = &'t Fragment>) {
        for fragment in fragments {
            self.fragment(fragment);
        }
    }

    /// Pieces of the text `before`, by their positions there.
    pub fn same(&mut self, before: &Text, mut positions: Range<usize>) {
        while !positions.is_empty() {
            let Some((old, pieces)) = self.old_block_at(positions.start) else {
                return self.printed(before.fragments().range(positions));
            };
            let (run, number) = self.cursor.at;
            let Some(block) = old.blocks.get(number) else { return };
            let starts = positions.start == pieces.start && self.may_follow(block);
            if starts && number == 0 && old.fragments <= positions.len() {
                self.close();
                self.open = Open::OldRun(run);
                positions.start += old.fragments;
                continue;
            }
            let end = pieces.end.min(positions.end);
            if starts && end == pieces.end {
                self.close();
                self.open = Open::Old(run, number);
            } else {
                let own = positions.start - pieces.start..end - pieces.start;
                self.printed(block.block.fragments.get(own).unwrap_or_default().iter());
            }
            positions.start = end;
        }
    }

    /// Goes on to the old block with the piece at `position`: its run, and the positions of its pieces.
    fn old_block_at(&mut self, position: usize) -> Option<(Arc<BlockRun>, Range<usize>)> {
        while position >= self.cursor.pieces.end {
            let Cursor { at: (run, number), pieces: Range { start, end } } = self.cursor.clone();
            let old = self.old.get(run)?;
            // A whole run is passed over at once.
            let behind = start + old.run.fragments;
            let (at, start) = if number == 0 && position >= behind {
                ((run + 1, 0), behind)
            } else if number + 1 < old.run.blocks.len() {
                ((run, number + 1), end)
            } else {
                ((run + 1, 0), end)
            };
            let pieces = self.block(at)?.fragments as usize;
            self.cursor = Cursor { at, pieces: start..start + pieces };
        }
        Some((self.old.get(self.cursor.at.0)?.run.clone(), self.cursor.pieces.clone()))
    }

    fn block(&self, (run, number): (usize, usize)) -> Option<&IndexedBlock> {
        self.old.get(run)?.run.blocks.get(number)
    }

    /// Whether an old block is one here, too.
    fn may_follow(&self, block: &IndexedBlock) -> bool {
        match &self.open {
            Open::Nothing => true,
            _ => block.traits.headed && self.is_between_lines(),
        }
    }

    /// The open block, where it is one of before.
    fn open_block(&self) -> Option<&IndexedBlock> {
        match &self.open {
            Open::Old(run, number) => self.block((*run, *number)),
            Open::OldRun(run) => self.old.get(*run)?.run.blocks.last(),
            Open::Nothing | Open::Printed(_) => None,
        }
    }

    fn is_between_lines(&self) -> bool {
        match &self.open {
            Open::Nothing => true,
            Open::Old(..) | Open::OldRun(_) => self.open_block().is_some_and(|block| block.traits.ended),
            Open::Printed(fragments) => fragments.last().is_some_and(ends_line),
        }
    }

    fn fragment(&mut self, fragment: &Fragment) {
        if !matches!(self.open, Open::Nothing) && self.is_between_lines() && begins_section(fragment.as_str())
        {
            self.close();
        }
        if let Open::Printed(fragments) = &mut self.open {
            fragments.push(fragment.clone());
            return;
        }
        let before = self.open_block().map(|block| block.block.fragments.to_vec()).unwrap_or_default();
        if let Open::OldRun(run) = self.open {
            self.close_all_but_last(run);
        }
        self.open = Open::Printed(before.into_iter().chain([fragment.clone()]).collect());
    }

    fn close(&mut self) {
        match std::mem::replace(&mut self.open, Open::Nothing) {
            Open::Nothing => {}
            Open::Old(run, number) => self.keep_block(run, number),
            Open::OldRun(run) => {
                if let Some(old) = self.old.get_mut(run) {
                    old.again = Again::All;
                    self.done.run(old.run.clone());
                }
            }
            Open::Printed(fragments) => {
                let mut entry = IndexedBlock::new(fragments);
                entry.traits.marked = entry.read(|document| self.aggregate.enter(document, self.bases));
                self.global |= entry.traits.global;
                self.done.block(entry);
            }
        }
    }

    fn close_all_but_last(&mut self, run: usize) {
        let blocks = self.old.get(run).map_or(0, |old| old.run.blocks.len());
        (0..blocks.saturating_sub(1)).for_each(|number| self.keep_block(run, number));
    }

    fn keep_block(&mut self, run: usize, number: usize) {
        if let Some(block) = self.old.get_mut(run).and_then(|old| old.block(number)) {
            self.done.block(block);
        }
    }

    /// All blocks, and whether one with a `global` section has come or gone.
    pub fn finish(mut self) -> (Vec<Arc<BlockRun>>, bool) {
        self.close();
        for entry in self.old.iter().flat_map(OldRun::gone) {
            self.global |= entry.traits.global;
            if !self.forgetful {
                entry.read(|document| self.aggregate.remove(document, self.bases));
            }
        }
        (self.done.finish(), self.global)
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
