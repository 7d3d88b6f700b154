//! Which filters there are, and what each takes.

use super::operand::Operand;
use crate::{evaluation::EvaluationFailure, functions};
use haptic_text::suggest::did_you_mean;
use std::sync::Arc;

/// Filters of this language's own.
pub(super) const FILTERS: [&str; 56] = [
    "abs",
    "attr",
    "b64decode",
    "batch",
    "capitalize",
    "center",
    "count",
    "d",
    "default",
    "dictsort",
    "filesizeformat",
    "first",
    "float",
    "format",
    "get_path",
    "groupby",
    "indent",
    "int",
    "items",
    "join",
    "last",
    "length",
    "list",
    "log",
    "lower",
    "map",
    "max",
    "min",
    "reject",
    "rejectattr",
    "replace",
    "reverse",
    "round",
    "select",
    "selectattr",
    "slice",
    "sort",
    "string",
    "strip",
    "sum",
    "title",
    "tojson",
    "trim",
    "truncate",
    "unique",
    "upper",
    "urlencode",
    "wordcount",
    "wordwrap",
    "lstrip",
    "rstrip",
    "split",
    "startswith",
    "endswith",
    "keys",
    "values",
];

/// Filters that are not there, and why.
pub(super) const REFUSED: [(&str, &str); 8] = [
    ("safe", "Delete it: what a template says is structure, what it prints is encoded for its place"),
    ("e", "Delete it: values are encoded for the place they stand in"),
    ("escape", "Delete it: values are encoded for the place they stand in"),
    ("forceescape", "Delete it: values are encoded for the place they stand in"),
    ("xmlattr", "It is for HTML"),
    ("striptags", "It is for HTML"),
    ("urlize", "It is for HTML"),
    ("random", "The same input must give the same output"),
];

/// Arguments of a filter, by place or by name.
pub(super) struct FilterArguments<'p> {
    pub positional: Vec<Operand<'p>>,
    pub named: Vec<(Arc<str>, Operand<'p>)>,
}

/// What filters take by place or by name; those that are not here say themselves what they take.
fn parameters(filter: &str) -> Option<&'static [&'static str]> {
    Some(match filter {
        "abs" | "capitalize" | "count" | "first" | "items" | "last" | "length" | "list" | "lower"
        | "reverse" | "string" | "title" | "upper" | "urlencode" | "wordcount" => &[],
        "attr" => &["name"],
        "batch" => &["linecount", "fill_with"],
        "center" => &["width"],
        "d" | "default" => &["default_value", "boolean"],
        "dictsort" => &["case_sensitive", "by", "reverse"],
        "filesizeformat" => &["binary"],
        "float" => &["default"],
        "groupby" => &["attribute", "default", "case_sensitive"],
        "indent" => &["width", "first", "blank"],
        "int" => &["default", "base"],
        "join" => &["d", "attribute"],
        "max" | "min" | "unique" => &["case_sensitive", "attribute"],
        "replace" => &["old", "new", "count"],
        "round" => &["precision", "method"],
        "slice" => &["slices", "fill_with"],
        "sort" => &["reverse", "case_sensitive", "attribute"],
        "sum" => &["attribute", "start"],
        "tojson" => &["indent"],
        "trim" => &["chars"],
        "truncate" => &["length", "killwords", "end", "leeway"],
        "wordwrap" => &["width", "break_long_words", "wrapstring", "break_on_hyphens"],
        _ => return None,
    })
}

impl<'p> FilterArguments<'p> {
    /// Whether the filter takes what is given.
    ///
    /// # Errors
    /// What it does not take.
    pub fn check(&self, filter: &str) -> Result<(), String> {
        let Some(known) = parameters(filter) else { return Ok(()) };
        if let Some((name, _)) = self.named.iter().find(|(name, _)| !known.contains(&&**name)) {
            let hint = did_you_mean(name, known.iter().copied());
            return Err(format!("{filter} takes no argument {name:?}{hint}"));
        }
        let (most, given) = (known.len(), self.positional.len());
        if given > most {
            return Err(format!("{filter} takes {most} argument(s), here are {given}"));
        }
        Ok(())
    }

    pub fn get(&self, place: usize, name: &str) -> Option<&Operand<'p>> {
        let by_name = || self.named.iter().find(|(known, _)| &**known == name).map(|(_, value)| value);
        self.positional.get(place).or_else(by_name)
    }

    /// All that a text is made of: what it is made from, and each argument, by place or by name.
    pub fn with<'o>(&'o self, subject: &'o Operand<'p>) -> Vec<&'o Operand<'p>> {
        let named = self.named.iter().map(|(_, value)| value);
        std::iter::once(subject).chain(&self.positional).chain(named).collect()
    }

    pub fn text(&self, place: usize, name: &str) -> Option<Arc<str>> {
        self.get(place, name).and_then(Operand::printed)
    }

    pub fn whole(&self, place: usize, name: &str, otherwise: i64) -> i64 {
        self.get(place, name).and_then(Operand::whole).unwrap_or(otherwise)
    }

    pub fn is_true(&self, place: usize, name: &str, otherwise: bool) -> bool {
        self.get(place, name).map_or(otherwise, Operand::is_true)
    }
}

/// Whether there is such a filter.
///
/// # Errors
/// What to do instead.
pub(super) fn check(name: &str) -> Result<(), (String, Option<&'static str>)> {
    if let Some((_, help)) = REFUSED.iter().find(|(refused, _)| *refused == name) {
        return Err((format!("the filter {name:?} is not there"), Some(help)));
    }
    if FILTERS.contains(&name) || functions::find(name).is_some() {
        return Ok(());
    }
    let hint = did_you_mean(name, FILTERS.into_iter().chain(functions::names()));
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
