//! Sentences an operator reads.

use std::sync::Arc;

use haptic_model::{
    HaproxyPod, ObjectRef, Quarantined, Released,
    event::{Asked, ConfigName},
};

use super::{
    messages::{ms, trigger},
    *,
};

/// A commentator at an hour of its own, with its fleet.
struct Story {
    event_log: EventLog,
    fleet: Fleet,
    now: Instant,
    remembered: usize,
}

impl Story {
    fn of(pods: usize) -> Self {
        let pod = |number| HaproxyPod::at("default", &format!("haproxy-{number}"), ([10, 0, 0, 1], 5555));
        let fleet = Fleet { pods: (0..pods).map(pod).collect(), ..Fleet::default() };
        Self { event_log: EventLog::new(), fleet, now: Instant::now(), remembered: 1000 }
    }

    fn emit(&mut self, event: &Event) -> LogLine {
        let context = EventContext { now: self.now, fleet: &self.fleet, remembered: self.remembered };
        self.event_log.format(event, &context)
    }

    fn after(&mut self, millis: u64) -> &mut Self {
        self.now += Duration::from_millis(millis);
        self
    }
}

fn emit(event: &Event) -> LogLine {
    Story::of(1).emit(event)
}

fn started(generation: u64, object: &str, modified: usize) -> Event {
    Event::ReconcileStarted {
        generation: Generation(generation),
        cause: Cause {
            modified,
            example: Some(Arc::new(ObjectRef::new("ingresses", "default", object))),
            ..Cause::default()
        },
        waited: Duration::from_millis(6),
    }
}

fn deployed(generation: u64, reload: Option<&str>) -> Event {
    deployed_on("default/haproxy-0", generation, reload)
}

fn deployed_on(pod: &str, generation: u64, reload: Option<&str>) -> Event {
    Event::Deployed {
        generation: Generation(generation),
        pod: pod.into(),
        reload: reload.map(str::to_owned),
        reload_kind: reload.map(|_| "configuration"),
        operations: 3,
        files: 1,
        took: Duration::from_millis(41),
        lag: Some(Duration::from_millis(120)),
    }
}

fn failed_on(pod: &str, generation: u64, message: &str) -> Event {
    Event::DeployFailed {
        generation: Generation(generation),
        pod: pod.into(),
        message: message.into(),
        retry_in: Duration::from_secs(10),
    }
}

#[test]
fn a_deployment_names_what_triggered_it_and_how_far_it_is() {
    let mut story = Story::of(3);
    story.emit(&started(7, "shop", 3));
    story.emit(&started(8, "blog", 1));
    let first = story.emit(&deployed(7, None));
    assert_eq!(
        first.text,
        "generation 7 runs on default/haproxy-0 (1/3 pods): runtime only, 3 operations, 41 ms, 120 ms after ingresses \
         default/shop and 2 more changes"
    );
    assert_eq!(first.object.as_deref(), Some("ingresses default/shop"));
    let second = story.emit(&deployed_on("default/haproxy-1", 8, None));
    let last = story.emit(&deployed_on("default/haproxy-2", 7, None));
    assert!(second.text.contains("(1/3 pods)"), "{}", second.text);
    assert!(last.text.contains("(3/3 pods)"), "8 is newer than 7: {}", last.text);
    assert_eq!(
        (first.level, second.level, last.level),
        (MessageLevel::Debug, MessageLevel::Debug, MessageLevel::Info)
    );
}

#[test]
fn a_reload_says_why() {
    let line = emit(&deployed(7, Some("a bind line changed")));
    assert_eq!(
        line.text,
        "generation 7 runs on default/haproxy-0 (1/1 pods): reloaded because a bind line changed, 1 file, 41 ms, \
         120 ms after the change"
    );
    let line = Story::of(3).emit(&deployed(7, Some("a bind line changed")));
    assert_eq!(line.level, MessageLevel::Info, "a reload is news on each pod");
}

#[test]
fn a_pod_that_fails_again_and_again_is_told_of_each_minute_and_once_it_recovers() {
    let mut story = Story::of(2);
    let again = failed_on("default/haproxy-1", 7, "connection refused");
    assert_eq!(story.emit(&again).level, MessageLevel::Warn);
    assert_eq!(story.after(10_000).emit(&again).level, MessageLevel::Debug);
    assert_eq!(
        story.emit(&failed_on("default/haproxy-1", 7, "no route")).level,
        MessageLevel::Warn,
        "another reason"
    );
    let line = story.after(51_000).emit(&again);
    assert_eq!(line.level, MessageLevel::Warn);
    assert_eq!(
        line.text,
        "generation 7 is not on default/haproxy-1 yet (0/2 pods run it): connection refused; next try in 10 s, \
         failed 4 times in a row for 61 s"
    );
    let line = story.after(1000).emit(&deployed_on("default/haproxy-1", 7, None));
    assert_eq!(line.level, MessageLevel::Info);
    assert!(line.text.ends_with("; it had 4 failed attempts in 62 s"), "{}", line.text);
    let line = story.emit(&deployed_on("default/haproxy-1", 8, None));
    assert!(!line.text.contains("failed attempt"), "{}", line.text);
}

