//! The actor: what it publishes, which events it tells, and when it answers.

use crate::support::Setup;
use actix_rt::Arbiter;
use haptic_model::{
    ActiveConfig, Event, Generation, Quarantine, Snapshots,
    pipeline::{Attempt, Cause, Reconcile, RenderEnded, RenderOrder, Rendered},
};
use haptic_render::{
    Checked, RenderLimits, Renderer,
    actor::{ForkRequested, RenderActor, RenderOptions},
};
use haptic_runtime::{
    ActorHandle, Envelope, Health, Spec, Supervision, Topic, messages::RenderRequested, topic,
};
use std::{sync::Arc, time::Instant};
use tokio::sync::mpsc::Receiver;

struct Stage {
    actor: ActorHandle<RenderActor>,
    config: Option<Arc<ActiveConfig>>,
    snapshots: Arc<Snapshots>,
    rendered: Topic<Option<Arc<Rendered>>>,
    attempted: Topic<Vec<Arc<Attempt>>>,
    events: Receiver<Envelope<Event>>,
    ended: RenderEnded,
}

impl Stage {
    fn new() -> Self {
        Self::with(Renderer::default)
    }

    fn with(renderer: fn() -> Renderer) -> Self {
        let (publisher, rendered) = topic(None);
        let (attempts, attempted) = topic(Vec::new());
        let (outbox, events) = haptic_runtime::Events::channel(64);
        let options = RenderOptions {
            rendered: Arc::new(publisher),
            attempted: Arc::new(attempts),
            quarantine: Arc::new(topic(Quarantine::default()).0),
            holds: Arc::new(topic(None).0),
            set_aside: Arc::new(topic(None).0),
            events: outbox,
            limits: RenderLimits::default(),
            renderer,
        };
        let supervision = Supervision::new(Health::default());
        let actor = Spec::named("render")
            .start(&Arbiter::current(), &supervision, move |own| RenderActor::new(own, options.clone()));
        Self {
            actor,
            config: None,
            snapshots: Arc::default(),
            rendered,
            attempted,
            events,
            ended: RenderEnded::default(),
        }
    }

    /// Orders bring this world from now on, under a revision of the configuration.
    fn world(&mut self, setup: &Setup, revision: u64) {
        self.config = Some(Arc::new(ActiveConfig { revision, ..setup.config() }));
        self.objects(setup.snapshots());
    }

    fn objects(&mut self, snapshots: Snapshots) {
        self.snapshots = Arc::new(snapshots);
    }

    async fn reconcile(&mut self, generation: u64) -> Vec<Event> {
        let order = RenderOrder {
            reconcile: Reconcile {
                generation: Generation(generation),
                cause: Cause::default(),
                triggered: Instant::now(),
            },
            config: self.config.clone().expect("a world"),
            snapshots: self.snapshots.clone(),
            fleet: Arc::default(),
            failure_reports: Vec::new(),
            good: None,
        };
        self.ended =
            self.actor.mailbox::<RenderRequested>().send(Envelope::new(order)).await.expect("an answer");
        let mut told = Vec::new();
        while let Ok(event) = self.events.try_recv() {
            // How much is kept, and how long the order waited, is told with every render.
            if !matches!(*event.payload, Event::Kept { .. } | Event::Waited { .. }) {
                told.push((*event.payload).clone());
            }
        }
        told
    }

    fn text(&self) -> Option<String> {
        (*self.rendered.latest()).as_ref().map(|r| r.bundle.config.text.to_string())
    }
}

fn kinds(events: &[Event]) -> Vec<&str> {
    events.iter().map(Event::kind).collect()
}

fn hosts(template: &str) -> Setup {
    Setup::new(template).ingress("default", "shop", "shop.example", &[("/", "shop")])
}

#[actix::test]
async fn a_reconcile_is_answered_when_its_bundle_is_on_the_board() {
    let mut stage = Stage::new();
    stage.world(
        &hosts("{{#each (list \"ingresses\") as |i|}}\n# {{i.metadata.name}}\n{{warn \"w\"}}\n{{/each}}\n"),
        1,
    );
    let events = stage.reconcile(7).await;
    assert_eq!(kinds(&events), ["Rendered", "Warned"]);
    assert_eq!(stage.text().as_deref(), Some("# shop\n"));
    let rendered = (*stage.rendered.latest()).clone().unwrap();
    assert_eq!(rendered.reconcile.generation, Generation(7));
}

#[actix::test]
async fn a_failing_render_keeps_the_last_good_bundle_and_says_why() {
    let mut stage = Stage::new();
    stage.world(&hosts("good\n"), 1);
    stage.reconcile(1).await;
    stage.world(&hosts("{{nope}}\n"), 2);
    let events = stage.reconcile(2).await;
    assert_eq!(kinds(&events), ["RenderFailed"]);
    let Event::RenderFailed { diagnostics, .. } = &events[0] else { panic!("{events:?}") };
    assert!(crate::support::all(diagnostics).contains("nope is missing"));
    assert_eq!(stage.text().as_deref(), Some("good\n"));
    stage.world(&hosts("{{#if}}\n"), 3);
    assert_eq!(kinds(&stage.reconcile(3).await), ["RenderFailed"]);
    stage.world(&hosts("better\n"), 4);
    stage.reconcile(4).await;
    assert_eq!(stage.text().as_deref(), Some("better\n"));
}

