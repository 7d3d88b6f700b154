//! The options of an Ingress's paths: paths with the same ones are a group.

use super::{
    MOST_BYTES, PREFIX, Refusal, RouteOptions, Settings, Written, finding, guards,
    level::Level,
    option_of,
    paths::{PATHS, paths},
    table::row,
    value::OptionValue,
};
use crate::{
    conditions::RouteConditions,
    patterns::{self, Pattern, Rewrite},
    sentences::shortened,
};
use haptic_model::{Digest, Finding, FindingKind};
use serde_json::{Map, Value as Json};
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

/// So many digits tell the groups of an Ingress apart.
const DIGITS: usize = 16;

/// The annotations of an Ingress, read.
#[derive(Debug, Default)]
pub struct Annotations {
    ingress: Written,
    paths: BTreeMap<String, Written>,
}

/// Paths with the same options.
#[derive(Clone, Debug, PartialEq)]
pub struct OptionGroup {
    /// The Ingress's own name; of paths with options of their own, another one that no object can have.
    pub id: Arc<str>,
    /// What counts for them.
    pub options: Map<String, Json>,
}

impl Annotations {
    /// Reads those of ours, and those of others that the configuration names.
    #[must_use]
    pub fn read(annotations: &BTreeMap<String, String>, settings: &Settings) -> Self {
        let own = || annotations.iter().filter_map(|(key, text)| Some((option_of(key, settings)?, &**text)));
        let mut ingress = Written::read(Level::Ingress, own().filter(|(name, _)| *name != PATHS), settings);
        let mut of_paths = BTreeMap::new();
        if let Some((_, text)) = own().find(|(name, _)| *name == PATHS) {
            if text.len() > MOST_BYTES {
                ingress.refused.push(Refusal::of_size(PATHS, text.len()));
            } else {
                match paths(text) {
                    Ok(read) => of_paths = read,
                    Err(wanted) => ingress.refused.push(Refusal::of_value(PATHS, text, wanted)),
                }
            }
        }
        let one = |(path, options): (String, BTreeMap<String, String>)| {
            let texts = options.iter().map(|(name, text)| (name.as_str(), text.as_str()));
            let mut written = Written::read(Level::Path, texts, settings);
            written.refused.iter_mut().for_each(|refusal| refusal.path = Some(path.clone()));
            (path, written)
        };
        Self { ingress, paths: of_paths.into_iter().map(one).collect() }
    }

    /// The options of a path, which may have ones of its own, as its Service may.
    #[must_use]
    pub fn of(&self, path: Option<&str>, service: Option<&Written>, settings: &Settings) -> RouteOptions {
        let of_path = path.and_then(|path| self.paths.get(path));
        let mut options = RouteOptions::of_levels([of_path, Some(&self.ingress), service], settings);
        if let Some((path, _)) = path.zip(of_path) {
            options
                .refused
                .iter_mut()
                .for_each(|refusal| _ = refusal.path.get_or_insert_with(|| path.to_owned()));
        }
        options
    }

    /// A path that is a regular expression by its options.
    #[must_use]
    pub fn pattern(&self, path: &str, path_type: Option<&str>) -> Option<Result<Pattern, String>> {
        let kind = self.text_of(path, "path-type").filter(|_| path_type != Some("Exact"))?;
        let flag = if kind == patterns::IGNORING_CASE { "(?i)" } else { "" };
        Some(patterns::read(&format!("{flag}{path}"), self.text_of(path, "rewrite-target")))
    }

    /// Whether something of it guards access.
    #[must_use]
    pub fn is_guarded(&self) -> bool {
        let levels = self.paths.values().chain([&self.ingress]);
        levels.flat_map(|written| written.values.keys()).any(|name| row(name).is_some_and(|row| row.guards))
    }

    /// What requests for a path must have besides.
    #[must_use]
    pub fn conditions(&self, path: &str) -> Option<RouteConditions> {
        let of = |option: &str| match self.value_of(path, option) {
            Some(OptionValue::Conditions(all)) => all.clone(),
            _ => Vec::new(),
        };
        let both = |exact: &str, patterns: &str| of(exact).into_iter().chain(of(patterns)).collect();
        let mut methods = match self.value_of(path, "match-methods") {
            Some(OptionValue::Names(methods)) => methods.clone(),
            _ => Vec::new(),
        };
        methods.sort();
        methods.dedup();
        let (headers, query) =
            (both("match-headers", "match-headers-regex"), both("match-query", "match-query-regex"));
        let all = RouteConditions { methods, headers, query };
        (all != RouteConditions::default()).then_some(all)
    }

    fn text_of(&self, path: &str, option: &str) -> Option<&str> {
        match self.value_of(path, option)? {
            OptionValue::Text(text) => Some(text),
            _ => None,
        }
    }

    /// An option of a path as it stands there, or at the Ingress.
    fn value_of(&self, path: &str, option: &str) -> Option<&OptionValue> {
        let mut levels = self.paths.get(path).into_iter().chain([&self.ingress]);
        levels.find_map(|written| written.values.get(option))
    }

    /// All that cannot be read of an Ingress.
    #[must_use]
    pub fn refused(&self, settings: &Settings) -> Vec<Refusal> {
        let mut refused = self.of(None, None, settings).refused;
        for path in self.paths.keys() {
            let of_path = self.of(Some(path), None, settings).refused;
            let known = |refusal: &Refusal| {
                refused.iter().any(|one: &Refusal| one.option == refusal.option && one.why == refusal.why)
            };
            let news: Vec<Refusal> = of_path.into_iter().filter(|refusal| !known(refusal)).collect();
            refused.extend(news);
        }
        refused
    }
}

