//! The Gateway API, resolved: which listeners there are, which requests each route gets there, what is done with them, and the verdict about
//! each object.
//!
//! What routes stand on ([`inputs`]) is decided first. A route is resolved ([`attachment`]) when it, the ground or a Service that it names
//! is different, and compared with others only where it asks for requests ([`levels`]). Stores beside those of objects have the result,
//! as templates read it ([`sets`]).

mod attachment;
mod authorities;
mod certificates;
mod class_options;
mod client_certificates;
mod conditions;
mod features;
mod findings;
mod hostname;
mod inputs;
mod levels;
mod listeners;
mod matches;
mod named_config_maps;
mod objects;
mod overlaps;
mod parsed;
mod policies;
mod ports;
mod references;
mod reload_pace;
mod retries;
mod rules;
mod sets;
mod settings;
mod streams;
#[cfg(test)]
mod tests;
mod values;

pub use features::FEATURES;
pub use settings::may_listen;

use crate::{memory::Clock, reload_pace::ReloadsPerMinute};
use attachment::ResolvedRoute;
use certificates::GatewayCertificates;
use class_options::{ClassOptions, ClassParameters};
use findings::GatewayFindings;
use haptic_model::{
    ActiveConfig, Findings, Object, SharedValues, Snapshots,
    gateway::{GATEWAY_NAME, GatewayVerdicts, NamespacedName, RouteKind, RouteVerdict},
};
use inputs::{GatewayInputs, Remembered, Sources};
use levels::{HostnameLevels, LevelShare, RouteId};
use litemap::LiteMap;
use named_config_maps::NamedConfigMaps;
use objects::{
    ClassSpec, GROUP, GatewayResource, GatewaySpec, GrantSpec, KnownPort, LabelsOfNamespaces,
    ListenerSetSpec, PolicySpec, ROUTES, Readable, ServiceFacts,
};
use parsed::{ParsedObjects, ReadServices, StoredObjects, store_of};
use ports::GivenPorts;
use reload_pace::CountingRoutes;
use sets::Sets;
use settings::GatewaySettings;
use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::Arc,
    time::Instant,
};

/// All of it, from render to render.
#[derive(Clone, Debug)]
pub(super) struct GatewayModel {
    classes: ParsedObjects<GatewayResource<ClassSpec>>,
    gateways: ParsedObjects<GatewayResource<GatewaySpec>>,
    listener_sets: ParsedObjects<GatewayResource<ListenerSetSpec>>,
    grants: ParsedObjects<GatewayResource<GrantSpec>>,
    namespaces: ParsedObjects<LabelsOfNamespaces>,
    services: StoredObjects,
    /// Those that say which ports Gateways have.
    of_gateways: BTreeMap<NamespacedName, Arc<ServiceFacts>>,
    policies: ParsedObjects<GatewayResource<PolicySpec>>,
    certificates: GatewayCertificates,
    authorities: NamedConfigMaps<Arc<str>>,
    parameters: NamedConfigMaps<ClassParameters>,
    routes: BTreeMap<RouteKind, StoredObjects>,
    settings: Option<GatewaySettings>,
    ground: Arc<GatewayInputs>,
    counting: CountingRoutes,
    resolved: BTreeMap<RouteId, Arc<ResolvedRoute>>,
    levels: HostnameLevels,
    shares: BTreeMap<RouteId, LiteMap<Arc<str>, LevelShare>>,
    attached: HashMap<Arc<str>, usize>,
    /// Each Service with each route that names it.
    naming: BTreeSet<(NamespacedName, RouteId)>,
    /// How many routes lead to a Service through each Gateway.
    reached: BTreeMap<NamespacedName, LiteMap<NamespacedName, usize>>,
    /// What was given, so that it stays.
    ports: GivenPorts,
    /// What classes said of all requests when it could be read, so that it stays.
    options: BTreeMap<Arc<str>, Arc<ClassOptions>>,
    sets: Sets,
    verdicts: Arc<GatewayVerdicts>,
    /// Of most routes the same is said.
    shared: SharedValues<RouteVerdict>,
    findings: GatewayFindings,
}

impl Default for GatewayModel {
    fn default() -> Self {
        Self {
            classes: ParsedObjects::default(),
            gateways: ParsedObjects::default(),
            listener_sets: ParsedObjects::default(),
            grants: ParsedObjects::default(),
            namespaces: ParsedObjects::default(),
            services: StoredObjects::default(),
            of_gateways: BTreeMap::new(),
            policies: ParsedObjects::default(),
            certificates: GatewayCertificates::default(),
            authorities: NamedConfigMaps::new(authorities::certificates),
            parameters: NamedConfigMaps::new(class_options::parameters),
            routes: BTreeMap::new(),
            settings: None,
            ground: Arc::default(),
            counting: CountingRoutes::default(),
            resolved: BTreeMap::new(),
            levels: HostnameLevels::default(),
            shares: BTreeMap::new(),
            attached: HashMap::new(),
            naming: BTreeSet::new(),
            reached: BTreeMap::new(),
            ports: GivenPorts::default(),
            options: BTreeMap::new(),
            sets: Sets::default(),
            verdicts: Arc::default(),
            shared: SharedValues::default(),
            findings: GatewayFindings::default(),
        }
    }
}

