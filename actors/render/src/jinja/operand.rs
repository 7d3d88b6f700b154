//! The values that expressions compute with: those that every engine has, and those that only this language has: text of templates,
//! lists and dicts that grow, macros.

use super::{
    keys::{DictKey, Entries},
    looping::LoopState,
    node::Macro,
    text,
};
use crate::{output::framing, value::Value};
use std::{
    cell::{Cell, RefCell},
    ops::Deref,
    rc::{Rc, Weak},
    sync::Arc,
};

/// One value of an expression.
#[derive(Clone, Debug)]
pub(super) enum Operand<'p> {
    /// Any value that other engines have, too; `Missing` is this language's undefined.
    Value(Value),
    /// Text of templates, with each value that was printed in it between marks.
    Markup(Arc<str>),
    List(Rc<MutableList<'p>>),
    Tuple(TupleItems<'p>),
    Dict(Rc<MutableDict<'p>>),
    /// `resources`.
    Resources,
    /// `resources.ingresses`.
    Store(Arc<str>),
    Macro(Closure<'p>),
    Module(Rc<Module<'p>>),
    Loop(Rc<LoopState<'p>>),
    /// `cycler(…)`.
    Cycler(Rc<Turns<'p>>),
    /// `joiner(…)`: nothing at first, then always the same.
    Joiner(Rc<Turns<'p>>),
}

/// A value that gives one item after the other.
#[derive(Debug)]
pub(super) struct Turns<'p> {
    pub born: u64,
    pub next: Cell<usize>,
    pub items: Vec<Operand<'p>>,
}

/// A list that a template made.
#[derive(Debug, Default)]
pub(super) struct MutableList<'p> {
    /// When it was made; see [`ScopeStack::now`](super::scope::ScopeStack::now).
    pub born: u64,
    pub items: RefCell<Vec<Operand<'p>>>,
}

/// The items of a tuple, which nothing changes.
#[derive(Clone, Debug)]
pub(super) struct TupleItems<'p>(Rc<[Operand<'p>]>);

impl<'p> Deref for TupleItems<'p> {
    type Target = [Operand<'p>];

    fn deref(&self) -> &[Operand<'p>] {
        &self.0
    }
}

impl<'p> From<Vec<Operand<'p>>> for TupleItems<'p> {
    fn from(items: Vec<Operand<'p>>) -> Self {
        Self(items.into())
    }
}

impl<'p, const N: usize> From<[Operand<'p>; N]> for TupleItems<'p> {
    fn from(items: [Operand<'p>; N]) -> Self {
        Self(Rc::new(items))
    }
}

impl<'p> FromIterator<Operand<'p>> for TupleItems<'p> {
    fn from_iter<I: IntoIterator<Item = Operand<'p>>>(items: I) -> Self {
        Self(items.into_iter().collect())
    }
}

/// A dict or namespace that a template made.
#[derive(Debug, Default)]
pub(super) struct MutableDict<'p> {
    pub born: u64,
    pub is_namespace: bool,
    pub entries: RefCell<Entries<'p>>,
}

/// A macro, and where the names in it are looked up.
#[derive(Clone, Debug)]
pub(super) struct Closure<'p> {
    pub code: &'p Macro,
    pub home: Home<'p>,
}

#[derive(Clone, Debug)]
pub(super) enum Home<'p> {
    /// In the scope of that number, which must still be the one that began then.
    Scope {
        number: usize,
        began: u64,
    },
    Module(Rc<Module<'p>>),
}

/// The names that an imported template declares.
#[derive(Debug)]
pub(super) struct Module<'p> {
    pub template: u16,
    pub names: Vec<(&'p str, Operand<'p>)>,
    /// Where it was imported `with context`: its macros see what is seen there.
    pub home: Option<Home<'p>>,
}

/// The depth to which values that were made of one in the other are nested.
pub(super) const DEEPEST: usize = 64;

/// The most values that are visited to compare or convert one: a list that holds another one twice, and so on, is as many as
/// two to the power of its depth.
pub(super) const MOST_VISITED: usize = 2 * crate::functions::LONGEST_LIST;

