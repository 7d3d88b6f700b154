//! RenderActor: renders what each order brings, and publishes the bundle.
//!
//! The answer comes when the render has ended, well or not; that is the debounce stage's clock.

use crate::{
    block_cache::CacheSize,
    bundle::{Renderer, Rendering, UncacheableBlock},
    engine::CompileCache,
    fallback::{FallbackConfig, FallbackInputs},
    fork::RendererFork,
    input::RenderLimits,
    job::RenderJob,
    quarantine::QuarantinedRender,
};
use actix::prelude::*;
use haptic_attribution::{
    Faults,
    quarantine::{self, QuarantineState, RenderTiming},
};
use haptic_model::{
    ActiveConfig, Diagnostic, Event, Findings, Generation, HostHolds, Quarantine, Snapshots,
    figure::{CachingStage, WaitingStage},
    pipeline::{Attempt, Attempts, RenderEnded, RenderOrder, Rendered, SetAside},
};
use haptic_runtime::{Events, OwnHandle, Publisher, cpu, messages::RenderRequested};
use serde::Serialize;
use std::{
    collections::BTreeMap,
    sync::Arc,
    time::{Duration, Instant, SystemTime},
};
use tracing::Instrument;

/// The most attempts that are kept for a recording, but none before those that hold a limit of bytes of objects alone.
const ATTEMPTS_KEPT: usize = 8;
const ATTEMPTS_BYTES: usize = 8 << 20;

/// The parts that a [`RenderActor`] is built from; the same for each of its lives.
#[derive(Clone, Debug)]
pub struct RenderOptions {
    /// The newest bundle. A render that fails leaves it as it is.
    pub rendered: Arc<Publisher<Option<Arc<Rendered>>>>,
    /// The inputs of the last renders, whatever came of them.
    pub attempted: Arc<Publisher<Attempts>>,
    /// The objects that are held back.
    pub quarantine: Arc<Publisher<Quarantine>>,
    /// The hosts that are kept: the next life of the actor goes on with them, and the leader writes them down.
    pub holds: Arc<Publisher<Option<HostHolds>>>,
    /// The newest configuration, while another one is rendered in its place.
    pub set_aside: Arc<Publisher<Option<Arc<SetAside>>>>,
    /// The events.
    pub events: Events,
    /// The limits of a render.
    pub limits: RenderLimits,
    /// Makes what renders; it says how often renders are checked.
    pub renderer: fn() -> Renderer,
}

/// Asks for a fork of the renderer, as the last render left it.
pub struct ForkRequested;

impl Message for ForkRequested {
    type Result = RendererFork;
}

/// Renders.
pub struct RenderActor {
    own: OwnHandle<Self>,
    options: RenderOptions,
    state: RendererState,
    /// Bytes of objects that each of the last attempts, but the last one, may keep the only copy of.
    alone: Vec<usize>,
    detail: Detail,
}

/// The state that is kept from one render to the next. It travels to the thread that renders and back.
struct RendererState {
    renderer: Renderer,
    quarantine: QuarantineState,
    compiled: CompileCache,
    fallback: Option<FallbackConfig>,
    /// Whether the last bundle is of the fallback.
    renders_fallback: bool,
}

/// The outcome of a job.
struct RenderedJob {
    outcome: QuarantinedRender,
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
    /// Blocks kept for the next render, printed again in this one, and those of them that cannot be kept.
    kept_blocks: usize,
    printed_blocks: usize,
    untracked_blocks: usize,
    kept_bytes: usize,
    /// Objects that are held back, and how many renders the last one took.
    held_back: usize,
    renders: u32,
    errors: Vec<String>,
}

impl RenderActor {
    /// An actor that has rendered nothing yet.
    #[must_use]
    pub fn new(own: OwnHandle<Self>, options: RenderOptions) -> Self {
        let state = RendererState::continuing(&options);
        Self { own, options, state, alone: Vec::new(), detail: Detail::default() }
    }

