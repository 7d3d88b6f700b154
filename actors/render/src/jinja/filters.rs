//! Filters: those of Jinja2 with its meaning, and every function of the library with the value as its first argument.

use super::{
    evaluate::JinjaEvaluator,
    filter_table::{FILTERS, FilterArguments},
    keys::{DictKey, Entries},
    lists,
    node::{CallArgument, JinjaExpression},
    operand::Operand,
    operators, text,
};
use crate::{evaluation::EvaluationResult, functions, value::Value};
use std::{borrow::Cow, num::IntErrorKind};

impl<'p> JinjaEvaluator<'_, 'p> {
    pub fn filter(
        &mut self,
        name: &str,
        subject: Operand<'p>,
        arguments: &'p [CallArgument],
        expression: &JinjaExpression,
    ) -> EvaluationResult<Operand<'p>> {
        let (positional, named) = self.arguments(arguments)?;
        if subject.is_undefined() && !matches!(name, "default" | "d" | "list" | "length" | "count") {
            let super::node::ExpressionKind::Filter(_, Some(of), _) = &expression.kind else {
                return Err(format!("{name}: its value is undefined").into());
            };
            return Err(self.missing(of, "Write … | default(…) if it may be absent"));
        }
        self.apply(name, subject, FilterArguments { positional, named })
    }

    /// The filter of that name.
    pub fn apply(
        &mut self,
        name: &str,
        subject: Operand<'p>,
        given: FilterArguments<'p>,
    ) -> EvaluationResult<Operand<'p>> {
        given.check(name)?;
        Ok(match name {
            "default" | "d" => {
                let is_absent =
                    subject.is_undefined() || (given.is_true(1, "boolean", false) && !subject.is_true());
                let otherwise =
                    || given.get(0, "default_value").cloned().unwrap_or(Operand::Markup("".into()));
                if is_absent { otherwise() } else { subject }
            }
            "length" | "count" => Operand::count(self.length(&subject)?),
            "first" => self.items(&subject)?.into_iter().next().unwrap_or(Operand::UNDEFINED),
            "last" => self.items(&subject)?.pop().unwrap_or(Operand::UNDEFINED),
            "list" if subject.is_undefined() => self.new_list(Vec::new())?,
            "list" => {
                let items = self.items(&subject)?;
                self.new_list(items)?
            }
            "join" => self.join_items(&subject, &given)?,
            "int" => whole(&subject, &given)?,
            "float" => number(&subject, &given)?,
            "abs" => match (subject.whole(), subject.number()) {
                (Some(whole), _) => Operand::Value(Value::integer(whole.checked_abs().unwrap_or(i64::MAX))),
                (None, Some(number)) => fraction(number.abs())?,
                _ => return Err(format!("abs: {} is no number", subject.describe()).into()),
            },
            "round" => rounded(&subject, &given)?,
            "log" => {
                let of = subject.number().filter(|n| *n > 0.0);
                let of = of.ok_or_else(|| format!("log: {} has no logarithm", subject.describe()))?;
                fraction(match given.get(0, "base").and_then(Operand::number) {
                    None => of.ln(),
                    Some(2.0) => of.log2(),
                    Some(10.0) => of.log10(),
                    Some(base) => of.ln() / base.ln(),
                })?
            }
            "max" | "min" | "sort" | "sum" | "unique" | "reverse" | "batch" | "slice" | "groupby" | "map"
            | "select" | "reject" | "selectattr" | "rejectattr" | "dictsort" => {
                self.list_filter(name, &subject, given)?
            }
            "items" => {
                let pairs = self.pairs(&subject)?;
                lists::pairs(self, pairs)?
            }
            "keys" | "values" => return self.method(&subject, name, Vec::new(), Vec::new()),
            "attr" => {
                let field = given.text(0, "name").unwrap_or_default();
                subject.field(&field)?.unwrap_or(Operand::UNDEFINED)
            }
            "string" => match &subject {
                Operand::Markup(_) => subject,
                other if other.is_text() => subject,
                other => match other.printed() {
                    Some(text) => Operand::text(&text),
                    None => return Err(format!("{} is no text", subject.describe()).into()),
                },
            },
            "tojson" => {
                let mut json = String::new();
                let value = subject.value()?;
                let indent = given.get(0, "indent").and_then(Operand::whole);
                let indent = indent.and_then(|indent| usize::try_from(indent.clamp(0, 64)).ok());
                text::json(&value.to_json()?, text::JsonLayout { indent, depth: 0 }, &mut json);
                self.check_text(json.len())?;
                self.machine.made(json.len())?;
                let is_secret = value.holds_secret();
                Operand::Value(if is_secret { Value::Secret(json.into()) } else { Value::text(&json) })
            }
            "get_path" => {
                return self.library("file_path", prepend(subject, given.positional), given.named, None);
            }
            "format" if given.named.is_empty() => return self.format(&subject, &given.positional),
            "format" => {
                let by_name =
                    given.named.into_iter().map(|(name, value)| (DictKey::Text(name), value)).collect();
                let by_name = self.new_dict(by_name)?;
                return self.format(&subject, &[by_name]);
            }
            name if FILTERS.contains(&name)
                && functions::find(name).is_none_or(|_| super::texts::knows(name)) =>
            {
                return self.text_filter(name, &subject, given);
            }
            name => return self.library(name, prepend(subject, given.positional), given.named, None),
        })
    }

    pub fn length(&mut self, of: &Operand<'p>) -> EvaluationResult<usize> {
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

    fn join_items(
        &mut self,
        subject: &Operand<'p>,
        given: &FilterArguments<'p>,
    ) -> EvaluationResult<Operand<'p>> {
        let mut items = self.items(subject)?;
        if let Some(path) = given.get(1, "attribute") {
            for item in &mut items {
                *item = self.attribute(item, path)?;
            }
        }
        let separator = given.get(0, "d").cloned().unwrap_or(Operand::Markup("".into()));
        let mut parts = Vec::with_capacity(items.len() * 2);
        for (index, item) in items.iter().enumerate() {
            if index > 0 {
                parts.push(&separator);
            }
            parts.push(item);
        }
        self.join(&parts)
    }

    /// What stands below a dotted path, or at a position.
    pub fn attribute(&mut self, of: &Operand<'p>, path: &Operand<'p>) -> EvaluationResult<Operand<'p>> {
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

