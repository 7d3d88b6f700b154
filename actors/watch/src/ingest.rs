//! From a raw object to what a store keeps: ignored fields dropped, compact bytes, index key. Pure.

use crate::{
    quota::{self, Created},
    spec::WatchSpec,
    update::{ListScope, Update},
};
use haptic_model::{LimitReached, Object, ObjectJson, ObjectRef, Oversized, SharedValues, store::Key};
use haptic_text::{FieldPath, FieldPathError};
use jiff::Timestamp;
use serde_json::Value;
use std::sync::{Arc, Mutex, PoisonError};

/// The fields that say of which type an object is.
const TYPE: [&str; 2] = ["apiVersion", "kind"];

/// So many objects and lists may be nested in an object: far more than any resource of Kubernetes has, and few enough for every
/// reader of JSON, whatever an object is wrapped into.
pub(crate) const MOST_NESTED: usize = 100;

/// The compiled paths of one watched resource.
#[derive(Debug)]
pub struct Ingest {
    resource: Arc<str>,
    index: Vec<FieldPath>,
    ignore: Vec<FieldPath>,
    references_only: bool,
    keeps_version: bool,
    owns_status: bool,
    object_bytes: usize,
    namespaces: Mutex<SharedValues<str>>,
}

/// An object ready for the store.
#[derive(Clone, Debug)]
pub struct Ingested {
    /// Without JSON in an on-demand store.
    pub object: Object,
    /// The values it is indexed by; `""` for each path that leads nowhere.
    pub key: Key,
    /// `metadata.resourceVersion`. Of most objects it is not kept, because it changes without any content changing.
    pub stamp: Arc<str>,
    /// `metadata.creationTimestamp`.
    pub created: Created,
    /// What it counts in the store.
    pub takes: usize,
}

/// An object without what every Kubernetes object has.
#[derive(Clone, Debug)]
pub struct MalformedObject {
    /// As much of its name as it has.
    pub object: Arc<ObjectRef>,
    /// What is missing; never any content.
    pub message: String,
}

/// A watch that cannot work as configured.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SpecError {
    /// A path is not one.
    #[error("watchedResources.{resource}: {error}")]
    Path {
        /// Which watch.
        resource: Arc<str>,
        /// Where in the path, and why.
        error: FieldPathError,
    },
    /// References have no other fields.
    #[error(
        "watchedResources.{resource}: `{path}` cannot index an on-demand store, which sees metadata only; \
         index by a path below `metadata`, or set `store: full`"
    )]
    IndexBeyondMetadata {
        /// Which watch.
        resource: Arc<str>,
        /// The path.
        path: String,
    },
}

impl Ingest {
    /// Compiles the paths of `spec`.
    ///
    /// # Errors
    /// A path that is not one, or that an on-demand store cannot index by.
    pub fn new(spec: &WatchSpec) -> Result<Self, SpecError> {
        let parse = |path: &String| {
            FieldPath::parse(path).map_err(|error| SpecError::Path { resource: spec.name.clone(), error })
        };
        let index: Vec<_> = spec.resource.index_by.iter().map(parse).collect::<Result<_, _>>()?;
        let ignore = spec.ignore.iter().map(parse).collect::<Result<_, _>>()?;
        let references_only = spec.is_on_demand();
        match index.iter().find(|path| references_only && !path.is_metadata()) {
            Some(path) => {
                Err(SpecError::IndexBeyondMetadata { resource: spec.name.clone(), path: path.to_string() })
            }
            None => Ok(Self {
                resource: spec.name.clone(),
                index,
                ignore,
                references_only,
                keeps_version: spec.keeps_version(),
                owns_status: spec.owns_status(),
                object_bytes: spec.limits.object_bytes,
                namespaces: Mutex::default(),
            }),
        }
    }

    /// The same for metadata alone: who is there, in which version.
    pub(crate) fn of_metadata(spec: &WatchSpec) -> Self {
        Self {
            resource: spec.name.clone(),
            index: Vec::new(),
            ignore: Vec::new(),
            references_only: true,
            keeps_version: false,
            owns_status: false,
            object_bytes: spec.limits.object_bytes,
            namespaces: Mutex::default(),
        }
    }

    /// The name under `watchedResources`.
    #[must_use]
    pub fn resource(&self) -> &Arc<str> {
        &self.resource
    }

