//! Annotations of a family as annotations of ours, where these do the same: an Ingress that is converted is served as it was, under the
//! same configuration. Each step is checked by reading both; what does not come out the same stays as it is.

use super::{
    effects::{IngressEffects, LevelEffects},
    family::Family,
    foreign_options::ForeignOptions,
    key::{FamilyKey, KeyOutcome, KeyTarget},
    settings::FamilySettings,
    translation::About,
};
use crate::options::{
    PREFIX, RouteOptions, Settings, Written,
    groups::Annotations,
    kind::Kind,
    table::{TABLE, row},
    value::{OptionValue, OptionValues},
};
use haptic_model::{Finding, FindingKind};
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

/// Options that count for more than the Ingress that has them, or that decide how its paths are read: they stay where they are.
const SPREAD: [&str; 13] = [
    "app-root",
    "canary-",
    "client-ca-",
    "client-certificate",
    // Of the Service the first port counts, and which that is may change.
    "default-service",
    "error-service",
    // Only where something takes the place of the path.
    "forwarded-prefix",
    "path-type",
    "redirect-www",
    "rewrite-path",
    "rewrite-re",
    "rewrite-target",
    "ssl-passthrough",
];

/// Keys that name other objects. What these say changes with them, and is not known here.
const NAMING: [&str; 6] = [
    "add-headers",
    "auth-proxy-set-headers",
    "cr-backend",
    "cr-defaults",
    "custom-headers",
    "proxy-set-headers",
];

/// An Ingress with annotations of a family.
#[derive(Clone, Copy, Debug)]
pub struct ForeignIngress<'i> {
    /// The facts about it.
    pub about: About<'i>,
    /// All of its annotations.
    pub annotations: &'i BTreeMap<String, String>,
    /// Its paths, each with the Service that it leads to.
    pub paths: &'i [(String, Option<String>)],
    /// The annotations of these Services, if they have any.
    pub services: &'i [(Arc<str>, &'i BTreeMap<String, String>)],
}

/// The conversion of the annotations of an Ingress.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ConvertedAnnotations {
    /// Those that are not needed any more.
    pub removed: BTreeSet<String>,
    /// Those of ours that take their place.
    pub added: BTreeMap<String, String>,
    /// Those that stay, each with what is said of it.
    pub kept: BTreeMap<String, String>,
}

/// The demands of an Ingress, as far as annotations decide.
#[derive(Debug, PartialEq)]
struct ServedAnnotations {
    /// Those of the Ingress as a whole, and those of each path.
    options: Vec<RouteOptions>,
    /// Of these those that count for more than the Ingress.
    spread: OptionValues,
    /// The effects on its routes by other means than options, and on those to each Service.
    levels: Vec<LevelEffects>,
    ingress: IngressEffects,
    /// Of each path at which HTTP is not redirected to HTTPS: what an annotation of ours says, which counts before that.
    over_http: Vec<Option<String>>,
}

/// Annotations of ours in place of those of the family, where nothing changes by that.
#[must_use]
pub fn convert(
    family: &FamilySettings,
    ingress: &ForeignIngress<'_>,
    settings: &Settings,
) -> ConvertedAnnotations {
    let current = ingress.annotations.clone();
    let elsewhere = said_elsewhere(family, ingress);
    let mut conversion = Conversion { family, ingress, settings, elsewhere, current };
    let foreign = conversion.foreign(ingress.annotations, ingress.about);
    let wanted = conversion.effects(ingress.annotations);
    let (mut done, mut candidates) = (ConvertedAnnotations::default(), Vec::new());
    for annotation in ingress.annotations.keys() {
        let Some(name) = family.family.behind_prefix(annotation) else { continue };
        match conversion.why_kept(name, found_at(&foreign, annotation)) {
            Some(why) => _ = done.kept.insert(annotation.clone(), why),
            None => candidates.push((annotation.as_str(), name)),
        }
    }
    for attempt in attempts(&candidates) {
        conversion.attempt(&attempt, &foreign, &wanted);
    }
    let unsayable = conversion.unsayable(&foreign);
    for (annotation, name) in candidates {
        if !conversion.current.contains_key(annotation) {
            done.removed.insert(annotation.to_owned());
            continue;
        }
        let options = options_of(family, name);
        let unsaid = unsayable.iter().find(|(option, _)| options.contains(option));
        let otherwise =
            unsaid.map_or("no annotation of ours does the same for this Ingress", |(_, why)| why.as_str());
        let why = found_at(&foreign, annotation).map_or(otherwise, |found| &found.sentence);
        done.kept.insert(annotation.to_owned(), why.to_owned());
    }
    let is_new = |(key, text): &(&String, &String)| ingress.annotations.get(*key) != Some(*text);
    let added = conversion.current.iter().filter(is_new);
    done.added = added.map(|(key, text)| (key.clone(), text.clone())).collect();
    done
}

