//! `loop`: where a loop stands.

use super::{node::For, operand::Operand};
use crate::evaluation::At;
use std::cell::{Cell, RefCell};

/// One loop being run.
#[derive(Debug)]
pub(super) struct LoopState<'p> {
    pub items: Vec<Operand<'p>>,
    pub index: Cell<usize>,
    /// How many loops of the same recursive one stand around it.
    pub depth: usize,
    /// What `loop.changed(…)` saw last.
    pub last: RefCell<Option<Vec<Operand<'p>>>>,
    /// What `loop(…)` runs again.
    pub recursive: Option<(&'p For, At)>,
}

impl<'p> LoopState<'p> {
    pub fn field(&self, name: &str) -> Option<Operand<'p>> {
        let (index, length) = (self.index.get(), self.items.len());
        let item = |index: Option<usize>| {
            index.and_then(|index| self.items.get(index)).cloned().unwrap_or(Operand::UNDEFINED)
        };
        Some(match name {
            "index" => Operand::count(index + 1),
            "index0" => Operand::count(index),
            "revindex" => Operand::count(length.saturating_sub(index)),
            "revindex0" => Operand::count(length.saturating_sub(index + 1)),
            "first" => Operand::bool(index == 0),
            "last" => Operand::bool(index + 1 == length),
            "length" => Operand::count(length),
            "depth" => Operand::count(self.depth + 1),
            "depth0" => Operand::count(self.depth),
            "previtem" => item(index.checked_sub(1)),
            "nextitem" => item(Some(index + 1)),
            _ => return None,
        })
    }
}
