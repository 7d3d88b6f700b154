//! ValidateActor: checks what was rendered last and puts what passed on the board: first what may go live by operations, and
//! behind it what may be stored and reloaded.

use crate::{
    checker::Checker,
    culprits::{Found, culprits},
    verdict::Verdict,
};
use actix::prelude::*;
use haptic_model::{
    Bundle, Complaint, Complaints, Diagnostic, Event, Fleet, Generation, Severity,
    pipeline::{Candidate, Refused, Rendered, Validated},
};
use haptic_runtime::{CellReader, CellWriter, Events, Look, Seat};
use serde::Serialize;
use std::{
    sync::Arc,
    time::{Duration, Instant},
};
use tokio::task::{AbortHandle, JoinHandle};

/// What a [`ValidateActor`] is built from; the same for each of its lives.
#[derive(Clone, Debug)]
pub struct ValidateOptions {
    /// Runs the checks.
    pub checker: Checker,
    /// What was rendered last.
    pub rendered: CellReader<Option<Arc<Rendered>>>,
    /// Whose versions the bundle must suit.
    pub fleet: CellReader<Fleet>,
    /// What passed last, but for HAProxy's own checker.
    pub candidate: Arc<CellWriter<Option<Arc<Candidate>>>>,
    /// What passed last.
    pub validated: Arc<CellWriter<Option<Arc<Validated>>>>,
    /// What was checked last, when it was refused.
    pub refused: Arc<CellWriter<Option<Arc<Refused>>>>,
    /// The objects that were found at fault last.
    pub complaints: Arc<CellWriter<Complaints>>,
    /// Who is told.
    pub events: Events,
}

/// Checks the newest render: its syntax in milliseconds, and then by HAProxy's own checker, which may take a second.
///
/// A check under way is never given up: under a storm of changes none would end, and nothing would reach a disk. The newest
/// bundle waits behind it, and those between are skipped.
pub struct ValidateActor {
    seat: Seat<Self>,
    options: ValidateOptions,
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
    /// Checks in a row that did not come to their end, and whether the next one waits.
    undecided: u32,
    resting: bool,
}

