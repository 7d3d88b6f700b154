//! The actor under a fed through a real outbox, its log captured.

use std::sync::Mutex;

use haptic_model::Generation;
use haptic_runtime::{Events, Health, Observer, Outbox, Publisher, Spec, Supervision, topic};
use tracing::{
    Metadata, Subscriber,
    field::{Field, Visit},
    span,
};

use super::*;

/// Keeps each log line as `LEVEL field=value… message`.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<String>>>);

struct Words(String);

impl Visit for Words {
    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        self.0.push_str(&format!(" {field}={value:?}"));
    }
}

impl Subscriber for Log {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target().starts_with("haptic_commentator")
    }
    fn new_span(&self, _: &span::Attributes<'_>) -> span::Id {
        span::Id::from_u64(1)
    }
    fn record(&self, _: &span::Id, _: &span::Record<'_>) {}
    fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}
    fn event(&self, event: &tracing::Event<'_>) {
        let mut words = Words(event.metadata().level().to_string());
        event.record(&mut words);
        self.0.lock().expect("not poisoned").push(words.0);
    }
    fn enter(&self, _: &span::Id) {}
    fn exit(&self, _: &span::Id) {}
}

struct World {
    events: Events,
    history: History,
    config: Publisher<Option<Arc<ActiveConfig>>>,
    log: Log,
    _subscriber: tracing::subscriber::DefaultGuard,
}

impl World {
    fn new() -> Self {
        let log = Log::default();
        let subscriber = tracing::subscriber::set_default(log.clone());
        let (config, reader) = topic(None);
        let history = History::new();
        let ((_, fleet), (_, forced_level)) = (topic(Fleet::default()), topic(None));
        let losses = Losses::default();
        let observed = Observed {
            config: reader,
            fleet,
            forced_level,
            level_of_environment: MessageLevel::Info,
            history: history.clone(),
            losses: losses.clone(),
        };
        let supervision = Supervision::new(Health::new());
        let kept = Spec::named("commentator").start(&Arbiter::current(), &supervision, move |own| {
            CommentatorActor::new(own, observed.clone())
        });
        let events = Outbox::new(100, vec![Observer::new(kept.mailbox(), losses)]);
        Self { events, history, config, log, _subscriber: subscriber }
    }

    fn configure(&self, commentator: &str) {
        self.configure_log("INFO", commentator);
    }

    fn configure_log(&self, level: &str, commentator: &str) {
        let json = format!(
            r#"{{"credentialsSecretRef":{{"name":"c"}},"podSelector":{{"matchLabels":{{"app":"haproxy"}}}},
                "logging":{{"level":"{level}"}},"controller":{{"eventCommentator":{commentator}}}}}"#
        );
        self.config.publish(Some(Arc::new(ActiveConfig::of(
            "haptic",
            "default",
            serde_json::from_str(&json).expect("a valid spec"),
        ))));
    }

    /// Tells two info events and a debug event between them, waits until all are kept, and gives what was logged.
    async fn tell_three(&self) -> Vec<String> {
        self.log.0.lock().expect("not poisoned").clear();
        let told = self.events.emitted() + 3;
        self.events.emit(Event::PodDiscovered { pod: "default/haproxy-0".into() });
        self.events.emit(Event::Validated {
            generation: Generation(3),
            configuration: 1,
            took: std::time::Duration::ZERO,
            cached: true,
        });
        self.events.emit(Event::PodGone { pod: "default/haproxy-0".into() });
        let kept = || self.history.latest(1).first().map_or(0, |entry| entry.number + 1);
        while kept() < told {
            tokio::task::yield_now().await;
        }
        self.log.0.lock().expect("not poisoned").clone()
    }
}

#[actix::test]
async fn events_are_logged_from_the_level_that_the_configuration_says_at_this_moment() {
    let world = World::new();
    let log = world.tell_three().await;
    assert_eq!(log.len(), 2, "the default is info: {log:?}");
    assert_eq!(log[0], "INFO message=HAProxy pod default/haproxy-0 found (1 pod now) kind=\"PodDiscovered\"");

    world.configure(r#"{"logLevel":"debug"}"#);
    let log = world.tell_three().await;
    assert_eq!(
        log[1],
        "DEBUG message=generation 3 is valid, known from before kind=\"Validated\" generation=3"
    );

    world.configure(r#"{"enabled":false}"#);
    assert!(world.tell_three().await.is_empty());
}

#[actix::test]
async fn at_trace_everything_is_logged_figures_with_their_generation_among_it_and_not_kept() {
    let world = World::new();
    world.configure_log("TRACE", r#"{"logLevel":"warn"}"#);
    let planned = Event::Planned {
        generation: Generation(3),
        pod: "default/haproxy-0".into(),
        kind: "runtime",
        operations: 2,
        took: std::time::Duration::from_millis(4),
    };
    world.events.emit(planned);
    let before = world.history.latest(99).len();
    world.events.emit(Event::CredentialsChanged);
    while world.history.latest(99).len() == before {
        tokio::task::yield_now().await;
    }
    let log = world.log.0.lock().expect("not poisoned").clone();
    assert_eq!(
        log[0],
        "TRACE message=generation 3: the plan for default/haproxy-0 is runtime, 2 operations, found in 4.0 ms \
         kind=\"Planned\" generation=3"
    );
    assert!(log[1].starts_with("INFO message=credentials changed"), "{log:?}");
    assert_eq!(world.history.latest(99).len(), 1);
}

#[actix::test]
async fn the_history_keeps_what_is_not_logged_and_no_more_of_a_sort_than_its_size() {
    let world = World::new();
    world.configure(r#"{"enabled":false,"bufferSize":100}"#);
    world.tell_three().await;
    assert_eq!(world.history.latest(99).len(), 3);
    world.configure(r#"{"enabled":false,"bufferSize":1}"#);
    world.tell_three().await;
    let kinds: Vec<_> = world.history.latest(99).iter().map(|entry| entry.kind).collect();
    assert_eq!(kinds, ["Validated", "PodGone"]);
    let json = serde_json::to_value(&*world.history.latest(1)[0]).expect("JSON");
    assert_eq!((json["kind"].as_str(), json["level"].as_str()), (Some("PodGone"), Some("info")));
}

#[actix::test]
async fn where_events_are_missing_the_history_says_how_many() {
    let world = World::new();
    // Nothing is taken while this thread does not wait: 100 fit, and one may be on its way.
    for number in 0..150 {
        world.events.emit(Event::StoreSize { resource: "ingresses".into(), objects: number });
    }
    let lost = world.events.dropped();
    assert!(lost >= 49, "{lost} lost");
    world.events.flushed().await;
    world.tell_three().await;
    let entries = world.history.latest(999);
    let told: Vec<_> = entries.iter().filter(|entry| entry.kind == "EventsLost").collect();
    assert_eq!(told.len(), 1, "told once");
    assert_eq!(told[0].number, 150, "after what was not lost and before what came later");
    assert!(told[0].text.starts_with(&format!("{lost} events came too fast")), "{}", told[0].text);
    let numbers: Vec<u64> = entries.iter().map(|entry| entry.number).collect();
    let gaps: u64 = numbers.windows(2).map(|pair| pair[1] - pair[0] - 1).sum::<u64>() + numbers[0];
    assert_eq!(gaps, lost, "the numbers count what is missing");
}
