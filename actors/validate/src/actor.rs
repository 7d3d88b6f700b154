//! ValidateActor: checks what was rendered last and publishes what passed: first what may go live by operations, and
//! behind it what may be stored and reloaded.

use crate::{check_rest::CheckRest, checker::Checker, search::Search, verdict::CheckVerdict};
use actix::prelude::*;
use haptic_attribution::culprits::{FailingByCause, FailureCauses, Nobodys, Ruling, largest};
use haptic_model::{
    Bundle, Diagnostic, Event, FailureReport, FailureReports, Fleet, Generation, HaproxyPod, Severity,
    figure::{CachingStage, TimedPart, WaitingStage},
    pipeline::{Candidate, PodState, Refused, Rendered, Validated},
};
use haptic_runtime::{
    Alarm, Events, OwnHandle, Publisher,
    messages::{BundleRendered, FleetChanged, PodStatesChanged},
};
use serde::Serialize;
use std::{
    collections::BTreeMap,
    sync::Arc,
    time::{Duration, Instant},
};
use tokio::task::{AbortHandle, JoinHandle};

/// What a [`ValidateActor`] is built from; the same for each of its lives.
#[derive(Clone, Debug)]
pub struct ValidateOptions {
    /// Runs the checks.
    pub checker: Checker,
    /// What passed last, but for HAProxy's own checker.
    pub candidate: Arc<Publisher<Option<Arc<Candidate>>>>,
    /// What passed last.
    pub validated: Arc<Publisher<Option<Arc<Validated>>>>,
    /// What was checked last, when it was refused.
    pub refused: Arc<Publisher<Option<Arc<Refused>>>>,
    /// The objects that were found at fault last.
    pub complaints: Arc<Publisher<FailureReports>>,
    /// Who is told.
    pub events: Events,
}

/// Checks the newest render: its syntax in milliseconds, and then by HAProxy's own checker, which may take a second.
///
/// A check under way is never given up: under a storm of changes none would end, and nothing would reach a disk. The newest
/// bundle waits behind it, and those between are skipped. What all pods run already waits a while, so that checks leave most of a
/// CPU to what is on its way.
pub struct ValidateActor {
    own: OwnHandle<Self>,
    options: ValidateOptions,
    /// The newest bundle.
    newest: Option<Arc<Rendered>>,
    /// Whose versions a bundle must suit.
    fleet: Arc<Fleet>,
    pods: Arc<BTreeMap<HaproxyPod, PodState>>,
    /// Whose syntax was looked at last, or is.
    read: Option<Arc<Rendered>>,
    reading: bool,
    checking: Option<Checking>,
    /// Since when a bundle waits behind a check.
    waiting: Option<Instant>,
    judged: Option<Arc<Rendered>>,
    /// What was complained of last: what was rendered before anybody heard of it most likely holds the same mistake, and is not
    /// checked.
    complained: Option<Generation>,
    /// Checks in a row that the machine did not bring to an end, and whether the next one waits.
    undecided: u32,
    resting: bool,
    /// What the last check took is a reason to wait with the next one, where nobody waits for that.
    rest: CheckRest,
    alarm: Alarm,
    /// Who was not cleared of a bundle that is checked at length.
    unproven: FailingByCause,
}

/// After a machine's trouble the next check waits a second, then twice as long each time, and never longer.
const LONGEST_REST: Duration = Duration::from_secs(60);

struct Checking {
    rendered: Arc<Rendered>,
    task: AbortHandle,
}

#[derive(Serialize)]
struct Detail {
    candidate: Option<Generation>,
    checking: Option<Generation>,
    judged: Option<Generation>,
}

impl ValidateActor {
    /// An actor that knows what the one before it published.
    #[must_use]
    pub fn new(own: OwnHandle<Self>, options: ValidateOptions) -> Self {
        let validated = (*options.validated.latest()).as_ref().map(|validated| validated.rendered.clone());
        let refused = (*options.refused.latest()).as_ref().map(|refused| refused.rendered.clone());
        let read = (*options.candidate.latest()).as_ref().map(|candidate| candidate.rendered.clone());
        Self {
            own,
            options,
            newest: None,
            fleet: Arc::default(),
            pods: Arc::default(),
            read,
            reading: false,
            checking: None,
            waiting: None,
            judged: refused.or(validated),
            complained: None,
            undecided: 0,
            resting: false,
            rest: CheckRest::default(),
            alarm: Alarm::default(),
            unproven: FailingByCause::new(),
        }
    }

