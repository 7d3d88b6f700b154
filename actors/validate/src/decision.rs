//! What follows a check, and when one begins: what is taken back, who is at fault, what is checked next. Pure.

#[cfg(test)]
mod tests;

use crate::{check_rest::CheckRest, verdict::CheckVerdict};
use haptic_attribution::causes::{FailingByCause, FailureCauses, Nobodys, largest};
use haptic_model::{
    Bundle, Diagnostic, FailureReport, Generation, HaproxyPod, Severity,
    pipeline::{PodState, Rendered},
};
use std::{collections::BTreeMap, sync::Arc, time::Duration};
use tokio::time::Instant;

/// After a machine's trouble the next check waits a second, then twice as long each time, and never longer.
const LONGEST_REST: Duration = Duration::from_secs(60);

/// What is known of the checks before.
#[derive(Debug, Default)]
pub(crate) struct CheckHistory {
    /// The last bundle that passed everything.
    good: Option<Arc<Rendered>>,
    /// Whether one was refused since.
    is_refused: bool,
    last_decided: Option<Arc<Rendered>>,
    /// What was reported last: what was rendered before the report was received most likely holds the same mistake, and is not
    /// checked.
    last_reported: Option<Generation>,
    /// Checks in a row that the machine did not bring to an end, and whether the next one waits.
    undecided: u32,
    is_resting: bool,
    /// What the last check took is a reason to wait with the next one, where nobody waits for that.
    rest: CheckRest,
}

/// A check that its bundle did not pass.
#[derive(Debug)]
pub(crate) struct FailedCheck {
    pub rendered: Arc<Rendered>,
    pub verdict: CheckVerdict,
}

/// When a bundle is checked.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum CheckTime {
    Now,
    At(Instant),
    /// Not as things are.
    Never,
}

/// What becomes of a bundle that failed, where it is live.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LiveBundle {
    /// It is refused.
    Reverted,
    Stays,
}

/// What follows a failed check.
#[derive(Debug)]
pub(crate) enum NextCheckStep {
    /// Those at fault are looked for. Until they are found no newer bundle is checked: it would most likely hold the same mistake.
    Search(LiveBundle),
    /// The bundle is checked in all the time and memory that there is. These were not cleared of it.
    CheckAtLength(FailingByCause),
    /// Nothing is known of who is at fault: what is newest by then is checked after a pause.
    CheckLater(LiveBundle),
    /// The same: what fails is refused, and it is told that it fails.
    FailAndCheckLater,
    /// The bundle fails, and this is known of whose fault it is.
    Fail { found: Box<FailureCauses>, live: LiveBundle },
}

impl LiveBundle {
    fn that_stays_if(stays: bool) -> Self {
        if stays { Self::Stays } else { Self::Reverted }
    }
}

impl CheckHistory {
    /// What was published before. What was refused, was so after what passed.
    pub fn new(good: Option<Arc<Rendered>>, refused: Option<Arc<Rendered>>) -> Self {
        let is_refused = refused.is_some();
        Self { last_decided: refused.or_else(|| good.clone()), good, is_refused, ..Self::default() }
    }

    /// The last bundle that passed everything.
    pub fn good(&self) -> Option<&Arc<Rendered>> {
        self.good.as_ref()
    }

    /// The bundle that was decided about last, as far as that says anything of the next.
    pub fn last_decided(&self) -> Option<&Arc<Rendered>> {
        self.last_decided.as_ref()
    }

    /// When `candidate` is checked, if no other check is under way.
    pub fn time_of(&self, candidate: &Arc<Rendered>, pods: &BTreeMap<HaproxyPod, PodState>) -> CheckTime {
        let is_decided = self.last_decided.as_ref().is_some_and(|last| Arc::ptr_eq(last, candidate));
        if self.is_resting || is_decided || candidate.previous_failures.newest_report < self.last_reported {
            return CheckTime::Never;
        }
        let until = self.rest.until().filter(|_| self.can_wait(candidate, pods));
        until.map_or(CheckTime::Now, CheckTime::At)
    }

