//! LeaderActor: runs the campaign in its context, so that a panic in it is the Keeper's.

use crate::{
    Fence,
    campaign::{Campaign, Standing, settings_of},
};
use actix::{fut::wrap_future, prelude::*};
use haptic_model::{ActiveConfig, crd::LeaderElectionSpec};
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
    /// Whose settings count.
    pub config: CellReader<Option<Arc<ActiveConfig>>>,
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
        let (writer, reader) = cell(settings_in(&arguments.config));
        Self { seat, arguments, settings: (Arc::new(writer), reader), stop: cell(false) }
    }

    fn campaign(&self) -> Campaign {
        let (seat, arguments) = (self.seat.clone(), self.arguments.clone());
        Campaign {
            client: arguments.client,
            namespace: arguments.namespace,
            identity: arguments.identity,
            settings: self.settings.1.clone(),
            fence: arguments.fence,
            stop: self.stop.1.clone(),
            show: Arc::new(move |standing: &Standing| seat.set_detail(standing)),
        }
    }
}

fn settings_in(config: &CellReader<Option<Arc<ActiveConfig>>>) -> Option<LeaderElectionSpec> {
    config.read().as_ref().as_ref().map(|config| settings_of(config))
}

/// Whatever else changes in the configuration is no news to an election.
async fn follow(
    mut config: CellReader<Option<Arc<ActiveConfig>>>,
    settings: Arc<CellWriter<Option<LeaderElectionSpec>>>,
) {
    loop {
        settings.publish_if_changed(settings_in(&config));
        config.changed().await;
    }
}

impl Actor for LeaderActor {
    type Context = Context<Self>;

    fn started(&mut self, context: &mut Self::Context) {
        let config = self.arguments.config.clone();
        context.spawn(wrap_future(follow(config, Arc::clone(&self.settings.0))));
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
