//! What of two configurations must be compared: the blocks that are not the same memory, and what bears on them.

use super::{BlockIndex, block::IndexedBlock};
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
    let address = |entry: &IndexedBlock| Arc::as_ptr(&entry.block).addr();
    let stretches = align(&old.blocks, &new.blocks, address);
    let (mut old_side, mut new_side) =
        (ConfigSide::new(old, &stretches, true), ConfigSide::new(new, &stretches, false));
    include_heirs(&mut old_side, &mut new_side);
    let sides = (old_side, new_side);
    if needs_all(&sides) {
        let whole = |outline: &'o BlockIndex<L>| outline.blocks.iter().map(PartBlock::Whole).collect();
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
        let defaults: usize = new.blocks.iter().filter(|entry| entry.traits.defaults).map(text_length).sum();
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
struct ConfigSide<'o> {
    blocks: &'o [IndexedBlock],
    /// For each block: whether it is in the other configuration, too, at the place that corresponds, and means the same there.
    same: Vec<bool>,
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
    fn new<L>(outline: &'o BlockIndex<L>, stretches: &[Stretch], is_old: bool) -> Self {
        let mut same = vec![false; outline.blocks.len()];
        for stretch in stretches {
            if let Stretch::Same { old, new } = stretch {
                let range = if is_old { old } else { new };
                same.get_mut(range.clone()).unwrap_or_default().fill(true);
            }
        }
        Self { blocks: &outline.blocks, same }
    }

    fn include_heirs_of(&mut self, defaults: &[u64]) {
        for (entry, same) in self.blocks.iter().zip(&mut self.same) {
            *same &= entry.names_all_defaults() && !entry.may_start_from(defaults);
        }
    }

    /// Whether a defaults section beside others may be conditional: alone it would not be.
    fn has_conditional_defaults(&self) -> bool {
        let has_directives =
            |document: &Document<'_>| document.lines().any(|line| line.directive().is_some());
        self.blocks.iter().any(|entry| entry.has_other_than_defaults() && entry.read(has_directives))
    }

    fn changed(&self) -> impl Iterator<Item = &'o IndexedBlock> {
        self.blocks.iter().zip(&self.same).filter(|(_, same)| !**same).map(|(entry, _)| entry)
    }

    fn unchanged(&self) -> impl Iterator<Item = &'o IndexedBlock> {
        self.blocks.iter().zip(&self.same).filter(|(_, same)| **same).map(|(entry, _)| entry)
    }

    /// What changed with its part's number; all defaults without one, because they are in all parts; and all frontends if their order may matter.
    fn relevant(&self, numbers: &PartNumbers, frontends: bool) -> Vec<(Option<usize>, &'o IndexedBlock)> {
        let number = |(entry, same): (&'o IndexedBlock, &bool)| {
            let of_kept = (frontends && entry.traits.frontend).then_some((Some(0), entry));
            match (entry.traits.defaults, same) {
                (true, _) => Some((None, entry)),
                (false, true) => of_kept,
                (false, false) => Some((Some(numbers.part_of(entry)), entry)),
            }
        };
        self.blocks.iter().zip(&self.same).filter_map(number).collect()
    }
}

/// Whether nothing that has a header stands before the last block with a `global` section, except others of those.
fn has_global_first(blocks: &[IndexedBlock]) -> bool {
    let last = blocks.iter().rposition(|entry| entry.traits.global);
    let other = blocks.iter().position(|entry| !entry.traits.global && entry.traits.headed);
    last.zip(other).is_none_or(|(last, other)| last < other)
}

/// Whether a change may bear on blocks that have not changed.
fn needs_all((old, new): &(ConfigSide<'_>, ConfigSide<'_>)) -> bool {
    let changed = || old.changed().chain(new.changed());
    if changed().any(|entry| !entry.traits.headed) {
        return true;
    }
    if old.blocks.iter().chain(new.blocks).any(|entry| entry.traits.unbalanced) {
        return true;
    }
    if !has_global_first(old.blocks) || !has_global_first(new.blocks) {
        return true;
    }
    // Of several sections of one name, which is compared with which depends on all of them.
    let names: HashSet<u64> = changed().flat_map(IndexedBlock::keys).copied().collect();
    new.unchanged().any(|entry| entry.keys().iter().any(|key| names.contains(key)))
}
