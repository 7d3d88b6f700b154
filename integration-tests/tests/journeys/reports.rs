//! What the leader tells the API server: the configuration's status, Events, addresses of Ingresses.

use crate::rights::{allow, allow_everywhere};
use integration_tests::{
    Failure, Outcome, Scene, certificate,
    cluster::GUEST,
    configuration::{CREDENTIALS, NAME},
    ensure, eventually, manifest, soaking,
};
use k8s_openapi::api::events::v1::Event;
use kube::{Api, api::ListParams};
use serde_json::{Value, json};
use std::{fs, path::Path};

const HOST: &str = "shop.example";
const NAMED: &str = "named.example";

pub async fn status(scene: Scene) -> Outcome {
    let (pod, mut controller, backends) = scene.serving(HOST).await?;
    let all = [("Ready", "True"), ("TemplatesValid", "True"), ("Deployed", "True"), ("Published", "True")];
    eventually("the status tells of all that is watched", async || {
        let status = says(&scene, "Valid", all).await?;
        let watched = &status["watchedObjects"];
        let is_all = ["ingresses", "services", "endpoints"].iter().all(|name| watched[name] == 1);
        ensure(is_all, watched.to_string())
    })
    .await?;

    let written = version(&scene).await?;
    for change in 0..soaking(60, 3000) {
        let next = &backends[usize::from(change % 2 == 0)];
        scene.move_to(next, &pod, HOST).await?;
    }
    ensure(version(&scene).await? == written, "the status was written though nothing changed")?;

    let good = scene.configuration()?;
    let bad = good.with_template(format!("{}\n{{{{no_such_function}}}}", good.template()));
    scene.apply(&bad.manifest).await?;
    let status =
        says(&scene, "Invalid", [("Ready", "False"), ("TemplatesValid", "False"), ("Deployed", "True")])
            .await?;
    let message = status["validationMessage"].as_str().unwrap_or_default();
    ensure(message.contains("no_such_function"), format!("the message is {message:?}"))?;
    has_event(&scene, "HAProxyTemplateConfig", NAME, "RenderFailed").await?;

    controller.kill().await?;
    controller = scene.controller()?;
    controller.says("this replica leads").await?;
    says(&scene, "Invalid", [("Ready", "False"), ("TemplatesValid", "False")]).await?;
    scene.apply(&good.manifest).await?;
    says(&scene, "Valid", [("Ready", "True"), ("TemplatesValid", "True"), ("Deployed", "True")]).await?;
    controller.ready().await
}

/// Ready is true of a generation when it is in force on every pod: not when it is accepted, and not while it waits for resources.
pub async fn status_of_what_is_in_force(scene: Scene) -> Outcome {
    let (pod, mut controller, _backends) = scene.serving(HOST).await?;
    let all_is_well = [("Ready", "True"), ("Deployed", "True"), ("CredentialsValid", "True")];
    says(&scene, "Valid", all_is_well).await?;

    let good = scene.configuration()?;
    let changed = good.template().replace("hard-stop-after 30m", "hard-stop-after 31m");
    ensure(changed != good.template(), "there is no hard-stop-after 30m")?;
    pod.wire.hold();
    scene.apply(&good.with_template(changed).manifest).await?;
    let status = says(&scene, "Valid", [("Ready", "Unknown"), ("Deployed", "Unknown")]).await?;
    speaks_of(&status, "Ready", status["observedGeneration"].clone())?;
    pod.wire.release();
    let status = says(&scene, "Valid", all_is_well).await?;
    let in_force = status["observedGeneration"].clone();
    speaks_of(&status, "Ready", in_force.clone())?;

    let mut unread = scene.configuration()?.manifest;
    unread["spec"]["watchedResources"]["nonesuch"] =
        json!({ "apiVersion": "journey.example/v1", "resources": "nonesuch" });
    scene.apply(&unread).await?;
    let status = says(&scene, "Unknown", [("Ready", "False"), ("Deployed", "False")]).await?;
    speaks_of(&status, "Ready", status["observedGeneration"].clone())?;
    let told = status["conditions"].to_string();
    for words in ["ResourcesUnreadable", "nonesuch", "until these can be read"] {
        ensure(told.contains(words), format!("no {words:?} in {told}"))?;
    }
    controller.waits_because(&["the new configuration waits", "nonesuch"]).await?;

    let bad = good.with_template("{{#each".to_owned());
    scene.apply(&bad.manifest).await?;
    let status = says(&scene, "Invalid", [("Ready", "False"), ("Deployed", "True")]).await?;
    speaks_of(&status, "Ready", status["observedGeneration"].clone())?;
    speaks_of(&status, "Deployed", in_force)?;
    scene.apply(&good.manifest).await?;
    says(&scene, "Valid", all_is_well).await?;
    controller.ready().await
}

