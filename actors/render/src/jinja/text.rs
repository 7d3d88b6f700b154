//! Texts: as Python prints numbers and JSON, and framed text with or without its marks.

use crate::{output::framing, value::Value};
use std::sync::Arc;

/// A number with a fraction as Python prints it.
pub(super) fn float(number: f64) -> String {
    let exponent = format!("{number:e}");
    let (digits, power) = exponent.split_once('e').unwrap_or((&exponent, "0"));
    let power: i32 = power.parse().unwrap_or(0);
    if number != 0.0 && !(-4..16).contains(&power) {
        let sign = if power < 0 { '-' } else { '+' };
        return format!("{digits}e{sign}{:02}", power.abs());
    }
    let plain = number.to_string();
    if plain.contains('.') { plain } else { plain + ".0" }
}

/// Framed text without its marks.
pub(super) fn plain(markup: &str) -> String {
    if !markup.contains(framing::is_mark) {
        return markup.to_owned();
    }
    let mut within = false;
    let shown = |c: &char| {
        if within {
            within = *c != ';';
            return false;
        }
        within = matches!(*c, framing::LINE | framing::OWNER);
        !framing::is_mark(*c)
    };
    markup.chars().filter(shown).collect()
}

/// Whether nothing is printed by it.
pub(super) fn is_empty(markup: &str) -> bool {
    markup.is_empty() || (markup.starts_with(framing::is_mark) && plain(markup).is_empty())
}

/// Framed text as a value like any other.
pub(super) fn unframed(markup: &Arc<str>) -> Value {
    match markup.contains(framing::is_mark) {
        false => Value::Text(markup.clone()),
        true if markup.contains(framing::SECRET) => Value::Secret(plain(markup).into()),
        true => Value::text(&plain(markup)),
    }
}

/// Parts of framed text: template text, and what stands between marks, marks included.
pub(super) fn parts(markup: &str) -> impl Iterator<Item = MarkupPart<'_>> {
    let mut rest = markup;
    std::iter::from_fn(move || {
        let first = rest.chars().next()?;
        let end = match first {
            framing::VALUE | framing::ARGUMENT | framing::LOG_FORMAT => {
                rest.find(framing::END).map(|end| end + framing::END.len_utf8())
            }
            framing::LINE | framing::OWNER => rest.find(';').map(|end| end + 1),
            mark if framing::is_mark(mark) => Some(mark.len_utf8()),
            _ => rest.find(framing::is_mark),
        };
        let (part, after) = rest.split_at_checked(end.unwrap_or(rest.len()))?;
        rest = after;
        Some(if framing::is_mark(first) { MarkupPart::Mark(part) } else { MarkupPart::Template(part) })
    })
}

/// A part of framed text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MarkupPart<'m> {
    /// Text of the template.
    Template(&'m str),
    /// A mark, with what is printed in it.
    Mark(&'m str),
}

/// How JSON is laid out: in one line, or each item in its own.
#[derive(Clone, Copy, Debug)]
pub(super) struct JsonLayout {
    pub indent: Option<usize>,
    pub depth: usize,
}

impl JsonLayout {
    fn inner(self) -> Self {
        Self { depth: self.depth + 1, ..self }
    }

    fn line(self, depth: usize, to: &mut String) {
        if let Some(indent) = self.indent {
            to.push('\n');
            to.push_str(&" ".repeat(indent * depth));
        }
    }

    fn begin_item(self, index: usize, to: &mut String) {
        to.push_str(match (index, self.indent) {
            (0, _) => "",
            (_, None) => ", ",
            (_, Some(_)) => ",",
        });
        self.line(self.depth + 1, to);
    }

    fn end_items(self, count: usize, to: &mut String) {
        if count > 0 {
            self.line(self.depth, to);
        }
    }
}

/// A value as JSON, written as Python's `tojson` does: a space behind `,` and `:`, and neither HTML's characters nor
/// others than ASCII's as they are.
pub(super) fn json(value: &serde_json::Value, layout: JsonLayout, to: &mut String) {
    // It is refused as too long; white space before each item could be a hundred times what is told.
    if to.len() > crate::functions::LONGEST_TEXT {
        return;
    }
    match value {
        serde_json::Value::String(text) => json_text(text, to),
        serde_json::Value::Number(number) => match number.as_f64().filter(|_| number.is_f64()) {
            Some(fraction) => to.push_str(&float(fraction)),
            None => to.push_str(&number.to_string()),
        },
        serde_json::Value::Array(items) => {
            to.push('[');
            for (index, item) in items.iter().enumerate() {
                layout.begin_item(index, to);
                json(item, layout.inner(), to);
            }
            layout.end_items(items.len(), to);
            to.push(']');
        }
        serde_json::Value::Object(entries) => {
            to.push('{');
            for (index, (key, item)) in entries.iter().enumerate() {
                layout.begin_item(index, to);
                json_text(key, to);
                to.push_str(": ");
                json(item, layout.inner(), to);
            }
            layout.end_items(entries.len(), to);
            to.push('}');
        }
        other => to.push_str(&other.to_string()),
    }
}

fn json_text(text: &str, to: &mut String) {
    to.push('"');
    for c in text.chars() {
        match c {
            '"' => to.push_str("\\\""),
            '\\' => to.push_str("\\\\"),
            '\n' => to.push_str("\\n"),
            '\r' => to.push_str("\\r"),
            '\t' => to.push_str("\\t"),
            '\u{8}' => to.push_str("\\b"),
            '\u{c}' => to.push_str("\\f"),
            ' '..='~' if !matches!(c, '<' | '>' | '&' | '\'') => to.push(c),
            other => {
                for unit in other.encode_utf16(&mut [0; 2]) {
                    to.push_str(&format!("\\u{unit:04x}"));
                }
            }
        }
    }
    to.push('"');
}
