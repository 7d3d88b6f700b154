//! What a generation's trace looks like.

use haptic_model::{HaproxyPod, ObjectRef};
use haptic_text::Digest;

use super::*;

const MS: Duration = Duration::from_millis(1);

fn fleet(pods: &[&str]) -> Fleet {
    let pod = |name: &&str| HaproxyPod::at("default", name, ([10, 0, 0, 1], 5555));
    Fleet { pods: pods.iter().map(pod).collect(), ..Fleet::default() }
}

/// What is emitted of generation 7, each with the milliseconds since its first change.
fn story(pods: &[&str]) -> Vec<(u32, Event)> {
    let generation = Generation(7);
    let example = Some(Arc::new(ObjectRef::new("ingresses", "default", "shop")));
    let cause = Cause { modified: 3, example, ..Cause::default() };
    let mut story = vec![
        (5, Event::ReconcileStarted { generation, cause, waited: 5 * MS }),
        (
            15,
            Event::Rendered {
                generation,
                bytes: 10,
                files: 2,
                digest: Digest::of(b"x"),
                took: 9 * MS,
                kept: 99,
                printed: 1,
                uncacheable: BTreeMap::new(),
            },
        ),
        (18, Event::Timed { part: TimedPart::Syntax, generation, pod: None, took: 2 * MS }),
    ];
    for pod in pods {
        let pod: Arc<str> = format!("default/{pod}").into();
        story.push((
            20,
            Event::Planned { generation, pod: pod.clone(), kind: "runtime", operations: 2, took: MS },
        ));
        story.push((
            25,
            Event::Timed { part: TimedPart::Agent, generation, pod: Some(pod.clone()), took: 4 * MS },
        ));
        story.push((
            26,
            Event::Deployed {
                generation,
                pod,
                reload: None,
                reload_kind: None,
                operations: 2,
                files: 0,
                took: 7 * MS,
                lag: Some(26 * MS),
            },
        ));
    }
    story.push((90, Event::Validated { generation, configuration: 1, took: 70 * MS, cached: false }));
    story
}

fn spans(traces: &mut Traces, story: &[(u32, Event)], fleet: &Fleet) -> Vec<Span> {
    let receive =
        |(at, event): &(u32, Event)| traces.receive(event, SystemTime::UNIX_EPOCH + *at * MS, fleet);
    story.iter().flat_map(receive).collect()
}

fn named<'s>(spans: &'s [Span], name: &str) -> &'s Span {
    let mut found = spans.iter().filter(|span| span.name == name);
    let span = found.next().unwrap_or_else(|| panic!("no {name} in {spans:#?}"));
    assert!(found.next().is_none(), "two {name}");
    span
}

fn lasts(span: &Span) -> (u128, u128) {
    let since =
        |time: SystemTime| time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_millis();
    (since(span.start), since(span.end))
}

#[test]
fn a_generation_is_one_trace_from_its_first_change_to_the_last_acknowledgement() {
    let spans = spans(&mut Traces::new(), &story(&["a"]), &fleet(&["a"]));
    let root = named(&spans, "generation");
    assert_eq!((root.parent, lasts(root)), (None, (0, 90)));
    assert!(root.attributes.contains(&("haptic.generation", AttributeValue::Number(7))));
    let cause = AttributeValue::Text("ingresses default/shop and 2 more changes".into());
    assert!(root.attributes.contains(&("haptic.cause", cause)));
    assert!(spans.iter().all(|span| span.trace == root.trace && span.error.is_none()));
    let of_root = [("debounce", (0, 5)), ("render", (6, 15)), ("syntax", (16, 18)), ("haproxy -c", (20, 90))];
    for (name, times) in of_root.into_iter().chain([("deploy", (19, 26))]) {
        let span = named(&spans, name);
        assert_eq!((span.parent, lasts(span)), (Some(root.id), times), "{name}");
    }
    let deploy = named(&spans, "deploy");
    for (name, times) in [("plan", (19, 20)), ("apply", (21, 25))] {
        let span = named(&spans, name);
        assert_eq!((span.parent, lasts(span)), (Some(deploy.id), times), "{name}");
    }
    let mut ids: Vec<u64> = spans.iter().map(|span| span.id).collect();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), spans.len(), "every span has a number of its own");
}

#[test]
fn a_trace_waits_for_every_pod_and_not_for_ever() {
    let mut traces = Traces::new();
    let both = fleet(&["a", "b"]);
    let emitted = spans(&mut traces, &story(&["a"]), &both);
    assert!(emitted.iter().all(|span| span.name != "generation"), "b has not got it");
    assert!(traces.sweep(SystemTime::UNIX_EPOCH + QUIET).is_empty());
    let swept = traces.sweep(SystemTime::UNIX_EPOCH + QUIET + 91 * MS);
    assert_eq!(lasts(named(&swept, "generation")), (0, 90));
    assert!(traces.finish().is_empty(), "each ends once");

    let emitted = spans(&mut Traces::new(), &story(&["a", "b"]), &both);
    assert_eq!(emitted.iter().filter(|span| span.name == "deploy").count(), 2);
    assert!(named(&emitted, "generation").attributes.contains(&("haptic.pods", AttributeValue::Number(2))));
}

#[test]
fn what_fails_says_why_and_ends_the_trace() {
    let mut story = story(&[]);
    let diagnostics = vec![Diagnostic::error("haproxy", "unknown keyword 'sever'")];
    story.pop();
    story.push((
        90,
        Event::ValidationFailed { generation: Generation(7), configuration: 1, diagnostics, took: 70 * MS },
    ));
    let spans = spans(&mut Traces::new(), &story, &fleet(&["a"]));
    for name in ["haproxy -c", "generation"] {
        let error = named(&spans, name).error.as_deref().unwrap_or_default();
        assert!(error.contains("unknown keyword 'sever'"), "{name}: {error}");
    }
}

#[test]
fn open_traces_are_bounded_and_what_is_pushed_out_is_ended() {
    let mut traces = Traces::new();
    let begun = |number| Event::ReconcileStarted {
        generation: Generation(number),
        cause: Cause::default(),
        waited: Duration::ZERO,
    };
    let emitted: Vec<Span> =
        (0..100).flat_map(|n| traces.receive(&begun(n), SystemTime::UNIX_EPOCH, &fleet(&[]))).collect();
    assert_eq!(traces.open.len(), REMEMBERED);
    assert_eq!(emitted.iter().filter(|span| span.name == "generation").count(), 100 - REMEMBERED);
    assert_eq!(traces.finish().len(), REMEMBERED);
}
