//! The context in which an Ingress is read: Services, objects that annotations name, and other Ingresses of the namespace with its hosts.

use super::ours::OurIngress;
use crate::{
    claims::{Backend, Port},
    families::{Family, Neighbours},
    objects::{referenced::ReferencedObjects, services::Services},
    options::value::OptionValues,
};
use std::{
    collections::{BTreeMap, HashSet},
    sync::Arc,
};

/// The context of an Ingress besides the classes.
#[derive(Clone, Copy, Debug)]
pub struct IngressInputs<'g> {
    /// Services, which have options, too.
    pub services: &'g Services,
    /// The options that Ingresses of a namespace have for each other's hosts.
    pub neighbours: &'g Neighbours,
    /// The objects that annotations name.
    pub referenced: &'g ReferencedObjects,
}

/// The options of others of the namespace.
pub(super) struct NeighbourContext<'a> {
    services: &'a Services,
    neighbours: &'a Neighbours,
    namespace: &'a str,
    /// The family that may read a backend's port as what a port of the Service leads to.
    reading_targets: Option<Family>,
    /// The hosts of which the Ingress itself says that all paths are regular expressions.
    patterns: HashSet<Arc<str>>,
    /// Other names of hosts: what is said of the host counts there.
    names: BTreeMap<Arc<str>, Arc<str>>,
}

impl<'a> NeighbourContext<'a> {
    /// Of an Ingress, which says that all paths of the hosts `patterns` are regular expressions.
    pub(super) fn new(
        ingress: &'a OurIngress<'_>,
        inputs: &IngressInputs<'a>,
        patterns: HashSet<Arc<str>>,
    ) -> Self {
        Self {
            services: inputs.services,
            neighbours: inputs.neighbours,
            namespace: &ingress.namespace,
            reading_targets: ingress.family_that(|settings| settings.family.reads_target_ports()),
            patterns,
            names: BTreeMap::new(),
        }
    }

    /// The protocol that the port of a Service names.
    pub(super) fn protocol(&self, backend: &Backend) -> Option<&'static str> {
        self.services.protocol(self.namespace, backend)
    }

    /// A backend at the port of its Service that is meant.
    pub(super) fn at_port(&self, backend: Backend) -> Backend {
        let read_by = |family| self.services.port_read_by(family, self.namespace, &backend);
        match self.reading_targets.and_then(read_by) {
            Some(number) => Backend { port: Port::Number(number), ..backend },
            None => backend,
        }
    }

    /// Whether all paths of a host are regular expressions.
    pub(super) fn has_patterns(&self, host: &Arc<str>) -> bool {
        let host = self.names.get(host).unwrap_or(host);
        self.patterns.contains(host) || self.neighbours.patterns(self.namespace, host)
    }

    /// Whether one of them has TLS for a host.
    pub(super) fn has_tls(&self, host: &str, has_wildcards: bool) -> bool {
        self.neighbours.tls(self.namespace, host, has_wildcards)
    }

    /// Where requests for the path `/` of a host are redirected.
    pub(super) fn root(&self, host: &str) -> Option<&OptionValues> {
        self.neighbours.root(self.namespace, self.named(host))
    }

    /// The canary of a path.
    pub(super) fn canary(&self, host: &str, path: &str, path_type: &str) -> Option<&OptionValues> {
        self.neighbours.canary(self.namespace, self.named(host), path, path_type)
    }

    /// The backend of a path of a host at which clients may be signed in.
    pub(super) fn program(&self, host: &str, path: &str) -> Option<&Backend> {
        self.neighbours.program(self.namespace, self.named(host), path)
    }

    /// Other names of a host.
    pub(super) fn aliases(&self, host: &str) -> &[Arc<str>] {
        self.neighbours.aliases(self.namespace, host)
    }

    /// Notes that a host has another name.
    pub(super) fn name(&mut self, alias: &Arc<str>, host: &Arc<str>) {
        self.names.insert(alias.clone(), host.clone());
    }

    /// The host that has the name.
    pub(super) fn named<'h>(&'h self, name: &'h str) -> &'h str {
        self.names.get(name).map_or(name, |host| &**host)
    }
}
