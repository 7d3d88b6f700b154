//! Listeners: those of Gateways and of the ListenerSets at them, which are taken, and for what.
//!
//! Order decides conflicts of a Gateway with ListenerSets: its own listeners come first, then those of ListenerSets by age and NAMESPACE/NAME. Of its own
//! listeners that are in each other's way none is served.

use super::{
    authorities::AuthorityText,
    certificates::CertificateNames,
    conditions::{is_met, met, unmet},
    grants::Grants,
    hostname::{self, ANY},
    listed_hosts,
    objects::{FromNamespaces, GROUP, ListenerSpec, ObjectReference, Selector},
    ports::PortTransport,
};
use crate::ownership::owners::Owners;
use haptic_model::gateway::{ListenerVerdict, NamespacedName, RouteKind, StatusCondition};
use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

/// The protocol of a listener.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Protocol {
    Http,
    Https,
    /// Whatever stands in TLS, which ends here: `mode: Terminate`.
    EndedTls,
    /// TLS that servers open themselves: `mode: Passthrough`.
    PassedTls,
    Tcp,
}

/// The namespaces that routes, or ListenerSets, may come from.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Allowed {
    None,
    Namespace(Arc<str>),
    All,
    Selector(Selector),
}

/// The certificates that clients of a port must show.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ClientValidation {
    /// PEM.
    pub authorities: Arc<str>,
    /// Whether clients without such a certificate are served, too.
    pub is_lenient: bool,
}

/// A listener of a Gateway of ours.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct GatewayListener {
    /// Nobody else's: `NAMESPACE/GATEWAY/NAME`, of a ListenerSet `NAMESPACE/GATEWAY/NAMESPACE/SET/NAME`.
    pub id: Arc<str>,
    pub gateway: NamespacedName,
    /// That of the Gateway, or of the ListenerSet.
    pub namespace: Arc<str>,
    pub name: Arc<str>,
    pub port: u16,
    pub protocol: Option<Protocol>,
    /// [`ANY`] where it is for all hosts.
    pub hostname: Arc<str>,
    /// The namespaces that its hosts belong to, where they are listed.
    pub owners: Option<Arc<[Arc<str>]>>,
    pub kinds: Vec<RouteKind>,
    pub allowed: Allowed,
    pub certificates: Vec<NamespacedName>,
    /// The names of each of them.
    pub names: Vec<CertificateNames>,
    /// The certificates that clients must show.
    pub clients: Option<Arc<ClientValidation>>,
    pub conditions: Vec<StatusCondition>,
    /// HAProxy's port.
    pub target: Option<u16>,
    pub is_served: bool,
}

/// The owner of the listeners that are read.
pub(super) struct Owner<'o> {
    /// `Gateway` or `ListenerSet`.
    pub kind: &'static str,
    pub namespace: &'o Arc<str>,
    /// The beginning of listeners' ids.
    pub prefix: String,
    pub gateway: &'o NamespacedName,
}

/// The other things that decide.
pub(super) struct ListenerContext<'s> {
    pub grants: &'s Grants,
    pub namespaces: &'s HashMap<Arc<str>, BTreeMap<String, String>>,
    /// The names of a Secret's certificate, or why that cannot be used.
    pub certificate: &'s dyn Fn(&NamespacedName) -> Result<CertificateNames, String>,
    /// The certificates of authorities in a ConfigMap, or why there are none.
    pub authority: &'s dyn Fn(&NamespacedName) -> Result<AuthorityText, String>,
    /// The hosts that belong to some namespaces.
    pub owners: &'s Owners,
}

impl Owner<'_> {
    /// The namespace of the Gateway, also where a ListenerSet of another one owns the listener.
    pub fn gateway_namespace(&self) -> &Arc<str> {
        &self.gateway.0
    }
}

impl Allowed {
    pub fn of(from: Option<&FromNamespaces>, own: &Arc<str>, otherwise: Self) -> Self {
        let Some(from) = from else { return otherwise };
        match from.from.as_deref() {
            None => otherwise,
            Some("All") => Self::All,
            Some("Same") => Self::Namespace(own.clone()),
            // Without a selector none is selected; an empty one selects all.
            Some("Selector") => from.selector.clone().map_or(Self::None, Self::Selector),
            Some(_) => Self::None,
        }
    }

