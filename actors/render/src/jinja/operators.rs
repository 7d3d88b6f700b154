//! Operators, as Python has them.

use super::{
    evaluate::JinjaEvaluator,
    node::{Comparison, Operator},
    operand::{DEEPEST, Effort, MOST_VISITED, Operand},
};
use crate::{evaluation::EvaluationResult, functions, output::framing, value::Value};
use std::{cell::Cell, cmp::Ordering, sync::Arc};

/// A text made of those: one of the template where all of them are, a value where any is.
pub(super) fn text_from<'p>(result: &str, of: &[&Operand<'_>]) -> Operand<'p> {
    let is_template = |operand: &&Operand<'_>| match operand {
        Operand::Markup(text) => !text.contains(framing::is_mark),
        other => !other.is_text(),
    };
    if of.iter().any(is_own_text) && of.iter().all(is_template) {
        return Operand::Markup(result.into());
    }
    if of.iter().any(|operand| operand.is_secret(DEEPEST)) {
        return Operand::Value(Value::Secret(result.into()));
    }
    Operand::text(result)
}

fn is_own_text(operand: &&Operand<'_>) -> bool {
    matches!(operand, Operand::Markup(_))
}

fn number<'p>(result: f64) -> Result<Operand<'p>, String> {
    let number = serde_json::Number::from_f64(result).ok_or("the result is not a finite number")?;
    Ok(Operand::Value(Value::Number(number)))
}

pub(super) fn negative<'p>(of: &Operand<'p>) -> Result<Operand<'p>, String> {
    match (of.whole(), of.number()) {
        (Some(whole), _) => {
            whole.checked_neg().map(|n| Operand::Value(Value::integer(n))).ok_or_else(too_large)
        }
        (None, Some(fraction)) => number(-fraction),
        _ => Err(format!("{} is no number", of.describe())),
    }
}

fn too_large() -> String {
    "the result is a number of more than 64 bits".to_owned()
}

