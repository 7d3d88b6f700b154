//! Several replicas: one leads, the others are ready to. Whatever happens to the leader, requests are answered, and what
//! changes is deployed once.

use integration_tests::{
    Failure, Outcome, Scene, backend::Backend, controller::Controller, ensure, eventually,
    haproxy_pod::HaproxyPod, manifest,
};
use serde_json::{Value, json};
use std::{fs, time::Duration};
use tokio::time::sleep;

pub(crate) const HOST: &str = "shop.example";

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
        replicas.all_have_checked_what_runs().await?;
        let leader = replicas.leader().await?;
        let pushes = replicas.pod.wire.pushes();
        replicas.running.remove(leader).kill().await?;
        replicas.leader().await?;
        ensure(replicas.pod.wire.pushes() == pushes, "the new leader pushed what the pod runs already")?;
        replicas.change().await?;
        let mut successor = replicas.scene.controller()?;
        successor.ready().await?;
        replicas.running.push(successor);
    }
    let after = replicas.pod.worker().await?;
    ensure(before == after, format!("HAProxy reloaded: pid and reloads were {before:?} and are {after:?}"))?;
    traffic.finish_without_loss().await.map(drop)
}

/// With a lease that is not over before this journey is: whoever leads after the first one was given it.
pub async fn hands_over_when_asked_to_end(scene: Scene) -> Outcome {
    let mut configuration = scene.configuration()?;
    configuration.manifest["spec"]["controller"] = json!({ "leaderElection": { "leaseDuration": "1h" } });
    let mut replicas = Replicas::start_with(scene, 2, &configuration.manifest).await?;
    let traffic = replicas.pod.traffic(HOST);
    let leader = replicas.leader().await?;
    // Until its files are stored, too: that would be left to the new leader.
    replicas.change().await?;
    replicas.all_have_checked_what_runs().await?;
    let pushes = replicas.pod.wire.pushes();
    let (old, new) =
        tokio::join!(replicas.running.remove(leader).terminate(), async { replicas.leader().await });
    old?;
    new?;
    ensure(replicas.pod.wire.pushes() == pushes, "the new leader pushed what the pod runs already")?;
    replicas.change().await?;
    traffic.finish_without_loss().await.map(drop)
}

/// With a lease that is not over before this journey is: whoever leads after the crash did not wait for it.
pub async fn crashed_and_back(scene: Scene) -> Outcome {
    let mut configuration = scene.configuration()?;
    configuration.manifest["spec"]["controller"] = json!({ "leaderElection": { "leaseDuration": "1h" } });
    let mut replicas = Replicas::start_with(scene, 1, &configuration.manifest).await?;
    for _ in 0..2 {
        replicas.leader().await?;
        let before = replicas.transitions().await?;
        let crashed = replicas.running.remove(0);
        // As a check leaves it that was under way.
        let keys = crashed.scratch().join("haptic-check-killed").join("ssl");
        fs::create_dir_all(&keys)?;
        replicas.running.push(crashed.crash().await?);
        replicas.leader().await?;
        ensure(replicas.transitions().await? == before + 1, "its orders cannot be told from those before")?;
        ensure(!keys.exists(), "what a killed check had laid out stays")?;
        replicas.change().await?;
    }
    Ok(())
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
    eventually("the one that was frozen stands by", async || {
        let detail = &frozen.actor("leader").await?["detail"];
        ensure(detail["leads"] == false, detail.to_string())
    })
    .await?;
    // On a machine so busy that the Lease cannot be kept the other one may lose it meanwhile, rightly.
    eventually("changes are deployed by whoever the Lease says", async || {
        replicas.change().await?;
        let (deployed_by, leads) = (replicas.pod.epoch().await?.1, replicas.transitions().await?);
        ensure(deployed_by == leads, format!("deployed by leadership {deployed_by}, {leads} leads"))
    })
    .await?;
    replicas.running.push(frozen);
    replicas.leader().await?;
    traffic.finish_without_loss().await.map(drop)
}

