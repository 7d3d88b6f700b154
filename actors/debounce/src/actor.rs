//! The actor: joins what a render is made from, asks the schedule, orders one render at a time and waits for its end.

use crate::{
    gate::Gate,
    schedule::{Intervals, Schedule, ScheduleAction},
};
use actix::prelude::*;
use futures::FutureExt;
use haptic_model::{
    ActiveConfig, Event, FailedReloads, FailureReports, Fleet, Generation, Quarantine, Snapshots,
    figure::TimedPart,
    pipeline::{Cause, Reconcile, RenderEnded, RenderOrder, Validated},
};
use haptic_runtime::{
    Alarm, Envelope, Events, Lost, Mailbox, OwnHandle, Work, deliver,
    messages::{
        BundleValidated, ConfigActivated, FailuresReported, FleetChanged, QuarantineChanged, ReloadsFailed,
        RenderRequested, StoresChanged,
    },
};
use serde::Serialize;
use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::Duration,
};
use tokio::time::Instant;

/// Pause before a render that its actor panicked on is ordered again: long enough that a render which always
/// panics does not spend the restart budget and end the process.
const RETRY_LOST: Duration = Duration::from_secs(15);

/// The first render waits for so long at most until all pods have said what they run: one that is down says nothing.
const ANSWERS_WITHIN: Duration = Duration::from_secs(2);

/// Why a reconcile starts that nothing asked for.
const IDLE: &str = "controller.reconcileInterval";

/// Generation numbers, which go on across restarts of the actor.
#[derive(Clone, Debug, Default)]
pub struct Generations(Arc<AtomicU64>);

/// What the actor is built from, the same for each of its lives.
#[derive(Clone, Debug)]
pub struct DebounceOptions {
    /// Given out by this actor only.
    pub generations: Generations,
    /// Renders.
    pub render: Mailbox<RenderRequested>,
    /// Told of each reconcile.
    pub events: Events,
}

/// Decides when to reconcile.
pub struct DebounceActor {
    own: OwnHandle<Self>,
    options: DebounceOptions,
    inputs: PendingInputs,
    schedule: Schedule,
    gate: Gate,
    /// Until when the first render waits for pods' answers: from when nothing else was missing.
    answers_until: Option<Instant>,
    /// Changes that no reconcile has covered.
    pending: Option<StoreTotals>,
    /// Asks the schedule again.
    alarm: Alarm,
    /// Waits until the last render is to be made again though nothing changes.
    again: Option<Work>,
}

/// What the next render is made from. `None`: not received yet in this life.
#[derive(Default)]
struct PendingInputs {
    config: Option<Arc<ActiveConfig>>,
    stores: Option<Arc<Snapshots>>,
    fleet: Option<Arc<Fleet>>,
    failures: Option<Arc<FailureReports>>,
    failed_reloads: Option<Arc<FailedReloads>>,
    validated: Option<Arc<Validated>>,
    quarantine: Arc<Quarantine>,
}

/// Changes in one.
struct StoreTotals {
    cause: Cause,
    /// When the first was received.
    first: std::time::Instant,
}

/// A render that was ordered has ended, or its order was lost.
#[derive(Message)]
#[rtype(result = "()")]
struct RenderAnswered {
    generation: Generation,
    /// When it was ordered.
    started: Instant,
    answer: Result<RenderEnded, Lost>,
}

/// What is quarantined is to be tried again.
#[derive(Message)]
#[rtype(result = "()")]
struct QuarantineDue;

/// A reconcile whose order was lost is to be tried again.
#[derive(Message)]
#[rtype(result = "()")]
struct LostReconcileDue;

/// Shown at `/debug/actors`.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Detail<'a> {
    gate: &'a Gate,
    generation: u64,
    quiet_ms: u128,
    max_wait_ms: u128,
}

impl Generations {
    /// Whether one was given.
    fn any(&self) -> bool {
        self.0.load(Relaxed) > 0
    }

    /// The number after the last one given.
    fn next(&self) -> Generation {
        Generation(self.0.fetch_add(1, Relaxed) + 1)
    }
}

impl DebounceActor {
    /// An actor that has received nothing yet.
    #[must_use]
    pub fn new(own: OwnHandle<Self>, options: DebounceOptions) -> Self {
        Self {
            own,
            options,
            inputs: PendingInputs::default(),
            schedule: Schedule::new(Intervals::default()),
            gate: Gate::NoConfig,
            answers_until: None,
            pending: None,
            alarm: Alarm::default(),
            again: None,
        }
    }

