//! The meaning of names at one point of a render.
//!
//! Scopes stand on one another; a macro's own stands on the one that it was declared in. What an object's block looks up
//! beyond its boundary is noted there.

use super::operand::{Home, Module, MutableDict, Operand};
use crate::{
    block_cache::captured::{Alike, Boundary, LookupResult, OuterLookup, Uncacheable},
    output::framing,
    value::Value,
};
use std::{rc::Rc, sync::Arc};

/// All scopes of one file, the innermost last.
#[derive(Debug)]
pub(super) struct ScopeStack<'p> {
    all: Vec<ScopeFrame<'p>>,
    clock: u64,
}

#[derive(Debug)]
struct ScopeFrame<'p> {
    outer: Option<usize>,
    began: u64,
    names: Vec<(&'p str, Operand<'p>)>,
    module: Option<Rc<Module<'p>>>,
    boundary: Option<Edge>,
    /// Whether `loop` is not seen from here.
    hides_loop: bool,
}

/// The boundary of an outermost object's block, and the scope that it stands on.
#[derive(Clone, Debug)]
struct Edge {
    boundary: Rc<Boundary>,
    stands_on: usize,
    /// Since when the block is being printed: what was made before was made outside of it.
    since: u64,
}

/// The most items of a list that was made outside that are compared, and it may be nested so deep.
const MOST_COMPARED: usize = 1_000;

/// The sign that begins a text that stands for something else: no value begins with it.
const SIGN: char = '\u{E00F}';

impl<'p> ScopeStack<'p> {
    pub fn new() -> Self {
        let mut frames = Self { all: Vec::new(), clock: 0 };
        frames.push(None);
        frames
    }

    /// A time that grows with each scope.
    pub fn now(&self) -> u64 {
        self.clock
    }

    pub fn len(&self) -> usize {
        self.all.len()
    }

    fn last(&self) -> usize {
        self.all.len().saturating_sub(1)
    }

    fn push(&mut self, outer: Option<usize>) {
        self.clock += 1;
        let (names, module, boundary) = (Vec::new(), None, None);
        self.all.push(ScopeFrame { outer, began: self.clock, names, module, boundary, hides_loop: false });
    }

    /// A scope in the innermost one.
    pub fn enter(&mut self) {
        self.push(self.all.len().checked_sub(1));
    }

    /// A scope that sees all but `loop`.
    pub fn enter_template(&mut self) {
        self.enter();
        if let Some(frame) = self.all.last_mut() {
            frame.hides_loop = true;
        }
    }

    /// A scope that sees nothing but what every template sees.
    pub fn enter_alone(&mut self) {
        self.push(None);
    }

    /// The scope of a watched object's block.
    pub fn enter_object(&mut self, boundary: Option<Rc<Boundary>>) {
        let stands_on = self.last();
        self.enter();
        let since = self.clock;
        if let Some(frame) = self.all.last_mut() {
            frame.boundary = boundary.map(|boundary| Edge { boundary, stands_on, since });
        }
    }

    /// The scope of a macro's parameters.
    ///
    /// # Errors
    /// When the scope that it was declared in is over.
    pub fn enter_macro(&mut self, home: &Home<'p>) -> Result<(), String> {
        let edge = self.edge();
        match home {
            Home::Scope { number, began } => {
                if self.all.get(*number).is_none_or(|frame| frame.began != *began) {
                    return Err("the macro is called where the block that declares it is over".to_owned());
                }
                self.push(Some(*number));
                let beyond = edge.filter(|edge| *number <= edge.stands_on);
                if let Some(frame) = self.all.last_mut() {
                    frame.boundary = beyond;
                }
            }
            Home::Module(module) => {
                let home = match &module.home {
                    Some(Home::Scope { number, began }) => {
                        self.all.get(*number).filter(|frame| frame.began == *began).map(|_| *number)
                    }
                    _ => None,
                };
                let beyond = edge.filter(|edge| home.is_some_and(|number| number <= edge.stands_on));
                self.push(home);
                if let Some(frame) = self.all.last_mut() {
                    frame.module = Some(module.clone());
                    frame.boundary = beyond;
                    frame.hides_loop = true;
                }
                self.enter();
            }
        }
        Ok(())
    }

    /// Ends all scopes beyond a number.
    pub fn leave_to(&mut self, length: usize) {
        self.all.truncate(length);
    }

    /// The names of the innermost scope begin again: a loop's next step.
    pub fn forget(&mut self) {
        self.clock += 1;
        let clock = self.clock;
        if let Some(frame) = self.all.last_mut() {
            frame.names.clear();
            frame.began = clock;
        }
    }

