//! Built-in template libraries, and how a configuration is laid over them.
//!
//! A library is a configuration with parts only. The libraries that `spec.libraries` names are laid one over the other in
//! that order, the user's own parts over all of them: of two parts with the same name the later one counts, whole;
//! `extraContext` is merged key by key. Nothing here looks into a template.

mod named_config_maps;
mod parts;
mod untested;

pub use parts::LibraryPart;
pub use untested::{TestsOfLibraries, Untested};

use crate::named_tests::{self, FIELD as TESTS};
use haptic_model::{Diagnostic, crd::ValidationTest};
use serde_json::{Map, Value};
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::OnceLock,
};

/// A library, as it stands in the binary.
#[derive(Debug)]
pub struct Library {
    /// As `spec.libraries` names it.
    pub name: &'static str,
    /// What it gives, in a few words.
    pub summary: &'static str,
    /// The libraries that come before it.
    pub needs: &'static [&'static str],
    /// Its YAML, with its comments.
    pub text: &'static str,
    /// More files of it, each like a library of its own with other parts.
    pub more: &'static [&'static str],
    /// Its `spec` in JSON, once it was asked for: YAML takes longer to read, and a tree more memory.
    json: OnceLock<Box<[u8]>>,
}

/// All libraries, in the order in which they are best listed.
pub static LIBRARIES: [Library; 7] = [
    Library {
        name: "base",
        summary: "the frame of haproxy.cfg: process, profiles, frontend, error pages, health",
        needs: &[],
        text: concat!(
            include_str!("../../../charts/haptic/libraries/base.yaml"),
            include_str!("../../../charts/haptic/libraries/tests/base.yaml")
        ),
        more: &[],
        json: OnceLock::new(),
    },
    Library {
        name: "ssl",
        summary: "HTTPS: certificates from TLS Secrets, redirects",
        needs: &["base"],
        text: concat!(
            include_str!("../../../charts/haptic/libraries/ssl.yaml"),
            include_str!("../../../charts/haptic/libraries/tests/ssl.yaml")
        ),
        more: &[],
        json: OnceLock::new(),
    },
    Library {
        name: "ingress",
        summary: "networking.k8s.io/v1 Ingress; needs base and ssl",
        needs: &["base", "ssl"],
        text: concat!(
            include_str!("../../../charts/haptic/libraries/ingress.yaml"),
            include_str!("../../../charts/haptic/libraries/tests/ingress.yaml")
        ),
        more: &[
            include_str!("../../../charts/haptic/libraries/ingress/auth.yaml"),
            include_str!("../../../charts/haptic/libraries/ingress/errors.yaml"),
            include_str!("../../../charts/haptic/libraries/ingress/mirror.yaml"),
            include_str!("../../../charts/haptic/libraries/ingress/passthrough.yaml"),
            include_str!("../../../charts/haptic/libraries/ingress/password.yaml"),
            include_str!("../../../charts/haptic/libraries/ingress/tcp.yaml"),
            include_str!("../../../charts/haptic/libraries/lua/auth.yaml"),
            include_str!("../../../charts/haptic/libraries/lua/hop.yaml"),
            include_str!("../../../charts/haptic/libraries/lua/mirror.yaml"),
            include_str!("../../../charts/haptic/libraries/lua/routes.yaml"),
        ],
        json: OnceLock::new(),
    },
    Library {
        name: "gateway",
        summary: "Gateway API: Gateways, ListenerSets, HTTPRoutes, GRPCRoutes, TLSRoutes, TCPRoutes; needs base and ssl",
        needs: &["base", "ssl"],
        text: concat!(
            include_str!("../../../charts/haptic/libraries/gateway.yaml"),
            include_str!("../../../charts/haptic/libraries/tests/gateway.yaml")
        ),
        more: &[
            include_str!("../../../charts/haptic/libraries/gateway/classes.yaml"),
            include_str!("../../../charts/haptic/libraries/gateway/filters.yaml"),
            include_str!("../../../charts/haptic/libraries/gateway/streams.yaml"),
            include_str!("../../../charts/haptic/libraries/gateway/tries.yaml"),
            include_str!("../../../charts/haptic/libraries/lua/auth.yaml"),
            include_str!("../../../charts/haptic/libraries/lua/hop.yaml"),
            include_str!("../../../charts/haptic/libraries/lua/mirror.yaml"),
            include_str!("../../../charts/haptic/libraries/lua/routes.yaml"),
        ],
        json: OnceLock::new(),
    },
    Library {
        name: "annotations-ingress-nginx",
        summary: "annotations of kubernetes/ingress-nginx; needs ingress",
        needs: &["base", "ssl", "ingress"],
        text: include_str!("../../../charts/haptic/libraries/annotations-ingress-nginx.yaml"),
        more: &[],
        json: OnceLock::new(),
    },
    Library {
        name: "annotations-haproxy-org",
        summary: "annotations of haproxytech/kubernetes-ingress; needs ingress",
        needs: &["base", "ssl", "ingress"],
        text: include_str!("../../../charts/haptic/libraries/annotations-haproxy-org.yaml"),
        more: &[],
        json: OnceLock::new(),
    },
    Library {
        name: "annotations-haproxy-ingress",
        summary: "annotations of jcmoraisjr/haproxy-ingress; needs ingress",
        needs: &["base", "ssl", "ingress"],
        text: include_str!("../../../charts/haptic/libraries/annotations-haproxy-ingress.yaml"),
        more: &[],
        json: OnceLock::new(),
    },
];

