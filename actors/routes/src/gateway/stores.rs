//! The stores of the Gateway API, and of what its objects name, as they were read last.

use super::{
    authorities::AuthorityText,
    certificates::GatewayCertificates,
    class_options::ClassParameters,
    inputs::{GatewayInputs, Remembered, Sources},
    levels::RouteId,
    named_config_maps::NamedConfigMaps,
    objects::{
        ClassSpec, FrontendTls, GROUP, GatewayResource, GatewaySpec, GrantSpec, LabelsOfNamespaces,
        ListenerSetSpec, PolicySpec, Readable, ServiceFacts,
    },
    parsed::{ParsedObjects, StoredObjects, watched_store},
    port_names::PortNames,
    reload_pace::CountingRoutes,
    settings::GatewaySettings,
};
use crate::reload_pace::{ReadAtStart, ReloadPace, ReloadsPerMinute};
use haptic_model::{
    ActiveConfig, Finding, Object, ObjectRef, Snapshots,
    gateway::{GATEWAY_NAME, NamespacedName, RouteKind},
};
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Instant,
};

/// The resource of Gateways.
const GATEWAYS: &str = "gateways";

impl ReadAtStart for GatewayResource<GatewaySpec> {
    /// Whether and how clients are verified stands with a port. What else a Gateway asks for comes and goes at run time, or stays for a while.
    type Lines<'a> = Option<&'a FrontendTls>;

    fn lines(&self) -> Option<&FrontendTls> {
        self.spec.tls.as_ref()?.frontend.as_ref()
    }
}

/// All of them.
#[derive(Clone, Debug, Default)]
pub(super) struct GatewayStores {
    pub classes: ParsedObjects<GatewayResource<ClassSpec>>,
    pub gateways: ParsedObjects<GatewayResource<GatewaySpec>>,
    /// How often Gateways may have clients verified otherwise.
    pace: ReloadPace<GatewayResource<GatewaySpec>>,
    pub listener_sets: ParsedObjects<GatewayResource<ListenerSetSpec>>,
    grants: ParsedObjects<GatewayResource<GrantSpec>>,
    namespaces: ParsedObjects<LabelsOfNamespaces>,
    pub services: StoredObjects,
    /// Those that say which ports Gateways have.
    of_gateways: BTreeMap<NamespacedName, Arc<ServiceFacts>>,
    pub policies: ParsedObjects<GatewayResource<PolicySpec>>,
    certificates: GatewayCertificates,
    authorities: NamedConfigMaps<AuthorityText>,
    parameters: NamedConfigMaps<ClassParameters>,
    pub routes: BTreeMap<RouteKind, StoredObjects>,
}

/// The Services that are different.
pub(super) struct ChangedServices {
    pub names: BTreeSet<NamespacedName>,
    /// Whether any is one of a Gateway, or was.
    pub is_any_of_gateways: bool,
}

impl GatewayStores {
    /// The same with all objects to come.
    pub fn emptied(&self) -> Self {
        Self { pace: self.pace.clone(), ..Self::default() }
    }

    /// Takes the stores as they are now, but those of Services and routes; whether anything is different. `clock`: without it no ConfigMap is
    /// asked for again by itself, and nothing waits.
    pub fn update(
        &mut self,
        config: &ActiveConfig,
        snapshots: &Snapshots,
        clock: Option<(Instant, ReloadsPerMinute)>,
    ) -> bool {
        let now = clock.map(|(now, _)| now);
        self.pace.set_clock(clock);
        let store = |group, resources| watched_store(config, snapshots, group, resources);
        let of = |resources| store(GROUP, resources);
        let is_different = [
            self.classes.update(of("gatewayclasses")),
            self.gateways.update_paced(of("gateways"), GATEWAYS, &mut self.pace),
            self.listener_sets.update(of("listenersets")),
            self.grants.update(of("referencegrants")),
            self.namespaces.update(store("", "namespaces")),
            self.policies.update(of("backendtlspolicies")),
            self.certificates.update(config, snapshots),
            self.authorities.update(config, snapshots, now),
            self.parameters.update(config, snapshots, now),
        ];
        is_different.contains(&true)
    }

    /// Takes the Services as they are now.
    pub fn update_services(&mut self, config: &ActiveConfig, snapshots: &Snapshots) -> ChangedServices {
        let changed = self.services.update(watched_store(config, snapshots, "", "services"));
        let mut is_any_of_gateways = false;
        for (name, object) in &changed {
            is_any_of_gateways |= self.note_service(name, object.as_ref());
        }
        ChangedServices { names: changed.into_iter().map(|(name, _)| name).collect(), is_any_of_gateways }
    }

    /// Takes the routes as they are now. Returns those that are different; `counting` learns of others that differ in their `status`.
    pub fn update_routes(
        &mut self,
        config: &ActiveConfig,
        snapshots: &Snapshots,
        counting: &mut CountingRoutes,
    ) -> Vec<RouteId> {
        let mut different = Vec::new();
        for kind in RouteKind::ALL {
            let store = watched_store(config, snapshots, GROUP, kind.plural());
            let renew = |name, before: &_, now: &_| counting.renew(&(kind, name), before, now);
            let changed = self.routes.entry(kind).or_default().update_and_renew(store, renew);
            different.extend(changed.into_iter().map(|(name, _)| (kind, name)));
        }
        different
    }

    /// The inputs of routes.
    pub fn inputs(&self, settings: &GatewaySettings, remembered: &Remembered<'_>) -> GatewayInputs {
        let port_names = PortNames::of(&self.services);
        let sources = Sources {
            classes: &self.classes,
            gateways: &self.gateways,
            listener_sets: &self.listener_sets,
            grants: &self.grants,
            namespaces: &self.namespaces,
            services: &self.of_gateways.values().cloned().collect::<Vec<_>>(),
            policies: &self.policies,
            certificate: &|name| self.certificates.judge(name),
            authority: &|name| self.authorities.judge(name),
            has_port: &|service, port| port_names.may_have(service, port),
            parameters: &|name| self.parameters.judge(name),
        };
        GatewayInputs::of(settings, &sources, remembered)
    }

    /// When a ConfigMap is asked for again that nobody answered for, or it is a Gateway's turn.
    pub fn due(&self) -> Option<Instant> {
        [self.authorities.due(), self.parameters.due(), self.pace.due()].into_iter().flatten().min()
    }

    /// The finding at a Gateway that waits.
    pub fn found_at_gateway(&self, name: &NamespacedName) -> Option<Finding> {
        self.pace.found(&ObjectRef::new(GATEWAYS, &name.0, &name.1))
    }

    pub fn every_route(&self) -> impl Iterator<Item = RouteId> {
        self.routes.iter().flat_map(|(kind, routes)| routes.names().map(move |name| (*kind, name)))
    }

    /// Whether a Service is one of a Gateway, or was.
    fn note_service(&mut self, name: &NamespacedName, object: Option<&Arc<Object>>) -> bool {
        let service = object.and_then(|object| ServiceFacts::read(object));
        match service.filter(|service| service.metadata.labels.contains_key(GATEWAY_NAME)) {
            Some(service) => {
                self.of_gateways.insert(name.clone(), Arc::new(service));
                true
            }
            None => self.of_gateways.remove(name).is_some(),
        }
    }
}