#[test]
fn a_refusal_names_its_cause_and_object_what_stays_and_how_often() {
    let object = Arc::new(ObjectRef::new("ingresses", "default", "shop"));
    let refused = |generation| Event::ValidationFailed {
        generation: Generation(generation),
        configuration: 1,
        diagnostics: vec![
            Diagnostic::error("haproxy", "unknown keyword 'sever'").of_object(Some(object.clone())),
            Diagnostic::error("haproxy", "no such backend"),
        ],
        took: Duration::from_millis(300),
    };
    let mut story = Story::of(1);
    let line = story.emit(&refused(2));
    assert!(
        line.text.starts_with("generation 2 was refused after 300 ms, there is no good one yet: "),
        "{}",
        line.text
    );
    story.emit(&Event::Validated {
        generation: Generation(3),
        configuration: 1,
        took: Duration::ZERO,
        cached: false,
    });
    story.emit(&started(4, "blog", 1));
    let line = story.after(314).emit(&refused(4));
    assert_eq!((line.level, line.object.as_deref()), (MessageLevel::Error, Some("ingresses default/shop")));
    assert_eq!(
        line.text,
        "generation 4, triggered by ingresses default/blog 320 ms before, was refused after 300 ms, the last good one, \
         3, stays: unknown keyword 'sever'; object ingresses default/shop (and 1 more) (2 refused within 5 minutes)"
    );
    assert!(!story.after(301_000).emit(&refused(5)).text.contains("within"), "that was long ago");
}

#[test]
fn what_is_said_of_nobody_names_no_bystander() {
    let mut story = Story::of(1);
    story.emit(&started(2, "blog", 1));
    let warned = |diagnostic: Diagnostic| Event::Warned { generation: Generation(2), diagnostic };
    let warning = || Diagnostic::warning("haproxy", "resolvers 'cluster': can't connect");
    assert_eq!(story.emit(&warned(warning())).object, None);
    let shop = Arc::new(ObjectRef::new("ingresses", "default", "shop"));
    let own = story.emit(&warned(warning().of_object(Some(shop))));
    assert_eq!(own.object.as_deref(), Some("ingresses default/shop"));
    assert_eq!(story.emit(&deployed(2, None)).object.as_deref(), Some("ingresses default/blog"));
}

#[test]
fn what_comes_again_is_counted_within_its_window_by_whom_it_concerns() {
    let mut story = Story::of(2);
    let mut drift = |pod: &str, what: &str| {
        story.after(1000).emit(&Event::DriftFound { pod: pod.into(), what: what.into() })
    };
    assert!(!drift("default/haproxy-0", "a").text.contains("times"));
    assert!(drift("default/haproxy-0", "b").text.ends_with("(2 times within an hour)"));
    assert!(!drift("default/haproxy-1", "c").text.contains("times"));
}

#[test]
fn nothing_that_is_remembered_grows_without_end() {
    let mut story = Story::of(1);
    story.remembered = 50;
    for number in 0..1000 {
        story.emit(&started(number, "shop", 1));
        story.emit(&failed_on("default/haproxy-0", number, &format!("reason {number}")));
    }
    assert_eq!(story.event_log.triggers.len(), REMEMBERED);
    assert!(story.emit(&deployed(1, None)).object.is_none());
    assert!(story.emit(&deployed(999, None)).object.is_some());
    assert_eq!(story.event_log.recent.sizes(), (50, 512));
}

