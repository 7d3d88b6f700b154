//! Methods of lists and dicts that a template made, of dicts of objects, of texts, and of what takes turns.

mod dicts;
mod lists;
#[cfg(test)]
mod tests;
mod texts;
mod turns;

use super::{
    arguments::FilterArguments,
    call::{NamedArguments, no_method},
    evaluate::JinjaEvaluator,
    operand::Operand,
};
use crate::{evaluation::EvaluationResult, functions, value::Value};
use dicts::DictCall;
use lists::ListCall;

/// A method that values of one kind have. A table of them is sorted by their names.
struct JinjaMethod<R> {
    /// As templates call it.
    name: &'static str,
    arguments: Arity,
    run: R,
}

/// How many arguments by place a method takes.
#[derive(Clone, Copy)]
enum Arity {
    None,
    Some,
    Any,
}

/// The arguments of a method.
struct MethodArguments<'p> {
    /// The first one by place; undefined where there is none.
    first: Operand<'p>,
    /// Those behind it.
    rest: Vec<Operand<'p>>,
    named: NamedArguments<'p>,
}

/// A call of a method that changes nothing.
struct MethodCall<'c, 'p> {
    of: &'c Operand<'p>,
    given: MethodArguments<'p>,
}

type ReadRun = for<'p> fn(&mut JinjaEvaluator<'_, 'p>, MethodCall<'_, 'p>) -> EvaluationResult<Operand<'p>>;

const fn without<R: Copy>(name: &'static str, run: R) -> JinjaMethod<R> {
    JinjaMethod { name, arguments: Arity::None, run }
}

const fn with<R: Copy>(name: &'static str, run: R) -> JinjaMethod<R> {
    JinjaMethod { name, arguments: Arity::Some, run }
}

const fn any<R: Copy>(name: &'static str, run: R) -> JinjaMethod<R> {
    JinjaMethod { name, arguments: Arity::Any, run }
}

impl Arity {
    fn fits(self, count: usize) -> bool {
        match self {
            Self::None => count == 0,
            Self::Some => count > 0,
            Self::Any => true,
        }
    }
}

/// The methods of that name.
fn named<R>(methods: &'static [JinjaMethod<R>], name: &str) -> impl Iterator<Item = &'static JinjaMethod<R>> {
    let first = methods.partition_point(|method| method.name < name);
    let rest = methods.get(first..).unwrap_or_default();
    rest.iter().take_while(move |method| method.name == name)
}

/// The method of that name which takes this number of arguments by place.
fn find<R: Copy>(methods: &'static [JinjaMethod<R>], name: &str, count: usize) -> Option<R> {
    named(methods, name).find(|method| method.arguments.fits(count)).map(|method| method.run)
}

impl<'p> MethodArguments<'p> {
    fn new(mut positional: Vec<Operand<'p>>, named: NamedArguments<'p>) -> Self {
        let first = if positional.is_empty() { Operand::UNDEFINED } else { positional.remove(0) };
        Self { first, rest: positional, named }
    }

    /// The second one by place.
    fn second(&self) -> Option<Operand<'p>> {
        self.rest.first().cloned()
    }
}

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
            Operand::List(list) => match find(lists::CHANGING, name, arguments.len()) {
                Some(run) => run(self, ListCall { of, list, given: MethodArguments::new(arguments, named) }),
                None => self.list_method(of, name, arguments, named),
            },
            Operand::Dict(dict) if !dict.is_namespace => match find(dicts::CHANGING, name, arguments.len()) {
                Some(run) => run(self, DictCall { of, dict, given: MethodArguments::new(arguments, named) }),
                None => self.dict_method(of, name, arguments, named),
            },
            Operand::Dict(_) | Operand::Value(Value::Dict(_) | Value::Object(_)) => {
                self.dict_method(of, name, arguments, named)
            }
            Operand::Value(Value::List(_)) | Operand::Tuple(_) => {
                self.list_method(of, name, arguments, named)
            }
            Operand::Loop(state) => self.loop_method(of, state, name, arguments),
            Operand::Cycler(turns) => self.cycler_method(of, turns, name),
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
}
