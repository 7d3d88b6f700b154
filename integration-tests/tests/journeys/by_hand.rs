//! The manifests of "Without Helm", applied as they are written, and their containers started.

use crate::chart::pod;
use integration_tests::{
    Outcome, Scene, ensure, eventually, http,
    manifest::{self, BACKEND_PORT},
    markdown,
};
use serde_json::Value;

const HOST: &str = "hello.localhost";

/// Documents of a file of the first configuration, with what would be in another journey's way in other words.
fn documents(file: &str, words: &[(&str, &str)]) -> Outcome<Vec<Value>> {
    let text = markdown::read(format!("fixtures/first/{file}"));
    let text = words.iter().fold(text, |text, (from, to)| text.replace(from, to));
    Ok(serde_saphyr::from_multiple(&text)?)
}

pub async fn as_documented(scene: Scene) -> Outcome {
    let scene = scene.on_bare_cluster().await?;
    scene.install_definitions().await?;
    let (address, controller) = (scene.block.pod(0), scene.block.controller(0));
    let a = scene.backend("a").await?;
    let (bind, endpoint) = (format!("bind {address}:7080"), a.address.to_string());
    let port = BACKEND_PORT.to_string();
    let words = [
        ("namespace: edge", &*format!("namespace: {}", scene.namespace)),
        ("namespace=edge", &*format!("namespace={}", scene.namespace)),
        ("bind *:7080", &*bind),
        ("127.0.0.1", &*endpoint),
        ("8000", &*port),
    ];
    scene.apply(&manifest::credentials("haproxy-credentials", "haptic", "secret")).await?;
    let mut objects = Vec::new();
    for file in ["config.yaml", "rbac.yaml", "haproxy.yaml", "controller.yaml", "manifests/hello.yaml"] {
        objects.extend(documents(file, &words)?);
    }
    for object in &objects {
        let namespace = object["metadata"]["namespace"].as_str().unwrap_or(&scene.namespace);
        scene.cluster.apply(namespace, object).await?;
    }
    let mut haproxy = pod(&scene, &objects, ("haproxy", "haproxy-0"), address, &[]).await?;
    let bound = ["--bind-address", "--debug-address"].map(|listens| format!("{listens}={controller}"));
    let mut controller = pod(&scene, &objects, ("haptic", "haptic-0"), controller, &bound).await?;
    eventually("the first configuration serves", async || {
        haproxy.ensure_running()?;
        controller.ensure_running()?;
        http::get((address, 7080).into(), HOST, "/").await?.is_from("a")
    })
    .await?;
    let denied: Vec<_> = scene.cluster.audit()?.into_iter().filter(|request| request.denied).collect();
    ensure(denied.is_empty(), format!("denied: {denied:?}"))
}
