//! The admission webhook, asked by the real API server.

use crate::rights::{allow, allow_everywhere};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use integration_tests::{
    Failure, Outcome, Scene, certificate,
    cluster::GUEST,
    configuration::{CREDENTIALS, NAME},
    controller::Controller,
    ensure, eventually,
    http::{Connection, Response, get_tls},
    manifest, registration,
};
use k8s_openapi::api::core::v1::Secret;
use kube::{
    Api,
    api::{Patch, PatchParams},
};
use serde_json::{Value, json};
use std::{
    fs,
    net::SocketAddr,
    path::Path,
    time::{Duration, Instant},
};

const HOST: &str = "shop.example";
pub const PORT: u16 = 9443;

/// So long after its signal a controller still gets connections.
const LED_HERE: Duration = Duration::from_secs(3);
const HALF_A_SECOND: Duration = Duration::from_millis(500);

/// Controllers behind a registered webhook.
pub struct Guarded {
    pub scene: Scene,
    pub controllers: Vec<Controller>,
    registration: Value,
}

pub async fn refuses_what_is_bad(scene: Scene) -> Outcome {
    let pod = scene.pod().await?;
    let guarded = Guarded::start(scene, 2, "Ignore", json!({})).await?;
    let scene = &guarded.scene;
    let a = scene.backend("a").await?;
    scene.publish("shop", HOST, &a).await?;
    pod.serves(HOST, "a").await?;

    let bad = bad_ingress("bad");
    let told = refused(scene, &bad, async || scene.delete(&bad).await).await?;
    for words in ["denied the request", "ingresses webhook-refuses", "/bad", "template path-prefix.map:"] {
        ensure(told.contains(words), format!("no {words:?} in: {told}"))?;
    }
    ensure(told.len() < 1000, format!("that is long: {told}"))?;
    let gone = scene.cluster.get(&scene.namespace, &bad).await;
    ensure(gone.is_err(), "the refused Ingress is there")?;
    let mut bad_update = bad_ingress("shop");
    bad_update["spec"]["rules"][0]["host"] = json!(HOST);
    let shop = manifest::ingress("shop", HOST, "shop");
    refused(scene, &bad_update, async || scene.apply(&shop).await).await?;
    pod.serves(HOST, "a").await?;

    let good = registration::configuration(scene, scene.by_hand()?, &json!({}));
    let restore = async || scene.apply(&good).await;
    let mut broken = good.clone();
    broken["spec"]["haproxyConfig"]["template"] = json!("{{#each");
    let told = refused(scene, &broken, restore).await?;
    ensure(told.contains("haproxyConfig"), told)?;
    let mut failing = good.clone();
    failing["spec"]["validationTests"] = json!([{ "name": "no_such_line", "assertions": [
        { "type": "contains", "target": "haproxy_config", "pattern": "no such line" },
    ] }]);
    let told = refused(scene, &failing, restore).await?;
    let words = "0/1 tests passed\n\n✗ no_such_line\n  ✗ contains haproxy_config\n    Error: pattern \"no such line\" not found";
    ensure(told.contains(words), told)?;
    let asking = |status: u16| {
        let mut asking = good.clone();
        asking["spec"]["validationTests"] = json!([{ "name": "asks", "requests": [{
            "request": { "url": "http://nobody.example/" },
            "expect": { "status": status, "headers": { "x-served-by": null }, "backend": "not_found" },
        }] }]);
        asking
    };
    let told = refused(scene, &asking(200), restore).await?;
    let words = "0/1 tests passed\n\n✗ asks\n  ✗ request GET http://nobody.example/\n    Error: Status is 404, expected 200";
    ensure(told.contains(words), told)?;
    let answered = asking(404);
    scene.apply(&answered).await?;
    let stored = scene.cluster.get(&scene.namespace, &answered).await?;
    let headers = &stored.data["spec"]["validationTests"][0]["requests"][0]["expect"]["headers"];
    ensure(*headers == json!({ "x-served-by": null }), format!("{headers} is stored"))?;
    scene.apply(&good).await?;
    // Nothing is wrong with it but what the cluster holds: HAProxy refuses the port of each backend.
    let mut hurting = good.clone();
    let template = hurting["spec"]["templateSnippets"]["servers"]["template"].to_string();
    let template = template.replace(":{{slice_port.port}}\\n", ":9{{slice_port.port}}9\\n");
    hurting["spec"]["templateSnippets"]["servers"]["template"] = serde_json::from_str(&template)?;
    let told = refused(scene, &hurting, restore).await?;
    ensure(told.contains("HAProxy"), told)?;
    let mut elsewhere = good.clone();
    elsewhere["spec"]["credentialsSecretRef"] = json!({ "name": "other" });
    let told = refused(scene, &elsewhere, restore).await?;
    ensure(told.contains(&format!("Secret {}/other: it does not exist", scene.namespace)), told)?;
    let other = json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": { "name": "other" },
        "stringData": { "dataplane_username": "somebody" },
    });
    scene.apply(&other).await?;
    let told = refused(scene, &elsewhere, restore).await?;
    ensure(told.contains("key dataplane_password is missing"), told)?;
    let mut more = good.clone();
    more["spec"]["logging"] = json!({ "level": "DEBUG" });
    scene.apply(&more).await?;

    scene.delete(&shop).await?;
    scene.publish("blog", "blog.example", &a).await?;
    pod.serves("blog.example", "a").await
}

