//! Services that are reached at TCP ports of HAProxy: who has which of the ports that the operator lists in `tcpPorts`.
//!
//! Services ask for ports by annotations; ConfigMaps and custom resources of other controllers ask for Services. Of two that ask for the same port the older one has
//! it, as with hosts. `routes "tcp"` has a set for each port that somebody has, `routes "tcp ports"` all that are listed.

mod claims;
mod config_maps;
mod custom_resources;
mod holders;
mod ports;
#[cfg(test)]
mod tests;

pub use crate::options::tcp_ports::is_ports;
pub(crate) use ports::ListedPorts;

use crate::{
    claims::Port,
    findings::certificates::{NamedCertificates, SecretsAtTime},
    names,
    objects::services,
    options::Settings,
    store_names::store_of,
};
use claims::{AskedBy, AskedPorts, TcpClaim, TcpTls};
use haptic_model::{ActiveConfig, Findings, Object, ObjectRef, Snapshot, Snapshots};
use holders::{PortContest, PortHolders};
use serde_json::{Map, Value, json};
use std::{
    collections::{BTreeMap, BTreeSet, HashSet},
    sync::Arc,
};

/// The names of these stores: no watched resource has one.
const PORTS: &str = "tcp ports";
const NEEDS: &str = "tcp";

/// The ending of the names of backends: no port of a Service has a colon, so that others have other names.
const TCP_BACKEND: &str = ":tcp";

/// Whether `extraContext.tcpPorts` lists `port`.
#[must_use]
pub fn lists(context: &Map<String, Value>, port: u16) -> bool {
    ListedPorts::of(context).has(port)
}

/// The ports that the operator lists, and who has them.
#[derive(Clone, Debug)]
pub(crate) struct TcpModel {
    /// The Services as they were read.
    services: Arc<Snapshot>,
    /// The custom resources as they were read, by the name of the watched resource.
    resources: BTreeMap<Arc<str>, Arc<Snapshot>>,
    inputs: Option<TcpInputs>,
    asked: BTreeMap<Arc<ObjectRef>, AskedPorts>,
    sets: Arc<Snapshot>,
    /// Of ports whose holder has TLS end here.
    tls: BTreeMap<u16, TcpTls>,
    ports: Arc<Snapshot>,
    findings: Findings,
    certificates: NamedCertificates,
    /// Whether what is found at certificates may be other than when it was decided.
    is_outdated: bool,
}

/// The things that decide besides the objects themselves.
#[derive(Clone, Debug, PartialEq)]
struct TcpInputs {
    listed: ListedPorts,
    settings: Settings,
    config_maps: Vec<config_maps::NamedConfigMap>,
}

impl Default for TcpModel {
    fn default() -> Self {
        Self {
            services: Arc::new(Snapshot::full()),
            resources: BTreeMap::new(),
            inputs: None,
            asked: BTreeMap::new(),
            sets: Arc::new(empty()),
            tls: BTreeMap::new(),
            ports: Arc::new(empty()),
            findings: Findings::default(),
            certificates: NamedCertificates::default(),
            is_outdated: false,
        }
    }
}

fn empty() -> Snapshot {
    let mut store = Snapshot::full();
    store.set_synced();
    store
}

impl TcpModel {
    /// The Secrets as they are when [`Self::beside`] is called next, at a time.
    pub(crate) fn set_secrets(&mut self, secrets: &SecretsAtTime) {
        self.is_outdated |= self.certificates.update(&secrets.without_default()).is_some();
    }

    /// The facts about the certificates of ports with TLS.
    pub(crate) fn certificates(&self) -> &NamedCertificates {
        &self.certificates
    }

