//! The meaning of names at one point of a render: block parameters, variables, `this`, `@index`.

use super::{
    node::Block,
    path::{Path, PathStart},
};
use crate::{
    block_cache::captured::{Alike, Boundary, LookupResult, OuterLookup, Uncacheable},
    value::Value,
};
use std::{cell::RefCell, sync::Arc};

/// One block being rendered. Blocks inside borrow the ones around them.
pub(super) struct BlockScope<'s, 't> {
    outer: Option<&'s BlockScope<'s, 't>>,
    pub this: Value,
    /// Block parameters, or the values a partial was given.
    pub parameters: Vec<(Arc<str>, Value)>,
    pub loop_state: Option<Loop>,
    variables: RefCell<Vec<(Arc<str>, Value)>>,
    inline: RefCell<Vec<(&'t str, &'t Block)>>,
    /// The block that `{{> @partial-block}}` prints, and the scope it is printed in.
    pub slot: Option<(&'t Block, &'s BlockScope<'s, 't>)>,
    is_partial: bool,
    /// Set on an outermost object's block: what is looked up further out is noted there.
    pub boundary: Option<Boundary>,
}

/// Where a loop stands.
#[derive(Clone)]
pub(super) struct Loop {
    pub index: usize,
    pub last: bool,
    pub key: Option<Arc<str>>,
}

impl<'s, 't> BlockScope<'s, 't> {
    /// The top of a file.
    pub fn top(context: Value) -> Self {
        Self {
            outer: None,
            this: context,
            parameters: Vec::new(),
            loop_state: None,
            variables: RefCell::default(),
            inline: RefCell::default(),
            slot: None,
            is_partial: false,
            boundary: None,
        }
    }

    /// A block inside this one.
    pub fn block(&'s self, this: Value) -> Self {
        Self { outer: Some(self), this, ..Self::top(Value::Missing) }
    }

    /// A partial included here.
    pub fn partial(&'s self, this: Value, slot: Option<(&'t Block, &'s BlockScope<'s, 't>)>) -> Self {
        Self { outer: Some(self), this, slot, is_partial: true, ..Self::top(Value::Missing) }
    }

    fn outwards(&self) -> impl Iterator<Item = &BlockScope<'s, 't>> {
        let mut next = Some(self);
        std::iter::from_fn(move || {
            let here = next?;
            next = here.outer;
            Some(here)
        })
    }

    /// From here outwards; with each scope the boundary that lies before it, if there is one.
    fn beyond(&self) -> impl Iterator<Item = (&BlockScope<'s, 't>, Option<&Boundary>)> {
        let mut crossed = None;
        self.outwards().map(move |scope| {
            let before = crossed;
            crossed = crossed.or(scope.boundary.as_ref());
            (scope, before)
        })
    }

    fn root(&self) -> &Value {
        self.outwards().last().map_or(&Value::Missing, |s| &s.this)
    }

    /// The value of a path, `Missing` if there is none.
    pub fn lookup(&self, path: &Path) -> Result<Value, String> {
        let keys = path.keys.as_slice();
        match &path.start {
            PathStart::Root => self.root().below(keys).cloned(),
            PathStart::This { up } => match self.this_of(*up) {
                Some(this) => this.below(keys).cloned(),
                None => Ok(Value::Missing),
            },
            PathStart::Local { up } => Ok(self.local(*up, keys)),
            PathStart::Name => {
                let Some((first, rest)) = keys.split_first() else { return Ok(self.this.clone()) };
                match self.named(first) {
                    Some(value) => Ok(value.below(rest)?.clone()),
                    None => self.this.below(keys).cloned(),
                }
            }
        }
    }

    /// The value of a name here; `this` is the value that the block is for.
    pub fn visible(&self, name: &Arc<str>) -> Result<Value, String> {
        match self.named(name) {
            Some(value) => Ok(value),
            None if &**name == "this" => Ok(self.this.clone()),
            None => self.this.below(std::slice::from_ref(name)).cloned(),
        }
    }