    /// Whether no pod waits for the check of `rendered`: what HAProxy takes by operations is live without, and is only to be stored.
    fn can_wait(&self, rendered: &Rendered, pods: &BTreeMap<HaproxyPod, PodState>) -> bool {
        let Some(good) = &self.good else { return false };
        let waits = |pod: &PodState| pod.awaits_check > Some(good.reconcile.generation);
        self.may_stay(rendered) && !pods.values().any(waits)
    }

    /// Whether a refused bundle stays where it is live until the next one takes back what is wrong with it, once that is found: going back to the
    /// one that passed last would take back everybody's changes since then, and whoever has one bundle after the other refused would take them
    /// back again and again. Once everything was taken back, no refused one stays until one has passed.
    fn may_stay(&self, rendered: &Rendered) -> bool {
        let has_passed = |good: &Arc<Rendered>| Arc::ptr_eq(&good.config.spec, &rendered.config.spec);
        rendered.config.spec.validation.express
            && !self.is_refused
            && self.good.as_ref().is_some_and(has_passed)
    }

    pub fn passed(&mut self, rendered: Arc<Rendered>, work: Duration) {
        self.last_decided = Some(rendered.clone());
        (self.good, self.is_refused) = (Some(rendered), false);
        (self.undecided, self.rest) = (0, CheckRest::after(work));
    }

    pub fn refused(&mut self, rendered: Arc<Rendered>) {
        (self.last_decided, self.is_refused) = (Some(rendered), true);
    }

    /// It fails, and stays where it is live.
    pub fn stays(&mut self, rendered: Arc<Rendered>) {
        self.last_decided = Some(rendered);
    }

    /// A check came to its end.
    pub fn decided(&mut self) {
        self.undecided = 0;
    }

    pub fn reported(&mut self, generation: Generation) {
        self.last_reported = Some(generation);
    }

    /// A check says nothing; the pause before the next one.
    pub fn rests(&mut self) -> Duration {
        let pause = Duration::from_secs(1 << self.undecided.min(10)).min(LONGEST_REST);
        self.undecided += 1;
        (self.last_decided, self.is_resting) = (None, true);
        pause
    }

    /// The pause is over.
    pub fn rested(&mut self) {
        self.is_resting = false;
    }

    pub fn after_check(&self, FailedCheck { rendered, verdict }: &FailedCheck) -> NextCheckStep {
        NextCheckStep::Search(LiveBundle::that_stays_if(verdict.undecided || self.may_stay(rendered)))
    }

    /// Those who can be held back for what was found.
    pub fn answerable(&self, rendered: &Rendered, found: FailureCauses) -> FailureCauses {
        let good = self.good.as_ref().map(|good| &good.bundle);
        found.in_stores(&rendered.snapshots, &rendered.bundle, good)
    }

    pub fn after_search(&self, check: &FailedCheck, found: FailureCauses) -> NextCheckStep {
        let FailedCheck { rendered, verdict } = check;
        let is_anybody = !found.is_nobody();
        let mut found = self.answerable(rendered, found);
        // A renderer that received this could hold nobody back, and would render the same again and again.
        if is_anybody && found.is_nobody() && !verdict.undecided {
            return NextCheckStep::FailAndCheckLater;
        }
        if self.good.is_none() && !found.proven.is_empty() {
            // It is better without them. Where nothing stands in for an object, nobody is left out unproven.
            found.suspects.clear();
        }
        let is_unproven = found.proven.is_empty() && self.good.is_none();
        let live = LiveBundle::that_stays_if(verdict.undecided || found.is_only_objects());
        match found.nobodys {
            Some(Nobodys::Machine(_)) => NextCheckStep::CheckLater(live),
            Some(Nobodys::Templates(_)) => self.fail(rendered, found),
            // It may only be that everything takes longer than before.
            _ if verdict.undecided && (is_unproven || found.is_nobody()) => {
                NextCheckStep::CheckAtLength(found.suspects)
            }
            _ if is_unproven && is_most(&found.suspects, &rendered.bundle) => NextCheckStep::CheckLater(live),
            _ => self.fail(rendered, found),
        }
    }

