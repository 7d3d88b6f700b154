//! The looks of an object's block around itself: names, `../`, `@index`, inline snippets.
//!
//! Each look is noted with what it saw. A block printed before may stand again where every look would see the same.
//! Nothing here decides what a name means; that is the engine's.

use crate::value::Value;
use haptic_model::Object;
use std::{
    cell::{Cell, RefCell},
    sync::Arc,
};

/// One look out of a block. Numbers count from the block outwards.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum OuterLookup {
    /// A variable or block parameter.
    Name(Arc<str>),
    /// `this` of a block further out.
    This(usize),
    /// `@index`, `@first`, `@last` or `@key` of a loop, the block's own being number 0.
    Loop(usize, Arc<str>),
    /// `{{#*inline "name"}}`.
    Inline(Arc<str>),
    /// A name, looked up a number of scopes beyond the one that the block stands on.
    Scoped(usize, Arc<str>),
}

/// The result of a look.
#[derive(Clone, Debug)]
pub(crate) enum LookupResult {
    /// Nothing of that name.
    Nothing,
    /// A value without watched objects in it.
    Value(Value),
    /// A watched object, this version of it.
    Object(Arc<Object>),
    /// The object that the block is printed for: noted once for many blocks.
    OwnObject,
    /// The top of the context.
    Top,
    /// An inline snippet, by where it is in memory.
    Inline(usize),
}

/// Why what a block printed cannot stand again in a later render.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Uncacheable {
    /// It asks `once`, so it depends on all blocks before it.
    Once,
    /// It changes a variable declared outside of it.
    OuterVariable,
    /// It prints the block given to the snippet that it stands in.
    GivenBlock,
    /// It reads a list or dict with watched objects in it that was made outside of it.
    OuterObjects,
    /// It reads a resource whose store is on demand.
    OnDemand,
    /// It does not begin and end between two lines.
    InsideLine,
}

/// Whether a block of `object` that looked so `around` would see the same again.
pub(crate) fn would_see_the_same(
    lookups: &[(OuterLookup, LookupResult)],
    object: &Arc<Object>,
    finds: impl Fn(&OuterLookup, &LookupResult) -> bool,
) -> bool {
    lookups.iter().all(|(lookup, found)| match found {
        LookupResult::OwnObject => finds(lookup, &LookupResult::Object(object.clone())),
        found => finds(lookup, found),
    })
}

/// The boundary of an object's block: all that is looked up beyond it, from the inside.
#[derive(Debug, Default)]
pub(crate) struct Boundary {
    lookups: RefCell<Vec<(OuterLookup, LookupResult)>>,
    uncacheable: Cell<Option<Uncacheable>>,
}

impl Boundary {
    /// Notes what was seen beyond.
    pub fn note(
        &self,
        lookup: impl FnOnce() -> OuterLookup,
        same: impl Fn(&OuterLookup) -> bool,
        found: Result<LookupResult, Uncacheable>,
    ) {
        let mut lookups = self.lookups.borrow_mut();
        if lookups.iter().any(|(known, _)| same(known)) {
            return;
        }
        match found {
            Ok(found) => lookups.push((lookup(), found)),
            Err(why) => self.refuse(why),
        }
    }

    /// As [`Self::note`], where it takes time to say what was found.
    pub fn note_once(
        &self,
        lookup: impl FnOnce() -> OuterLookup,
        same: impl Fn(&OuterLookup) -> bool,
        found: impl FnOnce() -> Result<LookupResult, Uncacheable>,
    ) {
        if !self.lookups.borrow().iter().any(|(known, _)| same(known)) {
            self.note(lookup, |_| false, found());
        }
    }

    /// Notes that something cannot be tracked; the first reason is kept.
    pub fn refuse(&self, why: Uncacheable) {
        self.uncacheable.set(self.uncacheable.get().or(Some(why)));
    }

    /// All that was noted.
    pub fn take(&self) -> (Vec<(OuterLookup, LookupResult)>, Option<Uncacheable>) {
        (self.lookups.take(), self.uncacheable.take())
    }
}

impl LookupResult {
    /// The note of a value.
    ///
    /// # Errors
    /// Why it cannot be compared later.
    pub fn of(value: Option<&Value>) -> Result<Self, Uncacheable> {
        match value {
            None => Ok(Self::Nothing),
            Some(Value::Object(object)) if object.is_on_demand() => Err(Uncacheable::OnDemand),
            Some(Value::Object(object)) => Ok(Self::Object(object.object().clone())),
            Some(value) if has_objects(value) => Err(Uncacheable::OuterObjects),
            Some(value) => Ok(Self::Value(value.clone())),
        }
    }