/// Fields of a spec whose entries have names; a later entry takes the place of an earlier one of its name. The tests are a list,
/// and merged as a map.
const NAMED: [&str; 7] =
    ["watchedResources", "templateSnippets", "maps", "files", "sslCertificates", "crtLists", TESTS];

/// What libraries are written in.
const ENGINE: &str = "handlebars";

/// The library of that name.
#[must_use]
pub fn find(name: &str) -> Option<&'static Library> {
    LIBRARIES.iter().find(|library| library.name == name)
}

impl Library {
    /// Its `spec`.
    ///
    /// # Errors
    /// Never in practice: what is built in is tested.
    pub fn spec(&self) -> Result<Value, Diagnostic> {
        if let Some(json) = self.json.get() {
            return serde_json::from_slice(json).map_err(|e| self.unreadable(&e));
        }
        let spec = self.spec_of_yaml()?;
        let json = serde_json::to_vec(&spec).map_err(|e| self.unreadable(&e))?;
        self.json.get_or_init(|| json.into());
        Ok(spec)
    }

    fn spec_of_yaml(&self) -> Result<Value, Diagnostic> {
        let mut whole: Option<Value> = None;
        for text in self.texts() {
            let document: Value = serde_saphyr::from_str(text).map_err(|e| self.unreadable(&e))?;
            let spec = document.get("spec").cloned().unwrap_or_default();
            whole = Some(match whole {
                None => spec,
                Some(first) => over(spec, first),
            });
        }
        Ok(whole.unwrap_or_default())
    }

    fn unreadable(&self, why: &dyn std::fmt::Display) -> Diagnostic {
        Diagnostic::error("basic", format!("the library {} cannot be read: {why}", self.name))
    }

    /// Its files.
    pub fn texts(&self) -> impl Iterator<Item = &'static str> {
        std::iter::once(self.text).chain(self.more.iter().copied())
    }
}

/// `spec` with the parts of the libraries it names, and with those of their tests that it leaves a meaning. A name that no library has is left for the validators.
///
/// # Errors
/// As [`Library::spec`].
pub fn merged(spec: Value) -> Result<Value, Diagnostic> {
    laid_over(spec).map(|(spec, _)| spec)
}

