//! One bad object never stops the others: its last good version is rendered in its place. Where none is known, the object itself
//! is, without the annotations that cannot be read; or nothing.
//!
//! Held back is a *version* of an object. What is held back is laid over the stores before a render ([`overlay`]), so
//! a render sees a cluster in which the object never changed, or is not there, and everybody else's bytes are those of
//! that cluster. An entry ends when the object changes, when the configuration does, or when something changes that its
//! block had read; then it is tried again. No generation takes more than one render more than it would without bad
//! objects, however many they are.
//!
//! # What becomes of an object
//!
//! It is *served* as it is, or held back for what a *render* found, for what *checks* found (or a reload), or because it is *suspected*: it
//! changed, as others did, and nobody has been cleared. Whatever it is held back for, its last good version stands in, or nothing does.
//!
//! | is | when | becomes |
//! |---|---|---|
//! | served | a render fails for it | held back for the render |
//! | served | a report proves it at fault, and it is still that version | held back for checks |
//! | served | the same, and what its block read is other than it was | suspected; the first time, served |
//! | served | a report suspects it | suspected |
//! | served, as before, and settings for all have changed | a report accuses it | served; those settings are held back |
//! | served | its namespace had two bundles refused, and it changes | suspected, until the namespace's pause ends |
//! | held back | it is at fault again, which what stands in must be | the same, and nothing stands in |
//! | held back | it is deleted | gone |
//! | held back | it changes | served; after the third failure, after a pause |
//! | held back | the configuration changes, or the versions of HAProxy | served |
//! | held back for a render | the fleet changes, or something that its block read | served |
//! | held back for checks | something changes that its block read | served, the first time at once, then after a rest |
//! | held back for checks | a longer rest is over | served |
//! | suspected | a bundle without it passed, and its rest is over | served, if it is in the half that is tried |
//!
//! Rests and pauses are longer each time ([`entry`]). A whole configuration is refused, and tried again, in the same way ([`trial`]).
//!
//! Pure: snapshots in, snapshots out. Who finds objects at fault, and who tells of it, is elsewhere.

mod accusation;
mod entry;
mod namespace_backoff;
mod overlay;
mod trial;

use crate::faults::Faults;
use accusation::{Accusation, AccusationOutcome, Accused};
use entry::{FoundBy, QuarantineEntry, Replacement};
use haptic_model::{
    ActiveConfig, Diagnostic, FailureReport, Fleet, Generation, HaproxyVersion, Object, ObjectRef,
    PreviousFailures, Quarantine, Quarantined, Released, Snapshot, Snapshots,
    pipeline::RenderBasis,
    store::{Key, Read},
};
use namespace_backoff::NamespaceBackoff;
use overlay::StoreOverlay;
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Weak},
    time::{Duration, Instant},
};
use trial::Trial;

/// Relapses are remembered of so many objects before those that are gone are forgotten.
const MANY_FAILURES: usize = 4096;

/// More reports than all stages keep together.
const MOST_REPORTS: usize = 4 * FailureReport::KEPT;

/// What is held back, from render to render.
#[derive(Clone, Debug, Default)]
pub struct QuarantineState {
    entries: BTreeMap<Arc<ObjectRef>, QuarantineEntry>,
    overlay: StoreOverlay,
    /// What the last bundle was made from. What HAProxy takes by operations is live before it is good.
    last: Snapshots,
    base: Option<AttributionBase>,
    /// Known without holding what they were about, with the generations that it was.
    received: Vec<(Weak<FailureReport>, Generation)>,
    /// How often a stage behind the render has found an object at fault; forgotten with the configuration.
    failures: BTreeMap<Arc<ObjectRef>, u32>,
    /// What stood in last for objects of which no version was good: that is not one either.
    mended: BTreeMap<Arc<ObjectRef>, Arc<Object>>,
    /// Which namespaces had bundle after bundle refused.
    namespace_backoff: NamespaceBackoff,
    /// Whether the configuration itself is at fault.
    trial: Trial,
}

/// Namespaces, each with the watched resources of it that are involved.
type InvolvedObjects = BTreeMap<Arc<str>, BTreeSet<Arc<str>>>;

/// What everything that was found at fault was found with.
#[derive(Clone, Debug, PartialEq)]
struct AttributionBase {
    revision: u64,
    fleet: Fleet,
}

/// What blocks of objects had read.
pub type ObjectReads = BTreeMap<Arc<ObjectRef>, Vec<Read>>;

