//! Which statuses are to be looked at, and when: those of which a verdict, the object or what the pods run has changed.

use super::{
    kinds::{GatewayKind, StatusKey},
    progress::{self, FleetProgress, RenderedSince},
};
use haptic_model::{
    Generation, Snapshot,
    gateway::{GatewayVerdicts, NamespacedName},
};
use imbl::ordmap::DiffItem;
use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    ops::Bound,
    sync::Arc,
    time::Duration,
};
use tokio::time::Instant;

/// For so long what pods are about to run is waited for, so that one write says all of it.
pub(crate) const GRACE: Duration = Duration::from_secs(3);
/// So often a status that waits for the pods is looked at, because what waits may be another pod by now.
const REMINDER: Duration = Duration::from_secs(10);
/// What could not be written is tried again after this time, and later each time.
const RETRY: (Duration, Duration) = (Duration::from_secs(2), Duration::from_secs(60));

/// What is known, and what is to be looked at.
#[derive(Debug, Default)]
pub(crate) struct StatusQueue {
    verdicts: Arc<GatewayVerdicts>,
    /// What the verdicts are of. None before there are any: then that something has none says nothing.
    validated: Option<Generation>,
    stores: BTreeMap<GatewayKind, Arc<Snapshot>>,
    fleet: Arc<FleetProgress>,
    since: HashMap<StatusKey, AwaitedProof>,
    /// Gateways and ListenerSets that have no verdict any more, and the generation that was judged last, until their statuses say so.
    abandoned: HashMap<StatusKey, i64>,
    /// By namespace, so that one with many changes does not keep others waiting.
    due: BTreeMap<Arc<str>, BTreeSet<StatusKey>>,
    /// The namespace that was taken from last.
    turn: Arc<str>,
    later: BTreeMap<StatusKey, Instant>,
    /// Of what failed, the pause before the next attempt.
    pause: Option<Duration>,
}

/// What an object waits for.
#[derive(Clone, Debug)]
pub(crate) struct AwaitedProof {
    pub(crate) since: Arc<RenderedSince>,
    /// Until then its status is held back while pods are brought to it.
    pub(crate) grace: Instant,
}

impl StatusQueue {
    pub(crate) fn verdicts(&self) -> &Arc<GatewayVerdicts> {
        &self.verdicts
    }

    /// The generation that the verdicts are of, once there are any.
    pub(crate) fn validated(&self) -> Option<Generation> {
        self.validated
    }

    pub(crate) fn fleet(&self) -> &Arc<FleetProgress> {
        &self.fleet
    }

    pub(crate) fn store(&self, kind: GatewayKind) -> Option<&Arc<Snapshot>> {
        self.stores.get(&kind)
    }

    pub(crate) fn waiting(&self, key: &StatusKey) -> Option<&AwaitedProof> {
        self.since.get(key)
    }

    /// The generation of an object that was judged last, while it has no verdict any more and its status says otherwise.
    pub(crate) fn abandoned(&self, key: &StatusKey) -> Option<i64> {
        self.abandoned.get(key).copied()
    }

    /// The status of `key` is written as it should be.
    pub(crate) fn written(&mut self, key: &StatusKey) {
        self.abandoned.remove(key);
        self.pause = None;
    }

    /// Generation `generation` is rendered and may go live, with these verdicts.
    pub(crate) fn rendered(&mut self, generation: Generation, verdicts: &Arc<GatewayVerdicts>, now: Instant) {
        let before = std::mem::replace(&mut self.verdicts, verdicts.clone());
        self.validated = Some(generation);
        if Arc::ptr_eq(&before, verdicts) {
            return;
        }
        let stores = &self.stores;
        self.abandoned.retain(|key, _| is_stored(stores, key));
        let changed = changed(&before, verdicts);
        if changed.iter().any(|key| key.kind == GatewayKind::Class) {
            self.look_at_unjudged_gateways();
        }
        for key in changed {
            match parts(&key, &before).filter(|_| key.kind.is_whole()) {
                Some((validated, _)) if parts(&key, verdicts).is_none() => {
                    self.abandoned.insert(key.clone(), validated);
                }
                _ => _ = self.abandoned.remove(&key),
            }
            match parts(&key, verdicts) {
                Some((of, parts)) => {
                    let known = self.since.get(&key);
                    let since = RenderedSince::after(known.map(|known| &*known.since), of, parts, generation);
                    let grace = known.filter(|known| known.since.newest() == since.newest());
                    let grace = grace.map_or(now + GRACE, |known| known.grace);
                    self.since.insert(key.clone(), AwaitedProof { since: Arc::new(since), grace });
                }
                None => _ = self.since.remove(&key),
            }
            self.look_at_when_run(key, now);
        }
    }

