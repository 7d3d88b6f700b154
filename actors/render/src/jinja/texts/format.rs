//! `'%s' % …` and `'%s' | format(…)`: forms as C's printf has them.

use crate::{
    evaluation::EvaluationResult,
    jinja::{
        evaluate::JinjaEvaluator,
        operand::{DEEPEST, Operand},
        operators::text_from,
        text::{self, MarkupPart},
    },
    output::framing,
    value::Value,
};
use std::slice;

/// The widest that a directive may ask for.
const WIDEST: usize = 4096;

/// One directive of a form: what stands between `%` and its letter, and the letter.
#[derive(Clone, Copy)]
struct FormDirective<'f> {
    flags: &'f str,
    kind: char,
    width: usize,
    precision: Option<usize>,
    /// Whether what is put in stands at the left.
    is_left: bool,
    /// Whether zeros fill the width.
    fills_zeros: bool,
}

impl<'f> FormDirective<'f> {
    fn new(flags: &'f str, kind: char) -> Self {
        let size = |text: &str| text.parse::<usize>().unwrap_or(0).min(WIDEST);
        let is_left = flags.contains('-');
        let digits = flags.trim_start_matches(['-', '+', ' ', '#']);
        let fills_zeros = digits.starts_with('0') && !is_left && kind != 's';
        let (width, precision) = match digits.split_once('.') {
            Some((width, precision)) => (width, Some(size(precision))),
            None => (digits, None),
        };
        Self { flags, kind, width: size(width), precision, is_left, fills_zeros }
    }

    /// Whether 0x or the like stands before the digits.
    fn has_prefix(self) -> bool {
        self.flags.contains('#') && matches!(self.kind, 'x' | 'X' | 'o')
    }

    /// The text that is put in for an argument.
    fn formatted(self, argument: &Operand<'_>) -> Result<String, String> {
        let shown = match self.kind {
            's' => self.text(argument)?,
            'f' => format!("{:.*}", self.precision.unwrap_or(6), self.number(argument)?),
            _ => self.digits(argument)?,
        };
        let sign = match self.kind {
            's' => "",
            _ if shown.starts_with('-') => "",
            _ if self.flags.contains('+') => "+",
            _ if self.flags.contains(' ') => " ",
            _ => "",
        };
        Ok(self.padded(format!("{sign}{shown}")))
    }

    fn text(self, argument: &Operand<'_>) -> Result<String, String> {
        let text = argument.printed().ok_or_else(|| format!("{} is no text", argument.describe()))?;
        Ok(self.precision.map_or_else(|| text.to_string(), |most| text.chars().take(most).collect()))
    }

    fn number(self, argument: &Operand<'_>) -> Result<f64, String> {
        let kind = self.kind;
        argument.number().ok_or_else(|| format!("%{kind} takes a number, this is {}", argument.describe()))
    }

    /// A whole number, with at least as many digits as the precision says.
    fn digits(self, argument: &Operand<'_>) -> Result<String, String> {
        #[expect(clippy::cast_possible_truncation, reason = "as Python cuts a fraction off")]
        let whole = argument.whole().map_or_else(|| self.number(argument).map(|n| n as i64), Ok)?;
        let digits = match self.kind {
            'x' => format!("{:x}", whole.unsigned_abs()),
            'X' => format!("{:X}", whole.unsigned_abs()),
            'o' => format!("{:o}", whole.unsigned_abs()),
            _ => whole.unsigned_abs().to_string(),
        };
        let prefix = if self.has_prefix() { format!("0{}", self.kind) } else { String::new() };
        let sign = if whole < 0 { "-" } else { "" };
        Ok(format!("{sign}{prefix}{digits:0>precision$}", precision = self.precision.unwrap_or(0)))
    }

    fn padded(self, shown: String) -> String {
        let width = self.width;
        if self.is_left {
            return format!("{shown:<width$}");
        }
        if !self.fills_zeros {
            return format!("{shown:>width$}");
        }
        // Zeros stand behind the sign and behind 0x.
        let digits = shown.trim_start_matches(['-', '+', ' ']);
        let digits = if self.has_prefix() { digits.get(2..).unwrap_or(digits) } else { digits };
        let (head, digits) = shown.split_at_checked(shown.len() - digits.len()).unwrap_or(("", digits));
        format!("{head}{digits:0>width$}", width = width.saturating_sub(head.len()))
    }
}