/// What is to be rendered, as it is: without anything held back.
#[derive(Clone, Copy, Debug)]
pub struct GivenInputs<'g> {
    /// The configuration.
    pub config: &'g ActiveConfig,
    /// The stores.
    pub snapshots: &'g Snapshots,
    /// The pods.
    pub fleet: &'g Fleet,
}

/// When a render happens.
#[derive(Clone, Copy, Debug)]
pub struct RenderTiming<'m> {
    /// Its number.
    pub generation: Generation,
    /// Now, on a clock that only goes on.
    pub now: Instant,
    /// What passed all checks last: where good versions are found.
    pub good: Option<&'m RenderBasis>,
}

/// A render in which nobody stops the others.
#[derive(Debug)]
pub struct QuarantineOutcome<R> {
    /// What was rendered; or what is wrong that is no object's fault, or was found so late that the next render is needed.
    pub rendering: Result<R, Faults>,
    /// The stores that it was made from.
    pub snapshots: Snapshots,
    /// Whether another render, at once, would find things better.
    pub again: bool,
    /// How many renders it took: one or two.
    pub renders: u32,
}

impl QuarantineState {
    /// Has `attempt` render what is `given`, without what is held back and what this render finds at fault.
    pub fn render<R>(
        &mut self,
        mut attempt: impl FnMut(&Snapshots) -> Result<R, Faults>,
        given: &GivenInputs<'_>,
        timing: &RenderTiming<'_>,
    ) -> QuarantineOutcome<R> {
        self.look(given, timing);
        if let Some(why) = self.trial.refusal() {
            let rendering = Err(Faults::of_templates(why.to_vec()));
            return QuarantineOutcome {
                rendering,
                snapshots: given.snapshots.clone(),
                again: false,
                renders: 0,
            };
        }
        let snapshots = self.overlay.over(given.snapshots, &self.entries);
        let faults = match attempt(&snapshots) {
            Ok(rendering) => {
                self.last = snapshots.clone();
                return QuarantineOutcome { rendering: Ok(rendering), snapshots, again: false, renders: 1 };
            }
            Err(faults) => faults,
        };
        let failed = |faults, snapshots, renders| QuarantineOutcome {
            rendering: Err(faults),
            snapshots,
            again: false,
            renders,
        };
        if let Some(why) = self.trial.of_render(&faults, &snapshots, given, timing) {
            return failed(Faults::of_templates(why), snapshots, 1);
        }
        if !self.hold_all(&faults, given, timing) {
            return failed(faults, snapshots, 1);
        }
        let (snapshots, begun) = (self.overlay.over(given.snapshots, &self.entries), Instant::now());
        let rendering = attempt(&snapshots);
        let took = begun.elapsed();
        match &rendering {
            Ok(_) => self.last = snapshots.clone(),
            Err(successors) => {
                if let Some(why) = self.trial.of_render(successors, &snapshots, given, timing) {
                    return failed(Faults::of_templates(why), snapshots, 2);
                }
                self.refuse_successors(successors, took, timing);
            }
        }
        let again = rendering.as_ref().is_err_and(|more| self.hold_all(more, given, timing));
        QuarantineOutcome { rendering, snapshots, again, renders: 2 }
    }

    /// An object may fail only once another one, whose path it takes over, is held back: a thousand of them would be found one
    /// render after the other. Each such render counts against their namespaces as a refused bundle does. One that is held back
    /// already is no successor: what stood in for it fails, too, and is left out.
    fn refuse_successors(&mut self, faults: &Faults, took: Duration, timing: &RenderTiming<'_>) {
        let mut failing = InvolvedObjects::new();
        for object in faults.objects.keys().filter(|object| !self.entries.contains_key(*object)) {
            failing.entry(object.namespace.clone()).or_default().insert(object.resource.clone());
        }
        for (namespace, resources) in failing {
            self.namespace_backoff.refuse_again(namespace, resources, took, timing);
        }
    }

    /// Takes in what a later stage found; each report counts once. `reads_of` says what the blocks of objects had read.
    pub fn receive(
        &mut self,
        report: &Arc<FailureReport>,
        reads_of: impl FnOnce(&[&Arc<ObjectRef>]) -> ObjectReads,
        given: &GivenInputs<'_>,
        timing: &RenderTiming<'_>,
    ) {
        if !self.remember(report) || report.rendered.config.revision != given.config.revision {
            return;
        }
        let accused = report.objects.iter().chain(&report.suspects);
        let reads = reads_of(&accused.map(|(object, _)| object).collect::<Vec<_>>());
        if self.trial.takes(report, &reads, given, timing) {
            return;
        }
        let tainted = self.refuse_again(report, &reads, timing);
        let accusation = Accusation::new(report, &reads, given, timing, tainted);
        for accused in accusation.accused() {
            match accusation.outcome(&accused, self.entries.get(accused.object)) {
                AccusationOutcome::Served => {}
                AccusationOutcome::SettingsAtFault => self.hold_settings(&accusation, &accused),
                AccusationOutcome::AtFault { is_mended } => {
                    self.hold_accused(&accusation, &accused, is_mended);
                }
            }
        }
    }

