//! What of two configurations must be compared: the blocks that are not the same memory, and what bears on them.

use super::{BlockIndex, block::IndexedBlock, block_run::BlockRun};
use crate::document::{Document, SectionKind};
use haptic_text::alignment::{Stretch, align};
use std::{
    borrow::Cow,
    collections::{HashMap, HashSet, hash_map::Entry},
    sync::Arc,
};

/// A part of what may differ between two configurations.
#[derive(Debug)]
pub struct DifferingPart<'o> {
    old: Vec<PartBlock<'o>>,
    new: Vec<PartBlock<'o>>,
}

/// What a part has of a block.
#[derive(Clone, Copy, Debug)]
enum PartBlock<'o> {
    Whole(&'o IndexedBlock),
    /// Its defaults sections. What else is in it is in the first part.
    Defaults(&'o IndexedBlock),
}

/// What may differ between two configurations, in parts whose new text is little more than `most` bytes. [`crate::diff::compare`] finds the same changes in all parts together as between the whole configurations, except for
/// the position of an added section, which is the one in the part's second text. Sections of one kind and name are in one part, and
/// each part has all defaults sections that a section in it starts from.
///
/// A defaults section that changed has the same change in each part. Where a change reaches far (lines before the first section, `.if`,
/// sections of the same name) the only part is the whole of both.
#[must_use]
pub fn differing<'o, L>(
    old: &'o BlockIndex<L>,
    new: &'o BlockIndex<L>,
    most: usize,
) -> Vec<DifferingPart<'o>> {
    let (mut old_side, mut new_side) = ConfigSide::both(&old.runs, &new.runs);
    include_heirs(&mut old_side, &mut new_side);
    let sides = (old_side, new_side);
    if needs_all(&sides) {
        let whole = |block_index: &'o BlockIndex<L>| block_index.blocks().map(PartBlock::Whole).collect();
        return vec![DifferingPart { old: whole(old), new: whole(new) }];
    }
    let (old, new) = sides;
    let mut numbers = PartNumbers::of(&old, &new, most);
    if numbers.count > 1 && (old.has_conditional_defaults() || new.has_conditional_defaults()) {
        numbers = PartNumbers::of(&old, &new, usize::MAX);
    }
    let frontends = old.changed().chain(new.changed()).any(|entry| entry.traits.frontend);
    let (old, new) = (old.relevant(&numbers, frontends), new.relevant(&numbers, frontends));
    let part = |number| DifferingPart { old: blocks_of(&old, number), new: blocks_of(&new, number) };
    (0..numbers.count).map(part).collect()
}

impl DifferingPart<'_> {
    /// The old text and the new one.
    #[must_use]
    pub fn texts(&self) -> (String, String) {
        let text = |blocks: &[PartBlock<'_>]| blocks.iter().map(|block| block.text()).collect();
        (text(&self.old), text(&self.new))
    }
}

impl PartBlock<'_> {
    fn text(&self) -> Cow<'_, str> {
        let defaults = |document: &Document<'_>| {
            let sections = document.sections.iter().filter(|section| section.kind == SectionKind::Defaults);
            sections.map(|section| section.raw).collect::<String>()
        };
        match self {
            Self::Whole(entry) => entry.text(),
            Self::Defaults(entry) => entry.read(defaults).into(),
        }
    }
}

/// Which part each section that changed is in.
struct PartNumbers {
    of_key: HashMap<u64, usize>,
    count: usize,
}

impl PartNumbers {
    /// What bears on others, or others bear on, is in the first part. What is gone comes last, as all of it does in a comparison.
    fn of(old: &ConfigSide<'_>, new: &ConfigSide<'_>, most: usize) -> Self {
        let changed = || new.changed().chain(old.changed());
        let mut sets = DisjointSets::default();
        changed().filter(|entry| entry.stands_apart()).for_each(|entry| sets.unite(entry.keys()));
        let together = changed().filter(|entry| !entry.stands_apart()).flat_map(IndexedBlock::keys);
        let mut of_root: HashMap<u64, usize> = together.map(|key| (sets.find(*key), 0)).collect();
        // Whoever has many defaults sections has them in each part.
        let defaults: usize = new.with_defaults().map(text_length).sum();
        let most = most.max(defaults);
        let (mut number, mut size) = (0, 0);
        let sides = new.changed().map(|entry| (entry, true)).chain(old.changed().map(|entry| (entry, false)));
        for (entry, is_new) in sides.filter(|(entry, _)| entry.stands_apart()) {
            let Some(key) = entry.keys().first() else { continue };
            let place = of_root.entry(sets.find(*key));
            let is_first = matches!(place, Entry::Vacant(_));
            if is_first && size > most {
                (number, size) = (number + 1, 0);
            }
            let part = *place.or_insert(number);
            if is_first || is_new && part == number {
                size += text_length(entry);
            }
        }
        let keys = changed().flat_map(IndexedBlock::keys);
        let of_key = keys.filter_map(|key| Some((*key, *of_root.get(&sets.find(*key))?))).collect();
        Self { of_key, count: number + 1 }
    }