/// It is frozen while its push is on the way, and its successor operates HAProxy meanwhile. Whatever the push's answer says when it
/// wakes, the pod's record is the successor's.
pub async fn frozen_during_a_push(scene: Scene) -> Outcome {
    let mut replicas = Replicas::start(scene.through_data_plane_api(), 2).await?;
    replicas.all_have_checked_what_runs().await?;
    let leader = replicas.leader().await?;
    let pushes = replicas.pod.wire.pushes();
    replicas.pod.wire.hold_pushes();
    replicas.change_what_is_live().await?;
    eventually("what is live is pushed", async || ensure(replicas.pod.wire.pushes() > pushes, "it is not"))
        .await?;
    let frozen = replicas.running.remove(leader);
    frozen.pause()?;
    replicas.pod.wire.hold_no_more();
    replicas.leader().await?;
    replicas.change_what_is_live().await?;
    replicas.pod.wire.release();
    replicas.pod.has_stored_what_it_runs().await?;
    frozen.resume()?;
    frozen.says("does not lead").await?;
    replicas.running.push(frozen);
    replicas.leader().await?;
    let before = replicas.pod.worker().await?;
    replicas.change().await?;
    let (epoch, after) = (replicas.pod.epoch().await?, replicas.pod.worker().await?);
    ensure(epoch.1 == replicas.transitions().await?, format!("the record is of leadership {epoch:?}"))?;
    ensure(before == after, format!("an endpoint reloaded: it was {before:?} and is {after:?}"))
}

pub async fn api_server_away(scene: Scene) -> Outcome {
    let scene = scene.on_own_cluster().await?;
    let mut replicas = Replicas::start(scene, 2).await?;
    let traffic = replicas.pod.traffic(HOST);
    let said: Vec<usize> = replicas.running.iter().map(|replica| replica.printed().len()).collect();
    replicas.scene.cluster.stop_api_server().await?;
    eventually("nobody leads without an API server", async || {
        let leading = replicas.leading().await?;
        ensure(leading.is_empty(), format!("replica {leading:?} leads"))
    })
    .await?;
    sleep(Duration::from_secs(integration_tests::soaking(5, 120))).await;
    for (replica, before) in replicas.running.iter().zip(said) {
        let printed = replica.printed();
        let since = printed.get(before..).unwrap_or_default();
        let is_noise =
            |line: &&str| line.contains("\"ERROR\"") || line.contains("hosts without a certificate");
        ensure(!since.lines().any(|line| is_noise(&line)), format!("noise while it is away: {since}"))?;
    }
    replicas.scene.cluster.start_api_server().await?;
    replicas.leader().await?;
    replicas.change().await?;
    for replica in &mut replicas.running {
        replica.ready().await?;
    }
    traffic.finish_without_loss().await.map(drop)
}

/// Disaster recovery: etcd is brought back to an older state while controllers, agents and HAProxys go on. The Lease has changed hands since, and
/// objects came and went.
pub async fn etcd_restored(scene: Scene) -> Outcome {
    let scene = scene.on_own_cluster().await?;
    let mut replicas = Replicas::start(scene, 2).await?;
    replicas.scene.publish("brief", "brief.example", &replicas.backends[0]).await?;
    replicas.pod.serves("brief.example", "a").await?;
    replicas.leader().await?;
    let traffic = replicas.pod.traffic(HOST);
    replicas.scene.cluster.save_state().await?;
    for _ in 0..3 {
        replicas.killed_leader().await?;
    }
    replicas.scene.publish("late", "late.example", &replicas.backends[0]).await?;
    replicas.pod.serves("late.example", "a").await?;
    replicas.scene.delete(&manifest::ingress("brief", "brief.example", "brief")).await?;
    replicas.pod.answers("brief.example", 404).await?;
    // The restored history must not soon be as long as this one.
    for _ in 0..20 {
        replicas.change_what_is_live().await?;
    }
    let before = replicas.pod.epoch().await?;

    replicas.scene.cluster.restore_state().await?;
    replicas.pod.serves("brief.example", "a").await?;
    replicas.pod.answers("late.example", 404).await?;
    replicas.leader().await?;
    replicas.change().await?;
    let (epoch, transitions) = (replicas.pod.epoch().await?, replicas.transitions().await?);
    ensure(
        epoch > before && epoch.1 == transitions,
        format!("the epoch was {before:?} and is {epoch:?}, of leadership {transitions}"),
    )?;
    for replica in &mut replicas.running {
        replica.ready().await?;
    }
    replicas.killed_leader().await?;
    replicas.change().await?;
    traffic.finish_without_loss().await.map(drop)
}