/// By what groups differ: paths and Services with options of their own, and what takes the place of paths.
type GroupKey = (Option<String>, Option<Arc<str>>, Option<Rewrite>);

/// The groups of one Ingress, as its paths are read.
pub struct Grouping<'g> {
    name: Arc<str>,
    annotations: Annotations,
    settings: &'g Settings,
    services: &'g dyn Fn(&str) -> Option<&'g Written>,
    groups: Vec<OptionGroup>,
    /// By path and Service, as far as these have options of their own.
    numbers: BTreeMap<GroupKey, usize>,
    /// What does nothing, or something else than it may seem.
    found: BTreeSet<Finding>,
    used: BTreeSet<String>,
    /// Those of the Ingress as a whole.
    own: RouteOptions,
}

impl<'g> Grouping<'g> {
    /// For the Ingress of that name. `services` has the options of Services of its namespace.
    #[must_use]
    pub fn new(
        name: Arc<str>,
        annotations: Annotations,
        settings: &'g Settings,
        services: &'g dyn Fn(&str) -> Option<&'g Written>,
    ) -> Self {
        let own = annotations.of(None, None, settings);
        let groups = vec![OptionGroup { id: name.clone(), options: own.to_map() }];
        let found = own.ineffective.iter().cloned().collect();
        let (numbers, used) = (BTreeMap::new(), BTreeSet::new());
        Self { name, annotations, settings, services, groups, numbers, found, used, own }
    }

    /// The options of the Ingress as a whole.
    #[must_use]
    pub fn own(&self) -> &RouteOptions {
        &self.own
    }

    /// The annotations.
    #[must_use]
    pub fn annotations(&self) -> &Annotations {
        &self.annotations
    }

    /// The number of the group of a path and the Service it leads to.
    pub fn number(&mut self, path: &str, service: &Arc<str>, rewrite: Option<Rewrite>) -> usize {
        if self.annotations.paths.contains_key(path) {
            self.used.insert(path.to_owned());
        }
        let of_service = (self.services)(service);
        let of_path = self.annotations.paths.contains_key(path).then(|| path.to_owned());
        let key = (of_path, of_service.is_some().then(|| service.clone()), rewrite);
        if key == (None, None, None) {
            return 0;
        }
        if let Some(number) = self.numbers.get(&key) {
            return *number;
        }
        let mut options = self.annotations.of(key.0.as_deref(), of_service, self.settings);
        if let Some(written) = of_service {
            self.found.extend(written.misplaced.iter().map(|row| {
                let sentence = format!(
                    "Service {service}: annotation {PREFIX}{} stands at other levels only, it is ignored",
                    row.name
                );
                finding(FindingKind::OptionWithoutEffect, row.name, sentence)
            }));
            for refusal in &written.refused {
                let sentence = format!("Service {service}: {refusal}; it is ignored");
                self.found.insert(finding(
                    FindingKind::OptionUnreadable,
                    &shortened(&refusal.option),
                    sentence,
                ));
                if guards(&refusal.option, self.settings) {
                    options.values.insert("closed", OptionValue::Switch(true));
                }
            }
        }
        let (number, id) = (self.groups.len(), self.id(&key));
        // What has a limit of its own is counted for itself.
        let of_path = key.0.as_ref().and_then(|path| self.annotations.paths.get(path));
        if of_path.is_some_and(|written| written.values.contains_key("rate-limit")) {
            options.others.insert("rate-limit-own".to_owned(), id.to_string());
        }
        let mut map = options.to_map();
        if let Some(rewrite) = &key.2 {
            map.remove("rewrite-target");
            let (option, text) = rewrite.option();
            map.insert(option.to_owned(), Json::from(text));
        }
        self.groups.push(OptionGroup { id, options: map });
        self.found.extend(options.ineffective);
        self.numbers.insert(key, number);
        number
    }

    /// The number of a group of requests that are redirected to another host.
    pub fn redirecting_to(&mut self, host: &str) -> usize {
        let mut options = Map::from_iter([("redirect-host".to_owned(), Json::from(host))]);
        for kept in ["redirect-code", "ssl-redirect", "closed"] {
            options.extend(self.own.values.get(kept).map(|value| (kept.to_owned(), value.to_json())));
        }
        let digest = Digest::of(format!("to {host}").as_bytes()).to_string();
        let id = format!("{}:{}", self.name, digest.get(..DIGITS).unwrap_or_default()).into();
        self.groups.push(OptionGroup { id, options });
        self.groups.len() - 1
    }

    /// The same as long as path and Service are called the same.
    fn id(&self, (path, service, rewrite): &GroupKey) -> Arc<str> {
        let how = rewrite.as_ref().map(|rewrite| format!(" {}", rewrite.option().0)).unwrap_or_default();
        let digest = Digest::of(format!("{path:?} {service:?}{how}").as_bytes()).to_string();
        format!("{}:{}", self.name, digest.get(..DIGITS).unwrap_or_default()).into()
    }

    /// The groups, the first of which is that of the Ingress as a whole; what cannot be read, and what does nothing.
    #[must_use]
    pub fn done(self) -> (Vec<OptionGroup>, Vec<Refusal>, Vec<Finding>) {
        let unused = self.annotations.paths.keys().filter(|path| !self.used.contains(*path));
        let unused = unused.map(|path| {
            let path = shortened(path);
            let sentence = format!(
                "annotation {PREFIX}{PATHS} has {path:?}, which is no path of it as it is written there"
            );
            finding(FindingKind::OptionWithoutEffect, PATHS, sentence).at_path(&path)
        });
        let refused = self.annotations.refused(self.settings);
        (self.groups, refused, self.found.into_iter().chain(unused).collect())
    }
}
