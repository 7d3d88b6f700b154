//! LeaderActor: reads the configuration, watches the Lease, tries to hold it when the election says so, and keeps the fence informed.

use crate::{
    Fence, Succession,
    election::{ElectionAction, LeaseAttempt, LeaseResponse, ObservedLease},
    lease::LeaseApi,
    run::{ElectionRun, ElectionState},
};
use actix::prelude::*;
use futures::StreamExt;
use haptic_model::{agent_api::Epoch, crd::LeaderElectionSpec, pipeline::Leadership};
use haptic_runtime::{
    Alarm, OwnHandle, Work,
    messages::{ConfigActivated, ConfigValidated, LeadershipSeen},
};
use std::sync::Arc;
use tokio::time::Instant;

/// What a [`LeaderActor`] is built from; the same for each of its lives.
#[derive(Clone)]
pub struct LeaderOptions {
    /// The API server.
    pub client: kube::Client,
    /// Where the Lease is.
    pub namespace: Arc<str>,
    /// The name that this process has in it.
    pub identity: Arc<str>,
    /// What a process of this pod left that died, and this one leaves.
    pub succession: Arc<Succession>,
    /// Publishes whether this replica leads.
    pub fence: Fence,
}

/// Takes part in the election until it is to step down.
pub struct LeaderActor {
    own: OwnHandle<Self>,
    options: LeaderOptions,
    /// The settings of the active configuration.
    active: Option<LeaderElectionSpec>,
    /// Those of a configuration that was refused. They count until one was valid: some replica has to report that it is not.
    refused: Option<LeaderElectionSpec>,
    /// The Lease of the run before.
    lease_before: Option<String>,
    /// The newest leadership that a pod has seen.
    seen_by_pods: Epoch,
    phase: ElectionPhase,
    is_stepping_down: bool,
    alarm: Alarm,
}

enum ElectionPhase {
    /// There is no Lease to hold, by these settings.
    Idle(Option<LeaderElectionSpec>),
    Running {
        run: Box<ElectionRun>,
        /// It always comes to its end: a second one beside it would be judged by what the first one changes.
        attempt: Option<Work>,
        _watch: Work,
    },
    /// The run has ended and its Lease is being released.
    Releasing { _released: Work },
}

/// Ends the actor, with the Lease released. [`haptic_runtime::ActorHandle::exited`] resolves when it is.
#[derive(Clone, Copy, Debug)]
pub struct StepDown;

impl Message for StepDown {
    type Result = ();
}

/// The Lease is seen to be another one.
#[derive(Message)]
#[rtype(result = "()")]
struct LeaseObserved(ObservedLease);

/// An attempt to hold the Lease is answered.
#[derive(Message)]
#[rtype(result = "()")]
struct LeaseAnswered(LeaseAttempt, LeaseResponse);

/// The Lease of a run that ended is given back, if the API server took it.
#[derive(Message)]
#[rtype(result = "()")]
struct LeaseReleased {
    is_released: bool,
}

impl LeaderActor {
    /// An actor that has received nothing yet.
    #[must_use]
    pub fn new(own: OwnHandle<Self>, options: LeaderOptions) -> Self {
        Self {
            own,
            options,
            active: None,
            refused: None,
            lease_before: None,
            seen_by_pods: Epoch::default(),
            phase: ElectionPhase::Idle(None),
            is_stepping_down: false,
            alarm: Alarm::default(),
        }
    }

    /// Does what is to be done now. What comes during an attempt or a release is taken up at its end.
    fn advance(&mut self, context: &mut Context<Self>) {
        let settings = self.active.as_ref().or(self.refused.as_ref());
        match &mut self.phase {
            ElectionPhase::Idle(_) if self.is_stepping_down => {
                self.options.succession.forget();
                self.finish(context);
            }
            ElectionPhase::Idle(before) if before.as_ref() != settings => {
                let settings = settings.cloned();
                self.begin(settings, context);
            }
            ElectionPhase::Running { run, attempt: None, .. } => {
                let is_same =
                    settings.is_some_and(|settings| run.settings == *settings || run.adopt(settings));
                if self.is_stepping_down || !is_same {
                    return self.release(context);
                }
                self.attempt_when_due(context);
                self.display();
            }
            ElectionPhase::Running { .. } => self.display(),
            ElectionPhase::Idle(_) | ElectionPhase::Releasing { .. } => {}
        }
    }

    /// Begins what `settings` ask for.
    fn begin(&mut self, settings: Option<LeaderElectionSpec>, context: &mut Context<Self>) {
        let Some(settings) = settings.clone().filter(|settings| settings.enabled) else {
            if settings.is_some() {
                self.options.fence.hold_alone();
            }
            self.phase = ElectionPhase::Idle(settings);
            return self.display();
        };
        let LeaderOptions { client, namespace, identity, succession, .. } = self.options.clone();
        let name = settings.lease_name.as_str().into();
        let lease = LeaseApi { client, namespace, name, identity };
        let watch = Work::follow(context, lease.watch().map(LeaseObserved));
        let before = self.lease_before.replace(settings.lease_name.clone());
        let mut run = Box::new(ElectionRun::new(lease, settings, before.as_deref(), &succession));
        run.election.seen_by_pods(self.seen_by_pods, Instant::now());
        self.phase = ElectionPhase::Running { run, attempt: None, _watch: watch };
        self.advance(context);
    }

