//! `allow` and `deny`: the first one that has an address counts.

use crate::{
    families::{Translation, translation::EVERYBODY},
    options::network::Network,
};

/// The most networks that are read.
const MOST: usize = 500;
/// So often one network is compared with another one.
const MOST_STEPS: usize = 200_000;

/// The clients that lines of `allow` and `deny` let in.
#[derive(Debug, Default)]
pub struct NginxAddresses {
    allowed: Vec<Network>,
    denied: Vec<Network>,
    /// Whether all others get in, where that is said.
    others: Option<bool>,
    steps: usize,
}

impl NginxAddresses {
    /// Takes one line, if it can be read.
    pub fn takes(&mut self, is_allowed: bool, network: &str) -> bool {
        if self.others.is_some() {
            return true;
        }
        if network == "all" {
            self.others = Some(is_allowed);
            return true;
        }
        let Some(network) = Network::of(network) else { return false };
        if is_allowed {
            self.allowed.push(network);
        } else {
            let mut left = vec![network];
            for allowed in &self.allowed {
                self.steps += left.len();
                left = left.iter().flat_map(|one| one.minus(allowed)).collect();
                if left.len() > MOST || self.steps > MOST_STEPS {
                    return false;
                }
            }
            self.denied.extend(left);
        }
        self.allowed.len() <= MOST && self.denied.len() <= MOST
    }

    /// The options that let in the same, each with its networks.
    fn lists(&self) -> Vec<(&'static str, String)> {
        let text = |networks: &[Network]| networks.iter().map(Network::text).collect::<Vec<_>>().join(",");
        if self.others == Some(false) && self.allowed.is_empty() {
            return vec![("deny-from", EVERYBODY.to_owned())];
        }
        let allowed: &[Network] = if self.others == Some(true) { &[] } else { &self.allowed };
        let lists = [("allow-from", allowed), ("deny-from", &*self.denied)];
        let given = lists.into_iter().filter(|(_, networks)| !networks.is_empty());
        given.map(|(option, networks)| (option, text(networks))).collect()
    }

    /// The same for all routes of the hosts.
    pub fn guard_hosts(&self, to: &mut Translation<'_>) {
        for (option, networks) in self.lists() {
            to.guard_hosts(option, &networks);
        }
    }

    /// Beside what annotations say of addresses.
    pub fn set(&self, key: &str, to: &mut Translation<'_>) {
        if self.others.is_none() && !self.allowed.is_empty() {
            to.differs(key, "has allow without `deny all` behind it: nobody else gets in all the same");
        }
        // Behind the addresses of an annotation nginx says `deny all`: those of a snippet are never asked.
        let is_asked = !to.has("allow-from");
        for (option, networks) in self.lists() {
            if option == "deny-from" || is_asked {
                to.add(option, &networks, key);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_line_that_has_an_address_counts() {
        let lists = |lines: &[(bool, &str)]| {
            let mut addresses = NginxAddresses::default();
            assert!(lines.iter().all(|(is_allowed, network)| addresses.takes(*is_allowed, network)));
            let all = addresses.lists().into_iter().map(|(option, networks)| format!("{option} {networks}"));
            all.collect::<Vec<_>>().join("; ")
        };
        let everybody = format!("deny-from {EVERYBODY}");
        let (allow, deny) = (true, false);
        assert_eq!(lists(&[(deny, "all")]), everybody);
        assert_eq!(lists(&[(allow, "10.0.0.0/8"), (deny, "all"), (allow, "::/0")]), "allow-from 10.0.0.0/8");
        assert_eq!(
            lists(&[(deny, "10.0.0.1"), (allow, "10.0.0.0/8"), (deny, "all")]),
            "allow-from 10.0.0.0/8; deny-from 10.0.0.1"
        );
        assert_eq!(
            lists(&[(allow, "10.0.0.1"), (deny, "10.0.0.0/31"), (allow, "all")]),
            "deny-from 10.0.0.0/32"
        );
        assert_eq!(
            lists(&[(allow, "10.0.0.0/8"), (deny, "10.0.0.1"), (deny, "all")]),
            "allow-from 10.0.0.0/8"
        );
        assert_eq!(lists(&[(allow, "all"), (deny, "all")]), "");
        assert!(!NginxAddresses::default().takes(allow, "unix:"));
        let mut addresses = NginxAddresses::default();
        assert!((1..500).all(|number| addresses.takes(allow, &format!("{number:x}::"))));
        assert!(!(1..10_000).all(|_| addresses.takes(deny, "::/1")), "comparing takes too long");
    }
}
