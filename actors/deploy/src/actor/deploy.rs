//! One pod's deployment as an actor. What the pod is to be brought to, what it says and what became of an order are messages; each may
//! begin an [`DeployAttempt`], which ends as a message, too.

use super::fleet::FleetArguments;
use crate::{
    deployment::{
        DeployAttempt, DeployFailure, Deployment, DeploymentState, NewestBundles, NextStep, PodProgress,
        PodPublishers,
    },
    transport::{Connect, Transport, TransportError},
};
use actix::prelude::*;
use backon::{BackoffBuilder, ExponentialBackoff, ExponentialBuilder};
use futures::{Stream, stream};
use haptic_model::{
    ActiveConfig, Event, HaproxyPod,
    agent_api::{Outcome, Status},
    crd::DataplaneSpec,
    figure::TimedPart,
    pipeline::{Leadership, Validated},
};
use haptic_runtime::{
    Alarm, OwnHandle, Work, deliver,
    messages::{BundleProposed, BundleRefused, BundleValidated, ConfigActivated, LeadershipChanged},
};
use std::{
    rc::Rc,
    sync::Arc,
    time::{Duration, SystemTime},
};
use tokio::time::Instant;

/// The first pause after a failure; it doubles up to the longest one.
const FIRST_PAUSE: Duration = Duration::from_millis(200);
const LONGEST_PAUSE: Duration = Duration::from_secs(10);
/// After a reload that HAProxy refused, pauses are so many times as long. Where a port is taken, it tries for two seconds to have
/// it, and takes no connections meanwhile.
const AFTER_REFUSAL: u32 = 10;
/// Immediate repetitions (conflict, missing contents, repair) before a pause.
const MAX_REPETITIONS: u32 = 3;
/// The pause before an agent that did not answer is asked again for its next incarnation.
const WATCH_PAUSE: Duration = Duration::from_millis(300);

/// Deploys to one pod until it is dismissed.
pub struct DeployActor {
    own: OwnHandle<Self>,
    connect: Connect,
    deployment: Rc<Deployment>,
    config: Option<Arc<ActiveConfig>>,
    newest: NewestBundles,
    /// An attempt has it while it is under way.
    progress: PodProgress,
    link: Option<Link>,
    storing: Option<Storing>,
    phase: AttemptPhase,
    alarm: Alarm,
    repetitions: u32,
    pauses: ExponentialBackoff,
}

/// What the actor is at.
#[derive(Clone, Copy)]
enum AttemptPhase {
    /// Something is under way, and ends as a message.
    Working { changed_meanwhile: bool },
    /// Nothing is, until then. A change ends the wait, but not before `earliest`.
    Waiting { until: Instant, earliest: Instant },
}

/// The way to the pod.
struct Link {
    made_for: Arc<ActiveConfig>,
    transport: Rc<dyn Transport>,
    /// The newest incarnation that was seen to follow the one that its status named.
    incarnation: Option<u64>,
    watch: Option<Work>,
}

/// An order to store that is under way.
struct Storing {
    validated: Arc<Validated>,
    answer: Option<Result<Outcome, TransportError>>,
    _work: Work,
}

/// An attempt that is about to begin.
#[derive(Clone, Copy)]
struct PendingAttempt {
    leadership: Leadership,
    began: Instant,
    /// Whether it is time to look at what HAProxy runs.
    is_due: bool,
    /// When the pod was found to be in another incarnation.
    began_anew: Option<SystemTime>,
}

/// The pod says how it is.
#[derive(Message)]
#[rtype(result = "()")]
struct StatusRead(PendingAttempt, Result<Status, TransportError>);

/// An attempt gives back the progress.
#[derive(Message)]
#[rtype(result = "()")]
struct AttemptEnded(Box<DeployAttempt>, Result<NextStep, DeployFailure>);

/// An order to store is answered.
#[derive(Message)]
#[rtype(result = "()")]
struct StoreEnded(Result<Outcome, TransportError>);

/// The pod is in another incarnation.
#[derive(Message)]
#[rtype(result = "()")]
struct PodRestarted(u64);