impl<'p> JinjaEvaluator<'_, 'p> {
    pub fn binary(
        &mut self,
        operator: Operator,
        left: &Operand<'p>,
        right: &Operand<'p>,
    ) -> EvaluationResult<Operand<'p>> {
        if let (Operator::Add, Operand::Tuple(all), Operand::Tuple(more)) = (operator, left, right) {
            let items: Vec<_> = all.iter().chain(more.iter()).cloned().collect();
            if items.len() > functions::LONGEST_LIST {
                return Err(format!("it would have more than {} items", functions::LONGEST_LIST).into());
            }
            self.machine.made(items.len() * size_of::<Operand<'_>>())?;
            return Ok(Operand::Tuple(items.into()));
        }
        match operator {
            Operator::Join => return self.joined(left, right),
            Operator::Add if left.is_text() && right.is_text() => return self.joined(left, right),
            Operator::Add if is_list(left) && is_list(right) => {
                let mut items = self.items(left)?;
                items.extend(self.items(right)?);
                return self.new_list(items);
            }
            Operator::Multiply if left.is_text() || is_list(left) => return self.repeated(left, right),
            Operator::Multiply if right.is_text() || is_list(right) => return self.repeated(right, left),
            Operator::Modulo if left.is_text() => {
                let arguments = match right {
                    Operand::Tuple(items) => items.to_vec(),
                    other => vec![other.clone()],
                };
                return self.format(left, &arguments);
            }
            _ => {}
        }
        Ok(arithmetic(operator, left, right)?)
    }

    /// `~`: texts of templates stay what they are.
    fn joined(&mut self, left: &Operand<'p>, right: &Operand<'p>) -> EvaluationResult<Operand<'p>> {
        self.join(&[left, right])
    }

    /// One text after the other. Where any is of a template, so is the whole, with the others framed.
    pub fn join(&mut self, all: &[&Operand<'p>]) -> EvaluationResult<Operand<'p>> {
        let mut result = String::new();
        let is_markup = all.iter().any(is_own_text);
        for operand in all {
            if is_markup {
                result.push_str(&operand.framed()?);
            } else {
                let text = operand.printed().ok_or_else(|| format!("{} is no text", operand.describe()))?;
                result.push_str(&text);
            }
            self.check_text(result.len())?;
        }
        self.machine.made(result.len())?;
        if is_markup {
            return Ok(Operand::Markup(result.into()));
        }
        let secret = all.iter().any(|operand| matches!(operand, Operand::Value(Value::Secret(_))));
        let result: Arc<str> = result.into();
        Ok(Operand::Value(if secret { Value::Secret(result) } else { Value::Text(result) }))
    }

    /// The bytes that a text may have.
    pub fn longest_text(&self) -> usize {
        self.machine.limits.output.min(functions::LONGEST_TEXT)
    }

    pub fn check_text(&self, bytes: usize) -> EvaluationResult {
        Ok(check_length(bytes, self.longest_text())?)
    }

    fn repeated(&mut self, of: &Operand<'p>, times: &Operand<'p>) -> EvaluationResult<Operand<'p>> {
        let Some(times) = times.whole() else {
            return Err(format!("{} cannot be multiplied by {}", of.describe(), times.describe()).into());
        };
        let times = usize::try_from(times.max(0)).unwrap_or(usize::MAX);
        if of.is_text() {
            let bytes = of.framed()?.len().saturating_mul(times);
            self.check_text(bytes)?;
            if bytes == 0 {
                return Ok(match of {
                    Operand::Markup(_) => Operand::Markup("".into()),
                    _ => Operand::text(""),
                });
            }
            return self.join(&vec![of; times]);
        }
        let items = self.items(of)?;
        if items.len().saturating_mul(times) > functions::LONGEST_LIST {
            return Err(format!("the list would have more than {} items", functions::LONGEST_LIST).into());
        }
        let repeated = items.iter().cycle().take(items.len() * times).cloned().collect();
        self.new_list(repeated)
    }
}

/// Whether a text of that length may be made: known before it is.
pub(super) fn check_length(bytes: usize, longest: usize) -> Result<(), String> {
    if bytes > longest {
        return Err(format!("the result is longer than {longest} bytes"));
    }
    Ok(())
}

fn is_list(operand: &Operand<'_>) -> bool {
    matches!(operand, Operand::List(_) | Operand::Tuple(_) | Operand::Value(Value::List(_)))
}

fn arithmetic<'p>(
    operator: Operator,
    left: &Operand<'p>,
    right: &Operand<'p>,
) -> Result<Operand<'p>, String> {
    let (Some(a), Some(b)) = (left.number(), right.number()) else {
        let wrong = if left.number().is_none() { left } else { right };
        return Err(format!("{} is no number", wrong.describe()));
    };
    if b == 0.0 && matches!(operator, Operator::Divide | Operator::FloorDivide | Operator::Modulo) {
        return Err("division by zero".to_owned());
    }
    if let (Some(a), Some(b)) = (left.whole(), right.whole()) {
        let whole = match operator {
            Operator::Add => a.checked_add(b),
            Operator::Subtract => a.checked_sub(b),
            Operator::Multiply => a.checked_mul(b),
            Operator::FloorDivide => {
                a.checked_div_euclid(b).map(|q| if b < 0 && a % b != 0 { q - 1 } else { q })
            }
            Operator::Modulo => {
                a.checked_rem(b).map(|r| if r != 0 && (r < 0) != (b < 0) { r + b } else { r })
            }
            Operator::Power if b >= 0 => u32::try_from(b).ok().and_then(|b| a.checked_pow(b)),
            Operator::Power | Operator::Divide | Operator::Join => {
                return fraction(operator, a as f64, b as f64);
            }
        };
        return whole.map(|n| Operand::Value(Value::integer(n))).ok_or_else(too_large);
    }
    fraction(operator, a, b)
}

