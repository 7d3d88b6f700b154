//! Parts around the controller fail and come back.

use integration_tests::{Outcome, Scene, ensure, eventually, manifest};
use std::time::Duration;
use tokio::time::sleep;

const HOST: &str = "shop.example";

pub async fn api_server_away_for_a_minute(scene: Scene) -> Outcome {
    let scene = scene.on_own_cluster().await?;
    let (pod, mut controller) = scene.running().await?;
    let [a, b] = [scene.backend("a").await?, scene.backend("b").await?];
    scene.publish("shop", HOST, &a).await?;
    pod.serves(HOST, "a").await?;
    let (traffic, process) = (pod.traffic(HOST), controller.process_id());
    let outage = Duration::from_secs(integration_tests::soaking(60, 120));
    scene.cluster.stop_api_server().await?;
    sleep(outage).await;
    scene.cluster.start_api_server().await?;
    scene.apply(&manifest::endpoints("shop", &[b.address])).await?;
    pod.serves(HOST, "b").await?;
    controller.ready().await?;
    ensure(controller.process_id() == process, "the controller was restarted")?;
    traffic.finish_without_loss().await.map(drop)
}

pub async fn haproxy_killed(scene: Scene) -> Outcome {
    let (pod, _controller) = scene.running().await?;
    let [a, b] = [scene.backend("a").await?, scene.backend("b").await?];
    scene.publish("shop", HOST, &a).await?;
    pod.serves(HOST, "a").await?;
    pod.has_stored_what_it_runs().await?;
    let killed = pod.worker().await?;
    pod.kill_haproxy()?;
    eventually("another HAProxy runs", async || {
        ensure(pod.worker().await?.pid != killed.pid, "the one that was killed")
    })
    .await?;
    pod.serves(HOST, "a").await?;
    scene.apply(&manifest::endpoints("shop", &[b.address])).await?;
    pod.serves(HOST, "b").await
}

pub async fn agent_killed(scene: Scene) -> Outcome {
    let (mut pod, _controller) = scene.running().await?;
    let [a, b] = [scene.backend("a").await?, scene.backend("b").await?];
    scene.publish("shop", HOST, &a).await?;
    pod.serves(HOST, "a").await?;
    pod.crash().await?;
    scene.apply(&manifest::endpoints("shop", &[b.address])).await?;
    pod.start_containers().await?;
    pod.serves(HOST, "b").await
}

pub async fn pod_replaced(scene: Scene) -> Outcome {
    let (old, _controller) = scene.running().await?;
    let [a, b] = [scene.backend("a").await?, scene.backend("b").await?];
    scene.publish("shop", HOST, &a).await?;
    old.serves(HOST, "a").await?;
    let new = scene.pod().await?;
    new.serves(HOST, "a").await?;
    old.remove().await?;
    scene.apply(&manifest::endpoints("shop", &[b.address])).await?;
    new.serves(HOST, "b").await
}

pub async fn one_slow_pod_of_two(scene: Scene) -> Outcome {
    let (quick, _controller) = scene.running().await?;
    let slow = scene.pod().await?;
    let [a, b, c] = [scene.backend("a").await?, scene.backend("b").await?, scene.backend("c").await?];
    scene.publish("shop", HOST, &a).await?;
    quick.serves(HOST, "a").await?;
    slow.serves(HOST, "a").await?;
    slow.wire.hold();
    for next in [&b, &c] {
        scene.apply(&manifest::endpoints("shop", &[next.address])).await?;
        quick.serves(HOST, &next.name).await?;
    }
    slow.get(HOST, "/").await?.is_from("a")?;
    slow.wire.release();
    slow.serves(HOST, "c").await
}