    /// What `value` is for the store: `taken` unless it is too large or malformed.
    pub(crate) fn update(
        &self,
        value: Value,
        scope: &ListScope,
        taken: impl FnOnce(ListScope, Ingested) -> Update,
    ) -> Update {
        match self.take(value) {
            Err(malformed) => Update::Malformed(scope.clone(), malformed.object, malformed.message),
            Ok(ingested) => match self.too_large(&ingested.object) {
                Some(oversized) => Update::Oversized(scope.clone(), Arc::new(oversized)),
                None => taken(scope.clone(), ingested),
            },
        }
    }

    /// What to say of `object` if it is larger than any may be.
    #[must_use]
    pub fn too_large(&self, object: &Object) -> Option<Oversized> {
        (object.json.len() > self.object_bytes).then(|| {
            let value = object.value().unwrap_or_default();
            let text = |field: &str| value.pointer(field).and_then(Value::as_str).unwrap_or_default().into();
            Oversized {
                object: object.reference.clone(),
                api_version: text("/apiVersion"),
                kind: text("/kind"),
                uid: text("/metadata/uid"),
                bytes: object.json.len(),
                limit: self.object_bytes,
                replaced: false,
            }
        })
    }

    /// An object as the store keeps it.
    ///
    /// # Errors
    /// [`MalformedObject`] when `metadata.name` is missing or empty, or it is nested too deep.
    pub fn take(&self, mut value: Value) -> Result<Ingested, MalformedObject> {
        let reference = self.reference(&value)?;
        let key: Key = self.index.iter().map(|path| text_of(&path.text(&value), &reference)).collect();
        let stamp =
            value.pointer("/metadata/resourceVersion").and_then(Value::as_str).unwrap_or_default().into();
        let created = created(&value);
        let json =
            if self.references_only { ObjectJson::default() } else { self.compact(&mut value, &reference)? };
        let count = if self.owns_status { quota::takes_without_status } else { quota::takes };
        let takes = count(&value, json.len());
        Ok(Ingested { object: Object { reference, version: 0, json }, key, stamp, created, takes })
    }

    /// The object in full, whatever the store keeps.
    ///
    /// # Errors
    /// [`MalformedObject`] as [`Self::take`], and when it is too large.
    pub fn take_whole(&self, mut value: Value) -> Result<Object, MalformedObject> {
        let reference = self.reference(&value)?;
        let json = self.compact(&mut value, &reference)?;
        let object = Object { reference, version: 0, json };
        match self.too_large(&object) {
            None => Ok(object),
            Some(oversized) => Err(MalformedObject {
                object: object.reference,
                message: LimitReached::Object(Arc::new(oversized)).to_string(),
            }),
        }
    }

    /// Who `value` is.
    ///
    /// # Errors
    /// [`MalformedObject`] when it does not say.
    pub fn reference(&self, value: &Value) -> Result<Arc<ObjectRef>, MalformedObject> {
        let text = |field: &str| value.pointer(field).and_then(Value::as_str).unwrap_or_default();
        let (namespace, name) = (text("/metadata/namespace"), text("/metadata/name"));
        let shown = if name.is_empty() { "(without a name)" } else { name };
        let reference = Arc::new(ObjectRef {
            resource: self.resource.clone(),
            namespace: self.namespaces.lock().unwrap_or_else(PoisonError::into_inner).share(namespace),
            name: shown.into(),
        });
        if name.is_empty() {
            let message = "metadata.name is missing".to_owned();
            return Err(MalformedObject { object: reference, message });
        }
        Ok(reference)
    }

    fn compact(&self, value: &mut Value, reference: &Arc<ObjectRef>) -> Result<ObjectJson, MalformedObject> {
        // By its type a Secret is known as one wherever it is shown: whatever is ignored, that is not.
        let type_of = TYPE.map(|field| value.get(field).cloned());
        for path in &self.ignore {
            path.remove(value);
        }
        if let Value::Object(fields) = &mut *value {
            let known = TYPE.into_iter().zip(type_of).filter_map(|(field, is)| Some((field.to_owned(), is?)));
            fields.extend(known);
        }
        if !self.keeps_version {
            remove_version(value);
        }
        if levels(value) > MOST_NESTED {
            let message = format!(
                "it is nested more than {MOST_NESTED} levels deep: flatten it, or name the deep field in \
                 watchedResourcesIgnoreFields"
            );
            return Err(MalformedObject { object: reference.clone(), message });
        }
        serde_json::to_vec(value).map(ObjectJson::packed).map_err(|error| MalformedObject {
            object: reference.clone(),
            message: format!("it cannot be written as JSON: {error}"),
        })
    }
}

