//! An object as the API server sent it: unknown fields kept, nothing demanded of its shape.
//!
//! kube decodes a whole page or event at once. A strict type would let one malformed object end a watch; this one
//! accepts any JSON, and the store decides what it can use.

use kube::{
    Resource,
    api::{ApiResource, ObjectMeta},
    core::DynamicResourceScope,
};
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use std::{borrow::Cow, fmt};

/// With `METADATA`, the API server is asked for metadata only.
#[derive(Clone)]
pub(crate) struct Raw<const METADATA: bool> {
    /// Just what a watch needs.
    meta: ObjectMeta,
    pub(crate) value: Value,
}

impl<'de, const METADATA: bool> Deserialize<'de> for Raw<METADATA> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(deserializer)?;
        let text = |pointer| value.pointer(pointer).and_then(Value::as_str).map(str::to_owned);
        let meta = ObjectMeta {
            name: text("/metadata/name"),
            namespace: text("/metadata/namespace"),
            resource_version: text("/metadata/resourceVersion"),
            ..ObjectMeta::default()
        };
        Ok(Self { meta, value })
    }
}

impl<const METADATA: bool> Raw<METADATA> {
    /// The object, with the type that items of a list lack and watch events have: both must give the same bytes.
    pub(crate) fn typed(self, resource: &ApiResource) -> Value {
        let mut value = self.value;
        if let Value::Object(fields) = &mut value {
            fields.entry("apiVersion").or_insert_with(|| resource.api_version.clone().into());
            fields.entry("kind").or_insert_with(|| resource.kind.clone().into());
        }
        value
    }
}

impl<const METADATA: bool> Resource for Raw<METADATA> {
    type DynamicType = ApiResource;
    type Scope = DynamicResourceScope;

    fn kind(resource: &ApiResource) -> Cow<'_, str> {
        resource.kind.as_str().into()
    }

    fn group(resource: &ApiResource) -> Cow<'_, str> {
        resource.group.as_str().into()
    }

    fn version(resource: &ApiResource) -> Cow<'_, str> {
        resource.version.as_str().into()
    }

    fn api_version(resource: &ApiResource) -> Cow<'_, str> {
        resource.api_version.as_str().into()
    }

    fn plural(resource: &ApiResource) -> Cow<'_, str> {
        resource.plural.as_str().into()
    }

    fn metadata_api() -> bool {
        METADATA
    }

    fn meta(&self) -> &ObjectMeta {
        &self.meta
    }

    fn meta_mut(&mut self) -> &mut ObjectMeta {
        &mut self.meta
    }
}

/// Who it is, never what is in it: it may be a Secret.
impl<const METADATA: bool> fmt::Debug for Raw<METADATA> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Raw")
            .field("namespace", &self.meta.namespace)
            .field("name", &self.meta.name)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kube::core::WatchEvent;

    #[test]
    fn no_object_is_so_malformed_that_its_event_cannot_be_read() {
        for object in [
            "{}",
            "null",
            "[1]",
            r#"{"metadata":{"name":7}}"#,
            r#"{"metadata":{"resourceVersion":"1"},"spec":null}"#,
        ] {
            let event = format!(r#"{{"type":"ADDED","object":{object}}}"#);
            assert!(serde_json::from_str::<WatchEvent<Raw<false>>>(&event).is_ok(), "{object}");
        }
    }

    #[test]
    fn a_debug_print_shows_no_content() {
        let secret = r#"{"metadata":{"name":"tls"},"data":{"key":"c2VjcmV0"}}"#;
        let raw: Raw<false> = serde_json::from_str(secret).unwrap();
        assert!(!format!("{raw:?}").contains("c2VjcmV0"));
    }
}
