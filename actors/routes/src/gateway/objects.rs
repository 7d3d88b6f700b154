//! Objects of the Gateway API as they are read: what the resolver needs of them.
//!
//! The API server checks them when they are stored; files are not checked. A rule that cannot be read is kept as such, so that it harms
//! nothing but itself.

use super::parents::ParentName;
use haptic_model::Object;
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use std::{collections::BTreeMap, sync::Arc};

/// The API's group.
pub(super) const GROUP: &str = "gateway.networking.k8s.io";

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct GatewayObjectMeta {
    pub namespace: Arc<str>,
    pub name: Arc<str>,
    pub uid: Arc<str>,
    pub generation: i64,
    pub creation_timestamp: Option<Arc<str>>,
    pub labels: BTreeMap<String, String>,
    pub annotations: BTreeMap<String, String>,
    pub owner_references: Box<[OwnerOfObject]>,
}

/// An object that another one was made for.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct OwnerOfObject {
    pub api_version: Box<str>,
    pub kind: Box<str>,
    pub uid: Box<str>,
    pub controller: bool,
}

/// By which older objects come first, then those whose NAMESPACE/NAME comes first as one text.
pub(super) type RouteSeniority = (bool, Arc<str>, Arc<str>);

impl GatewayObjectMeta {
    pub fn seniority(&self) -> RouteSeniority {
        let since = self.creation_timestamp.clone();
        let name = format!("{}/{}", self.namespace, self.name);
        (since.is_none(), since.unwrap_or_default(), name.into())
    }

    pub fn key(&self) -> (Arc<str>, Arc<str>) {
        (self.namespace.clone(), self.name.clone())
    }
}

/// An object of some kind.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(super) struct GatewayResource<S> {
    #[serde(default)]
    pub metadata: GatewayObjectMeta,
    pub spec: S,
}

/// Reads an object; `None` where it is none of its kind.
pub(super) trait Readable: Sized {
    fn read(object: &Object) -> Option<Self>;
}

