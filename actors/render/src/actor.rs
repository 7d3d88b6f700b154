//! RenderActor: on each reconcile it renders what the board holds and puts the bundle on the board.
//!
//! The answer to a `Reconcile` comes when the render has ended, well or not; that is the debounce stage's clock.

use crate::{
    engine::{CompileCache, Limits},
    faults::Faults,
    quarantine::{self, Moment, Outcome, Ward},
    recall::CacheSize,
    render::{Renderer, Rendering, UntrackedBlock},
    stand_in::{Cluster, StandIn},
};
use actix::prelude::*;
use haptic_model::{
    ActiveConfig, Complaints, Diagnostic, Event, Fleet, Generation, Quarantine, Snapshots,
    pipeline::{Attempt, Attempts, Reconcile, Rendered, SetAside, Validated},
};
use haptic_runtime::{CellReader, CellWriter, Envelope, Events, Seat, cpu};
use serde::Serialize;
use std::{
    collections::BTreeMap,
    sync::Arc,
    time::{Duration, Instant},
};
use tracing::Instrument;

/// So many attempts are kept for whoever records them.
const ATTEMPTS_KEPT: usize = 8;

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
    /// What the last renders were made from, whatever came of them.
    pub attempted: Arc<CellWriter<Attempts>>,
    /// What passed all checks last: where good versions of objects are found.
    pub validated: CellReader<Option<Arc<Validated>>>,
    /// What later stages found at fault, one cell for each.
    pub complaints: Vec<CellReader<Complaints>>,
    /// What is held back.
    pub quarantine: Arc<CellWriter<Quarantine>>,
    /// The newest configuration, while another one is rendered in its place.
    pub set_aside: Arc<CellWriter<Option<Arc<SetAside>>>>,
    /// Written when another render would find things better; whoever reconciles follows it.
    pub again: Arc<CellWriter<u64>>,
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
    /// When the next object is tried again by itself.
    tried: Option<Instant>,
    detail: Detail,
}

/// What is kept from one render to the next. It travels to the thread that renders and back.
struct Workshop {
    renderer: Renderer,
    ward: Ward,
    compiled: CompileCache,
    stand_in: Option<StandIn>,
    /// Whether the last bundle is of what stands in.
    stands_in: bool,
}

/// What came of a job.
struct Done {
    outcome: Outcome,
    /// The configuration that was rendered.
    config: Arc<ActiveConfig>,
    /// Why it is not the newest; empty if it is.
    refused: Vec<Diagnostic>,
    /// Whether the newest was tried.
    is_tried: bool,
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
    /// Objects that are held back, and how many renders the last one took.
    held_back: usize,
    renders: u32,
    errors: Vec<String>,
}

struct Job {
    config: Arc<ActiveConfig>,
    snapshots: Arc<Snapshots>,
    fleet: Arc<Fleet>,
    limits: Limits,
    good: Option<Arc<Rendered>>,
    complaints: Complaints,
    generation: Generation,
}

impl RenderActor {
    /// An actor that has rendered nothing yet.
    #[must_use]
    pub fn new(seat: Seat<Self>, options: RenderOptions) -> Self {
        let workshop = Workshop::new(options.renderer);
        Self { seat, options, workshop, tried: None, detail: Detail::default() }
    }

