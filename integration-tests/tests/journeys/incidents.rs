//! What somebody sees who is woken up at night: `haptic status` and `/debug/overview` name the cause and whom it concerns.

use crate::bad_input::allow;
use integration_tests::{
    Outcome, Scene, cluster::GUEST, configuration::Configuration, controller::Controller, ensure, eventually,
    manifest,
};
use serde_json::{Value, json};

const HOST: &str = "shop.example";

/// Waits until status and page say all of `words`; with `code` as the exit code.
async fn told(controller: &Controller, incident: &str, code: i32, words: &[&str]) -> Outcome {
    eventually(format!("{incident}: the status says {words:?}"), async || {
        let (ended, status) = controller.status().await?;
        let page: Value = serde_json::from_str(&controller.page("/debug/overview").await?)?;
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
    let (pod, controller) = scene.running().await?;
    let backends = [scene.backend("a").await?, scene.backend("b").await?];
    scene.publish("shop", HOST, &backends[0]).await?;
    pod.serves(HOST, "a").await?;
    told(&controller, "nothing", 0, &[]).await?;

    let broken = json!({
        "apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/tls", "metadata": { "name": "broken-tls" },
        "stringData": { "tls.crt": "none", "tls.key": "none" },
    });
    scene.apply(&broken).await?;
    scene.apply(&manifest::tls_ingress("broken", "broken.example", "shop", "broken-tls")).await?;
    told(&controller, "bad certificate", 0, &["broken-tls", "broken.example"]).await?;

    for round in 0..14_usize {
        let next = &backends[(round + 1) % 2];
        scene.apply(&manifest::endpoints("shop", &[next.address])).await?;
        pod.serves(HOST, &next.name).await?;
    }
    let object = format!("endpoints {}/shop", scene.namespace);
    told(&controller, "endpoint flapping", 0, &["object flapping", &object]).await?;

    let mut evil = manifest::ingress("evil", "evil.example", "shop");
    evil["metadata"]["annotations"]["haproxy-haptic.org/rewrite-path"] =
        json!("/x\n  server evil 10.0.0.1:80");
    scene.apply(&evil).await?;
    let object = format!("ingresses {}/evil", scene.namespace);
    told(&controller, "injection attempt", 1, &["object held back", &object, "rewrite-path"]).await
}

/// A pod that hangs, a HAProxy that dies, an agent that dies.
pub async fn of_pods(scene: Scene) -> Outcome {
    let (mut pod, controller) = scene.running().await?;
    let backends = [scene.backend("a").await?, scene.backend("b").await?];
    scene.publish("shop", HOST, &backends[0]).await?;
    pod.serves(HOST, "a").await?;
    pod.has_stored_what_it_runs().await?;
    told(&controller, "nothing", 0, &[]).await?;
    let name = format!("{}/", scene.namespace);

    pod.hang()?;
    scene.apply(&manifest::endpoints("shop", &[backends[1].address])).await?;
    told(&controller, "slow pod", 1, &["pod behind", &name, "applying"]).await?;
    pod.go_on()?;
    pod.serves(HOST, "b").await?;
    pod.has_stored_what_it_runs().await?;

    pod.kill_haproxy()?;
    told(&controller, "HAProxy crash", 0, &["HAProxy began anew", &name]).await?;
    pod.serves(HOST, "b").await?;

    pod.kill_agent().await?;
    scene.apply(&manifest::endpoints("shop", &[backends[0].address])).await?;
    told(&controller, "agent down", 1, &["pod not deployed", &name]).await
}

/// A template with a mistake, after one without.
pub async fn of_configuration(scene: Scene) -> Outcome {
    let good = scene.by_hand()?;
    scene.configure_with(&good.manifest).await?;
    let _pod = scene.pod().await?;
    let mut controller = scene.controller()?;
    controller.ready().await?;
    told(&controller, "nothing", 0, &[]).await?;
    let broken: Configuration = good.with_template(format!("{}\n{{{{#each nothing}}}}\n", good.template()));
    scene.apply(&broken.manifest).await?;
    told(&controller, "template error", 1, &["configuration refused", "haproxyConfig:", "never closed"]).await
}

/// Rights that somebody took away.
pub async fn of_rights(scene: Scene) -> Outcome {
    scene.configure_with(&scene.by_hand()?.manifest).await?;
    let all = json!(["get", "list", "watch", "create", "update", "patch"]);
    let own = json!([
        { "apiGroups": ["haproxy-haptic.org"], "resources": ["*"], "verbs": all },
        { "apiGroups": ["coordination.k8s.io"], "resources": ["leases"], "verbs": all },
        { "apiGroups": [""], "resources": ["secrets"], "verbs": all },
    ]);
    allow(&scene, "own", &own).await?;
    let controller = scene.controller_as(GUEST)?;
    told(
        &controller,
        "rights lost",
        1,
        &["no permission to watch ingresses.networking.k8s.io", "a Role with verbs"],
    )
    .await
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
    told(&controller, "lease lost", 0, &["leadership changed"]).await?;
    let (_, status) = controller.status().await?;
    ensure(status.contains("does not lead") && status.contains("somebody-else"), status)
}
