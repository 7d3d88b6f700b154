//! The text of a file's last render, block by block, and the things that each block depended on.
//!
//! A block that an object was printed with is kept while its object is the same version, everything it read from stores
//! is unchanged, and everything it looked up around itself is the same. A render is a pure function, so a block that
//! would see the same prints the same. What cannot be compared is never kept.
//!
//! Stores are compared once, before the render: by the objects themselves, not by versions. Walking ten thousand blocks
//! then compares numbers and addresses only, and where nothing of a whole [group] has changed, not even those.

pub(crate) mod block;
pub(crate) mod captured;
pub(crate) mod group;
pub(crate) mod store_lists;

use crate::output::effects::BlockEffects;
use block::{BlockPosition, BlockSite, CachedBlock, SourcePosition};
use captured::{Alike, LookupResult, OuterLookup, Uncacheable};
use group::{BlockGroup, GroupBuilder, WholeGroup};
use haptic_model::{
    Object, ObjectRef, Snapshot, Snapshots,
    store::{Difference, Key, Read},
};
use haptic_text::Fragment;
use std::{
    cell::{Cell, OnceCell},
    collections::{BTreeMap, BTreeSet, HashMap, HashSet},
    sync::Arc,
};
use store_lists::StoreLists;

/// The memory of one file.
#[derive(Clone, Debug, Default)]
pub struct FileCache {
    groups: Vec<Arc<BlockGroup>>,
    reads: ReadTable,
    /// The reads outside of the blocks that are kept.
    outside: Box<[u32]>,
    /// The stores that were read, as they were.
    stores: BTreeMap<Arc<str>, Arc<Snapshot>>,
    uncacheable: BTreeMap<(SourcePosition, Uncacheable), usize>,
    printed: usize,
    /// Bytes of memory of all blocks.
    bytes: usize,
}

/// An outermost object's block of a render.
#[derive(Clone, Debug)]
pub enum PrintedBlock {
    /// That block of the render before.
    Kept(BlockNumber),
    /// The group of that number of the render before.
    KeptGroup(usize),
    /// Printed now.
    Fresh(Box<FreshBlock>),
}

/// The number of a block: that of its group, and its own in that.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BlockNumber {
    group: usize,
    at: usize,
}

/// A block printed now, with all it depended on.
#[derive(Clone, Debug)]
pub struct FreshBlock {
    /// The piece of the framed text it printed, if it printed anything.
    pub piece: Option<usize>,
    /// Its object.
    pub object: Arc<Object>,
    /// The other reads.
    pub reads: Vec<Read>,
    pub(crate) site: BlockPosition,
    pub(crate) lookups: Vec<(OuterLookup, LookupResult)>,
    pub(crate) effects: BlockEffects,
    pub(crate) uncacheable: Option<Uncacheable>,
    pub(crate) bytes: usize,
    pub(crate) most: usize,
}

/// How much is kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CacheSize {
    /// Blocks kept.
    pub blocks: usize,
    /// Blocks of the last render that could not be kept.
    pub uncacheable: usize,
    /// Blocks that the last render printed again.
    pub printed: usize,
    /// Bytes of the blocks' text, origins and bookkeeping. Text and origins are shared with the last bundle.
    pub bytes: usize,
}

impl CacheSize {
    /// Both together.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self {
            blocks: self.blocks + other.blocks,
            uncacheable: self.uncacheable + other.uncacheable,
            printed: self.printed + other.printed,
            bytes: self.bytes + other.bytes,
        }
    }
}

/// Every key that was read, by number.
#[derive(Clone, Debug, Default)]
struct ReadTable {
    numbers: HashMap<Arc<str>, HashMap<Key, u32>>,
    count: u32,
    /// Cleared of unused keys when it has grown beyond this.
    bound: u32,
}

