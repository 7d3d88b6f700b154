//! ValidateActor: checks what was rendered last and publishes what passed: first what may go live by operations, and
//! behind it what may be stored and reloaded.

use crate::{
    checker::Checker,
    decision::{CheckHistory, CheckTime, FailedCheck, LiveBundle, NextCheckStep, whose_fault},
    search::Search,
    verdict::CheckVerdict,
};
use actix::prelude::*;
use futures::FutureExt;
use haptic_attribution::causes::{FailingByCause, FailureCauses, Ruling};
use haptic_model::{
    Bundle, Diagnostic, Event, FailureReport, FailureReports, Fleet, Generation, HaproxyPod, HaproxyVersion,
    Severity,
    figure::{CachingStage, TimedPart, WaitingStage},
    pipeline::{Candidate, PodState, Refused, Rendered, Validated},
};
use haptic_runtime::{
    Alarm, Events, OwnHandle, Publisher, deliver,
    messages::{BundleRendered, FleetChanged, PodStatesChanged},
};
use serde::Serialize;
use std::{
    collections::BTreeMap,
    sync::Arc,
    time::{Duration, Instant},
};
use tokio::task::AbortHandle;

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
    pub failure_reports: Arc<Publisher<FailureReports>>,
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
    history: CheckHistory,
    alarm: Alarm,
}

struct Checking {
    rendered: Arc<Rendered>,
    task: AbortHandle,
}

/// The syntax of a bundle is read.
#[derive(Message)]
#[rtype(result = "()")]
struct SyntaxRead {
    rendered: Arc<Rendered>,
    /// What is wrong with it, and who is at fault.
    diagnostics: Vec<Diagnostic>,
    found: FailureCauses,
    took: Duration,
}

/// HAProxy's own checker is done with a bundle.
#[derive(Message)]
#[rtype(result = "()")]
struct CheckEnded {
    rendered: Arc<Rendered>,
    verdict: CheckVerdict,
    /// After a check at length, those who were not cleared before.
    unproven: Option<FailingByCause>,
}

/// Those at fault for a failed check were looked for.
#[derive(Message)]
#[rtype(result = "()")]
struct SearchEnded {
    check: FailedCheck,
    found: FailureCauses,
    took: Duration,
}

/// The pause after a check that said nothing is over.
#[derive(Message)]
#[rtype(result = "()")]
struct RestEnded;