/// The finding at an annotation.
fn found_at<'f>(foreign: &'f ForeignOptions, annotation: &str) -> Option<&'f Finding> {
    let mut findings = foreign.ingress.findings.iter();
    findings.find(|found| found.place.annotation.as_deref() == Some(annotation))
}

/// The sets of annotations that are converted together, of these with their names: all at once; then those that belong together; then each by itself.
fn attempts<'a>(candidates: &[(&'a str, &str)]) -> Vec<BTreeSet<&'a str>> {
    let mut groups: BTreeMap<&str, BTreeSet<&'a str>> = BTreeMap::new();
    for (annotation, name) in candidates {
        groups.entry(name.split('-').next().unwrap_or_default()).or_default().insert(annotation);
    }
    let all = || candidates.iter().map(|(annotation, _)| *annotation);
    let each = all().map(|annotation| BTreeSet::from([annotation]));
    std::iter::once(all().collect()).chain(groups.into_values()).chain(each).collect()
}

/// Whether a key does nothing for what comes from hosts that no rule names.
fn is_without_effect_for_all_hosts(family: &FamilySettings, name: &str) -> bool {
    family.family == Family::IngressNginx && (name.contains("redirect") || name == "app-root")
}

fn is_without_effect(kind: FindingKind) -> bool {
    matches!(kind, FindingKind::ForeignNotServed | FindingKind::ForeignUnreadable)
}

struct Conversion<'c> {
    family: &'c FamilySettings,
    ingress: &'c ForeignIngress<'c>,
    settings: &'c Settings,
    /// Options that objects may set which are named.
    elsewhere: BTreeSet<&'static str>,
    /// The annotations as far as they are converted.
    current: BTreeMap<String, String>,
}