/// The memory, ready to be compared with stores as they are now.
#[derive(Debug)]
pub struct BlockCache<'k> {
    kept: &'k FileCache,
    /// For each number of the [`ReadTable`]: whether what was read has changed.
    changed: Vec<bool>,
    /// Objects that no block was printed for, by address.
    new: HashSet<usize>,
    /// Where the next block is expected.
    next: Cell<BlockNumber>,
    /// The places in templates of which any block is kept, and whether a whole group is: where none ever is, none is looked for among all.
    sites: OnceCell<HashMap<usize, bool>>,
    by_object: OnceCell<HashMap<(usize, usize), BlockNumber>>,
    alike: Alike,
    lists: Option<&'k StoreLists>,
}

/// The number of blocks ahead that are looked at before all of them are.
const AHEAD: usize = 4;

impl<'k> BlockCache<'k> {
    /// `kept` compared with `snapshots`.
    #[must_use]
    pub fn new(kept: &'k FileCache, snapshots: &Snapshots) -> Self {
        let mut changed = vec![false; kept.reads.count as usize];
        let mut new = HashSet::new();
        for (name, before) in &kept.stores {
            let numbers = kept.reads.numbers.get(name);
            let Some(now) = snapshots.get(name).filter(|s| !s.is_on_demand() && !before.is_on_demand())
            else {
                numbers.into_iter().flat_map(HashMap::values).for_each(|n| mark(&mut changed, *n));
                continue;
            };
            if now.is_unchanged_since(before) {
                continue;
            }
            for difference in now.differences_from(before) {
                new.extend(difference.after.map(|(object, _)| address(object)));
                reads_of(&difference, numbers, |number| mark(&mut changed, number));
            }
        }
        Self {
            kept,
            changed,
            new,
            next: Cell::default(),
            sites: OnceCell::new(),
            by_object: OnceCell::new(),
            alike: Alike::default(),
            lists: None,
        }
    }

    /// The same, where lists of all objects are those of other files and renders.
    #[must_use]
    pub(crate) fn with_lists(self, lists: &'k StoreLists) -> Self {
        Self { lists: Some(lists), ..self }
    }

    pub(crate) fn lists(&self) -> Option<&'k StoreLists> {
        self.lists
    }

    /// The block that was printed at this place for this version of an object, with its number, if all it read is
    /// unchanged.
    pub(crate) fn find(
        &self,
        block: usize,
        object: &Arc<Object>,
        depth: usize,
    ) -> Option<(BlockNumber, &CachedBlock)> {
        let object = address(object);
        let is_it = |kept: &CachedBlock| kept.site.block == block && address(&kept.object) == object;
        let mut ahead = self.kept.starting_at(self.next.get()).take(AHEAD);
        let number = match ahead.find(|(_, kept)| is_it(kept)) {
            Some((number, _)) => number,
            None if self.new.contains(&object) || !self.has_blocks_of(block) => return None,
            None => *self.by_object().get(&(block, object))?,
        };
        self.next.set(BlockNumber { at: number.at + 1, ..number });
        let kept = self.kept.block(number)?;
        (self.is_unchanged(&kept.reads) && kept.site.depth == depth).then_some((number, kept))
    }

    /// The next group, with its number, if it was printed at this place for these versions of the first of `objects`, which are
    /// addresses, and all it read is unchanged.
    pub(crate) fn find_group(
        &self,
        block: usize,
        objects: &[usize],
        depth: usize,
    ) -> Option<(usize, &Arc<BlockGroup>, &WholeGroup)> {
        let BlockNumber { group, at } = self.next.get();
        // The last blocks of a group may be gone.
        let next = if at == 0 { group } else { group + 1 };
        let group = self.kept.groups.get(next)?;
        let whole = group.whole.as_ref()?;
        let is_it = (whole.site.block, whole.site.depth) == (block, depth)
            && objects.get(..whole.objects.len()) == Some(&*whole.objects);
        (is_it && self.is_unchanged(&whole.reads)).then_some((next, group, whole))
    }

    /// That group stands again: what comes next is expected behind it.
    pub(crate) fn pass_group(&self, number: usize) {
        self.next.set(BlockNumber { group: number + 1, at: 0 });
    }

    /// Whether any group of this block may stand again.
    pub(crate) fn has_groups_of(&self, block: usize) -> bool {
        self.sites().get(&block) == Some(&true)
    }

    fn is_unchanged(&self, reads: &[u32]) -> bool {
        reads.iter().all(|read| self.changed.get(*read as usize) == Some(&false))
    }

    pub(crate) fn alike(&self) -> &Alike {
        &self.alike
    }

    fn has_blocks_of(&self, block: usize) -> bool {
        self.sites().contains_key(&block)
    }

    fn sites(&self) -> &HashMap<usize, bool> {
        self.sites.get_or_init(|| {
            let mut sites = HashMap::new();
            for group in &self.kept.groups {
                // The blocks of a group are all of one place.
                let Some(first) = group.blocks.first() else { continue };
                *sites.entry(first.site.block).or_default() |= group.whole.is_some();
            }
            sites
        })
    }

    fn by_object(&self) -> &HashMap<(usize, usize), BlockNumber> {
        self.by_object.get_or_init(|| {
            let blocks = self.kept.starting_at(BlockNumber::default());
            blocks.map(|(number, kept)| ((kept.site.block, address(&kept.object)), number)).collect()
        })
    }
}