    /// Whether it is a new report; from now on it is not.
    fn remember(&mut self, report: &Arc<FailureReport>) -> bool {
        let known = Arc::downgrade(report);
        if self.received.iter().any(|(received, _)| received.ptr_eq(&known)) {
            return false;
        }
        self.received.push((known, report.rendered.generation));
        if self.received.len() > MOST_REPORTS {
            self.received.remove(0);
        }
        true
    }

    fn hold_accused(&mut self, accusation: &Accusation<'_>, accused: &Accused<'_>, is_mended: bool) {
        let failures = self.count_failure(accused.object);
        if let Some(found) = accusation.found_by(accused, is_mended, failures) {
            self.hold(accused.object, accused.why.clone(), found, accusation.given, &accusation.timing);
        }
    }

    /// Holds settings, once for all that read them.
    fn hold_settings(&mut self, accusation: &Accusation<'_>, accused: &Accused<'_>) {
        for one in &accusation.settings {
            // Several classes may name the same.
            if self.entries.contains_key(one) {
                continue;
            }
            let found = accusation.settings_found_by(accused, self.count_failure(one));
            self.hold(one, accused.why.clone(), found, accusation.given, &accusation.timing);
        }
    }

    fn count_failure(&mut self, object: &Arc<ObjectRef>) -> u32 {
        let failures = self.failures.entry(object.clone()).or_default();
        *failures += 1;
        *failures
    }

    /// Counts the refusal against the namespaces at fault. Gives those objects of throttled ones that are served as before when what
    /// they read waits.
    fn refuse_again(
        &mut self,
        report: &FailureReport,
        reads: &ObjectReads,
        timing: &RenderTiming<'_>,
    ) -> BTreeSet<Arc<ObjectRef>> {
        let (now, by_a_check) = (&report.rendered.snapshots, report.good.is_none());
        let passed = timing.good.map(|good| good.generation);
        let mut tainted = BTreeSet::new();
        if by_a_check && passed > Some(report.rendered.generation) {
            return tainted;
        }
        let throttled = self.namespace_backoff.throttled(timing.now);
        let is_throttled = |object: &ObjectRef| by_a_check && throttled.contains(&object.namespace);
        // Where nothing is proven, a check accuses none but throttled namespaces as a whole.
        let suspects = report.suspects.iter().filter(|(object, _)| is_throttled(object));
        let mut failing = InvolvedObjects::new();
        for (object, _) in report.objects.iter().chain(suspects) {
            let checked = entry::find(now, object).map(|(checked, _)| checked);
            let known = self.entries.get(object);
            if known.zip(checked).is_some_and(|(known, checked)| known.refuses(checked)) {
                continue;
            }
            let read = reads.get(object).map(Vec::as_slice).unwrap_or_default();
            let then = report.good.as_ref().or(timing.good).map(|good| &good.snapshots);
            let changed = then.map(|then| entry::changed_for(object, read, then, now)).unwrap_or_default();
            if is_throttled(object) && !changed.is_empty() && !changed.contains(&object.resource) {
                tainted.insert(object.clone());
            }
            failing.entry(object.namespace.clone()).or_default().extend(changed);
        }
        for (namespace, resources) in failing {
            self.namespace_backoff.refuse_again(namespace, resources, report.took, timing);
        }
        tainted
    }

    /// What is known of refused bundles.
    #[must_use]
    pub fn previous_failures(&self, now: Instant) -> PreviousFailures {
        let newest_report = self.received.iter().map(|(_, generation)| *generation).max();
        PreviousFailures { newest_report, throttled: self.namespace_backoff.throttled(now) }
    }

    /// What is held back, as everybody is told.
    #[must_use]
    pub fn described(&self) -> Quarantine {
        let published = |(object, entry): (&Arc<ObjectRef>, &QuarantineEntry)| {
            (object.clone(), entry.published().clone())
        };
        Quarantine { held: self.entries.iter().map(published).collect() }
    }

    /// The configuration that its entries were found with.
    #[must_use]
    pub fn revision(&self) -> Option<u64> {
        self.base.as_ref().map(|base| base.revision)
    }