pub async fn is_asked_by_the_api_server_alone(scene: Scene) -> Outcome {
    let guarded = Guarded::start(scene, 2, "Ignore", json!({})).await?;
    let mut authorities = Vec::new();
    for controller in &guarded.controllers {
        let address: SocketAddr = (controller.address, PORT).into();
        for path in ["/", "/validate", &format!("/{}", "0".repeat(64))] {
            get_tls(address, registration::SERVICE, path).await?.has_status(404)?;
            // The answer comes though not a byte of the body was sent.
            let mut connection = Connection::open(address, Some(registration::SERVICE)).await?;
            connection.announce("POST", path, 1 << 20).await?.has_status(404)?;
        }
        let judged = controller.metric_sum("haptic_webhook_requests_total").await?;
        let health = get_tls(address, registration::SERVICE, "/healthz").await?;
        ensure(
            (health.status, &*health.body) == (200, "ok\n"),
            format!("{} {}", health.status, health.body),
        )?;
        let mut connection = Connection::open(address, Some(registration::SERVICE)).await?;
        connection.announce("POST", "/healthz", 1 << 20).await?.has_status(404)?;
        let now = controller.metric_sum("haptic_webhook_requests_total").await?;
        ensure(now == judged, "a question for its health is counted as a review")?;
        let path = guarded.path().await?;
        get_tls(address, registration::SERVICE, &path).await?.has_status(404)?;
        let mut connection = Connection::open(address, Some(registration::SERVICE)).await?;
        authorities.push(connection.certificate().map(<[u8]>::to_vec));
        connection.announce("POST", &path, 9 << 20).await?.has_status(413)?;
        for body in ["", "{}", "[[[[", r#"{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview"}"#] {
            let mut connection = Connection::open(address, Some(registration::SERVICE)).await?;
            connection.post(&path, body).await?.has_status(400)?;
        }
        ensure(!controller.printed().contains(path.trim_start_matches('/')), "the path is in the log")?;
    }
    ensure(authorities[0] == authorities[1], "two replicas show two certificates")
}

pub async fn is_repaired_and_blocks_nothing_when_it_is_down(scene: Scene) -> Outcome {
    let mut guarded = Guarded::start(scene, 1, "Ignore", json!({})).await?;
    let before = guarded.current().await?;
    let mut spoiled = guarded.registration.clone();
    let other = STANDARD.encode(certificate::for_host("other.example")?.pem);
    spoiled["webhooks"][1]["clientConfig"]["caBundle"] = json!(other);
    spoiled["webhooks"][1]["clientConfig"]["service"]["path"] = json!("/elsewhere");
    guarded.scene.apply(&spoiled).await?;
    eventually("the registration is as it was", async || {
        let now = guarded.current().await?;
        ensure(now == before, format!("it is {now}"))
    })
    .await?;
    guarded.guards().await?;

    guarded.controllers.remove(0).kill().await?;
    guarded.scene.apply(&bad_ingress("bad")).await?;
    guarded.scene.delete(&bad_ingress("bad")).await?;
    let successor = guarded.scene.controller()?;
    guarded.controllers.push(successor);
    let [service, slice] = registration::service(&[guarded.controllers[0].address]);
    guarded.scene.apply(&service).await?;
    guarded.scene.apply(&slice).await?;
    guarded.guards().await?;
    ensure(guarded.current().await? == before, "another replica made path and certificate anew")
}