    fn finished(&mut self, order: Reconcile, job: &Job, done: Done, took: Duration) {
        let Done { outcome, config, refused, is_tried } = done;
        let generation = order.generation;
        self.set_aside(generation, job, refused, is_tried);
        self.detail.renders = outcome.renders;
        self.note_attempt(&order, job, &config, &outcome);
        self.tell_quarantine(generation, &job.snapshots);
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
        if outcome.again {
            self.options.again.update(|count| count + 1);
        }
        let snapshots = outcome.snapshots;
        match outcome.rendering {
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
                    kept: blocks.saturating_sub(printed.saturating_sub(untracked)),
                    printed,
                    untracked: self.workshop.untracked(),
                });
                for diagnostic in warnings.iter().cloned() {
                    self.options.events.tell(Event::Warned { generation, diagnostic });
                }
                let fleet = Arc::clone(&job.fleet);
                let hindsight = self.workshop.ward().hindsight(Instant::now());
                let rendered = Rendered {
                    reconcile: order,
                    config,
                    snapshots,
                    fleet,
                    bundle,
                    took,
                    warnings,
                    hindsight,
                };
                self.options.rendered.publish(Some(Arc::new(rendered)));
            }
            Err(faults) => {
                let diagnostics = faults.into_diagnostics();
                self.detail.errors = diagnostics.iter().map(ToString::to_string).take(10).collect();
                let configuration = config.resource_generation;
                self.options.events.tell(Event::RenderFailed { generation, configuration, diagnostics });
            }
        }
        self.seat.set_detail(&self.detail);
    }

    /// Puts on the board why the newest configuration is not what was rendered, if it is not, and tells it when it was tried.
    fn set_aside(&self, generation: Generation, job: &Job, why: Vec<Diagnostic>, is_tried: bool) {
        let before = self.options.set_aside.read();
        let is_known =
            before.as_ref().as_ref().is_some_and(|known| known.config.revision == job.config.revision);
        if why.is_empty() {
            if before.is_some() {
                self.options.set_aside.publish(None);
            }
        } else if is_tried || !is_known {
            let configuration = job.config.resource_generation;
            self.options
                .set_aside
                .publish(Some(Arc::new(SetAside { config: job.config.clone(), why: why.clone() })));
            self.options.events.tell(Event::RenderFailed { generation, configuration, diagnostics: why });
        }
    }

    /// Puts on the board what was rendered from, before anybody is told what came of it.
    fn note_attempt(&self, order: &Reconcile, job: &Job, config: &Arc<ActiveConfig>, outcome: &Outcome) {
        let digest = outcome.rendering.as_ref().map(|rendering| rendering.bundle.digest);
        let attempt = Attempt {
            reconcile: order.clone(),
            config: config.clone(),
            given: job.snapshots.clone(),
            snapshots: outcome.snapshots.clone(),
            fleet: job.fleet.clone(),
            held: self.workshop.ward().told(),
            outcome: digest.map_err(|faults| faults.clone().into_diagnostics()),
        };
        self.options.attempted.append(Arc::new(attempt), ATTEMPTS_KEPT);
    }

    /// Puts on the board what is held back, and tells what is news in it.
    fn tell_quarantine(&mut self, generation: Generation, snapshots: &Snapshots) {
        let (before, after) = (self.options.quarantine.read(), self.workshop.ward().told());
        let (entered, left) = quarantine::changes(&before, &after, snapshots);
        let held = after.held.len();
        self.detail.held_back = held;
        self.options.quarantine.publish_if_changed(after);
        if !entered.is_empty() || !left.is_empty() {
            self.options.events.tell(Event::QuarantineChanged { generation, entered, left, held });
        }
    }

    /// Sees to it that what is to be tried again by itself is, and that what was kept for others is given away, though
    /// nothing changes.
    fn try_again_later(&mut self, context: &mut Context<Self>) {
        let now = Instant::now();
        let Some(due) = self.workshop.due(now) else { return };
        let rest = due.saturating_duration_since(now);
        if self.tried.is_some_and(|tried| now < tried && tried <= due) {
            return;
        }
        self.tried = Some(due);
        let again = self.options.again.clone();
        context.run_later(rest, move |_, _| again.update(|count| count + 1));
    }
}

impl Workshop {
    fn new(renderer: fn() -> Renderer) -> Self {
        let (ward, compiled) = (Ward::default(), CompileCache::default());
        Self { renderer: renderer(), ward, compiled, stand_in: None, stands_in: false }
    }

    /// Of what was rendered last.
    fn ward(&self) -> &Ward {
        self.stand_in.as_ref().filter(|_| self.stands_in).map_or(&self.ward, StandIn::ward)
    }

    /// When another render may give something else though nothing changes until then.
    fn due(&self, now: Instant) -> Option<Instant> {
        let wards = [Some(&self.ward), self.stand_in.as_ref().map(StandIn::ward)];
        let tries = wards.into_iter().flatten().filter_map(|ward| ward.next_try(now)).map(|rest| now + rest);
        tries.chain(self.renderer.due()).min()
    }

