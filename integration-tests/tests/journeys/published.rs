//! What the leader publishes: whoever has kubectl only learns from it how everything is, and nobody waits for it.
//!
//! It takes most of a minute, all of it waiting: nothing is written more than once in ten seconds, and an API server gets ten to
//! answer.

use crate::{
    reports::says,
    rights::{allow, own_rights, watched_rights},
};
use integration_tests::{
    Failure, Outcome, Scene, backend::Backend, cluster::GUEST, controller::Controller, ensure, eventually,
    eventually::eventually_within, haproxy_pod::HaproxyPod, manifest, program,
};
use k8s_openapi::api::events::v1::Event;
use kube::{Api, api::PostParams};
use serde_json::{Value, json};
use std::{fs, net::SocketAddr, sync::Arc, time::Duration};
use tokio::{
    net::{TcpListener, ToSocketAddrs},
    process::Command,
    sync::Notify,
    task::JoinHandle,
};

const HOST: &str = "shop.example";
/// Several pauses of the publisher, on a busy machine.
const WITHIN: Duration = Duration::from_secs(120);

/// It may not publish, then may, then the API server does not answer: only what is told of it differs.
pub async fn state(scene: Scene) -> Outcome {
    scene.configure_with(&scene.by_hand()?.manifest).await?;
    allow(&scene, "own", &own_rights(&["haproxytemplateconfigs", "haproxytemplateconfigs/status"])).await?;
    allow(&scene, "rest", &watched_rights(&["", "networking.k8s.io", "discovery.k8s.io"])).await?;
    let pod = scene.pod().await?;
    let mut controller = scene.controller_as(GUEST)?;
    controller.ready().await?;
    let backends = [scene.backend("a").await?, scene.backend("b").await?];
    scene.publish("shop", HOST, &backends[0]).await?;
    pod.serves(HOST, "a").await?;

    tells(
        &scene,
        Some(0),
        &["is not published", "haproxycfgs", "Allow list", "which pods run it is not known"],
    )
    .await?;
    knows(&controller, &["is not published", "all is well; pods: 1 of 1"]).await?;
    condition(&scene, "False", "Refused").await?;
    scene.move_to(&backends[1], &pod, HOST).await?;

    allow(&scene, "published", &own_rights(&["*"])).await?;
    is_published(&scene, &backends[1]).await?;
    condition(&scene, "True", "Complete").await?;
    let (said, now) = ("all is well; pods: 1 of 1 up to date", "written last");
    tells(&scene, Some(0), &[said, now, "not known from there", "port-forward"]).await?;

    let silence = Silence::begin(&scene).await?;
    scene.move_to(&backends[0], &pod, HOST).await?;
    tells(&scene, Some(0), &["is not published", "did not answer within 10 s", "may be old"]).await?;
    condition(&scene, "False", "Refused").await?;
    scene.move_to(&backends[1], &pod, HOST).await?;
    scene.move_to(&backends[0], &pod, HOST).await?;
    controller.ready().await?;
    silence.end(&scene).await?;
    is_published(&scene, &backends[0]).await?;
    condition(&scene, "True", "Complete").await?;
    names_what_is_wrong(&scene, pod, &controller).await
}

/// `kubectl replace --force`: the new resource has no status, and what was published belongs to the one before, with which Kubernetes removes it.
pub async fn of_a_configuration_made_again(scene: Scene) -> Outcome {
    let (pod, _controller) = scene.running().await?;
    let backend = scene.backend("a").await?;
    scene.publish("shop", HOST, &backend).await?;
    pod.serves(HOST, "a").await?;
    let configuration = scene.configuration()?.manifest;
    let before = belongs_to_the_configuration(&scene, &configuration).await?;
    let traffic = pod.traffic(HOST);
    scene.delete(&configuration).await?;
    scene.apply(&configuration).await?;
    says(&scene, "Valid", [("Ready", "True")]).await?;
    let now = belongs_to_the_configuration(&scene, &configuration).await?;
    ensure(now != before, "it is the one before")?;
    traffic.finish_without_loss().await.map(drop)
}

