//! Of a certificate's names those by which HAProxy presents it: what belongs to another listener of the port is that one's.
//!
//! There may be thousands of listeners at a port and thousands of names in a certificate, so each name asks an index of the port.

use super::{
    hostname::{ANY, endings},
    listeners::{GatewayListener, Protocol},
};
use crate::ownership::separate_hosts::fairly;
use haptic_model::host_name::suffix;
use std::{
    collections::{BTreeMap, HashMap, HashSet},
    sync::Arc,
};

/// The most names behind a certificate, in several lines.
const MOST_NAMES: usize = 1_024;
/// The most bytes of names in a line, and of hosts that it is not for: 8,000 bytes of a line are sent through HAProxy's socket.
const BYTES_OF_NAMES: usize = 3_500;
const BYTES_OF_OTHERS: usize = 3_500;

/// The hostnames of listeners at each of HAProxy's ports, but for those for all hosts.
pub(super) struct PortHostnames<'l>(BTreeMap<u16, HostnamesOfPort<'l>>);

#[derive(Default)]
struct HostnamesOfPort<'l> {
    all: HashSet<&'l str>,
    /// The ends of wildcards.
    wildcards: HashSet<&'l str>,
    /// The ends of all wildcards over any of them.
    above: HashSet<&'l str>,
    /// By the end of the wildcard right over them the hosts that have certificates of their own, with their namespaces.
    below: HashMap<&'l str, BTreeMap<&'l str, &'l str>>,
}

/// A line of a certificate.
#[derive(Debug, PartialEq)]
pub(super) struct CertificateLine<'n> {
    /// Whether the listener's hostname is one of its names.
    pub is_first: bool,
    pub names: Vec<&'n str>,
    /// Hosts below its wildcards that it is not for.
    pub except: Vec<&'n str>,
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
                all.entry(target).or_default().add(listener);
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
        let mut names = names.unwrap_or_default();
        names.truncate(MOST_NAMES);
        PresentedNames { names, is_all }
    }

    /// The lines of a listener's certificate for `names`; one without any is for all that the certificate is for.
    ///
    /// HAProxy chooses among the certificates of a host and of the wildcard over it by the kinds of key that a client knows: only the wildcard's line itself can
    /// leave a host out that has a certificate of its own.
    pub fn lines<'n>(
        &'n self,
        listener: &GatewayListener,
        names: &'n [Box<str>],
    ) -> Vec<CertificateLine<'n>> {
        let PresentedNames { names: presented, is_all } = self.presented(listener, names);
        let except = self.others_below(listener, names);
        let is_any = *listener.hostname == *ANY;
        // HAProxy does not read a certificate's names where a host is left out.
        let (presented, is_all) = if is_any && !is_all && !except.is_empty() {
            (names.iter().map(|name| &**name).take(MOST_NAMES).collect(), true)
        } else {
            (presented, is_all)
        };
        if is_all && presented.is_empty() {
            return Vec::new();
        }
        let mut lines: Vec<CertificateLine<'n>> = in_lines(presented);
        for line in &mut lines {
            let has_wildcard = line.names.iter().any(|name| suffix(name).is_some());
            if has_wildcard || (line.is_first && suffix(&listener.hostname).is_some()) {
                line.except.clone_from(&except);
            }
        }
        lines
    }

    /// Hosts right below the wildcards of a listener and of its certificate that have certificates of their own.
    fn others_below<'n>(&'n self, listener: &GatewayListener, names: &'n [Box<str>]) -> Vec<&'n str> {
        let Some(others) = listener.target.and_then(|target| self.0.get(&target)) else { return Vec::new() };
        let own = std::iter::once(&*listener.hostname).filter_map(suffix);
        let of_certificate = names.iter().filter_map(|name| suffix(name));
        let below: BTreeMap<&str, &str> = own
            .chain(of_certificate)
            .filter_map(|end| others.below.get(end))
            .flat_map(|hosts| hosts.iter().map(|(host, namespace)| (*host, *namespace)))
            .collect();
        fairly(below.into_iter(), |host| host, BYTES_OF_OTHERS)
    }
}

