//! Parts around the controller fail and come back.

use integration_tests::{Outcome, Scene, ensure, eventually, manifest};
use std::time::Duration;
use tokio::time::sleep;

const HOST: &str = "shop.example";

pub async fn api_server_away_for_a_minute(scene: Scene) -> Outcome {
    let scene = scene.on_own_cluster().await?;
    let (pod, mut controller, [a, b]) = scene.serving(HOST).await?;
    let (traffic, process) = (pod.traffic(HOST), controller.process_id());
    let outage = Duration::from_secs(integration_tests::soaking(60, 120));
    scene.cluster.stop_api_server().await?;
    sleep(outage).await;
    scene.cluster.start_api_server().await?;
    scene.move_to(&b, &pod, HOST).await?;
    controller.ready().await?;
    ensure(controller.process_id() == process, "the controller was restarted")?;
    traffic.finish_without_loss().await.map(drop)
}

pub async fn haproxy_killed(scene: Scene) -> Outcome {
    let (pod, _controller, [a, b]) = scene.serving(HOST).await?;
    pod.has_stored_what_it_runs().await?;
    let killed = pod.worker().await?;
    pod.kill_haproxy()?;
    eventually("another HAProxy runs", async || {
        ensure(pod.worker().await?.pid != killed.pid, "the one that was killed")
    })
    .await?;
    pod.serves(HOST, "a").await?;
    scene.move_to(&b, &pod, HOST).await
}

pub async fn agent_killed(scene: Scene) -> Outcome {
    let (mut pod, _controller, [a, b]) = scene.serving(HOST).await?;
    pod.crash().await?;
    scene.apply(&manifest::endpoints("shop", &[b.address])).await?;
    pod.start_containers().await?;
    pod.serves(HOST, "b").await
}

pub async fn pod_replaced(scene: Scene) -> Outcome {
    let (old, _controller, [a, b]) = scene.serving(HOST).await?;
    let new = scene.pod().await?;
    new.serves(HOST, "a").await?;
    old.remove().await?;
    scene.move_to(&b, &new, HOST).await
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
        scene.move_to(next, &quick, HOST).await?;
    }
    slow.get(HOST, "/").await?.is_from("a")?;
    slow.wire.release();
    slow.serves(HOST, "c").await
}
