//! The ConfigMap of a family's own controller: read once, for all Ingresses of the family.

use super::{
    family::Family,
    key::{FamilyKey, KeyOutcome, KeyPlace, KeyTarget, WrongValue},
    values::ForeignValue,
};
use crate::{options::MOST_BYTES, sentences::shortened};
use haptic_model::{Finding, FindingKind};
use haptic_text::suggest::did_you_mean;
use std::collections::BTreeMap;

/// The most names that are no key's and are told.
const FEW: usize = 5;

/// The entries of a ConfigMap, as their controller reads them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FamilyConfig {
    pub(super) values: BTreeMap<&'static str, ForeignValue>,
    /// Guards of which nobody knows whom they let in, each with what is wrong with it. Where nothing nearer is said nobody gets in.
    pub(super) closed: BTreeMap<&'static str, String>,
    /// The findings at the entries.
    pub findings: Vec<Finding>,
}

impl FamilyConfig {
    /// Reads the entries of a ConfigMap. A value that cannot be read is as if it was not there, unless it guards access.
    #[must_use]
    pub fn read(family: Family, data: &BTreeMap<String, String>) -> Self {
        let mut config = Self::default();
        let mut unknown = Vec::new();
        // Another name of a key counts where the key itself is not there.
        let by_rank = |alias: bool| {
            data.iter().filter(move |(name, _)| family.key(name).is_some_and(|key| is_alias(key) == alias))
        };
        for (name, text) in by_rank(false).chain(by_rank(true)) {
            if let Some(key) = family.key(name) {
                config.take(family, key, text);
            }
        }
        for name in data.keys().filter(|name| family.key(name).is_none()) {
            if unknown.len() < FEW {
                let names = family.table().iter().filter(|key| key.places.contains(&KeyPlace::Config));
                let near = did_you_mean(name, names.map(|key| key.name));
                unknown.push((name, format!("is none that its own controller knows{near}, it is ignored")));
            }
        }
        for (name, sentence) in unknown {
            config.find(FindingKind::ForeignNotServed, name, &sentence);
        }
        config
    }

    /// The same beneath what is said nearer.
    #[must_use]
    pub fn beneath(&self, nearer: Self) -> Self {
        let is_said =
            |name: &&'static str| nearer.values.contains_key(name) || nearer.closed.contains_key(name);
        let mut both = nearer.clone();
        both.values
            .extend(self.values.iter().filter(|(name, _)| !is_said(name)).map(|(k, v)| (*k, v.clone())));
        both.closed
            .extend(self.closed.iter().filter(|(name, _)| !is_said(name)).map(|(k, v)| (*k, v.clone())));
        both
    }

    /// The same without what only the ConfigMap of all may say.
    #[must_use]
    pub fn of_class(family: Family, data: &BTreeMap<String, String>) -> Self {
        let is_of_all = |name: &String| family.key(name).is_some_and(|key| key.places == [KeyPlace::Config]);
        let (of_all, own): (BTreeMap<_, _>, BTreeMap<_, _>) = data
            .iter()
            .map(|(name, text)| (name.clone(), text.clone()))
            .partition(|(name, _)| is_of_all(name));
        let mut config = Self::read(family, &own);
        for name in of_all.keys() {
            let sentence =
                "has no effect for one class: it counts for all, in the ConfigMap of the controller";
            config.find(FindingKind::ForeignNotServed, name, sentence);
        }
        config
    }

    /// Whether a switch is given and on.
    #[must_use]
    pub fn is_on(&self, key: &str) -> bool {
        self.values.get(key) == Some(&ForeignValue::Switch(true))
    }

