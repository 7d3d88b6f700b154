//! The set of watches as actors: configurations change, pumps fail.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]

use haptic_model::{ActiveConfig, Layout, Snapshots};
use haptic_runtime::{
    ActorSpec, Arbiters, CellReader, CellWriter, Events, Health, Keeper, Kept, Look, Supervision, cell,
};
use haptic_watch::{Changed, Directory, OnChange, Origin, Pool, Stores, WatchSet, WatchSetActor};
use serde_json::{Value, json};
use std::{
    fs,
    future::Future,
    path::Path,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

struct Scene {
    root: tempfile::TempDir,
    config: CellWriter<Option<Arc<ActiveConfig>>>,
    board: CellReader<Snapshots>,
    changes: Arc<Mutex<Vec<Changed>>>,
    health: Health,
    set: Kept<WatchSetActor>,
}

fn config(watched: &Value) -> Option<Arc<ActiveConfig>> {
    let spec = serde_json::from_value(json!({
        "credentialsSecretRef": {"name": "creds"},
        "podSelector": {"matchLabels": {"app": "haproxy"}},
        "watchedResources": watched
    }))
    .unwrap();
    let spec: haptic_model::HAProxyTemplateConfigSpec = spec;
    Some(Arc::new(ActiveConfig {
        name: "c".into(),
        namespace: "n".into(),
        resource_generation: 1,
        revision: 1,
        layout: Layout::of(&spec.dataplane).unwrap(),
        spec: Arc::new(spec),
        credentials: Vec::new(),
    }))
}

fn watched(index: &str) -> Value {
    json!({"apiVersion": "v1", "resources": "services", "indexBy": [index]})
}

impl Scene {
    async fn configure(&self, watched: &Value) {
        self.config.publish(config(watched));
        self.set.post::<Look>().send(Look).await.unwrap();
    }

    async fn until(&self, wanted: impl Fn(&Snapshots) -> bool) -> Arc<Snapshots> {
        let mut board = self.board.clone();
        tokio::time::timeout(Duration::from_secs(20), board.wait_for(wanted)).await.unwrap()
    }

    fn write_service(&self, name: &str) {
        write_service(self.root.path(), name);
    }

    fn initial_lists_of(&self, resource: &str) -> usize {
        let changes = self.changes.lock().unwrap();
        changes.iter().filter(|change| change.initial && *change.resource == *resource).count()
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

fn holds(board: &Snapshots, store: &str, objects: usize) -> bool {
    board.get(store).is_some_and(|store| store.len() == objects)
}

/// Calls fail as often as `failures` says.
fn on_scene<F: Future<Output = ()> + 'static>(failures: u32, play: impl FnOnce(Scene) -> F + 'static) {
    let runtime =
        Arc::new(tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap());
    let shared = runtime.clone();
    let code = haptic_runtime::run(runtime, async move {
        let health = Health::new();
        let arbiter = Arbiters::new(shared, health.clone(), Duration::from_secs(5)).start("watch").unwrap();
        let root = tempfile::tempdir().unwrap();
        write_service(root.path(), "one");
        let (stores, board) = Stores::new();
        let (config, in_force) = cell(None);
        let changes = Arc::new(Mutex::new(Vec::new()));
        let (told, left) = (changes.clone(), AtomicU32::new(failures));
        let on_change: OnChange = Arc::new(move |change| {
            let fails =
                left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1)).is_ok();
            assert!(!fails, "a bug in whoever acts on changes");
            told.lock().unwrap().push(change);
        });
        let supervision = Supervision::new(health.clone());
        let set = WatchSet {
            accepted: in_force.clone(),
            in_force,
            origin: Origin::Directory(Directory::open(root.path(), Events::silent()).unwrap()),
            stores,
            pool: Pool::new(None),
            remarks: haptic_runtime::cell(Default::default()).1,
            events: Events::silent(),
            on_change,
            arbiter: arbiter.clone(),
            supervision: supervision.clone(),
            running: Default::default(),
        };
        let set = Keeper::start(&arbiter, ActorSpec::named("watches"), &supervision, move |seat| {
            WatchSetActor::new(seat, set.clone())
        });
        play(Scene { root, config, board, changes, health, set }).await;
        0
    })
    .unwrap();
    assert_eq!(code, 0);
}

#[test]
fn a_new_configuration_starts_replaces_and_stops_only_what_it_changes() {
    on_scene(0, |scene| async move {
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
    on_scene(0, |scene| async move {
        scene.configure(&json!({"s": watched("metadata.name")})).await;
        scene.until(|all| holds(all, "s", 1)).await;
        // The bad path never syncs; the old objects under the old keys must not be taken for the new ones.
        scene.configure(&json!({"s": watched("metadata[")})).await;
        assert!(!scene.board.read().synced(["s"]));
        scene.configure(&json!({"s": watched("metadata.name")})).await;
        assert!(scene.until(|all| holds(all, "s", 1)).await.synced(["s"]));
    });
}

#[test]
fn a_pump_that_panics_is_started_again_and_nothing_is_lost_or_doubled() {
    on_scene(1, |scene| async move {
        scene.configure(&json!({"s": watched("metadata.name")})).await;
        while scene.restarts_of("watch/s") == 0 || scene.initial_lists_of("s") == 0 {
            tokio::task::yield_now().await;
        }
        scene.write_service("two");
        scene.until(|all| holds(all, "s", 2)).await;
        let created = || -> usize {
            let changes = scene.changes.lock().unwrap();
            changes.iter().filter(|change| !change.initial).map(|change| change.cause.created).sum()
        };
        // What is new is on the board a moment before it is told of.
        while created() == 0 {
            tokio::task::yield_now().await;
        }
        assert_eq!(created(), 1, "one pump tells of one object once");
        assert_eq!(scene.restarts_of("watch/s"), 1);
    });
}