    fn advance(&mut self, context: &mut Context<Self>) {
        if let Some(newest) = self.newest.clone()
            && !self.reading
            && !is_same(self.read.as_ref(), &newest)
        {
            self.read_syntax(newest, context);
        }
        let Some(candidate) = (*self.options.candidate.latest()).clone() else { return };
        match &self.checking {
            Some(checking) if !Arc::ptr_eq(&checking.rendered, &candidate.rendered) => {
                self.waiting.get_or_insert_with(Instant::now);
            }
            None if !self.resting
                && !is_same(self.judged.as_ref(), &candidate.rendered)
                && candidate.rendered.hindsight.heard >= self.complained =>
            {
                match self.rest.until().filter(|_| self.can_wait(&candidate.rendered)) {
                    Some(until) => {
                        self.waiting.get_or_insert_with(Instant::now);
                        self.alarm.set(until, context, Self::advance);
                    }
                    None => self.check(candidate.rendered.clone(), context),
                }
            }
            _ => {}
        }
    }

    /// Whether no pod waits for the check of `rendered`: what HAProxy takes by operations is live without, and is only to be stored.
    fn can_wait(&self, rendered: &Rendered) -> bool {
        let Some(good) = self.good().filter(|_| self.options.refused.latest().is_none()) else {
            return false;
        };
        let waits = |pod: &PodState| pod.awaits_check > Some(good.reconcile.generation);
        Arc::ptr_eq(&good.config.spec, &rendered.config.spec)
            && rendered.config.spec.validation.express
            && !self.pods.values().any(waits)
    }

    fn read_syntax(&mut self, rendered: Arc<Rendered>, context: &mut Context<Self>) {
        (self.read, self.reading) = (Some(rendered.clone()), true);
        let checker = self.checker_for(&rendered);
        let versions = self.fleet.versions.clone();
        let good = self.good();
        let began = Instant::now();
        let read = async move {
            let diagnostics = checker.syntax(&rendered.bundle, &versions).await;
            let took = began.elapsed();
            let found = match diagnostics.is_empty() {
                true => FailureCauses::default(),
                false => {
                    let ruling = Ruling::Refused(diagnostics.clone());
                    let search = Search { rendered: rendered.clone(), good, ruling };
                    let judge =
                        async move |bundle: Bundle, _, _| match checker.syntax_alone(bundle, &versions).await
                        {
                            said if said.is_empty() => Ruling::Passes,
                            said => Ruling::Refused(said),
                        };
                    search.run(judge).await
                }
            };
            (rendered, diagnostics, found, took)
        };
        context.spawn(read.into_actor(self).map(
            |(rendered, mut diagnostics, found, took), actor, context| {
                actor.reading = false;
                let generation = rendered.reconcile.generation;
                actor.options.events.emit(Event::Timed {
                    part: TimedPart::Syntax,
                    generation,
                    pod: None,
                    took,
                });
                actor.options.events.emit(Event::Kept {
                    by: CachingStage::Syntax,
                    bytes: actor.options.checker.kept_bytes(),
                });
                if diagnostics.is_empty() {
                    actor.options.candidate.publish(Some(Arc::new(Candidate { rendered })));
                } else {
                    diagnostics.extend(found.nobodys.as_ref().and_then(whose_fault));
                    actor.options.events.emit(failed(&rendered, diagnostics, took));
                    let found = found.in_stores(&rendered.snapshots);
                    actor.complain(rendered, found, took);
                }
                actor.advance(context);
            },
        ));
    }

    fn check(&mut self, rendered: Arc<Rendered>, context: &mut Context<Self>) {
        let took = self.waiting.take().map_or(Duration::ZERO, |since| since.elapsed());
        self.options.events.emit(Event::Waited { stage: WaitingStage::Validate, took });
        let checker = self.checker_for(&rendered).impatient();
        self.check_by(checker, rendered, context, Self::concluded);
    }

