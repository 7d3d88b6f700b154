//! The Gateway API, resolved: which listeners there are, which requests each route gets there, what is done with them, and the verdict about
//! each object.
//!
//! The inputs of routes ([`inputs`]) are decided first, from the stores ([`stores`]). A route is resolved ([`attachment`]) when it, its inputs
//! or a Service that it names is different, and compared with others ([`resolved`]) only where it asks for requests ([`levels`]). Stores
//! beside those of objects have the result, as templates read it ([`sets`]).

mod attachment;
mod authorities;
mod certificates;
mod class_options;
mod client_certificates;
mod conditions;
mod features;
mod findings;
mod grants;
mod hostname;
mod input_changes;
mod inputs;
mod levels;
mod listed_hosts;
mod listeners;
mod matches;
mod named_config_maps;
mod objects;
mod overlaps;
mod parents;
mod parsed;
mod policies;
mod port_hostnames;
mod port_lines;
mod port_names;
pub(crate) mod port_record;
mod ports;
mod reached;
mod references;
mod reload_pace;
mod resolved;
mod retries;
mod rules;
mod sets;
mod settings;
mod stores;
mod streams;
#[cfg(test)]
mod tests;
mod values;
mod written_ports;

pub use features::FEATURES;
pub use settings::may_listen;

use crate::{ownership::memory::Clock, reload_pace::ReloadsPerMinute};
use attachment::ResolvedRoute;
use class_options::ClassOptions;
use findings::GatewayFindings;
use haptic_model::{
    ActiveConfig, Findings, SharedValues, Snapshots,
    gateway::{GatewayVerdicts, RouteVerdict},
    host_holds::HeldByText,
};
use input_changes::InputChanges;
use inputs::{GatewayInputs, Remembered};
use levels::RouteId;
use litemap::LiteMap;
use objects::GROUP;
use parsed::{ReadServices, watched_store};
use ports::GivenPorts;
use reload_pace::CountingRoutes;
use resolved::{ResolvedRoutes, RouteChanges};
use sets::{ChangedBackends, Sets};
use settings::GatewaySettings;
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Instant,
};
use stores::GatewayStores;

/// All of it, from render to render.
#[derive(Clone, Debug, Default)]
pub(super) struct GatewayModel {
    stores: GatewayStores,
    settings: Option<GatewaySettings>,
    inputs: Arc<GatewayInputs>,
    counting: CountingRoutes,
    resolved: ResolvedRoutes,
    /// The ports that were given, so that they stay.
    ports: GivenPorts,
    /// The same as it is to be read by the next controller.
    written_ports: HeldByText,
    /// The options of classes when they could be read, so that they stay.
    options: BTreeMap<Arc<str>, Arc<ClassOptions>>,
    sets: Sets,
    verdicts: Arc<GatewayVerdicts>,
    /// Of most routes the same is said.
    shared: SharedValues<RouteVerdict>,
    findings: GatewayFindings,
}

impl GatewayModel {
    /// The same with nothing in it but what is remembered.
    pub fn emptied(&self) -> Self {
        let (ports, options) = (self.ports.clone(), self.options.clone());
        let written_ports = self.written_ports.clone();
        let (stores, counting, sets) = (self.stores.emptied(), self.counting.emptied(), self.sets.emptied());
        Self { stores, ports, written_ports, options, counting, sets, ..Self::default() }
    }

    /// Takes up the ports that another controller had written down.
    pub fn remember(&mut self, written: &HeldByText) {
        self.give(port_record::joined(&self.ports, written));
        // They are looked at with the next call of `beside`.
        self.settings = None;
    }

    /// The ports that were given, to be read by the next controller.
    pub fn written_ports(&self) -> &HeldByText {
        &self.written_ports
    }

    fn give(&mut self, ports: GivenPorts) {
        if self.ports != ports {
            self.written_ports = port_record::written(&ports);
            self.ports = ports;
        }
    }

    /// When something is forgotten that no route needs any more, or asked for again that nobody answered for, though nothing may change until then.
    pub fn due(&self) -> Option<Instant> {
        [self.sets.due(), self.counting.due(), self.stores.due()].into_iter().flatten().min()
    }

    pub fn verdicts(&self) -> Arc<GatewayVerdicts> {
        self.verdicts.clone()
    }

    /// The findings of verdicts that refuse something.
    pub fn findings(&self) -> &Findings {
        self.findings.all()
    }

