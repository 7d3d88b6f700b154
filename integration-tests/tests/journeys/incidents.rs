//! What somebody sees who is woken up at night: `haptic status` and `/debug/overview` name the cause and whom it concerns.

use crate::{
    rights::{allow, own_rights, watched_rights},
    slow_checks::SlowChecks,
    webhook::Guarded,
};
use integration_tests::{
    Outcome, Scene, cluster::GUEST, configuration::Configuration, controller::Controller, ensure, eventually,
    manifest,
};
use serde_json::{Value, json};

const HOST: &str = "shop.example";

/// Waits until status and page say all of `words`; with `code` as the exit code.
async fn told(controller: &Controller, incident: &str, code: i32, words: &[&str]) -> Outcome {
    told_of(controller, incident, code, words, async || Ok(())).await
}

/// The same of an incident that happens anew before each look: what happened once may be too little, or too long ago.
async fn told_of(
    controller: &Controller,
    incident: &str,
    code: i32,
    words: &[&str],
    mut happens: impl AsyncFnMut() -> Outcome,
) -> Outcome {
    eventually(format!("{incident}: the status says {words:?}"), async || {
        happens().await?;
        let (ended, status) = controller.status().await?;
        let page: Value = serde_json::from_str(&controller.debug_page("/debug/overview").await?)?;
        let problems = page["problems"].as_array().into_iter().flatten();
        let page: Vec<String> =
            problems.map(|p| format!("{} {} {}", p["what"], p["object"], p["why"])).collect();
        let page = page.join("\n").replace("\\\"", "\"");
        for word in words {
            ensure(status.contains(word), format!("no {word:?} in: {status}"))?;
            ensure(page.contains(word), format!("no {word:?} on the page: {page}"))?;
        }
        ensure(ended == Some(code), format!("exit code {ended:?}: {status}"))
    })
    .await
}

/// A certificate that is none, an injection attempt, and endpoints that come and go.
pub async fn of_objects(scene: Scene) -> Outcome {
    let (_pod, controller, backends) = scene.serving(HOST).await?;
    told(&controller, "nothing", 0, &[]).await?;

    let broken = json!({
        "apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/tls", "metadata": { "name": "broken-tls" },
        "stringData": { "tls.crt": "none", "tls.key": "none" },
    });
    scene.apply(&broken).await?;
    scene.apply(&manifest::tls_ingress("broken", "broken.example", "shop", "broken-tls")).await?;
    told(&controller, "bad certificate", 0, &["broken-tls", "broken.example"]).await?;

    let object = format!("endpoints {}/shop", scene.namespace);
    let mut turns = backends.iter().cycle();
    let flap = async || {
        let Some(next) = turns.next() else { return Ok(()) };
        scene.apply(&manifest::endpoints("shop", &[next.address])).await
    };
    told_of(&controller, "endpoint flapping", 0, &["object flapping", &object], flap).await?;

    let mut evil = manifest::ingress("evil", "evil.example", "shop");
    evil["metadata"]["annotations"]["haproxy-haptic.org/rewrite-path"] =
        json!("/x\n  server evil 10.0.0.1:80");
    scene.apply(&evil).await?;
    let object = format!("ingresses {}/evil", scene.namespace);
    told(&controller, "injection attempt", 1, &["object held back", &object, "rewrite-path"]).await
}

/// A pod that hangs, a HAProxy that dies, an agent that dies.
pub async fn of_pods(scene: Scene) -> Outcome {
    let (mut pod, controller, backends) = scene.serving(HOST).await?;
    pod.has_stored_what_it_runs().await?;
    told(&controller, "nothing", 0, &[]).await?;
    let name = format!("{}/", scene.namespace);

    pod.hang()?;
    scene.apply(&manifest::endpoints("shop", &[backends[1].address])).await?;
    told(&controller, "slow pod", 1, &["pod behind", &name, "has not confirmed it yet"]).await?;
    pod.go_on()?;
    pod.serves(HOST, "b").await?;
    pod.has_stored_what_it_runs().await?;

    pod.kill_haproxy()?;
    told(&controller, "HAProxy crash", 0, &["HAProxy began anew", &name]).await?;
    pod.serves(HOST, "b").await?;

    pod.kill_agent().await?;
    scene.apply(&manifest::endpoints("shop", &[backends[0].address])).await?;
    told(&controller, "agent down", 1, &["pod not deployed", &name, "is the agent running", "kubectl logs"])
        .await
}

