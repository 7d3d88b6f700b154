//! What is decided about objects of the Gateway API, for their statuses: one verdict for each, without times.
//!
//! Verdicts follow from stores alone; whether what they promise runs on the pods is added by whoever writes the statuses.

use haptic_text::Digest;
use imbl::OrdMap;
use serde::Serialize;
use serde_json::{Map, Value};
use std::{borrow::Cow, collections::BTreeMap, sync::Arc};

/// `spec.controllerName` of the GatewayClasses that are ours, unless `extraContext.gateway.controller` says otherwise.
pub const CONTROLLER: &str = "haproxy-haptic.org/gateway-controller";

/// The controller name of the classes that are ours by `extra_context`, and of our entries in statuses.
#[must_use]
pub fn controller_name(extra_context: &Map<String, Value>) -> &str {
    let settings = extra_context.get("gateway");
    settings.and_then(|settings| settings.get("controller")?.as_str()).unwrap_or(CONTROLLER)
}

/// The label by which the Gateway API finds what is made for a Gateway.
pub const GATEWAY_NAME: &str = "gateway.networking.k8s.io/gateway-name";

/// The name of a Gateway as the value of [`GATEWAY_NAME`]: a label has 63 characters at most, a name 253.
#[must_use]
pub fn gateway_label(name: &str) -> String {
    const LONGEST: usize = 63;
    const DIGITS: usize = 16;
    if name.len() <= LONGEST {
        return name.to_owned();
    }
    let readable: String = name.chars().take(LONGEST - 1 - DIGITS).collect();
    let digits: String = Digest::of(name.as_bytes()).to_string().chars().take(DIGITS).collect();
    format!("{readable}-{digits}")
}

/// What the names of the Services begin with that are made for Gateways.
pub const SERVICE_PREFIX: &str = "haptic-";

/// The name of the Service of a Gateway: no other Gateway of its namespace has the same.
#[must_use]
pub fn service_name(gateway: &str) -> String {
    const LONGEST: usize = 63;
    const DIGITS: usize = 16;
    let digits: String = Digest::of(gateway.as_bytes()).to_string().chars().take(DIGITS).collect();
    let room = LONGEST - SERVICE_PREFIX.len() - 1 - DIGITS;
    let readable: String = gateway.chars().map(|c| if c == '.' { '-' } else { c }).take(room).collect();
    format!("{SERVICE_PREFIX}{readable}-{digits}")
}

/// Namespace and name of an object.
pub type NamespacedName = (Arc<str>, Arc<str>);

/// A condition as it should be.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct StatusCondition {
    /// Its `type`, such as `Accepted`.
    pub kind: &'static str,
    /// Whether it is `True`; `False` otherwise.
    pub holds: bool,
    /// Its `reason`, one of the API's.
    pub reason: &'static str,
    /// A sentence for people, with what to do. Most are always the same.
    pub message: Cow<'static, str>,
}

/// All verdicts of one render.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GatewayVerdicts {
    /// GatewayClasses with our controller name, by name.
    pub classes: BTreeMap<Arc<str>, Arc<ClassVerdict>>,
    /// Gateways of these classes.
    pub gateways: BTreeMap<NamespacedName, Arc<GatewayVerdict>>,
    /// ListenerSets whose parent is one of these Gateways.
    pub listener_sets: BTreeMap<NamespacedName, Arc<ListenerSetVerdict>>,
    /// Routes with a parent of ours: there are many, and each render changes few of them.
    pub routes: OrdMap<(RouteKind, NamespacedName), Arc<RouteVerdict>>,
    /// BackendTLSPolicies of Services that routes of ours lead to.
    pub policies: BTreeMap<NamespacedName, Arc<PolicyVerdict>>,
}

/// The kinds of routes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub enum RouteKind {
    /// `HTTPRoute`
    Http,
    /// `GRPCRoute`
    Grpc,
    /// `TLSRoute`
    Tls,
    /// `TCPRoute`
    Tcp,
}

impl RouteKind {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Http, Self::Grpc, Self::Tls, Self::Tcp];

    /// The kind's name, and its plural in URLs.
    #[must_use]
    pub const fn names(self) -> (&'static str, &'static str) {
        match self {
            Self::Http => ("HTTPRoute", "httproutes"),
            Self::Grpc => ("GRPCRoute", "grpcroutes"),
            Self::Tls => ("TLSRoute", "tlsroutes"),
            Self::Tcp => ("TCPRoute", "tcproutes"),
        }
    }

    /// The kind's name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        self.names().0
    }

    /// Its plural in URLs.
    #[must_use]
    pub const fn plural(self) -> &'static str {
        self.names().1
    }
}

