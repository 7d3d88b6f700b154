//! The annotations of a family: of an Ingress, of the Service that a route leads to, and in the ConfigMap of its controller.

use super::{
    family::Family,
    key::{FamilyKey, KeyOutcome, KeyPlace, KeyTarget, WrongValue},
    settings::FamilySettings,
    translation::Translation,
    values::ForeignValue,
};
use crate::options::MOST_BYTES;
use std::collections::{BTreeMap, BTreeSet};

/// The values of annotations, read by the types of the table.
#[derive(Debug)]
pub struct ReadAnnotations<'s> {
    /// The configuration of the family.
    pub settings: &'s FamilySettings,
    values: BTreeMap<&'static str, (ForeignValue, KeyPlace)>,
    /// Keys with values that cannot be read.
    wrong: BTreeSet<&'static str>,
    /// Keys without a value: they say nothing, and hide what is said farther away.
    silent: BTreeSet<&'static str>,
}

/// An annotation of a family.
#[derive(Clone, Copy, Debug)]
pub(super) struct Annotation<'a> {
    /// As it is written.
    pub written: &'a str,
    /// Behind the prefix.
    pub name: &'a str,
    pub text: &'a str,
}

impl<'s> ReadAnnotations<'s> {
    /// Reads what stands at the nearest place for each key. What is wrong is noted in `translation`.
    pub(super) fn read(
        settings: &'s FamilySettings,
        ingress: &BTreeMap<String, String>,
        service: Option<&BTreeMap<String, String>>,
        translation: &mut Translation<'_>,
    ) -> Self {
        let mut said =
            Self { settings, values: BTreeMap::new(), wrong: BTreeSet::new(), silent: BTreeSet::new() };
        let family = settings.family;
        // The nearest comes first: what is there already stays.
        let of_service = service.filter(|_| family.reads_services());
        let places = [(KeyPlace::Service, of_service), (KeyPlace::Ingress, Some(ingress))];
        let is_last = |name: &str| family.asks_other_names_last() && is_alias(family, name);
        for last in [false, true] {
            for (place, texts) in places {
                let mut named: Vec<(usize, Annotation<'_>)> = texts
                    .into_iter()
                    .flatten()
                    .filter_map(|(written, text)| {
                        let (rank, name) = family.name_of(written)?;
                        Some((rank, Annotation { written, name, text }))
                    })
                    .filter(|(_, annotation)| is_last(annotation.name) == last)
                    .collect();
                named.sort_by_key(|(rank, annotation)| (*rank, is_alias(family, annotation.name)));
                for (_, annotation) in named {
                    said.take(place, annotation, translation);
                }
            }
            said.take_config(|name| is_last(name) == last, translation);
        }
        said
    }

    /// Takes the entries of their ConfigMap with these names, where nothing nearer is said.
    fn take_config(&mut self, is_taken: impl Fn(&str) -> bool, translation: &mut Translation<'_>) {
        let (config, family) = (&self.settings.config, self.settings.family);
        for (name, value) in config.values.iter().filter(|(name, _)| is_taken(name)) {
            let main = main_name(family, name);
            if !self.is_settled(main, name) {
                self.values.insert(main, (value.clone(), KeyPlace::Config));
                translation.note_of_config(main);
            } else if let Some((nearer, _)) = self.values.get_mut(name).filter(|_| adds_up(family, name)) {
                *nearer = joined(value, nearer);
            }
        }
        for (name, why) in config.closed.iter().filter(|(name, _)| is_taken(name)) {
            let main = main_name(family, name);
            if self.is_settled(main, name) {
                continue;
            }
            self.wrong.insert(main);
            // What no Ingress can say is closed by the code that reads it.
            if self.settings.family.key(name).is_some_and(|key| key.places != [KeyPlace::Config]) {
                translation.closed_by_config(name, why);
            }
        }
    }

    fn take(&mut self, place: KeyPlace, annotation: Annotation<'_>, translation: &mut Translation<'_>) {
        let family = self.settings.family;
        match family.key(annotation.name) {
            Some(key) if key.places.contains(&place) => {
                translation.note_written(key.name, annotation.written);
                self.enter(key, place, annotation, translation);
            }
            Some(_) => translation.misplaced(annotation),
            None => translation.unknown(annotation),
        }
    }

    /// Whether nothing that is said of a key by this name counts any more.
    fn is_settled(&self, main: &str, name: &str) -> bool {
        self.names(main) || self.silent.contains(name)
    }

    fn enter(
        &mut self,
        key: &'static FamilyKey,
        place: KeyPlace,
        Annotation { written, text, .. }: Annotation<'_>,
        translation: &mut Translation<'_>,
    ) {
        let name = main_name(self.settings.family, key.name);
        if self.is_settled(name, key.name) {
            return self.add_up(key, place, text, translation);
        }
        if text.trim().is_empty() && says_nothing(self.settings.family, key) {
            // Lines of all places count together, and hide none.
            if !adds_up(self.settings.family, name) {
                self.silent.insert(key.name);
            }
            return;
        }
        if name != key.name {
            translation.note_alias(name, written);
        }
        // There it is as if it was not there, but for lists of clients: nobody knows whom these would let in.
        let is_of_clients = ["allowlist-source-range", "denylist-source-range"].contains(&name);
        if self.settings.family == Family::IngressNginx && !is_of_clients && text.trim().is_empty() {
            if !key.places.contains(&KeyPlace::Config) {
                self.silent.insert(key.name);
            }
            return;
        }
        let value = if text.len() > MOST_BYTES { None } else { (key.value.read)(text) };
        match value {
            Some(value) => {
                if let KeyOutcome::Finding(instead) = key.outcome
                    && value != ForeignValue::Switch(false)
                {
                    translation.cannot(key.name, instead);
                }
                self.values.insert(name, (value, place));
            }
            None => {
                // Whom lines keep out that nobody has read, nobody knows.
                if key.is_snippet() && !text.trim().is_empty() {
                    self.wrong.insert(name);
                    return translation.close_unread(key);
                }
                // There what is farther counts.
                if family_falls_back(self.settings.family) && key.wrong == WrongValue::Default {
                    return translation.wrong(key, text, key.value.expected);
                }
                self.wrong.insert(name);
                let expected =
                    if text.len() > MOST_BYTES { "shorter than 64 KiB" } else { key.value.expected };
                translation.wrong(key, text, expected);
            }
        }
    }

    /// Adds the values of a farther place, where the family has it so.
    fn add_up(
        &mut self,
        key: &'static FamilyKey,
        place: KeyPlace,
        text: &str,
        translation: &mut Translation<'_>,
    ) {
        if !adds_up(self.settings.family, key.name) {
            return;
        }
        let Some((nearer, of)) = self.values.get_mut(key.name).filter(|(_, nearer)| *nearer != place) else {
            return;
        };
        match (text.len() <= MOST_BYTES).then(|| (key.value.read)(text)).flatten() {
            Some(farther) => (*nearer, *of) = (joined(nearer, &farther), place),
            None if !text.trim().is_empty() => translation.close_unread(key),
            None => {}
        }
    }

    /// The values by key.
    pub(super) fn values(&self) -> impl Iterator<Item = (&'static str, &ForeignValue)> {
        self.values.iter().map(|(key, (value, _))| (*key, value))
    }

    /// Some keys are as if nobody had given them.
    pub(super) fn forget(&mut self, is_forgotten: fn(&FamilyKey) -> bool) {
        let family = self.settings.family;
        self.values.retain(|name, _| !family.key(name).is_some_and(is_forgotten));
    }

    /// Whether a key is given with a value that can be read.
    #[must_use]
    pub fn has(&self, key: &str) -> bool {
        self.values.contains_key(key)
    }

    /// Whether a key is given by an annotation.
    #[must_use]
    pub fn is_annotated(&self, key: &str) -> bool {
        self.values.get(key).is_some_and(|(_, place)| *place != KeyPlace::Config)
    }

    /// The fault of a key of the ConfigMap, where nothing nearer is said.
    #[must_use]
    pub fn wrong_in_config(&self, key: &str) -> Option<&'s str> {
        self.settings.config.closed.get(key).filter(|_| !self.has(key)).map(String::as_str)
    }