    pub fn admit(&self, namespace: &str, labels: &HashMap<Arc<str>, BTreeMap<String, String>>) -> bool {
        match self {
            Self::None => false,
            Self::All => true,
            Self::Namespace(own) => **own == *namespace,
            Self::Selector(selector) => labels.get(namespace).is_some_and(|labels| selector.fits(labels)),
        }
    }
}

impl Protocol {
    fn read(spec: &ListenerSpec) -> Option<Self> {
        match spec.protocol.as_str() {
            "HTTP" => Some(Self::Http),
            "HTTPS" => Some(Self::Https),
            "TLS" if spec.tls_mode() == "Passthrough" => Some(Self::PassedTls),
            "TLS" => Some(Self::EndedTls),
            "TCP" => Some(Self::Tcp),
            _ => None,
        }
    }

    fn kinds(self) -> &'static [RouteKind] {
        match self {
            Self::Http | Self::Https => &[RouteKind::Http, RouteKind::Grpc],
            Self::EndedTls | Self::PassedTls => &[RouteKind::Tls],
            Self::Tcp => &[RouteKind::Tcp],
        }
    }

    /// The transport of connections to its port. Listeners of one port have it in common.
    pub fn transport(self) -> PortTransport {
        match self {
            Self::Http => PortTransport::Plain,
            Self::Https | Self::EndedTls | Self::PassedTls => PortTransport::Tls,
            Self::Tcp => PortTransport::Tcp,
        }
    }

    pub fn is_tls(self) -> bool {
        self.transport() == PortTransport::Tls
    }

    /// Whether TLS ends here, so that there are certificates.
    pub fn ends_tls(self) -> bool {
        matches!(self, Self::Https | Self::EndedTls)
    }
}

impl GatewayListener {
    pub fn read(spec: &ListenerSpec, owner: &Owner<'_>, context: &ListenerContext<'_>) -> Self {
        let protocol = Protocol::read(spec);
        let routes = spec.allowed_routes.as_ref();
        let same = Allowed::Namespace(owner.namespace.clone());
        let allowed =
            Allowed::of(routes.and_then(|routes| routes.namespaces.as_ref()), owner.namespace, same);
        let mut listener = Self {
            id: format!("{}/{}", owner.prefix, spec.name).into(),
            gateway: owner.gateway.clone(),
            namespace: owner.namespace.clone(),
            name: spec.name.clone(),
            port: spec.port,
            protocol,
            hostname: ANY.into(),
            owners: None,
            kinds: Vec::new(),
            allowed,
            certificates: Vec::new(),
            names: Vec::new(),
            clients: None,
            conditions: Vec::new(),
            target: None,
            is_served: false,
        };
        let accepted = listener.accept(spec, owner, context);
        let resolved = listener.resolve(spec, owner, context);
        listener.is_served = accepted.holds
            && !listener.kinds.is_empty()
            && (!protocol.is_some_and(Protocol::ends_tls) || !listener.certificates.is_empty());
        listener.conditions = vec![accepted, resolved];
        listener
    }

    fn accept(
        &mut self,
        spec: &ListenerSpec,
        owner: &Owner<'_>,
        context: &ListenerContext<'_>,
    ) -> StatusCondition {
        let refused = |reason, message: String| unmet("Accepted", reason, message);
        let Some(protocol) = self.protocol else {
            let message =
                format!("protocol {} is not supported; HTTP, HTTPS, TLS and TCP are", spec.protocol);
            return refused("UnsupportedProtocol", message);
        };
        let hostname = spec.hostname.as_deref().filter(|hostname| !hostname.is_empty());
        // Connections over TCP ask for no host.
        if let Some(hostname) = hostname.filter(|_| protocol != Protocol::Tcp) {
            match hostname::read(hostname) {
                Some(hostname) => self.hostname = hostname,
                None => {
                    let message = format!("hostname {hostname} is none that can be served");
                    return refused("UnsupportedValue", message);
                }
            }
        }
        let mode = spec.tls_mode();
        if protocol.ends_tls() && mode != "Terminate" {
            let message = format!("TLS mode {mode} is not for protocol {}", spec.protocol);
            return refused("UnsupportedValue", message);
        }
        match listed_hosts::claim(self, owner.namespace, context.owners) {
            Err(why) => refused("NotAllowed", why),
            Ok(()) => met("Accepted", "Accepted", "the listener is valid"),
        }
    }