/// How much deeper a value is followed, and to how many more.
#[derive(Clone, Copy, Debug)]
pub(super) struct Effort<'e> {
    pub depth: usize,
    pub left: &'e Cell<usize>,
}

impl Effort<'_> {
    /// The effort that is left for the parts of a value.
    ///
    /// # Errors
    /// When nothing is.
    pub fn inner(self) -> Result<Self, String> {
        let left = self.left.get().checked_sub(1);
        self.left.set(left.ok_or_else(|| format!("it has more than {MOST_VISITED} values in it"))?);
        Ok(Self { depth: self.depth.checked_sub(1).ok_or_else(too_deep)?, ..self })
    }
}

impl Operand<'_> {
    pub const UNDEFINED: Self = Self::Value(Value::Missing);
    pub const NONE: Self = Self::Value(Value::Null);

    pub fn text(text: impl AsRef<str>) -> Self {
        Self::Value(Value::text(text.as_ref()))
    }

    pub fn bool(value: bool) -> Self {
        Self::Value(Value::Bool(value))
    }

    pub fn count(count: usize) -> Self {
        Self::Value(Value::count(count))
    }

    pub fn is_undefined(&self) -> bool {
        matches!(self, Self::Value(Value::Missing))
    }

    pub fn is_none(&self) -> bool {
        matches!(self, Self::Value(Value::Null))
    }

    pub fn is_text(&self) -> bool {
        matches!(self, Self::Markup(_) | Self::Value(Value::Text(_) | Value::Secret(_)))
    }

    /// Whether it, as a text, or an item of it is from a Secret.
    pub fn is_secret(&self, depth: usize) -> bool {
        match self {
            Self::Value(Value::Object(_)) => false,
            Self::Value(value) => value.holds_secret(),
            Self::Markup(text) => text.contains(framing::SECRET),
            _ if depth == 0 => true,
            Self::List(list) => list.items.borrow().iter().any(|item| item.is_secret(depth - 1)),
            Self::Tuple(items) => items.iter().any(|item| item.is_secret(depth - 1)),
            Self::Dict(dict) => dict.entries.borrow().iter().any(|(_, item)| item.is_secret(depth - 1)),
            _ => false,
        }
    }

    /// The description for messages.
    pub fn describe(&self) -> String {
        match self {
            Self::Value(Value::Missing) => "undefined".into(),
            Self::Value(Value::Null) => "none".into(),
            Self::Value(value) => value.describe(),
            Self::Markup(text) => Value::text(&text::plain(text)).describe(),
            Self::List(list) => format!("a list of {}", list.items.borrow().len()),
            Self::Tuple(items) => format!("a tuple of {}", items.len()),
            Self::Dict(dict) if dict.is_namespace => "a namespace".into(),
            Self::Dict(dict) => format!("a dict with {} keys", dict.entries.borrow().len()),
            Self::Resources => "`resources`".into(),
            Self::Store(name) => format!("the resources {name:?}"),
            Self::Macro(closure) => format!("the macro {:?}", closure.code.name),
            Self::Module(_) => "an imported template".into(),
            Self::Loop(_) => "`loop`".into(),
            Self::Cycler(_) => "a cycler".into(),
            Self::Joiner(_) => "a joiner".into(),
        }
    }

    /// Undefined, None, False, 0, "", and what has no items are false.
    pub fn is_true(&self) -> bool {
        match self {
            Self::Value(value) => value.is_true(),
            Self::Markup(text) => !text::is_empty(text),
            Self::List(list) => !list.items.borrow().is_empty(),
            Self::Tuple(items) => !items.is_empty(),
            Self::Dict(dict) => dict.is_namespace || !dict.entries.borrow().is_empty(),
            _ => true,
        }
    }

    /// The text that is printed for it; `None` for a value that cannot be printed.
    pub fn printed(&self) -> Option<Arc<str>> {
        Some(match self {
            Self::Value(Value::Text(text) | Value::Secret(text)) => text.clone(),
            Self::Markup(text) => text::plain(text).into(),
            Self::Value(Value::Bool(value)) => if *value { "True" } else { "False" }.into(),
            Self::Value(Value::Number(number)) if number.is_f64() => text::float(number.as_f64()?).into(),
            Self::Value(Value::Number(number)) => number.to_string().into(),
            _ => return None,
        })
    }

    /// Framed text: what is no text of a template stands between marks.
    ///
    /// # Errors
    /// When it cannot be printed, or holds a mark.
    pub fn framed(&self) -> Result<Arc<str>, String> {
        if let Self::Markup(text) = self {
            return Ok(text.clone());
        }
        let text = self.printed().ok_or_else(|| format!("{} is no text", self.describe()))?;
        framing::check_value(&text)?;
        let secret = if matches!(self, Self::Value(Value::Secret(_))) { "\u{E007}" } else { "" };
        Ok(format!("{secret}{}{text}{}", framing::VALUE, framing::END).into())
    }

    /// The whole number it is.
    pub fn whole(&self) -> Option<i64> {
        match self {
            Self::Value(Value::Number(number)) => number.as_i64(),
            Self::Value(Value::Bool(value)) => Some(i64::from(*value)),
            _ => None,
        }
    }

    /// The number it is.
    pub fn number(&self) -> Option<f64> {
        match self {
            Self::Value(Value::Number(number)) => number.as_f64(),
            Self::Value(Value::Bool(value)) => Some(if *value { 1.0 } else { 0.0 }),
            _ => None,
        }
    }

    /// As other engines and the function library take it.
    ///
    /// # Errors
    /// When it has no such form, or is nested too deep.
    pub fn value(&self) -> Result<Value, String> {
        self.value_within(Effort { depth: DEEPEST, left: &Cell::new(MOST_VISITED) })
    }

    fn value_within(&self, effort: Effort<'_>) -> Result<Value, String> {
        let effort = effort.inner()?;
        Ok(match self {
            Self::Value(value) => value.clone(),
            Self::Markup(text) => text::unframed(text),
            Self::List(list) => {
                let items = list.items.borrow();
                Value::list(items.iter().map(|item| item.value_within(effort)).collect::<Result<_, _>>()?)
            }
            Self::Tuple(items) => {
                Value::list(items.iter().map(|item| item.value_within(effort)).collect::<Result<_, _>>()?)
            }
            Self::Dict(dict) => {
                let mut entries = Vec::new();
                for (key, item) in dict.entries.borrow().iter() {
                    entries.push((key.text()?, item.value_within(effort)?));
                }
                Value::dict(entries)
            }
            other => return Err(format!("{} is no value", other.describe())),
        })
    }
}

