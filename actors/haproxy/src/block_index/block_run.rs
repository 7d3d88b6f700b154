//! The blocks of a configuration in runs: a run is the same memory as long as none of its blocks changes, so that what walks over ten
//! thousands of blocks looks at each run only.

use super::block::{IndexedBlock, Inherited, Traits};
use haptic_text::grouping;
use std::sync::Arc;

/// Blocks that follow one another.
#[derive(Debug)]
pub(super) struct BlockRun {
    pub blocks: Box<[IndexedBlock]>,
    /// How many pieces of the text they are.
    pub fragments: usize,
    /// What any of its blocks has.
    pub any: Traits,
    /// Whether a section of it starts from a defaults section that it names.
    pub inherits: bool,
    /// The hashes of its sections' kinds and names, sorted.
    keys: Box<[u64]>,
    /// Bytes of memory, without the text.
    pub bytes: usize,
}

/// Collects blocks in their order, and the runs that they were in where these stand again.
#[derive(Debug, Default)]
pub(super) struct RunsBuilder {
    runs: Vec<Arc<BlockRun>>,
    open: Vec<IndexedBlock>,
}

impl BlockRun {
    fn new(blocks: &[IndexedBlock]) -> Self {
        let mut keys: Vec<u64> = blocks.iter().flat_map(IndexedBlock::keys).copied().collect();
        keys.sort_unstable();
        let own = size_of::<Self>() + size_of_val(&*keys);
        Self {
            fragments: blocks.iter().map(|block| block.fragments as usize).sum(),
            any: blocks.iter().fold(Traits::default(), |any, block| any.or(block.traits)),
            inherits: blocks.iter().any(|block| !matches!(block.inherited, Inherited::None)),
            keys: keys.into(),
            bytes: own + blocks.iter().map(IndexedBlock::bytes).sum::<usize>(),
            blocks: blocks.into(),
        }
    }

    /// Where it is in memory: the same number for the same run, as long as it is held.
    pub fn address(self: &Arc<Self>) -> usize {
        Arc::as_ptr(self).addr()
    }

    /// Whether it has a section of that kind and name, by their hash.
    pub fn has(&self, key: u64) -> bool {
        self.keys.binary_search(&key).is_ok()
    }
}

impl RunsBuilder {
    /// Goes on with a block.
    pub fn block(&mut self, block: IndexedBlock) {
        self.open.push(block);
    }

    /// Goes on with a run of before.
    pub fn run(&mut self, run: Arc<BlockRun>) {
        self.close();
        self.runs.push(run);
    }

    /// All runs.
    pub fn finish(mut self) -> Vec<Arc<BlockRun>> {
        self.close();
        self.runs
    }

    fn close(&mut self) {
        let mut blocks = std::mem::take(&mut self.open);
        if blocks.is_empty() {
            return;
        }
        if let Some(before) = self.runs.pop_if(|run| grouping::may_join(run.blocks.len(), blocks.len())) {
            blocks = before.blocks.iter().cloned().chain(blocks).collect();
        }
        self.runs.extend(grouping::in_groups(&blocks).map(|part| Arc::new(BlockRun::new(part))));
    }
}