/// A text that an object is indexed by, which mostly is its namespace or name, in the memory of these.
fn text_of(text: &str, reference: &ObjectRef) -> Arc<str> {
    let [namespace, name] = [&reference.namespace, &reference.name];
    [namespace, name].into_iter().find(|known| ***known == *text).map_or_else(|| text.into(), Arc::clone)
}

fn remove_version(value: &mut Value) {
    if let Some(Value::Object(metadata)) = value.get_mut("metadata") {
        metadata.remove("resourceVersion");
    }
}

/// Whether two versions of an object differ in `status` and `metadata.resourceVersion` at most.
pub(crate) fn is_same_but_status(before: &[u8], now: &[u8]) -> bool {
    let read = |bytes: &[u8]| -> Option<Value> {
        let mut value: Value = serde_json::from_slice(bytes).ok()?;
        value.as_object_mut()?.remove("status");
        remove_version(&mut value);
        Some(value)
    };
    read(before).is_some_and(|before| read(now).is_some_and(|now| now == before))
}

/// How deep objects and lists are nested in `value`.
pub(crate) fn levels(value: &Value) -> usize {
    let deepest = |values: &mut dyn Iterator<Item = &Value>| 1 + values.map(levels).max().unwrap_or_default();
    match value {
        Value::Array(items) => deepest(&mut items.iter()),
        Value::Object(fields) => deepest(&mut fields.values()),
        _ => 0,
    }
}

/// When the API server created an object.
pub(crate) fn created(value: &Value) -> Created {
    let created = value.pointer("/metadata/creationTimestamp").and_then(Value::as_str);
    created.and_then(|time| time.parse::<Timestamp>().ok()).map_or(0, Timestamp::as_second)
}

#[cfg(test)]
mod tests {
    use super::*;
    use haptic_model::{
        StoreLimits,
        crd::{StoreKind, WatchedResource},
    };
    use serde_json::json;

    fn spec(index: &[&str], store: StoreKind) -> WatchSpec {
        let resource = WatchedResource {
            index_by: index.iter().map(|path| (*path).to_owned()).collect(),
            store,
            ..WatchedResource::default()
        };
        let ignore = [
            "metadata.managedFields".to_owned(),
            "metadata.annotations['kubectl.kubernetes.io/x']".to_owned(),
        ];
        WatchSpec::new("secrets", &resource, &ignore, StoreLimits::default())
    }

    fn secret() -> Value {
        json!({
            "metadata": {
                "name": "tls", "namespace": "a", "resourceVersion": "7", "managedFields": [{"manager": "kubectl"}],
                "annotations": {"kubectl.kubernetes.io/x": "{}", "mine": "1"}
            },
            "data": {"tls.key": "c2VjcmV0"}, "count": 3
        })
    }

    #[test]
    fn a_stored_object_has_no_ignored_field_and_is_found_by_its_key() {
        let ingest =
            Ingest::new(&spec(&["metadata.namespace", "count", "spec.nothing"], StoreKind::Full)).unwrap();
        let taken = ingest.take(secret()).unwrap();
        assert_eq!(&*taken.key, &[Arc::from("a"), Arc::from("3"), Arc::from("")]);
        assert_eq!(
            taken.object.value().unwrap(),
            json!({
                "metadata": {"name": "tls", "namespace": "a", "annotations": {"mine": "1"}},
                "data": {"tls.key": "c2VjcmV0"}, "count": 3
            })
        );
    }

    #[test]
    fn an_object_is_known_by_its_type_whatever_is_ignored() {
        let everything = ["kind".to_owned(), "apiVersion".to_owned(), "$.*".to_owned()];
        let spec =
            WatchSpec::new("secrets", &WatchedResource::default(), &everything, StoreLimits::default());
        let mut typed = secret();
        typed["apiVersion"] = json!("v1");
        typed["kind"] = json!("Secret");
        let taken = Ingest::new(&spec).unwrap().take(typed).unwrap();
        assert_eq!(taken.object.value().unwrap(), json!({"apiVersion": "v1", "kind": "Secret"}));
    }

