//! The fleet's actors under their supervisor: pods come, go and hang, each without the others noticing.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test"
)]

use futures::FutureExt;
use haptic_deploy::{
    Connect, DeployTopics, FleetActor, FleetArguments, FleetPublishers, PlanCache, PodStates, Transport,
    TransportError,
};
use haptic_model::{
    ActiveConfig, Bundle, BundleFile, Event, FileKey, Fleet, Generation, HaproxyPod, HaproxyVersion,
    Snapshots,
    agent_api::{Apply, Epoch, Outcome, RunningBundle, Runtime, Status},
    pipeline::{Leadership, Rendered, Validated},
};
use haptic_runtime::{ActorHandle, Envelope, Events, Exit, Health, Publisher, Spec, Supervision, topic};
use haptic_text::Text;
use std::{
    rc::Rc,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::SeqCst},
    },
    time::Duration,
};
use tokio::sync::mpsc;

/// Answers at once; on pods named `hangs` never; on pods named `panics` by a panic, once.
struct Double {
    pod: HaproxyPod,
    panicked: Arc<AtomicBool>,
}

impl Transport for Double {
    fn status(&self) -> haptic_deploy::transport::CallFuture<'_, Status> {
        let panics = &*self.pod.name == "panics" && !self.panicked.swap(true, SeqCst);
        async move {
            assert!(!panics, "as the test wants it");
            Ok(Status {
                version: HaproxyVersion::new(3, 4),
                version_text: String::new(),
                running: None,
                exact: true,
                stored: None,
                incarnation: 1,
                setback: None,
                epoch: Epoch::default(),
                worker_pid: 1,
                old_workers: 0,
                reloads: 0,
                alive: true,
                intact: true,
                data_plane_api: None,
            })
        }
        .boxed_local()
    }

    fn running_bundle(&self) -> haptic_deploy::transport::CallFuture<'_, Option<RunningBundle>> {
        async { Ok(Some(RunningBundle::default())) }.boxed_local()
    }

    fn runtime(&self) -> haptic_deploy::transport::CallFuture<'_, Runtime> {
        futures::future::pending().boxed_local()
    }

    fn incarnation(&self, _: u64) -> haptic_deploy::transport::CallFuture<'_, u64> {
        futures::future::pending().boxed_local()
    }

    fn apply(&self, _: Arc<Apply>) -> haptic_deploy::transport::CallFuture<'_, Outcome> {
        let hangs = &*self.pod.name == "hangs";
        async move {
            if hangs {
                futures::future::pending::<()>().await;
            }
            Ok::<_, TransportError>(Outcome::Applied { reloaded: true, worker_pid: 2, log: String::new() })
        }
        .boxed_local()
    }
}

struct Scene {
    discovered: Publisher<Vec<HaproxyPod>>,
    events: mpsc::Receiver<Envelope<Event>>,
    fleet: haptic_runtime::Topic<Fleet>,
    pods: haptic_runtime::Topic<PodStates>,
    health: Health,
    _actor: ActorHandle<FleetActor>,
    _leadership: Publisher<Leadership>,
    _validated: Publisher<Option<Arc<Validated>>>,
    _config: Publisher<Option<Arc<ActiveConfig>>>,
}

fn scene() -> Scene {
    let config = Arc::new(active_config());
    let (leadership, led) = topic(Leadership { leads: true, epoch: Epoch::default() });
    let (validated, newest) = topic(Some(Arc::new(validated(&config))));
    let (config, config_read) = topic(Some(config));
    let publishers = FleetPublishers::default();
    let (pod_states, fleet_read) = (publishers.pods.topic(), publishers.fleet.topic());
    let (discovered, pods) = topic(Vec::new());
    let (events, received) = Events::channel(100);
    let health = Health::new();
    let supervision = Supervision::new(health.clone());
    let arbiter = actix_rt::Arbiter::current();
    let ((_, candidate), (_, refused)) = (topic(None), topic(None));
    let topics = DeployTopics { leadership: led, candidate, validated: newest, refused, config: config_read };
    let panicked = Arc::new(AtomicBool::new(false));
    let connect: Connect = Arc::new(move |pod, _| {
        Ok(Rc::new(Double { pod: pod.clone(), panicked: Arc::clone(&panicked) }) as Rc<dyn Transport>)
    });
    let arguments = FleetArguments {
        topics,
        events,
        plans: PlanCache::new(),
        connect,
        arbiter: arbiter.clone(),
        supervision: supervision.clone(),
    };
    let publishers = Arc::new(publishers);
    let actor = Spec::named("fleet").subscribes(&pods).start(&arbiter, &supervision, move |own| {
        FleetActor::new(own, arguments.clone(), Arc::clone(&publishers))
    });
    Scene {
        discovered,
        events: received,
        fleet: fleet_read,
        pods: pod_states,
        health,
        _actor: actor,
        _leadership: leadership,
        _validated: validated,
        _config: config,
    }
}

/// Has an actor panic.
#[derive(actix::Message)]
#[rtype(result = "()")]
struct Panic;

impl actix::Handler<Panic> for FleetActor {
    type Result = ();

    fn handle(&mut self, _: Panic, _: &mut Self::Context) {
        panic!("as the test wants it");
    }
}

/// Sets `forgot` when states are published that are not `known`.
async fn forgets(
    mut pods: haptic_runtime::Topic<PodStates>,
    known: impl Fn(&PodStates) -> bool,
    forgot: Arc<AtomicBool>,
) {
    loop {
        if !known(&*pods.changed().await) {
            forgot.store(true, SeqCst);
        }
    }
}

impl Scene {
    /// Of the pods whose states are published.
    fn uids(&self) -> Vec<String> {
        self.pods.latest().keys().map(|pod| pod.uid.to_string()).collect()
    }

