//! A fleet of pods with two versions of HAProxy and of its Data Plane API: endpoints and annotations change on all of them without a
//! reload; and whatever has happened, and whoever leads then, a fleet at rest is left alone.

use integration_tests::{
    Failure, Outcome, Scene, backend::Backend, controller::Controller, dice::Dice, ensure, eventually,
    haproxy_pod::HaproxyPod, manifest, program::HaproxySeries,
};
use serde_json::{Map, Value, json};
use std::{
    fs,
    time::{SystemTime, UNIX_EPOCH},
};

const HOST: &str = "shop.example";
/// Each pod is looked at every second in this journey, and so often before it counts as left alone.
const LOOKS: u64 = 3;

pub async fn at_rest(scene: Scene) -> Outcome {
    let mut fleet = Fleet::start(scene.through_data_plane_api()).await?;
    fleet.is_left_alone("the first deployment").await?;

    let before = fleet.workers().await?;
    for _ in 0..3 {
        fleet.change_endpoint().await?;
    }
    fleet.is_left_alone("endpoints that changed").await?;
    fleet.annotate("request-headers", "X-Settled: yes, a=b|c").await?;
    ensure(fleet.workers().await? != before, "a header of an Ingress takes a reload")?;
    fleet.is_left_alone("an annotation that takes a reload").await?;
    let before = fleet.workers().await?;
    fleet.annotate("hsts-max-age", "60").await?;
    fleet.change_endpoint().await?;
    fleet.is_left_alone("an annotation that is data").await?;
    let after = fleet.workers().await?;
    ensure(before == after, format!("data reloaded: it was {before:?} and is {after:?}"))?;

    let blog = fleet.backends[0].name.clone();
    fleet.scene.publish("blog", "blog.example", &fleet.backends[0]).await?;
    fleet.serves("blog.example", &blog).await?;
    fleet.is_left_alone("a new route").await?;
    fleet.scene.delete(&manifest::ingress("blog", "blog.example", "blog")).await?;
    for pod in &fleet.pods {
        pod.answers("blog.example", 404).await?;
    }
    fleet.is_left_alone("a route that went").await?;

    for pod in &mut fleet.pods {
        pod.sidecar()?.restart_api().await?;
    }
    fleet.is_left_alone("APIs that began anew").await?;
    fleet.change_endpoint().await?;
    fleet.kill_leader().await?;
    fleet.is_left_alone("another leader").await?;
    fleet.change_endpoint().await?;
    for controller in std::mem::take(&mut fleet.controllers) {
        controller.kill().await?;
    }
    fleet.begin_controller().await?;
    fleet.is_left_alone("a controller that knows nothing").await?;
    let before = fleet.workers().await?;
    fleet.change_endpoint().await?;
    let after = fleet.workers().await?;
    ensure(before == after, format!("an endpoint reloaded: it was {before:?} and is {after:?}"))?;
    fleet.is_left_alone("its first change").await
}

/// What can happen to a fleet.
#[derive(Clone, Copy, Debug)]
enum Happening {
    Endpoint,
    /// An annotation that is data to HAProxy.
    Data,
    /// One that takes a reload.
    Header,
    Route,
    RouteGone,
    ApiAnew,
    LeaderKilled,
    AllControllersKilled,
}

const HAPPENINGS: [Happening; 8] = [
    Happening::Endpoint,
    Happening::Data,
    Happening::Header,
    Happening::Route,
    Happening::RouteGone,
    Happening::ApiAnew,
    Happening::LeaderKilled,
    Happening::AllControllersKilled,
];

/// Several things happen at once, again and again, as a seed says (`HAPTIC_SEED`); what is left alone stays so.
pub async fn at_rest_after_anything(scene: Scene) -> Outcome {
    const ROUNDS: usize = 5;
    const AT_ONCE: usize = 3;
    let given = std::env::var("HAPTIC_SEED").ok().and_then(|seed| seed.parse().ok());
    let seed = given.unwrap_or(SystemTime::now().duration_since(UNIX_EPOCH)?.as_secs());
    let mut dice = Dice(seed);
    let mut fleet = Fleet::start(scene.through_data_plane_api()).await?;
    let mut history = Vec::new();
    for _ in 0..ROUNDS {
        for _ in 0..=dice.below(AT_ONCE) {
            let happening = dice.pick(&HAPPENINGS).copied().unwrap_or(Happening::Endpoint);
            history.push(happening);
            let told = |failure| Failure::new(format!("HAPTIC_SEED={seed}, {history:?}: {failure}"));
            fleet.meet(happening).await.map_err(told)?;
        }
        fleet.is_left_alone(&format!("HAPTIC_SEED={seed}, {history:?}")).await?;
    }
    let before = fleet.workers().await?;
    fleet.change_endpoint().await?;
    let after = fleet.workers().await?;
    ensure(before == after, format!("HAPTIC_SEED={seed}: an endpoint reloaded: {before:?}, {after:?}"))
}

struct Fleet {
    scene: Scene,
    pods: Vec<HaproxyPod>,
    controllers: Vec<Controller>,
    backends: [Backend; 2],
    annotations: Map<String, Value>,
    changes: usize,
}

impl Fleet {
    async fn start(scene: Scene) -> Outcome<Self> {
        let mut configuration = scene.configuration()?.manifest;
        configuration["spec"]["dataplane"]["driftPreventionInterval"] = json!("1s");
        scene.configure_with(&configuration).await?;
        let backends = [scene.backend("a").await?, scene.backend("b").await?];
        scene.publish("shop", HOST, &backends[0]).await?;
        let pods = vec![scene.pod_of(HaproxySeries::V3_4).await?, scene.pod_of(HaproxySeries::V3_0).await?];
        let mut fleet =
            Self { scene, pods, controllers: Vec::new(), backends, annotations: Map::new(), changes: 0 };
        fleet.begin_controller().await?;
        fleet.begin_controller().await?;
        fleet.serves(HOST, "a").await?;
        Ok(fleet)
    }

