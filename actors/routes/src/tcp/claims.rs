//! What asks for a port.

use crate::{
    claims::{Backend, Port},
    findings::certificates::NamedCertificates,
    sentences::shortened,
    options::{
        self, PREFIX, Settings, Written, level::Level, table::row, tcp_ports::read_port, value::OptionValue,
    },
    ownership::contest::Age,
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
/// What all annotations begin with that are for TCP services alone.
const TCP: &str = "tcp-";
/// Those of the PROXY protocol, as `send-proxy` has them.
const VERSIONS: [&str; 4] = ["v1", "v2", "v2-ssl", "v2-ssl-cn"];

/// What one object asks for.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct AskedPorts {
    pub age: Age,
    pub claims: Vec<TcpClaim>,
    pub findings: Vec<Finding>,
    pub by: AskedBy,
}

/// What kind of object it is.
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
    /// Who may come in; everybody without it.
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
    pub fn leads_to(&self, service: &ObjectRef) -> bool {
        *self.namespace == *service.namespace && *self.backend.service == *service.name
    }

    /// What is found at it.
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
        let (whole, any) = (format!("{PREFIX}{PORTS}"), format!("{PREFIX}{TCP}"));
        memmem::find(&object.json.bytes(), any.as_bytes())?;
        let TcpService { metadata } = serde_json::from_slice(&object.json.bytes()).ok()?;
        let annotations = metadata.annotations.unwrap_or_default();
        let names = [PORTS, TLS_SECRET, ALLOW_FROM, "proxy-protocol"];
        let own = annotations
            .iter()
            .filter_map(|(key, text)| Some((key.strip_prefix(PREFIX)?, text.as_str())))
            .filter(|(name, _)| names.contains(name) || name.starts_with(TCP));
        let written = Written::read(Level::Service, own, settings);
        let mut findings: Vec<Finding> = written
            .refused
            .iter()
            .map(|refusal| {
                let sentence = format!("{refusal}; it is served at no port");
                options::finding(FindingKind::OptionUnreadable, &shortened(&refusal.option), sentence)
            })
            .collect();
        // What is not known may be what was to guard it.
        findings.extend(written.unknown().map(|found| {
            let sentence =
                format!("{}: while it stands there, the Service is served at no port", found.sentence);
            Finding { sentence, ..found }
        }));
        let is_known = findings.is_empty();
        if !annotations.contains_key(&whole) {
            let others = written.values.keys().filter(|name| name.starts_with(TCP));
            findings.extend(others.map(|name| {
                let sentence = format!("annotation {PREFIX}{name} has no effect without {whole}");
                options::finding(FindingKind::OptionWithoutEffect, name, sentence)
            }));
        }
        let guards = annotations.keys().filter_map(|key| row(key.strip_prefix(PREFIX)?));
        findings.extend(guards.filter(|row| row.guards && !names.contains(&row.name)).map(|row| {
            let sentence = format!(
                "annotation {PREFIX}{} guards requests, not connections to TCP ports: {PREFIX}{ALLOW_FROM} does",
                row.name
            );
            options::finding(FindingKind::OptionWithoutEffect, row.name, sentence)
        }));
        let OptionValue::Text(text) =
            written.values.get(PORTS).cloned().unwrap_or(OptionValue::Text(String::new()))
        else {
            return None;
        };
        let (namespace, service) = (&object.reference.namespace, &object.reference.name);
        let tls = match written.values.get(TLS_SECRET) {
            Some(OptionValue::Text(name)) => {
                Some(TcpTls::Secret { namespace: namespace.clone(), name: name.as_str().into() })
            }
            _ => None,
        };
        let send_proxy = match written.values.get("proxy-protocol") {
            Some(OptionValue::Text(version)) => VERSIONS.into_iter().find(|known| known == version),
            _ => None,
        };
        let networks = written.values.get(ALLOW_FROM).map(OptionValue::to_json);
        // What cannot be read may be what guards it.
        let asked = if is_known { text.as_str() } else { "" };
        let claims =
            asked.split(',').filter_map(|one| read_port(one.trim())).map(|(port, of_service)| TcpClaim {
                port,
                namespace: namespace.clone(),
                backend: Backend { service: service.clone(), port: of_service },
                accept_proxy: false,
                send_proxy,
                tls: tls.clone(),
                networks: networks.clone(),
                said_by: whole.as_str().into(),
            });
        let mut claims: Vec<TcpClaim> = claims.collect();
        let before = claims.len();
        claims.sort_by_key(|claim| claim.port);
        claims.dedup_by_key(|claim| claim.port);
        if claims.len() < before {
            let sentence = format!("annotation {whole} names a port twice: the first one counts");
            findings.push(options::finding(FindingKind::RouteRepeated, PORTS, sentence));
        }
        let age = metadata.creation_timestamp.map_or(Age::Unknown, Age::Since);
        Some(Self { age, claims, findings, by: AskedBy::Service })
    }
}

/// The ports of a Service.
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

/// What is wrong with the certificate of a port, at the annotation or the key that says so.
pub(super) fn found_at_certificate(certificates: &NamedCertificates, claim: &TcpClaim) -> Option<Finding> {
    let Some(TcpTls::Secret { namespace, name }) = &claim.tls else { return None };
    let without = format!("nobody is served at port {}", claim.port);
    let found = certificates.found_at_option(namespace, name, &without)?;
    let of_annotation = format!("{PREFIX}{TLS_SECRET}");
    let is_annotation = claim.said_by.starts_with(PREFIX);
    let place = if is_annotation { of_annotation.as_str() } else { &*claim.said_by };
    Some(found.at_annotation(place))
}

/// What is not there of what a claim leads to.
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
