//! The values templates compute with: JSON, plus watched objects that are parsed only when something reads them.
//!
//! Cloning is always cheap (a counter). What a watched object contains can never look like a handle to another
//! object: handles are a variant of their own, not a shape of JSON.

pub(crate) mod keypath;
pub(crate) mod read_json;
pub(crate) mod recent_objects;
pub mod watched;

use haptic_text::shortened;
use serde_json::{Number, Value as Json};
use std::{cmp::Ordering, sync::Arc};
use watched::Watched;

/// The text in place of one from a Secret.
pub const UNSAID: &str = "[from a Secret]";

/// One value.
#[derive(Clone, Debug, Default)]
pub enum Value {
    /// A lookup that found nothing.
    #[default]
    Missing,
    /// JSON's null.
    Null,
    /// JSON's true and false.
    Bool(bool),
    /// A number.
    Number(Number),
    /// A string.
    Text(Arc<str>),
    /// A text that comes from a Secret's data: like any other text, but nobody is shown it.
    Secret(Arc<str>),
    /// A list.
    List(Arc<Vec<Value>>),
    /// An object of JSON.
    Dict(Arc<Dict>),
    /// A watched object.
    Object(Arc<Watched>),
}

/// KeyInterner and values, sorted by key: what is printed never depends on the order somebody sent.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Dict {
    entries: Vec<(Arc<str>, Value)>,
}

/// The most keys with which a dict is searched from its start: as many as the options of a route that says much.
const FEW: usize = 32;

impl Dict {
    /// The value of `key`.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&Value> {
        if self.entries.len() <= FEW {
            // Most keys differ in length already, so this is faster than looking for the place in the order.
            return self.entries.iter().find(|(k, _)| **k == *key).map(|(_, v)| v);
        }
        self.find(key).ok().and_then(|i| self.entries.get(i)).map(|(_, v)| v)
    }

    /// Sets `key`, replacing its former value.
    pub fn insert(&mut self, key: Arc<str>, value: Value) {
        match self.find(&key) {
            Ok(i) => {
                if let Some(entry) = self.entries.get_mut(i) {
                    entry.1 = value;
                }
            }
            Err(i) => self.entries.insert(i, (key, value)),
        }
    }

    /// A mutable reference to the value of `key`, `Missing` at first.
    pub fn entry(&mut self, key: &Arc<str>) -> Option<&mut Value> {
        let i = match self.find(key) {
            Ok(i) => i,
            Err(i) => {
                self.entries.insert(i, (key.clone(), Value::Missing));
                i
            }
        };
        self.entries.get_mut(i).map(|(_, v)| v)
    }

    /// KeyInterner and values by key.
    pub fn iter(&self) -> impl Iterator<Item = &(Arc<str>, Value)> {
        self.entries.iter()
    }

    /// How many keys.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    fn find(&self, key: &str) -> Result<usize, usize> {
        self.entries.binary_search_by(|(k, _)| (**k).cmp(key))
    }
}

impl FromIterator<(Arc<str>, Value)> for Dict {
    /// Of equal keys the last one counts.
    fn from_iter<I: IntoIterator<Item = (Arc<str>, Value)>>(entries: I) -> Self {
        let mut entries: Vec<_> = entries.into_iter().collect();
        if !entries.is_sorted_by(|a, b| a.0 < b.0) {
            entries.reverse();
            entries.sort_by(|a, b| a.0.cmp(&b.0));
            entries.dedup_by(|later, kept| later.0 == kept.0);
        }
        Self { entries }
    }
}

impl Value {
    /// A string.
    #[must_use]
    pub fn text(text: &str) -> Self {
        Self::Text(text.into())
    }

    /// A list.
    #[must_use]
    pub fn list(items: Vec<Self>) -> Self {
        Self::List(Arc::new(items))
    }

    /// A dict.
    #[must_use]
    pub fn dict(entries: impl IntoIterator<Item = (Arc<str>, Self)>) -> Self {
        Self::Dict(Arc::new(entries.into_iter().collect()))
    }

