//! Fields that others have replaced since: files may still have them, and what each is read as is told. Pure.

use haptic_model::Diagnostic;
use serde_json::{Map, Value, json};

/// The Secret of a configuration that is older than the field that names it; the chart's.
const SECRET: &str = "haproxy-credentials";

/// Reads what `spec` has of them as what it is called now, with a warning for each.
pub(crate) fn read(spec: &mut Value) -> Vec<Diagnostic> {
    let Some(spec) = spec.as_object_mut() else { return Vec::new() };
    let mut notices = Vec::new();
    logging(spec, &mut notices);
    validation(spec, &mut notices);
    snippets(spec, &mut notices);
    watched(spec, &mut notices);
    if !notices.is_empty() && field(spec, "credentialsSecretRef").is_none() {
        spec.insert("credentialsSecretRef".to_owned(), json!({ "name": SECRET }));
        let message = format!("credentialsSecretRef is not there: read as {{name: {SECRET}}}");
        notices.push(warning("spec.credentialsSecretRef".to_owned(), message));
    }
    notices
}

fn warning(field: String, message: String) -> Diagnostic {
    Diagnostic::warning("basic", message).at_field(field)
}

/// The field of that name, or of the same in snake case.
fn field<'v>(of: &'v mut Map<String, Value>, name: &str) -> Option<&'v mut Value> {
    let spelled = |known: &&String| known.replace('_', "").eq_ignore_ascii_case(name);
    let name = of.keys().find(spelled)?.clone();
    of.get_mut(&name)
}

fn dict<'v>(of: &'v mut Map<String, Value>, name: &str) -> Option<&'v mut Map<String, Value>> {
    field(of, name)?.as_object_mut()
}

/// `verbose: 0` to `2` was WARNING to DEBUG.
fn logging(spec: &mut Map<String, Value>, notices: &mut Vec<Diagnostic>) {
    let Some(logging) = dict(spec, "logging") else { return };
    let Some(verbose) = logging.remove("verbose") else { return };
    let level = match verbose.as_u64() {
        Some(0) => "WARN",
        Some(1) => "INFO",
        _ => "DEBUG",
    };
    let level = logging.entry("level").or_insert_with(|| level.into());
    let message = format!("logging.verbose was replaced by logging.level: read as level: {}", text_of(level));
    notices.push(warning("spec.logging.verbose".to_owned(), message));
}

/// Another Data Plane API checked configurations once.
fn validation(spec: &mut Map<String, Value>, notices: &mut Vec<Diagnostic>) {
    let Some(validation) = dict(spec, "validation") else { return };
    for name in ["dataplane_host", "dataplaneHost", "dataplane_port", "dataplanePort"] {
        if validation.remove(name).is_some() {
            let message =
                format!("validation.{name} has no effect: the controller runs HAProxy itself to check");
            notices.push(warning(format!("spec.validation.{name}"), message));
        }
    }
}

fn snippets(spec: &mut Map<String, Value>, notices: &mut Vec<Diagnostic>) {
    let Some(snippets) = dict(spec, "templateSnippets") else { return };
    for (key, snippet) in snippets {
        if let Some(name) = snippet.as_object_mut().and_then(|snippet| snippet.remove("name")) {
            let called = if name == **key { String::new() } else { format!(", not {}", text_of(&name)) };
            let message = format!("the name of a snippet is its key: it is called {key:?}{called}");
            notices.push(warning(format!("spec.templateSnippets.{key}.name"), message));
        }
    }
}

/// `kind: Ingress` was `resources: ingresses`.
fn watched(spec: &mut Map<String, Value>, notices: &mut Vec<Diagnostic>) {
    let Some(watched) = dict(spec, "watchedResources") else { return };
    for (name, resource) in watched {
        let Some(resource) = resource.as_object_mut() else { continue };
        let Some(kind) = resource.remove("kind") else { continue };
        let plural = plural_of(kind.as_str().unwrap_or_default());
        let plural = resource.entry("resources").or_insert_with(|| plural.into());
        let message = format!("kind was replaced by resources: read as resources: {}", text_of(plural));
        notices.push(warning(format!("spec.watchedResources.{name}.kind"), message));
    }
}

/// As Kubernetes makes the names in URLs.
fn plural_of(kind: &str) -> String {
    let kind = kind.to_lowercase();
    let ends = |ends: &[&str]| ends.iter().any(|end| kind.ends_with(end));
    match kind.strip_suffix('y') {
        _ if kind == "endpoints" => kind,
        Some(stem) if !ends(&["ay", "ey", "oy", "uy"]) => format!("{stem}ies"),
        _ if ends(&["s", "x", "ch", "sh"]) => format!("{kind}es"),
        _ => format!("{kind}s"),
    }
}

fn text_of(value: &Value) -> String {
    let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    text.chars().take(60).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_have_the_names_that_they_have_in_urls() {
        for (kind, plural) in [
            ("Ingress", "ingresses"),
            ("EndpointSlice", "endpointslices"),
            ("Endpoints", "endpoints"),
            ("NetworkPolicy", "networkpolicies"),
            ("Gateway", "gateways"),
            ("IngressClass", "ingressclasses"),
            ("Service", "services"),
        ] {
            assert_eq!(plural_of(kind), plural);
        }
    }

    #[test]
    fn what_is_said_in_both_ways_is_what_the_new_one_says() {
        let mut spec = json!({
            "logging": {"verbose": 0, "level": "ERROR"},
            "templateSnippets": {"a": {"name": "b", "template": ""}},
            "watchedResources": {"x": {"kind": "Thing", "resources": "others"}},
            "credentialsSecretRef": {"name": "own"},
        });
        let told: Vec<String> = read(&mut spec).iter().map(ToString::to_string).collect();
        assert_eq!(told.len(), 3, "{told:?}");
        assert!(told[1].contains("it is called \"a\", not b"), "{told:?}");
        let expected = json!({
            "logging": {"level": "ERROR"}, "templateSnippets": {"a": {"template": ""}},
            "watchedResources": {"x": {"resources": "others"}}, "credentialsSecretRef": {"name": "own"},
        });
        assert_eq!(spec, expected);
    }

    #[test]
    fn what_has_none_of_them_is_left_as_it_is() {
        let mut spec = json!({"logging": {"level": "INFO"}});
        assert_eq!((read(&mut spec), spec), (vec![], json!({"logging": {"level": "INFO"}})));
    }
}