/// A template with a mistake, after one without.
pub async fn of_configuration(scene: Scene) -> Outcome {
    let good = scene.by_hand()?;
    scene.configure_with(&good.manifest).await?;
    let _pod = scene.pod().await?;
    let controller = scene.ready_controller().await?;
    told(&controller, "nothing", 0, &[]).await?;
    let broken: Configuration = good.with_template(format!("{}\n{{{{#each nothing}}}}\n", good.template()));
    scene.apply(&broken.manifest).await?;
    told(&controller, "template error", 1, &["configuration refused", "haproxyConfig:", "never closed"]).await
}

/// Rights that somebody takes away while it runs. Watches that are open go on; a new API server, as after an upgrade, asks anew.
pub async fn of_rights(scene: Scene) -> Outcome {
    let scene = scene.on_own_cluster().await?;
    scene.configure_with(&scene.by_hand()?.manifest).await?;
    allow(&scene, "own", &own_rights(&["*"])).await?;
    allow(&scene, "rest", &watched_rights(&["", "networking.k8s.io", "discovery.k8s.io"])).await?;
    let (pod, web) = (scene.pod().await?, scene.backend("a").await?);
    let mut controller = scene.controller_as(GUEST)?;
    controller.ready().await?;
    scene.publish("shop", HOST, &web).await?;
    pod.serves(HOST, "a").await?;
    told(&controller, "nothing", 0, &[]).await?;

    allow(&scene, "rest", &watched_rights(&["", "discovery.k8s.io"])).await?;
    scene.cluster.stop_api_server().await?;
    scene.cluster.start_api_server().await?;
    told(
        &controller,
        "rights lost",
        1,
        &["no permission to watch ingresses.networking.k8s.io", "a Role with verbs"],
    )
    .await?;
    pod.serves(HOST, "a").await
}

/// A webhook that is not done in time: the machine is busy, or the change is huge.
pub async fn of_webhook(scene: Scene) -> Outcome {
    let checks = SlowChecks::new(&scene)?;
    let variables = checks.variables();
    let controller = scene.controller_with(&variables.each_ref().map(|(name, value)| (*name, &**value)))?;
    let guarded = Guarded::start_with(scene, vec![controller], "Ignore", json!({})).await?;
    let (scene, controller) = (&guarded.scene, &guarded.controllers[0]);
    let (pod, web) = (scene.pod().await?, scene.backend("a").await?);
    scene.publish("shop", HOST, &web).await?;
    pod.serves(HOST, "a").await?;
    let mut number = 0;
    // Between two of them the controller's own checks end: only the webhook's is late.
    let late = async || {
        number += 1;
        let (name, host) = (format!("late-{number}"), format!("late-{number}.example"));
        checks.hold()?;
        scene.apply(&manifest::ingress(&name, &host, "shop")).await?;
        checks.let_go()?;
        pod.serves(&host, "a").await
    };
    let object = format!("ingresses {}/late-", scene.namespace);
    let words = ["the webhook could not judge", &object, "haproxy -c did not end within"];
    told_of(controller, "webhook timeout", 0, &words, late).await
}

/// A Lease that somebody else took.
pub async fn of_lease(scene: Scene) -> Outcome {
    let (pod, controller) = scene.running().await?;
    let web = scene.backend("a").await?;
    scene.publish("shop", HOST, &web).await?;
    pod.serves(HOST, "a").await?;
    let taken = json!({
        "apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": { "name": "haptic-leader" },
        "spec": { "holderIdentity": "somebody-else", "leaseDurationSeconds": 3600 },
    });
    scene.apply(&taken).await?;
    let lease = format!("Lease {}/haptic-leader", scene.namespace);
    told(&controller, "lease lost", 0, &["leadership changed", &lease, "somebody-else"]).await?;
    let (_, status) = controller.status().await?;
    ensure(status.contains("does not lead"), status)
}
