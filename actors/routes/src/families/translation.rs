//! The translation of a family's annotations.

use super::{
    annotations::{Annotation, ReadAnnotations},
    answers::PathAnswer,
    effects::{IngressEffects, LevelEffects},
    family::Family,
    key::{FamilyKey, KeyTarget, WrongValue},
};
use crate::{
    objects::referenced::{ReferencedKind, ReferencedObjects},
    options::{
        Settings,
        network::Network,
        table::row,
        value::{OptionValue, OptionValues},
    },
    sentences::shortened,
};
use haptic_model::{Finding, FindingKind};
use haptic_text::suggest::did_you_mean;
use std::collections::{BTreeMap, BTreeSet};

/// All clients.
pub const EVERYBODY: &str = "0.0.0.0/0, ::/0";

/// The most names that are no key's and are told.
const FEW: usize = 5;

/// The most findings at one annotation.
const MOST_FINDINGS: usize = 10;

/// The facts about the Ingress besides its annotations.
#[derive(Clone, Copy, Debug, Default)]
pub struct About<'a> {
    /// Its namespace.
    pub namespace: &'a str,
    /// Its name.
    pub name: &'a str,
    /// Whether it, or one beside it, has TLS for any of its hosts.
    pub tls: bool,
    /// Whether it has rules, and each is for a wildcard or for every host.
    pub has_wildcards_alone: bool,
    /// Whether it names hosts with TLS itself.
    pub names_tls_hosts: bool,
    /// The first port of the Service that its annotation `default-backend` names, if that is known.
    pub default_port: Option<u16>,
    /// The objects that annotations name; without them whether they are there is not looked at, and has no effect.
    pub referenced: Option<&'a ReferencedObjects>,
}

/// The translation of a family's annotations.
#[derive(Debug)]
pub struct Translation<'t> {
    reader: AnnotationReader<'t>,
    /// The effects on the Ingress.
    pub ingress: IngressEffects,
    /// The effects on its routes to the Service, or on all.
    pub level: LevelEffects,
    /// The findings at entries of the ConfigMap alone: they are told there, once.
    pub(super) config_findings: Vec<(FindingKind, String, String)>,
}

/// The family whose annotations are read, its settings, and what was read of them so far.
#[derive(Debug)]
struct AnnotationReader<'t> {
    family: Family,
    about: About<'t>,
    settings: &'t Settings,
    /// The annotations by which keys are written.
    written: BTreeMap<&'static str, String>,
    /// Keys that only the ConfigMap says.
    of_config: BTreeSet<&'static str>,
    /// How many are no key's.
    unknown: usize,
    /// How much was found at each.
    reported: BTreeMap<String, usize>,
}

impl<'t> Translation<'t> {
    pub(super) fn new(family: Family, about: About<'t>, settings: &'t Settings) -> Self {
        let reader = AnnotationReader {
            family,
            about,
            settings,
            written: BTreeMap::new(),
            of_config: BTreeSet::new(),
            unknown: 0,
            reported: BTreeMap::new(),
        };
        let (ingress, level) = (IngressEffects::default(), LevelEffects::none());
        Self { reader, ingress, level, config_findings: Vec::new() }
    }

    /// A key is only said by the ConfigMap.
    pub(super) fn note_of_config(&mut self, key: &'static str) {
        self.reader.of_config.insert(key);
    }

    /// The annotation by which a key is written; of several the first.
    pub(super) fn note_written(&mut self, key: &'static str, annotation: &str) {
        self.reader.written.entry(key).or_insert_with(|| annotation.to_owned());
    }

    /// The annotation by which another key is written that is called by this one.
    pub(super) fn note_alias(&mut self, key: &'static str, annotation: &str) {
        self.reader.written.insert(key, annotation.to_owned());
    }