    /// `all` with the stores of what was resolved, if Gateways are watched. `clock`: without one nothing stays that no route needs any more.
    pub fn beside(
        &mut self,
        config: &ActiveConfig,
        snapshots: &Snapshots,
        all: Snapshots,
        now: Option<Instant>,
        clock: Option<Clock>,
    ) -> Snapshots {
        if watched_store(config, snapshots, GROUP, "gateways").is_none() {
            *self = Self::default();
            return all;
        }
        let reloads = ReloadsPerMinute::of(&config.spec.templating_settings.extra_context);
        let pace = now.map(|now| (now, reloads));
        self.sets.set_clock(clock, pace);
        self.counting.set_clock(pace);
        let settings = GatewaySettings::of(config);
        let is_updated = self.stores.update(config, snapshots, pace);
        let services = self.stores.update_services(config, snapshots);
        let is_moved = is_updated
            || self.settings.as_ref() != Some(&settings)
            || services.is_any_of_gateways
            || services.names.iter().any(|service| self.inputs.policies.names(service));
        let mut stale: BTreeSet<RouteId> = self.counting.due_routes().into_iter().collect();
        stale.extend(self.stores.update_routes(config, snapshots, &mut self.counting));
        if is_moved {
            stale.extend(self.update_inputs(&settings));
        }
        if self.sets.are_ports_due() {
            self.sets.write_inputs(&self.inputs, &settings);
            self.write_attached();
        }
        self.settings = Some(settings);
        stale.extend(services.names.into_iter().flat_map(|service| self.resolved.naming(service)));
        let is_stale = !stale.is_empty();
        self.resolve(stale);
        if is_moved || is_stale {
            self.write_policies();
        }
        self.sets.write_needs();
        self.sets.beside(all)
    }

    /// The routes that are read with other inputs than before.
    fn update_inputs(&mut self, settings: &GatewaySettings) -> BTreeSet<RouteId> {
        let remembered = Remembered { ports: &self.ports, options: &self.options };
        let mut inputs = self.stores.inputs(settings, &remembered);
        // Listeners have theirs: what else is kept for a while is no other inputs.
        let ports = std::mem::take(&mut inputs.ports);
        self.give(if settings.ports.is_same() { GivenPorts::new() } else { ports });
        let changes = InputChanges::between(&self.inputs, &inputs);
        let is_set_otherwise = self.settings.as_ref() != Some(settings);
        if !changes.is_any && !is_set_otherwise {
            return BTreeSet::new();
        }
        self.options.clone_from(&inputs.options);
        self.inputs = Arc::new(inputs);
        self.sets.write_inputs(&self.inputs, settings);
        let verdicts = Arc::make_mut(&mut self.verdicts);
        verdicts.classes.clone_from(&self.inputs.classes);
        let classes = self.inputs.classes.iter().map(|(name, verdict)| {
            let name = (Arc::from(""), name.clone());
            (name.clone(), self.stores.classes.reference(&name), findings::of_class(verdict))
        });
        self.findings.set_all("GatewayClass", classes.collect());
        self.write_attached();
        if is_set_otherwise || changes.is_of_every_route {
            return self.stores.every_route().collect();
        }
        self.involved(&changes)
    }

    /// The routes that are involved by changes of the inputs.
    fn involved(&self, changes: &InputChanges) -> BTreeSet<RouteId> {
        let InputChanges { parents, namespaces, granted, services, .. } = changes;
        let of_parents = parents.iter().flat_map(|parent| self.resolved.parents.naming(parent));
        let of_services = services.iter().flat_map(|service| self.resolved.naming(service.clone()));
        let of_parents_and_services = of_parents.chain(of_services);
        if namespaces.is_empty() && granted.is_empty() {
            return of_parents_and_services.collect();
        }
        let is_concerned = |(kind, (namespace, _)): &RouteId| {
            namespaces.contains(namespace) || granted.contains(&(kind.name().into(), namespace.clone()))
        };
        of_parents_and_services.chain(self.stores.every_route().filter(is_concerned)).collect()
    }

    fn resolve(&mut self, stale: BTreeSet<RouteId>) {
        if stale.is_empty() {
            return;
        }
        let mut changes = RouteChanges::default();
        let mut changed = ChangedBackends::default();
        let is_free = self.counting.is_empty();
        let services = ReadServices::of(&self.stores.services);
        for id in stale {
            let has_waited = self.counting.found(&id).is_some();
            let route = self.counting.admit(&id, self.stores.routes.get(&id.0), is_free);
            if has_waited || self.counting.found(&id).is_some() {
                changes.found.insert(id.clone());
            }
            let parents = route.as_ref().map(attachment::named_parents).unwrap_or_default();
            self.resolved.parents.note(&id, parents);
            let now = route.map(|route| ResolvedRoute::of(id.0, &route, &self.inputs, &services));
            let mut now = now.unwrap_or_default();
            now.verdict = now.verdict.map(|verdict| self.shared.share(verdict));
            let now = Arc::new(now);
            let before = self.resolved.replace(&id, now.clone(), &mut changes);
            self.sets.change_backends(&before.backends, &now.backends, &mut changed);
            if before.verdict != now.verdict {
                let verdicts = &mut Arc::make_mut(&mut self.verdicts).routes;
                match &now.verdict {
                    Some(verdict) => drop(verdicts.insert(id, verdict.clone())),
                    None => drop(verdicts.remove(&id)),
                }
            }
        }
        self.sets.write_backends(changed);
        self.write(changes);
    }

