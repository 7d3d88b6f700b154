//! Objects come, change and go; HAProxy follows.

use integration_tests::{
    Outcome, Scene, certificate, ensure, eventually, haproxy_pod::AGENT_PORT, http, manifest,
    program::HaproxySeries,
};

const HOST: &str = "shop.example";

pub async fn first_deployment(scene: Scene, series: HaproxySeries) -> Outcome {
    scene.configure().await?;
    let a = scene.backend("a").await?;
    scene.publish("shop", HOST, &a).await?;
    let pod = scene.pod_of(series).await?;
    let readiness = http::get((pod.address, AGENT_PORT).into(), "agent", "/readyz").await?;
    ensure(
        readiness.status == 503,
        format!("a pod without routes must not be ready, but answers {}", readiness.status),
    )?;
    let mut controller = scene.controller()?;
    pod.serves(HOST, "a").await?;
    pod.answers("unknown.example", 404).await?;
    controller.ready().await?;
    // HAProxy answers a moment before the agent has verified that it runs what it was given.
    eventually("the pod is ready", async || {
        http::get((pod.address, AGENT_PORT).into(), "agent", "/readyz").await?.has_status(200)
    })
    .await
}

pub async fn endpoint_change(scene: Scene) -> Outcome {
    let (pod, _controller) = scene.running().await?;
    let [a, b, c] = [scene.backend("a").await?, scene.backend("b").await?, scene.backend("c").await?];
    scene.publish("shop", HOST, &a).await?;
    pod.serves(HOST, "a").await?;
    let traffic = pod.traffic(HOST);
    for next in [&b, &c, &a, &b] {
        scene.move_to(next, &pod, HOST).await?;
        traffic.answers(20).await?;
    }
    // The new endpoint takes requests a moment before the one that is gone takes none.
    eventually("the new endpoint is the only one in service", async || {
        let ready = pod.in_service("shop").await?;
        ensure(ready == [b.address.to_string()], format!("{ready:?} are"))
    })
    .await?;
    traffic.answers(20).await?;
    let before = a.requests();
    traffic.answers(100).await?;
    ensure(a.requests() == before, "an endpoint that is gone still gets requests")?;
    traffic.finish_without_loss().await.map(drop)
}

pub async fn new_host(scene: Scene) -> Outcome {
    let (pod, _controller, [_a, b]) = scene.serving(HOST).await?;
    let traffic = pod.traffic(HOST);
    pod.answers("blog.example", 404).await?;
    scene.publish("blog", "blog.example", &b).await?;
    pod.serves("blog.example", "b").await?;
    pod.serves(HOST, "a").await?;
    traffic.finish_without_loss().await.map(drop)
}

pub async fn certificate_rotation(scene: Scene) -> Outcome {
    let (pod, _controller) = scene.running().await?;
    let a = scene.backend("a").await?;
    let [first, second] = [certificate::for_host(HOST)?, certificate::for_host(HOST)?];
    scene.publish("shop", HOST, &a).await?;
    scene.apply(&manifest::tls_secret("shop-tls", &first)).await?;
    scene.apply(&manifest::tls_ingress("shop", HOST, "shop", "shop-tls")).await?;
    pod.serves_tls(HOST, "a", &first.der).await?;
    scene.apply(&manifest::tls_secret("shop-tls", &second)).await?;
    pod.serves_tls(HOST, "a", &second.der).await
}

pub async fn delete(scene: Scene) -> Outcome {
    let (pod, _controller) = scene.running().await?;
    let [a, b] = [scene.backend("a").await?, scene.backend("b").await?];
    scene.publish("shop", HOST, &a).await?;
    scene.publish("blog", "blog.example", &b).await?;
    pod.serves(HOST, "a").await?;
    pod.serves("blog.example", "b").await?;
    scene.delete(&manifest::ingress("shop", HOST, "shop")).await?;
    pod.answers(HOST, 404).await?;
    pod.serves("blog.example", "b").await?;
    scene.delete(&manifest::endpoints("blog", &[])).await?;
    pod.answers("blog.example", 503).await?;
    scene.publish("shop", HOST, &b).await?;
    pod.serves(HOST, "b").await
}
