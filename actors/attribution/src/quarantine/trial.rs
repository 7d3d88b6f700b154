//! A configuration that nothing has passed with yet: when it fails for an object that the one before served as it is, the
//! configuration is at fault, however many objects there are. It is refused as a whole, and the last good bundle stays.
//!
//! While it is refused, nothing is rendered with it: what objects change is rendered with the last good one. Each try costs a whole
//! render of it, and one of the last good one behind it, so it is tried again when what it failed for is other than it was; where nobody
//! can tell what that is, after a while, if anything is other than it was. Both wait longer each time.
//!
//! What an object's block reads counts as the object at first: a Secret may have changed with the configuration. Once the
//! configuration is refused it does not: endpoints change all the time.

use super::{
    GivenInputs, ObjectReads, RenderTiming,
    entry::{self, ObservedRead, changed_for, is_same_in},
};
use crate::faults::{Fault, FaultKind, Faults};
use haptic_model::{
    Diagnostic, FailureReport, Fleet, Limit, Object, ObjectRef, Snapshots, pipeline::RenderBasis, store::Read,
};
use std::{
    collections::BTreeMap,
    sync::Arc,
    time::{Duration, Instant},
};

/// A first configuration is at fault itself when more objects than this fail, and most of them.
const FEW: usize = 2;
/// A trial whose end nobody can tell is repeated after this, then after twice as long each time.
const REST: Duration = Duration::from_secs(30);
/// The machine may have been at fault: after this it is tried again though nothing has changed.
const LONGEST_REST: Duration = Duration::from_secs(600);
/// A change of the cause counts at once the first time; then after this, and twice as long each time.
const PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

/// The facts about the newest configuration.
#[derive(Clone, Debug, Default)]
pub(super) struct Trial {
    revision: u64,
    /// How often.
    refused: u32,
    refusal: Option<ConfigRefusal>,
}

/// Why the configuration is refused, and until when.
#[derive(Clone, Debug)]
struct ConfigRefusal {
    why: Vec<Diagnostic>,
    cause: RefusalCause,
    /// When a change of the cause counts.
    cause_counts_at: Instant,
    /// Where the cause may be something else: when any change counts, what was there, and when it is tried again without one.
    any_change: Option<(Instant, ClusterVersion, Instant)>,
    /// When it is tried again though nothing may change until then.
    next_try: Option<Instant>,
}

/// The cause for which a configuration fails, as far as it is known.
#[derive(Clone, Debug, Default)]
struct RefusalCause {
    /// The object. Without it, or with another version, the configuration is tried again.
    evidence: Option<Arc<Object>>,
    /// The reads of that object's block; also with something else there.
    seen: Vec<ObservedRead>,
    /// Whether it may be something else.
    is_certain: bool,
}

/// Everything that a configuration is rendered from.
#[derive(Clone, Debug, PartialEq)]
struct ClusterVersion {
    stores: BTreeMap<Arc<str>, u64>,
    fleet: Fleet,
}

impl Trial {
    /// Forgets what is known of another configuration, and what is to be tried again.
    pub fn advance(&mut self, given: &GivenInputs<'_>, now: Instant) {
        if self.revision != given.config.revision {
            *self = Self { revision: given.config.revision, ..Self::default() };
        }
        self.refusal.take_if(|refusal| refusal.ends(given, now));
    }

    /// Why nothing is rendered with this configuration.
    pub fn refusal(&self) -> Option<&[Diagnostic]> {
        self.refusal.as_ref().map(|refusal| &*refusal.why)
    }

    /// When it is tried again though nothing may change until then.
    pub fn next_try(&self) -> Option<Instant> {
        self.refusal.as_ref()?.next_try
    }

    /// Why the configuration is at fault, if it is, for what a render of `snapshots` found.
    pub fn of_render(
        &mut self,
        faults: &Faults,
        snapshots: &Snapshots,
        given: &GivenInputs<'_>,
        timing: &RenderTiming<'_>,
    ) -> Option<Vec<Diagnostic>> {
        let own = |of_one: &'_ [Fault]| of_one.iter().position(|fault| !is_objects_own(fault));
        let failing =
            || faults.objects.iter().filter_map(|(object, of_one)| Some((object, of_one.get(own(of_one)?)?)));
        let Some(good) = timing.good else { return most_of_a_kind(failing(), given).map(|why| vec![why]) };
        if !is_new(given, good) {
            return None;
        }
        let unchanged = |(object, fault): &(&Arc<ObjectRef>, &Fault)| {
            self.is_unchanged(object, fault.reads.as_deref(), &good.snapshots, snapshots)
        };
        let (why, cause) = match failing().find(unchanged) {
            Some((object, fault)) => {
                let evidence = entry::find(snapshots, object).map(|(object, _)| object.clone());
                let seen = entry::seen_by(fault.reads.as_deref(), given.snapshots);
                (vec![message(object, &fault.diagnostic)], RefusalCause { evidence, seen, is_certain: false })
            }
            None => match most_of_a_kind(failing(), given) {
                Some(why) => (vec![why], RefusalCause::default()),
                None if faults.objects.is_empty() => (faults.others.clone(), RefusalCause::default()),
                None => return None,
            },
        };
        self.refuse(why.clone(), cause, given, timing.now);
        Some(why)
    }

