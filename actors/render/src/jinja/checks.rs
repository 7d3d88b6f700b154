//! Tests: what stands behind `is`.

use super::{evaluate::JinjaEvaluator, filters, node::Comparison, operand::Operand, operators};
use crate::{evaluation::EvaluationResult, functions, value::Value};
use std::rc::Rc;

/// All of them.
pub(super) const TESTS: [&str; 38] = [
    "boolean",
    "callable",
    "defined",
    "divisibleby",
    "eq",
    "equalto",
    "==",
    "even",
    "false",
    "filter",
    "float",
    "ge",
    ">=",
    "gt",
    "greaterthan",
    ">",
    "in",
    "integer",
    "iterable",
    "le",
    "<=",
    "lt",
    "lessthan",
    "<",
    "lower",
    "mapping",
    "ne",
    "!=",
    "none",
    "number",
    "odd",
    "sequence",
    "sameas",
    "string",
    "test",
    "true",
    "undefined",
    "upper",
];

/// Whether there is such a test.
///
/// # Errors
/// The checks that could be meant.
pub(super) fn check(name: &str) -> Result<(), String> {
    if TESTS.contains(&name) {
        return Ok(());
    }
    Err(format!("there is no test {name:?}{}", haptic_text::suggest::did_you_mean(name, TESTS)))
}

impl<'p> JinjaEvaluator<'_, 'p> {
    pub fn test(
        &mut self,
        name: &str,
        of: &Operand<'p>,
        arguments: &[Operand<'p>],
    ) -> EvaluationResult<bool> {
        if let ("sameas", Some(other)) = (name, arguments.first()) {
            return is_same(of, other);
        }
        let comparison = match name {
            "eq" | "equalto" | "==" | "sameas" => Some(Comparison::Equal),
            "ne" | "!=" => Some(Comparison::NotEqual),
            "lt" | "lessthan" | "<" => Some(Comparison::Less),
            "le" | "<=" => Some(Comparison::LessOrEqual),
            "gt" | "greaterthan" | ">" => Some(Comparison::Greater),
            "ge" | ">=" => Some(Comparison::GreaterOrEqual),
            "in" => Some(Comparison::In),
            _ => None,
        };
        if let Some(how) = comparison {
            let other = arguments.first().ok_or_else(|| format!("the test {name:?} takes an argument"))?;
            return Ok(operators::compare(how, of, other)?);
        }
        let whole = || {
            of.whole()
                .ok_or_else(|| format!("the test {name:?} takes a whole number, this is {}", of.describe()))
        };
        let is_bool = matches!(of, Operand::Value(Value::Bool(_)));
        let named = || of.printed().unwrap_or_default();
        Ok(match name {
            "defined" => !of.is_undefined(),
            "undefined" => of.is_undefined(),
            "none" => of.is_none(),
            "true" => is_bool && of.is_true(),
            "false" => is_bool && !of.is_true(),
            "boolean" => is_bool,
            "integer" => of.whole().is_some() && !is_bool,
            "float" => of.whole().is_none() && of.number().is_some(),
            "number" => of.number().is_some(),
            "string" => of.is_text(),
            "mapping" => matches!(of, Operand::Dict(_) | Operand::Value(Value::Dict(_) | Value::Object(_))),
            "sequence" => {
                of.is_text()
                    || operators::length(of).is_some()
                    || matches!(of, Operand::Dict(_) | Operand::Value(Value::Dict(_)))
            }
            "iterable" => of.is_text() || operators::length(of).is_some() || self.pairs(of).is_ok(),
            "callable" => matches!(of, Operand::Macro(_) | Operand::Joiner(_)),
            "even" => whole()?.rem_euclid(2) == 0,
            "odd" => whole()?.rem_euclid(2) == 1,
            "divisibleby" => {
                let by = arguments.first().and_then(Operand::whole).filter(|by| *by != 0);
                whole()?.checked_rem(
                    by.ok_or_else(|| "divisibleby takes a whole number that is not 0".to_owned())?,
                ) == Some(0)
            }
            "lower" => named().chars().any(char::is_lowercase) && !named().chars().any(char::is_uppercase),
            "upper" => named().chars().any(char::is_uppercase) && !named().chars().any(char::is_lowercase),
            "test" => check(&named()).is_ok(),
            "filter" => functions::find(&named()).is_some() || filters::check(&named()).is_ok(),
            _ => {
                return Err(check(name)
                    .err()
                    .unwrap_or_else(|| format!("the test {name:?} is not there"))
                    .into());
            }
        })
    }
}

/// Whether two values are the same. One that a template made is the same only as itself; 1, 1.0 and True are three values.
fn is_same<'p>(one: &Operand<'p>, other: &Operand<'p>) -> EvaluationResult<bool> {
    let kind = |of: &Operand<'_>| (matches!(of, Operand::Value(Value::Bool(_))), of.whole().is_some());
    Ok(match (one, other) {
        (Operand::List(a), Operand::List(b)) => Rc::ptr_eq(a, b),
        (Operand::Dict(a), Operand::Dict(b)) => Rc::ptr_eq(a, b),
        _ => kind(one) == kind(other) && operators::compare(Comparison::Equal, one, other)?,
    })
}
