//! How the controller says that it is not well, and how it ends.

use crate::observers::OBSERVERS;
use integration_tests::{
    Outcome, Scene, controller::Controller, ensure, eventually, haproxy_pod::HaproxyPod, manifest,
};

const HOST: &str = "shop.example";

/// Each is named, by `/readyz` or, where nothing waits for it, by the status alone; when it goes on, all is well again.
pub async fn any_actor_may_block(scene: Scene) -> Outcome {
    let (pod, mut controller, backends) = scene.serving(HOST).await?;
    let traffic = pod.traffic(HOST);
    for actor in controller.actors().await?.keys() {
        controller.block(actor).await?;
        let told = match OBSERVERS.contains(&actor.as_str()) {
            true => named_and_missed_by_nobody(&controller, actor).await,
            false => named_by_readyz(&controller, actor).await,
        };
        controller.unblock(actor).await?;
        told?;
        controller.ready().await?;
    }
    scene.move_to(&backends[1], &pod, HOST).await?;
    traffic.finish_without_loss().await.map(drop)
}

async fn named_by_readyz(controller: &Controller, actor: &str) -> Outcome {
    eventually(format!("/readyz names {actor}"), async || {
        let why = controller.why_not_ready().await?;
        ensure(why.contains(&format!("actor {actor} has been busy")), why)
    })
    .await
}

/// Neither a restart of the pod nor its loss for the Service and the webhook would be worth it.
async fn named_and_missed_by_nobody(controller: &Controller, observer: &str) -> Outcome {
    eventually(format!("{observer} and its thread are named"), async || {
        let page = controller.debug_page("/debug/actors").await?;
        for words in [format!("actor {observer} has been busy"), "arbiter observe has not answered".into()] {
            ensure(page.contains(&words), format!("no {words:?} in {page}"))?;
        }
        Ok(())
    })
    .await?;
    let (code, told) = controller.status().await?;
    let named = told.contains("an observer is stuck") && told.contains(observer);
    ensure(code == Some(0) && named, format!("exit code {code:?}: {told}"))?;
    controller.is_live_and_ready().await
}

/// Until then it is not ready. Its pod is restarted, which is better than a dead actor behind a ready one.
pub async fn actor_that_fails_too_often(scene: Scene) -> Outcome {
    let (pod, mut controller, [_a, _]) = scene.serving(HOST).await?;
    let traffic = pod.traffic(HOST);
    // After five restarts within a minute; each panic waits until the one before was answered.
    for restarts in 1..=5 {
        controller.panic("render").await?;
        eventually("it is counted as restarted", async || {
            let now = controller.actors().await?.get("render").copied();
            ensure(now == Some(restarts), format!("{now:?} restarts, not {restarts}"))
        })
        .await?;
        eventually("it runs again", async || {
            let state = controller.actor("render").await?["state"].clone();
            ensure(state == "running", state.to_string())
        })
        .await?;
    }
    controller.panic("render").await?;
    let (code, _) = controller.ended().await?;
    ensure(code == 70, format!("the controller ended with exit code {code}"))?;
    traffic.answers(20).await?;
    traffic.finish_without_loss().await.map(drop)
}

/// Where a deployment is when the controller is asked to end.
#[derive(Clone, Copy, Debug)]
enum Stage {
    /// The pod is asked what it runs.
    Reading,
    /// Operations are on their way.
    Operations,
    /// A reload is on its way.
    Reload,
    /// What is live already is on its way to the disk.
    Store,
}

pub async fn asked_to_end_at_each_stage(scene: Scene) -> Outcome {
    let mut configuration = scene.configure().await?;
    let mut pod = scene.pod().await?;
    let [a, b] = [scene.backend("a").await?, scene.backend("b").await?];
    scene.publish("shop", HOST, &a).await?;
    let mut controller = scene.ready_controller().await?;
    pod.serves(HOST, "a").await?;
    let traffic = pod.traffic(HOST);
    let (mut now, mut next) = (&a, &b);
    for stage in [Stage::Reading, Stage::Operations, Stage::Reload, Stage::Store] {
        pod.has_stored_what_it_runs().await?;
        match stage {
            Stage::Store => pod.wire.hold_stores(),
            _ => pod.wire.hold(),
        }
        if matches!(stage, Stage::Reading) {
            // Only a controller that knows nothing of the pod asks.
            controller.kill().await?;
            pod.wire.cut();
            controller = scene.controller()?;
        }
        if matches!(stage, Stage::Reload) {
            let template = configuration.template().replace("hard-stop-after 30m", "hard-stop-after 31m");
            ensure(template != configuration.template(), "there is no hard-stop-after 30m")?;
            configuration = configuration.with_template(template);
            scene.apply(&configuration.manifest).await?;
        }
        scene.apply(&manifest::endpoints("shop", &[next.address])).await?;
        stage.is_reached(&controller, &pod, HOST, &next.name).await?;
        controller.terminate().await.map_err(|e| e.during(&format!("{stage:?}")))?;
        pod.wire.cut();
        pod.wire.release();
        traffic.answers(20).await?;
        let status = pod.status().await?;
        let is_whole = status["exact"] == true && status["intact"] == true && status["alive"] == true;
        ensure(is_whole, format!("{stage:?}: the pod is {status}"))?;
        controller = scene.controller()?;
        controller.ready().await?;
        pod.serves(HOST, &next.name).await.map_err(|e| e.during(&format!("{stage:?}")))?;
        (now, next) = (next, now);
    }
    pod.has_stored_what_it_runs().await?;
    pod.crash().await?;
    pod.start_containers().await?;
    pod.serves(HOST, &now.name).await
}

impl Stage {
    async fn is_reached(
        self,
        controller: &Controller,
        pod: &HaproxyPod,
        host: &str,
        backend: &str,
    ) -> Outcome {
        let wanted = match self {
            Self::Reading => "reading",
            Self::Operations | Self::Reload => "applying",
            Self::Store => return pod.serves(host, backend).await,
        };
        eventually(format!("the deployment is {wanted}"), async || {
            let state = controller.deployments().await?.into_values().next().unwrap_or_default();
            ensure(state == wanted, state)
        })
        .await
    }
}