    /// `all` with the stores of ports, if Services are watched.
    pub(crate) fn beside(
        &mut self,
        config: &ActiveConfig,
        snapshots: &Snapshots,
        all: Snapshots,
    ) -> Snapshots {
        let Some(services) = services::watched(config, snapshots) else {
            *self = Self::default();
            return all;
        };
        let context = &config.spec.templating_settings.extra_context;
        let inputs = TcpInputs {
            listed: ListedPorts::of(context),
            settings: Settings::of(context),
            config_maps: config_maps::named(context),
        };
        let is_new = self.inputs.as_ref() != Some(&inputs);
        let mut is_moved = std::mem::take(&mut self.is_outdated) || is_new;
        if is_new {
            let certificates = std::mem::take(&mut self.certificates);
            *self = Self { certificates, ..Self::default() };
        }
        is_moved |= self.read_services(&services, &inputs.settings);
        is_moved |= self.read_resources(config, snapshots);
        let (of_config_maps, missing) = config_maps::read(config, snapshots, &inputs.config_maps);
        is_moved |= self.replace_config_maps(of_config_maps);
        if is_moved {
            self.decide(&inputs, &services);
        }
        self.write_ports(&inputs, &missing);
        self.inputs = Some(inputs);
        all.with(store_of(NEEDS), self.sets.clone()).with(store_of(PORTS), self.ports.clone())
    }

    pub(crate) fn findings(&self) -> &Findings {
        &self.findings
    }

    /// Whether any Service asks for something else than before.
    fn read_services(&mut self, services: &Arc<Snapshot>, settings: &Settings) -> bool {
        let before = std::mem::replace(&mut self.services, services.clone());
        let mut is_moved = false;
        // While nothing is moved, nobody asks for something else.
        let mut led_to: Option<HashSet<(Arc<str>, Arc<str>)>> = None;
        for difference in services.differences_from(&before) {
            let Some((service, _)) = difference.after.or(difference.before) else { continue };
            let now = difference.after.and_then(|(service, _)| AskedPorts::of_service(service, settings));
            let reference = &service.reference;
            is_moved |= match now {
                // Its ports may be others.
                Some(now) => {
                    self.asked.insert(reference.clone(), now);
                    true
                }
                None => {
                    self.asked.remove(reference).is_some()
                        || (!is_moved
                            && led_to
                                .get_or_insert_with(|| services_of(&self.asked))
                                .contains(&(reference.namespace.clone(), reference.name.clone())))
                }
            };
        }
        is_moved
    }

    /// Whether any custom resource asks for something else than before.
    fn read_resources(&mut self, config: &ActiveConfig, snapshots: &Snapshots) -> bool {
        let nothing = Arc::new(Snapshot::full());
        let mut before = std::mem::take(&mut self.resources);
        let mut is_moved = false;
        let watched = custom_resources::watched(&config.spec).filter_map(|name| {
            let store = snapshots.get(name).filter(|store| !store.is_on_demand())?;
            Some((Arc::<str>::from(name), store.clone()))
        });
        let now: BTreeMap<Arc<str>, Arc<Snapshot>> = watched.collect();
        let gone = before.keys().filter(|name| !now.contains_key(*name)).cloned().collect::<Vec<_>>();
        for name in now.keys().cloned().chain(gone) {
            let before = before.remove(&name).unwrap_or_else(|| nothing.clone());
            for difference in now.get(&name).unwrap_or(&nothing).differences_from(&before) {
                let Some((object, _)) = difference.after.or(difference.before) else { continue };
                let asked = difference.after.and_then(|(object, _)| custom_resources::asked(object));
                is_moved = true;
                match asked {
                    Some(asked) => drop(self.asked.insert(object.reference.clone(), asked)),
                    None => drop(self.asked.remove(&object.reference)),
                }
            }
        }
        self.resources = now;
        is_moved
    }

    fn replace_config_maps(&mut self, now: BTreeMap<Arc<ObjectRef>, AskedPorts>) -> bool {
        let before: BTreeMap<_, _> =
            self.asked.extract_if(.., |_, claims| claims.by == AskedBy::ConfigMap).collect();
        let is_moved = before != now;
        self.asked.extend(now);
        is_moved
    }

    fn decide(&mut self, inputs: &TcpInputs, services: &Arc<Snapshot>) {
        let claims = self.asked.values().flat_map(|asked| &asked.claims);
        let certificates: HashSet<_> = claims.filter_map(|claim| claim.tls.as_ref()?.secret()).collect();
        self.certificates.name_only(&certificates);
        let contest = PortContest { listed: &inputs.listed, services, certificates: &self.certificates };
        let PortHolders { sets, tls, found } = PortHolders::of(&self.asked, &contest);
        self.sets = Arc::new(merged(&self.sets, sets));
        self.tls = tls;
        let before: BTreeSet<Arc<ObjectRef>> =
            self.findings.iter().map(|(object, _)| object.clone()).collect();
        for object in before.into_iter().filter(|object| !found.contains_key(object)) {
            self.findings.set(&object, Vec::new());
        }
        for (object, findings) in found {
            self.findings.set(&object, crate::sentences::few(findings));
        }
    }

