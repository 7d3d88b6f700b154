//! Sentences an operator reads.

use std::sync::Arc;

use haptic_model::ObjectRef;

use super::*;

fn started(generation: u64, object: &str, modified: usize) -> Event {
    Event::ReconcileStarted {
        generation: Generation(generation),
        cause: Cause {
            modified,
            example: Some(Arc::new(ObjectRef::new("ingresses", "default", object))),
            ..Cause::default()
        },
    }
}

fn deployed(generation: u64, reload: Option<&str>) -> Event {
    Event::Deployed {
        generation: Generation(generation),
        pod: "default/haproxy-0".into(),
        reload: reload.map(str::to_owned),
        operations: 3,
        files: 1,
        took: Duration::from_millis(41),
        lag: Duration::from_millis(120),
    }
}

#[test]
fn a_deployment_names_what_triggered_it() {
    let mut commentary = Commentary::new();
    commentary.tell(&started(7, "shop", 3));
    commentary.tell(&started(8, "blog", 1));
    let line = commentary.tell(&deployed(7, None));
    assert_eq!(
        line.text,
        "generation 7 runs on default/haproxy-0: runtime only, 3 operations, 41 ms, 120 ms after the change \
         (ingresses default/shop and 2 more changes)"
    );
    assert_eq!(line.level, Level::Info);
    assert_eq!(line.object.as_deref(), Some("ingresses default/shop"));
}

#[test]
fn a_reload_says_why() {
    let line = Commentary::new().tell(&deployed(7, Some("a bind line changed")));
    assert_eq!(
        line.text,
        "generation 7 runs on default/haproxy-0: reloaded because a bind line changed, 1 file, 41 ms, 120 ms after \
         the change"
    );
}

#[test]
fn a_failure_names_the_object_it_belongs_to_and_counts_the_rest() {
    let object = Arc::new(ObjectRef::new("ingresses", "default", "shop"));
    let refused = Event::ValidationFailed {
        generation: Generation(4),
        diagnostics: vec![
            Diagnostic::error("haproxy", "unknown keyword 'sever'").of_object(Some(object)),
            Diagnostic::error("haproxy", "no such backend"),
        ],
        took: Duration::from_millis(300),
    };
    let line = Commentary::new().tell(&refused);
    assert_eq!(line.level, Level::Error);
    assert_eq!(line.object.as_deref(), Some("ingresses default/shop"));
    assert!(line.text.starts_with(
        "generation 4 was refused after 300 ms, the last good one stays: unknown keyword 'sever'; object ingresses \
         default/shop"
    ));
    assert!(line.text.ends_with("(and 1 more)"), "{}", line.text);
}

#[test]
fn triggers_are_remembered_for_a_bounded_number_of_generations() {
    let mut commentary = Commentary::new();
    (0..1000).for_each(|generation| {
        commentary.tell(&started(generation, "shop", 1));
    });
    assert_eq!(commentary.triggers.len(), REMEMBERED);
    assert!(commentary.tell(&deployed(1, None)).object.is_none());
    assert!(commentary.tell(&deployed(999, None)).object.is_some());
}

#[test]
fn triggers_read_as_a_person_would_say_them() {
    let object = Some(Arc::new(ObjectRef::new("services", "a", "b")));
    let cause = |modified, example: &Option<_>, other| {
        trigger_text(&Cause { modified, example: example.clone(), other, ..Cause::default() })
    };
    assert_eq!(cause(1, &object, None), "services a/b");
    assert_eq!(cause(2, &object, None), "services a/b and 1 more change");
    assert_eq!(cause(0, &None, Some("configuration")), "configuration");
    assert_eq!(cause(2, &object, Some("configuration")), "configuration and 2 changes");
}

#[test]
fn times_are_short() {
    let texts = [0.0004, 0.0012, 0.041, 1.25, 90.0].map(|seconds| ms(Duration::from_secs_f64(seconds)));
    assert_eq!(texts, ["0.4 ms", "1.2 ms", "41 ms", "1.2 s", "90 s"]);
}

#[test]
fn a_warning_that_stands_is_news_once() {
    let mut commentary = Commentary::new();
    let mut warned = |generation, what| {
        let diagnostic = Diagnostic::warning("haproxy", what);
        commentary.tell(&Event::Warned { generation: Generation(generation), diagnostic }).level
    };
    assert_eq!(
        (warned(1, "old"), warned(2, "old"), warned(3, "other")),
        (Level::Warn, Level::Debug, Level::Warn)
    );
    assert_eq!(warned(40, "old"), Level::Warn, "it had gone meanwhile");
}

#[test]
fn what_is_held_back_and_what_is_let_go_is_said_in_its_own_sentences_not_too_many() {
    let held = |name: &str| Quarantined {
        object: Arc::new(ObjectRef::new("ingresses", "default", name)),
        why: Diagnostic::error("render", "no host"),
        replaced: true,
        suspected: false,
        since: Generation(3),
        at: std::time::Instant::now(),
    };
    let names = ["a", "b", "c", "d", "e"];
    let entered: Vec<_> = names.into_iter().map(held).collect();
    let event = Event::QuarantineChanged { generation: Generation(3), entered, left: Vec::new(), held: 5 };
    let line = Commentary::new().tell(&event);
    assert_eq!((line.level, line.object.as_deref()), (Level::Warn, Some("ingresses default/a")));
    assert!(line.text.starts_with(&held("a").to_string()), "{}", line.text);
    assert!(line.text.ends_with("; and 2 more (5 objects held back in all)"), "{}", line.text);
    let left = vec![Released { object: held("a").object, gone: false }];
    let event = Event::QuarantineChanged { generation: Generation(4), entered: Vec::new(), left, held: 0 };
    let line = Commentary::new().tell(&event);
    assert_eq!(line.level, Level::Info);
    assert_eq!(line.text, "ingresses default/a is good again, and in force (0 objects held back in all)");
}
