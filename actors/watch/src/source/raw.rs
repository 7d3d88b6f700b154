//! An object as the API server sent it: unknown fields kept, nothing demanded of its shape.
//!
//! kube decodes a whole page or event at once. A strict type would let one malformed object end a watch, and trees of all
//! objects of a page take many times as much memory as their text; this one keeps the text, of any JSON, and the store decides
//! what it can use.

use crate::ingest::MOST_NESTED;
use kube::{
    Resource,
    api::{ApiResource, ObjectMeta},
    core::DynamicResourceScope,
};
use serde::{
    Deserialize, Deserializer,
    de::{DeserializeSeed, Error, IgnoredAny, MapAccess, SeqAccess, Visitor},
};
use serde_json::Value;
use std::{borrow::Cow, fmt, sync::Arc};

/// Objects that are asked for at once: with 1.5 MiB each, which is the most that the API server stores, a page takes 75 MB, and
/// as much again while it is read.
pub(crate) const PAGE: u32 = 50;

/// With `METADATA`, the API server is asked for metadata only.
#[derive(Clone)]
pub(crate) struct RawSource<const METADATA: bool> {
    /// Just what a watch needs.
    meta: ObjectMeta,
    /// Compact JSON.
    text: Vec<u8>,
}

/// One level more than an object may have, so that what was cut off is seen to be missing.
const KEPT_LEVELS: usize = MOST_NESTED + 1;

/// Writes what is read, as it is read; `null` for what is nested deeper than so many levels.
///
/// `serde_json` gives up at 128 levels, and one object of a page would take all others with it; what is ignored is read without
/// recursion.
struct Transcript<'t> {
    text: &'t mut Vec<u8>,
    levels: usize,
}

impl<'de, const METADATA: bool> Deserialize<'de> for RawSource<METADATA> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut text = Vec::new();
        Transcript { text: &mut text, levels: KEPT_LEVELS }.deserialize(deserializer)?;
        text.shrink_to_fit();
        Ok(Self { meta: meta(&text), text })
    }
}

/// Who it is, and in which version.
fn meta(text: &[u8]) -> ObjectMeta {
    #[derive(Default, Deserialize)]
    struct ListHead {
        #[serde(default)]
        metadata: ObjectHead,
    }
    #[derive(Default, Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct ObjectHead {
        name: Option<String>,
        namespace: Option<String>,
        resource_version: Option<String>,
    }
    let head = serde_json::from_slice::<ListHead>(text).map(|head| head.metadata).unwrap_or_else(|_| {
        let value: Value = serde_json::from_slice(text).unwrap_or_default();
        let field = |pointer| value.pointer(pointer).and_then(Value::as_str).map(str::to_owned);
        ObjectHead {
            name: field("/metadata/name"),
            namespace: field("/metadata/namespace"),
            resource_version: field("/metadata/resourceVersion"),
        }
    });
    let ObjectHead { name, namespace, resource_version } = head;
    ObjectMeta { name, namespace, resource_version, ..ObjectMeta::default() }
}

impl<const METADATA: bool> RawSource<METADATA> {
    /// `metadata.resourceVersion`.
    pub(crate) fn version(&self) -> Arc<str> {
        self.meta.resource_version.as_deref().unwrap_or_default().into()
    }

    /// The object, with the type that items of a list lack and watch events have: both must give the same bytes.
    pub(crate) fn typed(&self, resource: &ApiResource) -> Value {
        let mut value: Value = serde_json::from_slice(&self.text).unwrap_or_default();
        if let Value::Object(fields) = &mut value {
            fields.entry("apiVersion").or_insert_with(|| resource.api_version.clone().into());
            fields.entry("kind").or_insert_with(|| resource.kind.clone().into());
        }
        value
    }
}

impl Transcript<'_> {
    fn write<E: Error>(self, value: impl serde::Serialize) -> Result<(), E> {
        serde_json::to_writer(self.text, &value).map_err(E::custom)
    }

    /// For what is in a value that this one is.
    fn below(&mut self) -> Transcript<'_> {
        Transcript { text: self.text, levels: self.levels.saturating_sub(1) }
    }
}

