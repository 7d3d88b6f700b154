//! What the built-in libraries and the controller do together: the default certificate, and what is told of routes that
//! somebody else has.

use crate::reports::{events, has_event};
use integration_tests::{
    Failure, Outcome, Scene, certificate, configuration::NAME, ensure, eventually, haproxy_pod::HaproxyPod,
    http, manifest,
};
use serde_json::json;

const HOST: &str = "shop.example";
const ANY_HOST: &str = "nobody.example";

/// Made once, the same on every pod and after every change of leaders; what somebody puts in its place is served.
pub async fn default_certificate(scene: Scene) -> Outcome {
    let (pod, first) = scene.running().await?;
    let other = scene.pod().await?;
    let _second = scene.ready_controller().await?;
    let a = scene.backend("a").await?;
    scene.publish("shop", HOST, &a).await?;
    pod.serves(HOST, "a").await?;
    let made = eventually("there is a default certificate", async || shown(&pod).await).await?;
    eventually("the other pod shows the same", async || {
        ensure(shown(&other).await? == made, "another certificate")
    })
    .await?;

    first.kill().await?;
    let before = pod.worker().await?;
    let traffic = pod.traffic(HOST);
    let b = scene.backend("b").await?;
    scene.move_to(&b, &pod, HOST).await?;
    ensure(shown(&pod).await? == made, "the next leader made another certificate")?;

    let own = certificate::for_host(ANY_HOST)?;
    scene.apply(&manifest::tls_secret(&format!("{NAME}-default-certificate"), &own)).await?;
    for pod in [&pod, &other] {
        eventually("what was put in its place is served", async || {
            ensure(shown(pod).await? == own.der, "another certificate")
        })
        .await?;
    }
    // A host's own certificate goes before it.
    let mine = certificate::for_host(HOST)?;
    scene.apply(&manifest::tls_secret("shop-tls", &mine)).await?;
    scene.apply(&manifest::tls_ingress("shop", HOST, "shop", "shop-tls")).await?;
    pod.serves_tls(HOST, "b", &mine.der).await?;
    ensure(shown(&pod).await? == own.der, "the default certificate is that of another host")?;
    traffic.finish_without_loss().await?;
    ensure(pod.worker().await? == before, "HAProxy reloaded for a certificate")
}

/// Of two Ingresses for the same the older one goes on; the other one's Event names it.
pub async fn rejected_routes(scene: Scene) -> Outcome {
    let (pod, _controller) = scene.running().await?;
    let [a, b] = [scene.backend("a").await?, scene.backend("b").await?];
    scene.publish("older", HOST, &a).await?;
    pod.serves(HOST, "a").await?;
    // Ages are told apart by seconds.
    let created = |object: &kube::api::DynamicObject| object.metadata.creation_timestamp.clone();
    let older =
        created(&scene.cluster.get(&scene.namespace, &manifest::ingress("older", HOST, "older")).await?);
    eventually("the younger one is younger", async || {
        let probe = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "clock" } });
        scene.delete(&probe).await.ok();
        scene.apply(&probe).await?;
        ensure(created(&scene.cluster.get(&scene.namespace, &probe).await?) > older, "the same second")
    })
    .await?;
    scene.publish("a-younger", HOST, &b).await?;
    has_event(&scene, "Ingress", "a-younger", "RouteConflict").await?;
    let words = format!("{HOST}/ (Prefix) is taken by ingresses {}/older, which is older", scene.namespace);
    eventually("the Event says who has it", async || {
        let all = events(&scene).await?;
        let said = all.iter().any(|event| event.note.as_ref().is_some_and(|note| note.contains(&words)));
        ensure(said, format!("{words:?} is not in {all:?}"))
    })
    .await?;
    pod.serves(HOST, "a").await?;
    scene.delete(&manifest::ingress("older", HOST, "older")).await?;
    pod.serves(HOST, "b").await
}

/// A wrong value costs the Ingress that has it, and nobody else.
pub async fn wrong_annotation(scene: Scene) -> Outcome {
    let (pod, controller, [a, b]) = scene.serving(HOST).await?;
    let traffic = pod.traffic(HOST);
    let wrong = [
        ("timeout-server", "soon", "haproxy-haptic.org/timeout-server is"),
        ("allow-from", "all", "haproxy-haptic.org/allow-from is"),
        ("retries", "many", "haproxy-haptic.org/retries is"),
        ("canary-weight", "all", "haproxy-haptic.org/canary-weight is"),
        ("match-headers-regex", "X-A: (a+)+b", "haproxy-haptic.org/match-headers-regex is"),
    ];
    for (number, (option, value, said)) in wrong.into_iter().enumerate() {
        let name = format!("wrong-{number}");
        scene.publish(&name, &format!("{name}.example"), &b).await?;
        pod.serves(&format!("{name}.example"), "b").await?;
        pod.has_stored_what_it_runs().await?;
        let mut ingress = manifest::ingress(&name, &format!("{name}.example"), &name);
        ingress["metadata"]["annotations"] = json!({ format!("haproxy-haptic.org/{option}"): value });
        scene.apply(&ingress).await?;
        controller.says(said).await?;
        has_event(&scene, "Ingress", &name, "Quarantined").await?;
        let next = [&b, &a][number % 2];
        scene.move_to(next, &pod, HOST).await?;
        // What it was before it was wrong goes on.
        pod.serves(&format!("{name}.example"), "b").await?;
        scene.delete(&ingress).await?;
    }
    traffic.finish_without_loss().await.map(drop)
}

/// The certificate that `pod` shows for a host that has none.
async fn shown(pod: &HaproxyPod) -> Outcome<Vec<u8>> {
    let answer = http::get_tls(pod.https(), ANY_HOST, "/").await?;
    answer.has_status(404)?;
    answer.certificate.ok_or_else(|| Failure::new("no certificate"))
}