impl DeployActor {
    pub(super) fn new(
        own: OwnHandle<Self>,
        pod: HaproxyPod,
        arguments: &FleetArguments,
        publishers: Arc<PodPublishers>,
    ) -> Self {
        let shown = own.clone();
        let deployment = Deployment {
            pod,
            plans: arguments.plans.clone(),
            publishers,
            events: arguments.events.clone(),
            leadership: arguments.topics.leadership.clone(),
            show: Box::new(move |state| shown.set_detail(state)),
        };
        let now = Instant::now();
        Self {
            own,
            connect: Arc::clone(&arguments.connect),
            deployment: Rc::new(deployment),
            config: None,
            newest: NewestBundles::default(),
            progress: PodProgress::default(),
            link: None,
            storing: None,
            phase: AttemptPhase::Waiting { until: now, earliest: now },
            alarm: Alarm::default(),
            repetitions: 0,
            pauses: pauses(),
        }
    }

    /// Something changed: the next attempt begins as soon as it may.
    fn changed(&mut self, context: &mut Context<Self>) {
        match &mut self.phase {
            AttemptPhase::Working { changed_meanwhile } => *changed_meanwhile = true,
            AttemptPhase::Waiting { earliest, .. } => {
                let earliest = *earliest;
                self.wait_until(earliest, earliest, context);
            }
        }
    }

    fn wait_until(&mut self, until: Instant, earliest: Instant, context: &mut Context<Self>) {
        let changed_meanwhile = matches!(self.phase, AttemptPhase::Working { changed_meanwhile: true });
        let until = if changed_meanwhile { earliest } else { until };
        if until <= Instant::now() {
            return self.attempt(context);
        }
        self.phase = AttemptPhase::Waiting { until, earliest };
        self.alarm.set(until, context, Self::look_again);
    }

    fn look_again(&mut self, context: &mut Context<Self>) {
        if let AttemptPhase::Waiting { until, earliest } = self.phase {
            self.wait_until(until, earliest, context);
        }
    }

    /// Begins an attempt: the pod is asked how it is first, unless that is known.
    fn attempt(&mut self, context: &mut Context<Self>) {
        self.phase = AttemptPhase::Working { changed_meanwhile: false };
        let leadership = self.deployment.leadership();
        let began = Instant::now();
        let transport = match self.conclude_storing().and_then(|()| self.transport()) {
            Ok(Some(transport)) => transport,
            Ok(None) => return self.wait(DeploymentState::Standby, context),
            Err(failure) => return self.pause(&failure, context),
        };
        let is_known = self.progress.known.is_some();
        let is_due = is_known && began >= self.next_check();
        let took_over = self.progress.take_over(leadership);
        let beginning = PendingAttempt {
            leadership,
            began,
            is_due,
            began_anew: self.has_restarted().then(SystemTime::now),
        };
        if is_known && !took_over && !is_due && beginning.began_anew.is_none() {
            return self.advance(beginning, context);
        }
        self.deployment.show(&DeploymentState::Reading);
        deliver(context, async move { StatusRead(beginning, transport.status().await) });
    }

    /// Brings the pod nearer to the newest bundles, once it is known how it is.
    fn advance(&mut self, beginning: PendingAttempt, context: &mut Context<Self>) {
        let PendingAttempt { leadership, began, is_due, .. } = beginning;
        let (Some(config), Some(link), true) = (&self.config, &self.link, leadership.leads) else {
            return self.wait(DeploymentState::Standby, context);
        };
        let mut attempt = Box::new(DeployAttempt {
            deployment: Rc::clone(&self.deployment),
            progress: std::mem::take(&mut self.progress),
            config: Arc::clone(config),
            transport: Rc::clone(&link.transport),
            leadership,
            newest: self.newest.clone(),
            began,
            is_due,
            is_storing: self.storing.is_some(),
        });
        deliver(context, async {
            let result = attempt.run().await;
            AttemptEnded(attempt, result)
        });
    }

    fn ended(&mut self, result: Result<NextStep, DeployFailure>, context: &mut Context<Self>) {
        match result {
            Ok(NextStep::Wait(state)) => self.wait(state, context),
            Ok(NextStep::WaitUntil(then, state)) => {
                self.deployment.show(&state);
                self.wait_until(then, Instant::now(), context);
            }
            Ok(NextStep::Retry(_)) if self.repetitions < MAX_REPETITIONS => {
                self.repetitions += 1;
                self.attempt(context);
            }
            Ok(NextStep::Retry(why)) => self.pause(&DeployFailure::Unsettled(why), context),
            Err(failure) => self.pause(&failure, context),
        }
    }

