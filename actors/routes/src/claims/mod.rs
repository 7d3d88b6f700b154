//! The claims of one object, before it is known who else asks for the same.

pub(crate) mod auth;
mod bounds;
pub(crate) mod choices;

use crate::{
    matching::{Match, regex_cost::PatternCost},
    names,
    objects::named_objects::NamedObject,
    ownership::contest::{Age, ClaimPriority, ClaimantRank},
};
use haptic_model::{Finding, ObjectRef, host_name::is_host};
use serde::de::IgnoredAny;
use serde_json::{Map, Value};
use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::Arc,
};

/// Namespace and name of an object.
pub(crate) type QualifiedName = (Arc<str>, Arc<str>);

/// Everything that one object asks for.
#[derive(Clone, Debug, PartialEq)]
pub struct Claims {
    /// Of two that ask for the same, the older one gets it.
    pub age: Age,
    /// Whether of two of the same age and namespace the last by name gets it.
    pub is_last_first: bool,
    /// Its routes, in its own order.
    pub routes: Vec<RouteClaim>,
    /// The hosts it brings certificates for, as in [`Match::host`], with the names of the Secrets, in its namespace. Several for
    /// one host are wanted: one ECDSA, one RSA.
    pub certificates: BTreeMap<Arc<str>, Arc<[Arc<str>]>>,
    /// The Secret with the CA that must have signed the certificates of clients, in the object's namespace.
    pub client_ca: Option<Arc<str>>,
    /// Namespace and name of the Secret with the certificate of its hosts with TLS that nobody brings one for, by the word of its class.
    pub(crate) default_certificate: Option<QualifiedName>,
    /// The backend that gets the requests for its hosts which no route takes, where its class has one of its own.
    pub(crate) left_to: Option<String>,
    /// The faults of the object itself, or of what it leads to, whichever other object asks for the same.
    pub findings: Vec<Finding>,
    /// Services that are asked whether requests may pass, with their namespaces.
    pub asked: Vec<(Arc<str>, Backend)>,
    /// Paths behind whose routes somebody is asked whether requests may pass, on the hosts of the group with that number.
    pub looked_up: Vec<(usize, Arc<str>)>,
    /// The hosts of which others of its namespace may say something for it, whether it has routes there or not.
    pub named: Vec<Arc<str>>,
    /// Secrets and ConfigMaps that its options name.
    pub(crate) named_objects: Vec<NamedObject>,
    /// The hosts that it wants TLS passed through for; `None` where the operator lets nobody have that.
    pub(crate) passed: Option<PassedHosts>,
    /// The groups of its routes; the first counts for the object as a whole.
    pub groups: Vec<RouteGroup>,
    /// The fields that templates see of it besides routes and options: `metadata` and what else its kind gives.
    pub fields: Fields,
}

/// Routes with the same options.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RouteGroup {
    /// The object's own name, or another one that no object can have.
    pub id: Arc<str>,
    /// The ending of the names of their backends: one of another profile or protocol has another name, so that even a change of
    /// these takes no reload.
    pub suffix: Box<str>,
    /// Where HTTP is redirected to HTTPS.
    pub to_https: ToHttps,
    /// The options: of the first group all of them, of others what they have otherwise, null where they have nothing.
    pub options: Fields,
    /// Backends that its requests may go to besides those of its routes.
    pub others: Vec<Backend>,
    /// Whether its backends ask for passwords.
    pub asks_for_passwords: bool,
}

impl RouteGroup {
    /// The name of a Service's backend in the group.
    #[must_use]
    pub fn name_of(&self, namespace: &str, backend: &Backend) -> String {
        let parts = [namespace, &*self.id, &*backend.service, &backend.port.to_string()];
        names::name_of(&parts, "").unwrap_or_default() + &self.suffix
    }
}

/// Fields of an object, as text: they are as large as somebody made them, and read only where a set is written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fields(Box<str>);

impl From<Map<String, Value>> for Fields {
    fn from(fields: Map<String, Value>) -> Self {
        Self(Value::Object(fields).to_string().into())
    }
}

impl Fields {
    /// The fields.
    #[must_use]
    pub fn read(&self) -> Map<String, Value> {
        serde_json::from_str(&self.0).unwrap_or_default()
    }

    /// All of them, as JSON.
    #[must_use]
    pub fn json(&self) -> &str {
        if self.0.is_empty() { "{}" } else { &self.0 }
    }

    /// The field of that name, which most do not have: then nothing is read.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<Value> {
        if !self.0.contains(name) {
            return None;
        }
        self.read().remove(name)
    }

    /// The names of those that are not null.
    #[must_use]
    pub fn given(&self) -> Vec<String> {
        let all: BTreeMap<String, Option<IgnoredAny>> = serde_json::from_str(&self.0).unwrap_or_default();
        all.into_iter().filter_map(|(name, value)| value.map(|_| name)).collect()
    }
}