    /// Whether a key is given with a value, whatever that is.
    #[must_use]
    pub fn names(&self, key: &str) -> bool {
        self.has(key) || self.wrong.contains(key)
    }

    /// Whether a key is given without a value.
    #[must_use]
    pub fn is_silent(&self, key: &str) -> bool {
        self.silent.contains(key) && !self.names(key)
    }

    /// Whether a key is given, and be it without a value.
    #[must_use]
    pub fn is_given(&self, key: &str) -> bool {
        self.names(key) || self.silent.contains(key)
    }

    /// The text of a key.
    #[must_use]
    pub fn text(&self, key: &str) -> Option<&str> {
        match &self.values.get(key)?.0 {
            ForeignValue::Text(text) => Some(text),
            _ => None,
        }
    }

    /// A switch; `None` where it is not given.
    #[must_use]
    pub fn switch(&self, key: &str) -> Option<bool> {
        match self.values.get(key)?.0 {
            ForeignValue::Switch(on) => Some(on),
            _ => None,
        }
    }

    /// Whether a switch is given and on.
    #[must_use]
    pub fn is_on(&self, key: &str) -> bool {
        self.switch(key) == Some(true)
    }

    /// The texts of a list with commas between; those of `otherwise` where it is not given.
    #[must_use]
    pub fn list(&self, key: &str, otherwise: &str) -> Vec<String> {
        let text = self.text(key).unwrap_or(otherwise);
        text.split(',').map(|one| one.trim().to_owned()).filter(|one| !one.is_empty()).collect()
    }

