//! Of a certificate's names those by which HAProxy presents it: what belongs to another listener of the port is that one's.
//!
//! There may be thousands of listeners at a port and thousands of names in a certificate, so each name asks an index of the port.

use super::{
    hostname::{ANY, endings},
    listeners::GatewayListener,
};
use haptic_model::host_name::suffix;
use std::{
    collections::{BTreeMap, HashSet},
    sync::Arc,
};

/// The most names behind a certificate, and the most bytes of them: HAProxy reads 2,048 words and 64 KiB of a line, and refuses the whole file for more.
const MOST_NAMES: usize = 1_024;
const MOST_BYTES: usize = 32_768;

/// The hostnames of listeners at each of HAProxy's ports, but for those for all hosts.
pub(super) struct PortHostnames<'l>(BTreeMap<u16, HostnamesOfPort<'l>>);

#[derive(Default)]
struct HostnamesOfPort<'l> {
    all: HashSet<&'l str>,
    /// The ends of wildcards.
    wildcards: HashSet<&'l str>,
    /// The ends of all wildcards over any of them.
    above: HashSet<&'l str>,
}

/// The names by which a certificate is presented.
#[derive(Debug, PartialEq)]
pub(super) struct PresentedNames<'n> {
    pub names: Vec<&'n str>,
    /// Whether these are all that count. Else HAProxy reads the names itself, or the listener's hostname counts beside them.
    pub is_all: bool,
}

impl<'l> PortHostnames<'l> {
    pub fn of(served: &[&'l Arc<GatewayListener>]) -> Self {
        let mut all: BTreeMap<u16, HostnamesOfPort<'l>> = BTreeMap::new();
        for listener in served.iter().filter(|listener| *listener.hostname != *ANY) {
            if let Some(target) = listener.target {
                all.entry(target).or_default().add(&listener.hostname);
            }
        }
        Self(all)
    }

    /// The names by which a listener's certificate for `names` is presented.
    pub fn presented<'n>(&self, listener: &GatewayListener, names: &'n [Box<str>]) -> PresentedNames<'n> {
        let others = listener.target.and_then(|target| self.0.get(&target));
        let names = names.iter().map(|name| &**name);
        let left =
            others.filter(|_| *listener.hostname == *ANY).and_then(|others| others.left_of(names.clone()));
        let is_all = left.is_some();
        let names = left.or_else(|| Some(others?.deeper(suffix(&listener.hostname)?, names)));
        PresentedNames { names: in_a_line(names.unwrap_or_default()), is_all }
    }
}

impl<'l> HostnamesOfPort<'l> {
    fn add(&mut self, hostname: &'l str) {
        self.all.insert(hostname);
        self.wildcards.extend(suffix(hostname));
        self.above.extend(endings(hostname));
    }

    /// Of the names of an open listener's certificate those that are for no other listener at the port; `None` where all are.
    /// By itself HAProxy presents the certificate that has a name first, whosever hosts these are.
    fn left_of<'n>(&self, names: impl Iterator<Item = &'n str>) -> Option<Vec<&'n str>> {
        let is_of_another =
            |name: &&str| self.all.contains(name) || endings(name).any(|end| self.wildcards.contains(end));
        let (others, left): (Vec<_>, Vec<_>) = names.partition(is_of_another);
        (!others.is_empty()).then_some(left)
    }

    /// Of a certificate's names those that a wildcard with this end is for, and HAProxy's is not: there it stands for one label when a certificate is
    /// looked for. What a more specific listener of the port is for is that one's.
    fn deeper<'n>(&self, end: &str, names: impl Iterator<Item = &'n str>) -> Vec<&'n str> {
        let is_deep = |name: &str| name.strip_suffix(end).is_some_and(|front| front.contains('.'));
        let is_of_another = |name: &str| {
            let is_below = |below: &&str| below.len() > end.len();
            self.all.contains(name)
                || endings(name).take_while(is_below).any(|above| self.wildcards.contains(above))
                || suffix(name).is_some_and(|own| self.above.contains(own))
        };
        names.filter(|name| is_deep(name) && !is_of_another(name)).collect()
    }
}

