//! Resolved routes, as objects that templates read: in stores of their own, so that blocks are kept for those that stay the same.
//!
//! `routes "httproutes"` has a set for each HTTPRoute, `routes "gateways"` the listeners of each Gateway, `routes "gateway ports"` HAProxy's ports,
//! and `routes "gateway backends"` the Services that routes lead to. `any_asks_for "gateway"` tells what any route needs.

use super::{
    hostname::ANY,
    inputs::GatewayInputs,
    levels::{LevelShare, RouteId},
    listeners::{ClientValidation, GatewayListener, Protocol},
    objects::ROUTES,
    port_hostnames::PortHostnames,
    port_lines::{PacedCertificates, PortPart, StandingParts},
    ports::{MOST_TLS_PORTS, PortTransport},
    references::BackendKey,
    retries::RetryProfile,
    rules::{KeptSettings, backend_name},
    settings::{GatewaySettings, PortMode},
};
use crate::{
    ownership::{
        asked::{DemandedObjects, UsageCounts},
        memory::Clock,
    },
    reload_pace::ReloadsPerMinute,
    store_names::{options_of, store_of},
};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use haptic_model::{
    Finding, Object, ObjectJson, ObjectRef, Snapshot, Snapshots,
    gateway::{NamespacedName, RouteKind},
    host_name::suffix,
    store::Key,
};
use litemap::LiteMap;
use serde_json::{Value, json};
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Instant,
};

/// The names of these stores: no watched resource has one.
const PORTS: &str = "gateway ports";
const BACKENDS: &str = "gateway backends";
const RETRIES: &str = "gateway retries";
const AUTHORITIES: &str = "gateway authorities";
const CLASSES: &str = "gateway classes";
const NEEDS: &str = "gateway";

/// The defaults of backends that ask for no others.
const PROFILE: &str = "roundrobin";
/// Those of backends that get whatever clients say.
const STREAMS: &str = "gateway_streams";

/// The work that is left after routes lead to other Services.
#[derive(Default)]
pub(super) struct ChangedBackends {
    services: BTreeSet<NamespacedName>,
    has_retries: bool,
}

/// The traffic that comes in at a port with TLS.
#[derive(Default)]
struct PortWithTls {
    /// Certificates for all hosts.
    open: Vec<NamespacedName>,
    clients: Option<Arc<ClientValidation>>,
    /// The namespace of the listener for all hosts, and those of wildcards.
    open_to_all: Option<Arc<str>>,
    wild: BTreeSet<Arc<str>>,
    has_web: bool,
    has_ended: bool,
    has_passed: bool,
}

impl PortWithTls {
    fn add(&mut self, listener: &GatewayListener) {
        let Some(protocol) = listener.protocol else { return };
        if protocol.ends_tls() {
            if is_open(listener) {
                self.open.extend(listener.certificates.iter().cloned());
                self.open_to_all = Some(listener.namespace.clone());
            } else if suffix(&listener.hostname).is_some() {
                self.wild.insert(listener.namespace.clone());
            }
            self.clients.clone_from(&listener.clients);
        }
        self.has_web |= protocol == Protocol::Https;
        self.has_ended |= protocol == Protocol::EndedTls;
        self.has_passed |= protocol == Protocol::PassedTls;
    }

    /// The parts of HAProxy's lines that it needs.
    fn parts(&self) -> impl Iterator<Item = PortPart> {
        let all = [
            (self.has_web, PortPart::Web),
            (self.has_ended, PortPart::Ended),
            (self.has_passed, PortPart::Passed),
            (self.is_apart(), PortPart::Apart),
        ];
        all.into_iter().filter(|(is_needed, _)| *is_needed).map(|(_, part)| part)
    }

    /// Whether names of listeners with a hostname have no certificate by default: that of the listener for all hosts is another namespace's, and HAProxy
    /// would present it for what a wildcard's certificate has no name for.
    fn is_apart(&self) -> bool {
        self.open_to_all.as_ref().is_some_and(|open| self.wild.iter().any(|of| of != open))
    }

    fn json(&self, target: u16, slot: usize, standing: &StandingParts) -> Value {
        let clients = self.clients.as_ref().map(|clients| {
            json!({"lenient": clients.is_lenient, "authorities": as_of_a_secret(&clients.authorities)})
        });
        let open: Vec<Value> =
            self.open.iter().map(|(of, name)| json!({"namespace": of, "name": name})).collect();
        json!({"target": target, "slot": slot, "open": open, "clients": clients,
            "web": standing.has(target, PortPart::Web), "ended": standing.has(target, PortPart::Ended),
            "streams": is_looked_into(target, standing), "apart": standing.has(target, PortPart::Apart)})
    }
}