    /// A whole number.
    #[must_use]
    pub fn integer(n: i64) -> Self {
        Self::Number(n.into())
    }

    /// A count.
    #[must_use]
    pub fn count(n: usize) -> Self {
        Self::Number((n as u64).into())
    }

    /// A number; whole ones print without a fraction.
    ///
    /// # Errors
    /// When it is not finite.
    pub fn number(n: f64) -> Result<Self, String> {
        const EXACT: f64 = 9_007_199_254_740_992.0;
        if n.fract() == 0.0 && n.abs() < EXACT {
            #[expect(clippy::cast_possible_truncation, reason = "whole and below 2^53")]
            return Ok(Self::integer(n as i64));
        }
        Number::from_f64(n).map(Self::Number).ok_or_else(|| "the result is not a finite number".to_owned())
    }

    /// The description for messages: `a list of 3`, `the text "x"`.
    #[must_use]
    pub fn describe(&self) -> String {
        match self {
            Self::Missing => "nothing (missing)".into(),
            Self::Null => "null".into(),
            Self::Bool(b) => b.to_string(),
            Self::Number(n) => format!("the number {n}"),
            Self::Text(t) => format!("the text {:?}", shortened(t, 40)),
            Self::Secret(_) => "a text from a Secret".into(),
            Self::List(l) => format!("a list of {}", l.len()),
            Self::Dict(d) => {
                let keys: Vec<_> = d.iter().map(|(k, _)| shortened(k, 40)).take(5).collect();
                let more = if d.len() > 5 { ", …" } else { "" };
                format!(
                    "a dict with {}{more}",
                    if keys.is_empty() { "no keys".into() } else { keys.join(", ") }
                )
            }
            Self::Object(o) => format!("the object {}", o.reference()),
        }
    }

    /// The text that printing it gives; `None` for what has none.
    #[must_use]
    pub fn printed(&self) -> Option<Arc<str>> {
        match self {
            Self::Text(t) | Self::Secret(t) => Some(t.clone()),
            Self::Number(n) => Some(n.to_string().into()),
            Self::Bool(b) => Some(if *b { "true" } else { "false" }.into()),
            _ => None,
        }
    }

    /// The truth of it for `#if`: missing, null, false, 0, "", an empty list or dict are false.
    #[must_use]
    pub fn is_true(&self) -> bool {
        match self {
            Self::Missing | Self::Null => false,
            Self::Bool(b) => *b,
            Self::Number(n) => n.as_f64().is_some_and(|n| n != 0.0),
            Self::Text(t) | Self::Secret(t) => !t.is_empty(),
            Self::List(l) => !l.is_empty(),
            Self::Dict(d) => !d.is_empty(),
            Self::Object(_) => true,
        }
    }

    /// The number it is or spells.
    #[must_use]
    pub fn as_number(&self) -> Option<f64> {
        match self {
            Self::Number(n) => n.as_f64(),
            Self::Text(t) | Self::Secret(t) => t.trim().parse().ok().filter(|n: &f64| n.is_finite()),
            _ => None,
        }
    }

    /// The field `key`; list items by position.
    ///
    /// # Errors
    /// When a watched object cannot be read.
    pub fn field(&self, key: &str) -> Result<Option<&Self>, String> {
        Ok(match self {
            Self::Dict(d) => d.get(key),
            Self::Object(o) => o.field(key)?,
            Self::List(l) => key.parse::<usize>().ok().and_then(|i| l.get(i)),
            _ => None,
        })
    }

    /// The value below `keys`, `Missing` if there is none.
    ///
    /// # Errors
    /// When a watched object cannot be read.
    pub fn below(&self, keys: &[Arc<str>]) -> Result<&Self, String> {
        let mut here = self;
        for key in keys {
            match here.field(key)? {
                Some(next) => here = next,
                None => return Ok(&Self::Missing),
            }
        }
        Ok(here)
    }

