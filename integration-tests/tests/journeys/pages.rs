//! `/debug`, `haptic status` and `haptic explain` of a running controller: they answer, and tell no secret.

use integration_tests::{Outcome, Scene, controller::Controller, ensure, eventually, manifest, program};
use serde_json::{Value, json};
use std::{collections::BTreeSet, fs, path::Path};
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
    let config = controller.debug_page("/debug/files/haproxy.cfg?q=user+").await?;
    ensure(config.contains("user [redacted] password [redacted]"), config)?;
    let secret = format!("/debug/stores/labelledsecrets/{}/users", scene.namespace);
    for page in PAGES.into_iter().map(str::to_owned).chain([secret]) {
        let shown = controller.debug_page(&page).await?;
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

/// Programs of others read these pages: the keys of before are still there, on the same pages.
pub async fn have_the_keys_of_before(scene: Scene) -> Outcome {
    scene.configure_with(&scene.by_hand()?.manifest).await?;
    let pod = scene.pod().await?;
    let [web, other] = [scene.backend("web").await?, scene.backend("other").await?];
    scene.publish("shop", HOST, &web).await?;
    let mut ingress = manifest::ingress("bad", "bad.example", "shop");
    ingress["spec"]["rules"][0]["http"]["paths"][0]["path"] = json!("/a b");
    scene.apply(&ingress).await?;
    let controller = scene.ready_controller().await?;
    pod.serves(HOST, "web").await?;

    let mut keys = BTreeSet::new();
    // A pod shows its last change, and its keys are those of a reload or of operations.
    collect_pages(&controller, "reload", &mut keys).await?;
    scene.publish("shop", HOST, &other).await?;
    pod.serves(HOST, "other").await?;
    collect_pages(&controller, "operations", &mut keys).await?;

    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures/stored/debug-keys.txt");
    if std::env::var_os("HAPTIC_WRITE_STORED").is_some() {
        fs::write(&file, keys.iter().map(|key| format!("{key}\n")).collect::<String>())?;
    }
    let before = fs::read_to_string(&file)?;
    let gone: Vec<&str> = before.lines().filter(|key| !keys.contains(*key)).collect();
    ensure(gone.is_empty() && before.lines().count() > 100, format!("keys that are gone: {gone:#?}"))
}

/// Waits until the pod's last change was made by `means`, then adds the keys of all pages.
async fn collect_pages(controller: &Controller, means: &str, keys: &mut BTreeSet<String>) -> Outcome {
    eventually(format!("the pod's last change was made by {means}"), async || {
        let pods: Value = serde_json::from_str(&controller.debug_page("/debug/pods").await?)?;
        ensure(!pods[0]["lastPlan"][means].is_null(), pods.to_string())
    })
    .await?;
    for page in KEYS_OF {
        collect_keys(page, &serde_json::from_str(&controller.debug_page(page).await?)?, keys);
    }
    Ok(())
}

/// The pages of which [`have_the_keys_of_before`] looks at the keys.
const KEYS_OF: [&str; 14] = [
    "/debug",
    "/debug/overview",
    "/debug/actors",
    "/debug/config",
    "/debug/stores",
    "/debug/stores/ingresses",
    "/debug/events",
    "/debug/generations",
    "/debug/files",
    "/debug/plan",
    "/debug/pods",
    "/debug/quarantine",
    "/debug/log-level",
    "/debug/explain?url=http://shop.example/",
];

/// `PAGE .key.of[].an.object`, for each key. Those of a configuration's own fields are the resource's, and which kinds of
/// operations a change takes is another thing each time.
fn collect_keys(path: &str, value: &Value, keys: &mut BTreeSet<String>) {
    for element in value.as_array().into_iter().flatten() {
        collect_keys(&format!("{path}[]"), element, keys);
    }
    for (key, value) in value.as_object().into_iter().flatten() {
        let path = format!("{path} .{key}");
        keys.insert(path.clone());
        if !["spec", "metadata", "detail", "operations"].contains(&key.as_str()) {
            collect_keys(&path, value, keys);
        }
    }
}

fn users() -> Value {
    json!({
        "apiVersion": "v1", "kind": "Secret", "type": "Opaque",
        "metadata": { "name": "users", "labels": { "haproxy-haptic.org/use": "true" } },
        "stringData": { "auth": format!("{USER}:{HASH}") },
    })
}
