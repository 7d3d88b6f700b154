//! The loop of one pod's deployment.

use super::{
    Failure, State,
    knowledge::{Knowledge, Need},
};
use crate::{
    planner::{Plan, PlanCache, Reason, ReasonKind, RunningView},
    roster::Roster,
    transport::{Connect, Transport},
};
use backon::{BackoffBuilder, ExponentialBackoff, ExponentialBuilder};
use haptic_model::{
    ActiveConfig, Digest, Event, Generation, HaproxyPod,
    agent_api::{Apply, Epoch, Outcome},
    crd::DataplaneSpec,
    pipeline::{Leadership, Validated},
};
use haptic_runtime::{CellReader, Events, cpu};
use std::{rc::Rc, sync::Arc, time::Duration};
use tokio::{sync::Notify, time::Instant};

/// The first pause after a failure; it doubles up to the longest one.
const FIRST_PAUSE: Duration = Duration::from_millis(200);
const LONGEST_PAUSE: Duration = Duration::from_secs(10);
/// Immediate repetitions (conflict, missing contents, repair) before a pause.
const MAX_REPETITIONS: u32 = 3;

/// What every deployment reads.
#[derive(Clone, Debug)]
pub struct Board {
    /// Only the leader deploys.
    pub leadership: CellReader<Leadership>,
    /// The newest bundle that passed all checks.
    pub validated: CellReader<Option<Arc<Validated>>>,
    /// Credentials, intervals and limits.
    pub config: CellReader<Option<Arc<ActiveConfig>>>,
}

/// One pod's deployment.
pub struct Deployment {
    /// The pod.
    pub pod: HaproxyPod,
    /// What it reads.
    pub board: Board,
    /// Plans shared with the other pods.
    pub plans: PlanCache,
    /// Where it writes what it learns.
    pub roster: Roster,
    /// Who hears of it.
    pub events: Events,
    /// How the pod is reached.
    pub connect: Connect,
    /// Ends any waiting early.
    pub wake: Arc<Notify>,
    /// Shown at `/debug/actors`.
    pub show: Box<dyn Fn(&State)>,
}

/// The loop's memory, all of it lost without harm: a new life asks the pod.
#[derive(Default)]
struct Memory {
    /// `None`: the pod must be asked.
    known: Option<Knowledge>,
    /// Which leadership it is known since.
    led: Option<Epoch>,
    /// As it was when it was last known to be right.
    settled: Option<Knowledge>,
    /// What the pod runs, and what it is being brought to.
    view: Option<Arc<RunningView>>,
    desired: Option<Arc<RunningView>>,
    deployed: Option<Generation>,
    last_reload: Option<Instant>,
    /// The socket refused this target's operations, in these words.
    reload_instead: Option<(Digest, String)>,
    missing: Vec<String>,
    repetitions: u32,
    transport: Option<(Arc<ActiveConfig>, Rc<dyn Transport>)>,
}

/// What follows an attempt.
enum Step {
    /// Nothing to do until something changes or the pod must be checked again.
    Settled(State),
    /// Another attempt at once.
    Again(&'static str),
    /// Another attempt then, or when something changes.
    Later(Instant, State),
}

/// What an attempt is about.
struct Aim {
    leadership: Leadership,
    validated: Arc<Validated>,
    began: Instant,
}

impl Deployment {
    /// Deploys until the future is dropped.
    pub async fn run(mut self) {
        let mut memory = Memory::default();
        let mut pauses = pauses();
        self.show(&State::Unknown);
        loop {
            match self.attempt(&mut memory).await {
                Ok(Step::Again(why)) => {
                    memory.repetitions += 1;
                    if memory.repetitions > MAX_REPETITIONS {
                        self.pause(&mut memory, &mut pauses, &Failure::Unsettled(why)).await;
                    }
                }
                Ok(Step::Settled(state)) => {
                    (memory.repetitions, pauses) = (0, self::pauses());
                    self.show(&state);
                    self.wait_until(self.next_check(&memory)).await;
                }
                Ok(Step::Later(then, state)) => {
                    self.show(&state);
                    self.wait_until(then).await;
                }
                Err(failure) => self.pause(&mut memory, &mut pauses, &failure).await,
            }
        }
    }

