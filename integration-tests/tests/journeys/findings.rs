//! What is found at an Ingress that leads nowhere: told once, shown everywhere, and gone with its cause.

use crate::reports::{events, has_event};
use integration_tests::{Outcome, Scene, controller::Controller, ensure, eventually, manifest};
use serde_json::Value;

const HOST: &str = "shop.example";
const LOST: &str = "lost.example";
const REASON: &str = "ServiceMissing";
const SENTENCE: &str = "Service nosvc, which is not there";

pub async fn told_once_and_gone_with_their_cause(scene: Scene) -> Outcome {
    let (pod, mut controller, backends) = scene.serving(HOST).await?;
    counts(&controller, 0).await?;

    scene.apply(&manifest::ingress("lost", LOST, "nosvc")).await?;
    has_event(&scene, "Ingress", "lost", REASON).await?;
    is_shown(&controller).await?;
    // Nothing of it is told again: not by the renders that follow, and not by the next leader.
    for change in 0..6 {
        let next = &backends[usize::from(change % 2 == 0)];
        scene.move_to(next, &pod, HOST).await?;
    }
    let told =
        |controller: &Controller| controller.printed().lines().filter(|line| line.contains(SENTENCE)).count();
    ensure(told(&controller) == 1, format!("the log tells it {} times", told(&controller)))?;
    controller.kill().await?;
    controller = scene.controller()?;
    controller.says("this replica leads").await?;
    is_shown(&controller).await?;
    // What is found later is written after what the new leader found first.
    scene.apply(&manifest::ingress("later", "later.example", "nosvc2")).await?;
    has_event(&scene, "Ingress", "later", REASON).await?;
    let all = events(&scene).await?;
    let of_lost = all.iter().filter(|event| {
        let regarding = event.regarding.clone().unwrap_or_default();
        event.reason.as_deref() == Some(REASON) && regarding.name.as_deref() == Some("lost")
    });
    let of_lost: Vec<_> = of_lost.collect();
    ensure(of_lost.len() == 1, format!("there are {of_lost:?}"))?;
    let note = of_lost[0].note.clone().unwrap_or_default();
    ensure(note.contains(SENTENCE), note)?;

    scene.delete(&manifest::ingress("later", "later.example", "nosvc2")).await?;
    scene.apply(&manifest::service("nosvc")).await?;
    counts(&controller, 0).await?;
    let (_, status) = controller.status().await?;
    ensure(
        !status.lines().take_while(|line| !line.contains("recently")).any(|line| line.contains(SENTENCE)),
        status,
    )
}

/// The gauge, `haptic status`, `/debug/findings`, the overview and what explains a request have it.
async fn is_shown(controller: &Controller) -> Outcome {
    counts(controller, 1).await?;
    let (_, status) = controller.status().await?;
    for words in [SENTENCE, "1 service_missing"] {
        ensure(status.contains(words), format!("no {words:?} in: {status}"))?;
    }
    let shown: Value =
        serde_json::from_str(&controller.debug_page("/debug/findings?kind=service_missing").await?)?;
    let one = &shown["shown"][0];
    ensure(one["kind"] == "service_missing" && one["place"]["host"] == LOST, shown.to_string())?;
    let overview: Value = serde_json::from_str(&controller.debug_page("/debug/overview").await?)?;
    ensure(overview["findings"]["service_missing"] == 1, overview["findings"].to_string())?;
    let explained = controller.debug_page(&format!("/debug/explain?url=http://{LOST}/")).await?;
    ensure(explained.contains(SENTENCE), explained)
}

async fn counts(controller: &Controller, findings: usize) -> Outcome {
    eventually(format!("the gauge says that {findings} Services are missing"), async || {
        let metrics = controller.metrics().await?;
        let wanted = format!("haptic_findings{{kind=\"service_missing\"}} {findings}");
        ensure(metrics.lines().any(|line| line == wanted), "it does not")
    })
    .await
}