impl Conversion<'_> {
    /// Why an annotation of that name stays, whatever is tried.
    fn why_kept(&self, name: &str, found: Option<&Finding>) -> Option<String> {
        match self.family.family.key(name).map(|key| key.outcome) {
            None => Some("its own controller does not know it".to_owned()),
            Some(KeyOutcome::Finding(instead)) => {
                Some(found.map_or_else(|| instead.to_owned(), |found| found.sentence.clone()))
            }
            Some(_)
                if self.ingress.paths.is_empty() && is_without_effect_for_all_hosts(self.family, name) =>
            {
                Some("an Ingress without rules is not redirected by its own controller".to_owned())
            }
            Some(_) if NAMING.contains(&name) => {
                Some("what it names says more, and changes by itself".to_owned())
            }
            // What has no effect as it stands is not thrown away: somebody wrote it.
            Some(_) => {
                found.filter(|found| is_without_effect(found.kind)).map(|found| found.sentence.clone())
            }
        }
    }

    /// Puts ours in the place of these, if nothing changes by that.
    fn attempt(&mut self, gone: &BTreeSet<&str>, foreign: &ForeignOptions, wanted: &[ServedAnnotations; 2]) {
        if !gone.iter().any(|annotation| self.current.contains_key(*annotation)) {
            return;
        }
        let mut next = self.current.clone();
        next.retain(|annotation, _| !gone.contains(annotation.as_str()));
        let left = self.foreign(&next, self.ingress.about);
        let of_snippets = self.options_of_snippets(&next);
        let said: BTreeSet<&str> = gone.iter().flat_map(|annotation| self.options_of(annotation)).collect();
        for (option, value) in &foreign.own.written.values {
            let key = format!("{PREFIX}{option}");
            // What an annotation says stays said, whatever the ConfigMap of the family says.
            let is_left = !said.contains(option) && left.own.written.values.get(option) == Some(value);
            if is_left || next.contains_key(&key) {
                continue;
            }
            // An annotation of ours takes the place of all that is said of the option, and lines of a snippet that stays would count no more.
            if self.elsewhere.contains(option) || of_snippets.contains(option) {
                return;
            }
            let Some(text) = text_of(option, value, self.settings) else { return };
            next.insert(key, text);
        }
        if self.effects(&next) == *wanted {
            self.current = next;
        }
    }

    /// The options that snippets among these annotations set.
    fn options_of_snippets(&self, annotations: &BTreeMap<String, String>) -> BTreeSet<&'static str> {
        let of_snippets = annotations.iter().filter(|(annotation, _)| self.is_snippet(annotation));
        let of_snippets: BTreeMap<_, _> =
            of_snippets.map(|(annotation, text)| (annotation.clone(), text.clone())).collect();
        let values_of = |annotations: &BTreeMap<String, String>| {
            self.foreign(annotations, self.ingress.about).own.written.values
        };
        let (without, with) = (values_of(&BTreeMap::new()), values_of(&of_snippets));
        with.into_iter()
            .filter(|(option, value)| without.get(option) != Some(value))
            .map(|(option, _)| option)
            .collect()
    }

    fn is_snippet(&self, annotation: &str) -> bool {
        let name = self.family.family.behind_prefix(annotation);
        name.and_then(|name| self.family.family.key(name)).is_some_and(FamilyKey::is_snippet)
    }

    /// The options whose values no annotation of ours has, and why.
    fn unsayable(&self, foreign: &ForeignOptions) -> Vec<(&'static str, String)> {
        let values = foreign.own.written.values.iter();
        let unsaid = values.filter(|(option, value)| text_of(option, value, self.settings).is_none());
        let mut all: Vec<(&'static str, String)> = unsaid
            .map(|(option, _)| {
                (*option, format!("no annotation of ours has the value that it gives {option}"))
            })
            .collect();
        // What goes together stays together.
        if all.iter().any(|(option, _)| *option == "cors-allow-credentials") {
            let why = "it lets pages of every origin ask with passwords, which browsers refuse and no annotation of ours says: name the origins in cors-allow-origin, or say cors-allow-credentials: \"false\"";
            let together = TABLE.iter().map(|row| row.name).filter(|name| name.starts_with("cors-"));
            all.retain(|(option, _)| !option.starts_with("cors-"));
            all.extend(together.map(|option| (option, why.to_owned())));
        }
        all
    }

    /// The options that an annotation of the family may set.
    fn options_of(&self, annotation: &str) -> Vec<&'static str> {
        let name = self.family.family.behind_prefix(annotation);
        name.map(|name| options_of(self.family, name)).unwrap_or_default()
    }

    fn foreign(&self, annotations: &BTreeMap<String, String>, about: About<'_>) -> ForeignOptions {
        let families = std::iter::once(self.family);
        ForeignOptions::of(families, annotations, self.ingress.services, about, self.settings)
    }

    /// Without TLS beside it, and with: another Ingress may have some for its hosts.
    fn effects(&self, annotations: &BTreeMap<String, String>) -> [ServedAnnotations; 2] {
        let about = self.ingress.about;
        [about, About { tls: true, ..about }].map(|about| self.effect(annotations, about))
    }

    fn effect(&self, annotations: &BTreeMap<String, String>, about: About<'_>) -> ServedAnnotations {
        let foreign = self.foreign(annotations, about);
        // Behind an app's root, which any Ingress of the host may say, comes what a family leads elsewhere, and not what ours do.
        let is_behind_root =
            |name: &str| name == "redirect-to" && self.family.family == Family::HaproxyIngress;
        let is_spread =
            |name: &str| is_behind_root(name) || SPREAD.iter().any(|spread| name.starts_with(spread));
        let values = foreign.own.written.values.iter().filter(|(name, _)| is_spread(name));
        let spread = values.map(|(name, value)| (*name, value.clone())).collect();
        let levels = foreign.levels().cloned().map(without_options).collect();
        let is_over_http =
            |path: &str| foreign.ingress.over_http.iter().any(|start| path.starts_with(start.as_str()));
        let over_http = self.ingress.paths.iter().filter(|(path, _)| is_over_http(path));
        let to_https = annotations.get(&format!("{PREFIX}ssl-redirect"));
        let over_http = over_http.map(|_| to_https.cloned()).collect();
        // What is found does not change what is served, and the paths over HTTP are compared one by one.
        let ingress =
            IngressEffects { findings: Vec::new(), over_http: Vec::new(), ..foreign.ingress.clone() };
        let written = Annotations::read(annotations, self.settings).with(foreign);
        let own = written.of(None, None, self.settings);
        let of_paths = self.ingress.paths.iter().map(|(path, service)| {
            written.of(Some(path), service.as_deref().map(|service| (service, None)), self.settings)
        });
        let served = |options: RouteOptions| RouteOptions {
            ineffective: Vec::new(),
            written: BTreeSet::new(),
            ..options
        };
        let options = std::iter::once(own).chain(of_paths).map(served).collect();
        ServedAnnotations { options, spread, levels, ingress, over_http }
    }
}