/// Whether names are looked at before TLS ends.
fn is_looked_into(target: u16, standing: &StandingParts) -> bool {
    [PortPart::Ended, PortPart::Passed, PortPart::Apart].iter().any(|part| standing.has(target, *part))
}

/// The way of a listener's connections.
fn way_of(protocol: Protocol) -> &'static str {
    match protocol {
        Protocol::Http | Protocol::Https => "web",
        Protocol::EndedTls => "ended",
        Protocol::PassedTls => "passed",
        Protocol::Tcp => "tcp",
    }
}

/// The needs of rules that have a price where no rule has them, by the setting that says so. All of them are Lua's.
const NEEDING: [(&str, &str); 6] = [
    ("auth", "auth"),
    ("choice", "choice"),
    ("request-headers", "headers"),
    ("response-headers", "headers"),
    ("cors", "cors"),
    ("mirror", "mirror"),
];

/// The stores.
#[derive(Clone, Debug)]
pub(super) struct Sets {
    gateways: Arc<Snapshot>,
    ports: Arc<Snapshot>,
    backends: Arc<Snapshot>,
    retries: Arc<Snapshot>,
    authorities: Arc<Snapshot>,
    classes: Arc<Snapshot>,
    needs: Arc<Snapshot>,
    routes: BTreeMap<RouteKind, Arc<Snapshot>>,
    /// By what `standing` was told from.
    mode: Option<PortMode>,
    standing: StandingParts,
    open: PacedCertificates,
    /// What clients must show, of ports with TLS: also where no listener is served any more.
    clients: BTreeMap<u16, Arc<ClientValidation>>,
    /// How many routes lead to each.
    used: BTreeMap<BackendKey, usize>,
    /// How many of these are verified by the authorities of that name, by their namespace.
    verifying: BTreeMap<NamespacedName, usize>,
    /// The needs of routes. One that no route has any more stays for a while: it comes and goes with lines of HAProxy's, and a reload each.
    needed: UsageCounts,
    clock: Option<Clock>,
    needs_of: BTreeMap<RouteId, BTreeSet<&'static str>>,
    needs_of_classes: BTreeSet<&'static str>,
    at: BTreeMap<Arc<str>, Box<[RouteId]>>,
}

impl Default for Sets {
    fn default() -> Self {
        let empty = || {
            let mut store = Snapshot::full();
            store.set_synced();
            Arc::new(store)
        };
        Self {
            gateways: empty(),
            ports: empty(),
            backends: empty(),
            retries: empty(),
            authorities: empty(),
            classes: empty(),
            needs: empty(),
            routes: ROUTES.iter().map(|(kind, _)| (*kind, empty())).collect(),
            mode: None,
            standing: StandingParts::default(),
            open: PacedCertificates::default(),
            clients: BTreeMap::new(),
            used: BTreeMap::new(),
            verifying: BTreeMap::new(),
            needed: UsageCounts::default(),
            clock: None,
            needs_of: BTreeMap::new(),
            needs_of_classes: BTreeSet::new(),
            at: BTreeMap::new(),
        }
    }
}

impl Sets {
    /// The same with nothing in it but what stays for a while.
    pub fn emptied(&self) -> Self {
        let (mode, standing, clients) = (self.mode.clone(), self.standing.clone(), self.clients.clone());
        let (needed, open) = (self.needed.emptied(), self.open.emptied());
        Self { needed, mode, standing, open, clients, ..Self::default() }
    }

    /// Sets the time; without one nothing stays. `pace`: the same for reloads.
    pub fn set_clock(&mut self, clock: Option<Clock>, pace: Option<(Instant, ReloadsPerMinute)>) {
        self.clock = clock;
        self.needed.forget(clock.as_ref());
        self.open.set_clock(pace);
    }

    /// When the next thing is forgotten that no route or listener needs, or counts otherwise.
    pub fn due(&self) -> Option<Instant> {
        let of_clock = |clock: Clock| [self.needed.next(clock.hold), self.standing.due(&clock)];
        let all = self.clock.map(of_clock).into_iter().flatten().flatten();
        all.chain(self.open.due()).min()
    }

