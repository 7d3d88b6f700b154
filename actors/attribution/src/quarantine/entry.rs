//! One object that is held back: which version of it, what stands in for it, and when it is tried again.

use super::RenderTiming;
use haptic_model::{
    ActiveConfig, Diagnostic, Generation, Instead, Object, ObjectRef, Quarantined, Snapshots,
    pipeline::RenderBasis,
    store::{Key, Read},
};
use haptic_routes::{
    class::{ingress_stores, settings_objects},
    options::{Settings, mended},
};
use std::{
    collections::BTreeSet,
    sync::Arc,
    time::{Duration, Instant},
};

/// The most reads of a block that are remembered one by one; of a block with more, whole stores are.
const MOST_READS: usize = 64;
/// What a stage behind the render refused costs everybody a check when it is tried again. The first time that is as soon as
/// something changes that its block had read; after that, not before this rest, twice as long each time.
const FIRST_REST: Duration = Duration::from_secs(30);
const LONGEST_REST: Duration = Duration::from_secs(3600);
/// One that is only suspected of a failed reload is tried again after this, in which a reload ends; then after twice as long each time,
/// but not longer than [`FIRST_REST`].
const RELOAD_REST: Duration = Duration::from_secs(5);
/// Another version of what was refused so often waits: first so long, then twice as long each time. Whoever changes it faster than
/// checks end would have every bundle refused.
const PATIENT_WITH: u32 = 2;
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

/// The stage that found it at fault.
#[derive(Clone, Debug)]
pub(super) enum FoundBy {
    /// A render, in milliseconds: it is tried again as soon as anything changes that its block had read.
    ByRender { seen: Vec<ObservedRead> },
    /// A later stage, so often: it is tried again after a rest, too.
    ByChecks { failures: u32, seen: Vec<ObservedRead> },
    /// Nobody yet: it is among those that changed, and was so often.
    Suspected {
        /// How often it was.
        failures: u32,
        /// Whether a reload fails when it is tried again in vain.
        costs_a_reload: bool,
    },
}

/// The result of one read when the object was found at fault.
#[derive(Clone, Debug)]
pub(super) struct ObservedRead {
    read: Read,
    version: u64,
    object: Option<Arc<Object>>,
}

/// The version that is rendered in the place of an object.
#[derive(Clone, Debug)]
pub(super) struct Replacement {
    pub object: Arc<Object>,
    pub key: Key,
    /// Whether nobody has ever checked it: it is the object itself without what cannot be read.
    pub is_mended: bool,
}

impl Replacement {
    /// A version that was good.
    pub fn good(object: &Arc<Object>, key: &Key) -> Self {
        Self { object: object.clone(), key: key.clone(), is_mended: false }
    }

    /// The object itself, if there is anything in it that can be left out.
    pub fn mended(object: &Arc<Object>, key: &Key, config: &ActiveConfig) -> Option<Self> {
        if !ingress_stores(&config.spec).any(|store| store == object.reference.resource) {
            return None;
        }
        let settings = Settings::of(&config.spec.templating_settings.extra_context);
        let json = mended(&object.json.bytes(), &settings)?.into();
        let object = Object { json, ..Object::clone(object) };
        Some(Self { object: Arc::new(object), key: key.clone(), is_mended: true })
    }
}

/// One object that is held back.
#[derive(Clone, Debug)]
pub(super) struct QuarantineEntry {
    refused: Arc<Object>,
    instead: Option<Replacement>,
    found: FoundBy,
    /// The entry that everybody is told: the same memory from render to render.
    published: Arc<Quarantined>,
    /// When a change of what its block had read counts, and when it is tried again without one. Of one that is only suspected,
    /// the second counts.
    rest: Option<(Instant, Instant)>,
    /// When another version of it is tried.
    not_before: Instant,
}

impl QuarantineEntry {
    pub fn new(
        refused: Arc<Object>,
        instead: Option<Replacement>,
        why: Diagnostic,
        found: FoundBy,
        timing: &RenderTiming<'_>,
    ) -> Self {
        let failures = match &found {
            FoundBy::ByChecks { failures, .. } | FoundBy::Suspected { failures, .. } => *failures,
            FoundBy::ByRender { .. } => 0,
        };
        let not_before = timing.now + pause(failures);
        let published = Quarantined {
            object: refused.reference.clone(),
            why,
            instead: match &instead {
                None => Instead::Nothing,
                Some(Replacement { is_mended: true, .. }) => Instead::Defaults,
                Some(_) => Instead::Former,
            },
            suspected: matches!(found, FoundBy::Suspected { .. }),
            since: timing.generation,
            at: timing.now,
        };
        let rest = match &found {
            FoundBy::ByChecks { failures, .. } => {
                Some((timing.now + rest(failures.saturating_sub(1)), timing.now + rest(failures + 3)))
            }
            FoundBy::Suspected { failures, costs_a_reload: true } => {
                let at = timing.now + reload_rest(*failures);
                Some((at, at))
            }
            _ => None,
        };
        Self { refused, instead, found, published: Arc::new(published), rest, not_before }
    }

