//! The inputs of routes: classes, Gateways, ListenerSets and their listeners, and what is decided about them.

use super::{
    authorities::AuthorityText,
    certificates::CertificateNames,
    class_options::{self, ClassOptions, ClassParameters},
    client_certificates::GuardedPorts,
    conditions::{met, unmet},
    features,
    grants::Grants,
    hostname::ANY,
    listeners::{Allowed, ClientValidation, Conflicts, GatewayListener, ListenerContext, Owner, Protocol},
    objects::{
        ClassSpec, GROUP, GatewayResource, GatewaySpec, GatewayTls, GrantSpec, LabelsOfNamespaces,
        ListenerSetSpec, ListenerSpec, PolicySpec, ServiceFacts,
    },
    overlaps,
    parents::ParentName,
    parsed::ParsedObjects,
    policies::{BackendClient, BackendPolicies, PolicySurroundings},
    ports::{self, AskedPort, GivenPorts, PortDemand, PortTransport, PortsOfServices},
    settings::GatewaySettings,
    written_ports::WrittenPorts,
};
use crate::{matching::path::Spelling, ownership::owners::Owners};
use haptic_model::gateway::{
    ClassVerdict, GatewayPort, GatewayVerdict, ListenerSetVerdict, NamespacedName, StatusCondition,
};
use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::Arc,
};

/// The objects that were read.
pub(super) struct Sources<'s> {
    pub classes: &'s ParsedObjects<GatewayResource<ClassSpec>>,
    pub gateways: &'s ParsedObjects<GatewayResource<GatewaySpec>>,
    pub listener_sets: &'s ParsedObjects<GatewayResource<ListenerSetSpec>>,
    pub grants: &'s ParsedObjects<GatewayResource<GrantSpec>>,
    pub namespaces: &'s ParsedObjects<LabelsOfNamespaces>,
    /// Those that say which ports Gateways have.
    pub services: &'s [Arc<ServiceFacts>],
    pub policies: &'s ParsedObjects<GatewayResource<PolicySpec>>,
    pub certificate: &'s dyn Fn(&NamespacedName) -> Result<CertificateNames, String>,
    /// The certificates of authorities in a ConfigMap, or why there are none.
    pub authority: &'s dyn Fn(&NamespacedName) -> Result<AuthorityText, String>,
    /// Whether a Service may have a port of that name.
    pub has_port: &'s dyn Fn(&NamespacedName, &str) -> bool,
    /// The data of a ConfigMap that a class names, or why there is none.
    pub parameters: &'s dyn Fn(&NamespacedName) -> Result<ClassParameters, String>,
}

/// The parts of the inputs before that are remembered.
pub(super) struct Remembered<'r> {
    pub ports: &'r GivenPorts,
    /// Options of classes as they were when they could be read.
    pub options: &'r BTreeMap<Arc<str>, Arc<ClassOptions>>,
}

/// All of it.
#[derive(Debug, Default)]
pub(super) struct GatewayInputs {
    pub classes: BTreeMap<Arc<str>, Arc<ClassVerdict>>,
    /// The classes whose Gateways are served, with what they say of all requests.
    pub options: BTreeMap<Arc<str>, Arc<ClassOptions>>,
    pub gateways: BTreeMap<NamespacedName, ResolvedGateway>,
    pub listener_sets: BTreeMap<NamespacedName, ResolvedListenerSet>,
    pub grants: Grants,
    pub namespaces: HashMap<Arc<str>, BTreeMap<String, String>>,
    pub ports: GivenPorts,
    pub policies: BackendPolicies,
    /// How many entries of maps one route may become.
    pub routes_per_object: usize,
    /// How paths are compared.
    pub spelling: Spelling,
    /// The hosts that belong to some namespaces.
    pub owners: Arc<Owners>,
}

/// A Gateway of ours.
#[derive(Debug, PartialEq)]
pub(super) struct ResolvedGateway {
    pub class: Arc<str>,
    /// Its own.
    pub listeners: Vec<Arc<GatewayListener>>,
    /// Without what routes add.
    pub verdict: GatewayVerdict,
    /// The Secret whose certificate servers are shown.
    pub client: Option<NamespacedName>,
}