/// The effects that are not compared by the options of paths.
fn without_options(level: LevelEffects) -> LevelEffects {
    LevelEffects {
        written: Written::default(),
        closed: false,
        blocked: None,
        passes_certificate: None,
        ..level
    }
}

/// The options that objects may set which the Ingress, its Services or the family's ConfigMap name.
fn said_elsewhere(family: &FamilySettings, ingress: &ForeignIngress<'_>) -> BTreeSet<&'static str> {
    let naming = keys_naming_objects(family, ingress.annotations, ingress.services);
    naming.into_iter().flat_map(|key| options_of(family, key)).collect()
}

/// The keys by which an Ingress, its Services or the family's ConfigMap name objects that say more.
#[must_use]
pub fn keys_naming_objects(
    family: &FamilySettings,
    annotations: &BTreeMap<String, String>,
    services: &[(Arc<str>, &BTreeMap<String, String>)],
) -> Vec<&'static str> {
    let annotations = annotations.keys().chain(services.iter().flat_map(|(_, texts)| texts.keys()));
    let said: BTreeSet<&str> = annotations.filter_map(|key| family.family.behind_prefix(key)).collect();
    let is_said = |key: &&str| said.contains(*key) || family.config.values.contains_key(*key);
    let is_known = |key: &&str| family.family.key(key).is_some();
    NAMING.iter().copied().filter(is_known).filter(is_said).collect()
}

/// The options that a key of the family may set.
fn options_of(family: &FamilySettings, name: &str) -> Vec<&'static str> {
    let family = family.family;
    let key = family.key(name).and_then(|key| match key.to {
        KeyTarget::Alias(name) => family.key(name),
        _ => Some(key),
    });
    match key.map(|key| key.to) {
        Some(KeyTarget::Option(option)) => vec![option],
        Some(KeyTarget::Group(options)) => options.to_vec(),
        _ => Vec::new(),
    }
}

/// A text that is read as this value of the option; `None` where there is none.
fn text_of(option: &str, value: &OptionValue, settings: &Settings) -> Option<String> {
    let kind = row(option)?.kind;
    texts(value).into_iter().find(|text| is_read_as(kind, text, value, settings))
}

fn is_read_as(kind: Kind, text: &str, value: &OptionValue, settings: &Settings) -> bool {
    kind.read(text, settings).as_ref() == Ok(value)
}

