//! The lines of HAProxy's configuration that listeners need at its ports: each comes and goes with a reload, by whatever a listener depends on.
//!
//! What no listener needs any more stays for a while, so that one which comes back takes no reload. A certificate for all hosts cannot stay
//! without its Secret, so it is held to the pace of reloads: until it is its turn a port shows none to hosts that none is for.

use super::{
    hostname::ANY,
    listeners::{GatewayListener, Protocol},
    ports::PortTransport,
};
use crate::{
    ownership::memory::Clock,
    reload_pace::{ReadAtStart, ReloadPace, ReloadsPerMinute},
};
use haptic_model::{Finding, ObjectRef, gateway::NamespacedName};
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Instant,
};

/// A part of a port's lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum PortPart {
    /// HTTP in clear.
    Plain,
    /// Anything in clear.
    Tcp,
    /// HTTP in TLS that ends here.
    Web,
    /// Anything else in TLS that ends here.
    Ended,
    /// TLS that servers open.
    Passed,
    /// No certificate by default for the names of some listeners.
    Apart,
}

impl PortPart {
    pub fn transport(self) -> PortTransport {
        match self {
            Self::Plain => PortTransport::Plain,
            Self::Tcp => PortTransport::Tcp,
            Self::Web | Self::Ended | Self::Passed | Self::Apart => PortTransport::Tls,
        }
    }
}

/// Parts of ports that stand, each with the time since which no listener needs it.
#[derive(Clone, Debug, Default)]
pub(super) struct StandingParts(BTreeMap<(u16, PortPart), Option<Instant>>);

impl StandingParts {
    /// Listeners need these now. Without a clock nothing else stays, and of ports with TLS no more than `most` do.
    pub fn need(&mut self, needed: &BTreeSet<(u16, PortPart)>, clock: Option<&Clock>, most: usize) {
        let transports: BTreeMap<u16, PortTransport> =
            needed.iter().map(|(target, part)| (*target, part.transport())).collect();
        self.0.extend(needed.iter().map(|part| (*part, None)));
        self.0.retain(|(target, part), since| {
            if needed.contains(&(*target, *part)) {
                return true;
            }
            let Some(clock) = clock else { return false };
            let since = *since.get_or_insert(clock.now);
            // Two listeners of HAProxy at one port would share its connections.
            let is_in_the_way =
                transports.get(target).is_some_and(|transport| *transport != part.transport());
            !is_in_the_way && clock.now.saturating_duration_since(since) < clock.hold
        });
        let is_tls = |part: PortPart| part.transport() == PortTransport::Tls;
        while self.targets(PortTransport::Tls).count() > most {
            let left =
                self.0.iter().filter(|((target, part), _)| is_tls(*part) && !transports.contains_key(target));
            let oldest = left.filter_map(|((target, _), since)| Some(((*since)?, *target))).min();
            let Some((_, oldest)) = oldest else { break };
            self.0.retain(|(target, part), _| *target != oldest || !is_tls(*part));
        }
    }

    pub fn has(&self, target: u16, part: PortPart) -> bool {
        self.0.contains_key(&(target, part))
    }

    /// The ports with parts of a transport, each once, in their order.
    pub fn targets(&self, transport: PortTransport) -> impl Iterator<Item = u16> {
        let parts = self.0.keys().filter(move |(_, part)| part.transport() == transport);
        let targets: BTreeSet<u16> = parts.map(|(target, _)| *target).collect();
        targets.into_iter()
    }

    /// When the next one goes.
    pub fn due(&self, clock: &Clock) -> Option<Instant> {
        self.0.values().flatten().min().and_then(|since| since.checked_add(clock.hold))
    }
}

/// The certificates for all hosts of one Gateway or ListenerSet, by HAProxy's ports.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct OpenCertificates(BTreeMap<u16, Vec<NamespacedName>>);

impl ReadAtStart for OpenCertificates {
    type Lines<'a> = Self;

    fn lines(&self) -> Self {
        self.clone()
    }
}

/// What counts of these of all Gateways and ListenerSets.
#[derive(Clone, Debug, Default)]
pub(super) struct PacedCertificates {
    pace: ReloadPace<OpenCertificates>,
    counting: BTreeMap<Arc<ObjectRef>, Arc<OpenCertificates>>,
    /// Whether it was told of any time before.
    has_begun: bool,
}

