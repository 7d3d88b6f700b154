//! The actor under a Keeper, with a render stage that takes its time, in virtual time.

use std::{
    collections::BTreeMap,
    sync::{Mutex, PoisonError},
};

use haptic_model::Snapshot;
use haptic_runtime::{ActorSpec, CellWriter, Health, Keeper, Kept, Outbox, Supervision, cell};
use tokio::time::{pause, sleep};

use super::*;

/// What the render stage got, and when.
type Orders = Arc<Mutex<Vec<(Instant, Arc<Reconcile>)>>>;

struct Render {
    orders: Orders,
    takes: Duration,
    /// Panics on this many orders first.
    panics: Arc<AtomicU64>,
    seat: Seat<Self>,
}

impl Actor for Render {
    type Context = Context<Self>;
}

impl Supervised for Render {
    fn restarting(&mut self, _: &mut Self::Context) {
        *self = self.seat.rebuild();
    }
}

impl Handler<Envelope<Reconcile>> for Render {
    type Result = ResponseFuture<()>;

    fn handle(&mut self, order: Envelope<Reconcile>, _: &mut Self::Context) -> Self::Result {
        if self.panics.fetch_update(Relaxed, Relaxed, |left| left.checked_sub(1)).is_ok() {
            panic!("no render today");
        }
        let mut orders = self.orders.lock().unwrap_or_else(PoisonError::into_inner);
        orders.push((Instant::now(), order.payload));
        Box::pin(sleep(self.takes))
    }
}

struct World {
    changes: Changes,
    config: CellWriter<Option<Arc<ActiveConfig>>>,
    snapshots: CellWriter<Snapshots>,
    orders: Orders,
    panics: Arc<AtomicU64>,
    health: Health,
    debounce: Kept<DebounceActor>,
    start: Instant,
}

impl World {
    /// A world without configuration or stores, whose renders take `takes`.
    fn new(takes: Duration) -> Self {
        pause();
        let health = Health::new();
        let supervision = Supervision::new(health.clone()).on_escalate(|actor| panic!("{actor} escalated"));
        let (orders, panics) = (Orders::default(), Arc::new(AtomicU64::new(0)));
        let (seen, left) = (Arc::clone(&orders), Arc::clone(&panics));
        let render =
            Keeper::start(&Arbiter::current(), ActorSpec::named("render"), &supervision, move |seat| {
                Render { orders: Arc::clone(&seen), takes, panics: Arc::clone(&left), seat }
            });
        let (config, config_reader) = cell(None);
        let (snapshots, snapshots_reader) = cell(Snapshots::default());
        let inputs = Inputs {
            changes: Changes::new(),
            config: config_reader,
            snapshots: snapshots_reader,
            generations: Generations::default(),
            render: render.post(),
            events: Outbox::silent(),
        };
        let changes = inputs.changes.clone();
        let spec = ActorSpec::named("debounce");
        let debounce = Keeper::start(&Arbiter::current(), spec, &supervision, move |seat| {
            DebounceActor::new(seat, inputs.clone())
        });
        Self { changes, config, snapshots, orders, panics, health, debounce, start: Instant::now() }
    }

    /// A world that has rendered once and is quiet.
    async fn ready(takes: Duration) -> Self {
        let world = Self::new(takes);
        world.config.publish(Some(config(1, "5ms", "50ms")));
        world.snapshots.publish(synced(["ingresses"]));
        sleep(Duration::from_secs(1)).await;
        assert_eq!(world.orders().len(), 1);
        world
    }

    fn orders(&self) -> Vec<(Duration, Arc<Reconcile>)> {
        let orders = self.orders.lock().unwrap_or_else(PoisonError::into_inner);
        orders.iter().map(|(at, order)| (at.duration_since(self.start), Arc::clone(order))).collect()
    }

    fn change(&self) {
        self.changes.note(Cause { modified: 1, ..Cause::default() });
    }
}

fn idle_after(revision: u64, interval: &str) -> Arc<ActiveConfig> {
    let mut config = ActiveConfig::clone(&config(revision, "5ms", "50ms"));
    Arc::make_mut(&mut config.spec).controller.reconcile_interval = interval.into();
    Arc::new(config)
}

fn config(revision: u64, quiet: &str, max_wait: &str) -> Arc<ActiveConfig> {
    let json = format!(
        r#"{{"credentialsSecretRef":{{"name":"c"}},"podSelector":{{"matchLabels":{{"app":"haproxy"}}}},
            "debounce":{{"quiet":"{quiet}","maxWait":"{max_wait}"}},
            "watchedResources":{{"ingresses":{{"apiVersion":"networking.k8s.io/v1","resources":"ingresses",
            "indexBy":["metadata.namespace"]}}}}}}"#
    );
    Arc::new(ActiveConfig {
        revision,
        ..ActiveConfig::of("haptic", "default", serde_json::from_str(&json).expect("a valid spec"))
    })
}

fn synced<const N: usize>(names: [&str; N]) -> Snapshots {
    let store = |name: &str| {
        let mut snapshot = Snapshot::full();
        snapshot.set_synced();
        (Arc::from(name), Arc::new(snapshot))
    };
    Snapshots::new(names.into_iter().map(store).collect::<BTreeMap<_, _>>())
}