    /// `this`, a number of blocks further out.
    fn this_of(&self, up: usize) -> Option<&Value> {
        let mut crossed = None;
        let mut inside = 0;
        for (number, (scope, boundary)) in self.beyond().enumerate() {
            inside += usize::from(boundary.is_none());
            crossed = boundary;
            if number == up {
                if let Some(boundary) = boundary {
                    note_this(boundary, 1 + number - inside, scope.found());
                }
                return Some(&scope.this);
            }
        }
        if let Some(boundary) = crossed {
            note_this(boundary, 1 + up - inside, Ok(LookupResult::Nothing));
        }
        None
    }

    /// The result of a look at `this`. The top of the context never changes while blocks are kept.
    fn found(&self) -> Result<LookupResult, Uncacheable> {
        if self.outer.is_none() { Ok(LookupResult::Top) } else { LookupResult::of(Some(&self.this)) }
    }

    /// A block parameter or variable.
    pub fn named(&self, name: &str) -> Option<Value> {
        let mut crossed = None;
        for (scope, boundary) in self.beyond() {
            crossed = boundary.or(scope.boundary.as_ref());
            if let Some(value) = scope.variable(name) {
                return Some(note_name(boundary, name, value));
            }
            if let Some((number, (_, value))) =
                scope.parameters.iter().enumerate().find(|(_, (n, _))| &**n == name)
            {
                // An object's own parameter is the object, the second one is where the loop stands.
                let boundary = boundary.or(scope.boundary.as_ref().filter(|_| number > 0));
                return Some(note_name(boundary, name, value.clone()));
            }
        }
        if let Some(boundary) = crossed {
            boundary.note(
                || OuterLookup::Name(name.into()),
                |known| is_name(known, name),
                Ok(LookupResult::Nothing),
            );
        }
        None
    }

    fn variable(&self, name: &str) -> Option<Value> {
        self.variables.borrow().iter().rev().find(|(n, _)| &**n == name).map(|(_, value)| value.clone())
    }

    fn local(&self, up: usize, keys: &[Arc<str>]) -> Value {
        let [name] = keys else { return Value::Missing };
        let mut crossed = None;
        let mut beyond = 0;
        let mut left = up;
        for (scope, boundary) in self.beyond() {
            crossed = boundary.or(scope.boundary.as_ref());
            let Some(state) = &scope.loop_state else { continue };
            if left == 0 {
                let value = state.value(name);
                note_loop(crossed, beyond, name, Some(&value));
                return value;
            }
            left -= 1;
            beyond += usize::from(crossed.is_some());
        }
        note_loop(crossed, beyond + left, name, None);
        Value::Missing
    }

    /// The value that a look out of this scope, which is an object's block, sees.
    pub fn look_up(&self, lookup: &OuterLookup) -> Option<Value> {
        match lookup {
            OuterLookup::Name(name) => {
                let own = self.parameters.iter().skip(1).find(|(n, _)| n == name);
                own.map(|(_, value)| value.clone()).or_else(|| self.outer?.named(name))
            }
            OuterLookup::Loop(number, name) => {
                self.outwards().filter_map(|s| s.loop_state.as_ref()).nth(*number).map(|s| s.value(name))
            }
            OuterLookup::This(_) | OuterLookup::Inline(_) | OuterLookup::Scoped(..) => None,
        }
    }

    /// Whether a look out of this scope, which is an object's block, would find the same again.
    pub fn finds(&self, lookup: &OuterLookup, found: &LookupResult, alike: &Alike) -> bool {
        match (lookup, found) {
            (OuterLookup::Inline(name), _) => {
                let now = self.outer.and_then(|outer| outer.inline(name));
                match (found, now) {
                    (LookupResult::Nothing, None) => true,
                    (LookupResult::Inline(then), Some(now)) => *then == std::ptr::from_ref(now).addr(),
                    _ => false,
                }
            }
            (OuterLookup::This(number), _) => match (found, self.outwards().nth(*number)) {
                (LookupResult::Nothing, None) => true,
                (LookupResult::Top, Some(now)) => now.outer.is_none(),
                (LookupResult::Nothing | LookupResult::Top, _) | (_, None) => false,
                (found, Some(now)) => now.outer.is_some() && found.is(Some(&now.this), alike),
            },
            _ => found.is(self.look_up(lookup).as_ref(), alike),
        }
    }

    /// Declares a variable in this block, or changes it if this block declared it.
    pub fn declare(&self, name: &Arc<str>, value: Value) {
        let mut variables = self.variables.borrow_mut();
        match variables.iter_mut().find(|(n, _)| n == name) {
            Some(variable) => variable.1 = value,
            None => variables.push((name.clone(), value)),
        }
    }

