//! One call of a function: its arguments, checked against the table.

use super::function::{Function, Kind};
use crate::{
    session::Session,
    value::{Dict, Value, watched::Watched},
};
use std::sync::Arc;

/// The call of a function.
pub struct Call<'c> {
    pub(super) function: &'static Function,
    pub(super) arguments: Vec<Value>,
    pub(super) named: &'c [(Arc<str>, Value)],
    pub(super) session: &'c Session<'c>,
}

impl Call<'_> {
    /// Each argument against the table.
    pub(super) fn check(&self) -> Result<(), String> {
        for (index, value) in self.arguments.iter().enumerate() {
            let Some(argument) = self.function.argument(index) else { continue };
            if !fits(value, argument.kind) {
                return Err(format!(
                    "{}: argument {} ({}) must be {}, it is {}",
                    self.function.name,
                    index + 1,
                    argument.name,
                    wanted(argument.kind),
                    value.describe()
                ));
            }
        }
        Ok(())
    }

    /// The argument at `index`, `Missing` if it is not given.
    pub fn value(&self, index: usize) -> &Value {
        self.arguments.get(index).unwrap_or(&Value::Missing)
    }

    /// Whether the argument is given.
    #[must_use]
    pub fn has(&self, index: usize) -> bool {
        index < self.arguments.len()
    }

    /// A text.
    #[must_use]
    pub fn text(&self, index: usize) -> Arc<str> {
        self.value(index).printed().unwrap_or_default()
    }

    /// A number.
    #[must_use]
    pub fn number(&self, index: usize) -> f64 {
        self.value(index).as_number().unwrap_or_default()
    }

    /// Whether an argument is from a Secret.
    #[must_use]
    pub fn is_secret(&self) -> bool {
        self.arguments.iter().any(|value| matches!(value, Value::Secret(_)))
    }

    /// The result, from a Secret where it was made of a text from one. What only moves values moves what is known of them.
    pub(super) fn result(&self, result: Value) -> Value {
        let made = match result {
            Value::Text(_) | Value::Number(_) => self.is_secret() || (self.flattens() && self.holds_secret()),
            Value::List(_) | Value::Dict(_) => self.consumes_secret(),
            _ => false,
        };
        if made && self.function.name != "add_file" { result.secret() } else { result }
    }

    fn flattens(&self) -> bool {
        matches!(self.function.name, "json" | "yaml" | "join" | "certificate_file")
    }

    fn holds_secret(&self) -> bool {
        self.arguments.iter().any(Value::holds_secret)
    }

    fn consumes_secret(&self) -> bool {
        let consumed = |index| self.function.argument(index).is_some_and(|a| a.kind == Kind::Text);
        let mut arguments = self.arguments.iter().enumerate();
        arguments.any(|(index, value)| matches!(value, Value::Secret(_)) && consumed(index))
    }

    /// A whole number, or `otherwise` if it is not given.
    #[must_use]
    pub fn integer(&self, index: usize, otherwise: i64) -> i64 {
        if self.has(index) { integer(self.value(index)).unwrap_or(otherwise) } else { otherwise }
    }

    /// A list.
    #[must_use]
    pub fn list(&self, index: usize) -> Arc<Vec<Value>> {
        match self.value(index) {
            Value::List(list) => list.clone(),
            _ => Arc::default(),
        }
    }

    /// A dict.
    ///
    /// # Errors
    /// When it is a watched object that cannot be read.
    pub fn dict(&self, index: usize) -> Result<Arc<Dict>, String> {
        Ok(self.value(index).as_dict()?.cloned().unwrap_or_default())
    }

    /// A watched object.
    #[must_use]
    pub fn object(&self, index: usize) -> Option<&Arc<Watched>> {
        match self.value(index) {
            Value::Object(object) => Some(object),
            _ => None,
        }
    }

    /// All arguments from `index` on.
    #[must_use]
    pub fn rest(&self, index: usize) -> &[Value] {
        self.arguments.get(index..).unwrap_or_default()
    }
}

/// A whole number, also one that a text spells.
pub(super) fn integer(value: &Value) -> Option<i64> {
    match value {
        Value::Number(n) => n.as_i64().or_else(|| {
            let n = n.as_f64().filter(|n| n.fract() == 0.0 && n.abs() < 9e15)?;
            #[expect(clippy::cast_possible_truncation, reason = "whole and small")]
            Some(n as i64)
        }),
        Value::Text(t) | Value::Secret(t) => t.trim().parse().ok(),
        _ => None,
    }
}

fn fits(value: &Value, kind: Kind) -> bool {
    match kind {
        Kind::Any | Kind::Optional => true,
        Kind::Text | Kind::Variable => {
            matches!(value, Value::Text(_) | Value::Secret(_) | Value::Number(_) | Value::Bool(_))
        }
        Kind::Number => value.as_number().is_some(),
        Kind::Integer => integer(value).is_some(),
        Kind::List => matches!(value, Value::List(_) | Value::Null),
        Kind::Dict => matches!(value, Value::Dict(_) | Value::Object(_) | Value::Null),
        Kind::Object => matches!(value, Value::Object(_)),
    }
}

pub(super) fn wanted(kind: Kind) -> &'static str {
    match kind {
        Kind::Any => "any value",
        Kind::Optional => "any value, or missing",
        Kind::Text => "a text",
        Kind::Number => "a number",
        Kind::Integer => "a whole number",
        Kind::List => "a list",
        Kind::Dict => "a dict or an object",
        Kind::Object => "a watched object",
        Kind::Variable => "the name of a variable",
    }
}