/// Texts that may be read as the value, the nicest first.
fn texts(value: &OptionValue) -> Vec<String> {
    match value {
        OptionValue::Switch(on) => vec![on.to_string()],
        OptionValue::Number(number) => numbers(*number),
        OptionValue::Text(text) => vec![text.clone()],
        OptionValue::Names(names) => [", ", "\n", " "].map(|between| names.join(between)).to_vec(),
        OptionValue::Networks(networks) => {
            vec![networks.iter().map(|network| network.text()).collect::<Vec<_>>().join(", ")]
        }
        OptionValue::Headers(headers) => {
            let lines = headers.iter().map(|header| format!("{}: {}", header.name, header.value));
            vec![lines.collect::<Vec<_>>().join("\n")]
        }
        OptionValue::Conditions(conditions) => [": ", "="]
            .map(|between| {
                let lines = conditions.iter().map(|one| format!("{}{between}{}", one.name, one.value));
                lines.collect::<Vec<_>>().join("\n")
            })
            .to_vec(),
        OptionValue::Regex { pattern, .. } => vec![pattern.clone()],
        OptionValue::Rewrites { rules, .. } => {
            let lines = rules.iter().map(|(pattern, path)| format!("{pattern} {path}"));
            vec![lines.collect::<Vec<_>>().join("\n")]
        }
        OptionValue::AuthUrl(_) | OptionValue::RequestKey(_) | OptionValue::Weights(_) => Vec::new(),
    }
}

