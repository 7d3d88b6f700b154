//! Pods with HAProxy's Data Plane API in the place of an agent: what can only happen with that API. What happens with agents as
//! well is told over both, see `deployments`. With `HAPTIC_TEST_DATAPLANEAPI` the real one is there, and what only its double can be told to do is left out.

use crate::{data_plane_api_answers as answers, two_versions};
use integration_tests::{
    Failure, Journey, Outcome, Scene,
    backend::Backend,
    certificate::{self, Authority},
    configuration::CREDENTIALS,
    controller::Controller,
    ensure, eventually,
    haproxy_pod::HaproxyPod,
    http, journey, manifest,
    program::HaproxySeries,
};
use serde_json::json;
use std::{fs, time::Duration};
use tokio::time::Instant;

const HOST: &str = "shop.example";
/// Pods are looked at every second in that journey.
const LOOKED_AT_TWICE: Duration = Duration::from_millis(2500);

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
        journey("dataplaneapi_ahead_of_its_disk", |scene| ahead_of_its_disk(api(scene))),
        journey("dataplaneapi_haproxy_killed_while_storing", |scene| {
            haproxy_killed_while_storing(api(scene))
        }),
        journey("dataplaneapi_restarted", |scene| restarted(api(scene))),
        journey("dataplaneapi_over_https", |scene| over_https(api(scene))),
        journey("dataplaneapi_read_only_disk", |scene| read_only_disk(api(scene))),
        journey("dataplaneapi_connections_outlive_an_endpoint", |scene| {
            connections_outlive_an_endpoint(api(scene))
        }),
        journey("dataplaneapi_many_changes", |scene| many_changes(api(scene))),
        journey("dataplaneapi_answers", |scene| answers::as_recorded(scene, HaproxySeries::V3_4)),
        journey("dataplaneapi_answers_3_0", |scene| answers::as_recorded(scene, HaproxySeries::V3_0)),
        journey("dataplaneapi_two_versions_at_rest", two_versions::at_rest),
        journey("dataplaneapi_two_versions_at_rest_after_anything", two_versions::at_rest_after_anything),
        journey("dataplaneapi_credentials_rotated", |scene| credentials_rotated(api(scene))),
    ];
    if std::env::var_os("HAPTIC_TEST_DATAPLANEAPI").is_none() {
        all.push(journey("dataplaneapi_faults", |scene| faults(api(scene))));
        all.push(journey("dataplaneapi_damages", |scene| damages(api(scene))));
        all.push(journey("dataplaneapi_reload_outlives_its_deployment", |scene| {
            reload_outlives_its_deployment(api(scene))
        }));
        all.push(journey("dataplaneapi_reload_forgotten", |scene| reload_forgotten(api(scene))));
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
    tokio::time::sleep(LOOKED_AT_TWICE).await;
    let after = settled(&pod).await?;
    // The log may tell of a generation a moment after it has been deployed.
    eventually("what came again came with a generation", async || {
        let is_new = before == after || deployed(&controller) != generation;
        ensure(is_new, format!("brought again: it was {before} and is {after}"))
    })
    .await?;
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
    let (before, checks) = (pod.worker().await?, pod.wire.checks());
    for next in [&b, &c, &a, &b] {
        scene.move_to(next, &pod, HOST).await?;
    }
    ensure(
        pod.wire.checks() == checks,
        "the API checked an endpoint beside its push, which takes as long again",
    )?;
    traffic.answers(50).await?;
    let after = pod.worker().await?;
    ensure(before == after, format!("an endpoint reloaded: it was {before:?} and is {after:?}"))?;
    pod.has_stored_what_it_runs().await?;
    // It waits for no check of the whole configuration.
    pod.wire.hold_pushes();
    scene.move_to(&a, &pod, HOST).await?;
    // Nor for the push of the change before it.
    scene.move_to(&c, &pod, HOST).await?;
    pod.wire.release();
    pod.has_stored_what_it_runs().await?;
    scene.publish("blog", "blog.example", &c).await?;
    pod.serves("blog.example", "c").await?;
    let after = pod.worker().await?;
    ensure(after.reloads == before.reloads + 1, format!("not one reload: {before:?}, {after:?}"))?;
    scene.move_to(&b, &pod, HOST).await?;
    ensure(pod.worker().await? == after, "an endpoint reloaded after the route")?;
    traffic.finish_without_loss().await.map(drop)
}