/// A ListenerSet at a Gateway of ours.
#[derive(Debug, PartialEq)]
pub(super) struct ResolvedListenerSet {
    pub listeners: Vec<Arc<GatewayListener>>,
    /// Without what routes add.
    pub verdict: ListenerSetVerdict,
    pub gateway: NamespacedName,
}

/// A Gateway while it is read.
struct Draft<'s> {
    gateway: &'s GatewayResource<GatewaySpec>,
    own: Vec<GatewayListener>,
    sets: Vec<(&'s GatewayResource<ListenerSetSpec>, bool, Vec<GatewayListener>)>,
    refused: Option<StatusCondition>,
    /// The Secret whose certificate servers are shown, or why it is none.
    client: Result<Option<NamespacedName>, (&'static str, String)>,
}

impl GatewayInputs {
    pub fn of(settings: &GatewaySettings, sources: &Sources<'_>, remembered: &Remembered<'_>) -> Self {
        let (classes, options) = classes(settings, sources, remembered.options);
        let grants = Grants::of(sources.grants);
        let namespaces: HashMap<_, _> = sources
            .namespaces
            .iter()
            .map(|((_, name), namespace)| (name.clone(), namespace.metadata.labels.clone()))
            .collect();
        let context = ListenerContext {
            grants: &grants,
            namespaces: &namespaces,
            certificate: sources.certificate,
            authority: sources.authority,
            owners: &settings.owners,
        };
        let mut drafts = drafts(&options, sources, &context);
        let mut known = BTreeSet::new();
        let asked: Vec<PortDemand> = ports_of(&drafts, |listener| listener.is_served)
            .filter(|port| known.insert(port.asked.clone()))
            .collect();
        // Its Service leads there all the same.
        let kept: Vec<PortDemand> =
            ports_of(&drafts, |listener| !listener.is_served && !listener.is_conflicted())
                .filter(|port| known.insert(port.asked.clone()))
                .collect();
        let written_ports = WrittenPorts::of(sources.services);
        let uid = |gateway: &NamespacedName| Some(&*sources.gateways.get(gateway)?.metadata.uid);
        let written = |gateway: &NamespacedName, port: u16| written_ports.at(gateway, uid(gateway)?, port);
        let lead_to = |gateway: &NamespacedName, target: u16| written_ports.lead_to(gateway, target);
        let services = PortsOfServices { written: &written, lead_to: &lead_to };
        let ports = ports::give(settings, &asked, &kept, remembered.ports, services);
        let kept: GivenPorts = kept
            .into_iter()
            .filter_map(|port| Some((port.asked.clone(), *ports.get(&port.asked)?)))
            .collect();
        assign(&mut drafts, &ports, settings.ports.is_same());
        let judged_by = PolicySurroundings { authority: sources.authority, has_port: sources.has_port };
        let policies = BackendPolicies::of(sources.policies, judged_by);
        let (routes_per_object, spelling) = (settings.routes_per_object, settings.spelling);
        let mut inputs = Self {
            classes,
            options,
            grants,
            namespaces,
            ports,
            policies,
            routes_per_object,
            spelling,
            owners: settings.owners.clone(),
            ..Self::default()
        };
        drafts.into_iter().for_each(|draft| inputs.take(draft, &kept));
        inputs
    }

    fn take(&mut self, draft: Draft<'_>, kept: &GivenPorts) {
        let Draft { gateway, own, sets, refused, client } = draft;
        let name = gateway.metadata.key();
        let mut used = ports_kept_by(&name, kept);
        let all = own.iter().chain(sets.iter().flat_map(|(_, _, listeners)| listeners));
        for listener in all.filter(|listener| listener.is_served) {
            used.extend(listener.target.map(|target| (listener.port, target)));
        }
        let mut attached = 0;
        for (set, is_allowed, listeners) in sets {
            let conditions = vec![set_accepted(is_allowed, refused.is_some(), &listeners)];
            let is_accepted = conditions.iter().all(|one| one.holds);
            attached += usize::from(is_accepted);
            let verdict = ListenerSetVerdict {
                generation: set.metadata.generation,
                conditions,
                listeners: listeners.iter().map(|listener| listener.verdict(0)).collect(),
            };
            let listeners = listeners.into_iter().map(Arc::new).collect();
            let resolved = ResolvedListenerSet { listeners, verdict, gateway: name.clone() };
            self.listener_sets.insert(set.metadata.key(), resolved);
        }
        let infrastructure = gateway.spec.infrastructure.as_ref();
        let address = |address: &super::objects::Address| {
            (address.kind.clone().unwrap_or_else(|| "IPAddress".into()), address.value.clone())
        };
        let verdict = GatewayVerdict {
            generation: gateway.metadata.generation,
            uid: gateway.metadata.uid.clone(),
            conditions: gateway_conditions(gateway, refused, &own, client.as_ref().err()),
            listeners: own.iter().map(|listener| listener.verdict(0)).collect(),
            attached_listener_sets: attached,
            ports: used.into_iter().map(|(port, target)| GatewayPort { port, target }).collect(),
            addresses: gateway.spec.addresses.iter().map(address).collect(),
            labels: infrastructure.map(|one| one.labels.clone()).unwrap_or_default(),
            annotations: infrastructure.map(|one| one.annotations.clone()).unwrap_or_default(),
        };
        let listeners = own.into_iter().map(Arc::new).collect();
        let (class, client) = (gateway.spec.gateway_class_name.clone(), client.ok().flatten());
        self.gateways.insert(name, ResolvedGateway { class, listeners, verdict, client });
    }

    /// All listeners.
    pub fn listeners(&self) -> impl Iterator<Item = &Arc<GatewayListener>> {
        let own = self.gateways.values().flat_map(|gateway| &gateway.listeners);
        own.chain(self.listener_sets.values().flat_map(|set| &set.listeners))
    }

    /// The certificate that a Gateway shows servers.
    pub fn client(&self, gateway: &NamespacedName) -> Option<BackendClient> {
        let secret = self.gateways.get(gateway)?.client.clone()?;
        Some(BackendClient { gateway: gateway.clone(), secret })
    }

    /// The listeners of a route's parent, and whether it is one of ours at all.
    pub fn parent(&self, (kind, name): &ParentName) -> Option<&[Arc<GatewayListener>]> {
        match *kind {
            "Gateway" => self.gateways.get(name).map(|gateway| gateway.listeners.as_slice()),
            "ListenerSet" => self.listener_sets.get(name).map(|set| set.listeners.as_slice()),
            _ => None,
        }
    }
}

/// Said of all classes: who would know more had to have a right to definitions.
const UNREAD_VERSION: &str = "kinds of gateway.networking.k8s.io/v1 are served; which version their definitions are of is not looked at";

type OptionsOfClasses = BTreeMap<Arc<str>, Arc<ClassOptions>>;

/// Our classes, and the options of those whose Gateways are served. Where parameters cannot be read those count that were the last ones; where
/// there are none nobody knows what is enforced, and nothing is served.
fn classes(
    settings: &GatewaySettings,
    sources: &Sources<'_>,
    remembered: &OptionsOfClasses,
) -> (BTreeMap<Arc<str>, Arc<ClassVerdict>>, OptionsOfClasses) {
    let ours = sources.classes.iter().filter(|(_, class)| class.spec.controller_name == settings.controller);
    let (mut verdicts, mut options) = (BTreeMap::new(), BTreeMap::new());
    for ((_, name), class) in ours {
        let parameters = class.spec.parameters_ref.as_ref();
        let read = options_of(parameters, settings, sources.parameters);
        // One that names another configuration is another controller's.
        let known = remembered.get(name).filter(|_| parameters.and_then(class_options::named_by).is_some());
        let accepted = match &read {
            Ok(options) => {
                let ignored =
                    options.ignored_sentence().map(|sentence| format!("; {sentence}")).unwrap_or_default();
                met("Accepted", "Accepted", format!("the class is ours{ignored}"))
            }
            Err(why) if known.is_some() => {
                let message =
                    format!("{why}: what was the last to be good counts until this controller ends");
                unmet("Accepted", "InvalidParameters", message)
            }
            Err(why) => unmet("Accepted", "InvalidParameters", why.clone()),
        };
        let counting = read.ok().map(Arc::new).or_else(|| known.cloned());
        let is_served = counting.is_some();
        options.extend(counting.map(|counting| (name.clone(), counting)));
        let version = met("SupportedVersion", "SupportedVersion", UNREAD_VERSION);
        let verdict = ClassVerdict {
            generation: class.metadata.generation,
            conditions: vec![accepted, version],
            features: features::claimed(settings),
            is_served,
        };
        verdicts.insert(name.clone(), Arc::new(verdict));
    }
    (verdicts, options)
}

/// The options of a class with these parameters for all requests.
///
/// # Errors
/// Why it cannot have them.
fn options_of(
    parameters: Option<&serde_json::Value>,
    settings: &GatewaySettings,
    read: &dyn Fn(&NamespacedName) -> Result<ClassParameters, String>,
) -> Result<ClassOptions, String> {
    let Some(reference) = parameters else { return Ok(ClassOptions::of(&settings.options)) };
    let Some(name) = class_options::named_by(reference) else {
        return bad_parameters(reference, settings)
            .map_or_else(|| Ok(ClassOptions::of(&settings.options)), Err);
    };
    let options = read(&name).and_then(|data| ClassOptions::with(&data, &settings.options));
    options.map_err(|why| format!("parametersRef names ConfigMap {}/{}: {why}", name.0, name.1))
}

/// Why a class cannot have parameters other than a ConfigMap: what they name is in force, or nobody follows it.
fn bad_parameters(reference: &serde_json::Value, settings: &GatewaySettings) -> Option<String> {
    let text = |field: &str| reference.get(field).and_then(serde_json::Value::as_str).unwrap_or_default();
    let (kind, group) = (text("kind"), text("group"));
    if (group, kind) != ("haproxy-haptic.org", "HAProxyTemplateConfig") {
        return Some(format!(
            "parametersRef names a {kind} of group {group:?}; it must be a ConfigMap of group \"\", or a HAProxyTemplateConfig of haproxy-haptic.org"
        ));
    }
    let (namespace, name) = &settings.config;
    let is_in_force = text("name") == &**name && text("namespace") == &**namespace;
    (!is_in_force).then(|| {
        format!(
            "parametersRef names HAProxyTemplateConfig {}/{}; the one in force is {namespace}/{name}",
            text("namespace"),
            text("name")
        )
    })
}

/// The Gateways of our classes, the oldest first.
fn drafts<'s>(
    classes: &OptionsOfClasses,
    sources: &Sources<'s>,
    context: &ListenerContext<'_>,
) -> Vec<Draft<'s>> {
    let mut gateways: Vec<&Arc<GatewayResource<GatewaySpec>>> = sources
        .gateways
        .iter()
        .map(|(_, gateway)| gateway)
        .filter(|gateway| classes.contains_key(&gateway.spec.gateway_class_name))
        .collect();
    gateways.sort_by_cached_key(|gateway| gateway.metadata.seniority());
    let mut sets: BTreeMap<NamespacedName, Vec<&'s GatewayResource<ListenerSetSpec>>> = BTreeMap::new();
    for (_, set) in sources.listener_sets.iter() {
        let parent = &set.spec.parent_ref;
        let is_gateway = parent.group.as_deref().is_none_or(|group| group == GROUP)
            && parent.kind.as_deref().is_none_or(|kind| kind == "Gateway");
        if is_gateway {
            let namespace = parent.namespace.as_ref().unwrap_or(&set.metadata.namespace);
            sets.entry((namespace.clone(), parent.name.clone())).or_default().push(set);
        }
    }
    sets.values_mut().for_each(|sets| sets.sort_by_cached_key(|set| set.metadata.seniority()));
    gateways
        .into_iter()
        .map(|gateway| {
            let sets = sets.get(&gateway.metadata.key()).map(Vec::as_slice).unwrap_or_default();
            draft(gateway, sets, context)
        })
        .collect()
}

