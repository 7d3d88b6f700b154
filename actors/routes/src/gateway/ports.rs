//! The ports of HAProxy's containers that stand behind ports of Gateways.
//!
//! A port stays what it is: what was given in this process, or else what the Gateway's Service says. New ones get the lowest that is
//! free, those of older Gateways first. It stays also while its listener is not served, such as one whose Secret is gone for a while: the Gateway's
//! Service goes on leading there. A Service that claims what another Gateway has gets something else, and what Services of several
//! namespaces claim is given to none of them. No namespace has more than its share, but for what was given to it before.

use super::settings::{GatewaySettings, PortMode};
use haptic_model::gateway::NamespacedName;
use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Range,
};

/// A port of a Gateway as it is asked for.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct AskedPort {
    pub gateway: NamespacedName,
    pub port: u16,
    pub transport: PortTransport,
}

/// The transport of connections to a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum PortTransport {
    /// HTTP in clear.
    Plain,
    /// TLS, whatever stands in it and wherever it ends.
    Tls,
    /// Anything.
    Tcp,
}

/// The number of lists of certificates, one for each port with TLS.
const MOST_TLS_PORTS: usize = 32;

/// The ports that were given.
pub(super) type GivenPorts = BTreeMap<AskedPort, u16>;

/// The ranges that Gateways have ports of their own out of: first and number.
struct PortRanges {
    plain: (u16, u16),
    tls: (u16, u16),
    tcp: (u16, u16),
}

/// A port of a Gateway, and what its Service says of it.
type WrittenPort<'a> = (&'a AskedPort, u16);

/// Gives ports out of ranges, none of them twice.
struct PortAllocator {
    ranges: PortRanges,
    /// The percentage of a range that one namespace may have.
    share: u16,
    /// The ports that Services of several namespaces claim.
    contested: BTreeSet<u16>,
    given: GivenPorts,
    taken: BTreeSet<u16>,
}

/// Gives each port of `asked`, which are in the order of their Gateways' age, one of HAProxy; one is missing where none is left, or
/// the namespace has its share. `remembered` comes before what is `written` in Services. Those that are `kept` get nothing that they have not.
pub(super) fn give(
    settings: &GatewaySettings,
    asked: &[AskedPort],
    kept: &[AskedPort],
    remembered: &GivenPorts,
    written: impl Fn(&NamespacedName, u16) -> Option<u16>,
) -> GivenPorts {
    let ranges = match &settings.ports {
        PortMode::Same { targets, own } => return same(targets, own, settings.namespace_share, asked),
        PortMode::Allocated { plain, tls, tcp } => PortRanges { plain: *plain, tls: *tls, tcp: *tcp },
    };
    let all = || asked.iter().chain(kept);
    let written: Vec<WrittenPort<'_>> =
        all().filter_map(|one| Some((one, written(&one.gateway, one.port)?))).collect();
    let mut allocator = PortAllocator {
        ranges,
        share: settings.namespace_share,
        contested: contested(&written),
        given: GivenPorts::new(),
        taken: BTreeSet::new(),
    };
    allocator.keep_remembered(all(), remembered);
    allocator.keep_written(&written);
    allocator.allocate_free(asked);
    allocator.given
}