    /// One look at the board, and what it takes to bring the pod there.
    async fn attempt(&self, memory: &mut Memory) -> Result<Step, Failure> {
        let began = Instant::now();
        let Some(config) = self.board.config.read().as_ref().clone() else {
            return Ok(Step::Settled(State::Standby));
        };
        let transport = self.transport(memory, &config)?;
        let leadership = *self.board.leadership.read();
        // What was known before is what another leader may have changed meanwhile.
        let took_over = leadership.leads && memory.led.replace(leadership.epoch) != Some(leadership.epoch);
        if took_over || memory.known.is_none() || began >= self.next_check(memory) {
            self.read_status(memory, &*transport).await?;
        }
        let (Some(validated), true) = (self.board.validated.read().as_ref().clone(), leadership.leads) else {
            return Ok(Step::Settled(State::Standby));
        };
        self.bring(memory, &*transport, &config, Aim { leadership, validated, began }).await
    }

    async fn bring(
        &self,
        memory: &mut Memory,
        transport: &dyn Transport,
        config: &ActiveConfig,
        aim: Aim,
    ) -> Result<Step, Failure> {
        let Some(known) = memory.known.clone() else { return Ok(Step::Again("its state is unknown")) };
        let (generation, bundle) = (aim.validated.generation(), aim.validated.bundle());
        let worker = memory.settled.as_ref().map(|settled| settled.worker_pid);
        let plan = match known.need(bundle.digest, worker) {
            Need::Nothing => {
                self.acknowledge(memory, &aim, None, (0, 0));
                return Ok(Step::Settled(State::Converged { generation }));
            }
            Need::Haproxy => {
                memory.known = None;
                return Err(Failure::Down);
            }
            need => self.plan(memory, transport, config, &known, &aim, need).await?,
        };
        let Some(plan) = plan else { return Ok(Step::Again("it changes while it is read")) };
        let reload = plan.verdict.reload_reason();
        if reload.is_some()
            && let Some(wait) = self.reload_allowed_at(memory, config).filter(|then| *then > Instant::now())
        {
            let millis = u64::try_from((wait - Instant::now()).as_millis()).unwrap_or(u64::MAX);
            return Ok(Step::Later(wait, State::Waiting { generation, millis }));
        }
        self.show(&State::Applying { generation, reload: reload.clone() });
        let order = known.order(&plan, bundle, aim.leadership.epoch, generation, &memory.missing);
        let outcome = self.apply(memory, transport, order, reload.is_some()).await?;
        self.conclude(memory, &aim, &plan, outcome)
    }

    /// The plan, or `None` when the pod no longer runs what it said it runs.
    async fn plan(
        &self,
        memory: &mut Memory,
        transport: &dyn Transport,
        config: &ActiveConfig,
        known: &Knowledge,
        aim: &Aim,
        need: Need,
    ) -> Result<Option<Arc<Plan>>, Failure> {
        self.show(&State::Planning { generation: aim.validated.generation() });
        let desired = self.plans.view(aim.validated.bundle());
        let running = match need {
            Need::Plan => self.running_view(memory, transport, config, known).await?,
            _ => Some(Arc::clone(&desired)),
        };
        let Some(running) = running else { return Ok(None) };
        memory.view = Some(Arc::clone(&running));
        memory.desired = Some(Arc::clone(&desired));
        let (plans, capabilities) = (self.plans.clone(), known.capabilities);
        let plan = cpu("deploy", move || plans.plan(&running, &desired, capabilities)).await?;
        let target = plan.target;
        memory.reload_instead.take_if(|(refused, _)| *refused != target);
        let instead = match (&memory.reload_instead, need, known.alive) {
            (Some((_, why)), _, _) => Some(Reason {
                kind: ReasonKind::Refused,
                sentence: format!("HAProxy's socket refused: {why}"),
            }),
            (None, Need::FilesAndReload, _) => Some(Reason {
                kind: ReasonKind::Drift,
                sentence: "somebody else changed files and restarted or reloaded HAProxy".to_owned(),
            }),
            (None, _, false) => Some(Reason {
                kind: ReasonKind::Drift,
                sentence: "HAProxy does not answer its socket".to_owned(),
            }),
            _ => None,
        };
        Ok(Some(match instead {
            Some(reason) if plan.verdict.reload_reason().is_none() => Arc::new(plan.by_reload(reason)),
            _ => plan,
        }))
    }