impl<'l> HostnamesOfPort<'l> {
    fn add(&mut self, listener: &'l GatewayListener) {
        let hostname: &str = &listener.hostname;
        self.all.insert(hostname);
        self.wildcards.extend(suffix(hostname));
        self.above.extend(endings(hostname));
        if suffix(hostname).is_none()
            && listener.protocol.is_some_and(Protocol::ends_tls)
            && let Some(end) = endings(hostname).next()
        {
            self.below.entry(end).or_default().insert(hostname, &listener.namespace);
        }
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

/// In as many lines as they need, one at least.
fn in_lines(names: Vec<&str>) -> Vec<CertificateLine<'_>> {
    let line = |is_first: bool| CertificateLine { is_first, names: Vec::new(), except: Vec::new() };
    let (mut lines, mut last, mut bytes) = (Vec::new(), line(true), 0);
    for name in names {
        if bytes + name.len() + 1 > BYTES_OF_NAMES {
            lines.push(std::mem::replace(&mut last, line(false)));
            bytes = 0;
        }
        bytes += name.len() + 1;
        last.names.push(name);
    }
    lines.push(last);
    lines
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
    fn names_stand_in_lines_that_the_socket_takes() {
        let wild = listener("*.a", 1);
        let served = [&wild];
        let index = PortHostnames::of(&served);
        let named =
            |front: &str| (0..3_000).map(|n| format!("{front}{n}.b.a").into()).collect::<Vec<Box<str>>>();
        for names in [named("n"), named(&"n".repeat(60))] {
            let lines = index.lines(&wild, &names);
            let bytes =
                |line: &CertificateLine<'_>| line.names.iter().map(|name| name.len() + 1).sum::<usize>();
            assert!(lines.len() > 1 && lines.iter().all(|line| bytes(line) <= BYTES_OF_NAMES));
            assert_eq!(lines.iter().map(|line| line.names.len()).sum::<usize>(), MOST_NAMES);
            assert_eq!(lines.iter().filter(|line| line.is_first).count(), 1);
        }
    }

    #[test]
    fn a_wildcard_leaves_out_the_hosts_right_below_it_that_have_certificates() {
        let web = |hostname: &str, namespace: &str| {
            let listener = GatewayListener::clone(&listener(hostname, 1));
            Arc::new(GatewayListener {
                protocol: Some(Protocol::Https),
                namespace: namespace.into(),
                ..listener
            })
        };
        let (wild, open) = (web("*.a", "mallory"), web(ANY, "mallory"));
        let mut all =
            vec![wild.clone(), open.clone(), web("x.a", "shop"), web("y.x.a", "shop"), web("z.b", "shop")];
        let except = |all: &[Arc<GatewayListener>], asking: &Arc<GatewayListener>, names: &[&str]| {
            let names: Vec<Box<str>> = names.iter().map(|name| (*name).into()).collect();
            let served: Vec<_> = all.iter().collect();
            let index = PortHostnames::of(&served);
            let lines = index.lines(asking, &names);
            let texts = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
            (texts(&lines[0].names), texts(&lines[0].except))
        };
        let of = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
        assert_eq!(except(&all, &wild, &["*.a"]), (of(&[]), of(&["x.a"])));
        assert_eq!(except(&all, &open, &["*.b", "c"]), (of(&["*.b", "c"]), of(&["z.b"])));
        assert_eq!(except(&all, &open, &["c"]), (of(&[]), of(&[])));
        all.extend((0..1_000).map(|number| web(&format!("a{number}.a"), "mallory")));
        let (_, left_out) = except(&all, &wild, &["*.a"]);
        assert!(
            left_out.contains(&"x.a".to_owned()),
            "each namespace has its first before any has its second"
        );
    }
}