    fn part_of(&self, entry: &IndexedBlock) -> usize {
        let key = entry.keys().first().filter(|_| entry.stands_apart());
        key.and_then(|key| self.of_key.get(key)).copied().unwrap_or(0)
    }
}

/// Sections that must be in one part, because a block has them together: a union-find over their keys, of each its parent.
#[derive(Default)]
struct DisjointSets(HashMap<u64, u64>);

impl DisjointSets {
    /// The root of the key's set.
    fn find(&self, key: u64) -> u64 {
        let mut root = key;
        while let Some(parent) = self.0.get(&root) {
            root = *parent;
        }
        root
    }

    fn unite(&mut self, keys: &[u64]) {
        let Some((one, others)) = keys.split_first() else { return };
        for other in others {
            let (one, other) = (self.compressed(*one), self.compressed(*other));
            if one != other {
                self.0.insert(other, one);
            }
        }
    }

    /// The root, which is the parent of all on the way from now on.
    fn compressed(&mut self, key: u64) -> u64 {
        let (root, mut at) = (self.find(key), key);
        while at != root {
            at = self.0.insert(at, root).unwrap_or(root);
        }
        root
    }
}

fn text_length(entry: &IndexedBlock) -> usize {
    entry.block.fragments.iter().map(|fragment| fragment.as_str().len()).sum()
}

/// Those in this part, in their order.
fn blocks_of<'o>(relevant: &[(Option<usize>, &'o IndexedBlock)], part: usize) -> Vec<PartBlock<'o>> {
    let of_part = |(number, entry): &(Option<usize>, &'o IndexedBlock)| match number {
        None if part > 0 && entry.has_other_than_defaults() => Some(PartBlock::Defaults(entry)),
        None => Some(PartBlock::Whole(entry)),
        Some(number) => (*number == part).then_some(PartBlock::Whole(entry)),
    };
    relevant.iter().filter_map(of_part).collect()
}

/// One configuration.
struct ConfigSide<'o>(Vec<SideRun<'o>>);

/// A run of blocks, and whether each is in the other configuration, too, at the place that corresponds, and means the same there.
struct SideRun<'o> {
    run: &'o BlockRun,
    same: SameBlocks,
}

enum SameBlocks {
    All,
    Some(Box<[bool]>),
}

impl SideRun<'_> {
    fn is_same(&self, number: usize) -> bool {
        match &self.same {
            SameBlocks::All => true,
            SameBlocks::Some(same) => same.get(number) == Some(&true),
        }
    }
}

/// Takes blocks for changed ones whose sections may start from a defaults section that changed. The same block is there in both.
fn include_heirs(old: &mut ConfigSide<'_>, new: &mut ConfigSide<'_>) {
    let changed = old.changed().chain(new.changed());
    let defaults: Vec<u64> =
        changed.filter(|entry| entry.traits.defaults).flat_map(IndexedBlock::keys).copied().collect();
    if !defaults.is_empty() {
        old.include_heirs_of(&defaults);
        new.include_heirs_of(&defaults);
    }
}