#[derive(Serialize)]
struct Detail {
    candidate: Option<Generation>,
    checking: Option<Generation>,
    #[serde(rename = "judged")]
    last_decided: Option<Generation>,
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
            history: CheckHistory::new(validated, refused),
            alarm: Alarm::default(),
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
            Some(checking) if is_same(Some(&checking.rendered), &candidate.rendered) => {}
            Some(_) => self.wait(),
            None => self.check_in_time(&candidate.rendered, context),
        }
    }

    fn wait(&mut self) {
        self.waiting.get_or_insert_with(Instant::now);
    }

    fn check_in_time(&mut self, rendered: &Arc<Rendered>, context: &mut Context<Self>) {
        match self.history.time_of(rendered, &self.pods) {
            CheckTime::Never => {}
            CheckTime::Now => self.check(rendered.clone(), context),
            CheckTime::At(until) => {
                self.wait();
                self.alarm.set(until, context, Self::advance);
            }
        }
    }

    fn read_syntax(&mut self, rendered: Arc<Rendered>, context: &mut Context<Self>) {
        (self.read, self.reading) = (Some(rendered.clone()), true);
        let checker = self.checker_for(&rendered);
        deliver(
            context,
            syntax(checker, rendered, self.history.good().cloned(), self.fleet.versions.clone()),
        );
    }

    fn check(&mut self, rendered: Arc<Rendered>, context: &mut Context<Self>) {
        let took = self.waiting.take().map_or(Duration::ZERO, |since| since.elapsed());
        self.options.events.emit(Event::Waited { stage: WaitingStage::Validate, took });
        let checker = self.checker_for(&rendered).impatient();
        self.check_by(checker, rendered, None, context);
    }

    fn check_at_length(
        &mut self,
        rendered: Arc<Rendered>,
        unproven: FailingByCause,
        context: &mut Context<Self>,
    ) {
        let checker = self.checker_for(&rendered);
        self.check_by(checker, rendered, Some(unproven), context);
    }

    /// Runs HAProxy's own checker.
    fn check_by(
        &mut self,
        checker: Checker,
        rendered: Arc<Rendered>,
        unproven: Option<FailingByCause>,
        context: &mut Context<Self>,
    ) {
        let versions = self.fleet.versions.clone();
        let checked = rendered.clone();
        let task = tokio::spawn(async move { checker.semantics(&checked.bundle, &versions).await });
        self.checking = Some(Checking { rendered: rendered.clone(), task: task.abort_handle() });
        self.show();
        let ended = task.map(|verdict| {
            let verdict = verdict.unwrap_or_else(|error| unfinished(&error));
            CheckEnded { rendered, verdict, unproven }
        });
        deliver(context, ended);
    }

    fn follow(&mut self, check: FailedCheck, next: NextCheckStep, context: &mut Context<Self>) {
        match next {
            NextCheckStep::Search(live) => {
                self.revert_if(live, &check);
                self.search(check, context);
            }
            NextCheckStep::CheckAtLength(unproven) => self.check_at_length(check.rendered, unproven, context),
            NextCheckStep::CheckLater(live) => {
                self.revert_if(live, &check);
                self.check_later(check, context);
            }
            NextCheckStep::FailAndCheckLater => {
                self.refuse(&check);
                let FailedCheck { rendered, verdict } = &check;
                self.options.events.emit(failed(rendered, verdict.diagnostics.clone(), verdict.took));
                self.check_later(check, context);
            }
            NextCheckStep::Fail { found, live } => self.fail(check, *found, live, context),
        }
    }

    fn search(&mut self, check: FailedCheck, context: &mut Context<Self>) {
        let FailedCheck { rendered, verdict } = check;
        let checker = self.checker_for(&rendered);
        let versions = self.fleet.versions.clone();
        let good = self.history.good().cloned();
        let search = Search { rendered: rendered.clone(), good, ruling: verdict.ruling() };
        let began = Instant::now();
        let judge = async move |bundle: Bundle, objects, end| {
            checker.until(end).ruling_on_part(&bundle, objects, &versions).await
        };
        let ended = search.run(judge).map(move |found| {
            let check = FailedCheck { rendered, verdict };
            SearchEnded { check, found, took: began.elapsed() }
        });
        deliver(context, ended);
    }

    fn fail(
        &mut self,
        check: FailedCheck,
        found: FailureCauses,
        live: LiveBundle,
        context: &mut Context<Self>,
    ) {
        self.checking = None;
        self.history.decided();
        let check = check.with_fault_of(&found);
        match live {
            LiveBundle::Reverted => self.refuse(&check),
            LiveBundle::Stays => {
                self.history.stays(check.rendered.clone());
                self.show();
            }
        }
        let FailedCheck { rendered, verdict: CheckVerdict { diagnostics, took, .. } } = check;
        self.options.events.emit(failed(&rendered, diagnostics, took));
        if self.report_failure(&rendered, found, took) {
            self.history.reported(rendered.reconcile.generation);
        }
        self.advance(context);
    }

    fn check_later(&mut self, check: FailedCheck, context: &mut Context<Self>) {
        self.checking = None;
        let pause = self.history.rests();
        let generation = check.rendered.reconcile.generation;
        for diagnostic in check.warnings(pause) {
            self.options.events.emit(Event::Warned { generation, diagnostic });
        }
        context.notify_later(RestEnded, pause);
    }

    /// One that lets pass what the configuration allows.
    fn checker_for(&self, rendered: &Rendered) -> Checker {
        self.options.checker.allowing(&rendered.config.spec.allow.features)
    }

    /// Says who is at fault to whoever renders; whether anybody is.
    fn report_failure(&self, rendered: &Rendered, found: FailureCauses, took: Duration) -> bool {
        let report = self.history.failure_report(rendered, found, took);
        let is_any = report.is_some();
        if let Some(report) = report {
            self.options.failure_reports.append(Arc::new(report), FailureReport::KEPT);
        }
        is_any
    }

    fn revert_if(&mut self, live: LiveBundle, check: &FailedCheck) {
        if live == LiveBundle::Reverted {
            self.refuse(check);
        }
    }

    /// Keeps a bundle from being stored, and has it taken back where it is live.
    fn refuse(&mut self, FailedCheck { rendered, verdict }: &FailedCheck) {
        self.history.refused(rendered.clone());
        self.show();
        let refused = Refused { rendered: rendered.clone(), diagnostics: verdict.diagnostics.clone() };
        self.options.refused.publish(Some(Arc::new(refused)));
    }

    fn pass(&mut self, rendered: Arc<Rendered>, verdict: CheckVerdict) {
        self.checking = None;
        self.history.passed(rendered.clone(), verdict.work);
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
            last_decided: self.history.last_decided().map(number),
        });
    }
}

