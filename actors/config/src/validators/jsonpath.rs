//! Paths that index objects or name ignored fields must be readable, and within what their store sees.

use haptic_model::{
    Diagnostic, HAProxyTemplateConfigSpec,
    crd::{StoreKind, WatchedResource},
};
use haptic_text::FieldPath;

/// Every path that cannot be read, with its position, or that its store cannot index by.
#[must_use]
pub fn jsonpath(spec: &HAProxyTemplateConfigSpec) -> Vec<Diagnostic> {
    let index = spec.watched_resources.iter().flat_map(|(name, watched)| {
        let paths = watched.index_by.iter().enumerate();
        paths.filter_map(move |(i, path)| {
            wrong_index(format!("spec.watchedResources.{name}.indexBy[{i}]"), path, watched)
        })
    });
    let ignored = spec.watched_resources_ignore_fields.iter().enumerate();
    let ignored = ignored
        .filter_map(|(i, path)| readable(&format!("spec.watchedResourcesIgnoreFields[{i}]"), path).err());
    let shared = spec.watched_resources.iter().filter_map(|(name, watched)| shared_key(name, watched));
    index.chain(ignored).chain(shared).collect()
}

/// Paths that name something within one namespace.
const WITHIN_NAMESPACE: [&str; 2] = ["metadata.name", "metadata.labels['kubernetes.io/service-name']"];
/// What is in namespaces, of the kinds that everybody has.
const IN_NAMESPACES: [&str; 7] =
    ["configmaps", "endpoints", "endpointslices", "ingresses", "pods", "secrets", "services"];

/// That objects of several namespaces are found by one key, where it names something within one.
fn shared_key(name: &str, watched: &WatchedResource) -> Option<Diagnostic> {
    let has = |path: &str| watched.index_by.iter().any(|by| by.replace('"', "'") == path);
    let is_readable = watched.index_by.iter().all(|path| FieldPath::parse(path).is_ok());
    let of_all = is_readable && watched.namespaces.len() != 1 && IN_NAMESPACES.contains(&&*watched.resources);
    let path =
        WITHIN_NAMESPACE.iter().find(|path| has(path)).filter(|_| of_all && !has("metadata.namespace"))?;
    let what =
        format!("{path} means something else in each namespace: objects of several are found by one key");
    let help = format!("Write indexBy: [metadata.namespace, \"{path}\"], and ask with the namespace first");
    Some(
        Diagnostic::warning("jsonpath", what)
            .at_field(format!("spec.watchedResources.{name}.indexBy"))
            .help(help),
    )
}

fn wrong_index(field: String, path: &str, watched: &WatchedResource) -> Option<Diagnostic> {
    match readable(&field, path) {
        Ok(read) if watched.store == StoreKind::OnDemand && !read.is_metadata() => {
            let what = format!("{path:?} cannot index an on-demand store, which sees metadata only");
            let help = "Index by a path below metadata (a label, for example), or set store: full";
            Some(Diagnostic::error("jsonpath", what).at_field(field).help(help))
        }
        read => read.err(),
    }
}

fn readable(field: &str, path: &str) -> Result<FieldPath, Diagnostic> {
    FieldPath::parse(path).map_err(|why| {
        Diagnostic::error("jsonpath", format!("path {path:?}: {why}"))
            .at_field(field)
            .help("Write it like metadata.namespace or metadata.labels['kubernetes.io/service-name']")
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_name_within_a_namespace_is_no_key_of_all_of_them() {
        let told = |resources: &str, index: &[&str], namespaces: &[&str]| {
            let spec = serde_json::from_value(json!({
                "credentialsSecretRef": {"name": "c"}, "podSelector": {"matchLabels": {"a": "b"}},
                "watchedResources": {"x": {"apiVersion": "v1", "resources": resources, "indexBy": index, "namespaces": namespaces}},
            }));
            jsonpath(&spec.unwrap()).len()
        };
        let by_service = "metadata.labels[\"kubernetes.io/service-name\"]";
        assert_eq!(told("endpointslices", &[by_service], &[]), 1);
        assert_eq!(told("services", &["metadata.name"], &["a", "b"]), 1);
        assert_eq!(told("services", &["metadata.name"], &["a"]), 0);
        assert_eq!(told("services", &["metadata.namespace", "metadata.name"], &[]), 0);
        assert_eq!(told("namespaces", &["metadata.name"], &[]), 0);
        assert_eq!(told("services", &["metadata.labels['app']"], &[]), 0);
    }

    #[test]
    fn a_bad_path_is_named_with_its_field() {
        let spec = serde_json::from_value(json!({
            "credentialsSecretRef": {"name": "c"},
            "podSelector": {"matchLabels": {"a": "b"}},
            "watchedResources": {"x": {"apiVersion": "v1", "resources": "secrets", "indexBy": ["metadata.name", "a[["]}},
            "watchedResourcesIgnoreFields": ["metadata.managedFields", "metadata.labels['x"],
        }));
        let said = jsonpath(&spec.unwrap());
        let fields: Vec<_> = said.iter().filter_map(|d| d.field.as_deref()).collect();
        assert_eq!(fields, ["spec.watchedResources.x.indexBy[1]", "spec.watchedResourcesIgnoreFields[1]"]);
    }

    #[test]
    fn an_on_demand_store_is_indexed_by_metadata_only() {
        let said = |store: &str, path: &str| {
            let index = ["metadata.namespace", path];
            let watched =
                json!({"apiVersion": "v1", "resources": "secrets", "store": store, "indexBy": index});
            let spec = json!({
                "credentialsSecretRef": {"name": "c"}, "podSelector": {"matchLabels": {"a": "b"}},
                "watchedResources": {"x": watched},
            });
            jsonpath(&serde_json::from_value(spec).unwrap())
        };
        for path in ["metadata.name", "{.metadata.labels['a/b']}", "metadata.annotations.*"] {
            assert!(said("on-demand", path).is_empty(), "{path}");
        }
        for path in ["type", "data['tls.crt']", "spec.metadata.name", "{.type}"] {
            let [refused] = &said("on-demand", path)[..] else { panic!("{path} is taken") };
            assert_eq!(refused.field.as_deref(), Some("spec.watchedResources.x.indexBy[1]"));
            assert!(refused.to_string().contains("store: full"), "{refused}");
            assert!(said("full", path).is_empty(), "{path}");
        }
    }
}