    fn finished(&mut self, order: &RenderOrder, done: RenderedJob, took: Duration) -> RenderEnded {
        let RenderedJob { outcome, config, refused, is_tried } = done;
        let generation = order.reconcile.generation;
        self.set_aside(order, refused, is_tried);
        self.detail.renders = outcome.renders;
        self.note_attempt(order, &config, &outcome);
        self.emit_quarantine(generation, &order.snapshots);
        if let Some(holds) = self.state.renderer.holds() {
            self.options.holds.publish_if_changed(Some(holds));
        }
        self.detail.generation = generation;
        self.detail.config_revision = config.revision;
        self.detail.took_ms = took.as_millis();
        let CacheSize { blocks, uncacheable, printed, bytes } = self.state.renderer.cache();
        (self.detail.kept_blocks, self.detail.kept_bytes) = (blocks, bytes);
        (self.detail.printed_blocks, self.detail.untracked_blocks) = (printed, uncacheable);
        self.options.events.emit(Event::Kept { by: CachingStage::Render, bytes });
        if let Some(diagnostic) = self.state.renderer.take_difference() {
            self.options.events.emit(Event::RenderDiffered { generation, diagnostic });
        }
        let now = Instant::now();
        let again_at = if outcome.again { Some(now) } else { self.state.due(now) };
        let snapshots = outcome.snapshots;
        match outcome.rendering {
            Ok(Rendering { bundle, warnings, findings, gateway_verdicts }) => {
                self.emit_findings(generation, &findings);
                self.detail.files = bundle.files.len() + 1;
                self.detail.bytes = bundle.size();
                self.detail.fragments = bundle.all().map(|f| f.text.fragments().len()).sum();
                self.detail.errors.clear();
                self.options.events.emit(Event::Rendered {
                    generation,
                    bytes: self.detail.bytes,
                    files: self.detail.files,
                    digest: bundle.digest,
                    took,
                    kept: blocks.saturating_sub(printed.saturating_sub(uncacheable)),
                    printed,
                    uncacheable: self.state.uncacheable(),
                });
                for diagnostic in warnings.iter().cloned() {
                    self.options.events.emit(Event::Warned { generation, diagnostic });
                }
                let fleet = Arc::clone(&order.fleet);
                let previous_failures = self.state.quarantine().previous_failures(now);
                let rendered = Rendered {
                    reconcile: order.reconcile.clone(),
                    config,
                    snapshots,
                    fleet,
                    bundle,
                    took,
                    warnings,
                    findings,
                    gateway_verdicts,
                    previous_failures,
                };
                self.options.rendered.publish(Some(Arc::new(rendered)));
            }
            Err(faults) => {
                let diagnostics = faults.into_diagnostics();
                self.detail.errors = diagnostics.iter().map(ToString::to_string).take(10).collect();
                let configuration = config.resource_generation;
                self.options.events.emit(Event::RenderFailed { generation, configuration, diagnostics });
            }
        }
        self.own.set_detail(&self.detail);
        RenderEnded { again_after: again_at.map(|due| due.saturating_duration_since(now)) }
    }

    /// Publishes why the newest configuration is not what was rendered, if it is not, and tells it when it was tried.
    fn set_aside(&self, order: &RenderOrder, why: Vec<Diagnostic>, is_tried: bool) {
        let (generation, config) = (order.reconcile.generation, &order.config);
        let before = self.options.set_aside.latest();
        let is_known = before.as_ref().as_ref().is_some_and(|known| known.config.revision == config.revision);
        if why.is_empty() {
            if before.is_some() {
                self.options.set_aside.publish(None);
            }
        } else if is_tried || !is_known {
            let configuration = config.resource_generation;
            self.options
                .set_aside
                .publish(Some(Arc::new(SetAside { config: config.clone(), why: why.clone() })));
            self.options.events.emit(Event::RenderFailed { generation, configuration, diagnostics: why });
        }
    }

    /// Publishes what was rendered from, before anybody is told what came of it.
    fn note_attempt(&mut self, order: &RenderOrder, config: &Arc<ActiveConfig>, outcome: &QuarantinedRender) {
        let digest = outcome.rendering.as_ref().map(|rendering| rendering.bundle.digest);
        let attempt = Attempt {
            reconcile: order.reconcile.clone(),
            config: config.clone(),
            given: order.snapshots.clone(),
            snapshots: outcome.snapshots.clone(),
            fleet: order.fleet.clone(),
            held: self.state.quarantine().described(),
            outcome: digest.map_err(|faults| faults.clone().into_diagnostics()),
        };
        self.alone.extend(self.options.attempted.latest().last().map(|last| last.bytes_alone(&attempt)));
        let kept = small_enough(&self.alone).min(ATTEMPTS_KEPT - 1);
        self.alone.drain(..self.alone.len() - kept);
        self.options.attempted.append(Arc::new(attempt), kept + 1);
    }