/// Somebody writes to haproxy.cfg beside the API, to a map and a certificate, and through the API: it is told, and set right.
async fn foreign_edit(scene: Scene) -> Outcome {
    let mut configuration = scene.configuration()?.manifest;
    configuration["spec"]["dataplane"]["driftPreventionInterval"] = json!("1s");
    scene.configure_with(&configuration).await?;
    let mut pod = scene.pod().await?;
    let controller = scene.controller()?;
    let a = scene.backend("a").await?;
    let [ours, theirs] = [certificate::for_host(HOST)?, certificate::for_host(HOST)?];
    scene.publish("shop", HOST, &a).await?;
    scene.apply(&manifest::tls_secret("shop-tls", &ours)).await?;
    scene.apply(&manifest::tls_ingress("shop", HOST, "shop", "shop-tls")).await?;
    pod.serves_tls(HOST, "a", &ours.der).await?;
    pod.has_stored_what_it_runs().await?;
    let before = pod.worker().await?;

    let map = pod.folder().join("maps/path-prefix.map");
    let pem = fs::read_dir(pod.folder().join("ssl"))?.flatten().map(|entry| entry.path());
    let pem = pem.into_iter().find(|path| path.display().to_string().contains("shop-tls"));
    let pem = pem.ok_or_else(|| Failure::new("the certificate is not on the pod's disk"))?;
    let foreign = ["elsewhere.example/ nobody\n".to_owned(), format!("{}{}", theirs.pem, theirs.key)];
    for (file, foreign) in [&map, &pem].into_iter().zip(foreign) {
        let (is_ours, told) = (fs::read(file)?, told_drift(&controller).await?);
        fs::write(file, &foreign)?;
        eventually(format!("{} is told of", file.display()), async || {
            // What is found while the one before is still being set right is set right with it.
            if fs::read(file)? == is_ours {
                fs::write(file, &foreign)?;
            }
            ensure(told_drift(&controller).await? > told, "it is not")
        })
        .await?;
        eventually(format!("{} is ours again", file.display()), async || {
            ensure(fs::read(file)? == is_ours, "somebody else's is still there")
        })
        .await?;
    }
    controller.says("files on its disk differ from what they should be").await?;
    let after = pod.worker().await?;
    ensure(before == after, format!("files alone reloaded: it was {before:?} and is {after:?}"))?;

    let file = pod.folder().join("haproxy.cfg");
    let ours = fs::read_to_string(&file)?;
    let foreign = format!("{ours}\nbackend stranger\n  server a 127.0.0.1:1\n");
    let is_ours_again = async || {
        eventually("haproxy.cfg is ours again", async || {
            let text = fs::read_to_string(&file)?;
            ensure(!text.contains("backend stranger"), "somebody else's is still there")
        })
        .await?;
        pod.has_stored_what_it_runs().await?;
        pod.serves(HOST, "a").await
    };
    fs::write(&file, &foreign)?;
    controller.says("haproxy.cfg on the pod is not the one that was deployed last").await?;
    is_ours_again().await?;
    let told = told_drift(&controller).await?;
    pod.sidecar()?.push(&foreign).await?;
    eventually("the other writer is told of", async || {
        ensure(told_drift(&controller).await? > told, "it is not")
    })
    .await?;
    eventually("HAProxy runs nothing of the other writer", async || {
        let backends = pod.runtime("show backend").await?;
        ensure(!backends.contains("stranger"), backends)
    })
    .await
}

/// How often something was found not to be as it should. The log says so once.
async fn told_drift(controller: &Controller) -> Outcome<f64> {
    controller.metric("haptic_drift_total").await
}