    /// Features of `serde_json` give keys a meaning; somebody else's crate may turn them on for all.
    #[test]
    fn no_key_of_an_object_has_a_meaning_for_the_parser() {
        for key in ["$serde_json::private::RawValue", "$serde_json::private::Number"] {
            let text = json!({"metadata": {"name": "a"}, "data": {key: "[1]"}}).to_string();
            let parsed: Value = serde_json::from_str(&text).unwrap();
            assert_eq!(parsed["data"][key], "[1]", "{key}");
        }
    }

    #[test]
    fn a_new_resource_version_alone_gives_the_same_bytes() {
        let ingest = Ingest::new(&spec(&[], StoreKind::Full)).unwrap();
        let mut later = secret();
        later["metadata"]["resourceVersion"] = json!("8");
        assert_eq!(ingest.take(secret()).unwrap().object.json, ingest.take(later).unwrap().object.json);
    }

    #[test]
    fn the_version_of_an_object_whose_status_is_written_is_kept() {
        let mut spec = spec(&[], StoreKind::Full);
        spec.resource.api_version = "gateway.networking.k8s.io/v1".into();
        let route = json!({"metadata": {"name": "a", "resourceVersion": "7"}, "spec": 1});
        let kept = Ingest::new(&spec).unwrap().take(route.clone()).unwrap().object;
        assert_eq!(kept.value().unwrap(), route);
        let written = json!({"metadata": {"name": "a", "resourceVersion": "8"}, "spec": 1, "status": 2});
        assert!(is_same_but_status(&kept.json.bytes(), written.to_string().as_bytes()));
    }

    #[test]
    fn an_object_may_be_nested_as_deep_as_is_said_and_no_deeper() {
        let ingest = Ingest::new(&spec(&[], StoreKind::Full)).unwrap();
        let nested = |levels: usize| {
            let inner = (0..levels - 2).fold(json!(1), |inner, _| json!([inner]));
            json!({"metadata": {"name": "x"}, "spec": {"in": inner}})
        };
        assert_eq!(levels(&nested(MOST_NESTED)), MOST_NESTED);
        assert!(ingest.take(nested(MOST_NESTED)).is_ok());
        let refused = ingest.take(nested(MOST_NESTED + 1)).unwrap_err();
        assert!(refused.message.contains("nested more than 100 levels"), "{}", refused.message);
        assert!(ingest.take_whole(nested(MOST_NESTED + 1)).is_err());
        // What is not kept anyway may be as deep as it likes.
        let mut managed = nested(MOST_NESTED);
        managed["metadata"]["managedFields"] = nested(MOST_NESTED + 1);
        assert!(ingest.take(managed).is_ok());
        let references = Ingest::new(&spec(&[], StoreKind::OnDemand)).unwrap();
        assert!(references.take(nested(MOST_NESTED + 1)).is_ok());
    }

    #[test]
    fn an_on_demand_store_gets_no_content() {
        let ingest = Ingest::new(&spec(&["metadata.name"], StoreKind::OnDemand)).unwrap();
        let taken = ingest.take(secret()).unwrap();
        assert!(taken.object.json.is_empty());
        assert_eq!((&*taken.key, &*taken.stamp), (&[Arc::from("tls")] as &[_], "7"));
        assert!(!ingest.take_whole(secret()).unwrap().json.is_empty());
    }

    #[test]
    fn an_on_demand_store_cannot_be_indexed_by_content() {
        let error = Ingest::new(&spec(&["type"], StoreKind::OnDemand)).unwrap_err();
        assert!(error.to_string().contains("`type`") && error.to_string().contains("store: full"), "{error}");
    }

    #[test]
    fn a_malformed_object_is_named_as_far_as_possible_and_never_shown() {
        let ingest = Ingest::new(&spec(&[], StoreKind::Full)).unwrap();
        for broken in [json!(null), json!([1]), json!({"metadata": 3, "data": {"k": "c2VjcmV0"}})] {
            assert!(!ingest.take(broken).unwrap_err().message.contains("c2VjcmV0"));
        }
        let nameless = ingest.take(json!({"metadata": {"namespace": "a", "name": ""}})).unwrap_err();
        assert_eq!(nameless.object.to_string(), "secrets a/(without a name)");
    }

    #[test]
    fn a_bad_path_names_the_watch_and_the_column() {
        let error = Ingest::new(&spec(&["metadata.labels[x]"], StoreKind::Full)).unwrap_err().to_string();
        assert!(error.contains("watchedResources.secrets") && error.contains("column 17"), "{error}");
    }
}
