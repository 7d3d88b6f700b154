//! One namespace's junk is left out beyond its limit, and everybody else's changes go on.

use crate::reports::says;
use integration_tests::{Outcome, Scene, controller::Controller, ensure, eventually, manifest};
use k8s_openapi::api::events::v1::Event;
use kube::{Api, api::ListParams};
use serde_json::{Value, json};

const HOST: &str = "shop.example";
/// So many objects may be in a namespace, and so many are.
const MOST: usize = 6;
const MANY: usize = 40;

pub async fn junk_of_one_namespace(scene: Scene) -> Outcome {
    let junk = scene.another_namespace("junk").await?;
    scene.configure_with(&configuration(&scene, &junk)?).await?;
    let backends = [scene.backend("one").await?, scene.backend("two").await?];
    scene.publish("shop", HOST, &backends[0]).await?;
    for part in [manifest::service("web"), manifest::endpoints("web", &[backends[0].address])] {
        scene.cluster.apply(&junk, &part).await?;
    }
    let pod = scene.pod().await?;
    let controller = scene.ready_controller().await?;
    pod.serves(HOST, "one").await?;

    for number in 0..MANY {
        scene.cluster.apply(&junk, &ingress(number)).await?;
        if number % 10 == 9 {
            let next = &backends[number / 10 % 2];
            scene.move_to(next, &pod, HOST).await?;
        }
    }
    let told = is_told(&scene, &controller, &junk, MANY - MOST).await?;
    ensure(told.contains(&format!("more than {MOST} ingresses in namespace {junk}")), told)?;
    let (_, status) = controller.status().await?;
    ensure(status.contains("controller.limits.objectsPerNamespace"), status)?;
    pod.serves(&host(0), "one").await?;
    pod.answers(&host(MOST), 404).await?;

    // A place that is free is taken by the oldest of those that were left out.
    scene.cluster.delete(&junk, &ingress(3)).await?;
    pod.serves(&host(MOST), "one").await?;
    pod.answers(&host(3), 404).await?;
    // Whoever starts afresh knows the same ones.
    controller.terminate().await?;
    let controller = scene.ready_controller().await?;
    pod.serves(&host(MOST), "one").await?;
    pod.answers(&host(MOST + 1), 404).await?;
    is_told(&scene, &controller, &junk, MANY - MOST - 1).await?;

    for number in MOST..MANY {
        scene.cluster.delete(&junk, &ingress(number)).await?;
    }
    says(&scene, "Valid", [("LimitsReached", "False")]).await.map(drop)
}

/// Both namespaces are watched, and have a limit.
fn configuration(scene: &Scene, junk: &str) -> Outcome<Value> {
    let mut configuration = scene.configuration()?.watching(&[&scene.namespace, junk]).manifest;
    configuration["spec"]["controller"]["limits"] = json!({ "objectsPerNamespace": MOST });
    Ok(configuration)
}

/// Condition, metric and an Event on the namespace say so; what the condition says.
async fn is_told(scene: &Scene, controller: &Controller, junk: &str, left_out: usize) -> Outcome<String> {
    let metric = "haptic_left_out_objects{type=\"ingresses\",limit=\"objectsPerNamespace\"}";
    eventually(format!("the metric says that {left_out} are left out"), async || {
        let told = controller.metric(metric).await?;
        ensure(format!("{told}") == left_out.to_string(), format!("it says {told}"))
    })
    .await?;
    let status = says(scene, "Valid", [("LimitsReached", "True"), ("Ready", "True")]).await?;
    let conditions = status["conditions"].as_array().cloned().unwrap_or_default();
    let told = conditions.iter().find(|condition| condition["type"] == "LimitsReached");
    let told = told.and_then(|told| told["message"].as_str()).unwrap_or_default().to_owned();
    controller.says(&told).await?;
    eventually("an Event on the namespace says so", async || {
        let events: Api<Event> = Api::namespaced(scene.cluster.client.clone(), "default");
        let events = events.list(&ListParams::default()).await?.items;
        let about =
            |event: &&Event| event.regarding.as_ref().is_some_and(|of| of.name.as_deref() == Some(junk));
        let found = events.iter().filter(about).any(|event| event.note.as_deref() == Some(&*told));
        ensure(found, format!("{told:?} is not among {} Events", events.len()))
    })
    .await?;
    Ok(told)
}

fn ingress(number: usize) -> Value {
    manifest::ingress(&format!("junk-{number:02}"), &host(number), "web")
}

fn host(number: usize) -> String {
    format!("junk-{number:02}.example")
}
