//! Several replicas: one leads, the others are ready to. Whatever happens to the leader, requests are answered, and what
//! changes is deployed once.

use integration_tests::{
    Failure, Outcome, Scene, backend::Backend, controller::Controller, ensure, eventually, eventually_within,
    haproxy_pod::HaproxyPod, manifest,
};
use serde_json::{Value, json};
use std::time::Duration;
use tokio::time::{Instant, sleep};

pub(crate) const HOST: &str = "shop.example";
/// The journeys' configuration says so, see `Configuration`.
const LEASE: Duration = Duration::from_secs(3);

/// What a loaded machine may add to a time that is promised.
const SLACK: Duration = Duration::from_secs(4);
/// A change after a promotion is live.
const FIRST_CHANGE: Duration = Duration::from_secs(1);
/// Another one leads after the one that did was asked to end.
const HANDED_OVER: Duration = Duration::from_secs(2);
/// Another one leads after the one that did was killed: its lease, and then a little.
const TAKEN_OVER: Duration = LEASE.saturating_add(Duration::from_secs(2));
/// After an outage of the API server.
const BACK_IN_SYNC: Duration = Duration::from_secs(5);

/// Replicas that serve one pod.
pub(crate) struct Replicas {
    pub(crate) scene: Scene,
    pub(crate) pod: HaproxyPod,
    pub(crate) backends: [Backend; 2],
    pub(crate) running: Vec<Controller>,
    changes: usize,
}

pub async fn killed_again_and_again(scene: Scene) -> Outcome {
    let mut replicas = Replicas::start(scene, 3).await?;
    let traffic = replicas.pod.traffic(HOST);
    let before = replicas.pod.worker().await?;
    for _ in 0..integration_tests::soaking(5, 20) {
        let leader = replicas.leader().await?;
        let pushes = replicas.pod.wire.pushes();
        replicas.running.remove(leader).kill().await?;
        let killed = Instant::now();
        replicas.leader().await?;
        in_time("a killed leader is followed", killed, TAKEN_OVER)?;
        ensure(replicas.pod.wire.pushes() == pushes, "the new leader pushed what the pod runs already")?;
        let leads = Instant::now();
        replicas.change().await?;
        in_time("the first change after a promotion is live and stored", leads, FIRST_CHANGE)?;
        let mut successor = replicas.scene.controller()?;
        successor.ready().await?;
        replicas.running.push(successor);
    }
    let after = replicas.pod.worker().await?;
    ensure(before == after, format!("HAProxy reloaded: pid and reloads were {before:?} and are {after:?}"))?;
    traffic.finish_without_loss().await.map(drop)
}

/// With the default times, so that the next one leads long before the lease would be over.
pub async fn hands_over_when_asked_to_end(scene: Scene) -> Outcome {
    let mut configuration = scene.configuration()?;
    configuration.manifest["spec"]["controller"] = json!({});
    let mut replicas = Replicas::start_with(scene, 2, &configuration.manifest).await?;
    let traffic = replicas.pod.traffic(HOST);
    let leader = replicas.leader().await?;
    // Until its files are stored, too: that would be left to the new leader.
    replicas.change().await?;
    let pushes = replicas.pod.wire.pushes();
    let asked = Instant::now();
    let (old, _) =
        tokio::join!(replicas.running.remove(leader).terminate(), async { replicas.leader().await });
    old?;
    in_time("the lease of 15 s is released and taken", asked, HANDED_OVER)?;
    ensure(replicas.pod.wire.pushes() == pushes, "the new leader pushed what the pod runs already")?;
    replicas.change().await?;
    traffic.finish_without_loss().await.map(drop)
}

/// It comes back in the belief that it leads, and must not.
pub async fn frozen_for_longer_than_its_lease(scene: Scene) -> Outcome {
    let mut replicas = Replicas::start(scene, 2).await?;
    let traffic = replicas.pod.traffic(HOST);
    let leader = replicas.leader().await?;
    let before = replicas.pod.epoch().await?;
    let frozen = replicas.running.remove(leader);
    frozen.pause()?;
    replicas.leader().await?;
    replicas.change().await?;
    let epoch = replicas.pod.epoch().await?;
    ensure(epoch > before, format!("the epoch was {before:?} and is {epoch:?}"))?;
    frozen.resume()?;
    frozen.says("does not lead").await?;
    replicas.change().await?;
    replicas.running.push(frozen);
    replicas.leader().await?;
    ensure(replicas.pod.epoch().await? == epoch, "another leadership came between")?;
    traffic.finish_without_loss().await.map(drop)
}

pub async fn api_server_away(scene: Scene) -> Outcome {
    let scene = scene.on_own_cluster().await?;
    let mut replicas = Replicas::start(scene, 2).await?;
    let traffic = replicas.pod.traffic(HOST);
    replicas.scene.cluster.stop_api_server().await?;
    eventually("nobody leads without an API server", async || {
        let leading = replicas.leading().await?;
        ensure(leading.is_empty(), format!("replica {leading:?} leads"))
    })
    .await?;
    sleep(Duration::from_secs(integration_tests::soaking(5, 120))).await;
    replicas.scene.cluster.start_api_server().await?;
    let back = Instant::now();
    replicas.leader().await?;
    replicas.change().await?;
    in_time("a replica leads and a change is live after the outage", back, BACK_IN_SYNC)?;
    for replica in &mut replicas.running {
        replica.ready().await?;
    }
    traffic.finish_without_loss().await.map(drop)
}