/// As many of them as there is room for.
fn in_a_line(mut names: Vec<&str>) -> Vec<&str> {
    let mut bytes = 0;
    names.truncate(MOST_NAMES);
    names.retain(|name| {
        bytes += name.len() + 1;
        bytes <= MOST_BYTES
    });
    names
}

#[cfg(test)]
mod tests {
    use super::{
        super::{hostname::intersect, listeners::Allowed},
        *,
    };
    use proptest::prelude::*;

    fn listener(hostname: &str, target: u16) -> Arc<GatewayListener> {
        Arc::new(GatewayListener {
            id: hostname.into(),
            gateway: ("n".into(), "g".into()),
            namespace: "n".into(),
            name: hostname.into(),
            port: target,
            protocol: None,
            hostname: hostname.into(),
            owners: None,
            kinds: Vec::new(),
            allowed: Allowed::All,
            certificates: Vec::new(),
            names: Vec::new(),
            clients: None,
            conditions: Vec::new(),
            target: Some(target),
            is_served: true,
        })
    }

    /// The names by the definition: all other listeners are looked at.
    fn defined<'n>(
        listener: &GatewayListener,
        names: &'n [Box<str>],
        served: &[&Arc<GatewayListener>],
    ) -> PresentedNames<'n> {
        let others = || served.iter().filter(|other| other.target == listener.target);
        let names = names.iter().map(|name| &**name);
        let Some(end) = suffix(&listener.hostname) else {
            let narrower = || others().filter(|other| *other.hostname != *ANY);
            let is_taken = |name: &&str| {
                let covers = |end: &str| {
                    suffix(name).unwrap_or(name).strip_suffix(end).is_some_and(|front| !front.is_empty())
                };
                narrower()
                    .any(|other| *other.hostname == **name || suffix(&other.hostname).is_some_and(covers))
            };
            let (taken, left): (Vec<_>, Vec<_>) = names.partition(is_taken);
            let is_all = *listener.hostname == *ANY && !taken.is_empty();
            return PresentedNames { names: if is_all { left } else { Vec::new() }, is_all };
        };
        let is_deep = |name: &&str| name.strip_suffix(end).is_some_and(|front| front.contains('.'));
        let is_of_another = |name: &&str| {
            let longer = others().filter(|other| other.hostname.len() > listener.hostname.len());
            longer.into_iter().any(|other| intersect(&other.hostname, name))
        };
        let names = names.filter(|name| is_deep(name) && !is_of_another(name)).collect();
        PresentedNames { names, is_all: false }
    }

    fn any_hostname() -> impl Strategy<Value = &'static str> {
        prop::sample::select(vec![
            "*",
            "a",
            "*.a",
            "b.a",
            "*.b.a",
            "c.b.a",
            "xb.a",
            "*.c.b.a",
            "d.c.b.a",
            "*.d.c.b.a",
            "e.d.c.b.a",
            "*.x",
            "x.x",
            "y",
        ])
    }

    proptest! {
        #[test]
        fn an_index_finds_the_names_that_looking_at_all_listeners_finds(
            all in prop::collection::vec((any_hostname(), 1_u16..3), 0..10),
            names in prop::collection::vec(any_hostname(), 0..8),
        ) {
            let names: Vec<Box<str>> = names.into_iter().filter(|name| *name != ANY).map(Into::into).collect();
            let served: Vec<Arc<GatewayListener>> =
                all.into_iter().map(|(hostname, target)| listener(hostname, target)).collect();
            let served: Vec<&Arc<GatewayListener>> = served.iter().collect();
            let index = PortHostnames::of(&served);
            for listener in &served {
                prop_assert_eq!(index.presented(listener, &names), defined(listener, &names, &served));
            }
        }
    }

    #[test]
    fn a_line_has_no_more_names_than_haproxy_reads() {
        let wild = listener("*.a", 1);
        let served = [&wild];
        let index = PortHostnames::of(&served);
        let named =
            |front: &str| (0..3_000).map(|n| format!("{front}{n}.b.a").into()).collect::<Vec<Box<str>>>();
        let names = named("n");
        assert_eq!(index.presented(&wild, &names).names.len(), MOST_NAMES);
        let names = named(&"n".repeat(60));
        let presented = index.presented(&wild, &names).names;
        assert!(
            presented.iter().map(|name| name.len() + 1).sum::<usize>() <= MOST_BYTES && presented.len() > 400
        );
    }
}
