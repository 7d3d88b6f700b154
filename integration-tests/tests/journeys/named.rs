//! Secrets that nobody names are not read; one that somebody names is there before anybody misses it.

use crate::{reports::events, webhook};
use integration_tests::{
    Outcome, Scene, certificate, ensure, eventually, http::Connection, manifest, registration,
};
use serde_json::{Value, json};
use std::net::SocketAddr;

const EARLY: &str = "early.example";
const LATE: &str = "late.example";
const REVIEWED: &str = "reviewed.example";

pub async fn only_named_ones_are_read(scene: Scene) -> Outcome {
    let pod = scene.pod().await?;
    let guarded = webhook::Guarded::start(scene, 1, "Ignore", json!({})).await?;
    let (scene, controller) = (&guarded.scene, &guarded.controllers[0]);
    let configuration = registration::configuration(scene, scene.configuration()?, &json!({}));
    scene.configure_with(&configuration).await?;
    eventually("the libraries' resources are watched", async || {
        let stores = controller.debug_page("/debug/stores").await?;
        ensure(stores.contains("labelledsecrets"), stores)
    })
    .await?;
    let a = scene.backend("a").await?;
    scene.publish("shop", "shop.example", &a).await?;
    pod.serves("shop.example", "a").await?;

    let (early, late) = (certificate::for_host(EARLY)?, certificate::for_host(LATE)?);
    for name in ["early-tls", "unnamed-tls", "reviewed-tls"] {
        scene.apply(&manifest::tls_secret(name, &early)).await?;
    }
    scene.apply(&manifest::tls_ingress("early", EARLY, "shop", "early-tls")).await?;
    pod.serves_tls(EARLY, "a", &early.der).await?;
    scene.apply(&manifest::tls_ingress("late", LATE, "shop", "late-tls")).await?;
    pod.serves_tls(EARLY, "a", &early.der).await?;
    scene.apply(&manifest::tls_secret("late-tls", &late)).await?;
    pod.serves_tls(LATE, "a", &late.der).await?;
    let renewed = certificate::for_host(EARLY)?;
    scene.apply(&manifest::tls_secret("early-tls", &renewed)).await?;
    pod.serves_tls(EARLY, "a", &renewed.der).await?;

    let held = controller.debug_page("/debug/stores/secrets").await?;
    let has = |name: &str| held.contains(&format!("{}/{name}\"", scene.namespace));
    ensure(has("early-tls") && has("late-tls") && !has("unnamed-tls") && !has("reviewed-tls"), held)?;
    let all = events(scene).await?;
    let of_early = |name: Option<&str>| name == Some("early");
    let told: Vec<_> =
        all.iter().filter(|e| of_early(e.regarding.as_ref().and_then(|r| r.name.as_deref()))).collect();
    ensure(told.is_empty(), format!("{told:?}"))?;

    // What is about to name one is judged with it.
    let (address, path): (SocketAddr, String) =
        ((controller.address, webhook::PORT).into(), guarded.path().await?);
    let warnings = async |secret, number| {
        let ingress = manifest::tls_ingress("reviewed", REVIEWED, "shop", secret);
        let mut connection = Connection::open(address, Some(registration::SERVICE)).await?;
        let answer = connection.post(&path, &webhook::review(&scene.namespace, &ingress, number)).await?;
        let answer: Value = serde_json::from_str(&answer.body)?;
        ensure(answer["response"]["allowed"] == true, answer.to_string())?;
        Outcome::Ok(answer["response"]["warnings"].to_string())
    };
    let there = warnings("reviewed-tls", 1).await?;
    ensure(!there.contains("reviewed-tls is not there"), there)?;
    let nowhere = warnings("nowhere-tls", 2).await?;
    ensure(nowhere.contains("nowhere-tls"), nowhere)
}