    fn resolve(
        &mut self,
        spec: &ListenerSpec,
        owner: &Owner<'_>,
        context: &ListenerContext<'_>,
    ) -> StatusCondition {
        let supported = self.protocol.map(Protocol::kinds).unwrap_or_default();
        let asked = spec.allowed_routes.as_ref().and_then(|routes| routes.kinds.as_ref());
        let asked = asked.filter(|kinds| !kinds.is_empty());
        let mut unknown = Vec::new();
        match asked {
            None => self.kinds = supported.to_vec(),
            Some(asked) => {
                for one in asked {
                    let is_ours = one.group.as_deref().is_none_or(|group| group == GROUP);
                    let known = supported.iter().find(|kind| is_ours && kind.name() == one.kind);
                    match known {
                        Some(kind) if self.kinds.contains(kind) => {}
                        Some(kind) => self.kinds.push(*kind),
                        None => unknown.push(one.kind.as_str()),
                    }
                }
            }
        }
        if self.protocol.is_some_and(Protocol::ends_tls)
            && let Err((reason, message)) = self.find_certificates(spec, owner, context)
        {
            return unmet("ResolvedRefs", reason, message);
        }
        if !unknown.is_empty() {
            let message = format!("routes of kind {} are not for this listener", unknown.join(", "));
            return unmet("ResolvedRefs", "InvalidRouteKinds", message);
        }
        met("ResolvedRefs", "ResolvedRefs", "all references lead to something")
    }

    /// Those that can be used count, though others cannot.
    fn find_certificates(
        &mut self,
        spec: &ListenerSpec,
        owner: &Owner<'_>,
        context: &ListenerContext<'_>,
    ) -> Result<(), (&'static str, String)> {
        let references = spec.tls.as_ref().map(|tls| tls.certificate_refs.as_slice()).unwrap_or_default();
        if references.is_empty() {
            let message = "there is no certificateRef; name a Secret of type kubernetes.io/tls".to_owned();
            return Err(("InvalidCertificateRef", message));
        }
        let mut bad = None;
        for reference in references {
            match certificate(reference, owner, context) {
                Ok(name) => {
                    self.names.push((context.certificate)(&name).unwrap_or_default());
                    self.certificates.push(name);
                }
                Err(why) => bad = bad.or(Some(why)),
            }
        }
        bad.map_or(Ok(()), Err)
    }

    /// Takes it out of service.
    pub fn refuse(&mut self, reason: &'static str, message: String) {
        self.is_served = false;
        for condition in self.conditions.iter_mut().filter(|condition| condition.kind == "Accepted") {
            *condition = unmet("Accepted", reason, message.clone());
        }
        if matches!(reason, "HostnameConflict" | "ProtocolConflict") {
            self.conditions.push(met("Conflicted", reason, message));
        }
    }

    /// Says that what it refers to is not there.
    pub fn unresolve(&mut self, reason: &'static str, message: String) {
        for condition in self.conditions.iter_mut().filter(|condition| condition.kind == "ResolvedRefs") {
            *condition = unmet("ResolvedRefs", reason, message.clone());
        }
    }

    pub fn is_accepted(&self) -> bool {
        is_met(&self.conditions, "Accepted")
    }

    /// Whether another listener is in its way.
    pub fn is_conflicted(&self) -> bool {
        is_met(&self.conditions, "Conflicted")
    }

    /// The transport that it wants its port to be for; `None` where it is valid for nothing.
    fn contended(&self) -> Option<PortTransport> {
        self.protocol.filter(|_| self.is_accepted()).map(Protocol::transport)
    }

    pub fn verdict(&self, attached_routes: usize) -> ListenerVerdict {
        ListenerVerdict {
            name: self.name.clone(),
            port: self.port,
            conditions: self.conditions.clone(),
            supported_kinds: self.kinds.iter().map(|kind| (GROUP, kind.name())).collect(),
            attached_routes,
            is_served: self.is_served,
        }
    }
}

