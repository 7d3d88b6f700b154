//! RenderActor: on each reconcile it renders what the board holds and puts the bundle on the board.
//!
//! The answer to a `Reconcile` comes when the render has ended, well or not; that is the debounce stage's clock.

use crate::{
    engine::{Compiled, Limits, compile},
    recall::CacheSize,
    render::{Renderer, Rendering, UntrackedBlock},
};
use actix::prelude::*;
use haptic_model::{
    ActiveConfig, Diagnostic, Event, Fleet, Generation, Snapshots,
    pipeline::{Reconcile, Rendered},
};
use haptic_runtime::{CellReader, CellWriter, Envelope, Events, Seat, cpu};
use serde::Serialize;
use std::{
    collections::BTreeMap,
    sync::Arc,
    time::{Duration, Instant},
};
use tracing::Instrument;

/// What a [`RenderActor`] is built from; the same for each of its lives.
#[derive(Clone, Debug)]
pub struct RenderOptions {
    /// The configuration in force.
    pub config: CellReader<Option<Arc<ActiveConfig>>>,
    /// All stores.
    pub snapshots: CellReader<Snapshots>,
    /// The HAProxy pods.
    pub fleet: CellReader<Fleet>,
    /// What was rendered last. A render that fails leaves it as it is.
    pub rendered: Arc<CellWriter<Option<Arc<Rendered>>>>,
    /// Who is told.
    pub events: Events,
    /// What a render may use up.
    pub limits: Limits,
    /// Makes what renders; it says how often renders are checked.
    pub renderer: fn() -> Renderer,
}

/// Renders.
pub struct RenderActor {
    seat: Seat<Self>,
    options: RenderOptions,
    workshop: Workshop,
    detail: Detail,
}

/// What is kept from one render to the next. It travels to the thread that renders and back.
struct Workshop {
    renderer: Renderer,
    compiled: Option<(u64, Arc<dyn Compiled>)>,
}

/// Shown at `/debug/actors`.
#[derive(Clone, Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct Detail {
    generation: Generation,
    config_revision: u64,
    took_ms: u128,
    files: usize,
    bytes: usize,
    fragments: usize,
    /// Blocks kept for the next render, printed anew in this one, and those of them that cannot be kept.
    kept_blocks: usize,
    printed_blocks: usize,
    untracked_blocks: usize,
    kept_bytes: usize,
    errors: Vec<String>,
}

struct Job {
    config: Arc<ActiveConfig>,
    snapshots: Arc<Snapshots>,
    fleet: Arc<Fleet>,
    limits: Limits,
}

type Outcome = Result<Rendering, Vec<Diagnostic>>;

impl RenderActor {
    /// An actor that has rendered nothing yet.
    #[must_use]
    pub fn new(seat: Seat<Self>, options: RenderOptions) -> Self {
        let workshop = Workshop::new(options.renderer);
        Self { seat, options, workshop, detail: Detail::default() }
    }

    fn finished(&mut self, order: Reconcile, config: Arc<ActiveConfig>, outcome: Outcome, took: Duration) {
        let generation = order.generation;
        self.detail.generation = generation;
        self.detail.config_revision = config.revision;
        self.detail.took_ms = took.as_millis();
        let CacheSize { blocks, untracked, printed, bytes } = self.workshop.renderer.cache();
        (self.detail.kept_blocks, self.detail.kept_bytes) = (blocks, bytes);
        (self.detail.printed_blocks, self.detail.untracked_blocks) = (printed, untracked);
        self.options.events.tell(Event::Kept { by: "render", bytes });
        if let Some(diagnostic) = self.workshop.renderer.take_difference() {
            self.options.events.tell(Event::RenderDiffered { generation, diagnostic });
        }
        match outcome {
            Ok(Rendering { bundle, warnings, .. }) => {
                self.detail.files = bundle.files.len() + 1;
                self.detail.bytes = bundle.size();
                self.detail.fragments = bundle.all().map(|f| f.text.fragments().len()).sum();
                self.detail.errors.clear();
                self.options.events.tell(Event::Rendered {
                    generation,
                    bytes: self.detail.bytes,
                    files: self.detail.files,
                    digest: bundle.digest,
                    took,
                    untracked: self.workshop.untracked(),
                });
                for diagnostic in warnings.iter().cloned() {
                    self.options.events.tell(Event::Warned { generation, diagnostic });
                }
                let rendered = Rendered { reconcile: order, config, bundle, took, warnings };
                self.options.rendered.publish(Some(Arc::new(rendered)));
            }
            Err(diagnostics) => {
                self.detail.errors = diagnostics.iter().map(ToString::to_string).take(10).collect();
                self.options.events.tell(Event::RenderFailed { generation, diagnostics });
            }
        }
        self.seat.set_detail(&self.detail);
    }
}