    /// Where a macro that is declared now looks names up.
    pub fn home(&self) -> Home<'p> {
        let number = self.last();
        Home::Scope { number, began: self.all.last().map_or(0, |frame| frame.began) }
    }

    pub fn set(&mut self, name: &'p str, value: Operand<'p>) {
        let Some(frame) = self.all.last_mut() else { return };
        match frame.names.iter_mut().find(|(known, _)| *known == name) {
            Some(known) => known.1 = value,
            None => frame.names.push((name, value)),
        }
    }

    /// The names that the innermost scope declares.
    pub fn take_names(&mut self) -> Vec<(&'p str, Operand<'p>)> {
        self.all.last_mut().map(|frame| std::mem::take(&mut frame.names)).unwrap_or_default()
    }

    /// The edge of the outermost object's block that is being printed, if what it sees is noted.
    fn edge(&self) -> Option<Edge> {
        self.all.iter().find_map(|frame| frame.boundary.clone())
    }

    /// Notes a change of a value that a template made: outside of the block that is being printed, if it was `born` before.
    pub fn changes(&self, born: u64) {
        if let Some(edge) = self.edge()
            && born < edge.since
        {
            edge.boundary.refuse(Uncacheable::OuterVariable);
        }
    }

    /// The block that is being printed does what cannot be kept.
    pub fn refuse(&self, why: Uncacheable) {
        if let Some(edge) = self.edge() {
            edge.boundary.refuse(why);
        }
    }

    /// As [`Self::refuse`], for what changes something that `name` names beyond the block.
    pub fn refuse_if_beyond(&self, name: &str) {
        if let (_, Some((edge, _))) = self.find(self.last(), name) {
            edge.boundary.refuse(Uncacheable::OuterVariable);
        }
    }

    /// The value of a name, or of a field of what it names.
    ///
    /// # Errors
    /// When a watched object cannot be read.
    pub fn lookup(&self, name: &str, field: Option<&str>) -> Result<Option<Operand<'p>>, String> {
        let (found, crossed) = self.find(self.last(), name);
        let noted = field.filter(|_| matches!(&found, Some(found) if is_noted_by_field(found)));
        let value = match (field, &found) {
            (Some(field), Some(found)) => found.field(field)?,
            (Some(_), None) => None,
            (None, _) => found.clone(),
        };
        if let Some((edge, from)) = crossed {
            let distance = edge.stands_on.saturating_sub(from);
            let seen = if noted.is_some() { &value } else { &found };
            let same = |known: &OuterLookup| matches!(known, OuterLookup::Scoped(n, k) if *n == distance && is_key(k, name, noted));
            let key = || match noted {
                Some(field) => OuterLookup::Scoped(distance, format!("{name}.{field}").into()),
                None => OuterLookup::Scoped(distance, name.into()),
            };
            edge.boundary.note_once(key, same, || seen_as(seen.as_ref(), edge.stands_on));
        }
        Ok(match field {
            Some(_) if found.is_none() => None,
            Some(_) => Some(value.unwrap_or(Operand::UNDEFINED)),
            None => value,
        })
    }

    /// Whether the name stands for what has fields, so that one may be missing. Whoever looked one up has noted that.
    pub fn has_fields(&self, name: &str) -> bool {
        matches!(self.find(self.last(), name).0, Some(Operand::Loop(_) | Operand::Dict(_)))
    }

    /// The value of the name in scope `from` or around it, and the boundary that lies before it.
    fn find(&self, from: usize, name: &str) -> (Option<Operand<'p>>, Option<(&Edge, usize)>) {
        let (mut next, mut crossed, mut hidden) = (Some(from), None, false);
        while let Some(number) = next {
            let Some(frame) = self.all.get(number) else { break };
            let is_hidden = hidden && name == "loop";
            let own = frame.names.iter().rev().find(|(known, _)| *known == name && !is_hidden);
            if let Some((_, value)) = own {
                return (Some(value.clone()), crossed);
            }
            if let Some(found) = frame.module.as_ref().and_then(|module| module.get(name)) {
                return (Some(found), None);
            }
            hidden |= frame.hides_loop;
            next = frame.outer;
            if let (None, Some(edge), Some(outer)) = (crossed, &frame.boundary, frame.outer) {
                crossed = Some((edge, outer));
            }
        }
        (None, crossed)
    }

    /// Whether a look out of a block that stands on the innermost scope would find the same again.
    pub fn finds(&self, lookup: &OuterLookup, then: &LookupResult, alike: &Alike) -> bool {
        let OuterLookup::Scoped(distance, key) = lookup else { return false };
        let stands_on = self.last();
        let Some(from) = stands_on.checked_sub(*distance) else { return false };
        let now = match key.split_once('.') {
            None => self.find(from, key).0,
            Some((name, field)) => match self.find(from, name).0.map(|found| found.field(field)) {
                Some(Ok(value)) => value,
                _ => return false,
            },
        };
        let Ok(now) = seen_as(now.as_ref(), stands_on) else { return false };
        match (then, &now) {
            (LookupResult::Nothing, LookupResult::Nothing) => true,
            (LookupResult::Object(then), LookupResult::Object(now)) => Arc::ptr_eq(then, now),
            (LookupResult::Value(then), LookupResult::Value(now)) => alike.are(then, now),
            _ => false,
        }
    }

    /// Names that could be meant here, for suggestions.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.all.iter().flat_map(|frame| frame.names.iter().map(|(name, _)| *name))
    }
}