#[actix::test]
async fn nothing_is_rendered_before_config_and_stores_are_there_and_then_at_once() {
    let world = World::new(Duration::ZERO);
    world.change();
    sleep(Duration::from_secs(1)).await;
    world.config.publish(Some(config(1, "5ms", "50ms")));
    sleep(Duration::from_secs(1)).await;
    assert!(world.orders().is_empty(), "a store has not synced");
    let detail = world.debounce.state().detail.expect("the actor says what it waits for");
    assert_eq!(detail["gate"]["unsynced"][0], "ingresses");

    world.snapshots.publish(synced(["ingresses"]));
    sleep(Duration::from_millis(1)).await;
    let orders = world.orders();
    assert_eq!(orders.len(), 1);
    assert_eq!(orders[0].1.generation, Generation(1));
    assert_eq!((orders[0].1.cause.modified, orders[0].1.cause.other), (1, Some("configuration")));
}

#[actix::test]
async fn an_isolated_change_is_rendered_at_once() {
    let world = World::ready(Duration::from_millis(10)).await;
    for _ in 0..5 {
        let noted = world.start.elapsed();
        world.change();
        sleep(Duration::from_millis(300)).await;
        let (at, order) = world.orders().pop().expect("rendered");
        assert!(at - noted <= Duration::from_millis(1), "waited {:?}", at - noted);
        assert_eq!(order.cause.modified, 1);
    }
    assert_eq!(world.orders().len(), 6);
}

#[actix::test]
async fn a_storm_is_gathered_every_change_is_counted_and_renders_never_overlap() {
    let world = World::ready(Duration::from_millis(20)).await;
    for _ in 0..1000 {
        world.change();
        sleep(Duration::from_millis(1)).await;
    }
    sleep(Duration::from_secs(1)).await;
    let orders = world.orders();
    let starts: Vec<_> = orders.iter().map(|(at, _)| *at).collect();
    assert!(starts.is_sorted_by(|one, next| *next - *one >= Duration::from_millis(20)), "{starts:?}");
    assert!((10..60).contains(&orders.len()), "{} renders for 1000 changes", orders.len());
    assert_eq!(orders.iter().map(|(_, order)| order.cause.modified).sum::<usize>(), 1000);
    let generations: Vec<_> = orders.iter().map(|(_, order)| order.generation.0).collect();
    assert!(generations.is_sorted_by(|one, next| one + 1 == *next));
}

#[actix::test]
async fn a_flood_from_other_threads_costs_one_slot() {
    let world = World::ready(Duration::from_millis(1)).await;
    let changes = world.changes.clone();
    let flood = std::thread::spawn(move || {
        for _ in 0..100_000 {
            changes.note(Cause { modified: 1, ..Cause::default() });
        }
    });
    flood.join().expect("the flood ends");
    sleep(Duration::from_secs(1)).await;
    let noted: usize = world.orders().iter().map(|(_, order)| order.cause.modified).sum();
    assert_eq!(noted, 100_000);
    assert!(world.orders().len() < 10);
}

#[actix::test]
async fn a_new_configuration_is_rendered_and_its_pace_holds_at_once() {
    let world = World::ready(Duration::ZERO).await;
    world.config.publish(Some(config(2, "2s", "2s")));
    sleep(Duration::from_millis(100)).await;
    assert_eq!(world.orders().len(), 2);
    assert_eq!(world.orders()[1].1.cause.other, Some("configuration"));
    world.change();
    sleep(Duration::from_millis(1500)).await;
    assert_eq!(world.orders().len(), 2, "a change within the new quiet time waits");
    sleep(Duration::from_millis(600)).await;
    assert_eq!(world.orders().len(), 3);
}

#[actix::test]
async fn after_the_idle_time_there_is_a_render_though_nothing_changed_and_without_one_there_is_none() {
    let world = World::ready(Duration::from_millis(10)).await;
    sleep(Duration::from_secs(3600)).await;
    assert_eq!(world.orders().len(), 1, "none is configured");
    world.config.publish(Some(idle_after(2, "1m")));
    sleep(Duration::from_secs(30)).await;
    world.change();
    sleep(Duration::from_secs(59)).await;
    assert_eq!(world.orders().len(), 3, "a change begins the time anew");
    sleep(Duration::from_secs(125)).await;
    let causes: Vec<_> = world.orders().iter().skip(3).map(|(_, order)| order.cause.clone()).collect();
    assert_eq!(causes, vec![Cause { other: Some(IDLE), ..Cause::default() }; 3]);
    world.config.publish(Some(idle_after(3, "0s")));
    sleep(Duration::from_secs(3600)).await;
    assert_eq!(world.orders().len(), 7, "it is off again");
}

#[actix::test]
async fn a_store_that_a_new_configuration_adds_is_waited_for() {
    let world = World::ready(Duration::ZERO).await;
    world.snapshots.publish(Snapshots::default());
    world.change();
    sleep(Duration::from_secs(1)).await;
    assert_eq!(world.orders().len(), 1);
    world.snapshots.publish(synced(["ingresses"]));
    sleep(Duration::from_millis(1)).await;
    assert_eq!(world.orders().len(), 2);
}

#[actix::test]
async fn a_reconcile_its_actor_panicked_on_is_tried_again() {
    let world = World::ready(Duration::ZERO).await;
    world.panics.store(2, Relaxed);
    world.change();
    sleep(Duration::from_secs(1)).await;
    assert_eq!(world.orders().len(), 1, "lost");
    sleep(Duration::from_secs(31)).await;
    let (_, order) = world.orders().pop().expect("tried again");
    assert_eq!(order.generation, Generation(4), "after two lost ones");
    assert!(world.health.is_live());
}
