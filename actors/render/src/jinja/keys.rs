//! Dicts in the order in which their keys came, with keys as Python has them: 1, 1.0 and True are one key, "1" is another.

use super::{
    operand::{DEEPEST, Effort, MOST_VISITED, Operand},
    text,
};
use crate::{output::framing, value::Value};
use std::{
    cell::Cell,
    collections::HashMap,
    hash::{Hash, Hasher},
    rc::Rc,
    sync::Arc,
};

#[derive(Clone, Debug)]
pub(super) enum DictKey {
    None,
    Text(Arc<str>),
    /// A text of the template's own: it stays one where it is printed, and is the same key as that text of a value.
    Own(Arc<str>),
    /// A text from a Secret, which stays one where it is printed.
    Secret(Arc<str>),
    Whole(i64),
    /// A number with a fraction, by its digits.
    Fraction(String),
    Tuple(Rc<[DictKey]>),
}

/// Keys and values.
#[derive(Clone, Debug, Default)]
pub(super) struct Entries<'p> {
    order: Vec<(DictKey, Operand<'p>)>,
    /// Where a key stands; only of dicts that are not small.
    places: HashMap<DictKey, usize>,
}

/// The most keys that are looked at one by one.
const FEW: usize = 12;

impl PartialEq for DictKey {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::None, Self::None) => true,
            (
                Self::Text(a) | Self::Own(a) | Self::Secret(a),
                Self::Text(b) | Self::Own(b) | Self::Secret(b),
            ) => a == b,
            (Self::Whole(a), Self::Whole(b)) => a == b,
            (Self::Fraction(a), Self::Fraction(b)) => a == b,
            (Self::Tuple(a), Self::Tuple(b)) => a == b,
            _ => false,
        }
    }
}

impl Eq for DictKey {}

impl Hash for DictKey {
    fn hash<H: Hasher>(&self, to: &mut H) {
        match self {
            Self::None => 0_u8.hash(to),
            Self::Text(text) | Self::Own(text) | Self::Secret(text) => (1_u8, text).hash(to),
            Self::Whole(number) => (2_u8, number).hash(to),
            Self::Fraction(digits) => (3_u8, digits).hash(to),
            Self::Tuple(keys) => (4_u8, keys).hash(to),
        }
    }
}

impl DictKey {
    pub fn of_text(text: &str) -> Self {
        Self::Text(text.into())
    }

    /// The key that a value is.
    ///
    /// # Errors
    /// When it cannot be one: says what it is.
    pub fn of(operand: &Operand<'_>) -> Result<Self, String> {
        Self::within(operand, Effort { depth: DEEPEST, left: &Cell::new(MOST_VISITED) })
    }

    fn within(operand: &Operand<'_>, effort: Effort<'_>) -> Result<Self, String> {
        let effort = effort.inner()?;
        Ok(match operand {
            Operand::Value(Value::Null) => Self::None,
            Operand::Value(Value::Text(text)) => Self::Text(text.clone()),
            Operand::Value(Value::Secret(text)) => Self::Secret(text.clone()),
            Operand::Markup(markup) if !markup.contains(framing::is_mark) => Self::Own(markup.clone()),
            Operand::Markup(markup) if markup.contains(framing::SECRET) => {
                Self::Secret(text::plain(markup).into())
            }
            Operand::Markup(markup) => Self::Text(text::plain(markup).into()),
            Operand::Tuple(items) => {
                let keys = items.iter().map(|item| Self::within(item, effort));
                Self::Tuple(keys.collect::<Result<_, _>>()?)
            }
            other => match (other.whole(), other.number()) {
                (Some(whole), _) => Self::Whole(whole),
                #[expect(clippy::cast_possible_truncation, reason = "whole and small")]
                (None, Some(number)) if number.fract() == 0.0 && number.abs() < 9e15 => {
                    Self::Whole(number as i64)
                }
                (None, Some(number)) => Self::Fraction(text::float(number)),
                _ => return Err(format!("{} cannot be a key of a dict", other.describe())),
            },
        })
    }

    /// The value that it was.
    pub fn operand<'p>(&self) -> Operand<'p> {
        match self {
            Self::None => Operand::NONE,
            Self::Text(text) => Operand::Value(Value::Text(text.clone())),
            Self::Own(text) => Operand::Markup(text.clone()),
            Self::Secret(text) => Operand::Value(Value::Secret(text.clone())),
            Self::Whole(number) => Operand::Value(Value::integer(*number)),
            Self::Fraction(digits) => Operand::Value(
                digits.parse().ok().and_then(serde_json::Number::from_f64).map_or(Value::Null, Value::Number),
            ),
            Self::Tuple(keys) => Operand::Tuple(keys.iter().map(Self::operand).collect()),
        }
    }

    /// The text of a key where only texts can be keys.
    ///
    /// # Errors
    /// When it is none.
    pub fn text(&self) -> Result<Arc<str>, String> {
        match self {
            Self::Text(text) | Self::Own(text) => Ok(text.clone()),
            Self::Whole(number) => Ok(number.to_string().into()),
            Self::Fraction(digits) => Ok(digits.as_str().into()),
            Self::Secret(_) => Err("a key of the dict is from a Secret".to_owned()),
            Self::None | Self::Tuple(_) => Err("a key of the dict is no text".to_owned()),
        }
    }
}

impl<'p> Entries<'p> {
    pub fn get(&self, key: &DictKey) -> Option<&Operand<'p>> {
        self.place(key).and_then(|place| self.order.get(place)).map(|(_, value)| value)
    }

    fn place(&self, key: &DictKey) -> Option<usize> {
        if self.order.len() <= FEW {
            return self.order.iter().position(|(known, _)| known == key);
        }
        self.places.get(key).copied()
    }

    pub fn set(&mut self, key: DictKey, value: Operand<'p>) {
        match self.place(&key) {
            Some(place) => {
                if let Some(entry) = self.order.get_mut(place) {
                    entry.1 = value;
                }
            }
            None => {
                self.order.push((key, value));
                self.know(self.order.len());
            }
        }
    }

    /// Notes where keys stand, once there are many.
    fn know(&mut self, length: usize) {
        if length > FEW + 1 {
            if let Some((key, _)) = self.order.last() {
                self.places.insert(key.clone(), length - 1);
            }
        } else if length == FEW + 1 {
            self.places =
                self.order.iter().enumerate().map(|(place, (key, _))| (key.clone(), place)).collect();
        }
    }

    pub fn remove(&mut self, key: &DictKey) -> Option<Operand<'p>> {
        let place = self.place(key)?;
        let (_, value) = self.order.remove(place);
        self.places.clear();
        if self.order.len() > FEW {
            self.places =
                self.order.iter().enumerate().map(|(place, (key, _))| (key.clone(), place)).collect();
        }
        Some(value)
    }

    pub fn iter(&self) -> impl Iterator<Item = &(DictKey, Operand<'p>)> {
        self.order.iter()
    }

    pub fn len(&self) -> usize {
        self.order.len()
    }

    pub fn is_empty(&self) -> bool {
        self.order.is_empty()
    }

    pub fn take_values(&mut self) -> Vec<Operand<'p>> {
        self.places.clear();
        std::mem::take(&mut self.order).into_iter().map(|(_, value)| value).collect()
    }
}

impl<'p> FromIterator<(DictKey, Operand<'p>)> for Entries<'p> {
    fn from_iter<I: IntoIterator<Item = (DictKey, Operand<'p>)>>(pairs: I) -> Self {
        let mut entries = Self::default();
        pairs.into_iter().for_each(|(key, value)| entries.set(key, value));
        entries
    }
}
