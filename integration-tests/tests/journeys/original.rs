//! The configuration of the original design, as it stands there: against a real API server, with the output that Python's Jinja2
//! gives, its webhook, and requests.

use integration_tests::{
    Outcome, Scene, backend::Backend, configuration::Configuration, ensure, eventually,
    haproxy_pod::HaproxyPod, http, manifest, process, program, registration,
};
use serde_json::{Value, json};
use std::{
    fs,
    path::{Path, PathBuf},
};
use tokio::process::Command;

const HOST: &str = "shop.example";
const PORT: u16 = 80;

pub async fn design(scene: Scene) -> Outcome {
    let scene = scene.on_own_cluster().await?;
    scene.cluster.apply("", &manifest::namespace("team-a")).await?;
    for object in objects()? {
        let namespace = object["metadata"]["namespace"].as_str().unwrap_or_default().to_owned();
        scene.cluster.apply(&namespace, &object).await?;
    }
    let mut controller = scene.controller()?;
    for object in registration::service(&[controller.address]) {
        scene.apply(&object).await?;
    }
    scene.configure_with(&taken(&scene).await?).await?;
    let pod = scene.pod().await?;
    controller.ready().await?;
    prints_what_python_prints(&pod).await?;
    let _serving = answers(&scene, &pod).await?;

    // An Ingress that the templates refuse takes nothing from the others.
    let bad = without_host("bad");
    scene.apply(&bad).await?;
    controller.says("Ingress rule missing host").await?;
    is_from(&pod, "/", "shop").await?;
    scene.delete(&bad).await?;
    let mut webhooks = registration::webhooks(&scene.namespace, "Fail");
    webhooks["metadata"]["name"] = json!("haptic-webhook");
    scene.apply(&webhooks).await?;
    eventually("the API server refuses it", async || {
        let refused = match scene.apply(&without_host("worse")).await {
            Err(refused) => refused.to_string(),
            Ok(()) => {
                scene.delete(&without_host("worse")).await?;
                String::new()
            }
        };
        ensure(refused.contains("Ingress rule missing host"), format!("it says {refused:?}"))
    })
    .await
}

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures/seed").join(name)
}

/// The configuration as `haptic config view` makes a resource of it, fitted to this journey's pods.
async fn taken(scene: &Scene) -> Outcome<Value> {
    let mut view = Command::new(program::haptic()?);
    view.args(["config", "view", "--output", "json", "-f"]).arg(fixture("config.yaml"));
    let resource = serde_json::from_str(&process::output(&mut view).await?)?;
    let mut fitted = Configuration::of(resource, &scene.namespace).manifest;
    // It watches all namespaces.
    for watched in
        fitted["spec"]["watchedResources"].as_object_mut().into_iter().flat_map(|all| all.values_mut())
    {
        watched["namespaces"] = json!([]);
    }
    Ok(fitted)
}

/// The objects that the stored output is of, as an API server takes them: it gives each its uid, and a port is named or numbered.
fn objects() -> Outcome<Vec<Value>> {
    let stored: Value = serde_json::from_str(&fs::read_to_string(fixture("objects.json"))?)?;
    let lists = stored.as_object().into_iter().flat_map(|all| all.values());
    let mut objects: Vec<Value> = lists.filter_map(Value::as_array).flatten().cloned().collect();
    for object in &mut objects {
        object["metadata"].as_object_mut().map(|metadata| metadata.remove("uid"));
        if object["kind"] == "EndpointSlice" {
            object["addressType"] = json!("IPv4");
        }
        let cart = object.pointer_mut("/spec/rules/0/http/paths/1/backend/service/port");
        if let Some(port) = cart.and_then(Value::as_object_mut) {
            port.remove("number");
        }
    }
    Ok(objects)
}

/// The stored output, but for what the agent says itself, where files lie, and where this journey's pod listens.
async fn prints_what_python_prints(pod: &HaproxyPod) -> Outcome {
    let of_process = ["chroot", "user", "group", "daemon"];
    let python = fs::read_to_string(fixture("python/haproxy.cfg"))?;
    let python = python.replace("/etc/haproxy/general/", "general/").replace("/etc/haproxy/maps/", "maps/");
    let words = |text: &str| -> Vec<String> {
        let lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
        let lines = lines.filter(|line| !of_process.contains(&line.split(' ').next().unwrap_or_default()));
        lines.filter(|line| !line.starts_with("bind ")).map(str::to_owned).collect()
    };
    let expected = words(&python);
    eventually("haproxy.cfg is what Python prints", async || {
        let printed = words(&fs::read_to_string(pod.folder().join("current/haproxy.cfg"))?);
        let differs = expected.iter().zip(&printed).find(|(expected, printed)| expected != printed);
        ensure(
            differs.is_none() && expected.len() == printed.len(),
            format!("{differs:?}; {} and {} lines", expected.len(), printed.len()),
        )
    })
    .await?;
    for map in ["host.map", "path-exact.map", "path-prefix-exact.map", "path-prefix.map"] {
        let expected = fs::read_to_string(fixture("python/maps").join(map))?;
        let printed = fs::read_to_string(pod.folder().join("current/maps").join(map))?;
        ensure(expected.trim_end() == printed.trim_end(), format!("{map} is {printed:?}"))?;
    }
    Ok(())
}

/// Endpoints, error pages, maps.
async fn answers(scene: &Scene, pod: &HaproxyPod) -> Outcome<[Backend; 2]> {
    eventually("it serves", async || get(pod, "unknown.example", "/").await?.has_status(404)).await?;
    let no_server = get(pod, HOST, "/cart").await?;
    no_server.has_status(503)?;
    let page = "<p>No server is available to handle this request.</p>";
    ensure(no_server.body.contains(page), format!("the page is {:?}", no_server.body))?;
    let [shop, cart] = [scene.backend("shop").await?, scene.backend("cart").await?];
    for backend in [&shop, &cart] {
        let slices = [format!("{}-1", backend.name), format!("{}-2", backend.name)];
        for name in &slices {
            let mut slice = manifest::endpoints(&backend.name, &[backend.address]);
            slice["metadata"]["name"] = json!(name);
            slice["endpoints"][0]["targetRef"] = json!({ "name": name });
            scene.cluster.apply("default", &slice).await?;
        }
    }
    let cart_port = "/spec/rules/0/http/paths/1/backend/service/port";
    for mut ingress in objects()?.into_iter().filter(|object| object.pointer(cart_port).is_some()) {
        if let Some(port) = ingress.pointer_mut(cart_port) {
            *port = json!({ "number": manifest::BACKEND_PORT });
        }
        scene.cluster.apply("default", &ingress).await?;
    }
    is_from(pod, "/", "shop").await?;
    is_from(pod, "/cart", "cart").await?;
    Ok([shop, cart])
}

async fn get(pod: &HaproxyPod, host: &str, path: &str) -> Outcome<http::Response> {
    http::get((pod.address, PORT).into(), host, path).await
}

async fn is_from(pod: &HaproxyPod, path: &str, backend: &str) -> Outcome {
    eventually(&format!("{path} is answered by {backend}"), async || {
        get(pod, HOST, path).await?.is_from(backend)
    })
    .await
}

fn without_host(name: &str) -> Value {
    let mut ingress = manifest::ingress(name, HOST, "shop");
    ingress["spec"]["rules"][0].as_object_mut().map(|rule| rule.remove("host"));
    ingress
}