impl FileCache {
    /// Whether a render would read only what it read before: from stores in which nothing of that has changed since.
    pub(crate) fn is_current(&self, snapshots: &Snapshots) -> bool {
        self.stores.iter().all(|(name, before)| {
            snapshots.get(name).is_some_and(|now| {
                let is_known = !now.is_on_demand() && !before.is_on_demand();
                is_known && (now.is_unchanged_since(before) || self.reads_nothing_of(name, before, now))
            })
        })
    }

    /// Whether nothing that was read from a store is different now.
    fn reads_nothing_of(&self, name: &Arc<str>, before: &Snapshot, now: &Snapshot) -> bool {
        let numbers = self.reads.numbers.get(name);
        now.differences_from(before).all(|difference| {
            let mut is_read = false;
            reads_of(&difference, numbers, |_| is_read = true);
            !is_read
        })
    }

    /// Goes on to stores in which nothing that was read has changed.
    pub(crate) fn advance(&mut self, snapshots: &Snapshots) {
        for (name, store) in &mut self.stores {
            if let Some(now) = snapshots.get(name) {
                *store = now.clone();
            }
        }
    }

    /// The file was the same again as a whole.
    pub(crate) fn rest(&mut self) {
        self.printed = 0;
    }

    /// Takes a render that has been encoded. `fragments`: what became of each of its pieces; `refused`: those with
    /// values that cannot stand there, which are not kept.
    pub(crate) fn update(
        &mut self,
        blocks: Vec<PrintedBlock>,
        outside: &[Read],
        snapshots: &Snapshots,
        fragment: impl Fn(usize) -> Option<Fragment>,
        refused: &BTreeSet<usize>,
    ) {
        let before = std::mem::take(&mut self.groups);
        let mut groups = GroupBuilder::default();
        let mut last_site = None;
        self.uncacheable.clear();
        self.printed = blocks.iter().filter(|b| matches!(b, PrintedBlock::Fresh(_))).count();
        let mut read: HashSet<Arc<str>> = outside.iter().map(|r| r.resource.clone()).collect();
        let mut outside = self.reads.numbers(outside);
        for block in blocks {
            match block {
                PrintedBlock::Kept(number) => {
                    let kept = before.get(number.group).and_then(|group| group.blocks.get(number.at));
                    kept.into_iter().for_each(|block| groups.block(block.clone()));
                }
                PrintedBlock::KeptGroup(number) => {
                    before.get(number).into_iter().for_each(|group| groups.group(group.clone()));
                }
                PrintedBlock::Fresh(fresh) => {
                    for r in &fresh.reads {
                        if !read.contains(&r.resource) {
                            read.insert(r.resource.clone());
                        }
                    }
                    let is_sound = fresh.piece.is_none_or(|piece| !refused.contains(&piece));
                    let reads = self.reads.numbers(&fresh.reads);
                    let kept =
                        is_sound.then(|| self.kept(*fresh, &reads, &fragment, &mut last_site)).flatten();
                    match kept {
                        Some(block) => groups.block(Arc::new(block)),
                        None => {
                            outside.extend(reads);
                            groups.gap();
                        }
                    }
                }
            }
        }
        // A resource that was read once is kept in sight: comparing one store too many costs nothing.
        read.extend(self.stores.keys().cloned());
        let now = |name: Arc<str>| snapshots.get(&name).map(|store| (name, store.clone()));
        self.stores = read.into_iter().filter_map(now).collect();
        outside.sort_unstable();
        outside.dedup();
        (self.groups, self.outside) = (groups.finish(), outside.into());
        self.sweep();
        self.bytes = self.groups.iter().map(|group| group.size).sum();
    }