    /// Whether ports are to be written again though nobody asks for anything else.
    pub fn are_ports_due(&self) -> bool {
        let is_over = |clock: &Clock| self.standing.due(clock).is_some_and(|due| due <= clock.now);
        self.clock.as_ref().is_some_and(is_over) || self.open.is_due()
    }

    /// The finding at a Gateway or ListenerSet whose certificate for all hosts waits.
    pub fn found_at_ports(&self, resources: &str, name: &NamespacedName) -> Option<Finding> {
        self.open.found(resources, name)
    }

    pub fn beside(&self, all: Snapshots) -> Snapshots {
        let all = all
            .with(store_of("gateways"), self.gateways.clone())
            .with(store_of(PORTS), self.ports.clone())
            .with(store_of(BACKENDS), self.backends.clone())
            .with(store_of(RETRIES), self.retries.clone())
            .with(store_of(AUTHORITIES), self.authorities.clone())
            .with(store_of(CLASSES), self.classes.clone())
            .with(options_of(NEEDS), self.needs.clone());
        ROUTES.iter().fold(all, |all, (kind, resources)| {
            let sets = self.routes.get(kind).cloned().unwrap_or_default();
            all.with(store_of(resources), sets)
        })
    }

    /// The routes that had a share of a level before and have none now; those that have one, in their order, are remembered.
    pub fn routes_at(&mut self, level: &Arc<str>, now: Box<[RouteId]>) -> Vec<RouteId> {
        let gone = self.at.get(level).into_iter().flatten().filter(|id| now.binary_search(id).is_err());
        let gone = gone.cloned().collect();
        if now.is_empty() {
            self.at.remove(level);
        } else {
            self.at.insert(level.clone(), now);
        }
        gone
    }

    pub fn write_inputs(&mut self, inputs: &GatewayInputs, settings: &GatewaySettings) {
        let served: Vec<&Arc<GatewayListener>> =
            inputs.listeners().filter(|listener| listener.is_served).collect();
        let mut secured = self.write_standing(&served, settings);
        let tls: BTreeSet<u16> = self.standing.targets(PortTransport::Tls).collect();
        let hostnames = PortHostnames::of(&served);
        let slot = |target: u16| match &settings.ports {
            PortMode::Allocated { tls: (first, _), .. } => usize::from(target.saturating_sub(*first)),
            PortMode::Same { .. } => tls.range(..target).count(),
        };
        let mut of_gateways: BTreeMap<&NamespacedName, Vec<Value>> = BTreeMap::new();
        for listener in &served {
            let (Some(target), Some(protocol)) = (listener.target, listener.protocol) else { continue };
            let is_tls = protocol.ends_tls();
            let certificates = listener.certificates.iter().zip(&listener.names);
            let certificates: Vec<Value> = certificates
                .map(|((of, name), names)| {
                    let lines = hostnames.lines(listener, names).into_iter().map(
                        |line| json!({"first": line.is_first, "names": line.names, "except": line.except}),
                    );
                    let lines: Vec<Value> = lines.collect();
                    json!({"namespace": of, "name": name, "lines": lines})
                })
                .collect();
            of_gateways.entry(&listener.gateway).or_default().push(json!({
                "id": listener.id, "port": listener.port, "target": target, "tls": is_tls, "slot": if is_tls { slot(target) } else { 0 },
                "hostname": listener.hostname, "open": is_open(listener), "certificates": certificates, "way": way_of(protocol),
            }));
        }
        let gateways = of_gateways.into_iter().map(|(name, listeners)| {
            let metadata = json!({"namespace": name.0, "name": name.1});
            (
                ObjectRef::new("gateways", &name.0, &name.1),
                json!({"metadata": metadata, "listeners": listeners}),
            )
        });
        replace(&mut self.gateways, gateways.collect());
        let standing = &self.standing;
        let (plain, tcp): (Vec<u16>, Vec<u16>) = (
            standing.targets(PortTransport::Plain).collect(),
            standing.targets(PortTransport::Tcp).collect(),
        );
        let has = |part: PortPart| tls.iter().any(|target| standing.has(*target, part));
        let looked_into = tls.iter().any(|target| is_looked_into(*target, standing));
        let (ended, web) = (has(PortPart::Ended), !plain.is_empty() || has(PortPart::Web));
        let secured: Vec<Value> = tls
            .iter()
            .map(|target| secured.remove(target).unwrap_or_default().json(*target, slot(*target), standing))
            .collect();
        let ports = json!({"plain": plain, "tls": secured, "tcp": tcp, "web": web, "tlsStreams": looked_into,
            "endedStreams": ended, "streams": looked_into || !tcp.is_empty()});
        replace(&mut self.ports, vec![(ObjectRef::new("gateways", "", "ports"), ports)]);
        self.write_classes(inputs);
    }

