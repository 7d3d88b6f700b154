//! Watched Kubernetes objects: who they are, and their bytes.

use crate::object_json::ObjectJson;
use haptic_text::ObjectRef;
use serde_json::Value;
use std::sync::Arc;

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
    /// An object that no store has yet.
    #[must_use]
    pub fn new(reference: impl Into<Arc<ObjectRef>>, json: impl Into<ObjectJson>) -> Self {
        Self { reference: reference.into(), version: 0, json: json.into() }
    }

    /// The object as a JSON tree.
    ///
    /// # Errors
    /// When the bytes are not JSON, which a store never lets in.
    pub fn value(&self) -> Result<Value, serde_json::Error> {
        serde_json::from_slice(&self.json.bytes())
    }
}