    /// The listed ports, with who has them as far as the frontend must know.
    fn write_ports(&mut self, inputs: &TcpInputs, missing: &[String]) {
        let of = |port: u16| match self.tls.get(&port) {
            Some(tls) => json!({"port": port, "tls": tls.json()}),
            None => json!({ "port": port }),
        };
        let ports: Vec<Value> = inputs.listed.iter().map(of).collect();
        let json = json!({"metadata": {"namespace": "", "name": "all"}, "ports": ports,
            "problems": inputs.listed.problems, "missing": missing});
        let mut store = empty();
        store.put(ObjectRef::new(PORTS, "", "all"), &json);
        self.ports = Arc::new(merged(&self.ports, store));
    }
}

/// The Services that claims lead to.
fn services_of(asked: &BTreeMap<Arc<ObjectRef>, AskedPorts>) -> HashSet<(Arc<str>, Arc<str>)> {
    let claims = asked.values().flat_map(|asked| &asked.claims);
    claims.map(|claim| (claim.namespace.clone(), claim.backend.service.clone())).collect()
}

/// The objects of `now` in the memory of `before`, where they are the same.
fn merged(before: &Arc<Snapshot>, now: Snapshot) -> Snapshot {
    let mut merged = Snapshot::clone(before);
    let gone: Vec<Arc<ObjectRef>> = before
        .iter()
        .filter(|object| now.get(&object.reference.namespace, &object.reference.name).is_none())
        .map(|object| object.reference.clone())
        .collect();
    for object in gone {
        merged.remove(&object);
    }
    for object in now.iter() {
        let (namespace, name) = (&object.reference.namespace, &object.reference.name);
        if before.get(namespace, name).is_none_or(|known| known.json != object.json) {
            merged.apply(Object::clone(object), [namespace.clone(), name.clone()].into());
        }
    }
    merged
}

/// The set of a port that somebody has.
fn enter(store: &mut Snapshot, claim: &TcpClaim) {
    let (namespace, port) = (&claim.namespace, claim.port.to_string());
    let of_service = match &claim.backend.port {
        Port::Number(number) => json!(number),
        Port::Name(name) => json!(name),
    };
    let parts = [&**namespace, &port, &claim.backend.service, &claim.backend.port.to_string()];
    // Servers that are told of clients otherwise are another backend's, so that it takes no reload.
    let version = claim.send_proxy.map(|version| format!("-{version}")).unwrap_or_default();
    let name = names::name_of(&parts, "").unwrap_or_default() + TCP_BACKEND + &version;
    let mut fields = Map::from_iter([
        ("metadata".to_owned(), json!({"namespace": namespace, "name": port})),
        ("port".to_owned(), json!(claim.port)),
        ("acceptProxy".to_owned(), json!(claim.accept_proxy)),
        ("backend".to_owned(), json!({"name": name, "service": claim.backend.service, "port": of_service})),
    ]);
    if let Some(version) = claim.send_proxy {
        fields.insert("sendProxy".to_owned(), json!(version));
    }
    if let Some(networks) = &claim.networks {
        fields.insert("networks".to_owned(), networks.clone());
    }
    store.put(ObjectRef::new(NEEDS, namespace, &port), &Value::Object(fields));
}

impl TcpTls {
    /// Namespace and name.
    fn secret(&self) -> Option<(Arc<str>, Arc<str>)> {
        match self {
            Self::Secret { namespace, name } => Some((namespace.clone(), name.clone())),
            Self::All => None,
        }
    }

    fn json(&self) -> Value {
        match self {
            Self::Secret { namespace, name } => json!({"namespace": namespace, "secret": name}),
            Self::All => json!({"all": true}),
        }
    }
}
