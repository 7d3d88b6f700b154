//! `loop`: where a loop stands, and what it runs over.

use super::{node::For, operand::Operand};
use crate::{
    engine::position::At,
    value::{Value, watched::Watched},
};
use std::{
    cell::{Cell, RefCell},
    sync::Arc,
};

/// The items that a loop runs over. Of many objects only those steps are made that do not stand again.
#[derive(Debug)]
pub(super) enum LoopItems<'p> {
    Operands(Vec<Operand<'p>>),
    Values(Arc<Vec<Value>>),
    /// Objects, each behind its key.
    Pairs(Arc<Vec<Value>>),
}

impl<'p> LoopItems<'p> {
    pub fn len(&self) -> usize {
        match self {
            Self::Operands(items) => items.len(),
            Self::Values(values) | Self::Pairs(values) => values.len(),
        }
    }

    pub fn get(&self, index: usize) -> Option<Operand<'p>> {
        match self {
            Self::Operands(items) => items.get(index).cloned(),
            Self::Values(values) => values.get(index).cloned().map(Operand::Value),
            Self::Pairs(values) => values.get(index).map(pair),
        }
    }

    /// The list whose values its steps are.
    pub fn list(&self) -> Option<&Arc<Vec<Value>>> {
        match self {
            Self::Operands(_) => None,
            Self::Values(values) | Self::Pairs(values) => Some(values),
        }
    }

    /// The watched objects of its steps: an item itself, or the last of a pair.
    pub fn objects(&self) -> impl Iterator<Item = Option<&Arc<Watched>>> {
        let (items, values): (&[Operand<'p>], &[Value]) = match self {
            Self::Operands(items) => (items, &[]),
            Self::Values(values) | Self::Pairs(values) => (&[], values),
        };
        items.iter().map(watched).chain(values.iter().map(Value::as_object))
    }
}

/// An object behind its namespace and name.
pub(super) fn pair<'p>(object: &Value) -> Operand<'p> {
    Operand::Tuple([key_of(object), Operand::Value(object.clone())].into())
}

/// An object's namespace and name.
pub(super) fn key_of<'p>(object: &Value) -> Operand<'p> {
    let reference = object.as_object().map(|object| object.reference());
    let part = |text: &Arc<str>| Operand::Value(Value::Text(text.clone()));
    let parts = reference.into_iter().flat_map(|of| [part(&of.namespace), part(&of.name)]);
    Operand::Tuple(parts.collect())
}

/// The watched object that a step of a loop is for: the item, or the last of a pair.
pub(super) fn watched<'o>(item: &'o Operand<'_>) -> Option<&'o Arc<Watched>> {
    match item {
        Operand::Value(Value::Object(object)) => Some(object),
        Operand::Tuple(items) => match &**items {
            [_, Operand::Value(Value::Object(object))] => Some(object),
            _ => None,
        },
        _ => None,
    }
}

/// One loop being run.
#[derive(Debug)]
pub(super) struct LoopState<'p> {
    pub items: LoopItems<'p>,
    pub index: Cell<usize>,
    /// How many loops of the same recursive one stand around it.
    pub depth: usize,
    /// The values that `loop.changed(…)` saw last.
    pub last: RefCell<Option<Vec<Operand<'p>>>>,
    /// The loop that `loop(…)` runs again.
    pub recursive: Option<(&'p For, At)>,
}

impl<'p> LoopState<'p> {
    pub fn field(&self, name: &str) -> Option<Operand<'p>> {
        let (index, length) = (self.index.get(), self.items.len());
        let item = |index: Option<usize>| {
            index.and_then(|index| self.items.get(index)).unwrap_or(Operand::UNDEFINED)
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
