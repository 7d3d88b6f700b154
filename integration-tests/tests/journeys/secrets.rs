//! Secrets are planted wherever they come in; nothing that goes out may show one, whatever goes wrong on the way.

use crate::{reports::events, webhook::refusal};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use integration_tests::{
    Outcome, Scene, certificate, configuration::CREDENTIALS, controller::Controller, ensure, eventually,
    haproxy_pod::HaproxyPod, manifest, registration,
};
use serde_json::{Value, json};
use std::{fs, os::unix::fs::PermissionsExt, path::Path};

const HOST: &str = "shop.example";
const DEBUG_PAGES: usize = 6;
/// Refuses an Ingress that asks for it.
const REFUSING: &str = r#"{{#each (list "ingresses") as |ing|}}
{{#if (has ing "metadata.annotations.refuse")}}{{register_error ing "it is refused"}}{{/if}}
{{/each}}
"#;

pub async fn planted_ones_are_in_no_output(scene: Scene) -> Outcome {
    let mut pod = scene.traced_pod().await?;
    let mut controller = scene.controller()?;
    for object in registration::service(&[controller.address]) {
        scene.apply(&object).await?;
    }
    let mut configuration = registration::configuration(&scene, scene.configuration()?, &json!({}));
    configuration["spec"]["maps"]["refused.map"] = json!({ "template": REFUSING });
    configuration["spec"]["logging"] = json!({ "level": "TRACE" });
    scene.configure_with(&configuration).await?;
    controller.ready().await?;
    scene.apply(&registration::webhooks(&scene.namespace, "Ignore")).await?;

    let mut planted = vec![scene.credentials.1.clone()];
    let a = scene.backend("a").await?;
    let good = certificate::for_host(HOST)?;
    planted.push(line_of(&good.key));
    scene.apply(&manifest::tls_secret("shop-tls", &good)).await?;
    scene.publish("shop", HOST, &a).await?;
    scene.apply(&manifest::tls_ingress("shop", HOST, "shop", "shop-tls")).await?;
    pod.serves_tls(HOST, "a", &good.der).await?;

    // A certificate with the key of another one, and one that is none.
    let mut foreign = certificate::for_host(HOST)?;
    foreign.key = certificate::for_host(HOST)?.key;
    planted.push(line_of(&foreign.key));
    let broken = certificate::Certificate {
        pem: pem("CERTIFICATE", "planted-broken-certificate"),
        key: pem("PRIVATE KEY", "planted-broken-key"),
        der: Vec::new(),
    };
    planted.extend(["planted-broken-certificate", "planted-broken-key"].map(|word| STANDARD.encode(word)));
    scene.apply(&manifest::tls_secret("foreign-tls", &foreign)).await?;
    scene.apply(&manifest::tls_secret("broken-tls", &broken)).await?;
    for name in ["foreign", "broken"] {
        let ingress = manifest::tls_ingress(name, &format!("{name}.example"), "shop", &format!("{name}-tls"));
        scene.apply(&ingress).await?;
        pod.serves(&format!("{name}.example"), "a").await?;
    }

    // Users whose hash HAProxy refuses: the object that names them is held back.
    planted.extend(["planted-hash", "planted\u{7f}password"].map(str::to_owned));
    let users = "one:$6$planted-hash\ntwo:planted\u{7f}password\nplanted-hash no colon\n";
    scene
        .apply(&json!({
            "apiVersion": "v1", "kind": "Secret",
            "metadata": { "name": "users", "labels": { "haproxy-haptic.org/use": "true" } },
            "data": { "auth": STANDARD.encode(users) },
        }))
        .await?;
    let mut guarded = manifest::ingress("guarded", "guarded.example", "shop");
    guarded["metadata"]["annotations"] = json!({ "haproxy-haptic.org/auth-secret": "users" });
    scene.apply(&guarded).await?;
    let mut refused = manifest::ingress("refused", "refused.example", "shop");
    refused["metadata"]["annotations"] = json!({ "refuse": "it" });
    eventually("the webhook refuses what is bad", async || {
        let said = refusal(scene.apply(&refused).await)?;
        ensure(said.contains("it is refused"), said)
    })
    .await?;

    // Other credentials; then each stage panics over what it holds.
    let rotated = ("admin".to_owned(), "planted-rotated-password".to_owned());
    planted.push(rotated.1.clone());
    planted.push(STANDARD.encode(format!("{}:{}", rotated.0, rotated.1)));
    scene.apply(&manifest::credentials(CREDENTIALS, &rotated.0, &rotated.1)).await?;
    controller.says("credentials changed").await?;
    pod.change_credentials(rotated)?;
    for actor in ["render", "validate", "fleet", "config"] {
        controller.panic(actor).await?;
    }
    let b = scene.backend("b").await?;
    scene.apply(&manifest::endpoints("shop", &[b.address])).await?;
    pod.serves(HOST, "b").await?;
    pod.has_stored_what_it_runs().await?;

    let mut seen = pages(&controller, &scene.namespace).await?;
    let events = events(&scene).await?;
    seen.push(("Events".to_owned(), serde_json::to_string(&events)?));
    let resource = scene.cluster.get(&scene.namespace, &configuration).await?;
    seen.push(("status".to_owned(), resource.data["status"].to_string()));
    seen.push(("the log of the agent".to_owned(), logs_below(&pod)?));
    ensure(seen.iter().all(|(_, text)| text.len() > 10), "an output is empty")?;
    let (scratch, log) = (controller.scratch().to_owned(), controller.printed());
    controller.terminate().await?;
    ensure(log.contains("DEBUG") && log.contains("panic"), "the log is not all that it can be")?;
    seen.push(("the log of the controller".to_owned(), log));
    for (output, text) in &seen {
        for secret in &planted {
            ensure(
                !text.contains(secret.as_str()),
                format!("{secret:?} is in {output}: {}", around(text, secret)),
            )?;
        }
    }
    let left: Vec<_> = fs::read_dir(&scratch)?.collect();
    ensure(left.is_empty(), format!("the controller left {left:?} behind"))?;
    nobody_else_may_read(&pod.folder())
}

/// A PEM block of these bytes.
fn pem(what: &str, bytes: &str) -> String {
    format!("-----BEGIN {what}-----\n{}\n-----END {what}-----\n", STANDARD.encode(bytes))
}

/// A line of a key that is in no other one.
fn line_of(key: &str) -> String {
    key.lines().nth(2).unwrap_or_default().to_owned()
}

/// `/metrics`, all that `/debug` lists, and what is behind it: each planted Secret, each rendered file.
async fn pages(controller: &Controller, namespace: &str) -> Outcome<Vec<(String, String)>> {
    let index: Vec<Value> = serde_json::from_str(&controller.debug_page("/debug").await?)?;
    ensure(index.len() >= DEBUG_PAGES, format!("/debug lists {index:?}"))?;
    let mut paths: Vec<String> =
        index.iter().filter_map(|page| page["path"].as_str()).map(str::to_owned).collect();
    let explain = paths.iter_mut().find(|path| path.ends_with("/explain"));
    explain.into_iter().for_each(|path| path.push_str("?url=https://guarded.example/"));
    for (store, secrets) in
        [("secrets", &["shop-tls", "foreign-tls", "broken-tls"][..]), ("labelledsecrets", &["users"])]
    {
        paths.push(format!("/debug/stores/{store}"));
        paths.extend(secrets.iter().map(|name| format!("/debug/stores/{store}/{namespace}/{name}")));
    }
    let files: Value = serde_json::from_str(&controller.debug_page("/debug/files").await?)?;
    paths.extend(
        texts(&files).iter().filter(|text| !text.contains(' ')).map(|file| format!("/debug/files/{file}")),
    );
    let mut pages = vec![("/metrics".to_owned(), controller.metrics().await?)];
    let mut shown = 0;
    for path in paths {
        let (status, text) = controller.debug_answer(&path).await?;
        shown += usize::from(status == 200);
        pages.push((path, text));
    }
    ensure(shown > 2 * DEBUG_PAGES, format!("only {shown} pages are shown"))?;
    Ok(pages)
}

/// All texts in a value.
fn texts(value: &Value) -> Vec<String> {
    match value {
        Value::String(text) => vec![text.clone()],
        Value::Array(items) => items.iter().flat_map(texts).collect(),
        Value::Object(fields) => fields.values().flat_map(texts).collect(),
        _ => Vec::new(),
    }
}

fn logs_below(pod: &HaproxyPod) -> Outcome<String> {
    let mut all = pod.printed();
    for entry in fs::read_dir(pod.folder())? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "log") {
            all.push_str(&fs::read_to_string(path)?);
        }
    }
    Ok(all)
}

/// Files of an agent are its own, and so are its folders.
fn nobody_else_may_read(folder: &Path) -> Outcome {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let about = fs::symlink_metadata(&path)?;
        if about.is_symlink() {
            continue;
        }
        let others = about.permissions().mode() & 0o077;
        ensure(others == 0, format!("{} can be read by others: {others:o}", path.display()))?;
        if about.is_dir() {
            nobody_else_may_read(&path)?;
        }
    }
    Ok(())
}

fn around(text: &str, word: &str) -> String {
    let at = text.find(word).unwrap_or_default();
    let line = text.get(..at).unwrap_or_default().rfind('\n').map_or(0, |end| end + 1);
    text.get(line..).unwrap_or_default().lines().next().unwrap_or_default().chars().take(400).collect()
}