/// As Python divides numbers with fractions: by what is left over, which loses no digits.
fn divided(a: f64, b: f64) -> (f64, f64) {
    let mut left = a % b;
    let mut quotient = (a - left) / b;
    if left == 0.0 {
        left = 0.0_f64.copysign(b);
    } else if (b < 0.0) != (left < 0.0) {
        left += b;
        quotient -= 1.0;
    }
    if quotient == 0.0 {
        return (0.0_f64.copysign(a / b), left);
    }
    let whole = quotient.floor();
    (if quotient - whole > 0.5 { whole + 1.0 } else { whole }, left)
}

fn fraction<'p>(operator: Operator, a: f64, b: f64) -> Result<Operand<'p>, String> {
    number(match operator {
        Operator::Add | Operator::Join => a + b,
        Operator::Subtract => a - b,
        Operator::Multiply => a * b,
        Operator::Divide => a / b,
        Operator::FloorDivide => divided(a, b).0,
        Operator::Modulo => divided(a, b).1,
        Operator::Power => a.powf(b),
    })
}

pub(super) fn compare(how: Comparison, left: &Operand<'_>, right: &Operand<'_>) -> Result<bool, String> {
    Ok(match how {
        Comparison::Equal => equal(left, right, DEEPEST)?,
        Comparison::NotEqual => !equal(left, right, DEEPEST)?,
        Comparison::Less => order(left, right, DEEPEST)?.is_lt(),
        Comparison::LessOrEqual => order(left, right, DEEPEST)?.is_le(),
        Comparison::Greater => order(left, right, DEEPEST)?.is_gt(),
        Comparison::GreaterOrEqual => order(left, right, DEEPEST)?.is_ge(),
        Comparison::In => within(left, right)?,
        Comparison::NotIn => !within(left, right)?,
    })
}

fn within(item: &Operand<'_>, of: &Operand<'_>) -> Result<bool, String> {
    if of.is_text() {
        let (Some(item), Some(of)) = (item.printed().filter(|_| item.is_text()), of.printed()) else {
            return Err(format!("a text can hold texts, {} is none", item.describe()));
        };
        return Ok(of.contains(&*item));
    }
    if let Operand::Dict(dict) = of {
        return Ok(super::keys::DictKey::of(item).is_ok_and(|key| dict.entries.borrow().get(&key).is_some()));
    }
    if let Operand::Value(value @ (Value::Dict(_) | Value::Object(_))) = of {
        let key = item.printed().filter(|_| item.is_text());
        return Ok(key.is_some_and(|key| value.field(&key).is_ok_and(|found| found.is_some())));
    }
    let Some(length) = length(of) else {
        return Err(format!("{} holds nothing", of.describe()));
    };
    for index in 0..length {
        if let Some(other) = nth(of, index)
            && equal(item, &other, DEEPEST)?
        {
            return Ok(true);
        }
    }
    Ok(false)
}

/// How many items a list or tuple has.
pub(super) fn length(of: &Operand<'_>) -> Option<usize> {
    Some(match of {
        Operand::List(list) => list.items.borrow().len(),
        Operand::Tuple(items) => items.len(),
        Operand::Value(Value::List(items)) => items.len(),
        _ => return None,
    })
}

fn nth<'p>(of: &Operand<'p>, index: usize) -> Option<Operand<'p>> {
    match of {
        Operand::List(list) => list.items.borrow().get(index).cloned(),
        Operand::Tuple(items) => items.get(index).cloned(),
        Operand::Value(Value::List(items)) => items.get(index).cloned().map(Operand::Value),
        _ => None,
    }
}

/// Numbers and booleans are equal by value, texts by character, nothing else is loose.
pub(super) fn equal(left: &Operand<'_>, right: &Operand<'_>, depth: usize) -> Result<bool, String> {
    equal_within(left, right, Effort { depth, left: &Cell::new(MOST_VISITED) })
}