    fn kept(
        &mut self,
        fresh: FreshBlock,
        reads: &[u32],
        fragment: &impl Fn(usize) -> Option<Fragment>,
        last_site: &mut Option<Arc<BlockSite>>,
    ) -> Option<CachedBlock> {
        let FreshBlock { piece, site, lookups, effects, uncacheable, bytes, most, .. } = fresh;
        let fragment = piece.and_then(fragment);
        let uncacheable =
            uncacheable.or((fragment.is_none() && piece.is_some()).then_some(Uncacheable::InsideLine));
        if let Some(why) = uncacheable {
            *self.uncacheable.entry((site.place, why)).or_default() += 1;
            return None;
        }
        let silent = effects.warnings.is_empty() && effects.faults.is_empty() && effects.added.is_empty();
        let (site, object) = BlockSite::of(site, lookups, last_site.take());
        *last_site = Some(site.clone());
        let effects = (!silent).then(|| Box::new(effects));
        Some(CachedBlock { site, object, reads: reads.into(), effects, fragment, bytes, most })
    }

    /// All blocks from that one on.
    fn starting_at(&self, start: BlockNumber) -> impl Iterator<Item = (BlockNumber, &CachedBlock)> {
        let groups = self.groups.iter().enumerate().skip(start.group);
        groups.flat_map(move |(group, of)| {
            let skipped = if group == start.group { start.at } else { 0 };
            let blocks = of.blocks.iter().enumerate().skip(skipped);
            blocks.map(move |(at, block)| (BlockNumber { group, at }, &**block))
        })
    }

    fn blocks(&self) -> impl Iterator<Item = &CachedBlock> {
        self.groups.iter().flat_map(|group| &group.blocks).map(|block| &**block)
    }

    fn block(&self, number: BlockNumber) -> Option<&CachedBlock> {
        self.groups.get(number.group)?.blocks.get(number.at).map(|block| &**block)
    }

    /// The same blocks, each with other reads.
    fn change_reads(&mut self, reads: impl Fn(&CachedBlock) -> Box<[u32]>) {
        for group in &mut self.groups {
            let changed =
                |block: &Arc<CachedBlock>| Arc::new(CachedBlock { reads: reads(block), ..(**block).clone() });
            *group = Arc::new(BlockGroup::new(&group.blocks.iter().map(changed).collect::<Vec<_>>()));
        }
    }

