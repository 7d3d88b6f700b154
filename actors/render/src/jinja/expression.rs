//! The values of expressions.

use super::{
    evaluate::JinjaEvaluator,
    keys::DictKey,
    node::{Comparison, ExpressionKind, JinjaExpression},
    operand::Operand,
    operators,
};
use crate::{
    evaluation::{EvaluationFailure, EvaluationResult},
    functions,
    value::Value,
};
use haptic_text::suggest::did_you_mean;
use std::sync::Arc;

/// So deep are expressions nested in one another, those of the macros that they call included: as the stack is.
const MOST_NESTED: usize = 300;

impl<'p> JinjaEvaluator<'_, 'p> {
    pub fn evaluate(&mut self, expression: &'p JinjaExpression) -> EvaluationResult<Operand<'p>> {
        self.machine.evaluating += 1;
        let result = match self.machine.evaluating {
            0..=MOST_NESTED => self.operation(expression),
            _ => Err(format!("expressions are nested deeper than {MOST_NESTED}").into()),
        };
        self.machine.evaluating -= 1;
        result.map_err(|failure| failure.at(expression.at))
    }

    fn operation(&mut self, expression: &'p JinjaExpression) -> EvaluationResult<Operand<'p>> {
        Ok(match &expression.kind {
            ExpressionKind::Text(text) => Operand::Markup(text.clone()),
            ExpressionKind::Literal(value) => Operand::Value(value.clone()),
            ExpressionKind::Name(name) => self.name(name)?,
            ExpressionKind::List(items) => {
                let items = self.all(items)?;
                self.new_list(items)?
            }
            ExpressionKind::Tuple(items) => Operand::Tuple(self.all(items)?.into()),
            ExpressionKind::Dict(pairs) => {
                let mut entries = Vec::with_capacity(pairs.len());
                for (key, value) in pairs {
                    let key = self.evaluate(key)?;
                    entries.push((DictKey::of(&key)?, self.evaluate(value)?));
                }
                self.machine.made(entries.len() * size_of::<(DictKey, Operand<'_>)>())?;
                Operand::dict(self.frames.now(), entries.into_iter().collect())
            }
            ExpressionKind::Field(of, field) => self.field(of, field)?,
            ExpressionKind::Item(pair) => {
                let (of, key) = &**pair;
                let value = self.there(of)?;
                let key = self.evaluate(key)?;
                self.item(&value, &key)?
            }
            ExpressionKind::Slice(of, parts) => {
                let value = self.there(of)?;
                let mut bounds = [None; 3];
                for (bound, part) in bounds.iter_mut().zip(&**parts) {
                    let Some(part) = part else { continue };
                    let part = self.evaluate(part)?;
                    *bound = match part.whole() {
                        Some(number) => Some(number),
                        None if part.is_none() => None,
                        None => {
                            return Err(
                                format!("a slice takes whole numbers, this is {}", part.describe()).into()
                            );
                        }
                    };
                }
                self.slice(&value, bounds)?
            }
            ExpressionKind::Not(of) => Operand::bool(!self.evaluate(of)?.is_true()),
            ExpressionKind::Negative(of) => operators::negative(&self.there(of)?)?,
            ExpressionKind::And(pair) => {
                let left = self.evaluate(&pair.0)?;
                if left.is_true() { self.evaluate(&pair.1)? } else { left }
            }
            ExpressionKind::Or(pair) => {
                let left = self.evaluate(&pair.0)?;
                if left.is_true() { left } else { self.evaluate(&pair.1)? }
            }
            ExpressionKind::Binary(operator, pair) => {
                let (left, right) = (self.there(&pair.0)?, self.there(&pair.1)?);
                self.binary(*operator, &left, &right)?
            }
            ExpressionKind::Compare(first, steps) => {
                let mut left = self.evaluate(first)?;
                for (how, expression) in steps {
                    let right = self.evaluate(expression)?;
                    if right.is_undefined() && matches!(how, Comparison::In | Comparison::NotIn) {
                        return Err(self.missing(expression, "Write … | default([]) if it may be absent"));
                    }
                    if !operators::compare(*how, &left, &right)? {
                        return Ok(Operand::bool(false));
                    }
                    left = right;
                }
                Operand::bool(true)
            }
            ExpressionKind::If(parts) => {
                let (test, value, otherwise) = &**parts;
                match (self.evaluate(test)?.is_true(), otherwise) {
                    (true, _) => self.evaluate(value)?,
                    (false, Some(otherwise)) => self.evaluate(otherwise)?,
                    // Python's prints nothing for it.
                    (false, None) => Operand::Markup("".into()),
                }
            }
            ExpressionKind::Filter(name, subject, arguments) => {
                let subject = match subject {
                    Some(subject) => self.evaluate(subject)?,
                    None => self.subject.clone(),
                };
                self.filter(name, subject, arguments, expression)?
            }
            ExpressionKind::Test(name, subject, arguments) => {
                let subject = self.evaluate(subject)?;
                let (arguments, _) = self.arguments(arguments)?;
                Operand::bool(self.test(name, &subject, &arguments)?)
            }
            ExpressionKind::Call(..) => self.call_with(expression, None)?,
        })
    }

    pub fn all(&mut self, expressions: &'p [JinjaExpression]) -> EvaluationResult<Vec<Operand<'p>>> {
        expressions.iter().map(|expression| self.evaluate(expression)).collect()
    }

    /// A list that the template makes.
    pub fn new_list(&mut self, items: Vec<Operand<'p>>) -> EvaluationResult<Operand<'p>> {
        if items.len() > functions::LONGEST_LIST {
            return Err(format!("the list has more than {} items", functions::LONGEST_LIST).into());
        }
        self.machine.made(items.len() * size_of::<Operand<'_>>())?;
        Ok(Operand::list(self.frames.now(), items))
    }

    /// The value of an expression that must be defined.
    pub fn there(&mut self, expression: &'p JinjaExpression) -> EvaluationResult<Operand<'p>> {
        let value = self.evaluate(expression)?;
        if value.is_undefined() {
            return Err(self.missing(expression, "Write … | default(…) if it may be absent"));
        }
        Ok(value)
    }

    fn name(&mut self, name: &str) -> EvaluationResult<Operand<'p>> {
        if let Some(value) = self.frames.lookup(name, None)? {
            return Ok(value);
        }
        Ok(self.top(name)?.unwrap_or(Operand::UNDEFINED))
    }

    /// The names that every template sees: the context, `resources`, the watched resources by name.
    pub fn top(&self, name: &str) -> Result<Option<Operand<'p>>, String> {
        let input = self.machine.session.input();
        if let Some(value) = input.context.field(name)? {
            return Ok(Some(Operand::Value(value.clone())));
        }
        Ok(match name {
            "resources" => Some(Operand::Resources),
            name if input.config.spec.watched_resources.contains_key(name) => {
                Some(Operand::Store(name.into()))
            }
            _ => None,
        })
    }

    fn field(&mut self, of: &'p JinjaExpression, field: &Arc<str>) -> EvaluationResult<Operand<'p>> {
        if let ExpressionKind::Name(name) = &of.kind
            && let Some(found) = self.frames.lookup(name, Some(field))?
        {
            return match found.is_undefined() && !self.frames.has_fields(name) {
                // Whether the name is undefined itself decides between undefined and an error.
                true => self.field_of(of, field),
                false => Ok(found),
            };
        }
        self.field_of(of, field)
    }

    fn field_of(&mut self, of: &'p JinjaExpression, field: &str) -> EvaluationResult<Operand<'p>> {
        let value = self.there(of)?;
        if value.is_none() {
            return Err(EvaluationFailure::with_help(
                format!("{} is none, without {field:?}", source(of)),
                "Write … | default({}, true) if it may be null",
            ));
        }
        Ok(value.field(field)?.unwrap_or(Operand::UNDEFINED))
    }

    pub fn item(&mut self, of: &Operand<'p>, key: &Operand<'p>) -> EvaluationResult<Operand<'p>> {
        if let (Operand::Dict(dict), Ok(key)) = (of, DictKey::of(key)) {
            return Ok(dict.entries.borrow().get(&key).cloned().unwrap_or(Operand::UNDEFINED));
        }
        if let Some(name) = key.printed().filter(|_| key.is_text()) {
            return Ok(of.field(&name)?.unwrap_or(Operand::UNDEFINED));
        }
        let Some(index) = key.whole() else { return Ok(Operand::UNDEFINED) };
        let at = |length: usize| {
            usize::try_from(if index < 0 { index + i64::try_from(length).unwrap_or(0) } else { index })
        };
        Ok(match of {
            Operand::List(list) => {
                let items = list.items.borrow();
                at(items.len()).ok().and_then(|at| items.get(at)).cloned()
            }
            Operand::Tuple(items) => at(items.len()).ok().and_then(|at| items.get(at)).cloned(),
            Operand::Value(Value::List(items)) => {
                at(items.len()).ok().and_then(|at| items.get(at)).map(|item| Operand::Value(item.unread()))
            }
            text if text.is_text() => {
                let characters = of.printed().unwrap_or_default();
                let length = characters.chars().count();
                let one = at(length).ok().and_then(|at| characters.chars().nth(at));
                one.map(|c| operators::text_from(c.encode_utf8(&mut [0; 4]), &[of]))
            }
            _ => None,
        }
        .unwrap_or(Operand::UNDEFINED))
    }

    fn slice(&mut self, of: &Operand<'p>, bounds: [Option<i64>; 3]) -> EvaluationResult<Operand<'p>> {
        if let Operand::Tuple(items) = of {
            return Ok(Operand::Tuple(operators::sliced(items, bounds)?.into()));
        }
        if of.is_text() {
            let characters: Vec<char> = of.printed().unwrap_or_default().chars().collect();
            let kept: String = operators::sliced(&characters, bounds)?.into_iter().collect();
            return Ok(operators::text_from(&kept, &[of]));
        }
        let items = self.items(of)?;
        let kept = operators::sliced(&items, bounds)?;
        self.new_list(kept)
    }

    /// The items that a loop over it sees.
    pub fn items(&mut self, of: &Operand<'p>) -> EvaluationResult<Vec<Operand<'p>>> {
        let items: Vec<Operand<'p>> = match of {
            Operand::List(list) => list.items.borrow().clone(),
            Operand::Tuple(items) => items.to_vec(),
            Operand::Dict(dict) if !dict.is_namespace => {
                dict.entries.borrow().iter().map(|(key, _)| key.operand()).collect()
            }
            Operand::Value(Value::List(items)) => items.iter().cloned().map(Operand::Value).collect(),
            Operand::Value(value @ (Value::Dict(_) | Value::Object(_))) => match value.as_dict()? {
                Some(dict) => dict.iter().map(|(key, _)| Operand::Value(Value::Text(key.clone()))).collect(),
                None => Vec::new(),
            },
            text if text.is_text() => {
                let characters = text.printed().unwrap_or_default();
                let one = |c: char| operators::text_from(c.encode_utf8(&mut [0; 4]), &[text]);
                characters.chars().map(one).collect()
            }
            Operand::Store(name) => {
                return Err(EvaluationFailure::with_help(
                    format!("{} has no items of its own", of.describe()),
                    format!("Write resources.{name}.List() for its objects"),
                ));
            }
            other => return Err(format!("{} has no items", other.describe()).into()),
        };
        self.machine.made(items.len() * size_of::<Operand<'_>>())?;
        Ok(items)
    }

    pub fn unprintable(&self, value: &Operand<'p>, expression: &JinjaExpression) -> Box<EvaluationFailure> {
        let source = source(expression);
        match value {
            Operand::Value(Value::Missing) => {
                self.missing(expression, "Write … | default(…) if it may be absent")
            }
            Operand::Value(Value::Null) => EvaluationFailure::with_help(
                format!("{source} is none, which prints nothing"),
                "Write … | default(…, true) if it may be null",
            ),
            other => EvaluationFailure::with_help(
                format!("{source} is {}, which cannot be printed as text", other.describe()),
                "Print one of its fields, or its JSON with … | tojson",
            ),
        }
    }

    /// Says what is undefined, and what could be meant.
    pub fn missing(&self, expression: &JinjaExpression, help: &str) -> Box<EvaluationFailure> {
        let hint = match &expression.kind {
            ExpressionKind::Name(name) => {
                let input = self.machine.session.input();
                let top =
                    input.context.as_dict().ok().flatten().map(|dict| dict.iter().map(|(key, _)| &**key));
                let watched = input.config.spec.watched_resources.keys().map(String::as_str);
                let names = self.frames.names().chain(top.into_iter().flatten()).chain(watched);
                // It may have been declared, and given no value.
                did_you_mean(name, names.filter(|known| *known != &**name))
            }
            _ => String::new(),
        };
        EvaluationFailure::with_help(format!("{} is undefined{hint}", source(expression)), help)
            .at(expression.at)
    }
}

/// As the template says it, shortened, for messages.
pub(super) fn source(expression: &JinjaExpression) -> String {
    match &expression.kind {
        ExpressionKind::Text(text) => format!("{text:?}"),
        ExpressionKind::Literal(value) => {
            value.printed().map_or_else(|| "none".into(), |text| text.to_string())
        }
        ExpressionKind::Name(name) => name.to_string(),
        ExpressionKind::Field(of, field) => format!("{}.{field}", source(of)),
        ExpressionKind::Item(pair) => format!("{}[{}]", source(&pair.0), source(&pair.1)),
        ExpressionKind::Filter(filter, Some(of), _) => format!("{} | {}", source(of), filter.name),
        ExpressionKind::Filter(filter, None, _) => filter.name.to_string(),
        ExpressionKind::Call(of, _) => format!("{}(…)", source(of)),
        _ => "this expression".into(),
    }
}