fn is_same(one: Option<&Arc<Rendered>>, other: &Arc<Rendered>) -> bool {
    one.is_some_and(|one| Arc::ptr_eq(one, other))
}

/// Why it is refused: what HAProxy only warns of is no reason.
fn failed(rendered: &Rendered, mut diagnostics: Vec<Diagnostic>, took: Duration) -> Event {
    diagnostics.retain(|diagnostic| diagnostic.severity == Severity::Error);
    let (generation, configuration) = (rendered.reconcile.generation, rendered.config.resource_generation);
    Event::ValidationFailed { generation, configuration, diagnostics, took }
}

/// Reads the syntax of `rendered`; who is at fault is found out behind `good`.
async fn syntax(
    checker: Checker,
    rendered: Arc<Rendered>,
    good: Option<Arc<Rendered>>,
    versions: Vec<HaproxyVersion>,
) -> SyntaxRead {
    let began = Instant::now();
    let diagnostics = checker.syntax(&rendered.bundle, &versions).await;
    let took = began.elapsed();
    if diagnostics.is_empty() {
        return SyntaxRead { rendered, diagnostics, found: FailureCauses::default(), took };
    }
    let ruling = Ruling::Refused(diagnostics.clone());
    let search = Search { rendered: rendered.clone(), good, ruling };
    let judge = async move |bundle: Bundle, _, _| match checker.syntax_alone(bundle, &versions).await {
        said if said.is_empty() => Ruling::Passes,
        said => Ruling::Refused(said),
    };
    let found = search.run(judge).await;
    SyntaxRead { rendered, diagnostics, found, took }
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

impl Handler<SyntaxRead> for ValidateActor {
    type Result = ();

    fn handle(&mut self, read: SyntaxRead, context: &mut Self::Context) {
        let SyntaxRead { rendered, diagnostics, found, took } = read;
        self.reading = false;
        let (generation, events) = (rendered.reconcile.generation, &self.options.events);
        events.emit(Event::Timed { part: TimedPart::Syntax, generation, pod: None, took });
        events.emit(Event::Kept { by: CachingStage::Syntax, bytes: self.options.checker.kept_bytes() });
        if diagnostics.is_empty() {
            self.options.candidate.publish(Some(Arc::new(Candidate { rendered })));
        } else {
            let diagnostics = diagnostics.into_iter().chain(whose_fault(&found)).collect();
            events.emit(failed(&rendered, diagnostics, took));
            let found = self.history.answerable(&rendered, found);
            self.report_failure(&rendered, found, took);
        }
        self.advance(context);
    }
}

impl Handler<CheckEnded> for ValidateActor {
    type Result = ();

    fn handle(&mut self, ended: CheckEnded, context: &mut Self::Context) {
        let CheckEnded { rendered, verdict, unproven } = ended;
        if verdict.passed() {
            self.pass(rendered, verdict);
            return self.advance(context);
        }
        let check = FailedCheck { rendered, verdict };
        let next = match unproven {
            Some(unproven) => self.history.after_check_at_length(&check, unproven),
            None => self.history.after_check(&check),
        };
        self.follow(check, next, context);
    }
}

impl Handler<SearchEnded> for ValidateActor {
    type Result = ();

    fn handle(&mut self, ended: SearchEnded, context: &mut Self::Context) {
        let SearchEnded { mut check, found, took } = ended;
        let generation = check.rendered.reconcile.generation;
        self.options.events.emit(Event::Timed { part: TimedPart::Search, generation, pod: None, took });
        check.verdict.took += took;
        let next = self.history.after_search(&check, found);
        self.follow(check, next, context);
    }
}

impl Handler<RestEnded> for ValidateActor {
    type Result = ();

    fn handle(&mut self, _: RestEnded, context: &mut Self::Context) {
        self.history.rested();
        self.advance(context);
    }
}

impl Drop for Checking {
    fn drop(&mut self) {
        self.task.abort();
    }
}
