//! What happens daily in a cluster, on HAProxy 3.4, without a reload.

use integration_tests::{Outcome, Scene, certificate, ensure, manifest};

const HOST: &str = "shop.example";
const TLS_HOST: &str = "secure.example";

pub async fn everyday_changes(scene: Scene) -> Outcome {
    let (pod, _controller) = scene.running().await?;
    let [a, b] = [scene.backend("a").await?, scene.backend("b").await?];
    scene.publish("shop", HOST, &a).await?;
    pod.serves(HOST, "a").await?;
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
