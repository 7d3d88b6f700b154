//! The options of an Ingress's paths: paths with the same ones are a group.

use super::{
    annotation::{MOST_BYTES, PREFIX, finding},
    class_objects,
    level::Level,
    paths::{PATHS, paths},
    refusal::Refusal,
    route_options::RouteOptions,
    settings::Settings,
    table::row,
    vain::{is_over_tls, wants_tls},
    value::{OptionValue, OptionValues},
    written::Written,
};
use crate::{
    families::{ForeignOptions, PathRules},
    matching::{
        conditions::RouteConditions,
        patterns::{self, Pattern, Rewrite},
    },
    sentences::shortened,
};
use haptic_model::{Finding, FindingKind};
use haptic_text::Digest;
use serde_json::{Map, Value as Json};
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

/// The digits that tell the groups of an Ingress apart.
const DIGITS: usize = 16;

/// Whether nobody may get in where the option cannot be read; of those of a user's own nobody knows.
pub(super) fn guards(option: &str, settings: &Settings) -> bool {
    let of_own = || option == PATHS || settings.own.iter().any(|own| own == option);
    row(option).map_or_else(of_own, |row| row.guards)
}

/// The name of an annotation as an option: ours without [`PREFIX`], those of others whole.
pub(super) fn option_of<'k>(key: &'k str, settings: &Settings) -> Option<&'k str> {
    let of_others = || settings.own.iter().any(|own| own == key && own.contains('/'));
    key.strip_prefix(PREFIX).or_else(|| of_others().then_some(key))
}

/// The annotations of an Ingress, read.
#[derive(Debug, Default)]
pub struct Annotations {
    ingress: Written,
    paths: BTreeMap<String, Written>,
    /// The options that families make of annotations: farther than those that are written in ours at the Ingress.
    foreign: ForeignOptions,
}