    /// Where the whole comes to no end in all the time and memory that there is, whoever is not cleared waits; if all are, whoever
    /// changed most of it. If nobody changed anything, it is the machine's trouble.
    pub fn after_check_at_length(&self, check: &FailedCheck, unproven: FailingByCause) -> NextCheckStep {
        let FailedCheck { rendered, verdict } = check;
        if !verdict.undecided {
            return self.after_check(check);
        }
        let suspects = match unproven.is_empty() || is_most(&unproven, &rendered.bundle) {
            true => self.who_changed_most(check),
            false => unproven,
        };
        let found = self.answerable(rendered, FailureCauses { suspects, ..FailureCauses::default() });
        match found.is_nobody() {
            true => NextCheckStep::CheckLater(LiveBundle::Stays),
            false => self.fail(rendered, found),
        }
    }

    fn who_changed_most(&self, FailedCheck { rendered, verdict }: &FailedCheck) -> FailingByCause {
        let good = self.good.as_ref().map(|good| &good.bundle);
        let why = verdict.diagnostics.iter().find(|diagnostic| diagnostic.severity == Severity::Error);
        why.map(|why| largest(&rendered.bundle, good, why)).unwrap_or_default()
    }

    fn fail(&self, rendered: &Rendered, found: FailureCauses) -> NextCheckStep {
        let live = LiveBundle::that_stays_if(found.is_only_objects() && self.may_stay(rendered));
        NextCheckStep::Fail { found: Box::new(found), live }
    }

    /// What whoever renders is told, if anybody is at fault; that makes a new generation. The templates are only if they are others
    /// than those that passed: the same ones again would give the same bundle.
    pub fn failure_report(
        &self,
        rendered: &Rendered,
        found: FailureCauses,
        took: Duration,
    ) -> Option<FailureReport> {
        let FailureCauses { proven: objects, suspects, nobodys } = found;
        let is_new = |good: &Arc<Rendered>| !Arc::ptr_eq(&good.config.spec, &rendered.config.spec);
        let templates = match nobodys {
            Some(Nobodys::Templates(why)) if self.good.as_ref().is_some_and(is_new) => Some(why),
            _ => None,
        };
        let is_any = !objects.is_empty() || !suspects.is_empty() || templates.is_some();
        is_any.then(|| FailureReport {
            rendered: rendered.basis(),
            good: None,
            objects,
            suspects,
            templates,
            took,
        })
    }
}

impl FailedCheck {
    /// Says behind what the check said whose fault it is, where it is no object's.
    pub fn with_fault_of(mut self, found: &FailureCauses) -> Self {
        self.verdict.diagnostics.extend(whose_fault(found));
        self
    }

    /// The warnings in place of its errors when no object is at fault, and the bundle is checked again after `pause`.
    pub fn warnings(self, pause: Duration) -> impl Iterator<Item = Diagnostic> {
        let errors = self.verdict.diagnostics.into_iter().filter(|d| d.severity == Severity::Error);
        errors.map(move |diagnostic| {
            let message = format!(
                "{}; no object is at fault: it is the machine's trouble, or the templates', and the last good configuration stays; \
                 it is checked again in {} s",
                diagnostic.message,
                pause.as_secs()
            );
            Diagnostic { severity: Severity::Warning, message, ..diagnostic }
        })
    }
}

/// The diagnostic that no object is at fault, and whose fault it is instead.
pub(crate) fn whose_fault(found: &FailureCauses) -> Option<Diagnostic> {
    let (whose, why) = match found.nobodys.as_ref()? {
        Nobodys::Templates(why) => ("the templates", why),
        Nobodys::Machine(why) => ("the machine, or the templates", why),
        Nobodys::Nothing => return None,
    };
    let message = format!(
        "it is a fault of {whose}, and of no object: what is left without any fails, too, so the last good configuration stays: {}",
        why.message
    );
    Some(Diagnostic { message, object: None, output: None, ..why.clone() })
}

/// Whether these are most of those who print anything: then the machine is too slow to look for them.
fn is_most(suspects: &FailingByCause, bundle: &Bundle) -> bool {
    suspects.len() * 2 > bundle.changed_since(None).len()
}