impl<S: for<'d> Deserialize<'d>> Readable for GatewayResource<S> {
    fn read(object: &Object) -> Option<Self> {
        serde_json::from_slice(&object.json.bytes()).ok()
    }
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ClassSpec {
    pub controller_name: String,
    pub parameters_ref: Option<Value>,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct GatewaySpec {
    pub gateway_class_name: Arc<str>,
    #[serde(default)]
    pub listeners: Vec<ListenerSpec>,
    #[serde(default)]
    pub addresses: Vec<Address>,
    pub infrastructure: Option<Infrastructure>,
    pub allowed_listeners: Option<AllowedListeners>,
    pub tls: Option<GatewayTls>,
}

/// The TLS settings of all listeners.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(super) struct GatewayTls {
    /// The certificates that clients must show.
    pub frontend: Option<FrontendTls>,
    /// The certificate that servers are shown.
    pub backend: Option<BackendClientTls>,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct FrontendTls {
    pub default: Option<PortTls>,
    #[serde(default)]
    pub per_port: Vec<TlsOfPort>,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(super) struct TlsOfPort {
    pub port: u16,
    pub tls: PortTls,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(super) struct PortTls {
    pub validation: Option<ClientValidationSpec>,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(super) struct ClientValidationSpec {
    #[serde(rename = "caCertificateRefs", default)]
    pub authorities: Vec<ObjectReference>,
    pub mode: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(super) struct BackendClientTls {
    #[serde(rename = "clientCertificateRef")]
    pub certificate: Option<ObjectReference>,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(super) struct Address {
    #[serde(rename = "type")]
    pub kind: Option<String>,
    pub value: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Infrastructure {
    #[serde(default)]
    pub labels: BTreeMap<String, String>,
    #[serde(default)]
    pub annotations: BTreeMap<String, String>,
    pub parameters_ref: Option<Value>,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(super) struct AllowedListeners {
    pub namespaces: Option<FromNamespaces>,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ListenerSetSpec {
    pub parent_ref: ParentRef,
    #[serde(default)]
    pub listeners: Vec<ListenerSpec>,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ListenerSpec {
    pub name: Arc<str>,
    pub hostname: Option<String>,
    pub port: u16,
    pub protocol: String,
    pub tls: Option<TlsSpec>,
    pub allowed_routes: Option<AllowedRoutes>,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct TlsSpec {
    pub mode: Option<String>,
    #[serde(default)]
    pub certificate_refs: Vec<ObjectReference>,
}

impl ListenerSpec {
    /// The mode of TLS.
    pub fn tls_mode(&self) -> &str {
        self.tls.as_ref().and_then(|tls| tls.mode.as_deref()).unwrap_or("Terminate")
    }
}

/// A reference to an object that may be of any kind.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(super) struct ObjectReference {
    pub group: Option<String>,
    pub kind: Option<String>,
    pub namespace: Option<Arc<str>>,
    pub name: Arc<str>,
}

impl ObjectReference {
    /// Whether it names a kind of the core group; `kind` is what it means where it says none.
    pub fn is_core(&self, kind: &str) -> bool {
        self.group.as_deref().unwrap_or_default().is_empty() && self.kind.as_deref().unwrap_or(kind) == kind
    }
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(super) struct AllowedRoutes {
    pub namespaces: Option<FromNamespaces>,
    pub kinds: Option<Vec<RouteGroupKind>>,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(super) struct RouteGroupKind {
    pub group: Option<String>,
    pub kind: String,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(super) struct FromNamespaces {
    pub from: Option<String>,
    pub selector: Option<Selector>,
}

/// A label selector.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Selector {
    pub match_labels: BTreeMap<String, String>,
    pub match_expressions: Vec<LabelRequirement>,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(super) struct LabelRequirement {
    pub key: String,
    pub operator: String,
    #[serde(default)]
    pub values: Vec<String>,
}

impl Selector {
    /// Whether labels fit; an operator that is none fits nothing.
    pub fn fits(&self, labels: &BTreeMap<String, String>) -> bool {
        self.match_labels.iter().all(|(key, value)| labels.get(key) == Some(value))
            && self.match_expressions.iter().all(|one| match one.operator.as_str() {
                "In" => labels.get(&one.key).is_some_and(|value| one.values.contains(value)),
                "NotIn" => labels.get(&one.key).is_none_or(|value| !one.values.contains(value)),
                "Exists" => labels.contains_key(&one.key),
                "DoesNotExist" => !labels.contains_key(&one.key),
                _ => false,
            })
    }
}

/// The parent that a route is attached to.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ParentRef {
    pub group: Option<String>,
    pub kind: Option<String>,
    pub namespace: Option<Arc<str>>,
    pub name: Arc<str>,
    pub section_name: Option<Arc<str>>,
    pub port: Option<u16>,
}

impl ParentRef {
    /// As a route of that namespace names it, if it is of a kind that routes are attached to.
    pub fn named(&self, namespace: &Arc<str>) -> Option<ParentName> {
        if self.group.as_deref().is_some_and(|group| group != GROUP) {
            return None;
        }
        let kind = match self.kind.as_deref() {
            None | Some("Gateway") => "Gateway",
            Some("ListenerSet") => "ListenerSet",
            Some(_) => return None,
        };
        Some((kind, (self.namespace.as_ref().unwrap_or(namespace).clone(), self.name.clone())))
    }
}

/// A route of any kind. Its parts are read one by one.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct RouteSpec {
    #[serde(default)]
    pub parent_refs: Box<[UnreadPart]>,
    #[serde(default)]
    pub hostnames: Box<[String]>,
    #[serde(default)]
    pub rules: Box<[UnreadPart]>,
}

/// A part of an object that is read when it is needed, as its text: as a value it takes ten times the room.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct UnreadPart(Box<str>);

impl UnreadPart {
    pub fn value(&self) -> Value {
        serde_json::from_str(&self.0).unwrap_or_default()
    }

    pub fn text(&self) -> &str {
        &self.0
    }
}

impl<'de> Deserialize<'de> for UnreadPart {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Value::deserialize(deserializer).map(|value| Self(value.to_string().into()))
    }
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct RouteRule {
    pub matches: Vec<Value>,
    pub filters: Vec<Filter>,
    pub backend_refs: Vec<BackendRef>,
    pub timeouts: Option<Timeouts>,
    pub retry: Option<Retry>,
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub(super) struct Retry {
    pub codes: Vec<u16>,
    pub attempts: Option<u32>,
    pub backoff: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Timeouts {
    pub request: Option<String>,
    pub backend_request: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(super) struct BackendRef {
    #[serde(flatten)]
    pub target: ObjectReference,
    pub port: Option<u16>,
    pub weight: Option<u32>,
    #[serde(default)]
    pub filters: Vec<Filter>,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Filter {
    #[serde(rename = "type")]
    pub kind: String,
    pub request_header_modifier: Option<HeaderModifier>,
    pub response_header_modifier: Option<HeaderModifier>,
    pub request_redirect: Option<Redirect>,
    pub url_rewrite: Option<UrlRewrite>,
    pub cors: Option<Cors>,
    pub request_mirror: Option<RequestMirror>,
    pub external_auth: Option<ExternalAuth>,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct RequestMirror {
    pub backend_ref: BackendTarget,
    pub percent: Option<u32>,
    pub fraction: Option<Fraction>,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(super) struct BackendTarget {
    #[serde(flatten)]
    pub target: ObjectReference,
    pub port: Option<u16>,
}

/// The service that is asked whether requests may pass; of the experimental channel.
///
/// https://gateway-api.sigs.k8s.io/geps/gep-1494/
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ExternalAuth {
    pub protocol: String,
    pub backend_ref: BackendTarget,
    #[serde(default)]
    pub http: HttpAuth,
    pub forward_body: Option<ForwardBody>,
}

/// The exchange over HTTP.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct HttpAuth {
    pub path: String,
    pub allowed_headers: Vec<String>,
    pub allowed_response_headers: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ForwardBody {
    #[serde(default)]
    pub max_size: u32,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(super) struct Fraction {
    pub numerator: u32,
    pub denominator: Option<u32>,
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub(super) struct HeaderModifier {
    pub set: Vec<NamedValue>,
    pub add: Vec<NamedValue>,
    pub remove: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(super) struct NamedValue {
    pub name: String,
    pub value: String,
    #[serde(rename = "type")]
    pub kind: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Redirect {
    pub scheme: Option<String>,
    pub hostname: Option<String>,
    pub path: Option<PathModifier>,
    pub port: Option<u16>,
    pub status_code: Option<u16>,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct PathModifier {
    #[serde(rename = "type")]
    pub kind: String,
    pub replace_full_path: Option<String>,
    pub replace_prefix_match: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(super) struct UrlRewrite {
    pub hostname: Option<String>,
    pub path: Option<PathModifier>,
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Cors {
    pub allow_origins: Vec<String>,
    pub allow_credentials: bool,
    pub allow_methods: Vec<String>,
    pub allow_headers: Vec<String>,
    pub expose_headers: Vec<String>,
    pub max_age: Option<u32>,
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct HttpMatch {
    pub path: Option<PathMatch>,
    pub headers: Vec<NamedValue>,
    pub query_params: Vec<NamedValue>,
    pub method: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(super) struct PathMatch {
    #[serde(rename = "type")]
    pub kind: Option<String>,
    pub value: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub(super) struct GrpcMatch {
    pub method: Option<GrpcMethod>,
    pub headers: Vec<NamedValue>,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(super) struct GrpcMethod {
    #[serde(rename = "type")]
    pub kind: Option<String>,
    pub service: Option<String>,
    pub method: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(super) struct GrantSpec {
    #[serde(default)]
    pub from: Vec<GrantFrom>,
    #[serde(default)]
    pub to: Vec<GrantTo>,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(super) struct GrantFrom {
    pub group: String,
    pub kind: String,
    pub namespace: Arc<str>,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(super) struct GrantTo {
    pub group: String,
    pub kind: String,
    pub name: Option<Arc<str>>,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct PolicySpec {
    #[serde(default)]
    pub target_refs: Vec<PolicyTarget>,
    #[serde(default)]
    pub validation: PolicyValidation,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct PolicyTarget {
    pub group: String,
    pub kind: String,
    pub name: Arc<str>,
    /// The name of one of the Service's ports.
    pub section_name: Option<Arc<str>>,
}

/// How servers prove who they are.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct PolicyValidation {
    #[serde(rename = "caCertificateRefs")]
    pub authorities: Vec<ObjectReference>,
    #[serde(rename = "wellKnownCACertificates")]
    pub well_known: Option<String>,
    pub hostname: String,
    pub subject_alt_names: Vec<Value>,
}

/// The facts about a Service that are read.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(super) struct ServiceFacts {
    #[serde(default)]
    pub metadata: GatewayObjectMeta,
    #[serde(default)]
    pub spec: ServiceSpec,
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub(super) struct ServiceSpec {
    #[serde(rename = "type")]
    pub kind: Option<String>,
    pub ports: Box<[KnownPort]>,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct KnownPort {
    pub name: Option<Arc<str>>,
    pub port: u16,
    pub target_port: Option<Value>,
    pub protocol: Option<Box<str>>,
    pub app_protocol: Option<String>,
}

impl ServiceFacts {
    /// Whether it was made for the Gateway with this uid.
    pub fn is_of_gateway(&self, uid: &str) -> bool {
        let is_it = |owner: &OwnerOfObject| {
            let group = owner.api_version.split_once('/').map(|(group, _)| group);
            owner.controller && &*owner.kind == "Gateway" && group == Some(GROUP) && &*owner.uid == uid
        };
        self.metadata.owner_references.iter().any(is_it)
    }

    /// The first port of that number.
    pub fn port(&self, number: u16) -> Option<&KnownPort> {
        let ports = &self.spec.ports;
        ports.get(ports.partition_point(|one| one.port < number)).filter(|one| one.port == number)
    }
}

impl KnownPort {
    /// The number of the port that it leads to, where it is written as a number.
    pub fn target_number(&self) -> Option<u16> {
        u16::try_from(self.target_port.as_ref()?.as_u64()?).ok()
    }
}

impl Readable for ServiceFacts {
    /// Ports of UDP are none that HAProxy passes anything on to, and may have the number of one of TCP. The others are put in the order of their numbers:
    /// each of many references asks for one.
    fn read(object: &Object) -> Option<Self> {
        let mut service: Self = serde_json::from_slice(&object.json.bytes()).ok()?;
        let mut ports = service.spec.ports.into_vec();
        ports.retain(|port| port.protocol.as_deref().is_none_or(|protocol| protocol == "TCP"));
        ports.sort_by_key(|port| port.port);
        service.spec.ports = ports.into();
        Some(service)
    }
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(super) struct LabelsOfNamespaces {
    #[serde(default)]
    pub metadata: GatewayObjectMeta,
}

impl Readable for LabelsOfNamespaces {
    fn read(object: &Object) -> Option<Self> {
        serde_json::from_slice(&object.json.bytes()).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_of_one_age_come_by_namespace_and_name_as_one_text() {
        let of = |namespace: &str, name: &str, since: Option<&str>| {
            let creation_timestamp = since.map(Arc::from);
            let (namespace, name) = (namespace.into(), name.into());
            GatewayObjectMeta { namespace, name, creation_timestamp, ..GatewayObjectMeta::default() }
                .seniority()
        };
        let (early, late) = (Some("2025-01-01T00:00:00Z"), Some("2025-01-02T00:00:00Z"));
        let order = [
            of("shop", "z", early),
            of("shop-canary", "a", late),
            of("shop", "a-b", late),
            of("shop", "a.b", late),
            of("shopping", "a", late),
            of("a", "a", None),
        ];
        assert!(order.is_sorted(), "{order:?}");
    }
}