/// Paths with the same options.
#[derive(Clone, Debug, PartialEq)]
pub struct OptionGroup {
    /// The Ingress's own name; of paths with options of their own, another one that no object can have.
    pub id: Arc<str>,
    /// The options that count for them: of the Ingress's own group all of them, of others those that are different, null where they have none.
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
        Self { ingress, paths: of_paths.into_iter().map(one).collect(), foreign: ForeignOptions::default() }
    }

    /// The same with what families make of annotations.
    #[must_use]
    pub fn with(self, foreign: ForeignOptions) -> Self {
        Self { foreign, ..self }
    }

    /// Where something guards access, what cannot be read has nobody let in: with no route of the object others of the host would take its
    /// requests, and let them in. Whether that is so.
    pub fn close_unreadable(&mut self) -> bool {
        let is_closed = self.foreign.ingress.unreadable && self.is_guarded();
        if is_closed {
            self.foreign.close();
        }
        is_closed
    }

    /// The options of a path, which may have ones of its own, as its Service may.
    #[must_use]
    pub fn of(
        &self,
        path: Option<&str>,
        service: Option<(&str, Option<&Written>)>,
        settings: &Settings,
    ) -> RouteOptions {
        let of_path = path.and_then(|path| self.paths.get(path));
        let foreign = self.foreign.level(service.map(|(name, _)| name));
        let of_service = service.and_then(|(_, written)| written);
        let levels = [of_path, Some(&self.ingress), Some(&foreign.written), of_service];
        let mut options = RouteOptions::of_levels(levels, settings);
        if foreign.closed {
            options.values.insert("closed", OptionValue::Switch(true));
        }
        if let Some(OptionValue::Networks(blocked)) = &foreign.blocked {
            let known = match options.values.get("deny-from") {
                Some(OptionValue::Networks(known)) => known.to_vec(),
                _ => Vec::new(),
            };
            let more: Vec<_> = blocked.iter().filter(|one| !known.contains(one)).cloned().collect();
            let all = known.into_iter().chain(more).collect();
            options.values.insert("deny-from", OptionValue::Networks(all));
        }
        if let Some((path, _)) = path.zip(of_path) {
            options
                .refused
                .iter_mut()
                .for_each(|refusal| _ = refusal.path.get_or_insert_with(|| path.to_owned()));
        }
        options
    }

    /// Adds what a family says of one route: it counts before what the family says of the Ingress, and after all that is said in words
    /// of ours.
    pub fn add_own(&self, path: &str, own: OwnOptions, options: &mut RouteOptions) {
        let of_path = self.paths.get(path);
        let is_ours = |name: &str| {
            let mut levels = of_path.into_iter().chain([&self.ingress]);
            levels.any(|written| written.values.contains_key(name))
        };
        own.without.iter().filter(|name| !is_ours(name)).for_each(|name| drop(options.values.remove(*name)));
        options.values.extend(own.options.into_iter().filter(|(name, _)| !is_ours(name)));
    }

    /// A path that is a regular expression by its options.
    #[must_use]
    pub fn pattern(&self, path: &str, path_type: Option<&str>) -> Option<Result<Pattern, String>> {
        let kind = self.text_of(path, "path-type").filter(|_| path_type != Some("Exact"))?;
        let flag = if kind == patterns::IGNORING_CASE { "(?i)" } else { "" };
        Some(patterns::read(&format!("{flag}{path}"), self.text_of(path, "rewrite-target")))
    }

    /// How paths are read, where a family says so and no option of ours does.
    #[must_use]
    pub fn path_rules(&self, path: &str) -> Option<&PathRules> {
        self.foreign.ingress.paths.as_ref().filter(|_| self.text_of(path, "path-type").is_none())
    }

    /// The options that families make of annotations.
    #[must_use]
    pub fn foreign(&self) -> &ForeignOptions {
        &self.foreign
    }

    /// A path that families compare in a way of their own, or put something in the place of.
    #[must_use]
    pub fn foreign_pattern(
        &self,
        path: &str,
        path_type: Option<&str>,
        service: Option<&str>,
        raw: bool,
    ) -> Option<Result<Pattern, String>> {
        self.foreign.level(service).forms.pattern(path, path_type, raw)
    }

    /// Whether the object itself says so in words of ours.
    #[must_use]
    pub fn says(&self, option: &str) -> bool {
        let mut levels = self.paths.values().chain([&self.ingress]);
        levels.any(|written| written.values.contains_key(option))
    }

    /// Whether something of it guards access.
    #[must_use]
    pub fn is_guarded(&self) -> bool {
        let of_foreign = self.foreign.levels().map(|level| &level.written);
        let levels = self.paths.values().chain([&self.ingress]).chain(of_foreign);
        let has_guards =
            |written: &Written| written.values.keys().any(|name| row(name).is_some_and(|row| row.guards));
        self.foreign.levels().any(|level| level.closed || level.blocked.is_some() || level.sign_in.is_some())
            || levels.into_iter().any(has_guards)
    }

    /// The conditions on requests for a path that leads to a Service.
    #[must_use]
    pub fn conditions(&self, path: &str, service: &str) -> Option<RouteConditions> {
        let foreign = &self.foreign.level(Some(service)).written;
        let value_of = |option: &str| self.nearest(path, foreign, option);
        let of = |option: &str| match value_of(option) {
            Some(OptionValue::Conditions(all)) => all.to_vec(),
            _ => Vec::new(),
        };
        let both = |exact: &str, patterns: &str| of(exact).into_iter().chain(of(patterns)).collect();
        let mut methods = match value_of("match-methods") {
            Some(OptionValue::Names(methods)) => methods.to_vec(),
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
        self.nearest(path, &self.foreign.own.written, option)
    }

    /// The same, beside what families say.
    fn nearest<'a>(&'a self, path: &str, foreign: &'a Written, option: &str) -> Option<&'a OptionValue> {
        let levels = self.paths.get(path).into_iter().chain([&self.ingress, foreign]);
        levels.into_iter().find_map(|written| written.values.get(option))
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

/// By what groups differ: paths and Services with options of their own, what takes the place of paths, what a Service's port says of
/// its protocol, and what a family says of one route.
type GroupKey = (Option<String>, Option<Arc<str>>, Option<Rewrite>, Option<&'static str>, Option<String>);

/// The options of one route from other sources than path, Ingress and Service.
#[derive(Clone, Debug, Default)]
pub struct RouteSays {
    /// The protocol of the Service's port, unless an annotation says otherwise.
    pub protocol: Option<&'static str>,
    /// The options of a family.
    pub own: Option<OwnOptions>,
}

/// The options of a family for one route.
#[derive(Clone, Debug, Default)]
pub struct OwnOptions {
    /// By which those of an Ingress are told apart; the same as long as what they are for is called the same.
    pub label: String,
    /// The options: nearer ones count before them.
    pub options: OptionValues,
    /// The options of the family at the Ingress that do not count for the route.
    pub without: Vec<&'static str>,
}

/// The groups of one Ingress, as its paths are read.
pub struct Grouping<'g> {
    name: Arc<str>,
    annotations: Annotations,
    settings: &'g Settings,
    services: &'g dyn Fn(&str) -> Option<&'g Written>,
    groups: Vec<OptionGroup>,
    /// By path and Service, as far as these have options of their own.
    numbers: BTreeMap<GroupKey, usize>,
    /// The findings at options that do nothing, or something else than they may seem.
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
    pub fn number(
        &mut self,
        path: &str,
        service: &Arc<str>,
        rewrite: Option<Rewrite>,
        RouteSays { protocol, own }: RouteSays,
    ) -> usize {
        if self.annotations.paths.contains_key(path) {
            self.used.insert(path.to_owned());
        }
        let of_service = (self.services)(service);
        let of_path = self.annotations.paths.contains_key(path).then(|| path.to_owned());
        let is_apart = of_service.is_some() || self.annotations.foreign.of_services.contains_key(service);
        let says = |written: &Written| written.values.contains_key("protocol");
        let is_said = self.annotations.value_of(path, "protocol").is_some() || of_service.is_some_and(says);
        let protocol = protocol.filter(|_| !is_said && self.settings.app_protocol);
        let label = own.as_ref().map(|own| own.label.clone());
        let key = (of_path, is_apart.then(|| service.clone()), rewrite, protocol, label);
        if key == (None, None, None, None, None) {
            return 0;
        }
        if let Some(number) = self.numbers.get(&key) {
            return *number;
        }
        let mut with_protocol = of_service.cloned().unwrap_or_default();
        let of_port = protocol.map(|protocol| ("protocol", OptionValue::Text(protocol.to_owned())));
        with_protocol.values.extend(of_port);
        let mut options =
            self.annotations.of(key.0.as_deref(), Some((service, Some(&with_protocol))), self.settings);
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
        if let Some(own) = own {
            self.annotations.add_own(path, own, &mut options);
            options.enforce(self.settings);
        }
        let (number, id) = (self.groups.len(), self.id(&key));
        // What has a limit of its own is counted for itself.
        let of_path = key.0.as_ref().and_then(|path| self.annotations.paths.get(path));
        if of_path.is_some_and(|written| written.values.contains_key("rate-limit")) {
            options.others.insert("rate-limit-own".to_owned(), id.clone());
        }
        if let Some(rewrite) = &key.2 {
            options.values.remove("rewrite-target");
            let (option, text) = rewrite.option();
            options.others.insert(option.to_owned(), text.into());
        }
        self.groups.push(OptionGroup { id, options: options.difference_from(&self.own) });
        self.found.extend(options.ineffective);
        self.numbers.insert(key, number);
        number
    }

    /// The number of a group of requests that are redirected to another host.
    pub fn redirecting_to(&mut self, host: &str) -> usize {
        let mut options = RouteOptions::default();
        options.others.insert("redirect-host".to_owned(), host.into());
        for kept in ["redirect-code", "redirect-port", "ssl-redirect", "ssl-redirect-slash", "closed"] {
            options
                .values
                .extend(self.own.values.get_key_value(kept).map(|(name, value)| (*name, value.clone())));
        }
        // A location with the port of the request has its scheme.
        if options.values.contains_key("redirect-port") {
            options.values.insert("ssl-redirect", OptionValue::Text("false".to_owned()));
        }
        options.enforce(self.settings);
        let digest = Digest::of(format!("to {host}").as_bytes()).to_string();
        let id = format!("{}:{}", self.name, digest.get(..DIGITS).unwrap_or_default()).into();
        self.groups.push(OptionGroup { id, options: options.difference_from(&self.own) });
        self.groups.len() - 1
    }

    /// The number of a group of requests that no route takes: what counts for the object counts for them, and `own`; nothing where
    /// that is not there.
    pub fn of_rest(&mut self, own: Option<OwnOptions>) -> usize {
        let label = own.as_ref().map(|own| own.label.clone());
        if label.as_ref().is_some_and(String::is_empty) {
            return 0;
        }
        let key = (None, None, None, None, Some(format!("rest {label:?}")));
        if let Some(number) = self.numbers.get(&key) {
            return *number;
        }
        let mut options = match own {
            Some(own) => {
                let mut options = self.annotations.of(None, None, self.settings);
                options.values.extend(own.options);
                options
            }
            None => {
                let mut options = RouteOptions::default();
                options.values.insert("ssl-redirect", OptionValue::Text("false".to_owned()));
                let of_class = self.settings.class.defaults.get_key_value(class_objects::SERVICE);
                options.values.extend(of_class.map(|(name, value)| (*name, value.clone())));
                options
            }
        };
        options.enforce(self.settings);
        let (number, id) = (self.groups.len(), self.id(&key));
        self.groups.push(OptionGroup { id, options: options.difference_from(&self.own) });
        self.numbers.insert(key, number);
        number
    }

    /// The same as long as path and Service are called the same.
    fn id(&self, (path, service, rewrite, protocol, label): &GroupKey) -> Arc<str> {
        let how = rewrite.as_ref().map(|rewrite| format!(" {}", rewrite.option().0)).unwrap_or_default();
        let spoken = protocol.map(|protocol| format!(" speaking {protocol}")).unwrap_or_default();
        let label = label.as_ref().map(|label| format!(" {label}")).unwrap_or_default();
        let digest = Digest::of(format!("{path:?} {service:?}{how}{spoken}{label}").as_bytes()).to_string();
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
        // A Service's port may say what the Ingress does not.
        let is_tls =
            self.groups.iter().any(|group| is_over_tls(group.options.get("protocol").and_then(Json::as_str)));
        let found = self.found.into_iter().filter(|finding| !(is_tls && wants_tls(finding)));
        (self.groups, refused, found.chain(unused).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::difference::GroupOptions;

    #[test]
    fn large_options_of_an_ingress_are_there_once_however_many_services_have_some() {
        let settings = Settings::default();
        let networks: Vec<String> = (0..500).map(|n| format!("10.{}.{}.0/24", n / 250, n % 250)).collect();
        let written = BTreeMap::from([(format!("{PREFIX}allow-from"), networks.join(","))]);
        let of_service = Written::read(Level::Service, [("timeout-server", "5s")], &settings);
        let services = |_: &str| Some(&of_service);
        let mut grouping =
            Grouping::new("shop".into(), Annotations::read(&written, &settings), &settings, &services);
        for n in 0..1_000 {
            assert_eq!(
                grouping.number(&format!("/{n}"), &format!("s{n}").into(), None, RouteSays::default()),
                n + 1
            );
        }
        let (groups, ..) = grouping.done();
        let [of_object, others @ ..] = &*groups else { panic!("no group") };
        let bytes = |group: &OptionGroup| serde_json::to_string(&group.options).unwrap().len();
        assert!(others.iter().map(bytes).sum::<usize>() < 2 * bytes(of_object), "{}", bytes(of_object));
        let options = GroupOptions { own: &others[999].options, of_object: &of_object.options };
        assert_eq!(options.get("allow-from").unwrap().as_array().unwrap().len(), 500);
        assert_eq!(options.get("timeout-server"), Some(&Json::from(5_000)));
    }

    #[test]
    fn nothing_that_families_say_of_a_route_overrides_what_the_class_enforces() {
        let context = serde_json::json!({"routes": {"enforced": {"ssl-redirect": "always", "deny-from": "192.0.2.0/24"}}});
        let settings = Settings::of(context.as_object().unwrap());
        let own = || OwnOptions {
            label: "challenge".to_owned(),
            options: [("ssl-redirect", OptionValue::Text("false".to_owned()))].into(),
            without: vec!["deny-from"],
        };
        let read = Annotations::read(&BTreeMap::new(), &settings);
        let mut grouping = Grouping::new("shop".into(), read, &settings, &|_: &str| None);
        let of_route = RouteSays { own: Some(own()), ..RouteSays::default() };
        let numbers = [
            grouping.number("/", &"s".into(), None, of_route),
            grouping.of_rest(Some(own())),
            grouping.of_rest(None),
            grouping.redirecting_to("www.shop.example"),
        ];
        let (groups, ..) = grouping.done();
        for number in numbers {
            assert!(number > 0);
            let options = GroupOptions { own: &groups[number].options, of_object: &groups[0].options };
            assert_eq!(options.get("ssl-redirect"), Some(&Json::from("always")), "{number}");
            assert!(options.get("deny-from").is_some_and(|networks| networks.is_array()), "{number}");
        }
    }
}
