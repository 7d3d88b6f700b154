//! The parts of an Ingress that are read.

use crate::{
    claims::{Backend, Port},
    matching::host_of,
};
use haptic_model::host_name::wildcard_over;
use serde::Deserialize;
use std::{
    collections::{BTreeMap, BTreeSet, HashSet},
    sync::Arc,
};

/// The annotation that named the class before `spec.ingressClassName` did.
pub(super) const CLASS_ANNOTATION: &str = "kubernetes.io/ingress.class";

/// An Ingress, as far as it is read.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Ingress {
    pub(super) metadata: Metadata,
    pub(super) spec: Option<Spec>,
}

/// The name and the age of it.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Metadata {
    #[serde(default)]
    pub(super) namespace: Arc<str>,
    #[serde(default)]
    pub(super) name: Arc<str>,
    pub(super) creation_timestamp: Option<Arc<str>>,
    pub(super) annotations: Option<BTreeMap<String, String>>,
}

/// The rules and hosts of it.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Spec {
    pub(super) ingress_class_name: Option<String>,
    pub(super) default_backend: Option<IngressBackend>,
    pub(super) tls: Option<Vec<Tls>>,
    pub(super) rules: Option<Vec<Rule>>,
}

/// Hosts with TLS.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Tls {
    pub(super) hosts: Option<Vec<String>>,
    pub(super) secret_name: Option<Arc<str>>,
}

/// Paths of a host.
#[derive(Deserialize)]
pub(super) struct Rule {
    pub(super) host: Option<String>,
    pub(super) http: Option<Http>,
}

impl Rule {
    /// Its host as it is written; "" for every host.
    pub(super) fn written_host(&self) -> &str {
        self.host.as_deref().unwrap_or_default()
    }

    /// Its host as routes compare it.
    pub(super) fn compared_host(&self) -> Arc<str> {
        host_of(self.written_host())
    }
}

/// The paths.
#[derive(Deserialize)]
pub(super) struct Http {
    pub(super) paths: Option<Vec<HttpPath>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct HttpPath {
    pub(super) path: Option<String>,
    pub(super) path_type: Option<String>,
    pub(super) backend: Option<IngressBackend>,
}

impl HttpPath {
    /// The Service that it leads to.
    pub(super) fn service(&self) -> Option<&str> {
        Some(&*self.backend.as_ref()?.service.as_ref()?.name)
    }
}

/// Where requests go.
#[derive(Deserialize)]
pub(super) struct IngressBackend {
    pub(super) service: Option<ServiceBackend>,
    pub(super) resource: Option<ResourceBackend>,
}

#[derive(Deserialize)]
pub(super) struct ServiceBackend {
    pub(super) name: Arc<str>,
    pub(super) port: Option<ServicePort>,
}

#[derive(Deserialize)]
pub(super) struct ServicePort {
    pub(super) number: Option<u16>,
    pub(super) name: Option<Arc<str>>,
}

/// Something else than a Service.
#[derive(Deserialize)]
pub(super) struct ResourceBackend {
    pub(super) kind: String,
    pub(super) name: String,
}

/// The hosts that rules name, each once, as routes compare them.
pub(super) fn named_hosts(rules: &[Rule]) -> impl Iterator<Item = Arc<str>> {
    rules.iter().map(Rule::written_host).collect::<BTreeSet<_>>().into_iter().map(host_of)
}

/// The paths of a rule, as they are written.
pub(super) fn paths_of(rule: &Rule) -> impl Iterator<Item = (&str, &HttpPath)> {
    let paths = rule.http.iter().flat_map(|http| http.paths.iter().flatten());
    paths.map(|path| (path.path.as_deref().filter(|text| !text.is_empty()).unwrap_or("/"), path))
}

/// ingress-nginx reads the type `ImplementationSpecific`, and none, as `Prefix` (`internal/k8s/main.go`, `SetDefaultNGINXPathType`).
pub(super) fn prefix_or_exact(path_type: Option<&str>) -> &str {
    path_type.filter(|path_type| *path_type != "ImplementationSpecific").unwrap_or("Prefix")
}

/// The hosts for which an Ingress asks for TLS.
pub(super) enum TlsHosts {
    /// For none.
    None,
    /// For all that its rules name.
    All,
    /// For these.
    These(HashSet<Arc<str>>),
}

impl TlsHosts {
    /// Of `spec.tls`; `takes_all`: of all hosts, whichever stand there.
    pub(super) fn of(entries: &[Tls], takes_all: bool) -> Self {
        if entries.is_empty() {
            return Self::None;
        }
        if takes_all {
            return Self::All;
        }
        let hosts = |entry: &Tls| entry.hosts.clone().filter(|h| !h.is_empty());
        match entries.iter().map(hosts).collect::<Option<Vec<_>>>() {
            Some(hosts) => Self::These(hosts.iter().flatten().map(|h| host_of(h)).collect()),
            None => Self::All,
        }
    }

    /// The hosts themselves, of those that rules name.
    pub(super) fn named(&self, rules: &[Rule]) -> HashSet<Arc<str>> {
        match self {
            Self::None => HashSet::new(),
            Self::All => named_hosts(rules).collect(),
            Self::These(hosts) => hosts.clone(),
        }
    }

    /// Whether it asks for TLS of a host.
    pub(super) fn cover(&self, host: &str) -> bool {
        match self {
            Self::None => false,
            Self::All => true,
            Self::These(hosts) => {
                hosts.contains(host) || wildcard_over(host).is_some_and(|over| hosts.contains(&*over))
            }
        }
    }
}

/// The Service and port that requests are led to.
///
/// # Errors
/// Why they are led to none.
pub(super) fn backend_of(backend: &IngressBackend) -> Result<Backend, String> {
    if let Some(ResourceBackend { kind, name }) = &backend.resource {
        return Err(format!("leads to the resource {kind} {name}; only Services can be reached"));
    }
    let service = backend.service.as_ref().ok_or("has no Service")?;
    let port = service.port.as_ref();
    let port = match (port.and_then(|p| p.name.clone()), port.and_then(|p| p.number)) {
        (Some(name), _) if !name.is_empty() => Port::Name(name),
        (_, Some(number)) if number > 0 => Port::Number(number),
        _ => return Err(format!("names no port of Service {}", service.name)),
    };
    Ok(Backend { service: service.name.clone(), port })
}