impl<'p> JinjaEvaluator<'_, 'p> {
    /// Formats a text: the template's parts stay its text, arguments are framed.
    pub fn format(&mut self, form: &Operand<'p>, arguments: &[Operand<'p>]) -> EvaluationResult<Operand<'p>> {
        match form {
            Operand::Markup(markup) => Ok(Operand::Markup(self.filled_form(markup, arguments)?.into())),
            value => self.format_value(value, arguments),
        }
    }

    /// A form that is a value: so is all that it gives.
    fn format_value(
        &mut self,
        form: &Operand<'p>,
        arguments: &[Operand<'p>],
    ) -> EvaluationResult<Operand<'p>> {
        let of = form.printed().unwrap_or_default();
        if of.contains(framing::is_mark) {
            return Err("the form holds a private-use character".to_owned().into());
        }
        let result = text::plain(&self.filled_form(&of, arguments)?);
        let is_secret = std::iter::once(form).chain(arguments).any(|operand| operand.is_secret(DEEPEST));
        Ok(Operand::Value(if is_secret { Value::Secret(result.into()) } else { Value::text(&result) }))
    }

    fn filled_form(&mut self, form: &str, arguments: &[Operand<'p>]) -> EvaluationResult<String> {
        let by_name = match arguments {
            [of @ (Operand::Dict(_) | Operand::Value(Value::Dict(_) | Value::Object(_)))] => Some(of),
            _ => None,
        };
        let mut result = String::new();
        let mut arguments = arguments.iter();
        for part in text::parts(form) {
            match part {
                MarkupPart::Mark(mark) => result.push_str(mark),
                MarkupPart::Template(template) => {
                    self.fill(template, by_name, &mut arguments, &mut result)?;
                }
            }
        }
        if arguments.next().is_some() {
            return Err("the form takes fewer arguments than are given".to_owned().into());
        }
        Ok(result)
    }

    /// Prints a part of a form with its arguments put in.
    fn fill(
        &mut self,
        part: &str,
        by_name: Option<&Operand<'p>>,
        arguments: &mut slice::Iter<'_, Operand<'p>>,
        result: &mut String,
    ) -> EvaluationResult {
        let mut rest = part;
        while let Some((before, after)) = rest.split_once('%') {
            result.push_str(before);
            rest = match (after.strip_prefix('('), by_name) {
                (Some(named), Some(of)) => {
                    *arguments = [].iter();
                    self.named_directive(named, of, result)?
                }
                _ => self.directive(after, arguments, result)?,
            };
            self.check_text(result.len())?;
        }
        result.push_str(rest);
        Ok(())
    }

    /// Puts in what `%…` stands for; what follows it.
    fn directive<'f>(
        &mut self,
        after: &'f str,
        arguments: &mut slice::Iter<'_, Operand<'p>>,
        result: &mut String,
    ) -> EvaluationResult<&'f str> {
        let (flags, kind, rest) = directive_at(after, |c| c.is_ascii_alphabetic() || c == '%')?;
        if kind == '%' {
            result.push('%');
            return Ok(rest);
        }
        let argument =
            arguments.next().ok_or_else(|| "the form takes more arguments than are given".to_owned())?;
        self.put_in(argument, flags, kind, result)?;
        Ok(rest)
    }

    /// Puts in what `%(name)s` stands for, of the one argument; what follows it.
    fn named_directive<'f>(
        &mut self,
        after: &'f str,
        of: &Operand<'p>,
        result: &mut String,
    ) -> EvaluationResult<&'f str> {
        let (name, rest) = after.split_once(')').ok_or_else(|| "the form has %( without )".to_owned())?;
        let (flags, kind, rest) = directive_at(rest, |c| c.is_ascii_alphabetic())?;
        let argument = self.item(of, &Operand::text(name))?;
        if argument.is_undefined() {
            return Err(format!("the form has no argument {name:?}").into());
        }
        self.put_in(&argument, flags, kind, result)?;
        Ok(rest)
    }

    fn put_in(
        &mut self,
        argument: &Operand<'p>,
        flags: &str,
        kind: char,
        result: &mut String,
    ) -> EvaluationResult {
        let shown = match kind {
            's' if flags.is_empty() => argument.framed()?,
            's' | 'd' | 'i' | 'u' | 'f' | 'x' | 'X' | 'o' => {
                let shown = FormDirective::new(flags, kind).formatted(argument)?;
                self.check_text(shown.len())?;
                text_from(&shown, &[argument]).framed()?
            }
            other => return Err(format!("a form has no %{other}").into()),
        };
        result.push_str(&shown);
        Ok(())
    }
}

/// The flags of a directive, the letter that ends it, and what follows that.
fn directive_at(text: &str, ends: impl Fn(char) -> bool) -> Result<(&str, char, &str), String> {
    let end = text.find(ends).unwrap_or(text.len());
    let (flags, rest) = text.split_at_checked(end).unwrap_or((text, ""));
    let mut characters = rest.chars();
    let kind = characters.next().ok_or_else(|| "the form ends within a %".to_owned())?;
    Ok((flags, kind, characters.as_str()))
}
