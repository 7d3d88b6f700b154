//! An Ingress of one of our classes, read once with what counts for its class.

use super::{
    class::Classes,
    manifest::{CLASS_ANNOTATION, Ingress, IngressBackend, Rule, Tls, TlsHosts},
};
use crate::{
    families::{Family, FamilySettings},
    options::Settings,
    ownership::contest::Age,
};
use std::{collections::BTreeMap, fmt, sync::Arc};

/// Why an object asks for nothing as an Ingress.
#[derive(Debug)]
pub enum IngressError {
    /// It is no Ingress.
    Unreadable(serde_json::Error),
    /// Its class is not ours.
    OtherClass,
}

impl fmt::Display for IngressError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreadable(error) => write!(f, "it cannot be read as an Ingress: {error}"),
            Self::OtherClass => f.write_str("its class is not ours"),
        }
    }
}

impl std::error::Error for IngressError {}

/// An Ingress of ours, and the settings of its class.
pub(super) struct OurIngress<'c> {
    pub(super) namespace: Arc<str>,
    pub(super) name: Arc<str>,
    pub(super) age: Age,
    pub(super) annotations: BTreeMap<String, String>,
    pub(super) rules: Vec<Rule>,
    pub(super) default_backend: Option<IngressBackend>,
    pub(super) tls: Vec<Tls>,
    /// The hosts for which it asks for TLS.
    pub(super) tls_hosts: TlsHosts,
    pub(super) settings: &'c Settings,
    /// The families of annotations that it has, the first of which counts where two say the same.
    pub(super) families: Vec<&'c FamilySettings>,
}

impl<'c> OurIngress<'c> {
    /// Of the object in `json`.
    ///
    /// # Errors
    /// When it is no Ingress, or its class is not ours.
    pub(super) fn read(json: &[u8], classes: &'c Classes) -> Result<Self, IngressError> {
        let Ingress { metadata, spec } = serde_json::from_slice(json).map_err(IngressError::Unreadable)?;
        let (spec, annotations) = (spec.unwrap_or_default(), metadata.annotations.unwrap_or_default());
        let class = spec.ingress_class_name.as_deref();
        let class = class.or(annotations.get(CLASS_ANNOTATION).map(String::as_str));
        if !classes.take(class) {
            return Err(IngressError::OtherClass);
        }
        let (settings, families) = (classes.settings_of(class), classes.families_of(class));
        let mut ingress = Self {
            namespace: metadata.namespace,
            name: metadata.name,
            age: metadata.creation_timestamp.map_or(Age::Unknown, Age::Since),
            annotations,
            rules: spec.rules.unwrap_or_default(),
            default_backend: spec.default_backend,
            tls: spec.tls.unwrap_or_default(),
            tls_hosts: TlsHosts::None,
            settings,
            families,
        };
        ingress.tls_hosts = TlsHosts::of(&ingress.tls, ingress.has_tls_everywhere());
        Ok(ingress)
    }

    /// Whether a family's annotations count for it.
    pub(super) fn has(&self, family: Family) -> bool {
        self.families.iter().any(|settings| settings.family == family)
    }

    /// The first of its families of which this is so.
    pub(super) fn family_that(&self, is_so: fn(&FamilySettings) -> bool) -> Option<Family> {
        self.families.iter().find(|settings| is_so(settings)).map(|settings| settings.family)
    }

    /// Whether what it says of clients' certificates counts for its whole hosts, however paths are read.
    pub(super) fn spreads(&self) -> bool {
        self.has(Family::HaproxyIngress)
    }

    /// Whether each of its hosts has TLS where `spec.tls` is there, as in ingress-nginx (`createServers`), whichever hosts stand there.
    pub(super) fn has_tls_everywhere(&self) -> bool {
        self.has(Family::IngressNginx)
    }

    /// The annotations that none of its families reads.
    pub(super) fn unread_annotations(&self) -> impl Iterator<Item = &str> {
        let is_read = |key: &str| self.families.iter().any(|settings| settings.family.has(key));
        self.annotations.keys().map(String::as_str).filter(move |key| !is_read(key))
    }
}
