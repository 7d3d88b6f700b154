//! Listeners with TLS at one port whose hostnames or certificates are for the same hosts: a client may use its connection for both.
//!
//! https://gateway-api.sigs.k8s.io/reference/spec/, `ListenerConditionOverlappingTLSConfig`. There may be thousands at a port, so each asks an index of it
//! for the first other one, instead of all others.

use super::{
    conditions::met,
    hostname::{ANY, endings},
    listeners::{GatewayListener, Protocol},
};
use haptic_model::{gateway::NamespacedName, host_name::suffix};
use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

/// The parts of a listener that are compared.
#[derive(Clone, Debug)]
struct TlsListener {
    id: Arc<str>,
    hostname: Arc<str>,
    certificates: Vec<NamespacedName>,
    /// Only of HTTP are there several requests in a connection.
    is_web: bool,
}

/// A reason of the API, and the other listener.
type Overlap = (&'static str, Arc<str>);

/// Says it of all of a Gateway's listeners of which it is so.
pub(super) fn note<'l>(listeners: impl Iterator<Item = &'l mut GatewayListener>) {
    let mut of_ports: BTreeMap<u16, Vec<&'l mut GatewayListener>> = BTreeMap::new();
    for listener in listeners.filter(|one| one.is_served && one.protocol.is_some_and(Protocol::is_tls)) {
        of_ports.entry(listener.port).or_default().push(listener);
    }
    for listeners in of_ports.into_values() {
        let all: Vec<TlsListener> = listeners.iter().map(|listener| TlsListener::of(listener)).collect();
        for (listener, found) in listeners.into_iter().zip(overlaps(&all)) {
            if let Some((reason, other)) = found {
                let then = match listener.protocol {
                    Some(Protocol::Https) => "requests for another listener than the connection's get 421",
                    _ => "they are passed on as they are, and its servers get such requests",
                };
                let message =
                    format!("clients may take its connections for those of listener {other}; {then}");
                listener.conditions.push(met("OverlappingTLSConfig", reason, message));
            }
        }
    }
}

impl TlsListener {
    fn of(listener: &GatewayListener) -> Self {
        Self {
            id: listener.id.clone(),
            hostname: listener.hostname.clone(),
            certificates: listener.certificates.clone(),
            is_web: listener.protocol == Some(Protocol::Https),
        }
    }
}

/// For each of a port's listeners, in their order, the first other one that has a certificate of it; else the first one with hosts in common.
fn overlaps(all: &[TlsListener]) -> Vec<Option<Overlap>> {
    let index = PortIndex::of(all);
    all.iter().map(|listener| index.overlap(listener)).collect()
}

/// Of listeners, by their numbers, the first and the first with another id: whoever asks finds one that is another.
#[derive(Clone, Copy, Default)]
struct FirstTwo<'a>(Option<(usize, &'a str)>, Option<(usize, &'a str)>);

impl<'a> FirstTwo<'a> {
    fn add(&mut self, number: usize, id: &'a str) {
        match (self.0, self.1) {
            (None, _) => self.0 = Some((number, id)),
            (Some((_, first)), None) if first != id => self.1 = Some((number, id)),
            _ => {}
        }
    }

    fn other_than(self, id: &str) -> Option<(usize, &'a str)> {
        self.0.filter(|(_, first)| *first != id).or(self.1)
    }
}

/// The first listeners of some kind, and those of HTTP among them.
#[derive(Default)]
struct Firsts<'a> {
    any: FirstTwo<'a>,
    web: FirstTwo<'a>,
}

impl<'a> Firsts<'a> {
    fn add(&mut self, number: usize, listener: &'a TlsListener) {
        self.any.add(number, &listener.id);
        if listener.is_web {
            self.web.add(number, &listener.id);
        }
    }

    fn for_one(&self, asking: &TlsListener) -> Option<(usize, &'a str)> {
        if asking.is_web { self.any } else { self.web }.other_than(&asking.id)
    }
}

