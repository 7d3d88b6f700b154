//! One look at the board, and what it takes to bring the pod there.

use super::{
    Failure, State, blame, drift,
    driver::{Deployment, Step},
    knowledge::{Knowledge, Need},
    memory::{Instead, Memory, Settled},
    order::{Ground, Lacks},
    outlook::{Aim, Outlook},
};
use crate::{
    planner::{Plan, Reason, ReasonKind, RunningView},
    transport::Transport,
};
use haptic_model::{
    ActiveConfig, Event,
    agent_api::{Apply, Method, Outcome},
    pipeline::Leadership,
};
use haptic_runtime::cpu;
use std::{sync::Arc, time::Duration};
use tokio::time::Instant;

/// What an attempt works with.
struct Scene<'a> {
    config: &'a ActiveConfig,
    transport: &'a dyn Transport,
    leadership: Leadership,
    outlook: &'a Outlook,
    began: Instant,
}

/// A reload that HAProxy did.
struct Reloaded {
    why: String,
    kind: &'static str,
}

impl Deployment {
    /// Brings the pod a step nearer to what the board says.
    pub(super) async fn attempt(&self, memory: &mut Memory) -> Result<Step, Failure> {
        let began = Instant::now();
        self.conclude_storing(memory)?;
        let Some(config) = self.board.config.read().as_ref().clone() else {
            return Ok(Step::Settled(State::Standby));
        };
        let transport = self.transport(memory, &config)?;
        let leadership = *self.board.leadership.read();
        // What was known before is what another leader may have changed meanwhile.
        let took_over = leadership.leads && memory.led.replace(leadership.epoch) != Some(leadership.epoch);
        let is_due = memory.known.is_some() && began >= self.next_check(memory);
        if took_over || memory.known.is_none() || memory.is_anew() || is_due {
            self.read_status(memory, &*transport).await?;
        }
        let outlook = self.outlook();
        if !leadership.leads {
            return Ok(Step::Settled(State::Standby));
        }
        if let Some(step) = hold(memory, &outlook) {
            return Ok(step);
        }
        let scene = Scene { config: &config, transport: &*transport, leadership, outlook: &outlook, began };
        let mut step = self.advance(memory, &scene).await?;
        if is_due && matches!(step, Step::Settled(State::Converged { .. } | State::Ahead { .. })) {
            step = self.mend(memory, &scene).await?.unwrap_or(step);
        }
        self.store_if_due(memory, &outlook, leadership.epoch);
        Ok(step)
    }

    /// The newest bundle at once if HAProxy can follow by operations; otherwise the newest checked one.
    async fn advance(&self, memory: &mut Memory, scene: &Scene<'_>) -> Result<Step, Failure> {
        let Some(known) = memory.known.clone() else { return Ok(Step::Again("its state is unknown")) };
        let reached = memory.reached();
        let follows = memory.instead.is_none() && known.exact && known.alive;
        let express = scene.outlook.express(reached).filter(|_| follows);
        if let Some(aim) = &express {
            match known.need(aim.bundle().digest, None) {
                Need::Nothing => return Ok(self.settle(memory, scene, aim)),
                _ => match self.plan(memory, scene, &known, aim, Need::Plan).await? {
                    None => return Ok(Step::Again("it changes while it is read")),
                    Some(plan) if plan.verdict.reload_reason().is_none() => {
                        return self.carry_out(memory, scene, &known, aim, &plan).await;
                    }
                    Some(_) => {}
                },
            }
        }
        let failed = memory.instead.as_ref().and_then(|instead| instead.failed);
        let waits_for = failed.filter(|failed| scene.outlook.judged() < Some(*failed));
        match scene.outlook.checked(reached) {
            Some(aim) if waits_for.is_none() => self.bring(memory, scene, &known, aim).await,
            None if scene.outlook.validated.is_none() => Ok(Step::Settled(State::Standby)),
            _ => {
                let waiting = waits_for.or(express.map(|aim| aim.generation()));
                let live = reached.or(scene.outlook.newest()).unwrap_or_default();
                Ok(Step::Settled(
                    waiting.map_or(State::Ahead { generation: live }, |generation| State::Checking {
                        generation,
                    }),
                ))
            }
        }
    }