    fn wait(&mut self, state: DeploymentState, context: &mut Context<Self>) {
        self.repetitions = 0;
        if self.storing.is_none() {
            self.pauses = pauses();
        }
        self.deployment.show(&state);
        self.wait_until(self.next_check(), Instant::now(), context);
    }

    /// Waits after a failure. A newer bundle or configuration ends the wait early, but not below the first pause.
    fn pause(&mut self, failure: &DeployFailure, context: &mut Context<Self>) {
        self.progress.forget();
        self.repetitions = 0;
        let pause = self.pauses.next().unwrap_or(LONGEST_PAUSE);
        let is_refusal = matches!(failure, DeployFailure::Refused(_));
        let pause = if is_refusal { pause.saturating_mul(AFTER_REFUSAL) } else { pause };
        let error = failure.to_string();
        let deployment = &self.deployment;
        deployment.update(|state| state.last_error = Some(error.clone()));
        match self.newest.newest() {
            Some(generation) if deployment.leadership().leads => {
                deployment.events.emit(Event::DeployFailed {
                    generation,
                    pod: deployment.name(),
                    message: error.clone(),
                    retry_in: pause,
                })
            }
            _ => tracing::debug!(pod = %deployment.pod, error, "pod cannot be read; it is tried again"),
        }
        let millis = u64::try_from(pause.as_millis()).unwrap_or(u64::MAX);
        deployment.show(&DeploymentState::BackingOff { error, millis });
        let failed = Instant::now();
        self.wait_until(failed + pause, failed + pause.min(FIRST_PAUSE), context);
    }

    /// When a known pod must be asked again how it is.
    fn next_check(&self) -> Instant {
        let interval = match &self.config {
            Some(config) => config.spec.dataplane.drift_prevention_interval.get(),
            // Nothing can be asked without a configuration; its arrival ends the wait.
            None => Duration::from_secs(3600),
        };
        self.progress.known.as_ref().map_or_else(Instant::now, |known| known.at) + interval
    }

    /// The transport, made again when credentials or the ways to reach pods have changed. `None`: there is no configuration yet.
    fn transport(&mut self) -> Result<Option<Rc<dyn Transport>>, DeployFailure> {
        let Some(config) = &self.config else { return Ok(None) };
        if let Some(link) = &self.link
            && reaches_alike(&link.made_for, config)
        {
            return Ok(Some(Rc::clone(&link.transport)));
        }
        let transport = (self.connect)(&self.deployment.pod, config)?;
        // What the one before still stores would be another writer.
        self.storing = None;
        let made_for = Arc::clone(config);
        self.link = Some(Link { made_for, transport: Rc::clone(&transport), incarnation: None, watch: None });
        Ok(Some(transport))
    }

    /// Whether the pod is known to have begun anew since it was asked.
    fn has_restarted(&self) -> bool {
        let seen = self.link.as_ref().and_then(|link| link.incarnation);
        seen.is_some() && seen != self.progress.known.as_ref().map(|known| known.incarnation)
    }

    /// Has the newest checked bundle stored, once the pod runs it or what came after it.
    fn store_if_due(&mut self, leadership: Leadership, context: &mut Context<Self>) {
        let (None, Some(link), Some(validated)) = (&self.storing, &self.link, &self.newest.validated) else {
            return;
        };
        let Some(order) = self.progress.order_to_store(validated, leadership.epoch) else { return };
        let (transport, deployment, began) =
            (Rc::clone(&link.transport), Rc::clone(&self.deployment), Instant::now());
        let (generation, order) = (validated.generation(), Arc::new(order));
        let work = Work::start(context, async move {
            let answer = transport.apply(order).await;
            let (pod, took) = (Some(deployment.name()), began.elapsed());
            deployment.events.emit(Event::Timed { part: TimedPart::Store, generation, pod, took });
            StoreEnded(answer)
        });
        self.storing = Some(Storing { validated: Arc::clone(validated), answer: None, _work: work });
    }

