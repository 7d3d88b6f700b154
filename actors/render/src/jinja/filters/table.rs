//! All filters of this language's own: what each takes and what it does.

use super::{FilterOperation, JinjaFilter, ValueRun, lists::Keeps, numbers, texts, values};
use crate::jinja::{
    operand::Operand,
    texts::{self as operations, TextOperation, TextOperation::Gives, TextOperation::Makes},
};
use std::cmp::Ordering;

/// Filters of this language's own.
pub(super) static FILTERS: &[JinjaFilter] = &[
    filter("abs", &[], |_, subject, _| Ok(numbers::absolute(&subject)?)),
    filter("attr", &["name"], |_, subject, given| Ok(values::field(&subject, &given)?)),
    open("b64decode", |me, subject, given| me.library_filter("b64decode", subject, given)),
    filter("batch", &["linecount", "fill_with"], |me, subject, given| me.batches(&subject, &given)),
    text("capitalize", &[], Makes(operations::capitalized)),
    text("center", &["width"], Makes(operations::centered)),
    of_undefined(filter("count", &[], |me, subject, _| Ok(Operand::count(me.length(&subject)?)))),
    of_undefined(filter("d", DEFAULT, |_, subject, given| Ok(values::or_default(subject, &given)))),
    of_undefined(filter("default", DEFAULT, |_, subject, given| Ok(values::or_default(subject, &given)))),
    filter("dictsort", &["case_sensitive", "by", "reverse"], |me, subject, given| {
        me.sorted_dict(&subject, &given)
    }),
    text_open("endswith", Gives(|_, of| Ok(Operand::bool(operations::ends_with(of))))),
    text("filesizeformat", &["binary"], Makes(texts::file_size)),
    filter("first", &[], |me, subject, _| me.first(&subject)),
    filter("float", &["default"], |_, subject, given| Ok(numbers::float(&subject, &given)?)),
    open("format", |me, subject, given| me.format_filter(&subject, given)),
    open("get_path", |me, subject, given| me.library_filter("file_path", subject, given)),
    filter("groupby", &["attribute", "default", "case_sensitive"], |me, subject, given| {
        me.grouped(&subject, &given)
    }),
    filter("indent", &["width", "first", "blank"], |me, subject, given| me.indented(&subject, &given)),
    filter("int", &["default", "base"], |_, subject, given| Ok(numbers::int(&subject, &given)?)),
    filter("items", &[], |me, subject, _| me.dict_items(&subject)),
    filter("join", &["d", "attribute"], |me, subject, given| me.join_items(&subject, &given)),
    open("keys", |me, subject, _| me.method(&subject, "keys", Vec::new(), Vec::new())),
    filter("last", &[], |me, subject, _| me.last(&subject)),
    of_undefined(filter("length", &[], |me, subject, _| Ok(Operand::count(me.length(&subject)?)))),
    of_undefined(filter("list", &[], |me, subject, _| me.list_of(&subject))),
    open("log", |_, subject, given| Ok(numbers::logarithm(&subject, &given)?)),
    text("lower", &[], Makes(|of| Ok(of.text.to_lowercase()))),
    text_open("lstrip", Makes(|of| Ok(operations::trimmed(of, [true, false])))),
    open("map", |me, subject, given| me.mapped(&subject, given)),
    filter("max", BY_KEY, |me, subject, given| me.extreme(&subject, &given, Ordering::Greater)),
    filter("min", BY_KEY, |me, subject, given| me.extreme(&subject, &given, Ordering::Less)),
    open("reject", |me, subject, given| me.selected(&subject, given, Keeps::Failing)),
    open("rejectattr", |me, subject, given| me.selected_by_field(&subject, given, Keeps::Failing)),
    text("replace", &["old", "new", "count"], Makes(operations::replaced)),
    filter("reverse", &[], |me, subject, _| me.reversed(&subject)),
    filter("round", &["precision", "method"], |_, subject, given| Ok(numbers::rounded(&subject, &given)?)),
    text_open("rstrip", Makes(|of| Ok(operations::trimmed(of, [false, true])))),
    open("select", |me, subject, given| me.selected(&subject, given, Keeps::Passing)),
    open("selectattr", |me, subject, given| me.selected_by_field(&subject, given, Keeps::Passing)),
    filter("slice", &["slices", "fill_with"], |me, subject, given| me.slices(&subject, &given)),
    filter("sort", &["reverse", "case_sensitive", "attribute"], |me, subject, given| {
        me.sorted_list(&subject, &given)
    }),
    text_open("split", Gives(|me, of| me.split_text(of, "split"))),
    text_open("startswith", Gives(|_, of| Ok(Operand::bool(operations::starts_with(of))))),
    filter("string", &[], |_, subject, _| Ok(values::string(subject)?)),
    text_open("strip", Makes(|of| Ok(operations::trimmed(of, [true, true])))),
    filter("sum", &["attribute", "start"], |me, subject, given| me.sum(&subject, &given)),
    text("title", &[], Makes(texts::titled)),
    filter("tojson", &["indent"], |me, subject, given| me.json(&subject, &given)),
    text("trim", &["chars"], Makes(|of| Ok(operations::trimmed(of, [true, true])))),
    text("truncate", &["length", "killwords", "end", "leeway"], Makes(texts::truncated)),
    filter("unique", BY_KEY, |me, subject, given| me.unique(&subject, &given)),
    text("upper", &[], Makes(|of| Ok(of.text.to_uppercase()))),
    filter("urlencode", &[], |me, subject, given| me.url_encoded(&subject, given)),
    open("values", |me, subject, _| me.method(&subject, "values", Vec::new(), Vec::new())),
    text("wordcount", &[], Gives(|_, of| Ok(Operand::count(texts::word_count(&of.text))))),
    text(
        "wordwrap",
        &["width", "break_long_words", "wrapstring", "break_on_hyphens"],
        Makes(|of| Ok(texts::word_wrapped(of))),
    ),
];

const DEFAULT: &[&str] = &["default_value", "boolean"];
const BY_KEY: &[&str] = &["case_sensitive", "attribute"];

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

const fn filter(name: &'static str, parameters: &'static [&'static str], run: ValueRun) -> JinjaFilter {
    JinjaFilter { parameters: Some(parameters), ..open(name, run) }
}

const fn text(
    name: &'static str,
    parameters: &'static [&'static str],
    operation: TextOperation,
) -> JinjaFilter {
    JinjaFilter { parameters: Some(parameters), ..text_open(name, operation) }
}

/// A filter that says itself what it takes.
const fn open(name: &'static str, run: ValueRun) -> JinjaFilter {
    row(name, FilterOperation::Value(run))
}

const fn text_open(name: &'static str, operation: TextOperation) -> JinjaFilter {
    row(name, FilterOperation::Text(operation))
}

const fn row(name: &'static str, operation: FilterOperation) -> JinjaFilter {
    JinjaFilter { name, parameters: None, accepts_undefined: false, operation }
}

const fn of_undefined(filter: JinjaFilter) -> JinjaFilter {
    JinjaFilter { accepts_undefined: true, ..filter }
}
