//! What is said by annotations of a family, and what becomes of it.

use super::{
    answers::PathAnswer,
    family::Family,
    forms::ForeignForms,
    key::{FamilyKey, KeyOutcome, KeyPlace, KeyTarget, WrongValue},
    paths::PathRules,
    settings::FamilySettings,
    sign_in::SignIn,
    values::ForeignValue,
};
use crate::{
    options::{
        MOST_BYTES, Settings,
        network::Network,
        table::row,
        value::{OptionValue, OptionValues},
    },
    referenced::{ReferencedKind, ReferencedObjects},
    sentences::shortened,
};
use haptic_model::{Finding, FindingKind};
use haptic_text::suggest::did_you_mean;
use std::collections::{BTreeMap, BTreeSet};

/// All clients.
pub const EVERYBODY: &str = "0.0.0.0/0, ::/0";

/// So many names that are no key's are told.
const FEW: usize = 5;

/// So much is told of one annotation.
const MOST_FINDINGS: usize = 10;

/// What annotations say, read by the types of the table.
#[derive(Debug)]
pub struct Said<'s> {
    /// What the configuration says of the family.
    pub settings: &'s FamilySettings,
    values: BTreeMap<&'static str, (ForeignValue, KeyPlace)>,
    /// Keys with values that cannot be read.
    wrong: BTreeSet<&'static str>,
    /// Keys without a value: they say nothing, and hide what is said farther away.
    silent: BTreeSet<&'static str>,
}

impl<'s> Said<'s> {
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

