//! Methods of texts.

use super::{JinjaMethod, any, find};
use crate::{
    evaluation::EvaluationResult,
    jinja::{
        arguments::FilterArguments,
        call::no_method,
        evaluate::JinjaEvaluator,
        operand::Operand,
        texts::{
            self, TextOperation,
            TextOperation::{Gives, Makes},
            TextSubject, pieces,
        },
    },
    value::Value,
};

pub(super) static METHODS: &[JinjaMethod<TextOperation>] = &[
    any("capitalize", Makes(texts::capitalized)),
    any("casefold", Makes(|of| Ok(of.text.to_lowercase()))),
    any("center", Makes(texts::centered)),
    any("count", Gives(|_, of| Ok(Operand::count(count(of))))),
    any("endswith", Gives(|_, of| Ok(Operand::bool(texts::ends_with(of))))),
    any("find", Gives(|_, of| Ok(count_or_minus_one(place(of, first))))),
    any("format", Gives(|me, of| me.braces(of.operand, &of.given))),
    any("index", Gives(|_, of| Ok(count_or_failure(place(of, first))?))),
    any("isalnum", Gives(|_, of| Ok(all(of, char::is_alphanumeric)))),
    any("isalpha", Gives(|_, of| Ok(all(of, char::is_alphabetic)))),
    any("isdecimal", Gives(|_, of| Ok(all(of, |c| c.is_ascii_digit())))),
    any("isdigit", Gives(|_, of| Ok(all(of, |c| c.is_ascii_digit())))),
    any("islower", Gives(|_, of| Ok(has_only(of, char::is_lowercase, char::is_uppercase)))),
    any("isnumeric", Gives(|_, of| Ok(all(of, char::is_numeric)))),
    any("isspace", Gives(|_, of| Ok(all(of, char::is_whitespace)))),
    any("isupper", Gives(|_, of| Ok(has_only(of, char::is_uppercase, char::is_lowercase)))),
    any("join", Gives(|me, of| me.join_texts(of))),
    any("ljust", Makes(|of| texts::filled(of, |missing, _| [0, missing]))),
    any("lower", Makes(|of| Ok(of.text.to_lowercase()))),
    any("lstrip", Makes(|of| Ok(texts::trimmed(of, [true, false])))),
    any("partition", Gives(|_, of| Ok(pieces::parted(of)?))),
    any("removeprefix", Makes(|of| Ok(without_prefix(of).to_owned()))),
    any("removesuffix", Makes(|of| Ok(without_suffix(of).to_owned()))),
    any("replace", Makes(texts::replaced)),
    any("rfind", Gives(|_, of| Ok(count_or_minus_one(place(of, last))))),
    any("rindex", Gives(|_, of| Ok(count_or_failure(place(of, last))?))),
    any("rjust", Makes(|of| texts::filled(of, |missing, _| [missing, 0]))),
    any("rpartition", Gives(|_, of| Ok(pieces::parted_from_end(of)?))),
    any("rsplit", Gives(|me, of| me.split_text(of, "rsplit"))),
    any("rstrip", Makes(|of| Ok(texts::trimmed(of, [false, true])))),
    any("split", Gives(|me, of| me.split_text(of, "split"))),
    any("splitlines", Gives(|me, of| me.split_lines(of))),
    any("startswith", Gives(|_, of| Ok(Operand::bool(texts::starts_with(of))))),
    any("strip", Makes(|of| Ok(texts::trimmed(of, [true, true])))),
    any("swapcase", Makes(|of| Ok(of.text.chars().map(swapped).collect()))),
    any("title", Makes(|of| Ok(titled(&of.text)))),
    any("upper", Makes(|of| Ok(of.text.to_uppercase()))),
    any("zfill", Makes(texts::zero_filled)),
];

impl<'p> JinjaEvaluator<'_, 'p> {
    pub(super) fn text_method(
        &mut self,
        text: &Operand<'p>,
        name: &str,
        given: FilterArguments<'p>,
    ) -> EvaluationResult<Operand<'p>> {
        match find(METHODS, name, given.positional.len()) {
            Some(operation) => {
                self.text_operation(operation, text, text.printed().unwrap_or_default(), given)
            }
            None => Err(no_method(text, name)),
        }
    }

    /// The texts of a list, with this one between each two.
    fn join_texts(&mut self, of: &TextSubject<'_, 'p>) -> EvaluationResult<Operand<'p>> {
        let items = of.given.positional.first().cloned().unwrap_or(Operand::UNDEFINED);
        if let Some(other) = self.items(&items)?.iter().find(|item| !item.is_text()) {
            return Err(format!("join: {} is no text", other.describe()).into());
        }
        let separator = FilterArguments { positional: vec![of.operand.clone()], named: Vec::new() };
        self.join_items(&items, &separator)
    }
}

fn count(of: &TextSubject<'_, '_>) -> usize {
    of.argument(0).map_or(0, |sought| of.part().0.matches(&*sought).count())
}

/// Where the argument is found, in characters of the whole text.
fn place(of: &TextSubject<'_, '_>, search: fn(&str, &str) -> Option<usize>) -> Option<usize> {
    let (part, before) = of.part();
    let byte = search(part, &of.argument(0)?)?;
    Some(before + part.get(..byte)?.chars().count())
}

fn first(part: &str, sought: &str) -> Option<usize> {
    part.find(sought)
}

fn last(part: &str, sought: &str) -> Option<usize> {
    part.rfind(sought)
}

fn count_or_minus_one<'p>(place: Option<usize>) -> Operand<'p> {
    place.map_or(Operand::Value(Value::integer(-1)), Operand::count)
}

fn count_or_failure<'p>(place: Option<usize>) -> Result<Operand<'p>, String> {
    place.map(Operand::count).ok_or_else(|| "the text is not found".to_owned())
}

fn all<'p>(of: &TextSubject<'_, 'p>, test: fn(char) -> bool) -> Operand<'p> {
    Operand::bool(!of.text.is_empty() && of.text.chars().all(test))
}

/// Whether there are characters of the one case and none of the other.
fn has_only<'p>(of: &TextSubject<'_, 'p>, one: fn(char) -> bool, other: fn(char) -> bool) -> Operand<'p> {
    Operand::bool(of.text.chars().any(one) && !of.text.chars().any(other))
}

fn without_prefix<'t>(of: &'t TextSubject<'_, '_>) -> &'t str {
    of.argument(0).and_then(|part| of.text.strip_prefix(&*part)).unwrap_or(&of.text)
}

fn without_suffix<'t>(of: &'t TextSubject<'_, '_>) -> &'t str {
    of.argument(0).and_then(|part| of.text.strip_suffix(&*part)).unwrap_or(&of.text)
}

fn swapped(c: char) -> String {
    if c.is_uppercase() { c.to_lowercase().to_string() } else { c.to_uppercase().to_string() }
}

/// Each word with a capital: what is no letter ends a word.
fn titled(of: &str) -> String {
    let mut result = String::with_capacity(of.len());
    let mut begins = true;
    for c in of.chars() {
        if begins {
            result.push_str(&texts::title_case(c));
        } else {
            result.extend(c.to_lowercase());
        }
        begins = !c.is_alphabetic();
    }
    result
}