impl<'de> DeserializeSeed<'de> for Transcript<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        if self.levels == 0 {
            deserializer.deserialize_ignored_any(IgnoredAny)?;
            return self.write(());
        }
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Transcript<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any JSON")
    }

    fn visit_unit<E: Error>(self) -> Result<(), E> {
        self.write(())
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<(), E> {
        self.write(value)
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<(), E> {
        self.write(value)
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<(), E> {
        self.write(value)
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<(), E> {
        self.write(value)
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<(), E> {
        self.write(value)
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut items: A) -> Result<(), A::Error> {
        self.text.push(b'[');
        let mut end = self.text.len();
        while items.next_element_seed(self.below())?.is_some() {
            end = self.text.len();
            self.text.push(b',');
        }
        self.text.truncate(end);
        self.text.push(b']');
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut fields: A) -> Result<(), A::Error> {
        self.text.push(b'{');
        let mut end = self.text.len();
        // A key is no level of its own, whatever is left.
        while fields.next_key_seed(Transcript { text: self.text, levels: self.levels })?.is_some() {
            self.text.push(b':');
            fields.next_value_seed(self.below())?;
            end = self.text.len();
            self.text.push(b',');
        }
        self.text.truncate(end);
        self.text.push(b'}');
        Ok(())
    }
}

impl<const METADATA: bool> Resource for RawSource<METADATA> {
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
impl<const METADATA: bool> fmt::Debug for RawSource<METADATA> {
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
    use serde_json::json;

    #[test]
    fn what_is_read_is_what_was_sent_in_whichever_order_an_event_names_it() {
        let object = json!({
            "metadata": {"name": "x\"\u{e9}\n", "namespace": "n", "resourceVersion": "7"},
            "numbers": [0, -1, 1.5, 18_446_744_073_709_551_615_u64], "empty": [[], {}, "", null, true],
        });
        let resource = ApiResource {
            group: String::new(),
            version: "v1".into(),
            api_version: "v1".into(),
            kind: "Service".into(),
            plural: "services".into(),
        };
        for event in [
            format!(r#"{{"type":"ADDED","object":{object}}}"#),
            format!(r#"{{"object":{object},"type":"ADDED"}}"#),
        ] {
            let WatchEvent::Added(raw) =
                serde_json::from_str::<WatchEvent<RawSource<false>>>(&event).unwrap()
            else {
                panic!("another event")
            };
            let mut typed = raw.typed(&resource);
            assert_eq!((&typed["kind"], &typed["apiVersion"]), (&json!("Service"), &json!("v1")));
            typed.as_object_mut().unwrap().retain(|field, _| field != "kind" && field != "apiVersion");
            assert_eq!(typed, object);
            assert_eq!(
                (raw.meta.name.as_deref(), raw.meta.resource_version.as_deref()),
                (object["metadata"]["name"].as_str(), Some("7"))
            );
        }
    }

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
            assert!(serde_json::from_str::<WatchEvent<RawSource<false>>>(&event).is_ok(), "{object}");
        }
    }

    #[test]
    fn one_object_that_is_nested_too_deep_ends_no_page() {
        let deep = format!("{}7{}", r#"{"in":["#.repeat(5000), "]}".repeat(5000));
        let page = format!(
            r#"{{"metadata":{{}},"items":[{{"metadata":{{"name":"deep"}},"spec":{deep},"after":1}},{{"metadata":{{"name":"other"}}}}]}}"#
        );
        let page: kube::core::ObjectList<RawSource<false>> = serde_json::from_str(&page).unwrap();
        let names: Vec<_> = page.items.iter().map(|raw| raw.meta.name.as_deref().unwrap_or("")).collect();
        assert_eq!(names, ["deep", "other"]);
        let value: Value = serde_json::from_slice(&page.items[0].text).unwrap();
        assert_eq!(crate::ingest::levels(&value), KEPT_LEVELS);
        assert_eq!(value["after"], 1);
    }

    #[test]
    fn a_debug_print_shows_no_content() {
        let secret = r#"{"metadata":{"name":"tls"},"data":{"key":"c2VjcmV0"}}"#;
        let raw: RawSource<false> = serde_json::from_str(secret).unwrap();
        assert!(!format!("{raw:?}").contains("c2VjcmV0"));
    }
}
