//! Secrets are planted wherever they come in; nothing that goes out may show one, whatever goes wrong on the way.

use crate::{reports::events, webhook};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use integration_tests::{
    Outcome, Scene, certificate, collector::Collector, configuration::CREDENTIALS, controller::Controller,
    ensure, eventually, haproxy_pod::HaproxyPod, manifest, registration,
};
use serde_json::{Value, json};
use std::{fs, os::unix::fs::PermissionsExt, path::Path};

const HOST: &str = "shop.example";
const DEBUG_PAGES: usize = 6;
/// What HAProxy itself prints, in the agent's folder.
const HAPROXYS_LOG: &str = "haproxy.log";
/// Of a password that nobody knows.
const HASH: &str = "$5$abcdefgh$0vI9mTtEGx7WB5FMe6YjPAuhSoLgD9tZ6hhG3lzqWd8";
/// Refuses an Ingress that asks for it, and says what a Secret holds.
const REFUSING: &str = r#"{{#each (list "ingresses") as |ing|}}
{{#if (has ing "metadata.annotations.refuse")}}{{#each (list "labelledsecrets") as |s|}}{{register_error ing "it is refused: " s.data.auth}}{{/each}}{{/if}}
{{/each}}
"#;
/// Has an Ingress that asks for it print what a Secret holds where HAProxy expects a name.
const NAMING: &str = r#"{{#each (list "ingresses") as |ing|}}{{#if (has ing "metadata.annotations.names")}}
backend named-{{ing.metadata.name}}
{{#each (list "labelledsecrets") as |s|}}{{#if (eq s.metadata.name ing.metadata.annotations.names)}}
  http-request deny if {{trim (b64decode s.data.auth)}}
{{/if}}{{/each}}
{{/if}}{{/each}}
"#;
/// Prints the lines of some Secrets as they are.
const LISTING: &str = r#"{{#each (list "labelledsecrets") as |s|}}{{#if (in s.metadata.name (array "members" "users"))}}
userlist own-{{s.metadata.name}}
{{#each (split (b64decode s.data.auth) "\n") as |line|}}
{{#if (contains line ":")}}
  user {{first (split line ":")}} password {{last (split line ":")}}
{{/if}}
{{/each}}
{{/if}}{{/each}}
"#;

pub async fn planted_ones_are_in_no_output(scene: Scene) -> Outcome {
    let mut pod = scene.traced_pod().await?;
    let collector = Collector::start().await?;
    let endpoint = format!("http://{}", collector.address);
    let mut controller = scene
        .controller_with(&[("OTEL_EXPORTER_OTLP_ENDPOINT", &endpoint), ("OTEL_BSP_SCHEDULE_DELAY", "100")])?;
    for object in registration::service(&[controller.address]) {
        scene.apply(&object).await?;
    }
    let mut configuration = registration::configuration(&scene, scene.configuration()?, &json!({}));
    configuration["spec"]["maps"]["refused.map"] = json!({ "template": REFUSING });
    configuration["spec"]["templateSnippets"]["backend-90-named"] = json!({ "template": NAMING });
    configuration["spec"]["templateSnippets"]["backend-91-listed"] = json!({ "template": LISTING });
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

    // Users as they should be, and others with a character that cannot stand: their Secret is held back.
    planted.extend([HASH, "planted-hash", "planted-control"].map(str::to_owned));
    // One of them twice, which HAProxy says while it is reloaded.
    let twice = format!("planted-member:{HASH}\nplanted-member:{HASH}\n");
    planted.extend(["planted-member".to_owned(), STANDARD.encode(&twice)]);
    scene.apply(&users("members", &twice)).await?;
    scene.apply(&guarded("members", "members")).await?;
    pod.answers("members.example", 401).await?;
    let bad = "one:$6$planted-hash\ntwo:planted-control\u{1}password\nplanted-hash no colon\n";
    scene.apply(&users("users", bad)).await?;
    scene.apply(&guarded("guarded", "users")).await?;
    eventually("the Secret is held back", async || {
        let held = controller.debug_page("/debug/quarantine").await?;
        ensure(held.contains("/users") && held.contains("control character"), held)
    })
    .await?;
    eventually("HAProxy's words are told without the user", async || {
        let told = controller.debug_page("/debug/events").await?;
        ensure(told.contains("ignoring duplicated user '[redacted]'"), told)
    })
    .await?;
    // A name that nothing has, which HAProxy and those who read for it quote.
    let mut naming = manifest::ingress("naming", "naming.example", "shop");
    naming["metadata"]["annotations"] = json!({ "names": "names" });
    scene.apply(&naming).await?;
    pod.serves("naming.example", "a").await?;
    planted.extend(["planted-condition".to_owned(), STANDARD.encode("planted-condition")]);
    scene.apply(&users("names", "planted-condition")).await?;
    eventually("what prints a Secret for a name is held back", async || {
        let held = controller.debug_page("/debug/quarantine").await?;
        ensure(held.contains("There is no ACL '[redacted]'"), held)
    })
    .await?;
    let mut refused = manifest::ingress("refused", "refused.example", "shop");
    refused["metadata"]["annotations"] = json!({ "refuse": "it" });
    let answered = webhook::refused(&scene, &refused, async || scene.delete(&refused).await).await?;
    ensure(answered.contains("it is refused"), &answered)?;

    // Other credentials; then each stage panics over what it holds.
    let rotated = ("admin".to_owned(), "planted-rotated-password".to_owned());
    planted.push(rotated.1.clone());
    planted.push(STANDARD.encode(format!("{}:{}", rotated.0, rotated.1)));
    scene.apply(&manifest::credentials(CREDENTIALS, &rotated.0, &rotated.1)).await?;
    controller.says("credentials changed").await?;
    pod.change_credentials(rotated).await?;
    for actor in ["render", "validate", "fleet", "config"] {
        controller.panic(actor).await?;
    }
    let b = scene.backend("b").await?;
    scene.move_to(&b, &pod, HOST).await?;
    pod.has_stored_what_it_runs().await?;

    let mut seen = pages(&controller, &scene.namespace).await?;
    seen.extend(published(&scene).await?);
    seen.push(("the webhook's answer".to_owned(), answered));
    seen.push(("traces".to_owned(), format!("{:?}", collector.received().spans)));
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

/// A Secret `name` with these lines of users.
fn users(name: &str, lines: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Secret",
        "metadata": { "name": name, "labels": { "haproxy-haptic.org/use": "true" } },
        "data": { "auth": STANDARD.encode(lines) },
    })
}

/// An Ingress for users of the Secret `users` alone.
fn guarded(name: &str, users: &str) -> Value {
    let mut ingress = manifest::ingress(name, &format!("{name}.example"), "shop");
    ingress["metadata"]["annotations"] = json!({ "haproxy-haptic.org/auth-secret": users });
    ingress
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

/// What the leader publishes, once the members' list is in it.
async fn published(scene: &Scene) -> Outcome<Vec<(String, String)>> {
    let of = async |kind: &str| -> Outcome<String> {
        let path = format!("/apis/haproxy-haptic.org/v1alpha1/namespaces/{}/{kind}", scene.namespace);
        let request = http::Request::get(path).body(Vec::new())?;
        Ok(scene.cluster.client.request_text(request).await?)
    };
    eventually("the list of members is published", async || {
        let told = of("haproxycfgs").await?;
        ensure(told.contains("userlist "), told)
    })
    .await?;
    let mut all = Vec::new();
    for kind in ["haproxycfgs", "haproxymapfiles", "haproxygeneralfiles", "haproxycrtlistfiles"] {
        all.push((kind.to_owned(), of(kind).await?));
    }
    Ok(all)
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

/// But for HAProxy's own, which lies beside its configuration and may quote it.
fn logs_below(pod: &HaproxyPod) -> Outcome<String> {
    let mut all = pod.printed();
    for entry in fs::read_dir(pod.folder())? {
        let path = entry?.path();
        let is_log = path.extension().is_some_and(|extension| extension == "log");
        if is_log && !path.ends_with(HAPROXYS_LOG) {
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
