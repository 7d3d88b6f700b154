//! Refusals of values that cannot be read, with what a user needs to set them right.

use super::{
    annotation::{MOST_BYTES, PREFIX},
    paths,
    table::row,
};
use crate::sentences::shortened;
use serde_json::Value as Json;
use std::fmt;

/// A value that an option cannot have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The option: behind `haproxy-haptic.org/`.
    pub option: String,
    /// Of which path, where that has options of its own.
    pub path: Option<String>,
    /// The fault of it.
    pub why: Wrong,
}

/// The fault of a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wrong {
    /// It has too many bytes: this number.
    Size(usize),
    /// This is not what it must be.
    Value {
        /// As far as it is quoted.
        text: String,
        /// "must be …".
        wanted: String,
    },
    /// It means nothing without this option.
    Alone(&'static str),
    /// It says the same as this option in other words.
    Beside(&'static str),
}

impl Refusal {
    /// The refusal of a value with this number of bytes.
    pub(super) fn of_size(option: &str, bytes: usize) -> Self {
        Self { option: option.to_owned(), path: None, why: Wrong::Size(bytes) }
    }

    /// Of a text that must be something else.
    pub(super) fn of_value(option: &str, text: &str, wanted: String) -> Self {
        let why = Wrong::Value { text: shortened(text), wanted };
        Self { option: option.to_owned(), path: None, why }
    }

    /// Of one that needs another one beside it.
    pub(super) fn alone(option: &str, other: &'static str) -> Self {
        Self { option: option.to_owned(), path: None, why: Wrong::Alone(other) }
    }

    /// Of one in whose place another one stands.
    pub(super) fn beside(option: &str, other: &'static str) -> Self {
        Self { option: option.to_owned(), path: None, why: Wrong::Beside(other) }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { option, path, why } = self;
        match path {
            Some(path) => write!(f, "annotation {PREFIX}{}: {option} of {}", paths::PATHS, shortened(path))?,
            None => write!(f, "annotation {PREFIX}{option}")?,
        }
        write!(f, " {why}")?;
        match (why, row(option).map_or("", |row| row.example)) {
            (Wrong::Value { wanted, .. }, example) if !wanted.contains(example) => {
                write!(f, ", for example {example}")
            }
            _ => Ok(()),
        }
    }
}

impl fmt::Display for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Size(bytes) => write!(f, "has {bytes} bytes, it may have {MOST_BYTES}"),
            Self::Alone(other) => write!(f, "must be given together with {other}"),
            Self::Beside(other) => write!(f, "must not be given together with {other}"),
            Self::Value { text, wanted } => write!(f, "is {}, it {wanted}", Json::from(text.as_str())),
        }
    }
}