fn draft<'s>(
    gateway: &'s GatewayResource<GatewaySpec>,
    sets: &[&'s GatewayResource<ListenerSetSpec>],
    context: &ListenerContext<'_>,
) -> Draft<'s> {
    let name = gateway.metadata.key();
    let refused = refusal(gateway);
    let tls = gateway.spec.tls.as_ref();
    let read = |specs: &[ListenerSpec], owner: &Owner<'_>| {
        specs.iter().map(|spec| GatewayListener::read(spec, owner, context)).collect::<Vec<_>>()
    };
    let mut guarded = GuardedPorts::default();
    let mut guard = |listeners: &mut [GatewayListener], owner: &Owner<'_>, is_allowed: bool| {
        for listener in listeners {
            if let Some(tls) = tls.filter(|_| listener.protocol.is_some_and(Protocol::ends_tls))
                && listener.is_accepted()
            {
                guarded.guard(tls, listener, owner, context);
            }
            listener.is_served &= is_allowed && refused.is_none();
        }
    };
    let prefix = format!("{}/{}", name.0, name.1);
    let owner = Owner { kind: "Gateway", namespace: &name.0, prefix: prefix.clone(), gateway: &name };
    let mut own = read(&gateway.spec.listeners, &owner);
    let mut conflicts = Conflicts::among(&mut own);
    guard(&mut own, &owner, true);
    let client = tls.map_or(Ok(None), |tls| tls.client(&owner, context));
    let allowed = gateway.spec.allowed_listeners.as_ref().and_then(|allowed| allowed.namespaces.as_ref());
    let allowed = Allowed::of(allowed, &name.0, Allowed::None);
    let sets = sets.iter().map(|set| {
        let namespace = &set.metadata.namespace;
        let is_allowed = allowed.admit(namespace, context.namespaces);
        let prefix = format!("{prefix}/{namespace}/{}", set.metadata.name);
        let owner = Owner { kind: "ListenerSet", namespace, prefix, gateway: &name };
        let mut listeners = read(&set.spec.listeners, &owner);
        if is_allowed {
            listeners.iter_mut().for_each(|listener| conflicts.judge(listener));
        }
        guard(&mut listeners, &owner, is_allowed);
        (*set, is_allowed, listeners)
    });
    let mut sets: Vec<_> = sets.collect();
    let of_sets = sets.iter_mut().flat_map(|(_, _, listeners)| listeners);
    overlaps::note(own.iter_mut().chain(of_sets));
    Draft { gateway, own, sets, refused, client }
}