    /// When something should be tried again though nothing may change until then.
    #[must_use]
    pub fn next_try(&self, now: Instant) -> Option<Duration> {
        let entries = self.entries.values().filter_map(|entry| entry.waits_until(now));
        let suspects = self.entries.values().any(|entry| entry.times_suspected().is_some());
        let namespace_backoff = self.namespace_backoff.next_try(now).filter(|_| suspects);
        let due = entries.chain(namespace_backoff).chain(self.trial.next_try()).min()?;
        Some(due.saturating_duration_since(now))
    }

    /// Ends what has ended and lets out what is to be tried again.
    fn look(&mut self, given: &GivenInputs<'_>, timing: &RenderTiming<'_>) {
        let base = AttributionBase { revision: given.config.revision, fleet: given.fleet.clone() };
        let same = |versions: fn(&AttributionBase) -> &[HaproxyVersion]| {
            self.base
                .as_ref()
                .is_some_and(|known| known.revision == base.revision && versions(known) == versions(&base))
        };
        let (all, checks) = (self.base.as_ref() == Some(&base), same(|base| &base.fleet.versions));
        if !checks {
            self.failures.clear();
        }
        self.entries.retain(|object, entry| {
            let is_on_base = if entry.is_of_render() { all } else { checks };
            is_on_base && !entry.has_ended(object, given.snapshots, timing.now)
        });
        self.trial.advance(given, timing.now);
        let waiting = self.namespace_backoff.waiting(timing);
        self.release_suspects(&waiting, timing);
        self.throttle(&waiting, given, timing);
        if self.failures.len() > MANY_FAILURES {
            self.failures.retain(|object, _| entry::find(given.snapshots, object).is_some());
        }
        if self.mended.len() > MANY_FAILURES {
            self.mended.retain(|object, _| entry::find(given.snapshots, object).is_some());
        }
        self.base = Some(base);
    }

    /// Half of those that are only suspected, namespace by namespace, once a bundle without them has passed. Those that were suspected
    /// less often come first: so the innocent are back first, and of those that fail again, fewer are tried together each time. Those of throttled
    /// namespaces come last.
    fn release_suspects(&mut self, waiting: &InvolvedObjects, timing: &RenderTiming<'_>) {
        let passed = timing.good.map(|good| good.generation);
        let throttled = self.namespace_backoff.throttled(timing.now);
        let mut suspects: BTreeMap<(bool, u32), Vec<Arc<ObjectRef>>> = BTreeMap::new();
        for (object, entry) in &self.entries {
            let is_due = passed.is_some_and(|passed| passed >= entry.since()) && entry.has_rested(timing.now);
            let is_due = is_due && !waiting.contains_key(&object.namespace);
            if let Some(times) = entry.times_suspected().filter(|_| is_due) {
                let order = (throttled.contains(&object.namespace), times);
                suspects.entry(order).or_default().push(object.clone());
            }
        }
        let Some((_, first)) = suspects.pop_first() else { return };
        for object in half_of_namespaces(first) {
            self.entries.remove(&object);
        }
        self.entries.values_mut().for_each(|entry| entry.back_off_again(timing.now));
    }

    /// Holds what changed in namespaces whose objects were refused again and again, until it is their turn. Where nothing was good
    /// yet, all of it has changed.
    fn throttle(&mut self, waiting: &InvolvedObjects, given: &GivenInputs<'_>, timing: &RenderTiming<'_>) {
        let nothing = Snapshot::full();
        let resources: BTreeSet<&Arc<str>> = waiting.values().flatten().collect();
        for resource in resources {
            let Some(store) = given.snapshots.get(resource) else { continue };
            let before = timing.good.and_then(|good| good.snapshots.get(resource));
            let before = before.map_or(&nothing, |before| &**before);
            for difference in store.differences_from(before) {
                let Some((object, _)) = difference.after else { continue };
                let (reference, known) = (&object.reference, difference.before);
                let waits = waiting.get(&reference.namespace).is_some_and(|all| all.contains(resource));
                if !waits || self.entries.contains_key(reference) {
                    continue;
                }
                let instead = known.map(|(object, key)| Replacement::good(object, key));
                let found = FoundBy::Suspected { failures: 0, costs_a_reload: false };
                let why = namespace_backoff::message(&reference.namespace);
                let entry = QuarantineEntry::new(object.clone(), instead, why, found, timing);
                self.entries.insert(reference.clone(), entry);
            }
        }
    }

