//! Methods of lists.

use super::{JinjaMethod, MethodArguments, MethodCall, ReadRun, any, find, named, with, without};
use crate::{
    evaluation::{EvaluationFailure, EvaluationResult},
    jinja::{
        arguments::FilterArguments,
        call::{NamedArguments, no_method},
        evaluate::JinjaEvaluator,
        operand::{DEEPEST, MutableList, Operand},
        operators,
    },
    value::Value,
};

/// A call of a method of a list that a template made.
pub(super) struct ListCall<'c, 'p> {
    pub of: &'c Operand<'p>,
    pub list: &'c MutableList<'p>,
    pub given: MethodArguments<'p>,
}

type ListRun = for<'p> fn(&mut JinjaEvaluator<'_, 'p>, ListCall<'_, 'p>) -> EvaluationResult<Operand<'p>>;

/// Of lists that a template made.
pub(super) static CHANGING: &[JinjaMethod<ListRun>] = &[
    with("append", append),
    without("clear", clear),
    with("extend", extend),
    with("insert", insert),
    any("pop", pop),
    with("remove", remove),
    without("reverse", reverse),
    without("sort", sort),
];

/// Of all lists and tuples.
pub(super) static READING: &[JinjaMethod<ReadRun>] =
    &[without("copy", copy), with("count", count), with("index", index)];

fn append<'p>(me: &mut JinjaEvaluator<'_, 'p>, call: ListCall<'_, 'p>) -> EvaluationResult<Operand<'p>> {
    me.grow(call.list.born, length(call.list))?;
    me.keep(&call.given.first, call.of);
    call.list.items.borrow_mut().push(call.given.first);
    Ok(Operand::NONE)
}

fn extend<'p>(me: &mut JinjaEvaluator<'_, 'p>, call: ListCall<'_, 'p>) -> EvaluationResult<Operand<'p>> {
    let length = length(call.list);
    let more = me.items(&call.given.first)?;
    me.grow(call.list.born, length.saturating_add(more.len()))?;
    more.iter().for_each(|item| me.keep(item, call.of));
    call.list.items.borrow_mut().extend(more);
    Ok(Operand::NONE)
}

fn insert<'p>(me: &mut JinjaEvaluator<'_, 'p>, mut call: ListCall<'_, 'p>) -> EvaluationResult<Operand<'p>> {
    let length = length(call.list);
    me.grow(call.list.born, length)?;
    let place = call.given.first.whole().unwrap_or(0);
    let item = call.given.rest.pop().unwrap_or(Operand::NONE);
    let signed = i64::try_from(length).unwrap_or(i64::MAX);
    let place = if place < 0 { (place + signed).max(0) } else { place.min(signed) };
    me.keep(&item, call.of);
    call.list.items.borrow_mut().insert(usize::try_from(place).unwrap_or(0), item);
    Ok(Operand::NONE)
}

fn pop<'p>(me: &mut JinjaEvaluator<'_, 'p>, call: ListCall<'_, 'p>) -> EvaluationResult<Operand<'p>> {
    me.frames.changes(call.list.born);
    let length = length(call.list);
    let place = call.given.first.whole().unwrap_or(-1);
    let place = if place < 0 { place + i64::try_from(length).unwrap_or(0) } else { place };
    let place = usize::try_from(place).ok().filter(|place| *place < length);
    let place = place.ok_or_else(|| "pop: there is no such item".to_owned())?;
    Ok(call.list.items.borrow_mut().remove(place))
}

fn remove<'p>(me: &mut JinjaEvaluator<'_, 'p>, call: ListCall<'_, 'p>) -> EvaluationResult<Operand<'p>> {
    me.frames.changes(call.list.born);
    let place =
        place_of(&call.given.first, call.of)?.ok_or_else(|| "remove: there is no such item".to_owned())?;
    call.list.items.borrow_mut().remove(place);
    Ok(Operand::NONE)
}

fn clear<'p>(me: &mut JinjaEvaluator<'_, 'p>, call: ListCall<'_, 'p>) -> EvaluationResult<Operand<'p>> {
    me.frames.changes(call.list.born);
    call.list.items.borrow_mut().clear();
    Ok(Operand::NONE)
}

fn reverse<'p>(me: &mut JinjaEvaluator<'_, 'p>, call: ListCall<'_, 'p>) -> EvaluationResult<Operand<'p>> {
    me.frames.changes(call.list.born);
    call.list.items.borrow_mut().reverse();
    Ok(Operand::NONE)
}

fn sort<'p>(me: &mut JinjaEvaluator<'_, 'p>, call: ListCall<'_, 'p>) -> EvaluationResult<Operand<'p>> {
    me.frames.changes(call.list.born);
    let mut given = FilterArguments { positional: Vec::new(), named: call.given.named };
    given.named.push(("case_sensitive".into(), Operand::bool(true)));
    let sorted = me.sorted_list(call.of, &given)?;
    let sorted = me.items(&sorted)?;
    *call.list.items.borrow_mut() = sorted;
    Ok(Operand::NONE)
}

fn copy<'p>(me: &mut JinjaEvaluator<'_, 'p>, call: MethodCall<'_, 'p>) -> EvaluationResult<Operand<'p>> {
    let items = me.items(call.of)?;
    me.new_list(items)
}

fn index<'p>(_me: &mut JinjaEvaluator<'_, 'p>, call: MethodCall<'_, 'p>) -> EvaluationResult<Operand<'p>> {
    let place =
        place_of(&call.given.first, call.of)?.ok_or_else(|| "index: there is no such item".to_owned())?;
    Ok(Operand::count(place))
}

fn count<'p>(me: &mut JinjaEvaluator<'_, 'p>, call: MethodCall<'_, 'p>) -> EvaluationResult<Operand<'p>> {
    let mut count = 0;
    for other in me.items(call.of)? {
        count += usize::from(operators::equal(&other, &call.given.first, DEEPEST)?);
    }
    Ok(Operand::count(count))
}

fn length(list: &MutableList<'_>) -> usize {
    list.items.borrow().len()
}

/// Where an item stands.
fn place_of<'p>(item: &Operand<'p>, of: &Operand<'p>) -> Result<Option<usize>, String> {
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

impl<'p> JinjaEvaluator<'_, 'p> {
    /// A method that any list has.
    pub(super) fn list_method(
        &mut self,
        of: &Operand<'p>,
        name: &str,
        arguments: Vec<Operand<'p>>,
        named_arguments: NamedArguments<'p>,
    ) -> EvaluationResult<Operand<'p>> {
        if let Some(run) = find(READING, name, arguments.len()) {
            return run(self, MethodCall { of, given: MethodArguments::new(arguments, named_arguments) });
        }
        if named(CHANGING, name).next().is_none() {
            return Err(no_method(of, name));
        }
        Err(EvaluationFailure::with_help(
            format!("{} is not the template's own and cannot be changed", of.describe()),
            "Make one: … | list",
        ))
    }
}
