//! The ports of HAProxy's containers that stand behind ports of Gateways.
//!
//! A port stays what it is: what was given before, in this process or by the record of an earlier one, or else what the Gateway's Service says. New ones
//! get the lowest that is free, those of older Gateways first. It stays also while its listener is not served, such as one whose Secret is gone for
//! a while: the Gateway's Service goes on leading there. And it stays while nobody asks for it as long as that Service leads there: whoever got
//! it would get requests of others. A Service that claims what another Gateway has gets something else, and what Services of several
//! namespaces claim of which nothing was recorded is given to none of them. No namespace has more than its share, but for what was given to it before: the port of a ListenerSet is of
//! the ListenerSet's share, so that nobody uses up that of a Gateway which others may add listeners to.

use super::settings::{GatewaySettings, PortMode};
use haptic_model::gateway::NamespacedName;
use serde::{Deserialize, Serialize};
use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Range,
    sync::Arc,
};

/// A port of a Gateway as it is asked for.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct AskedPort {
    pub gateway: NamespacedName,
    pub port: u16,
    pub transport: PortTransport,
}

/// A port of a Gateway, and the namespace that asks for it first: the Gateway's, or that of a ListenerSet.
#[derive(Clone, Debug)]
pub(super) struct PortDemand {
    pub asked: AskedPort,
    pub namespace: Arc<str>,
}

/// The transport of connections to a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum PortTransport {
    /// HTTP in clear.
    Plain,
    /// TLS, whatever stands in it and wherever it ends.
    Tls,
    /// Anything.
    Tcp,
}

/// The number of lists of certificates, one for each port with TLS.
pub(super) const MOST_TLS_PORTS: usize = 32;

/// The ports that were given.
pub(super) type GivenPorts = BTreeMap<AskedPort, u16>;

/// What the Services of Gateways say.
#[derive(Clone, Copy)]
pub(super) struct PortsOfServices<'s> {
    /// The port of HAProxy behind a port of a Gateway.
    pub written: &'s dyn Fn(&NamespacedName, u16) -> Option<u16>,
    /// Whether any port of a Gateway, which may be gone, leads to this one of HAProxy.
    pub lead_to: &'s dyn Fn(&NamespacedName, u16) -> bool,
}

/// The ranges that Gateways have ports of their own out of: first and number.
struct PortRanges {
    plain: (u16, u16),
    tls: (u16, u16),
    tcp: (u16, u16),
}

/// A port of a Gateway, and what its Service says of it.
type WrittenPort<'a> = (&'a PortDemand, u16);

/// Gives ports out of ranges, none of them twice.
struct PortAllocator {
    ranges: PortRanges,
    /// The percentage of a range that one namespace may have.
    share: u16,
    /// The ports that Services of several namespaces claim and nobody had.
    contested: BTreeSet<u16>,
    given: GivenPorts,
    taken: BTreeSet<u16>,
    /// How many ports each namespace has.
    counts: BTreeMap<(Arc<str>, PortTransport), usize>,
    /// Below these none is free.
    lowest: BTreeMap<PortTransport, u16>,
}

/// Gives each port of `asked`, which are in the order of their Gateways' age, one of HAProxy; one is missing where none is left, or
/// the namespace has its share. `remembered` comes before what `services` say. Those that are `kept` get nothing that they have not. What else was
/// given stays given while a Service leads there.
pub(super) fn give(
    settings: &GatewaySettings,
    asked: &[PortDemand],
    kept: &[PortDemand],
    remembered: &GivenPorts,
    services: PortsOfServices<'_>,
) -> GivenPorts {
    let ranges = match &settings.ports {
        PortMode::Same { targets, own } => return same(targets, own, settings.namespace_share, asked),
        PortMode::Allocated { plain, tls, tcp } => PortRanges { plain: *plain, tls: *tls, tcp: *tcp },
    };
    let all = || asked.iter().chain(kept);
    let mut allocator = PortAllocator {
        ranges,
        share: settings.namespace_share,
        contested: BTreeSet::new(),
        given: GivenPorts::new(),
        taken: BTreeSet::new(),
        counts: BTreeMap::new(),
        lowest: BTreeMap::new(),
    };
    allocator.keep_remembered(all(), remembered);
    allocator.keep_led_to(remembered, services);
    let claims = allocator.claims(all(), services);
    allocator.contested = contested(&claims);
    allocator.keep_written(&claims);
    allocator.allocate_free(asked);
    allocator.given
}

