//! What an object is called in messages, and in what was printed for it.

use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Names a watched object: the watched resource's name in templates, namespace and name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ObjectRef {
    /// The name under `watchedResources`, for example `ingresses`.
    pub resource: Arc<str>,
    /// Empty for cluster-scoped objects.
    pub namespace: Arc<str>,
    /// `metadata.name`.
    pub name: Arc<str>,
}

impl ObjectRef {
    /// A reference from plain strings.
    #[must_use]
    pub fn new(resource: &str, namespace: &str, name: &str) -> Self {
        Self { resource: resource.into(), namespace: namespace.into(), name: name.into() }
    }
}

impl std::fmt::Display for ObjectRef {
    /// `ingresses default/shop`, as in every message a person reads.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.namespace.is_empty() {
            write!(f, "{} {}", self.resource, self.name)
        } else {
            write!(f, "{} {}/{}", self.resource, self.namespace, self.name)
        }
    }
}