fn speaks_of(status: &Value, kind: &str, generation: Value) -> Outcome {
    let found = status["conditions"].as_array().into_iter().flatten().find(|c| c["type"] == kind);
    let spoken = found.map(|condition| condition["observedGeneration"].clone());
    ensure(spoken == Some(generation.clone()), format!("{kind} speaks of {spoken:?}, not of {generation}"))
}

/// A configuration that was wrong from the beginning is told, too.
pub async fn status_without_a_valid_configuration(scene: Scene) -> Outcome {
    let good = scene.configuration()?;
    let bad = good.with_template("{{#each".to_owned());
    scene.configure_with(&bad.manifest).await?;
    let _controller = scene.controller()?;
    says(&scene, "Invalid", [("Ready", "False"), ("TemplatesValid", "False"), ("Deployed", "False")]).await?;
    has_event(&scene, "HAProxyTemplateConfig", NAME, "ConfigurationRejected").await
}

pub async fn events_on_the_object_at_fault(scene: Scene) -> Outcome {
    // The libraries look at certificates themselves; templates that do not leave it to HAProxy's checker.
    scene.configure_with(&scene.by_hand()?.manifest).await?;
    let pod = scene.pod().await?;
    let _controller = scene.controller()?;
    let a = scene.backend("a").await?;
    scene.publish("shop", HOST, &a).await?;
    pod.serves(HOST, "a").await?;
    // A certificate that is none: HAProxy refuses it, and the Secret is at fault.
    scene.publish("secure", "secure.example", &a).await?;
    scene
        .apply(&json!({
            "apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/tls", "metadata": { "name": "broken" },
            "stringData": { "tls.crt": "no certificate", "tls.key": "no key" },
        }))
        .await?;
    scene.apply(&manifest::tls_ingress("secure", "secure.example", "secure", "broken")).await?;
    eventually("there is an Event on the Ingress or its Secret", async || {
        let events = events(&scene).await?;
        let at_fault = events.iter().find(|event| {
            let regarding = event.regarding.clone().unwrap_or_default();
            ["Ingress", "Secret"].contains(&regarding.kind.unwrap_or_default().as_str())
                && regarding.uid.is_some()
        });
        at_fault.map(drop).ok_or_else(|| Failure::new(format!("there are {events:?}")))
    })
    .await?;
    // Its Ingress is held back, or what it makes of the Secret; the others are served.
    says(&scene, "Valid", [("Quarantined", "True"), ("Ready", "True"), ("TemplatesValid", "True")]).await?;
    scene.delete(&manifest::ingress("secure", "secure.example", "secure")).await?;
    says(&scene, "Valid", [("Quarantined", "False"), ("Ready", "True"), ("TemplatesValid", "True")])
        .await
        .map(drop)
}

pub async fn addresses_of_ingresses(scene: Scene) -> Outcome {
    let mut configuration = scene.configuration()?.manifest;
    configuration["spec"]["controller"]["ingressStatus"] =
        json!({ "service": { "name": "edge" }, "addresses": ["lb.example"] });
    scene.configure_with(&configuration).await?;
    let edge = json!({
        "apiVersion": "v1", "kind": "Service", "metadata": { "name": "edge" },
        "spec": { "type": "LoadBalancer", "ports": [{ "port": 80 }] },
    });
    scene.apply(&edge).await?;
    let given = json!({ "status": { "loadBalancer": { "ingress": [{ "ip": "192.0.2.7" }] } } });
    scene.cluster.set_status(&scene.namespace, &edge, &given).await?;
    let pod = scene.pod().await?;
    let _controller = scene.controller()?;
    let a = scene.backend("a").await?;
    scene.publish("shop", HOST, &a).await?;
    pod.serves(HOST, "a").await?;
    let ingress = manifest::ingress("shop", HOST, "shop");
    shows(&scene, &ingress, &json!([{ "ip": "192.0.2.7" }, { "hostname": "lb.example" }])).await?;

    // Of another class: nothing is rendered for it.
    let mut unserved = ingress.clone();
    unserved["spec"]["ingressClassName"] = json!("another");
    scene.apply(&unserved).await?;
    shows(&scene, &ingress, &Value::Null).await
}

