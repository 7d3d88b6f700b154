//! Which namespaces hosts belong to, by the operator's word.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Hosts that belong to some namespaces: no Ingress, and no route or listener of the Gateway API, of anybody else gets
/// requests, a certificate or client verification on them, however old it is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HostOwners {
    /// Host names; `*.shop.example` for all hosts below `shop.example`, `*` for every host and for routes without one. The most
    /// specific one that covers a host counts.
    pub hosts: Vec<String>,
    /// The namespaces that may have routes and certificates there. Among them the oldest Ingress counts.
    pub namespaces: Vec<String>,
}