impl PacedCertificates {
    /// The same with all objects to come.
    pub fn emptied(&self) -> Self {
        Self { pace: self.pace.clone(), ..Self::default() }
    }

    /// Sets the time, and how many reloads a minute may be; without a time nothing waits.
    pub fn set_clock(&mut self, clock: Option<(Instant, ReloadsPerMinute)>) {
        self.pace.set_clock(clock);
    }

    /// When the next one's turn is.
    pub fn due(&self) -> Option<Instant> {
        self.pace.due()
    }

    /// Whether that is now.
    pub fn is_due(&self) -> bool {
        self.pace.is_due()
    }

    /// The finding at an object that waits.
    pub fn found(&self, kind: &str, name: &NamespacedName) -> Option<Finding> {
        self.pace.found(&ObjectRef::new(kind, &name.0, &name.1))
    }

    /// Takes what served listeners have.
    pub fn take(&mut self, served: &[&Arc<GatewayListener>]) {
        let mut wanted: BTreeMap<ObjectRef, OpenCertificates> = BTreeMap::new();
        let open = served.iter().filter(|listener| {
            *listener.hostname == *ANY && listener.protocol.is_some_and(Protocol::ends_tls)
        });
        for listener in open {
            let Some(target) = listener.target else { continue };
            let OpenCertificates(own) = wanted.entry(owner_of(listener)).or_default();
            own.insert(target, listener.certificates.clone());
        }
        let is_free = !std::mem::replace(&mut self.has_begun, true);
        let mut before = std::mem::take(&mut self.counting);
        for (object, wanted) in wanted {
            let object = Arc::new(object);
            let counting = self.admit(&object, before.remove(&object), Arc::new(wanted), is_free);
            self.counting.insert(object, counting);
        }
        for (object, known) in before {
            self.pace.delete(&object, Some(&known));
        }
    }

    /// What counts of an object that wants this, and of which `known` counted until now.
    fn admit(
        &mut self,
        object: &Arc<ObjectRef>,
        known: Option<Arc<OpenCertificates>>,
        wanted: Arc<OpenCertificates>,
        is_free: bool,
    ) -> Arc<OpenCertificates> {
        let counting = self.pace.admit(object, known.as_ref(), wanted.clone(), is_free).unwrap_or_default();
        let left = counting.as_far_as(&wanted);
        if left == counting {
            return counting;
        }
        // A certificate that is not there any more is none that can be shown: it goes at once, and comes back when it is its turn.
        self.pace.delete(object, Some(&counting));
        self.pace.admit(object, Some(&left), wanted, false).unwrap_or_default()
    }

    /// Whether a port shows what it has for all hosts to hosts that no certificate is for.
    pub fn is_open(&self, target: u16) -> bool {
        self.counting.values().any(|own| own.0.contains_key(&target))
    }
}

impl OpenCertificates {
    /// Those that are the same in `wanted`.
    fn as_far_as(self: &Arc<Self>, wanted: &Self) -> Arc<Self> {
        let same = self.0.iter().filter(|(target, certificates)| wanted.0.get(target) == Some(certificates));
        let same: BTreeMap<_, _> = same.map(|(target, own)| (*target, own.clone())).collect();
        if same.len() == self.0.len() { self.clone() } else { Arc::new(Self(same)) }
    }
}

/// The object that has a listener: by its id, `NAMESPACE/GATEWAY/NAME` or `NAMESPACE/GATEWAY/NAMESPACE/SET/NAME`.
fn owner_of(listener: &GatewayListener) -> ObjectRef {
    let parts: Vec<&str> = listener.id.split('/').collect();
    match parts.as_slice() {
        [_, _, namespace, set, _] => ObjectRef::new("listenersets", namespace, set),
        _ => ObjectRef::new("gateways", &listener.gateway.0, &listener.gateway.1),
    }
}

#[cfg(test)]
mod tests {
    use super::{super::listeners::Allowed, *};
    use std::time::Duration;

    const TLS: u16 = 200;

    fn parts(all: &[(u16, PortPart)]) -> BTreeSet<(u16, PortPart)> {
        all.iter().copied().collect()
    }

    fn standing(parts: &StandingParts, transport: PortTransport) -> Vec<u16> {
        parts.targets(transport).collect()
    }

