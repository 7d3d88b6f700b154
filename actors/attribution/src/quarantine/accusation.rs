//! What becomes of the objects that a later stage accuses: decided by what it checked, by what passed since, and by what is there now.

use super::{
    GivenInputs, ObjectReads, RenderTiming,
    entry::{self, FoundBy, QuarantineEntry},
};
use haptic_model::{Diagnostic, FailureReport, Object, ObjectRef, pipeline::RenderBasis, store::Read};
use std::{collections::BTreeSet, sync::Arc};

/// A report, with all that decides about the objects in it.
pub(super) struct Accusation<'r> {
    report: &'r FailureReport,
    reads: &'r ObjectReads,
    pub given: &'r GivenInputs<'r>,
    /// Good is what the stage was content with before.
    pub timing: RenderTiming<'r>,
    /// What passed all checks last.
    passed: Option<&'r RenderBasis>,
    /// Settings for many objects that changed since all was good.
    pub settings: Vec<Arc<ObjectRef>>,
    /// Objects of throttled namespaces that are served as before when what they read waits.
    tainted: BTreeSet<Arc<ObjectRef>>,
}

/// One object of a report.
pub(super) struct Accused<'r> {
    pub object: &'r Arc<ObjectRef>,
    pub why: &'r Diagnostic,
    pub is_suspected: bool,
}

pub(super) enum AccusationOutcome {
    Served,
    /// The object is as it was when all was good, and settings that it reads are not.
    SettingsAtFault,
    AtFault {
        /// Whether it was found with something else than there is, such as the former version of what waits.
        is_mended: bool,
    },
}

impl<'r> Accusation<'r> {
    pub fn new(
        report: &'r FailureReport,
        reads: &'r ObjectReads,
        given: &'r GivenInputs<'r>,
        timing: &RenderTiming<'r>,
        tainted: BTreeSet<Arc<ObjectRef>>,
    ) -> Self {
        let good = report.good.as_ref().or(timing.good);
        let settings =
            entry::changed_settings(given.config, good, &report.rendered.snapshots, given.snapshots);
        let (timing, passed) = (RenderTiming { good, ..*timing }, timing.good);
        Self { report, reads, given, timing, passed, settings, tainted }
    }

    /// The objects that are proven at fault, and the suspects that may be held.
    pub fn accused(&self) -> impl Iterator<Item = Accused<'r>> + use<'r> {
        let proven = self.report.objects.iter().map(|of| (of, false));
        let suspects = suspects(self.report, self.timing.good).map(|of| (of, true));
        proven.chain(suspects).map(|((object, why), is_suspected)| Accused { object, why, is_suspected })
    }

    /// What becomes of an object that is `known` to be held, or is not.
    pub fn outcome(&self, accused: &Accused<'_>, known: Option<&QuarantineEntry>) -> AccusationOutcome {
        let (object, then) = (accused.object, &self.report.rendered.snapshots);
        let Some((checked, _)) = entry::find(then, object) else { return AccusationOutcome::Served };
        if !self.settings.is_empty() && self.is_as_before(object) {
            return AccusationOutcome::SettingsAtFault;
        }
        if self.has_passed(object, checked)
            || self.tainted.contains(object)
            || !self.is_rendered(object, checked, known)
        {
            return AccusationOutcome::Served;
        }
        let is_mended =
            entry::is_mended(self.reads_of(object).unwrap_or_default(), then, self.given.snapshots);
        AccusationOutcome::AtFault { is_mended }
    }

    /// Whether nothing of its own namespace changed since all was good: then it is at fault for what the settings say now. These go
    /// back, or it would lose what it had.
    fn is_as_before(&self, object: &ObjectRef) -> bool {
        let read = self.reads_of(object).unwrap_or_default();
        self.timing.good.is_some_and(|good| {
            entry::changed_for(object, read, &good.snapshots, self.given.snapshots).is_empty()
        })
    }

    /// Whether a check passed with this version since: a renderer that restarts receives old reports again.
    fn has_passed(&self, object: &ObjectRef, checked: &Arc<Object>) -> bool {
        let is_of_a_check = self.report.good.is_none();
        is_of_a_check
            && self.passed.is_some_and(|good| {
                good.generation > self.report.rendered.generation
                    && entry::find(&good.snapshots, object).is_some_and(|(of, _)| entry::same(of, checked))
            })
    }

    /// Whether the checked version is rendered now: as the object, or in its place. Of two pods that fail alike, each sends a report.
    fn is_rendered(
        &self,
        object: &ObjectRef,
        checked: &Arc<Object>,
        known: Option<&QuarantineEntry>,
    ) -> bool {
        match known {
            Some(entry) => entry.replaces(checked),
            None => {
                entry::find(self.given.snapshots, object).is_some_and(|(now, _)| entry::same(now, checked))
            }
        }
    }

    /// Who found an object at fault that failed so often; nobody, as long as what it was found with may be gone.
    pub fn found_by(&self, accused: &Accused<'_>, is_mended: bool, failures: u32) -> Option<FoundBy> {
        let is_first = is_mended && !accused.is_suspected && failures == 1;
        (!is_first).then(|| match accused.is_suspected || is_mended {
            true => self.suspected(failures),
            false => {
                let seen = entry::seen_by(self.reads_of(accused.object), self.given.snapshots);
                FoundBy::ByChecks { failures, seen }
            }
        })
    }

    /// Who found settings at fault, for which an object is accused.
    pub fn settings_found_by(&self, accused: &Accused<'_>, failures: u32) -> FoundBy {
        match accused.is_suspected {
            true => self.suspected(failures),
            false => FoundBy::ByChecks { failures, seen: Vec::new() },
        }
    }

    fn suspected(&self, failures: u32) -> FoundBy {
        FoundBy::Suspected { failures, costs_a_reload: self.report.good.is_some() }
    }

    fn reads_of(&self, object: &ObjectRef) -> Option<&'r [Read]> {
        self.reads.get(object).map(Vec::as_slice)
    }
}

/// Those of the suspects of a report that are held. One whose own object is as it was when it was `good` (something else changed
/// that its block reads) would lose what has always been served: it is spared as long as somebody else is held.
fn suspects<'c>(
    report: &'c FailureReport,
    good: Option<&RenderBasis>,
) -> impl Iterator<Item = &'c (Arc<ObjectRef>, Diagnostic)> {
    let now = &report.rendered.snapshots;
    let changed =
        |object: &ObjectRef| good.is_none_or(|good| !entry::is_same_in(object, &good.snapshots, now));
    let is_changed: Vec<bool> = report.suspects.iter().map(|(object, _)| changed(object)).collect();
    let others_are_held = !report.objects.is_empty() || is_changed.contains(&true);
    let held =
        report.suspects.iter().zip(is_changed).filter(move |(_, changed)| *changed || !others_are_held);
    held.map(|(suspect, _)| suspect)
}
