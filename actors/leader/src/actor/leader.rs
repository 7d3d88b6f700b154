//! LeaderActor: runs the campaign in its context, so that a panic in it is the Keeper's.

use crate::{
    Fence, Succession,
    campaign::{Campaign, Standing, settings_of},
};
use actix::{fut::wrap_future, prelude::*};
use haptic_model::{ActiveConfig, config::Judgement, crd::LeaderElectionSpec};
use haptic_runtime::{CellReader, CellWriter, Seat, cell};
use std::sync::Arc;

/// What a [`LeaderActor`] is built from; the same for each of its lives.
#[derive(Clone)]
pub struct LeaderArguments {
    /// The API server.
    pub client: kube::Client,
    /// Where the Lease is.
    pub namespace: Arc<str>,
    /// Under which name this process stands in it.
    pub identity: Arc<str>,
    /// What a process of this pod left that died, and this one leaves.
    pub succession: Arc<Succession>,
    /// Whose settings count.
    pub config: CellReader<Option<Arc<ActiveConfig>>>,
    /// Whose settings count as long as no configuration was valid: somebody has to say that it is not.
    pub judged: CellReader<Option<Judgement>>,
    /// Who is told whether we lead.
    pub fence: Fence,
}

/// Takes part in the election until it is told to step down.
pub struct LeaderActor {
    seat: Seat<Self>,
    arguments: LeaderArguments,
    settings: (Arc<CellWriter<Option<LeaderElectionSpec>>>, CellReader<Option<LeaderElectionSpec>>),
    stop: (CellWriter<bool>, CellReader<bool>),
}

/// Ends the actor, with the Lease released. [`haptic_runtime::Kept::exited`] tells when it is.
#[derive(Clone, Copy, Debug)]
pub struct StepDown;

impl Message for StepDown {
    type Result = ();
}

impl LeaderActor {
    /// An actor that begins when it is started.
    #[must_use]
    pub fn new(seat: Seat<Self>, arguments: LeaderArguments) -> Self {
        let (writer, reader) = cell(arguments.settings());
        Self { seat, arguments, settings: (Arc::new(writer), reader), stop: cell(false) }
    }

    fn campaign(&self) -> Campaign {
        let (seat, arguments) = (self.seat.clone(), self.arguments.clone());
        Campaign {
            client: arguments.client,
            namespace: arguments.namespace,
            identity: arguments.identity,
            succession: arguments.succession,
            settings: self.settings.1.clone(),
            fence: arguments.fence,
            stop: self.stop.1.clone(),
            show: Arc::new(move |standing: &Standing| seat.set_detail(standing)),
        }
    }
}

impl LeaderArguments {
    fn settings(&self) -> Option<LeaderElectionSpec> {
        let refused = || self.judged.read().as_ref().as_ref()?.leader_election.clone();
        self.config.read().as_ref().as_deref().map(settings_of).or_else(refused)
    }
}

/// Whatever else changes in the configuration is no news to an election.
async fn follow(mut arguments: LeaderArguments, settings: Arc<CellWriter<Option<LeaderElectionSpec>>>) {
    loop {
        settings.publish_if_changed(arguments.settings());
        tokio::select! {
            _ = arguments.config.changed() => {}
            _ = arguments.judged.changed() => {}
        }
    }
}

impl Actor for LeaderActor {
    type Context = Context<Self>;

    fn started(&mut self, context: &mut Self::Context) {
        context.spawn(wrap_future(follow(self.arguments.clone(), Arc::clone(&self.settings.0))));
        let campaign = wrap_future::<_, Self>(self.campaign().run());
        context.spawn(campaign.map(|(), actor, context| actor.seat.finish(context)));
    }
}

impl Supervised for LeaderActor {
    fn restarting(&mut self, _: &mut Self::Context) {
        *self = self.seat.rebuild();
    }
}

impl Handler<StepDown> for LeaderActor {
    type Result = ();

    fn handle(&mut self, _: StepDown, context: &mut Self::Context) {
        self.seat.received::<StepDown>(context);
        self.stop.0.publish(true);
    }
}
