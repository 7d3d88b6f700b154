//! Pods with HAProxy's Data Plane API in the place of an agent: the same stories as with agents, and what can only go wrong
//! with that API. With `HAPTIC_TEST_DATAPLANEAPI` the real one is there, and what only its double can be told to do is left out.

use crate::{configuration, failures, fleet, restarts, routes};
use integration_tests::{
    Journey, Outcome, Scene, certificate, configuration::CREDENTIALS, controller::Controller, ensure,
    eventually, haproxy_pod::HaproxyPod, journey, manifest, program::HaproxySeries,
};
use serde_json::json;

const HOST: &str = "shop.example";

pub fn journeys() -> Vec<Journey> {
    let mut all = vec![
        journey("dataplaneapi_first_deployment", |scene| first_deployment(api(scene), HaproxySeries::V3_4)),
        journey("dataplaneapi_first_deployment_3_2", |scene| {
            first_deployment(api(scene), HaproxySeries::V3_2)
        }),
        journey("dataplaneapi_first_deployment_3_0", |scene| {
            first_deployment(api(scene), HaproxySeries::V3_0)
        }),
        journey("dataplaneapi_reloads", |scene| reloads_only_where_it_must(api(scene), HaproxySeries::V3_4)),
        journey("dataplaneapi_reloads_3_0", |scene| {
            reloads_only_where_it_must(api(scene), HaproxySeries::V3_0)
        }),
        journey("dataplaneapi_foreign_edit", |scene| foreign_edit(api(scene))),
        journey("dataplaneapi_failed_reload", |scene| failed_reload(api(scene))),
        journey("dataplaneapi_restarted", |scene| restarted(api(scene))),
        journey("dataplaneapi_endpoint_change", |scene| routes::endpoint_change(api(scene))),
        journey("dataplaneapi_new_host", |scene| routes::new_host(api(scene))),
        journey("dataplaneapi_certificate_rotation", |scene| routes::certificate_rotation(api(scene))),
        journey("dataplaneapi_delete", |scene| routes::delete(api(scene))),
        journey("dataplaneapi_config_changed_live", |scene| configuration::changed_live(api(scene))),
        journey("dataplaneapi_config_that_haproxy_refuses", |scene| {
            configuration::refused_by_haproxy(api(scene))
        }),
        journey("dataplaneapi_malformed_object", |scene| configuration::malformed_object(api(scene))),
        journey("dataplaneapi_haproxy_killed", |scene| failures::haproxy_killed(api(scene))),
        journey("dataplaneapi_pod_killed", |scene| failures::agent_killed(api(scene))),
        journey("dataplaneapi_pod_replaced", |scene| failures::pod_replaced(api(scene))),
        journey("dataplaneapi_one_slow_pod_of_two", |scene| failures::one_slow_pod_of_two(api(scene))),
        journey("dataplaneapi_hanging", |scene| fleet::with_a_hanging_agent(api(scene))),
        journey("dataplaneapi_controller_killed", |scene| {
            restarts::controller_killed_and_restarted(api(scene))
        }),
        journey("dataplaneapi_credentials_rotated", |scene| credentials_rotated(api(scene))),
    ];
    if std::env::var_os("HAPTIC_TEST_DATAPLANEAPI").is_none() {
        all.push(journey("dataplaneapi_faults", |scene| faults(api(scene))));
    }
    all
}

fn api(scene: Scene) -> Scene {
    scene.through_data_plane_api()
}

async fn first_deployment(scene: Scene, series: HaproxySeries) -> Outcome {
    let mut configuration = scene.configuration()?.manifest;
    configuration["spec"]["dataplane"]["driftPreventionInterval"] = json!("1s");
    scene.configure_with(&configuration).await?;
    let a = scene.backend("a").await?;
    let certificate = certificate::for_host("secure.example")?;
    scene.publish("shop", HOST, &a).await?;
    scene.publish("secure", "secure.example", &a).await?;
    scene.apply(&manifest::tls_secret("secure.tls", &certificate)).await?;
    scene.apply(&manifest::tls_ingress("secure", "secure.example", "secure", "secure.tls")).await?;
    let pod = scene.pod_of(series).await?;
    let mut controller = scene.controller()?;
    pod.serves(HOST, "a").await?;
    pod.serves_tls("secure.example", "a", &certificate.der).await?;
    pod.answers("unknown.example", 404).await?;
    controller.ready().await?;
    // The API's way of writing it never looks like somebody else's change: after some looks at it nothing is brought again.
    let generation = deployed(&controller);
    let before = settled(&pod).await?;
    tokio::time::sleep(std::time::Duration::from_secs(5)).await;
    let (after, since) = (settled(&pod).await?, deployed(&controller));
    ensure(before == after || since != generation, format!("brought again: it was {before} and is {after}"))?;
    let said = controller.printed();
    ensure(!said.contains("DriftFound"), format!("something looked like drift: {said}"))
}