    /// Brings the pod to a bundle that passed every check.
    async fn bring(
        &self,
        memory: &mut Memory,
        scene: &Scene<'_>,
        known: &Knowledge,
        aim: Aim,
    ) -> Result<Step, Failure> {
        let worker = memory.settled.as_ref().map(|settled| settled.known.worker_pid);
        let need = known.need(aim.bundle().digest, worker);
        match need {
            Need::Nothing if memory.instead.is_none() => return Ok(self.settle(memory, scene, &aim)),
            Need::Haproxy => {
                memory.known = None;
                return Err(Failure::Down);
            }
            _ => {}
        }
        self.tell_if_taken_back(memory, scene, &aim);
        let Some(plan) = self.plan(memory, scene, known, &aim, need).await? else {
            return Ok(Step::Again("it changes while it is read"));
        };
        let generation = aim.generation();
        if plan.verdict.reload_reason().is_some() {
            if memory.storing.is_some() {
                // Its answer wakes.
                return Ok(Step::Settled(State::Waiting { generation, millis: 0 }));
            }
            let allowed = self.reload_allowed_at(memory, scene.config);
            if let Some(then) = allowed.filter(|then| *then > Instant::now()) {
                let millis = u64::try_from((then - Instant::now()).as_millis()).unwrap_or(u64::MAX);
                return Ok(Step::Later(then, State::Waiting { generation, millis }));
            }
        }
        self.carry_out(memory, scene, known, &aim, &plan).await
    }

    /// The plan, or `None` when the pod no longer runs what it said it runs.
    async fn plan(
        &self,
        memory: &mut Memory,
        scene: &Scene<'_>,
        known: &Knowledge,
        aim: &Aim,
        need: Need,
    ) -> Result<Option<Arc<Plan>>, Failure> {
        self.show(&State::Planning { generation: aim.generation() });
        let desired = self.plans.view(aim.bundle());
        let running = match need {
            Need::Plan if known.exact => self.running_view(memory, scene, known).await?,
            Need::Plan => Some(Arc::new(RunningView::bootstrap())),
            _ => Some(Arc::clone(&desired)),
        };
        let Some(running) = running else { return Ok(None) };
        memory.view = Some(Arc::clone(&running));
        memory.desired = Some(Arc::clone(&desired));
        let (plans, capabilities) = (self.plans.clone(), known.capabilities);
        let began = Instant::now();
        let plan = cpu("deploy", move || plans.plan(&running, &desired, capabilities)).await?;
        self.events.tell(Event::Planned {
            generation: aim.generation(),
            pod: self.name(),
            kind: plan.verdict.kind(),
            operations: plan.verdict.operations().len(),
            took: began.elapsed(),
        });
        let drift = |sentence: &str| Reason { kind: ReasonKind::Drift, sentence: sentence.to_owned() };
        let instead = match &memory.instead {
            Some(instead) => Some(instead.reason.clone()),
            None if !known.exact => Some(drift(known.setback.as_deref().unwrap_or(HALF_WAY))),
            None if need == Need::FilesAndReload => {
                Some(drift("somebody else changed files and restarted or reloaded HAProxy"))
            }
            None if !known.alive && plan.verdict.reload_reason().is_none() => {
                Some(drift("HAProxy does not answer its socket"))
            }
            None => None,
        };
        Ok(Some(instead.map_or(plan.clone(), |reason| Arc::new(plan.by_reload(reason)))))
    }

    /// What the pod runs, from whoever holds it already, or from the pod.
    async fn running_view(
        &self,
        memory: &mut Memory,
        scene: &Scene<'_>,
        known: &Knowledge,
    ) -> Result<Option<Arc<RunningView>>, Failure> {
        let Some(digest) = known.digest() else { return Ok(Some(Arc::new(RunningView::bootstrap()))) };
        if let Some(view) = memory.held(digest).or_else(|| self.plans.known(digest)) {
            return Ok(Some(view));
        }
        let Some(read) = scene.transport.running_bundle().await? else {
            return Ok(Some(begin_anew(
                memory,
                "what the pod runs was brought by a controller that is gone",
            )));
        };
        let layout = scene.config.layout.clone();
        let view = cpu("deploy", move || RunningView::read_back(read, &layout))
            .await?
            .map_err(Failure::Unreadable)?;
        if view.digest() == Some(digest) {
            return Ok(Some(self.plans.keep(view)));
        }
        if view.digest() == known.stored_digest() {
            // A controller and an agent before us brought it, and both are gone.
            memory.stored = Some(self.plans.keep(view));
            let sentence =
                "what HAProxy runs was brought by operations that neither agent nor controller know any more";
            return Ok(Some(begin_anew(memory, sentence)));
        }
        memory.known = None;
        Ok(None)
    }