/// Whoever may change anything reads the path in the API server's words when no controller answers: soon nothing is there.
pub async fn path_that_was_shown_leads_nowhere(scene: Scene) -> Outcome {
    let mut guarded = Guarded::start(scene, 1, "Fail", json!({})).await?;
    let shown = guarded.path().await?;
    guarded.controllers.remove(0).kill().await?;
    let refused = refusal(guarded.scene.apply(&bad_ingress("unanswered")).await)?;
    ensure(refused.contains(&shown), format!("the API server shows no path: {refused}"))?;
    let successor = guarded.scene.controller()?;
    for object in registration::service(&[successor.address]) {
        guarded.scene.apply(&object).await?;
    }
    let address: SocketAddr = (successor.address, PORT).into();
    guarded.controllers.push(successor);
    guarded.guards().await?;
    let answer = async || {
        let mut connection = Connection::open(address, Some(registration::SERVICE)).await?;
        Outcome::Ok(connection.post(&shown, "").await?.status)
    };
    guarded.minutes_pass().await?;
    eventually("the API server asks elsewhere", async || {
        ensure(guarded.path().await? != shown, "it asks there")
    })
    .await?;
    ensure(answer().await? == 400, "an API server that has not heard of the new path is not answered")?;
    guarded.guards().await?;
    guarded.minutes_pass().await?;
    eventually("the path that was shown is gone", async || {
        let status = answer().await?;
        ensure(status == 404, format!("it answers {status}"))
    })
    .await?;
    guarded.guards().await
}

/// With `failurePolicy: Fail` a review that fails is a change that fails.
/// Who has not heard yet that the pod ends is answered by it.
pub async fn outlives_its_endpoint(scene: Scene) -> Outcome {
    let mut guarded = Guarded::start(scene, 1, "Fail", json!({})).await?;
    let path = guarded.path().await?;
    let controller = guarded.controllers.remove(0);
    let address: SocketAddr = (controller.address, PORT).into();
    let began = Instant::now();
    let asked = async {
        let mut answered = Duration::ZERO;
        loop {
            let Ok(mut connection) = Connection::open(address, Some(registration::SERVICE)).await else {
                break;
            };
            let Ok(answer) = connection.post(&path, "").await else { break };
            ensure(answer.status == 400, format!("it answers {}", answer.status))?;
            answered = began.elapsed();
        }
        Outcome::Ok(answered)
    };
    let (ended, answered) = tokio::join!(controller.terminate(), asked);
    ended?;
    let answered = answered?;
    ensure(answered >= Duration::from_secs(2), format!("it answers for {} ms", answered.as_millis()))
}

