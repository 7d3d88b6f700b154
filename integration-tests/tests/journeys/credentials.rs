//! Credentials change while everything runs.

use integration_tests::{
    Outcome, Scene, configuration::CREDENTIALS, ensure, eventually, haproxy_pod::HaproxyPod, manifest,
};

const HOST: &str = "shop.example";

/// The Secret is changed once; controllers see it before pods, or pods before controllers. Nothing is refused on the way.
pub async fn rotated(scene: Scene) -> Outcome {
    let (mut pod, controller) = scene.running().await?;
    let backends = [scene.backend("a").await?, scene.backend("b").await?];
    scene.publish("shop", HOST, &backends[0]).await?;
    pod.serves(HOST, "a").await?;
    pod.has_stored_what_it_runs().await?;
    let traffic = pod.traffic(HOST);
    let worker = pod.worker().await?;
    let mut changes = 0;
    let mut change = async |pod: &HaproxyPod| {
        changes += 1;
        let next = &backends[changes % 2];
        scene.apply(&manifest::endpoints("shop", &[next.address])).await?;
        pod.serves(HOST, &next.name).await?;
        pod.has_stored_what_it_runs().await
    };
    for number in 1..=4 {
        let new = ("admin".to_owned(), format!("secret number {number}"));
        let secret = manifest::credentials(CREDENTIALS, &new.0, &new.1);
        let told = controller.printed().matches("credentials changed").count();
        let pod_is_first = number % 2 == 0;
        if pod_is_first {
            pod.change_credentials(new.clone()).await?;
            change(&pod).await?;
        }
        scene.apply(&secret).await?;
        eventually("the controller knows the new ones", async || {
            let now = controller.printed().matches("credentials changed").count();
            ensure(now > told, "it says nothing of them")
        })
        .await?;
        change(&pod).await?;
        if !pod_is_first {
            pod.change_credentials(new).await?;
            change(&pod).await?;
        }
    }
    let failures = controller.metric("haptic_deployment_errors_total").await?;
    ensure(failures == 0.0, format!("{failures} attempts were refused"))?;
    ensure(pod.worker().await? == worker, "HAProxy was reloaded")?;
    traffic.finish_without_loss().await.map(drop)
}