/// The ports that Services of several namespaces claim. Who may edit a Service may write there what another's has. Where nothing was recorded nothing else
/// tells whose it is, and whoever got it would get the other's requests until the other's Service leads elsewhere.
fn contested(written: &[WrittenPort<'_>]) -> BTreeSet<u16> {
    let mut claims: BTreeMap<u16, BTreeSet<&str>> = BTreeMap::new();
    for (one, target) in written {
        claims.entry(*target).or_default().insert(&*one.asked.gateway.0);
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
    fn keep_remembered<'a>(&mut self, all: impl Iterator<Item = &'a PortDemand>, remembered: &GivenPorts) {
        for one in all {
            if let Some(target) = remembered.get(&one.asked) {
                self.take(one, *target);
            }
        }
    }

    /// Keeps the ports that were given and that nobody asks for, while a Service leads there.
    fn keep_led_to(&mut self, remembered: &GivenPorts, services: PortsOfServices<'_>) {
        for (one, target) in remembered {
            if !self.given.contains_key(one) && (services.lead_to)(&one.gateway, *target) {
                let namespace = one.gateway.0.clone();
                self.take(&PortDemand { asked: one.clone(), namespace }, *target);
            }
        }
    }

    /// What Services claim for ports that have none: no more for any namespace than it may have, so that nobody contests all that is free.
    fn claims<'a>(
        &self,
        all: impl Iterator<Item = &'a PortDemand>,
        services: PortsOfServices<'_>,
    ) -> Vec<WrittenPort<'a>> {
        let mut counts = self.counts.clone();
        let mut claims = Vec::new();
        for demand in all.filter(|demand| !self.given.contains_key(&demand.asked)) {
            let PortDemand { asked, namespace } = demand;
            let Some(target) = (services.written)(&asked.gateway, asked.port) else { continue };
            let count = counts.entry((namespace.clone(), asked.transport)).or_default();
            if *count < self.most(asked.transport) && self.ranges.fit(asked.transport, target) {
                *count += 1;
                claims.push((demand, target));
            }
        }
        claims
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
    fn allocate_free(&mut self, asked: &[PortDemand]) {
        for one in asked {
            if self.given.contains_key(&one.asked) || self.is_share_used_up(one) {
                continue;
            }
            if let Some(target) = self.lowest_free(one.asked.transport) {
                self.take(one, target);
            }
        }
    }

    /// The lowest port that is free. None becomes free again meanwhile, so those below are not looked at twice.
    fn lowest_free(&mut self, transport: PortTransport) -> Option<u16> {
        let Range { start, end } = self.ranges.of(transport);
        let from = self.lowest.get(&transport).map_or(start, |lowest| u32::from(*lowest));
        let mut range = (from..end).filter_map(|target| u16::try_from(target).ok());
        let target = range.find(|target| self.is_free(transport, *target));
        let last = u16::try_from(end).unwrap_or(u16::MAX);
        self.lowest.insert(transport, target.unwrap_or(last));
        target
    }

    /// Gives a port, as far as it may be given and nobody has it.
    fn take(&mut self, PortDemand { asked, namespace }: &PortDemand, target: u16) {
        if self.ranges.fit(asked.transport, target)
            && !self.given.contains_key(asked)
            && self.taken.insert(target)
        {
            self.given.insert(asked.clone(), target);
            *self.counts.entry((namespace.clone(), asked.transport)).or_default() += 1;
        }
    }

    fn is_free(&self, transport: PortTransport, target: u16) -> bool {
        self.ranges.fit(transport, target)
            && !self.taken.contains(&target)
            && !self.contested.contains(&target)
    }

    fn is_share_used_up(&self, PortDemand { asked, namespace }: &PortDemand) -> bool {
        let count = self.counts.get(&(namespace.clone(), asked.transport));
        count.is_some_and(|count| *count >= self.most(asked.transport))
    }

    /// How many ports one namespace may have.
    fn most(&self, transport: PortTransport) -> usize {
        share_of(self.ranges.of(transport).len(), self.share)
    }
}

/// The share of a number of ports by percent, and at least one.
fn share_of(ports: usize, percent: u16) -> usize {
    (ports * usize::from(percent) / 100).max(1)
}