fn equal_within(left: &Operand<'_>, right: &Operand<'_>, effort: Effort<'_>) -> Result<bool, String> {
    let effort = effort.inner()?;
    if left.is_text() && right.is_text() {
        return Ok(left.printed() == right.printed());
    }
    if let (Some(a), Some(b)) = (left.number(), right.number()) {
        #[expect(clippy::float_cmp, reason = "as Python compares them")]
        return Ok(left.whole().zip(right.whole()).map_or(a == b, |(a, b)| a == b));
    }
    if let (Some(a), Some(b)) = (length(left), length(right)) {
        let is_tuple = |operand: &Operand<'_>| matches!(operand, Operand::Tuple(_));
        if a != b || is_tuple(left) != is_tuple(right) {
            return Ok(false);
        }
        for index in 0..a {
            let (Some(a), Some(b)) = (nth(left, index), nth(right, index)) else { return Ok(false) };
            if !equal_within(&a, &b, effort)? {
                return Ok(false);
            }
        }
        return Ok(true);
    }
    Ok(match (left, right) {
        (Operand::Value(Value::Null), Operand::Value(Value::Null))
        | (Operand::Value(Value::Missing), Operand::Value(Value::Missing)) => true,
        (Operand::Value(Value::Object(a)), Operand::Value(Value::Object(b))) => {
            a.reference() == b.reference()
        }
        (
            Operand::Dict(_) | Operand::Value(Value::Dict(_)),
            Operand::Dict(_) | Operand::Value(Value::Dict(_)),
        ) => left.value()? == right.value()?,
        _ => false,
    })
}

/// The order of numbers, of texts and of lists.
pub(super) fn order(left: &Operand<'_>, right: &Operand<'_>, depth: usize) -> Result<Ordering, String> {
    order_within(left, right, Effort { depth, left: &Cell::new(MOST_VISITED) })
}

fn order_within(left: &Operand<'_>, right: &Operand<'_>, effort: Effort<'_>) -> Result<Ordering, String> {
    let effort = effort.inner()?;
    if left.is_text() && right.is_text() {
        return Ok(left.printed().cmp(&right.printed()));
    }
    if let (Some(a), Some(b)) = (left.number(), right.number()) {
        return Ok(left.whole().zip(right.whole()).map_or_else(|| a.total_cmp(&b), |(a, b)| a.cmp(&b)));
    }
    if let (Some(a), Some(b)) = (length(left), length(right)) {
        for index in 0..a.min(b) {
            let (Some(a), Some(b)) = (nth(left, index), nth(right, index)) else { break };
            let order = order_within(&a, &b, effort)?;
            if order.is_ne() {
                return Ok(order);
            }
        }
        return Ok(a.cmp(&b));
    }
    Err(format!("{} and {} have no order", left.describe(), right.describe()))
}

/// The items from `start` to `stop`, each `step`th, as Python counts them.
pub(super) fn sliced<T: Clone>(items: &[T], [start, stop, step]: [Option<i64>; 3]) -> Result<Vec<T>, String> {
    let length = i64::try_from(items.len()).unwrap_or(i64::MAX);
    let step = step.unwrap_or(1);
    if step == 0 {
        return Err("the step of a slice cannot be 0".to_owned());
    }
    let (low, high) = if step > 0 { (0, length) } else { (-1, length - 1) };
    let place = |bound: Option<i64>, otherwise: i64| match bound {
        None => otherwise,
        Some(bound) if bound < 0 => bound.saturating_add(length).max(low),
        Some(bound) => bound.min(high),
    };
    let (mut at, end) = if step > 0 {
        (place(start, 0), place(stop, length))
    } else {
        (place(start, length - 1), place(stop, -1))
    };
    let mut kept = Vec::new();
    while (step > 0 && at < end) || (step < 0 && at > end) {
        kept.extend(usize::try_from(at).ok().and_then(|at| items.get(at)).cloned());
        at = at.saturating_add(step);
    }
    Ok(kept)
}