/// So many checks in a row that did not come to their end are the machine's trouble; after one more, the bundle's.
const PATIENT_WITH: u32 = 3;

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
    /// An actor that looks at the board as soon as it starts.
    #[must_use]
    pub fn new(seat: Seat<Self>, options: ValidateOptions) -> Self {
        let validated = (*options.validated.read()).as_ref().map(|validated| validated.rendered.clone());
        let refused = (*options.refused.read()).as_ref().map(|refused| refused.rendered.clone());
        let read = (*options.candidate.read()).as_ref().map(|candidate| candidate.rendered.clone());
        Self {
            seat,
            options,
            read,
            reading: false,
            checking: None,
            waiting: None,
            judged: refused.or(validated),
            complained: None,
            undecided: 0,
            resting: false,
        }
    }

    fn look(&mut self, context: &mut Context<Self>) {
        if let Some(newest) = (*self.options.rendered.read()).clone()
            && !self.reading
            && !is_same(self.read.as_ref(), &newest)
        {
            self.read_syntax(newest, context);
        }
        let Some(candidate) = (*self.options.candidate.read()).clone() else { return };
        match &self.checking {
            Some(checking) if !Arc::ptr_eq(&checking.rendered, &candidate.rendered) => {
                self.waiting.get_or_insert_with(Instant::now);
            }
            None if !self.resting
                && !is_same(self.judged.as_ref(), &candidate.rendered)
                && candidate.rendered.hindsight.heard >= self.complained =>
            {
                self.check(candidate.rendered.clone(), context);
            }
            _ => {}
        }
    }

    fn read_syntax(&mut self, rendered: Arc<Rendered>, context: &mut Context<Self>) {
        (self.read, self.reading) = (Some(rendered.clone()), true);
        let checker = self.checker_for(&rendered);
        let versions = self.options.fleet.read().versions.clone();
        let good = self.good();
        let began = Instant::now();
        let read = async move {
            let diagnostics = checker.syntax(&rendered.bundle, &versions).await;
            let took = began.elapsed();
            let found = match diagnostics.is_empty() {
                true => Found::default(),
                false => {
                    let distrusted = &rendered.hindsight.distrusted;
                    let judge = async |bundle: Bundle| checker.syntax_alone(bundle, &versions).await;
                    culprits(&rendered.bundle, good.as_deref(), &diagnostics, distrusted, judge).await
                }
            };
            (rendered, diagnostics, found, took)
        };
        context.spawn(read.into_actor(self).map(|(rendered, diagnostics, found, took), actor, context| {
            actor.reading = false;
            let generation = rendered.reconcile.generation;
            actor.options.events.tell(Event::Timed { part: "syntax", generation, pod: None, took });
            actor
                .options
                .events
                .tell(Event::Kept { by: "syntax", bytes: actor.options.checker.kept_bytes() });
            if diagnostics.is_empty() {
                actor.options.candidate.publish(Some(Arc::new(Candidate { rendered })));
            } else {
                actor.options.events.tell(Event::ValidationFailed { generation, diagnostics, took });
                actor.complain(rendered, found, took);
            }
            actor.look(context);
        }));
    }

    fn check(&mut self, rendered: Arc<Rendered>, context: &mut Context<Self>) {
        let checker = self.checker_for(&rendered);
        let versions = self.options.fleet.read().versions.clone();
        let checked = rendered.clone();
        let task: JoinHandle<Verdict> =
            tokio::spawn(async move { checker.semantics(&checked.bundle, &versions).await });
        let took = self.waiting.take().map_or(Duration::ZERO, |since| since.elapsed());
        self.options.events.tell(Event::Waited { stage: "validate", took });
        self.checking = Some(Checking { rendered: rendered.clone(), task: task.abort_handle() });
        self.show();
        context.spawn(task.into_actor(self).map(move |verdict, actor, context| {
            let verdict = verdict.unwrap_or_else(|error| unfinished(&error));
            if verdict.undecided && actor.undecided < PATIENT_WITH {
                return actor.check_later(&rendered, verdict, context);
            }
            actor.undecided = 0;
            if !verdict.passed() {
                actor.look_for_culprits(rendered.clone(), &verdict, context);
            } else {
                actor.checking = None;
            }
            actor.judge(rendered, verdict);
            actor.look(context);
        }));
    }

    /// Nothing is known of `rendered`, so nothing changes: what is newest by then is checked after a pause.
    fn check_later(&mut self, rendered: &Rendered, verdict: Verdict, context: &mut Context<Self>) {
        self.checking = None;
        let pause = Duration::from_secs(1 << self.undecided);
        self.undecided += 1;
        self.resting = true;
        for diagnostic in verdict.diagnostics.into_iter().filter(|d| d.severity == Severity::Error) {
            let message = format!("{}; it is checked again in {} s", diagnostic.message, pause.as_secs());
            let diagnostic = Diagnostic { severity: Severity::Warning, message, ..diagnostic };
            self.options.events.tell(Event::Warned { generation: rendered.reconcile.generation, diagnostic });
        }
        context.run_later(pause, |actor, context| {
            actor.resting = false;
            actor.look(context);
        });
    }

    /// One that lets pass what the configuration allows.
    fn checker_for(&self, rendered: &Rendered) -> Checker {
        self.options.checker.allowing(&rendered.config.spec.allow.features)
    }

    /// Until they are found, no newer bundle is checked: it would most likely hold the same mistake.
    fn look_for_culprits(&mut self, rendered: Arc<Rendered>, verdict: &Verdict, context: &mut Context<Self>) {
        let (checker, good) = (self.checker_for(&rendered), self.good());
        let (said, took, began) = (verdict.diagnostics.clone(), verdict.took, Instant::now());
        let versions = self.options.fleet.read().versions.clone();
        let search = async move {
            let distrusted = &rendered.hindsight.distrusted;
            let judge =
                async |bundle: Bundle| checker.semantics_at_length(&bundle, &versions).await.diagnostics;
            let found = culprits(&rendered.bundle, good.as_deref(), &said, distrusted, judge).await;
            (rendered, found)
        };
        context.spawn(search.into_actor(self).map(move |(rendered, found), actor, context| {
            actor.checking = None;
            let generation = rendered.reconcile.generation;
            if actor.complain(rendered, found, took + began.elapsed()) {
                actor.complained = Some(generation);
            }
            actor.look(context);
        }));
    }

    /// Says who is at fault, if anybody is, to whoever renders; that makes a new generation.
    fn complain(&self, rendered: Arc<Rendered>, found: Found, took: Duration) -> bool {
        let Found { culprits: objects, suspects } = found;
        let is_any = !objects.is_empty() || !suspects.is_empty();
        if is_any {
            let complaint = Complaint { rendered, good: None, objects, suspects, took };
            self.options.complaints.append(Arc::new(complaint), Complaint::KEPT);
        }
        is_any
    }

    /// The last bundle that passed everything.
    fn good(&self) -> Option<Arc<Bundle>> {
        let validated = self.options.validated.read();
        (*validated).as_ref().map(|validated| Arc::new(validated.bundle().clone()))
    }

    fn judge(&mut self, rendered: Arc<Rendered>, verdict: Verdict) {
        self.judged = Some(rendered.clone());
        self.show();
        let generation = rendered.reconcile.generation;
        let passed = verdict.passed();
        let Verdict { diagnostics, took, cached, .. } = verdict;
        if !passed {
            let refused = Refused { rendered, diagnostics: diagnostics.clone() };
            self.options.refused.publish(Some(Arc::new(refused)));
            return self.options.events.tell(Event::ValidationFailed { generation, diagnostics, took });
        }
        let warnings: Vec<_> = diagnostics.into_iter().filter(|d| d.severity == Severity::Warning).collect();
        for diagnostic in &warnings {
            self.options.events.tell(Event::Warned { generation, diagnostic: diagnostic.clone() });
        }
        self.options.validated.publish(Some(Arc::new(Validated { rendered, took, warnings })));
        if self.options.refused.read().is_some() {
            self.options.refused.publish(None);
        }
        self.options.events.tell(Event::Validated { generation, took, cached });
    }

    fn show(&self) {
        let number = |rendered: &Arc<Rendered>| rendered.reconcile.generation;
        self.seat.set_detail(&Detail {
            candidate: (*self.options.candidate.read()).as_ref().map(|candidate| candidate.generation()),
            checking: self.checking.as_ref().map(|c| number(&c.rendered)),
            judged: self.judged.as_ref().map(number),
        });
    }
}