/// The ports themselves, but those that HAProxy has for something else: two of its listeners at one port would share connections.
fn same(targets: &BTreeMap<u16, u16>, own: &BTreeSet<u16>, share: u16, asked: &[PortDemand]) -> GivenPorts {
    let mut given = GivenPorts::new();
    // With the namespace that was the first to ask for it.
    let mut tls: BTreeMap<u16, &str> = BTreeMap::new();
    let most = share_of(MOST_TLS_PORTS, share);
    for PortDemand { asked: one, namespace } in asked {
        let target = targets.get(&one.port).copied().unwrap_or(one.port);
        let is_tls = one.transport == PortTransport::Tls;
        let is_share_used_up = || tls.values().filter(|first| ***first == **namespace).count() >= most;
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

    const NO_SERVICES: PortsOfServices<'static> =
        PortsOfServices { written: &|_, _| None, lead_to: &|_, _| false };

    /// Gives ports where Services say this, and no other Service leads anywhere.
    fn give(
        settings: &GatewaySettings,
        asked: &[AskedPort],
        kept: &[AskedPort],
        remembered: &GivenPorts,
        written: impl Fn(&NamespacedName, u16) -> Option<u16>,
    ) -> GivenPorts {
        let services = PortsOfServices { written: &written, lead_to: &|_, _| false };
        give_to_gateways(settings, asked, kept, remembered, services)
    }

    /// Gives ports to Gateways, of which none has ListenerSets.
    fn give_to_gateways(
        settings: &GatewaySettings,
        asked: &[AskedPort],
        kept: &[AskedPort],
        remembered: &GivenPorts,
        services: PortsOfServices<'_>,
    ) -> GivenPorts {
        let own = |one: &AskedPort| PortDemand { asked: one.clone(), namespace: one.gateway.0.clone() };
        let [asked, kept] = [asked, kept].map(|all| all.iter().map(own).collect::<Vec<_>>());
        super::give(settings, &asked, &kept, remembered, services)
    }

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
    fn a_claim_costs_nobody_what_was_recorded_as_its_own() {
        let ports = PortMode::Allocated { plain: (100, 1), tls: (200, 4), tcp: (300, 1) };
        let (shared, attacker, newer) = (of("infra", 443), of("a", 443), of("b", 443));
        let all = [attacker.clone(), shared.clone(), newer.clone()];
        let claim = |gateway: &NamespacedName, _: u16| Some(203).filter(|_| &*gateway.0 != "b");
        let recorded = GivenPorts::from([(shared.clone(), 203), (attacker.clone(), 200)]);
        let given = give(&settings(ports.clone(), 100), &all, &[], &recorded, claim);
        assert_eq!(targets(&given, &all), [Some(200), Some(203), Some(201)]);
        // One that has no port yet claims another's in vain, too.
        let recorded = GivenPorts::from([(shared, 203)]);
        let given = give(&settings(ports, 100), &all, &[], &recorded, claim);
        assert_eq!(targets(&given, &all), [Some(200), Some(203), Some(201)]);
    }

    #[test]
    fn claims_contest_no_more_than_a_namespace_may_have() {
        let ports = PortMode::Allocated { plain: (100, 1), tls: (200, 8), tcp: (300, 1) };
        let two = ["a", "b"];
        let all: Vec<AskedPort> = two
            .into_iter()
            .flat_map(|ns| (0..8).map(move |port| of(ns, port)))
            .chain([of("c", 443)])
            .collect();
        let claim = |_: &NamespacedName, port: u16| (port < 8).then_some(200 + port);
        let given = give(&settings(ports, 25), &all, &[], &GivenPorts::new(), claim);
        assert!(given.contains_key(&of("c", 443)), "{given:?}");
    }

    #[test]
    fn a_port_is_nobody_elses_while_the_service_of_whoever_had_it_leads_there() {
        let ports = PortMode::Allocated { plain: (100, 1), tls: (200, 4), tcp: (300, 1) };
        let (before, newer) = (of("before", 443), [of("newer", 443), of("before", 444)]);
        let had = GivenPorts::from([(before.clone(), 200)]);
        for (leads, percent, expected) in [
            (true, 100, [Some(201), Some(202)]),
            (false, 100, [Some(200), Some(201)]),
            (true, 25, [Some(201), None]),
        ] {
            let lead_to =
                |gateway: &NamespacedName, target: u16| leads && *gateway == before.gateway && target == 200;
            let services = PortsOfServices { written: &|_, _| None, lead_to: &lead_to };
            let given = give_to_gateways(&settings(ports.clone(), percent), &newer, &[], &had, services);
            assert_eq!(targets(&given, &newer), expected, "it counts for the share of its namespace");
            assert_eq!(given.get(&before), leads.then_some(&200));
        }
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

    #[test]
    fn ports_of_listener_sets_are_of_the_share_of_their_namespace() {
        let allocated = PortMode::Allocated { plain: (100, 1), tls: (200, 8), tcp: (300, 1) };
        let same = PortMode::Same { targets: BTreeMap::new(), own: BTreeSet::new() };
        for (mode, most) in [(allocated, 4), (same, MOST_TLS_PORTS / 2)] {
            let demand = |namespace: &str, port: u16| PortDemand {
                asked: of("infra", port),
                namespace: namespace.into(),
            };
            let greedy: Vec<PortDemand> = (1..100).map(|port| demand("greedy", port)).collect();
            let others = [demand("honest", 8080), demand("infra", 443)];
            let all: Vec<PortDemand> = greedy.iter().chain(&others).cloned().collect();
            let given = super::give(&settings(mode, 50), &all, &[], &GivenPorts::new(), NO_SERVICES);
            assert_eq!(given.keys().filter(|one| one.port < 100).count(), most);
            assert!(others.iter().all(|one| given.contains_key(&one.asked)));
        }
    }
}