/// With the rights that the README gives, and those that the libraries need.
pub async fn with_the_documented_rights(scene: Scene) -> Outcome {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures/first/rbac.yaml");
    let documents = serde_saphyr::from_multiple::<Value>(&fs::read_to_string(file)?)?;
    let mut rules: Vec<Value> = documents
        .iter()
        .filter(|document| ["Role", "ClusterRole"].contains(&document["kind"].as_str().unwrap_or_default()))
        .flat_map(|role| role["rules"].as_array().cloned().unwrap_or_default())
        .collect();
    for (documented, here) in [("haproxy-credentials", CREDENTIALS), ("first", NAME)] {
        let named = rules.iter_mut().filter(|rule| rule["resourceNames"] == json!([documented]));
        named.for_each(|rule| rule["resourceNames"] = json!([here]));
    }
    ensure(rules.len() >= 7, format!("only {rules:?}"))?;
    rules.extend(rights_of_libraries()?);
    allow(&scene, "documented", &json!(rules)).await?;
    let classes = json!([{ "apiGroups": ["networking.k8s.io"], "resources": ["ingressclasses"], "verbs": ["get", "list", "watch"] }]);
    allow_everywhere(&scene, "documented-classes", &classes).await?;

    scene.configure().await?;
    let pod = scene.pod().await?;
    let mut controllers = [scene.controller_as(GUEST)?, scene.controller_as(GUEST)?];
    for controller in &mut controllers {
        controller.ready().await?;
    }
    let a = scene.backend("a").await?;
    scene.publish("shop", HOST, &a).await?;
    pod.serves(HOST, "a").await?;
    let named = certificate::for_host(NAMED)?;
    scene.apply(&manifest::tls_secret("named-tls", &named)).await?;
    scene.apply(&manifest::tls_ingress("named", NAMED, "shop", "named-tls")).await?;
    pod.serves_tls(NAMED, "a", &named.der).await?;
    says(&scene, "Valid", [("Ready", "True")]).await?;
    let good = scene.configuration()?;
    scene.apply(&good.with_template("{{#each".to_owned()).manifest).await?;
    has_event(&scene, "HAProxyTemplateConfig", NAME, "ConfigurationRejected").await?;
    for controller in controllers {
        let said = controller.printed();
        ensure(!said.contains("forbidden"), format!("a right is missing: {said}"))?;
    }
    Ok(())
}

/// The rules that the libraries' documentation gives, for the journeys' configuration.
fn rights_of_libraries() -> Outcome<Vec<Value>> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/libraries.md");
    let text = fs::read_to_string(file)?;
    let blocks = text.split("```yaml\n").skip(1).filter_map(|rest| rest.split("```").next());
    let mut all = Vec::new();
    for block in blocks.filter(|block| block.contains("\nrules:\n")) {
        let block =
            block.replace("CONFIGURATION-default-certificate", &format!("{NAME}-default-certificate"));
        let role: Value = serde_saphyr::from_str(&block)?;
        all.extend(role["rules"].as_array().cloned().unwrap_or_default());
    }
    ensure(all.len() >= 4, format!("only {all:?}"))?;
    Ok(all)
}

/// Waits until the status says so.
pub(crate) async fn says<const N: usize>(
    scene: &Scene,
    validation: &str,
    conditions: [(&str, &str); N],
) -> Outcome<Value> {
    eventually(format!("the status says {validation} and {conditions:?}"), async || {
        let status = object(scene).await?.data["status"].clone();
        ensure(status["validationStatus"] == validation, format!("it is {status}"))?;
        for (kind, wanted) in conditions {
            let found = status["conditions"].as_array().into_iter().flatten().find(|c| c["type"] == kind);
            ensure(found.is_some_and(|c| c["status"] == wanted), format!("it is {status}"))?;
        }
        let generation = object(scene).await?.metadata.generation;
        ensure(status["observedGeneration"].as_i64() == generation, format!("it is old: {status}"))?;
        Ok(status)
    })
    .await
}

async fn shows(scene: &Scene, ingress: &Value, addresses: &Value) -> Outcome {
    eventually(format!("the Ingress shows {addresses}"), async || {
        let found = scene.cluster.get(&scene.namespace, ingress).await?;
        let shown = &found.data["status"]["loadBalancer"]["ingress"];
        ensure(shown == addresses, format!("it shows {shown}"))
    })
    .await
}

pub(crate) async fn has_event(scene: &Scene, kind: &str, name: &str, reason: &str) -> Outcome {
    eventually(format!("there is an Event {reason} on {kind} {name}"), async || {
        let found = events_of(scene, kind, name, reason).await?;
        ensure(!found.is_empty(), "there is none")
    })
    .await
}

/// What the Events say that are about this object, for this reason.
pub(crate) async fn events_of(scene: &Scene, kind: &str, name: &str, reason: &str) -> Outcome<Vec<String>> {
    let about = |event: &Event| {
        let about = event.regarding.clone().unwrap_or_default();
        event.reason.as_deref() == Some(reason)
            && (about.kind.as_deref(), about.name.as_deref()) == (Some(kind), Some(name))
    };
    let found = events(scene).await?.into_iter().filter(about);
    Ok(found.filter_map(|event| event.note).collect())
}

pub(crate) async fn events(scene: &Scene) -> Outcome<Vec<Event>> {
    let api: Api<Event> = Api::namespaced(scene.cluster.client.clone(), &scene.namespace);
    Ok(api.list(&ListParams::default()).await?.items)
}

async fn object(scene: &Scene) -> Outcome<kube::api::DynamicObject> {
    scene.cluster.get(&scene.namespace, &scene.configuration()?.manifest).await
}

/// Grows with every write to the configuration, its status included.
async fn version(scene: &Scene) -> Outcome<u64> {
    let version = object(scene).await?.metadata.resource_version.unwrap_or_default();
    version.parse().map_err(|_| Failure::new(format!("the resourceVersion is {version:?}")))
}