/// Nothing that an API server asked is left without an answer when a controller ends: on no connection that it keeps, and not
/// when the question came at the last moment.
pub async fn answers_all_that_it_was_asked(scene: Scene) -> Outcome {
    let mut guarded = Guarded::start(scene, 1, "Fail", json!({})).await?;
    let path = guarded.path().await?;
    let review = json!({
        "apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
        "request": {
            "uid": "one", "operation": "DELETE", "namespace": "shop", "name": "shop", "userInfo": { "username": "anna" },
            "resource": { "group": "example.com", "version": "v1", "resource": "widgets" },
            "kind": { "group": "example.com", "version": "v1", "kind": "Widget" },
        },
    });
    let review = &review.to_string();
    let controller = guarded.controllers.remove(0);
    let address: SocketAddr = (controller.address, PORT).into();
    let open = || Connection::open(address, Some(registration::SERVICE));
    let mut kept = open().await?;
    let answer = kept.post(&path, review).await?;
    answer.has_status(200)?;
    ensure(!answer.closes, "a connection is not kept while nothing ends")?;
    let kept_until_told = async {
        loop {
            let answer = kept.post(&path, review).await?;
            answer.has_status(200)?;
            if answer.closes {
                return Outcome::Ok(());
            }
        }
    };
    // There is always one review of which half was sent. What is left of the last one comes when others are no longer led here.
    let always_one = async {
        let begun = tokio::time::Instant::now();
        let mut half = open().await?;
        let mut rest = half.begin_post(&path, review).await?;
        while begun.elapsed() < LED_HERE - HALF_A_SECOND {
            let mut next = open().await?;
            let next_rest = next.begin_post(&path, review).await?;
            half.finish(rest).await?.has_status(200)?;
            (half, rest) = (next, next_rest);
        }
        tokio::time::sleep_until(begun + LED_HERE + HALF_A_SECOND).await;
        half.finish(rest).await?.has_status(200)
    };
    let (ended, kept, always) = tokio::join!(controller.terminate(), kept_until_told, always_one);
    kept.map_err(|failure| Failure::new(format!("a kept connection: {failure}")))?;
    always.map_err(|failure| Failure::new(format!("the last review: {failure}")))?;
    ended
}

pub async fn certificate_is_rotated_under_it(scene: Scene) -> Outcome {
    let settings = json!({ "certificate": { "lifetime": "30s" } });
    let guarded = Guarded::start(scene, 1, "Fail", settings).await?;
    let address: SocketAddr = (guarded.controllers[0].address, PORT).into();
    let shown = async || {
        let connection = Connection::open(address, Some(registration::SERVICE)).await?;
        let certificate = connection.certificate().map(<[u8]>::to_vec);
        certificate.ok_or_else(|| Failure::new("no certificate"))
    };
    let (first, mut number) = (shown().await?, 0);
    eventually("another certificate is shown", async || {
        number += 1;
        let mut ingress = manifest::ingress("shop", HOST, "shop");
        ingress["metadata"]["annotations"] = json!({ "example.com/number": number.to_string() });
        guarded.scene.apply(&ingress).await?;
        ensure(shown().await? != first, "it is the first one")
    })
    .await?;
    guarded.guards().await
}

/// With the rights that the README gives.
pub async fn with_the_documented_rights(scene: Scene) -> Outcome {
    let mut rules = documented_rules(
        "rbac.yaml",
        &[("haproxy-credentials", CREDENTIALS), ("[first]", &format!("[{NAME}]"))],
    )?;
    rules.extend(documented_rules("webhook.yaml", &[])?);
    let read = json!(["get", "list", "watch"]);
    for (group, resource) in [("networking.k8s.io", "ingresses"), ("", "secrets")] {
        rules.push(json!({ "apiGroups": [group], "resources": [resource], "verbs": read }));
    }
    // The registration has the journey's name here.
    let name = scene.namespace.clone();
    for rule in rules.iter_mut().filter(|rule| rule["apiGroups"] == json!(["admissionregistration.k8s.io"])) {
        rule["resourceNames"] = json!([name]);
    }
    allow(&scene, "documented-webhook", &json!(rules)).await?;
    let registrations: Vec<&Value> =
        rules.iter().filter(|rule| rule["resourceNames"] == json!([name])).collect();
    allow_everywhere(&scene, &name, &json!(registrations)).await?;
    let controller = scene.controller_as(GUEST)?;
    let guarded = Guarded::start_with(scene, vec![controller], "Ignore", json!({})).await?;
    for controller in &guarded.controllers {
        let said = controller.printed();
        ensure(!said.contains("forbidden"), format!("a right is missing: {said}"))?;
    }
    Ok(())
}

