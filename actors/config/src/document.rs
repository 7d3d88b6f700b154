//! Configuration files: a whole `HAProxyTemplateConfig`, or only its spec.

use crate::{candidate::ConfigCandidate, config_map, file_forms, positions, replaced_fields, schema};
use haptic_model::{
    Diagnostic, HAProxyTemplateConfig,
    crd::{HAProxyCRTListFile, HAProxyCfg, HAProxyGeneralFile, HAProxyMapFile},
    yaml,
};
use kube::CustomResourceExt;
use serde_json::{Value, json};
use std::{io::ErrorKind, path::Path, sync::LazyLock};

const KIND: &str = "HAProxyTemplateConfig";
const API_VERSION: &str = "haproxy-haptic.org/v1alpha1";

/// Reads the configuration in the file at `path`.
///
/// # Errors
/// Everything that is wrong with it, each with file, line and column or field.
pub fn load_file(path: &Path) -> Result<ConfigCandidate, Vec<Diagnostic>> {
    parse(&text_of(path)?, &path.display().to_string())
}

/// What the file at `path` says.
///
/// # Errors
/// Why it cannot be read.
pub fn text_of(path: &Path) -> Result<String, Vec<Diagnostic>> {
    std::fs::read_to_string(path).map_err(|e| {
        let path = path.display();
        let help = match e.kind() {
            ErrorKind::InvalidData => {
                let problem = Diagnostic::error("basic", format!("{path} is not UTF-8 text"));
                return vec![problem.help("Save it as UTF-8")];
            }
            ErrorKind::PermissionDenied => "Let this user read it",
            ErrorKind::IsADirectory => "Name a configuration file in it",
            _ => "Name a configuration file that is there",
        };
        vec![Diagnostic::error("basic", format!("cannot read {path}: {e}")).help(help)]
    })
}

/// Reads the configuration in `text`, which came from `origin` (a path, for messages).
///
/// # Errors
/// Everything that is wrong with it, each with file, line and column or field.
pub fn parse(text: &str, origin: &str) -> Result<ConfigCandidate, Vec<Diagnostic>> {
    let documents: Vec<Value> = serde_saphyr::from_multiple(text).map_err(|e| vec![not_yaml(&e, origin)])?;
    if let Some(held) = config_map::held_in(&documents, origin).map_err(|d| vec![d])? {
        let mut candidate = parse(&held.text, &held.origin)?;
        candidate.notices.insert(0, held.notice);
        return Ok(candidate);
    }
    let mut resource = choose(documents, origin).map_err(|d| vec![d])?;
    let Some(spec) = resource.get_mut("spec") else {
        return Err(vec![Diagnostic::error("basic", format!("{origin} has no spec"))]);
    };
    let (notices, problems) = (replaced_fields::read(spec), fit(spec));
    let read = if problems.is_empty() {
        ConfigCandidate::from_resource(&resource).map_err(|d| vec![d])
    } else {
        Err(problems)
    };
    let mut candidate = read.map_err(|problems| positions::add_places(problems, text, origin))?;
    if !notices.is_empty() {
        candidate.notices = positions::add_places(notices, text, origin);
    }
    Ok(candidate)
}

/// Fits `spec` to the schema, once the forms that only files may have are the schema's.
fn fit(spec: &mut Value) -> Vec<Diagnostic> {
    let schema = &*SPEC_SCHEMA;
    let old = file_forms::take_allow_list(spec);
    let mut problems = file_forms::rewrite(spec, schema);
    problems.extend(schema::fit(spec, schema, "spec"));
    if let (Some(fields), Some(old)) = (spec.as_object_mut(), old) {
        fields.insert("allow".to_owned(), old);
    }
    problems
}

/// The CustomResourceDefinition of the configuration.
#[must_use]
pub fn crd() -> Value {
    as_value(&HAProxyTemplateConfig::crd())
}

/// All CustomResourceDefinitions, the configuration's first, then those of what is published.
#[must_use]
pub fn crds() -> Vec<Value> {
    let published =
        [HAProxyCfg::crd(), HAProxyMapFile::crd(), HAProxyGeneralFile::crd(), HAProxyCRTListFile::crd()];
    std::iter::once(crd()).chain(published.iter().map(as_value)).collect()
}

fn as_value(crd: &impl serde::Serialize) -> Value {
    let mut crd = serde_json::to_value(crd).unwrap_or_default();
    drop_foreign_formats(&mut crd);
    crd
}

/// [`crds`] as YAML, for `kubectl apply -f -`.
///
/// # Errors
/// Never in practice: it is plain data.
pub fn crd_yaml() -> Result<String, String> {
    let documents = crds().into_iter().map(|crd| serde_saphyr::to_string(&crd).map_err(|e| e.to_string()));
    Ok(documents.collect::<Result<Vec<_>, _>>()?.join("---\n"))
}