/// As a time in milliseconds, a size in bytes, and a plain number.
fn numbers(number: u64) -> Vec<String> {
    const TIMES: [(u64, &str); 5] =
        [(86_400_000, "d"), (3_600_000, "h"), (60_000, "m"), (1_000, "s"), (1, "ms")];
    const SIZES: [(u64, &str); 3] = [(1 << 30, "g"), (1 << 20, "m"), (1 << 10, "k")];
    let in_units =
        TIMES.into_iter().chain(SIZES).filter(|(unit, _)| number > 0 && number.is_multiple_of(*unit));
    let mut all: Vec<String> = in_units.map(|(unit, name)| format!("{}{name}", number / unit)).collect();
    all.push(number.to_string());
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn converted(family: &str, annotations: &[(&str, &str)]) -> ConvertedAnnotations {
        converted_with(family, &json!({}), annotations)
    }

    fn converted_with(
        family: &str,
        settings: &serde_json::Value,
        annotations: &[(&str, &str)],
    ) -> ConvertedAnnotations {
        let context = json!({"annotationFamilies": {family: settings}});
        let settings = Settings::of(context.as_object().unwrap());
        let annotations =
            annotations.iter().map(|(key, text)| ((*key).to_owned(), (*text).to_owned())).collect();
        let paths = [("/".to_owned(), Some("web".to_owned()))];
        let about = About { namespace: "shop", name: "a", ..About::default() };
        let ingress = ForeignIngress { about, annotations: &annotations, paths: &paths, services: &[] };
        convert(&settings.families[0], &ingress, &settings)
    }

    fn pairs(added: &BTreeMap<String, String>) -> Vec<(&str, &str)> {
        added.iter().map(|(key, text)| (key.trim_start_matches(PREFIX), text.as_str())).collect()
    }

    #[test]
    fn what_ours_say_as_well_is_converted() {
        let all = [
            ("haproxy.org/timeout-server", "30000"),
            ("haproxy.org/allow-list", "10.0.0.0/8"),
            ("other/x", "y"),
        ];
        let done = converted("haproxy-org", &all);
        assert_eq!(pairs(&done.added), [("allow-from", "10.0.0.0/8"), ("timeout-server", "30s")]);
        assert_eq!(done.removed.len(), 2, "{done:?}");
        assert!(done.kept.is_empty(), "{done:?}");
        let done = converted(
            "ingress-nginx",
            &[
                ("nginx.ingress.kubernetes.io/proxy-body-size", "8m"),
                ("nginx.ingress.kubernetes.io/enable-cors", "true"),
                ("nginx.ingress.kubernetes.io/cors-allow-origin", "https://a.example"),
            ],
        );
        let added = pairs(&done.added);
        for pair in [
            ("max-body-size", "8m"),
            ("cors-allow-origin", "https://a.example"),
            ("cors-allow-credentials", "true"),
            ("cors-allow-methods", "GET, PUT, POST, DELETE, PATCH, OPTIONS"),
            ("cors-preflight", "every"),
        ] {
            assert!(added.contains(&pair), "{pair:?}: {done:?}");
        }
        assert!(done.kept.is_empty(), "{done:?}");
    }

    #[test]
    fn every_origin_with_passwords_stays_and_that_is_told() {
        let enable = ("nginx.ingress.kubernetes.io/enable-cors", "true");
        let done = converted("ingress-nginx", &[enable]);
        assert!(done.kept[enable.0].contains("every origin ask with passwords"), "{done:?}");
        let without = ("nginx.ingress.kubernetes.io/cors-allow-credentials", "false");
        let done = converted("ingress-nginx", &[enable, without]);
        assert!(done.kept.is_empty() && pairs(&done.added).contains(&("cors-allow-origin", "*")), "{done:?}");
    }

    #[test]
    fn what_they_do_not_say_stays_and_is_explained() {
        let done = converted(
            "ingress-nginx",
            &[
                ("nginx.ingress.kubernetes.io/use-regex", "true"),
                ("nginx.ingress.kubernetes.io/enable-modsecurity", "true"),
                ("nginx.ingress.kubernetes.io/nonesuch", "true"),
                ("nginx.ingress.kubernetes.io/configuration-snippet", "more_set_headers \"X: y\";"),
                ("nginx.ingress.kubernetes.io/proxy-read-timeout", "20"),
            ],
        );
        let kept: Vec<&str> = done.kept.keys().filter_map(|key| key.rsplit('/').next()).collect();
        assert_eq!(kept, ["configuration-snippet", "enable-modsecurity", "nonesuch", "use-regex"]);
        assert!(done.kept.values().any(|why| why.contains("web application firewall")), "{done:?}");
        assert_eq!(done.removed.len(), 1, "{done:?}");
    }

    #[test]
    fn what_takes_the_place_of_paths_is_converted() {
        let rewrite = ("haproxy.org/path-rewrite", "/foo/(.*) /\\1\n/a /b");
        let done = converted("haproxy-org", &[rewrite]);
        assert_eq!(pairs(&done.added), [("rewrite-rules", "/foo/(.*) /\\1\n/a /b")]);
        assert!(done.kept.is_empty() && done.removed.len() == 1, "{done:?}");
    }

    #[test]
    fn what_a_snippet_says_that_stays_counts_as_before() {
        let snippet = (
            "haproxy-ingress.github.io/config-backend",
            "http-request set-header X-A 1\nhttp-request set-log-level silent\nbalance first",
        );
        let headers = ("haproxy-ingress.github.io/request-set-headers", "X-B: 2");
        let timeout = ("haproxy-ingress.github.io/timeout-server", "5s");
        let translate = json!({"snippets": "translate"});
        let done = converted_with("haproxy-ingress", &translate, &[snippet, headers, timeout]);
        let kept: Vec<&str> = done.kept.keys().filter_map(|key| key.rsplit('/').next()).collect();
        assert_eq!(kept, ["config-backend", "request-set-headers"], "{done:?}");
        assert_eq!(pairs(&done.added), [("timeout-server", "5s")]);
        let done = converted_with(
            "haproxy-ingress",
            &translate,
            &[(snippet.0, "http-request set-header X-A 1"), headers],
        );
        assert!(done.kept.is_empty(), "{done:?}");
    }

    #[test]
    fn a_guard_that_lets_nobody_in_stays() {
        let done = converted(
            "haproxy-org",
            &[("haproxy.org/allow-list", "nonsense"), ("haproxy.org/timeout-server", "5s")],
        );
        assert!(done.kept.contains_key("haproxy.org/allow-list") && done.removed.len() == 1, "{done:?}");
    }
}
