//! How controllers read values. What several of them share stands here; what only one has, beside its table.

use crate::options::quantity::byte_count;
use std::fmt;

/// A value that was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ForeignValue {
    /// On or off.
    Switch(bool),
    /// A whole number.
    Number(i64),
    /// A text, as an option of ours would have it.
    Text(String),
}

impl ForeignValue {
    /// As the text of an option of ours.
    #[must_use]
    pub fn text(&self) -> String {
        match self {
            Self::Switch(on) => on.to_string(),
            Self::Number(number) => number.to_string(),
            Self::Text(text) => text.clone(),
        }
    }
}

/// How a value is read.
#[derive(Clone, Copy)]
pub struct ValueReader {
    /// The form that it must have, behind "it must be".
    pub expected: &'static str,
    /// Reads it; `None` where it is something else.
    pub read: fn(&str) -> Option<ForeignValue>,
}

impl ValueReader {
    /// Whether any text counts.
    #[must_use]
    pub fn takes_any_text(&self) -> bool {
        self.expected == TEXT.expected
    }
}

impl fmt::Debug for ValueReader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.expected)
    }
}

/// Any text that is not empty, without control characters but ends of lines, each line without blanks around it.
pub const TEXT: ValueReader = ValueReader { expected: "a text", read: text };

/// The words that Go's `strconv.ParseBool` takes.
pub const GO_SWITCH: ValueReader = ValueReader { expected: "true or false", read: go_switch };

/// A decimal number with a sign, without a unit.
pub const INTEGER: ValueReader = ValueReader { expected: "a whole number without a unit", read: integer };

/// A number of seconds without a unit; as a time of ours.
pub const SECONDS: ValueReader =
    ValueReader { expected: "a number of seconds without a unit", read: seconds };

/// `on` or `off`.
pub const ON_OFF: ValueReader = ValueReader { expected: "on or off", read: on_off };

/// Digits and b, k, m or g, each 1024 times the one before; in bytes.
pub const SIZE: ValueReader = ValueReader { expected: "a size such as 500k or 10m", read: size };

fn text(text: &str) -> Option<ForeignValue> {
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    let text = lines.join("\n").trim().to_owned();
    let is_plain = text.chars().all(|c| c == '\n' || c == '\t' || !c.is_control());
    (!text.is_empty() && is_plain).then_some(ForeignValue::Text(text))
}

fn go_switch(text: &str) -> Option<ForeignValue> {
    match text {
        "1" | "t" | "T" | "TRUE" | "true" | "True" => Some(ForeignValue::Switch(true)),
        "0" | "f" | "F" | "FALSE" | "false" | "False" => Some(ForeignValue::Switch(false)),
        _ => None,
    }
}

fn integer(text: &str) -> Option<ForeignValue> {
    text.parse().ok().map(ForeignValue::Number)
}

fn seconds(text: &str) -> Option<ForeignValue> {
    match integer(text)? {
        ForeignValue::Number(seconds) if seconds >= 0 => Some(ForeignValue::Text(format!("{seconds}s"))),
        _ => None,
    }
}

fn on_off(text: &str) -> Option<ForeignValue> {
    match text {
        "on" => Some(ForeignValue::Switch(true)),
        "off" => Some(ForeignValue::Switch(false)),
        _ => None,
    }
}

fn size(text: &str) -> Option<ForeignValue> {
    let text = text.strip_suffix(['b', 'B']).unwrap_or(text);
    byte_count(text).map(|bytes| ForeignValue::Text(bytes.to_string()))
}
