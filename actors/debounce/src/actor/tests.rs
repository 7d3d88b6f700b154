//! The actor under a with a render stage that takes its time, in virtual time.

use std::{
    collections::BTreeMap,
    sync::{Mutex, PoisonError},
};

use haptic_model::{
    Bundle, BundleFile, Diagnostic, FailureReport, FileKey, HaproxyVersion, ObjectRef, Quarantined, Snapshot,
    pipeline::Rendered,
};
use haptic_runtime::{ActorHandle, Health, Outbox, Publisher, Spec, Supervision, topic};
use haptic_text::Text;
use tokio::time::{pause, sleep};

use super::*;

/// What the render stage got, and when.
type Orders = Arc<Mutex<Vec<(Instant, Arc<RenderOrder>)>>>;

/// When a render is to be made again.
#[derive(Clone, Default)]
struct Again(Arc<Mutex<Option<Duration>>>);

impl Again {
    fn set(&self, after: Duration) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(after);
    }

    fn take(&self) -> Option<Duration> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

struct Render {
    orders: Orders,
    takes: Duration,
    /// What the next order is answered.
    again: Again,
    /// Panics on this many orders first.
    panics: Arc<AtomicU64>,
    own: OwnHandle<Self>,
}

haptic_runtime::supervised!(Render);

impl Handler<RenderRequested> for Render {
    type Result = ResponseFuture<RenderEnded>;

    fn handle(&mut self, order: RenderRequested, _: &mut Self::Context) -> Self::Result {
        if self.panics.fetch_update(Relaxed, Relaxed, |left| left.checked_sub(1)).is_ok() {
            panic!("no render today");
        }
        let mut orders = self.orders.lock().unwrap_or_else(PoisonError::into_inner);
        orders.push((Instant::now(), order.payload));
        let (takes, again_after) = (self.takes, self.again.take());
        Box::pin(async move {
            sleep(takes).await;
            RenderEnded { again_after }
        })
    }
}

struct World {
    config: Publisher<Option<Arc<ActiveConfig>>>,
    stores: Arc<Publisher<Snapshots>>,
    fleet: Publisher<Fleet>,
    failures: Publisher<FailureReports>,
    failed_reloads: Publisher<FailedReloads>,
    validated: Publisher<Option<Arc<Validated>>>,
    quarantine: Publisher<Quarantine>,
    orders: Orders,
    again: Again,
    panics: Arc<AtomicU64>,
    health: Health,
    debounce: ActorHandle<DebounceActor>,
    start: Instant,
}

impl World {
    /// A world without configuration or stores, whose renders take `takes`.
    fn new(takes: Duration) -> Self {
        pause();
        let health = Health::new();
        let supervision = Supervision::new(health.clone()).on_escalate(|actor| panic!("{actor} escalated"));
        let (orders, panics, again) = (Orders::default(), Arc::new(AtomicU64::new(0)), Again::default());
        let (seen, left, next) = (Arc::clone(&orders), Arc::clone(&panics), again.clone());
        let render = Spec::named("render").start(&Arbiter::current(), &supervision, move |own| Render {
            orders: Arc::clone(&seen),
            takes,
            again: next.clone(),
            panics: Arc::clone(&left),
            own,
        });
        let ((config, active), (stores, snapshots)) = (topic(None), topic(Snapshots::default()));
        let ((fleet, pods), (failures, reports)) = (topic(Fleet::default()), topic(FailureReports::new()));
        let (failed_reloads, failed) = topic(FailedReloads::default());
        let ((validated, good), (quarantine, held)) = (topic(None), topic(Quarantine::default()));
        let options = DebounceOptions {
            generations: Generations::default(),
            render: render.mailbox(),
            events: Outbox::silent(),
        };
        let debounce = Spec::named("debounce")
            .subscribes(&active)
            .subscribes(&snapshots)
            .subscribes(&pods)
            .subscribes(&reports)
            .subscribes(&failed)
            .subscribes(&held)
            .subscribes(&good)
            .start(&Arbiter::current(), &supervision, move |own| DebounceActor::new(own, options.clone()));
        Self {
            config,
            stores: Arc::new(stores),
            fleet,
            failures,
            failed_reloads,
            validated,
            quarantine,
            orders,
            again,
            panics,
            health,
            debounce,
            start: Instant::now(),
        }
    }

    /// A world that has rendered once and is quiet.
    async fn ready(takes: Duration) -> Self {
        let world = Self::new(takes);
        world.config.publish(Some(config(1, "5ms", "50ms")));
        world.read(["ingresses"]);
        sleep(Duration::from_secs(1)).await;
        assert_eq!(world.orders().len(), 1);
        world
    }

    /// These stores are read to their ends, and there are no others.
    fn read<const N: usize>(&self, names: [&str; N]) {
        self.stores.update(|before| synced(names).after(before.changes().clone(), None));
    }

    fn orders(&self) -> Vec<(Duration, Arc<RenderOrder>)> {
        let orders = self.orders.lock().unwrap_or_else(PoisonError::into_inner);
        orders.iter().map(|(at, order)| (at.duration_since(self.start), Arc::clone(order))).collect()
    }

