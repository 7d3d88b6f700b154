//! Claims to ports.

use crate::{
    claims::{Backend, Port},
    findings::certificates::NamedCertificates,
    options::{
        self, PREFIX, Settings, Written, level::Level, table::row, tcp_ports::read_port, value::OptionValue,
    },
    ownership::contest::Age,
    sentences::shortened,
};
use haptic_model::{Finding, FindingKind, Object, ObjectRef, Snapshot};
use memchr::memmem;
use serde::Deserialize;
use serde_json::Value;
use std::{collections::BTreeMap, sync::Arc};

/// The annotation.
const PORTS: &str = "tcp-ports";
const TLS_SECRET: &str = "tcp-tls-secret";
const ALLOW_FROM: &str = "tcp-allow-from";
/// The annotations that count for TCP ports of a Service.
const OF_SERVICE: [&str; 4] = [PORTS, TLS_SECRET, ALLOW_FROM, "proxy-protocol"];
/// The beginning of all annotations that are for TCP services alone.
const TCP: &str = "tcp-";
/// Those of the PROXY protocol, as `send-proxy` has them.
const VERSIONS: [&str; 4] = ["v1", "v2", "v2-ssl", "v2-ssl-cn"];

/// The ports that one object asks for.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct AskedPorts {
    pub age: Age,
    pub claims: Vec<TcpClaim>,
    pub findings: Vec<Finding>,
    pub by: AskedBy,
}

/// The kind of the object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AskedBy {
    Service,
    /// One of the operator's.
    ConfigMap,
    /// A custom resource of another controller.
    Resource,
}

/// A demand for a port.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct TcpClaim {
    pub port: u16,
    /// That of the Service.
    pub namespace: Arc<str>,
    pub backend: Backend,
    /// Whether clients come through something that speaks the PROXY protocol.
    pub accept_proxy: bool,
    /// The version in which servers are told of clients.
    pub send_proxy: Option<&'static str>,
    /// Where TLS ends here: with which certificate.
    pub tls: Option<TcpTls>,
    /// The networks that may come in; all without it.
    pub networks: Option<Value>,
    /// The annotation, or the key of a ConfigMap, that says so.
    pub said_by: Arc<str>,
}

/// The certificate that TLS at a port has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum TcpTls {
    /// That of a Secret.
    Secret { namespace: Arc<str>, name: Arc<str> },
    /// Those of all hosts.
    All,
}

impl TcpClaim {
    /// A finding at it.
    pub fn finding(&self, kind: FindingKind, sentence: String) -> Finding {
        let said = format!("{}: {sentence}", self.said_by);
        Finding::new(kind, said).at_annotation(&self.said_by)
    }
}