    /// Runs HAProxy's own checker, and then `concluded` unless the bundle passed.
    fn check_by(
        &mut self,
        checker: Checker,
        rendered: Arc<Rendered>,
        context: &mut Context<Self>,
        concluded: fn(&mut Self, Arc<Rendered>, CheckVerdict, &mut Context<Self>),
    ) {
        let versions = self.fleet.versions.clone();
        let checked = rendered.clone();
        let task: JoinHandle<CheckVerdict> =
            tokio::spawn(async move { checker.semantics(&checked.bundle, &versions).await });
        self.checking = Some(Checking { rendered: rendered.clone(), task: task.abort_handle() });
        self.show();
        context.spawn(task.into_actor(self).map(move |verdict, actor, context| {
            let verdict = verdict.unwrap_or_else(|error| unfinished(&error));
            if !verdict.passed() {
                return concluded(actor, rendered, verdict, context);
            }
            (actor.checking, actor.undecided) = (None, 0);
            actor.rest = CheckRest::after(verdict.work);
            actor.pass(rendered, verdict);
            actor.advance(context);
        }));
    }

    /// Looks for those at fault. Until they are found no newer bundle is checked: it would most likely hold the same mistake.
    fn concluded(&mut self, rendered: Arc<Rendered>, verdict: CheckVerdict, context: &mut Context<Self>) {
        if !verdict.undecided && !self.may_stay(&rendered) {
            self.refuse(&rendered, &verdict.diagnostics);
        }
        let checker = self.checker_for(&rendered);
        let versions = self.fleet.versions.clone();
        let search = Search { rendered: rendered.clone(), good: self.good(), ruling: verdict.ruling() };
        let began = Instant::now();
        let judge = async move |bundle: Bundle, objects, end| {
            checker.until(end).ruling_on_part(&bundle, objects, &versions).await
        };
        context.spawn(search.run(judge).into_actor(self).map(move |found, actor, context| {
            let generation = rendered.reconcile.generation;
            let took = began.elapsed();
            actor.options.events.emit(Event::Timed { part: TimedPart::Search, generation, pod: None, took });
            let verdict = CheckVerdict { took: verdict.took + took, ..verdict };
            actor.found(rendered, verdict, found, context);
        }));
    }

    fn found(
        &mut self,
        rendered: Arc<Rendered>,
        verdict: CheckVerdict,
        found: FailureCauses,
        context: &mut Context<Self>,
    ) {
        let is_anybody = !found.is_nobody();
        let mut found = found.in_stores(&rendered.snapshots);
        if !verdict.undecided && !found.is_only_objects() {
            self.refuse(&rendered, &verdict.diagnostics);
        }
        // Whoever heard of it could hold nobody back, and would render the same again, for ever.
        if is_anybody && found.is_nobody() && !verdict.undecided {
            self.options.events.emit(failed(&rendered, verdict.diagnostics.clone(), verdict.took));
            return self.check_later(&rendered, verdict, context);
        }
        if self.good().is_none() && !found.culprits.is_empty() {
            // It is better without them. Where nothing stands in for an object, nobody is left out unproven.
            found.suspects.clear();
        }
        let is_nobody = found.is_nobody();
        let is_unproven = found.culprits.is_empty() && self.good().is_none();
        match found.nobodys {
            Some(Nobodys::Machine(_)) => return self.check_later(&rendered, verdict, context),
            Some(Nobodys::Templates(_)) => {}
            // It may only be that everything takes longer than before.
            _ if verdict.undecided && (is_nobody || is_unproven) => {
                self.unproven = found.suspects;
                let checker = self.checker_for(&rendered);
                return self.check_by(checker, rendered, context, Self::concluded_at_length);
            }
            _ if is_unproven && is_most(&found.suspects, &rendered.bundle) => {
                return self.check_later(&rendered, verdict, context);
            }
            _ => {}
        }
        let CheckVerdict { mut diagnostics, took, .. } = verdict;
        diagnostics.extend(found.nobodys.as_ref().and_then(whose_fault));
        self.give_up(rendered, (diagnostics, took), found, context);
    }