    fn take(&mut self, family: Family, key: &'static FamilyKey, text: &str) {
        let name = match key.to {
            KeyTarget::Alias(name) if !family.asks_other_names_last() => name,
            _ => key.name,
        };
        if self.values.contains_key(name) || self.closed.contains_key(name) {
            return;
        }
        if !key.places.contains(&KeyPlace::Config) {
            return self.find(
                FindingKind::ForeignNotServed,
                key.name,
                "has no effect there: it is one of Ingresses",
            );
        }
        // Charts write every key, and mean the default.
        if text.trim().is_empty() {
            return;
        }
        let is_short = text.len() <= MOST_BYTES;
        match is_short.then(|| (key.value.read)(text)).flatten() {
            Some(value) => {
                if let KeyOutcome::Finding(instead) = key.outcome
                    && value != ForeignValue::Switch(false)
                {
                    let sentence = format!("has no effect: {instead}");
                    self.find(FindingKind::ForeignNotServed, key.name, &sentence);
                }
                self.values.insert(name, value);
            }
            None => {
                let expected = if is_short { key.value.expected } else { "shorter than 64 KiB" };
                let text = serde_json::Value::from(shortened(text));
                self.wrong(key, name, format!("is {text}, it must be {expected}"));
            }
        }
    }

    fn wrong(&mut self, key: &'static FamilyKey, name: &'static str, why: String) {
        let instead = match key.wrong {
            WrongValue::Default | WrongValue::Drop if !key.is_snippet() => "it is ignored",
            _ => {
                self.closed.insert(name, why.clone());
                "Ingresses that do not say it themselves answer 503"
            }
        };
        self.find(FindingKind::ForeignUnreadable, key.name, &format!("{why}: {instead}"));
    }

    pub(super) fn find(&mut self, kind: FindingKind, key: &str, sentence: &str) {
        let at = format!("data.{}", shortened(key));
        self.findings.push(Finding::new(kind, format!("{at} {sentence}")).at_annotation(&at));
    }
}

fn is_alias(key: &FamilyKey) -> bool {
    matches!(key.to, KeyTarget::Alias(_))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(family: Family, data: &[(&str, &str)]) -> FamilyConfig {
        let data = data.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect();
        FamilyConfig::read(family, &data)
    }

    fn reported(config: &FamilyConfig) -> String {
        config.findings.iter().map(|finding| finding.sentence.clone()).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn entries_are_read_as_their_controller_does_and_what_is_wrong_is_told() {
        let config = read(
            Family::IngressNginx,
            &[
                ("proxy-read-timeout", "20"),
                ("proxy-connect-timeout", "20s"),
                ("hsts", ""),
                ("proxy-bdy-size", "1m"),
                ("app-root", "/x"),
                ("use-proxy-protocol", "true"),
                ("use-forwarded-headers", "false"),
            ],
        );
        let keys = ["proxy-read-timeout", "use-forwarded-headers", "use-proxy-protocol"];
        assert_eq!(config.values.keys().copied().collect::<Vec<_>>(), keys);
        let reported = reported(&config);
        for part in [
            "data.proxy-connect-timeout is \"20s\", it must be a number of seconds",
            "data.proxy-bdy-size is none that its own controller knows (did you mean \"proxy-body-size\"?)",
            "data.app-root has no effect there",
            "data.use-proxy-protocol has no effect: ",
        ] {
            assert!(reported.contains(part), "{part}\n{reported}");
        }
        assert_eq!(reported.lines().count(), 4, "{reported}");
    }

    #[test]
    fn of_a_guard_that_cannot_be_read_nobody_knows_whom_it_lets_in() {
        let config = read(Family::IngressNginx, &[("whitelist-source-range", "10.0.0.0/8;")]);
        assert_eq!(config.closed.keys().copied().collect::<Vec<_>>(), ["allowlist-source-range"]);
        assert!(reported(&config).contains("answer 503"));
    }

    #[test]
    fn the_nearer_of_two_counts_key_by_key() {
        let far = read(Family::HaproxyIngress, &[("timeout-server", "5s"), ("timeout-queue", "6s")]);
        let near = read(Family::HaproxyIngress, &[("timeout-server", "7s")]);
        let both = far.beneath(near);
        let text = |name: &str| both.values.get(name).map(ForeignValue::text);
        assert_eq!(
            [text("timeout-server"), text("timeout-queue")],
            ["7000ms", "6000ms"].map(|t| Some(t.to_owned()))
        );
    }
}