#[derive(Deserialize)]
struct TcpService {
    metadata: TcpMetadata,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct TcpMetadata {
    pub annotations: Option<BTreeMap<String, String>>,
    pub creation_timestamp: Option<Arc<str>>,
}

impl AskedPorts {
    /// Of a Service, if it asks for ports.
    pub fn of_service(object: &Object, settings: &Settings) -> Option<Self> {
        memmem::find(&object.json.bytes(), format!("{PREFIX}{TCP}").as_bytes())?;
        let TcpService { metadata } = serde_json::from_slice(&object.json.bytes()).ok()?;
        let annotations = metadata.annotations.unwrap_or_default();
        let own = annotations
            .iter()
            .filter_map(|(key, text)| Some((key.strip_prefix(PREFIX)?, text.as_str())))
            .filter(|(name, _)| OF_SERVICE.contains(name) || name.starts_with(TCP));
        let written = Written::read(Level::Service, own, settings);
        let mut findings = unreadable(&written);
        // What cannot be read may be what guards it.
        let is_readable = findings.is_empty();
        findings.extend(without_ports(&annotations, &written));
        findings.extend(guarding_requests(&annotations));
        let ports = match written.values.get(PORTS) {
            Some(OptionValue::Text(text)) => text.as_str(),
            Some(_) => return None,
            None => "",
        };
        let mut claims = claims_of(&object.reference, if is_readable { ports } else { "" }, &written);
        findings.extend(drop_repeated(&mut claims));
        let age = metadata.creation_timestamp.map_or(Age::Unknown, Age::Since);
        Some(Self { age, claims, findings, by: AskedBy::Service })
    }
}

/// The findings at annotations that cannot be read, or that are not known: one of them may be what was to guard the Service.
fn unreadable(written: &Written) -> Vec<Finding> {
    let refused = written.refused.iter().map(|refusal| {
        let sentence = format!("{refusal}; it is served at no port");
        options::finding(FindingKind::OptionUnreadable, &shortened(&refusal.option), sentence)
    });
    let unknown = written.unknown().map(|found| {
        let sentence = format!("{}: while it stands there, the Service is served at no port", found.sentence);
        Finding { sentence, ..found }
    });
    refused.chain(unknown).collect()
}

/// The findings at annotations for TCP ports of a Service that asks for none.
fn without_ports(annotations: &BTreeMap<String, String>, written: &Written) -> Vec<Finding> {
    let whole = format!("{PREFIX}{PORTS}");
    if annotations.contains_key(&whole) {
        return Vec::new();
    }
    let others = written.values.keys().filter(|name| name.starts_with(TCP));
    let without_effect = others.map(|name| {
        let sentence = format!("annotation {PREFIX}{name} has no effect without {whole}");
        options::finding(FindingKind::OptionWithoutEffect, name, sentence)
    });
    without_effect.collect()
}

/// The findings at annotations that guard requests: they guard no connection to a TCP port.
fn guarding_requests(annotations: &BTreeMap<String, String>) -> impl Iterator<Item = Finding> {
    let rows = annotations.keys().filter_map(|key| row(key.strip_prefix(PREFIX)?));
    rows.filter(|row| row.guards && !OF_SERVICE.contains(&row.name)).map(|row| {
        let sentence = format!(
            "annotation {PREFIX}{} guards requests, not connections to TCP ports: {PREFIX}{ALLOW_FROM} does",
            row.name
        );
        options::finding(FindingKind::OptionWithoutEffect, row.name, sentence)
    })
}

/// The claims of a Service to `ports`, as the annotation has them.
fn claims_of(service: &ObjectRef, ports: &str, written: &Written) -> Vec<TcpClaim> {
    let text = |name: &str| match written.values.get(name) {
        Some(OptionValue::Text(text)) => Some(text.as_str()),
        _ => None,
    };
    let ObjectRef { namespace, name, .. } = service;
    let tls = text(TLS_SECRET).map(|name| TcpTls::Secret { namespace: namespace.clone(), name: name.into() });
    let version = text("proxy-protocol");
    let send_proxy = VERSIONS.into_iter().find(|known| version == Some(*known));
    let networks = written.values.get(ALLOW_FROM).map(OptionValue::to_json);
    let ports = ports.split(',').filter_map(|one| read_port(one.trim()));
    let claims = ports.map(|(port, of_service)| TcpClaim {
        port,
        namespace: namespace.clone(),
        backend: Backend { service: name.clone(), port: of_service },
        accept_proxy: false,
        send_proxy,
        tls: tls.clone(),
        networks: networks.clone(),
        said_by: format!("{PREFIX}{PORTS}").into(),
    });
    claims.collect()
}

/// Keeps the first claim to each port, and finds that there are more.
fn drop_repeated(claims: &mut Vec<TcpClaim>) -> Option<Finding> {
    let before = claims.len();
    claims.sort_by_key(|claim| claim.port);
    claims.dedup_by_key(|claim| claim.port);
    (claims.len() < before).then(|| {
        let sentence = format!("annotation {PREFIX}{PORTS} names a port twice: the first one counts");
        options::finding(FindingKind::RouteRepeated, PORTS, sentence)
    })
}

#[derive(Deserialize)]
struct TcpServicePorts {
    spec: Option<TcpServiceSpec>,
}

#[derive(Deserialize)]
struct TcpServiceSpec {
    ports: Option<Vec<TcpServicePort>>,
    #[serde(rename = "type")]
    kind: Option<String>,
}

#[derive(Deserialize)]
struct TcpServicePort {
    name: Option<String>,
    port: u16,
    protocol: Option<String>,
}

/// The fault of the certificate of a port, at the annotation or the key that says so.
pub(super) fn found_at_certificate(certificates: &NamedCertificates, claim: &TcpClaim) -> Option<Finding> {
    let Some(TcpTls::Secret { namespace, name }) = &claim.tls else { return None };
    let without = format!("nobody is served at port {}", claim.port);
    let found = certificates.found_at_option(namespace, name, &without)?;
    let of_annotation = format!("{PREFIX}{TLS_SECRET}");
    let is_annotation = claim.said_by.starts_with(PREFIX);
    let place = if is_annotation { of_annotation.as_str() } else { &*claim.said_by };
    Some(found.at_annotation(place))
}

/// The missing part of what a claim leads to.
pub(super) fn missing(services: &Arc<Snapshot>, claim: &TcpClaim) -> Option<(FindingKind, String)> {
    let TcpClaim { namespace, backend: Backend { service, port }, .. } = claim;
    let name = format!("{}/{}", shortened(namespace), shortened(service));
    let Some(object) = services.get(namespace, service) else {
        let sentence = format!("it leads to Service {name}, which is not there: connections end");
        return Some((FindingKind::ServiceMissing, sentence));
    };
    let facts: TcpServicePorts = serde_json::from_slice(&object.json.bytes()).ok()?;
    let spec = facts.spec?;
    if spec.kind.as_deref() == Some("ExternalName") {
        return None;
    }
    let is_it = |one: &&TcpServicePort| match port {
        Port::Number(number) => one.port == *number,
        Port::Name(name) => one.name.as_deref() == Some(&**name),
    };
    let ports = spec.ports.unwrap_or_default();
    let shown = shortened(&port.to_string());
    let mut found = ports.iter().filter(is_it).peekable();
    if found.peek().is_none() {
        let sentence =
            format!("it leads to port {shown} of Service {name}, which does not have it: connections end");
        return Some((FindingKind::PortMissing, sentence));
    }
    found.all(|one| one.protocol.as_deref() == Some("UDP")).then(|| {
        let sentence =
            format!("port {shown} of Service {name} is one of UDP, and HAProxy passes on TCP only");
        (FindingKind::BackendInvalid, sentence)
    })
}
