//! Filters of any value.

use crate::{
    evaluation::EvaluationResult,
    jinja::{
        arguments::FilterArguments,
        evaluate::JinjaEvaluator,
        keys::{DictKey, Entries},
        operand::Operand,
        operators, text,
    },
    value::Value,
};

/// The value, or another one where it is absent.
pub(super) fn or_default<'p>(subject: Operand<'p>, given: &FilterArguments<'p>) -> Operand<'p> {
    let is_absent = subject.is_undefined() || (given.is_true(1, "boolean", false) && !subject.is_true());
    if !is_absent {
        return subject;
    }
    given.get(0, "default_value").cloned().unwrap_or(Operand::Markup("".into()))
}

pub(super) fn field<'p>(subject: &Operand<'p>, given: &FilterArguments<'p>) -> Result<Operand<'p>, String> {
    let name = given.text(0, "name").unwrap_or_default();
    Ok(subject.field(&name)?.unwrap_or(Operand::UNDEFINED))
}

pub(super) fn string(subject: Operand<'_>) -> Result<Operand<'_>, String> {
    if subject.is_text() {
        return Ok(subject);
    }
    match subject.printed() {
        Some(text) => Ok(Operand::text(&text)),
        None => Err(format!("{} is no text", subject.describe())),
    }
}

impl<'p> JinjaEvaluator<'_, 'p> {
    pub(super) fn first(&mut self, of: &Operand<'p>) -> EvaluationResult<Operand<'p>> {
        Ok(self.items(of)?.into_iter().next().unwrap_or(Operand::UNDEFINED))
    }

    pub(super) fn last(&mut self, of: &Operand<'p>) -> EvaluationResult<Operand<'p>> {
        Ok(self.items(of)?.pop().unwrap_or(Operand::UNDEFINED))
    }

    pub(super) fn list_of(&mut self, subject: &Operand<'p>) -> EvaluationResult<Operand<'p>> {
        let items = if subject.is_undefined() { Vec::new() } else { self.items(subject)? };
        self.new_list(items)
    }

    pub(super) fn length(&mut self, of: &Operand<'p>) -> EvaluationResult<usize> {
        if let Some(length) = operators::length(of) {
            return Ok(length);
        }
        Ok(match of {
            Operand::Dict(dict) => dict.entries.borrow().len(),
            Operand::Store(name) => match self.machine.session.objects(name, [].into())? {
                Value::List(all) => all.len(),
                _ => 0,
            },
            Operand::Value(Value::Missing) => 0,
            Operand::Value(value @ (Value::Dict(_) | Value::Object(_))) => {
                value.as_dict()?.map_or(0, |dict| dict.len())
            }
            text if text.is_text() => text.printed().unwrap_or_default().chars().count(),
            other => return Err(format!("{} has no length", other.describe()).into()),
        })
    }

    pub(super) fn json(
        &mut self,
        subject: &Operand<'p>,
        given: &FilterArguments<'p>,
    ) -> EvaluationResult<Operand<'p>> {
        let mut json = String::new();
        let value = subject.value()?;
        let indent = given.get(0, "indent").and_then(Operand::whole);
        let indent = indent.and_then(|indent| usize::try_from(indent.clamp(0, 64)).ok());
        text::json(&value.to_json()?, text::JsonLayout { indent, depth: 0 }, &mut json);
        self.check_text(json.len())?;
        self.machine.made(json.len())?;
        Ok(Operand::Value(if value.holds_secret() { Value::Secret(json.into()) } else { Value::text(&json) }))
    }

    /// `format`: arguments by place, or all by name.
    pub(super) fn format_filter(
        &mut self,
        form: &Operand<'p>,
        given: FilterArguments<'p>,
    ) -> EvaluationResult<Operand<'p>> {
        if given.named.is_empty() {
            return self.format(form, &given.positional);
        }
        let by_name = given.named.into_iter().map(|(name, value)| (DictKey::Text(name), value)).collect();
        let by_name = self.new_dict(by_name)?;
        self.format(form, &[by_name])
    }

    /// The value below a dotted path, or at a position.
    pub(super) fn attribute(
        &mut self,
        of: &Operand<'p>,
        path: &Operand<'p>,
    ) -> EvaluationResult<Operand<'p>> {
        let Some(path) = path.printed() else {
            return Err(format!("an attribute is named by a text, this is {}", path.describe()).into());
        };
        let mut here = of.clone();
        for part in path.split('.') {
            let key = match part.parse::<i64>() {
                Ok(index) => Operand::Value(Value::integer(index)),
                Err(_) => Operand::text(part),
            };
            here = self.item(&here, &key)?;
        }
        Ok(here)
    }

    /// A dict that a template makes.
    pub fn new_dict(&mut self, entries: Entries<'p>) -> EvaluationResult<Operand<'p>> {
        self.machine.made(entries.len() * size_of::<(DictKey, Operand<'_>)>())?;
        Ok(Operand::dict(self.frames.now(), entries))
    }
}
