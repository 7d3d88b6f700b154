//! Tests that a configuration carries with it.

use super::any_object;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// Objects, and what must be rendered from them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ValidationTest {
    /// What it proves.
    #[serde(default)]
    pub description: String,
    /// Kubernetes objects by watched resource.
    #[serde(default)]
    #[schemars(schema_with = "fixtures_schema")]
    pub fixtures: BTreeMap<String, Vec<Map<String, Value>>>,
    /// Laid over the configuration's own.
    #[serde(default)]
    #[schemars(schema_with = "any_object")]
    pub extra_context: Map<String, Value>,
    /// At least one.
    #[serde(default)]
    pub assertions: Vec<Assertion>,
}

/// One thing that must hold.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Assertion {
    /// haproxy_valid, contains, not_contains, equals, jsonpath, match_count, match_order or deterministic.
    #[serde(rename = "type")]
    pub kind: String,
    /// What it says when it fails.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// haproxy_config, maps.NAME, files.NAME, sslCertificates.NAME, crtLists.NAME or rendering_error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
    /// A regular expression.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pattern: Option<String>,
    /// Regular expressions in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub patterns: Vec<String>,
    /// The text or number it must be.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected: Option<String>,
    /// A path into the render context.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub jsonpath: Option<String>,
}

fn fixtures_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    schemars::json_schema!({
        "type": "object",
        "additionalProperties": {
            "type": "array",
            "items": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}
        }
    })
}