    fn refuse(&mut self, why: Vec<Diagnostic>, cause: RefusalCause, given: &GivenInputs<'_>, now: Instant) {
        let doubled = |first: Duration, times: u32, longest: Duration| {
            first.saturating_mul(2_u32.saturating_pow(times)).min(longest)
        };
        let pause = self.refused.checked_sub(1).map(|times| doubled(PAUSE, times, LONGEST_PAUSE));
        let rest = doubled(REST, self.refused, LONGEST_REST);
        let any_change =
            (!cause.is_certain).then(|| (now + rest, ClusterVersion::of(given), now + LONGEST_REST));
        let next_try = any_change.as_ref().map(|(at, ..)| *at);
        let cause_counts_at = now + pause.unwrap_or_default();
        self.refused += 1;
        self.refusal = Some(ConfigRefusal { why, cause, cause_counts_at, any_change, next_try });
    }

    /// Whether the configuration is at fault for what a later stage found.
    pub fn takes(
        &mut self,
        report: &FailureReport,
        reads: &ObjectReads,
        given: &GivenInputs<'_>,
        timing: &RenderTiming<'_>,
    ) -> bool {
        self.advance(given, timing.now);
        let Some(good) = report.good.as_ref().or(timing.good).filter(|good| is_new(given, good)) else {
            return false;
        };
        if let Some(why) = &report.templates {
            self.refuse(vec![whole(why)], RefusalCause::default(), given, timing.now);
            return true;
        }
        let now = &report.rendered.snapshots;
        let is_unchanged = |(object, _): &&(Arc<ObjectRef>, Diagnostic)| {
            let reads = reads.get(object).map(Vec::as_slice);
            self.is_unchanged(object, reads, &good.snapshots, now)
        };
        let proven = report.objects.iter().find(is_unchanged);
        let only_suspects =
            || report.objects.is_empty() && report.suspects.iter().all(|of| is_unchanged(&of));
        let suspected = || report.suspects.first().filter(|_| only_suspects());
        let Some((object, why)) = proven.or_else(suspected) else { return false };
        let Some((evidence, _)) = entry::find(now, object) else { return false };
        let cause =
            RefusalCause { evidence: Some(evidence.clone()), seen: Vec::new(), is_certain: proven.is_some() };
        self.refuse(vec![message(object, why)], cause, given, timing.now);
        true
    }

    fn is_unchanged(
        &self,
        object: &ObjectRef,
        reads: Option<&[Read]>,
        then: &Snapshots,
        now: &Snapshots,
    ) -> bool {
        let reads = reads.filter(|_| self.refused == 0).unwrap_or_default();
        is_same_in(object, then, now) && changed_for(object, reads, then, now).is_empty()
    }
}

impl ConfigRefusal {
    /// Whether the configuration is tried again; if not, it is known until when.
    fn ends(&mut self, given: &GivenInputs<'_>, now: Instant) -> bool {
        let cause_at = self.cause.is_gone(given.snapshots).then_some(self.cause_counts_at);
        let any_at = self.any_change.as_ref().map(|(at, was, without)| match *at <= now {
            true if *was == ClusterVersion::of(given) => *without,
            _ => *at,
        });
        self.next_try = cause_at.into_iter().chain(any_at).min();
        self.next_try.is_some_and(|at| at <= now)
    }
}

impl RefusalCause {
    fn is_gone(&self, snapshots: &Snapshots) -> bool {
        let is_gone = |evidence: &Arc<Object>| {
            let present = entry::find(snapshots, &evidence.reference);
            present.is_none_or(|(present, _)| !entry::same(present, evidence))
        };
        self.evidence.as_ref().is_some_and(is_gone) || self.seen.iter().any(|seen| !seen.is(snapshots))
    }
}

impl ClusterVersion {
    fn of(given: &GivenInputs<'_>) -> Self {
        let stores = given.snapshots.iter().map(|(name, store)| (name.clone(), store.version()));
        Self { stores: stores.collect(), fleet: given.fleet.clone() }
    }
}

fn is_new(given: &GivenInputs<'_>, good: &RenderBasis) -> bool {
    !Arc::ptr_eq(&good.config.spec, &given.config.spec)
}

/// What a template says about an object, it means; and who takes more than a namespace's share is at fault whoever else is.
fn is_objects_own(fault: &Fault) -> bool {
    let is_share =
        |limit| matches!(limit, Limit::MapEntries | Limit::Servers | Limit::Files | Limit::FileBytes);
    fault.kind == FaultKind::Registered || Limit::passed(&fault.diagnostic).is_some_and(is_share)
}

/// A configuration that fails for most objects of a kind is at fault itself: leaving them all out would take everything away.
fn most_of_a_kind<'f>(
    failing: impl Iterator<Item = (&'f Arc<ObjectRef>, &'f Fault)>,
    given: &GivenInputs<'_>,
) -> Option<Diagnostic> {
    let mut kinds: BTreeMap<&str, (usize, &Fault)> = BTreeMap::new();
    for (object, fault) in failing {
        kinds.entry(&object.resource).or_insert((0, fault)).0 += 1;
    }
    let size = |resource: &str| given.snapshots.get(resource).map_or(0, |store| store.len());
    let (resource, (count, fault)) =
        kinds.into_iter().find(|(resource, (count, _))| *count > FEW && *count * 2 > size(resource))?;
    let message = format!(
        "{count} of {} {resource} fail, so the templates are taken to be at fault: {}",
        size(resource),
        fault.diagnostic.message
    );
    Some(Diagnostic { message, object: None, ..fault.diagnostic.clone() })
}

fn message(object: &ObjectRef, why: &Diagnostic) -> Diagnostic {
    let message = format!("{object} did not change and fails with it: {}", why.message);
    whole(&Diagnostic { message, ..why.clone() })
}

fn whole(why: &Diagnostic) -> Diagnostic {
    let message =
        format!("the new configuration is refused as a whole, and the last good one stays: {}", why.message);
    Diagnostic { message, object: None, ..why.clone() }
}
