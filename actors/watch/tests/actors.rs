//! The set of watches as actors: configurations change, pumps fail.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]

use haptic_model::{ActiveConfig, Event, Snapshots, config::AcceptedConfig};
use haptic_runtime::{
    ActorHandle, Arbiters, Events, Health, Publisher, Spec, Supervision, Topic, messages::EventEmitted, topic,
};
use haptic_watch::{Directory, OpenedSource, Pool, Stores, WatchSet, WatchSetActor};
use serde_json::{Value, json};
use std::{
    fs,
    future::Future,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::Duration,
};
use tokio::sync::mpsc::Receiver;

struct Scene {
    root: tempfile::TempDir,
    accepted: Publisher<Option<AcceptedConfig>>,
    active: Publisher<Option<Arc<ActiveConfig>>>,
    revisions: AtomicU64,
    topics: Topic<Snapshots>,
    events: Receiver<EventEmitted>,
    health: Health,
    _set: ActorHandle<WatchSetActor>,
}

fn config(watched: &Value, revision: u64) -> Arc<ActiveConfig> {
    let spec = serde_json::from_value(json!({
        "credentialsSecretRef": {"name": "creds"},
        "podSelector": {"matchLabels": {"app": "haproxy"}},
        "watchedResources": watched
    }))
    .unwrap();
    Arc::new(ActiveConfig { revision, ..ActiveConfig::of("c", "n", spec) })
}

fn watched(index: &str) -> Value {
    json!({"apiVersion": "v1", "resources": "services", "indexBy": [index]})
}

impl Scene {
    /// The watches are brought to a configuration, which is then active.
    async fn configure(&self, watched: &Value) {
        let revision = self.revisions.fetch_add(1, Relaxed) + 1;
        let config = config(watched, revision);
        self.accepted.publish(Some(AcceptedConfig(config.clone())));
        self.until(|all| all.prepared_for() == Some(revision)).await;
        self.active.publish(Some(config));
    }

    async fn until(&self, wanted: impl Fn(&Snapshots) -> bool) -> Arc<Snapshots> {
        let mut topics = self.topics.clone();
        tokio::time::timeout(Duration::from_secs(20), topics.wait_for(wanted)).await.unwrap()
    }

    fn write_service(&self, name: &str) {
        write_service(self.root.path(), name);
    }

    /// How often a store was told to be read to its end.
    fn initial_lists_of(&mut self, name: &str) -> usize {
        let mut lists = 0;
        while let Ok(event) = self.events.try_recv() {
            lists +=
                usize::from(matches!(&*event, Event::StoreSynced { resource, .. } if **resource == *name));
        }
        lists
    }

    fn restarts_of(&self, actor: &str) -> u32 {
        let actors = self.health.actors();
        actors.iter().filter(|state| state.name == actor).map(|state| state.restarts).sum()
    }
}

fn write_service(root: &Path, name: &str) {
    let manifest = format!("apiVersion: v1\nkind: Service\nmetadata: {{name: {name}}}\n");
    fs::write(root.join(format!("{name}.yaml")), manifest).unwrap();
}

fn holds(topics: &Snapshots, store: &str, objects: usize) -> bool {
    topics.get(store).is_some_and(|store| store.len() == objects)
}

fn on_scene<F: Future<Output = ()> + 'static>(play: impl FnOnce(Scene) -> F + 'static) {
    let runtime =
        Arc::new(tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap());
    let shared = runtime.clone();
    let code = haptic_runtime::run(runtime, async move {
        let health = Health::new();
        let arbiter = Arbiters::new(shared, health.clone(), Duration::from_secs(5)).start("watch").unwrap();
        let root = tempfile::tempdir().unwrap();
        write_service(root.path(), "one");
        let (stores, topics) = Stores::new();
        let ((accepted, newest), (active, before)) = (topic(None), topic(None));
        let (told, events) = Events::channel(1000);
        let supervision = Supervision::new(health.clone());
        let set = WatchSet {
            accepted: newest.clone(),
            origin: OpenedSource::Directory(Directory::open(root.path(), Events::silent()).unwrap()),
            stores,
            pool: Pool::new(None),
            remarks: topic(haptic_model::Remarks::default()).1,
            events: told,
            arbiter: arbiter.clone(),
            supervision: supervision.clone(),
            running: Default::default(),
        };
        let _set = Spec::named("watches").subscribes(&before).subscribes(&newest).start(
            &arbiter,
            &supervision,
            move |own| WatchSetActor::new(own, set.clone()),
        );
        play(Scene { root, accepted, active, revisions: AtomicU64::new(0), topics, events, health, _set })
            .await;
        0
    })
    .unwrap();
    assert_eq!(code, 0);
}

