//! What all stores may take together, so that the worst of all watched resources at once still fits into the container.
//!
//! No store takes more than the *level*. It is the highest at which all of them fit: a store that needs less has all that it
//! needs, whatever the others want, and those that want more have the same. So the level follows from what the stores want,
//! not from which of them was first.

use std::{collections::BTreeMap, sync::Arc, time::Duration};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};

/// Of the container's memory, if the configuration does not say. What is made of objects takes more than they do, and checks
/// need the rest.
const PART_OF_MEMORY: u64 = 4;

/// A list waits so long for those before it. One that hangs keeps nobody from listing for ever.
const TIMEOUT: Duration = Duration::from_secs(10);

/// Shared by all stores of a process; clones are the same.
#[derive(Clone, Debug)]
pub struct Pool {
    shares: Arc<watch::Sender<PoolShares>>,
    lists: Arc<Semaphore>,
}

/// While this is kept no other list is read.
pub type PoolTurn = Option<OwnedSemaphorePermit>;

/// How much a store may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PoolLevel {
    /// Bytes of one store.
    pub bytes: usize,
    /// Bytes of all stores.
    pub of: usize,
}

#[derive(Debug)]
struct PoolShares {
    memory: Option<u64>,
    wants: BTreeMap<Arc<str>, usize>,
    level: PoolLevel,
}

impl PoolLevel {
    /// No limit.
    pub const NONE: Self = Self { bytes: usize::MAX, of: usize::MAX };

    /// The highest at which stores that want so much fit into `total`.
    fn of(total: usize, wants: impl Iterator<Item = usize>) -> Self {
        let mut wants: Vec<usize> = wants.collect();
        wants.sort_unstable();
        let (mut left, mut stores) = (total, wants.len());
        for wanted in wants {
            let equal = left.checked_div(stores).unwrap_or(left);
            if wanted > equal {
                return Self { bytes: equal, of: total };
            }
            left -= wanted;
            stores -= 1;
        }
        Self { bytes: total, of: total }
    }
}

impl Pool {
    /// That of a process that may use `memory` bytes.
    #[must_use]
    pub fn new(memory: Option<u64>) -> Self {
        let shares = PoolShares { memory, wants: BTreeMap::new(), level: PoolLevel::NONE };
        Self { shares: Arc::new(watch::Sender::new(shares)), lists: Arc::new(Semaphore::new(1)) }
    }

    /// The store `resource` takes so many bytes, or would if it could; `total` is what the configuration gives all of them.
    pub fn ask(&self, resource: &Arc<str>, bytes: usize, total: Option<usize>) {
        self.shares.send_if_modified(|shares| {
            shares.wants.insert(resource.clone(), bytes);
            let of_memory = shares.memory.and_then(|memory| usize::try_from(memory / PART_OF_MEMORY).ok());
            let total = total.or(of_memory).unwrap_or(usize::MAX);
            let level = PoolLevel::of(total, shares.wants.values().copied());
            std::mem::replace(&mut shares.level, level) != level
        });
    }

    /// The store is gone. The others hear of it when they ask.
    pub fn leave(&self, resource: &str) {
        self.shares.send_if_modified(|shares| {
            shares.wants.remove(resource);
            false
        });
    }

    /// What a store may take now.
    #[must_use]
    pub fn level(&self) -> PoolLevel {
        self.shares.borrow().level
    }

    /// Waits for the turn to read a list: its pages are the largest things in memory, so they come one after the other.
    pub async fn turn(&self) -> PoolTurn {
        tokio::time::timeout(TIMEOUT, self.lists.clone().acquire_owned()).await.ok()?.ok()
    }

    /// Tells when the level is another.
    #[must_use]
    pub fn changes(&self) -> PoolChanges {
        PoolChanges(self.shares.subscribe())
    }
}

/// See [`Pool::changes`].
#[derive(Debug)]
pub struct PoolChanges(watch::Receiver<PoolShares>);

impl PoolChanges {
    /// Until the level is another than when this was called last.
    pub async fn next(&mut self) {
        if self.0.changed().await.is_err() {
            std::future::pending().await
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_store_that_needs_little_has_it_whoever_came_first() {
        for order in [["small", "huge", "large"], ["huge", "large", "small"]] {
            let pool = Pool::new(Some(4_000));
            for name in order {
                let wants = match name {
                    "small" => 100,
                    "large" => 800,
                    _ => 5_000,
                };
                pool.ask(&name.into(), wants, None);
            }
            assert_eq!(pool.level(), PoolLevel { bytes: 450, of: 1_000 });
        }
    }

    #[test]
    fn what_the_configuration_says_counts_more_than_the_memory() {
        let pool = Pool::new(Some(4_000));
        pool.ask(&"a".into(), 10, Some(50));
        assert_eq!(pool.level(), PoolLevel { bytes: 50, of: 50 });
        let free = Pool::new(None);
        free.ask(&"a".into(), usize::MAX, None);
        assert_eq!(free.level(), PoolLevel::NONE);
    }

    #[tokio::test]
    async fn stores_hear_of_another_level_and_of_nothing_else() {
        let pool = Pool::new(Some(4_000));
        pool.ask(&"a".into(), 900, None);
        let mut changes = pool.changes();
        pool.ask(&"a".into(), 800, None);
        let soon = tokio::time::timeout(Duration::from_millis(5), changes.next()).await;
        assert!(soon.is_err(), "all of them fit as before");
        pool.ask(&"b".into(), 700, None);
        changes.next().await;
        assert_eq!(pool.level().bytes, 500);
        pool.leave("b");
        pool.ask(&"a".into(), 800, None);
        changes.next().await;
        assert_eq!(pool.level().bytes, 1_000);
    }

    proptest! {
        #[test]
        fn all_of_them_fit_and_nothing_is_left_that_somebody_wants(
            total in 0_usize..10_000, wants in prop::collection::vec(0_usize..5_000, 1..8),
        ) {
            let level = PoolLevel::of(total, wants.iter().copied()).bytes;
            let taken: usize = wants.iter().map(|wanted| level.min(*wanted)).sum();
            prop_assert!(taken <= total);
            if wants.iter().any(|wanted| *wanted > level) {
                prop_assert!(total - taken < wants.len());
            }
        }
    }
}