/// A watched resource that is to be checked is all that the configuration says of the webhook.
pub async fn asked_for_by_a_resource_alone(scene: Scene) -> Outcome {
    let scene = scene.on_own_cluster().await?;
    let mut controller = scene.controller()?;
    for object in registration::service(&[controller.address]) {
        scene.apply(&object).await?;
    }
    let mut configuration = registration::configuration(&scene, scene.by_hand()?, &json!({}));
    configuration["spec"]["controller"].as_object_mut().map(|settings| settings.remove("webhook"));
    scene.configure_with(&configuration).await?;
    controller.ready().await?;
    // Without its registration it hinders nothing, and says what is missing.
    controller.says("there is no ValidatingWebhookConfiguration haptic-webhook").await?;
    let mut registration = registration::webhooks(&scene.namespace, "Ignore");
    registration["metadata"]["name"] = json!("haptic-webhook");
    scene.apply(&registration).await?;
    Guarded { scene, controllers: vec![controller], registration }.guards().await
}

/// The rules of all roles in a file of the README, with names in place of others.
fn documented_rules(file: &str, names: &[(&str, &str)]) -> Outcome<Vec<Value>> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures/first").join(file);
    let mut text = fs::read_to_string(file)?;
    for (documented, here) in names {
        text = text.replace(documented, here);
    }
    let documents = serde_saphyr::from_multiple::<Value>(&text)?;
    let roles = documents.iter().filter(|document| document["rules"].is_array());
    Ok(roles.flat_map(|role| role["rules"].as_array().cloned().unwrap_or_default()).collect())
}

/// More reviews at once than are answered: those that are judged are judged rightly, and the pipeline goes on.
pub async fn asked_by_many_at_once(scene: Scene) -> Outcome {
    let pod = scene.pod().await?;
    let guarded = Guarded::start(scene, 1, "Ignore", json!({})).await?;
    let scene = &guarded.scene;
    let a = scene.backend("a").await?;
    scene.publish("shop", HOST, &a).await?;
    pod.serves(HOST, "a").await?;
    let (address, path) = ((guarded.controllers[0].address, PORT).into(), guarded.path().await?);
    let mut asking = tokio::task::JoinSet::new();
    for number in 0..500 {
        let ingress =
            if number % 2 == 0 { bad_ingress("many") } else { manifest::ingress("many", HOST, "shop") };
        let (path, review) = (path.clone(), review(&scene.namespace, &ingress, number));
        asking.spawn(async move { Ok::<_, Failure>((verdict(address, &path, &review).await?, number)) });
    }
    let mut judged = 0;
    while let Some(done) = asking.join_next().await {
        let (verdict, number) = done??;
        let right = if number % 2 == 0 { "denied" } else { "allowed" };
        judged += usize::from(verdict == right);
        ensure([right, "busy"].contains(&verdict), format!("review {number} is {verdict}"))?;
    }
    ensure(judged >= 20, format!("only {judged} of 500 were judged"))?;
    let b = scene.backend("b").await?;
    scene.move_to(&b, &pod, HOST).await?;
    guarded.guards().await
}

/// What becomes of a review among many. Its handshake, its head and its body have seconds each, and all wait for one thread: who
/// comes too late finds the connection gone, or hears 408.
async fn verdict(address: SocketAddr, path: &str, review: &str) -> Outcome<&'static str> {
    let asked = async {
        let mut connection = Connection::open(address, Some(registration::SERVICE)).await?;
        connection.post(path, review).await
    };
    let answer: Outcome<Response> = asked.await;
    let Ok(answer) = answer else { return Ok("busy") };
    if [408, 503].contains(&answer.status) {
        return Ok("busy");
    }
    answer.has_status(200)?;
    let answer: Value = serde_json::from_str(&answer.body)?;
    let said = answer["response"]["warnings"][0].as_str().unwrap_or_default();
    Ok(match answer["response"]["allowed"] == true {
        true if said.contains("did not check") => "busy",
        true => "allowed",
        false => "denied",
    })
}