#[test]
fn triggers_read_as_a_person_would_say_them() {
    let object = Some(Arc::new(ObjectRef::new("services", "a", "b")));
    let cause = |modified, example: &Option<_>, other| {
        trigger(&Cause { modified, example: example.clone(), other, ..Cause::default() })
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
    let mut story = Story::of(1);
    let mut warned = |generation, what| {
        let diagnostic = Diagnostic::warning("haproxy", what);
        story.emit(&Event::Warned { generation: Generation(generation), diagnostic }).level
    };
    assert_eq!(
        (warned(1, "old"), warned(2, "old"), warned(3, "other")),
        (MessageLevel::Warn, MessageLevel::Debug, MessageLevel::Warn)
    );
    assert_eq!(warned(40, "old"), MessageLevel::Warn, "it had gone meanwhile");
}

#[test]
fn what_is_held_back_and_what_is_let_go_is_said_in_its_own_sentences_not_too_many() {
    let held = |name: &str| Quarantined {
        object: Arc::new(ObjectRef::new("ingresses", "default", name)),
        why: Diagnostic::error("render", "no host"),
        instead: haptic_model::Instead::Former,
        suspected: false,
        since: Generation(3),
        at: std::time::Instant::now(),
    };
    let names = ["a", "b", "c", "d", "e"];
    let entered: Vec<_> = names.into_iter().map(held).map(Arc::new).collect();
    let event = Event::QuarantineChanged { generation: Generation(3), entered, left: Vec::new(), held: 6 };
    let line = emit(&event);
    assert_eq!((line.level, line.object.as_deref()), (MessageLevel::Warn, Some("ingresses default/a")));
    assert!(line.text.starts_with(&held("a").to_string()), "{}", line.text);
    assert!(line.text.ends_with("; and 2 more (6 objects held back in all)"), "{}", line.text);
    let left = vec![Released { object: held("a").object, gone: false }];
    let event = Event::QuarantineChanged { generation: Generation(4), entered: Vec::new(), left, held: 0 };
    let line = emit(&event);
    assert_eq!(line.level, MessageLevel::Info);
    assert_eq!(line.text, "ingresses default/a is good again, and in force");
}

#[test]
fn a_configuration_is_called_one_once() {
    let told = |name| emit(&Event::ConfigDeleted { name }).text;
    let own = told(ConfigName::Own("haptic/edge".into()));
    assert!(own.starts_with("configuration haptic/edge was deleted"));
    let source = told(ConfigName::Source("configuration file a.yaml".into()));
    assert!(source.starts_with("configuration file a.yaml was deleted"));
}

fn refused(asked: Asked, diagnostics: Vec<Diagnostic>) -> LogLine {
    emit(&Event::ConfigRejected { name: ConfigName::Own("edge/demo".into()), diagnostics, asked })
}

#[test]
fn each_error_of_a_configuration_is_told_below_its_validator_and_a_users_mistake_is_a_warning() {
    let asked = Asked {
        answered: vec!["basic", "template", "jsonpath"],
        silent: Vec::new(),
        took: Duration::from_millis(12),
    };
    let template = |line| Diagnostic::error("template", "unknown function").at_template("main", line, 1);
    let path = Diagnostic::error("jsonpath", "no such path").at_field("spec.watchedResources.x.indexBy[0]");
    let line = refused(asked.clone(), vec![template(3), template(5), path]);
    assert_eq!(line.level, MessageLevel::Warn);
    assert_eq!(
        line.text,
        "configuration edge/demo is refused after 12 ms (3 validators), so nothing changes: 3 errors\n\
         template:\n  unknown function; template main:3:1\n  unknown function; template main:5:1\n\
         jsonpath:\n  no such path; field spec.watchedResources.x.indexBy[0]"
    );
    let one = refused(asked.clone(), vec![template(3)]);
    assert!(one.text.ends_with("so nothing changes: unknown function; template main:3:1"), "{}", one.text);
    let name = ConfigName::Own("edge/demo".into());
    let accepted = emit(&Event::ConfigAccepted { name, revision: 2, asked });
    assert_eq!(accepted.text, "configuration edge/demo is accepted as revision 2 after 12 ms (3 validators)");
}

#[test]
fn refusals_before_the_last_accepted_configuration_are_not_told_again() {
    let mut story = Story::of(1);
    let name = || ConfigName::Own("edge/demo".into());
    let mut accepted = |refusals: usize| {
        for _ in 0..refusals {
            let diagnostics = vec![Diagnostic::error("template", "no")];
            story.emit(&Event::ConfigRejected { name: name(), diagnostics, asked: Asked::default() });
        }
        story
            .after(1000)
            .emit(&Event::ConfigAccepted { name: name(), revision: 2, asked: Asked::default() })
            .text
    };
    assert!(accepted(2).ends_with(", after 2 that were refused"));
    assert!(accepted(0).ends_with("revision 2"));
    assert!(accepted(1).ends_with(", after 1 that were refused"));
}

#[test]
fn of_a_refused_generation_the_error_is_told_and_no_warning() {
    let diagnostics = vec![
        Diagnostic::warning("haproxy", "please set tune.lua.bool-sample-conversion"),
        Diagnostic::error("haproxy", "unknown keyword 'x'"),
    ];
    let event = |diagnostics| Event::ValidationFailed {
        generation: Generation(3),
        configuration: 1,
        diagnostics,
        took: Duration::from_millis(12),
    };
    let line = emit(&event(diagnostics.clone()));
    assert!(line.text.contains("unknown keyword 'x'"), "{}", line.text);
    assert!(!line.text.contains("please set") && !line.text.contains("more"), "{}", line.text);
    let line = emit(&event([diagnostics.clone(), diagnostics].concat()));
    assert!(line.text.contains("unknown keyword 'x' (and 1 more)"), "{}", line.text);
}

#[test]
fn a_validator_that_does_not_answer_is_an_error_of_the_controllers() {
    let asked = Asked { answered: vec!["basic"], silent: vec!["template"], took: Duration::from_secs(10) };
    let line = refused(asked, vec![Diagnostic::error("template", "no answer")]);
    assert_eq!(line.level, MessageLevel::Error);
    assert!(line.text.contains("(2 validators, template without an answer)"), "{}", line.text);
}
