//! The configuration changes, well or badly. Whatever happens to it, what ran before goes on.

use integration_tests::{
    Outcome, Scene, certificate, configuration::POD_ADDRESS, controller::Controller, ensure, eventually,
    haproxy_pod::HaproxyPod, http, manifest,
};
use serde_json::{Value, json};

const HOST: &str = "shop.example";
const LATE_HOST: &str = "late.example";
const EXTRA_PORT: u16 = 9999;

/// A frontend that a journey adds: it answers with `word`.
fn answering(word: &str) -> String {
    format!(
        "\nfrontend journey from clients\n  bind \"${{{POD_ADDRESS}}}:{EXTRA_PORT}\"\n  http-request return status 200 content-type text/plain string {word}\n"
    )
}

/// Waits until the added frontend answers with `word`.
async fn says(pod: &HaproxyPod, word: &str) -> Outcome {
    let address = (pod.address, EXTRA_PORT).into();
    eventually(format!("the new frontend says {word}"), async || {
        http::get(address, "any", "/").await?.is_from(word)
    })
    .await
}

pub async fn changed_live(scene: Scene) -> Outcome {
    let (pod, _controller, _backends) = scene.serving(HOST).await?;
    let traffic = pod.traffic(HOST);
    let demo = scene.configuration()?;
    for word in ["first", "second"] {
        scene.apply(&demo.with_template(format!("{}{}", demo.template(), answering(word))).manifest).await?;
        says(&pod, word).await?;
    }
    traffic.finish_without_loss().await.map(drop)
}

pub async fn invalid_template(scene: Scene) -> Outcome {
    let demo = scene.configuration()?;
    let broken = demo.with_template(format!("{}\n{{{{journey_no_such_function 1}}}}\n", demo.template()));
    refused_and_recovered(&scene, &broken.manifest, "journey_no_such_function").await
}

pub async fn refused_by_haproxy(scene: Scene) -> Outcome {
    let demo = scene.configuration()?;
    let broken = demo.with_template(format!(
        "{}\nbackend journey from roundrobin\n  balance journey-no-such-algorithm\n",
        demo.template()
    ));
    refused_and_recovered(&scene, &broken.manifest, "journey-no-such-algorithm").await
}

/// haproxy.cfg can be read, and only HAProxy knows that it is wrong.
pub async fn refused_by_check(scene: Scene) -> Outcome {
    let demo = scene.configuration()?;
    let broken = demo.with_template(format!(
        "{}\nbackend journey from roundrobin\n  timeout server 5parsecs\n",
        demo.template()
    ));
    refused_and_recovered(&scene, &broken.manifest, "5parsecs").await
}

/// A new configuration fails for an object that did not change.
pub async fn refused_by_render(scene: Scene) -> Outcome {
    let demo = scene.configuration()?;
    let broken = demo.with_template(format!(
        "{}\n{{{{#each (list \"ingresses\") as |journey|}}}}\n# {{{{journey.spec.noSuchField}}}}\n{{{{/each}}}}\n",
        demo.template()
    ));
    refused_and_recovered(&scene, &broken.manifest, "noSuchField").await
}

pub async fn invalid_then_recovered(scene: Scene) -> Outcome {
    let mut broken = scene.configuration()?.manifest;
    for resource in
        broken["spec"]["watchedResources"].as_object_mut().into_iter().flat_map(serde_json::Map::values_mut)
    {
        resource["indexBy"] = json!(["metadata.labels[journey"]);
    }
    refused_and_recovered(&scene, &broken, "metadata.labels[journey").await
}

/// `broken` is refused with a message that contains `reason`; routes still follow their objects; a good one is taken again.
async fn refused_and_recovered(scene: &Scene, broken: &Value, reason: &str) -> Outcome {
    let (pod, controller, [a, b]) = scene.serving(HOST).await?;
    let traffic = pod.traffic(HOST);
    scene.apply(broken).await?;
    controller.says(reason).await?;
    traffic.answers(50).await?;
    scene.move_to(&b, &pod, HOST).await?;
    scene.publish("late", LATE_HOST, &b).await?;
    pod.serves(LATE_HOST, "b").await?;
    says_refused(&controller, reason).await?;
    pod.has_stored_what_it_runs().await?;
    scene.move_to(&a, &pod, HOST).await?;
    let demo = scene.configuration()?;
    scene
        .apply(&demo.with_template(format!("{}{}", demo.template(), answering("recovered"))).manifest)
        .await?;
    says(&pod, "recovered").await?;
    scene.move_to(&b, &pod, HOST).await?;
    traffic.finish_without_loss().await.map(drop)
}

/// However much is in force of what objects changed since, the status says that the configuration is not.
async fn says_refused(controller: &Controller, reason: &str) -> Outcome {
    eventually(format!("the status says that the configuration is refused: {reason}"), async || {
        let (_, status) = controller.status().await?;
        ensure(status.contains("configuration refused") && status.contains(reason), status)
    })
    .await
}

pub async fn malformed_object(scene: Scene) -> Outcome {
    let (pod, controller, [_a, b]) = scene.serving(HOST).await?;
    let traffic = pod.traffic(HOST);
    let good = certificate::for_host("broken.example")?;
    let mut bad = good.clone();
    bad.pem = "no certificate".to_owned();
    scene.publish("broken", "broken.example", &b).await?;
    scene.apply(&manifest::tls_secret("broken-tls", &bad)).await?;
    scene.apply(&manifest::tls_ingress("broken", "broken.example", "broken", "broken-tls")).await?;
    controller.says("broken-tls cannot be used: tls.crt holds no certificate").await?;
    pod.serves("broken.example", "b").await?;
    traffic.answers(50).await?;
    scene.apply(&manifest::tls_secret("broken-tls", &good)).await?;
    pod.serves_tls("broken.example", "b", &good.der).await?;
    scene.move_to(&b, &pod, HOST).await?;
    traffic.finish_without_loss().await.map(drop)
}
