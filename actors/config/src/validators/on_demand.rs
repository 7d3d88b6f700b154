//! What a built-in library reads object by object as it changes, which a store that does not hold all objects cannot give.

use haptic_model::{Diagnostic, HAProxyTemplateConfigSpec, Severity, crd::StoreKind};

/// The library that reads them.
const LIBRARY: &str = "ingress";

/// Watched resource, what is missed, whether anything works without it.
const READ_WHOLE: [(&str, &str, Severity); 3] = [
    ("ingresses", "no Ingress would be served", Severity::Error),
    (NAMED, "users and CAs of Ingresses would not be read", Severity::Error),
    ("services", "names of ExternalName Services are not looked up", Severity::Warning),
];
/// Of these it reads those that are named.
const NAMED: &str = "labelledsecrets";

pub(super) fn problems(spec: &HAProxyTemplateConfigSpec, problems: &mut Vec<Diagnostic>) {
    if !spec.libraries.iter().any(|library| library == LIBRARY) {
        return;
    }
    for (name, missed, severity) in READ_WHOLE {
        let store = spec.watched_resources.get(name).map(|watched| watched.store);
        let kind = match store {
            Some(StoreKind::OnDemand) => Some("an on-demand"),
            Some(StoreKind::Named) if name != NAMED => Some("a named"),
            _ => None,
        };
        if let Some(kind) = kind {
            let what = format!("the library {LIBRARY} cannot read {name} from {kind} store: {missed}");
            let field = format!("spec.watchedResources.{name}.store");
            let problem = Diagnostic { severity, ..Diagnostic::error("basic", what) };
            problems.push(problem.at_field(field).help("Set store: full, which is the default"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn said(libraries: &[&str], watched: &str) -> Vec<(Severity, String)> {
        said_of(libraries, watched, "on-demand")
    }

    fn said_of(libraries: &[&str], watched: &str, store: &str) -> Vec<(Severity, String)> {
        let spec = json!({
            "credentialsSecretRef": {"name": "c"}, "podSelector": {"matchLabels": {"a": "b"}},
            "libraries": libraries,
            "watchedResources": {watched: {"apiVersion": "v1", "resources": "x", "store": store}},
        });
        let mut all = Vec::new();
        problems(&serde_json::from_value(spec).unwrap(), &mut all);
        all.iter().map(|problem| (problem.severity, problem.to_string())).collect()
    }

    #[test]
    fn what_the_library_reads_as_it_changes_cannot_be_on_demand_and_the_rest_can() {
        for (name, _, severity) in READ_WHOLE {
            let [(found, sentence)] = &said(&["base", "ssl", "ingress"], name)[..] else {
                panic!("{name} on demand is one problem")
            };
            assert_eq!(*found, severity);
            assert!(sentence.contains(name) && sentence.contains("store: full"), "{sentence}");
            assert_eq!(said(&["base", "ssl"], name), []);
        }
        assert_eq!(said(&["base", "ssl", "ingress"], "secrets"), []);
    }

    #[test]
    fn secrets_may_be_those_that_are_named_and_ingresses_may_not() {
        assert_eq!(said_of(&["ingress"], NAMED, "named"), []);
        let [(Severity::Error, sentence)] = &said_of(&["ingress"], "ingresses", "named")[..] else {
            panic!()
        };
        assert!(sentence.contains("a named store"), "{sentence}");
    }
}
