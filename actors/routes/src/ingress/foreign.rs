//! The options that families make of an Ingress, and those that others of its namespace have for its hosts.

use super::{
    context::IngressInputs,
    manifest::{TlsHosts, named_hosts},
    ours::OurIngress,
};
use crate::{
    families::{About, Family, ForeignOptions, Neighbours},
    objects::services::Services,
};
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

impl OurIngress<'_> {
    /// The options that families make of its annotations, and of those of the Services that it leads to.
    pub(super) fn foreign_options(&self, inputs: &IngressInputs<'_>) -> ForeignOptions {
        if self.families.is_empty() {
            return ForeignOptions::default();
        }
        let (services, about) = (self.foreign_of_services(inputs.services), self.about(inputs));
        ForeignOptions::of(self.families.iter().copied(), &self.annotations, &services, about, self.settings)
    }

    /// The hosts of which others say something for it: without a family of which that counts, none.
    pub(super) fn hosts_of_others(&self, foreign: &ForeignOptions, neighbours: &Neighbours) -> Vec<Arc<str>> {
        if foreign.ingress.paths.is_none() && !self.spreads() {
            return Vec::new();
        }
        let mut hosts: BTreeSet<Arc<str>> = BTreeSet::new();
        for host in named_hosts(&self.rules) {
            hosts.extend(neighbours.aliases(&self.namespace, &host).iter().cloned());
            hosts.insert(host);
        }
        hosts.into_iter().collect()
    }

    /// Adds to `foreign` what others say of these hosts.
    pub(super) fn add_said_by_others(
        &self,
        foreign: &mut ForeignOptions,
        hosts: &[Arc<str>],
        neighbours: &Neighbours,
    ) {
        for host in hosts {
            let (client, closed) = neighbours.client(&self.namespace, host);
            foreign.verify_clients(client, closed);
            if let Some(guards) = neighbours.guards(&self.namespace, host) {
                foreign.keep_out(guards);
            }
        }
    }

    fn about<'a>(&'a self, inputs: &IngressInputs<'a>) -> About<'a> {
        let IngressInputs { services, neighbours, referenced } = *inputs;
        let has_wildcards = self.has_tls_everywhere();
        let is_beside_tls =
            || named_hosts(&self.rules).any(|host| neighbours.tls(&self.namespace, &host, has_wildcards));
        let names_hosts = |hosts: &Vec<String>| !hosts.is_empty();
        let default_port = |service: &str| services.first_port(&self.namespace, service);
        About {
            namespace: &self.namespace,
            name: &self.name,
            tls: !matches!(self.tls_hosts, TlsHosts::None) || is_beside_tls(),
            has_wildcards_alone: !self.rules.is_empty()
                && named_hosts(&self.rules).all(|host| host.starts_with('*')),
            names_tls_hosts: self.tls.iter().any(|tls| tls.hosts.as_ref().is_some_and(names_hosts)),
            default_port: default_service(&self.annotations).and_then(default_port),
            referenced: Some(referenced),
        }
    }

    /// The Services that it leads to which have annotations of families.
    fn foreign_of_services<'s>(
        &self,
        services: &'s Services,
    ) -> Vec<(Arc<str>, &'s BTreeMap<String, String>)> {
        let rules = self.rules.iter().filter_map(|rule| rule.http.as_ref());
        let paths = rules.flat_map(|http| http.paths.iter().flatten());
        let backends = paths.filter_map(|path| path.backend.as_ref()).chain(&self.default_backend);
        let names: BTreeSet<&Arc<str>> =
            backends.filter_map(|backend| Some(&backend.service.as_ref()?.name)).collect();
        let said = |name: &Arc<str>| Some((name.clone(), services.foreign(&self.namespace, name)?));
        names.into_iter().filter_map(said).collect()
    }
}

/// The Service that ingress-nginx' annotation names for what its own cannot answer.
fn default_service(annotations: &BTreeMap<String, String>) -> Option<&str> {
    let mut prefixes = Family::IngressNginx.prefixes().iter();
    prefixes.find_map(|prefix| annotations.get(&format!("{prefix}default-backend"))).map(|text| text.trim())
}
