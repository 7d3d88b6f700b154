//! Paths that index objects or name ignored fields must be readable, and within what their store sees.

use haptic_model::{
    Diagnostic, HAProxyTemplateConfigSpec,
    crd::{StoreKind, WatchedResource},
    field_path::FieldPath,
};

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
    index.chain(ignored).collect()
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