/// Why nothing of a Gateway is served.
fn refusal(gateway: &GatewayResource<GatewaySpec>) -> Option<StatusCondition> {
    if gateway.spec.infrastructure.as_ref().is_some_and(|one| one.parameters_ref.is_some()) {
        let message = "infrastructure.parametersRef is not supported: leave it out";
        return Some(unmet("Accepted", "InvalidParameters", message));
    }
    let known = |kind: &str| matches!(kind, "IPAddress" | "Hostname");
    let unknown = gateway.spec.addresses.iter().filter_map(|address| address.kind.as_deref());
    unknown.into_iter().find(|kind| !known(kind)).map(|kind| {
        let message = format!("addresses of type {kind} are not supported; IPAddress and Hostname are");
        unmet("Accepted", "UnsupportedAddress", message)
    })
}

/// The ports of some listeners, those of older Gateways first.
fn ports_of<'d>(
    drafts: &'d [Draft<'_>],
    is_one: impl Fn(&GatewayListener) -> bool + 'd,
) -> impl Iterator<Item = PortDemand> + 'd {
    let all = drafts.iter().flat_map(|draft| {
        let own = draft.own.iter().map(|listener| (&draft.gateway.metadata.namespace, listener));
        let allowed = draft.sets.iter().filter(|(_, is_allowed, _)| *is_allowed);
        let of_sets = allowed.flat_map(|(set, _, listeners)| {
            listeners.iter().map(|listener| (&set.metadata.namespace, listener))
        });
        own.chain(of_sets)
    });
    all.filter(move |(_, listener)| is_one(listener)).filter_map(|(namespace, listener)| {
        let (gateway, transport) = (listener.gateway.clone(), listener.protocol?.transport());
        let asked = AskedPort { gateway, port: listener.port, transport };
        Some(PortDemand { asked, namespace: namespace.clone() })
    })
}

