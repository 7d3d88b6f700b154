//! Starts a [`DeployActor`] for each discovered pod, ends it when the pod goes, and publishes what all of them learn. Nobody waits for
//! anybody.

use super::deploy::DeployActor;
use crate::{
    deployment::{PodPublishers, RefusedReload},
    planner::PlanCache,
    roster::{PodStates, fleet_of, newest_leadership},
    transport::Connect,
};
use actix::prelude::*;
use futures::{Stream, StreamExt, stream};
use haptic_model::{
    ActiveConfig, Epoch, Event, FailedReloads, Fleet, HaproxyPod,
    pipeline::{Candidate, Leadership, PodState, Refused, Validated},
};
use haptic_runtime::{
    ActorHandle, Events, OwnHandle, Publisher, Spec, Supervision, Topic, Work, messages::PodsDiscovered,
    topic,
};
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

/// What is published of the pods.
#[derive(Debug)]
pub struct FleetPublishers {
    /// What is known of each.
    pub pods: Publisher<PodStates>,
    /// What templates see of them.
    pub fleet: Publisher<Fleet>,
    /// What their reloads find at fault.
    pub failed_reloads: Publisher<FailedReloads>,
    /// The newest leadership that any of them has seen.
    pub led: Publisher<Epoch>,
}

/// Keeps one deployment a pod.
pub struct FleetActor {
    own: OwnHandle<Self>,
    arguments: FleetArguments,
    publishers: Arc<FleetPublishers>,
    crew: Crew,
}

/// The running deployments. They end with it, so that a restarted actor's new ones are the only ones.
#[derive(Default)]
struct Crew(BTreeMap<HaproxyPod, CrewMember>);

/// A running deployment, and what it says of its pod.
struct CrewMember {
    deployment: ActorHandle<DeployActor>,
    state: Topic<PodState>,
    _work: [Work; 2],
}

/// A deployment knows something else of its pod.
#[derive(Message)]
#[rtype(result = "()")]
struct PodStateReported;

/// The HAProxy of a pod refuses to reload.
#[derive(Message)]
#[rtype(result = "()")]
struct ReloadRefused(HaproxyPod, Arc<Option<RefusedReload>>);

impl FleetActor {
    /// An actor over `arguments`; for the factory of a supervisor.
    #[must_use]
    pub fn new(own: OwnHandle<Self>, arguments: FleetArguments, publishers: Arc<FleetPublishers>) -> Self {
        Self { own, arguments, publishers, crew: Crew::default() }
    }

    /// Makes the crew match the discovered pods.
    fn muster(&mut self, pods: &[HaproxyPod], context: &mut Context<Self>) {
        self.crew.0.retain(|pod, member| {
            let stays = pods.contains(pod);
            if !stays {
                member.deployment.dismiss();
                self.arguments.events.emit(Event::PodGone { pod: pod.to_string().into() });
            }
            stays
        });
        for pod in pods.iter().filter(|pod| !self.crew.0.contains_key(*pod)).cloned().collect::<Vec<_>>() {
            self.arguments.events.emit(Event::PodDiscovered { pod: pod.to_string().into() });
            let member = self.recruit(&pod, context);
            self.crew.0.insert(pod, member);
        }
        self.publish_states();
        self.own.set_detail(&self.crew.0.keys().map(ToString::to_string).collect::<Vec<_>>());
    }

    /// Starts the deployment to `pod`, and listens to it. It goes on from what a former life of this actor published.
    fn recruit(&self, pod: &HaproxyPod, context: &mut Context<Self>) -> CrewMember {
        let known = self.publishers.pods.latest().get(pod).cloned().unwrap_or_default();
        let ((state, states), (refused_reload, refused_reloads)) = (topic(known), topic(None));
        let reported = Work::follow(context, changes(states.clone()).map(|_| PodStateReported));
        let from = pod.clone();
        let refused = changes(refused_reloads).map(move |refused| ReloadRefused(from.clone(), refused));
        let refused = Work::follow(context, refused);
        let publishers = PodPublishers { state, refused_reload };
        let deployment = self.arguments.clone().deploy_to(pod.clone(), publishers);
        CrewMember { deployment, state: states, _work: [reported, refused] }
    }

    /// What each deployment says now, though its message may still be on its way.
    fn states(&self) -> PodStates {
        let said = |(pod, member): (&HaproxyPod, &CrewMember)| {
            (pod.clone(), PodState::clone(&member.state.latest()))
        };
        self.crew.0.iter().map(said).collect()
    }

    fn publish_states(&self) {
        let states = self.states();
        let (fleet, led) = (fleet_of(&states), newest_leadership(&states));
        self.publishers.pods.publish(states);
        self.publishers.fleet.publish_if_changed(fleet);
        self.publishers.led.publish_if_changed(led);
    }
}

haptic_runtime::supervised!(FleetActor);

impl Handler<PodsDiscovered> for FleetActor {
    type Result = ();

    fn handle(&mut self, pods: PodsDiscovered, context: &mut Self::Context) {
        self.muster(&pods, context);
    }
}

impl Handler<PodStateReported> for FleetActor {
    type Result = ();

    fn handle(&mut self, _: PodStateReported, _: &mut Self::Context) {
        self.publish_states();
    }
}

impl Handler<ReloadRefused> for FleetActor {
    type Result = ();

    fn handle(&mut self, ReloadRefused(pod, refused): ReloadRefused, _: &mut Self::Context) {
        if let Some(refused) = &*refused
            && refused.counts(&pod, &self.states())
        {
            self.publishers.failed_reloads.update(|failed| failed.with(refused.report.clone()));
        }
    }
}

impl Default for FleetPublishers {
    /// Those of a fleet without pods.
    fn default() -> Self {
        let (pods, fleet) = (topic(PodStates::new()).0, topic(Fleet::default()).0);
        let (failed_reloads, led) = (topic(FailedReloads::default()).0, topic(Epoch::default()).0);
        Self { pods, fleet, failed_reloads, led }
    }
}

impl Drop for Crew {
    fn drop(&mut self) {
        self.0.values().for_each(|member| member.deployment.dismiss());
    }
}

impl FleetArguments {
    /// Starts the deployment of one pod. The configuration comes last: what there is to deploy is known by then.
    pub(super) fn deploy_to(self, pod: HaproxyPod, publishers: PodPublishers) -> ActorHandle<DeployActor> {
        let Self { topics, arbiter, supervision, .. } = self.clone();
        let publishers = Arc::new(publishers);
        Spec::named(deployment_name(&pod))
            .subscribes(&topics.leadership)
            .subscribes(&topics.candidate)
            .subscribes(&topics.validated)
            .subscribes(&topics.refused)
            .subscribes(&topics.config)
            .start(&arbiter, &supervision, move |own| {
                DeployActor::new(own, pod.clone(), &self, Arc::clone(&publishers))
            })
    }
}

/// Each message of `topic` from now on; of those that come while nobody takes them, the newest.
fn changes<M: Send + Sync + 'static>(topic: Topic<M>) -> impl Stream<Item = Arc<M>> {
    stream::unfold(topic, |mut topic| async { Some((topic.changed().await, topic)) })
}

/// The name of the actor that deploys to `pod`.
#[must_use]
pub fn deployment_name(pod: &HaproxyPod) -> String {
    format!("deploy {pod}")
}
