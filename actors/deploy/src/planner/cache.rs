//! Plans and parsed bundles, shared by all pods that are in the same state.

use super::{Plan, RunningView, TransportLimits, plan_between};
use haptic_model::{Bundle, Capabilities};
use haptic_text::Digest;
use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, OnceLock, PoisonError, Weak},
};

/// Plans kept: a fleet is in one or two states at a time, and a mixed one in a few more.
const PLANS: usize = 16;

/// A cheap handle; clones share the cache.
#[derive(Clone, Debug)]
pub struct PlanCache {
    shared: Arc<Mutex<CacheState>>,
    limits: TransportLimits,
}

/// From what, to what, with what.
type PlanKey = (Option<Digest>, Digest, Capabilities);

#[derive(Debug, Default)]
struct CacheState {
    /// The latest last. The cell is filled outside the lock, by the first pod that asks.
    plans: VecDeque<(PlanKey, Arc<OnceLock<Arc<Plan>>>)>,
    /// Views that some pod still holds.
    views: Vec<Weak<RunningView>>,
}

impl Default for PlanCache {
    fn default() -> Self {
        Self::new()
    }
}

impl PlanCache {
    /// An empty cache, of plans for transports with these limits.
    #[must_use]
    pub fn within(limits: TransportLimits) -> Self {
        Self { shared: Arc::default(), limits }
    }

    /// An empty cache, of plans for transports that bring whatever HAProxy can follow.
    #[must_use]
    pub fn new() -> Self {
        Self::within(|_, _, _| Vec::new())
    }

    /// The view of `bundle`, shared with everyone who holds one of the same digest.
    #[must_use]
    pub fn view(&self, bundle: &Bundle) -> Arc<RunningView> {
        self.known(bundle.digest).unwrap_or_else(|| self.keep(RunningView::of(bundle.clone())))
    }

    /// The view of what has `digest`, if anyone holds it.
    #[must_use]
    pub fn known(&self, digest: Digest) -> Option<Arc<RunningView>> {
        self.lock().views.iter().filter_map(Weak::upgrade).find(|view| view.digest() == Some(digest))
    }

    /// Shares a view; one that is held already is given back instead.
    #[must_use]
    pub fn keep(&self, view: RunningView) -> Arc<RunningView> {
        if let Some(known) = view.digest().and_then(|digest| self.known(digest)) {
            return known;
        }
        let view = Arc::new(view);
        let views = &mut self.lock().views;
        views.retain(|held| held.strong_count() > 0);
        views.push(Arc::downgrade(&view));
        view
    }

    /// The plan, computed now if nobody asked for it before. Takes a while: not for an arbiter's thread.
    #[must_use]
    pub fn plan(
        &self,
        running: &RunningView,
        desired: &RunningView,
        capabilities: Capabilities,
    ) -> Arc<Plan> {
        let Some(target) = desired.digest() else {
            return Arc::new(plan_between(running, desired, capabilities, self.limits));
        };
        let slot = self.slot((running.digest(), target, capabilities));
        let plan = || Arc::new(plan_between(running, desired, capabilities, self.limits));
        Arc::clone(slot.get_or_init(plan))
    }

    fn slot(&self, key: PlanKey) -> Arc<OnceLock<Arc<Plan>>> {
        let plans = &mut self.lock().plans;
        if let Some((_, slot)) = plans.iter().find(|(known, _)| *known == key) {
            return Arc::clone(slot);
        }
        if plans.len() >= PLANS {
            plans.pop_front();
        }
        let slot = Arc::default();
        plans.push_back((key, Arc::clone(&slot)));
        slot
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, CacheState> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use haptic_model::{BundleFile, FileKey, HaproxyVersion};
    use haptic_text::Text;

    fn bundle(config: &str) -> Bundle {
        Bundle::new(BundleFile::new(FileKey::config(), "haproxy.cfg", Text::plain(config)), [])
    }

    #[test]
    fn pods_in_the_same_state_share_one_plan_and_one_parsed_configuration() {
        let cache = PlanCache::new();
        let (old, new) = (cache.view(&bundle("global\n")), cache.view(&bundle("global\n maxconn 9\n")));
        assert!(Arc::ptr_eq(&old, &cache.view(&bundle("global\n"))));
        let capabilities = Capabilities::of(HaproxyVersion::new(3, 4));
        let first = cache.plan(&old, &new, capabilities);
        assert!(Arc::ptr_eq(&first, &cache.plan(&old, &new, capabilities)));
        let other = cache.plan(&old, &new, Capabilities::of(HaproxyVersion::new(3, 0)));
        assert!(!Arc::ptr_eq(&first, &other));
    }

    #[test]
    fn a_view_that_no_pod_runs_any_more_is_dropped() {
        let cache = PlanCache::new();
        let digest = cache.view(&bundle("global\n")).digest().unwrap();
        assert!(cache.known(digest).is_none());
    }
}