/// How often the controller said that it deployed.
fn deployed(controller: &Controller) -> usize {
    controller.printed().matches("\"kind\":\"Deployed\"").count()
}

/// What lies on the pod, once it is what HAProxy runs: whatever writes it raises its version.
async fn settled(pod: &HaproxyPod) -> Outcome<String> {
    pod.has_stored_what_it_runs().await?;
    let text = std::fs::read_to_string(pod.folder().join("haproxy.cfg"))?;
    let version = text.lines().find(|line| line.starts_with("# _version=")).unwrap_or_default().to_owned();
    Ok(format!("{version}, {} reloads", pod.worker().await?.reloads))
}

/// Endpoints come and go without a reload; a new route is exactly one.
async fn reloads_only_where_it_must(scene: Scene, series: HaproxySeries) -> Outcome {
    scene.configure().await?;
    let pod = scene.pod_of(series).await?;
    let _controller = scene.controller()?;
    let [a, b, c] = [scene.backend("a").await?, scene.backend("b").await?, scene.backend("c").await?];
    scene.publish("shop", HOST, &a).await?;
    pod.serves(HOST, "a").await?;
    // What templates make of the pod's version, once it is known, is a reload of its own; after this route it is over.
    scene.publish("first", "first.example", &a).await?;
    pod.serves("first.example", "a").await?;
    pod.has_stored_what_it_runs().await?;
    let traffic = pod.traffic(HOST);
    let before = pod.worker().await?;
    for next in [&b, &c, &a, &b] {
        scene.apply(&manifest::endpoints("shop", &[next.address])).await?;
        pod.serves(HOST, &next.name).await?;
    }
    traffic.answers(50).await?;
    let after = pod.worker().await?;
    ensure(before == after, format!("an endpoint reloaded: it was {before:?} and is {after:?}"))?;
    scene.publish("blog", "blog.example", &c).await?;
    pod.serves("blog.example", "c").await?;
    let after = pod.worker().await?;
    ensure(after.reloads == before.reloads + 1, format!("not one reload: {before:?}, {after:?}"))?;
    scene.apply(&manifest::endpoints("shop", &[c.address])).await?;
    pod.serves(HOST, "c").await?;
    ensure(pod.worker().await? == after, "an endpoint reloaded after the route")?;
    traffic.finish_without_loss().await.map(drop)
}

/// Somebody writes to haproxy.cfg beside the API, and to a map: it is told, and set right.
async fn foreign_edit(scene: Scene) -> Outcome {
    let mut configuration = scene.configuration()?.manifest;
    configuration["spec"]["dataplane"]["driftPreventionInterval"] = json!("1s");
    scene.configure_with(&configuration).await?;
    let pod = scene.pod().await?;
    let controller = scene.controller()?;
    let a = scene.backend("a").await?;
    scene.publish("shop", HOST, &a).await?;
    pod.serves(HOST, "a").await?;
    pod.has_stored_what_it_runs().await?;
    let file = pod.folder().join("haproxy.cfg");
    let ours = std::fs::read_to_string(&file)?;
    std::fs::write(&file, format!("{ours}\nbackend foreign\n  server a 127.0.0.1:1\n"))?;
    controller.says("haproxy.cfg on the pod is not the one that was deployed last").await?;
    eventually("haproxy.cfg is ours again", async || {
        let text = std::fs::read_to_string(&file)?;
        ensure(!text.contains("backend foreign"), "somebody else's is still there")
    })
    .await?;
    pod.serves(HOST, "a").await?;
    let map = pod.folder().join("maps/path-prefix.map");
    let ours = std::fs::read_to_string(&map)?;
    let loaded = pod.runtime(&format!("clear map {}", mounted_map(&pod).await?)).await?;
    ensure(loaded.trim().is_empty(), loaded)?;
    pod.serves(HOST, "a").await?;
    ensure(std::fs::read_to_string(&map)? == ours, "its file was changed")
}