impl<'o> ConfigSide<'o> {
    fn both(old: &'o [Arc<BlockRun>], new: &'o [Arc<BlockRun>]) -> (Self, Self) {
        let all = |runs: &'o [Arc<BlockRun>]| {
            Self(runs.iter().map(|run| SideRun { run, same: SameBlocks::All }).collect())
        };
        let (mut old_side, mut new_side) = (all(old), all(new));
        for stretch in align(old, new, BlockRun::address) {
            if let Stretch::Differs { old, new } = stretch {
                let (old, new) = (old_side.0.get_mut(old), new_side.0.get_mut(new));
                compare_blocks(old.unwrap_or_default(), new.unwrap_or_default());
            }
        }
        (old_side, new_side)
    }

    fn include_heirs_of(&mut self, defaults: &[u64]) {
        for side in &mut self.0 {
            let is_same = |(number, entry): (usize, &IndexedBlock)| {
                side.is_same(number) && entry.names_all_defaults() && !entry.may_start_from(defaults)
            };
            let same = side.run.blocks.iter().enumerate().map(is_same).collect();
            side.same = SameBlocks::Some(same);
        }
    }

    /// Whether a defaults section beside others may be conditional: alone it would not be.
    fn has_conditional_defaults(&self) -> bool {
        let has_directives =
            |document: &Document<'_>| document.lines().any(|line| line.directive().is_some());
        self.with_defaults().any(|entry| entry.has_other_than_defaults() && entry.read(has_directives))
    }

    fn with_defaults(&self) -> impl Iterator<Item = &'o IndexedBlock> {
        let runs = self.0.iter().map(|side| side.run).filter(|run| run.any.defaults);
        runs.flat_map(|run| &run.blocks).filter(|entry| entry.traits.defaults)
    }

    /// The blocks of runs that are `wanted` though all of them are the same, or that are not; and whether each is the same.
    fn blocks(&self, wanted: impl Fn(&BlockRun) -> bool) -> impl Iterator<Item = (&'o IndexedBlock, bool)> {
        let runs = self.0.iter().filter(move |side| match side.same {
            SameBlocks::All => wanted(side.run),
            SameBlocks::Some(_) => true,
        });
        runs.flat_map(|side| {
            let blocks = side.run.blocks.iter().enumerate();
            blocks.map(|(number, entry)| (entry, side.is_same(number)))
        })
    }

    fn changed(&self) -> impl Iterator<Item = &'o IndexedBlock> {
        self.blocks(|_| false).filter(|(_, same)| !same).map(|(entry, _)| entry)
    }

    /// Whether a section that is the same has one of these names.
    fn keeps_one_of(&self, names: &HashSet<u64>) -> bool {
        let has_one = |run: &BlockRun| names.iter().any(|name| run.has(*name));
        let mut kept = self.blocks(has_one).filter(|(_, same)| *same);
        kept.any(|(entry, _)| entry.keys().iter().any(|key| names.contains(key)))
    }

    /// What changed with its part's number; all defaults without one, because they are in all parts; and all frontends if their order may matter.
    fn relevant(&self, numbers: &PartNumbers, frontends: bool) -> Vec<(Option<usize>, &'o IndexedBlock)> {
        let number = |(entry, same): (&'o IndexedBlock, bool)| {
            let of_kept = (frontends && entry.traits.frontend).then_some((Some(0), entry));
            match (entry.traits.defaults, same) {
                (true, _) => Some((None, entry)),
                (false, true) => of_kept,
                (false, false) => Some((Some(numbers.part_of(entry)), entry)),
            }
        };
        let is_wanted = |run: &BlockRun| run.any.defaults || frontends && run.any.frontend;
        self.blocks(is_wanted).filter_map(number).collect()
    }

    fn runs(&self) -> impl DoubleEndedIterator<Item = &'o BlockRun> {
        self.0.iter().map(|side| side.run)
    }

    /// Whether nothing that has a header stands before the last block with a `global` section, except others of those.
    fn has_global_first(&self) -> bool {
        let mut behind = self.runs().rev().skip_while(|run| !run.any.global);
        let Some(last) = behind.next() else { return true };
        let is_other = |entry: &IndexedBlock| !entry.traits.global && entry.traits.headed;
        let up_to = last.blocks.iter().rposition(|entry| entry.traits.global).unwrap_or_default();
        let of_last = last.blocks.iter().take(up_to);
        !behind.flat_map(|run| &run.blocks).chain(of_last).any(is_other)
    }
}

/// Finds out which blocks of these runs are the same.
fn compare_blocks<'o>(old: &mut [SideRun<'o>], new: &mut [SideRun<'o>]) {
    let blocks = |side: &[SideRun<'_>]| {
        let all = side.iter().flat_map(|side| &side.run.blocks);
        all.map(|entry| Arc::as_ptr(&entry.block).addr()).collect::<Vec<_>>()
    };
    let (old_blocks, new_blocks) = (blocks(old), blocks(new));
    let mut same = (vec![false; old_blocks.len()], vec![false; new_blocks.len()]);
    for stretch in align(&old_blocks, &new_blocks, |address| *address) {
        if let Stretch::Same { old, new } = stretch {
            same.0.get_mut(old).unwrap_or_default().fill(true);
            same.1.get_mut(new).unwrap_or_default().fill(true);
        }
    }
    for (side, same) in [(old, same.0), (new, same.1)] {
        let mut same = same.into_iter();
        for one in side {
            one.same = SameBlocks::Some(same.by_ref().take(one.run.blocks.len()).collect());
        }
    }
}

/// Whether a change may bear on blocks that have not changed.
fn needs_all((old, new): &(ConfigSide<'_>, ConfigSide<'_>)) -> bool {
    let changed = || old.changed().chain(new.changed());
    if changed().any(|entry| !entry.traits.headed) {
        return true;
    }
    if old.runs().chain(new.runs()).any(|run| run.any.unbalanced) {
        return true;
    }
    if !old.has_global_first() || !new.has_global_first() {
        return true;
    }
    // Of several sections of one name, which is compared with which depends on all of them.
    let names: HashSet<u64> = changed().flat_map(IndexedBlock::keys).copied().collect();
    new.keeps_one_of(&names)
}
