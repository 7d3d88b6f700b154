//! Tests that a configuration brings along.

use super::{RequestCheck, any_object};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, de::Error};
use serde_json::{Map, Value};
use std::{collections::BTreeMap, net::IpAddr, sync::Arc};

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
    /// What names of Services of type ExternalName lead to: their addresses. No other name is resolved.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(with = "BTreeMap<String, Vec<String>>")]
    pub external_names: BTreeMap<Arc<str>, Vec<IpAddr>>,
    /// Laid over the configuration's own.
    #[serde(default)]
    #[schemars(schema_with = "any_object")]
    pub extra_context: Map<String, Value>,
    /// At least one, unless there are requests.
    #[serde(default)]
    pub assertions: Vec<Assertion>,
    /// Sent one after the other to a HAProxy that runs what was rendered.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 64))]
    pub requests: Vec<RequestCheck>,
}

/// One thing that must hold.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Assertion {
    /// What must hold.
    #[serde(rename = "type")]
    pub kind: AssertionKind,
    /// What it proves, shown in results.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// haproxy_config, maps.NAME, files.NAME, sslCertificates.NAME, crtLists.NAME or rendering_error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
    /// A regular expression; `^` and `$` are at each line's ends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pattern: Option<String>,
    /// Regular expressions in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub patterns: Vec<String>,
    /// The text or number it must be.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "text_or_number")]
    #[schemars(schema_with = "text_or_number_schema")]
    pub expected: Option<String>,
    /// A path into the render context, or into a target whose text is JSON.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub jsonpath: Option<String>,
}

/// What an assertion says of its target.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AssertionKind {
    /// All checks accept what was rendered, `haproxy -c` among them. Has no target.
    HaproxyValid,
    /// The pattern is found.
    Contains,
    /// The pattern is not found.
    NotContains,
    /// The whole text is the expected one.
    Equals,
    /// The path leads to a value; to the expected one, if there is one.
    Jsonpath,
    /// The pattern is found as often as expected.
    MatchCount,
    /// The patterns are found one after the other.
    MatchOrder,
    /// Rendering again, with the objects in another order, gives the same bytes. Has no target.
    Deterministic,
}

impl AssertionKind {
    /// As it is written in a configuration.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::HaproxyValid => "haproxy_valid",
            Self::Contains => "contains",
            Self::NotContains => "not_contains",
            Self::Equals => "equals",
            Self::Jsonpath => "jsonpath",
            Self::MatchCount => "match_count",
            Self::MatchOrder => "match_order",
            Self::Deterministic => "deterministic",
        }
    }
}

impl std::fmt::Display for AssertionKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

/// `expected: 3` is what people write for a count.
fn text_or_number<'de, D: Deserializer<'de>>(from: D) -> Result<Option<String>, D::Error> {
    match Option::<Value>::deserialize(from)? {
        None => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(Value::Number(number)) => Ok(Some(number.to_string())),
        Some(_) => Err(D::Error::custom("expected is a text or a whole number")),
    }
}

fn text_or_number_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    schemars::json_schema!({"x-kubernetes-int-or-string": true})
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