/// The ports that Services of several namespaces claim. Who may edit a Service may write there what another's has. After a restart nothing else tells whose
/// it is, and whoever got it would get the other's requests until the other's Service leads elsewhere.
fn contested(written: &[WrittenPort<'_>]) -> BTreeSet<u16> {
    let mut claims: BTreeMap<u16, BTreeSet<&str>> = BTreeMap::new();
    for (one, target) in written {
        claims.entry(*target).or_default().insert(&*one.gateway.0);
    }
    claims.into_iter().filter(|(_, namespaces)| namespaces.len() > 1).map(|(target, _)| target).collect()
}

impl PortRanges {
    fn of(&self, transport: PortTransport) -> Range<u32> {
        let (first, count) = match transport {
            PortTransport::Plain => self.plain,
            PortTransport::Tls => self.tls,
            PortTransport::Tcp => self.tcp,
        };
        u32::from(first)..u32::from(first) + u32::from(count)
    }

    /// Whether a port may be given. HAProxy listens at all of those for HTTP, whatever the other ranges are.
    fn fit(&self, transport: PortTransport, target: u16) -> bool {
        let target = u32::from(target);
        let is_plain = self.of(PortTransport::Plain).contains(&target);
        self.of(transport).contains(&target) && is_plain == (transport == PortTransport::Plain)
    }
}

impl PortAllocator {
    /// Keeps the ports that were given.
    fn keep_remembered<'a>(&mut self, all: impl Iterator<Item = &'a AskedPort>, remembered: &GivenPorts) {
        for one in all {
            if let Some(target) = remembered.get(one) {
                self.take(one, *target);
            }
        }
    }

    /// Keeps the ports that Services claim, as far as nobody contests them and the namespace has not its share.
    fn keep_written(&mut self, written: &[WrittenPort<'_>]) {
        for (one, target) in written {
            if !self.contested.contains(target) && !self.is_share_used_up(one) {
                self.take(one, *target);
            }
        }
    }

    /// Those without a port get the lowest that is free.
    fn allocate_free(&mut self, asked: &[AskedPort]) {
        for one in asked {
            if self.given.contains_key(one) || self.is_share_used_up(one) {
                continue;
            }
            let mut range = self.ranges.of(one.transport).filter_map(|target| u16::try_from(target).ok());
            if let Some(target) = range.find(|target| self.is_free(one.transport, *target)) {
                self.take(one, target);
            }
        }
    }

    /// Gives a port, as far as it may be given and nobody has it.
    fn take(&mut self, one: &AskedPort, target: u16) {
        if self.ranges.fit(one.transport, target)
            && !self.given.contains_key(one)
            && self.taken.insert(target)
        {
            self.given.insert(one.clone(), target);
        }
    }

    fn is_free(&self, transport: PortTransport, target: u16) -> bool {
        self.ranges.fit(transport, target)
            && !self.taken.contains(&target)
            && !self.contested.contains(&target)
    }

    fn is_share_used_up(&self, one: &AskedPort) -> bool {
        let most = share_of(self.ranges.of(one.transport).len(), self.share);
        let is_like = |of: &&AskedPort| of.gateway.0 == one.gateway.0 && of.transport == one.transport;
        self.given.keys().filter(is_like).count() >= most
    }
}

/// The share of a number of ports by percent, and at least one.
fn share_of(ports: usize, percent: u16) -> usize {
    (ports * usize::from(percent) / 100).max(1)
}

/// The ports themselves, but those that HAProxy has for something else: two of its listeners at one port would share connections.
fn same(targets: &BTreeMap<u16, u16>, own: &BTreeSet<u16>, share: u16, asked: &[AskedPort]) -> GivenPorts {
    let mut given = GivenPorts::new();
    // With the namespace that was the first to ask for it.
    let mut tls: BTreeMap<u16, &str> = BTreeMap::new();
    let most = share_of(MOST_TLS_PORTS, share);
    for one in asked {
        let target = targets.get(&one.port).copied().unwrap_or(one.port);
        let is_tls = one.transport == PortTransport::Tls;
        let namespace = &*one.gateway.0;
        let is_share_used_up = || tls.values().filter(|first| **first == namespace).count() >= most;
        let is_left =
            !is_tls || tls.contains_key(&target) || (tls.len() < MOST_TLS_PORTS && !is_share_used_up());
        if own.contains(&target) || !is_left {
            continue;
        }
        if is_tls {
            tls.entry(target).or_insert(namespace);
        }
        given.insert(one.clone(), target);
    }
    given
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(ports: PortMode, namespace_share: u16) -> GatewaySettings {
        let config = ("n".into(), "c".into());
        GatewaySettings {
            controller: "c".into(),
            config,
            ports,
            namespace_share,
            has_infrastructure: false,
            routes_per_object: 8_192,
            spelling: crate::matching::path::Spelling::default(),
            options: crate::options::Settings::default(),
            owners: std::sync::Arc::default(),
        }
    }

    /// Of which one namespace may have all.
    fn ranges() -> GatewaySettings {
        settings(PortMode::Allocated { plain: (100, 3), tls: (200, 1), tcp: (300, 1) }, 100)
    }

    fn asked(name: &str, port: u16, is_tls: bool) -> AskedPort {
        let transport = if is_tls { PortTransport::Tls } else { PortTransport::Plain };
        AskedPort { gateway: ("n".into(), name.into()), port, transport }
    }

    fn targets(given: &GivenPorts, asked: &[AskedPort]) -> Vec<Option<u16>> {
        asked.iter().map(|one| given.get(one).copied()).collect()
    }

    #[test]
    fn the_lowest_free_ones_are_given_and_stay() {
        let all = [asked("b", 80, false), asked("a", 80, false), asked("a", 443, true)];
        let given = give(&ranges(), &all, &[], &GivenPorts::new(), |_, _| None);
        assert_eq!(targets(&given, &all), [Some(100), Some(101), Some(200)]);
        let later = [asked("old", 80, false), all[1].clone(), asked("x", 443, true), all[2].clone()];
        let kept = give(&ranges(), &later, &[], &given, |_, _| None);
        assert_eq!(targets(&kept, &later), [Some(100), Some(101), None, Some(200)]);
    }

    #[test]
    fn what_services_say_counts_unless_another_has_it() {
        let all = [asked("a", 80, false), asked("b", 80, false), asked("c", 80, false)];
        let written = |gateway: &NamespacedName, _| match &*gateway.1 {
            "a" | "b" => Some(102),
            _ => Some(9),
        };
        let fresh = give(&ranges(), &all, &[], &GivenPorts::new(), written);
        assert_eq!(targets(&fresh, &all), [Some(102), Some(100), Some(101)]);
        let had = GivenPorts::from([(all[1].clone(), 102)]);
        assert_eq!(give(&ranges(), &all, &[], &had, written)[&all[1]], 102);
    }

    #[test]
    fn what_is_kept_stays_its_own_and_gets_nothing_new() {
        let (victim, thief) = ([asked("victim", 443, true)], [asked("a-thief", 443, true)]);
        let remembered = GivenPorts::from([(victim[0].clone(), 200)]);
        for (had, written) in [(remembered, None), (GivenPorts::new(), Some(200))] {
            let written = |gateway: &NamespacedName, _| written.filter(|_| &*gateway.1 == "victim");
            let given = give(&ranges(), &thief, &victim, &had, written);
            assert_eq!((given.get(&thief[0]), given.get(&victim[0])), (None, Some(&200)));
        }
        let given = give(&ranges(), &thief, &victim, &GivenPorts::new(), |_, _| None);
        assert_eq!((given.get(&thief[0]), given.get(&victim[0])), (Some(&200), None));
    }

    #[test]
    fn ranges_that_overlap_give_no_port_twice() {
        let mode = PortMode::Allocated { plain: (100, 3), tls: (102, 2), tcp: (101, 4) };
        let over_tcp = |name: &str| AskedPort { transport: PortTransport::Tcp, ..asked(name, 25, false) };
        let all = [asked("a", 443, true), over_tcp("a"), over_tcp("b"), asked("a", 80, false)];
        let given = give(&settings(mode, 100), &all, &[], &GivenPorts::new(), |_, _| Some(102));
        assert_eq!(targets(&given, &all), [Some(103), Some(104), None, Some(102)]);
    }

    #[test]
    fn gateways_may_share_the_ports_themselves() {
        let mode = PortMode::Same { targets: BTreeMap::from([(80, 8080)]), own: BTreeSet::from([82]) };
        let all =
            [asked("a", 80, false), asked("b", 80, false), asked("b", 81, false), asked("b", 82, false)];
        let mode = settings(mode, 100);
        let given = give(&mode, &all, &[], &GivenPorts::new(), |_, _| Some(1));
        assert_eq!(targets(&given, &all), [Some(8080), Some(8080), Some(81), None]);
        let many: Vec<AskedPort> = (1..40).map(|port| asked("a", port, true)).collect();
        assert_eq!(give(&mode, &many, &[], &GivenPorts::new(), |_, _| None).len(), MOST_TLS_PORTS);
        let halved = GatewaySettings { namespace_share: 50, ..mode };
        let with_another: Vec<AskedPort> = many.iter().cloned().chain([of("other", 443)]).collect();
        let given = give(&halved, &with_another, &[], &GivenPorts::new(), |_, _| None);
        assert_eq!(given.len(), MOST_TLS_PORTS / 2 + 1);
        assert_eq!(given[&of("other", 443)], 443);
    }

    /// Over TLS, of a Gateway in this namespace.
    fn of(namespace: &str, port: u16) -> AskedPort {
        AskedPort { gateway: (namespace.into(), "a".into()), ..asked("a", port, true) }
    }

    #[test]
    fn what_services_of_several_namespaces_claim_is_given_to_none_of_them() {
        let ports = PortMode::Allocated { plain: (100, 1), tls: (200, 4), tcp: (300, 1) };
        let both = [of("older", 443), of("younger", 443)];
        let claim = |_: &NamespacedName, _: u16| Some(200);
        let given = give(&settings(ports.clone(), 100), &both, &[], &GivenPorts::new(), claim);
        assert_eq!(targets(&given, &both), [Some(201), Some(202)]);
        // Who had it keeps it.
        let had = GivenPorts::from([(both[1].clone(), 200)]);
        let given = give(&settings(ports, 100), &both, &[], &had, claim);
        assert_eq!(targets(&given, &both), [Some(201), Some(200)]);
    }

    #[test]
    fn a_namespace_leaves_others_their_share() {
        let ports = PortMode::Allocated { plain: (100, 1), tls: (200, 4), tcp: (300, 1) };
        let (halved, all) = (settings(ports.clone(), 50), settings(ports, 100));
        let greedy: Vec<AskedPort> = (1..9).map(|port| of("greedy", port)).collect();
        let asked: Vec<AskedPort> = greedy.iter().cloned().chain([of("other", 443)]).collect();
        // Whatever its Service claims.
        for written in [None, Some(203)] {
            let given =
                give(&halved, &asked, &[], &GivenPorts::new(), |_, port| written.filter(|_| port < 9));
            assert_eq!(given.keys().filter(|one| &*one.gateway.0 == "greedy").count(), 2);
            assert!(given.contains_key(&of("other", 443)));
        }
        // What was given stays.
        let before = give(&all, &greedy, &[], &GivenPorts::new(), |_, _| None);
        assert_eq!(before.len(), 4);
        assert_eq!(give(&halved, &asked, &[], &before, |_, _| None), before);
    }
}
