//! The custom resources `TCP` of haproxytech/kubernetes-ingress: each lists frontends with their ports and the Service behind them. What is in
//! an entry besides is not served, and an entry with rules is left out, because they may keep connections out.

use super::claims::{AskedBy, AskedPorts, TcpClaim, TcpMetadata, TcpTls};
use crate::{claims::Backend, options::tcp_ports::port_of, ownership::contest::Age, sentences::shortened};
use haptic_model::{Finding, FindingKind, HAProxyTemplateConfigSpec, Object};
use serde::Deserialize;
use serde_json::{Map, Value};
use std::sync::Arc;

/// Groups of `TCP`, the older one first.
const GROUPS: [&str; 2] = ["ingress.v1.haproxy.org/", "ingress.v3.haproxy.org/"];

/// All addresses, in words of a `bind` line.
const ALL_ADDRESSES: [&str; 6] = ["", "*", "0.0.0.0", "::", "ipv4@", "ipv6@"];

/// Fields of an entry and of its frontend that say which connections go elsewhere or nowhere.
const RULES: [&str; 8] = [
    "acl_list",
    "backend_switching_rule_list",
    "capture_list",
    "filter_list",
    "services",
    "stick_table",
    "tcp_request_rule_list",
    "tcp_response_rule_list",
];

#[derive(Deserialize)]
struct TcpResource {
    metadata: TcpMetadata,
    #[serde(default)]
    spec: Vec<TcpEntry>,
}

#[derive(Deserialize)]
struct TcpEntry {
    #[serde(default)]
    name: String,
    #[serde(default)]
    frontend: Map<String, Value>,
    service: Option<TcpEntryService>,
    #[serde(flatten)]
    more: Map<String, Value>,
}

#[derive(Deserialize)]
struct TcpEntryService {
    name: String,
    port: Value,
}

/// The watched resources that hold them.
pub(super) fn watched(spec: &HAProxyTemplateConfigSpec) -> impl Iterator<Item = &str> {
    let is = |group: &str| GROUPS.iter().any(|known| group.starts_with(known));
    let watched = spec.watched_resources.iter();
    watched
        .filter(move |(_, of)| of.resources == "tcps" && is(&of.api_version))
        .map(|(name, _)| name.as_str())
}

/// The claims of one.
pub(super) fn asked(object: &Object) -> Option<AskedPorts> {
    let mut asked =
        AskedPorts { age: Age::Unknown, claims: Vec::new(), findings: Vec::new(), by: AskedBy::Resource };
    let TcpResource { metadata, spec } = match serde_json::from_slice(&object.json.bytes()) {
        Ok(resource) => resource,
        Err(error) => {
            let sentence = format!("it cannot be read: {error}");
            asked.findings.push(Finding::new(FindingKind::ObjectUnreadable, sentence));
            return Some(asked);
        }
    };
    asked.age = metadata.creation_timestamp.map_or(Age::Unknown, Age::Since);
    for (number, entry) in spec.into_iter().enumerate() {
        let at = match entry.name.as_str() {
            "" => format!("spec[{number}]"),
            name => shortened(name),
        };
        match claims(&object.reference.namespace, &at, &entry) {
            Ok(claims) => asked.claims.extend(claims),
            Err(why) => {
                let sentence = format!("{at}: {why}: it is left out");
                asked.findings.push(Finding::new(FindingKind::ForeignNotServed, sentence).at_annotation(&at));
            }
        }
    }
    asked.claims.sort_by_key(|claim| claim.port);
    let mut twice = Vec::new();
    asked.claims.dedup_by(|later, first| {
        let is_one = later.port == first.port;
        if is_one && later != first {
            let sentence = format!("port {} is the one of {}: it is left out", later.port, first.said_by);
            twice.push(later.finding(FindingKind::ForeignNotServed, sentence));
        }
        is_one
    });
    asked.findings.extend(twice);
    asked.findings = crate::sentences::few(std::mem::take(&mut asked.findings));
    Some(asked)
}

fn claims(namespace: &Arc<str>, at: &str, entry: &TcpEntry) -> Result<Vec<TcpClaim>, String> {
    let has = |of: &Map<String, Value>, rule: &str| of.get(rule).is_some_and(|value| !is_empty(value));
    if let Some(rule) = RULES.iter().find(|rule| has(&entry.frontend, rule) || has(&entry.more, rule)) {
        return Err(format!("has {rule}, which nobody reads here"));
    }
    if entry.frontend.get("disabled").and_then(Value::as_bool) == Some(true) {
        return Err("its frontend is disabled".to_owned());
    }
    let Some(service) = &entry.service else { return Err("names no service".to_owned()) };
    let port = service.port.as_str().map_or_else(|| service.port.to_string(), str::to_owned);
    let backend = Backend {
        service: service.name.as_str().into(),
        port: port_of(&port).ok_or("names no port of the service")?,
    };
    let binds = match entry.frontend.get("binds") {
        Some(Value::Array(binds)) => binds.iter().collect(),
        Some(Value::Object(binds)) => binds.values().collect::<Vec<_>>(),
        _ => Vec::new(),
    };
    if binds.is_empty() {
        return Err("its frontend has no binds".to_owned());
    }
    binds.into_iter().map(|bind| claim(namespace, at, bind, &backend)).collect()
}

fn claim(namespace: &Arc<str>, at: &str, bind: &Value, backend: &Backend) -> Result<TcpClaim, String> {
    let is_on = |name: &str| bind.get(name).and_then(Value::as_bool) == Some(true);
    let port = bind.get("port").and_then(Value::as_u64).and_then(|port| u16::try_from(port).ok());
    let port = port.filter(|port| *port > 0).ok_or("one of its binds has no port")?;
    let address = bind.get("address").and_then(Value::as_str).unwrap_or_default();
    if !ALL_ADDRESSES.contains(&address) {
        return Err(format!(
            "is for address {:?} alone, and HAProxy listens at all of its pod",
            shortened(address)
        ));
    }
    let verifies = bind.get("verify").and_then(Value::as_str).is_some_and(|verify| verify != "none");
    if verifies || bind.get("ssl_cafile").is_some() {
        return Err("asks for certificates of clients, which are not asked for at ports of TCP".to_owned());
    }
    let secret = bind.get("ssl_certificate").and_then(Value::as_str).filter(|name| !name.is_empty());
    let tls = match (is_on("ssl"), secret) {
        (true, Some(name)) if !name.contains('/') => {
            Some(TcpTls::Secret { namespace: namespace.clone(), name: name.into() })
        }
        (true, _) => return Err("has TLS without a Secret of its namespace as ssl_certificate".to_owned()),
        (false, _) => None,
    };
    Ok(TcpClaim {
        port,
        namespace: namespace.clone(),
        backend: backend.clone(),
        accept_proxy: is_on("accept_proxy"),
        send_proxy: None,
        tls,
        networks: None,
        said_by: at.into(),
    })
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Array(all) => all.is_empty(),
        Value::Object(all) => all.is_empty(),
        _ => false,
    }
}
