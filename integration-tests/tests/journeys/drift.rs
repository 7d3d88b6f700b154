//! Somebody changes through its socket what HAProxy has in memory; it is told and set right, by an agent without a reload.

use integration_tests::{
    Failure, Outcome, Scene, certificate, certificate::Certificate, ensure, eventually, manifest,
};
use serde_json::json;

const HOST: &str = "shop.example";

pub async fn changed_by_hand(scene: Scene) -> Outcome {
    let mut configuration = scene.by_hand()?.manifest;
    configuration["spec"]["dataplane"]["driftPreventionInterval"] = json!("1s");
    scene.configure_with(&configuration).await?;
    let pod = scene.pod().await?;
    let controller = scene.controller()?;
    let a = scene.backend("a").await?;
    let [ours, theirs] = [certificate::for_host(HOST)?, certificate::for_host(HOST)?];
    scene.publish("shop", HOST, &a).await?;
    scene.apply(&manifest::tls_secret("shop-tls", &ours)).await?;
    scene.apply(&manifest::tls_ingress("shop", HOST, "shop", "shop-tls")).await?;
    pod.serves_tls(HOST, "a", &ours.der).await?;
    pod.has_stored_what_it_runs().await?;
    let before = pod.worker().await?;

    let servers = pod.runtime("show servers conn").await?;
    let server = servers.lines().find_map(|line| line.split(' ').next().filter(|name| name.contains("shop")));
    let server = server.ok_or_else(|| Failure::new(servers.clone()))?;
    let said = pod.runtime(&format!("set server {server} weight 7")).await?;
    ensure(said.trim().is_empty(), said)?;
    controller.says(&format!("server {server} has weight 7, not 1")).await?;
    eventually("it has its weight again", async || {
        let weight = pod.runtime(&format!("get weight {server}")).await?;
        ensure(weight.starts_with("1 "), weight)
    })
    .await?;

    let map = pod.map("path-prefix.map");
    let said = pod.runtime(&format!("set map {map} {HOST}/ not_found")).await?;
    ensure(said.trim().is_empty(), said)?;
    controller.says(&format!("map {map} has other entries")).await?;
    pod.serves(HOST, "a").await?;
    let after = pod.worker().await?;
    if !pod.has_agent() {
        // That is a reload, because the map is small; and of certificates in HAProxy's memory the API tells nothing.
        return ensure(after.reloads <= before.reloads + 1, format!("it was {before:?} and is {after:?}"));
    }

    let file = format!("ssl/{}_shop-tls.pem", scene.namespace);
    let said = pod.runtime(&format!("set ssl cert {file} <<\n{}\n", payload(&theirs))).await?;
    ensure(said.contains("Transaction"), said)?;
    let said = pod.runtime(&format!("commit ssl cert {file}")).await?;
    ensure(said.contains("Success"), said)?;
    controller.says(&format!("certificate {file} has the fingerprint")).await?;
    pod.serves_tls(HOST, "a", &ours.der).await?;

    let after = pod.worker().await?;
    ensure(before == after, format!("HAProxy reloaded: it was {before:?} and is {after:?}"))
}

/// Without empty lines, which would end it.
fn payload(certificate: &Certificate) -> String {
    let lines = certificate.pem.lines().chain(certificate.key.lines());
    lines.filter(|line| !line.is_empty()).flat_map(|line| [line, "\n"]).collect()
}