    /// How many blocks of each template had to be printed anew.
    fn untracked(&self) -> BTreeMap<Arc<str>, usize> {
        let mut counts = BTreeMap::new();
        let stand_in = self.stand_in.as_ref().filter(|_| self.stands_in).and_then(StandIn::compiled);
        if let Some(compiled) = stand_in.or(self.compiled.last()) {
            for UntrackedBlock { block, count, .. } in self.renderer.untracked(compiled) {
                *counts.entry(block.template).or_default() += count;
            }
        }
        counts
    }

    /// The newest configuration; while it is refused, the last good one.
    fn work(&mut self, job: &Job) -> Done {
        let moment = Moment { generation: job.generation, now: Instant::now(), good: job.good.as_ref() };
        self.stand_in = StandIn::of(&job.config, moment.good, self.stand_in.take(), &self.ward);
        self.renderer.set_time(moment.now);
        let outcome = self.render_newest(job, &moment);
        let Job { snapshots, fleet, limits, .. } = job;
        let cluster = Cluster { snapshots, fleet, limits };
        let instead = match (&outcome.rendering, &mut self.stand_in) {
            (Err(_), Some(stand_in)) if !outcome.again => {
                let rendered = stand_in.render(&mut self.renderer, cluster, &job.complaints, &moment);
                rendered.map(|rendered| (rendered, stand_in.config().clone()))
            }
            _ => None,
        };
        self.stands_in = instead.is_some();
        let is_tried = outcome.renders > 0;
        let Some((rendered, config)) = instead else {
            return Done { outcome, config: job.config.clone(), refused: Vec::new(), is_tried };
        };
        let refused = outcome.rendering.err().map(Faults::into_diagnostics).unwrap_or_default();
        Done { outcome: rendered, config, refused, is_tried }
    }

    fn render_newest(&mut self, job: &Job, moment: &Moment<'_>) -> Outcome {
        let compiled = match self.compiled.of(&job.config) {
            Ok(compiled) => compiled,
            Err(problems) => return failed(problems, job),
        };
        let (config, snapshots, fleet, limits) = (&*job.config, &*job.snapshots, &*job.fleet, &job.limits);
        let order = quarantine::Job { compiled: &*compiled, config, snapshots, fleet, limits };
        for complaint in &job.complaints {
            self.ward.hear(complaint, &self.renderer, &order, moment);
        }
        self.ward.render(&mut self.renderer, &order, moment)
    }
}

/// No render at all.
fn failed(problems: Vec<Diagnostic>, job: &Job) -> Outcome {
    let rendering = Err(Faults::of_templates(problems));
    Outcome { rendering, snapshots: Snapshots::clone(&job.snapshots), again: false, renders: 0 }
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
        self.options.events.tell(Event::Waited { stage: "render", took: envelope.waited() });
        let config = (*self.options.config.read()).clone();
        let Some(config) = config else {
            tracing::warn!(
                generation = envelope.generation.0,
                "no configuration is in force: nothing to render"
            );
            return AtomicResponse::new(Box::pin(actix::fut::ready(())));
        };
        let complaints = self.options.complaints.iter().flat_map(|cell| (*cell.read()).clone()).collect();
        let job = Arc::new(Job {
            config,
            good: (*self.options.validated.read()).as_ref().map(|validated| validated.rendered.clone()),
            complaints,
            generation: envelope.generation,
            snapshots: self.options.snapshots.read(),
            fleet: self.options.fleet.read(),
            limits: self.options.limits,
        });
        let mut workshop = std::mem::replace(&mut self.workshop, Workshop::new(self.options.renderer));
        let started = Instant::now();
        let task = job.clone();
        let work = cpu("render", move || {
            let done = workshop.work(&task);
            (workshop, done)
        });
        let order = Reconcile::clone(&envelope.payload);
        let ended = work.instrument(envelope.span).into_actor(self).map(move |result, actor, context| {
            let done = match result {
                Ok((workshop, done)) => {
                    actor.workshop = workshop;
                    done
                }
                // What was kept is lost with the thread's work; the next render begins afresh.
                Err(panicked) => {
                    let outcome = failed(vec![Diagnostic::error("render", panicked.to_string())], &job);
                    Done { outcome, config: job.config.clone(), refused: Vec::new(), is_tried: true }
                }
            };
            actor.finished(order, &job, done, started.elapsed());
            actor.try_again_later(context);
        });
        AtomicResponse::new(Box::pin(ended))
    }
}
