//! Several HAProxy pods: of different versions, and one that does not answer.

use integration_tests::{Outcome, Scene, certificate, ensure, eventually, manifest, program::HaproxySeries};

const HOST: &str = "shop.example";
const TLS_HOST: &str = "secure.example";

/// Both versions follow every kind of change, each in its own way.
pub async fn of_two_versions(scene: Scene) -> Outcome {
    let (new, controller) = scene.running().await?;
    let old = scene.pod_of(HaproxySeries::V3_0).await?;
    let [a, b] = [scene.backend("a").await?, scene.backend("b").await?];
    scene.publish("shop", HOST, &a).await?;
    for pod in [&new, &old] {
        pod.serves(HOST, "a").await?;
    }
    let traffic = [new.traffic(HOST), old.traffic(HOST)];
    let mut workers = Vec::new();
    for next in [&b, &a, &b] {
        scene.apply(&manifest::endpoints("shop", &[next.address])).await?;
        for pod in [&new, &old] {
            pod.serves(HOST, &next.name).await?;
        }
        workers.push([new.worker().await?, old.worker().await?]);
    }
    // The first change may meet an agent that still counts the reload before it.
    ensure(workers[1] == workers[2], format!("an endpoint change reloaded: {workers:?}"))?;

    let certificate = certificate::for_host(TLS_HOST)?;
    scene.publish("secure", TLS_HOST, &a).await?;
    scene.apply(&manifest::tls_secret("secure-tls", &certificate)).await?;
    scene.apply(&manifest::tls_ingress("secure", TLS_HOST, "secure", "secure-tls")).await?;
    for pod in [&new, &old] {
        pod.serves_tls(TLS_HOST, "a", &certificate.der).await?;
    }
    scene.delete(&manifest::tls_ingress("secure", TLS_HOST, "secure", "secure-tls")).await?;
    for pod in [&new, &old] {
        pod.answers(TLS_HOST, 404).await?;
    }
    if new.has_agent() {
        ensure(new.worker().await? == workers[2][0], "HAProxy 3.4 reloaded for a route")?;
        controller.says("HAProxy 3.0 cannot add a backend at run time").await?;
    } else {
        controller.says("the Data Plane API cannot add a backend at run time").await?;
    }
    for traffic in traffic {
        traffic.finish_without_loss().await?;
    }
    Ok(())
}

/// The good one converges at once; the log names the other, which converges when it can again.
pub async fn with_a_hanging_agent(scene: Scene) -> Outcome {
    let mut configuration = scene.configure().await?;
    configuration.manifest["spec"]["dataplane"]["deploymentTimeout"] = "5s".into();
    scene.apply(&configuration.manifest).await?;
    let [good, bad] = [scene.pod().await?, scene.pod().await?];
    let controller = scene.ready_controller().await?;
    let [a, b] = [scene.backend("a").await?, scene.backend("b").await?];
    scene.publish("shop", HOST, &a).await?;
    for pod in [&good, &bad] {
        pod.serves(HOST, "a").await?;
    }
    bad.hang()?;
    for next in [&b, &a, &b] {
        scene.move_to(next, &good, HOST).await?;
    }
    bad.get(HOST, "/").await?.is_from("a")?;
    eventually("the log says which pod does not converge", async || {
        let said = controller.printed();
        let named = said.lines().any(|line| line.contains("is not on") && line.contains(&bad.name));
        ensure(named, format!("no line about {}", bad.name))
    })
    .await?;
    bad.go_on()?;
    bad.serves(HOST, "b").await
}