pub(super) fn too_deep() -> String {
    format!("lists and dicts in it are nested deeper than {DEEPEST}")
}

impl<'p> Operand<'p> {
    pub fn list(born: u64, items: Vec<Operand<'p>>) -> Self {
        Self::List(Rc::new(MutableList { born, items: RefCell::new(items) }))
    }

    pub fn dict(born: u64, entries: Entries<'p>) -> Self {
        Self::Dict(Rc::new(MutableDict { born, is_namespace: false, entries: RefCell::new(entries) }))
    }

    /// The field of that name; `None` for what has no fields.
    ///
    /// # Errors
    /// When a watched object cannot be read.
    pub fn field(&self, name: &str) -> Result<Option<Operand<'p>>, String> {
        Ok(match self {
            Self::Value(Value::List(_)) => None,
            Self::Value(value) => value.field(name)?.cloned().map(Operand::Value),
            Self::Dict(dict) => dict.entries.borrow().get(&DictKey::of_text(name)).cloned(),
            Self::Tuple(items) => match name {
                // What `groupby` gives is a pair with names.
                "grouper" => items.first().cloned(),
                "list" => items.get(1).cloned(),
                _ => None,
            },
            Self::Loop(state) => state.field(name),
            Self::Resources => Some(Self::Store(name.into())),
            // What begins so is the module's own.
            Self::Module(_) if name.starts_with('_') => None,
            Self::Module(module) => module.get(name).map(|found| found.at_home(module)),
            _ => None,
        })
    }

    /// A macro taken out of a module looks its names up there.
    fn at_home(self, module: &Rc<Module<'p>>) -> Self {
        match self {
            Self::Macro(closure) if matches!(closure.home, Home::Scope { .. }) => {
                Self::Macro(Closure { home: Home::Module(module.clone()), ..closure })
            }
            other => other,
        }
    }
}

