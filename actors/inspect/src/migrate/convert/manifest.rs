//! The parts of manifests that every conversion asks for.

use crate::migrate::verdicts::CLASS_ANNOTATION;
use serde_json::Value;
use std::collections::BTreeMap;

/// Whether an Ingress is of one of these classes, or all are meant.
pub(super) fn is_of_classes(value: &Value, classes: &[String]) -> bool {
    let of = |of: Option<&Value>| of.and_then(Value::as_str).map(str::to_owned);
    let annotations = value.pointer("/metadata/annotations");
    let class = of(value.pointer("/spec/ingressClassName"))
        .or_else(|| of(annotations.and_then(|annotations| annotations.get(CLASS_ANNOTATION))));
    classes.is_empty() || class.is_some_and(|class| classes.contains(&class))
}

pub(super) fn is_of_kind(value: &Value, kind: &str) -> bool {
    value.get("kind").and_then(Value::as_str) == Some(kind)
}

/// Namespace and name.
pub(super) fn name_of(value: &Value) -> (String, String) {
    let of = |place: &str| value.pointer(place).and_then(Value::as_str);
    let (namespace, name) = (of("/metadata/namespace"), of("/metadata/name"));
    (namespace.unwrap_or("default").to_owned(), name.unwrap_or_default().to_owned())
}

pub(super) fn annotations_of(value: &Value) -> BTreeMap<String, String> {
    let all = value.pointer("/metadata/annotations").and_then(Value::as_object);
    all.into_iter()
        .flatten()
        .filter_map(|(key, text)| Some((key.clone(), text.as_str()?.to_owned())))
        .collect()
}
