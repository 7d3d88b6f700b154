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
    /// The language of this template, where it is another than that of `templatingSettings.engine`: `handlebars` or `jinja2`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub engine: Option<String>,
}

/// A template for a file that may lie elsewhere than usual.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FileSource {
    /// The template's text.
    pub template: String,
    /// The language of this template, where it is another than that of `templatingSettings.engine`: `handlebars` or `jinja2`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub engine: Option<String>,
    /// Path of the file; `generalStorageDir/NAME` when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
}

/// Engine and user variables.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct TemplatingSettings {
    /// The language of templates that do not say theirs: `handlebars`, or `jinja2`, also called `gonja`; what their
    /// tags tell when absent or empty.
    // No default that an API server would store: an earlier release refuses what it does not know.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub engine: Option<String>,
    /// Variables of the user's own, at the top of every template's context.
    #[schemars(schema_with = "any_object")]
    pub extra_context: Map<String, Value>,
    /// Lets `{{{raw}}}` print watched values as structure. Dangerous: whoever may write such an object writes haproxy.cfg.
    pub allow_raw_values: bool,
    /// Of Jinja2 templates: the line end behind a tag goes with the tag.
    pub trim_blocks: bool,
    /// Of Jinja2 templates: white space between the start of a line and a tag goes with the tag.
    pub lstrip_blocks: bool,
}

impl TemplatingSettings {
    /// What `engine` may be.
    pub const ENGINES: [&str; 4] = ["", "handlebars", "jinja2", "gonja"];
}

impl Default for TemplatingSettings {
    fn default() -> Self {
        Self {
            engine: None,
            extra_context: Map::new(),
            allow_raw_values: false,
            trim_blocks: false,
            lstrip_blocks: false,
        }
    }
}