    /// The next event that `wanted` recognises.
    async fn until<T>(&mut self, mut wanted: impl FnMut(&Event) -> Option<T>) -> T {
        let found = async {
            loop {
                let event = self.events.recv().await.expect("events go on");
                if let Some(found) = wanted(&event.payload) {
                    return found;
                }
            }
        };
        tokio::time::timeout(Duration::from_secs(20), found)
            .await
            .unwrap_or_else(|_| panic!("no such event within 20 s: {:#?}", self.health.actors()))
    }

    async fn deployed_to(&mut self, pod: &str) {
        let pod = format!("n/{pod}");
        self.until(|event| matches!(event, Event::Deployed { pod: to, .. } if **to == *pod).then_some(()))
            .await;
    }

    fn publish(&self, names: &[(&str, &str)]) {
        let pod = |(name, uid): &(&str, &str)| HaproxyPod {
            uid: (*uid).into(),
            ..HaproxyPod::at("n", name, ([10, 0, 0, 1], 5555))
        };
        self.discovered.publish(names.iter().map(pod).collect::<Vec<_>>());
    }
}

fn active_config() -> ActiveConfig {
    let spec = serde_json::json!({"credentialsSecretRef": {"name": "s"}, "podSelector": {"matchLabels": {"a": "b"}}});
    ActiveConfig::of("c", "n", serde_json::from_value(spec).unwrap())
}

fn validated(config: &Arc<ActiveConfig>) -> Validated {
    let bundle = Bundle::new(BundleFile::new(FileKey::config(), "haproxy.cfg", Text::plain("global\n")), []);
    let rendered = Rendered::of(Generation(1), Arc::clone(config), Snapshots::default(), bundle);
    Validated { rendered: Arc::new(rendered), took: Duration::ZERO, warnings: Vec::new() }
}

#[actix_rt::test]
async fn a_pod_that_hangs_delays_no_other_and_goes_when_it_is_deleted() {
    let mut scene = scene();
    scene.publish(&[("hangs", "1"), ("quick", "2")]);
    scene.deployed_to("quick").await;
    scene.publish(&[("late", "3"), ("quick", "2")]);
    let gone = scene.until(|event| match event {
        Event::PodGone { pod } => Some(pod.to_string()),
        _ => None,
    });
    assert_eq!(gone.await, "n/hangs");
    scene.deployed_to("late").await;
    let fleet = scene.fleet.latest();
    assert_eq!(fleet.pods.iter().map(|pod| &*pod.name).collect::<Vec<_>>(), ["late", "quick"]);
    assert_eq!(fleet.versions, [HaproxyVersion::new(3, 4)]);
    let hung = scene.health.actors().into_iter().find(|actor| actor.name == "deploy n/hangs").unwrap();
    assert_eq!(hung.state, haptic_runtime::Lifecycle::Done);
    assert!(scene.health.is_live(), "{:?}", scene.health.why_not_live());
}

#[actix_rt::test]
async fn a_pod_that_comes_back_under_its_name_is_deployed_to_again() {
    let mut scene = scene();
    scene.publish(&[("a", "1")]);
    scene.deployed_to("a").await;
    assert_eq!(scene.uids(), ["1"]);
    scene.publish(&[("a", "2")]);
    scene.until(|event| matches!(event, Event::PodGone { .. }).then_some(())).await;
    scene.deployed_to("a").await;
    assert_eq!(scene.uids(), ["2"]);
}

#[actix_rt::test]
async fn a_fleet_that_panics_goes_on_from_what_it_published() {
    let mut scene = scene();
    scene.publish(&[("a", "1"), ("hangs", "2")]);
    scene.deployed_to("a").await;
    let is_known = |states: &PodStates| states.values().all(|state| state.capabilities.is_some());
    scene.pods.wait_for(|states| states.len() == 2 && is_known(states)).await;
    let (watched, forgot) = (scene.pods.clone(), Arc::new(AtomicBool::new(false)));
    actix_rt::spawn(forgets(watched, is_known, Arc::clone(&forgot)));
    scene._actor.addr().send(Panic).await.unwrap_err();
    scene.deployed_to("a").await;
    assert_eq!(scene._actor.state().restarts, 1);
    assert!(!forgot.load(SeqCst), "a pod was published as one that never answered");
    let deployments = scene.health.actors().into_iter().filter(|actor| actor.name == "deploy n/a");
    let running = deployments.filter(|actor| actor.state != haptic_runtime::Lifecycle::Done);
    assert_eq!(running.count(), 1, "those of the life before have ended");
}

#[actix_rt::test]
async fn a_deployment_that_panics_is_rebuilt_and_converges() {
    let mut scene = scene();
    scene.publish(&[("panics", "1"), ("quick", "2")]);
    let mut waiting = vec!["n/panics", "n/quick"];
    while !waiting.is_empty() {
        let deployed = scene.until(|event| match event {
            Event::Deployed { pod, .. } => Some(pod.to_string()),
            _ => None,
        });
        let deployed = deployed.await;
        waiting.retain(|pod| *pod != deployed);
    }
    let restarted = scene.health.actors().into_iter().find(|actor| actor.name == "deploy n/panics").unwrap();
    assert_eq!(restarted.restarts, 1);
}

#[actix_rt::test]
async fn the_deployments_end_with_the_fleet() {
    let mut scene = scene();
    scene.publish(&[("a", "1")]);
    scene.deployed_to("a").await;
    let actor = scene._actor.clone();
    actor.dismiss();
    assert_eq!(actor.exited().await, Exit::Done);
    let ended = async {
        while scene.health.actors().iter().any(|actor| actor.state != haptic_runtime::Lifecycle::Done) {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), ended).await.expect("all actors end");
}