    /// Tells what is found at objects and was not when the last bundle was rendered.
    fn emit_findings(&self, generation: Generation, findings: &Findings) {
        let before = self.options.rendered.latest();
        let before = before.as_ref().as_ref().map(|rendered| rendered.findings.clone()).unwrap_or_default();
        let change = findings.change_since(&before);
        if !change.found.is_empty() || change.ended > 0 {
            self.options.events.emit(Event::FindingsChanged { generation, change });
        }
    }

    /// Publishes what is held back, and tells what is news in it.
    fn emit_quarantine(&mut self, generation: Generation, snapshots: &Snapshots) {
        let (before, after) = (self.options.quarantine.latest(), self.state.quarantine().described());
        let (entered, left) = quarantine::changes(&before, &after, snapshots);
        let held = after.held.len();
        self.detail.held_back = held;
        self.options.quarantine.publish_if_changed(after);
        if !entered.is_empty() || !left.is_empty() {
            self.options.events.emit(Event::QuarantineChanged { generation, entered, left, held });
        }
    }
}

impl RendererState {
    fn new(renderer: fn() -> Renderer) -> Self {
        let (quarantine, compiled) = (QuarantineState::default(), CompileCache::default());
        Self { renderer: renderer(), quarantine, compiled, fallback: None, renders_fallback: false }
    }

    /// One that knows only what is kept of hosts.
    fn continuing(options: &RenderOptions) -> Self {
        let mut begun = Self::new(options.renderer);
        if let Some(holds) = &*options.holds.latest() {
            begun.renderer.remember(holds.clone());
        }
        begun
    }

    /// Of what was rendered last.
    fn quarantine(&self) -> &QuarantineState {
        self.fallback
            .as_ref()
            .filter(|_| self.renders_fallback)
            .map_or(&self.quarantine, FallbackConfig::quarantine)
    }

    /// When another render may give something else though nothing changes until then.
    fn due(&self, now: Instant) -> Option<Instant> {
        let quarantines = [Some(&self.quarantine), self.fallback.as_ref().map(FallbackConfig::quarantine)];
        let tries = quarantines
            .into_iter()
            .flatten()
            .filter_map(|quarantine| quarantine.next_try(now))
            .map(|rest| now + rest);
        tries.chain(self.renderer.due()).min()
    }

    /// How many blocks of each template had to be printed again.
    fn uncacheable(&self) -> BTreeMap<Arc<str>, usize> {
        let mut counts = BTreeMap::new();
        let fallback =
            self.fallback.as_ref().filter(|_| self.renders_fallback).and_then(FallbackConfig::compiled);
        if let Some(compiled) = fallback.or(self.compiled.last()) {
            for UncacheableBlock { block, count, .. } in self.renderer.uncacheable(compiled) {
                *counts.entry(block.template).or_default() += count;
            }
        }
        counts
    }

    /// The newest configuration; while it is refused, the last good one.
    fn work(&mut self, order: &RenderOrder, limits: &RenderLimits) -> RenderedJob {
        let generation = order.reconcile.generation;
        let timing = RenderTiming { generation, now: Instant::now(), good: order.good.as_ref() };
        self.fallback =
            FallbackConfig::of(&order.config, timing.good, self.fallback.take(), &self.quarantine);
        self.renderer.set_time(timing.now);
        self.renderer.set_date(SystemTime::now());
        let outcome = self.render_newest(order, limits, &timing);
        let RenderOrder { snapshots, fleet, .. } = order;
        let cluster = FallbackInputs { snapshots, fleet, limits };
        let instead = match (&outcome.rendering, &mut self.fallback) {
            (Err(_), Some(fallback)) if !outcome.again => {
                let rendered = fallback.render(&mut self.renderer, cluster, &order.failure_reports, &timing);
                rendered.map(|rendered| (rendered, fallback.config().clone()))
            }
            _ => None,
        };
        self.renders_fallback = instead.is_some();
        let is_tried = outcome.renders > 0;
        let Some((rendered, config)) = instead else {
            return RenderedJob { outcome, config: order.config.clone(), refused: Vec::new(), is_tried };
        };
        let refused = outcome.rendering.err().map(Faults::into_diagnostics).unwrap_or_default();
        RenderedJob { outcome: rendered, config, refused, is_tried }
    }

