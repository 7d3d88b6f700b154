//! Another replica leads while something is under way: it knows everything that happened before it led, finishes what was begun,
//! and does nothing twice.

use crate::leader::{HOST, Replicas};
use integration_tests::{Outcome, Scene, ensure};

pub async fn leader_killed_at_each_stage(scene: Scene) -> Outcome {
    let mut replicas = Replicas::start(scene, 2).await?;
    let traffic = replicas.pod.traffic(HOST);
    let before = replicas.pod.worker().await?;
    with_an_order_on_its_way(&mut replicas).await?;
    before_files_are_stored(&mut replicas).await?;
    while_a_pod_comes(&mut replicas).await?;
    after_a_configuration_was_refused(&mut replicas).await?;
    let after = replicas.pod.worker().await?;
    // What a Data Plane API had done of an order that was cut nobody can tell: that is one reload.
    let were_cut = !replicas.pod.has_agent() && after.reloads <= before.reloads + 2;
    ensure(
        before == after || were_cut,
        format!("HAProxy reloaded: pid and reloads were {before:?} and are {after:?}"),
    )?;
    traffic.finish_without_loss().await.map(drop)
}

/// The order never arrives: nobody waits for its answer.
async fn with_an_order_on_its_way(replicas: &mut Replicas) -> Outcome {
    replicas.pod.wire.hold_pushes();
    let pushes = replicas.pod.wire.pushes();
    let next = replicas.begin_change().await?;
    integration_tests::eventually("the order is on its way", async || {
        ensure(replicas.pod.wire.pushes() > pushes, "it is not")
    })
    .await?;
    replicas.killed_leader().await?;
    replicas.pod.wire.cut();
    replicas.pod.wire.release();
    replicas.pod.serves(HOST, &next).await?;
    replicas.settled().await
}

async fn before_files_are_stored(replicas: &mut Replicas) -> Outcome {
    replicas.pod.wire.hold_stores();
    let next = replicas.begin_change().await?;
    replicas.pod.serves(HOST, &next).await?;
    replicas.killed_leader().await?;
    replicas.pod.wire.cut();
    replicas.pod.wire.release();
    replicas.pod.serves(HOST, &next).await?;
    replicas.settled().await
}

/// Nobody leads when it is discovered.
async fn while_a_pod_comes(replicas: &mut Replicas) -> Outcome {
    let leader = replicas.leader().await?;
    replicas.running.remove(leader).kill().await?;
    let pod = replicas.scene.pod().await?;
    let successor = replicas.scene.controller()?;
    replicas.running.push(successor);
    replicas.leader().await?;
    let current = replicas.current().to_owned();
    pod.serves(HOST, &current).await?;
    replicas.settled().await?;
    pod.remove().await
}

/// The next leader has not deployed it either, and goes on with the last good one.
async fn after_a_configuration_was_refused(replicas: &mut Replicas) -> Outcome {
    // What a replica has not checked by then it never does: the refused one would be the next it renders.
    replicas.all_have_checked_what_runs().await?;
    let good = replicas.scene.configuration()?;
    let bad = good
        .with_template(format!("{}backend unsound from roundrobin\n  balance nonsense\n", good.template()));
    replicas.scene.apply(&bad.manifest).await?;
    for replica in &replicas.running {
        replica.says("nonsense").await?;
    }
    let pushes = replicas.pod.wire.pushes();
    replicas.killed_leader().await?;
    ensure(replicas.pod.wire.pushes() == pushes, "what was refused was deployed")?;
    replicas.scene.apply(&good.manifest).await?;
    replicas.change().await
}