    /// Notes what stands at ports for these listeners, and stands there yet; of ports with TLS what comes in there now.
    fn write_standing(
        &mut self,
        served: &[&Arc<GatewayListener>],
        settings: &GatewaySettings,
    ) -> BTreeMap<u16, PortWithTls> {
        if self.mode.as_ref() != Some(&settings.ports) {
            self.standing = StandingParts::default();
            self.mode = Some(settings.ports.clone());
        }
        let mut secured: BTreeMap<u16, PortWithTls> = BTreeMap::new();
        let mut needed = BTreeSet::new();
        for listener in served {
            let (Some(target), Some(protocol)) = (listener.target, listener.protocol) else { continue };
            match protocol.transport() {
                PortTransport::Plain => drop(needed.insert((target, PortPart::Plain))),
                PortTransport::Tcp => drop(needed.insert((target, PortPart::Tcp))),
                PortTransport::Tls => secured.entry(target).or_default().add(listener),
            }
        }
        for (target, port) in &secured {
            needed.extend(port.parts().map(|part| (*target, part)));
        }
        self.standing.need(&needed, self.clock.as_ref(), MOST_TLS_PORTS);
        self.open.take(served);
        let tls: BTreeSet<u16> = self.standing.targets(PortTransport::Tls).collect();
        self.clients.retain(|target, _| tls.contains(target));
        for target in tls {
            let port = secured.entry(target).or_default();
            if !self.open.is_open(target) {
                port.open.clear();
            }
            match port.clients.clone() {
                Some(clients) => drop(self.clients.insert(target, clients)),
                None if port.has_web || port.has_ended => drop(self.clients.remove(&target)),
                // Nobody is served there, so that whoever comes next may have it the same way.
                None => port.clients = self.clients.get(&target).cloned(),
            }
        }
        secured
    }

    /// Writes what classes say of all requests, with the Gateways for which that counts.
    fn write_classes(&mut self, inputs: &GatewayInputs) {
        let mut of_classes: BTreeMap<&Arc<str>, Vec<String>> = BTreeMap::new();
        for (name, gateway) in &inputs.gateways {
            of_classes.entry(&gateway.class).or_default().push(format!("{}/{}", name.0, name.1));
        }
        let said = inputs.options.iter().filter(|(_, options)| !options.is_empty());
        let said = said.filter_map(|(class, options)| Some((class, options, of_classes.remove(class)?)));
        let mut needs = BTreeSet::new();
        let mut all = Vec::new();
        for (class, options, gateways) in said {
            needs.insert("classes");
            if options.changes_headers {
                needs.extend(["class-headers", "headers", "lua"]);
            }
            let sources = options.sources.iter().map(|(option, networks)| {
                let prefixes = networks.iter().flat_map(|network| network.prefixes()).collect::<Vec<_>>();
                json!({"option": option, "prefixes": prefixes})
            });
            let json = json!({"name": class, "enforced": options.enforced, "defaults": options.defaults,
                "sources": sources.collect::<Vec<_>>(), "gateways": gateways});
            all.push((ObjectRef::new("gatewayclasses", "", class), json));
        }
        replace(&mut self.classes, all);
        self.needed.add(things(needs.difference(&self.needs_of_classes)));
        self.needed.remove(things(self.needs_of_classes.difference(&needs)), self.clock.as_ref());
        self.needs_of_classes = needs;
    }

    /// Writes in which ways requests are tried again.
    fn write_retries(&mut self) {
        let profiles = self.used.keys().filter_map(|key| key.retry.as_ref());
        let profiles: BTreeSet<&Arc<RetryProfile>> = profiles.filter(|profile| !profile.is_none()).collect();
        let profile = |profile: &Arc<RetryProfile>| {
            let name = profile.name();
            let json = json!({"name": name, "attempts": profile.attempts, "codes": profile.codes, "timed": profile.is_timed});
            (ObjectRef::new("services", "", &name), json)
        };
        replace(&mut self.retries, profiles.into_iter().map(profile).collect());
    }