    /// The version that is rendered in its place.
    pub fn instead(&self) -> Option<&Replacement> {
        self.instead.as_ref()
    }

    /// From now on nothing stands in for it, for this reason; whether anything did.
    pub fn leave_out(&mut self, why: Diagnostic) -> bool {
        let did = self.instead.take().is_some();
        if did {
            let published = Quarantined::clone(&self.published);
            self.published = Arc::new(Quarantined { why, instead: Instead::Nothing, ..published });
        }
        did
    }

    pub fn replaces(&self, object: &Arc<Object>) -> bool {
        self.instead.as_ref().is_some_and(|instead| same(&instead.object, object))
    }

    /// Whether this version of it is held back.
    pub fn refuses(&self, object: &Arc<Object>) -> bool {
        same(&self.refused, object)
    }

    pub fn is_of_render(&self) -> bool {
        matches!(self.found, FoundBy::ByRender { .. })
    }

    /// How often it was suspected, if it is no more than that.
    pub fn times_suspected(&self) -> Option<u32> {
        match self.found {
            FoundBy::Suspected { failures, .. } => Some(failures),
            _ => None,
        }
    }

    /// Whether what its next try may cost is allowed.
    pub fn has_rested(&self, now: Instant) -> bool {
        self.rest.is_none_or(|(_, anyway)| anyway <= now)
    }

    /// Others are tried now: one that is only suspected, and may cost a reload, waits until that is over.
    pub fn back_off_again(&mut self, now: Instant) {
        if let FoundBy::Suspected { failures, costs_a_reload: true } = self.found {
            let at = now + reload_rest(failures);
            self.rest = Some((at, at));
        }
    }

    pub fn since(&self) -> Generation {
        self.published.since
    }

    pub fn waits_until(&self, now: Instant) -> Option<Instant> {
        let (changes, anyway) = self.rest?;
        if now < self.not_before {
            return Some(self.not_before);
        }
        Some(if now < changes { changes } else { anyway })
    }

    /// Whether it is to be tried again, or gone.
    pub fn has_ended(&self, object: &ObjectRef, snapshots: &Snapshots, now: Instant) -> bool {
        let Some((present, _)) = find(snapshots, object) else { return true };
        if !same(present, &self.refused) {
            return self.not_before <= now;
        }
        match &self.found {
            FoundBy::ByRender { seen } => seen.iter().any(|seen| !seen.is(snapshots)),
            FoundBy::ByChecks { seen, .. } => self.rest.is_some_and(|(changes, anyway)| {
                anyway <= now || (changes <= now && seen.iter().any(|seen| !seen.is(snapshots)))
            }),
            FoundBy::Suspected { .. } => false,
        }
    }

    pub fn published(&self) -> &Arc<Quarantined> {
        &self.published
    }
}

impl ObservedRead {
    fn of(read: Read, snapshots: &Snapshots) -> Self {
        let (version, object) = now(&read, snapshots);
        Self { read, version, object }
    }

    pub fn is(&self, snapshots: &Snapshots) -> bool {
        let (version, object) = now(&self.read, snapshots);
        let same_object = match (&object, &self.object) {
            (Some(now), Some(then)) => Arc::ptr_eq(now, then),
            (None, None) => true,
            _ => false,
        };
        self.version == version && same_object
    }
}

/// The results that one block's reads have now.
pub(super) fn seen_by(reads: Option<&[Read]>, snapshots: &Snapshots) -> Vec<ObservedRead> {
    seen(reads.map(|reads| [reads.into()]).as_ref().map(<[_; 1]>::as_slice), snapshots)
}

/// The results that reads have now. Of reads that are not known, or too many, those of all stores.
pub(super) fn seen(reads: Option<&[Arc<[Read]>]>, snapshots: &Snapshots) -> Vec<ObservedRead> {
    let mut all: Vec<Read> = Vec::new();
    for read in reads.into_iter().flatten().flat_map(|reads| reads.iter()) {
        if all.len() <= MOST_READS && !all.contains(read) {
            all.push(read.clone());
        }
    }
    if reads.is_none() || all.len() > MOST_READS {
        let whole = |(resource, _): (&Arc<str>, _)| Read { resource: resource.clone(), key: [].into() };
        all = snapshots.iter().map(whole).collect();
    }
    all.into_iter().map(|read| ObservedRead::of(read, snapshots)).collect()
}