/// A reload that HAProxy refuses is told with its words; what ran before runs on, and what comes next is deployed.
async fn failed_reload(scene: Scene) -> Outcome {
    let (pod, controller, [a, b]) = scene.serving(HOST).await?;
    let traffic = pod.traffic(HOST);
    let demo = scene.configuration()?;
    let taken = format!("{}\nfrontend taken from clients\n  bind {}:8080\n", demo.template(), a.address);
    scene.apply(&demo.with_template(taken).manifest).await?;
    controller.says("cannot bind socket").await?;
    traffic.answers(50).await?;
    scene.apply(&demo.manifest).await?;
    scene.move_to(&b, &pod, HOST).await?;
    traffic.finish_without_loss().await.map(drop)
}

/// HAProxy is ahead of its disk when its controller ends: the next one knows, and reloads nothing. When HAProxy itself ends it
/// begins with what is on its disk, and what came after that is brought again.
async fn ahead_of_its_disk(scene: Scene) -> Outcome {
    let (pod, controller, [a, b]) = scene.serving(HOST).await?;
    pod.has_stored_what_it_runs().await?;
    let before = pod.worker().await?;
    pod.wire.hold_pushes();
    scene.move_to(&b, &pod, HOST).await?;
    // A controller that ends before it has recorded that was cut short, and the next one reloads.
    eventually("it is recorded that HAProxy is ahead", async || {
        ensure(pod.status().await?["ahead"] == true, "it is not")
    })
    .await?;
    controller.kill().await?;
    pod.wire.cut();
    pod.wire.release();
    let _controller = scene.controller()?;
    pod.has_stored_what_it_runs().await?;
    pod.serves(HOST, "b").await?;
    let after = pod.worker().await?;
    ensure(before == after, format!("the next controller reloaded: it was {before:?} and is {after:?}"))?;

    pod.wire.hold_pushes();
    scene.move_to(&a, &pod, HOST).await?;
    pod.kill_haproxy()?;
    pod.serves(HOST, "b").await?;
    pod.wire.cut();
    pod.wire.release();
    pod.serves(HOST, "a").await?;
    pod.has_stored_what_it_runs().await
}

/// HAProxy ends while what it runs is stored, and begins with what was stored before: it gets the newest again.
async fn haproxy_killed_while_storing(scene: Scene) -> Outcome {
    let (pod, _controller, [_a, b]) = scene.serving(HOST).await?;
    pod.has_stored_what_it_runs().await?;
    let pushes = pod.wire.pushes();
    pod.wire.hold_pushes();
    scene.move_to(&b, &pod, HOST).await?;
    eventually("it is being stored", async || ensure(pod.wire.pushes() > pushes, "it is not")).await?;
    pod.kill_haproxy()?;
    pod.serves(HOST, "a").await?;
    pod.wire.release();
    pod.serves(HOST, "b").await?;
    pod.has_stored_what_it_runs().await
}

/// The API is started anew while changes flow.
async fn restarted(scene: Scene) -> Outcome {
    let (mut pod, _controller, [_a, b]) = scene.serving(HOST).await?;
    let traffic = pod.traffic(HOST);
    for (name, host) in [("one", "one.example"), ("two", "two.example")] {
        scene.publish(name, host, &b).await?;
        pod.sidecar()?.restart_api().await?;
        pod.serves(host, "b").await?;
    }
    traffic.finish_without_loss().await.map(drop)
}

/// The Secret changes, and the API is started anew with it: before, or after. Once both know it, changes arrive.
async fn credentials_rotated(scene: Scene) -> Outcome {
    let (mut pod, _controller, backends) = scene.serving(HOST).await?;
    let traffic = pod.traffic(HOST);
    for number in 1..=2 {
        let new = ("admin".to_owned(), format!("secret number {number}"));
        let secret = manifest::credentials(CREDENTIALS, &new.0, &new.1);
        let pod_is_first = number % 2 == 0;
        if pod_is_first {
            pod.change_credentials(new.clone()).await?;
            scene.apply(&secret).await?;
        } else {
            scene.apply(&secret).await?;
            pod.change_credentials(new).await?;
        }
        let next = &backends[number % 2];
        scene.move_to(next, &pod, HOST).await?;
    }
    traffic.finish_without_loss().await.map(drop)
}

