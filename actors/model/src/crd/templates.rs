//! Templates and what they may use.

use super::any_object;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// One template.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TemplateSource {
    /// The template's text.
    pub template: String,
}

/// A template for a file that may lie elsewhere than usual.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FileSource {
    /// The template's text.
    pub template: String,
    /// Path of the file; `generalStorageDir/NAME` when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
}

/// Engine and user variables.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct TemplatingSettings {
    /// `handlebars`.
    pub engine: String,
    /// Variables of the user's own, at the top of every template's context.
    #[schemars(schema_with = "any_object")]
    pub extra_context: Map<String, Value>,
    /// Lets `{{{raw}}}` print watched values as structure. Dangerous: whoever may write such an object writes haproxy.cfg.
    pub allow_raw_values: bool,
}

impl Default for TemplatingSettings {
    fn default() -> Self {
        Self { engine: "handlebars".into(), extra_context: Map::new(), allow_raw_values: false }
    }
}