/// Whether any of these reads gives something else now than it did then: the cause may be gone already.
pub(super) fn is_mended(reads: &[Read], then: &Snapshots, now: &Snapshots) -> bool {
    let same = |a: &[&Arc<Object>], b: &[&Arc<Object>]| {
        a.len() == b.len() && a.iter().zip(b).all(|(a, b)| Arc::ptr_eq(a, b))
    };
    reads.iter().any(|read| !same(&found(read, then), &found(read, now)))
}

fn found<'s>(read: &'s Read, snapshots: &'s Snapshots) -> Vec<&'s Arc<Object>> {
    let Some(store) = snapshots.get(&read.resource) else { return Vec::new() };
    // A read by name is recorded as its namespace and name, whatever the store is indexed by.
    let named = match &*read.key {
        [namespace, name] => store.get(namespace, name),
        _ => None,
    };
    store.matching(&read.key).chain(named).collect()
}

/// The watched resources whose changes may have spoilt the block of `object`, which read `reads`: its own when it is not what it was,
/// else those that were read, as far as what changed is in its namespace and still there.
pub(super) fn changed_for(
    object: &ObjectRef,
    reads: &[Read],
    then: &Snapshots,
    now: &Snapshots,
) -> BTreeSet<Arc<str>> {
    if !is_same_in(object, then, now) {
        return [object.resource.clone()].into();
    }
    let is_changed = |found: &&Arc<Object>| {
        found.reference.namespace == object.namespace && !is_same_in(&found.reference, then, now)
    };
    let changed = reads.iter().filter(|read| found(read, now).iter().any(is_changed));
    changed.map(|read| read.resource.clone()).collect()
}

/// The objects with settings for all Ingresses, or for a class of them, that were other ones in what was checked than when all was good, and
/// are so still.
pub(super) fn changed_settings(
    config: &ActiveConfig,
    good: Option<&RenderBasis>,
    checked: &Snapshots,
    now: &Snapshots,
) -> Vec<Arc<ObjectRef>> {
    let Some(good) = good else { return Vec::new() };
    let mut all = settings_objects(config, checked);
    all.retain(|object| !is_same_in(object, &good.snapshots, checked) && is_same_in(object, checked, now));
    all
}

/// Whether an object is there in both, in the same version.
pub(super) fn is_same_in(object: &ObjectRef, one: &Snapshots, other: &Snapshots) -> bool {
    match (find(one, object), find(other, object)) {
        (Some((one, _)), Some((other, _))) => same(one, other),
        _ => false,
    }
}

fn now(read: &Read, snapshots: &Snapshots) -> (u64, Option<Arc<Object>>) {
    let Some(store) = snapshots.get(&read.resource) else { return (0, None) };
    // A read by name is recorded as its namespace and name, whatever the store is indexed by.
    let named = match &*read.key {
        [namespace, name] => store.get(namespace, name).cloned(),
        _ => None,
    };
    (store.version_of(&read.key), named)
}

pub(super) fn find<'s>(snapshots: &'s Snapshots, object: &ObjectRef) -> Option<(&'s Arc<Object>, &'s Key)> {
    snapshots.get(&object.resource)?.entry(&object.namespace, &object.name)
}

/// Whether both are the same version of an object. After a lost watch it is another piece of memory.
pub(super) fn same(a: &Arc<Object>, b: &Arc<Object>) -> bool {
    Arc::ptr_eq(a, b) || (a.json == b.json && !a.json.is_empty())
}

fn rest(failures: u32) -> Duration {
    let Some(doubled) = failures.checked_sub(1) else { return Duration::ZERO };
    FIRST_REST.saturating_mul(2_u32.saturating_pow(doubled)).min(LONGEST_REST)
}

fn reload_rest(failures: u32) -> Duration {
    RELOAD_REST.saturating_mul(2_u32.saturating_pow(failures.saturating_sub(1))).min(FIRST_REST)
}

fn pause(failures: u32) -> Duration {
    let Some(doubled) = failures.checked_sub(PATIENT_WITH + 1) else { return Duration::ZERO };
    FIRST_PAUSE.saturating_mul(2_u32.saturating_pow(doubled)).min(LONGEST_PAUSE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_found_at_fault_again_and_again_is_tried_less_and_less() {
        let seconds: Vec<u64> = [0, 1, 2, 3, 8, 40].into_iter().map(|n| rest(n).as_secs()).collect();
        assert_eq!(seconds, [0, 30, 60, 120, 3600, 3600]);
        let seconds: Vec<u64> = [0, 1, 2, 3, 4, 40].into_iter().map(|n| reload_rest(n).as_secs()).collect();
        assert_eq!(seconds, [5, 5, 10, 20, 30, 30]);
        let seconds: Vec<u64> = [0, 1, 2, 3, 4, 8, 9, 40].into_iter().map(|n| pause(n).as_secs()).collect();
        assert_eq!(seconds, [0, 0, 0, 1, 2, 32, 60, 60]);
    }
}