    /// The watched object it is.
    #[must_use]
    pub fn as_object(&self) -> Option<&Arc<Watched>> {
        match self {
            Self::Object(object) => Some(object),
            _ => None,
        }
    }

    /// The dict it is, or that a watched object holds.
    ///
    /// # Errors
    /// When a watched object cannot be read.
    pub fn as_dict(&self) -> Result<Option<&Arc<Dict>>, String> {
        Ok(match self {
            Self::Dict(d) => Some(d),
            Self::Object(o) => match o.read()? {
                Self::Dict(d) => Some(d),
                _ => None,
            },
            _ => None,
        })
    }

    /// The same as JSON, watched objects read.
    ///
    /// # Errors
    /// When a watched object cannot be read.
    pub fn to_json(&self) -> Result<Json, String> {
        Ok(match self {
            Self::Missing | Self::Null => Json::Null,
            Self::Bool(b) => Json::Bool(*b),
            Self::Number(n) => Json::Number(n.clone()),
            Self::Text(t) | Self::Secret(t) => Json::String(t.to_string()),
            Self::List(l) => Json::Array(l.iter().map(Self::to_json).collect::<Result<_, _>>()?),
            Self::Dict(d) => Json::Object(
                d.iter().map(|(k, v)| Ok((k.to_string(), v.to_json()?))).collect::<Result<_, String>>()?,
            ),
            Self::Object(o) => o.fresh().read()?.to_json()?,
        })
    }

    /// The same, with every text and number in it from a Secret. Watched objects know by themselves.
    #[must_use]
    pub fn secret(&self) -> Self {
        match self {
            Self::Text(t) => Self::Secret(t.clone()),
            Self::Number(n) => Self::Secret(n.to_string().into()),
            Self::List(l) => Self::list(l.iter().map(Self::secret).collect()),
            Self::Dict(d) => Self::dict(d.iter().map(|(k, v)| (k.clone(), v.secret()))),
            other => other.clone(),
        }
    }

    /// Whether anything in it is from a Secret.
    #[must_use]
    pub fn holds_secret(&self) -> bool {
        match self {
            Self::Secret(_) => true,
            Self::List(l) => l.iter().any(Self::holds_secret),
            Self::Dict(d) => d.iter().any(|(_, v)| v.holds_secret()),
            Self::Object(o) => o.read().is_ok_and(Self::holds_secret),
            _ => false,
        }
    }

    /// In place of a watched object a handle that is not read yet, so that walking a list never holds all of it parsed.
    #[must_use]
    pub fn unread(&self) -> Self {
        match self {
            Self::Object(object) => Self::Object(object.fresh()),
            other => other.clone(),
        }
    }

    /// Bytes of memory that nothing else holds: those that go with this value.
    #[must_use]
    pub fn own_bytes(&self) -> usize {
        /// The memory of a text, list or dict besides its content.
        const KEEPING: usize = 32;
        match self {
            Self::Text(text) | Self::Secret(text) if Arc::strong_count(text) == 1 => KEEPING + text.len(),
            Self::List(list) if Arc::strong_count(list) == 1 => {
                KEEPING + list.iter().map(|item| size_of::<Self>() + item.own_bytes()).sum::<usize>()
            }
            Self::Dict(dict) if Arc::strong_count(dict) == 1 => {
                let entry = size_of::<(Arc<str>, Self)>();
                KEEPING + dict.iter().map(|(_, value)| entry + value.own_bytes()).sum::<usize>()
            }
            _ => 0,
        }
    }

