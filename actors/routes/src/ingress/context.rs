//! What other Ingresses of the namespace say of the hosts of an Ingress.

use crate::{claims::Backend, families::Neighbours, options::value::OptionValues};
use std::{
    collections::{BTreeMap, HashSet},
    sync::Arc,
};

/// What others of the namespace say.
pub(super) struct IngressContext<'a> {
    neighbours: &'a Neighbours,
    namespace: Arc<str>,
    /// The hosts of which the Ingress itself says that all paths are regular expressions.
    patterns: HashSet<Arc<str>>,
    /// Other names of hosts: what is said of the host counts there.
    names: BTreeMap<Arc<str>, Arc<str>>,
}

impl<'a> IngressContext<'a> {
    /// Of an Ingress of that namespace.
    pub(super) fn new(neighbours: &'a Neighbours, namespace: Arc<str>, patterns: HashSet<Arc<str>>) -> Self {
        Self { neighbours, namespace, patterns, names: BTreeMap::new() }
    }

    /// Whether all paths of a host are regular expressions.
    pub(super) fn has_patterns(&self, host: &Arc<str>) -> bool {
        let host = self.names.get(host).unwrap_or(host);
        self.patterns.contains(host) || self.neighbours.patterns(&self.namespace, host)
    }

    /// Whether one of them has TLS for a host.
    pub(super) fn has_tls(&self, host: &str, has_wildcards: bool) -> bool {
        self.neighbours.tls(&self.namespace, host, has_wildcards)
    }

    /// Where requests for the path `/` of a host are redirected.
    pub(super) fn root(&self, host: &str) -> Option<&OptionValues> {
        self.neighbours.root(&self.namespace, self.named(host))
    }

    /// The canary of a path.
    pub(super) fn canary(&self, host: &str, path: &str, path_type: &str) -> Option<&OptionValues> {
        self.neighbours.canary(&self.namespace, self.named(host), path, path_type)
    }

    /// Who has a path of a host at which clients may be signed in.
    pub(super) fn program(&self, host: &str, path: &str) -> Option<&Backend> {
        self.neighbours.program(&self.namespace, self.named(host), path)
    }

    /// Other names of a host.
    pub(super) fn aliases(&self, host: &str) -> &[Arc<str>] {
        self.neighbours.aliases(&self.namespace, host)
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
