//! Methods of lists and dicts that a template made, of dicts of objects, and of texts.

use super::{
    call::{NamedArguments, no_method},
    evaluate::JinjaEvaluator,
    filter_table::FilterArguments,
    keys::{DictKey, Entries},
    operand::{DEEPEST, MutableDict, MutableList, Operand},
    operators,
};
use crate::{
    evaluation::{EvaluationFailure, EvaluationResult},
    functions,
    value::Value,
};
use std::rc::Rc;

impl<'p> JinjaEvaluator<'_, 'p> {
    pub fn method(
        &mut self,
        of: &Operand<'p>,
        name: &str,
        arguments: Vec<Operand<'p>>,
        named: NamedArguments<'p>,
    ) -> EvaluationResult<Operand<'p>> {
        match of {
            Operand::Resources | Operand::Store(_) => self.resource_method(of, name, &arguments),
            Operand::List(list) => self.list_method(of, &list.clone(), name, arguments, named),
            Operand::Dict(dict) if !dict.is_namespace && !is_read(name) => {
                self.dict_method(of, &dict.clone(), name, arguments, named)
            }
            Operand::Dict(_) | Operand::Value(Value::Dict(_) | Value::Object(_)) => {
                self.read_dict(of, name, &arguments)
            }
            Operand::Value(Value::List(_)) | Operand::Tuple(_) => self.read_list(of, name, &arguments),
            Operand::Loop(state) => {
                let of_loop = of.clone();
                match name {
                    "cycle" => {
                        self.frames.refuse_if_beyond("loop");
                        let index = state.index.get().checked_rem(arguments.len());
                        Ok(index
                            .and_then(|index| arguments.get(index))
                            .cloned()
                            .unwrap_or(Operand::UNDEFINED))
                    }
                    "changed" => {
                        self.frames.refuse_if_beyond("loop");
                        let mut last = state.last.borrow_mut();
                        let same = match &*last {
                            Some(last) if last.len() == arguments.len() => {
                                let mut same = true;
                                for (a, b) in last.iter().zip(&arguments) {
                                    same = same && operators::equal(a, b, DEEPEST)?;
                                }
                                same
                            }
                            _ => false,
                        };
                        *last = Some(arguments);
                        Ok(Operand::bool(!same))
                    }
                    _ => Err(no_method(&of_loop, name)),
                }
            }
            Operand::Cycler(turns) => {
                self.frames.changes(turns.born);
                let current = turns.next.get().checked_rem(turns.items.len()).unwrap_or(0);
                match name {
                    "next" => turns.next.set(current + 1),
                    "reset" => turns.next.set(0),
                    _ => return Err(no_method(of, name)),
                }
                Ok(turns.items.get(current).cloned().unwrap_or(Operand::UNDEFINED))
            }
            text if text.is_text() => {
                self.text_method(text, name, FilterArguments { positional: arguments, named })
            }
            other => Err(no_method(other, name)),
        }
    }

    /// Something is put into what a template made.
    fn grow(&mut self, born: u64, length: usize) -> EvaluationResult {
        self.frames.changes(born);
        if length >= functions::LONGEST_LIST {
            return Err(format!("it would have more than {} items", functions::LONGEST_LIST).into());
        }
        self.machine.made(2 * size_of::<Operand<'_>>())
    }

    fn list_method(
        &mut self,
        of: &Operand<'p>,
        list: &Rc<MutableList<'p>>,
        name: &str,
        mut arguments: Vec<Operand<'p>>,
        named: NamedArguments<'p>,
    ) -> EvaluationResult<Operand<'p>> {
        let length = list.items.borrow().len();
        let first = (!arguments.is_empty()).then(|| arguments.remove(0));
        match (name, first) {
            ("append", Some(item)) => {
                self.grow(list.born, length)?;
                self.keep(&item, of);
                list.items.borrow_mut().push(item);
            }
            ("extend", Some(more)) => {
                let more = self.items(&more)?;
                self.grow(list.born, length.saturating_add(more.len()))?;
                more.iter().for_each(|item| self.keep(item, of));
                list.items.borrow_mut().extend(more);
            }
            ("insert", Some(place)) => {
                self.grow(list.born, length)?;
                let (place, item) = (place.whole().unwrap_or(0), arguments.pop().unwrap_or(Operand::NONE));
                let signed = i64::try_from(length).unwrap_or(i64::MAX);
                let place = if place < 0 { (place + signed).max(0) } else { place.min(signed) };
                self.keep(&item, of);
                list.items.borrow_mut().insert(usize::try_from(place).unwrap_or(0), item);
            }
            ("pop", place) => {
                self.frames.changes(list.born);
                let place = place.and_then(|place| place.whole()).unwrap_or(-1);
                let place = if place < 0 { place + i64::try_from(length).unwrap_or(0) } else { place };
                let place = usize::try_from(place).ok().filter(|place| *place < length);
                let place = place.ok_or_else(|| "pop: there is no such item".to_owned())?;
                return Ok(list.items.borrow_mut().remove(place));
            }
            ("remove", Some(item)) => {
                self.frames.changes(list.born);
                let place =
                    self.place(of, &item)?.ok_or_else(|| "remove: there is no such item".to_owned())?;
                list.items.borrow_mut().remove(place);
            }
            ("clear", None) => {
                self.frames.changes(list.born);
                list.items.borrow_mut().clear();
            }
            ("reverse", None) => {
                self.frames.changes(list.born);
                list.items.borrow_mut().reverse();
            }
            ("sort", None) => {
                self.frames.changes(list.born);
                let mut given = FilterArguments { positional: Vec::new(), named };
                given.named.push(("case_sensitive".into(), Operand::bool(true)));
                let sorted = self.list_filter("sort", of, given)?;
                let sorted = self.items(&sorted)?;
                *list.items.borrow_mut() = sorted;
            }
            (name, first) => {
                let arguments: Vec<_> = first.into_iter().chain(arguments).collect();
                return self.read_list(of, name, &arguments);
            }
        }
        Ok(Operand::NONE)
    }

    fn place(&self, of: &Operand<'p>, item: &Operand<'p>) -> Result<Option<usize>, String> {
        let items = match of {
            Operand::List(list) => list.items.borrow().clone(),
            Operand::Tuple(items) => items.to_vec(),
            Operand::Value(Value::List(items)) => items.iter().cloned().map(Operand::Value).collect(),
            _ => Vec::new(),
        };
        for (place, other) in items.iter().enumerate() {
            if operators::equal(other, item, DEEPEST)? {
                return Ok(Some(place));
            }
        }
        Ok(None)
    }

    fn read_list(
        &mut self,
        of: &Operand<'p>,
        name: &str,
        arguments: &[Operand<'p>],
    ) -> EvaluationResult<Operand<'p>> {
        match (name, arguments.first()) {
            ("copy", None) => {
                let items = self.items(of)?;
                self.new_list(items)
            }
            ("index", Some(item)) => match self.place(of, item)? {
                Some(place) => Ok(Operand::count(place)),
                None => Err("index: there is no such item".to_owned().into()),
            },
            ("count", Some(item)) => {
                let mut count = 0;
                for other in self.items(of)? {
                    count += usize::from(operators::equal(&other, item, DEEPEST)?);
                }
                Ok(Operand::count(count))
            }
            ("append" | "extend" | "insert" | "pop" | "remove" | "clear" | "reverse" | "sort", _) => {
                Err(EvaluationFailure::with_help(
                    format!("{} is not the template's own and cannot be changed", of.describe()),
                    "Make one: … | list",
                ))
            }
            _ => Err(no_method(of, name)),
        }
    }

    fn dict_method(
        &mut self,
        of: &Operand<'p>,
        dict: &Rc<MutableDict<'p>>,
        name: &str,
        arguments: Vec<Operand<'p>>,
        named: NamedArguments<'p>,
    ) -> EvaluationResult<Operand<'p>> {
        let key = arguments.first();
        match (name, key) {
            ("update", _) => {
                let mut pairs = match key {
                    Some(other) => self.given_pairs(other)?,
                    None => Vec::new(),
                };
                pairs.extend(named.into_iter().map(|(name, value)| (DictKey::Text(name), value)));
                for (key, value) in pairs {
                    self.grow(dict.born, dict.entries.borrow().len())?;
                    self.keep(&value, of);
                    dict.entries.borrow_mut().set(key, value);
                }
                Ok(Operand::NONE)
            }
            ("setdefault", Some(key)) => {
                let key = DictKey::of(key)?;
                if let Some(known) = dict.entries.borrow().get(&key) {
                    return Ok(known.clone());
                }
                self.grow(dict.born, dict.entries.borrow().len())?;
                let value = arguments.get(1).cloned().unwrap_or(Operand::NONE);
                self.keep(&value, of);
                dict.entries.borrow_mut().set(key, value.clone());
                Ok(value)
            }
            ("pop", Some(key)) => {
                self.frames.changes(dict.born);
                let removed = dict.entries.borrow_mut().remove(&DictKey::of(key)?);
                removed
                    .or_else(|| arguments.get(1).cloned())
                    .ok_or_else(|| "pop: there is no such key".to_owned().into())
            }
            ("popitem", None) => {
                self.frames.changes(dict.born);
                let last = dict.entries.borrow().iter().last().map(|(key, _)| key.clone());
                let last = last.ok_or_else(|| "popitem: the dict is empty".to_owned())?;
                let value = dict.entries.borrow_mut().remove(&last).unwrap_or(Operand::UNDEFINED);
                Ok(Operand::Tuple([last.operand(), value].into()))
            }
            ("clear", None) => {
                self.frames.changes(dict.born);
                dict.entries.borrow_mut().take_values();
                Ok(Operand::NONE)
            }
            _ => Err(no_method(of, name)),
        }
    }

    fn read_dict(
        &mut self,
        of: &Operand<'p>,
        name: &str,
        arguments: &[Operand<'p>],
    ) -> EvaluationResult<Operand<'p>> {
        match (name, arguments.first()) {
            ("get", Some(key)) => {
                let found = self.item(of, key)?;
                let otherwise = || arguments.get(1).cloned().unwrap_or(Operand::NONE);
                Ok(if found.is_undefined() { otherwise() } else { found })
            }
            ("items", None) => {
                let pairs = self.pairs(of)?;
                super::lists::pairs(self, pairs)
            }
            ("keys", None) => {
                let keys = self.pairs(of)?.into_iter().map(|(key, _)| key.operand()).collect();
                self.new_list(keys)
            }
            ("values", None) => {
                let values = self.pairs(of)?.into_iter().map(|(_, value)| value).collect();
                self.new_list(values)
            }
            ("copy", None) => {
                let entries: Entries<'p> = self.pairs(of)?.into_iter().collect();
                self.new_dict(entries)
            }
            _ => Err(no_method(of, name)),
        }
    }
}

fn is_read(name: &str) -> bool {
    matches!(name, "get" | "items" | "keys" | "values" | "copy")
}