    /// Of `before`, which nobody asks for any more, and `now`; both in their order.
    pub fn change_backends(
        &mut self,
        before: &[BackendKey],
        now: &[BackendKey],
        changed: &mut ChangedBackends,
    ) {
        let ChangedBackends { services, has_retries } = changed;
        for key in now.iter().filter(|key| before.binary_search(key).is_err()) {
            *has_retries |= key.retry.is_some();
            let count = self.used.entry(key.clone()).or_default();
            *count += 1;
            if *count == 1 {
                self.use_authorities(key);
                services.insert((key.namespace.clone(), key.service.clone()));
            }
        }
        for key in before.iter().filter(|key| now.binary_search(key).is_err()) {
            *has_retries |= key.retry.is_some();
            let Some(count) = self.used.get_mut(key) else { continue };
            *count -= 1;
            if *count == 0 {
                self.used.remove(key);
                self.leave_authorities(key);
                services.insert((key.namespace.clone(), key.service.clone()));
            }
        }
    }

    /// Of many backends that are verified by the same authorities, the text of these is there once for each namespace.
    fn use_authorities(&mut self, key: &BackendKey) {
        let Some(authorities) = key.tls.as_ref().and_then(|tls| tls.authorities.as_ref()) else { return };
        let name: Arc<str> = authorities.name().into();
        let count = self.verifying.entry((key.namespace.clone(), name.clone())).or_default();
        *count += 1;
        if *count == 1 {
            let metadata = json!({"namespace": key.namespace, "name": name});
            let mut json = as_of_a_secret(&authorities.pem());
            if let Some(fields) = json.as_object_mut() {
                fields.insert("metadata".to_owned(), metadata);
            }
            write(&mut self.authorities, ObjectRef::new("services", &key.namespace, &name), Some(json));
        }
    }

    fn leave_authorities(&mut self, key: &BackendKey) {
        let Some(authorities) = key.tls.as_ref().and_then(|tls| tls.authorities.as_ref()) else { return };
        let name = (key.namespace.clone(), Arc::<str>::from(authorities.name()));
        let Some(count) = self.verifying.get_mut(&name) else { return };
        *count -= 1;
        if *count == 0 {
            self.verifying.remove(&name);
            write(&mut self.authorities, ObjectRef::new("services", &name.0, &name.1), None);
        }
    }

    /// Writes the Services that routes lead to otherwise, each once for all these routes.
    pub fn write_backends(&mut self, changed: ChangedBackends) {
        if changed.has_retries {
            self.write_retries();
        }
        for (namespace, service) in changed.services {
            let first = BackendKey {
                namespace: namespace.clone(),
                service: service.clone(),
                port: 0,
                protocol: "",
                tls: None,
                retry: None,
            };
            let of_service = self
                .used
                .range(first..)
                .map(|(key, _)| key)
                .take_while(|key| key.namespace == namespace && key.service == service);
            // Until all routes are resolved again a port may be asked in two ways; both have one name.
            let backends: BTreeMap<String, Value> =
                of_service.map(|key| (backend_name(key), backend(key))).collect();
            let backends: Vec<Value> = backends.into_values().collect();
            let reference = ObjectRef::new("services", &namespace, &service);
            let metadata = json!({"namespace": namespace, "name": service});
            let json = (!backends.is_empty()).then(|| json!({"metadata": metadata, "backends": backends}));
            write(&mut self.backends, reference, json);
        }
    }

    pub fn write_route(
        &mut self,
        id: &RouteId,
        shares: &LiteMap<Arc<str>, LevelShare>,
        settings: &[(String, KeptSettings)],
    ) {
        let (kind, (namespace, name)) = id;
        let resource = ROUTES.iter().find(|(known, _)| known == kind).map_or("", |(_, resource)| resource);
        let entries = shares.values().flat_map(|share| &share.entries);
        let routes: Vec<Value> = entries
            .map(|entry| {
                let kind = if entry.wanted.is_listed() {
                    "listed"
                } else if entry.wanted.shape == crate::matching::MatchShape::Exact {
                    "exact"
                } else {
                    "prefix"
                };
                json!({"kind": kind, "key": entry.wanted.key(), "value": entry.value})
            })
            .collect();
        let first = shares.iter().filter(|(_, share)| share.is_first);
        let levels: Vec<Value> =
            first.map(|(level, share)| json!({"key": level, "chunks": share.list})).collect();
        let is_listed =
            levels.iter().any(|level| level["chunks"].as_array().is_some_and(|all| !all.is_empty()));
        let rules: Vec<Value> = settings
            .iter()
            .map(|(name, settings)| {
                let all: Vec<String> =
                    settings.iter().map(|(name, value)| format!("{name}={value}")).collect();
                json!({"name": name, "settings": all.join("|")})
            })
            .collect();
        let mut needs: BTreeSet<&'static str> = BTreeSet::new();
        if is_listed {
            needs.insert("lists");
        }
        let has = |name: &str| settings.iter().flat_map(|(_, all)| all).any(|(known, _)| *known == name);
        needs.extend(NEEDING.iter().filter(|(setting, _)| has(setting)).map(|(_, need)| *need));
        if !needs.is_empty() {
            needs.insert("lua");
        }
        if has("tries-within") {
            needs.insert("tries");
        }
        let is_there = !rules.is_empty() && !routes.is_empty();
        self.need(id, if is_there { needs } else { BTreeSet::new() });
        let metadata = json!({"namespace": namespace, "name": name});
        let json = is_there
            .then(|| json!({"metadata": metadata, "routes": routes, "levels": levels, "rules": rules}));
        if let Some(store) = self.routes.get_mut(kind) {
            write(store, ObjectRef::new(resource, namespace, name), json);
        }
    }

