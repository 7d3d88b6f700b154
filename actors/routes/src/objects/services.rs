//! Services of routes: their options, and which ports there are.

use crate::{
    claims::{Backend, Port},
    families::Family,
    options::{PREFIX, Settings, Written, level::Level},
    sentences::shortened,
};
use haptic_model::{ActiveConfig, Object, ObjectRef, Snapshot, Snapshots};
use memchr::memmem;
use serde::Deserialize;
use std::{
    collections::{BTreeMap, HashMap, HashSet},
    fmt,
    sync::Arc,
};

/// Of a Service with more bytes no ports are looked up: what is said of them is worth less than it costs.
const LONGEST: usize = 64 << 10;
/// The most ports of a Service that are named.
const FEW: usize = 5;

/// The Services of all namespaces, each read once however many Ingresses lead to it.
#[derive(Clone, Debug, Default)]
pub struct Services {
    /// None where they are not watched.
    store: Option<Arc<Snapshot>>,
    known: HashMap<Arc<ObjectRef>, KnownService>,
}

/// The object or port that is not there, in words behind "leads to".
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Missing {
    /// The Service of that name.
    Service(String),
    /// A port of it.
    Port {
        /// Its name.
        service: String,
        /// As it is asked for.
        port: String,
        /// Some of those it has, in words.
        few: String,
    },
}

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Service(name) => write!(f, "Service {name}, which is not there"),
            Self::Port { service, port, few } => {
                write!(f, "port {port} of Service {service}, which has {few}")
            }
        }
    }
}