    fn render_newest(
        &mut self,
        order: &RenderOrder,
        limits: &RenderLimits,
        timing: &RenderTiming<'_>,
    ) -> QuarantinedRender {
        let compiled = match self.compiled.of(&order.config) {
            Ok(compiled) => compiled,
            Err(problems) => return failed(problems, order),
        };
        let (config, snapshots, fleet) = (&*order.config, &*order.snapshots, &*order.fleet);
        let job = RenderJob { compiled: &compiled, config, snapshots, fleet, limits };
        for report in &order.failure_reports {
            job.receive(report, &mut self.quarantine, &self.renderer, timing);
        }
        job.render(&mut self.quarantine, &mut self.renderer, timing)
    }
}

/// No render at all.
fn failed(problems: Vec<Diagnostic>, order: &RenderOrder) -> QuarantinedRender {
    let rendering = Err(Faults::of_templates(problems));
    QuarantinedRender { rendering, snapshots: Snapshots::clone(&order.snapshots), again: false, renders: 0 }
}

haptic_runtime::supervised!(RenderActor);

impl Handler<RenderRequested> for RenderActor {
    type Result = AtomicResponse<Self, RenderEnded>;

    fn handle(&mut self, request: RenderRequested, context: &mut Self::Context) -> Self::Result {
        self.own.received::<RenderRequested>(context);
        self.options.events.emit(Event::Waited { stage: WaitingStage::Render, took: request.waited() });
        let mut state = std::mem::replace(&mut self.state, RendererState::new(self.options.renderer));
        let (started, limits, task) = (Instant::now(), self.options.limits, request.payload.clone());
        let work = cpu("render", move || {
            let done = state.work(&task, &limits);
            (state, done)
        });
        let order = request.payload;
        let ended = work.instrument(request.span).into_actor(self).map(move |result, actor, _| {
            let done = match result {
                Ok((state, done)) => {
                    actor.state = state;
                    done
                }
                // What was kept is lost with the thread's work; the next render begins afresh.
                Err(panicked) => {
                    actor.state = RendererState::continuing(&actor.options);
                    let outcome = failed(vec![Diagnostic::error("render", panicked.to_string())], &order);
                    RenderedJob { outcome, config: order.config.clone(), refused: Vec::new(), is_tried: true }
                }
            };
            actor.finished(&order, done, started.elapsed())
        });
        AtomicResponse::new(Box::pin(ended))
    }
}

impl Handler<ForkRequested> for RenderActor {
    type Result = AtomicResponse<Self, RendererFork>;

    /// Of 100,000 Ingresses it takes a tenth of a second: others on this thread do not wait for it.
    fn handle(&mut self, _: ForkRequested, context: &mut Self::Context) -> Self::Result {
        self.own.received::<ForkRequested>(context);
        let state = std::mem::replace(&mut self.state, RendererState::new(self.options.renderer));
        let work = cpu("fork", move || {
            let fork = RendererFork::of(&state.renderer, &state.compiled);
            (state, fork)
        });
        let forked = work.into_actor(self).map(|result, actor, _| {
            let (state, fork) = result
                .unwrap_or_else(|_| (RendererState::continuing(&actor.options), RendererFork::default()));
            actor.state = state;
            fork
        });
        AtomicResponse::new(Box::pin(forked))
    }
}

/// How many of the last of these together are no more than [`ATTEMPTS_BYTES`].
fn small_enough(alone: &[usize]) -> usize {
    let sums = alone.iter().rev().scan(0, |sum, bytes| {
        *sum += bytes;
        Some(*sum)
    });
    sums.take_while(|sum| *sum <= ATTEMPTS_BYTES).count()
}