    /// A number.
    #[must_use]
    pub fn number(&self, key: &str) -> Option<i64> {
        match self.values.get(key)?.0 {
            ForeignValue::Number(number) => Some(number),
            _ => None,
        }
    }
}

/// Whether a key without a value says nothing and hides what is said farther away (`GetValue` in `pkg/annotations/common` of haproxytech,
/// `pkg/converters/ingress/annotations/backend.go` of haproxy-ingress). A list of clients of the latter stays one that lets nobody in.
fn says_nothing(family: Family, key: &FamilyKey) -> bool {
    match family {
        Family::IngressNginx => false,
        Family::HaproxyOrg => true,
        Family::HaproxyIngress => {
            key.value.takes_any_text() && main_name(family, key.name) != "allowlist-source-range"
        }
    }
}

/// The key that this may be another name of.
fn main_name(family: Family, name: &'static str) -> &'static str {
    match family.key(name).map(|key| key.to) {
        Some(KeyTarget::Alias(main)) => main,
        _ => name,
    }
}

/// Whether a value that is wrong leaves the key to the next place (`pkg/converters/ingress/annotations/mapper.go` of haproxy-ingress,
/// `GetDefaultBackend` of ingress-nginx).
fn family_falls_back(family: Family) -> bool {
    family != Family::HaproxyOrg
}

/// Whether all places of a key count together: lines of the ConfigMap stand before those of the Service, and these before those of the Ingress
/// (`pkg/annotations/cfgSnippetHandler.go` of haproxytech).
fn adds_up(family: Family, name: &str) -> bool {
    family == Family::HaproxyOrg && name == "backend-config-snippet"
}

/// Lines behind lines.
fn joined(first: &ForeignValue, second: &ForeignValue) -> ForeignValue {
    ForeignValue::Text(format!("{}\n{}", first.text(), second.text()))
}

fn is_alias(family: Family, name: &str) -> bool {
    family.key(name).is_some_and(|key| matches!(key.to, KeyTarget::Alias(_)))
}
