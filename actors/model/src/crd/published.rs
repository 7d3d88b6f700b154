//! What the leader publishes for people and programs to read: the rendered files, and which pods run them.
//!
//! Nobody reads these resources to decide anything, but for the record of what is kept of hosts, which has the form of a file
//! ([`crate::host_holds`]). Certificates are not among them, and what comes from Secrets is left
//! out of their content.
#![allow(clippy::duplicated_attributes, reason = "several columns are of one type")]

use super::status::conditions_schema;
use crate::quarantine::PublishedInstead;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// haproxy.cfg as it was rendered and checked last, and the pods that run it.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "haproxy-haptic.org",
    version = "v1alpha1",
    kind = "HAProxyCfg",
    plural = "haproxycfgs",
    namespaced,
    status = "HAProxyCfgStatus",
    derive = "PartialEq",
    printcolumn(name = "Pods", type_ = "string", json_path = ".status.converged"),
    printcolumn(
        name = "Converged",
        type_ = "string",
        json_path = ".status.conditions[?(@.type==\"Converged\")].status"
    ),
    printcolumn(name = "Held back", type_ = "integer", json_path = ".status.heldBack"),
    printcolumn(name = "Generation", type_ = "integer", json_path = ".status.generation"),
    printcolumn(name = "Bytes", type_ = "integer", json_path = ".spec.bytes"),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
#[serde(rename_all = "camelCase")]
pub struct HAProxyCfgSpec {
    /// The file.
    #[serde(flatten)]
    pub file: PublishedFile,
}

/// A map as it was rendered and checked last.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "haproxy-haptic.org",
    version = "v1alpha1",
    kind = "HAProxyMapFile",
    plural = "haproxymapfiles",
    namespaced,
    derive = "PartialEq",
    printcolumn(name = "Path", type_ = "string", json_path = ".spec.path"),
    printcolumn(name = "Bytes", type_ = "integer", json_path = ".spec.bytes"),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
#[serde(rename_all = "camelCase")]
pub struct HAProxyMapFileSpec {
    /// The file.
    #[serde(flatten)]
    pub file: PublishedFile,
}

/// An error page or another file as it was rendered and checked last.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "haproxy-haptic.org",
    version = "v1alpha1",
    kind = "HAProxyGeneralFile",
    plural = "haproxygeneralfiles",
    namespaced,
    derive = "PartialEq",
    printcolumn(name = "Path", type_ = "string", json_path = ".spec.path"),
    printcolumn(name = "Bytes", type_ = "integer", json_path = ".spec.bytes"),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
#[serde(rename_all = "camelCase")]
pub struct HAProxyGeneralFileSpec {
    /// The file.
    #[serde(flatten)]
    pub file: PublishedFile,
}

/// A crt-list as it was rendered and checked last.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "haproxy-haptic.org",
    version = "v1alpha1",
    kind = "HAProxyCRTListFile",
    plural = "haproxycrtlistfiles",
    namespaced,
    derive = "PartialEq",
    printcolumn(name = "Path", type_ = "string", json_path = ".spec.path"),
    printcolumn(name = "Bytes", type_ = "integer", json_path = ".spec.bytes"),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
#[serde(rename_all = "camelCase")]
pub struct HAProxyCRTListFileSpec {
    /// The file.
    #[serde(flatten)]
    pub file: PublishedFile,
}

/// One rendered file, without what comes from Secrets.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PublishedFile {
    /// Its path, as haproxy.cfg names it.
    pub path: String,
    /// The digest of the whole file.
    pub digest: String,
    /// Its bytes.
    pub bytes: i64,
    /// The text, or with `compression` Base64 of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<String>,
    /// `zstd`, when the text is longer than 100 kB.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compression: Option<String>,
    /// Why there is no content.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub omitted: Option<String>,
}

/// Which pods run what was rendered.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HAProxyCfgStatus {
    /// The number of the newest checked generation; starts anew with each controller process.
    #[serde(default)]
    pub generation: i64,
    /// The digest of its bundle.
    #[serde(default)]
    pub digest: String,
    /// `2/3`: how many pods of all run it.
    #[serde(default)]
    pub converged: String,
    /// Every pod there is.
    #[serde(default)]
    pub pods: Vec<PublishedPod>,
    /// How many objects are held back so that they do not stop the others.
    #[serde(default)]
    pub held_back: i64,
    /// Those objects, up to fifty.
    #[serde(default)]
    pub objects: Vec<PublishedObject>,
    /// Converged, and Published: whether every file is there with its content.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "conditions_schema")]
    pub conditions: Vec<Condition>,
}

/// One pod.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PublishedPod {
    /// Its name.
    pub pod: String,
    /// HAProxy's version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub haproxy: Option<String>,
    /// The newest generation it acknowledged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub generation: Option<i64>,
    /// The digest of the bundle that it runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
    /// `runtime` or `reload`: how it was brought there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub method: Option<String>,
    /// Why it was reloaded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// When, RFC 3339.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time: Option<String>,
    /// Why the last attempt failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_error: Option<String>,
}

/// One object that is held back.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PublishedObject {
    /// `ingresses default/shop`.
    pub object: String,
    /// What is wrong with it.
    pub why: String,
    /// What is served in its place: `last good version`, `defaults` (itself without annotations that cannot be read) or `left out`.
    #[schemars(with = "String")]
    pub in_force: PublishedInstead,
    /// Whether nothing is proven yet: it changed when something went wrong, and is tried again.
    #[serde(default)]
    pub suspected: bool,
}