    async fn carry_out(
        &self,
        memory: &mut Memory,
        scene: &Scene<'_>,
        known: &Knowledge,
        aim: &Aim,
        plan: &Plan,
    ) -> Result<Step, Failure> {
        let reload = plan.verdict.reload_reason();
        self.show(&State::Applying { generation: aim.generation(), reload: reload.clone() });
        let order = order(memory, scene, known, aim, plan);
        // Until the answer is there, and if none comes, nobody knows what the pod runs.
        let kept = memory.known.take();
        memory.settled = None;
        let began = Instant::now();
        let answer = scene.transport.apply(Arc::new(order)).await;
        self.events.tell(Event::Timed {
            part: "agent",
            generation: aim.generation(),
            pod: Some(self.name()),
            took: began.elapsed(),
        });
        if reload.is_some() {
            memory.last_reload = Some(Instant::now());
        }
        let outcome = answer?;
        memory.known = kept;
        self.conclude(memory, scene, aim, plan, outcome)
    }

    fn conclude(
        &self,
        memory: &mut Memory,
        scene: &Scene<'_>,
        aim: &Aim,
        plan: &Plan,
        outcome: Outcome,
    ) -> Result<Step, Failure> {
        let (generation, bundle) = (aim.generation(), aim.bundle());
        match outcome {
            Outcome::Applied { reloaded, worker_pid, log } => {
                if !log.trim().is_empty() {
                    let text = bundle.redacted(log.trim());
                    self.events.tell(Event::HaproxySaid { generation, pod: self.name(), text });
                }
                if let Some(known) = &mut memory.known {
                    known.applied(bundle, generation, worker_pid);
                    if stores(known, aim, plan) {
                        known.stored(bundle, generation);
                        memory.stored = Some(self.plans.view(bundle));
                    }
                }
                memory.lacks = Lacks::Nothing;
                memory.instead = None;
                // What is counted and told is what HAProxy did, not what was meant.
                let reload = reloaded.then(|| Reloaded {
                    why: plan.verdict.reload_reason().unwrap_or_else(|| "the agent had to".into()),
                    kind: plan.verdict.reload_kind().map_or("agent", ReasonKind::name),
                });
                let work = (plan.verdict.operations().len(), plan.write.len());
                let why = reload.as_ref().map(|reload| reload.why.clone());
                self.note_plan(plan, generation, why, scene.began.elapsed());
                self.acknowledge(memory, scene, aim, reload, work);
                Ok(Step::Settled(resting(aim)))
            }
            Outcome::Conflict { .. } => {
                memory.known = None;
                Ok(Step::Again("something else runs whenever an order comes"))
            }
            Outcome::Stale { .. } => {
                memory.known = None;
                Err(Failure::Stale)
            }
            Outcome::Missing { paths } => {
                memory.lacks.learn(paths)?;
                Ok(Step::Again("it lacks contents"))
            }
            Outcome::Refused { message, reload_may_help } => {
                memory.known = None;
                if reload_may_help && plan.verdict.reload_reason().is_none() {
                    let sentence = format!("HAProxy's socket refused: {}", bundle.redacted(&message));
                    let reason = Reason { kind: ReasonKind::Refused, sentence };
                    memory.instead = Some(Instead { reason, failed: Some(generation) });
                    return Ok(Step::Again("its socket refuses"));
                }
                // Once may be the pod's own trouble: a port that a dying worker holds, a moment without memory.
                let refused_before = memory.refused.map(|since| since.elapsed());
                memory.refused = memory.refused.or(Some(Instant::now()));
                let complaint = blame::complaint(&message, &aim.rendered, memory.worked.as_ref());
                if let Some((complaint, refused_for)) = complaint.zip(refused_before) {
                    self.roster.complain(&self.pod, complaint, refused_for);
                }
                Err(Failure::Refused(blame::explained(&message, bundle)))
            }
            Outcome::Failed { message } => {
                memory.known = None;
                Err(Failure::Failed(bundle.redacted(&message)))
            }
        }
    }

