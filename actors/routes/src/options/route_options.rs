//! The options of one object, or of a group of its paths: of what stands at each level the nearest counts, as far as it goes together.

use super::{
    annotation::{PREFIX, finding},
    level::Level,
    refusal::Refusal,
    row::{Row, With},
    settings::Settings,
    table::TABLE,
    value::{OptionValue, OptionValues},
    written::Written,
};
use haptic_model::{Finding, FindingKind};
use serde_json::{Map, Value as Json};
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

/// Options in the place of each other, the first before the second: of those at one level both cannot stand, of others the nearer counts.
pub(super) const INSTEAD_OF: [[&str; 2]; 2] =
    [["server-ca-config-map", "server-ca-secret"], ["server-ca-secret", "server-ca-config-map"]];

/// The most that may come at once, in multiples of what comes in a period.
const MOST_BURST: u64 = 100;

/// The options of one object.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RouteOptions {
    /// Those of the table, as values.
    pub values: OptionValues,
    /// Others, as they were written.
    pub others: BTreeMap<String, Arc<str>>,
    /// The options that cannot be read.
    pub refused: Vec<Refusal>,
    /// The options that do nothing, or something else than they may seem.
    pub ineffective: Vec<Finding>,
    /// The options that are written in words of ours at the object, so that it can be told of them there.
    pub(crate) written: BTreeSet<&'static str>,
}

