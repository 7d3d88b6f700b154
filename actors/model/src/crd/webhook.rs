//! The admission webhook: who may call it, with which certificate, and what it answers when it cannot check.

use super::Interval;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The admission webhook.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct WebhookSpec {
    /// The ValidatingWebhookConfiguration in which the leader keeps `caBundle` and path of every webhook right.
    pub configuration_name: String,
    /// The Service in front of the controllers, in the configuration's namespace: what the certificate is made for.
    pub service_name: String,
    /// More host names and IP addresses that the certificate is made for.
    pub host_names: Vec<String>,
    /// The Secret that the leader makes, in the configuration's namespace. It holds the path that the API server is told,
    /// and the certificate and its authority unless `certificate` says where they come from.
    pub secret_name: String,
    /// Where the certificate comes from.
    pub certificate: WebhookCertificateSpec,
    /// PEM certificates that sign the API server's own one. With them, nobody else is answered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_ca_bundle: Option<String>,
    /// What is answered when a change cannot be checked: there are too many at once, it takes too long, or not all
    /// resources were read yet.
    pub failure_policy: FailurePolicy,
}

/// Where the webhook's certificate comes from. By default the leader makes one, and rotates it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct WebhookCertificateSpec {
    /// A Secret of somebody else with `tls.crt`, `tls.key` and, for `caBundle`, `ca.crt`, in the configuration's namespace.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub secret_name: Option<String>,
    /// A folder with files of these names.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub directory: Option<String>,
    /// How long a certificate that the leader makes is valid. It is replaced when two thirds of that have passed; its
    /// authority lives twelve times as long.
    pub lifetime: Interval,
}

/// What is answered when a change cannot be checked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum FailurePolicy {
    /// Yes, with a warning.
    #[default]
    Ignore,
    /// No.
    Fail,
}

impl Default for WebhookSpec {
    fn default() -> Self {
        Self {
            configuration_name: "haptic-webhook".into(),
            service_name: "haptic-webhook".into(),
            host_names: Vec::new(),
            secret_name: "haptic-webhook".into(),
            certificate: WebhookCertificateSpec::default(),
            client_ca_bundle: None,
            failure_policy: FailurePolicy::Ignore,
        }
    }
}

impl Default for WebhookCertificateSpec {
    fn default() -> Self {
        Self { secret_name: None, directory: None, lifetime: "2160h".into() }
    }
}
