//! One change on its whole way, from the write to the answer that shows it: what each stage took, and what passed between them.
//!
//! The controller's own traces say so: it sends them to a collector here, as to anybody's. The times of spans are those at which the
//! controller noted their ends, so that a wait of less than a tenth of a millisecond is none.

use crate::{
    figures::Scope, namespace::Namespace, progress::say, series::Timing, site::Site, statistics::milliseconds,
};
use integration_tests::{
    Failure, Outcome,
    collector::{Collector, Received, attribute},
    eventually_within,
};
use opentelemetry_proto::tonic::trace::v1::Span;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tokio::time::sleep;

/// Changes before the one that is traced: the first ones find nothing in memory.
const BEFORE: usize = 50;
/// The check of everything, with which a trace ends, may be this long behind the change.
const ENDED_WITHIN: Duration = Duration::from_secs(120);
/// Spans arrive a little later than what they tell of.
const ARRIVED_WITHIN: Duration = Duration::from_secs(3);
/// The stages that a change goes through one after the other.
const ON_THE_WAY: [&str; 5] = ["debounce", "render", "syntax", "plan", "apply"];
/// Of a pod: from its plan to its acknowledgement.
const DEPLOY: &str = "deploy";
/// Shorter waits are not shown, in milliseconds.
const NO_WAIT: f64 = 0.1;

/// A part of the way, in milliseconds since the write.
#[derive(Clone, Debug, PartialEq)]
struct Step {
    name: String,
    begins: f64,
    takes: f64,
}

/// Traces an endpoint change, and then a new route.
pub async fn measure(namespace: &Namespace, into: &mut Scope<'_>) -> Outcome {
    let collector = Collector::start().await?;
    let endpoint = format!("http://{}", collector.address);
    let variables = [("OTEL_EXPORTER_OTLP_ENDPOINT", &*endpoint), ("OTEL_BSP_SCHEDULE_DELAY", "100")];
    let running = namespace.start(&variables).await?;
    let site = running.site(namespace);
    site.come_to_rest(running.started, into).await?;
    site.endpoint_changes(BEFORE).await?;
    let moved = site.moved(site.dataset.change(site.next_change()));
    trace("endpoint_change", &site, &collector, moved, into).await?;
    let newcomer =
        site.dataset.newcomers().next().ok_or_else(|| Failure::new("there is no route to come"))?;
    trace("new_route", &site, &collector, site.new_route(newcomer), into).await?;
    running.end().await
}

/// Makes the change while all is at rest, and prints where its time went.
async fn trace(
    name: &str,
    site: &Site<'_>,
    collector: &Collector,
    change: impl Future<Output = Outcome<Timing>>,
    into: &mut Scope<'_>,
) -> Outcome {
    site.at_rest().await?;
    let sent = SystemTime::now().duration_since(UNIX_EPOCH)?;
    let timing = change.await?;
    let seen = timing.accept() + timing.live();
    sleep(ARRIVED_WITHIN).await;
    let id = newest_trace(&collector.received(), sent, sent + seen);
    let id = id.ok_or_else(|| Failure::new(format!("no generation began with {name}")))?;
    let root = eventually_within(ENDED_WITHIN, format!("the trace of {name} ends"), async || {
        let mut spans = collector.received().spans.into_iter();
        let root = spans.find(|span| span.name == "generation" && span.trace_id == id);
        root.ok_or_else(|| Failure::new("its generation has not ended"))
    })
    .await?;
    sleep(ARRIVED_WITHIN).await;
    let received = collector.received();
    let of_trace = received.spans.iter().filter(|span| span.trace_id == id);
    let spans: Vec<Step> = of_trace.map(|span| step(span, sent)).collect();
    let steps = way(&spans, milliseconds(timing.accept()), milliseconds(seen));
    let generation = attribute(&root.attributes, "haptic.generation").unwrap_or_default();
    say(&format!("{name}, generation {generation}: milliseconds since the write\n{}", table(&steps)));
    let mut into = into.within(name);
    for span in &spans {
        into.add(&format!("{}_ms", span.name), span.takes);
    }
    into.add("accepted_ms", milliseconds(timing.accept()));
    into.add("seen_ms", milliseconds(seen));
    Ok(())
}