/// With the default times: a standby makes the Lease anew after two retries, its leader after one.
pub async fn lease_deleted(scene: Scene) -> Outcome {
    let mut configuration = scene.configuration()?;
    configuration.manifest["spec"]["controller"] = json!({});
    let mut replicas = Replicas::start_with(scene, 2, &configuration.manifest).await?;
    let leader = replicas.leader().await?;
    replicas.change().await?;
    replicas.standby_says_nothing_false(1 - leader).await?;
    let mut before = replicas.pod.epoch().await?;
    for _ in 0..3 {
        replicas.scene.delete(&lease()).await?;
        // The epochs of two Leases made within one second would be told apart by their transitions alone.
        let transitions = eventually("the leader knows that it made its Lease anew", async || {
            let transitions = replicas.transitions().await?;
            let detail = &replicas.running[leader].actor("leader").await?["detail"];
            let leads_by_it = detail["leads"] == true && detail["transitions"] == transitions;
            ensure(leads_by_it && transitions > before.1, format!("transitions {transitions}; {detail}"))?;
            Ok(transitions)
        })
        .await?;
        replicas.change().await?;
        let epoch = replicas.pod.epoch().await?;
        ensure(
            epoch > before && epoch.1 == transitions,
            format!("the epoch was {before:?} and is {epoch:?}, of leadership {transitions}"),
        )?;
        before = epoch;
    }
    ensure(replicas.leader().await? == leader, "the leader made its Lease anew")
}

/// Somebody has it count from the beginning again: pods have seen later leaderships, and would take no order any more.
pub async fn lease_edited(scene: Scene) -> Outcome {
    let mut replicas = Replicas::start(scene, 2).await?;
    for _ in 0..2 {
        replicas.killed_leader().await?;
    }
    replicas.change().await?;
    let before = replicas.pod.epoch().await?;
    let mut edited = lease();
    edited["spec"] = json!({ "leaseTransitions": 0 });
    replicas.scene.apply(&edited).await?;
    // Until it is renewed the leader deploys by the leadership that it had.
    eventually("pods take the orders of a later leadership", async || {
        replicas.change().await?;
        let (epoch, counts) = (replicas.pod.epoch().await?, replicas.transitions().await?);
        let is_later = epoch > before && epoch.1 == counts;
        ensure(is_later, format!("the epoch was {before:?} and is {epoch:?}, and the Lease counts {counts}"))
    })
    .await
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
        eventually("one replica leads", async || match self.leading().await?[..] {
            [leader] => Ok(leader),
            ref others => Err(Failure::new(format!("{others:?} lead"))),
        })
        .await
    }

    /// Which leadership the Lease says.
    async fn transitions(&self) -> Outcome<i64> {
        let lease = self.scene.cluster.get(&self.scene.namespace, &lease()).await?;
        let told = lease.data["spec"]["leaseTransitions"].as_i64();
        told.ok_or_else(|| Failure::new(format!("no transitions in {}", lease.data)))
    }

    /// Whichever leads next has nothing to bring the pod: one that is behind would rightly bring it what it has.
    pub(crate) async fn all_have_checked_what_runs(&self) -> Outcome {
        eventually("every replica has checked what the pod runs", async || {
            let running = self.pod.status().await?["running"]["digest"].clone();
            for replica in &self.running {
                let page: Value = serde_json::from_str(&replica.debug_page("/debug/overview").await?)?;
                let checked = &page["checked"]["digest"];
                ensure(checked.is_string() && *checked == running, format!("{checked} is not {running}"))?;
            }
            Ok(())
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
        self.change_what_is_live().await?;
        // Until then a successor rightly pushes: it has the checked files stored.
        self.pod.has_stored_what_it_runs().await
    }

    /// The same, whether or not it is stored.
    async fn change_what_is_live(&mut self) -> Outcome {
        let next = self.begin_change().await?;
        self.pod.serves(HOST, &next).await
    }

    /// It read the pods before the newest change, and does not take that for what they run now.
    async fn standby_says_nothing_false(&self, standby: usize) -> Outcome {
        self.all_have_checked_what_runs().await?;
        let is_behind = |told: &str| told.contains("pod behind") || told.contains("pod not deployed");
        let told = eventually("a standby's status says that it stands by, and no trouble", async || {
            let (code, told) = self.running[standby].status().await?;
            let says = ["stands by", "ask the one that leads", "holds Lease"];
            let is_well = code == Some(0) && says.iter().all(|said| told.contains(said));
            ensure(is_well || is_behind(&told), format!("exit code {code:?}: {told}"))?;
            Ok(told)
        })
        .await?;
        ensure(!is_behind(&told), format!("a standby's status: {told}"))
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
