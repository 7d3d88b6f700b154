//! What of two configurations must be compared: the blocks that are not the same memory, and what bears on them.

use super::{BlockIndex, block::IndexedBlock};
use haptic_model::alignment::{Stretch, align};
use std::{
    collections::{HashMap, HashSet, hash_map::Entry},
    sync::Arc,
};

/// A part of what may differ between two configurations.
#[derive(Debug)]
pub struct DifferingPart<'o> {
    old: Vec<&'o IndexedBlock>,
    new: Vec<&'o IndexedBlock>,
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
        return vec![DifferingPart { old: old.blocks.iter().collect(), new: new.blocks.iter().collect() }];
    }
    let (old, new) = sides;
    let numbers = PartNumbers::of(&old, &new, most);
    let frontends = old.changed().chain(new.changed()).any(|entry| entry.traits.frontend);
    let (old, new) = (old.relevant(&numbers, frontends), new.relevant(&numbers, frontends));
    let part = |number| DifferingPart { old: blocks_of(&old, number), new: blocks_of(&new, number) };
    (0..numbers.count).map(part).collect()
}

impl DifferingPart<'_> {
    /// The old text and the new one.
    #[must_use]
    pub fn texts(&self) -> (String, String) {
        let text = |blocks: &[&IndexedBlock]| blocks.iter().map(|entry| entry.text()).collect();
        (text(&self.old), text(&self.new))
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
        let together = changed().filter(|entry| !entry.is_alone()).flat_map(IndexedBlock::keys);
        let mut of_key: HashMap<u64, usize> = together.map(|key| (*key, 0)).collect();
        // Whoever has many defaults sections has them in each part.
        let defaults: usize = new.blocks.iter().filter(|entry| entry.traits.defaults).map(text_length).sum();
        // What else is in their blocks is in one part.
        let is_mixed = changed().any(|entry| entry.traits.defaults && entry.key.is_none());
        let most = if is_mixed { usize::MAX } else { most.max(defaults) };
        let (mut number, mut size) = (0, 0);
        for entry in changed().filter(|entry| entry.is_alone()) {
            let Some(key) = entry.key else { continue };
            if let Entry::Vacant(place) = of_key.entry(key) {
                if size > most {
                    (number, size) = (number + 1, 0);
                }
                size += text_length(entry);
                place.insert(number);
            }
        }
        Self { of_key, count: number + 1 }
    }

    fn part_of(&self, entry: &IndexedBlock) -> usize {
        entry.key.filter(|_| entry.is_alone()).and_then(|key| self.of_key.get(&key)).copied().unwrap_or(0)
    }
}

fn text_length(entry: &IndexedBlock) -> usize {
    entry.block.fragments.iter().map(|fragment| fragment.as_str().len()).sum()
}

/// Those in this part, in their order.
fn blocks_of<'o>(relevant: &[(Option<usize>, &'o IndexedBlock)], part: usize) -> Vec<&'o IndexedBlock> {
    let is_there = |number: &Option<usize>| number.is_none_or(|number| number == part);
    relevant.iter().filter(|(number, _)| is_there(number)).map(|(_, entry)| *entry).collect()
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