    fn change(&self) {
        change(&self.stores);
    }
}

/// An object is modified.
fn change(stores: &Publisher<Snapshots>) {
    stores.update(|before| {
        let mut changes = before.changes().clone();
        changes.add(Cause { modified: 1, ..Cause::default() });
        before.clone().after(changes, None)
    });
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

/// These stores, and that of what is kept of hosts, which a configuration with Ingresses wants.
fn synced<const N: usize>(names: [&str; N]) -> Snapshots {
    let store = |name: &str| {
        let mut snapshot = Snapshot::full();
        snapshot.set_synced();
        (Arc::from(name), Arc::new(snapshot))
    };
    let names = names.into_iter().chain([haptic_model::host_holds::STORE]);
    Snapshots::new(names.map(store).collect::<BTreeMap<_, _>>())
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

    world.read(["ingresses"]);
    sleep(Duration::from_millis(1)).await;
    let orders = world.orders();
    assert_eq!(orders.len(), 1);
    assert_eq!(orders[0].1.reconcile.generation, Generation(1));
    assert_eq!(
        (orders[0].1.reconcile.cause.modified, orders[0].1.reconcile.cause.other),
        (1, Some("configuration"))
    );
}

/// A fleet in which `answered` pods run this version, and the others have not said anything.
fn fleet(answered: Option<HaproxyVersion>, unanswered: usize) -> Fleet {
    Fleet { versions: answered.into_iter().collect(), unanswered, ..Fleet::default() }
}

#[actix::test]
async fn the_first_render_knows_what_all_pods_run() {
    let world = World::new(Duration::ZERO);
    world.fleet.publish(fleet(None, 2));
    world.config.publish(Some(config(1, "5ms", "50ms")));
    world.read(["ingresses"]);
    sleep(Duration::from_millis(900)).await;
    world.fleet.publish(fleet(Some(HaproxyVersion::new(3, 4)), 1));
    sleep(Duration::from_millis(900)).await;
    assert!(world.orders().is_empty());
    let detail = world.debounce.state().detail.expect("the actor says what it waits for");
    assert_eq!(detail["gate"]["unanswered"], 1);

    world.fleet.publish(fleet(Some(HaproxyVersion::new(3, 0)), 0));
    sleep(Duration::from_millis(1)).await;
    let orders = world.orders();
    assert_eq!(orders.len(), 1);
    assert_eq!(orders[0].1.fleet.versions, [HaproxyVersion::new(3, 0)]);

    world.fleet.publish(fleet(Some(HaproxyVersion::new(3, 0)), 1));
    world.change();
    sleep(Duration::from_millis(100)).await;
    assert_eq!(
        world.orders().len(),
        2,
        "a pod that comes later keeps no change waiting, and is no change by itself"
    );
}

#[actix::test]
async fn a_pod_that_never_answers_keeps_the_first_render_for_two_seconds() {
    let world = World::new(Duration::ZERO);
    world.fleet.publish(fleet(Some(HaproxyVersion::new(3, 4)), 1));
    world.config.publish(Some(config(1, "5ms", "50ms")));
    world.read(["ingresses"]);
    sleep(Duration::from_millis(1990)).await;
    assert!(world.orders().is_empty());
    sleep(Duration::from_millis(20)).await;
    assert_eq!(world.orders().len(), 1);
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
        assert_eq!(order.reconcile.cause.modified, 1);
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
    assert_eq!(orders.iter().map(|(_, order)| order.reconcile.cause.modified).sum::<usize>(), 1000);
    let generations: Vec<_> = orders.iter().map(|(_, order)| order.reconcile.generation.0).collect();
    assert!(generations.is_sorted_by(|one, next| one + 1 == *next));
}

#[actix::test]
async fn a_flood_from_other_threads_costs_one_slot() {
    let world = World::ready(Duration::from_millis(1)).await;
    let stores = world.stores.clone();
    let flood = std::thread::spawn(move || (0..100_000).for_each(|_| change(&stores)));
    flood.join().expect("the flood ends");
    sleep(Duration::from_secs(1)).await;
    let noted: usize = world.orders().iter().map(|(_, order)| order.reconcile.cause.modified).sum();
    assert_eq!(noted, 100_000);
    assert!(world.orders().len() < 10);
}

#[actix::test]
async fn a_new_configuration_is_rendered_and_its_pace_holds_at_once() {
    let world = World::ready(Duration::ZERO).await;
    world.config.publish(Some(config(2, "2s", "2s")));
    sleep(Duration::from_millis(100)).await;
    assert_eq!(world.orders().len(), 2);
    assert_eq!(world.orders()[1].1.reconcile.cause.other, Some("configuration"));
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
    let causes: Vec<_> =
        world.orders().iter().skip(3).map(|(_, order)| order.reconcile.cause.clone()).collect();
    assert_eq!(causes, vec![Cause { other: Some(IDLE), ..Cause::default() }; 3]);
    world.config.publish(Some(idle_after(3, "0s")));
    sleep(Duration::from_secs(3600)).await;
    assert_eq!(world.orders().len(), 7, "it is off again");
}

#[actix::test]
async fn a_store_that_a_new_configuration_adds_is_waited_for() {
    let world = World::ready(Duration::ZERO).await;
    world.read([]);
    world.change();
    sleep(Duration::from_secs(1)).await;
    assert_eq!(world.orders().len(), 1);
    world.read(["ingresses"]);
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
    assert_eq!(order.reconcile.generation, Generation(4), "after two lost ones");
    assert!(world.health.is_live());
}

/// Publishes once for each way in which something changes that is no object; what the reconcile after each says of its cause.
#[actix::test]
async fn a_changed_fleet_failure_reports_and_a_render_to_be_made_again_cause_a_reconcile_each() {
    let world = World::ready(Duration::ZERO).await;
    let causes = || world.orders().iter().skip(1).map(|(_, o)| o.reconcile.cause.other).collect::<Vec<_>>();
    world.fleet.publish(fleet(Some(HaproxyVersion::new(3, 4)), 0));
    sleep(Duration::from_secs(1)).await;
    assert_eq!(causes(), [Some("fleet")]);

    world.again.set(Duration::from_secs(30));
    world.failures.append(Arc::new(report()), 8);
    sleep(Duration::from_secs(1)).await;
    assert_eq!(causes().len(), 2);
    let (_, order) = world.orders().pop().expect("rendered");
    assert_eq!(order.failure_reports.len(), 1, "the order brings the report");
    sleep(Duration::from_secs(28)).await;
    assert_eq!(causes().len(), 2, "it is not to be made again yet");
    sleep(Duration::from_secs(2)).await;
    assert_eq!(causes(), [Some("fleet"), Some("quarantine"), Some("quarantine")]);

    world.failed_reloads.update(|failed| failed.with(report()));
    sleep(Duration::from_secs(1)).await;
    assert_eq!(causes().len(), 4);
    assert_eq!(
        world.orders().pop().map(|(_, order)| order.failure_reports.len()),
        Some(2),
        "both are brought"
    );
}

#[actix::test]
async fn of_two_answers_the_later_one_says_when_a_render_is_made_again() {
    let world = World::ready(Duration::ZERO).await;
    world.again.set(Duration::from_secs(5));
    world.change();
    sleep(Duration::from_secs(1)).await;
    world.change();
    sleep(Duration::from_secs(3600)).await;
    assert_eq!(world.orders().len(), 3, "the second render found nothing to be tried again");
}

#[actix::test]
async fn suspects_are_tried_again_when_a_bundle_without_them_has_passed() {
    let world = World::ready(Duration::ZERO).await;
    world.validated.publish(Some(validated()));
    sleep(Duration::from_secs(1)).await;
    assert_eq!(world.orders().len(), 1, "nobody is suspected");
    world.quarantine.publish(suspecting());
    world.validated.publish(Some(validated()));
    sleep(Duration::from_secs(1)).await;
    assert_eq!(world.orders().len(), 2);
    assert!(world.orders()[1].1.good.is_some(), "the order brings the bundle that passed");
}

/// A life that begins again orders one render, whatever it missed, and then knows all that was published.
#[actix::test]
async fn a_rebuilt_actor_reconciles_once_and_misses_nothing() {
    let world = World::ready(Duration::ZERO).await;
    world.change();
    sleep(Duration::from_secs(1)).await;
    assert!(world.health.make_panic("debounce"));
    sleep(Duration::from_secs(5)).await;
    world.change();
    sleep(Duration::from_secs(1)).await;
    let causes: Vec<_> = world.orders().iter().skip(1).map(|(_, o)| o.reconcile.cause.clone()).collect();
    let changed = Cause { modified: 1, ..Cause::default() };
    assert_eq!(causes, [changed.clone(), Cause::other("configuration"), changed]);
}

fn rendered() -> Arc<Rendered> {
    let bundle = Bundle::new(BundleFile::new(FileKey::config(), "haproxy.cfg", Text::plain("")), []);
    Arc::new(Rendered::of(Generation(1), config(1, "5ms", "50ms"), Snapshots::default(), bundle))
}

fn validated() -> Arc<Validated> {
    Arc::new(Validated { rendered: rendered(), took: Duration::ZERO, warnings: Vec::new() })
}

fn report() -> FailureReport {
    let (objects, suspects) = (Vec::new(), Vec::new());
    FailureReport {
        rendered: rendered().basis(),
        good: None,
        objects,
        suspects,
        templates: None,
        took: Duration::ZERO,
    }
}

fn suspecting() -> Quarantine {
    let object = Arc::new(ObjectRef::new("ingresses", "n", "a"));
    let held = Quarantined {
        object: object.clone(),
        why: Diagnostic::error("haproxy", "no"),
        instead: haptic_model::Instead::Nothing,
        suspected: true,
        since: Generation(1),
        at: std::time::Instant::now(),
    };
    Quarantine { held: BTreeMap::from([(object, Arc::new(held))]) }
}
