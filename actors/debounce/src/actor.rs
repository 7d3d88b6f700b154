//! The actor: watches the board, asks the schedule, sends one `Reconcile` at a time and waits for its end.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::Duration,
};

use actix::prelude::*;
use futures::stream;
use haptic_model::{
    ActiveConfig, Event, Generation, Snapshots,
    pipeline::{Cause, Reconcile},
};
use haptic_runtime::{CellReader, Envelope, Events, Lost, Post, Seat};
use serde::Serialize;
use tokio::time::Instant;

use crate::{
    changes::{Changes, Pending},
    gate::Gate,
    schedule::{Next, Pace, Schedule},
};

/// Rest before a reconcile that its actor panicked on is tried again: long enough that a render which always
/// panics does not spend the restart budget and end the process.
const RETRY_LOST: Duration = Duration::from_secs(15);

/// Why a reconcile starts that nothing asked for.
const IDLE: &str = "controller.reconcileInterval";

/// Generation numbers, which go on across restarts of the actor.
#[derive(Clone, Debug, Default)]
pub struct Generations(Arc<AtomicU64>);

/// What the actor reads and whom it tells.
#[derive(Clone, Debug)]
pub struct Inputs {
    /// Where every stage notes changes.
    pub changes: Changes,
    /// The configuration in force.
    pub config: CellReader<Option<Arc<ActiveConfig>>>,
    /// All stores.
    pub snapshots: CellReader<Snapshots>,
    /// Given out by this actor only.
    pub generations: Generations,
    /// Answers when the render has ended, well or not.
    pub render: Post<Envelope<Reconcile>>,
    /// Told of each reconcile.
    pub events: Events,
}

/// Decides when to reconcile.
pub struct DebounceActor {
    seat: Seat<Self>,
    inputs: Inputs,
    schedule: Schedule,
    gate: Gate,
    /// The earliest timer that will ask the schedule again.
    armed: Option<Instant>,
    /// The configuration last looked at.
    revision: Option<u64>,
}

/// Something was noted or is to be looked at again.
enum Noticed {
    Change,
    Board,
}

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
    /// The number after the last one given.
    fn next(&self) -> Generation {
        Generation(self.0.fetch_add(1, Relaxed) + 1)
    }
}

impl DebounceActor {
    /// An actor that has not looked at anything yet.
    #[must_use]
    pub fn new(seat: Seat<Self>, inputs: Inputs) -> Self {
        let schedule = Schedule::new(Pace::default());
        Self { seat, inputs, schedule, gate: Gate::NoConfig, armed: None, revision: None }
    }

    /// Reads the board: pace and gate follow it.
    fn look_at_board(&mut self) {
        let config = self.inputs.config.read();
        if let Some(config) = config.as_ref().as_ref() {
            self.schedule.set_pace(pace_of(config));
            self.schedule.set_idle(idle_of(config));
            if self.revision.replace(config.revision) != Some(config.revision) {
                self.inputs.changes.note_other("configuration");
                self.schedule.changed_for_all(Instant::now());
            }
        }
        self.set_gate(Gate::look(config.as_ref().as_ref(), &self.inputs.snapshots.read()));
    }

    fn set_gate(&mut self, gate: Gate) {
        self.schedule.set_open(gate == Gate::Open, Instant::now());
        if self.gate != gate {
            match &gate {
                Gate::Open => tracing::info!("configuration and stores are there; reconciling"),
                missing => self.inputs.events.tell(Event::Awaited { what: missing.to_string() }),
            }
            self.gate = gate;
            self.show();
        }
    }

    /// Does what the schedule says now, for the board as it is now: a change and the configuration that closes the
    /// gate may have come together.
    fn advance(&mut self, context: &mut Context<Self>) {
        self.look_at_board();
        match self.schedule.next(Instant::now()) {
            Next::Now => self.reconcile(context),
            Next::Idle => {
                self.inputs.changes.note_other(IDLE);
                self.reconcile(context);
            }
            Next::At(due) => self.arm(due, context),
            Next::Nothing => {}
        }
    }