    /// Whether any object is held back that was not, or not so.
    fn hold_all(&mut self, faults: &Faults, given: &GivenInputs<'_>, timing: &RenderTiming<'_>) -> bool {
        let mut any = false;
        for (object, of_one) in &faults.objects {
            let Some(first) = of_one.first() else { continue };
            let reads = of_one.iter().map(|fault| fault.reads.clone()).collect::<Option<Vec<_>>>();
            let found = FoundBy::ByRender { seen: entry::seen(reads.as_deref(), given.snapshots) };
            any |= self.hold(object, first.diagnostic.clone(), found, given, timing);
        }
        any
    }

    fn hold(
        &mut self,
        object: &Arc<ObjectRef>,
        why: Diagnostic,
        found: FoundBy,
        given: &GivenInputs<'_>,
        timing: &RenderTiming<'_>,
    ) -> bool {
        let Some((now, key)) = entry::find(given.snapshots, object) else { return false };
        if let Some(entry) = self.entries.get_mut(object) {
            // What stands in for it is at fault, too.
            return entry.leave_out(why);
        }
        let mended = self.mended.remove(object);
        let is_former = |(former, _): &(&Arc<Object>, &Key)| {
            !entry::same(former, now) && mended.as_ref().is_none_or(|mended| !entry::same(former, mended))
        };
        let known = timing.good.map(|good| &good.snapshots).into_iter().chain([&self.last]);
        let former = known.filter_map(|snapshots| entry::find(snapshots, object)).find(is_former);
        let instead = former.map(|(object, key)| Replacement::good(object, key));
        let instead = instead.or_else(|| Replacement::mended(now, key, given.config));
        if let Some(Replacement { object: mended, is_mended: true, .. }) = &instead {
            self.mended.insert(object.clone(), mended.clone());
        }
        let entry = QuarantineEntry::new(now.clone(), instead, why, found, timing);
        self.entries.insert(object.clone(), entry);
        true
    }
}

/// Half of these: of several namespaces some as wholes, so that one that is at fault is soon alone.
fn half_of_namespaces(mut objects: Vec<Arc<ObjectRef>>) -> Vec<Arc<ObjectRef>> {
    objects.sort_by(|a, b| (&a.namespace, a).cmp(&(&b.namespace, b)));
    let half = objects.len().div_ceil(2);
    let Some(middle) = objects.get(half.saturating_sub(1)).map(|object| object.namespace.clone()) else {
        return objects;
    };
    // The namespace in the middle comes whole, or not at all; unless there is no other.
    let begin = objects.partition_point(|object| object.namespace < middle);
    let end = objects.partition_point(|object| object.namespace <= middle);
    objects.truncate(match (begin, end < objects.len()) {
        (_, true) => end,
        (0, false) => half,
        (begin, false) => begin,
    });
    objects
}

/// What is told when one state of affairs follows another.
#[must_use]
pub fn changes(
    before: &Quarantine,
    after: &Quarantine,
    snapshots: &Snapshots,
) -> (Vec<Arc<Quarantined>>, Vec<Released>) {
    let is_news = |held: &&Arc<Quarantined>| {
        let known = before.held.get(&held.object);
        known.is_none_or(|known| !Arc::ptr_eq(known, held) && !known.is_told_as(held))
    };
    let entered = after.held.values().filter(is_news).cloned().collect();
    let left = before
        .held
        .keys()
        .filter(|object| !after.held.contains_key(*object))
        .map(|object| Released { object: object.clone(), gone: entry::find(snapshots, object).is_none() });
    (entered, left.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn half(names: &[&str]) -> Vec<String> {
        let objects = names.iter().map(|name| {
            let (namespace, name) = name.split_once('/').unwrap();
            Arc::new(ObjectRef::new(if name == "s" { "secrets" } else { "ingresses" }, namespace, name))
        });
        let half = half_of_namespaces(objects.collect());
        half.iter().map(|object| format!("{}/{}", object.namespace, object.name)).collect()
    }

    #[test]
    fn half_of_those_that_are_suspected_are_whole_namespaces() {
        assert_eq!(half(&["a/1", "b/1", "b/2", "a/s", "c/1", "c/2"]), ["a/1", "a/s", "b/1", "b/2"]);
        assert_eq!(half(&["a/1", "a/2", "a/3"]), ["a/1", "a/2"], "of one namespace there are only parts");
        assert_eq!(half(&["a/1", "b/1", "b/2"]), ["a/1"]);
        assert_eq!(half(&["a/1"]), ["a/1"]);
        assert_eq!(half(&[]), Vec::<String>::new());
    }
}