/// Rust's integer formats mean nothing to the API server, which warns of each; their bounds stay.
fn drop_foreign_formats(schema: &mut Value) {
    match schema {
        Value::Object(fields) => {
            if fields.get("format").and_then(Value::as_str).is_some_and(|f| f.starts_with("uint")) {
                fields.remove("format");
            }
            fields.values_mut().for_each(drop_foreign_formats);
        }
        Value::Array(items) => items.iter_mut().for_each(drop_foreign_formats),
        _ => {}
    }
}

/// The schema of `spec`, as the API server has it. Made from all its types, and the same for each configuration.
static SPEC_SCHEMA: LazyLock<Value> = LazyLock::new(|| {
    let mut crd = crd();
    let spec = crd.pointer_mut("/spec/versions/0/schema/openAPIV3Schema/properties/spec");
    spec.map(Value::take).unwrap_or_default()
});

/// The one configuration among `documents`: by kind, or a lone document that is a bare spec.
fn choose(documents: Vec<Value>, origin: &str) -> Result<Value, Diagnostic> {
    let mut documents: Vec<Value> = documents.into_iter().filter(|d| !d.is_null()).collect();
    let of_kind = documents.iter().filter(|d| d.get("kind").and_then(Value::as_str) == Some(KIND)).count();
    if of_kind > 1 {
        return Err(Diagnostic::error(
            "basic",
            format!("{origin} holds {of_kind} objects of kind {KIND}: one is expected"),
        ));
    }
    if of_kind == 0
        && documents.len() == 1
        && documents.iter().all(|d| d.is_object() && d.get("kind").is_none())
    {
        let name =
            Path::new(origin).file_stem().map_or("config".into(), |s| s.to_string_lossy().into_owned());
        let spec = documents.pop().unwrap_or_default();
        return Ok(json!({"metadata": {"name": name, "namespace": "default"}, "spec": spec}));
    }
    let kinds: Vec<String> =
        documents.iter().filter_map(|d| d.get("kind")?.as_str().map(str::to_owned)).take(5).collect();
    let found = documents.into_iter().find(|d| d.get("kind").and_then(Value::as_str) == Some(KIND));
    let mut found = found
        .ok_or_else(|| starts_with(format!("{origin} holds no object of kind {KIND}{}", instead(&kinds))))?;
    let version = found.get("apiVersion").and_then(Value::as_str).unwrap_or_default();
    if version != API_VERSION {
        return Err(starts_with(format!(
            "{origin}: apiVersion of a {KIND} is {API_VERSION}, not {version:?}"
        )));
    }
    named(&found, origin)?;
    if let Some(metadata) = found.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.entry("namespace").or_insert_with(|| "default".into());
    }
    Ok(found)
}

/// Whether an API server would take its name.
fn named(resource: &Value, origin: &str) -> Result<(), Diagnostic> {
    let name = resource.pointer("/metadata/name").unwrap_or(&Value::Null);
    let problem = match name.as_str() {
        Some(name) if is_name(name) => return Ok(()),
        Some("") | None => format!("{origin} has no metadata.name"),
        Some(name) => {
            let shown: String = name.chars().take(60).collect();
            format!("{origin}: metadata.name is {shown:?}, which no object of Kubernetes can be called")
        }
    };
    let help = "A name has small letters, digits, - and ., begins and ends with a letter or digit, and has 253 bytes at the most";
    Err(Diagnostic::error("basic", problem).help(help))
}

fn is_name(name: &str) -> bool {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    name.len() <= 253
        && name.split('.').all(|part| {
            part.starts_with(plain) && part.ends_with(plain) && part.chars().all(|c| plain(c) || c == '-')
        })
}

fn starts_with(problem: String) -> Diagnostic {
    let help = format!(
        "A configuration starts with `apiVersion: {API_VERSION}` and `kind: {KIND}`, or is the spec alone"
    );
    Diagnostic::error("basic", problem).help(help)
}

/// What a file holds that has no configuration in it.
fn instead(kinds: &[String]) -> String {
    if kinds.is_empty() { String::new() } else { format!(", but {}", kinds.join(", ")) }
}