    #[test]
    fn what_comes_and_goes_stays_for_the_time_of_the_hold() {
        let (begin, hold) = (Instant::now(), Duration::from_secs(60));
        let at = |seconds: u64| Clock { now: begin + Duration::from_secs(seconds), hold };
        let mut all = StandingParts::default();
        for second in 0..10 {
            all.need(&parts(&[(TLS, PortPart::Web)]), Some(&at(second)), 32);
            all.need(&parts(&[]), Some(&at(second)), 32);
        }
        assert_eq!(all.due(&at(9)), Some(at(69).now));
        all.need(&parts(&[(TLS, PortPart::Passed)]), Some(&at(68)), 32);
        assert!(all.has(TLS, PortPart::Web) && all.has(TLS, PortPart::Passed));
        all.need(&parts(&[(TLS, PortPart::Passed)]), Some(&at(69)), 32);
        assert!(!all.has(TLS, PortPart::Web) && all.due(&at(69)).is_none());
        all.need(&parts(&[]), None, 32);
        assert!(standing(&all, PortTransport::Tls).is_empty(), "nothing stays without a clock");
    }

    #[test]
    fn what_stays_is_in_nobodys_way() {
        let clock = Clock { now: Instant::now(), hold: Duration::from_secs(60) };
        let mut all = StandingParts::default();
        all.need(&parts(&[(TLS, PortPart::Web)]), Some(&clock), 32);
        all.need(&parts(&[(TLS, PortPart::Tcp)]), Some(&clock), 32);
        assert!(standing(&all, PortTransport::Tls).is_empty(), "a port has one kind of connections");
        let mut all = StandingParts::default();
        all.need(&parts(&[(1, PortPart::Web), (2, PortPart::Web)]), Some(&clock), 2);
        let later = Clock { now: clock.now + Duration::from_secs(1), ..clock };
        all.need(&parts(&[(2, PortPart::Web)]), Some(&clock), 2);
        all.need(&parts(&[]), Some(&later), 2);
        all.need(&parts(&[(3, PortPart::Web)]), Some(&later), 2);
        assert_eq!(standing(&all, PortTransport::Tls), [2, 3], "the oldest makes room");
    }

    fn open(certificate: &str) -> Arc<GatewayListener> {
        Arc::new(GatewayListener {
            id: "shop/g/all".into(),
            gateway: ("shop".into(), "g".into()),
            namespace: "shop".into(),
            name: "all".into(),
            port: 443,
            protocol: Some(Protocol::Https),
            hostname: ANY.into(),
            owners: None,
            kinds: Vec::new(),
            allowed: Allowed::All,
            certificates: vec![("shop".into(), certificate.into())],
            names: Vec::new(),
            clients: None,
            conditions: Vec::new(),
            target: Some(TLS),
            is_served: true,
        })
    }

    #[test]
    fn a_certificate_for_all_hosts_that_comes_and_goes_waits_for_its_turn() {
        let begin = Instant::now();
        let limits = ReloadsPerMinute { object: 1, namespace: 10 };
        let at = |seconds: u64| Some((begin + Duration::from_secs(seconds), limits));
        let (mut paced, known) = (PacedCertificates::default(), open("a"));
        let mut changes = 0;
        let mut was_open = false;
        for second in 0..101 {
            paced.set_clock(at(second));
            let served: Vec<_> = std::iter::once(&known).filter(|_| second % 2 == 0).collect();
            paced.take(&served);
            assert!(second % 2 == 0 || !paced.is_open(TLS), "what is not there cannot be shown");
            changes += u32::from(paced.is_open(TLS) != was_open);
            was_open = paced.is_open(TLS);
        }
        assert!((2..=8).contains(&changes), "{changes}");
        let found = paced.found("gateways", &("shop".into(), "g".into()));
        assert!(
            found.is_some_and(|found| found.sentence.contains("reloadsPerMinute")) && paced.due().is_some()
        );
        paced.set_clock(at(1_000));
        paced.take(&[&known]);
        assert!(paced.is_open(TLS) && paced.due().is_none());
    }

    #[test]
    fn another_certificate_for_all_hosts_counts_at_once_while_there_are_few() {
        let begin = Instant::now();
        let mut paced = PacedCertificates::default();
        for (second, name) in (0..).zip(["a", "b", "c"]) {
            let now = begin + Duration::from_secs(second);
            paced.set_clock(Some((now, ReloadsPerMinute::default())));
            paced.take(&[&open(name)]);
            assert!(paced.is_open(TLS), "{name}");
        }
    }
}
