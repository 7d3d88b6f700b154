//! The loop of one pod's deployment: when it looks, and how long it waits.

use super::{
    Failure, State,
    knowledge::Knowledge,
    memory::{Link, Memory},
    outlook::Outlook,
};
use crate::{
    planner::PlanCache,
    roster::Roster,
    transport::{Connect, Transport},
};
use backon::{BackoffBuilder, ExponentialBackoff, ExponentialBuilder};
use haptic_model::{
    ActiveConfig, Event, HaproxyPod,
    crd::DataplaneSpec,
    pipeline::{Candidate, Leadership, Refused, Validated},
};
use haptic_runtime::{CellReader, Events};
use std::{
    rc::Rc,
    sync::Arc,
    time::{Duration, SystemTime},
};
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
    /// The newest bundle that passed everything but HAProxy's own checker.
    pub candidate: CellReader<Option<Arc<Candidate>>>,
    /// The newest bundle that passed all checks.
    pub validated: CellReader<Option<Arc<Validated>>>,
    /// The newest bundle that was checked, when it was refused.
    pub refused: CellReader<Option<Arc<Refused>>>,
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

/// What follows an attempt.
pub(super) enum Step {
    /// Nothing to do until something changes or the pod must be checked again.
    Settled(State),
    /// Another attempt at once.
    Again(&'static str),
    /// Another attempt then, or when something changes.
    Later(Instant, State),
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
                    memory.repetitions = 0;
                    if memory.storing.is_none() {
                        pauses = self::pauses();
                    }
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

    pub(super) async fn read_status(
        &self,
        memory: &mut Memory,
        transport: &dyn Transport,
    ) -> Result<(), Failure> {
        self.show(&State::Reading);
        let began_anew = memory.is_anew().then(SystemTime::now);
        let status = transport.status().await?;
        let known = Knowledge::from_status(status, Instant::now());
        // What an order met stands until one succeeds. Whoever sends none can only have failed to read.
        let only_reads = !self.board.leadership.read().leads || self.outlook().validated.is_none();
        self.roster.update(&self.pod, |state| {
            if only_reads {
                state.last_error = None;
            }
            state.capabilities = Some(known.capabilities);
            (state.running, state.stored) = (known.running, known.stored);
            state.began_anew = began_anew.or(state.began_anew);
        });
        memory.look_out(known.incarnation, &self.wake);
        // Read only now: another leader may have changed the pod while it was asked.
        memory.forget_other_leaderships(*self.board.leadership.read());
        if let Some(what) = memory.settled.as_ref().and_then(|settled| known.drift(&settled.known)) {
            self.events.tell(Event::DriftFound { pod: self.name(), what });
            // Told once; what follows is measured against what is found now.
            memory.settled = None;
        }
        memory.asked_first = memory.asked_first.or(Some(known.at));
        memory.known = Some(known);
        Ok(())
    }

    /// Waits after a failure. A newer bundle or configuration ends the wait early, but not below the first pause.
    async fn pause(&mut self, memory: &mut Memory, pauses: &mut ExponentialBackoff, failure: &Failure) {
        memory.known = None;
        memory.repetitions = 0;
        let pause = pauses.next().unwrap_or(LONGEST_PAUSE);
        let error = failure.to_string();
        self.roster.update(&self.pod, |state| state.last_error = Some(error.clone()));
        let leads = self.board.leadership.read().leads;
        match self.outlook().newest() {
            Some(generation) if leads => self.events.tell(Event::DeployFailed {
                generation,
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
        let Board { leadership, candidate, validated, refused, config } = &mut self.board;
        tokio::select! {
            () = tokio::time::sleep_until(then) => {}
            _ = leadership.changed() => {}
            _ = candidate.changed() => {}
            _ = validated.changed() => {}
            _ = refused.changed() => {}
            _ = config.changed() => {}
            () = self.wake.notified() => {}
        }
    }

    /// What the board says now.
    pub(super) fn outlook(&self) -> Outlook {
        Outlook {
            candidate: self.board.candidate.read().as_ref().clone(),
            validated: self.board.validated.read().as_ref().clone(),
            refused: self.board.refused.read().as_ref().clone(),
            may_be_ahead: self
                .board
                .config
                .read()
                .as_ref()
                .as_ref()
                .is_some_and(|c| c.spec.validation.express),
        }
    }

    /// When a known pod must be asked again how it is.
    pub(super) fn next_check(&self, memory: &Memory) -> Instant {
        let interval = match self.board.config.read().as_ref() {
            Some(config) => config.spec.dataplane.drift_prevention_interval.or(Duration::from_secs(60)),
            // Nothing can be asked without a configuration; its arrival ends the wait.
            None => Duration::from_secs(3600),
        };
        memory.known.as_ref().map_or_else(Instant::now, |known| known.at) + interval
    }

    pub(super) fn reload_allowed_at(&self, memory: &Memory, config: &ActiveConfig) -> Option<Instant> {
        Some(memory.last_reload? + config.spec.dataplane.min_deployment_interval.or(Duration::from_secs(2)))
    }

    /// The transport, made anew when credentials or the ways to reach pods have changed.
    pub(super) fn transport(
        &self,
        memory: &mut Memory,
        config: &Arc<ActiveConfig>,
    ) -> Result<Rc<dyn Transport>, Failure> {
        if let Some(link) = &memory.link
            && reaches_alike(&link.made_for, config)
        {
            return Ok(Rc::clone(&link.transport));
        }
        let transport = (self.connect)(&self.pod, config)?;
        // What the one before still stores would be another writer.
        memory.storing = None;
        memory.link = Some(Link::new(Arc::clone(config), Rc::clone(&transport)));
        Ok(transport)
    }

    pub(super) fn show(&self, state: &State) {
        (self.show)(state);
    }

    pub(super) fn name(&self) -> Arc<str> {
        self.pod.to_string().into()
    }
}

fn reaches_alike(one: &Arc<ActiveConfig>, other: &Arc<ActiveConfig>) -> bool {
    let way = |spec: &DataplaneSpec| {
        (spec.transport, spec.scheme, spec.ca_bundle.clone(), spec.deployment_timeout.clone())
    };
    Arc::ptr_eq(one, other)
        || (one.credentials == other.credentials
            && one.layout == other.layout
            && way(&one.spec.dataplane) == way(&other.spec.dataplane))
}

fn pauses() -> ExponentialBackoff {
    ExponentialBuilder::default()
        .with_min_delay(FIRST_PAUSE)
        .with_max_delay(LONGEST_PAUSE)
        .with_jitter()
        .without_max_times()
        .build()
}