/// What the API server asks about a new Ingress.
pub fn review(namespace: &str, ingress: &Value, number: usize) -> String {
    let mut ingress = ingress.clone();
    let name = format!("many-{number}");
    ingress["metadata"]["name"] = json!(name);
    ingress["metadata"]["namespace"] = json!(namespace);
    json!({
        "apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
        "request": {
            "uid": format!("uid-{number}"), "operation": "CREATE", "name": name, "namespace": namespace,
            "resource": { "group": "networking.k8s.io", "version": "v1", "resource": "ingresses" },
            "userInfo": { "username": "admin" }, "object": ingress,
        },
    })
    .to_string()
}

impl Guarded {
    pub async fn start(scene: Scene, replicas: u8, failure_policy: &str, settings: Value) -> Outcome<Self> {
        let mut controllers = Vec::new();
        for _ in 0..replicas {
            controllers.push(scene.controller()?);
        }
        Self::start_with(scene, controllers, failure_policy, settings).await
    }

    pub async fn start_with(
        scene: Scene,
        mut controllers: Vec<Controller>,
        failure_policy: &str,
        settings: Value,
    ) -> Outcome<Self> {
        let addresses: Vec<_> = controllers.iter().map(|controller| controller.address).collect();
        for object in registration::service(&addresses) {
            scene.apply(&object).await?;
        }
        scene.configure_with(&registration::configuration(&scene, scene.by_hand()?, &settings)).await?;
        for controller in &mut controllers {
            controller.ready().await?;
        }
        let registration = registration::webhooks(&scene.namespace, failure_policy);
        scene.apply(&registration).await?;
        let guarded = Self { scene, controllers, registration };
        guarded.guards().await?;
        Ok(guarded)
    }

    /// Waits until the API server asks: it hears of a registration a little later.
    pub async fn guards(&self) -> Outcome {
        eventually("a bad Ingress is refused", async || {
            let bad = bad_ingress("probe");
            let applied = self.scene.apply(&bad).await;
            if applied.is_ok() {
                self.scene.delete(&bad).await?;
            }
            let said = applied.err().map(|refused| refused.sentence().to_owned()).unwrap_or_default();
            ensure(said.contains("path-prefix.map"), format!("it is not: {said}"))
        })
        .await
    }

    /// The registration's clients, as the API server has them.
    async fn current(&self) -> Outcome<Value> {
        let found = self.scene.cluster.get("", &self.registration).await?;
        let webhooks = found.data["webhooks"].as_array().cloned().unwrap_or_default();
        Ok(webhooks.iter().map(|webhook| webhook["clientConfig"].clone()).collect())
    }

    /// As if the path were an old one.
    async fn minutes_pass(&self) -> Outcome {
        let secrets: Api<Secret> = Api::namespaced(self.scene.cluster.client.clone(), &self.scene.namespace);
        let long_ago = Patch::Merge(json!({ "stringData": { "path-since": "1" } }));
        secrets.patch(registration::SECRET, &PatchParams::default(), &long_ago).await?;
        Ok(())
    }

    /// The path that the API server was told.
    pub async fn path(&self) -> Outcome<String> {
        let clients = self.current().await?;
        let path = clients[0]["service"]["path"].as_str();
        path.map(str::to_owned).ok_or_else(|| Failure::new(format!("no path in {clients}")))
    }
}

/// Its path smuggles a line into a map.
pub fn bad_ingress(name: &str) -> Value {
    let mut ingress = manifest::ingress(name, "bad.example", "shop");
    ingress["spec"]["rules"][0]["http"]["paths"][0]["path"] = json!("/x\n    http-request deny");
    ingress
}

/// Waits until the API server refuses `bad`, and gives what it says. What is not judged in time is stored: `undo` takes it away.
pub async fn refused(scene: &Scene, bad: &Value, undo: impl AsyncFn() -> Outcome) -> Outcome<String> {
    eventually(format!("{} {} is refused", bad["kind"], bad["metadata"]["name"]), async || {
        let applied = scene.apply(bad).await;
        if applied.is_ok() {
            undo().await?;
        }
        refusal(applied)
    })
    .await
}

pub fn refusal(applied: Outcome) -> Outcome<String> {
    match applied {
        Ok(()) => Err(Failure::new("it was stored")),
        Err(refused) => Ok(refused.sentence().to_owned()),
    }
}
