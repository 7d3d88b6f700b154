//! What happens daily in a cluster, on HAProxy 3.4, without a reload.

use integration_tests::{
    Outcome, Scene, certificate, ensure, eventually, haproxy_pod::HaproxyPod, http, manifest,
};
use serde_json::{Value, json};

const HOST: &str = "shop.example";
const TLS_HOST: &str = "secure.example";

pub async fn everyday_changes(scene: Scene) -> Outcome {
    let (pod, _controller, [_a, b]) = scene.serving(HOST).await?;
    let traffic = pod.traffic(HOST);
    traffic.answers(20).await?;
    let before = pod.worker().await?;

    scene.publish("blog", "blog.example", &b).await?;
    pod.serves("blog.example", "b").await?;

    scene.delete(&manifest::ingress("blog", "blog.example", "blog")).await?;
    pod.answers("blog.example", 404).await?;
    scene.delete(&manifest::service("blog")).await?;
    scene.publish("blog", "blog.example", &b).await?;
    pod.serves("blog.example", "b").await?;

    let [first, second] = [certificate::for_host(TLS_HOST)?, certificate::for_host(TLS_HOST)?];
    scene.publish("secure", TLS_HOST, &b).await?;
    scene.apply(&manifest::tls_secret("secure-tls", &first)).await?;
    scene.apply(&manifest::tls_ingress("secure", TLS_HOST, "secure", "secure-tls")).await?;
    pod.serves_tls(TLS_HOST, "b", &first.der).await?;
    scene.apply(&manifest::tls_secret("secure-tls", &second)).await?;
    pod.serves_tls(TLS_HOST, "b", &second.der).await?;
    scene.delete(&manifest::tls_ingress("secure", TLS_HOST, "secure", "secure-tls")).await?;
    pod.answers(TLS_HOST, 404).await?;

    traffic.answers(20).await?;
    traffic.finish_without_loss().await?;
    let after = pod.worker().await?;
    ensure(before == after, format!("HAProxy reloaded: pid and reloads were {before:?} and are {after:?}"))
}

/// An Ingress of `host` for `a` with these annotations, whose path is an expression if they say so.
fn annotated(name: &str, host: &str, path: &str, annotations: &[(&str, &str)]) -> Value {
    let mut ingress = manifest::ingress(name, host, "a");
    let annotations =
        annotations.iter().map(|(option, value)| (format!("haproxy-haptic.org/{option}"), json!(value)));
    ingress["metadata"]["annotations"] = annotations.collect::<serde_json::Map<_, _>>().into();
    ingress["spec"]["rules"][0]["http"]["paths"][0]["path"] = json!(path);
    ingress["spec"]["rules"][0]["http"]["paths"][0]["pathType"] = json!("ImplementationSpecific");
    ingress
}

/// Waits until a path of [`HOST`] is answered with `status`.
async fn answers(pod: &HaproxyPod, path: &str, status: u16) -> Outcome {
    eventually(format!("{path} is answered with {status}"), async || {
        http::get(pod.http(), HOST, path).await?.has_status(status)
    })
    .await
}

/// After the first use nothing of them takes a reload: not a weight, a header, an expression or a condition, and not that the
/// last one goes and the first one comes.
pub async fn canaries_and_conditions(scene: Scene) -> Outcome {
    let (pod, _controller) = scene.running().await?;
    let [a, b] = [scene.backend("a").await?, scene.backend("b").await?];
    scene.publish("a", "a.example", &a).await?;
    scene.publish("b", "b.example", &b).await?;
    let canary = |weight| {
        annotated("canary", "canary.example", "/", &[("canary-service", "b:80"), ("canary-weight", weight)])
    };
    let pattern = |path| annotated("pattern", HOST, path, &[("path-type", "regex")]);
    scene.apply(&canary("0")).await?;
    scene.apply(&pattern("/one/[0-9]+")).await?;
    pod.serves("canary.example", "a").await?;
    answers(&pod, "/one/1", 200).await?;
    let before = pod.worker().await?;

    scene.apply(&canary("100")).await?;
    pod.serves("canary.example", "b").await?;
    scene.apply(&canary("0")).await?;
    pod.serves("canary.example", "a").await?;

    scene.apply(&pattern("/two/[a-z]+")).await?;
    answers(&pod, "/two/x", 200).await?;
    answers(&pod, "/one/1", 404).await?;
    scene.delete(&pattern("/two/[a-z]+")).await?;
    answers(&pod, "/two/x", 404).await?;
    scene.apply(&annotated("method", HOST, "/three", &[("match-methods", "GET, HEAD")])).await?;
    answers(&pod, "/three/x", 200).await?;

    let after = pod.worker().await?;
    ensure(before == after, format!("HAProxy reloaded: pid and reloads were {before:?} and are {after:?}"))
}