    /// Looks whether somebody changed what HAProxy runs through its socket, tells it and sets it right.
    async fn mend(&self, memory: &mut Memory, scene: &Scene<'_>) -> Result<Option<Step>, Failure> {
        let Some(known) = memory.known.clone() else { return Ok(None) };
        let Some(view) = known.digest().and_then(|digest| memory.held(digest)) else { return Ok(None) };
        let Some(bundle) = view.bundle().cloned() else { return Ok(None) };
        let runtime = scene.transport.runtime().await?;
        let found = cpu("deploy", move || drift::differences(&view, &runtime)).await?;
        // What another leader changes meanwhile is its business.
        if found.is_empty() || *self.board.leadership.read() != scene.leadership {
            return Ok(None);
        }
        let what = drift::told(&found);
        self.events.tell(Event::DriftFound { pod: self.name(), what: what.clone() });
        if found.iter().any(|difference| difference.repair.is_empty()) {
            let reason =
                Reason { kind: ReasonKind::Drift, sentence: format!("somebody changed HAProxy: {what}") };
            memory.instead = Some(Instead { reason, failed: None });
            return Ok(Some(Step::Again("somebody else changes it")));
        }
        let operations = found.into_iter().flat_map(|difference| difference.repair).collect();
        let ground = Ground {
            epoch: scene.leadership.epoch,
            base: known.digest(),
            since: Some(&bundle),
            besides: None,
            lacks: &Lacks::Nothing,
        };
        let generation = known.running.map(|running| running.generation).unwrap_or_default();
        let order = ground.order(&bundle, generation, Method::Runtime { operations, store: false });
        memory.known = None;
        match scene.transport.apply(Arc::new(order)).await? {
            Outcome::Applied { .. } => {
                memory.known = Some(known);
                Ok(None)
            }
            Outcome::Refused { message, .. } => {
                let said = bundle.redacted(&message);
                let sentence = format!("somebody changed HAProxy ({what}), and its socket refused: {said}");
                let reason = Reason { kind: ReasonKind::Drift, sentence };
                memory.instead = Some(Instead { reason, failed: None });
                Ok(Some(Step::Again("somebody else changes it")))
            }
            Outcome::Failed { message } => Err(Failure::Failed(bundle.redacted(&message))),
            _ => Ok(Some(Step::Again("somebody else changes it"))),
        }
    }

    /// Nothing is left to do to HAProxy.
    fn settle(&self, memory: &mut Memory, scene: &Scene<'_>, aim: &Aim) -> Step {
        self.acknowledge(memory, scene, aim, None, (0, 0));
        Step::Settled(resting(aim))
    }

    /// The pod is where it should be: remembered, published and, once a generation, told.
    fn acknowledge(
        &self,
        memory: &mut Memory,
        scene: &Scene<'_>,
        aim: &Aim,
        reload: Option<Reloaded>,
        (operations, files): (usize, usize),
    ) {
        memory.settled = memory.known.clone().map(|known| Settled { known, under: scene.leadership });
        memory.refused = None;
        // Held, so that the next plan need not read it back from the pod.
        memory.view = Some(self.plans.view(aim.bundle()));
        memory.desired = None;
        let generation = aim.generation();
        memory.reached = Some((aim.bundle().digest, generation));
        memory.worked = Some(aim.rendered.clone());
        let known = memory.known.as_ref().map(|known| (known.running, known.stored));
        let sent = reload.is_some() || operations + files > 0;
        let is_told = memory.deployed.replace(generation) != Some(generation) || sent;
        // A pod that came after the change follows it from then on.
        let triggered = aim.rendered.reconcile.triggered;
        let since = memory.asked_first.map_or(triggered, |asked| asked.into_std().max(triggered));
        let mut lag = None;
        self.roster.update(&self.pod, |state| {
            (state.running, state.stored) = known.unwrap_or_default();
            // What it had already, or has again, did not take until now to reach it.
            lag = (sent && state.deployed < Some(generation)).then(|| since.elapsed());
            state.lag = lag.or(state.lag);
            state.deployed = Some(generation);
            state.last_error = None;
        });
        if !is_told {
            return;
        }
        let pod = self.name();
        let (reload, reload_kind) = reload.map(|reload| (reload.why, reload.kind)).unzip();
        self.events.tell(Event::Deployed {
            generation,
            pod,
            reload,
            reload_kind,
            operations,
            files,
            // Last, so that it includes every part that is told of.
            took: scene.began.elapsed(),
            lag,
        });
    }

