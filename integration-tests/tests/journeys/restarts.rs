//! The controller, or a part of it, dies; a new one takes over what runs.

use integration_tests::{Outcome, Scene, ensure, eventually, manifest};

const HOST: &str = "shop.example";

pub async fn controller_killed_and_restarted(scene: Scene) -> Outcome {
    let (pod, controller, [a, b]) = scene.serving(HOST).await?;
    let traffic = pod.traffic(HOST);

    let before = pod.wire.pushes();
    scene.move_to(&b, &pod, HOST).await?;
    pod.has_stored_what_it_runs().await?;
    let of_one_change = pod.wire.pushes() - before;

    controller.kill().await?;
    traffic.answers(100).await?;
    let before = pod.wire.pushes();
    let _controller = scene.ready_controller().await?;
    scene.move_to(&a, &pod, HOST).await?;
    pod.has_stored_what_it_runs().await?;
    let after_restart = pod.wire.pushes() - before;
    // Where the check is quicker than the pod, what is live and what is stored is one push.
    ensure(
        after_restart <= of_one_change.max(2),
        format!("{after_restart} pushes after the restart; one change took {of_one_change}"),
    )?;
    traffic.finish_without_loss().await.map(drop)
}

/// What HAProxy runs is ahead of what is on its disk. The next controller stores it, without bringing it again.
pub async fn controller_killed_before_files_are_stored(scene: Scene) -> Outcome {
    let (pod, controller, [a, b]) = scene.serving(HOST).await?;
    pod.has_stored_what_it_runs().await?;
    let traffic = pod.traffic(HOST);
    let before = pod.worker().await?;
    pod.wire.hold_stores();
    scene.move_to(&b, &pod, HOST).await?;
    controller.kill().await?;
    pod.wire.cut();
    pod.wire.release();
    eventually("it runs what is not stored", async || {
        let status = pod.status().await?;
        let is_ahead = status["running"]["digest"] != status["stored"]["digest"];
        ensure(is_ahead && status["exact"] == true, format!("it was stored: {status}"))
    })
    .await?;
    let _controller = scene.ready_controller().await?;
    pod.has_stored_what_it_runs().await?;
    pod.serves(HOST, "b").await?;
    scene.move_to(&a, &pod, HOST).await?;
    let after = pod.worker().await?;
    ensure(before == after, format!("HAProxy reloaded: it was {before:?} and is {after:?}"))?;
    traffic.finish_without_loss().await.map(drop)
}

pub async fn controller_stops_when_asked(scene: Scene) -> Outcome {
    let (pod, controller, _backends) = scene.serving(HOST).await?;
    let traffic = pod.traffic(HOST);
    controller.terminate().await?;
    traffic.answers(100).await?;
    traffic.finish_without_loss().await.map(drop)
}

pub async fn any_actor_may_panic(scene: Scene) -> Outcome {
    let (pod, mut controller, backends) = scene.serving(HOST).await?;
    let traffic = pod.traffic(HOST);
    let actors = controller.actors().await?;
    ensure(actors.len() >= 7, format!("only {actors:?} can panic"))?;
    for (number, (actor, restarts)) in actors.iter().enumerate() {
        controller.panic(actor).await?;
        eventually(format!("{actor} is counted as restarted"), async || {
            let now = controller.actors().await?.get(actor).copied();
            ensure(now == Some(restarts + 1), format!("its restarts were {restarts} and are {now:?}"))
        })
        .await?;
        let next = &backends[(number + 1) % 2];
        scene.apply(&manifest::endpoints("shop", &[next.address])).await?;
        pod.serves(HOST, &next.name)
            .await
            .map_err(|failure| failure.during(&format!("after a panic of {actor}")))?;
    }
    controller.ready().await?;
    traffic.finish_without_loss().await.map(drop)
}