/// The same, with what is not tested any more.
///
/// # Errors
/// As [`Library::spec`].
pub fn laid_over(spec: Value) -> Result<(Value, Option<Untested>), Diagnostic> {
    let was_map = spec.get(TESTS).is_some_and(Value::is_object);
    let spec = tests_by_name(spec)?;
    let names: Vec<String> = spec
        .get("libraries")
        .and_then(Value::as_array)
        .map(|names| names.iter().filter_map(|n| n.as_str().map(str::to_owned)).collect())
        .unwrap_or_default();
    let mut whole = Value::Object(Map::new());
    for library in names.iter().filter_map(|name| find(name)) {
        whole = over(whole, tests_by_name(library.spec()?)?);
    }
    let engine = spec.pointer("/templatingSettings/engine").and_then(Value::as_str).unwrap_or_default();
    if !["", ENGINE].contains(&engine) {
        say_engine(&mut whole);
    }
    let replaced = replaced_parts(&whole, &spec);
    let added = names_in(&spec, "templateSnippets").map(|name| format!("templateSnippets.{name}"));
    let added = added.filter(|part| !replaced.contains(part)).collect();
    let tests = whole.get_mut(TESTS).and_then(Value::as_object_mut);
    let untested =
        tests.and_then(|tests| untested::leave_meaningful(tests, &tests_of(&names), replaced, added));
    let mut whole = over(whole, spec);
    named_config_maps::watch(&mut whole);
    Ok((if was_map { whole } else { tests_as_list(whole) }, untested))
}

/// Templates say that they are written in Handlebars, whatever the configuration says of those that do not say it.
fn say_engine(libraries: &mut Value) {
    let template = |part: &mut Value| {
        if let Some(fields) = part.as_object_mut().filter(|fields| fields.contains_key("template")) {
            fields.insert("engine".to_owned(), ENGINE.into());
        }
    };
    libraries.get_mut("haproxyConfig").into_iter().for_each(template);
    for field in NAMED {
        if let Some(Value::Object(parts)) = libraries.get_mut(field) {
            parts.values_mut().for_each(template);
        }
    }
}

/// Makes a map of the list of tests.
fn tests_by_name(mut spec: Value) -> Result<Value, Diagnostic> {
    let Some(tests) = spec.get_mut(TESTS) else { return Ok(spec) };
    if let Value::Array(list) = tests {
        *tests = Value::Object(named_tests::by_name(std::mem::take(list))?);
    }
    Ok(spec)
}

/// The reverse of [`tests_by_name`].
fn tests_as_list(mut spec: Value) -> Value {
    if let Some(tests) = spec.get_mut(TESTS)
        && let Value::Object(by_name) = tests
    {
        *tests = named_tests::as_list(std::mem::take(by_name));
    }
    spec
}

/// The names of the tests of these libraries, each with its library.
#[must_use]
pub fn tests_of(libraries: &[String]) -> BTreeMap<String, &'static str> {
    let known = libraries.iter().filter_map(|name| find(name));
    let tests_of = |library: &'static Library| {
        let tests = library.spec().ok().and_then(|spec| spec.get(TESTS)?.as_array().cloned());
        let names = tests.unwrap_or_default().into_iter();
        names.filter_map(|test| Some((test.get("name")?.as_str()?.to_owned(), library.name)))
    };
    known.flat_map(tests_of).collect()
}

/// The settings of these libraries, as nobody has changed them.
#[must_use]
pub fn settings_of(libraries: &[String]) -> Map<String, Value> {
    let whole = merged(serde_json::json!({ "libraries": libraries })).unwrap_or_default();
    let settings = whole.pointer("/templatingSettings/extraContext").and_then(Value::as_object);
    settings.cloned().unwrap_or_default()
}

/// Those of `tests` that these libraries have, with or without their requests; of a test with such a name and other
/// content the user has taken the place.
#[must_use]
pub fn untouched<'t>(libraries: &[String], tests: &'t BTreeMap<String, ValidationTest>) -> BTreeSet<&'t str> {
    let specs = libraries.iter().filter_map(|name| find(name)?.spec().ok());
    let lists = specs.filter_map(|mut spec| spec.get_mut(TESTS)?.as_array_mut().map(std::mem::take));
    let by_name = lists.filter_map(|list| named_tests::by_name(list).ok()).flatten();
    let same = by_name.filter_map(|(name, theirs)| {
        let (name, own) = tests.get_key_value(&name)?;
        let mut theirs: ValidationTest = serde_json::from_value(theirs).ok()?;
        if own.requests.is_empty() {
            theirs.requests = Vec::new();
        }
        (theirs == *own).then_some(name.as_str())
    });
    same.collect()
}

