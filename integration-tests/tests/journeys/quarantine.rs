//! One bad object never stops the others, whoever finds it: the render, the keyword check, HAProxy's checker.
//!
//! The configuration is the journey's own, so that an annotation `fault` says what an Ingress does wrong.

use crate::reports::{events_of, says};
use integration_tests::{
    Failure, Outcome, Scene, backend::Backend, configuration::POD_ADDRESS, controller::Controller, ensure,
    eventually, haproxy_pod::HaproxyPod, http, manifest,
};
use serde_json::{Value, json};
use std::time::Instant;

const GOOD: &str = "good.example";

/// A block of an Ingress that does what its annotation says.
const TEMPLATE: &str = r#"global
  maxconn 1000
defaults front
  mode http
  timeout connect 5s
  timeout client 10s
  timeout server 10s
defaults pool
  mode http
  timeout connect 5s
  timeout server 10s
  hash-type consistent
frontend http from front
  bind "${ADDRESS}:7080"
  http-request set-var(txn.net) src,map_ip(MAPS/nets.map,none)
  use_backend %[req.hdr(host),lower,map(MAPS/hosts.map,nobody)]
backend nobody from pool
  http-request return status 404
{{#each (list "ingresses") as |ing|}}
{{let fault=(get ing "metadata.annotations.fault" "none")}}
{{#if (eq fault "fails")}}{{ing.spec.nope}}{{/if}}
{{#if (eq fault "registered")}}{{register_error ing "the fault is registered"}}{{/if}}
backend {{proxy_name ing.metadata.name}} from pool
{{#if (eq fault "keyword")}}
  no-such-keyword
{{/if}}
{{#if (eq fault "checked")}}
  http-request set-header x-fault %[req.hdr(x),bytes(none)]
{{/if}}
{{#each (fetch "endpoints" ing.metadata.namespace ing.metadata.name) as |slice|}}
{{#each slice.endpoints as |endpoint|}}
{{#each endpoint.addresses as |address|}}
  server {{address}} {{address}}:8080{{#if (eq fault "weighed")}} weight 300{{/if}}
{{/each}}
{{/each}}
{{/each}}
{{#if (eq fault "bound")}}
frontend {{proxy_name "own" ing.metadata.name}} from front
  bind 192.0.2.7:7083
{{/if}}
{{/each}}
"#;
const HOSTS: &str = r#"{{#each (list "ingresses") as |ing|}}
{{#each ing.spec.rules as |rule|}}
{{rule.host}} {{proxy_name ing.metadata.name}}
{{/each}}
{{/each}}
"#;
/// The checker tells of such a line only where the map is used, which is nobody's.
const NETS: &str = r#"10.0.0.0/8 ten
{{#each (list "ingresses") as |ing|}}
{{#if (eq (get ing "metadata.annotations.fault" "") "net")}}
10.0.0.0/99 {{ing.metadata.name}}
{{/if}}
{{#if (eq (get ing "metadata.annotations.fault" "") "value")}}
10.9.0.0/16 {{concat " " ing.metadata.name}}
{{/if}}
{{/each}}
"#;

/// A journey under way: one good Ingress that must never feel the bad one.
/// Another namespace, which nobody but [`under_attack`] uses.
const NEIGHBOUR: &str = "neighbour";

struct Story {
    scene: Scene,
    pod: HaproxyPod,
    controller: Controller,
    backends: [Backend; 2],
}

impl Story {
    async fn begin(scene: Scene) -> Outcome<Self> {
        let mut configuration = scene.configuration()?.manifest;
        let namespaces = json!([scene.namespace, neighbour(&scene)]);
        let spec = configuration["spec"].as_object_mut().ok_or_else(|| Failure::new("it has no spec"))?;
        spec.retain(|field, _| {
            ["credentialsSecretRef", "podSelector", "dataplane", "controller"].contains(&field.as_str())
        });
        let template = TEMPLATE.replace("ADDRESS", POD_ADDRESS).replace("MAPS", &scene.maps());
        spec.insert("haproxyConfig".into(), json!({ "template": template }));
        spec.insert(
            "maps".into(),
            json!({ "hosts.map": { "template": HOSTS }, "nets.map": { "template": NETS } }),
        );
        let watched = json!({
            "ingresses": { "apiVersion": "networking.k8s.io/v1", "resources": "ingresses", "namespaces": namespaces },
            "endpoints": {
                "apiVersion": "discovery.k8s.io/v1", "resources": "endpointslices", "namespaces": namespaces,
                "indexBy": ["metadata.namespace", "metadata.labels['kubernetes.io/service-name']"],
            },
        });
        spec.insert("watchedResources".into(), watched);
        scene.configure_with(&configuration).await?;
        let backends = [scene.backend("one").await?, scene.backend("two").await?];
        scene.publish("good", GOOD, &backends[0]).await?;
        let pod = scene.pod().await?;
        let controller = scene.ready_controller().await?;
        pod.serves(GOOD, "one").await?;
        Ok(Self { scene, pod, controller, backends })
    }

    /// The Ingress `name`, with this fault.
    async fn apply(&self, name: &str, fault: &str) -> Outcome {
        self.scene.apply(&manifest::endpoints(name, &[self.backends[0].address])).await?;
        self.scene.apply(&ingress(name, fault)).await
    }

    /// Others are changed, and it is live: twice, so that nothing hangs behind the first time.
    async fn others_go_on(&self) -> Outcome {
        for backend in [&self.backends[1], &self.backends[0]] {
            self.scene.apply(&manifest::endpoints("good", &[backend.address])).await?;
            self.pod.serves(GOOD, &backend.name).await?;
        }
        Ok(())
    }

    /// A new route in another namespace goes live, and then other endpoints of it.
    async fn neighbour_goes_on(&self, name: &str) -> Outcome {
        let namespace = neighbour(&self.scene);
        let apply = async |object: Value| self.scene.cluster.apply(&namespace, &object).await.map(drop);
        apply(manifest::endpoints(name, &[self.backends[0].address])).await?;
        apply(ingress(name, "none")).await?;
        self.pod.serves(&host(name), "one").await?;
        apply(manifest::endpoints(name, &[self.backends[1].address])).await?;
        self.pod.serves(&host(name), "two").await
    }

    /// Event, condition, metric, log and `/debug` say so, with these words.
    async fn is_held_back(&self, name: &str, words: &str) -> Outcome {
        let sentence = eventually(format!("the condition says {words:?}"), async || {
            let status = says(&self.scene, "Valid", [("Quarantined", "True")]).await?;
            let conditions = status["conditions"].as_array().cloned().unwrap_or_default();
            let told = conditions.iter().find(|condition| condition["type"] == "Quarantined");
            let sentence = told.and_then(|told| told["message"].as_str()).unwrap_or_default().to_owned();
            let is_told = sentence.contains(&format!("/{name}: ")) && sentence.contains(words);
            ensure(is_told, format!("it says {sentence:?}"))?;
            Ok(sentence)
        })
        .await?;
        eventually("an Event on the Ingress says the same", async || {
            let events = events_of(&self.scene, "Ingress", name, "Quarantined").await?;
            ensure(events.contains(&sentence), format!("{sentence:?} is not among {events:?}"))
        })
        .await?;
        // The log is JSON.
        self.controller.says(&sentence.replace('"', "\\\"")).await?;
        let shown = http::get((self.controller.address, 6060).into(), "debug", "/debug/quarantine").await?;
        ensure(
            shown.body.contains(&sentence.replace('"', "\\\"")),
            format!("{sentence:?} is not in {}", shown.body),
        )?;
        self.counts(1).await
    }

    async fn is_released(&self) -> Outcome {
        says(&self.scene, "Valid", [("Quarantined", "False"), ("Ready", "True")]).await?;
        self.counts(0).await
    }

    async fn counts(&self, held: usize) -> Outcome {
        eventually(format!("the metric says that {held} objects are held back"), async || {
            let answer = http::get((self.controller.address, 9090).into(), "metrics", "/metrics").await?;
            let wanted = format!("haptic_quarantined_objects {held}");
            ensure(answer.body.lines().any(|line| line == wanted), "it does not")
        })
        .await
    }

    /// The same fault in an object that was never good and in one that was.
    async fn goes_through(&self, fault: &str, words: &str) -> Outcome {
        let host = &host(fault);
        self.apply(fault, fault).await?;
        self.is_held_back(fault, words).await?;
        self.is_held_back(fault, "It is not served").await?;
        self.pod.answers(host, 404).await?;
        self.others_go_on().await?;
        self.apply(fault, "none").await?;
        self.pod.serves(host, "one").await?;
        self.is_released().await?;
        self.pod.has_stored_what_it_runs().await?;
        self.apply(fault, fault).await?;
        self.is_held_back(fault, "Its last good version is still served").await?;
        self.others_go_on().await?;
        self.pod.serves(host, "one").await?;
        self.pod.has_stored_what_it_runs().await?;
        self.scene.delete(&ingress(fault, fault)).await?;
        self.is_released().await
    }
}

pub async fn found_by_the_render(scene: Scene) -> Outcome {
    let story = Story::begin(scene).await?;
    story.goes_through("fails", "ing.spec.nope is missing").await?;
    story.goes_through("registered", "the fault is registered").await?;
    story.goes_through("value", "cuts blanks off both ends").await
}

pub async fn found_by_checks(scene: Scene) -> Outcome {
    let story = Story::begin(scene).await?;
    story.goes_through("keyword", "no-such-keyword").await?;
    story.goes_through("checked", "bytes(none)").await
}

/// What was good before is in no memory then.
pub async fn after_a_restart(scene: Scene) -> Outcome {
    let mut story = Story::begin(scene).await?;
    story.apply("fails", "none").await?;
    story.pod.serves("fails.example", "one").await?;
    story.pod.has_stored_what_it_runs().await?;
    story.apply("fails", "fails").await?;
    story.is_held_back("fails", "Its last good version is still served").await?;
    story.pod.serves("fails.example", "one").await?;
    std::mem::replace(&mut story.controller, story.scene.controller()?).terminate().await?;
    story.controller.ready().await?;
    story
        .is_held_back(
            "fails",
            "It is not served: no good version of it is known since this controller started",
        )
        .await?;
    story.pod.answers("fails.example", 404).await?;
    story.others_go_on().await
}

/// Twenty that turn bad in every way and good again as fast as the API server takes it: new routes and endpoints of another
/// namespace go live all the same, Events are a trickle, and once it is over everything is in force.
pub async fn under_attack(scene: Scene) -> Outcome {
    const TURNING: usize = 20;
    scene.another_namespace(NEIGHBOUR).await?;
    let story = Story::begin(scene).await?;
    let name = |number: usize| format!("turning{number}");
    for number in 0..TURNING {
        story.scene.apply(&manifest::endpoints(&name(number), &[story.backends[0].address])).await?;
    }
    let attacked = Instant::now();
    let attack = async {
        let faults = ["checked", "fails", "net", "keyword", "none"];
        for turn in 0.. {
            let fault = faults[(turn + turn / TURNING) % faults.len()];
            story.scene.apply(&ingress(&name(turn % TURNING), fault)).await?;
        }
        Ok::<(), Failure>(())
    };
    let others = async {
        for number in 0..6 {
            story.neighbour_goes_on(&format!("shop{number}")).await?;
        }
        Ok(())
    };
    tokio::select! {
        ended = attack => ended,
        done = others => done,
    }?;
    let mut events = 0;
    for number in 0..TURNING {
        events += events_of(&story.scene, "Ingress", &name(number), "Quarantined").await?.len();
    }
    // So many within any minute.
    let minutes = 1 + usize::try_from(attacked.elapsed().as_secs() / 60)?;
    ensure((1..=20 * minutes).contains(&events), format!("{events} Events"))?;
    for number in 0..TURNING {
        story.scene.apply(&ingress(&name(number), "none")).await?;
    }
    story.others_go_on().await?;
    for number in 0..TURNING {
        story.pod.serves(&host(&name(number)), "one").await?;
    }
    story.is_released().await
}

/// No machine has the address, which HAProxy's checker does not try.
pub async fn found_by_a_reload(scene: Scene) -> Outcome {
    let story = Story::begin(scene).await?;
    story.goes_through("bound", "cannot bind socket").await
}

/// Its socket takes no such server, before the checker has its say.
pub async fn found_by_an_operation(scene: Scene) -> Outcome {
    let story = Story::begin(scene).await?;
    story.goes_through("weighed", "weight").await?;
    story.controller.says("HAProxy's socket refused: set server weighed/").await
}

pub async fn found_by_halves(scene: Scene) -> Outcome {
    let story = Story::begin(scene).await?;
    story.goes_through("net", "map_ip").await
}

fn ingress(name: &str, fault: &str) -> Value {
    let mut ingress = manifest::ingress(name, &host(name), name);
    ingress["metadata"]["annotations"] = json!({ "fault": fault });
    ingress
}

fn neighbour(scene: &Scene) -> String {
    format!("{}-{NEIGHBOUR}", scene.namespace)
}

fn host(name: &str) -> String {
    format!("{name}.example")
}
