//! The arguments of filters and methods.

use super::operand::Operand;
use haptic_text::suggest::did_you_mean;
use std::sync::Arc;

/// Arguments of a filter, by place or by name.
#[derive(Clone)]
pub(super) struct FilterArguments<'p> {
    pub positional: Vec<Operand<'p>>,
    pub named: Vec<(Arc<str>, Operand<'p>)>,
}

impl<'p> FilterArguments<'p> {
    /// Whether a filter that takes the parameters `known` takes what is given.
    ///
    /// # Errors
    /// The argument that it does not take.
    pub fn check(&self, filter: &str, known: &[&str]) -> Result<(), String> {
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
        self.positional.get(place).or_else(|| self.by_name(name))
    }

    pub fn by_name(&self, name: &str) -> Option<&Operand<'p>> {
        self.named.iter().find(|(known, _)| &**known == name).map(|(_, value)| value)
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