/// The trace of the last generation that began between two times: that of the object that completes the change.
fn newest_trace(received: &Received, from: Duration, to: Duration) -> Option<Vec<u8>> {
    let is_between = |span: &&Span| {
        let start = Duration::from_nanos(span.start_time_unix_nano);
        span.name == "debounce" && from <= start && start <= to
    };
    let newest = received.spans.iter().filter(is_between).max_by_key(|span| span.start_time_unix_nano);
    newest.map(|span| span.trace_id.clone())
}

fn step(span: &Span, sent: Duration) -> Step {
    let since =
        |nanoseconds: u64| (Duration::from_nanos(nanoseconds).as_secs_f64() - sent.as_secs_f64()) * 1e3;
    let (begins, ends) = (since(span.start_time_unix_nano), since(span.end_time_unix_nano));
    Step { name: span.name.clone(), begins, takes: ends - begins }
}

/// The spans with what was before and after them, and with the waits between stages, in the order in which they begin.
fn way(spans: &[Step], accepted: f64, seen: f64) -> Vec<Step> {
    let step =
        |name: &str, begins: f64, ends: f64| Step { name: name.to_owned(), begins, takes: ends - begins };
    let mut steps = vec![step("written, the API server answers", 0.0, accepted)];
    let mut stages: Vec<&Step> =
        spans.iter().filter(|span| ON_THE_WAY.contains(&span.name.as_str())).collect();
    stages.sort_by(|a, b| a.begins.total_cmp(&b.begins));
    let mut before = accepted;
    for stage in stages {
        if stage.begins - before > NO_WAIT {
            steps.push(step(&format!("  waits for {}", stage.name), before, stage.begins));
        }
        before = before.max(stage.begins + stage.takes);
    }
    let acknowledged = spans.iter().filter(|span| span.name == DEPLOY).map(|span| span.begins + span.takes);
    if let Some(acknowledged) = acknowledged.max_by(f64::total_cmp) {
        steps.push(step("  waits for the acknowledgement", before, acknowledged));
    }
    steps.extend(spans.iter().cloned());
    steps.push(step("seen in an answer of HAProxy", seen, seen));
    steps.sort_by(|a, b| a.begins.total_cmp(&b.begins));
    steps
}

fn table(steps: &[Step]) -> String {
    let rows = steps.iter().map(|step| format!("{:>9.1} {:>9.1}  {}", step.begins, step.takes, step.name));
    let head = format!("{:>9} {:>9}", "begins", "takes");
    [head].into_iter().chain(rows).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span(name: &str, start: u64, end: u64) -> Span {
        let (name, trace_id) = (name.to_owned(), start.to_be_bytes().to_vec());
        Span { name, trace_id, start_time_unix_nano: start, end_time_unix_nano: end, ..Span::default() }
    }

    #[test]
    fn the_generation_of_a_change_is_the_last_that_began_before_it_was_seen() {
        let spans = vec![
            span("debounce", 5, 90),
            span("debounce", 20, 60),
            span("render", 21, 22),
            span("debounce", 70, 80),
        ];
        let received = Received { spans, ..Received::default() };
        let found = |from, to| newest_trace(&received, Duration::from_nanos(from), Duration::from_nanos(to));
        assert_eq!((found(10, 65), found(30, 65)), (Some(20_u64.to_be_bytes().to_vec()), None));
    }

    #[test]
    fn what_passes_between_stages_is_a_wait() {
        let of = |name: &str, begins, takes| Step { name: name.into(), begins, takes };
        let spans = [of("debounce", 3.0, 1.0), of("render", 6.0, 4.0), of("deploy", 10.0, 5.0)];
        let steps = way(&spans, 2.0, 16.0);
        let names: Vec<_> = steps.iter().map(|step| step.name.trim()).collect();
        assert_eq!(
            names,
            [
                "written, the API server answers",
                "waits for debounce",
                "debounce",
                "waits for render",
                "render",
                "waits for the acknowledgement",
                "deploy",
                "seen in an answer of HAProxy",
            ]
        );
        assert!(table(&steps).ends_with("     16.0       0.0  seen in an answer of HAProxy"));
    }
}