impl Workshop {
    fn new(renderer: fn() -> Renderer) -> Self {
        Self { renderer: renderer(), compiled: None }
    }

    /// How many blocks of each template had to be printed anew.
    fn untracked(&self) -> BTreeMap<Arc<str>, usize> {
        let mut counts = BTreeMap::new();
        if let Some((_, compiled)) = &self.compiled {
            for UntrackedBlock { block, count, .. } in self.renderer.untracked(&**compiled) {
                *counts.entry(block.template).or_default() += count;
            }
        }
        counts
    }

    fn work(&mut self, job: &Job) -> Outcome {
        let compiled = self.compiled_for(&job.config)?;
        self.renderer.render(&*compiled, &job.config, &job.snapshots, &job.fleet, &job.limits)
    }

    fn compiled_for(&mut self, config: &ActiveConfig) -> Result<Arc<dyn Compiled>, Vec<Diagnostic>> {
        if let Some((revision, compiled)) = &self.compiled
            && *revision == config.revision
        {
            return Ok(compiled.clone());
        }
        let compiled = compile(&config.spec)?;
        self.compiled = Some((config.revision, compiled.clone()));
        Ok(compiled)
    }
}

impl Actor for RenderActor {
    type Context = Context<Self>;
}

impl Supervised for RenderActor {
    fn restarting(&mut self, _: &mut Self::Context) {
        *self = self.seat.rebuild();
    }
}

impl Handler<Envelope<Reconcile>> for RenderActor {
    type Result = AtomicResponse<Self, ()>;

    fn handle(&mut self, envelope: Envelope<Reconcile>, context: &mut Self::Context) -> Self::Result {
        self.seat.received::<Envelope<Reconcile>>(context);
        let config = (*self.options.config.read()).clone();
        let Some(config) = config else {
            tracing::warn!(generation = %envelope.generation, "no configuration is in force: nothing to render");
            return AtomicResponse::new(Box::pin(actix::fut::ready(())));
        };
        let job = Job {
            config: config.clone(),
            snapshots: self.options.snapshots.read(),
            fleet: self.options.fleet.read(),
            limits: self.options.limits,
        };
        let mut workshop = std::mem::replace(&mut self.workshop, Workshop::new(self.options.renderer));
        let started = Instant::now();
        let work = cpu("render", move || {
            let outcome = workshop.work(&job);
            (workshop, outcome)
        });
        let order = Reconcile::clone(&envelope.payload);
        let ended = work.instrument(envelope.span).into_actor(self).map(move |result, actor, _| {
            let outcome = match result {
                Ok((workshop, outcome)) => {
                    actor.workshop = workshop;
                    outcome
                }
                // What was kept is lost with the thread's work; the next render begins afresh.
                Err(panicked) => Err(vec![Diagnostic::error("render", panicked.to_string())]),
            };
            actor.finished(order, config, outcome, started.elapsed());
        });
        AtomicResponse::new(Box::pin(ended))
    }
}
