//! Starts a [`DeployActor`] for each discovered pod and ends it when the pod goes. Nobody waits for anybody.

use super::deploy::DeployActor;
use crate::{planner::PlanCache, roster::Roster, transport::Connect};
use actix::{Actor, ArbiterHandle, Context, Handler, Supervised};
use haptic_model::{
    ActiveConfig, Event, HaproxyPod,
    pipeline::{Candidate, Leadership, Refused, Validated},
};
use haptic_runtime::{ActorHandle, Events, OwnHandle, Spec, Supervision, Topic, messages::PodsDiscovered};
use std::{collections::BTreeMap, sync::Arc};

/// What every deployment subscribes to.
#[derive(Clone, Debug)]
pub struct DeployTopics {
    /// Only the leader deploys.
    pub leadership: Topic<Leadership>,
    /// The newest bundle that passed everything but HAProxy's own checker.
    pub candidate: Topic<Option<Arc<Candidate>>>,
    /// The newest bundle that passed all checks.
    pub validated: Topic<Option<Arc<Validated>>>,
    /// The newest bundle that was checked, when it was refused.
    pub refused: Topic<Option<Arc<Refused>>>,
    /// Credentials, intervals and limits.
    pub config: Topic<Option<Arc<ActiveConfig>>>,
}

/// What the fleet's actors share. Cheap to clone.
#[derive(Clone)]
pub struct FleetArguments {
    /// What is to be deployed, and whether by us.
    pub topics: DeployTopics,
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
    own: OwnHandle<Self>,
    arguments: FleetArguments,
    crew: Crew,
}

/// The running deployments. They end with it, so that a restarted actor's new ones are the only ones.
#[derive(Default)]
struct Crew(BTreeMap<HaproxyPod, ActorHandle<DeployActor>>);

impl FleetActor {
    /// An actor over `arguments`; for the factory of a supervisor.
    #[must_use]
    pub fn new(own: OwnHandle<Self>, arguments: FleetArguments) -> Self {
        Self { own, arguments, crew: Crew::default() }
    }

    /// Makes the crew match the discovered pods.
    fn muster(&mut self, pods: &[HaproxyPod]) {
        self.arguments.roster.set_pods(pods);
        self.crew.0.retain(|pod, deployment| {
            let stays = pods.contains(pod);
            if !stays {
                deployment.dismiss();
                self.arguments.events.emit(Event::PodGone { pod: pod.to_string().into() });
            }
            stays
        });
        for pod in pods.iter().filter(|pod| !self.crew.0.contains_key(*pod)).cloned().collect::<Vec<_>>() {
            self.arguments.events.emit(Event::PodDiscovered { pod: pod.to_string().into() });
            let deployment = self.arguments.clone().deploy_to(pod.clone());
            self.crew.0.insert(pod, deployment);
        }
        self.own.set_detail(&self.crew.0.keys().map(ToString::to_string).collect::<Vec<_>>());
    }
}

impl Actor for FleetActor {
    type Context = Context<Self>;
}

impl Supervised for FleetActor {
    fn restarting(&mut self, _: &mut Self::Context) {
        *self = self.own.rebuild();
    }
}

impl Handler<PodsDiscovered> for FleetActor {
    type Result = ();

    fn handle(&mut self, pods: PodsDiscovered, _: &mut Self::Context) {
        self.muster(&pods);
    }
}

impl Drop for Crew {
    fn drop(&mut self) {
        self.0.values().for_each(ActorHandle::dismiss);
    }
}

impl FleetArguments {
    /// Starts the deployment of one pod. The configuration comes last: what there is to deploy is known by then.
    pub(super) fn deploy_to(self, pod: HaproxyPod) -> ActorHandle<DeployActor> {
        let Self { topics, arbiter, supervision, .. } = self.clone();
        Spec::named(deployment_name(&pod))
            .subscribes(&topics.leadership)
            .subscribes(&topics.candidate)
            .subscribes(&topics.validated)
            .subscribes(&topics.refused)
            .subscribes(&topics.config)
            .start(&arbiter, &supervision, move |own| DeployActor::new(own, pod.clone(), &self))
    }
}

/// The name of the actor that deploys to `pod`.
#[must_use]
pub fn deployment_name(pod: &HaproxyPod) -> String {
    format!("deploy {pod}")
}