impl GatewayModel {
    /// The same with nothing in it but what is remembered.
    pub fn emptied(&self) -> Self {
        let (ports, options) = (self.ports.clone(), self.options.clone());
        let (counting, sets) = (self.counting.emptied(), self.sets.emptied());
        Self { ports, options, counting, sets, ..Self::default() }
    }

    /// When something is forgotten that no route needs any more, or asked for again that nobody answered for, though nothing may change until then.
    pub fn due(&self) -> Option<Instant> {
        let due = [self.sets.due(), self.counting.due(), self.authorities.due(), self.parameters.due()];
        due.into_iter().flatten().min()
    }

    pub fn verdicts(&self) -> Arc<GatewayVerdicts> {
        self.verdicts.clone()
    }

    /// What verdicts say no to.
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
        let store = |group: &str, resources: &str| store_of(config, snapshots, group, resources);
        if store(GROUP, "gateways").is_none() {
            *self = Self::default();
            return all;
        }
        self.sets.set_clock(clock);
        let reloads = ReloadsPerMinute::of(&config.spec.templating_settings.extra_context);
        self.counting.set_clock(now.map(|now| (now, reloads)));
        let settings = GatewaySettings::of(config);
        let of = |resources: &str| store(GROUP, resources).map(|(_, store)| store);
        let mut is_moved = !self.classes.update(of("gatewayclasses")).is_empty();
        is_moved |= !self.gateways.update(of("gateways")).is_empty();
        is_moved |= !self.listener_sets.update(of("listenersets")).is_empty();
        is_moved |= !self.grants.update(of("referencegrants")).is_empty();
        is_moved |= !self.namespaces.update(store("", "namespaces").map(|(_, store)| store)).is_empty();
        is_moved |= !self.policies.update(of("backendtlspolicies")).is_empty();
        is_moved |= self.certificates.update(config, snapshots);
        is_moved |= self.authorities.update(config, snapshots, now);
        is_moved |= self.parameters.update(config, snapshots, now);
        is_moved |= self.settings.as_ref() != Some(&settings);
        let services = self.services.update(store("", "services").map(|(_, store)| store));
        is_moved |= self.note_services_of_gateways(&services);
        let services: BTreeSet<NamespacedName> = services.into_iter().map(|(name, _)| name).collect();
        is_moved |= services.iter().any(|service| self.ground.policies.names(service));
        let mut stale: BTreeSet<RouteId> = self.counting.due_routes().into_iter().collect();
        for (kind, resources) in ROUTES {
            let counting = &mut self.counting;
            let renew = |name, before: &_, now: &_| counting.renew(&(kind, name), before, now);
            let changed = self.routes.entry(kind).or_default().update_and_renew(of(resources), renew);
            stale.extend(changed.into_iter().map(|(name, _)| (kind, name)));
        }
        if is_moved && self.move_ground(&settings) {
            stale.extend(self.every_route());
        }
        self.settings = Some(settings);
        for service in services {
            stale.extend(self.routes_naming(service));
        }
        let is_stale = !stale.is_empty();
        self.resolve(stale);
        if is_moved || is_stale {
            self.write_policies();
        }
        self.sets.write_needs();
        self.sets.beside(all)
    }

    /// Whether any of the Services is one of a Gateway, or was.
    fn note_services_of_gateways(&mut self, changed: &[(NamespacedName, Option<Arc<Object>>)]) -> bool {
        let mut is_any = false;
        for (name, object) in changed {
            let service = object.as_ref().and_then(|object| ServiceFacts::read(object));
            let service = service.filter(|one| one.metadata.labels.contains_key(GATEWAY_NAME));
            is_any |= match service {
                Some(service) => {
                    self.of_gateways.insert(name.clone(), Arc::new(service));
                    true
                }
                None => self.of_gateways.remove(name).is_some(),
            };
        }
        is_any
    }

    fn routes_naming(&self, service: NamespacedName) -> impl Iterator<Item = RouteId> {
        let first = (service.clone(), (RouteKind::Http, (Arc::from(""), Arc::from(""))));
        let all = self.naming.range(first..).take_while(move |(name, _)| *name == service);
        all.map(|(_, route)| route.clone())
    }

    fn every_route(&self) -> Vec<RouteId> {
        let all = self.routes.iter().flat_map(|(kind, routes)| routes.names().map(move |name| (*kind, name)));
        all.collect()
    }

    /// Whether a Service may have a port of that name: of one that is not there nobody knows.
    fn has_port(&self, service: &NamespacedName, port: &str) -> bool {
        let is_called = |one: &KnownPort| one.name.as_deref() == Some(port);
        let known: Option<ServiceFacts> = self.services.read(service);
        known.is_none_or(|service| service.spec.ports.iter().any(is_called))
    }

    /// Whether routes stand on another ground than before.
    fn move_ground(&mut self, settings: &GatewaySettings) -> bool {
        let (certificates, authorities, parameters) =
            (&self.certificates, &self.authorities, &self.parameters);
        let sources = Sources {
            classes: &self.classes,
            gateways: &self.gateways,
            listener_sets: &self.listener_sets,
            grants: &self.grants,
            namespaces: &self.namespaces,
            services: &self.of_gateways.values().cloned().collect::<Vec<_>>(),
            policies: &self.policies,
            certificate: &|name| certificates.judge(name),
            authority: &|name| authorities.judge(name),
            has_port: &|service, port| self.has_port(service, port),
            parameters: &|name| parameters.judge(name),
        };
        let remembered = Remembered { ports: &self.ports, options: &self.options };
        let ground = GatewayInputs::of(settings, &sources, &remembered);
        if ground == *self.ground && self.settings.as_ref() == Some(settings) {
            return false;
        }
        self.ports.clone_from(&ground.ports);
        self.options.clone_from(&ground.options);
        self.ground = Arc::new(ground);
        self.sets.write_ground(&self.ground, settings);
        let verdicts = Arc::make_mut(&mut self.verdicts);
        verdicts.classes.clone_from(&self.ground.classes);
        let classes = self.ground.classes.iter().map(|(name, verdict)| {
            let name = (Arc::from(""), name.clone());
            (name.clone(), self.classes.reference(&name), findings::of_class(verdict))
        });
        self.findings.set_all("GatewayClass", classes.collect());
        self.write_attached();
        true
    }

    fn resolve(&mut self, stale: BTreeSet<RouteId>) {
        if stale.is_empty() {
            return;
        }
        let (mut touched, mut written, mut told) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
        let is_free = self.counting.is_empty();
        let stored = std::mem::take(&mut self.services);
        let services = ReadServices::of(&stored);
        let mut is_counted_anew = false;
        for id in stale {
            let has_waited = self.counting.found(&id).is_some();
            let route = self.counting.admit(&id, self.routes.get(&id.0), is_free);
            if has_waited || self.counting.found(&id).is_some() {
                told.insert(id.clone());
            }
            let now = route.as_ref().map(|route| ResolvedRoute::of(id.0, route, &self.ground, &services));
            let (is_there, mut now) = (route.is_some(), now.unwrap_or_default());
            now.verdict = now.verdict.map(|verdict| self.shared.share(verdict));
            let before = self.resolved.remove(&id).unwrap_or_default();
            touched.extend(self.levels.update(&id, &before.entries, &now.entries));
            self.sets.change_backends(&before.backends, &now.backends);
            self.reach(&id, &before, &now);
            is_counted_anew |= self.count_attached(&before.attached, &now.attached);
            if before.settings != now.settings {
                written.insert(id.clone());
            }
            if before.doubts != now.doubts {
                told.insert(id.clone());
            }
            if before.verdict != now.verdict {
                told.insert(id.clone());
                let verdicts = &mut Arc::make_mut(&mut self.verdicts).routes;
                match &now.verdict {
                    Some(verdict) => drop(verdicts.insert(id.clone(), verdict.clone())),
                    None => drop(verdicts.remove(&id)),
                }
            }
            if is_there && now.verdict.is_some() {
                self.resolved.insert(id, Arc::new(now));
            }
        }
        self.services = stored;
        for level in touched {
            written.extend(self.share(&level));
        }
        let none = (LiteMap::new(), ResolvedRoute::default());
        for id in written {
            let shares = self.shares.get(&id).unwrap_or(&none.0);
            let route = self.resolved.get(&id).map_or(&none.1, |route| route);
            self.sets.write_route(&id, shares, &route.settings);
            told.insert(id);
        }
        for id in told {
            self.write_findings_of(&id);
        }
        if is_counted_anew {
            self.write_attached();
        }
    }

    /// Writes what is found at a route.
    fn write_findings_of(&mut self, id: &RouteId) {
        let object = self.routes.get(&id.0).and_then(|routes| routes.reference(&id.1));
        let route = self.resolved.get(id).map(|route| &**route);
        let verdict = route.and_then(|route| route.verdict.as_deref());
        let mut found = verdict.map(findings::of_route).unwrap_or_default();
        found.extend(route.map(|route| findings::of_doubts(&route.doubts)).unwrap_or_default());
        found.extend(self.shares.get(id).map(findings::of_shares).unwrap_or_default());
        found.extend(self.counting.found(id));
        self.findings.set(listeners::name_of(id.0), &id.1, object, found);
    }

    /// Shares a level anew; the routes that have something else of it than before.
    fn share(&mut self, level: &Arc<str>) -> BTreeSet<RouteId> {
        let mut now = self.levels.shares(level);
        let mut written = BTreeSet::new();
        let before = self.sets.routes_at(level, now.keys().cloned().collect());
        for id in before.into_iter().chain(now.keys().cloned().collect::<Vec<_>>()) {
            let Some(share) = now.remove(&id) else {
                if let Some(shares) = self.shares.get_mut(&id)
                    && shares.remove(level).is_some()
                {
                    written.insert(id.clone());
                    if shares.is_empty() {
                        self.shares.remove(&id);
                    }
                }
                continue;
            };
            let shares = self.shares.entry(id.clone()).or_insert_with(|| LiteMap::with_capacity(1));
            if shares.get(level) != Some(&share) {
                shares.insert(level.clone(), share);
                written.insert(id);
            }
        }
        written
    }

    /// Notes which Services the route names, and counts through which Gateways they are reached.
    fn reach(&mut self, id: &RouteId, before: &ResolvedRoute, now: &ResolvedRoute) {
        if before.uses == now.uses && before.gateways == now.gateways {
            return;
        }
        for service in before.uses.iter().filter(|service| now.uses.binary_search(service).is_err()) {
            self.naming.remove(&(service.clone(), id.clone()));
        }
        self.naming.extend(now.uses.iter().map(|service| (service.clone(), id.clone())));
        for service in &now.uses {
            let gateways = self.reached.entry(service.clone()).or_insert_with(|| LiteMap::with_capacity(1));
            now.gateways.iter().for_each(|gateway| *gateways.entry(gateway.clone()).or_default() += 1);
        }
        for service in &before.uses {
            let Some(gateways) = self.reached.get_mut(service) else { continue };
            for gateway in &before.gateways {
                if let Some(count) = gateways.get_mut(gateway) {
                    *count -= 1;
                }
            }
            gateways.retain(|_, count| *count > 0);
            if gateways.is_empty() {
                self.reached.remove(service);
            }
        }
    }

    /// Writes the verdicts about policies.
    fn write_policies(&mut self) {
        if self.ground.policies.is_empty() && self.verdicts.policies.is_empty() {
            return;
        }
        let now = self.ground.policies.verdicts(&self.reached);
        let found = now.iter().map(|(name, verdict)| {
            (name.clone(), self.policies.reference(name), findings::of_policy(verdict))
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

    /// Counts a route at its listeners; whether that changes anything.
    fn count_attached(&mut self, before: &[Arc<str>], now: &[Arc<str>]) -> bool {
        for listener in now {
            *self.attached.entry(listener.clone()).or_default() += 1;
        }
        for listener in before {
            if let Some(count) = self.attached.get_mut(listener) {
                *count = count.saturating_sub(1);
            }
        }
        if before != now {
            self.attached.retain(|_, count| *count > 0);
        }
        before != now
    }

    /// Writes how many routes each listener has into the verdicts about Gateways and ListenerSets.
    fn write_attached(&mut self) {
        let count = |id: &Arc<str>| self.attached.get(id).copied().unwrap_or_default();
        let verdicts = Arc::make_mut(&mut self.verdicts);
        let (mut gateways, mut listener_sets) = (BTreeMap::new(), BTreeMap::new());
        for (name, gateway) in &self.ground.gateways {
            let mut verdict = gateway.verdict.clone();
            verdict.listeners = gateway.listeners.iter().map(|one| one.verdict(count(&one.id))).collect();
            let known = verdicts.gateways.remove(name).filter(|known| **known == verdict);
            gateways.insert(name.clone(), known.unwrap_or_else(|| Arc::new(verdict)));
        }
        for (name, set) in &self.ground.listener_sets {
            let mut verdict = set.verdict.clone();
            verdict.listeners = set.listeners.iter().map(|one| one.verdict(count(&one.id))).collect();
            let known = verdicts.listener_sets.remove(name).filter(|known| **known == verdict);
            listener_sets.insert(name.clone(), known.unwrap_or_else(|| Arc::new(verdict)));
        }
        let found = gateways.iter().map(|(name, verdict)| {
            (name.clone(), self.gateways.reference(name), findings::of_gateway(verdict))
        });
        self.findings.set_all("Gateway", found.collect());
        let found = listener_sets.iter().map(|(name, verdict)| {
            (name.clone(), self.listener_sets.reference(name), findings::of_listener_set(verdict))
        });
        self.findings.set_all("ListenerSet", found.collect());
        (verdicts.gateways, verdicts.listener_sets) = (gateways, listener_sets);
    }
}