/// The parts of the libraries whose place `spec` takes.
fn replaced_parts(libraries: &Value, spec: &Value) -> Vec<String> {
    let named = NAMED.iter().filter(|field| **field != TESTS).flat_map(|field| {
        let theirs: Vec<&String> = names_in(libraries, field).collect();
        let own = names_in(spec, field).filter(move |name| theirs.contains(name));
        own.map(move |name| format!("{field}.{name}"))
    });
    let has_frame = |spec: &Value| spec.get("haproxyConfig").is_some_and(|config| !config.is_null());
    let frame = (has_frame(libraries) && has_frame(spec)).then(|| "haproxyConfig".to_owned());
    named.chain(frame).collect()
}

/// The names of the parts in a field.
fn names_in<'s>(spec: &'s Value, field: &str) -> impl Iterator<Item = &'s String> {
    spec.get(field).and_then(Value::as_object).into_iter().flat_map(Map::keys)
}

/// The parts of `upper` over those of `lower`; of fields without parts those of `upper` alone.
fn over(lower: Value, upper: Value) -> Value {
    let (Value::Object(mut lower), Value::Object(mut upper)) = (lower, upper.clone()) else { return upper };
    for field in NAMED {
        if let Some(Value::Object(parts)) = lower.remove(field) {
            let mut parts = parts;
            if let Some(Value::Object(own)) = upper.remove(field) {
                parts.extend(own);
            }
            upper.insert(field.to_owned(), Value::Object(parts));
        }
    }
    if let Some(config) = lower.remove("haproxyConfig")
        && upper.get("haproxyConfig").is_none_or(Value::is_null)
    {
        upper.insert("haproxyConfig".to_owned(), config);
    }
    if let Some(below) = lower.get_mut("templatingSettings").and_then(|s| s.get_mut("extraContext")) {
        let settings = upper.entry("templatingSettings").or_insert_with(|| Value::Object(Map::new()));
        if let Value::Object(settings) = settings {
            let own = settings.remove("extraContext").unwrap_or_default();
            settings.insert("extraContext".to_owned(), deep(below.take(), own));
        }
    }
    Value::Object(upper)
}