/// The listeners of one port, by what they may have in common with another.
#[derive(Default)]
struct PortIndex<'a> {
    all: Firsts<'a>,
    certificates: HashMap<&'a NamespacedName, Firsts<'a>>,
    hostnames: HashMap<&'a str, Firsts<'a>>,
    /// Wildcards, by what they end with.
    wildcards: HashMap<&'a str, Firsts<'a>>,
    /// Hostnames, by the endings of all wildcards over them.
    below: HashMap<&'a str, Firsts<'a>>,
}

impl<'a> PortIndex<'a> {
    fn of(all: &'a [TlsListener]) -> Self {
        let mut this = Self::default();
        for (number, listener) in all.iter().enumerate() {
            this.all.add(number, listener);
            for certificate in &listener.certificates {
                this.certificates.entry(certificate).or_default().add(number, listener);
            }
            this.hostnames.entry(&listener.hostname).or_default().add(number, listener);
            if let Some(end) = suffix(&listener.hostname) {
                this.wildcards.entry(end).or_default().add(number, listener);
            }
            for end in endings(&listener.hostname) {
                this.below.entry(end).or_default().add(number, listener);
            }
        }
        this
    }

    fn overlap(&self, listener: &TlsListener) -> Option<Overlap> {
        let certificate = listener.certificates.iter().filter_map(|one| self.certificates.get(one));
        let certificate = certificate.filter_map(|firsts| firsts.for_one(listener)).min();
        let found = certificate.map(|one| ("OverlappingCertificates", one));
        let (reason, (_, id)) =
            found.or_else(|| Some(("OverlappingHostnames", self.with_hosts_of(listener)?)))?;
        Some((reason, id.into()))
    }

    fn with_hosts_of(&self, listener: &TlsListener) -> Option<(usize, &'a str)> {
        let hostname = &*listener.hostname;
        if hostname == ANY {
            return self.all.for_one(listener);
        }
        let same = [hostname, ANY].into_iter().filter_map(|name| self.hostnames.get(name));
        let above = endings(hostname).filter_map(|end| self.wildcards.get(end));
        let below = suffix(hostname).and_then(|end| self.below.get(end));
        same.chain(above).chain(below).filter_map(|firsts| firsts.for_one(listener)).min()
    }
}

#[cfg(test)]
mod tests {
    use super::{super::hostname::intersect, *};
    use proptest::prelude::*;

    /// The overlap of a listener by the definition: all others are looked at.
    fn defined(all: &[TlsListener], listener: &TlsListener) -> Option<Overlap> {
        let others = || all.iter().filter(|o| o.id != listener.id && (o.is_web || listener.is_web));
        let shares = |o: &&TlsListener| o.certificates.iter().any(|one| listener.certificates.contains(one));
        let certificate = others().find(shares).map(|other| ("OverlappingCertificates", other.id.clone()));
        certificate.or_else(|| {
            let other = others().find(|other| intersect(&listener.hostname, &other.hostname))?;
            Some(("OverlappingHostnames", other.id.clone()))
        })
    }

    fn any_listener() -> impl Strategy<Value = TlsListener> {
        let hostname = prop::sample::select(vec![
            "*", "a", "*.a", "b.a", "*.b.a", "c.b.a", "xb.a", "*.c.b.a", "d.c.b.a", "*.x", "x.x", "y",
        ]);
        // Files may have two of one name.
        (0_u8..12, hostname, prop::collection::vec(0_u8..8, 0..3), any::<bool>()).prop_map(
            |(id, hostname, certificates, is_web)| TlsListener {
                id: format!("n/g/{id}").into(),
                hostname: hostname.into(),
                certificates: certificates.iter().map(|one| ("n".into(), format!("c{one}").into())).collect(),
                is_web,
            },
        )
    }

    proptest! {
        #[test]
        fn an_index_finds_what_looking_at_all_others_finds(all in prop::collection::vec(any_listener(), 0..12)) {
            let defined: Vec<_> = all.iter().map(|listener| defined(&all, listener)).collect();
            prop_assert_eq!(overlaps(&all), defined);
        }
    }
}