    /// Adds to what the next reconcile answers for, and makes it happen.
    fn note(&mut self, cause: Cause) {
        match &mut self.pending {
            Some(pending) => pending.cause.merge(cause),
            None => self.pending = Some(StoreTotals { cause, first: std::time::Instant::now() }),
        }
        self.schedule.changed(Instant::now());
    }

    /// Does what the schedule says now.
    fn advance(&mut self, context: &mut Context<Self>) {
        self.look_at_gate(context);
        match self.schedule.next(Instant::now()) {
            ScheduleAction::Now => self.reconcile(context),
            ScheduleAction::Idle => {
                self.note(Cause::other(IDLE));
                self.reconcile(context);
            }
            ScheduleAction::At(due) => self.alarm.set(due, context, Self::advance),
            ScheduleAction::Nothing => {}
        }
    }

    fn look_at_gate(&mut self, context: &mut Context<Self>) {
        // The fleet's topic has a value from the start: its message is on the way.
        let Some(unanswered) = self.inputs.fleet.as_ref().map(|fleet| fleet.unanswered) else { return };
        let none = Snapshots::default();
        let stores = self.inputs.stores.as_deref().unwrap_or(&none);
        let gate = match Gate::of(self.inputs.config.as_ref(), stores) {
            Gate::Open if self.awaits_answers(unanswered, context) => Gate::Unanswered(unanswered),
            missing => missing,
        };
        self.schedule.set_open(gate == Gate::Open, Instant::now());
        if self.gate != gate {
            match &gate {
                Gate::Open => tracing::info!("configuration and stores are there; reconciling"),
                missing => {
                    self.options.events.emit(Event::Awaited { what: missing.to_string(), is_wrong: false });
                }
            }
            self.gate = gate;
            self.show();
        }
    }

    /// Whether the first render still waits for pods that have not answered.
    fn awaits_answers(&mut self, unanswered: usize, context: &mut Context<Self>) -> bool {
        if unanswered == 0 || self.options.generations.any() {
            return false;
        }
        let now = Instant::now();
        let until = *self.answers_until.get_or_insert(now + ANSWERS_WITHIN);
        if until > now {
            self.alarm.set(until, context, Self::advance);
        }
        until > now
    }

    fn reconcile(&mut self, context: &mut Context<Self>) {
        let Some(order) = self.order() else { return };
        let Reconcile { generation, cause, triggered } = order.reconcile.clone();
        let waited = triggered.elapsed();
        self.options.events.emit(Event::Timed {
            part: TimedPart::Debounce,
            generation,
            pod: None,
            took: waited,
        });
        self.options.events.emit(Event::ReconcileStarted { generation, cause, waited });
        self.schedule.started();
        self.show();
        let span = tracing::info_span!("reconcile", generation = generation.0);
        let started = Instant::now();
        let rendered = span.in_scope(|| self.options.render.send(Envelope::new(order)));
        deliver(context, rendered.map(move |answer| RenderAnswered { generation, started, answer }));
    }

    /// The order of the next render. `None`: there is no configuration, and the gate is closed.
    fn order(&mut self) -> Option<RenderOrder> {
        let PendingInputs { config, stores, fleet, failures, failed_reloads, validated, .. } = &self.inputs;
        let (config, snapshots) = (config.clone()?, stores.clone()?);
        let pending = self.pending.take();
        let StoreTotals { cause, first } = pending.unwrap_or_else(|| StoreTotals {
            cause: Cause::other("start"),
            first: std::time::Instant::now(),
        });
        Some(RenderOrder {
            reconcile: Reconcile { generation: self.options.generations.next(), cause, triggered: first },
            config,
            snapshots,
            fleet: fleet.clone().unwrap_or_default(),
            failure_reports: [failures.as_deref(), failed_reloads.as_ref().map(|failed| &failed.0)]
                .into_iter()
                .flatten()
                .flatten()
                .cloned()
                .collect(),
            good: validated.as_ref().map(|validated| validated.rendered.basis()),
        })
    }

    /// What is held back is tried again by itself, unless a render comes first that says otherwise.
    fn render_again(&mut self, after: Option<Duration>, context: &mut Context<Self>) {
        let due = after.map(|after| tokio::time::sleep(after).map(|()| QuarantineDue));
        self.again = due.map(|due| Work::start(context, due));
    }

    fn show(&self) {
        let intervals = self.schedule.intervals();
        self.own.set_detail(&Detail {
            gate: &self.gate,
            generation: self.options.generations.0.load(Relaxed),
            quiet_ms: intervals.quiet.as_millis(),
            max_wait_ms: intervals.max_wait.as_millis(),
        });
    }
}

