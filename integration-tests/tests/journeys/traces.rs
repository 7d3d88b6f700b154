//! What a collector is told, what the log says of a generation, and how both are turned on and off while all goes on.

use integration_tests::{
    Outcome, Scene,
    collector::{Collector, Received, attribute},
    controller::Controller,
    ensure, eventually,
};
use serde_json::Value;

const HOST: &str = "shop.example";
/// The parts of a generation, and of which each is a part.
const PARTS: [(&str, &str); 8] = [
    ("debounce", "generation"),
    ("render", "generation"),
    ("syntax", "generation"),
    ("haproxy -c", "generation"),
    ("deploy", "generation"),
    ("store", "generation"),
    ("plan", "deploy"),
    ("apply", "deploy"),
];

pub async fn of_a_generation(scene: Scene) -> Outcome {
    let collector = Collector::start().await?;
    scene.configure().await?;
    let pod = scene.pod().await?;
    let [a, b] = [scene.backend("a").await?, scene.backend("b").await?];
    scene.publish("shop", HOST, &a).await?;
    let endpoint = format!("http://{}", collector.address);
    let mut controller = scene.controller_with(&[
        ("OTEL_EXPORTER_OTLP_ENDPOINT", &endpoint),
        ("OTEL_SERVICE_NAME", "edge"),
        ("OTEL_BSP_SCHEDULE_DELAY", "100"),
    ])?;
    controller.ready().await?;
    pod.serves(HOST, "a").await?;
    pod.has_stored_what_it_runs().await?;
    controller.log_level("PUT", "/debug").await?;
    let before = last_generation(&collector.received());
    scene.move_to(&b, &pod, HOST).await?;
    pod.has_stored_what_it_runs().await?;
    eventually("a whole trace of the change arrives", async || is_whole(&collector.received(), before))
        .await?;
    ensure(
        collector.received().services.iter().all(|name| name == "edge"),
        "OTEL_SERVICE_NAME is not heard",
    )?;
    every_line_of_a_generation_has_its_number(&controller)?;

    drop(collector);
    let traffic = pod.traffic(HOST);
    scene.move_to(&a, &pod, HOST).await?;
    controller.says("traces cannot be sent and are dropped until they can").await?;
    eventually("spans that could not be sent are counted", async || {
        let failed = controller.metric("haptic_trace_spans_total{result=\"failed\"}").await?;
        ensure(failed > 0.0, "none are")
    })
    .await?;
    controller.ready().await?;
    traffic.finish_without_loss().await?;

    let level = controller.log_level("DELETE", "").await?;
    ensure(level["level"] == "info" && level["forced"].is_null(), level.to_string())?;
    controller.terminate().await
}

fn last_generation(received: &Received) -> u64 {
    received
        .spans
        .iter()
        .filter_map(|span| attribute(&span.attributes, "haptic.generation")?.parse().ok())
        .max()
        .unwrap_or(0)
}

/// A generation newer than `before` has a root, and every part where it belongs, in time.
fn is_whole(received: &Received, before: u64) -> Outcome {
    let Received { spans, .. } = received;
    let is_newer = |number: String| number.parse::<u64>().is_ok_and(|number| number > before);
    let mut roots = spans.iter().filter(|span| span.name == "generation");
    let root = roots.find(|root| {
        let generation = attribute(&root.attributes, "haptic.generation").is_some_and(is_newer);
        let cause = attribute(&root.attributes, "haptic.cause").unwrap_or_default();
        generation && cause.contains("endpoints")
    });
    let names: Vec<&str> = spans.iter().map(|span| span.name.as_str()).collect();
    let root = root.ok_or_else(|| integration_tests::Failure::new(format!("no root: {names:?}")))?;
    ensure(root.parent_span_id.is_empty(), "a generation is part of nothing")?;
    let of_trace: Vec<_> = spans.iter().filter(|span| span.trace_id == root.trace_id).collect();
    for (name, parent) in PARTS {
        let part = of_trace.iter().find(|span| span.name == name);
        let Some(part) = part else { return ensure(false, format!("no {name} among {names:?}")) };
        let parent = of_trace.iter().find(|span| span.name == parent && span.span_id == part.parent_span_id);
        let Some(parent) = parent else { return ensure(false, format!("{name} is part of something else")) };
        let (start, end) = (part.start_time_unix_nano, part.end_time_unix_nano);
        // Times of day and of spans are read one after the other.
        const SLACK: u64 = 5_000_000;
        let within = parent.start_time_unix_nano <= start + SLACK && start <= end;
        ensure(within, format!("{name} begins before what it is part of: {part:?} in {parent:?}"))?;
    }
    Ok(())
}

/// `generation 7 runs on …` has the field `generation` with 7, and so has every other line of that generation.
fn every_line_of_a_generation_has_its_number(controller: &Controller) -> Outcome {
    let mut lines = 0;
    for line in controller.printed().lines().filter_map(|line| serde_json::from_str::<Value>(line).ok()) {
        let text = line["message"].as_str().unwrap_or_default();
        let Some((_, rest)) = text.split_once("generation ") else { continue };
        let number: String = rest.chars().take_while(char::is_ascii_digit).collect();
        let Ok(number) = number.parse::<u64>() else { continue };
        ensure(line["generation"].as_u64() == Some(number), format!("without its number: {line}"))?;
        lines += 1;
    }
    ensure(lines >= 5, format!("only {lines} lines of generations"))
}
