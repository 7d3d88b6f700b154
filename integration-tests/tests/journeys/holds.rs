//! A namespace that loses a host keeps it, whatever becomes of the controllers meanwhile.

use integration_tests::{
    Outcome, Scene, certificate, controller::Controller, ensure, eventually, haproxy_pod::HaproxyPod, http,
    manifest,
};
use kube::api::DynamicObject;
use serde_json::{Value, json};
use std::net::Ipv4Addr;

const HOST: &str = "shop.example";
/// A host of the attacker's own.
const OTHER: &str = "other.example";

/// The victim's Ingress is deleted while a controller runs, and while none does. Each time the controller is killed: the next one knows
/// whose the host is, gives nothing of it to the Ingress that waits, and all of it back to the victim.
pub async fn host_held_over_restarts(scene: Scene) -> Outcome {
    let attacker = scene.another_namespace("attacker").await?;
    let mut configuration = scene.configuration()?.watching(&[&scene.namespace, &attacker]);
    scene.configure_with(&configuration.manifest).await?;
    let pod = scene.pod().await?;
    let controller = scene.ready_controller().await?;

    let [a, b] = [scene.backend("a").await?, scene.backend("b").await?];
    let own = certificate::for_host(HOST)?;
    let victim = manifest::tls_ingress("shop", HOST, "shop", "shop-tls");
    for object in [
        manifest::service("shop"),
        manifest::endpoints("shop", &[a.address]),
        manifest::tls_secret("shop-tls", &own),
        victim.clone(),
    ] {
        scene.apply(&object).await?;
    }
    pod.serves_tls(HOST, "a", &own.der).await?;
    until_later(&scene, &victim).await?;
    let attack = Attack::of(&attacker, b.address)?;
    for object in &attack.manifests {
        scene.cluster.apply(&attacker, object).await?;
    }
    pod.serves(OTHER, "b").await?;
    controller.says("is taken by").await?;

    // In the sight of a controller.
    scene.delete(&victim).await?;
    pod.answers(HOST, 404).await?;
    record(&scene, "\"left\":").await?;
    controller.kill().await?;
    let mut controller = is_held(&scene, &pod, &attack).await?;
    scene.apply(&victim).await?;
    pod.serves_tls(HOST, "a", &own.der).await?;

    // While none runs, and twice over.
    for _ in 0..2 {
        record(&scene, HOST).await?;
        controller.kill().await?;
        scene.delete(&victim).await?;
        controller = is_held(&scene, &pod, &attack).await?;
        scene.apply(&victim).await?;
        pod.serves_tls(HOST, "a", &own.der).await?;
    }

    // Without a hold the host is the attacker's as soon as it is free.
    configuration.manifest["spec"]["controller"]["hostHold"] = json!("0s");
    scene.apply(&configuration.manifest).await?;
    scene.delete(&victim).await?;
    eventually("the attacker's certificate is shown", async || {
        let shown = http::get_tls(pod.https(), HOST, "/").await?.certificate;
        ensure(shown == Some(attack.certificate.clone()), "another one is")
    })
    .await
}

/// Who waits for the host, with a host of its own, which tells that it is served.
struct Attack {
    namespace: String,
    manifests: Vec<Value>,
    certificate: Vec<u8>,
}

impl Attack {
    /// A route, a certificate, verification of clients.
    fn of(namespace: &str, server: Ipv4Addr) -> Outcome<Self> {
        let mut waiting = manifest::tls_ingress("waiting", HOST, "waiting", "waiting-tls");
        waiting["metadata"]["annotations"] = json!({ "haproxy-haptic.org/client-ca-secret": "waiting-ca" });
        let certificate = certificate::for_host(HOST)?;
        let authority = json!({ "apiVersion": "v1", "kind": "Secret", "metadata": { "name": "waiting-ca" },
            "stringData": { "ca.crt": certificate::for_host(OTHER)?.pem } });
        let manifests = vec![
            manifest::service("waiting"),
            manifest::endpoints("waiting", &[server]),
            manifest::tls_secret("waiting-tls", &certificate),
            authority,
            waiting,
            manifest::ingress("other", OTHER, "waiting"),
        ];
        Ok(Self { namespace: namespace.to_owned(), manifests, certificate: certificate.der })
    }
}

/// A controller that starts gives nothing of the host to who waits: nothing it has rendered says so.
async fn is_held(scene: &Scene, pod: &HaproxyPod, attack: &Attack) -> Outcome<Controller> {
    let controller = scene.ready_controller().await?;
    // What is changed now is rendered by the controller that has just started.
    let probe = format!("probe-{}.example", controller.process_id());
    scene.cluster.apply(&attack.namespace, &manifest::ingress("probe", &probe, "waiting")).await?;
    pod.serves(&probe, "b").await?;
    pod.has_stored_what_it_runs().await?;
    pod.answers(HOST, 404).await?;
    let answer = http::get_tls(pod.https(), HOST, "/").await?;
    answer.has_status(404)?;
    ensure(answer.certificate != Some(attack.certificate.clone()), "the attacker's certificate is shown")?;
    Ok(controller)
}

/// What is written down of what is kept.
async fn record(scene: &Scene, words: &str) -> Outcome {
    let record = json!({ "apiVersion": "haproxy-haptic.org/v1alpha1", "kind": "HAProxyGeneralFile",
        "metadata": { "name": "demo-host-holds" } });
    eventually("what is kept is written down", async || {
        let found = scene.cluster.get(&scene.namespace, &record).await?.data;
        let content = found["spec"]["content"].as_str().unwrap_or_default();
        ensure(content.contains(words), format!("{words} is not in {content}"))
    })
    .await
}

/// Ages are told apart by seconds.
async fn until_later(scene: &Scene, object: &Value) -> Outcome {
    let created = |object: &DynamicObject| object.metadata.creation_timestamp.clone();
    let older = created(&scene.cluster.get(&scene.namespace, object).await?);
    let probe = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "clock" } });
    eventually("what comes now is younger", async || {
        scene.delete(&probe).await.ok();
        scene.apply(&probe).await?;
        ensure(created(&scene.cluster.get(&scene.namespace, &probe).await?) > older, "the same second")
    })
    .await
}
