//! Filters: those of Jinja2 with its meaning, and every function of the library with the value as its first argument.

mod lists;
mod numbers;
mod table;
mod texts;
mod values;
mod wrapping;

use super::{
    arguments::FilterArguments,
    evaluate::JinjaEvaluator,
    node::{CallArgument, ExpressionKind, FilterName, JinjaExpression},
    operand::Operand,
    texts::TextOperation,
};
use crate::{
    evaluation::{EvaluationFailure, EvaluationResult},
    functions,
};
use haptic_text::suggest::did_you_mean;
use table::{FILTERS, REFUSED};

/// A filter of this language's own.
#[derive(Debug)]
pub(crate) struct JinjaFilter {
    /// As templates call it.
    pub name: &'static str,
    /// The parameters that it takes by place or by name; a filter without them says itself what it takes.
    parameters: Option<&'static [&'static str]>,
    /// Whether it is applied to what is undefined, too.
    accepts_undefined: bool,
    operation: FilterOperation,
}

/// The effect of a filter.
#[derive(Clone, Copy, Debug)]
enum FilterOperation {
    /// Something with any value.
    Value(ValueRun),
    /// Something with a text, or with what is printed of another value.
    Text(TextOperation),
}

type ValueRun = for<'p> fn(
    &mut JinjaEvaluator<'_, 'p>,
    Operand<'p>,
    FilterArguments<'p>,
) -> EvaluationResult<Operand<'p>>;

/// The filter of that name, or else the function of the library.
pub(super) fn named(name: &str) -> FilterName {
    FilterName { name: name.into(), own: place(name) }
}

fn own(filter: &FilterName) -> Option<&'static JinjaFilter> {
    FILTERS.get(filter.own?)
}

fn place(name: &str) -> Option<usize> {
    FILTERS.iter().position(|filter| filter.name == name)
}

/// Whether there is such a filter.
///
/// # Errors
/// The way to write it instead.
pub(super) fn check(name: &str) -> Result<(), (String, Option<&'static str>)> {
    if let Some((_, help)) = REFUSED.iter().find(|(refused, _)| *refused == name) {
        return Err((format!("the filter {name:?} is not there"), Some(help)));
    }
    if place(name).is_some() || functions::find(name).is_some() {
        return Ok(());
    }
    let own = FILTERS.iter().map(|filter| filter.name);
    let hint = did_you_mean(name, own.chain(functions::names()));
    Err((format!("there is no filter {name:?}{hint}"), Some("`haptic functions` lists them")))
}

impl From<(String, Option<&'static str>)> for Box<EvaluationFailure> {
    fn from((message, help): (String, Option<&'static str>)) -> Self {
        match help {
            Some(help) => EvaluationFailure::with_help(message, help),
            None => message.into(),
        }
    }
}

impl<'p> JinjaEvaluator<'_, 'p> {
    pub fn filter(
        &mut self,
        filter: &FilterName,
        subject: Operand<'p>,
        arguments: &'p [CallArgument],
        expression: &JinjaExpression,
    ) -> EvaluationResult<Operand<'p>> {
        let (positional, named) = self.arguments(arguments)?;
        if subject.is_undefined() && !own(filter).is_some_and(|own| own.accepts_undefined) {
            let ExpressionKind::Filter(_, Some(of), _) = &expression.kind else {
                return Err(format!("{}: its value is undefined", filter.name).into());
            };
            return Err(self.missing(of, "Write … | default(…) if it may be absent"));
        }
        self.apply(filter, subject, FilterArguments { positional, named })
    }

    fn apply(
        &mut self,
        filter: &FilterName,
        subject: Operand<'p>,
        given: FilterArguments<'p>,
    ) -> EvaluationResult<Operand<'p>> {
        match own(filter) {
            Some(own) => self.apply_own(own, subject, given),
            None => self.library_filter(&filter.name, subject, given),
        }
    }

    fn apply_own(
        &mut self,
        filter: &JinjaFilter,
        subject: Operand<'p>,
        given: FilterArguments<'p>,
    ) -> EvaluationResult<Operand<'p>> {
        if let Some(parameters) = filter.parameters {
            given.check(filter.name, parameters)?;
        }
        match filter.operation {
            FilterOperation::Value(run) => run(self, subject, given),
            FilterOperation::Text(operation) => self.text_filter(filter.name, &subject, given, operation),
        }
    }

    fn text_filter(
        &mut self,
        name: &str,
        subject: &Operand<'p>,
        given: FilterArguments<'p>,
        operation: TextOperation,
    ) -> EvaluationResult<Operand<'p>> {
        match subject.printed() {
            Some(text) => self.text_operation(operation, subject, text, given),
            None => Err(format!("{name}: {} is no text", subject.describe()).into()),
        }
    }

    /// A function of the library, with the value as its first argument.
    fn library_filter(
        &mut self,
        name: &str,
        subject: Operand<'p>,
        given: FilterArguments<'p>,
    ) -> EvaluationResult<Operand<'p>> {
        let positional = std::iter::once(subject).chain(given.positional).collect();
        self.library(name, positional, given.named, None)
    }
}