    /// Forgets keys that no block has read, once they could be half of all.
    fn sweep(&mut self) {
        if self.reads.count <= self.reads.bound {
            return;
        }
        let mut used = vec![None; self.reads.count as usize];
        let mut count = 0_u32;
        let of_blocks = self.groups.iter().flat_map(|group| &group.blocks).flat_map(|block| &block.reads);
        for number in of_blocks.chain(&self.outside) {
            if let Some(slot @ None) = used.get_mut(*number as usize) {
                *slot = Some(count);
                count += 1;
            }
        }
        self.reads.bound = count.saturating_mul(2).saturating_add(1024);
        if count == self.reads.count {
            return;
        }
        let renumbered = |number: &u32| used.get(*number as usize).copied().flatten();
        self.change_reads(|block| block.reads.iter().filter_map(renumbered).collect());
        self.outside = self.outside.iter().filter_map(renumbered).collect();
        for numbers in self.reads.numbers.values_mut() {
            numbers.retain(|_, number| renumbered(number).map(|new| *number = new).is_some());
        }
        self.reads.count = count;
    }

    /// The reads of the blocks of these objects.
    pub(crate) fn reads_of(&self, objects: &mut BTreeMap<Arc<ObjectRef>, Vec<Read>>) {
        let mut keys = vec![None; self.reads.count as usize];
        for (resource, numbers) in &self.reads.numbers {
            for (key, number) in numbers {
                if let Some(slot) = keys.get_mut(*number as usize) {
                    *slot = Some((resource, key));
                }
            }
        }
        for block in self.blocks() {
            let Some(reads) = objects.get_mut(&block.object.reference) else { continue };
            let read = |number: &u32| {
                let (resource, key) = keys.get(*number as usize).copied().flatten()?;
                Some(Read { resource: resource.clone(), key: key.clone() })
            };
            reads.extend(block.reads.iter().filter_map(read));
        }
    }

    pub(crate) fn size(&self) -> CacheSize {
        // A key of two values, which nearly all are, and its place in the table.
        let table = self.reads.count as usize * (size_of::<(Key, u32)>() + size_of::<[Arc<str>; 2]>());
        CacheSize {
            blocks: self.groups.iter().map(|group| group.blocks.len()).sum(),
            uncacheable: self.uncacheable.values().sum(),
            printed: self.printed,
            bytes: table + self.bytes,
        }
    }

    /// Blocks of the last render that could not be kept: where, why, and how many.
    pub(crate) fn uncacheable(&self) -> impl Iterator<Item = (SourcePosition, Uncacheable, usize)> {
        self.uncacheable.iter().map(|((place, why), count)| (*place, *why, *count))
    }

    /// As if no block had read anything: for the test that proves that tracking is needed.
    pub(crate) fn forget_reads(&mut self) {
        self.reads = ReadTable::default();
        self.change_reads(|_| Box::default());
    }
}

impl ReadTable {
    /// Of each of these its number, sorted.
    fn numbers(&mut self, reads: &[Read]) -> Vec<u32> {
        let mut numbers: Vec<u32> = reads.iter().map(|read| self.number(read)).collect();
        numbers.sort_unstable();
        numbers.dedup();
        numbers
    }

    fn number(&mut self, read: &Read) -> u32 {
        let next = self.count;
        let of = self.numbers.entry(read.resource.clone()).or_default();
        let number = *of.entry(read.key.clone()).or_insert(next);
        self.count += u32::from(number == next);
        number
    }
}

/// Gives the numbers of those reads whose result is another one after a `difference`, of all that were read from its store.
fn reads_of(difference: &Difference<'_>, numbers: Option<&HashMap<Key, u32>>, mut read: impl FnMut(u32)) {
    let Some(numbers) = numbers else { return };
    for (object, key) in [difference.before, difference.after].into_iter().flatten() {
        let name = [object.reference.namespace.clone(), object.reference.name.clone()];
        let prefixes = (0..=key.len()).filter_map(|length| key.get(..length));
        for key in prefixes.chain([name.as_slice()]) {
            if let Some(number) = numbers.get(key) {
                read(*number);
            }
        }
    }
}

fn mark(changed: &mut [bool], number: u32) {
    if let Some(changed) = changed.get_mut(number as usize) {
        *changed = true;
    }
}

fn address(object: &Arc<Object>) -> usize {
    Arc::as_ptr(object).addr()
}