/// What the API may do at any time: another writer, a reload that it forgets, a change that it only says it made.
async fn faults(scene: Scene) -> Outcome {
    let (mut pod, controller, [a, b]) = scene.serving(HOST).await?;
    pod.has_stored_what_it_runs().await?;

    pod.sidecar()?.fault(&json!({ "conflicts": 2 })).await?;
    scene.move_to(&b, &pod, HOST).await?;

    pod.sidecar()?.fault(&json!({ "forgottenReloads": 1 })).await?;
    scene.publish("blog", "blog.example", &a).await?;
    pod.serves("blog.example", "a").await?;

    // What the API says it did, and did not: it is found out, and a reload brings it.
    pod.has_stored_what_it_runs().await?;
    let before = pod.worker().await?;
    pod.sidecar()?.fault(&json!({ "undoneChanges": 1 })).await?;
    scene.move_to(&a, &pod, HOST).await?;
    controller.says("though the Data Plane API said it was done").await?;
    let after = pod.worker().await?;
    ensure(after.reloads == before.reloads + 1, format!("not one reload: {before:?}, {after:?}"))?;

    // Somebody else is quicker, again and again.
    pod.sidecar()?.fault(&json!({ "conflicts": 1000 })).await?;
    scene.apply(&manifest::endpoints("shop", &[b.address])).await?;
    controller.says("somebody else changes the configuration through the Data Plane API").await?;
    pod.sidecar()?.fault(&json!({})).await?;
    pod.serves(HOST, "b").await?;

    pod.sidecar()?.fault(&json!({ "silentForMillis": 1500 })).await?;
    scene.move_to(&a, &pod, HOST).await?;
    controller.says("blog").await
}

/// The API damages a configuration without a word, again and again: each try waits longer than the one before, no object is at
/// fault, and what ran before runs on.
async fn damages(scene: Scene) -> Outcome {
    // Pauses of 0.2 s and more that double leave time for nine tries, each with a reload there and one back. With a reload
    // each second there would be 40.
    const TRIED_FOR: Duration = Duration::from_secs(40);
    const MOST_RELOADS: u64 = 20;
    let (mut pod, controller, [a, _]) = scene.serving(HOST).await?;
    pod.has_stored_what_it_runs().await?;
    pod.sidecar()?.fault(&json!({ "damages": "blog" })).await?;
    let before = pod.worker().await?.reloads;
    scene.publish("blog", "blog.example", &a).await?;
    controller.says("did not keep the configuration as it was sent").await?;
    tokio::time::sleep(TRIED_FOR).await;
    let reloads = pod.worker().await?.reloads - before;
    ensure(reloads <= MOST_RELOADS, format!("{reloads} reloads in {TRIED_FOR:?}"))?;
    pod.serves(HOST, "a").await?;
    let held = controller.debug_page("/debug/quarantine").await?;
    ensure(!held.contains("blog"), format!("an object is at fault of what the API damages: {held}"))?;
    pod.sidecar()?.fault(&json!({})).await?;
    pod.serves("blog.example", "a").await?;
    pod.has_stored_what_it_runs().await
}

/// A reload takes longer than a deployment may: what became of it is asked afterwards, and it is not repeated.
async fn reload_outlives_its_deployment(scene: Scene) -> Outcome {
    let mut configuration = scene.configuration()?.manifest;
    configuration["spec"]["dataplane"]["deploymentTimeout"] = json!("3s");
    scene.configure_with(&configuration).await?;
    let mut pod = scene.pod().await?;
    let controller = scene.controller()?;
    let a = scene.backend("a").await?;
    scene.publish("shop", HOST, &a).await?;
    pod.serves(HOST, "a").await?;
    pod.has_stored_what_it_runs().await?;
    let before = pod.worker().await?;
    pod.sidecar()?.fault(&json!({ "heldReloads": true })).await?;
    scene.publish("blog", "blog.example", &a).await?;
    controller.says("gave no answer to a deployment through the Data Plane API").await?;
    pod.sidecar()?.fault(&json!({})).await?;
    pod.serves("blog.example", "a").await?;
    pod.has_stored_what_it_runs().await?;
    let after = pod.worker().await?;
    ensure(after.reloads == before.reloads + 1, format!("not one reload: {before:?}, {after:?}"))
}