    /// A total order: numbers (and texts that spell numbers, against numbers) by value, texts by character.
    #[must_use]
    pub fn order(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Self::Text(a) | Self::Secret(a), Self::Text(b) | Self::Secret(b)) => a.cmp(b),
            (
                Self::Number(_) | Self::Text(_) | Self::Secret(_),
                Self::Number(_) | Self::Text(_) | Self::Secret(_),
            ) => match (self.as_number(), other.as_number()) {
                (Some(a), Some(b)) => a.total_cmp(&b),
                _ => self.printed().cmp(&other.printed()),
            },
            (Self::Bool(a), Self::Bool(b)) => a.cmp(b),
            (Self::List(a), Self::List(b)) => {
                let first = a.iter().zip(b.iter()).map(|(a, b)| a.order(b)).find(|o| o.is_ne());
                first.unwrap_or_else(|| a.len().cmp(&b.len()))
            }
            (Self::Object(a), Self::Object(b)) => a.reference().cmp(b.reference()),
            _ => self.rank().cmp(&other.rank()),
        }
    }

    fn rank(&self) -> u8 {
        match self {
            Self::Missing => 0,
            Self::Null => 1,
            Self::Bool(_) => 2,
            Self::Number(_) => 3,
            Self::Text(_) | Self::Secret(_) => 4,
            Self::List(_) => 5,
            Self::Dict(_) => 6,
            Self::Object(_) => 7,
        }
    }
}

impl PartialEq for Value {
    /// Loose on numbers: 1, 1.0 and "1" are equal. A watched object equals itself only.
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Missing | Self::Null, Self::Missing | Self::Null) => true,
            (Self::Bool(a), Self::Bool(b)) => a == b,
            (Self::Text(a) | Self::Secret(a), Self::Text(b) | Self::Secret(b)) => a == b,
            (Self::Number(a), Self::Number(b)) if a == b => true,
            (Self::Number(_), Self::Number(_) | Self::Text(_) | Self::Secret(_))
            | (Self::Text(_) | Self::Secret(_), Self::Number(_)) => {
                self.as_number().is_some_and(|a| other.as_number() == Some(a))
            }
            (Self::List(a), Self::List(b)) => a == b,
            (Self::Dict(a), Self::Dict(b)) => a == b,
            (Self::Object(a), Self::Object(b)) => a.reference() == b.reference(),
            _ => false,
        }
    }
}

impl From<&Json> for Value {
    fn from(json: &Json) -> Self {
        match json {
            Json::Null => Self::Null,
            Json::Bool(b) => Self::Bool(*b),
            Json::Number(n) => Self::Number(n.clone()),
            Json::String(s) => Self::text(s),
            Json::Array(a) => Self::list(a.iter().map(Self::from).collect()),
            Json::Object(o) => Self::dict(o.iter().map(|(k, v)| (k.as_str().into(), v.into()))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(json: &str) -> Value {
        crate::value::read_json::read(json, &crate::value::read_json::KeyInterner::default()).unwrap()
    }

    #[test]
    fn keys_are_sorted_and_the_last_of_equal_ones_counts() {
        let v = value(r#"{"b":1,"a":2,"b":3}"#);
        assert_eq!(v.to_json().unwrap().to_string(), r#"{"a":2,"b":3}"#);
    }

    #[test]
    fn equality_is_loose_on_numbers_and_nowhere_else() {
        assert_eq!(value("1"), value("1.0"));
        assert_eq!(value("1"), value("\"1\""));
        assert_ne!(value("\"1\""), value("\"1.0\""));
        assert_ne!(value("0"), value("false"));
        assert_ne!(value("\"\""), value("null"));
    }

    #[test]
    fn texts_that_spell_numbers_are_ordered_by_value_against_numbers_only() {
        assert!(value("10").order(&value("\"9\"")).is_gt());
        assert!(value("\"10\"").order(&value("\"9\"")).is_lt());
    }

    #[test]
    fn large_dicts_are_found_like_small_ones() {
        let v = Value::dict((0..100).map(|i| (format!("k{i}").into(), Value::integer(i))));
        assert_eq!(v.field("k42").unwrap(), Some(&Value::integer(42)));
        assert_eq!(v.field("k420").unwrap(), None);
    }
}