/// Where HTTP is redirected to HTTPS.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ToHttps {
    /// Nowhere.
    #[default]
    Never,
    /// Where the object has TLS for the host.
    WithTls,
    /// Everywhere.
    Always,
}

/// A demand for requests.
#[derive(Clone, Debug, PartialEq)]
pub struct RouteClaim {
    /// The requests.
    pub wanted: Match,
    /// The cost of a match that no key finds.
    pub cost: Option<PatternCost>,
    /// Where they go.
    pub backend: Backend,
    /// How firmly they are asked for.
    pub standing: ClaimPriority,
    /// Whether the object also brings a certificate for this host.
    pub tls: bool,
    /// The number of its group.
    pub group: usize,
    /// Whether another route of the object has the same match, and counts instead.
    pub repeated: bool,
}

/// A host that an object wants TLS passed through for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PassedHost {
    /// The Service whose servers get it.
    pub backend: Backend,
    /// Whether requests over HTTP have a port of their own there; without one they are redirected to HTTPS.
    pub has_http: bool,
}

/// The hosts that an object wants it for.
pub(crate) type PassedHosts = BTreeMap<Arc<str>, PassedHost>;

/// A port of a Service, in the object's namespace.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Backend {
    /// The Service's name.
    pub service: Arc<str>,
    /// The port of it.
    pub port: Port,
}

/// A Service's port, as its user names it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Port {
    /// By number.
    Number(u16),
    /// By name.
    Name(Arc<str>),
}

impl Backend {
    /// Of `NAME:PORT`.
    pub(crate) fn of(text: &str) -> Option<Self> {
        let (service, port) = text.split_once(':')?;
        let port = match port.parse::<u16>() {
            Ok(0) => return None,
            Ok(number) => Port::Number(number),
            Err(_) => Port::Name(port.into()),
        };
        let is_label = |text: &str| is_host(text) && !text.contains(['.', '*']);
        let is_port = match &port {
            Port::Number(_) => true,
            Port::Name(name) => is_label(name),
        };
        (is_label(service) && is_port).then(|| Self { service: service.into(), port })
    }
}

impl Port {
    /// As templates read it.
    #[must_use]
    pub fn to_json(&self) -> Value {
        match self {
            Self::Number(number) => Value::from(*number),
            Self::Name(name) => Value::from(&**name),
        }
    }
}

impl Default for Claims {
    fn default() -> Self {
        Self {
            age: Age::Unknown,
            is_last_first: false,
            routes: Vec::new(),
            certificates: BTreeMap::new(),
            client_ca: None,
            default_certificate: None,
            left_to: None,
            findings: Vec::new(),
            asked: Vec::new(),
            looked_up: Vec::new(),
            named: Vec::new(),
            named_objects: Vec::new(),
            passed: None,
            groups: Vec::new(),
            fields: Fields::default(),
        }
    }
}

impl Claims {
    /// Whether it wants TLS for a host.
    pub(crate) fn has_tls_at(&self, host: &str) -> bool {
        self.routes.iter().any(|route| route.tls && !route.repeated && *route.wanted.host == *host)
    }

    /// By which it is compared with others that ask for the same.
    pub(crate) fn rank<'c>(&'c self, object: &'c ObjectRef) -> ClaimantRank<'c> {
        ClaimantRank { age: &self.age, object, is_last_first: self.is_last_first }
    }

    /// The hosts, of which it has routes itself, and paths behind whose routes somebody is asked; not below a wildcard, where requests
    /// have other hosts.
    pub fn lookups(&self) -> impl Iterator<Item = (&Arc<str>, &Arc<str>)> {
        self.looked_up.iter().flat_map(|(group, path)| {
            let of_group = self.routes.iter().filter(move |route| route.group == *group);
            let hosts: BTreeSet<&Arc<str>> = of_group.map(|route| &route.wanted.host).collect();
            hosts.into_iter().filter(|host| !host.starts_with('*')).map(move |host| (host, path))
        })
    }

    /// Marks the routes that another one of the same object takes the place of: the first that is no fallback counts.
    pub fn mark_repeated(&mut self) {
        let mut counting: HashMap<Match, (ClaimPriority, usize)> = HashMap::new();
        for (number, route) in self.routes.iter().enumerate() {
            let rank = (route.standing, number);
            let best = counting.entry(route.wanted.clone()).or_insert(rank);
            *best = rank.min(*best);
        }
        for (number, route) in self.routes.iter_mut().enumerate() {
            route.repeated = counting.get(&route.wanted) != Some(&(route.standing, number));
        }
    }
}

impl std::fmt::Display for Port {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Number(number) => number.fmt(f),
            Self::Name(name) => name.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_service_has_a_port_by_number_or_name() {
        for (text, good) in [
            ("v2:80", true),
            ("v2:web", true),
            ("v2", false),
            ("v2:", false),
            ("v2:0", false),
            ("v2:65536x", true),
            ("other/v2:80", false),
            ("other.v2:80", false),
            ("V2:80", false),
        ] {
            assert_eq!(Backend::of(text).is_some(), good, "{text}");
        }
    }
}
