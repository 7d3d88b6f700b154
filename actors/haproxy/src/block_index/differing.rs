//! What of two configurations must be compared: the blocks that are not the same memory, and what bears on them.

use super::{BlockIndex, block::IndexedBlock};
use haptic_model::alignment::{Stretch, align};
use std::{collections::HashSet, sync::Arc};

/// The texts of what may differ between two configurations. [`crate::diff::compare`] finds the same changes between
/// these as between the whole configurations, except for the position of an added section, which is the one in the
/// second text. Both texts have all defaults sections that a section in them starts from.
///
/// Where a change reaches far (defaults, lines before the first section, `.if`, sections of the same name) these are the whole configurations.
#[must_use]
pub fn differing<L>(old: &BlockIndex<L>, new: &BlockIndex<L>) -> (String, String) {
    let address = |entry: &IndexedBlock| Arc::as_ptr(&entry.block).addr();
    let stretches = align(&old.blocks, &new.blocks, address);
    let sides = (ConfigSide::new(old, &stretches, true), ConfigSide::new(new, &stretches, false));
    if needs_all(&sides) {
        return (old.text.to_string(), new.text.to_string());
    }
    let frontends = sides.0.changed().chain(sides.1.changed()).any(|entry| entry.traits.frontend);
    (sides.0.text(frontends), sides.1.text(frontends))
}

/// One configuration.
struct ConfigSide<'o> {
    blocks: &'o [IndexedBlock],
    /// For each block: whether it is in the other configuration, too, at the place that corresponds.
    same: Vec<bool>,
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

    fn changed(&self) -> impl Iterator<Item = &'o IndexedBlock> {
        self.blocks.iter().zip(&self.same).filter(|(_, same)| !**same).map(|(entry, _)| entry)
    }

    fn unchanged(&self) -> impl Iterator<Item = &'o IndexedBlock> {
        self.blocks.iter().zip(&self.same).filter(|(_, same)| **same).map(|(entry, _)| entry)
    }

    /// What changed, with all defaults, and with all frontends if their order may matter.
    fn text(&self, frontends: bool) -> String {
        let mut text = String::new();
        for (entry, same) in self.blocks.iter().zip(&self.same) {
            if !same || is_kept(entry, frontends) {
                text.push_str(&entry.text());
            }
        }
        text
    }
}

fn is_kept(entry: &IndexedBlock, frontends: bool) -> bool {
    entry.traits.defaults || (frontends && entry.traits.frontend)
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
    if changed().any(|entry| entry.traits.defaults || !entry.traits.headed) {
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