    /// What the pod runs, from whoever holds it already, or from the pod.
    async fn running_view(
        &self,
        memory: &mut Memory,
        transport: &dyn Transport,
        config: &ActiveConfig,
        known: &Knowledge,
    ) -> Result<Option<Arc<RunningView>>, Failure> {
        let Some(digest) = known.digest() else { return Ok(Some(Arc::new(RunningView::bootstrap()))) };
        let held = memory.view.clone().filter(|view| view.digest() == Some(digest));
        if let Some(view) = held.or_else(|| self.plans.known(digest)) {
            return Ok(Some(view));
        }
        let read = transport.running_bundle().await?;
        let layout = config.layout.clone();
        let view = cpu("deploy", move || RunningView::read_back(read, &layout))
            .await?
            .map_err(Failure::Unreadable)?;
        if view.digest() != Some(digest) {
            memory.known = None;
            return Ok(None);
        }
        Ok(Some(self.plans.keep(view)))
    }

    async fn read_status(&self, memory: &mut Memory, transport: &dyn Transport) -> Result<(), Failure> {
        self.show(&State::Reading);
        let status = transport.status().await?;
        let known = Knowledge::from_status(status, Instant::now());
        self.roster.update(&self.pod, |state| {
            state.capabilities = Some(known.capabilities);
            state.running = known.running.clone();
        });
        if let Some(what) = memory.settled.as_ref().and_then(|settled| known.drift(settled)) {
            self.events.tell(Event::DriftFound { pod: self.name(), what });
            // Told once; what follows is measured against what is found now.
            memory.settled = None;
        }
        memory.known = Some(known);
        Ok(())
    }

    async fn apply(
        &self,
        memory: &mut Memory,
        transport: &dyn Transport,
        order: Apply,
        reloads: bool,
    ) -> Result<Outcome, Failure> {
        // Until the answer is there, and if none comes, nobody knows what the pod runs.
        let known = memory.known.take();
        memory.settled = None;
        let answer = transport.apply(Arc::new(order)).await;
        if reloads {
            memory.last_reload = Some(Instant::now());
        }
        let outcome = answer?;
        memory.known = known;
        Ok(outcome)
    }

    fn conclude(
        &self,
        memory: &mut Memory,
        aim: &Aim,
        plan: &Plan,
        outcome: Outcome,
    ) -> Result<Step, Failure> {
        let (generation, bundle) = (aim.validated.generation(), aim.validated.bundle());
        match outcome {
            Outcome::Applied { reloaded, worker_pid, log } => {
                if !log.trim().is_empty() {
                    tracing::info!(pod = %self.pod, %generation, log = log.trim(), "HAProxy said during the reload");
                }
                if let Some(known) = &mut memory.known {
                    known.applied(bundle, generation, worker_pid);
                }
                memory.missing.clear();
                memory.reload_instead = None;
                // What is counted and told is what HAProxy did, not what was meant.
                let reload = reloaded
                    .then(|| plan.verdict.reload_reason().unwrap_or_else(|| "the agent had to".into()));
                self.acknowledge(memory, aim, reload, (plan.verdict.operations().len(), plan.write.len()));
                Ok(Step::Settled(State::Converged { generation }))
            }
            Outcome::Conflict { .. } => {
                memory.known = None;
                Ok(Step::Again("something else runs whenever an order comes"))
            }
            Outcome::Stale { .. } => {
                memory.known = None;
                Err(Failure::Stale)
            }
            Outcome::Missing { paths } if memory.missing.is_empty() => {
                memory.missing = paths;
                Ok(Step::Again("it lacks contents"))
            }
            Outcome::Missing { paths } => {
                memory.missing.clear();
                Err(Failure::StillMissing(paths.join(", ")))
            }
            Outcome::Refused { message, reload_may_help } => {
                memory.known = None;
                if reload_may_help && plan.verdict.reload_reason().is_none() {
                    memory.reload_instead = Some((bundle.digest, message));
                    return Ok(Step::Again("its socket refuses"));
                }
                Err(Failure::Refused(message))
            }
        }
    }

