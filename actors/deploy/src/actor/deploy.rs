//! One pod's deployment as an actor: its loop runs in the actor's context, so that a panic in it is the Keeper's.

use super::fleet::FleetArguments;
use crate::deployment::{Deployment, State};
use actix::{Actor, AsyncContext, Context, Handler, Supervised, fut::wrap_future};
use haptic_model::HaproxyPod;
use haptic_runtime::{Look, Seat};
use std::sync::Arc;
use tokio::sync::Notify;

/// Deploys to one pod until it is dismissed.
pub struct DeployActor {
    seat: Seat<Self>,
    pod: HaproxyPod,
    arguments: FleetArguments,
    wake: Arc<Notify>,
}

impl DeployActor {
    pub(super) fn new(seat: Seat<Self>, pod: HaproxyPod, arguments: FleetArguments) -> Self {
        Self { seat, pod, arguments, wake: Arc::default() }
    }

    fn deployment(&self) -> Deployment {
        let (seat, arguments) = (self.seat.clone(), &self.arguments);
        Deployment {
            pod: self.pod.clone(),
            board: arguments.board.clone(),
            plans: arguments.plans.clone(),
            roster: arguments.roster.clone(),
            events: arguments.events.clone(),
            connect: Arc::clone(&arguments.connect),
            wake: Arc::clone(&self.wake),
            show: Box::new(move |state| seat.set_detail(state)),
        }
    }
}

impl Actor for DeployActor {
    type Context = Context<Self>;

    fn started(&mut self, context: &mut Self::Context) {
        context.spawn(wrap_future(self.deployment().run()));
    }

    fn stopped(&mut self, _: &mut Self::Context) {
        self.seat.set_detail(&State::Gone);
    }
}

impl Supervised for DeployActor {
    fn restarting(&mut self, _: &mut Self::Context) {
        *self = self.seat.rebuild();
    }
}

/// Ends a wait: the pod is looked at now.
impl Handler<Look> for DeployActor {
    type Result = ();

    fn handle(&mut self, _: Look, context: &mut Self::Context) {
        self.seat.received::<Look>(context);
        self.wake.notify_one();
    }
}