impl<'p> Module<'p> {
    pub fn get(&self, name: &str) -> Option<Operand<'p>> {
        self.names.iter().rev().find(|(known, _)| *known == name).map(|(_, value)| value.clone())
    }
}

/// Lists and dicts that hold others which were put into them: they may hold themselves, and end with the render.
#[derive(Debug, Default)]
pub(super) struct Grown<'p> {
    lists: Vec<Weak<MutableList<'p>>>,
    dicts: Vec<Weak<MutableDict<'p>>>,
}

impl<'p> Grown<'p> {
    /// `item` is put into `of`.
    pub fn note(&mut self, item: &Operand<'p>, of: &Operand<'p>) {
        /// The number that are known before those that are gone are forgotten.
        const MANY: usize = 1024;
        if !item.holds_others() {
            return;
        }
        match of {
            Operand::List(list)
                if self.lists.last().is_none_or(|last| !std::ptr::eq(last.as_ptr(), Rc::as_ptr(list))) =>
            {
                if self.lists.len() >= MANY && self.lists.len().is_power_of_two() {
                    self.lists.retain(|list| list.strong_count() > 0);
                }
                self.lists.push(Rc::downgrade(list));
            }
            Operand::Dict(dict)
                if self.dicts.last().is_none_or(|last| !std::ptr::eq(last.as_ptr(), Rc::as_ptr(dict))) =>
            {
                if self.dicts.len() >= MANY && self.dicts.len().is_power_of_two() {
                    self.dicts.retain(|dict| dict.strong_count() > 0);
                }
                self.dicts.push(Rc::downgrade(dict));
            }
            _ => {}
        }
    }
}

impl Drop for Grown<'_> {
    fn drop(&mut self) {
        for list in self.lists.iter().filter_map(Weak::upgrade) {
            let items = list.items.take();
            drop(items);
        }
        for dict in self.dicts.iter().filter_map(Weak::upgrade) {
            let values = dict.entries.borrow_mut().take_values();
            drop(values);
        }
    }
}

impl Drop for MutableList<'_> {
    /// One after the other: lists may be nested deeper than the stack is.
    fn drop(&mut self) {
        let mut left = std::mem::take(self.items.get_mut());
        while let Some(mut item) = left.pop() {
            item.give_items(&mut left);
        }
    }
}

impl Drop for MutableDict<'_> {
    fn drop(&mut self) {
        let mut left = self.entries.get_mut().take_values();
        while let Some(mut item) = left.pop() {
            item.give_items(&mut left);
        }
    }
}

impl Drop for TupleItems<'_> {
    /// One after the other, as lists.
    fn drop(&mut self) {
        let mut left = Vec::new();
        if let Some(items) = Rc::get_mut(&mut self.0) {
            let holders = items.iter_mut().filter(|item| item.holds_others());
            left.extend(holders.map(|item| std::mem::replace(item, Operand::NONE)));
        }
        while let Some(mut item) = left.pop() {
            item.give_items(&mut left);
        }
    }
}

impl<'p> Operand<'p> {
    fn holds_others(&self) -> bool {
        matches!(self, Self::List(_) | Self::Dict(_) | Self::Tuple(_))
    }

    /// Moves what nothing else holds.
    fn give_items(&mut self, to: &mut Vec<Operand<'p>>) {
        match self {
            Self::List(list) => {
                if let Some(list) = Rc::get_mut(list) {
                    to.append(list.items.get_mut());
                }
            }
            Self::Dict(dict) => {
                if let Some(dict) = Rc::get_mut(dict) {
                    to.append(&mut dict.entries.get_mut().take_values());
                }
            }
            Self::Tuple(items) => {
                if let Some(items) = Rc::get_mut(&mut items.0) {
                    to.extend(items.iter_mut().map(|item| std::mem::replace(item, Operand::NONE)));
                }
            }
            _ => {}
        }
    }
}