/// Waits until what is published names the resource as its owner; the resource's `metadata.uid`.
async fn belongs_to_the_configuration(scene: &Scene, configuration: &Value) -> Outcome<String> {
    let published = json!({ "apiVersion": "haproxy-haptic.org/v1alpha1", "kind": "HAProxyCfg", "metadata": { "name": "demo" } });
    eventually_within(WITHIN, "what is published belongs to the configuration", async || {
        let uid = scene.cluster.get(&scene.namespace, configuration).await?.metadata.uid;
        let found = scene.cluster.get(&scene.namespace, &published).await?.metadata.owner_references;
        let owners: Vec<String> = found.into_iter().flatten().map(|owner| owner.uid).collect();
        ensure(owners.iter().eq(&uid), format!("{owners:?} own it, and it is {uid:?}"))?;
        uid.ok_or_else(|| Failure::new("it has no uid"))
    })
    .await
}

async fn is_published(scene: &Scene, backend: &Backend) -> Outcome {
    let object = json!({ "apiVersion": "haproxy-haptic.org/v1alpha1", "kind": "HAProxyCfg", "metadata": { "name": "demo" } });
    eventually_within(WITHIN, "haproxy.cfg is published with its pod", async || {
        let found = scene.cluster.get(&scene.namespace, &object).await?.data;
        ensure(found["status"]["converged"] == "1/1", found["status"].to_string())?;
        let content = found["spec"]["content"].as_str().unwrap_or_default();
        ensure(content.contains(&backend.address.to_string()), "another backend is in it")?;
        let ran = &found["status"]["pods"][0];
        ensure(ran["digest"] == found["status"]["digest"] && ran["lastError"].is_null(), ran.to_string())
    })
    .await
}

async fn condition(scene: &Scene, status: &str, reason: &str) -> Outcome {
    eventually_within(WITHIN, format!("the condition Published is {status}, {reason}"), async || {
        let found = scene.cluster.get(&scene.namespace, &scene.configuration()?.manifest).await?.data;
        let conditions = found["status"]["conditions"].as_array().into_iter().flatten();
        let told = conditions
            .filter(|c| c["type"] == "Published")
            .any(|c| (c["status"].as_str(), c["reason"].as_str()) == (Some(status), Some(reason)));
        ensure(told, found["status"].to_string())
    })
    .await
}

/// An object that is held back and a pod whose agent is dead are named, with the cause.
async fn names_what_is_wrong(scene: &Scene, mut pod: HaproxyPod, controller: &Controller) -> Outcome {
    let mut evil = manifest::ingress("evil", "evil.example", "shop");
    evil["spec"]["rules"][0]["http"]["paths"][0]["path"] = json!("/x y");
    evil["spec"]["rules"][0]["http"]["paths"][0]["pathType"] = json!("ImplementationSpecific");
    scene.apply(&evil).await?;
    pod.kill_agent().await?;
    scene.apply(&manifest::endpoints("shop", &[])).await?;
    let (object, name) =
        (format!("ingresses {}/evil", scene.namespace), format!("pod not deployed {}/", scene.namespace));
    tells(scene, Some(1), &["object held back", &object, "/x y", &name, "is the agent running"]).await?;
    knows(controller, &[&object, &name]).await?;

    // Somebody who may not list Events, by name, as a program.
    let kubeconfig = scene.cluster.kubeconfig_of(GUEST).display().to_string();
    let arguments =
        ["--kubeconfig", &kubeconfig, "-n", &scene.namespace, "--name", "demo", "--output", "json"];
    let (_, told) = status(scene, &arguments).await?;
    let told: Value = serde_json::from_str(&told)?;
    ensure(told["restsOn"]["source"] == "published" && told.get("recent").is_none(), told.to_string())?;
    ensure(
        told["restsOn"]["unknown"].to_string().contains("Allow get and list on events"),
        told.to_string(),
    )?;
    ensure(
        told["pods"][0]["standing"] == "failing" && told["pods"][0].get("lagMs").is_none(),
        told.to_string(),
    )
}

/// Waits until `haptic status` says all of `words` of the controller itself.
async fn knows(controller: &Controller, words: &[&str]) -> Outcome {
    eventually(format!("the controller's own status says {words:?}"), async || {
        let (_, told) = controller.status().await?;
        let missing = words.iter().find(|word| !told.contains(**word));
        ensure(missing.is_none(), format!("no {missing:?} in: {told}"))
    })
    .await
}

/// Waits until `haptic status`, called without any argument where no `/debug` is, says all of `words`.
async fn tells(scene: &Scene, code: Option<i32>, words: &[&str]) -> Outcome {
    eventually_within(WITHIN, format!("the published status says {words:?}"), async || {
        let (ended, told) = status(scene, &[]).await?;
        let missing = words.iter().find(|word| !told.contains(**word));
        ensure(missing.is_none(), format!("no {missing:?} in: {told}"))?;
        ensure(ended == code, format!("exit code {ended:?}: {told}"))
    })
    .await
}

