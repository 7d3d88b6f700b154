//! A configuration that nothing has passed with yet: when it fails for an object that the one before served as it is, the
//! configuration is at fault, however many objects there are. It is refused as a whole, and the last good bundle stays.
//!
//! What an object's block reads counts as the object at first: a Secret may have changed with the configuration. Once the
//! configuration is refused it does not: endpoints change all the time.

use super::{
    Job, Moment,
    entry::{self, changed_for, is_same_in},
};
use crate::{
    engine::Read,
    faults::{Fault, FaultKind, Faults},
};
use haptic_model::{Complaint, Diagnostic, Limit, Object, ObjectRef, Snapshots, pipeline::Rendered};
use std::{
    collections::BTreeMap,
    sync::Arc,
    time::{Duration, Instant},
};

/// A first configuration is at fault itself when more objects than this fail, and most of them.
const FEW: usize = 2;
/// What is only suspected to be the configuration's fault is tried again after this.
const REST: Duration = Duration::from_secs(30);

/// What is known of the newest configuration.
#[derive(Debug, Default)]
pub(super) struct Trial {
    revision: u64,
    refused: bool,
    by_check: Option<Refusal>,
}

/// What a stage behind the render refused.
#[derive(Debug)]
struct Refusal {
    /// The object that the configuration fails for. Without it, or with another version, the configuration is tried again.
    evidence: Arc<Object>,
    why: Diagnostic,
    until: Option<Instant>,
}

impl Trial {
    /// Forgets what is known of another configuration, and what is to be tried again.
    pub fn look(&mut self, job: &Job<'_>, now: Instant) {
        if self.revision != job.config.revision {
            *self = Self { revision: job.config.revision, ..Self::default() };
        }
        self.by_check = self.by_check.take().filter(|refusal| {
            let present = entry::find(job.snapshots, &refusal.evidence.reference);
            present.is_some_and(|(present, _)| entry::same(present, &refusal.evidence))
                && refusal.until.is_none_or(|until| now < until)
        });
    }

    /// Why nothing is rendered with this configuration.
    pub fn refusal(&self) -> Option<&Diagnostic> {
        self.by_check.as_ref().map(|refusal| &refusal.why)
    }

    /// When it is tried again though nothing may change until then.
    pub fn next_try(&self) -> Option<Instant> {
        self.by_check.as_ref()?.until
    }

    /// Why the configuration is at fault, if it is, for what a render of `snapshots` found.
    pub fn of_render(
        &mut self,
        faults: &Faults,
        snapshots: &Snapshots,
        job: &Job<'_>,
        moment: &Moment<'_>,
    ) -> Option<Diagnostic> {
        let own = |of_one: &'_ [Fault]| of_one.iter().position(|fault| !is_objects_own(fault));
        let failing =
            || faults.objects.iter().filter_map(|(object, of_one)| Some((object, of_one.get(own(of_one)?)?)));
        let Some(good) = moment.good else { return most_of_a_kind(failing(), job) };
        if !is_new(job, good) {
            return None;
        }
        let unchanged = |(object, fault): &(&Arc<ObjectRef>, &Fault)| {
            self.is_unchanged(object, fault.reads.as_deref(), &good.snapshots, snapshots)
        };
        let why = match failing().find(unchanged) {
            Some((object, fault)) => Some(sentence(object, &fault.diagnostic)),
            None => most_of_a_kind(failing(), job),
        };
        self.refused |= why.is_some();
        why
    }

    /// Whether the configuration is at fault for what a later stage found.
    pub fn takes(
        &mut self,
        complaint: &Complaint,
        reads: &BTreeMap<Arc<ObjectRef>, Vec<Read>>,
        job: &Job<'_>,
        moment: &Moment<'_>,
    ) -> bool {
        self.look(job, moment.now);
        let Some(good) = complaint.good.as_ref().or(moment.good).filter(|good| is_new(job, good)) else {
            return false;
        };
        let now = &complaint.rendered.snapshots;
        let is_unchanged = |(object, _): &&(Arc<ObjectRef>, Diagnostic)| {
            let reads = reads.get(object).map(Vec::as_slice);
            self.is_unchanged(object, reads, &good.snapshots, now)
        };
        let proven = complaint.objects.iter().find(is_unchanged);
        let only_suspects =
            || complaint.objects.is_empty() && complaint.suspects.iter().all(|of| is_unchanged(&of));
        let suspected = || complaint.suspects.first().filter(|_| only_suspects());
        let Some((object, why)) = proven.or_else(suspected) else { return false };
        let Some((evidence, _)) = entry::find(now, object) else { return false };
        self.by_check = Some(Refusal {
            evidence: evidence.clone(),
            why: sentence(object, why),
            until: proven.is_none().then(|| moment.now + REST),
        });
        self.refused = true;
        true
    }

    fn is_unchanged(
        &self,
        object: &ObjectRef,
        reads: Option<&[Read]>,
        then: &Snapshots,
        now: &Snapshots,
    ) -> bool {
        let reads = reads.filter(|_| !self.refused).unwrap_or_default();
        is_same_in(object, then, now) && changed_for(object, reads, then, now).is_empty()
    }
}

fn is_new(job: &Job<'_>, good: &Rendered) -> bool {
    !Arc::ptr_eq(&good.config.spec, &job.config.spec)
}

/// What a template says about an object, it means; and who takes more than a namespace's share is at fault whoever else is.
fn is_objects_own(fault: &Fault) -> bool {
    let is_share = |limit| matches!(limit, Limit::MapEntries | Limit::Files | Limit::FileBytes);
    fault.kind == FaultKind::Registered || Limit::passed(&fault.diagnostic).is_some_and(is_share)
}

/// A configuration that fails for most objects of a kind is at fault itself: leaving them all out would take everything away.
fn most_of_a_kind<'f>(
    failing: impl Iterator<Item = (&'f Arc<ObjectRef>, &'f Fault)>,
    job: &Job<'_>,
) -> Option<Diagnostic> {
    let mut kinds: BTreeMap<&str, (usize, &Fault)> = BTreeMap::new();
    for (object, fault) in failing {
        kinds.entry(&object.resource).or_insert((0, fault)).0 += 1;
    }
    let size = |resource: &str| job.snapshots.get(resource).map_or(0, |store| store.len());
    let (resource, (count, fault)) =
        kinds.into_iter().find(|(resource, (count, _))| *count > FEW && *count * 2 > size(resource))?;
    let message = format!(
        "{count} of {} {resource} fail, so the templates are taken to be at fault: {}",
        size(resource),
        fault.diagnostic.message
    );
    Some(Diagnostic { message, object: None, ..fault.diagnostic.clone() })
}

fn sentence(object: &ObjectRef, why: &Diagnostic) -> Diagnostic {
    let message = format!(
        "the new configuration is refused as a whole, and the last good one stays: {object} did not change and fails with it: {}",
        why.message
    );
    Diagnostic { message, object: None, ..why.clone() }
}
