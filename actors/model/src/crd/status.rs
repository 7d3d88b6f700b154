//! What the leader reports back on the resource.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The configuration's state, written by the leader only, and only when it changes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HAProxyTemplateConfigStatus {
    /// `metadata.generation` this status is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// When a configuration was last found valid, RFC 3339.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_validated: Option<String>,
    /// Whether validators, render and HAProxy's own check accept it; Unknown until all of them were asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "validation_status_schema")]
    pub validation_status: Option<ValidationStatus>,
    /// Why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub validation_message: Option<String>,
    /// About how many objects of each watched resource there are: a controller that starts and finds much less asks first.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub watched_objects: BTreeMap<String, i64>,
    /// Ready, TemplatesValid, Deployed, Quarantined, DeletionsHeld.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "conditions_schema")]
    pub conditions: Vec<Condition>,
}

/// What all who are asked say of a configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ValidationStatus {
    /// All accept it.
    Valid,
    /// One refuses it.
    Invalid,
    /// Not all were asked yet.
    Unknown,
}

fn validation_status_schema(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": "string", "enum": ["Valid", "Invalid", "Unknown"]})
}

/// Any JSON object: schemars would give a type that the API server refuses or prunes.
pub(super) fn any_object(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": "object", "x-kubernetes-preserve-unknown-fields": true})
}

pub(super) fn conditions_schema(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "array",
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["type"],
        "items": {
            "type": "object",
            "required": ["type", "status", "lastTransitionTime", "reason", "message"],
            "properties": {
                "type": {"type": "string"},
                "status": {"type": "string"},
                "observedGeneration": {"type": "integer", "format": "int64"},
                "lastTransitionTime": {"type": "string", "format": "date-time"},
                "reason": {"type": "string"},
                "message": {"type": "string"}
            }
        }
    })
}