/// Whether a value changes with every object while most blocks look at a part of it.
fn is_noted_by_field(operand: &Operand<'_>) -> bool {
    matches!(operand, Operand::Loop(_)) || matches!(operand, Operand::Dict(dict) if dict.is_namespace)
}

fn is_key(key: &str, name: &str, field: Option<&str>) -> bool {
    match field {
        None => key == name,
        Some(field) => key.split_once('.') == Some((name, field)),
    }
}

/// How a look is noted, for a block that stands on scope `base`.
fn seen_as(operand: Option<&Operand<'_>>, base: usize) -> Result<LookupResult, Uncacheable> {
    match operand {
        Some(Operand::Value(value)) => LookupResult::of(Some(value)),
        Some(other) => LookupResult::of(Some(&frozen(other, base, &mut MOST_COMPARED.clone(), true)?)),
        None => Ok(LookupResult::Nothing),
    }
}

/// The same as a value that nothing changes any more, and that is the same only for the same.
fn frozen(operand: &Operand<'_>, base: usize, left: &mut usize, is_top: bool) -> Result<Value, Uncacheable> {
    *left = left.checked_sub(1).ok_or(Uncacheable::OuterObjects)?;
    let sign = |kind: &str| Value::text(&format!("{SIGN}{kind}"));
    Ok(match operand {
        Operand::Value(value) => value.clone(),
        Operand::Markup(text) => Value::text(&format!("{SIGN}{text}")),
        Operand::List(list) => {
            let mut items = vec![sign("list")];
            for item in list.items.borrow().iter() {
                items.push(frozen(item, base, left, false)?);
            }
            Value::list(items)
        }
        Operand::Tuple(all) => {
            let mut items = vec![sign("tuple")];
            for item in all.iter() {
                items.push(frozen(item, base, left, false)?);
            }
            Value::list(items)
        }
        Operand::Dict(dict) => frozen_dict(dict, base, left)?,
        Operand::Resources => sign("resources"),
        Operand::Store(name) => sign(&format!("store {name}")),
        Operand::Macro(closure) => {
            let code = std::ptr::from_ref(closure.code).addr();
            match &closure.home {
                Home::Scope { number, .. } if is_top => {
                    sign(&format!("macro {code} {}", base.wrapping_sub(*number)))
                }
                Home::Scope { .. } => return Err(Uncacheable::OuterObjects),
                Home::Module(module) => Value::list(vec![
                    sign(&format!("macro {code}")),
                    frozen(&Operand::Module(module.clone()), base, left, false)?,
                ]),
            }
        }
        Operand::Module(module) => {
            let home = match &module.home {
                Some(Home::Scope { number, .. }) => base.wrapping_sub(*number).to_string(),
                _ => "alone".to_owned(),
            };
            let mut items = vec![sign(&format!("module {} {home}", module.template))];
            for (name, item) in &module.names {
                items.push(Value::text(name));
                items.push(match item {
                    Operand::Macro(own) if matches!(own.home, Home::Scope { .. }) => {
                        sign(&format!("macro {}", std::ptr::from_ref(own.code).addr()))
                    }
                    other => frozen(other, base, left, false)?,
                });
            }
            Value::list(items)
        }
        Operand::Loop(_) | Operand::Cycler(_) | Operand::Joiner(_) => return Err(Uncacheable::OuterVariable),
    })
}

fn frozen_dict(dict: &MutableDict<'_>, base: usize, left: &mut usize) -> Result<Value, Uncacheable> {
    let mut items = vec![Value::text(&format!("{SIGN}dict"))];
    for (key, item) in dict.entries.borrow().iter() {
        items.push(frozen(&key.operand(), base, left, false)?);
        items.push(frozen(item, base, left, false)?);
    }
    Ok(Value::list(items))
}

const _: () = assert!(SIGN as u32 <= '\u{E00F}' as u32 && SIGN > framing::SECRET);