/// The Secret of a reference to a certificate.
///
/// # Errors
/// A reason of the API, and a sentence.
pub(super) fn certificate(
    reference: &ObjectReference,
    owner: &Owner<'_>,
    context: &ListenerContext<'_>,
) -> Result<NamespacedName, (&'static str, String)> {
    let namespace = reference.namespace.as_ref().unwrap_or(owner.namespace);
    let name = (namespace.clone(), reference.name.clone());
    if !reference.is_core("Secret") {
        let message = format!("certificateRef {} is no Secret", name.1);
        return Err(("InvalidCertificateRef", message));
    }
    if namespace != owner.namespace && !context.grants.allow(owner.kind, owner.namespace, "Secret", &name) {
        let message = format!(
            "Secret {namespace}/{} is in another namespace, and no ReferenceGrant there allows {}s of namespace {} to refer to it",
            name.1, owner.kind, owner.namespace
        );
        return Err(("RefNotPermitted", message));
    }
    match (context.certificate)(&name) {
        Ok(_) => Ok(name),
        Err(why) => {
            let message = format!("the certificate of Secret {namespace}/{} cannot be used: {why}", name.1);
            Err(("InvalidCertificateRef", message))
        }
    }
}

/// The transports of a Gateway's ports, and the hostnames that are taken there, as its listeners are gone through.
///
/// https://gateway-api.sigs.k8s.io/reference/spec/, `GatewaySpec.listeners`, "Handling indistinct Listeners": of a Gateway's own listeners none wins.
#[derive(Debug, Default)]
pub(super) struct Conflicts {
    /// `None`: the Gateway's own listeners do not agree.
    ports: BTreeMap<u16, Option<PortTransport>>,
    taken: BTreeMap<(u16, Arc<str>), Arc<str>>,
}

impl Conflicts {
    /// Refuses all of a Gateway's own listeners that are in each other's way. What they asked for is nobody's: a ListenerSet does not get it either.
    pub fn among(listeners: &mut [GatewayListener]) -> Self {
        let mut this = Self::default();
        let mut asking: BTreeMap<(u16, Arc<str>), Vec<Arc<str>>> = BTreeMap::new();
        for listener in listeners.iter() {
            let Some(transport) = listener.contended() else { continue };
            let agreed = this.ports.entry(listener.port).or_insert(Some(transport));
            *agreed = agreed.filter(|agreed| *agreed == transport);
            asking.entry((listener.port, listener.hostname.clone())).or_default().push(listener.id.clone());
        }
        for listener in listeners.iter_mut().filter(|listener| listener.contended().is_some()) {
            let port = listener.port;
            if this.ports.get(&port) == Some(&None) {
                let message =
                    format!("port {port} has listeners of different protocols, and none of them is served");
                listener.refuse("ProtocolConflict", message);
                continue;
            }
            let all = asking.get(&(port, listener.hostname.clone())).map(Vec::as_slice).unwrap_or_default();
            if let [first, second, ..] = all {
                let other = if *first == listener.id { second } else { first };
                let message =
                    format!("port and hostname are those of listener {other}, too, and neither is served");
                listener.refuse("HostnameConflict", message);
            }
        }
        let first = |(place, ids): (_, Vec<Arc<str>>)| Some((place, ids.into_iter().next()?));
        this.taken = asking.into_iter().filter_map(first).collect();
        this
    }

    /// Refuses a ListenerSet's listener that one which comes before it is in the way of.
    pub fn judge(&mut self, listener: &mut GatewayListener) {
        let Some(transport) = listener.contended() else { return };
        let port = listener.port;
        if *self.ports.entry(port).or_insert(Some(transport)) != Some(transport) {
            let message = format!("port {port} has another protocol by a listener that comes first");
            return listener.refuse("ProtocolConflict", message);
        }
        let key = (port, listener.hostname.clone());
        match self.taken.get(&key) {
            Some(other) => {
                let message = format!("port and hostname are those of listener {other}, which comes first");
                listener.refuse("HostnameConflict", message);
            }
            None => drop(self.taken.insert(key, listener.id.clone())),
        }
    }
}