    /// Takes the answer of an order to store, if it is there.
    fn conclude_storing(&mut self) -> Result<(), DeployFailure> {
        let answered = self.storing.take_if(|storing| storing.answer.is_some());
        match answered {
            Some(Storing { validated, answer: Some(answer), .. }) => {
                self.deployment.conclude_storing(&mut self.progress, &validated, answer?)
            }
            _ => Ok(()),
        }
    }
}

impl Actor for DeployActor {
    type Context = Context<Self>;

    fn started(&mut self, _: &mut Self::Context) {
        self.deployment.show(&DeploymentState::Unknown);
    }

    fn stopped(&mut self, _: &mut Self::Context) {
        self.own.set_detail(&DeploymentState::Gone);
    }
}

haptic_runtime::rebuilt!(DeployActor);

impl Handler<LeadershipChanged> for DeployActor {
    type Result = ();

    fn handle(&mut self, _: LeadershipChanged, context: &mut Self::Context) {
        self.changed(context);
    }
}

impl Handler<BundleProposed> for DeployActor {
    type Result = ();

    fn handle(&mut self, candidate: BundleProposed, context: &mut Self::Context) {
        self.newest.candidate = (*candidate).clone();
        self.changed(context);
    }
}

impl Handler<BundleValidated> for DeployActor {
    type Result = ();

    fn handle(&mut self, validated: BundleValidated, context: &mut Self::Context) {
        self.newest.validated = (*validated).clone();
        self.changed(context);
    }
}

impl Handler<BundleRefused> for DeployActor {
    type Result = ();

    fn handle(&mut self, refused: BundleRefused, context: &mut Self::Context) {
        self.newest.refused = (*refused).clone();
        self.changed(context);
    }
}

impl Handler<ConfigActivated> for DeployActor {
    type Result = ();

    fn handle(&mut self, active: ConfigActivated, context: &mut Self::Context) {
        self.config = (*active).clone();
        self.newest.allows_fast_path =
            self.config.as_ref().is_some_and(|config| config.spec.validation.express);
        self.changed(context);
    }
}

impl Handler<StatusRead> for DeployActor {
    type Result = ();

    fn handle(&mut self, StatusRead(beginning, status): StatusRead, context: &mut Self::Context) {
        let status = match status {
            Ok(status) => status,
            Err(error) => return self.pause(&error.into(), context),
        };
        let incarnation = status.incarnation;
        self.deployment.take_status(&mut self.progress, status, beginning.began_anew, &self.newest);
        if let Some(link) = self.link.as_mut().filter(|link| link.watch.is_none()) {
            let restarts = incarnations(Rc::clone(&link.transport), incarnation);
            link.watch = Some(Work::follow(context, restarts));
        }
        self.advance(beginning, context);
    }
}

impl Handler<AttemptEnded> for DeployActor {
    type Result = ();

    fn handle(&mut self, AttemptEnded(attempt, result): AttemptEnded, context: &mut Self::Context) {
        let DeployAttempt { progress, leadership, .. } = *attempt;
        self.progress = progress;
        if result.is_ok() && self.deployment.leadership() == leadership {
            self.store_if_due(leadership, context);
        }
        self.ended(result, context);
    }
}

impl Handler<StoreEnded> for DeployActor {
    type Result = ();

    fn handle(&mut self, StoreEnded(answer): StoreEnded, context: &mut Self::Context) {
        if let Some(storing) = &mut self.storing {
            storing.answer = Some(answer);
        }
        self.changed(context);
    }
}

impl Handler<PodRestarted> for DeployActor {
    type Result = ();

    fn handle(&mut self, PodRestarted(incarnation): PodRestarted, context: &mut Self::Context) {
        if let Some(link) = &mut self.link {
            link.incarnation = Some(incarnation);
        }
        self.changed(context);
    }
}

/// Each incarnation of a pod after `known`.
fn incarnations(transport: Rc<dyn Transport>, known: u64) -> impl Stream<Item = PodRestarted> {
    stream::unfold((transport, known), |(transport, known)| async move {
        loop {
            match transport.incarnation(known).await {
                Ok(now) if now != known => return Some((PodRestarted(now), (transport, now))),
                Ok(_) => {}
                Err(_) => tokio::time::sleep(WATCH_PAUSE).await,
            }
        }
    })
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

#[cfg(test)]
mod scene;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod tests_ahead;
#[cfg(test)]
mod tests_express;
