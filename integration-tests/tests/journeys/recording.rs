//! What a controller has rendered can be rendered again on another machine, and no Secret goes there with it.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use integration_tests::{Outcome, Scene, certificate, ensure, eventually, manifest, program};
use serde_json::{Value, json};
use std::{fs, path::Path};
use tokio::process::Command;

const HOST: &str = "shop.example";
const PASSWORD: &str =
    "$6$plantedsalt$plantedhash/planted/planted/planted/planted/planted/planted/planted/planted/planted/en";

/// A few changes, among them a Secret that is rotated and an Ingress that is held back: recorded, and replayed elsewhere.
pub async fn is_replayed_elsewhere(scene: Scene) -> Outcome {
    let (pod, controller) = scene.running().await?;
    let backends = [scene.backend("a").await?, scene.backend("b").await?];
    scene.publish("shop", HOST, &backends[0]).await?;
    scene.apply(&users()).await?;
    let mut ingress = manifest::tls_ingress("shop", HOST, "shop", "shop-tls");
    let [old, new] = [certificate::for_host(HOST)?, certificate::for_host(HOST)?];
    scene.apply(&manifest::tls_secret("shop-tls", &old)).await?;
    scene.apply(&ingress).await?;
    pod.serves_tls(HOST, "a", &old.der).await?;
    scene.apply(&manifest::tls_secret("shop-tls", &new)).await?;
    pod.serves_tls(HOST, "a", &new.der).await?;
    scene.move_to(&backends[1], &pod, HOST).await?;
    ingress["metadata"]["annotations"]["haproxy-haptic.org/auth-secret"] = json!("users");
    scene.apply(&ingress).await?;
    pod.answers(HOST, 401).await?;
    let mut bad = manifest::ingress("bad", "bad.example", "shop");
    bad["metadata"]["annotations"]["haproxy-haptic.org/balance"] = json!("nonesuch");
    scene.apply(&bad).await?;
    eventually("the bad Ingress is held back, and recorded as such", async || {
        let recording = controller.debug_page("/debug/recording").await?;
        let mut held = recording.lines().filter(|line| line.starts_with("{\"held\":"));
        ensure(held.any(|line| line.contains("\"name\":\"bad\"")), "no generation was rendered without it")
    })
    .await?;

    let file = controller.scratch().join("recording.jsonl.zst");
    let (code, told) =
        haptic(&["record", "--url", &controller.debug_url(), "--out", &text(&file)], None).await?;
    ensure(code == Some(0) && told.contains("generations"), told)?;
    let plain = controller.debug_page("/debug/recording").await?;
    drop(controller);
    let key_line = |key: &str| key.lines().nth(2).unwrap_or_default().to_owned();
    let planted = [PASSWORD, "plantedhash", "alice-in-wonderland", &scene.credentials.1].map(str::to_owned);
    for secret in planted.into_iter().chain([key_line(&old.key), key_line(&new.key)]) {
        for form in [STANDARD.encode(&secret), secret] {
            ensure(!plain.contains(&form), format!("{form:?} is in the recording"))?;
        }
    }

    let elsewhere = file.with_file_name("elsewhere");
    fs::create_dir_all(&elsewhere)?;
    let arguments = ["replay", "../recording.jsonl.zst", "--output", "json", "--check", "--out", "rendered"];
    let (code, told) = haptic(&arguments, Some(&elsewhere)).await?;
    ensure(code == Some(0), format!("{code:?} {told}"))?;
    let replay: Value = serde_json::from_str(&told)?;
    let generations = replay["generations"].as_array().cloned().unwrap_or_default();
    ensure(generations.len() >= 5, format!("{} generations", generations.len()))?;
    ensure(generations.iter().all(|generation| generation["same"] == true), &told)?;
    let last = generations.last().cloned().unwrap_or_default();
    ensure(last["held"].to_string().contains("/bad: "), last["held"].to_string())?;
    ensure(generations.iter().any(|generation| generation["told"].to_string().contains("runs on")), &told)?;
    let rendered = fs::read_to_string(elsewhere.join(format!("rendered/{}/haproxy.cfg", last["number"])))?;
    ensure(rendered.contains("password $6$"), "the userlist is not rendered")?;
    let (code, told) = haptic(&["replay", &text(&file)], Some(&elsewhere)).await?;
    ensure(code == Some(0) && told.contains("generations render the same"), told)?;
    Ok(())
}

fn users() -> Value {
    json!({
        "apiVersion": "v1", "kind": "Secret",
        "metadata": { "name": "users", "labels": { "haproxy-haptic.org/use": "true" } },
        "data": { "auth": STANDARD.encode(format!("alice-in-wonderland:{PASSWORD}\n")) },
    })
}

fn text(path: &Path) -> String {
    path.display().to_string()
}

async fn haptic(arguments: &[&str], folder: Option<&Path>) -> Outcome<(Option<i32>, String)> {
    let mut command = Command::new(program::haptic()?);
    command.args(arguments).kill_on_drop(true).env_remove("KUBECONFIG");
    if let Some(folder) = folder {
        command.current_dir(folder);
    }
    let done = command.output().await?;
    let told = if done.status.success() { done.stdout } else { [done.stdout, done.stderr].concat() };
    Ok((done.status.code(), String::from_utf8_lossy(&told).into_owned()))
}
