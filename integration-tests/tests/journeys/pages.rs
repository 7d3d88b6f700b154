//! `/debug`, `haptic status` and `haptic explain` of a running controller: they answer, and tell no secret.

use integration_tests::{Outcome, Scene, controller::Controller, ensure, eventually, manifest, program};
use serde_json::{Value, json};
use tokio::process::Command;

const HOST: &str = "shop.example";
const PAGES: [&str; 14] = [
    "/debug",
    "/debug/overview",
    "/debug/actors",
    "/debug/config",
    "/debug/stores",
    "/debug/stores/labelledsecrets",
    "/debug/events",
    "/debug/generations",
    "/debug/files",
    "/debug/files/haproxy.cfg",
    "/debug/plan",
    "/debug/pods",
    "/debug/quarantine",
    "/debug/ui.js",
];
/// A user's name and the hash of a password, as a Secret brings them to haproxy.cfg.
const USER: &str = "wonderland";
const HASH: &str = "$5$abcdefgh$0vI9mTtEGx7WB5FMe6YjPAuhSoLgD9tZ6hhG3lzqWd8";

pub async fn answer_without_secrets(scene: Scene) -> Outcome {
    let (pod, controller) = scene.running().await?;
    let web = scene.backend("web").await?;
    scene.publish("shop", HOST, &web).await?;
    pod.serves(HOST, "web").await?;
    scene.apply(&users()).await?;
    let mut ingress = manifest::ingress("private", "private.example", "shop");
    ingress["metadata"]["annotations"]["haproxy-haptic.org/auth-secret"] = json!("users");
    scene.apply(&ingress).await?;
    pod.answers("private.example", 401).await?;

    eventually("all is well", async || {
        let (code, told) = controller.status().await?;
        ensure(code == Some(0) && told.contains("all is well; pods: 1 of 1 up to date"), told)
    })
    .await?;
    shows_no_secret(&scene, &controller).await?;
    explains(&controller).await
}

async fn shows_no_secret(scene: &Scene, controller: &Controller) -> Outcome {
    let config = controller.page("/debug/files/haproxy.cfg?q=user+").await?;
    ensure(config.contains("user [redacted] password [redacted]"), config)?;
    let secret = format!("/debug/stores/labelledsecrets/{}/users", scene.namespace);
    for page in PAGES.into_iter().map(str::to_owned).chain([secret]) {
        let shown = controller.page(&page).await?;
        for secret in [USER, HASH, &scene.credentials.1, "PRIVATE KEY"] {
            ensure(!shown.contains(secret), format!("{page} shows {secret:?}"))?;
        }
    }
    Ok(())
}

async fn explains(controller: &Controller) -> Outcome {
    for (url, code, words) in [
        ("http://shop.example/x", 0, "goes to backend"),
        ("http://nobody.example/", 1, "no Ingress names the host nobody.example"),
    ] {
        let mut command = Command::new(program::haptic()?);
        let done = command.args(["explain", url, "--url", &controller.debug_url()]).output().await?;
        let told = String::from_utf8_lossy(&done.stdout);
        ensure(done.status.code() == Some(code) && told.contains(words), format!("{url}: {told}"))?;
    }
    Ok(())
}

fn users() -> Value {
    json!({
        "apiVersion": "v1", "kind": "Secret", "type": "Opaque",
        "metadata": { "name": "users", "labels": { "haproxy-haptic.org/use": "true" } },
        "stringData": { "auth": format!("{USER}:{HASH}") },
    })
}