    /// Writes what follows from routes that were resolved.
    fn write(&mut self, changes: RouteChanges) {
        let RouteChanges { levels, mut written, mut found, is_attached_otherwise } = changes;
        for level in levels {
            written.extend(self.resolved.share(&level, &mut self.sets));
        }
        let none = (LiteMap::new(), ResolvedRoute::default());
        for id in written {
            let shares = self.resolved.shares.get(&id).unwrap_or(&none.0);
            let route = self.resolved.routes.get(&id).map_or(&none.1, |route| route);
            self.sets.write_route(&id, shares, &route.settings);
            found.insert(id);
        }
        for id in found {
            self.write_findings_of(&id);
        }
        if is_attached_otherwise {
            self.write_attached();
        }
    }

    /// Writes what is found at a route.
    fn write_findings_of(&mut self, id: &RouteId) {
        let object = self.stores.routes.get(&id.0).and_then(|routes| routes.reference(&id.1));
        let route = self.resolved.routes.get(id).map(|route| &**route);
        let verdict = route.and_then(|route| route.verdict.as_deref());
        let mut found = verdict.map(findings::of_route).unwrap_or_default();
        found.extend(route.map(|route| findings::of_doubts(&route.doubts)).unwrap_or_default());
        found.extend(self.resolved.shares.get(id).map(findings::of_shares).unwrap_or_default());
        found.extend(self.counting.found(id));
        self.findings.set(id.0.name(), &id.1, object, found);
    }

    /// Writes the verdicts about policies.
    fn write_policies(&mut self) {
        if self.inputs.policies.is_empty() && self.verdicts.policies.is_empty() {
            return;
        }
        let now = self.inputs.policies.verdicts(&self.resolved.reached);
        let found = now.iter().map(|(name, verdict)| {
            (name.clone(), self.stores.policies.reference(name), findings::of_policy(verdict))
        });
        self.findings.set_all("BackendTLSPolicy", found.collect());
        let is_same = now.len() == self.verdicts.policies.len()
            && now
                .iter()
                .zip(&self.verdicts.policies)
                .all(|((name, one), (known, other))| name == known && *one == **other);
        if !is_same {
            let policies = now.into_iter().map(|(name, verdict)| (name, Arc::new(verdict))).collect();
            Arc::make_mut(&mut self.verdicts).policies = policies;
        }
    }

    /// Writes how many routes each listener has into the verdicts about Gateways and ListenerSets.
    fn write_attached(&mut self) {
        let count = |id: &Arc<str>| self.resolved.attached_to(id);
        let verdicts = Arc::make_mut(&mut self.verdicts);
        let (mut gateways, mut listener_sets) = (BTreeMap::new(), BTreeMap::new());
        for (name, gateway) in &self.inputs.gateways {
            let mut verdict = gateway.verdict.clone();
            verdict.listeners = gateway.listeners.iter().map(|one| one.verdict(count(&one.id))).collect();
            let known = verdicts.gateways.remove(name).filter(|known| **known == verdict);
            gateways.insert(name.clone(), known.unwrap_or_else(|| Arc::new(verdict)));
        }
        for (name, set) in &self.inputs.listener_sets {
            let mut verdict = set.verdict.clone();
            verdict.listeners = set.listeners.iter().map(|one| one.verdict(count(&one.id))).collect();
            let known = verdicts.listener_sets.remove(name).filter(|known| **known == verdict);
            listener_sets.insert(name.clone(), known.unwrap_or_else(|| Arc::new(verdict)));
        }
        let found = gateways.iter().map(|(name, verdict)| {
            let mut found = findings::of_gateway(verdict);
            found.extend(self.stores.found_at_gateway(name));
            found.extend(self.sets.found_at_ports("gateways", name));
            (name.clone(), self.stores.gateways.reference(name), found)
        });
        self.findings.set_all("Gateway", found.collect());
        let found = listener_sets.iter().map(|(name, verdict)| {
            let mut found = findings::of_listener_set(verdict);
            found.extend(self.sets.found_at_ports("listenersets", name));
            (name.clone(), self.stores.listener_sets.reference(name), found)
        });
        self.findings.set_all("ListenerSet", found.collect());
        (verdicts.gateways, verdicts.listener_sets) = (gateways, listener_sets);
    }
}
