//! Methods of dicts.

use super::{JinjaMethod, MethodArguments, MethodCall, ReadRun, find, with, without};
use crate::{
    evaluation::EvaluationResult,
    jinja::{
        call::{NamedArguments, no_method},
        evaluate::JinjaEvaluator,
        keys::{DictKey, Entries},
        operand::{MutableDict, Operand},
    },
};

/// A call of a method of a dict that a template made.
pub(super) struct DictCall<'c, 'p> {
    pub of: &'c Operand<'p>,
    pub dict: &'c MutableDict<'p>,
    pub given: MethodArguments<'p>,
}

type DictRun = for<'p> fn(&mut JinjaEvaluator<'_, 'p>, DictCall<'_, 'p>) -> EvaluationResult<Operand<'p>>;

/// Of dicts that a template made.
pub(super) static CHANGING: &[JinjaMethod<DictRun>] = &[
    without("clear", clear),
    with("pop", pop),
    without("popitem", pop_last),
    with("setdefault", set_default),
    without("update", update_named),
    with("update", update),
];

/// Of all dicts.
pub(super) static READING: &[JinjaMethod<ReadRun>] = &[
    without("copy", copy),
    with("get", get),
    without("items", |me, call| me.dict_items(call.of)),
    without("keys", keys),
    without("values", values),
];

fn update<'p>(me: &mut JinjaEvaluator<'_, 'p>, call: DictCall<'_, 'p>) -> EvaluationResult<Operand<'p>> {
    let pairs = me.given_pairs(&call.given.first)?;
    put_in(me, call.of, call.dict, pairs)?;
    update_named(me, call)
}

fn update_named<'p>(
    me: &mut JinjaEvaluator<'_, 'p>,
    call: DictCall<'_, 'p>,
) -> EvaluationResult<Operand<'p>> {
    let named = call.given.named.into_iter().map(|(name, value)| (DictKey::Text(name), value));
    put_in(me, call.of, call.dict, named)?;
    Ok(Operand::NONE)
}

fn put_in<'p>(
    me: &mut JinjaEvaluator<'_, 'p>,
    of: &Operand<'p>,
    dict: &MutableDict<'p>,
    pairs: impl IntoIterator<Item = (DictKey, Operand<'p>)>,
) -> EvaluationResult {
    for (key, value) in pairs {
        me.grow(dict.born, length(dict))?;
        me.keep(&value, of);
        dict.entries.borrow_mut().set(key, value);
    }
    Ok(())
}

fn set_default<'p>(me: &mut JinjaEvaluator<'_, 'p>, call: DictCall<'_, 'p>) -> EvaluationResult<Operand<'p>> {
    let key = DictKey::of(&call.given.first)?;
    if let Some(known) = call.dict.entries.borrow().get(&key) {
        return Ok(known.clone());
    }
    me.grow(call.dict.born, length(call.dict))?;
    let value = call.given.second().unwrap_or(Operand::NONE);
    me.keep(&value, call.of);
    call.dict.entries.borrow_mut().set(key, value.clone());
    Ok(value)
}

fn pop<'p>(me: &mut JinjaEvaluator<'_, 'p>, call: DictCall<'_, 'p>) -> EvaluationResult<Operand<'p>> {
    me.frames.changes(call.dict.born);
    let removed = call.dict.entries.borrow_mut().remove(&DictKey::of(&call.given.first)?);
    removed.or_else(|| call.given.second()).ok_or_else(|| "pop: there is no such key".to_owned().into())
}

fn pop_last<'p>(me: &mut JinjaEvaluator<'_, 'p>, call: DictCall<'_, 'p>) -> EvaluationResult<Operand<'p>> {
    me.frames.changes(call.dict.born);
    let last = call.dict.entries.borrow().iter().last().map(|(key, _)| key.clone());
    let last = last.ok_or_else(|| "popitem: the dict is empty".to_owned())?;
    let value = call.dict.entries.borrow_mut().remove(&last).unwrap_or(Operand::UNDEFINED);
    Ok(Operand::Tuple([last.operand(), value].into()))
}

fn clear<'p>(me: &mut JinjaEvaluator<'_, 'p>, call: DictCall<'_, 'p>) -> EvaluationResult<Operand<'p>> {
    me.frames.changes(call.dict.born);
    call.dict.entries.borrow_mut().take_values();
    Ok(Operand::NONE)
}

fn length(dict: &MutableDict<'_>) -> usize {
    dict.entries.borrow().len()
}

fn get<'p>(me: &mut JinjaEvaluator<'_, 'p>, call: MethodCall<'_, 'p>) -> EvaluationResult<Operand<'p>> {
    let found = me.item(call.of, &call.given.first)?;
    Ok(if found.is_undefined() { call.given.second().unwrap_or(Operand::NONE) } else { found })
}

fn keys<'p>(me: &mut JinjaEvaluator<'_, 'p>, call: MethodCall<'_, 'p>) -> EvaluationResult<Operand<'p>> {
    let keys = me.pairs(call.of)?.into_iter().map(|(key, _)| key.operand()).collect();
    me.new_list(keys)
}

fn values<'p>(me: &mut JinjaEvaluator<'_, 'p>, call: MethodCall<'_, 'p>) -> EvaluationResult<Operand<'p>> {
    let values = me.pairs(call.of)?.into_iter().map(|(_, value)| value).collect();
    me.new_list(values)
}

fn copy<'p>(me: &mut JinjaEvaluator<'_, 'p>, call: MethodCall<'_, 'p>) -> EvaluationResult<Operand<'p>> {
    let entries: Entries<'p> = me.pairs(call.of)?.into_iter().collect();
    me.new_dict(entries)
}

impl<'p> JinjaEvaluator<'_, 'p> {
    /// A method that any dict has.
    pub(super) fn dict_method(
        &mut self,
        of: &Operand<'p>,
        name: &str,
        arguments: Vec<Operand<'p>>,
        named: NamedArguments<'p>,
    ) -> EvaluationResult<Operand<'p>> {
        match find(READING, name, arguments.len()) {
            Some(run) => run(self, MethodCall { of, given: MethodArguments::new(arguments, named) }),
            None => Err(no_method(of, name)),
        }
    }

    /// Keys with their values.
    pub fn dict_items(&mut self, of: &Operand<'p>) -> EvaluationResult<Operand<'p>> {
        let pair = |(key, value): (DictKey, Operand<'p>)| Operand::Tuple([key.operand(), value].into());
        let pairs = self.pairs(of)?.into_iter().map(pair).collect();
        self.new_list(pairs)
    }
}
