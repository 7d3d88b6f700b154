//! The harness itself, without a controller. When this one fails, look here first.

use integration_tests::{
    Outcome, Scene,
    backend::Backend,
    certificate, ensure,
    eventually::{PATIENCE, eventually},
    http, manifest,
    process::Process,
    program::{self, HaproxySeries},
    traffic::Traffic,
};
use std::{fs, net::SocketAddr};
use tokio::process::Command;

pub async fn parts_work_without_a_controller(scene: Scene) -> Outcome {
    let [a, b] = [scene.backend("a").await?, scene.backend("b").await?];
    scene.publish("shop", "shop.example", &a).await?;
    let slices = scene.cluster.get(&scene.namespace, &manifest::endpoints("shop", &[])).await?;
    ensure(
        slices.data["endpoints"][0]["addresses"][0] == a.address.to_string(),
        format!("{:?}", slices.data),
    )?;
    let refused = scene.apply(&manifest::endpoints("shop", &["127.0.0.1".parse()?])).await;
    ensure(refused.is_err(), "a real API server refuses loopback endpoints")?;

    for series in [HaproxySeries::V3_0, HaproxySeries::V3_2, HaproxySeries::V3_4] {
        serve_with(&scene, series, &[&a, &b]).await?;
    }
    Ok(())
}

async fn serve_with(scene: &Scene, series: HaproxySeries, backends: &[&Backend; 2]) -> Outcome {
    let certificate = certificate::for_host("shop.example")?;
    let address = scene.block.pod(200 - 20);
    let (plain, tls): (SocketAddr, SocketAddr) = ((address, 80).into(), (address, 443).into());
    fs::write(scene.dir.join("shop.pem"), format!("{}{}", certificate.pem, certificate.key))?;
    let servers =
        backends.map(|b| format!("  server {} {}:{}\n", b.name, b.address, manifest::BACKEND_PORT)).concat();
    fs::write(
        scene.dir.join("haproxy.cfg"),
        format!(
            "global\n  default-path config\ndefaults\n  mode http\n  timeout connect 1s\n  timeout client 9s\n  timeout server 9s\n\
             frontend web\n  bind {plain}\n  bind {tls} ssl crt shop.pem\n  default_backend shop\nbackend shop\n  balance roundrobin\n{servers}"
        ),
    )?;
    let mut command = Command::new(program::haproxy(series)?);
    command.arg("-W").arg("-f").arg(scene.dir.join("haproxy.cfg"));
    let mut haproxy = Process::start(command, &scene.dir.join("haproxy.log"))?;
    eventually("HAProxy answers over TLS", async || {
        haproxy.ensure_running()?;
        let response = http::get_tls(tls, "shop.example", "/").await?;
        ensure(response.certificate == Some(certificate.der.clone()), "another certificate")?;
        response.has_status(200)
    })
    .await?;

    let asked = backends.map(Backend::requests);
    let traffic = Traffic::start(2, plain, "shop.example");
    traffic.answers(50).await?;
    let answered = traffic.finish_without_loss().await?;
    let by_each = [backends[0].requests() - asked[0], backends[1].requests() - asked[1]];
    ensure(
        by_each.iter().all(|n| *n >= 20) && by_each.iter().sum::<u64>() >= answered,
        format!("{by_each:?} of {answered}"),
    )?;

    let traffic = Traffic::start(2, plain, "shop.example");
    traffic.answers(10).await?;
    ensure(haproxy.kill_descendants("haproxy") > 0, "HAProxy has a worker")?;
    haproxy
        .ended(PATIENCE)
        .await
        .map(drop)
        .or_else(|killed| ensure(killed.sentence().contains("ended by"), killed.sentence()))?;
    eventually("lost requests are noticed", async || ensure(traffic.failed() > 0, "no failure counted"))
        .await?;
    ensure(traffic.finish_without_loss().await.is_err(), "a loss is a failure")
}