haptic_runtime::supervised!(DebounceActor);

impl Handler<RenderAnswered> for DebounceActor {
    type Result = ();

    fn handle(&mut self, answered: RenderAnswered, context: &mut Self::Context) {
        let RenderAnswered { generation, started, answer } = answered;
        let now = Instant::now();
        self.schedule.finished(now, now.duration_since(started));
        match answer {
            Ok(RenderEnded { again_after }) => self.render_again(again_after, context),
            Err(lost) => {
                tracing::warn!(generation = generation.0, %lost, retry_in = ?RETRY_LOST, "a reconcile was lost and is tried again");
                context.notify_later(LostReconcileDue, RETRY_LOST);
            }
        }
        self.advance(context);
    }
}

impl Handler<QuarantineDue> for DebounceActor {
    type Result = ();

    fn handle(&mut self, _: QuarantineDue, context: &mut Self::Context) {
        self.note(Cause::other("quarantine"));
        self.advance(context);
    }
}

impl Handler<LostReconcileDue> for DebounceActor {
    type Result = ();

    fn handle(&mut self, _: LostReconcileDue, context: &mut Self::Context) {
        self.note(Cause::other("the reconcile before was lost"));
        self.advance(context);
    }
}

impl Handler<ConfigActivated> for DebounceActor {
    type Result = ();

    fn handle(&mut self, active: ConfigActivated, context: &mut Self::Context) {
        let Some(config) = (*active).clone() else { return };
        self.schedule.set_intervals(intervals_of(&config));
        self.schedule.set_idle(idle_of(&config));
        let before = self.inputs.config.replace(config.clone());
        if before.is_none_or(|before| before.revision != config.revision) {
            self.note(Cause::other("configuration"));
            self.schedule.changed_for_all(Instant::now());
        }
        self.advance(context);
    }
}

impl Handler<StoresChanged> for DebounceActor {
    type Result = ();

    /// The first message of a rebuilt actor tells where its totals begin: nothing is known of what the one before has taken.
    fn handle(&mut self, stores: StoresChanged, context: &mut Self::Context) {
        let is_rebuilt = self.options.generations.any();
        let before = self.inputs.stores.replace(stores.payload.clone());
        let before = before.or(is_rebuilt.then(|| stores.payload.clone())).unwrap_or_default();
        if let Some(cause) = stores.changes().since(before.changes()) {
            self.note(cause);
        }
        self.advance(context);
    }
}

impl Handler<FleetChanged> for DebounceActor {
    type Result = ();

    fn handle(&mut self, fleet: FleetChanged, context: &mut Self::Context) {
        let before = self.inputs.fleet.replace(fleet.payload.clone());
        if before.is_some_and(|before| !before.looks_like(&fleet)) {
            self.note(Cause::other("fleet"));
        }
        self.advance(context);
    }
}

impl Handler<FailuresReported> for DebounceActor {
    type Result = ();

    fn handle(&mut self, failures: FailuresReported, context: &mut Self::Context) {
        if self.inputs.failures.replace(failures.payload).is_some() {
            self.note(Cause::other("quarantine"));
            self.advance(context);
        }
    }
}

impl Handler<ReloadsFailed> for DebounceActor {
    type Result = ();

    fn handle(&mut self, reloads: ReloadsFailed, context: &mut Self::Context) {
        if self.inputs.failed_reloads.replace(reloads.payload).is_some() {
            self.note(Cause::other("quarantine"));
            self.advance(context);
        }
    }
}

impl Handler<BundleValidated> for DebounceActor {
    type Result = ();

    /// What is only suspected is tried again, half by half, whenever a bundle without it has passed.
    fn handle(&mut self, validated: BundleValidated, context: &mut Self::Context) {
        self.inputs.validated = (*validated).clone();
        if self.inputs.validated.is_some() && self.inputs.quarantine.suspects() > 0 {
            self.note(Cause::other("quarantine"));
            self.advance(context);
        }
    }
}

impl Handler<QuarantineChanged> for DebounceActor {
    type Result = ();

    fn handle(&mut self, quarantine: QuarantineChanged, _: &mut Self::Context) {
        self.inputs.quarantine = quarantine.payload;
    }
}

fn intervals_of(config: &ActiveConfig) -> Intervals {
    let configured = &config.spec.debounce;
    Intervals { quiet: configured.quiet.get(), max_wait: configured.max_wait.get() }
}

fn idle_of(config: &ActiveConfig) -> Option<Duration> {
    let interval = config.spec.controller.reconcile_interval.get();
    (!interval.is_zero()).then_some(interval)
}

#[cfg(test)]
mod tests;
