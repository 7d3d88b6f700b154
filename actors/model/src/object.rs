//! Watched Kubernetes objects: who they are, and their bytes.

use crate::object_json::ObjectJson;
use serde::{Deserialize, Serialize};
use serde_json::Value;
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

/// One version of a watched object, without the ignored fields, as compact JSON.
///
/// Kept as text because a parsed tree takes five times the memory; parsing costs microseconds and is done
/// only by a block that reads the object.
#[derive(Clone)]
pub struct Object {
    /// Who it is.
    pub reference: Arc<ObjectRef>,
    /// Grows with every change this process saw, over all objects of a store.
    pub version: u64,
    /// Compact JSON, ignored fields removed.
    pub json: ObjectJson,
}

/// Who it is; what it says may be a Secret.
impl std::fmt::Debug for Object {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Object")
            .field("reference", &self.reference)
            .field("version", &self.version)
            .field("bytes", &self.json.len())
            .finish()
    }
}

impl Object {
    /// The object as a JSON tree.
    ///
    /// # Errors
    /// When the bytes are not JSON, which a store never lets in.
    pub fn value(&self) -> Result<Value, serde_json::Error> {
        serde_json::from_slice(&self.json.bytes())
    }
}