fn is_same(one: Option<&Arc<Rendered>>, other: &Arc<Rendered>) -> bool {
    one.is_some_and(|one| Arc::ptr_eq(one, other))
}

/// A check that panicked says nothing of its bundle: what was not checked is not deployed.
fn unfinished(error: &tokio::task::JoinError) -> Verdict {
    let what = format!("the check failed: {error}");
    Verdict { diagnostics: vec![Diagnostic::error("haproxy", what)], undecided: true, ..Verdict::default() }
}

impl Actor for ValidateActor {
    type Context = Context<Self>;

    fn started(&mut self, context: &mut Self::Context) {
        let rendered = self.options.rendered.clone();
        context.add_message_stream(futures::stream::unfold(rendered, |mut rendered| async {
            rendered.changed().await;
            Some((Look, rendered))
        }));
        self.look(context);
    }
}

impl Supervised for ValidateActor {
    fn restarting(&mut self, _: &mut Self::Context) {
        *self = self.seat.rebuild();
    }
}

impl Handler<Look> for ValidateActor {
    type Result = ();

    fn handle(&mut self, _: Look, context: &mut Self::Context) {
        self.seat.received::<Look>(context);
        self.look(context);
    }
}

impl Drop for Checking {
    fn drop(&mut self) {
        self.task.abort();
    }
}
