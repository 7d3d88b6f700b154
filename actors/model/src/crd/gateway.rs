//! Who makes the Services that Gateways are reached by, and what Gateways may ask for.

use super::AllowedNetwork;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Gateways of this controller.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct GatewayServicesSpec {
    /// Who makes the Services that clients reach Gateways by.
    pub service_mode: GatewayServiceMode,
    /// The type of a Gateway's Service, with serviceMode perGateway.
    pub service_type: GatewayServiceType,
    /// Networks, such as 192.0.2.0/24, whose addresses a Gateway may ask for by `spec.addresses`. Its Service gets them as
    /// external IPs, which take traffic to that address from everywhere in the cluster: name only networks that are free for it.
    pub allowed_addresses: Vec<AllowedNetwork>,
    /// What the labels and annotations of a Gateway's `spec.infrastructure` begin with that its Service gets; others it does not get.
    pub annotation_prefixes: Vec<String>,
}

/// Who makes the Services of Gateways.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum GatewayServiceMode {
    /// The leader makes one for each Gateway, in the Gateway's namespace.
    #[default]
    PerGateway,
    /// All Gateways are reached by the Service and the addresses that `controller.ingressStatus` names.
    Shared,
    /// Somebody else does; statuses of Gateways show no addresses.
    None,
}

/// The type of a Gateway's Service.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum GatewayServiceType {
    /// A load balancer of the cluster's provider.
    #[default]
    LoadBalancer,
    /// Ports of all nodes.
    NodePort,
    /// Inside of the cluster.
    ClusterIP,
}

impl GatewayServiceType {
    /// As Services say it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::LoadBalancer => "LoadBalancer",
            Self::NodePort => "NodePort",
            Self::ClusterIP => "ClusterIP",
        }
    }
}
