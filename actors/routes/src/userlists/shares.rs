//! HAProxy hashes once for each user whenever it reads its configuration, so all users together have a limit, too: the
//! namespaces share it fairly. Who asks for little gets it; what is left is divided among those who ask for much.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Namespace and name of a Secret.
pub type Name = (Arc<str>, Arc<str>);

/// The Secrets for whose users there is no room, when all together may cost `most`.
#[must_use]
pub fn without_room(costs: &BTreeMap<Name, u64>, most: u64) -> BTreeSet<Name> {
    let mut asked: BTreeMap<&Arc<str>, u64> = BTreeMap::new();
    for ((namespace, _), cost) in costs {
        *asked.entry(namespace).or_default() += cost;
    }
    let level = level(asked.values().copied().collect(), most);
    let mut given: BTreeMap<&Arc<str>, u64> = BTreeMap::new();
    let mut refused = BTreeSet::new();
    for (name, cost) in costs {
        let given = given.entry(&name.0).or_default();
        if *given + cost <= level {
            *given += cost;
        } else {
            refused.insert(name.clone());
        }
    }
    refused
}

/// The most that each may have, so that all together have no more than `most`.
fn level(mut asked: Vec<u64>, most: u64) -> u64 {
    asked.sort_unstable();
    let (mut left, mut sharing) = (most, asked.len() as u64);
    for cost in asked {
        if cost > left / sharing.max(1) {
            return left / sharing.max(1);
        }
        left -= cost;
        sharing -= 1;
    }
    most
}
