//! What names mean at one point of a render: block parameters, variables, `this`, `@index`.

use super::{
    node::Block,
    path::{Path, Start},
};
use crate::value::Value;
use std::{cell::RefCell, sync::Arc};

/// One block being rendered. Blocks inside borrow the ones around them.
pub(super) struct Scope<'s, 't> {
    outer: Option<&'s Scope<'s, 't>>,
    pub this: Value,
    /// Block parameters, or the values a partial was given.
    pub parameters: Vec<(Arc<str>, Value)>,
    pub loop_state: Option<Loop>,
    variables: RefCell<Vec<(Arc<str>, Value)>>,
    inline: RefCell<Vec<(&'t str, &'t Block)>>,
    /// What `{{> @partial-block}}` prints, and the scope it is printed in.
    pub slot: Option<(&'t Block, &'s Scope<'s, 't>)>,
    is_partial: bool,
}

/// Where a loop stands.
#[derive(Clone)]
pub(super) struct Loop {
    pub index: usize,
    pub last: bool,
    pub key: Option<Arc<str>>,
}

impl<'s, 't> Scope<'s, 't> {
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
        }
    }

    /// A block inside this one.
    pub fn block(&'s self, this: Value) -> Self {
        Self { outer: Some(self), this, ..Self::top(Value::Missing) }
    }

    /// A partial included here.
    pub fn partial(&'s self, this: Value, slot: Option<(&'t Block, &'s Scope<'s, 't>)>) -> Self {
        Self { outer: Some(self), this, slot, is_partial: true, ..Self::top(Value::Missing) }
    }

    fn outwards(&self) -> impl Iterator<Item = &Scope<'s, 't>> {
        let mut next = Some(self);
        std::iter::from_fn(move || {
            let here = next?;
            next = here.outer;
            Some(here)
        })
    }

    fn out(&self, levels: usize) -> Option<&Scope<'s, 't>> {
        self.outwards().nth(levels)
    }

    fn root(&self) -> &Value {
        self.outwards().last().map_or(&Value::Missing, |s| &s.this)
    }

    /// The value of a path, `Missing` if there is none.
    pub fn lookup(&self, path: &Path) -> Result<Value, String> {
        let keys = path.keys.as_slice();
        match &path.start {
            Start::Root => self.root().below(keys).cloned(),
            Start::This { up } => match self.out(*up) {
                Some(scope) => scope.this.below(keys).cloned(),
                None => Ok(Value::Missing),
            },
            Start::Local { up } => Ok(self.local(*up, keys)),
            Start::Name => {
                let Some((first, rest)) = keys.split_first() else { return Ok(self.this.clone()) };
                match self.named(first) {
                    Some(value) => Ok(value.below(rest)?.clone()),
                    None => self.this.below(keys).cloned(),
                }
            }
        }
    }

    /// A block parameter or variable.
    pub fn named(&self, name: &str) -> Option<Value> {
        for scope in self.outwards() {
            if let Some((_, value)) = scope.variables.borrow().iter().rev().find(|(n, _)| &**n == name) {
                return Some(value.clone());
            }
            if let Some((_, value)) = scope.parameters.iter().find(|(n, _)| &**n == name) {
                return Some(value.clone());
            }
        }
        None
    }

    fn local(&self, up: usize, keys: &[Arc<str>]) -> Value {
        let [name] = keys else { return Value::Missing };
        let Some(state) = self.outwards().filter_map(|s| s.loop_state.as_ref()).nth(up) else {
            return Value::Missing;
        };
        match &**name {
            "index" => Value::count(state.index),
            "first" => Value::Bool(state.index == 0),
            "last" => Value::Bool(state.last),
            "key" => state.key.clone().map_or_else(|| Value::count(state.index), Value::Text),
            _ => Value::Missing,
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
        for scope in self.outwards() {
            let mut variables = scope.variables.borrow_mut();
            if let Some((_, value)) = variables.iter_mut().find(|(n, _)| &**n == name) {
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
        self.outwards()
            .find_map(|s| s.inline.borrow().iter().rev().find(|(n, _)| *n == name).map(|(_, b)| *b))
    }

    /// The block given to the innermost partial.
    pub fn slot(&self) -> Option<(&'t Block, &'s Scope<'s, 't>)> {
        self.outwards().find(|s| s.is_partial).and_then(|s| s.slot)
    }
}