/// A reload that was asked for dies with the API: it is noticed, and asked for again.
async fn reload_forgotten(scene: Scene) -> Outcome {
    let (mut pod, _controller, [a, _]) = scene.serving(HOST).await?;
    pod.has_stored_what_it_runs().await?;
    pod.sidecar()?.fault(&json!({ "heldReloads": true })).await?;
    scene.publish("blog", "blog.example", &a).await?;
    let file = pod.folder().join("haproxy.cfg");
    eventually("the route is on disk", async || {
        ensure(fs::read_to_string(&file)?.contains("blog"), "it is not")
    })
    .await?;
    pod.answers("blog.example", 404).await?;
    pod.sidecar()?.restart_api().await?;
    pod.serves("blog.example", "a").await
}

/// Endpoints of a hundred Ingresses come and go without a single reload; routes that come at once share their reloads.
async fn many_changes(scene: Scene) -> Outcome {
    const INGRESSES: usize = 100;
    const CHANGES: usize = 200;
    const ROUTES: usize = 5;
    const INTERVAL: u64 = 2;
    let mut configuration = scene.configuration()?.manifest;
    configuration["spec"]["dataplane"]["minDeploymentInterval"] = json!(format!("{INTERVAL}s"));
    scene.configure_with(&configuration).await?;
    let [a, b] = [scene.backend("a").await?, scene.backend("b").await?];
    let host = |number: usize| format!("host-{number}.example");
    let name = |number: usize| format!("host-{number}");
    for number in 0..INGRESSES {
        scene.publish(&name(number), &host(number), &a).await?;
    }
    let pod = scene.pod().await?;
    let _controller = scene.controller()?;
    pod.serves(&host(INGRESSES - 1), "a").await?;
    pod.has_stored_what_it_runs().await?;
    let before = pod.worker().await?;
    for change in 0..CHANGES {
        let next = if change < INGRESSES { &b } else { &a };
        scene.apply(&manifest::endpoints(&name(change % INGRESSES), &[next.address])).await?;
    }
    scene.apply(&manifest::endpoints(&name(0), &[b.address])).await?;
    pod.serves(&host(0), "b").await?;
    pod.serves(&host(INGRESSES - 1), "a").await?;
    let after = pod.worker().await?;
    ensure(before == after, format!("endpoints reloaded: it was {before:?} and is {after:?}"))?;

    let began = Instant::now();
    for number in INGRESSES..INGRESSES + ROUTES {
        scene.publish(&name(number), &host(number), &b).await?;
    }
    for number in INGRESSES..INGRESSES + ROUTES {
        pod.serves(&host(number), "b").await?;
    }
    let reloads = pod.worker().await?.reloads - after.reloads;
    let most = 1 + began.elapsed().as_secs() / INTERVAL;
    ensure((1..=most).contains(&reloads), format!("{reloads} reloads, and at most {most} are allowed"))
}