    /// Each step of a loop starts without the variables of the one before.
    pub fn forget_variables(&mut self) {
        self.variables.get_mut().clear();
        self.inline.get_mut().clear();
    }

    /// Changes the nearest variable of that name; whether there is one.
    pub fn change(&self, name: &str, change: impl FnOnce(&mut Value)) -> bool {
        for (scope, boundary) in self.beyond() {
            let mut variables = scope.variables.borrow_mut();
            if let Some((_, value)) = variables.iter_mut().find(|(n, _)| &**n == name) {
                if let Some(boundary) = boundary {
                    boundary.refuse(Uncacheable::OuterVariable);
                }
                change(value);
                return true;
            }
        }
        false
    }

    /// Names that could be meant here, for suggestions.
    pub fn names(&self) -> Vec<Arc<str>> {
        let mut names = Vec::new();
        for scope in self.outwards() {
            names.extend(scope.variables.borrow().iter().map(|(n, _)| n.clone()));
            names.extend(scope.parameters.iter().map(|(n, _)| n.clone()));
        }
        if let Ok(Some(dict)) = self.this.as_dict() {
            names.extend(dict.iter().map(|(k, _)| k.clone()));
        }
        names
    }

    /// Whether the top of the context has that key.
    pub fn root_has(&self, name: &str) -> bool {
        self.root().field(name).is_ok_and(|v| v.is_some())
    }

    pub fn define_inline(&self, name: &'t str, block: &'t Block) {
        self.inline.borrow_mut().push((name, block));
    }

    pub fn inline(&self, name: &str) -> Option<&'t Block> {
        let mut crossed = None;
        for (scope, boundary) in self.beyond() {
            crossed = boundary.or(scope.boundary.as_ref());
            let found = scope.inline.borrow().iter().rev().find(|(n, _)| *n == name).map(|(_, b)| *b);
            if let Some(block) = found {
                let noted = LookupResult::Inline(std::ptr::from_ref(block).addr());
                note_inline(boundary, name, noted);
                return Some(block);
            }
        }
        note_inline(crossed, name, LookupResult::Nothing);
        None
    }

    /// The block given to the innermost partial.
    pub fn slot(&self) -> Option<(&'t Block, &'s BlockScope<'s, 't>)> {
        let (scope, boundary) = self.beyond().find(|(s, _)| s.is_partial)?;
        if let Some(boundary) = boundary {
            boundary.refuse(Uncacheable::GivenBlock);
        }
        scope.slot
    }
}

impl Loop {
    fn value(&self, name: &str) -> Value {
        match name {
            "index" => Value::count(self.index),
            "first" => Value::Bool(self.index == 0),
            "last" => Value::Bool(self.last),
            "key" => self.key.clone().map_or_else(|| Value::count(self.index), Value::Text),
            _ => Value::Missing,
        }
    }
}

fn is_name(known: &OuterLookup, name: &str) -> bool {
    matches!(known, OuterLookup::Name(n) if **n == *name)
}

fn note_name(boundary: Option<&Boundary>, name: &str, value: Value) -> Value {
    if let Some(boundary) = boundary {
        boundary.note(
            || OuterLookup::Name(name.into()),
            |known| is_name(known, name),
            LookupResult::of(Some(&value)),
        );
    }
    value
}

fn note_this(boundary: &Boundary, number: usize, found: Result<LookupResult, Uncacheable>) {
    let lookup = OuterLookup::This(number);
    boundary.note(|| lookup.clone(), |known| *known == lookup, found);
}

fn note_loop(boundary: Option<&Boundary>, number: usize, name: &Arc<str>, value: Option<&Value>) {
    if let Some(boundary) = boundary {
        let lookup = OuterLookup::Loop(number, name.clone());
        boundary.note(|| lookup.clone(), |known| *known == lookup, LookupResult::of(value));
    }
}

fn note_inline(boundary: Option<&Boundary>, name: &str, found: LookupResult) {
    if let Some(boundary) = boundary {
        let known = |known: &OuterLookup| matches!(known, OuterLookup::Inline(n) if **n == *name);
        boundary.note(|| OuterLookup::Inline(name.into()), known, Ok(found));
    }
}