#[actix::test]
async fn a_fork_knows_what_was_rendered_and_takes_nothing_from_the_actor() {
    let mut stage = Stage::new();
    stage.world(&hosts("{{#each (list \"ingresses\") as |i|}}\n# {{i.metadata.name}}\n{{/each}}\n"), 1);
    stage.reconcile(1).await;
    let fork = stage.actor.mailbox::<ForkRequested>().send(ForkRequested).await.expect("an answer");
    assert_eq!((fork.renderer.cache().blocks, fork.compiled.last().is_some()), (1, true));
    let events = stage.reconcile(2).await;
    let Event::Rendered { printed, kept, .. } = &events[0] else { panic!("{events:?}") };
    assert_eq!((*printed, *kept), (0, 1), "it goes on from what it had");
}

#[actix::test]
async fn unchanged_fragments_are_the_same_memory_in_the_next_generation() {
    let mut stage = Stage::new();
    let setup = hosts("{{#each (list \"ingresses\") as |i|}}\n# {{i.metadata.name}}\n{{/each}}\n");
    stage.world(&setup, 1);
    stage.reconcile(1).await;
    let first = (*stage.rendered.latest()).clone().unwrap();
    let grown = setup.ingress("default", "aaa", "a.example", &[]);
    stage.world(&grown, 1);
    stage.reconcile(2).await;
    let second = (*stage.rendered.latest()).clone().unwrap();
    let shop = |r: &Rendered| {
        r.bundle.config.text.fragments().iter().find(|f| f.as_str() == "# shop\n").cloned().unwrap()
    };
    assert_ne!(first.bundle.digest, second.bundle.digest);
    assert!(shop(&first).same(&shop(&second)));
}

#[actix::test]
async fn of_attempts_that_alone_hold_large_objects_fewer_are_kept() {
    for (bytes, kept) in [(10, 8), (3 << 20, 3)] {
        let mut stage = Stage::new();
        for generation in 1..=10 {
            let host = format!("{generation}{}", "x".repeat(bytes));
            stage.world(&Setup::new("good\n").ingress("default", "shop", &host, &[]), 1);
            stage.reconcile(generation).await;
        }
        let attempts = stage.attempted.latest();
        assert_eq!(attempts.len(), kept, "of {bytes} bytes");
        assert_eq!(attempts.last().map(|last| last.reconcile.generation), Some(Generation(10)));
    }
}

#[actix::test]
async fn a_render_that_differs_from_the_full_one_is_told_and_the_full_one_is_used() {
    let mut stage = Stage::with(|| Renderer::forgetful().and_checked(Checked::Always));
    let body = "{{#each (list \"ingresses\") as |i|}}\n\
        {{#each (fetch \"endpoints\" i.metadata.namespace i.metadata.name) as |s|}}\n\
        # {{s.endpoints.0.addresses.0}}\n{{/each}}\n{{/each}}\n";
    let setup = hosts(body).endpoints("default", "shop", 1, &["10.0.0.1"]);
    stage.world(&setup, 1);
    assert_eq!(kinds(&stage.reconcile(1).await), ["Rendered"]);
    let moved = setup.endpoints("default", "shop", 1, &["10.0.0.2"]);
    stage.objects(moved.snapshots());
    let events = stage.reconcile(2).await;
    assert_eq!(kinds(&events), ["RenderDiffered", "Rendered"]);
    let Event::RenderDiffered { diagnostic, .. } = &events[0] else { panic!("{events:?}") };
    let told = diagnostic.to_string();
    for part in ["bug in HAPTIC", "endpoints default/shop-1", "haproxyConfig:3", "haproxy.cfg:1 `# 10.0.0.2`"]
    {
        assert!(told.contains(part), "{part:?} is not in {told}");
    }
    assert_eq!(stage.text().as_deref(), Some("# 10.0.0.2\n"));
}

#[actix::test]
async fn blocks_that_cannot_be_kept_are_counted_by_template() {
    let mut stage = Stage::new();
    stage.world(
        &hosts("{{#each (list \"ingresses\") as |i|}}\n{{#if (once \"x\")}}\nx\n{{/if}}\n{{/each}}\n"),
        1,
    );
    let events = stage.reconcile(1).await;
    let Event::Rendered { uncacheable, .. } = &events[0] else { panic!("{events:?}") };
    assert_eq!(uncacheable.get("haproxyConfig"), Some(&1));
}

/// Whose route has the host, by namespace.
fn routed() -> Setup {
    let template = "{{#each (routes \"ingresses\") as |set|}}\n{{#each set.routes as |r|}}\n# {{set.metadata.namespace}}\n{{/each}}\n{{/each}}\n";
    Setup::new(template).with("controller", serde_json::json!({"hostHold": "200ms"}))
}

#[actix::test]
async fn what_was_kept_for_somebody_is_given_away_by_a_render_that_nothing_else_causes() {
    let mut stage = Stage::new();
    let waiting = routed().ingress("waiting", "own", "shop.example", &[("/", "s")]);
    stage.world(&waiting, 1);
    stage.objects(waiting.ingress("first", "own", "shop.example", &[("/", "s")]).snapshots());
    stage.reconcile(1).await;
    assert_eq!(stage.text().as_deref(), Some("# first\n"));
    let waiting = routed().ingress("waiting", "own", "shop.example", &[("/", "s")]);
    stage.objects(waiting.snapshots());
    stage.reconcile(2).await;
    assert_eq!(stage.text().as_deref(), Some(""));
    tokio::time::sleep(stage.ended.again_after.expect("the hold ends")).await;
    stage.reconcile(3).await;
    assert_eq!(stage.text().as_deref(), Some("# waiting\n"));
}
