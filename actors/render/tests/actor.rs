//! The actor: what it puts on the board, whom it tells, and when it answers.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]

mod support;

use actix_rt::Arbiter;
use haptic_model::{
    ActiveConfig, Event, Fleet, Generation, Quarantine, Snapshots,
    pipeline::{Cause, Reconcile, Rendered},
};
use haptic_render::{
    Checked, Limits, Renderer,
    actor::{RenderActor, RenderOptions},
};
use haptic_runtime::{ActorSpec, CellReader, CellWriter, Envelope, Health, Keeper, Kept, Supervision, cell};
use std::{sync::Arc, time::Instant};
use support::Setup;
use tokio::sync::mpsc::Receiver;

struct Stage {
    actor: Kept<RenderActor>,
    config: CellWriter<Option<Arc<ActiveConfig>>>,
    snapshots: CellWriter<Snapshots>,
    rendered: CellReader<Option<Arc<Rendered>>>,
    events: Receiver<Envelope<Event>>,
    again: CellReader<u64>,
    _fleet: CellWriter<Fleet>,
}

impl Stage {
    fn new() -> Self {
        Self::with(Renderer::default)
    }

    fn with(renderer: fn() -> Renderer) -> Self {
        let (config, config_reader) = cell(None);
        let (snapshots, snapshots_reader) = cell(Snapshots::default());
        let (fleet, fleet_reader) = cell(Fleet::default());
        let (rendered, rendered_reader) = cell(None);
        let (again, again_reader) = cell(0);
        let (outbox, events) = haptic_runtime::Events::channel(64);
        let options = RenderOptions {
            config: config_reader,
            snapshots: snapshots_reader,
            fleet: fleet_reader,
            rendered: Arc::new(rendered),
            attempted: Arc::new(cell(Vec::new()).0),
            validated: cell(None).1,
            complaints: Vec::new(),
            quarantine: Arc::new(cell(Quarantine::default()).0),
            set_aside: Arc::new(cell(None).0),
            again: Arc::new(again),
            events: outbox,
            limits: Limits::default(),
            renderer,
        };
        let supervision = Supervision::new(Health::default());
        let actor =
            Keeper::start(&Arbiter::current(), ActorSpec::named("render"), &supervision, move |seat| {
                RenderActor::new(seat, options.clone())
            });
        Self {
            actor,
            config,
            snapshots,
            rendered: rendered_reader,
            events,
            again: again_reader,
            _fleet: fleet,
        }
    }

    /// Puts a world on the board under a revision of the configuration.
    fn world(&self, setup: &Setup, revision: u64) {
        self.config.publish(Some(Arc::new(ActiveConfig { revision, ..setup.config() })));
        self.snapshots.publish(setup.snapshots());
    }

    async fn reconcile(&mut self, generation: u64) -> Vec<Event> {
        let order = Reconcile {
            generation: Generation(generation),
            cause: Cause::default(),
            triggered: Instant::now(),
        };
        self.actor
            .post()
            .send(Envelope::new(order, Generation(generation)))
            .await
            .expect("the actor answers");
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
        (*self.rendered.read()).as_ref().map(|r| r.bundle.config.text.to_string())
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
    let rendered = (*stage.rendered.read()).clone().unwrap();
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
    assert!(support::all(diagnostics).contains("nope is missing"));
    assert_eq!(stage.text().as_deref(), Some("good\n"));
    stage.world(&hosts("{{#if}}\n"), 3);
    assert_eq!(kinds(&stage.reconcile(3).await), ["RenderFailed"]);
    stage.world(&hosts("better\n"), 4);
    stage.reconcile(4).await;
    assert_eq!(stage.text().as_deref(), Some("better\n"));
}

#[actix::test]
async fn unchanged_fragments_are_the_same_memory_in_the_next_generation() {
    let mut stage = Stage::new();
    let setup = hosts("{{#each (list \"ingresses\") as |i|}}\n# {{i.metadata.name}}\n{{/each}}\n");
    stage.world(&setup, 1);
    stage.reconcile(1).await;
    let first = (*stage.rendered.read()).clone().unwrap();
    let grown = setup.ingress("default", "aaa", "a.example", &[]);
    stage.world(&grown, 1);
    stage.reconcile(2).await;
    let second = (*stage.rendered.read()).clone().unwrap();
    let shop = |r: &Rendered| {
        r.bundle.config.text.fragments().iter().find(|f| f.as_str() == "# shop\n").cloned().unwrap()
    };
    assert_ne!(first.bundle.digest, second.bundle.digest);
    assert!(shop(&first).same(&shop(&second)));
}

#[actix::test]
async fn without_a_configuration_nothing_is_rendered_and_nobody_waits() {
    let mut stage = Stage::new();
    assert!(stage.reconcile(1).await.is_empty());
    assert_eq!(stage.text(), None);
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
    stage.snapshots.publish(moved.snapshots());
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
    let Event::Rendered { untracked, .. } = &events[0] else { panic!("{events:?}") };
    assert_eq!(untracked.get("haproxyConfig"), Some(&1));
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
    stage.snapshots.publish(waiting.ingress("first", "own", "shop.example", &[("/", "s")]).snapshots());
    stage.reconcile(1).await;
    assert_eq!(stage.text().as_deref(), Some("# first\n"));
    let waiting = routed().ingress("waiting", "own", "shop.example", &[("/", "s")]);
    stage.snapshots.publish(waiting.snapshots());
    stage.reconcile(2).await;
    assert_eq!(stage.text().as_deref(), Some(""));
    let mut again = stage.again.clone();
    tokio::time::timeout(std::time::Duration::from_secs(60), again.changed()).await.expect("in time");
    stage.reconcile(3).await;
    assert_eq!(stage.text().as_deref(), Some("# waiting\n"));
}
