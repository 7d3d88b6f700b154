//! Built-in template libraries, and how a configuration is laid over them.
//!
//! A library is a configuration with parts only. The libraries that `spec.libraries` names are laid one over the other in
//! that order, the user's own parts over all of them: of two parts with the same name the later one counts, whole;
//! `extraContext` is merged key by key. Nothing here looks into a part.

mod parts;

pub use parts::Part;

use crate::named_tests::{self, FIELD as TESTS};
use haptic_model::Diagnostic;
use serde_json::{Map, Value};
use std::{collections::BTreeSet, fmt};

/// A library, as it stands in the binary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Library {
    /// As `spec.libraries` names it.
    pub name: &'static str,
    /// What it gives, in a few words.
    pub summary: &'static str,
    /// The libraries that come before it.
    pub needs: &'static [&'static str],
    /// Its YAML, with its comments.
    pub text: &'static str,
}

/// All libraries, in the order in which they are best listed.
pub const LIBRARIES: [Library; 3] = [
    Library {
        name: "base",
        summary: "the frame of haproxy.cfg: process, profiles, frontend, error pages, health",
        needs: &[],
        text: concat!(
            include_str!("../../../charts/haptic/libraries/base.yaml"),
            include_str!("../../../charts/haptic/libraries/tests/base.yaml")
        ),
    },
    Library {
        name: "ssl",
        summary: "HTTPS: certificates from TLS Secrets, redirects",
        needs: &["base"],
        text: concat!(
            include_str!("../../../charts/haptic/libraries/ssl.yaml"),
            include_str!("../../../charts/haptic/libraries/tests/ssl.yaml")
        ),
    },
    Library {
        name: "ingress",
        summary: "networking.k8s.io/v1 Ingress; needs base and ssl",
        needs: &["base", "ssl"],
        text: concat!(
            include_str!("../../../charts/haptic/libraries/ingress.yaml"),
            include_str!("../../../charts/haptic/libraries/tests/ingress.yaml")
        ),
    },
];

/// Fields of a spec whose entries have names; a later entry takes the place of an earlier one of its name. The tests are a list,
/// and merged as a map.
const NAMED: [&str; 7] =
    ["watchedResources", "templateSnippets", "maps", "files", "sslCertificates", "crtLists", TESTS];

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
        let document: Value = serde_saphyr::from_str(self.text).map_err(|e| {
            Diagnostic::error("basic", format!("the library {} cannot be read: {e}", self.name))
        })?;
        Ok(document.get("spec").cloned().unwrap_or_default())
    }
}

/// Tests of libraries that say nothing of a configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Untested {
    /// How many.
    pub tests: usize,
    /// The parts of libraries that are replaced: `files.404.http`.
    pub replaced: Vec<String>,
}

impl fmt::Display for Untested {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (tests, all) = (self.tests, self.replaced.join(", "));
        let are = if tests == 1 {
            "1 test of the libraries is"
        } else {
            &format!("{tests} tests of the libraries are")
        };
        write!(f, "{are} not run, because the configuration replaces {all}")
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
    let replaced = replaced_parts(&whole, &spec);
    let tests = whole.get_mut(TESTS).and_then(Value::as_object_mut);
    let untested = tests.and_then(|tests| {
        let before = tests.len();
        tests.retain(|_, test| !replaced.iter().any(|part| is_about(test, part)));
        let tests = before - tests.len();
        (tests > 0).then_some(Untested { tests, replaced })
    });
    let whole = over(whole, spec);
    Ok((if was_map { whole } else { tests_as_list(whole) }, untested))
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

/// The names of the tests of these libraries.
#[must_use]
pub fn tests_of(libraries: &[String]) -> BTreeSet<String> {
    let specs = libraries.iter().filter_map(|name| find(name)?.spec().ok());
    let tests = specs.filter_map(|spec| spec.get(TESTS)?.as_array().cloned());
    tests.flatten().filter_map(|test| test.get("name")?.as_str().map(str::to_owned)).collect()
}

/// Whether a test may say something of that part. What a file holds is seen by those that look at it; of another part that may be all.
fn is_about(test: &Value, part: &str) -> bool {
    let targets = test.get("assertions").and_then(Value::as_array).into_iter().flatten();
    let mut targets = targets.filter_map(|assertion| assertion.get("target")?.as_str());
    !part.starts_with("files.") || targets.any(|target| target == part)
}

/// The parts of the libraries whose place `spec` takes.
fn replaced_parts(libraries: &Value, spec: &Value) -> Vec<String> {
    let parts = |spec: &Value, field: &str| -> Vec<String> {
        spec.get(field).and_then(Value::as_object).into_iter().flat_map(Map::keys).cloned().collect()
    };
    let named = NAMED.iter().filter(|field| **field != TESTS).flat_map(|field| {
        let theirs = parts(libraries, field);
        let own = parts(spec, field).into_iter().filter(move |name| theirs.contains(name));
        own.map(move |name| format!("{field}.{name}"))
    });
    let has_frame = |spec: &Value| spec.get("haproxyConfig").is_some_and(|config| !config.is_null());
    let frame = (has_frame(libraries) && has_frame(spec)).then(|| "haproxyConfig".to_owned());
    named.chain(frame).collect()
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
    fn every_library_fits_the_schema_and_is_named_like_its_file() {
        for library in LIBRARIES {
            let document: Value = serde_saphyr::from_str(library.text).unwrap();
            assert_eq!(document.pointer("/metadata/name").unwrap(), library.name);
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
        assert_eq!(tests("templateSnippets: {frontend-35-mine: {template: x}}").len(), all);
        assert_eq!(tests(own).len(), all + 1);
        assert_eq!(tests(&format!("files: {{404.http: {{template: x}}}}\n{own}")).len(), all);
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
        let page = json!({"libraries": libraries, "files": {"404.http": {"template": "x"}}});
        let said = "1 test of the libraries is not run, because the configuration replaces files.404.http";
        assert_eq!(untested(page).as_deref(), Some(said));
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
