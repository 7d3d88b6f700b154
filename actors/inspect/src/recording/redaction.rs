//! Objects and configurations as a recording holds them: what `/debug` would not show is not in it, and templates can be rendered
//! from what is in its place.

use super::pseudonym::Pseudonyms;
use crate::redaction;
use haptic_model::{HAProxyTemplateConfigSpec, Object, store::Key};
use haptic_text::FieldPath;
use serde_json::Value;
use std::sync::Arc;

/// What kubectl keeps of an object: all of it once more.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// An object as it may leave the controller, with what it is indexed by.
///
/// # Errors
/// Never in practice: stores hold JSON.
pub fn object(
    object: &Object,
    key: &Key,
    spec: &HAProxyTemplateConfigSpec,
    pseudonyms: &mut Pseudonyms,
) -> Result<(Value, Key), String> {
    let reference = &object.reference;
    let mut value = object.value().map_err(|error| format!("{reference} is not JSON: {error}"))?;
    if let Some(metadata) = value.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.remove("managedFields");
        if let Some(annotations) = metadata.get_mut("annotations").and_then(Value::as_object_mut) {
            annotations.remove(LAST_APPLIED);
        }
    }
    let owner = reference.to_string();
    if value.get("kind").is_none_or(|kind| kind != "Secret") {
        redaction::within(&mut value, &mut |field| pseudonyms.field(&owner, field));
        return Ok((value, key.clone()));
    }
    let before = value.clone();
    pseudonyms.secret(&mut value)?;
    let index = spec.watched_resources.get(&*reference.resource).map(|watched| watched.index_by.as_slice());
    let key = key.iter().enumerate().map(|(number, known)| {
        let path = index.and_then(|paths| FieldPath::parse(paths.get(number)?).ok());
        match path {
            Some(path) if path.text(&before) == **known => Arc::from(path.text(&value)),
            _ => known.clone(),
        }
    });
    let key = key.collect();
    Ok((value, key))
}

/// All fields of a configuration but its tests, which bring Secrets of their own and are no part of what is rendered.
///
/// # Errors
/// Never in practice.
pub fn configuration(
    owner: &str,
    spec: &HAProxyTemplateConfigSpec,
    pseudonyms: &mut Pseudonyms,
) -> Result<Value, String> {
    let mut value = serde_json::to_value(spec).map_err(|error| error.to_string())?;
    if let Some(fields) = value.as_object_mut() {
        fields.insert("validationTests".into(), Value::Array(Vec::new()));
    }
    redaction::within(&mut value, &mut |field| pseudonyms.field(owner, field));
    Ok(value)
}
