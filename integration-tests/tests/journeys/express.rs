//! What goes live before `haproxy -c` has ended, and what does not.

use crate::slow_checks::SlowChecks;
use integration_tests::{
    Outcome, Scene, backend::Backend, controller::Controller, ensure, eventually, haproxy_pod::HaproxyPod,
    manifest,
};
use serde_json::json;

const HOST: &str = "shop.example";
const LATE_HOST: &str = "late.example";
const REFUSED_HOST: &str = "refused.example";
/// So often a pod is asked that must not have changed.
const OFTEN: usize = 100;

/// With the default, endpoints follow while the check is under way; with `express: false` nothing does until it has ended.
pub async fn or_checked_first(scene: Scene) -> Outcome {
    let checks = SlowChecks::new(&scene)?;
    let variables = checks.variables();
    let mut controller =
        scene.controller_with(&variables.each_ref().map(|(name, value)| (*name, &**value)))?;
    let mut configuration = scene.configure().await?.manifest;
    let pod = scene.pod().await?;
    controller.ready().await?;
    let [a, b, c] = [scene.backend("a").await?, scene.backend("b").await?, scene.backend("c").await?];
    scene.publish("shop", HOST, &a).await?;
    pod.serves(HOST, "a").await?;

    checks.hold()?;
    points_to(&scene, &b).await?;
    pod.serves(HOST, "b").await?;
    checks.is_held().await?;
    checks.let_go()?;

    configuration["spec"]["validation"] = json!({ "express": false });
    scene.apply(&configuration).await?;
    controller.says("is accepted as revision 2").await?;
    points_to(&scene, &a).await?;
    pod.serves(HOST, "a").await?;
    let traffic = pod.traffic(HOST);
    checks.hold()?;
    // What was checked before is known: only another backend makes another check.
    points_to(&scene, &c).await?;
    checks.is_held().await?;
    goes_on_with(&pod, "a").await?;
    checks.let_go()?;
    pod.serves(HOST, "c").await?;
    traffic.finish_without_loss().await.map(drop)
}

/// A route that needs a reload waits for its check; endpoints of another one do not wait with it, and what they name is stored as ever.
pub async fn endpoints_before_structure(scene: Scene) -> Outcome {
    let (checks, _controller, pod, [a, b]) = served_from_a(&scene, &[&scene.namespace]).await?;
    let (traffic, before) = (pod.traffic(HOST), pod.worker().await?);

    checks.hold()?;
    scene.publish("late", LATE_HOST, &b).await?;
    let mut late = manifest::ingress("late", LATE_HOST, "late");
    late["metadata"]["annotations"] = json!({ "haproxy-haptic.org/request-headers": "X-Late: yes" });
    scene.apply(&late).await?;
    points_to(&scene, &b).await?;
    pod.serves(HOST, "b").await?;
    points_to(&scene, &a).await?;
    pod.serves(HOST, "a").await?;
    points_to(&scene, &b).await?;
    pod.serves(HOST, "b").await?;
    ensure(pod.worker().await? == before, "HAProxy was reloaded before the check has ended")?;
    checks.let_go()?;
    pod.serves(LATE_HOST, "b").await?;
    pod.serves(HOST, "b").await?;
    pod.has_stored_what_it_runs().await?;
    ensure(pod.worker().await? != before, "the route came without a reload: this journey needs another one")?;
    traffic.finish_without_loss().await.map(drop)
}

/// A route that is live and then refused goes back, and what is live of others meanwhile stays.
pub async fn refused_alone(scene: Scene) -> Outcome {
    let (checks, controller, pod, [a, b]) = served_from_a(&scene, &[&scene.namespace]).await?;

    checks.refuse(REFUSED_HOST)?;
    checks.hold()?;
    points_to(&scene, &b).await?;
    checks.is_held().await?;
    scene.publish("late", LATE_HOST, &a).await?;
    scene.publish("refused", REFUSED_HOST, &a).await?;
    for host in [LATE_HOST, REFUSED_HOST] {
        pod.serves(host, "a").await?;
    }
    let traffic = pod.traffic(LATE_HOST);
    checks.let_go()?;
    goes_back(&pod, REFUSED_HOST).await?;
    controller.says(&format!("ingresses {}/refused: ", scene.namespace)).await?;
    pod.has_stored_what_it_runs().await?;
    traffic.finish_without_loss().await.map(drop)
}

/// Two routes of another namespace are refused one after the other, before anything has passed between them: what is live of others stays.
pub async fn refused_in_turn(scene: Scene) -> Outcome {
    let evil = scene.another_namespace("evil").await?;
    let (checks, controller, pod, [a, b]) = served_from_a(&scene, &[&scene.namespace, &evil]).await?;

    let again = format!("again.{REFUSED_HOST}");
    checks.refuse(REFUSED_HOST)?;
    checks.hold()?;
    scene.publish_in(&evil, "refused", REFUSED_HOST, &a).await?;
    pod.serves(REFUSED_HOST, "a").await?;
    checks.is_held().await?;
    scene.publish("late", LATE_HOST, &b).await?;
    pod.serves(LATE_HOST, "b").await?;
    scene.publish_in(&evil, "again", &again, &a).await?;
    pod.serves(&again, "a").await?;
    let traffic = pod.traffic(LATE_HOST);
    checks.let_go()?;
    for (name, host) in [("refused", REFUSED_HOST), ("again", &again)] {
        controller.says(&format!("ingresses {evil}/{name}: ")).await?;
        goes_back(&pod, host).await?;
    }
    pod.has_stored_what_it_runs().await?;
    traffic.finish_without_loss().await.map(drop)
}

async fn goes_back(pod: &HaproxyPod, host: &str) -> Outcome {
    eventually("the refused route goes back", async || {
        let answer = pod.get(host, "/").await?;
        ensure(answer.status == 404, format!("{} {}", answer.status, answer.body))
    })
    .await
}

/// A controller whose checks a journey may hold, and its pod, which serves the host from the first of two backends and has stored that.
async fn served_from_a(
    scene: &Scene,
    namespaces: &[&str],
) -> Outcome<(SlowChecks, Controller, HaproxyPod, [Backend; 2])> {
    let checks = SlowChecks::new(scene)?;
    let variables = checks.variables();
    let mut controller =
        scene.controller_with(&variables.each_ref().map(|(name, value)| (*name, &**value)))?;
    scene.configure_with(&scene.configuration()?.watching(namespaces).manifest).await?;
    let pod = scene.pod().await?;
    controller.ready().await?;
    let [a, b] = [scene.backend("a").await?, scene.backend("b").await?];
    scene.publish("shop", HOST, &a).await?;
    pod.serves(HOST, "a").await?;
    pod.has_stored_what_it_runs().await?;
    Ok((checks, controller, pod, [a, b]))
}

async fn points_to(scene: &Scene, backend: &Backend) -> Outcome {
    scene.apply(&manifest::endpoints("shop", &[backend.address])).await.map(drop)
}

async fn goes_on_with(pod: &HaproxyPod, backend: &str) -> Outcome {
    for _ in 0..OFTEN {
        pod.get(HOST, "/").await?.is_from(backend)?;
    }
    Ok(())
}
