//! Which port of HAProxy's containers stands behind a port of a Gateway.
//!
//! A port stays what it is: what was given in this process, or else what the Gateway's Service says. New ones get the lowest that is
//! free, those of older Gateways first. A Service that claims what another Gateway has gets something else.

use super::settings::PortMode;
use haptic_model::gateway::NamespacedName;
use std::collections::{BTreeMap, BTreeSet};

/// A port of a Gateway as it is asked for.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct AskedPort {
    pub gateway: NamespacedName,
    pub port: u16,
    pub transport: PortTransport,
}

/// What connections to a port are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum PortTransport {
    /// HTTP in clear.
    Plain,
    /// TLS, whatever stands in it and wherever it ends.
    Tls,
    /// Anything.
    Tcp,
}

/// So many lists of certificates there are, one for each port with TLS.
const MOST_TLS_PORTS: usize = 32;

/// What was given.
pub(super) type GivenPorts = BTreeMap<AskedPort, u16>;

/// Gives each port of `asked`, which are in the order of their Gateways' age, one of HAProxy; one is missing where none is left.
/// `remembered` comes before what is `written` in Services.
pub(super) fn give(
    mode: &PortMode,
    asked: &[AskedPort],
    remembered: &GivenPorts,
    written: impl Fn(&NamespacedName, u16) -> Option<u16>,
) -> GivenPorts {
    let (plain, tls, tcp) = match mode {
        PortMode::Same { targets, own } => return same(targets, own, asked),
        PortMode::Allocated { plain, tls, tcp } => (*plain, *tls, *tcp),
    };
    let range = |transport: PortTransport| {
        let (first, count) = match transport {
            PortTransport::Plain => plain,
            PortTransport::Tls => tls,
            PortTransport::Tcp => tcp,
        };
        u32::from(first)..u32::from(first) + u32::from(count)
    };
    // HAProxy listens at all of those for HTTP, whatever the other ranges are.
    let fits = |transport: PortTransport, target: u16| {
        let target = u32::from(target);
        let is_plain = range(PortTransport::Plain).contains(&target);
        range(transport).contains(&target) && is_plain == (transport == PortTransport::Plain)
    };
    let mut given = GivenPorts::new();
    let mut taken = BTreeSet::new();
    let mut take = |one: &AskedPort, target: Option<u16>, given: &mut GivenPorts| {
        if let Some(target) = target.filter(|target| fits(one.transport, *target))
            && !given.contains_key(one)
            && taken.insert(target)
        {
            given.insert(one.clone(), target);
        }
    };
    for one in asked {
        take(one, remembered.get(one).copied(), &mut given);
    }
    for one in asked {
        take(one, written(&one.gateway, one.port), &mut given);
    }
    for one in asked.iter().filter(|one| !given.contains_key(*one)).collect::<Vec<_>>() {
        let all: BTreeSet<u16> = given.values().copied().collect();
        let mut free = range(one.transport).filter_map(|target| u16::try_from(target).ok());
        if let Some(target) = free.find(|target| fits(one.transport, *target) && !all.contains(target)) {
            given.insert(one.clone(), target);
        }
    }
    given
}

/// The ports themselves, but those that HAProxy has for something else: two of its listeners at one port would share connections.
fn same(targets: &BTreeMap<u16, u16>, own: &BTreeSet<u16>, asked: &[AskedPort]) -> GivenPorts {
    let mut given = GivenPorts::new();
    let mut tls = BTreeSet::new();
    for one in asked {
        let target = targets.get(&one.port).copied().unwrap_or(one.port);
        let is_tls = one.transport == PortTransport::Tls;
        let is_left = !is_tls || tls.contains(&target) || tls.len() < MOST_TLS_PORTS;
        if own.contains(&target) || !is_left {
            continue;
        }
        if is_tls {
            tls.insert(target);
        }
        given.insert(one.clone(), target);
    }
    given
}

#[cfg(test)]
mod tests {
    use super::*;

    const MODE: PortMode = PortMode::Allocated { plain: (100, 3), tls: (200, 1), tcp: (300, 1) };

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
        let given = give(&MODE, &all, &GivenPorts::new(), |_, _| None);
        assert_eq!(targets(&given, &all), [Some(100), Some(101), Some(200)]);
        let later = [asked("old", 80, false), all[1].clone(), asked("x", 443, true), all[2].clone()];
        let kept = give(&MODE, &later, &given, |_, _| None);
        assert_eq!(targets(&kept, &later), [Some(100), Some(101), None, Some(200)]);
    }

    #[test]
    fn what_services_say_counts_unless_another_has_it() {
        let all = [asked("a", 80, false), asked("b", 80, false), asked("c", 80, false)];
        let written = |gateway: &NamespacedName, _| match &*gateway.1 {
            "a" | "b" => Some(102),
            _ => Some(9),
        };
        let fresh = give(&MODE, &all, &GivenPorts::new(), written);
        assert_eq!(targets(&fresh, &all), [Some(102), Some(100), Some(101)]);
        let had = GivenPorts::from([(all[1].clone(), 102)]);
        assert_eq!(give(&MODE, &all, &had, written)[&all[1]], 102);
    }

    #[test]
    fn ranges_that_overlap_give_no_port_twice() {
        let mode = PortMode::Allocated { plain: (100, 3), tls: (102, 2), tcp: (101, 4) };
        let over_tcp = |name: &str| AskedPort { transport: PortTransport::Tcp, ..asked(name, 25, false) };
        let all = [asked("a", 443, true), over_tcp("a"), over_tcp("b"), asked("a", 80, false)];
        let given = give(&mode, &all, &GivenPorts::new(), |_, _| Some(102));
        assert_eq!(targets(&given, &all), [Some(103), Some(104), None, Some(102)]);
    }

    #[test]
    fn gateways_may_share_the_ports_themselves() {
        let mode = PortMode::Same { targets: BTreeMap::from([(80, 8080)]), own: BTreeSet::from([82]) };
        let all =
            [asked("a", 80, false), asked("b", 80, false), asked("b", 81, false), asked("b", 82, false)];
        let given = give(&mode, &all, &GivenPorts::new(), |_, _| Some(1));
        assert_eq!(targets(&given, &all), [Some(8080), Some(8080), Some(81), None]);
        let many: Vec<AskedPort> = (1..40).map(|port| asked("a", port, true)).collect();
        assert_eq!(give(&mode, &many, &GivenPorts::new(), |_, _| None).len(), MOST_TLS_PORTS);
    }
}
