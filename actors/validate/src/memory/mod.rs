//! One memory budget for the controller, its webhook and every `haproxy -c`: what the container has, less what the controller
//! uses, is lent to checks. Two that do not fit run one after another, and one that never fits fails at once.

mod limit;
mod need;

pub use limit::MemoryLimit;
pub use need::{MemoryNeed, Needs};
pub(crate) use need::{NO_MEMORY, most_used_by};

use std::{
    fmt,
    sync::{Arc, Mutex, PoisonError},
};
use tokio::sync::Notify;

const MB: u64 = 1 << 20;
/// What the controller may grow by while checks run.
const KEPT_FREE: u64 = 64 * MB;
/// A check gets more than it needs, if there is more: what it needs is an estimate.
const TIMES_ITS_NEED: u64 = 4;
const ON_TOP: u64 = 256 * MB;
/// A large check leaves so much to small ones, if it can.
const LEFT_TO_OTHERS: u64 = 256 * MB;

/// What is lent to checks. Clones share it.
#[derive(Clone, Debug)]
pub struct Budget(Arc<MemoryLedger>);

#[derive(Debug)]
struct MemoryLedger {
    limit: Option<MemoryLimit>,
    /// What this process uses by itself.
    used: fn() -> u64,
    lent: Mutex<u64>,
    returned: Notify,
    /// Whoever waits is served in turn: a large check is not overtaken by small ones for ever.
    turn: tokio::sync::Mutex<()>,
}

/// Memory that a check may use, given back when it is dropped.
#[derive(Debug)]
pub struct Loan {
    /// So much; `None`: nobody limits it.
    pub bytes: Option<u64>,
    ledger: Arc<MemoryLedger>,
}

/// What a check needs is not there, and never will be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TooLittle {
    /// What it needs.
    pub needed: u64,
    /// What the controller uses.
    pub used: u64,
    /// What there is.
    pub limit: MemoryLimit,
}

impl Budget {
    /// What this process may use: its container's limit, or its own.
    #[must_use]
    pub fn of_this_process() -> Self {
        Self::of(MemoryLimit::read(), need::used_by_this_process)
    }

    /// A budget of `limit`, of which this process uses `used`.
    #[must_use]
    pub fn of(limit: Option<MemoryLimit>, used: fn() -> u64) -> Self {
        let (lent, returned, turn) = (Mutex::new(0), Notify::new(), tokio::sync::Mutex::new(()));
        Self(Arc::new(MemoryLedger { limit, used, lent, returned, turn }))
    }

    /// Lends what a check takes, as soon as others have given back enough. What it is likely to take may be more than there
    /// is: then it gets all there is, and shows whether it takes that, so that no check is refused for what others took.
    ///
    /// # Errors
    /// The least it takes does not fit though nobody else has borrowed anything.
    pub async fn lend(&self, needed: MemoryNeed) -> Result<Loan, TooLittle> {
        let _turn = self.0.turn.lock().await;
        loop {
            let returned = self.0.returned.notified();
            if let Some(loan) = self.try_lend(needed)? {
                return Ok(loan);
            }
            returned.await;
        }
    }

    /// `None` while others have what it takes.
    fn try_lend(&self, needed: MemoryNeed) -> Result<Option<Loan>, TooLittle> {
        let ledger = self.0.clone();
        let Some(limit) = ledger.limit else { return Ok(Some(Loan { bytes: None, ledger })) };
        let used = (ledger.used)();
        let mut lent = ledger.lent.lock().unwrap_or_else(PoisonError::into_inner);
        let free = limit.bytes.saturating_sub(used + KEPT_FREE + *lent);
        if free < needed.likely && *lent > 0 {
            return Ok(None);
        }
        if free < needed.least {
            return Err(TooLittle { needed: needed.likely, used, limit });
        }
        let for_one = free.saturating_sub(LEFT_TO_OTHERS).max(needed.likely).min(free);
        let bytes = (needed.likely * TIMES_ITS_NEED + ON_TOP).min(for_one);
        *lent += bytes;
        drop(lent);
        Ok(Some(Loan { bytes: Some(bytes), ledger }))
    }
}