#[test]
fn a_new_configuration_starts_replaces_and_stops_only_what_it_changes() {
    on_scene(|mut scene| async move {
        let name = "metadata.name";
        scene
            .configure(&json!({"kept": watched(name), "changed": watched(name), "stopped": watched(name)}))
            .await;
        let before = scene.until(|all| ["kept", "changed", "stopped"].iter().all(|s| holds(all, s, 1))).await;
        scene
            .configure(&json!({"kept": watched(name), "changed": watched("kind"), "new": watched(name)}))
            .await;
        let key: [Arc<str>; 1] = ["Service".into()];
        let changed =
            |all: &Snapshots| all.get("changed").is_some_and(|store| store.matching(&key).count() == 1);
        let after = scene.until(|all| holds(all, "new", 1) && changed(all)).await;
        assert!(after.get("stopped").is_none());
        assert!(
            Arc::ptr_eq(before.get("kept").unwrap(), after.get("kept").unwrap()),
            "an unchanged store is untouched"
        );
        assert!(after.get("changed").unwrap().version() > before.get("changed").unwrap().version());
        scene.write_service("two");
        scene.until(|all| ["kept", "changed", "new"].iter().all(|store| holds(all, store, 2))).await;
        assert_eq!(scene.initial_lists_of("kept"), 1);
    });
}

#[test]
fn a_store_whose_meaning_changes_counts_as_not_synced_until_it_is_listed_anew() {
    on_scene(|scene| async move {
        scene.configure(&json!({"s": watched("metadata.name")})).await;
        scene.until(|all| holds(all, "s", 1)).await;
        // The bad path never syncs; the old objects under the old keys must not be taken for the new ones.
        scene.configure(&json!({"s": watched("metadata[")})).await;
        assert!(!scene.topics.latest().synced(["s"]));
        scene.configure(&json!({"s": watched("metadata.name")})).await;
        assert!(scene.until(|all| holds(all, "s", 1)).await.synced(["s"]));
    });
}

#[test]
fn a_watch_that_panics_is_started_again_and_nothing_is_lost_or_doubled() {
    on_scene(|mut scene| async move {
        scene.configure(&json!({"s": watched("metadata.name")})).await;
        let before = scene.until(|all| holds(all, "s", 1)).await;
        assert!(scene.health.make_panic("watch/s"));
        while scene.restarts_of("watch/s") == 0 || scene.initial_lists_of("s") == 0 {
            tokio::task::yield_now().await;
        }
        scene.write_service("two");
        let after = scene.until(|all| holds(all, "s", 2)).await;
        let change = after.changes().since(before.changes()).unwrap();
        assert_eq!((change.created, change.modified), (1, 0), "one watch tells of one object once");
        assert_eq!(scene.restarts_of("watch/s"), 1);
    });
}

/// What the active configuration watches is not given up while the accepted one waits, nor when the actor begins again.
#[test]
fn the_stores_of_the_active_configuration_stay_until_another_one_takes_its_place() {
    on_scene(|scene| async move {
        scene.configure(&json!({"old": watched("metadata.name")})).await;
        scene.until(|all| holds(all, "old", 1)).await;
        let next = config(&json!({"new": watched("metadata.name")}), 2);
        scene.accepted.publish(Some(AcceptedConfig(next.clone())));
        scene.until(|all| holds(all, "new", 1) && holds(all, "old", 1)).await;
        assert!(scene.health.make_panic("watches"));
        while scene.restarts_of("watches") == 0 {
            tokio::task::yield_now().await;
        }
        scene.write_service("two");
        scene.until(|all| holds(all, "new", 2) && holds(all, "old", 2)).await;
        scene.active.publish(Some(next));
        scene.until(|all| all.get("old").is_none()).await;
    });
}
