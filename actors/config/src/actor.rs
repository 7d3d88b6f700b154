//! ConfigActor: observes a source, asks the validators, puts what passed on the board.

use crate::{
    candidate::Candidate,
    intake::{ConfigState, Intake, Observation, ObservedConfig, Step},
    source::Source,
    validators::{self, Validator},
};
use actix::prelude::*;
use haptic_model::{ActiveConfig, Remarks, config::Judgement, secret::Credentials};
use haptic_runtime::{CellReader, CellWriter, Events, Look, Seat, cell};
use std::{sync::Arc, time::Duration};
use tokio::task::{AbortHandle, JoinHandle};

/// What a [`ConfigActor`] is built from; the same for each of its lives.
#[derive(Clone, Debug)]
pub struct ConfigOptions {
    /// Where the configuration comes from.
    pub source: Source,
    /// Who is asked before a configuration comes into force.
    pub validators: Vec<Validator>,
    /// The configuration in force; `None` at first.
    pub active: Arc<CellWriter<Option<Arc<ActiveConfig>>>>,
    /// How the configuration is.
    pub state: Arc<CellWriter<ConfigState>>,
    /// The verdict on the newest configuration; `None` at first.
    pub judged: Arc<CellWriter<Option<Judgement>>>,
    /// What the resource says beside its spec.
    pub remarks: Arc<CellWriter<Remarks>>,
    /// Who is told.
    pub events: Events,
}

/// When validators that did not answer are asked again.
const ASKED_AGAIN_AFTER: Duration = Duration::from_secs(5);

/// Keeps the board's configuration the newest valid one.
pub struct ConfigActor {
    seat: Seat<Self>,
    options: ConfigOptions,
    intake: Intake,
    observed: CellReader<Observation>,
    observing: Option<JoinHandle<()>>,
    _pump: Pump,
}

/// The task that observes; ends with the actor's life.
struct Pump(AbortHandle);

impl ConfigActor {
    /// An actor that observes from the moment it is built. Call it within a tokio runtime.
    #[must_use]
    pub fn new(seat: Seat<Self>, options: ConfigOptions) -> Self {
        let (seen, observed) = cell(Observation::default());
        let pump = tokio::spawn(options.source.clone().observe(Arc::new(seen)));
        let active = (*options.active.read()).clone();
        let intake = Intake::new(options.source.wanted(), active);
        let ends_with_us = Pump(pump.abort_handle());
        Self { seat, intake, observed, observing: Some(pump), _pump: ends_with_us, options }
    }

    fn look(&mut self, context: &mut Context<Self>) {
        if let ObservedConfig::Found(candidate) = &self.observed.read().config {
            self.options.remarks.publish_if_changed(candidate.remarks.clone());
        }
        if let Some(event) = self.intake.look_at_credentials(&self.observed.read()) {
            self.options.events.tell(event);
            self.publish_state();
        }
        match self.intake.look(&self.observed.read()) {
            Step::Nothing => {}
            Step::Declare(state) => {
                if let Some(event) = self.intake.declared(state, &self.observed.read()) {
                    self.options.events.tell(event);
                }
                self.publish_state();
            }
            Step::Validate(candidate, credentials) => self.validate(candidate, credentials, context),
        }
    }

    /// Nothing else is handled meanwhile; what the source sees by then is looked at afterwards.
    fn validate(&mut self, candidate: Candidate, credentials: Credentials, context: &mut Context<Self>) {
        let (asked, spec) = (self.options.validators.clone(), candidate.spec.clone());
        let answers = async move { validators::scatter_gather(&asked, &spec, validators::TIME_LIMIT).await };
        context.wait(answers.into_actor(self).map(move |answers, actor, context| {
            let is_complete = answers.is_complete();
            let (active, events) = actor.intake.judged(candidate, &credentials, answers);
            if let Some(active) = active {
                actor.options.active.publish(Some(active));
            }
            actor.publish_state();
            for event in events {
                actor.options.events.tell(event);
            }
            if is_complete {
                actor.look(context);
            } else {
                context.run_later(ASKED_AGAIN_AFTER, Self::look);
            }
        }));
    }

    fn publish_state(&self) {
        self.options.judged.publish_if_changed(self.intake.judgement().cloned());
        self.options.state.publish_if_changed(self.intake.state().clone());
        self.seat.set_detail(&format!("{:?}", self.intake.state()));
    }
}

impl Actor for ConfigActor {
    type Context = Context<Self>;

    fn started(&mut self, context: &mut Self::Context) {
        let observed = self.observed.clone();
        context.add_message_stream(futures::stream::unfold(observed, |mut observed| async {
            observed.changed().await;
            Some((Look, observed))
        }));
        if let Some(observing) = self.observing.take() {
            context.spawn(observing.into_actor(self).map(|_, _, context| {
                tracing::error!("the task that observes the configuration ended; starting over");
                context.stop();
            }));
        }
        self.publish_state();
        self.look(context);
    }
}

impl Supervised for ConfigActor {
    fn restarting(&mut self, _: &mut Self::Context) {
        *self = self.seat.rebuild();
    }
}

impl Handler<Look> for ConfigActor {
    type Result = ();

    fn handle(&mut self, _: Look, context: &mut Self::Context) {
        self.seat.received::<Look>(context);
        self.look(context);
    }
}

impl Drop for Pump {
    fn drop(&mut self) {
        self.0.abort();
    }
}