    async fn meet(&mut self, happening: Happening) -> Outcome {
        match happening {
            Happening::Endpoint => self.change_endpoint().await,
            Happening::Data => {
                self.changes += 1;
                self.annotate("hsts-max-age", &self.changes.to_string()).await
            }
            Happening::Header => {
                self.changes += 1;
                self.annotate("request-headers", &format!("X-Change: {}", self.changes)).await
            }
            Happening::Route => {
                self.scene.publish("blog", "blog.example", &self.backends[0]).await?;
                self.serves("blog.example", &self.backends[0].name).await
            }
            Happening::RouteGone => {
                // It may never have been there.
                self.scene.publish("blog", "blog.example", &self.backends[0]).await?;
                self.scene.delete(&manifest::ingress("blog", "blog.example", "blog")).await
            }
            Happening::ApiAnew => {
                for pod in &mut self.pods {
                    pod.sidecar()?.restart_api().await?;
                }
                Ok(())
            }
            Happening::LeaderKilled => {
                self.kill_leader().await?;
                self.begin_controller().await
            }
            Happening::AllControllersKilled => {
                for controller in std::mem::take(&mut self.controllers) {
                    controller.kill().await?;
                }
                self.begin_controller().await?;
                self.begin_controller().await
            }
        }
    }

    async fn begin_controller(&mut self) -> Outcome {
        let mut controller = self.scene.controller()?;
        controller.ready().await?;
        self.controllers.push(controller);
        Ok(())
    }

    async fn serves(&self, host: &str, backend: &str) -> Outcome {
        for pod in &self.pods {
            pod.serves(host, backend).await?;
        }
        Ok(())
    }

    async fn change_endpoint(&mut self) -> Outcome {
        self.changes += 1;
        let next = &self.backends[self.changes % 2];
        self.scene.apply(&manifest::endpoints("shop", &[next.address])).await?;
        self.serves(HOST, &next.name).await
    }

    /// Gives the Ingress an annotation beside those that it has, and waits until each pod has something new.
    async fn annotate(&mut self, option: &str, value: &str) -> Outcome {
        let mut before = Vec::new();
        for pod in &self.pods {
            before.push(pod.status().await?["running"]["digest"].clone());
        }
        self.annotations.insert(format!("haproxy-haptic.org/{option}"), json!(value));
        let mut ingress = manifest::ingress("shop", HOST, "shop");
        ingress["metadata"]["annotations"] = Value::Object(self.annotations.clone());
        self.scene.apply(&ingress).await?;
        for (pod, before) in self.pods.iter().zip(before) {
            eventually(format!("{option} has arrived"), async || {
                ensure(pod.status().await?["running"]["digest"] != before, "it has not")
            })
            .await?;
        }
        Ok(())
    }

    /// The position of the one that leads.
    async fn leader(&self) -> Outcome<Option<usize>> {
        for (number, controller) in self.controllers.iter().enumerate() {
            if controller.actor("leader").await?["detail"]["leads"] == true {
                return Ok(Some(number));
            }
        }
        Ok(None)
    }

    async fn kill_leader(&mut self) -> Outcome {
        let leader = self.leader().await?.unwrap_or_default();
        self.controllers.remove(leader).kill().await?;
        let successor = self.controllers.first().ok_or_else(|| Failure::new("nobody is left"))?;
        eventually("the other one leads", async || {
            let detail = successor.actor("leader").await?["detail"].clone();
            ensure(detail["leads"] == true, detail.to_string())
        })
        .await
    }

    async fn workers(&self) -> Outcome<Vec<String>> {
        let mut workers = Vec::new();
        for pod in &self.pods {
            workers.push(format!("{:?}", pod.worker().await?));
        }
        Ok(workers)
    }

    /// What lies on a pod and runs there: each write through the API raises the version.
    async fn on(&self, pod: &HaproxyPod) -> Outcome<(Value, String)> {
        let written = fs::read_to_string(pod.folder().join("haproxy.cfg"))?;
        let version = written.lines().find(|line| line.starts_with("# _version=")).unwrap_or_default();
        Ok((pod.status().await?, version.to_owned()))
    }

    /// After some looks at it each pod is as it was before them, and has what was brought last.
    async fn is_left_alone(&self, after: &str) -> Outcome {
        // Replicas that wait for the Lease look, too: a pod is also left alone while nobody is there to change it.
        eventually(format!("a leader has nothing to do after {after}"), async || {
            let leader = self.leader().await?.and_then(|number| self.controllers.get(number));
            let states = leader.ok_or_else(|| Failure::new("nobody leads"))?.deployments().await?;
            let all = states.len() == self.pods.len() && states.values().all(|state| state == "converged");
            ensure(all, format!("its deployments are {states:?}"))
        })
        .await?;
        for pod in &self.pods {
            // What was under way when this began may end first.
            eventually(format!("nothing comes to a pod at rest after {after}"), async || {
                pod.has_stored_what_it_runs().await?;
                let (before, looks) = (self.on(pod).await?, pod.wire.looks());
                eventually("it is looked at", async || {
                    ensure(pod.wire.looks() >= looks + LOOKS, "it is not")
                })
                .await?;
                let now = self.on(pod).await?;
                ensure(before == now, format!("it was {before:?} and is {now:?}"))
            })
            .await?;
        }
        let drift = "DriftFound";
        let told = self.controllers.iter().any(|controller| controller.printed().contains(drift));
        ensure(!told, format!("something looked like drift after {after}"))
    }
}
