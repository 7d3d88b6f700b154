//! Blocks that follow one another, and that stand again as a whole while nothing that any of them depended on has changed.
//!
//! One change to ten thousand objects then costs a look at each group, and a look at each block in one group only.

use super::{
    block::{BlockSite, CachedBlock},
    captured::{LookupResult, OuterLookup},
};
use haptic_text::{TextRun, grouping};
use std::sync::Arc;

/// Blocks that follow one another.
#[derive(Debug)]
pub(crate) struct BlockGroup {
    pub blocks: Box<[Arc<CachedBlock>]>,
    /// None where each block has to be looked at.
    pub whole: Option<WholeGroup>,
    /// Bytes of memory.
    pub size: usize,
}

/// The things that all blocks of a group have in common, or come to together.
#[derive(Debug)]
pub(crate) struct WholeGroup {
    /// The first one's. Others may have seen something else around themselves.
    pub site: Arc<BlockSite>,
    /// The addresses of its objects, which the blocks hold.
    pub objects: Box<[usize]>,
    /// The things that any of the blocks saw around itself. All that looked saw the same.
    pub lookups: Box<[(OuterLookup, LookupResult)]>,
    /// The things that any of them read, by number.
    pub reads: Box<[u32]>,
    /// The text that they printed.
    pub run: TextRun,
    /// Bytes of framed text that was.
    pub bytes: usize,
    /// The same by the namespaces of their objects, which follow one another.
    pub of_namespaces: Box<[(Arc<str>, usize)]>,
    /// The most bytes there were, counted from the first one's start, while any of them was printed.
    pub most: usize,
    /// The most bytes there were while any of them was printed, of it alone.
    pub most_of_one: usize,
}

/// Collects blocks in their order, and the groups that they were in where these stand again.
#[derive(Debug, Default)]
pub(crate) struct GroupBuilder {
    groups: Vec<Arc<BlockGroup>>,
    open: Vec<Arc<CachedBlock>>,
    /// Whether something stands between the last group and the open blocks.
    is_apart: bool,
}

impl GroupBuilder {
    /// Goes on with a block.
    pub fn block(&mut self, block: Arc<CachedBlock>) {
        if self.open.last().is_some_and(|last| !last.may_stand_with(&block)) {
            self.close();
        }
        self.open.push(block);
    }

    /// Goes on with a group of before.
    pub fn group(&mut self, group: Arc<BlockGroup>) {
        self.close();
        self.groups.push(group);
        self.is_apart = false;
    }

    /// Here stands what is not kept: a group over it would never stand again.
    pub fn gap(&mut self) {
        self.close();
        self.is_apart = true;
    }

    /// All groups.
    pub fn finish(mut self) -> Vec<Arc<BlockGroup>> {
        self.close();
        self.groups
    }

    fn close(&mut self) {
        let mut blocks = std::mem::take(&mut self.open);
        let Some(first) = blocks.first() else { return };
        let before = self.groups.last().filter(|_| !std::mem::take(&mut self.is_apart));
        let before = before.and_then(|group| Some((group, group.blocks.last()?)));
        if let Some((group, last)) = before
            && grouping::may_join(group.blocks.len(), blocks.len())
            && last.may_stand_with(first)
        {
            blocks = group.blocks.iter().cloned().chain(blocks).collect();
            self.groups.pop();
        }
        self.groups.extend(grouping::in_groups(&blocks).map(|part| Arc::new(BlockGroup::new(part))));
    }
}

impl BlockGroup {
    /// These blocks.
    pub fn new(blocks: &[Arc<CachedBlock>]) -> Self {
        let whole = WholeGroup::of(blocks);
        let own = size_of::<Self>() + size_of_val(blocks) + whole.as_ref().map_or(0, WholeGroup::memory);
        let sites = blocks.chunk_by(|a, b| Arc::ptr_eq(&a.site, &b.site)).filter_map(|same| same.first());
        let sites = sites.map(|block| block.site.memory()).sum::<usize>();
        let size = own + sites + blocks.iter().map(|block| block.memory()).sum::<usize>();
        Self { blocks: blocks.into(), whole, size }
    }
}

impl WholeGroup {
    fn of(blocks: &[Arc<CachedBlock>]) -> Option<Self> {
        let first = blocks.first()?;
        if !first.is_silent() {
            return None;
        }
        let mut lookups = Vec::new();
        let (mut bytes, mut most, mut most_of_one) = (0, 0, 0);
        let sites: Vec<_> =
            blocks.chunk_by(|a, b| Arc::ptr_eq(&a.site, &b.site)).filter_map(<[_]>::first).collect();
        sites.iter().try_for_each(|block| see(&mut lookups, &block.site.lookups))?;
        // A name that stands for the own object of some blocks only may stand for another's next time.
        let is_own = |known: &&(OuterLookup, LookupResult)| matches!(known.1, LookupResult::OwnObject);
        let own = lookups.iter().filter(is_own).count();
        if sites.iter().any(|block| block.site.lookups.iter().filter(is_own).count() != own) {
            return None;
        }
        for block in blocks {
            (most, most_of_one) = (most.max(bytes + block.most), most_of_one.max(block.most));
            bytes += block.bytes;
        }
        let namespace = |block: &Arc<CachedBlock>| block.object.reference.namespace.clone();
        let of_namespaces = blocks
            .chunk_by(|a, b| namespace(a) == namespace(b))
            .filter_map(|same| Some((namespace(same.first()?), same.iter().map(|block| block.bytes).sum())));
        let mut reads: Vec<u32> = blocks.iter().flat_map(|block| &block.reads).copied().collect();
        reads.sort_unstable();
        reads.dedup();
        Some(Self {
            site: first.site.clone(),
            objects: blocks.iter().map(|block| Arc::as_ptr(&block.object).addr()).collect(),
            lookups: lookups.into(),
            reads: reads.into(),
            run: TextRun::new(blocks.iter().filter_map(|block| block.fragment.clone()).collect()),
            bytes,
            of_namespaces: of_namespaces.collect(),
            most,
            most_of_one,
        })
    }

    fn memory(&self) -> usize {
        size_of_val(&*self.objects)
            + size_of_val(&*self.of_namespaces)
            + size_of_val(&*self.lookups)
            + size_of_val(&*self.reads)
            + size_of_val(self.run.fragments())
    }
}

/// Takes up what a block saw. `None` where it cannot be compared for all blocks at once.
fn see(lookups: &mut Vec<(OuterLookup, LookupResult)>, more: &[(OuterLookup, LookupResult)]) -> Option<()> {
    for (lookup, found) in more {
        if depends_on_step(lookup) {
            return None;
        }
        match lookups.iter().find(|(known, _)| known == lookup) {
            Some((_, known)) if known.is_same_as(found) => {}
            Some(_) => return None,
            None => lookups.push((lookup.clone(), found.clone())),
        }
    }
    Some(())
}

/// Whether a look may find something else in each step of the loop that the block stands in.
fn depends_on_step(lookup: &OuterLookup) -> bool {
    match lookup {
        OuterLookup::Loop(number, _) => *number == 0,
        OuterLookup::Scoped(_, name) => name.split('.').next() == Some("loop"),
        OuterLookup::Name(_) | OuterLookup::This(_) | OuterLookup::Inline(_) => false,
    }
}
