//! `validationTests` was a map: resources that were stored then, and the way to the list.

use integration_tests::{Outcome, Scene, configuration::NAME, ensure, process, program};
use serde_json::{Value, json};
use tokio::process::Command;

const HOST: &str = "shop.example";

/// The definitions with the map of the field's former schema.
async fn former_definitions() -> Outcome<String> {
    let printed = process::output(Command::new(program::haptic()?).args(["crd", "--output", "json"])).await?;
    let mut all: Value = serde_json::from_str(&printed)?;
    let list = if all.is_array() { &mut all } else { &mut all["items"] };
    let mut texts = Vec::new();
    for definition in list.as_array_mut().into_iter().flatten() {
        if definition["spec"]["names"]["kind"] == "HAProxyTemplateConfig" {
            let schema = &mut definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"];
            schema["properties"]["spec"]["properties"]["validationTests"] =
                json!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true, "default": {} });
        }
        texts.push(definition.to_string());
    }
    Ok(texts.join("\n---\n"))
}

pub async fn in_a_map_are_taken_and_left_behind(scene: Scene) -> Outcome {
    let scene = scene.on_bare_cluster().await?;
    scene.cluster.install_definitions(&former_definitions().await?).await?;
    let mut configuration = scene.configuration()?.manifest;
    configuration["spec"]["validationTests"] =
        json!({ "mine": { "assertions": [{ "type": "haproxy_valid" }] } });
    scene.configure_with(&configuration).await?;
    let [a, b] = [scene.backend("a").await?, scene.backend("b").await?];
    scene.publish("shop", HOST, &a).await?;
    let pod = scene.pod().await?;
    let mut controller = scene.controller()?;
    pod.serves(HOST, "a").await?;

    scene.install_definitions().await?;
    scene.publish("late", "late.example", &b).await?;
    pod.serves("late.example", "b").await?;
    let kubeconfig = scene.cluster.kubeconfig();
    let mut validate = Command::new(program::haptic()?);
    validate
        .args(["validate", "--name", NAME, "--namespace", &scene.namespace, "--kubeconfig"])
        .arg(&kubeconfig);
    let said = validate.output().await?;
    let said = String::from_utf8_lossy(&said.stderr);
    ensure(said.contains("kubectl patch haptpl NAME"), format!("it says {said}"))?;

    let mut kubectl = Command::new(program::kubectl()?);
    kubectl.arg("--kubeconfig").arg(&kubeconfig).args(["patch", "haptpl", NAME, "-n", &scene.namespace]);
    kubectl.args(["--type", "merge", "-p", r#"{"spec":{"validationTests":null}}"#]);
    process::output(&mut kubectl).await?;
    configuration["spec"]["validationTests"] =
        json!([{ "name": "mine", "assertions": [{ "type": "haproxy_valid" }] }]);
    scene.apply(&configuration).await?;
    let stored = scene.cluster.get(&scene.namespace, &configuration).await?;
    let tests = &stored.data["spec"]["validationTests"];
    ensure(tests[0]["name"] == "mine", format!("{tests} is stored"))?;
    pod.serves(HOST, "a").await?;
    controller.ready().await
}