/// `upper` over `lower`, key by key where both are dicts.
fn deep(lower: Value, upper: Value) -> Value {
    match (lower, upper) {
        (Value::Object(mut lower), Value::Object(upper)) => {
            for (key, value) in upper {
                let below = lower.remove(&key).unwrap_or_default();
                lower.insert(key, deep(below, value));
            }
            Value::Object(lower)
        }
        (lower, Value::Null) => lower,
        (_, upper) => upper,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse;
    use haptic_model::HAProxyTemplateConfigSpec;
    use serde_json::json;

    fn configuration(more: &str) -> HAProxyTemplateConfigSpec {
        let text = format!(
            "credentialsSecretRef: {{name: c}}\npodSelector: {{matchLabels: {{app: haproxy}}}}\n{more}"
        );
        let candidate = parse(&text, "edge.yaml").unwrap_or_else(|e| panic!("{e:?}"));
        (*candidate.spec).clone()
    }

    #[test]
    fn libraries_stay_in_their_language_whatever_the_configuration_says() {
        let engines = |engine: &str| -> BTreeSet<String> {
            let spec = json!({"libraries": ["base", "ssl"], "templatingSettings": {"engine": engine},
                "templateSnippets": {"certificate": {"template": "x"}, "frontend-50-own": {"template": "x"}}});
            let spec = merged(spec).unwrap();
            let parts = spec["templateSnippets"].as_object().unwrap().iter();
            parts.filter(|(_, part)| part.get("engine").is_none()).map(|(name, _)| name.clone()).collect()
        };
        let own = ["certificate", "frontend-50-own"].map(str::to_owned);
        assert_eq!(engines("jinja2"), own.into());
        assert!(engines("").len() > 10 && engines("handlebars").len() > 10);
    }

    #[test]
    fn every_library_fits_the_schema_and_is_named_like_its_file() {
        for library in &LIBRARIES {
            for text in library.texts() {
                let document: Value = serde_saphyr::from_str(text).unwrap();
                // A part that several libraries have is named like one of them.
                let mut having = LIBRARIES.iter().filter(|one| one.texts().any(|other| other == text));
                let name = document.pointer("/metadata/name").unwrap();
                assert!(having.any(|one| name == one.name), "{name} of {}", library.name);
            }
            let mut spec = library.spec().unwrap();
            spec["credentialsSecretRef"] = json!({"name": "c"});
            spec["podSelector"] = json!({"matchLabels": {"a": "b"}});
            let text = serde_json::to_string(&spec).unwrap();
            parse(&text, "library.yaml").unwrap_or_else(|e| panic!("{}: {e:?}", library.name));
            let strange: Vec<&String> = spec.as_object().unwrap().keys().collect();
            let known = |key: &str| {
                NAMED.contains(&key)
                    || ["haproxyConfig", "templatingSettings", "credentialsSecretRef", "podSelector"]
                        .contains(&key)
            };
            assert!(strange.iter().all(|key| known(key)), "{strange:?}");
        }
    }

    /// Recordings and pages show templates without what looks like one.
    #[test]
    fn nothing_in_a_library_is_taken_for_a_password() {
        for library in &LIBRARIES {
            for text in library.texts() {
                for (number, line) in
                    text.lines().enumerate().filter(|(_, line)| !line.trim().starts_with('#'))
                {
                    assert_eq!(haptic_text::redaction::line(line), line, "{}:{}", library.name, number + 1);
                }
            }
        }
    }

    #[test]
    fn a_configuration_that_only_names_libraries_is_whole() {
        let spec = configuration("libraries: [base, ssl, ingress]");
        assert_eq!(crate::validators::basic(&spec), []);
        assert!(spec.watched_resources.contains_key("ingresses"));
    }

    #[test]
    fn a_part_of_the_users_own_takes_the_place_of_the_librarys() {
        let spec = configuration(
            "libraries: [base]\nfiles: {404.http: {template: mine}, more.http: {template: more}}\ntemplatingSettings: {extraContext: {timeouts: {client: 9s}, mine: 1}}",
        );
        assert_eq!(spec.files["404.http"].template, "mine");
        assert!(spec.files.contains_key("503.http") && spec.files.contains_key("more.http"));
        let context = &spec.templating_settings.extra_context;
        assert_eq!(context["timeouts"]["client"], "9s");
        assert_eq!(context["timeouts"]["connect"], "5s");
        assert_eq!(context["mine"], 1);
        let base = configuration("libraries: [base]");
        assert_eq!(spec.haproxy_config, base.haproxy_config);
        let own = configuration("libraries: [base]\nhaproxyConfig: {template: own}");
        assert_eq!(own.haproxy_config.unwrap().template, "own");
    }

    #[test]
    fn tests_of_libraries_stay_unless_a_part_of_theirs_is_replaced() {
        let tests = |more: &str| {
            configuration(&format!("libraries: [base, ssl, ingress]\n{more}")).validation_tests.by_name
        };
        let all = tests("").len();
        assert!(all > 20, "{all}");
        let own = "validationTests: [{name: mine, assertions: [{type: haproxy_valid}]}]";
        let asking = |more: &str| tests(more).values().filter(|test| !test.requests.is_empty()).count();
        let only_asking = tests("").values().filter(|test| test.assertions.is_empty()).count();
        assert!(asking("") > only_asking && only_asking > 0);
        // Lines of the user's own may answer otherwise.
        let added = "templateSnippets: {frontend-35-mine: {template: x}}";
        assert_eq!((tests(added).len(), asking(added)), (all - only_asking, 0));
        assert_eq!((tests(own).len(), asking(own)), (all + 1, asking("")));
        let page = format!("files: {{503.http: {{template: x}}}}\n{own}");
        assert_eq!((tests(&page).len(), asking(&page)), (all - only_asking, 0));
        assert_eq!(tests(&format!("templateSnippets: {{health: {{template: x}}}}\n{own}")).len(), 1);
        assert_eq!(tests("haproxyConfig: {template: x}").len(), 0);
    }

    #[test]
    fn a_test_of_the_users_own_takes_the_place_of_the_librarys() {
        let spec = |tests: &str| configuration(&format!("libraries: [base]\nvalidationTests: {tests}"));
        let name = spec("[]").validation_tests.by_name.keys().next().unwrap().clone();
        for tests in
            [format!("[{{name: {name}, description: mine}}]"), format!("{{{name}: {{description: mine}}}}")]
        {
            let merged = spec(&tests).validation_tests;
            assert_eq!(merged.by_name[&name].description, "mine");
            assert_eq!(merged.by_name.len(), spec("[]").validation_tests.by_name.len());
            assert!(!merged.is_old_map, "a file may be written as it was once");
        }
    }

    #[test]
    fn a_test_is_the_librarys_until_the_user_changes_it() {
        let libraries = ["base".to_owned(), "ssl".to_owned()];
        let untouched_of = |more: &str| {
            let spec = configuration(&format!("libraries: [base, ssl]\n{more}"));
            let names = untouched(&libraries, &spec.validation_tests.by_name);
            (names.len(), spec.validation_tests.by_name.len())
        };
        let (all, known) = untouched_of("");
        assert!(all == known && all > 10, "{all} of {known}");
        let (stay, without_requests) = untouched_of("templateSnippets: {frontend-35-mine: {template: x}}");
        assert_eq!(stay, without_requests);
        let own =
            "validationTests: [{name: mine, assertions: []}, {name: base-paths-raw, description: mine}]";
        assert_eq!(untouched_of(own), (all - 1, all + 1));
        assert_eq!(settings_of(&libraries)["httpsPort"], 7443);
    }

    #[test]
    fn tests_without_a_name_of_their_own_are_refused() {
        for (tests, said) in [
            (json!([{"name": "a"}, {"name": "b"}, {"name": "a"}]), "validationTests[2]"),
            (json!([{"name": "a"}, {"description": "x"}]), "a test has no name"),
            (json!([1]), "a test has no name"),
        ] {
            let refused = laid_over(json!({"libraries": ["base"], "validationTests": tests})).unwrap_err();
            assert!(refused.to_string().contains(said), "{refused}");
        }
    }

    #[test]
    fn a_stored_map_stays_one_until_it_is_read() {
        let spec = json!({"libraries": ["base"], "validationTests": {"mine": {"assertions": []}}});
        let merged = laid_over(spec).unwrap().0;
        assert!(
            merged["validationTests"]["mine"].is_object()
                && merged["validationTests"].as_object().unwrap().len() > 1
        );
    }

    #[test]
    fn what_is_not_tested_any_more_is_told_with_the_parts_that_are_replaced() {
        let untested = |spec: Value| laid_over(spec).unwrap().1.map(|untested| untested.to_string());
        let libraries = json!(["base", "ssl", "ingress"]);
        assert_eq!(untested(json!({"libraries": libraries})), None);
        let page = json!({"libraries": libraries, "files": {"503.http": {"template": "x"}}});
        let said = untested(page).unwrap();
        let told = "1 test of the library base is not run, because the configuration replaces files.503.http; the requests of ";
        assert!(said.starts_with(told) && said.ends_with("lines of its own: files.503.http"), "{said}");
        let snippets: Map<String, Value> =
            (0..5).map(|n| (format!("mine-{n}"), json!({"template": ""}))).collect();
        let said = untested(json!({"libraries": libraries, "templateSnippets": snippets})).unwrap();
        assert!(
            said.starts_with("the requests of ") && said.ends_with("templateSnippets.mine-2 and 2 more"),
            "{said}"
        );
        assert!(
            [" tests of the libraries base (", "), ingress (", "), ssl ("].iter().all(|of| said.contains(of)),
            "{said}"
        );
        let frame = json!({"libraries": libraries, "haproxyConfig": {"template": "x"},
            "templateSnippets": {"health": {"template": "x"}}});
        let said = untested(frame).unwrap();
        assert!(said.ends_with("replaces templateSnippets.health, haproxyConfig"), "{said}");
    }

    #[test]
    fn of_two_libraries_the_later_one_counts() {
        let lower = json!({"maps": {"a": 1, "b": 1}, "haproxyConfig": 1});
        let upper = json!({"maps": {"b": 2, "c": 2}, "haproxyConfig": 2});
        assert_eq!(over(lower, upper), json!({"maps": {"a": 1, "b": 2, "c": 2}, "haproxyConfig": 2}));
    }
}