    /// Whether a class is ours, and refused, is all that is said of its Gateways without a verdict.
    fn look_at_unjudged_gateways(&mut self) {
        let gateways = self.stores.get(&GatewayKind::Gateway).into_iter().flat_map(|store| store.iter());
        let names = gateways.map(|one| (one.reference.namespace.clone(), one.reference.name.clone()));
        let unjudged = names.filter(|name| !self.verdicts.gateways.contains_key(name));
        let unjudged: Vec<StatusKey> =
            unjudged.map(|(ns, name)| StatusKey::new(GatewayKind::Gateway, &ns, &name)).collect();
        unjudged.into_iter().for_each(|key| self.look_at(key));
    }

    /// The objects of `kind` are these.
    pub(crate) fn stored(&mut self, kind: GatewayKind, store: &Arc<Snapshot>) {
        let before = self.stores.insert(kind, store.clone()).unwrap_or_default();
        if Arc::ptr_eq(&before, store) {
            return;
        }
        let differences = store.differences_from(&before).filter_map(|difference| difference.after);
        let keys: Vec<StatusKey> = differences
            .map(|(object, _)| StatusKey::new(kind, &object.reference.namespace, &object.reference.name))
            .collect();
        keys.into_iter().for_each(|key| self.look_at(key));
    }

    /// The ready pods run this.
    pub(crate) fn acknowledged(&mut self, fleet: FleetProgress) {
        let (before, all) = (self.fleet.of_all(), fleet.of_all());
        self.fleet = Arc::new(fleet);
        if all <= before {
            return;
        }
        let is_reached =
            |key: &&StatusKey| self.since.get(*key).is_some_and(|waiting| waiting.since.newest() <= all);
        let reached: Vec<StatusKey> = self.later.keys().filter(is_reached).cloned().collect();
        reached.into_iter().for_each(|key| self.look_at(key));
    }

    /// Everything is looked at: nothing is known of what is stored.
    pub(crate) fn everything(&mut self) {
        (self.pause, self.later) = (None, BTreeMap::new());
        let mut all = keys(&self.verdicts);
        for (kind, store) in &self.stores {
            let keys = store.iter().map(|object| &object.reference);
            all.extend(keys.map(|one| StatusKey::new(*kind, &one.namespace, &one.name)));
        }
        all.into_iter().for_each(|key| self.look_at(key));
    }

    /// Looks at `key` when the pods run it. An earlier look would find that it waits, and take CPU time from what brings it there.
    fn look_at_when_run(&mut self, key: StatusKey, now: Instant) {
        let all = self.fleet.of_all();
        match self.since.get(&key) {
            Some(waiting) if waiting.since.newest() > all && waiting.grace > now => {
                let grace = waiting.grace;
                if let Some(keys) = self.due.get_mut(&key.namespace)
                    && keys.remove(&key)
                    && keys.is_empty()
                {
                    self.due.remove(&key.namespace);
                }
                self.later.insert(key, grace);
            }
            _ => self.look_at(key),
        }
    }

    /// The status of `key` is to be looked at.
    pub(crate) fn look_at(&mut self, key: StatusKey) {
        self.later.remove(&key);
        self.due.entry(key.namespace.clone()).or_default().insert(key);
    }

    fn is_due(&self, key: &StatusKey) -> bool {
        self.due.get(&key.namespace).is_some_and(|keys| keys.contains(key))
    }

    /// At most `limit` of those that it is time for: one of each namespace in turn, and of a namespace Gateways before routes.
    pub(crate) fn take(&mut self, limit: usize, now: Instant) -> Vec<StatusKey> {
        let ripe: Vec<StatusKey> =
            self.later.iter().filter(|(_, at)| **at <= now).map(|(key, _)| key.clone()).collect();
        ripe.into_iter().for_each(|key| self.look_at(key));
        let mut taken = Vec::new();
        while taken.len() < limit
            && let Some(key) = self.take_next()
        {
            taken.push(key);
        }
        taken
    }

    fn take_next(&mut self) -> Option<StatusKey> {
        let after = (Bound::Excluded(self.turn.clone()), Bound::Unbounded);
        let following = self.due.range(after).next().or_else(|| self.due.first_key_value());
        self.turn = following.map(|(namespace, _)| namespace.clone())?;
        let keys = self.due.get_mut(&self.turn)?;
        let key = keys.pop_first();
        if keys.is_empty() {
            self.due.remove(&self.turn);
        }
        key
    }

