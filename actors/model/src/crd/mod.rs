//! `HAProxyTemplateConfig`, the resource users write. The CRD's schema is generated from these types.
//!
//! Every field with a default has it here, so that all paths (API server, file, test) give the same.

mod allow;
mod allowance;
mod duration;
mod gateway;
mod hosts;
mod limits;
mod network;
mod published;
mod requests_of_tests;
mod settings;
mod status;
mod templates;
mod tests_of_config;
mod validation_tests;
mod watched;
mod webhook;

pub use allow::Allow;
pub use allowance::{ALLOWANCES, Allowance};
pub use duration::Interval;
pub use gateway::{GatewayServiceMode, GatewayServiceType, GatewayServicesSpec};
pub use hosts::HostOwners;
pub use limits::LimitsSpec;
pub use network::AllowedNetwork;
pub use published::*;
pub use requests_of_tests::*;
pub use settings::*;
use status::any_object;
pub use status::{HAProxyTemplateConfigStatus, ValidationStatus};
pub use templates::*;
pub use tests_of_config::*;
pub use validation_tests::ValidationTests;
pub use watched::*;
pub use webhook::*;

use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What to watch, what to render from it, and where to deploy the result.
#[derive(CustomResource, Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "haproxy-haptic.org",
    version = "v1alpha1",
    kind = "HAProxyTemplateConfig",
    plural = "haproxytemplateconfigs",
    shortname = "htplcfg",
    shortname = "haptpl",
    namespaced,
    status = "HAProxyTemplateConfigStatus",
    derive = "PartialEq",
    printcolumn(name = "Status", type_ = "string", json_path = ".status.validationStatus"),
    printcolumn(name = "Generation", type_ = "integer", json_path = ".status.observedGeneration"),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
#[serde(rename_all = "camelCase")]
pub struct HAProxyTemplateConfigSpec {
    /// The Secret with the credentials of agent or Data Plane API.
    pub credentials_secret_ref: SecretReference,
    /// Which pods run HAProxy.
    pub pod_selector: PodSelector,
    /// Ports, leader election, commentary.
    #[serde(default)]
    pub controller: ControllerSpec,
    /// Log level.
    #[serde(default)]
    pub logging: LoggingSpec,
    /// How pods are reached and changed.
    #[serde(default)]
    pub dataplane: DataplaneSpec,
    /// How changes are gathered before a render.
    #[serde(default)]
    pub debounce: DebounceSpec,
    /// What must be accepted before it goes live.
    #[serde(default)]
    pub validation: ValidationSpec,
    /// Engine and user variables.
    #[serde(default)]
    pub templating_settings: TemplatingSettings,
    /// What is refused unless it is allowed here.
    #[serde(default, skip_serializing_if = "Allow::is_empty")]
    pub allow: Allow,
    /// Which namespaces hosts belong to. Of a host that is not listed the oldest Ingress counts.
    #[serde(default)]
    pub hosts: Vec<HostOwners>,
    /// What to watch, by the name it has in templates.
    #[serde(default)]
    pub watched_resources: BTreeMap<String, WatchedResource>,
    /// Fields to drop from watched objects; by default those that are large and of no use to a template.
    #[serde(default = "watched::default_ignore_fields")]
    pub watched_resources_ignore_fields: Vec<String>,
    /// Built-in template libraries to start from.
    #[serde(default)]
    pub libraries: Vec<String>,
    /// haproxy.cfg.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub haproxy_config: Option<TemplateSource>,
    /// Partials, by name.
    #[serde(default)]
    pub template_snippets: BTreeMap<String, TemplateSource>,
    /// Map files, by file name.
    #[serde(default)]
    pub maps: BTreeMap<String, TemplateSource>,
    /// Error pages and other files, by name.
    #[serde(default)]
    pub files: BTreeMap<String, FileSource>,
    /// Certificates, by file name.
    #[serde(default)]
    pub ssl_certificates: BTreeMap<String, TemplateSource>,
    /// crt-lists, by file name.
    #[serde(default)]
    pub crt_lists: BTreeMap<String, TemplateSource>,
    /// Tests of this configuration. A test takes the place of a library's of the same name.
    #[serde(default, skip_serializing_if = "ValidationTests::is_empty")]
    pub validation_tests: ValidationTests,
}

impl HAProxyTemplateConfigSpec {
    /// The admission webhook that is asked for: by its settings, or by a watched resource alone.
    #[must_use]
    pub fn webhook(&self) -> Option<WebhookSpec> {
        let is_asked_for =
            || self.watched_resources.values().any(|watched| watched.enable_validation_webhook);
        self.controller.webhook.clone().or_else(|| is_asked_for().then(WebhookSpec::default))
    }
}

#[cfg(test)]
mod tests {
    /// The API server writes a default into each resource that is read, also for controllers that know these fields in their former shape.
    #[test]
    fn fields_that_had_another_shape_have_no_default() {
        let schema = schemars::schema_for!(super::HAProxyTemplateConfigSpec).to_value();
        for field in ["allow", "validationTests"] {
            let field = &schema["properties"][field];
            assert!(field.is_object() && field.get("default").is_none(), "{field}");
        }
        assert!(schema["properties"]["hosts"].get("default").is_some());
    }
}