    fn need(&mut self, id: &RouteId, now: BTreeSet<&'static str>) {
        let before = self.needs_of.remove(id).unwrap_or_default();
        self.needed.add(things(now.difference(&before)));
        self.needed.remove(things(before.difference(&now)), self.clock.as_ref());
        if !now.is_empty() {
            self.needs_of.insert(id.clone(), now);
        }
    }

    /// Writes what is needed at all.
    pub fn write_needs(&mut self) {
        if !self.needed.store().is_unchanged_since(&self.needs) {
            self.needs = Arc::new(self.needed.store().clone());
        }
    }
}

fn things<'n>(needs: impl Iterator<Item = &'n &'static str>) -> DemandedObjects {
    needs.map(|need| (Arc::new(ObjectRef::new(NEEDS, "", need)), b"{}".as_slice().into())).collect()
}

fn is_open(listener: &GatewayListener) -> bool {
    *listener.hostname == *ANY
}

fn backend(key: &BackendKey) -> Value {
    let profile = match &key.retry {
        Some(retry) => retry.name(),
        None if key.is_stream() => STREAMS.into(),
        None => PROFILE.into(),
    };
    let mut backend =
        json!({"name": backend_name(key), "port": key.port, "protocol": key.protocol, "profile": profile});
    if let (Some(tls), Value::Object(fields)) = (&key.tls, &mut backend) {
        let authorities = tls.authorities.as_ref().map(|authorities| authorities.name());
        let client = tls.client.as_ref().map(|one| json!({"namespace": one.secret.0, "name": one.secret.1}));
        let tls = json!({
            "hostname": tls.hostname, "namespace": tls.policy.0, "policy": tls.policy.1, "authorities": authorities, "client": client,
        });
        fields.insert("tls".to_owned(), tls);
    }
    backend
}

/// Certificates of authorities as a Secret would have them, so that they are read as strictly.
fn as_of_a_secret(pem: &str) -> Value {
    json!({"data": {"ca.crt": STANDARD.encode(pem)}})
}

/// Puts an object there, or takes it away. The same bytes are no change.
fn write(store: &mut Arc<Snapshot>, reference: ObjectRef, json: Option<Value>) {
    let reference = Arc::new(reference);
    match json {
        Some(json) => {
            let json = ObjectJson::packed(json.to_string().into_bytes());
            let is_same =
                store.get(&reference.namespace, &reference.name).is_some_and(|known| known.json == json);
            if !is_same {
                let key: Key = [reference.namespace.clone(), reference.name.clone()].into();
                Arc::make_mut(store).apply(Object { reference, version: 0, json }, key);
            }
        }
        None if store.get(&reference.namespace, &reference.name).is_some() => {
            Arc::make_mut(store).remove(&reference);
        }
        None => {}
    }
}

/// Makes a store hold these objects and no others.
fn replace(store: &mut Arc<Snapshot>, all: Vec<(ObjectRef, Value)>) {
    let names: BTreeSet<NamespacedName> =
        all.iter().map(|(reference, _)| (reference.namespace.clone(), reference.name.clone())).collect();
    let gone: Vec<ObjectRef> = store
        .iter()
        .map(|object| &object.reference)
        .filter(|reference| !names.contains(&(reference.namespace.clone(), reference.name.clone())))
        .map(|reference| ObjectRef::clone(reference))
        .collect();
    gone.into_iter().for_each(|reference| write(store, reference, None));
    all.into_iter().for_each(|(reference, json)| write(store, reference, Some(json)));
}
