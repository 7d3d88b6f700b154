//! Objects that vanish at once, by a mistake in a selector and not by being deleted, take no routes away.

use crate::reports::{events_of, says};
use integration_tests::{
    Outcome, Scene, backend::Backend, controller::Controller, ensure, eventually, haproxy_pod::HaproxyPod,
    manifest,
};
use serde_json::{Value, json};

/// Nobody has this label.
const MISTAKEN: &str = "app=shpo";
const MANY: usize = 24;
const CONFIRM: &str = "haproxy-haptic.org/confirm-deletion";

/// One of the routes.
const HOST: &str = "r7.example";

struct Story {
    scene: Scene,
    configuration: Value,
    pod: HaproxyPod,
    controller: Controller,
    _backend: Backend,
}

impl Story {
    /// Many Ingresses are served, and vanish no longer than `hold` before it counts.
    async fn begin(scene: Scene, hold: &str) -> Outcome<Self> {
        let mut configuration = scene.configuration()?.manifest;
        configuration["spec"]["controller"]["massDeletionHold"] = json!(hold);
        scene.configure_with(&configuration).await?;
        let backend = scene.backend("one").await?;
        for number in 0..MANY {
            scene.apply(&labelled(number)).await?;
        }
        scene.publish("r7", HOST, &backend).await?;
        scene.apply(&labelled(7)).await?;
        let pod = scene.pod().await?;
        let controller = scene.ready_controller().await?;
        let story = Self { scene, configuration, pod, controller, _backend: backend };
        story.select("app=shop").await?;
        story.pod.serves(HOST, "one").await?;
        Ok(story)
    }

    async fn select(&self, selector: &str) -> Outcome {
        self.scene.apply(&self.selecting(selector)).await
    }

    /// Nobody has the label that it selects; the annotation says that this is meant.
    async fn annotate(&self, value: &str) -> Outcome {
        let mut configuration = self.selecting(MISTAKEN);
        configuration["metadata"]["annotations"] = json!({ CONFIRM: value });
        self.scene.apply(&configuration).await
    }

    fn selecting(&self, selector: &str) -> Value {
        let mut configuration = self.configuration.clone();
        configuration["spec"]["watchedResources"]["ingresses"]["labelSelector"] = json!(selector);
        configuration
    }

    /// Condition, Event, metric and log say that they are held, and what confirms it; they are served meanwhile.
    async fn is_held(&self, words: &str) -> Outcome {
        let status = says(&self.scene, "Valid", [("DeletionsHeld", "True")]).await?;
        let conditions = status["conditions"].as_array().cloned().unwrap_or_default();
        let told = conditions.iter().find(|condition| condition["type"] == "DeletionsHeld");
        let sentence = told.and_then(|told| told["message"].as_str()).unwrap_or_default().to_owned();
        for words in [words, &format!("{CONFIRM}=ingresses:{MANY}")] {
            ensure(sentence.contains(words), format!("{words:?} is not in {sentence:?}"))?;
        }
        eventually("an Event on the configuration says so, too", async || {
            let events = events_of(&self.scene, "HAProxyTemplateConfig", "demo", "DeletionsHeld").await?;
            ensure(events.contains(&sentence), format!("{sentence:?} is not among {events:?}"))
        })
        .await?;
        self.controller.says(&sentence).await?;
        self.counts(MANY).await?;
        self.pod.serves(HOST, "one").await
    }

    async fn counts(&self, held: usize) -> Outcome {
        eventually(format!("the metric says that {held} objects are held"), async || {
            let told = self.controller.metric("haptic_held_deletions{type=\"ingresses\"}").await?;
            ensure(format!("{told}") == held.to_string(), format!("it says {told}"))
        })
        .await
    }
}

/// Held through a restart of the controller; over when the mistake is mended; and deleting them all is no mistake.
pub async fn is_held_until_it_is_mended(scene: Scene) -> Outcome {
    let mut story = Story::begin(scene, "10m").await?;
    eventually("the status says how many there are", async || {
        let status = says(&story.scene, "Valid", []).await?;
        ensure(status["watchedObjects"]["ingresses"] == json!(MANY), status.to_string())
    })
    .await?;
    story.select(MISTAKEN).await?;
    story.is_held("vanished at once").await?;
    // Everybody else's changes go on.
    let other = story.scene.backend("two").await?;
    story.scene.apply(&manifest::endpoints("r7", &[other.address])).await?;
    story.pod.serves(HOST, "two").await?;

    std::mem::replace(&mut story.controller, story.scene.controller()?).terminate().await?;
    story.controller.waits_because(&["ingresses", "before this controller started", CONFIRM]).await?;
    story.pod.serves(HOST, "two").await?;
    story.select("app=shop").await?;
    story.controller.ready().await?;
    says(&story.scene, "Valid", [("DeletionsHeld", "False")]).await?;
    story.pod.serves(HOST, "two").await?;

    for number in 0..MANY {
        story.scene.delete(&labelled(number)).await?;
    }
    story.pod.answers(HOST, 404).await
}

/// Let through when the annotation says that it is meant.
pub async fn is_confirmed_by_an_annotation(scene: Scene) -> Outcome {
    let story = Story::begin(scene, "10m").await?;
    story.select(MISTAKEN).await?;
    story.is_held("vanished at once").await?;
    story.annotate("ingresses:3").await?;
    story.counts(MANY).await?;
    story.pod.serves(HOST, "one").await?;
    story.annotate(&format!("ingresses:{MANY}")).await?;
    story.pod.answers(HOST, 404).await?;
    story.counts(0).await?;
    says(&story.scene, "Valid", [("DeletionsHeld", "False")]).await.map(drop)
}

/// Let through when nobody says anything for long enough.
pub async fn is_over_after_a_while(scene: Scene) -> Outcome {
    let story = Story::begin(scene, "4s").await?;
    story.select(MISTAKEN).await?;
    let over = "ingresses that had vanished are gone";
    story.controller.says(&format!("{MANY} of {MANY} ingresses vanished at once")).await?;
    let answer = story.pod.get(HOST, "/").await?;
    ensure(answer.is_from("one").is_ok() || story.controller.printed().contains(over), answer.body)?;
    story.pod.answers(HOST, 404).await?;
    story.controller.says(over).await?;
    story.counts(0).await
}

fn labelled(number: usize) -> Value {
    let mut ingress = manifest::ingress(&format!("r{number}"), &format!("r{number}.example"), "r7");
    ingress["metadata"]["labels"] = json!({ "app": "shop" });
    ingress
}
