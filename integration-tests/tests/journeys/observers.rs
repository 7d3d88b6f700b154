//! Whoever only observes may be killed, blocked or flooded: nothing is deployed otherwise for it.

use crate::published::{Mute, Silence};
use integration_tests::{Outcome, Scene, controller::Controller, ensure, eventually, manifest};
use serde_json::json;
use std::net::Ipv4Addr;

const HOST: &str = "shop.example";
/// Each is told of events, and nobody waits for any of them.
pub(crate) const OBSERVERS: [&str; 7] =
    ["commentator", "gateway-status", "log-level", "metrics", "recorder", "traces", "reporter"];

pub async fn change_nothing(scene: Scene) -> Outcome {
    // Their collector takes connections and nothing else.
    let collector = Mute::listen((Ipv4Addr::LOCALHOST, 0)).await?;
    let endpoint = format!("http://{}", collector.address);
    // Who leads is another journey's: on a busy machine a short Lease would be lost.
    let mut configuration = scene.configuration()?.manifest;
    configuration["spec"]["controller"]["leaderElection"] = json!({});
    scene.configure_with(&configuration).await?;
    let pod = scene.pod().await?;
    let traced = [("OTEL_EXPORTER_OTLP_ENDPOINT", endpoint.as_str()), ("OTEL_BSP_SCHEDULE_DELAY", "100")];
    let mut controller = scene.controller_with(&traced)?;
    controller.ready().await?;
    let backends = [scene.backend("a").await?, scene.backend("b").await?];
    scene.publish("shop", HOST, &backends[0]).await?;
    pod.serves(HOST, "a").await?;
    pod.has_stored_what_it_runs().await?;
    let (traffic, worker) = (pod.traffic(HOST), pod.worker().await?);
    let mut backend = backends.iter().cycle().skip(1);
    let mut change = async |what: &str| {
        let Some(next) = backend.next() else { return Ok(()) };
        scene.move_to(next, &pod, HOST).await.map_err(|failure| failure.during(what))
    };
    for observer in OBSERVERS {
        controller.block(observer).await?;
        controller.flood(20_000).await?;
        let while_blocked = change(&format!("{observer} is blocked and flooded")).await;
        let is_well = controller.is_live_and_ready().await;
        controller.unblock(observer).await?;
        while_blocked?;
        is_well?;
        killed_too_often(&controller, observer).await?;
        change(&format!("{observer} was killed again and again")).await?;
    }
    let silence = Silence::begin(&scene).await?;
    let mut evil = manifest::ingress("evil", "evil.example", "shop");
    evil["metadata"]["annotations"]["haproxy-haptic.org/rate-limit"] = json!("ten");
    scene.apply(&evil).await?;
    change("the API server takes no Events").await?;
    eventually("Events and published state wait for the API server, and say so", async || {
        let (_, told) = controller.status().await?;
        let words = ["an Event cannot be written", "is not published", "did not answer within"];
        ensure(words.iter().all(|word| told.contains(word)), told)
    })
    .await?;
    change("the API server answers no observer").await?;
    silence.end(&scene).await?;
    eventually("it says what it lost", async || {
        let events = controller.events().await?;
        let lost = events.iter().filter(|event| event["kind"] == "EventsLost").count();
        ensure(lost > 0, format!("the last of {}: {:?}", events.len(), events.last()))
    })
    .await?;
    let dropped = controller.metric("haptic_events_dropped_total{observer=\"commentator\"}").await?;
    ensure(dropped >= 10_000.0, format!("{dropped} events dropped"))?;
    controller.ready().await?;
    let after = pod.worker().await?;
    ensure(worker == after, format!("HAProxy reloaded: it was {worker:?} and is {after:?}"))?;
    traffic.finish_without_loss().await.map(drop)
}

/// More often than would end the process if it were not an observer.
async fn killed_too_often(controller: &Controller, observer: &str) -> Outcome {
    for _ in 0..7 {
        let before = controller.actors().await?.get(observer).copied().unwrap_or_default();
        controller.panic(observer).await?;
        eventually(format!("{observer} runs again"), async || {
            let state = controller.actor(observer).await?;
            let again = state["restarts"] == before + 1 && state["state"] == "running";
            ensure(again, state.to_string())
        })
        .await?;
    }
    Ok(())
}
