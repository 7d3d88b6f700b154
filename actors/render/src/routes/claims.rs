//! What one object asks for, before it is known who else asks for the same.

use super::matching::Match;
use serde_json::{Map, Value};
use std::sync::Arc;

/// Everything that one object asks for.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Claims {
    /// `metadata.creationTimestamp`: of two that ask for the same, the older one gets it. The API server writes all of
    /// them alike, so they are compared as texts; an object without one is younger than all others.
    pub created: Option<Arc<str>>,
    /// Its routes, in its own order.
    pub routes: Vec<RouteClaim>,
    /// The certificates it brings, in its own order.
    pub certificates: Vec<CertificateClaim>,
    /// What cannot be done at all, in sentences.
    pub refused: Vec<String>,
    /// What templates see of it besides routes: `metadata` and what else its kind gives.
    pub fields: Fields,
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
}

/// A demand for requests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RouteClaim {
    /// Which requests.
    pub wanted: Match,
    /// Where they go.
    pub backend: Backend,
    /// Whether it is only for requests that no other route of the same match takes, whatever its age.
    pub fallback: bool,
    /// Whether the object also brings a certificate for this host.
    pub tls: bool,
}

/// A demand to answer TLS for a host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CertificateClaim {
    /// As in [`Match::host`].
    pub host: Arc<str>,
    /// The Secret's name, in the object's namespace.
    pub secret: Arc<str>,
}

/// A port of a Service, in the object's namespace.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Backend {
    /// The Service's name.
    pub service: Arc<str>,
    /// Which of its ports.
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

impl std::fmt::Display for Port {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Number(number) => number.fmt(f),
            Self::Name(name) => name.fmt(f),
        }
    }
}