    /// The status of `key` waits for the pods.
    pub(crate) fn waits(&mut self, key: StatusKey, now: Instant) {
        let grace = self.since.get(&key).map(|waiting| waiting.grace).filter(|grace| *grace > now);
        let all = self.fleet.of_all();
        // They may have got there while it was looked at.
        if self.since.get(&key).is_some_and(|waiting| waiting.since.newest() <= all) {
            return self.look_at(key);
        }
        if !self.is_due(&key) {
            self.later.insert(key, grace.unwrap_or(now + REMINDER));
        }
    }

    /// `key` is looked at no earlier than `at`.
    pub(crate) fn postpone(&mut self, key: StatusKey, at: Instant) {
        self.later.insert(key, at);
    }

    /// These could not be written. What fails again is tried ever more rarely.
    pub(crate) fn failed(&mut self, keys: impl IntoIterator<Item = StatusKey>, now: Instant) {
        let pause = self.pause.map_or(RETRY.0, |pause| (pause * 2).min(RETRY.1));
        self.pause = Some(pause);
        let keys = keys.into_iter().filter(|key| !self.is_due(key)).collect::<Vec<_>>();
        self.later.extend(keys.into_iter().map(|key| (key, now + pause)));
    }

    /// When the next one can be looked at.
    pub(crate) fn next(&self, now: Instant) -> Option<Instant> {
        if self.due.is_empty() { self.later.values().min().copied() } else { Some(now) }
    }

    /// So many are to be looked at now, and so many later.
    pub(crate) fn sizes(&self) -> (usize, usize) {
        (self.due.values().map(BTreeSet::len).sum(), self.later.len())
    }
}

fn is_stored(stores: &BTreeMap<GatewayKind, Arc<Snapshot>>, key: &StatusKey) -> bool {
    stores.get(&key.kind).is_some_and(|store| store.get(&key.namespace, &key.name).is_some())
}

/// `metadata.generation` that was judged, and what of the object is in what is rendered.
fn parts(key: &StatusKey, verdicts: &GatewayVerdicts) -> Option<(i64, Vec<Arc<str>>)> {
    let name = (key.namespace.clone(), key.name.clone());
    match key.kind {
        GatewayKind::Gateway => {
            let verdict = verdicts.gateways.get(&name)?;
            Some((verdict.generation, progress::parts_of_listeners(&verdict.listeners).collect()))
        }
        GatewayKind::ListenerSet => {
            let verdict = verdicts.listener_sets.get(&name)?;
            Some((verdict.generation, progress::parts_of_listeners(&verdict.listeners).collect()))
        }
        GatewayKind::Route(kind) => {
            let verdict = verdicts.routes.get(&(kind, name))?;
            Some((verdict.generation, progress::parts_of_route(verdict)))
        }
        GatewayKind::Class | GatewayKind::Policy => None,
    }
}

fn keys(verdicts: &GatewayVerdicts) -> BTreeSet<StatusKey> {
    let of = |kind: GatewayKind| move |(ns, name): &NamespacedName| StatusKey::new(kind, ns, name);
    let mut all: BTreeSet<StatusKey> = BTreeSet::new();
    all.extend(verdicts.classes.keys().map(|name| StatusKey::new(GatewayKind::Class, &"".into(), name)));
    all.extend(verdicts.gateways.keys().map(of(GatewayKind::Gateway)));
    all.extend(verdicts.listener_sets.keys().map(of(GatewayKind::ListenerSet)));
    all.extend(verdicts.routes.keys().map(|(kind, name)| of(GatewayKind::Route(*kind))(name)));
    all.extend(verdicts.policies.keys().map(of(GatewayKind::Policy)));
    all
}

/// Objects of which the verdict is another, new or gone.
fn changed(before: &GatewayVerdicts, after: &GatewayVerdicts) -> Vec<StatusKey> {
    let of = |kind: GatewayKind| move |(ns, name): NamespacedName| StatusKey::new(kind, &ns, &name);
    let mut all: Vec<StatusKey> = differing(&before.classes, &after.classes)
        .map(|name| StatusKey::new(GatewayKind::Class, &"".into(), &name))
        .collect();
    all.extend(differing(&before.gateways, &after.gateways).map(of(GatewayKind::Gateway)));
    all.extend(differing(&before.listener_sets, &after.listener_sets).map(of(GatewayKind::ListenerSet)));
    let routes = before.routes.diff(&after.routes).map(|difference| match difference {
        DiffItem::Add(key, _) | DiffItem::Remove(key, _) | DiffItem::Update { new: (key, _), .. } => key,
    });
    all.extend(routes.map(|(kind, name)| of(GatewayKind::Route(*kind))(name.clone())));
    all.extend(differing(&before.policies, &after.policies).map(of(GatewayKind::Policy)));
    all
}