/// Over TLS the authority decides, and the time; the name does not.
async fn over_https(scene: Scene) -> Outcome {
    let [trusted, other] = [Authority::new("trusted")?, Authority::new("other")?];
    let mut configuration = scene.configuration()?.manifest;
    configuration["spec"]["dataplane"]["scheme"] = json!("https");
    configuration["spec"]["dataplane"]["caBundle"] = json!(other.pem);
    scene.configure_with(&configuration).await?;
    let mut pod = scene.pod().await?;
    let named = ["a-name-that-no-pod-has.example".to_owned()];
    pod.sidecar()?.restart_with_tls(&trusted.sign(&named)?).await?;
    let controller = scene.controller()?;
    let [a, b] = [scene.backend("a").await?, scene.backend("b").await?];
    scene.publish("shop", HOST, &a).await?;
    controller
        .says("compare dataplane.scheme and dataplane.caBundle with the Data Plane API's certificate")
        .await?;
    configuration["spec"]["dataplane"]["caBundle"] = json!(trusted.pem);
    scene.apply(&configuration).await?;
    pod.serves(HOST, "a").await?;
    pod.has_stored_what_it_runs().await?;

    pod.sidecar()?.restart_with_tls(&trusted.sign_expired(&named)?).await?;
    scene.apply(&manifest::endpoints("shop", &[b.address])).await?;
    controller.says("expired").await?;
    pod.get(HOST, "/").await?.is_from("a")?;
    pod.sidecar()?.restart_with_tls(&trusted.sign(&named)?).await?;
    pod.serves(HOST, "b").await
}

/// One pod's disk takes no writes: it is told, its HAProxy goes on with what it has, and others do not wait for it.
async fn read_only_disk(scene: Scene) -> Outcome {
    let (good, controller) = scene.running().await?;
    let mut bad = scene.pod().await?;
    let [a, b] = [scene.backend("a").await?, scene.backend("b").await?];
    scene.publish("shop", HOST, &a).await?;
    for pod in [&good, &bad] {
        pod.serves(HOST, "a").await?;
        pod.has_stored_what_it_runs().await?;
    }
    bad.sidecar()?.restart_on_disk(true).await?;
    for next in [&b, &a, &b] {
        scene.move_to(next, &good, HOST).await?;
    }
    controller.says("cannot write its files (").await?;
    bad.get(HOST, "/").await?.is_from("a")?;
    bad.sidecar()?.restart_on_disk(false).await?;
    bad.serves(HOST, "b").await
}

/// An endpoint goes while a request to it is under way, and comes back: at once without a reload; and with one, which must not be
/// taken for the server that had to go.
async fn connections_outlive_an_endpoint(scene: Scene) -> Outcome {
    const ANSWERS_AFTER: Duration = Duration::from_secs(4);
    let (pod, _controller) = scene.running().await?;
    let a = scene.backend("a").await?;
    let slow = scene.slow_backend("slow", ANSWERS_AFTER).await?;
    scene.publish("shop", HOST, &a).await?;
    pod.serves(HOST, "a").await?;
    let only = async |backend: &Backend| {
        scene.apply(&manifest::endpoints("shop", &[backend.address])).await?;
        let address = backend.address.to_string();
        eventually(format!("{} is the only endpoint in service", backend.name), async || {
            let ready = pod.in_service("shop").await?;
            ensure(ready == [address.clone()], format!("{ready:?} are"))
        })
        .await
    };
    let asked = async || {
        let (address, before) = (pod.http(), slow.requests());
        let request = tokio::spawn(async move { http::get(address, HOST, "/").await });
        eventually("the slow endpoint is asked", async || ensure(slow.requests() > before, "it is not"))
            .await?;
        Outcome::Ok(request)
    };

    only(&slow).await?;
    pod.has_stored_what_it_runs().await?;
    let before = pod.worker().await?;
    let request = asked().await?;
    only(&a).await?;
    only(&slow).await?;
    let after = pod.worker().await?;
    ensure(before == after, format!("an endpoint that came back reloaded: {before:?}, {after:?}"))?;
    request.await??.is_from("slow")?;

    let request = asked().await?;
    only(&a).await?;
    pod.has_stored_what_it_runs().await?;
    pod.wire.hold();
    scene.publish("blog", "blog.example", &a).await?;
    scene.apply(&manifest::endpoints("shop", &[slow.address])).await?;
    pod.wire.release();
    pod.serves("blog.example", "a").await?;
    only(&slow).await?;
    pod.has_stored_what_it_runs().await?;
    ensure(
        pod.in_service("shop").await? == [slow.address.to_string()],
        "it was taken for the one that had to go",
    )?;
    request.await??.is_from("slow")
}