    /// A bundle that was live already was refused: told once.
    fn tell_if_taken_back(&self, memory: &mut Memory, scene: &Scene<'_>, aim: &Aim) {
        let Some(refused) = &scene.outlook.refused else { return };
        let generation = refused.rendered.reconcile.generation;
        let was_live = memory.reached().is_some_and(|reached| reached > aim.generation());
        if !was_live || memory.taken_back.replace(generation) == Some(generation) {
            return;
        }
        let why = refused.diagnostics.first().map(ToString::to_string).unwrap_or_default();
        self.events.tell(Event::TakenBack { generation, pod: self.name(), to: aim.generation(), why });
    }
}

/// Waits for a render that knows what the pod can do, so that the one before it is not deployed and then replaced by a reload.
/// If none comes, there is something wrong with it, and what there is serves better than nothing.
fn hold(memory: &Memory, outlook: &Outlook) -> Option<Step> {
    let generation = outlook.unfit(memory.known.as_ref()?.capabilities)?;
    let until = memory.asked_first? + HELD;
    let left = until.checked_duration_since(Instant::now())?;
    let millis = u64::try_from(left.as_millis()).unwrap_or(u64::MAX);
    (millis > 0).then_some(Step::Later(until, State::Awaiting { generation, millis }))
}

/// How long a render that knows the pod is waited for.
const HELD: Duration = Duration::from_secs(10);

/// Nobody knows the way from what the pod runs: a reload is one from everywhere.
fn begin_anew(memory: &mut Memory, sentence: &str) -> Arc<RunningView> {
    let reason = Reason { kind: ReasonKind::Drift, sentence: sentence.to_owned() };
    memory.instead = Some(Instead { reason, failed: None });
    Arc::new(RunningView::bootstrap())
}

/// Why a pod whose last order failed half-way is reloaded.
const HALF_WAY: &str = "operations before ended half-way";

/// The order that carries out `plan`: a reload brings files to what is on disk, operations to what runs.
fn order(memory: &Memory, scene: &Scene<'_>, known: &Knowledge, aim: &Aim, plan: &Plan) -> Apply {
    let running = known.digest().filter(|_| known.exact).and_then(|digest| memory.held(digest));
    let stored = known.stored_digest().and_then(|digest| memory.held(digest));
    let (method, since, besides) = match plan.verdict.reload_reason() {
        Some(reason) => (Method::Reload { reason }, stored, running),
        None => {
            let operations = plan.verdict.operations().to_vec();
            (Method::Runtime { operations, store: stores(known, aim, plan) }, running, stored)
        }
    };
    let ground = Ground {
        epoch: scene.leadership.epoch,
        base: known.digest(),
        since: since.as_ref().and_then(|view| view.bundle()),
        besides: besides.as_ref().and_then(|view| view.bundle()),
        lacks: &memory.lacks,
    };
    ground.order(aim.bundle(), aim.generation(), method)
}

/// Whether the bundle is on the pod's disk once the order is carried out.
fn stores(known: &Knowledge, aim: &Aim, plan: &Plan) -> bool {
    let is_reload = plan.verdict.reload_reason().is_some();
    is_reload || aim.checked && known.capabilities.stores_with_operations()
}

fn resting(aim: &Aim) -> State {
    let generation = aim.generation();
    if aim.checked { State::Converged { generation } } else { State::Ahead { generation } }
}