pub async fn lease_deleted(scene: Scene) -> Outcome {
    let mut replicas = Replicas::start(scene, 2).await?;
    let leader = replicas.leader().await?;
    replicas.change().await?;
    replicas.standby_says_nothing_false(1 - leader).await?;
    let mut before = replicas.pod.epoch().await?;
    for _ in 0..3 {
        // The epochs of two Leases made within one second are told apart by their transitions alone.
        replicas.scene.delete(&lease()).await?;
        eventually("there is a Lease again", async || {
            replicas.scene.cluster.get(&replicas.scene.namespace, &lease()).await.map(drop)
        })
        .await?;
        replicas.change().await?;
        let epoch = replicas.pod.epoch().await?;
        ensure(epoch > before, format!("the epoch was {before:?} and is {epoch:?}"))?;
        before = epoch;
    }
    ensure(replicas.leader().await? == leader, "the leader made its Lease anew")
}

pub async fn election_turned_off_and_on(scene: Scene) -> Outcome {
    let mut replicas = Replicas::start(scene, 1).await?;
    for enabled in [false, true] {
        let mut manifest = replicas.scene.configuration()?.manifest;
        manifest["spec"]["controller"]["leaderElection"]["enabled"] = json!(enabled);
        replicas.scene.apply(&manifest).await?;
        eventually("the election is as configured", async || {
            let has_lease = replicas.running[0].actor("leader").await?["detail"]["lease"].is_string();
            ensure(has_lease == enabled, "it is not")
        })
        .await?;
        replicas.leader().await?;
        replicas.change().await?;
    }
    Ok(())
}

fn in_time(what: &str, since: Instant, promised: Duration) -> Outcome {
    let took = since.elapsed();
    ensure(took < promised + SLACK, format!("{what}: promised within {promised:?}, it took {took:?}"))
}

fn lease() -> Value {
    json!({ "apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": { "name": "haptic-leader" } })
}

impl Replicas {
    pub(crate) async fn start(scene: Scene, count: usize) -> Outcome<Self> {
        let configuration = scene.configuration()?;
        Self::start_with(scene, count, &configuration.manifest).await
    }

    async fn start_with(scene: Scene, count: usize, configuration: &Value) -> Outcome<Self> {
        scene.configure_with(configuration).await?;
        let pod = scene.pod().await?;
        let mut running = Vec::new();
        for _ in 0..count {
            running.push(scene.controller()?);
        }
        for replica in &mut running {
            replica.ready().await?;
        }
        let backends = [scene.backend("a").await?, scene.backend("b").await?];
        scene.publish("shop", HOST, &backends[0]).await?;
        pod.serves(HOST, "a").await?;
        pod.has_stored_what_it_runs().await?;
        Ok(Self { scene, pod, backends, running, changes: 0 })
    }

    /// Those who say that they lead.
    async fn leading(&self) -> Outcome<Vec<usize>> {
        let mut leading = Vec::new();
        for (number, replica) in self.running.iter().enumerate() {
            if replica.actor("leader").await?["detail"]["leads"] == true {
                leading.push(number);
            }
        }
        Ok(leading)
    }

    /// The one who leads, when there is one.
    pub(crate) async fn leader(&self) -> Outcome<usize> {
        eventually_within(LEASE * 10, "one replica leads", async || match self.leading().await?[..] {
            [leader] => Ok(leader),
            ref others => Err(Failure::new(format!("{others:?} lead"))),
        })
        .await
    }

    /// The Service gets another endpoint; gives the name of the backend that it will be served by.
    pub(crate) async fn begin_change(&mut self) -> Outcome<String> {
        self.changes += 1;
        let next = &self.backends[self.changes % 2];
        self.scene.apply(&manifest::endpoints("shop", &[next.address])).await?;
        Ok(next.name.clone())
    }

    /// The Service gets another endpoint, and its requests go there.
    pub(crate) async fn change(&mut self) -> Outcome {
        let next = self.begin_change().await?;
        self.pod.serves(HOST, &next).await?;
        // Until then a successor rightly pushes: it has the checked files stored.
        self.pod.has_stored_what_it_runs().await
    }

    /// It read the pods before the newest change, and does not take that for what they run now.
    async fn standby_says_nothing_false(&self, standby: usize) -> Outcome {
        let (code, told) = self.running[standby].status().await?;
        let says =
            ["stands by", "ask the one that leads", "holds Lease"].iter().all(|said| told.contains(said));
        let is_behind = told.contains("pod behind") || told.contains("pod not deployed");
        ensure(
            code == Some(0) && says && !is_behind,
            format!("a standby's status, exit code {code:?}: {told}"),
        )
    }

    /// The backend that requests go to, or will.
    pub(crate) fn current(&self) -> &str {
        &self.backends[self.changes % 2].name
    }

    /// The leader is killed; another one leads, and there are as many replicas as before.
    pub(crate) async fn killed_leader(&mut self) -> Outcome {
        let leader = self.leader().await?;
        self.running.remove(leader).kill().await?;
        let mut successor = self.scene.controller()?;
        self.leader().await?;
        successor.ready().await?;
        self.running.push(successor);
        Ok(())
    }

    /// What runs is stored, and the next change is as quick as ever.
    pub(crate) async fn settled(&mut self) -> Outcome {
        self.pod.has_stored_what_it_runs().await?;
        self.change().await
    }
}