fn differing<'a, K: Ord + Clone, V: PartialEq>(
    before: &'a BTreeMap<K, Arc<V>>,
    after: &'a BTreeMap<K, Arc<V>>,
) -> impl Iterator<Item = K> {
    let is_same = |one: &Arc<V>, other: &Arc<V>| Arc::ptr_eq(one, other) || one == other;
    let gone = before.keys().filter(|key| !after.contains_key(*key));
    let other = after
        .iter()
        .filter(move |(key, verdict)| before.get(*key).is_none_or(|before| !is_same(before, verdict)))
        .map(|(key, _)| key);
    gone.chain(other).cloned().collect::<Vec<_>>().into_iter()
}

#[cfg(test)]
mod tests {
    use super::*;
    use haptic_model::gateway::{ParentVerdict, RouteKind, RouteVerdict, StatusCondition};
    use serde_json::json;

    const ROUTE: GatewayKind = GatewayKind::Route(RouteKind::Http);

    fn key(kind: GatewayKind, namespace: &str, name: &str) -> StatusKey {
        StatusKey::new(kind, &namespace.into(), &name.into())
    }

    fn with_route(generation: i64) -> Arc<GatewayVerdicts> {
        let accepted =
            StatusCondition { kind: "Accepted", holds: true, reason: "Accepted", message: "".into() };
        let reference = json!({"name": "web"});
        let parent =
            ParentVerdict { reference: (&reference).into(), conditions: vec![accepted], is_served: true };
        let verdict = RouteVerdict { generation, parents: vec![parent], has_others: false };
        let name = ("shop".into(), "a".into());
        let routes = [((RouteKind::Http, name), Arc::new(verdict))].into_iter().collect();
        Arc::new(GatewayVerdicts { routes, ..GatewayVerdicts::default() })
    }

    #[test]
    fn a_namespace_with_many_changes_keeps_nobody_waiting_and_gateways_come_before_routes() {
        let (mut queue, now) = (StatusQueue::default(), Instant::now());
        for number in 0..1000 {
            queue.look_at(key(ROUTE, "busy", &format!("r{number}")));
        }
        queue.look_at(key(ROUTE, "quiet", "route"));
        queue.look_at(key(GatewayKind::Gateway, "quiet", "web"));
        let taken = queue.take(4, now);
        let of =
            |namespace: &str| taken.iter().filter(|key| &*key.namespace == namespace).collect::<Vec<_>>();
        assert_eq!(of("busy").len(), 2);
        assert_eq!(of("quiet").iter().map(|key| key.kind).collect::<Vec<_>>(), [GatewayKind::Gateway, ROUTE]);
        assert_eq!(queue.sizes().0, 998);
    }

    #[test]
    fn what_waits_is_looked_at_when_the_last_pod_has_it_and_sooner_only_as_a_reminder() {
        let (mut queue, now) = (StatusQueue::default(), Instant::now());
        let fleet = |generations: &[u64]| FleetProgress {
            pods: generations.iter().map(|generation| Some(Generation(*generation))).collect(),
        };
        queue.look_at(key(ROUTE, "shop", "a"));
        queue.rendered(Generation(7), &with_route(1), now);
        assert!(queue.take(9, now).is_empty(), "no pod runs it yet");
        queue.acknowledged(fleet(&[7, 6]));
        assert!(queue.take(9, now).is_empty());
        assert_eq!(queue.next(now), Some(now + GRACE));
        queue.acknowledged(fleet(&[7, 8]));
        let taken = queue.take(9, now);
        assert_eq!(taken, [key(ROUTE, "shop", "a")]);
        queue.waits(taken[0].clone(), now);
        assert_eq!(queue.take(9, now), taken, "they got there while it was looked at");
        queue.rendered(Generation(9), &with_route(1), now);
        assert!(queue.take(9, now).is_empty(), "the same verdict is no news");
        queue.rendered(Generation(10), &with_route(2), now);
        assert!(queue.take(9, now).is_empty());
        let again = queue.take(9, now + GRACE);
        queue.waits(again[0].clone(), now + GRACE);
        assert_eq!(queue.next(now), Some(now + GRACE + REMINDER));
    }

    #[test]
    fn what_fails_again_is_tried_ever_more_rarely() {
        let (mut queue, now) = (StatusQueue::default(), Instant::now());
        let mut pauses = Vec::new();
        for _ in 0..8 {
            queue.failed([key(ROUTE, "shop", "a")], now);
            pauses.push((queue.next(now).unwrap() - now).as_secs());
            queue.take(9, now + RETRY.1);
        }
        assert_eq!(pauses, [2, 4, 8, 16, 32, 60, 60, 60]);
        queue.written(&key(ROUTE, "shop", "b"));
        queue.failed([key(ROUTE, "shop", "a")], now);
        assert_eq!(queue.next(now), Some(now + RETRY.0));
    }
}
