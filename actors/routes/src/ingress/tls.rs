//! TLS of an Ingress's hosts: who has it, with which certificates, and whether it is passed through.

use super::{Reading, manifest::Tls};
use crate::{matching::ANY_HOST, options::value::OptionValue, ownership::passthrough, sentences::shortened};
use haptic_model::{Finding, FindingKind};
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

impl Reading<'_> {
    /// Whether it, or for a family one beside it, has TLS for a host.
    pub(super) fn has_tls(&self, host: &str) -> bool {
        let names = [host, self.context.named(host)];
        let has_wildcards = self.foreign().ingress.paths.is_some();
        names
            .into_iter()
            .any(|name| self.ingress.tls_hosts.cover(name) || self.context.has_tls(name, has_wildcards))
    }

    /// TLS that servers answer themselves.
    pub(super) fn passed(&mut self) {
        let settings = self.ingress.settings;
        self.claims.passed = settings.passthrough.then(BTreeMap::new);
        let own = self.grouping.own();
        if !own.is_on(passthrough::OPTION) {
            return;
        }
        let port = match own.values.get(passthrough::HTTP_PORT) {
            Some(OptionValue::Number(port)) => u16::try_from(*port).ok(),
            _ => None,
        };
        self.claims.pass_through(port, settings);
    }

    pub(super) fn certificates(&mut self, hosts: &[Arc<str>], tls: &[Tls]) {
        let mut brought: BTreeMap<Arc<str>, Vec<Arc<str>>> = BTreeMap::new();
        for entry in tls {
            // Without a Secret the default certificate answers for the hosts.
            let Some(secret) = entry.secret_name.as_ref().filter(|s| !s.is_empty()) else { continue };
            let named = entry.hosts.as_deref().unwrap_or_default();
            let wanted: BTreeSet<Arc<str>> = if named.is_empty() {
                hosts.iter().filter(|h| &***h != ANY_HOST).cloned().collect()
            } else {
                named.iter().filter_map(|host| self.host(host, false)).collect()
            };
            if wanted.is_empty() && named.is_empty() {
                let secret = shortened(secret);
                let sentence =
                    format!("the certificate of Secret {secret} is for no host: name its hosts in spec.tls");
                self.found(Finding::new(FindingKind::CertificateUnused, sentence));
            }
            for host in wanted {
                let secrets = brought.entry(host).or_default();
                if !secrets.contains(secret) {
                    secrets.push(secret.clone());
                }
            }
        }
        let brought = brought.into_iter().map(|(host, secrets)| (host, secrets.into()));
        self.claims.certificates = brought.collect();
    }
}
