//! ConfigActor: observes a source, asks the validators, publishes what passed.

pub mod activation;

use crate::{
    candidate::ConfigCandidate,
    intake::{ConfigState, Intake, IntakeStep, ObservedConfig, SourceState},
    source::ConfigSource,
    validators::{self, Validator, ValidatorResponses},
};
use actix::prelude::*;
use futures::FutureExt;
use haptic_model::{
    Event, Remarks,
    config::Credentials,
    config::{AcceptedConfig, ConfigVerdict},
};
use haptic_runtime::{Envelope, Events, OwnHandle, Publisher, Topic, deliver, topic};
use std::{sync::Arc, time::Duration};
use tokio::task::{AbortHandle, JoinHandle};

/// The source sees something else.
type ConfigObserved = Envelope<SourceState>;

/// The task that observes the source has ended, which it never should.
#[derive(Message)]
#[rtype(result = "()")]
struct ObservingEnded;

/// Validators have answered, or had the time to.
#[derive(Message)]
#[rtype(result = "()")]
struct ValidatorsAnswered {
    candidate: ConfigCandidate,
    credentials: Credentials,
    answers: ValidatorResponses,
}

/// Validators that did not answer are to be asked again.
#[derive(Message)]
#[rtype(result = "()")]
struct AskAgain;

/// What a [`ConfigActor`] is built from; the same for each of its lives.
#[derive(Clone, Debug)]
pub struct ConfigOptions {
    /// Where the configuration comes from.
    pub source: ConfigSource,
    /// Who is asked before a configuration comes into force.
    pub validators: Vec<Validator>,
    /// The configuration in force; `None` at first.
    pub accepted: Arc<Publisher<Option<AcceptedConfig>>>,
    /// How the configuration is.
    pub state: Arc<Publisher<ConfigState>>,
    /// The verdict on the newest configuration; `None` at first.
    pub config_verdict: Arc<Publisher<Option<ConfigVerdict>>>,
    /// What the resource says beside its spec.
    pub remarks: Arc<Publisher<Remarks>>,
    /// Who is told.
    pub events: Events,
}

/// When validators that did not answer are asked again.
const ASKED_AGAIN_AFTER: Duration = Duration::from_secs(5);

/// Publishes the newest valid configuration.
pub struct ConfigActor {
    own: OwnHandle<Self>,
    options: ConfigOptions,
    intake: Intake,
    observed: Topic<SourceState>,
    observing: Option<JoinHandle<()>>,
    _pump: SourcePump,
}

/// The task that observes; ends with the actor's life.
struct SourcePump(AbortHandle);

impl ConfigActor {
    /// An actor that observes from the moment it is built. Call it within a tokio runtime.
    #[must_use]
    pub fn new(own: OwnHandle<Self>, options: ConfigOptions) -> Self {
        let (seen, observed) = topic(SourceState::default());
        let pump = tokio::spawn(options.source.clone().observe(Arc::new(seen)));
        let accepted = options.accepted.latest().as_ref().as_ref().map(|config| config.0.clone());
        let uid = options.config_verdict.latest().as_ref().as_ref().and_then(|verdict| verdict.uid.clone());
        let intake = Intake::new(options.source.wanted(), accepted).of_resource(uid);
        let ends_with_us = SourcePump(pump.abort_handle());
        Self { own, intake, observed, observing: Some(pump), _pump: ends_with_us, options }
    }

    fn refresh(&mut self, context: &mut Context<Self>) {
        if let ObservedConfig::Found(candidate) = &self.observed.latest().config {
            self.options.remarks.publish_if_changed(candidate.remarks.clone());
        }
        if let Some(event) = self.intake.look_at_credentials(&self.observed.latest()) {
            self.options.events.emit(event);
            self.publish_state();
        }
        match self.intake.next_step(&self.observed.latest()) {
            IntakeStep::Nothing => {}
            IntakeStep::Declare(state) => {
                if let Some(event) = self.intake.declared(state, &self.observed.latest()) {
                    self.options.events.emit(event);
                }
                self.publish_state();
            }
            IntakeStep::Validate(candidate, credentials) => self.validate(*candidate, credentials, context),
        }
    }

    /// Nothing else is handled meanwhile; what the source sees by then is looked at afterwards.
    fn validate(
        &mut self,
        candidate: ConfigCandidate,
        credentials: Credentials,
        context: &mut Context<Self>,
    ) {
        let asked = self.options.validators.clone();
        let answered = async move {
            let answers = validators::scatter_gather(&asked, &candidate.spec, validators::TIME_LIMIT).await;
            ValidatorsAnswered { candidate, credentials, answers }
        };
        let answered = answered.into_actor(self);
        context.wait(answered.map(|answered, actor, context| actor.handle(answered, context)));
    }

    fn publish_state(&self) {
        self.options.config_verdict.publish_if_changed(self.intake.judgement().cloned());
        let is_new = self.options.state.publish_if_changed(self.intake.state().clone());
        // A controller that waits says for what: nothing else would be in its log. A refused configuration is an event of its own.
        if let (true, ConfigState::Waiting(what)) = (is_new, self.intake.state()) {
            let is_wrong = self.observed.latest().is_wrong();
            self.options.events.emit(Event::Awaited { what: what.clone(), is_wrong });
        }
        self.own.set_detail(&format!("{:?}", self.intake.state()));
    }
}

impl Actor for ConfigActor {
    type Context = Context<Self>;

    fn started(&mut self, context: &mut Self::Context) {
        let observed = self.observed.clone();
        context.add_message_stream(futures::stream::unfold(observed, |mut observed| async {
            Some((ConfigObserved::new(observed.changed().await), observed))
        }));
        if let Some(observing) = self.observing.take() {
            deliver(context, observing.map(|_| ObservingEnded));
        }
        self.publish_state();
        self.refresh(context);
    }
}

haptic_runtime::rebuilt!(ConfigActor);

impl Handler<ConfigObserved> for ConfigActor {
    type Result = ();

    fn handle(&mut self, _: ConfigObserved, context: &mut Self::Context) {
        self.own.received::<ConfigObserved>(context);
        self.refresh(context);
    }
}

impl Handler<ObservingEnded> for ConfigActor {
    type Result = ();

    fn handle(&mut self, _: ObservingEnded, context: &mut Self::Context) {
        tracing::error!("the task that observes the configuration ended; starting over");
        context.stop();
    }
}

impl Handler<ValidatorsAnswered> for ConfigActor {
    type Result = ();

    fn handle(&mut self, answered: ValidatorsAnswered, context: &mut Self::Context) {
        let ValidatorsAnswered { candidate, credentials, answers } = answered;
        let is_complete = answers.is_complete();
        let (accepted, events) = self.intake.validated(candidate, &credentials, answers);
        if let Some(accepted) = accepted {
            self.options.accepted.publish(Some(AcceptedConfig(accepted)));
        }
        self.publish_state();
        for event in events {
            self.options.events.emit(event);
        }
        if is_complete {
            self.refresh(context);
        } else {
            context.notify_later(AskAgain, ASKED_AGAIN_AFTER);
        }
    }
}

impl Handler<AskAgain> for ConfigActor {
    type Result = ();

    fn handle(&mut self, _: AskAgain, context: &mut Self::Context) {
        self.refresh(context);
    }
}

impl Drop for SourcePump {
    fn drop(&mut self) {
        self.0.abort();
    }
}
