//! Credentials change while everything runs.

use crate::reports::{has_event, says};
use integration_tests::{
    Outcome, Scene,
    configuration::{CREDENTIALS, NAME},
    controller::Controller,
    ensure, eventually,
    haproxy_pod::HaproxyPod,
    manifest,
};
use serde_json::json;

const HOST: &str = "shop.example";

/// The Secret is changed once; controllers see it before pods, or pods before controllers. Nothing is refused on the way.
pub async fn rotated(scene: Scene) -> Outcome {
    let (mut pod, controller, backends) = scene.serving(HOST).await?;
    pod.has_stored_what_it_runs().await?;
    let traffic = pod.traffic(HOST);
    let worker = pod.worker().await?;
    let mut changes = 0;
    let mut change = async |pod: &HaproxyPod| {
        changes += 1;
        let next = &backends[changes % 2];
        scene.move_to(next, pod, HOST).await?;
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

/// The Secret is deleted, lacks a key, or another one is named that is not there. Everything is served on, and told everywhere.
pub async fn lost(scene: Scene) -> Outcome {
    let (pod, mut controller, backends) = scene.serving(HOST).await?;
    let traffic = pod.traffic(HOST);
    let in_namespace = |name: &str| format!("{}/{name}", scene.namespace);
    let (username, password) = &scene.credentials;
    let good = manifest::credentials(CREDENTIALS, username, password);

    scene.delete(&good).await?;
    is_told(&scene, &mut controller, &[&in_namespace(CREDENTIALS), "does not exist"]).await?;
    says(&scene, "Valid", [("Deployed", "True")]).await?;
    scene.move_to(&backends[1], &pod, HOST).await?;

    let mut incomplete = good.clone();
    incomplete["stringData"] = json!({ "dataplane_username": "somebody" });
    scene.apply(&incomplete).await?;
    is_told(&scene, &mut controller, &[&in_namespace(CREDENTIALS), "dataplane_password is missing"]).await?;
    scene.apply(&good).await?;
    says(&scene, "Valid", [("Ready", "True"), ("CredentialsValid", "True")]).await?;
    controller.ready().await?;

    let mut other = scene.configuration()?.manifest;
    other["spec"]["credentialsSecretRef"] = json!({ "name": "other" });
    scene.apply(&other).await?;
    is_told(&scene, &mut controller, &[&in_namespace("other"), "does not exist"]).await?;
    says(&scene, "Invalid", [("Ready", "False"), ("Deployed", "True")]).await?;
    scene.move_to(&backends[0], &pod, HOST).await?;
    scene.apply(&manifest::credentials("other", username, password)).await?;
    says(&scene, "Valid", [("Ready", "True"), ("CredentialsValid", "True")]).await?;
    controller.ready().await?;
    traffic.finish_without_loss().await.map(drop)
}

/// By condition, readiness, log and Event, with all of `words`.
async fn is_told(scene: &Scene, controller: &mut Controller, words: &[&str]) -> Outcome {
    eventually(format!("the condition says {words:?}"), async || {
        let config = scene.cluster.get(&scene.namespace, &scene.configuration()?.manifest).await?;
        let conditions = config.data["status"]["conditions"].as_array().cloned().unwrap_or_default();
        let told = conditions.iter().find(|c| c["type"] == "CredentialsValid" && c["status"] == "False");
        let message = told.map(|condition| condition["message"].to_string()).unwrap_or_default();
        ensure(words.iter().all(|word| message.contains(word)), format!("they are {conditions:?}"))
    })
    .await?;
    controller.waits_because(words).await?;
    for word in words {
        controller.says(word).await?;
    }
    has_event(scene, "HAProxyTemplateConfig", NAME, "CredentialsUnreadable").await
}
