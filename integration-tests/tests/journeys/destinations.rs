//! Where Services of type ExternalName and EndpointSlices written by hand may lead.

use crate::reports::{events_of, has_event};
use integration_tests::{
    Outcome, Scene, ensure, eventually,
    manifest::{self, BACKEND_PORT},
};
use serde_json::{Value, json};

const HOST: &str = "shop.example";
const OUTSIDE: &str = "outside.example";

/// Where the libraries' health frontend listens.
const HEALTH_PORT: u16 = 7084;

/// What is outside of the cluster is served, changes and goes without a reload, as endpoints do.
pub async fn external_names(scene: Scene) -> Outcome {
    let (pod, _controller) = scene.running().await?;
    let [a, b] = [scene.backend("a").await?, scene.backend("b").await?];
    scene.publish("shop", HOST, &a).await?;
    scene.apply(&external("outside", &a.address.to_string(), BACKEND_PORT)).await?;
    scene.apply(&leading_outside(BACKEND_PORT)).await?;
    pod.serves(HOST, "a").await?;
    pod.serves(OUTSIDE, "a").await?;
    pod.has_stored_what_it_runs().await?;
    let before = pod.worker().await?;
    let traffic = pod.traffic(HOST);
    scene.apply(&external("outside", &b.address.to_string(), BACKEND_PORT)).await?;
    pod.serves(OUTSIDE, "b").await?;
    scene.delete(&leading_outside(BACKEND_PORT)).await?;
    pod.answers(OUTSIDE, 404).await?;
    pod.has_stored_what_it_runs().await?;
    traffic.finish_without_loss().await?;
    ensure(pod.worker().await? == before, "HAProxy reloaded for a name outside of the cluster")
}

/// Neither a name nor an EndpointSlice leads to what HAProxy's pod listens at, and what else they say goes on.
pub async fn own_ports_are_no_servers(scene: Scene) -> Outcome {
    let (pod, _controller, _backends) = scene.serving(HOST).await?;
    let own = pod.http().ip().to_string();
    for (number, target) in
        [&*own, "127.0.0.1", "localhost", "169.254.169.254", "0x7f.1"].into_iter().enumerate()
    {
        // A Service of its own for each, so that each has its own Event.
        let name = format!("outside-{number}");
        let mut ingress = leading_outside(HEALTH_PORT);
        ingress["spec"]["rules"][0]["http"]["paths"][0]["backend"]["service"]["name"] = json!(name);
        scene.apply(&external(&name, target, HEALTH_PORT)).await?;
        scene.apply(&ingress).await?;
        has_event(&scene, "Service", &name, "Warned").await?;
        pod.answers(OUTSIDE, 503).await?;
        let answer = pod.get(OUTSIDE, "/metrics").await?;
        ensure(!answer.body.contains("haproxy_"), "HAProxy's metrics are there for everybody")?;
    }
    let mut by_hand = manifest::endpoints("shop", &[own.parse()?]);
    by_hand["metadata"]["name"] = json!("by-hand");
    by_hand["ports"][0]["port"] = json!(HEALTH_PORT);
    scene.apply(&by_hand).await?;
    eventually("the Event says what is left out", async || {
        let said = events_of(&scene, "Service", "shop", "Warned").await?;
        let words = format!("{own} port {HEALTH_PORT}");
        ensure(said.iter().any(|note| note.contains(&words)), format!("{words:?} is not in {said:?}"))
    })
    .await?;
    for _ in 0..10 {
        pod.get(HOST, "/").await?.is_from("a")?;
    }
    Ok(())
}

/// A Service that is a name, or an address.
fn external(name: &str, target: &str, port: u16) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Service", "metadata": { "name": name },
        "spec": { "type": "ExternalName", "externalName": target, "ports": [{ "name": "http", "port": port }] },
    })
}

fn leading_outside(port: u16) -> Value {
    let mut ingress = manifest::ingress("outside", OUTSIDE, "outside");
    ingress["spec"]["rules"][0]["http"]["paths"][0]["backend"]["service"]["port"] = json!({ "number": port });
    ingress
}