fn not_yaml(error: &serde_saphyr::Error, origin: &str) -> Diagnostic {
    let place =
        error.location().map_or(origin.to_owned(), |l| format!("{origin}:{}:{}", l.line(), l.column()));
    Diagnostic::error("basic", format!("{place}: {}", yaml::why(error)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINIMAL: &str = "
apiVersion: haproxy-haptic.org/v1alpha1
kind: HAProxyTemplateConfig
metadata: {name: edge}
spec:
  credentialsSecretRef: {name: creds}
  podSelector: {matchLabels: {app: haproxy}}
  haproxyConfig: {template: ''}
";

    #[test]
    fn a_minimal_configuration_gets_every_default() {
        let candidate = parse(MINIMAL, "edge.yaml").unwrap();
        assert_eq!((&*candidate.name, &*candidate.namespace), ("edge", "default"));
        assert_eq!(candidate.spec.dataplane.port, 5555);
        assert_eq!(candidate.spec.controller.leader_election.lease_name, "haptic-leader");
        assert_eq!(candidate.spec.watched_resources_ignore_fields.len(), 2);
    }

    #[test]
    fn a_bare_spec_in_snake_case_is_a_configuration_named_like_its_file() {
        let text = "
credentials_secret_ref: {name: creds}
pod_selector: {match_labels: {app: haproxy}}
watched_resources:
  ingresses: {api_version: networking.k8s.io/v1, resources: ingresses, index_by: [metadata.namespace]}
haproxy_config: {template: ''}
";
        let candidate = parse(text, "dir/classic.yaml").unwrap();
        assert_eq!(&*candidate.name, "classic");
        assert_eq!(candidate.spec.watched_resources["ingresses"].index_by, ["metadata.namespace"]);
    }

    #[test]
    fn allow_is_an_object_and_may_still_be_a_list() {
        let with = |allow: &str| parse(&format!("{MINIMAL}  allow: {allow}\n"), "x.yaml");
        let allowed = with("{features: [Lua], destinations: [10.0.0.0/8]}").unwrap().spec.allow.clone();
        assert!(allowed.features.len() == 1 && allowed.destinations.len() == 1 && !allowed.is_old_list);
        let allowed = with("[Lua]").unwrap().spec.allow.clone();
        assert!(allowed.features.len() == 1 && allowed.is_old_list);
        for (wrong, said) in [
            ("{feature: [Lua]}", "features"),
            ("{destinations: [shop.example]}", "10.0.0.0/8"),
            ("{destinations: [10.0.0.0/8, shop.example]}", "spec.allow.destinations[1]"),
            ("[Everything]", "Lua"),
            ("{features: [Everything]}", "Lua"),
            ("Lua", "mapping"),
        ] {
            let error = with(wrong).unwrap_err();
            assert!(error[0].to_string().contains(said), "{wrong}: {}", error[0]);
        }
    }

    #[test]
    fn a_snippet_may_be_plain_text() {
        for field in ["templateSnippets", "template_snippets"] {
            let text = format!("{MINIMAL}  {field}: {{a: plain, b: {{template: long}}}}\n");
            let snippets = parse(&text, "x.yaml").unwrap().spec.template_snippets.clone();
            assert_eq!((&*snippets["a"].template, &*snippets["b"].template), ("plain", "long"));
        }
        let error = parse(&format!("{MINIMAL}  templateSnippets: {{a: 1}}\n"), "x.yaml").unwrap_err();
        assert!(error[0].to_string().contains("spec.templateSnippets.a"), "{}", error[0]);
    }

    #[test]
    fn tests_are_a_list_and_may_be_a_map_by_name() {
        let test = "{fixtures: {services: []}, assertions: [{type: haproxy_valid}]}";
        let read = |tests: &str| parse(&format!("{MINIMAL}  {tests}\n"), "x.yaml");
        let listed = "validationTests: [{name: one, assertions: [{type: haproxy_valid}]}]";
        let mapped =
            [format!("validationTests: {{one: {test}}}"), format!("validation_tests: {{one: {test}}}")];
        for tests in [listed, &mapped[0], &mapped[1]] {
            let read = read(tests).unwrap().spec.validation_tests.clone();
            assert_eq!((read.by_name["one"].assertions.len(), read.is_old_map), (1, false), "{tests}");
        }
        for (wrong, said) in [
            ("validationTests: [{name: a}, {name: a}]", "x.yaml:9:32: two tests are called \"a\""),
            ("validationTests: [{assertions: []}]", "required field name is missing"),
            ("validationTests: {a: {assertion: []}}", "spec.validationTests.a.assertion"),
            ("validationTests: {a: {name: b}}", "spec.validationTests.a.name"),
            ("validationTests: one", "a list is expected"),
        ] {
            let said_of: Vec<String> = read(wrong).unwrap_err().iter().map(ToString::to_string).collect();
            assert!(said_of.iter().any(|s| s.contains(said)), "{wrong}: {said_of:?}");
        }
    }

    #[test]
    fn what_is_not_yaml_is_shown_with_line_and_column() {
        let error = parse("spec:\n  a: [1,\n  b: }\n", "x.yaml").unwrap_err();
        assert!(error[0].message.starts_with("x.yaml:2:6: this is not YAML"), "{}", error[0]);
    }

    #[test]
    fn a_mistyped_field_is_found_with_its_path() {
        let error = parse(&MINIMAL.replace("podSelector", "podSelectr"), "x.yaml").unwrap_err();
        let said: Vec<String> = error.iter().map(ToString::to_string).collect();
        assert!(said.iter().any(|s| s.contains("spec.podSelectr") && s.contains("podSelector")), "{said:?}");
    }

    #[test]
    fn two_configurations_in_a_file_are_refused() {
        let error = parse(&format!("{MINIMAL}---{MINIMAL}"), "x.yaml").unwrap_err();
        assert!(error[0].message.contains("2 objects"), "{}", error[0]);
    }

    #[test]
    fn the_crd_has_what_the_api_server_asks_for() {
        let crd = crd_yaml().unwrap();
        for part in
            ["htplcfg", "haptpl", "subresources", "validationStatus", "x-kubernetes-preserve-unknown-fields"]
        {
            assert!(crd.contains(part), "{part} is missing");
        }
    }
}
