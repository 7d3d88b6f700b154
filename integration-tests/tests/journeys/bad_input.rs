//! What is missing or not allowed in a cluster is told at `/readyz?verbose` and in the log, and waited for.

use crate::rights::{allow, disallow, own_rights, watched_rights};
use integration_tests::{
    Outcome, Scene, backend::Backend, cluster::GUEST, configuration::CREDENTIALS, controller::HEALTH_PORT,
    ensure, haproxy_pod::HaproxyPod, manifest,
};
use serde_json::{Value, json};
use tokio::net::TcpListener;

const HOST: &str = "shop.example";

pub async fn unknown_resource(scene: Scene) -> Outcome {
    let good = scene.configure().await?;
    let mut mistyped = good.manifest.clone();
    mistyped["spec"]["watchedResources"]["ingresses"]["resources"] = json!("ingreses");
    scene.apply(&mistyped).await?;
    let mut controller = scene.controller()?;
    let words = ["serves no ingreses in networking.k8s.io/v1", "watchedResources.ingresses.apiVersion"];
    controller.waits_because(&words).await?;
    controller.says("serves no ingreses in networking.k8s.io/v1").await?;
    scene.apply(&good.manifest).await?;
    controller.ready().await
}

pub async fn no_definition_of_the_configuration(scene: Scene) -> Outcome {
    let scene = scene.on_bare_cluster().await?;
    let mut controller = scene.controller()?;
    let words = ["Install the CRD with: haptic crd | kubectl apply -f -", "demo"];
    controller.waits_because(&words).await?;
    controller.says("haptic crd | kubectl apply -f -").await?;
    scene.install_definitions().await?;
    serves(&scene).await?;
    controller.ready().await
}

pub async fn no_configuration_and_no_secret(scene: Scene) -> Outcome {
    let mut controller = scene.controller()?;
    let namespace = scene.namespace.as_str();
    controller.waits_because(&["there is no HAProxyTemplateConfig demo", namespace]).await?;
    controller.says("there is no HAProxyTemplateConfig demo").await?;
    // Whoever restarts it for that gains nothing.
    controller.is_live().await?;
    scene.apply(&scene.configuration()?.manifest).await?;
    let secret = format!("Secret {namespace}/{CREDENTIALS}");
    let words = [&secret, "it does not exist", "spec.credentialsSecretRef", "kubectl create secret"];
    controller.waits_because(&words).await?;
    controller.says(&format!("{secret}: it does not exist")).await?;
    let half = json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": { "name": CREDENTIALS },
        "stringData": { "dataplane_username": scene.credentials.0 },
    });
    scene.apply(&half).await?;
    controller.waits_because(&[&secret, "key dataplane_password is missing"]).await?;
    serves(&scene).await?;
    controller.ready().await
}

pub async fn no_definition_of_a_watched_resource(scene: Scene) -> Outcome {
    let good = scene.configure().await?;
    let mut asking = good.manifest.clone();
    asking["spec"]["watchedResources"]["widgets"] = json!({
        "apiVersion": "journey.example/v1", "resources": "widgets", "namespaces": [scene.namespace],
        "indexBy": ["metadata.namespace", "metadata.name"],
    });
    scene.apply(&asking).await?;
    let mut controller = scene.controller()?;
    controller
        .waits_because(&[
            "widgets: the API server serves no widgets in journey.example/v1",
            "install the CRD",
        ])
        .await?;
    scene.cluster.install_definitions(&widgets().to_string()).await?;
    serves(&scene).await?;
    controller.ready().await
}

pub async fn no_permission(scene: Scene) -> Outcome {
    // It watches nothing cluster-wide, which a Role could not allow.
    scene.configure_with(&scene.by_hand()?.manifest).await?;
    let mut controller = scene.controller_as(GUEST)?;
    controller.waits_because(&["haproxytemplateconfigs", "forbidden", "Allow get, list and watch"]).await?;
    controller.says("forbidden").await?;

    allow(&scene, "own", &own_rights(&["*"])).await?;
    let words = [
        "no permission to watch ingresses.networking.k8s.io",
        &scene.namespace,
        "a Role with verbs get, list, watch on resources \"ingresses\" in apiGroups \"networking.k8s.io\"",
    ];
    controller.waits_because(&words).await?;
    controller.says("no permission to watch ingresses.networking.k8s.io").await?;
    controller.says("get, list and watch pods there").await?;

    let rest = watched_rights(&["", "networking.k8s.io", "discovery.k8s.io"]);
    allow(&scene, "rest", &rest).await?;
    let (pod, _a) = serves(&scene).await?;
    controller.ready().await?;

    // Taken away again: a list that is refused takes no route away, whether the controller runs or has just begun.
    disallow(&scene, "rest", &rest).await?;
    let mut listed_anew = scene.by_hand()?.manifest;
    listed_anew["spec"]["watchedResources"]["ingresses"]["labelSelector"] = json!("!nobody");
    scene.apply(&listed_anew).await?;
    controller.waits_because(&words).await?;
    pod.serves(HOST, "a").await?;
    controller.terminate().await?;
    let mut controller = scene.controller_as(GUEST)?;
    controller.waits_because(&words).await?;
    pod.serves(HOST, "a").await?;
    allow(&scene, "rest", &rest).await?;
    controller.ready().await?;
    let b = scene.backend("b").await?;
    scene.move_to(&b, &pod, HOST).await
}

pub async fn port_in_use(scene: Scene) -> Outcome {
    scene.configure().await?;
    let address = scene.block.controller(0);
    let taken = TcpListener::bind((address, HEALTH_PORT)).await?;
    let (code, said) = scene.controller()?.ended().await?;
    drop(taken);
    ensure(code == 1, format!("the controller ended with exit code {code}"))?;
    for words in [
        format!("the health server cannot listen on {address}:{HEALTH_PORT}"),
        "controller.healthzPort".into(),
    ] {
        ensure(said.contains(&words), format!("{words:?} is not in: {said}"))?;
    }
    Ok(())
}

/// Everything is applied anew, a pod is started, and a route is answered.
async fn serves(scene: &Scene) -> Outcome<(HaproxyPod, Backend)> {
    scene.apply(&manifest::credentials(CREDENTIALS, &scene.credentials.0, &scene.credentials.1)).await?;
    if scene.cluster.get(&scene.namespace, &scene.configuration()?.manifest).await.is_err() {
        scene.configure().await?;
    }
    let pod = scene.pod().await?;
    let a = scene.backend("a").await?;
    scene.publish("shop", HOST, &a).await?;
    pod.serves(HOST, "a").await?;
    Ok((pod, a))
}

/// The definition of a resource of somebody else's.
fn widgets() -> Value {
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": { "name": "widgets.journey.example" },
        "spec": {
            "group": "journey.example", "scope": "Namespaced",
            "names": { "kind": "Widget", "plural": "widgets", "singular": "widget" },
            "versions": [{ "name": "v1", "served": true, "storage": true, "schema": { "openAPIV3Schema": { "type": "object" } } }],
        },
    })
}