    /// The Ingress.
    #[must_use]
    pub fn about(&self) -> About<'t> {
        self.reader.about
    }

    /// Whether an option is set.
    #[must_use]
    pub fn has(&self, option: &str) -> bool {
        self.level.written.values.contains_key(option)
    }

    /// The value of an option.
    #[must_use]
    pub fn value(&self, option: &str) -> Option<&OptionValue> {
        self.level.written.values.get(option)
    }

    /// An option is as if nobody had set it.
    pub fn remove(&mut self, option: &str) {
        self.level.written.values.remove(option);
    }

    /// Nothing of an Ingress is served that has one of the words in an annotation which the ConfigMap forbids.
    pub(super) fn drop_words(&mut self, said: &ReadAnnotations<'_>, ingress: &BTreeMap<String, String>) {
        let Some(words) = said.text("annotation-value-word-blocklist") else { return };
        let words: Vec<&str> = words.split(',').map(str::trim).filter(|word| !word.is_empty()).collect();
        let of_family =
            ingress.iter().filter_map(|(key, text)| Some((self.reader.family.behind_prefix(key)?, text)));
        let found: Vec<(&str, &str)> = of_family
            .filter_map(|(key, text)| Some((key, *words.iter().find(|word| text.contains(**word))?)))
            .collect();
        for (key, word) in found {
            self.drop(key, &format!("has {word:?}, which annotation-value-word-blocklist forbids"));
        }
    }

    /// Whatever is one option.
    pub(super) fn options_of(&mut self, said: &ReadAnnotations<'_>) {
        for (name, value) in said.values() {
            if let Some(key) = self.reader.family.key(name)
                && let KeyTarget::Option(option) = key.to
            {
                self.set(option, &value.text(), name);
            }
        }
    }

    /// Sets an option to what its own table makes of the text. Where that cannot be, and something guards access, all requests get 503;
    /// otherwise `key` is as if it was not there.
    pub fn set(&mut self, option: &'static str, text: &str, key: &str) {
        let Some(row) = row(option) else {
            return self.cannot(key, &format!("there is no option {option}"));
        };
        match row.kind.read(text, self.reader.settings) {
            Ok(value) => _ = self.level.written.values.insert(row.name, value),
            Err(wanted) => {
                let text = serde_json::Value::from(shortened(text));
                let why = format!("is {text} for option {option}, which {wanted}");
                let denies = self.reader.family.key(key).is_some_and(|key| key.wrong == WrongValue::Deny);
                if row.guards || denies { self.close(key, &why) } else { self.ignore(key, &why) }
            }
        }
    }

    /// Sets an option beside what other keys have said of it: lists and lines have both, of anything else this counts.
    pub fn add(&mut self, option: &'static str, text: &str, key: &str) {
        let all = self.beside(option, text);
        self.set(option, &all, key);
    }

    /// Adds a line to what is said of an option, as far as there is room for it.
    pub fn add_line(&mut self, option: &'static str, line: &str, key: &str) -> bool {
        match self.read(option, &self.beside(option, line)) {
            Ok(value) => _ = self.level.written.values.insert(option, value),
            Err(wanted) => {
                let line = shortened(line);
                let how = format!(
                    "has {line:?} too much, for option {option} {wanted}: it is left out, and so is what is behind it"
                );
                self.differs(key, &how);
                return false;
            }
        }
        true
    }

    /// A text behind what is said of an option already.
    fn beside(&self, option: &'static str, text: &str) -> String {
        let (before, by): (Vec<String>, &str) = match self.value(option) {
            Some(OptionValue::Names(names)) => (names.to_vec(), ","),
            Some(OptionValue::Networks(networks)) => {
                (networks.iter().map(Network::text).map(str::to_owned).collect(), ",")
            }
            Some(OptionValue::Headers(headers)) => {
                (headers.iter().map(|header| format!("{}: {}", header.name, header.value)).collect(), "\n")
            }
            Some(OptionValue::Rewrites { rules, .. }) => {
                (rules.iter().map(|(pattern, path)| format!("{pattern} {path}")).collect(), "\n")
            }
            _ => (Vec::new(), ""),
        };
        let all: Vec<&str> = before.iter().map(String::as_str).chain([text]).collect();
        all.join(by)
    }

    /// Keeps clients out of all routes of the hosts: everybody where it cannot be read whom.
    pub fn guard_hosts(&mut self, option: &'static str, text: &str) {
        let (option, value) = self.value_or_closed(option, text);
        self.ingress.over_host.insert(option, value);
    }

    /// Keeps clients out whatever annotations of ours say; a list that cannot be read is closed by [`Self::set`].
    pub fn block(&mut self, networks: &str) {
        self.level.blocked =
            row("deny-from").and_then(|row| row.kind.read(networks, self.reader.settings).ok());
    }

    /// Has requests for one path answered by options, by 503 where one of them cannot be read. `of_routes`: as far as routes of the
    /// Ingress take the path.
    pub fn answer(&mut self, path: &str, of_routes: bool, options: &[(&'static str, String)]) {
        let options = options.iter().map(|(option, text)| self.value_or_closed(option, text)).collect();
        self.ingress.answers.push(PathAnswer { path: path.to_owned(), of_routes, options });
    }

    fn value_or_closed(&self, option: &'static str, text: &str) -> (&'static str, OptionValue) {
        let read = row(option).and_then(|row| row.kind.read(text, self.reader.settings).ok());
        read.map_or(("closed", OptionValue::Switch(true)), |value| (option, value))
    }

    /// Whether an option can have this value.
    #[must_use]
    pub fn is_value(&self, option: &str, text: &str) -> bool {
        self.value_of(option, text).is_some()
    }

    /// The value of an option by `text`, if that can be read.
    #[must_use]
    pub fn value_of(&self, option: &str, text: &str) -> Option<OptionValue> {
        self.read(option, text).ok()
    }

    /// Reads the value of an option.
    ///
    /// # Errors
    /// The form that it must have, behind the word "it".
    pub fn read(&self, option: &str, text: &str) -> Result<OptionValue, String> {
        let row = row(option).ok_or("must be an option that there is")?;
        row.kind.read(text, self.reader.settings)
    }

    /// Whether the operator lets Ingresses have TLS passed through.
    #[must_use]
    pub fn may_pass_tls(&self) -> bool {
        self.reader.settings.passthrough
    }

    /// Closes what has lists of clients that are for an address in a header, as `key` names it: they know no other than the X-Forwarded-For
    /// of proxies that are trusted.
    pub fn close_unknown_address(&mut self, said: &ReadAnnotations<'_>, key: &str, lists: [&str; 2]) {
        let Some(header) = said.text(key).filter(|_| lists.iter().any(|list| said.names(list))) else {
            return;
        };
        if !self.reader.settings.trusts_proxies || !header.trim().eq_ignore_ascii_case("x-forwarded-for") {
            self.close(key, "says whom the lists of clients are for, and they know no such address");
        }
    }

    /// Whether some proxies say of clients where they come from.
    #[must_use]
    pub fn trusts_proxies(&self) -> bool {
        self.reader.settings.trusts_proxies
    }

    /// Closes what has lists of clients, which are for addresses that nobody knows here, because of `key` of the ConfigMap: why.
    pub fn close_lists(&mut self, key: &str, why: &str) {
        let everybody = self.value_of("deny-from", EVERYBODY);
        let has_list = |options: &OptionValues| {
            let mut lists = ["allow-from", "deny-from"].iter().filter_map(|list| options.get(list));
            lists.any(|list| Some(list) != everybody.as_ref())
        };
        let mut is_found = has_list(&self.level.written.values);
        self.level.closed |= is_found;
        let answers = self.ingress.answers.iter_mut().map(|answer| &mut answer.options);
        for options in answers.chain([&mut self.ingress.over_host]).filter(|options| has_list(options)) {
            options.insert("closed", OptionValue::Switch(true));
            is_found = true;
        }
        if is_found {
            let sentence = format!(
                "{key} of the controller's ConfigMap {why}: requests that lists of clients guard get 503"
            );
            self.ingress.findings.push(Finding::new(FindingKind::ForeignUnreadable, sentence));
        }
    }

    /// The object of that name; `None` where what is named is not looked at.
    ///
    /// # Errors
    /// Why it cannot be read, in words behind its name.
    #[must_use]
    pub fn referenced(
        &self,
        kind: ReferencedKind,
        namespace: &str,
        name: &str,
    ) -> Option<Result<serde_json::Value, String>> {
        let About { namespace: of, name: ingress, referenced, .. } = self.reader.about;
        let read = referenced?.read(kind, (namespace, name), (of, ingress));
        let (called, named) = (kind.name(), shortened(&format!("{namespace}/{name}")));
        Some(read.map_err(|why| format!("names {called} {named}, {why}")))
    }

    /// Sets an option.
    pub fn set_value(&mut self, option: &'static str, value: OptionValue) {
        self.level.written.values.insert(option, value);
    }

    /// All requests get 503, because of `key`: what is wrong with it.
    pub fn close(&mut self, key: &str, why: &str) {
        self.level.closed = true;
        self.find_at_ingress(FindingKind::ForeignUnreadable, key, format!("{why}: all requests get 503"));
    }

    /// Nobody gets in, whatever other annotations say, because of `key`: what is wrong with it. For a controller whose refusals are 403.
    pub fn forbid(&mut self, key: &str, why: &str) {
        self.block(EVERYBODY);
        self.find_at_ingress(FindingKind::ForeignUnreadable, key, format!("{why}: all requests get 403"));
    }

    /// The same of lines that cannot be read.
    pub(super) fn close_unread(&mut self, key: &FamilyKey) {
        if key.name == "server-snippet" {
            self.guard_hosts("closed", "true");
        }
        self.close(key.name, "has more than 64 KiB, or control characters: nobody knows whom it keeps out");
    }

    /// All requests get 503, because of a key of the ConfigMap: what is wrong with it.
    pub fn closed_by_config(&mut self, key: &str, why: &str) {
        self.level.closed = true;
        let sentence = format!("{key} of the controller's ConfigMap {why}: all requests get 503");
        self.ingress.findings.push(Finding::new(FindingKind::ForeignUnreadable, sentence));
    }

    /// Something of a key of the ConfigMap is as if it was not there: what is wrong with it.
    pub fn ignored_by_config(&mut self, key: &str, why: &str) {
        let sentence = format!("{key} of the controller's ConfigMap {why}: it is ignored");
        self.ingress.findings.push(Finding::new(FindingKind::ForeignUnreadable, sentence));
    }

    /// Nothing of the Ingress is served, because of `key`: what is wrong with it.
    pub fn drop(&mut self, key: &str, why: &str) {
        (self.ingress.dropped, self.ingress.unreadable) = (true, true);
        self.find_at_ingress(
            FindingKind::ForeignUnreadable,
            key,
            format!("{why}: nothing of the Ingress is served"),
        );
    }

    /// Routes to the Service are left out, because of `key`: what is wrong with it.
    pub fn leave_out(&mut self, key: &str, why: &str) {
        self.level.left_out = true;
        self.find_at_ingress(
            FindingKind::ForeignUnreadable,
            key,
            format!("{why}: nobody gets there, its routes are left out"),
        );
    }

    /// A key is as if it was not there: what is wrong with it.
    pub fn ignore(&mut self, key: &str, why: &str) {
        self.find(FindingKind::ForeignUnreadable, key, format!("{why}: it is ignored"));
    }

    /// A key has no effect: what there is instead.
    pub fn cannot(&mut self, key: &str, instead: &str) {
        self.find(FindingKind::ForeignNotServed, key, format!("has no effect: {instead}"));
    }

    /// A key has another effect than its own controller gives it.
    pub fn differs(&mut self, key: &str, how: &str) {
        self.find(FindingKind::ForeignDiffers, key, how.to_owned());
    }

    pub(super) fn wrong(&mut self, key: &FamilyKey, text: &str, expected: &str) {
        let text = serde_json::Value::from(shortened(text));
        let why = format!("is {text}, it must be {expected}");
        match key.wrong {
            WrongValue::Default => self.ignore(key.name, &why),
            WrongValue::Deny => self.close(key.name, &why),
            WrongValue::Drop => self.drop(key.name, &why),
        }
    }

    pub(super) fn misplaced(&mut self, Annotation { written, .. }: Annotation<'_>) {
        self.find_at(FindingKind::ForeignNotServed, written, "has no effect there");
    }

    pub(super) fn unknown(&mut self, Annotation { written, name, .. }: Annotation<'_>) {
        self.reader.unknown += 1;
        if self.reader.unknown > FEW {
            return;
        }
        let known = self.reader.family.table().iter().map(|key| key.name);
        let sentence = format!(
            "is none that its own controller knows{}, it is ignored",
            did_you_mean(&shortened(name), known)
        );
        self.find_at(FindingKind::ForeignNotServed, &shortened(written), &sentence);
    }

    /// Tells a finding that leaves the Ingress served at the ConfigMap, where that says it.
    fn find(&mut self, kind: FindingKind, key: &str, sentence: String) {
        if self.reader.of_config.contains(key) && !self.reader.written.contains_key(key) {
            return self.config_findings.push((kind, key.to_owned(), sentence));
        }
        self.find_at_ingress(kind, key, sentence);
    }

    /// Tells a finding that closes the Ingress there, wherever it stands.
    fn find_at_ingress(&mut self, kind: FindingKind, key: &str, sentence: String) {
        if self.reader.of_config.contains(key) && !self.reader.written.contains_key(key) {
            let sentence = format!("{key} of the controller's ConfigMap {sentence}");
            return self.ingress.findings.push(Finding::new(kind, sentence));
        }
        let prefix = self.reader.family.prefixes().first().copied().unwrap_or_default();
        let annotation = self.reader.written.get(key).cloned().unwrap_or_else(|| format!("{prefix}{key}"));
        self.find_at(kind, &annotation, &sentence);
    }

    /// Thousands of lines of an annotation may be wrong: the first few are told.
    fn find_at(&mut self, kind: FindingKind, annotation: &str, sentence: &str) {
        let reported = self.reader.reported.entry(annotation.to_owned()).or_default();
        *reported += 1;
        if *reported > MOST_FINDINGS {
            return;
        }
        let finding = Finding::new(kind, format!("annotation {annotation} {sentence}"));
        self.ingress.findings.push(finding.at_annotation(annotation));
    }
}
