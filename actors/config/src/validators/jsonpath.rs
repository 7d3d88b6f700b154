//! Paths that index objects or name ignored fields must be readable.

use haptic_model::{Diagnostic, HAProxyTemplateConfigSpec, field_path::FieldPath};

/// Every path that cannot be read, with its position.
#[must_use]
pub fn jsonpath(spec: &HAProxyTemplateConfigSpec) -> Vec<Diagnostic> {
    let index = spec.watched_resources.iter().flat_map(|(name, watched)| {
        let paths = watched.index_by.iter().enumerate();
        paths.map(move |(i, path)| (format!("spec.watchedResources.{name}.indexBy[{i}]"), path))
    });
    let ignored = spec.watched_resources_ignore_fields.iter().enumerate();
    let ignored = ignored.map(|(i, path)| (format!("spec.watchedResourcesIgnoreFields[{i}]"), path));
    index.chain(ignored).filter_map(|(field, path)| unreadable(field, path)).collect()
}

fn unreadable(field: String, path: &str) -> Option<Diagnostic> {
    let why = FieldPath::parse(path).err()?;
    Some(
        Diagnostic::error("jsonpath", format!("path {path:?}: {why}"))
            .at_field(field)
            .help("Write it like metadata.namespace or metadata.labels['kubernetes.io/service-name']"),
    )
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
}
