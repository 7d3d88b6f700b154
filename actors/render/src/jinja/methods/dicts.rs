//! Methods of dicts.

use super::{JinjaMethod, MethodArguments, ReadRun, find, with, without};
use crate::{
    evaluation::EvaluationResult,
    jinja::{
        call::{NamedArguments, no_method},
        evaluate::JinjaEvaluator,
        keys::{DictKey, Entries},
        operand::{MutableDict, Operand},
    },
};

type DictRun = for<'p> fn(
    &mut JinjaEvaluator<'_, 'p>,
    &Operand<'p>,
    &MutableDict<'p>,
    MethodArguments<'p>,
) -> EvaluationResult<Operand<'p>>;

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
    without("items", |me, of, _| me.dict_items(of)),
    without("keys", keys),
    without("values", values),
];

fn update<'p>(
    me: &mut JinjaEvaluator<'_, 'p>,
    of: &Operand<'p>,
    dict: &MutableDict<'p>,
    given: MethodArguments<'p>,
) -> EvaluationResult<Operand<'p>> {
    let pairs = me.given_pairs(&given.first)?;
    put_in(me, of, dict, pairs)?;
    update_named(me, of, dict, given)
}

fn update_named<'p>(
    me: &mut JinjaEvaluator<'_, 'p>,
    of: &Operand<'p>,
    dict: &MutableDict<'p>,
    given: MethodArguments<'p>,
) -> EvaluationResult<Operand<'p>> {
    let named = given.named.into_iter().map(|(name, value)| (DictKey::Text(name), value));
    put_in(me, of, dict, named)?;
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

fn set_default<'p>(
    me: &mut JinjaEvaluator<'_, 'p>,
    of: &Operand<'p>,
    dict: &MutableDict<'p>,
    given: MethodArguments<'p>,
) -> EvaluationResult<Operand<'p>> {
    let key = DictKey::of(&given.first)?;
    if let Some(known) = dict.entries.borrow().get(&key) {
        return Ok(known.clone());
    }
    me.grow(dict.born, length(dict))?;
    let value = given.second().unwrap_or(Operand::NONE);
    me.keep(&value, of);
    dict.entries.borrow_mut().set(key, value.clone());
    Ok(value)
}

fn pop<'p>(
    me: &mut JinjaEvaluator<'_, 'p>,
    _of: &Operand<'p>,
    dict: &MutableDict<'p>,
    given: MethodArguments<'p>,
) -> EvaluationResult<Operand<'p>> {
    me.frames.changes(dict.born);
    let removed = dict.entries.borrow_mut().remove(&DictKey::of(&given.first)?);
    removed.or_else(|| given.second()).ok_or_else(|| "pop: there is no such key".to_owned().into())
}

fn pop_last<'p>(
    me: &mut JinjaEvaluator<'_, 'p>,
    _of: &Operand<'p>,
    dict: &MutableDict<'p>,
    _given: MethodArguments<'p>,
) -> EvaluationResult<Operand<'p>> {
    me.frames.changes(dict.born);
    let last = dict.entries.borrow().iter().last().map(|(key, _)| key.clone());
    let last = last.ok_or_else(|| "popitem: the dict is empty".to_owned())?;
    let value = dict.entries.borrow_mut().remove(&last).unwrap_or(Operand::UNDEFINED);
    Ok(Operand::Tuple([last.operand(), value].into()))
}

fn clear<'p>(
    me: &mut JinjaEvaluator<'_, 'p>,
    _of: &Operand<'p>,
    dict: &MutableDict<'p>,
    _given: MethodArguments<'p>,
) -> EvaluationResult<Operand<'p>> {
    me.frames.changes(dict.born);
    dict.entries.borrow_mut().take_values();
    Ok(Operand::NONE)
}

fn length(dict: &MutableDict<'_>) -> usize {
    dict.entries.borrow().len()
}

fn get<'p>(
    me: &mut JinjaEvaluator<'_, 'p>,
    of: &Operand<'p>,
    given: MethodArguments<'p>,
) -> EvaluationResult<Operand<'p>> {
    let found = me.item(of, &given.first)?;
    Ok(if found.is_undefined() { given.second().unwrap_or(Operand::NONE) } else { found })
}

fn keys<'p>(
    me: &mut JinjaEvaluator<'_, 'p>,
    of: &Operand<'p>,
    _given: MethodArguments<'p>,
) -> EvaluationResult<Operand<'p>> {
    let keys = me.pairs(of)?.into_iter().map(|(key, _)| key.operand()).collect();
    me.new_list(keys)
}

fn values<'p>(
    me: &mut JinjaEvaluator<'_, 'p>,
    of: &Operand<'p>,
    _given: MethodArguments<'p>,
) -> EvaluationResult<Operand<'p>> {
    let values = me.pairs(of)?.into_iter().map(|(_, value)| value).collect();
    me.new_list(values)
}

fn copy<'p>(
    me: &mut JinjaEvaluator<'_, 'p>,
    of: &Operand<'p>,
    _given: MethodArguments<'p>,
) -> EvaluationResult<Operand<'p>> {
    let entries: Entries<'p> = me.pairs(of)?.into_iter().collect();
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
            Some(run) => run(self, of, MethodArguments::new(arguments, named)),
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