#[derive(Clone, Debug)]
struct KnownService {
    options: Option<Written>,
    /// Annotations of families that are read on Services.
    foreign: Option<BTreeMap<String, String>>,
    ports: ServicePorts,
    /// The first of them.
    first_port: Option<u16>,
    /// The protocols of ports, as far as they name one and it is not HTTP/1.1.
    spoken: Vec<(u16, Option<Box<str>>, &'static str)>,
    /// Where ports are and what they lead to, if a family asks for it.
    targets: Vec<PortTarget>,
}

/// A port of a Service and what it leads to, as texts.
#[derive(Clone, Debug)]
struct PortTarget {
    port: u16,
    name: Option<Box<str>>,
    target: Box<str>,
}

/// The ports of a Service.
#[derive(Clone, Debug)]
enum ServicePorts {
    /// Nobody can tell.
    Any,
    /// These.
    These { numbers: HashSet<u16>, names: HashSet<Box<str>>, few: String },
}

#[derive(Deserialize)]
struct Service {
    metadata: ServiceMetadata,
    spec: Option<Spec>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Spec {
    #[serde(rename = "type")]
    kind: Option<String>,
    ports: Option<Vec<PortOfService>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct PortOfService {
    name: Option<Box<str>>,
    port: u16,
    protocol: Option<Box<str>>,
    app_protocol: Option<Box<str>>,
    target_port: Option<IntOrString>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum IntOrString {
    Number(i64),
    Name(Box<str>),
}

#[derive(Deserialize)]
struct ServiceMetadata {
    annotations: Option<BTreeMap<String, String>>,
}

/// The store of Services, if they are watched.
#[must_use]
pub fn watched(config: &ActiveConfig, snapshots: &Snapshots) -> Option<Arc<Snapshot>> {
    let watched = config.spec.watched_resources.iter();
    let mut services = watched.filter(|(_, of)| of.resources == "services" && of.api_version == "v1");
    services.find_map(|(name, _)| snapshots.get(name)).filter(|store| !store.is_on_demand()).cloned()
}

impl Services {
    /// Reads what is different in `store`. Returns what was read, and what is gone.
    pub fn update(&mut self, store: Option<Arc<Snapshot>>, settings: &Settings) -> HashSet<Arc<ObjectRef>> {
        let none = Arc::new(Snapshot::full());
        let before = std::mem::replace(&mut self.store, store).unwrap_or_else(|| none.clone());
        let now = self.store.as_ref().unwrap_or(&none);
        let mut changed = HashSet::new();
        for difference in now.differences_from(&before) {
            let service = match (difference.after, difference.before) {
                (Some((service, _)), _) => {
                    self.known.insert(service.reference.clone(), KnownService::read(service, settings));
                    service
                }
                (None, Some((service, _))) => {
                    self.known.remove(&service.reference);
                    service
                }
                (None, None) => continue,
            };
            changed.insert(service.reference.clone());
        }
        changed
    }

    /// Reads all of them again, where what counts as an option is different.
    pub fn read_again(&mut self, settings: &Settings) {
        let all = self.store.iter().flat_map(|store| store.iter());
        let read = |service: &Arc<Object>| (service.reference.clone(), KnownService::read(service, settings));
        self.known = all.map(read).collect();
    }

    /// The options of one, if it has any.
    #[must_use]
    pub fn written(&self, namespace: &str, name: &str) -> Option<&Written> {
        self.known(namespace, name)?.options.as_ref()
    }

    /// Annotations of families on one, if it has any that are read there.
    #[must_use]
    pub fn foreign(&self, namespace: &str, name: &str) -> Option<&BTreeMap<String, String>> {
        self.known(namespace, name)?.foreign.as_ref()
    }

    /// The protocol of the port that a backend names, by its `appProtocol`, as the option `protocol` has it.
    #[must_use]
    pub fn protocol(&self, namespace: &str, backend: &Backend) -> Option<&'static str> {
        let mut spoken = self.known(namespace, &backend.service)?.spoken.iter();
        let found = spoken.find(|(number, name, _)| match &backend.port {
            Port::Number(wanted) => number == wanted,
            Port::Name(wanted) => name.as_deref() == Some(&**wanted),
        });
        found.map(|(_, _, protocol)| *protocol)
    }

    /// The port that a family reads a backend's port as, where that is not as it stands. In ingress-nginx it is the first that has this number
    /// or name, or leads to it (`internal/ingress/controller/controller.go`, `serviceEndpoints`); in haproxy-ingress the first of that name,
    /// else one that leads to it, else one of that number (`convutils.FindServicePort`).
    #[must_use]
    pub fn port_read_by(&self, family: Family, namespace: &str, backend: &Backend) -> Option<u16> {
        let targets = &self.known(namespace, &backend.service)?.targets;
        let wanted = backend.port.to_string();
        let is_named = |of: &PortTarget| of.name.as_deref() == Some(&*wanted);
        let leads = |of: &PortTarget| *of.target == *wanted;
        let first = |is: &dyn Fn(&PortTarget) -> bool| targets.iter().find(|of| is(of)).map(|of| of.port);
        match family {
            Family::IngressNginx => first(&|of| of.port.to_string() == wanted || leads(of) || is_named(of)),
            Family::HaproxyIngress => first(&is_named).or_else(|| first(&leads)),
            Family::HaproxyOrg => None,
        }
    }

    /// The first port of one.
    #[must_use]
    pub fn first_port(&self, namespace: &str, name: &str) -> Option<u16> {
        self.known(namespace, name)?.first_port
    }

    /// The Service or port that a backend of a namespace names and that is not there.
    #[must_use]
    pub fn missing(&self, namespace: &str, backend: &Backend) -> Option<Missing> {
        self.store.as_ref()?;
        let name = shortened(&backend.service);
        let Some(service) = self.known(namespace, &backend.service) else {
            return Some(Missing::Service(name));
        };
        let ServicePorts::These { numbers, names, few } = &service.ports else { return None };
        let is_there = match &backend.port {
            Port::Number(number) => numbers.contains(number),
            Port::Name(name) => names.contains(&**name),
        };
        let port = || shortened(&backend.port.to_string());
        (!is_there).then(|| Missing::Port { service: name, port: port(), few: few.clone() })
    }

    fn known(&self, namespace: &str, name: &str) -> Option<&KnownService> {
        self.known.get(&self.store.as_ref()?.get(namespace, name)?.reference)
    }
}

impl KnownService {
    /// Of an object that is no Service nothing is known.
    fn read(object: &Object, settings: &Settings) -> Self {
        let json = object.json.bytes();
        // Most have none.
        let has = |prefix: &str| memmem::find(&json, prefix.as_bytes()).is_some();
        let has_options = has(PREFIX);
        let families =
            || settings.families.iter().map(|family| family.family).filter(|family| family.reads_services());
        let has_foreign = families().any(|family| family.prefixes().iter().any(|prefix| has(prefix)));
        let is_short = json.len() <= LONGEST;
        let service: Option<Service> =
            (has_options || has_foreign || is_short).then(|| serde_json::from_slice(&json).ok()).flatten();
        let Some(Service { metadata, spec }) = service else {
            let (ports, spoken) = (ServicePorts::Any, Vec::new());
            let targets = Vec::new();
            return Self { options: None, foreign: None, ports, first_port: None, spoken, targets };
        };
        let foreign = metadata.annotations.as_ref().filter(|_| has_foreign).map(|annotations| {
            let of_families = annotations.iter().filter(|(key, _)| families().any(|family| family.has(key)));
            of_families.map(|(key, text)| (key.clone(), text.clone())).collect()
        });
        let annotations = metadata.annotations.filter(|_| has_options);
        let own = |annotations: &BTreeMap<String, String>| {
            let own = annotations.iter();
            let own = own.filter_map(|(key, text)| Some((key.strip_prefix(PREFIX)?, text.as_str())));
            Written::read(Level::Service, own, settings)
        };
        let mut spec = spec.filter(|_| is_short);
        // What is passed on is TCP, and a port of UDP may have the same number.
        if let Some(ports) = spec.as_mut().and_then(|spec| spec.ports.as_mut()) {
            ports.retain(|port| port.protocol.as_deref().is_none_or(|protocol| protocol == "TCP"));
        }
        let first_port = spec.as_ref().and_then(|spec| Some(spec.ports.as_ref()?.first()?.port));
        let spoken = spec.iter().flat_map(|spec| spec.ports.iter().flatten());
        let spoken = spoken.filter_map(|port| {
            Some((port.port, port.name.clone(), spoken_by(port.app_protocol.as_deref()?)?))
        });
        let spoken = spoken.collect();
        let reads_targets = settings.families.iter().any(|family| family.family.reads_target_ports());
        let all = spec.iter().filter(|_| reads_targets).flat_map(|spec| spec.ports.iter().flatten());
        let targets = all.map(PortTarget::of).collect();
        let ports = spec.map_or(ServicePorts::Any, ServicePorts::of);
        Self { options: annotations.as_ref().map(own), foreign, ports, first_port, spoken, targets }
    }
}

impl PortTarget {
    fn of(port: &PortOfService) -> Self {
        let target = match &port.target_port {
            Some(IntOrString::Name(name)) => name.clone(),
            Some(IntOrString::Number(number)) => number.to_string().into(),
            None => port.port.to_string().into(),
        };
        Self { port: port.port, name: port.name.clone(), target }
    }
}

/// The protocol of servers by a port's `appProtocol`: the names of IANA and of Kubernetes (KEP-3726), and those that others gave to HTTP/2 without TLS.
fn spoken_by(app_protocol: &str) -> Option<&'static str> {
    match app_protocol {
        "https" | "kubernetes.io/wss" => Some("https"),
        _ => is_http2(app_protocol).then_some("h2"),
    }
}

/// Whether servers speak HTTP/2 without TLS, behind Ingresses and routes alike.
pub(crate) fn is_http2(app_protocol: &str) -> bool {
    matches!(app_protocol, "kubernetes.io/h2c" | "h2c" | "grpc")
}

impl ServicePorts {
    fn of(spec: Spec) -> Self {
        if spec.kind.as_deref() == Some("ExternalName") {
            return Self::Any;
        }
        let ports = spec.ports.unwrap_or_default();
        let few = ports.iter().take(FEW).map(|port| match &port.name {
            Some(name) => format!("{} ({name})", port.port),
            None => port.port.to_string(),
        });
        let few: Vec<String> = few.collect();
        let few = if few.is_empty() { "no port".to_owned() } else { few.join(", ") };
        let numbers = ports.iter().map(|port| port.port).collect();
        Self::These { numbers, names: ports.into_iter().filter_map(|port| port.name).collect(), few }
    }
}