fn prepend<'p>(subject: Operand<'p>, others: Vec<Operand<'p>>) -> Vec<Operand<'p>> {
    std::iter::once(subject).chain(others).collect()
}

pub(super) fn fraction<'p>(number: f64) -> Result<Operand<'p>, String> {
    let number = serde_json::Number::from_f64(number).ok_or("the result is not a finite number")?;
    Ok(Operand::Value(Value::Number(number)))
}

/// Digits without the `_` between them, where each stands between two.
fn ungrouped(digits: &str) -> Cow<'_, str> {
    let is_digit = |c: Option<char>| c.is_some_and(|c| c.is_ascii_alphanumeric());
    let mut groups = digits.split('_').peekable();
    let mut is_grouped = digits.contains('_');
    while let Some(group) = groups.next() {
        let Some(next) = groups.peek() else { break };
        is_grouped &= is_digit(group.chars().next_back()) && is_digit(next.chars().next());
    }
    if is_grouped { digits.replace('_', "").into() } else { digits.into() }
}

fn whole<'p>(subject: &Operand<'p>, given: &FilterArguments<'p>) -> Result<Operand<'p>, String> {
    let otherwise = || given.get(0, "default").cloned().unwrap_or(Operand::count(0));
    let base =
        u32::try_from(given.whole(1, "base", 10)).ok().filter(|base| (2..=36).contains(base)).unwrap_or(10);
    if let Some(whole) = subject.whole() {
        return Ok(Operand::Value(Value::integer(whole)));
    }
    let spelled = subject.printed().filter(|_| subject.is_text());
    if let Some(text) = &spelled {
        let text = &*ungrouped(text.trim());
        let digits = text.trim_start_matches(['-', '+']);
        // 0x, 0b and 0o may stand before a number of that base.
        let letter = digits.strip_prefix('0').and_then(|rest| rest.chars().next());
        let has_prefix =
            matches!((base, letter), (16, Some('x' | 'X')) | (8, Some('o' | 'O')) | (2, Some('b' | 'B')));
        let text = match digits.split_at_checked(2).filter(|_| has_prefix) {
            Some((_, digits)) if text.starts_with('-') => format!("-{digits}"),
            Some((_, digits)) => digits.to_owned(),
            None => text.to_owned(),
        };
        match i64::from_str_radix(&text, base) {
            Ok(whole) => return Ok(Operand::Value(Value::integer(whole))),
            Err(e) if matches!(e.kind(), IntErrorKind::PosOverflow | IntErrorKind::NegOverflow) => {
                return Err(format!("int: {} has more than 64 bits", subject.describe()));
            }
            Err(_) => {}
        }
    }
    let number = subject.number().or_else(|| spelled.and_then(|text| ungrouped(text.trim()).parse().ok()));
    Ok(match number.filter(|number| number.abs() < 9.2e18) {
        #[expect(clippy::cast_possible_truncation, reason = "checked to fit")]
        Some(number) => Operand::Value(Value::integer(number as i64)),
        None => otherwise(),
    })
}

fn number<'p>(subject: &Operand<'p>, given: &FilterArguments<'p>) -> Result<Operand<'p>, String> {
    let spelled = || {
        subject.printed().filter(|_| subject.is_text()).and_then(|text| ungrouped(text.trim()).parse().ok())
    };
    match subject.number().or_else(spelled).filter(|number: &f64| number.is_finite()) {
        Some(number) => fraction(number),
        None => given.get(0, "default").cloned().map_or_else(|| fraction(0.0), Ok),
    }
}

fn rounded<'p>(subject: &Operand<'p>, given: &FilterArguments<'p>) -> Result<Operand<'p>, String> {
    let number = subject.number().ok_or_else(|| format!("round: {} is no number", subject.describe()))?;
    let digits = i32::try_from(given.whole(0, "precision", 0)).unwrap_or(0).clamp(-300, 300);
    let method = given.text(1, "method").unwrap_or_else(|| "common".into());
    let scale = 10f64.powi(digits);
    let scaled = number * scale;
    let result = match &*method {
        // Python goes by a whole number, which has no -0.
        "ceil" => (scaled.ceil() + 0.0) / scale,
        "floor" => (scaled.floor() + 0.0) / scale,
        "common" if digits >= 0 => {
            let digits = usize::try_from(digits).unwrap_or(0);
            format!("{number:.digits$}").parse().unwrap_or(number)
        }
        "common" => scaled.round_ties_even() / scale,
        other => return Err(format!("round: {other:?} is none of common, ceil, floor")),
    };
    match (&*method, subject.whole()) {
        // Python rounds a whole number to a whole number, but with `ceil` and `floor`.
        ("common", Some(_)) if result.abs() < 9.2e18 => {
            #[expect(clippy::cast_possible_truncation, reason = "checked to fit")]
            let whole = result as i64;
            Ok(Operand::Value(Value::integer(whole)))
        }
        _ => fraction(result),
    }
}
