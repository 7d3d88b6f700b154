//! What a built-in library reads object by object as it changes, which an on-demand store cannot give.

use haptic_model::{Diagnostic, HAProxyTemplateConfigSpec, Severity, crd::StoreKind};

/// The library that reads them.
const LIBRARY: &str = "ingress";

/// Watched resource, what is missed, whether anything works without it.
const READ_WHOLE: [(&str, &str, Severity); 3] = [
    ("ingresses", "no Ingress would be served", Severity::Error),
    ("labelledsecrets", "users and CAs of Ingresses would not be read", Severity::Error),
    ("services", "names of ExternalName Services are not looked up", Severity::Warning),
];

pub(super) fn problems(spec: &HAProxyTemplateConfigSpec, problems: &mut Vec<Diagnostic>) {
    if !spec.libraries.iter().any(|library| library == LIBRARY) {
        return;
    }
    for (name, missed, severity) in READ_WHOLE {
        if spec.watched_resources.get(name).is_some_and(|watched| watched.store == StoreKind::OnDemand) {
            let what = format!("the library {LIBRARY} cannot read {name} from an on-demand store: {missed}");
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

    fn said(libraries: &[&str], on_demand: &str) -> Vec<(Severity, String)> {
        let spec = json!({
            "credentialsSecretRef": {"name": "c"}, "podSelector": {"matchLabels": {"a": "b"}},
            "libraries": libraries,
            "watchedResources": {on_demand: {"apiVersion": "v1", "resources": "x", "store": "on-demand"}},
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
}