    /// The whole comes to no end in all the time and memory that there is. Whoever is not cleared waits; if all are, whoever
    /// changed most of it. If nobody changed anything, it is the machine's trouble.
    fn concluded_at_length(
        &mut self,
        rendered: Arc<Rendered>,
        verdict: CheckVerdict,
        context: &mut Context<Self>,
    ) {
        if !verdict.undecided {
            return self.concluded(rendered, verdict, context);
        }
        let why = verdict.diagnostics.iter().find(|diagnostic| diagnostic.severity == Severity::Error);
        let good = self.good();
        let good = good.as_ref().map(|good| &good.bundle);
        let mut suspects = std::mem::take(&mut self.unproven);
        if suspects.is_empty() || is_most(&suspects, &rendered.bundle) {
            suspects = why.map(|why| largest(&rendered.bundle, good, why)).unwrap_or_default();
        }
        let found = FailureCauses { suspects, ..FailureCauses::default() };
        let found = found.in_stores(&rendered.snapshots);
        if found.is_nobody() {
            return self.check_later(&rendered, verdict, context);
        }
        self.give_up(rendered, (verdict.diagnostics, verdict.took), found, context);
    }

    /// `rendered` does not pass, and this is known of whose fault it is.
    fn give_up(
        &mut self,
        rendered: Arc<Rendered>,
        (diagnostics, took): (Vec<Diagnostic>, Duration),
        found: FailureCauses,
        context: &mut Context<Self>,
    ) {
        (self.checking, self.undecided) = (None, 0);
        let generation = rendered.reconcile.generation;
        if found.is_only_objects() && self.may_stay(&rendered) {
            self.judged = Some(rendered.clone());
            self.show();
        } else {
            self.refuse(&rendered, &diagnostics);
        }
        self.options.events.emit(failed(&rendered, diagnostics, took));
        if self.complain(rendered, found, took) {
            self.complained = Some(generation);
        }
        self.advance(context);
    }

    /// Nothing is known of `rendered`, so nothing changes: what is newest by then is checked after a pause.
    fn check_later(&mut self, rendered: &Rendered, verdict: CheckVerdict, context: &mut Context<Self>) {
        (self.checking, self.judged) = (None, None);
        let pause = Duration::from_secs(1 << self.undecided.min(10)).min(LONGEST_REST);
        self.undecided += 1;
        self.resting = true;
        for diagnostic in verdict.diagnostics.into_iter().filter(|d| d.severity == Severity::Error) {
            let message = format!(
                "{}; no object is at fault: it is the machine's trouble, or the templates', and the last good configuration stays; \
                 it is checked again in {} s",
                diagnostic.message,
                pause.as_secs()
            );
            let diagnostic = Diagnostic { severity: Severity::Warning, message, ..diagnostic };
            self.options.events.emit(Event::Warned { generation: rendered.reconcile.generation, diagnostic });
        }
        context.run_later(pause, |actor, context| {
            actor.resting = false;
            actor.advance(context);
        });
    }

    /// One that lets pass what the configuration allows.
    fn checker_for(&self, rendered: &Rendered) -> Checker {
        self.options.checker.allowing(&rendered.config.spec.allow.features)
    }

    /// Says who is at fault, if anybody is, to whoever renders; that makes a new generation. The templates are only if they are others
    /// than those that passed: the same ones again would give the same bundle.
    fn complain(&self, rendered: Arc<Rendered>, found: FailureCauses, took: Duration) -> bool {
        let FailureCauses { culprits: objects, suspects, nobodys } = found;
        let is_new = |good: &Rendered| !Arc::ptr_eq(&good.config.spec, &rendered.config.spec);
        let templates = match nobodys {
            Some(Nobodys::Templates(why)) if self.good().is_some_and(|good| is_new(&good)) => Some(why),
            _ => None,
        };
        let is_any = !objects.is_empty() || !suspects.is_empty() || templates.is_some();
        if is_any {
            let complaint =
                FailureReport { rendered: rendered.basis(), good: None, objects, suspects, templates, took };
            self.options.complaints.append(Arc::new(complaint), FailureReport::KEPT);
        }
        is_any
    }

    /// The last that passed everything.
    fn good(&self) -> Option<Arc<Rendered>> {
        let validated = self.options.validated.latest();
        (*validated).as_ref().map(|validated| validated.rendered.clone())
    }

