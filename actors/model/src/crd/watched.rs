//! What to watch.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One kind of Kubernetes resource, and how templates find its objects.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WatchedResource {
    /// `networking.k8s.io/v1`; `v1` for the core group.
    pub api_version: String,
    /// The plural name as in URLs: `ingresses`.
    pub resources: String,
    /// Paths whose values index the objects, outermost first: `metadata.namespace`.
    #[serde(default = "default_index")]
    pub index_by: Vec<String>,
    /// As kubectl's `-l`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label_selector: Option<String>,
    /// As kubectl's `--field-selector`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub field_selector: Option<String>,
    /// Labels of namespaces whose objects are taken; all when empty.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace_selector: Option<String>,
    /// Namespaces whose objects are taken; all when empty.
    #[serde(default)]
    pub namespaces: Vec<String>,
    /// Which objects are kept: all, those that others name, or none but references to them.
    #[serde(default)]
    pub store: StoreKind,
    /// Whether the webhook refuses bad objects of this kind.
    #[serde(default)]
    pub enable_validation_webhook: bool,
    /// Whether the kind may be unknown to the API server: until its definition is installed there are no objects of it. Without it such a
    /// kind is an error, and the configuration waits.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub optional: bool,
}

impl WatchedResource {
    /// The selector of namespaces, if it selects: an empty one takes the objects of all of them.
    #[must_use]
    pub fn selects_namespaces(&self) -> Option<&str> {
        self.namespace_selector.as_deref().map(str::trim).filter(|selector| !selector.is_empty())
    }
}

/// What a store keeps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum StoreKind {
    /// The objects.
    #[default]
    Full,
    /// References; objects are fetched when a template reads them. For many large objects of which few are read.
    OnDemand,
    /// The objects whose names stand in other watched objects, with their namespaces where these are other ones, in ConfigMaps or in the
    /// configuration. Of the rest only metadata is read. For Secrets: nobody's is read that is not used. Not for objects that a template
    /// finds in another way than by their names. A folder of manifests is kept whole.
    Named,
}

/// Namespace and name.
fn default_index() -> Vec<String> {
    vec!["metadata.namespace".into(), "metadata.name".into()]
}

/// The bulk of most objects, of no use to a template.
pub(super) fn default_ignore_fields() -> Vec<String> {
    vec![
        "metadata.managedFields".into(),
        "metadata.annotations['kubectl.kubernetes.io/last-applied-configuration']".into(),
    ]
}