/// A Gateway's part of those that are `kept`: its ports and those of HAProxy behind them.
fn ports_kept_by(gateway: &NamespacedName, kept: &GivenPorts) -> BTreeMap<u16, u16> {
    let first = AskedPort { gateway: gateway.clone(), port: 0, transport: PortTransport::Plain };
    let own = kept.range(first..).take_while(|(one, _)| one.gateway == *gateway);
    own.map(|(one, target)| (one.port, *target)).collect()
}

/// Gives listeners their ports. Gateways that share ports conflict as listeners of one do.
fn assign(drafts: &mut [Draft<'_>], ports: &GivenPorts, is_shared: bool) {
    let mut taken: BTreeMap<(u16, Arc<str>), Arc<str>> = BTreeMap::new();
    let mut transports: BTreeMap<u16, PortTransport> = BTreeMap::new();
    let mut clients: BTreeMap<u16, Option<Arc<ClientValidation>>> = BTreeMap::new();
    for draft in drafts {
        let all = draft.own.iter_mut().chain(draft.sets.iter_mut().flat_map(|(_, _, listeners)| listeners));
        for listener in all.filter(|listener| listener.is_served) {
            let Some(protocol) = listener.protocol else { continue };
            let asked = AskedPort {
                gateway: listener.gateway.clone(),
                port: listener.port,
                transport: protocol.transport(),
            };
            let Some(target) = ports.get(&asked).copied() else {
                let message = "no port of HAProxy is left for it, or its namespace has its share of them: see gateway.ports, gateway.tlsPorts, gateway.tcpPorts and gateway.namespaceShare";
                listener.refuse("PortUnavailable", message.into());
                continue;
            };
            let transport = protocol.transport();
            if is_shared && *transports.entry(target).or_insert(transport) != transport {
                let message = format!("port {target} of HAProxy has another protocol by an older Gateway");
                listener.refuse("PortUnavailable", message);
                continue;
            }
            if protocol.ends_tls()
                && *clients.entry(target).or_insert_with(|| listener.clients.clone()) != listener.clients
            {
                let message = format!(
                    "clients of port {target} of HAProxy must show other certificates by an older Gateway"
                );
                listener.refuse("PortUnavailable", message);
                continue;
            }
            let key = (target, listener.hostname.clone());
            if let Some(other) = taken.get(&key) {
                let message = format!("port and hostname are those of listener {other} of an older Gateway");
                listener.refuse("PortUnavailable", message);
                continue;
            }
            taken.insert(key, listener.id.clone());
            listener.target = Some(target);
        }
    }
}

fn set_accepted(is_allowed: bool, is_refused: bool, listeners: &[GatewayListener]) -> StatusCondition {
    if !is_allowed {
        let message = "the Gateway allows no ListenerSets of this namespace (spec.allowedListeners)";
        return unmet("Accepted", "NotAllowed", message);
    }
    if is_refused {
        return unmet("Accepted", "ParentNotAccepted", "the Gateway is not accepted");
    }
    // One whose certificates are not there is none that counts.
    match listeners.iter().filter(|listener| listener.is_served).count() {
        0 => unmet("Accepted", "ListenersNotValid", "no listener is valid"),
        valid if valid < listeners.len() => {
            met("Accepted", "ListenersNotValid", "some listeners are not valid, the others are served")
        }
        _ => met("Accepted", "Accepted", "all listeners are valid"),
    }
}

fn gateway_conditions(
    gateway: &GatewayResource<GatewaySpec>,
    refused: Option<StatusCondition>,
    own: &[GatewayListener],
    bad_client: Option<&(&'static str, String)>,
) -> Vec<StatusCondition> {
    let accepted =
        refused.unwrap_or_else(|| match own.iter().filter(|listener| listener.is_accepted()).count() {
            0 if !own.is_empty() => unmet("Accepted", "ListenersNotValid", "no listener is valid"),
            valid if valid < own.len() => {
                met("Accepted", "ListenersNotValid", "some listeners are not valid, the others are served")
            }
            _ => met("Accepted", "Accepted", "the Gateway is valid"),
        });
    let is_resolved =
        own.iter().all(|listener| super::conditions::is_met(&listener.conditions, "ResolvedRefs"));
    let resolved = match bad_client {
        Some((reason, message)) => unmet("ResolvedRefs", reason, message.clone()),
        None if is_resolved => met("ResolvedRefs", "ResolvedRefs", "all references lead to something"),
        None => unmet(
            "ResolvedRefs",
            "ListenersNotResolved",
            "references of some listeners lead nowhere: see there",
        ),
    };
    let mut all = vec![accepted, resolved];
    if gateway.spec.tls.as_ref().is_some_and(GatewayTls::is_lenient) {
        let message = "clients without a certificate are served, too (AllowInsecureFallback): servers must not trust that there is one";
        all.push(met("InsecureFrontendValidationMode", "ConfigurationChanged", message));
    }
    all
}

/// The name of a level of hosts in HAProxy's maps.
pub(super) fn level_of(listener: &GatewayListener, hostname: Option<&str>) -> Arc<str> {
    format!("{}|{}", listener.id, hostname.unwrap_or(ANY)).into()
}