    /// Whether a refused bundle stays where it is live until the next one takes back what is wrong with it, once that is found: going back to the
    /// one that passed last would take back everybody's changes since then, and whoever has one bundle after the other refused would take them
    /// back again and again. Once everything was taken back, no refused one stays until one has passed.
    fn may_stay(&self, rendered: &Rendered) -> bool {
        let has_passed = |good: &Rendered| Arc::ptr_eq(&good.config.spec, &rendered.config.spec);
        rendered.config.spec.validation.express
            && self.options.refused.latest().is_none()
            && self.good().is_some_and(|good| has_passed(&good))
    }

    /// Keeps `rendered` from being stored, and has it taken back where it is live.
    fn refuse(&mut self, rendered: &Arc<Rendered>, diagnostics: &[Diagnostic]) {
        self.judged = Some(rendered.clone());
        self.show();
        let refused = Refused { rendered: rendered.clone(), diagnostics: diagnostics.to_vec() };
        self.options.refused.publish(Some(Arc::new(refused)));
    }

    fn pass(&mut self, rendered: Arc<Rendered>, verdict: CheckVerdict) {
        self.judged = Some(rendered.clone());
        self.show();
        let (generation, configuration) =
            (rendered.reconcile.generation, rendered.config.resource_generation);
        let CheckVerdict { diagnostics, took, cached, .. } = verdict;
        let warnings: Vec<_> = diagnostics.into_iter().filter(|d| d.severity == Severity::Warning).collect();
        for diagnostic in &warnings {
            self.options.events.emit(Event::Warned { generation, diagnostic: diagnostic.clone() });
        }
        self.options.validated.publish(Some(Arc::new(Validated { rendered, took, warnings })));
        if self.options.refused.latest().is_some() {
            self.options.refused.publish(None);
        }
        self.options.events.emit(Event::Validated { generation, configuration, took, cached });
    }

    fn show(&self) {
        let number = |rendered: &Arc<Rendered>| rendered.reconcile.generation;
        self.own.set_detail(&Detail {
            candidate: (*self.options.candidate.latest()).as_ref().map(|candidate| candidate.generation()),
            checking: self.checking.as_ref().map(|c| number(&c.rendered)),
            judged: self.judged.as_ref().map(number),
        });
    }
}

fn is_same(one: Option<&Arc<Rendered>>, other: &Arc<Rendered>) -> bool {
    one.is_some_and(|one| Arc::ptr_eq(one, other))
}

fn failed(rendered: &Rendered, diagnostics: Vec<Diagnostic>, took: Duration) -> Event {
    let (generation, configuration) = (rendered.reconcile.generation, rendered.config.resource_generation);
    Event::ValidationFailed { generation, configuration, diagnostics, took }
}

/// Whether these are most of those who print anything: then the machine is too slow to look for them.
fn is_most(suspects: &FailingByCause, bundle: &Bundle) -> bool {
    suspects.len() * 2 > bundle.changed_since(None).len()
}

/// Whom nobody needs to look for among the objects.
fn whose_fault(nobodys: &Nobodys) -> Option<Diagnostic> {
    let (whose, why) = match nobodys {
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

/// A check that panicked says nothing of its bundle: what was not checked is not deployed.
fn unfinished(error: &tokio::task::JoinError) -> CheckVerdict {
    let what = format!("the check failed: {error}");
    CheckVerdict {
        diagnostics: vec![Diagnostic::error("haproxy", what)],
        undecided: true,
        ..CheckVerdict::default()
    }
}

haptic_runtime::supervised!(ValidateActor);

impl Handler<FleetChanged> for ValidateActor {
    type Result = ();

    fn handle(&mut self, fleet: FleetChanged, _: &mut Self::Context) {
        self.fleet = fleet.payload;
    }
}

impl Handler<PodStatesChanged> for ValidateActor {
    type Result = ();

    fn handle(&mut self, pods: PodStatesChanged, context: &mut Self::Context) {
        self.pods = pods.payload;
        self.advance(context);
    }
}

impl Handler<BundleRendered> for ValidateActor {
    type Result = ();

    fn handle(&mut self, rendered: BundleRendered, context: &mut Self::Context) {
        self.newest = (*rendered).clone();
        self.advance(context);
    }
}

impl Drop for Checking {
    fn drop(&mut self) {
        self.task.abort();
    }
}
