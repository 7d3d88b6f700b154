//! A configuration in blocks that are read again only when their text changed.
//!
//! A *block* is the smallest run of a text's pieces that surely begins with a section's header, so that it means the
//! same wherever it stands. What one object's block in a template printed is usually one of them. Blocks are known
//! by the memory of their pieces: an unchanged one is not even looked at.
//!
//! Whoever wants to know something of a whole configuration keeps a [`Aggregate`]: it hears of each block that comes or
//! goes. Nothing here decides what is wrong or what a change means.

mod block;
mod block_run;
mod builder;
mod differing;
mod runs;

pub use differing::{DifferingPart, differing};

use crate::{document::Document, views::Bases};
use block::{IndexedBlock, Traits};
use block_run::BlockRun;
use builder::{Builder, begins_section};
use haptic_text::{
    Fragment, Text,
    alignment::{Stretch, align_pieces},
};
use std::{ops::ControlFlow, sync::Arc};

/// Of so many bytes a document is made at once: it takes ten times its text, and a whole configuration has megabytes.
pub const READ_AT_ONCE: usize = 256 * 1024;

/// What is counted over all blocks of a configuration. Striking out a block must undo exactly what entering it did.
pub trait Aggregate: Default {
    /// A block has come. Returns whether it is worth finding again: see [`BlockIndex::visit_marked`].
    fn enter(&mut self, block: &Document<'_>, bases: &Bases) -> bool;

    /// A block has gone.
    fn remove(&mut self, block: &Document<'_>, bases: &Bases);

    /// A aggregate of the same kind in which nothing has been counted.
    #[must_use]
    fn anew(&self) -> Self {
        Self::default()
    }
}

/// Nothing is counted.
impl Aggregate for () {
    fn enter(&mut self, _: &Document<'_>, _: &Bases) -> bool {
        false
    }

    fn remove(&mut self, _: &Document<'_>, _: &Bases) {}
}

/// A configuration's blocks with an aggregate of them. Cheap to clone if the aggregate is.
#[derive(Clone, Debug, Default)]
pub struct BlockIndex<L> {
    text: Text,
    runs: Arc<[Arc<BlockRun>]>,
    bases: Bases,
    aggregate: L,
    forgetful: bool,
}

/// `text` in pieces that are one section each, so that each is a block of its own: what a pod sends is in one piece, and nobody compares megabytes
/// as one block.
#[must_use]
pub fn in_sections(text: &str) -> Text {
    let mut pieces: Vec<Fragment> = Vec::new();
    let (mut begun, mut at) = (0, 0);
    let mut cut = |range: std::ops::Range<usize>| {
        let piece = text.get(range).filter(|piece| !piece.is_empty());
        pieces.extend(piece.map(|piece| Fragment::new(piece, Arc::default())));
    };
    for line in text.split_inclusive('\n') {
        if begins_section(line) {
            cut(begun..at);
            begun = at;
        }
        at += line.len();
    }
    cut(begun..at);
    Text::new(pieces)
}

impl<L: Aggregate> BlockIndex<L> {
    /// The index of `text`.
    #[must_use]
    pub fn of(text: &Text) -> Self {
        let mut block_index = Self::default();
        block_index.advance(text);
        block_index
    }

    /// Goes on to another text, and reads what it does not share with the one before.
    pub fn advance(&mut self, text: &Text) {
        if self.turn(text) {
            let mut bases = Bases::default();
            let with_global = self.blocks().filter(|entry| entry.traits.global);
            with_global.for_each(|entry| entry.read(|document| bases.read(document)));
            if bases != self.bases {
                // What files are called depends on it everywhere.
                *self = Self { bases, ..self.anew(self.aggregate.anew()) };
                self.turn(text);
            }
        }
    }

    /// An index of nothing, with this aggregate.
    #[must_use]
    pub fn anew(&self, aggregate: L) -> Self {
        Self { aggregate, forgetful: self.forgetful, ..Self::default() }
    }

    /// Whether a block with a `global` section has come or gone.
    fn turn(&mut self, text: &Text) -> bool {
        let mut builder = Builder::new(&self.runs, &self.bases, &mut self.aggregate, self.forgetful);
        for stretch in align_pieces(&self.text, text) {
            match stretch {
                Stretch::Same { old, .. } => builder.same(&self.text, old),
                Stretch::Differs { new, .. } => builder.printed(text.fragments().range(new)),
            }
        }
        let (runs, global) = builder.finish();
        (self.runs, self.text) = (runs.into(), text.clone());
        global
    }

    /// What has been counted.
    #[must_use]
    pub fn aggregate(&self) -> &L {
        &self.aggregate
    }

    /// Reads the marked blocks again, each with its position, until `visit` has what it looks for.
    pub fn visit_marked(&self, mut visit: impl FnMut(usize, &Document<'_>) -> ControlFlow<()>) {
        let mut first = 0;
        let marked = self.runs.iter().flat_map(|run| {
            let at = first;
            first += run.blocks.len();
            let blocks = if run.any.marked { &*run.blocks } else { &[] };
            blocks.iter().enumerate().map(move |(number, entry)| (at + number, entry))
        });
        let mut marked = marked.filter(|(_, entry)| entry.traits.marked);
        _ = marked.try_for_each(|(at, entry)| entry.read(|document| visit(at, document)));
    }

    /// Whether surely no section starts from a `defaults` section of a later block.
    #[must_use]
    pub fn has_defaults_before_users(&self) -> bool {
        let mut later = Vec::new();
        for run in self.runs.iter().rev() {
            // Nearly all defaults sections stand before all else.
            if !run.any.defaults && (later.is_empty() || !run.inherits) {
                continue;
            }
            for entry in run.blocks.iter().rev() {
                if !later.is_empty() && entry.may_start_from(&later) {
                    return false;
                }
                if entry.traits.defaults {
                    later.extend_from_slice(entry.keys());
                }
            }
        }
        true
    }

    /// The blocks in which clients are taken in, with all defaults sections: little of a configuration of many backends.
    #[must_use]
    pub fn frontends(&self) -> String {
        let is_one = |has: Traits| has.frontend || has.defaults;
        let runs = self.runs.iter().filter(|run| is_one(run.any));
        let blocks = runs.flat_map(|run| &run.blocks).filter(|entry| is_one(entry.traits));
        blocks.map(IndexedBlock::text).collect()
    }

    /// How many blocks there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.runs.iter().map(|run| run.blocks.len()).sum()
    }

    /// Whether there is no block.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.runs.is_empty()
    }

    /// Bytes that the index takes beside the text, which it shares, and the aggregate.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.runs.iter().map(|run| run.bytes).sum()
    }

    /// A block index with a fault, for the tests that prove that tests find one: it forgets to strike out what has gone.
    #[doc(hidden)]
    #[must_use]
    pub fn forgetful() -> Self {
        Self { forgetful: true, ..Self::default() }
    }
}

impl<L> BlockIndex<L> {
    fn blocks(&self) -> impl Iterator<Item = &IndexedBlock> {
        self.runs.iter().flat_map(|run| &run.blocks)
    }
}
