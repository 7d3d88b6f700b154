//! Rounds of Services: what each of them begins with, and what came of it.

use super::{
    super::{
        kinds::{GatewayKind, StatusKey},
        service_stores,
        services::{ServiceInputs, ServicesBrought},
    },
    GatewayState,
};
use std::time::Duration;
use tokio::time::Instant;

/// Services are looked at again so long after a round, and after one in which something failed.
const SERVICES: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(10));

impl GatewayState {
    /// What a round begins with, if it is time for one.
    pub(crate) fn begin_services(&mut self, now: Instant) -> Option<ServiceInputs> {
        let config = self.config.clone()?;
        if !self.services.begin(now) {
            return None;
        }
        let read = |kind| self.queue.store(kind).filter(|store| store.is_synced()).cloned();
        let store = |version, plural| service_stores::store(&config.spec, &self.snapshots, version, plural);
        Some(ServiceInputs {
            verdicts: self.queue.verdicts().clone(),
            services: store("v1", "services"),
            slices: store("discovery.k8s.io/v1", "endpointslices"),
            gateways: read(GatewayKind::Gateway),
            classes: read(GatewayKind::Class),
            pods: self.ready.clone(),
            fleet: self.queue.fleet().clone(),
            ports: self.ports.clone(),
            made: std::mem::take(&mut self.made),
            config,
        })
    }

    /// A round has ended with this; why not all of it was written.
    pub(crate) fn take_services(&mut self, brought: ServicesBrought, now: Instant) -> Option<String> {
        let ServicesBrought { addresses, made, writes, awaited, failures } = brought;
        self.writes += writes;
        self.awaited = awaited;
        self.lead_where_run();
        let before = std::mem::replace(&mut self.addresses, addresses);
        let changed = self.addresses.iter().filter(|(name, now)| before.get(*name) != Some(now));
        for (namespace, name) in changed.map(|(name, _)| name) {
            self.queue.look_at(StatusKey::new(GatewayKind::Gateway, namespace, name));
        }
        // What was made has no EndpointSlices yet.
        if made.keys().any(|name| !self.made.contains_key(name)) {
            self.services.changed();
        }
        self.made = made;
        let (pause, retry) = SERVICES;
        self.services.ended(now + pause, (!failures.is_empty()).then_some(now + retry));
        failures.iter().next().map(|((namespace, name), why)| format!("{namespace}/{name}: {why}"))
    }
}