/// About a GatewayClass.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ClassVerdict {
    /// `metadata.generation` that was judged.
    pub generation: i64,
    /// `Accepted` and `SupportedVersion`.
    pub conditions: Vec<StatusCondition>,
    /// `status.supportedFeatures`, sorted.
    pub features: Vec<&'static str>,
    /// Whether its Gateways are served, and have verdicts: also those of one whose parameters were good before.
    pub is_served: bool,
}

/// About a Gateway. `Programmed` of it and its listeners is added where statuses are written.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct GatewayVerdict {
    /// `metadata.generation` that was judged.
    pub generation: i64,
    /// `metadata.uid`, for ownerReferences.
    pub uid: Arc<str>,
    /// `Accepted`, `ResolvedRefs` and what else is known from stores.
    pub conditions: Vec<StatusCondition>,
    /// In the order of `spec.listeners`.
    pub listeners: Vec<ListenerVerdict>,
    /// Accepted ListenerSets.
    pub attached_listener_sets: usize,
    /// What its Service offers, of listeners of its own and of its ListenerSets; each port once.
    pub ports: Vec<GatewayPort>,
    /// `spec.addresses`, as type and value.
    pub addresses: Vec<(String, Option<String>)>,
    /// `spec.infrastructure.labels`.
    pub labels: BTreeMap<String, String>,
    /// `spec.infrastructure.annotations`.
    pub annotations: BTreeMap<String, String>,
}

/// About a listener.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ListenerVerdict {
    /// Its name.
    pub name: Arc<str>,
    /// Its port.
    pub port: u16,
    /// `Accepted`, `ResolvedRefs`, `Conflicted`, `OverlappingTLSConfig`; not `Programmed`.
    pub conditions: Vec<StatusCondition>,
    /// Group and kind of routes that it takes.
    pub supported_kinds: Vec<(&'static str, &'static str)>,
    /// Routes that are accepted by it.
    pub attached_routes: usize,
    /// Whether it is in the configuration, so that it is programmed once the pods run it.
    pub is_served: bool,
}

/// A port of a Gateway's Service and the port of HAProxy's containers behind it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct GatewayPort {
    /// As clients know it.
    pub port: u16,
    /// As HAProxy listens.
    pub target: u16,
}

/// About a ListenerSet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ListenerSetVerdict {
    /// `metadata.generation` that was judged.
    pub generation: i64,
    /// `Accepted`; not `Programmed`.
    pub conditions: Vec<StatusCondition>,
    /// In the order of `spec.listeners`.
    pub listeners: Vec<ListenerVerdict>,
}

/// About a route.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct RouteVerdict {
    /// `metadata.generation` that was judged.
    pub generation: i64,
    /// One for each parentRef of ours, in the order of the route.
    pub parents: Vec<ParentVerdict>,
    /// Whether it names other parents, too, which are another controller's or nobody's yet.
    pub has_others: bool,
}

/// A reference as it is written, kept as its JSON text: as a value it takes ten times the room, and there is one for each route.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct WrittenReference(Arc<str>);

impl WrittenReference {
    /// The reference; `null` where the text is none.
    #[must_use]
    pub fn value(&self) -> serde_json::Value {
        serde_json::from_str(&self.0).unwrap_or_default()
    }

    /// As it is written in the object.
    #[must_use]
    pub fn text(&self) -> &Arc<str> {
        &self.0
    }
}

impl From<&str> for WrittenReference {
    /// `text`: JSON.
    fn from(text: &str) -> Self {
        Self(text.into())
    }
}

impl From<&serde_json::Value> for WrittenReference {
    fn from(reference: &serde_json::Value) -> Self {
        Self(reference.to_string().into())
    }
}

impl Serialize for WrittenReference {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.value().serialize(serializer)
    }
}

/// About a route at one parentRef, or a policy at one Gateway.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct ParentVerdict {
    /// The reference as it is written in the object; for a policy group, kind, namespace and name of the Gateway.
    pub reference: WrittenReference,
    /// `Accepted`, `ResolvedRefs`, `PartiallyInvalid`, `Conflicted`.
    pub conditions: Vec<StatusCondition>,
    /// Whether a listener that takes the route is in the configuration, so that the route is programmed once the pods run it.
    pub is_served: bool,
}

/// About a BackendTLSPolicy.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PolicyVerdict {
    /// `metadata.generation` that was judged.
    pub generation: i64,
    /// One for each Gateway through which its Services are reached.
    pub ancestors: Vec<ParentVerdict>,
}