    /// The pod is where it should be: remembered, published and, once a generation, told.
    fn acknowledge(
        &self,
        memory: &mut Memory,
        aim: &Aim,
        reload: Option<String>,
        (operations, files): (usize, usize),
    ) {
        memory.settled = memory.known.clone();
        // Held, so that the next plan need not read it back from the pod.
        memory.view = Some(self.plans.view(aim.validated.bundle()));
        memory.desired = None;
        let generation = aim.validated.generation();
        let running = memory.known.as_ref().and_then(|known| known.running.clone());
        self.roster.update(&self.pod, |state| {
            state.running = running;
            state.deployed = Some(generation);
            state.last_error = None;
        });
        let sent = reload.is_some() || operations + files > 0;
        if memory.deployed.replace(generation) == Some(generation) && !sent {
            return;
        }
        let (took, lag) = (aim.began.elapsed(), aim.validated.rendered.reconcile.triggered.elapsed());
        self.events.tell(Event::Deployed {
            generation,
            pod: self.name(),
            reload,
            operations,
            files,
            took,
            lag,
        });
    }

    /// Waits after a failure. A newer bundle or configuration ends the wait early, but not below the first pause.
    async fn pause(&mut self, memory: &mut Memory, pauses: &mut ExponentialBackoff, failure: &Failure) {
        memory.known = None;
        memory.repetitions = 0;
        let pause = pauses.next().unwrap_or(LONGEST_PAUSE);
        let error = failure.to_string();
        self.roster.update(&self.pod, |state| state.last_error = Some(error.clone()));
        let leads = self.board.leadership.read().leads;
        match self.board.validated.read().as_ref() {
            Some(validated) if leads => self.events.tell(Event::DeployFailed {
                generation: validated.generation(),
                pod: self.name(),
                message: error.clone(),
                retry_in: pause,
            }),
            _ => tracing::debug!(pod = %self.pod, error, "pod cannot be read; it is tried again"),
        }
        let millis = u64::try_from(pause.as_millis()).unwrap_or(u64::MAX);
        self.show(&State::BackingOff { error, millis });
        let failed = Instant::now();
        self.wait_until(failed + pause).await;
        tokio::time::sleep_until(failed + pause.min(FIRST_PAUSE)).await;
    }

    /// Waits for the time, a change on the board, or a nudge.
    async fn wait_until(&mut self, then: Instant) {
        let Board { leadership, validated, config } = &mut self.board;
        tokio::select! {
            () = tokio::time::sleep_until(then) => {}
            _ = leadership.changed() => {}
            _ = validated.changed() => {}
            _ = config.changed() => {}
            () = self.wake.notified() => {}
        }
    }

    /// When a known pod must be asked again how it is.
    fn next_check(&self, memory: &Memory) -> Instant {
        let interval = match self.board.config.read().as_ref() {
            Some(config) => config.spec.dataplane.drift_prevention_interval.or(Duration::from_secs(60)),
            // Nothing can be asked without a configuration; its arrival ends the wait.
            None => Duration::from_secs(3600),
        };
        memory.known.as_ref().map_or_else(Instant::now, |known| known.at) + interval
    }

    fn reload_allowed_at(&self, memory: &Memory, config: &ActiveConfig) -> Option<Instant> {
        Some(memory.last_reload? + config.spec.dataplane.min_deployment_interval.or(Duration::from_secs(2)))
    }

    /// The transport, made anew when credentials or the ways to reach pods have changed.
    fn transport(
        &self,
        memory: &mut Memory,
        config: &Arc<ActiveConfig>,
    ) -> Result<Rc<dyn Transport>, Failure> {
        if let Some((made_for, transport)) = &memory.transport
            && reaches_alike(made_for, config)
        {
            return Ok(Rc::clone(transport));
        }
        let transport = (self.connect)(&self.pod, config)?;
        memory.transport = Some((Arc::clone(config), Rc::clone(&transport)));
        Ok(transport)
    }

    fn show(&self, state: &State) {
        (self.show)(state);
    }

    fn name(&self) -> Arc<str> {
        self.pod.to_string().into()
    }
}

fn reaches_alike(one: &Arc<ActiveConfig>, other: &Arc<ActiveConfig>) -> bool {
    let way = |spec: &DataplaneSpec| {
        (spec.transport, spec.scheme, spec.ca_bundle.clone(), spec.deployment_timeout.clone())
    };
    Arc::ptr_eq(one, other)
        || (one.credentials == other.credentials && way(&one.spec.dataplane) == way(&other.spec.dataplane))
}

fn pauses() -> ExponentialBackoff {
    ExponentialBuilder::default()
        .with_min_delay(FIRST_PAUSE)
        .with_max_delay(LONGEST_PAUSE)
        .with_jitter()
        .without_max_times()
        .build()
}