    /// What their ConfigMap says by these names, where nothing nearer is said.
    fn take_config(&mut self, is_taken: impl Fn(&str) -> bool, translation: &mut Translation<'_>) {
        let (config, family) = (&self.settings.config, self.settings.family);
        for (name, value) in config.values.iter().filter(|(name, _)| is_taken(name)) {
            let main = main_name(family, name);
            if !self.is_settled(main, name) {
                self.values.insert(main, (value.clone(), KeyPlace::Config));
                translation.of_config.insert(main);
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
                translation.written.entry(key.name).or_insert_with(|| annotation.written.to_owned());
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
            translation.written.insert(name, written.to_owned());
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

    /// What is said at a farther place counts besides, where the family has it so.
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

    /// What is wrong with a key of the ConfigMap, where nothing nearer is said.
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

/// An annotation of a family.
#[derive(Clone, Copy, Debug)]
struct Annotation<'a> {
    /// As it is written.
    written: &'a str,
    /// Behind the prefix.
    name: &'a str,
    text: &'a str,
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

/// What a key is called whose other name this may be.
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

/// What is known of the Ingress besides its annotations.
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
    /// What annotations name; without it what is there is not looked at, and has no effect.
    pub referenced: Option<&'a ReferencedObjects>,
}

/// What becomes of annotations of a family.
#[derive(Debug)]
pub struct Translation<'t> {
    /// Whose they are.
    pub family: Family,
    /// The Ingress.
    pub about: About<'t>,
    settings: &'t Settings,
    /// The options that they set.
    pub values: OptionValues,
    /// Whether all requests get 503.
    pub closed: bool,
    /// Whether nothing of the Ingress is served.
    pub dropped: bool,
    /// Whether routes to the Service are left out.
    pub left_out: bool,
    /// Whether its routes refuse requests that do not meet their conditions.
    pub refuses: bool,
    /// How paths are read, where that is not as ours are.
    pub paths: Option<PathRules>,
    /// What the options of a route have whose requests it shares; such an Ingress has no routes of its own.
    pub canary: Option<OptionValues>,
    /// More names of its hosts.
    pub aliases: Vec<String>,
    /// Other hosts whose requests are redirected to those of the Ingress, as far as nobody has routes there.
    pub redirected: Vec<String>,
    /// What paths begin with at which HTTP is not redirected to HTTPS.
    pub over_http: Vec<String>,
    /// What single paths of its hosts are answered.
    pub answers: Vec<PathAnswer>,
    /// How paths are compared.
    pub forms: ForeignForms,
    /// What clients are asked for that have not signed in.
    pub sign_in: Option<SignIn>,
    /// Whether servers get the certificate of a client as a whole, where the family has each Ingress say it for itself.
    pub passes_certificate: Option<bool>,
    /// Who is kept out of all routes of the hosts that have no lists of their own.
    pub over_host: OptionValues,
    /// Who is kept out whatever counts before what the Ingress says of the family.
    pub blocked: Option<OptionValue>,
    /// What is said of them.
    pub findings: Vec<Finding>,
    unknown: usize,
    /// How much was found at each annotation.
    told: BTreeMap<String, usize>,
    /// The annotations by which keys are written.
    written: BTreeMap<&'static str, String>,
    /// Keys that only the ConfigMap says.
    of_config: BTreeSet<&'static str>,
    /// What is said of these: it is told there, once.
    pub(super) told_of_config: Vec<(FindingKind, String, String)>,
}

impl<'t> Translation<'t> {
    pub(super) fn new(family: Family, about: About<'t>, settings: &'t Settings) -> Self {
        let (values, findings) = (BTreeMap::new(), Vec::new());
        let forms = ForeignForms::default();
        Self {
            family,
            about,
            settings,
            values,
            closed: false,
            dropped: false,
            left_out: false,
            refuses: false,
            paths: None,
            canary: None,
            aliases: Vec::new(),
            redirected: Vec::new(),
            over_http: Vec::new(),
            answers: Vec::new(),
            forms,
            sign_in: None,
            passes_certificate: None,
            over_host: BTreeMap::new(),
            blocked: None,
            findings,
            unknown: 0,
            told: BTreeMap::new(),
            written: BTreeMap::new(),
            of_config: BTreeSet::new(),
            told_of_config: Vec::new(),
        }
    }

    /// Nothing of an Ingress is served that has one of the words in an annotation which the ConfigMap forbids.
    pub(super) fn drop_words(&mut self, said: &Said<'_>, ingress: &BTreeMap<String, String>) {
        let Some(words) = said.text("annotation-value-word-blocklist") else { return };
        let words: Vec<&str> = words.split(',').map(str::trim).filter(|word| !word.is_empty()).collect();
        let of_family =
            ingress.iter().filter_map(|(key, text)| Some((self.family.behind_prefix(key)?, text)));
        let found: Vec<(&str, &str)> = of_family
            .filter_map(|(key, text)| Some((key, *words.iter().find(|word| text.contains(**word))?)))
            .collect();
        for (key, word) in found {
            self.drop(key, &format!("has {word:?}, which annotation-value-word-blocklist forbids"));
        }
    }

    /// Whatever is one option.
    pub(super) fn options_of(&mut self, said: &Said<'_>) {
        for (name, (value, _)) in &said.values {
            if let Some(key) = self.family.key(name)
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
        match row.kind.read(text, self.settings) {
            Ok(value) => _ = self.values.insert(row.name, value),
            Err(wanted) => {
                let text = serde_json::Value::from(shortened(text));
                let why = format!("is {text} for option {option}, which {wanted}");
                let denies = self.family.key(key).is_some_and(|key| key.wrong == WrongValue::Deny);
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
            Ok(value) => _ = self.values.insert(option, value),
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
        let (before, by): (Vec<String>, &str) = match self.values.get(option) {
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
        self.over_host.insert(option, value);
    }

    /// Keeps clients out whatever annotations of ours say; a list that cannot be read is closed by [`Self::set`].
    pub fn block(&mut self, networks: &str) {
        self.blocked = row("deny-from").and_then(|row| row.kind.read(networks, self.settings).ok());
    }

    /// Has requests for one path answered by options, by 503 where one of them cannot be read. `of_routes`: as far as routes of the
    /// Ingress take the path.
    pub fn answer(&mut self, path: &str, of_routes: bool, options: &[(&'static str, String)]) {
        let options = options.iter().map(|(option, text)| self.value_or_closed(option, text)).collect();
        self.answers.push(PathAnswer { path: path.to_owned(), of_routes, options });
    }

    fn value_or_closed(&self, option: &'static str, text: &str) -> (&'static str, OptionValue) {
        let read = row(option).and_then(|row| row.kind.read(text, self.settings).ok());
        read.map_or(("closed", OptionValue::Switch(true)), |value| (option, value))
    }

    /// Whether an option can have this value.
    #[must_use]
    pub fn is_value(&self, option: &str, text: &str) -> bool {
        self.value_of(option, text).is_some()
    }

    /// What an option is by `text`, if that can be read.
    #[must_use]
    pub fn value_of(&self, option: &str, text: &str) -> Option<OptionValue> {
        self.read(option, text).ok()
    }

    /// What an option is by `text`.
    ///
    /// # Errors
    /// What it must be, behind the word "it".
    pub fn read(&self, option: &str, text: &str) -> Result<OptionValue, String> {
        let row = row(option).ok_or("must be an option that there is")?;
        row.kind.read(text, self.settings)
    }

    /// Whether the operator lets Ingresses have TLS passed through.
    #[must_use]
    pub fn may_pass_tls(&self) -> bool {
        self.settings.passthrough
    }

    /// Closes what has lists of clients that are for an address in a header, as `key` names it: they know no other than the X-Forwarded-For
    /// of proxies that are trusted.
    pub fn close_unknown_address(&mut self, said: &Said<'_>, key: &str, lists: [&str; 2]) {
        let Some(header) = said.text(key).filter(|_| lists.iter().any(|list| said.names(list))) else {
            return;
        };
        if !self.settings.trusts_proxies || !header.trim().eq_ignore_ascii_case("x-forwarded-for") {
            self.close(key, "says whom the lists of clients are for, and they know no such address");
        }
    }

    /// Whether some proxies say of clients where they come from.
    #[must_use]
    pub fn trusts_proxies(&self) -> bool {
        self.settings.trusts_proxies
    }

    /// Closes what has lists of clients, which are for addresses that nobody knows here, because of `key` of the ConfigMap: why.
    pub fn close_lists(&mut self, key: &str, why: &str) {
        let everybody = self.value_of("deny-from", EVERYBODY);
        let has_list = |options: &OptionValues| {
            let mut lists = ["allow-from", "deny-from"].iter().filter_map(|list| options.get(list));
            lists.any(|list| Some(list) != everybody.as_ref())
        };
        let mut is_found = has_list(&self.values);
        self.closed |= is_found;
        let answers = self.answers.iter_mut().map(|answer| &mut answer.options);
        for options in answers.chain([&mut self.over_host]).filter(|options| has_list(options)) {
            options.insert("closed", OptionValue::Switch(true));
            is_found = true;
        }
        if is_found {
            let sentence = format!(
                "{key} of the controller's ConfigMap {why}: requests that lists of clients guard get 503"
            );
            self.findings.push(Finding::new(FindingKind::ForeignUnreadable, sentence));
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
        let About { namespace: of, name: ingress, referenced, .. } = self.about;
        let read = referenced?.read(kind, (namespace, name), (of, ingress));
        let (called, named) = (kind.name(), shortened(&format!("{namespace}/{name}")));
        Some(read.map_err(|why| format!("names {called} {named}, {why}")))
    }

    /// Sets an option.
    pub fn set_value(&mut self, option: &'static str, value: OptionValue) {
        self.values.insert(option, value);
    }

    /// All requests get 503, because of `key`: what is wrong with it.
    pub fn close(&mut self, key: &str, why: &str) {
        self.closed = true;
        self.find_at_ingress(FindingKind::ForeignUnreadable, key, format!("{why}: all requests get 503"));
    }

    /// Nobody gets in, whatever other annotations say, because of `key`: what is wrong with it. For a controller whose refusals are 403.
    pub fn forbid(&mut self, key: &str, why: &str) {
        self.block(EVERYBODY);
        self.find_at_ingress(FindingKind::ForeignUnreadable, key, format!("{why}: all requests get 403"));
    }

    /// The same of lines that cannot be read.
    fn close_unread(&mut self, key: &FamilyKey) {
        if key.name == "server-snippet" {
            self.guard_hosts("closed", "true");
        }
        self.close(key.name, "has more than 64 KiB, or control characters: nobody knows whom it keeps out");
    }

    /// All requests get 503, because of a key of the ConfigMap: what is wrong with it.
    pub fn closed_by_config(&mut self, key: &str, why: &str) {
        self.closed = true;
        let sentence = format!("{key} of the controller's ConfigMap {why}: all requests get 503");
        self.findings.push(Finding::new(FindingKind::ForeignUnreadable, sentence));
    }

    /// Something of a key of the ConfigMap is as if it was not there: what is wrong with it.
    pub fn ignored_by_config(&mut self, key: &str, why: &str) {
        let sentence = format!("{key} of the controller's ConfigMap {why}: it is ignored");
        self.findings.push(Finding::new(FindingKind::ForeignUnreadable, sentence));
    }

    /// Nothing of the Ingress is served, because of `key`: what is wrong with it.
    pub fn drop(&mut self, key: &str, why: &str) {
        self.dropped = true;
        self.find_at_ingress(
            FindingKind::ForeignUnreadable,
            key,
            format!("{why}: nothing of the Ingress is served"),
        );
    }

    /// Routes to the Service are left out, because of `key`: what is wrong with it.
    pub fn leave_out(&mut self, key: &str, why: &str) {
        self.left_out = true;
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

    fn wrong(&mut self, key: &FamilyKey, text: &str, expected: &str) {
        let text = serde_json::Value::from(shortened(text));
        let why = format!("is {text}, it must be {expected}");
        match key.wrong {
            WrongValue::Default => self.ignore(key.name, &why),
            WrongValue::Deny => self.close(key.name, &why),
            WrongValue::Drop => self.drop(key.name, &why),
        }
    }

    fn misplaced(&mut self, Annotation { written, .. }: Annotation<'_>) {
        self.find_at(FindingKind::ForeignNotServed, written, "has no effect there");
    }

    fn unknown(&mut self, Annotation { written, name, .. }: Annotation<'_>) {
        self.unknown += 1;
        if self.unknown > FEW {
            return;
        }
        let known = self.family.table().iter().map(|key| key.name);
        let sentence = format!(
            "is none that its own controller knows{}, it is ignored",
            did_you_mean(&shortened(name), known)
        );
        self.find_at(FindingKind::ForeignNotServed, &shortened(written), &sentence);
    }

    /// What leaves the Ingress served is told at the ConfigMap, where that says it.
    fn find(&mut self, kind: FindingKind, key: &str, sentence: String) {
        if self.of_config.contains(key) && !self.written.contains_key(key) {
            return self.told_of_config.push((kind, key.to_owned(), sentence));
        }
        self.find_at_ingress(kind, key, sentence);
    }

    /// What closes the Ingress is told there, wherever it stands.
    fn find_at_ingress(&mut self, kind: FindingKind, key: &str, sentence: String) {
        if self.of_config.contains(key) && !self.written.contains_key(key) {
            let sentence = format!("{key} of the controller's ConfigMap {sentence}");
            return self.findings.push(Finding::new(kind, sentence));
        }
        let prefix = self.family.prefixes().first().copied().unwrap_or_default();
        let annotation = self.written.get(key).cloned().unwrap_or_else(|| format!("{prefix}{key}"));
        self.find_at(kind, &annotation, &sentence);
    }

    /// Thousands of lines of an annotation may be wrong: the first few are told.
    fn find_at(&mut self, kind: FindingKind, annotation: &str, sentence: &str) {
        let told = self.told.entry(annotation.to_owned()).or_default();
        *told += 1;
        if *told > MOST_FINDINGS {
            return;
        }
        let finding = Finding::new(kind, format!("annotation {annotation} {sentence}"));
        self.findings.push(finding.at_annotation(annotation));
    }
}