    /// The same, where `object` is what the block is printed for.
    pub fn in_block_of(self, object: &Arc<Object>) -> Self {
        match self {
            Self::Object(found) if Arc::ptr_eq(&found, object) => Self::OwnObject,
            other => other,
        }
    }

    /// Whether both are the same, to the last digit.
    pub fn is_same_as(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Nothing, Self::Nothing) | (Self::Top, Self::Top) | (Self::OwnObject, Self::OwnObject) => {
                true
            }
            (Self::Value(a), Self::Value(b)) => identical(a, b),
            (Self::Object(a), Self::Object(b)) => Arc::ptr_eq(a, b),
            (Self::Inline(a), Self::Inline(b)) => a == b,
            _ => false,
        }
    }

    /// Whether a look sees the same now.
    pub fn is(&self, now: Option<&Value>, alike: &Alike) -> bool {
        match (self, now) {
            (Self::Nothing, None) => true,
            (Self::Object(then), Some(Value::Object(now))) => {
                !now.is_on_demand() && Arc::ptr_eq(then, now.object())
            }
            (Self::Value(then), Some(now)) => alike.are(then, now),
            _ => false,
        }
    }
}

impl std::fmt::Display for Uncacheable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Once => "it asks `once`, so it depends on all blocks before it",
            Self::OuterVariable => "it changes a variable that is declared outside of it",
            Self::GivenBlock => "it prints {{> @partial-block}}, which was given from outside of it",
            Self::OuterObjects => {
                "it reads a list or dict of watched objects that was made outside of it: use fetch inside it"
            }
            Self::OnDemand => "it reads a resource whose store is on demand",
            Self::InsideLine => "it does not begin and end at a line's end",
        })
    }
}

fn has_objects(value: &Value) -> bool {
    match value {
        Value::Object(_) => true,
        Value::List(list) => list.iter().any(has_objects),
        Value::Dict(dict) => dict.iter().any(|(_, value)| has_objects(value)),
        _ => false,
    }
}

/// Compares values exactly. Remembers large ones, because many blocks see the same.
#[derive(Debug, Default)]
pub(crate) struct Alike {
    compared: RefCell<Vec<(Value, Value, bool)>>,
}

/// The most comparisons that are remembered.
const COMPARED: usize = 8;

impl Alike {
    /// Whether both are the same, to the last digit: 1 and 1.0 are not.
    pub fn are(&self, a: &Value, b: &Value) -> bool {
        match (a, b) {
            (Value::List(_), Value::List(_)) | (Value::Dict(_), Value::Dict(_)) if !is_same(a, b) => {
                self.large(a, b)
            }
            _ => identical(a, b),
        }
    }

    fn large(&self, a: &Value, b: &Value) -> bool {
        let known =
            self.compared.borrow().iter().find(|(x, y, _)| is_same(x, a) && is_same(y, b)).map(|c| c.2);
        known.unwrap_or_else(|| {
            let result = identical(a, b);
            let mut compared = self.compared.borrow_mut();
            if compared.len() >= COMPARED {
                compared.remove(0);
            }
            compared.push((a.clone(), b.clone(), result));
            result
        })
    }
}

/// Whether both are the same list or dict in memory.
fn is_same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::List(a), Value::List(b)) => Arc::ptr_eq(a, b),
        (Value::Dict(a), Value::Dict(b)) => Arc::ptr_eq(a, b),
        _ => false,
    }
}

fn identical(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Missing, Value::Missing) | (Value::Null, Value::Null) => true,
        (Value::Bool(a), Value::Bool(b)) => a == b,
        (Value::Number(a), Value::Number(b)) => a == b,
        (Value::Text(a), Value::Text(b)) | (Value::Secret(a), Value::Secret(b)) => a == b,
        (Value::List(x), Value::List(y)) => {
            is_same(a, b) || (x.len() == y.len() && x.iter().zip(y.iter()).all(|(a, b)| identical(a, b)))
        }
        (Value::Dict(x), Value::Dict(y)) => {
            let keys = x.iter().map(|(key, _)| key).eq(y.iter().map(|(key, _)| key));
            is_same(a, b) || (keys && x.iter().zip(y.iter()).all(|(x, y)| identical(&x.1, &y.1)))
        }
        _ => false,
    }
}
