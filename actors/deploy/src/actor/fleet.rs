//! Starts a [`DeployActor`] for each discovered pod and ends it when the pod goes. Nobody waits for anybody.

use super::deploy::DeployActor;
use crate::{deployment::Board, planner::PlanCache, roster::Roster, transport::Connect};
use actix::{
    Actor, ActorFutureExt, ArbiterHandle, AsyncContext, Context, Handler, Supervised, fut::wrap_future,
};
use haptic_model::{Event, HaproxyPod};
use haptic_runtime::{ActorSpec, CellReader, Events, Keeper, Kept, Look, Seat, Supervision};
use std::{collections::BTreeMap, sync::Arc};

/// What the fleet's actors share. Cheap to clone.
#[derive(Clone)]
pub struct FleetArguments {
    /// The discovered pods: written by discovery, or once by whoever knows them (`haptic local`).
    pub discovered: CellReader<Vec<HaproxyPod>>,
    /// What is to be deployed, and whether by us.
    pub board: Board,
    /// Where pods' states and the fleet are published.
    pub roster: Roster,
    /// Who hears of it.
    pub events: Events,
    /// Plans, shared by all pods.
    pub plans: PlanCache,
    /// How pods are reached.
    pub connect: Connect,
    /// Where the deployments run.
    pub arbiter: ArbiterHandle,
    /// Who keeps them.
    pub supervision: Supervision,
}

/// Keeps one deployment a pod.
pub struct FleetActor {
    seat: Seat<Self>,
    arguments: FleetArguments,
    crew: Crew,
}

/// The running deployments. They end with it, so that a restarted actor's new ones are the only ones.
#[derive(Default)]
struct Crew(BTreeMap<HaproxyPod, Kept<DeployActor>>);

impl FleetActor {
    /// An actor over `arguments`; for the factory of a Keeper.
    #[must_use]
    pub fn new(seat: Seat<Self>, arguments: FleetArguments) -> Self {
        Self { seat, arguments, crew: Crew::default() }
    }

    /// Makes the crew match the discovered pods.
    fn muster(&mut self) {
        let pods = self.arguments.discovered.read();
        self.arguments.roster.set_pods(&pods);
        self.crew.0.retain(|pod, deployment| {
            let stays = pods.contains(pod);
            if !stays {
                deployment.dismiss();
                self.arguments.events.tell(Event::PodGone { pod: pod.to_string().into() });
            }
            stays
        });
        for pod in pods.iter().filter(|pod| !self.crew.0.contains_key(*pod)).cloned().collect::<Vec<_>>() {
            self.arguments.events.tell(Event::PodDiscovered { pod: pod.to_string().into() });
            let deployment = self.deploy_to(pod.clone());
            self.crew.0.insert(pod, deployment);
        }
        self.seat.set_detail(&self.crew.0.keys().map(ToString::to_string).collect::<Vec<_>>());
    }

    fn deploy_to(&self, pod: HaproxyPod) -> Kept<DeployActor> {
        let arguments = self.arguments.clone();
        let spec = ActorSpec::named(format!("deploy {pod}"));
        Keeper::start(&self.arguments.arbiter, spec, &self.arguments.supervision, move |seat| {
            DeployActor::new(seat, pod.clone(), arguments.clone())
        })
    }

    fn await_change(&self, context: &mut Context<Self>) {
        let mut discovered: CellReader<Vec<HaproxyPod>> = self.arguments.discovered.clone();
        let change = async move {
            discovered.changed().await;
            discovered
        };
        context.spawn(wrap_future(change).map(|seen, actor: &mut Self, context| {
            actor.arguments.discovered = seen;
            actor.muster();
            actor.await_change(context);
        }));
    }
}

impl Actor for FleetActor {
    type Context = Context<Self>;

    fn started(&mut self, context: &mut Self::Context) {
        self.muster();
        self.await_change(context);
    }
}

impl Supervised for FleetActor {
    fn restarting(&mut self, _: &mut Self::Context) {
        *self = self.seat.rebuild();
    }
}

/// Compares the crew with the discovered pods now.
impl Handler<Look> for FleetActor {
    type Result = ();

    fn handle(&mut self, _: Look, context: &mut Self::Context) {
        self.seat.received::<Look>(context);
        self.muster();
    }
}

impl Drop for Crew {
    fn drop(&mut self) {
        self.0.values().for_each(Kept::dismiss);
    }
}

impl FleetArguments {
    /// The arguments of a fleet reached in the ordinary way.
    #[must_use]
    pub fn new(
        discovered: CellReader<Vec<HaproxyPod>>,
        board: Board,
        roster: Roster,
        events: Events,
        arbiter: ArbiterHandle,
        supervision: Supervision,
    ) -> Self {
        let connect: Connect = Arc::new(crate::transport::connect);
        Self { discovered, board, roster, events, plans: PlanCache::new(), connect, arbiter, supervision }
    }
}