impl Drop for Loan {
    fn drop(&mut self) {
        let mut lent = self.ledger.lent.lock().unwrap_or_else(PoisonError::into_inner);
        *lent = lent.saturating_sub(self.bytes.unwrap_or(0));
        drop(lent);
        self.ledger.returned.notify_one();
    }
}

impl TooLittle {
    /// A limit with which it would fit.
    fn wanted(&self) -> u64 {
        (self.needed + self.used + KEPT_FREE).div_ceil(64 * MB) * 64
    }

    /// What to do.
    #[must_use]
    pub fn help(&self) -> String {
        match self.limit.is_containers {
            true => format!("Raise resources.limits.memory to {}Mi", self.wanted()),
            false => format!("Raise the limit of this process (ulimit -v) to {} MB", self.wanted()),
        }
    }
}

impl fmt::Display for TooLittle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let who = if self.limit.is_containers { "container" } else { "process" };
        let [needed, has, used] = [self.needed, self.limit.bytes, self.used].map(|bytes| bytes / MB);
        write!(
            f,
            "haproxy -c needs about {needed} MB for it; the {who} has {has} MB, of which the controller uses {used} MB"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn budget(megabytes: u64) -> Budget {
        let limit = MemoryLimit { bytes: megabytes * MB, is_containers: true };
        Budget::of(Some(limit), || 210 * MB)
    }

    fn need(bytes: u64) -> MemoryNeed {
        MemoryNeed { least: bytes, likely: bytes }
    }

    #[tokio::test]
    async fn what_is_likely_to_be_too_much_gets_all_there_is() {
        let budget = budget(512);
        let likely = MemoryNeed { least: 96 * MB, likely: 640 * MB };
        let loan = budget.lend(likely).await.unwrap();
        assert_eq!(loan.bytes, Some((512 - 210 - 64) * MB));
        drop(loan);
        let small = budget.lend(need(30 * MB)).await.unwrap();
        let mut waits = tokio::spawn(async move { budget.lend(likely).await });
        let soon = tokio::time::timeout(Duration::from_millis(20), &mut waits).await;
        assert!(soon.is_err(), "it has no chance beside others");
        drop(small);
        assert!(waits.await.unwrap().is_ok());
    }

    #[tokio::test]
    async fn what_can_never_fit_says_at_once_which_limit_it_needs() {
        let why = budget(512).lend(need(640 * MB)).await.unwrap_err();
        assert_eq!(
            format!("{why}. {}", why.help()),
            "haproxy -c needs about 640 MB for it; the container has 512 MB, of which the controller uses 210 MB. Raise \
             resources.limits.memory to 960Mi"
        );
    }

    #[tokio::test]
    async fn two_that_do_not_fit_together_run_one_after_another_and_small_ones_beside_them() {
        let budget = budget(1024);
        let large = budget.lend(need(400 * MB)).await.unwrap();
        let small = budget.lend(need(96 * MB)).await.unwrap();
        assert!(large.bytes.zip(small.bytes).is_some_and(|(large, small)| large + small <= 750 * MB));
        let mut second = tokio::spawn({
            let budget = budget.clone();
            async move { budget.lend(need(400 * MB)).await }
        });
        let soon = tokio::time::timeout(Duration::from_millis(20), &mut second).await;
        assert!(soon.is_err(), "it fits only when the first is done");
        drop(large);
        assert!(second.await.unwrap().is_ok());
    }

    #[tokio::test]
    async fn all_that_is_lent_is_never_more_than_there_is() {
        for megabytes in [400, 512, 1024, 4096] {
            let (budget, mut loans) = (budget(megabytes), Vec::new());
            for needed in [96, 240, 30, 96, 96, 500, 96] {
                let soon =
                    tokio::time::timeout(Duration::from_millis(5), budget.lend(need(needed * MB))).await;
                loans.extend(soon.ok().and_then(Result::ok));
            }
            let lent: u64 = loans.iter().filter_map(|loan| loan.bytes).sum();
            assert!(lent + 210 * MB < megabytes * MB && !loans.is_empty(), "{lent}");
        }
    }

    #[tokio::test]
    async fn without_a_limit_nobody_waits() {
        let budget = Budget::of(None, || u64::MAX);
        assert_eq!(budget.lend(need(u64::MAX)).await.unwrap().bytes, None);
    }
}
