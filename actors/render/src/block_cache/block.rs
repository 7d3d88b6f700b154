//! The block of an outermost object: its text, and the things that it depended on.

use super::captured::{LookupResult, OuterLookup};
use crate::output::effects::BlockEffects;
use haptic_model::Object;
use haptic_text::Fragment;
use std::sync::Arc;

/// A place in a template: its number, line and column.
pub(crate) type SourcePosition = (u16, u32, u32);

/// One outermost object's block.
#[derive(Clone, Debug)]
pub(crate) struct CachedBlock {
    pub site: Arc<BlockSite>,
    pub object: Arc<Object>,
    /// The things that it read, by the numbers of the file's table of reads.
    pub reads: Box<[u32]>,
    pub effects: Option<Box<BlockEffects>>,
    /// The text that it printed, if any.
    pub fragment: Option<Fragment>,
    /// Bytes of framed text it was.
    pub bytes: usize,
    /// The most bytes there were while it was printed.
    pub most: usize,
}

/// Where blocks stand, and what they saw there: mostly all of a loop have it in common, and then it is there once.
#[derive(Debug)]
pub(crate) struct BlockSite {
    /// The block's address in its compiled template.
    pub block: usize,
    /// How many partials it stands in.
    pub depth: usize,
    /// The indentation of its lines.
    pub indent: Box<str>,
    /// The things that it looked up around itself.
    pub lookups: Box<[(OuterLookup, LookupResult)]>,
}

/// The position of a block: which one, for which object, and how deep.
#[derive(Clone, Debug)]
pub(crate) struct BlockPosition {
    /// The block's address in its compiled template.
    pub block: usize,
    /// Where it begins.
    pub place: SourcePosition,
    pub object: Arc<Object>,
    /// How many partials it stands in.
    pub depth: usize,
    /// The indentation of its lines.
    pub indent: Box<str>,
}

impl CachedBlock {
    /// Whether it did nothing but print.
    pub fn is_silent(&self) -> bool {
        self.effects.is_none()
    }

    /// Whether both may be of one group.
    pub fn may_stand_with(&self, other: &Self) -> bool {
        let of = |block: &Self| (block.site.block, block.site.depth);
        let stand_alike = || of(self) == of(other) && self.site.indent == other.site.indent;
        self.is_silent() == other.is_silent() && (Arc::ptr_eq(&self.site, &other.site) || stand_alike())
    }

    /// Bytes of memory, without the site.
    pub fn memory(&self) -> usize {
        let fragment = self.fragment.as_ref().map_or(0, |f| {
            let blame = f.blame();
            f.as_str().len()
                + size_of_val(&**blame)
                + size_of_val(&*blame.lines)
                + size_of_val(&*blame.objects)
        });
        let added = |e: &BlockEffects| e.added.iter().map(|a| a.content.len()).sum::<usize>();
        let effects = self.effects.as_deref().map_or(0, |e| size_of::<BlockEffects>() + added(e));
        size_of::<Self>() + size_of_val(&*self.reads) + fragment + effects
    }
}

impl BlockSite {
    /// That of a block at `position` that looked so `around`: `last` if it is the same.
    pub fn of(
        position: BlockPosition,
        lookups: Vec<(OuterLookup, LookupResult)>,
        last: Option<Arc<Self>>,
    ) -> (Arc<Self>, Arc<Object>) {
        let BlockPosition { block, object, depth, indent, .. } = position;
        let own = |(lookup, found): (OuterLookup, LookupResult)| (lookup, found.in_block_of(&object));
        let lookups: Box<[_]> = lookups.into_iter().map(own).collect();
        let is_same = |last: &Arc<Self>| {
            let seen = |(a, b): (&(OuterLookup, LookupResult), &(OuterLookup, LookupResult))| {
                a.0 == b.0 && a.1.is_same_as(&b.1)
            };
            (last.block, last.depth, &last.indent) == (block, depth, &indent)
                && last.lookups.len() == lookups.len()
                && last.lookups.iter().zip(&lookups).all(seen)
        };
        let site = last.filter(is_same);
        (site.unwrap_or_else(|| Arc::new(Self { block, depth, indent, lookups })), object)
    }

    /// Bytes of memory.
    pub fn memory(&self) -> usize {
        size_of::<Self>() + size_of_val(&*self.lookups)
    }
}
