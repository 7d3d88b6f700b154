//! References to other objects: whether they may be followed, and what is there.

use super::{
    grants::Grants,
    objects::ObjectReference,
    parsed::ReadServices,
    policies::{BackendClient, BackendPolicies, BackendTls},
    retries::RetryProfile,
};
use crate::services::is_http2;
use haptic_model::gateway::NamespacedName;
use std::sync::Arc;

/// Why a reference leads nowhere: a reason of the API, and a sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct BadReference {
    pub reason: &'static str,
    pub message: String,
}

/// A port of a Service as servers are asked.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct BackendKey {
    pub namespace: Arc<str>,
    pub service: Arc<str>,
    pub port: u16,
    /// `h1`, `h2` or `tcp`, and with TLS `https`, `h2s` or `tcps`.
    pub protocol: &'static str,
    pub tls: Option<Arc<BackendTls>>,
    /// How requests are tried again, if otherwise than all others.
    pub retry: Option<Arc<RetryProfile>>,
}

impl BackendKey {
    /// Whether servers get what clients say as it is.
    pub fn is_stream(&self) -> bool {
        matches!(self.protocol, "tcp" | "tcps")
    }

    /// The same asked with a certificate, if it is asked over TLS.
    pub fn shown(&self, client: &BackendClient) -> Self {
        let with = |tls: &Arc<BackendTls>| {
            Arc::new(BackendTls { client: Some(client.clone()), ..BackendTls::clone(tls) })
        };
        Self { tls: self.tls.as_ref().map(with), ..self.clone() }
    }
}

/// The protocol that servers speak.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ServerLanguage {
    /// HTTP in the version that the Service says.
    Http,
    /// HTTP/2 whatever the Service says.
    Http2,
    /// The protocol of clients.
    Any,
}

/// Names in `appProtocol` of what is asked in HTTP/1.1: those of IANA for HTTP, of Kubernetes (KEP-3726), and those that tell no more than that there
/// are connections, or that they may become tunnels.
const NAMES_OF_HTTP: [&str; 9] =
    ["http", "https", "http-alt", "www", "www-http", "ws", "tcp", "kubernetes.io/ws", "kubernetes.io/wss"];

/// Whether requests can be sent to servers that say they speak `protocol`. HTTP/2 in clear has another name where whoever asks speaks it whatever
/// the Service says.
fn is_for_requests(protocol: &str, language: ServerLanguage) -> bool {
    is_http2(protocol)
        || NAMES_OF_HTTP.iter().any(|name| name.eq_ignore_ascii_case(protocol))
        || (language == ServerLanguage::Http2 && protocol == "http2")
}

impl ServerLanguage {
    /// Why servers of a port that speaks `protocol` are not asked so.
    fn refusal(self, protocol: Option<&str>, is_tls: bool) -> Option<String> {
        let protocol = protocol.filter(|protocol| !protocol.is_empty())?;
        let is_web_socket = matches!(protocol, "kubernetes.io/ws" | "kubernetes.io/wss");
        match self {
            Self::Http | Self::Http2 if !is_for_requests(protocol, self) => Some(format!(
                "has appProtocol {protocol}, in which HAPTIC sends no requests: a TCPRoute leads there, and for HTTP/2 in clear the name is kubernetes.io/h2c"
            )),
            Self::Http2 if is_web_socket => {
                Some(format!("has appProtocol {protocol}, which gRPC does not go over"))
            }
            Self::Http if protocol == "kubernetes.io/wss" && !is_tls => Some(format!(
                "has appProtocol {protocol}, and no BackendTLSPolicy says how its certificate is verified; nothing is sent in clear"
            )),
            _ => None,
        }
    }
}

/// The Service that a route's reference leads to.
pub(super) struct WantedBackend<'w> {
    /// The route's kind and namespace.
    pub kind: &'static str,
    pub namespace: &'w Arc<str>,
    pub target: &'w ObjectReference,
    pub port: Option<u16>,
    pub language: ServerLanguage,
    pub retry: Option<Arc<RetryProfile>>,
    /// The policies of Services that are asked over TLS.
    pub policies: &'w BackendPolicies,
}