    /// Timers are never cancelled: one that comes too early only asks again.
    fn arm(&mut self, due: Instant, context: &mut Context<Self>) {
        if self.armed.is_some_and(|armed| armed <= due) {
            return;
        }
        self.armed = Some(due);
        context.run_later(due.saturating_duration_since(Instant::now()), move |actor, context| {
            if actor.armed == Some(due) {
                actor.armed = None;
            }
            actor.advance(context);
        });
    }

    fn reconcile(&mut self, context: &mut Context<Self>) {
        let pending = self.inputs.changes.take();
        let generation = self.inputs.generations.next();
        let order = order(generation, pending);
        let (waited, cause) = (order.triggered.elapsed(), order.cause.clone());
        self.inputs.events.tell(Event::Timed { part: "debounce", generation, pod: None, took: waited });
        self.inputs.events.tell(Event::ReconcileStarted { generation, cause, waited });
        self.schedule.started();
        self.show();
        let span = tracing::info_span!("reconcile", generation = generation.0);
        let started = Instant::now();
        let rendered = span.in_scope(|| self.inputs.render.send(Envelope::new(order, generation)));
        context.spawn(rendered.into_actor(self).map(move |result, actor, context| {
            actor.ended(generation, started, result, context);
        }));
    }

    fn ended(
        &mut self,
        generation: Generation,
        started: Instant,
        result: Result<(), Lost>,
        context: &mut Context<Self>,
    ) {
        let now = Instant::now();
        self.schedule.finished(now, now.duration_since(started));
        if let Err(lost) = result {
            tracing::warn!(generation = generation.0, %lost, retry_in = ?RETRY_LOST, "a reconcile was lost and is tried again");
            let changes = self.inputs.changes.clone();
            context.run_later(RETRY_LOST, move |_, _| changes.note_other("the reconcile before was lost"));
        }
        self.advance(context);
    }

    fn show(&self) {
        let pace = self.schedule.pace();
        self.seat.set_detail(&Detail {
            gate: &self.gate,
            generation: self.inputs.generations.0.load(Relaxed),
            quiet_ms: pace.quiet.as_millis(),
            max_wait_ms: pace.max_wait.as_millis(),
        });
    }
}

impl Actor for DebounceActor {
    type Context = Context<Self>;

    /// A first or rebuilt life reads the board, so nothing that happened before it is missed.
    fn started(&mut self, context: &mut Self::Context) {
        let changes = self.inputs.changes.clone();
        context.add_stream(stream::unfold(changes, async |changes| {
            changes.noted().await;
            Some((Noticed::Change, changes))
        }));
        let config = self.inputs.config.clone();
        context.add_stream(stream::unfold(config, async |mut config| {
            config.changed().await;
            Some((Noticed::Board, config))
        }));
        let snapshots = self.inputs.snapshots.clone();
        context.add_stream(stream::unfold(snapshots, async |mut snapshots| {
            snapshots.changed().await;
            Some((Noticed::Board, snapshots))
        }));
        self.advance(context);
    }
}

impl Supervised for DebounceActor {
    fn restarting(&mut self, _: &mut Self::Context) {
        *self = self.seat.rebuild();
    }
}

impl StreamHandler<Noticed> for DebounceActor {
    fn handle(&mut self, noticed: Noticed, context: &mut Self::Context) {
        self.seat.received::<Noticed>(context);
        match noticed {
            // What was noted may be taken already, by the reconcile that a look at the board has started.
            Noticed::Change if self.inputs.changes.is_empty() => {}
            Noticed::Change => self.schedule.changed(Instant::now()),
            Noticed::Board => {}
        }
        self.advance(context);
    }
}

fn pace_of(config: &ActiveConfig) -> Pace {
    let (configured, default) = (&config.spec.debounce, Pace::default());
    Pace { quiet: configured.quiet.or(default.quiet), max_wait: configured.max_wait.or(default.max_wait) }
}

fn idle_of(config: &ActiveConfig) -> Option<Duration> {
    let interval = config.spec.controller.reconcile_interval.or(Duration::ZERO);
    (!interval.is_zero()).then_some(interval)
}

fn order(generation: Generation, pending: Option<Pending>) -> Reconcile {
    let pending = pending.unwrap_or_else(|| Pending {
        cause: Cause { other: Some("start"), ..Cause::default() },
        first: std::time::Instant::now(),
    });
    Reconcile { generation, cause: pending.cause, triggered: pending.first }
}

#[cfg(test)]
mod tests;
