//! Hosts that a wildcard's certificate must not be served for.
//!
//! HAProxy chooses among the certificates of a host and of the wildcard over it by the kinds of key that a client knows, so a
//! line of the host's own does not keep the wildcard's away: only the wildcard's line itself can leave the host out. Such a
//! line is limited. Where there is not room for all, each namespace has its first hosts left out before any has its second.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

/// Of the 8,000 bytes of a crt-list's line that are sent through HAProxy's socket: a certificate, a wildcard and options stand there, too.
const BYTES: usize = 6_500;
/// HAProxy compares each of them in a handshake for the wildcard.
const MOST: usize = 400;

/// The hosts to be left out of one wildcard's line.
#[derive(Clone, Debug, Default)]
pub(crate) struct SeparateHosts {
    /// Each with the namespace that it belongs to.
    all: BTreeMap<Arc<str>, Arc<str>>,
    /// Those for which there is room.
    chosen: BTreeSet<Arc<str>>,
}

impl SeparateHosts {
    /// Notes whether a host must be left out, and for whom. Whether that is news.
    pub fn note(&mut self, host: &Arc<str>, namespace: Option<Arc<str>>) -> bool {
        match namespace {
            Some(namespace) => self.all.insert(host.clone(), namespace.clone()) != Some(namespace),
            None => self.all.remove(host).is_some(),
        }
    }

    /// Chooses again, and gives the hosts for which something is different.
    pub fn choose(&mut self) -> Vec<Arc<str>> {
        let all = self.all.iter().map(|(host, namespace)| (host, &**namespace));
        let chosen = fairly(all, |host: &Arc<str>| &**host, BYTES).into_iter().cloned().collect();
        let before = std::mem::replace(&mut self.chosen, chosen);
        before.symmetric_difference(&self.chosen).cloned().collect()
    }

    /// Those that the wildcard's line leaves out.
    pub fn chosen(&self) -> &BTreeSet<Arc<str>> {
        &self.chosen
    }

    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }
}

/// Of hosts with their namespaces those for which there is room in so many bytes: each namespace has its first one before any has its second.
pub(crate) fn fairly<'h, H: Copy>(
    all: impl Iterator<Item = (H, &'h str)>,
    text: impl Fn(H) -> &'h str,
    most: usize,
) -> Vec<H> {
    let mut turns: BTreeMap<&str, usize> = BTreeMap::new();
    let mut queue: Vec<(usize, H)> = Vec::new();
    for (host, namespace) in all {
        let turn = turns.entry(namespace).or_default();
        queue.push((*turn, host));
        *turn += 1;
    }
    queue.sort_by_key(|(turn, _)| *turn);
    let mut bytes = 0;
    let fits = |(_, host): &(usize, H)| {
        bytes += text(*host).len() + 2;
        bytes <= most
    };
    queue.into_iter().take(MOST).take_while(fits).map(|(_, host)| host).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_namespace_with_many_hosts_leaves_room_for_the_others() {
        let mut apart = SeparateHosts::default();
        for number in 0..10_000 {
            assert!(apart.note(&format!("a{number}.example").into(), Some("many".into())));
        }
        apart.choose();
        assert_eq!(apart.chosen().len(), MOST);
        assert!(apart.note(&"z.example".into(), Some("few".into())));
        assert!(!apart.note(&"z.example".into(), Some("few".into())));
        assert_eq!(apart.choose().len(), 2);
        assert!(apart.chosen().contains("z.example") && apart.chosen().len() == MOST);
        let long = |number: usize| format!("{}{number:05}.example", "x".repeat(200)).into();
        for number in 0..10_000 {
            apart.note(&long(number), Some("long".into()));
        }
        apart.choose();
        assert!(apart.chosen().iter().map(|host| host.len() + 2).sum::<usize>() <= BYTES);
        assert!(apart.chosen().contains("z.example"));
        assert!(apart.note(&"z.example".into(), None));
        apart.choose();
        assert!(!apart.chosen().contains("z.example"));
    }
}