/// As HAProxy calls the map of paths.
async fn mounted_map(pod: &HaproxyPod) -> Outcome<String> {
    let maps = pod.runtime("show map").await?;
    let named = maps.lines().find_map(|line| Some(line.split_once('(')?.1.split_once(')')?.0));
    let named = maps
        .lines()
        .filter_map(|line| Some(line.split_once('(')?.1.split_once(')')?.0))
        .find(|name| name.ends_with("path-prefix.map"))
        .or(named);
    named.map(str::to_owned).ok_or_else(|| integration_tests::Failure::new(maps.clone()))
}

/// A reload that HAProxy refuses is told with its words; what ran before runs on, and what comes next is deployed.
async fn failed_reload(scene: Scene) -> Outcome {
    let (pod, controller) = scene.running().await?;
    let [a, b] = [scene.backend("a").await?, scene.backend("b").await?];
    scene.publish("shop", HOST, &a).await?;
    pod.serves(HOST, "a").await?;
    let traffic = pod.traffic(HOST);
    let demo = scene.configuration()?;
    let taken = format!("{}\nfrontend taken from clients\n  bind {}:8080\n", demo.template(), a.address);
    scene.apply(&demo.with_template(taken).manifest).await?;
    controller.says("cannot bind socket").await?;
    traffic.answers(50).await?;
    scene.apply(&demo.manifest).await?;
    scene.apply(&manifest::endpoints("shop", &[b.address])).await?;
    pod.serves(HOST, "b").await?;
    traffic.finish_without_loss().await.map(drop)
}

/// The API is started anew while changes flow.
async fn restarted(scene: Scene) -> Outcome {
    let (mut pod, _controller) = scene.running().await?;
    let [a, b] = [scene.backend("a").await?, scene.backend("b").await?];
    scene.publish("shop", HOST, &a).await?;
    pod.serves(HOST, "a").await?;
    let traffic = pod.traffic(HOST);
    for (name, host) in [("one", "one.example"), ("two", "two.example")] {
        scene.publish(name, host, &b).await?;
        pod.sidecar()?.restart_api()?;
        pod.serves(host, "b").await?;
    }
    traffic.finish_without_loss().await.map(drop)
}

/// The Secret changes, and the API is started anew with it: before, or after. Once both know it, changes arrive.
async fn credentials_rotated(scene: Scene) -> Outcome {
    let (mut pod, _controller) = scene.running().await?;
    let backends = [scene.backend("a").await?, scene.backend("b").await?];
    scene.publish("shop", HOST, &backends[0]).await?;
    pod.serves(HOST, "a").await?;
    let traffic = pod.traffic(HOST);
    for number in 1..=2 {
        let new = ("admin".to_owned(), format!("secret number {number}"));
        let secret = manifest::credentials(CREDENTIALS, &new.0, &new.1);
        let pod_is_first = number % 2 == 0;
        if pod_is_first {
            pod.change_credentials(new.clone())?;
            scene.apply(&secret).await?;
        } else {
            scene.apply(&secret).await?;
            pod.change_credentials(new)?;
        }
        let next = &backends[number % 2];
        scene.apply(&manifest::endpoints("shop", &[next.address])).await?;
        pod.serves(HOST, &next.name).await?;
    }
    traffic.finish_without_loss().await.map(drop)
}

/// What the API may do at any time: another writer, a reload that it forgets, a change that it only says it made.
async fn faults(scene: Scene) -> Outcome {
    let (mut pod, controller) = scene.running().await?;
    let [a, b] = [scene.backend("a").await?, scene.backend("b").await?];
    scene.publish("shop", HOST, &a).await?;
    pod.serves(HOST, "a").await?;
    pod.has_stored_what_it_runs().await?;

    pod.sidecar()?.fault(&json!({ "conflicts": 2 })).await?;
    scene.apply(&manifest::endpoints("shop", &[b.address])).await?;
    pod.serves(HOST, "b").await?;

    pod.sidecar()?.fault(&json!({ "forgottenReloads": 1 })).await?;
    scene.publish("blog", "blog.example", &a).await?;
    pod.serves("blog.example", "a").await?;

    pod.sidecar()?.fault(&json!({ "silentForMillis": 1500 })).await?;
    scene.apply(&manifest::endpoints("shop", &[a.address])).await?;
    pod.serves(HOST, "a").await?;
    controller.says("blog").await
}