    fn attempt_when_due(&mut self, context: &mut Context<Self>) {
        let ElectionPhase::Running { run, attempt, .. } = &mut self.phase else { return };
        match run.election.next(Instant::now()) {
            ElectionAction::Wait(until) => self.alarm.set(until, context, Self::advance),
            ElectionAction::Attempt(permit) => {
                let (began, lease) = (run.election.begin(permit, Instant::now()), run.lease.clone());
                let tried = async move {
                    let response = lease.attempt(&began).await;
                    LeaseAnswered(began, response)
                };
                *attempt = Some(Work::start(context, tried));
            }
        }
    }

    /// Ends the run.
    fn release(&mut self, context: &mut Context<Self>) {
        let ElectionPhase::Running { run, .. } = &mut self.phase else { return };
        let released = run.end();
        self.options.fence.end();
        let released = async move { LeaseReleased { is_released: released.await } };
        self.phase = ElectionPhase::Releasing { _released: Work::start(context, released) };
    }

    fn finish(&mut self, context: &mut Context<Self>) {
        self.options.fence.end();
        self.own.finish(context);
    }

    fn display(&self) {
        let state = match &self.phase {
            ElectionPhase::Running { run, .. } => run.state(),
            ElectionPhase::Idle(settings) => {
                ElectionState { leads: settings.is_some(), ..ElectionState::default() }
            }
            ElectionPhase::Releasing { .. } => return,
        };
        self.own.set_detail(&ElectionState { identity: self.options.identity.to_string(), ..state });
    }
}

impl Actor for LeaderActor {
    type Context = Context<Self>;

    fn started(&mut self, _: &mut Self::Context) {
        self.display();
    }
}

haptic_runtime::rebuilt!(LeaderActor);

impl Handler<ConfigActivated> for LeaderActor {
    type Result = ();

    fn handle(&mut self, active: ConfigActivated, context: &mut Self::Context) {
        self.active = active.as_ref().map(|config| config.spec.controller.leader_election.clone());
        self.advance(context);
    }
}

impl Handler<ConfigValidated> for LeaderActor {
    type Result = ();

    fn handle(&mut self, validated: ConfigValidated, context: &mut Self::Context) {
        self.refused = validated.as_ref().and_then(|verdict| verdict.leader_election.clone());
        self.advance(context);
    }
}

impl Handler<LeadershipSeen> for LeaderActor {
    type Result = ();

    fn handle(&mut self, seen: LeadershipSeen, context: &mut Self::Context) {
        self.seen_by_pods = *seen;
        if let ElectionPhase::Running { run, .. } = &mut self.phase {
            run.election.seen_by_pods(self.seen_by_pods, Instant::now());
            self.advance(context);
        }
    }
}

impl Handler<StepDown> for LeaderActor {
    type Result = ();

    fn handle(&mut self, _: StepDown, context: &mut Self::Context) {
        self.own.received::<StepDown>(context);
        self.is_stepping_down = true;
        self.advance(context);
    }
}

impl Handler<LeaseObserved> for LeaderActor {
    type Result = ();

    fn handle(&mut self, LeaseObserved(observed): LeaseObserved, context: &mut Self::Context) {
        if let ElectionPhase::Running { run, .. } = &mut self.phase {
            run.election.watched(observed, Instant::now());
            self.advance(context);
        }
    }
}

impl Handler<LeaseAnswered> for LeaderActor {
    type Result = ();

    fn handle(&mut self, LeaseAnswered(began, response): LeaseAnswered, context: &mut Self::Context) {
        let LeaderOptions { fence, succession, .. } = &self.options;
        let ElectionPhase::Running { run, attempt, .. } = &mut self.phase else { return };
        *attempt = None;
        // Trouble is an event when it begins, changes and ends, not with every attempt.
        let trouble = response.trouble();
        if run.trouble != trouble {
            fence.emit_trouble(&run.lease.name, trouble.as_deref());
            run.trouble = trouble;
        }
        run.election.concluded(&began, response, Instant::now());
        match run.election.term(Instant::now()) {
            Some(term) => {
                if (Leadership { leads: true, epoch: term.epoch }) != *fence.leadership().latest() {
                    succession.leave(&run.former(term.epoch));
                    if began.permit.count == Some(term.epoch.transitions) {
                        tracing::warn!(
                            lease = %run.lease.name, transitions = term.epoch.transitions,
                            "the Lease counted fewer changes of hands than pods have seen, as after a restore, and now counts on from theirs"
                        );
                    }
                }
                fence.hold(term);
            }
            None => fence.end(),
        }
        self.advance(context);
    }
}

impl Handler<LeaseReleased> for LeaderActor {
    type Result = ();

    fn handle(&mut self, LeaseReleased { is_released }: LeaseReleased, context: &mut Self::Context) {
        if self.is_stepping_down {
            if is_released {
                self.options.succession.forget();
            }
            return self.finish(context);
        }
        let settings = self.active.as_ref().or(self.refused.as_ref()).cloned();
        self.begin(settings, context);
    }
}