impl RouteOptions {
    /// Of annotations, by their names behind [`PREFIX`].
    #[must_use]
    pub fn read<'a>(written: impl IntoIterator<Item = (&'a str, &'a str)>, settings: &Settings) -> Self {
        Self::of_levels([Some(&Written::read(Level::Ingress, written, settings))], settings)
    }

    /// Of what stands at each level, the nearest first.
    #[must_use]
    pub fn of_levels<'w>(
        levels: impl IntoIterator<Item = Option<&'w Written>, IntoIter: DoubleEndedIterator>,
        settings: &Settings,
    ) -> Self {
        let mut options = Self { values: settings.class.defaults.clone(), ..Self::default() };
        let (mut unknown, mut own) = (Vec::new(), BTreeSet::new());
        for written in levels.into_iter().rev().flatten() {
            own.extend(written.values.keys().copied().filter(|_| !written.is_of_others));
            for [nearer, farther] in INSTEAD_OF {
                if written.values.contains_key(nearer) {
                    options.values.remove(farther);
                }
            }
            options.values.extend(written.values.iter().map(|(name, value)| (*name, value.clone())));
            options.others.extend(written.others.clone());
            options.refused.extend(written.refused.iter().cloned());
            let misplaced = |row: &&Row| finding(FindingKind::OptionWithoutEffect, row.name, row.misplaced());
            options.ineffective.extend(written.misplaced.iter().map(misplaced));
            unknown.extend(written.unknown());
        }
        options.written.clone_from(&own);
        options.set_against_each_other();
        if settings.class.enforced.is_empty() {
            own.clear();
        }
        let own = own.into_iter().filter_map(|name| Some((name, options.values.get(name)?.clone())));
        let own: Vec<(&'static str, OptionValue)> = own.collect();
        settings.class.enforce(&mut options.values);
        options.fill_in(settings);
        settings.class.enforce_rate(&mut options.values);
        let overridden = own.iter().filter(|(name, value)| options.values.get(name) != Some(value));
        let sentence = "does not count as it is written: the class enforces something else";
        let found = |(name, _): &(&'static str, OptionValue)| {
            finding(FindingKind::OptionWithoutEffect, name, format!("annotation {PREFIX}{name} {sentence}"))
        };
        options.ineffective.extend(overridden.map(found).collect::<Vec<_>>());
        options.leave_out_ineffective();
        options.ineffective.extend(unknown);
        options
    }

    /// The text of an option that is one.
    #[must_use]
    pub fn text(&self, name: &str) -> Option<&str> {
        match self.values.get(name)? {
            OptionValue::Text(text) => Some(text),
            _ => None,
        }
    }

    /// Whether a switch is on.
    #[must_use]
    pub fn is_on(&self, name: &str) -> bool {
        self.values.get(name) == Some(&OptionValue::Switch(true))
    }

    /// Sets the options that the class enforces, whatever was added since.
    pub(super) fn enforce(&mut self, settings: &Settings) {
        settings.class.enforce(&mut self.values);
        settings.class.enforce_rate(&mut self.values);
    }

    fn refuse(&mut self, option: &str, text: &str, wanted: String) {
        self.values.remove(option);
        self.refused.push(Refusal::of_value(option, text, wanted));
    }

    /// Finds options that are wrong only because of others.
    fn set_against_each_other(&mut self) {
        for row in TABLE {
            if let With::Needs(other) = row.with
                && !self.values.contains_key(other)
                && self.values.remove(row.name).is_some()
                && !self.is_given(other)
            {
                self.refused.push(Refusal::alone(row.name, other));
            }
        }
        for [one, other] in INSTEAD_OF {
            if self.values.contains_key(other) && self.values.remove(one).is_some() {
                self.refused.push(Refusal::beside(one, other));
            }
        }
        let every = OptionValue::Names(["*".to_owned()].into());
        if self.values.get("cors-allow-credentials") == Some(&OptionValue::Switch(true))
            && self.values.get("cors-allow-origin") == Some(&every)
        {
            let wanted = "must be false where all origins are allowed: browsers refuse both together";
            self.refuse("cors-allow-credentials", "true", wanted.to_owned());
        }
        if self.values.contains_key("client-certificate-names")
            && self.text("client-certificate") == Some("optional")
        {
            let wanted = "must be required where client-certificate-names says whose it must be";
            self.refuse("client-certificate", "optional", wanted.to_owned());
        }
        if let (Some(OptionValue::Number(limit)), Some(OptionValue::Number(burst))) =
            (self.values.get("rate-limit"), self.values.get("rate-limit-burst"))
            && *burst > limit.saturating_mul(MOST_BURST)
        {
            let (burst, wanted) = (*burst, format!("must be up to {MOST_BURST} times rate-limit"));
            self.refuse("rate-limit-burst", &burst.to_string(), wanted);
        }
        // What is behind a URL is a path of it; behind a path it could be a host.
        if self.is_on("redirect-keep-path") && self.text("redirect-to").is_some_and(|to| to.starts_with('/'))
        {
            let wanted = "must be false where redirect-to is a path: only behind a URL the path is kept";
            self.refuse("redirect-keep-path", "true", wanted.to_owned());
        }
    }

    pub(super) fn is_given(&self, option: &str) -> bool {
        self.values.contains_key(option) || self.refused.iter().any(|refusal| refusal.option == option)
    }

    /// The defaults of those that go with a given one.
    fn fill_in(&mut self, settings: &Settings) {
        for row in TABLE {
            if let With::Beside(other) = row.with
                && self.values.contains_key(other)
                && !self.values.contains_key(row.name)
                && let Ok(value) = row.kind.read(row.default, settings)
            {
                self.values.insert(row.name, value);
            }
        }
    }

    /// The difference from the options of the object as a whole, as templates read it: null stands for what is not there.
    #[must_use]
    pub fn difference_from(&self, of_object: &Self) -> Map<String, Json> {
        let names = of_object.values.keys().copied().chain(of_object.others.keys().map(String::as_str));
        let gone = names.filter(|name| !self.values.contains_key(name) && !self.others.contains_key(*name));
        let gone = gone.map(|name| (name.to_owned(), Json::Null));
        let values = self.values.iter().filter(|(name, value)| of_object.values.get(*name) != Some(value));
        let values = values.map(|(name, value)| ((*name).to_owned(), value.to_json()));
        let others = self.others.iter().filter(|(name, text)| of_object.others.get(*name) != Some(text));
        let others = others.map(|(name, text)| (name.clone(), Json::from(&**text)));
        gone.chain(values).chain(others).collect()
    }

    /// As templates read them.
    #[must_use]
    pub fn to_json(&self) -> Json {
        Json::Object(self.to_map())
    }

    pub(super) fn to_map(&self) -> Map<String, Json> {
        let values = self.values.iter().map(|(name, value)| ((*name).to_owned(), value.to_json()));
        let others = self.others.iter().map(|(name, text)| (name.clone(), Json::from(&**text)));
        values.chain(others).collect()
    }
}
