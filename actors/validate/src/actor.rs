//! ValidateActor: checks what was rendered last, one bundle at a time, and puts what passed on the board.

use crate::{checker::Checker, verdict::Verdict};
use actix::prelude::*;
use haptic_model::{
    Diagnostic, Event, Fleet, Severity,
    pipeline::{Rendered, Validated},
};
use haptic_runtime::{CellReader, CellWriter, Events, Look, Seat};
use serde::Serialize;
use std::sync::Arc;
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
    /// What passed last.
    pub validated: Arc<CellWriter<Option<Arc<Validated>>>>,
    /// Who is told.
    pub events: Events,
}

/// Checks the newest render. A check is superseded by a newer render, but never two in a row: under a storm of
/// changes every second check ends.
pub struct ValidateActor {
    seat: Seat<Self>,
    options: ValidateOptions,
    checking: Option<Checking>,
    superseded_last: bool,
    judged: Option<Arc<Rendered>>,
}

struct Checking {
    rendered: Arc<Rendered>,
    task: AbortHandle,
}

#[derive(Serialize)]
struct Detail {
    checking: Option<u64>,
    judged: Option<u64>,
}

impl ValidateActor {
    /// An actor that looks at the board as soon as it starts.
    #[must_use]
    pub fn new(seat: Seat<Self>, options: ValidateOptions) -> Self {
        let judged = (*options.validated.read()).as_ref().map(|v| v.rendered.clone());
        Self { seat, options, checking: None, superseded_last: false, judged }
    }

    fn look(&mut self, context: &mut Context<Self>) {
        let Some(newest) = (*self.options.rendered.read()).clone() else { return };
        if self.judged.as_ref().is_some_and(|j| Arc::ptr_eq(j, &newest)) {
            return;
        }
        match &self.checking {
            Some(running) if Arc::ptr_eq(&running.rendered, &newest) || self.superseded_last => return,
            Some(running) => {
                running.task.abort();
                self.superseded_last = true;
            }
            None => self.superseded_last = false,
        }
        self.check(newest, context);
    }

    fn check(&mut self, rendered: Arc<Rendered>, context: &mut Context<Self>) {
        let checker = self.options.checker.clone();
        let versions = self.options.fleet.read().versions.clone();
        let checked = rendered.clone();
        let task: JoinHandle<Verdict> =
            tokio::spawn(async move { checker.check(&checked.bundle, &versions).await });
        self.checking = Some(Checking { rendered: rendered.clone(), task: task.abort_handle() });
        self.show();
        context.spawn(task.into_actor(self).map(move |verdict, actor, context| {
            let current = actor.checking.as_ref().is_some_and(|c| Arc::ptr_eq(&c.rendered, &rendered));
            if !current {
                return;
            }
            actor.checking = None;
            actor.judge(rendered, verdict.unwrap_or_else(|error| unfinished(&error)));
            actor.superseded_last = false;
            actor.look(context);
        }));
    }

    fn judge(&mut self, rendered: Arc<Rendered>, verdict: Verdict) {
        self.judged = Some(rendered.clone());
        self.show();
        let generation = rendered.reconcile.generation;
        let passed = verdict.passed();
        let Verdict { diagnostics, took, cached } = verdict;
        if !passed {
            return self.options.events.tell(Event::ValidationFailed { generation, diagnostics, took });
        }
        let warnings: Vec<_> = diagnostics.into_iter().filter(|d| d.severity == Severity::Warning).collect();
        for diagnostic in &warnings {
            self.options.events.tell(Event::Warned { generation, diagnostic: diagnostic.clone() });
        }
        self.options.validated.publish(Some(Arc::new(Validated { rendered, took, warnings })));
        self.options.events.tell(Event::Validated { generation, took, cached });
    }

    fn show(&self) {
        let number = |r: &Arc<Rendered>| r.reconcile.generation.0;
        self.seat.set_detail(&Detail {
            checking: self.checking.as_ref().map(|c| number(&c.rendered)),
            judged: self.judged.as_ref().map(number),
        });
    }
}

/// A check that panicked refuses its bundle: what was not checked is not deployed.
fn unfinished(error: &tokio::task::JoinError) -> Verdict {
    let what = format!("the check failed: {error}");
    Verdict { diagnostics: vec![Diagnostic::error("haproxy", what)], ..Verdict::default() }
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
