//! An Ingress, as far as requests follow from it.

use serde::Deserialize;
use std::{collections::BTreeMap, sync::Arc};

/// An Ingress, as far as requests follow from it.
#[derive(Deserialize)]
pub(in crate::migrate) struct RequestedIngress {
    pub(super) metadata: RequestedMetadata,
    pub(super) spec: Option<RequestedSpec>,
}

impl RequestedIngress {
    /// Its paths, each with the Service that it leads to.
    pub(in crate::migrate) fn paths(&self) -> Vec<(String, Option<String>)> {
        let rules = self.spec.iter().flat_map(|spec| spec.rules.iter().flatten());
        let paths = rules.filter_map(|rule| rule.http.as_ref()).flat_map(|http| http.paths.iter().flatten());
        let one = |path: &RequestedPath| {
            let service = path.backend.as_ref().and_then(|backend| backend.service.as_ref());
            (path.path.clone().unwrap_or_default(), service.map(|service| service.name.to_string()))
        };
        paths.map(one).collect()
    }

    /// Whether it has TLS.
    pub(in crate::migrate) fn has_tls(&self) -> bool {
        self.tls().next().is_some()
    }

    /// Whether it has TLS for hosts that it names.
    pub(in crate::migrate) fn names_tls_hosts(&self) -> bool {
        self.tls().any(|tls| tls.hosts.as_ref().is_some_and(|hosts| !hosts.is_empty()))
    }

    fn tls(&self) -> impl Iterator<Item = &RequestedTls> {
        self.spec.iter().flat_map(|spec| spec.tls.iter().flatten())
    }
}

#[derive(Deserialize)]
pub(super) struct RequestedMetadata {
    pub annotations: Option<BTreeMap<String, String>>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct RequestedSpec {
    pub ingress_class_name: Option<String>,
    pub tls: Option<Vec<RequestedTls>>,
    pub rules: Option<Vec<RequestedRule>>,
}

#[derive(Deserialize)]
pub(super) struct RequestedTls {
    pub hosts: Option<Vec<String>>,
}

#[derive(Deserialize)]
pub(super) struct RequestedRule {
    pub host: Option<String>,
    pub http: Option<RequestedHttp>,
}

#[derive(Deserialize)]
pub(super) struct RequestedHttp {
    pub paths: Option<Vec<RequestedPath>>,
}

#[derive(Deserialize)]
pub(super) struct RequestedPath {
    pub path: Option<String>,
    pub backend: Option<RequestedBackend>,
}

#[derive(Deserialize)]
pub(super) struct RequestedBackend {
    pub service: Option<RequestedService>,
}

#[derive(Deserialize)]
pub(super) struct RequestedService {
    pub name: Arc<str>,
}