async fn status(scene: &Scene, arguments: &[&str]) -> Outcome<(Option<i32>, String)> {
    let mut kubeconfig: Value = serde_json::from_str(&fs::read_to_string(scene.cluster.kubeconfig())?)?;
    kubeconfig["contexts"][0]["context"]["namespace"] = json!(scene.namespace);
    let file = scene.dir.join("kubeconfig");
    fs::write(&file, kubeconfig.to_string())?;
    let mut command = Command::new(program::haptic()?);
    let done = command.arg("status").args(arguments).env("KUBECONFIG", file).output().await?;
    let told = [done.stdout, done.stderr].concat();
    Ok((done.status.code(), String::from_utf8_lossy(&told).into_owned()))
}

/// Somebody who takes connections and says nothing.
pub(crate) struct Mute {
    /// Where it listens.
    pub address: SocketAddr,
    called: Arc<Notify>,
    listening: JoinHandle<()>,
}

impl Mute {
    pub async fn listen(at: impl ToSocketAddrs) -> Outcome<Self> {
        let listener = TcpListener::bind(at).await?;
        let address = listener.local_addr()?;
        let called = Arc::new(Notify::new());
        let tell = called.clone();
        let listening = tokio::spawn(async move {
            let mut connections = Vec::new();
            while let Ok((connection, _)) = listener.accept().await {
                connections.push(connection);
                tell.notify_one();
            }
        });
        Ok(Self { address, called, listening })
    }

    /// Waits for a connection.
    async fn is_called(&self) {
        self.called.notified().await;
    }
}

impl Drop for Mute {
    fn drop(&mut self) {
        self.listening.abort();
    }
}

/// The API server does not answer who writes Events or what is published: it asks somebody who says nothing.
pub(crate) struct Silence {
    registration: Value,
    _asked: Mute,
}

impl Silence {
    pub async fn begin(scene: &Scene) -> Outcome<Self> {
        let asked = Mute::listen((scene.block.controller(9), 443)).await?;
        let rule = |group: &str, version: &str, resources: &[&str]| json!({ "apiGroups": [group], "apiVersions": [version], "operations": ["*"], "resources": resources });
        let published = ["haproxycfgs", "haproxycfgs/status", "haproxymapfiles", "haproxygeneralfiles"];
        let registration = json!({
            "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration",
            "metadata": { "name": format!("silence-{}", scene.namespace) },
            "webhooks": [{
                "name": "silence.journey.example", "failurePolicy": "Fail", "sideEffects": "None",
                "admissionReviewVersions": ["v1"], "timeoutSeconds": 30,
                "clientConfig": { "url": format!("https://{}/", asked.address) },
                "namespaceSelector": { "matchLabels": { "kubernetes.io/metadata.name": scene.namespace } },
                "rules": [
                    rule("haproxy-haptic.org", "v1alpha1", &published), rule("events.k8s.io", "v1", &["events"]),
                ],
            }],
        });
        scene.cluster.apply("", &registration).await?;
        let events: Api<Event> = Api::namespaced(scene.cluster.client.clone(), &scene.namespace);
        let (dry_run, probe) = (PostParams { dry_run: true, ..PostParams::default() }, probe(scene)?);
        eventually("the API server asks before it stores an Event", async || {
            tokio::select! {
                () = asked.is_called() => Ok(()),
                taken = events.create(&dry_run, &probe) => Err(Failure::new(format!("it said {taken:?}"))),
            }
        })
        .await?;
        Ok(Self { registration, _asked: asked })
    }

    pub async fn end(self, scene: &Scene) -> Outcome {
        scene.cluster.delete("", &self.registration).await
    }
}

/// An Event that is about nothing in particular.
fn probe(scene: &Scene) -> Outcome<Event> {
    Ok(serde_json::from_value(json!({
        "metadata": { "name": "probe" }, "eventTime": "2026-01-01T00:00:00.000000Z", "type": "Normal",
        "reportingController": "example.com/journey", "reportingInstance": "journey",
        "reason": "Probe", "action": "Probe", "note": "whether anybody is asked before this is stored",
        "regarding": { "kind": "Namespace", "name": scene.namespace, "namespace": scene.namespace },
    }))?)
}