impl WantedBackend<'_> {
    pub fn name(&self) -> NamespacedName {
        let namespace = self.target.namespace.as_ref().unwrap_or(self.namespace);
        (namespace.clone(), self.target.name.clone())
    }

    /// # Errors
    /// Why there is none.
    pub fn backend(&self, grants: &Grants, services: &ReadServices<'_>) -> Result<BackendKey, BadReference> {
        let name = self.name();
        let (of, called) = (&name.0, &name.1);
        let bad = |reason, message: String| Err(BadReference { reason, message });
        if !self.target.is_core("Service") {
            let group = self.target.group.as_deref().unwrap_or_default();
            let kind = self.target.kind.as_deref().unwrap_or("Service");
            return bad(
                "InvalidKind",
                format!("backendRef {called} is a {kind} of group {group:?}; only Services can be backends"),
            );
        }
        if of != self.namespace && !grants.allow(self.kind, self.namespace, "Service", &name) {
            return bad(
                "RefNotPermitted",
                format!(
                    "Service {of}/{called} is in another namespace, and no ReferenceGrant there allows {}s of namespace {} to refer to it",
                    self.kind, self.namespace
                ),
            );
        }
        let Some(port) = self.port else {
            return bad(
                "BackendNotFound",
                format!("backendRef {of}/{called} has no port; give it the Service's"),
            );
        };
        let (mut protocol, mut port_name) = (None, None);
        if services.is_watched() {
            let Some(service) = services.get(&name) else {
                return bad("BackendNotFound", format!("there is no Service {of}/{called}"));
            };
            if service.spec.kind.as_deref() == Some("ExternalName") {
                return bad(
                    "BackendNotFound",
                    format!(
                        "Service {of}/{called} is of type ExternalName, which routes of the Gateway API do not lead to"
                    ),
                );
            }
            let Some(found) = service.port(port) else {
                return bad("BackendNotFound", format!("Service {of}/{called} has no port {port}"));
            };
            protocol.clone_from(&found.app_protocol);
            port_name.clone_from(&found.name);
        }
        let tls = match self.policies.at(&name, port_name.as_ref()) {
            None => None,
            Some(Ok(tls)) => Some(tls.clone()),
            Some(Err(why)) => return bad("UnsupportedProtocol", format!("{why}; nothing is sent in clear")),
        };
        if let Some(why) = self.language.refusal(protocol.as_deref(), tls.is_some()) {
            return bad("UnsupportedProtocol", format!("port {port} of Service {of}/{called} {why}"));
        }
        let is_h2 = protocol.as_deref().is_some_and(is_http2);
        let protocol = match (self.language, &tls) {
            (ServerLanguage::Any, None) => "tcp",
            (ServerLanguage::Any, Some(_)) => "tcps",
            (ServerLanguage::Http, None) if !is_h2 => "h1",
            (ServerLanguage::Http, Some(_)) if !is_h2 => "https",
            (_, None) => "h2",
            (_, Some(_)) => "h2s",
        };
        Ok(BackendKey {
            namespace: of.clone(),
            service: called.clone(),
            port,
            protocol,
            tls,
            retry: self.retry.clone(),
        })
    }
    /// The finding at a Service that is asked in clear, though it says that it speaks TLS.
    pub fn doubt(&self, backend: &BackendKey, services: &ReadServices<'_>) -> Option<String> {
        let (of, called, number) = (&backend.namespace, &backend.service, backend.port);
        if backend.tls.is_some() {
            return None;
        }
        let service = services.get(&(of.clone(), called.clone()))?;
        let port = service.port(number)?;
        let is_https = self.language != ServerLanguage::Any && port.app_protocol.as_deref() == Some("https");
        is_https.then(|| {
            format!(
                "port {number} of Service {of}/{called} has appProtocol https, and no BackendTLSPolicy is for it: its requests go out in clear"
            )
        })
    }
}
