//! The HAProxy pods and what they can do.

use crate::version::HaproxyVersion;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::{
    net::{IpAddr, SocketAddr},
    sync::Arc,
};

/// How a pod is reached.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub enum TransportKind {
    /// Our own agent beside HAProxy.
    #[default]
    #[serde(rename = "agent")]
    Agent,
    /// HAProxy's Data Plane API.
    #[serde(rename = "dataplaneapi")]
    DataPlaneApi,
}

/// A discovered HAProxy pod.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct HaproxyPod {
    /// The pod's namespace.
    pub namespace: Arc<str>,
    /// The pod's name.
    pub name: Arc<str>,
    /// A pod that comes back under its name is another pod.
    pub uid: Arc<str>,
    /// Where its agent or Data Plane API listens.
    pub address: IpAddr,
    /// The pod's other addresses, in a dual-stack cluster.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub other_addresses: Vec<IpAddr>,
    /// The port of it.
    pub port: u16,
    /// Where its node is reached.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub node_addresses: Vec<IpAddr>,
    /// Ports of the node that lead to the pod (`hostPort`).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub host_ports: Vec<u16>,
}

impl HaproxyPod {
    /// The namespace of the pod that `haptic local` runs, which is in no cluster.
    pub const LOCAL: &'static str = "local";

    /// The first pod of that name, with one address, on a node of which nothing is known.
    #[must_use]
    pub fn at(namespace: &str, name: &str, address: impl Into<SocketAddr>) -> Self {
        let address = address.into();
        Self {
            namespace: namespace.into(),
            name: name.into(),
            uid: name.into(),
            address: address.ip(),
            other_addresses: Vec::new(),
            port: address.port(),
            node_addresses: Vec::new(),
            host_ports: Vec::new(),
        }
    }
}

impl std::fmt::Display for HaproxyPod {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.namespace, self.name)
    }
}

/// A HAProxy pod that takes traffic: its condition `Ready` is True, which it may be until it has ended.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ReadyPod {
    /// Which.
    pub pod: HaproxyPod,
    /// The node that it is on.
    pub node: Option<Arc<str>>,
    /// Whether it is being deleted: it is sent connections only while no other pod takes them.
    pub terminating: bool,
}

/// What can be changed on a pod, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Capabilities {
    /// HAProxy's version.
    pub version: HaproxyVersion,
    /// Whether whole backends can be added.
    pub dynamic_backends: bool,
    /// Through which version of the Data Plane API it is changed; `None`: through the agent.
    pub data_plane_api: Option<HaproxyVersion>,
}

impl Capabilities {
    /// What HAProxy of `version` can do through the agent.
    #[must_use]
    pub fn of(version: HaproxyVersion) -> Self {
        Self { version, dynamic_backends: version.adds_backends(), data_plane_api: None }
    }

    /// What HAProxy of `version` can do through version `api` of the Data Plane API, which adds no backends.
    #[must_use]
    pub fn through_data_plane_api(version: HaproxyVersion, api: HaproxyVersion) -> Self {
        Self { version, dynamic_backends: false, data_plane_api: Some(api) }
    }

    /// Whether files are stored along with operations at no cost. The Data Plane API has all of haproxy.cfg checked for that, which
    /// takes seconds when it is large.
    #[must_use]
    pub fn stores_with_operations(self) -> bool {
        self.data_plane_api.is_none()
    }

    /// What both can do.
    #[must_use]
    pub fn common(self, other: Self) -> Self {
        Self {
            version: self.version.min(other.version),
            dynamic_backends: self.dynamic_backends && other.dynamic_backends,
            data_plane_api: match (self.data_plane_api, other.data_plane_api) {
                (Some(one), Some(other)) => Some(one.min(other)),
                (one, other) => one.or(other),
            },
        }
    }
}

/// The fleet as templates see it: sorted pods, their versions, and what all of them can do.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fleet {
    /// Sorted by namespace and name.
    pub pods: Vec<HaproxyPod>,
    /// Every version in the fleet, once, sorted. Empty until a pod has answered.
    pub versions: Vec<HaproxyVersion>,
    /// `None` until a pod has answered.
    pub common: Option<Capabilities>,
    /// Pods that have not answered yet. No template sees it: what is rendered depends on those that have.
    #[serde(skip)]
    pub unanswered: usize,
}

impl Fleet {
    /// Whether templates see `other` as they see this one.
    #[must_use]
    pub fn looks_like(&self, other: &Self) -> bool {
        (&self.pods, &self.versions, self.common) == (&other.pods, &other.versions, other.common)
    }

    /// A fleet of which only the version is known: where there are no pods to ask.
    #[must_use]
    pub fn of_version(version: HaproxyVersion) -> Self {
        Self { versions: vec![version], common: Some(Capabilities::of(version)), ..Self::default() }
    }
}
