//! Stores that hold what others name, against a real API server.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]

mod cluster;

use cluster::{ADMIN, Cluster, NOBODY, apply, delete};
use haptic_model::{
    HAProxyTemplateConfigSpec, Snapshot, Snapshots, StoreLimits,
    crd::{StoreKind, WatchedResource},
};
use haptic_runtime::{Events, Topic};
use haptic_watch::{NameOrigin, OpenedSource, Pool, Stores, WatchSpec, WatchTask, pump::RunningPump};
use kube::Client;
use serde_json::{Value, json};
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};
use tokio::sync::OnceCell;

const LIMIT: Duration = Duration::from_secs(60);

static CLUSTER: OnceCell<Cluster> = OnceCell::const_new();

/// ConfigMaps, which name Secrets, and those Secrets, of the same namespaces.
struct Stage {
    client: Client,
    stores: Stores,
    topic: Topic<Snapshots>,
    tasks: BTreeMap<&'static str, WatchTask>,
    running: BTreeMap<&'static str, RunningPump>,
}

impl Stage {
    async fn of(namespaces: &[&str]) -> Self {
        Self::seen_by(ADMIN, namespaces).await
    }

    /// Nothing is watched yet.
    async fn seen_by(token: &str, namespaces: &[&str]) -> Self {
        let cluster = CLUSTER.get_or_init(Cluster::start).await;
        let (client, watching) = (cluster.client(ADMIN).await, cluster.client(token).await);
        for name in namespaces {
            let object = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
            apply(&client, "namespaces", object).await;
        }
        let (stores, topic) = Stores::new();
        let task = |plural: &'static str, store| {
            let resource = WatchedResource {
                api_version: "v1".into(),
                resources: plural.into(),
                index_by: vec!["metadata.namespace".into(), "type".into()],
                namespaces: namespaces.iter().map(|name| (*name).to_owned()).collect(),
                store,
                ..WatchedResource::default()
            };
            let spec = Arc::new(WatchSpec::new(plural, &resource, &[], StoreLimits::default()));
            let (stores, events) = (stores.clone(), Events::channel(10_000).0);
            let origin = OpenedSource::Cluster(watching.clone());
            (plural, WatchTask { spec, origin, stores, pool: Pool::new(None), guarding: None, events })
        };
        let tasks = [task("configmaps", StoreKind::Full), task("secrets", StoreKind::Named)].into();
        stores.named().follow(&spec(""), BTreeSet::from(["configmaps".into()]));
        Self { client, stores, topic, tasks, running: BTreeMap::new() }
    }

    fn watch(&mut self, plural: &'static str) {
        self.running.remove(plural);
        self.running.insert(plural, self.tasks[plural].start());
    }

    async fn put(&self, plural: &str, object: Value) {
        apply(&self.client, plural, object).await;
    }

    async fn secret(&self, namespace: &str, name: &str, value: &str) {
        self.put("secrets", secret(namespace, name, value)).await;
    }

    async fn naming(&self, namespace: &str, name: &str, text: &str) {
        let object = json!({
            "apiVersion": "v1", "kind": "ConfigMap", "data": {"x": text},
            "metadata": {"namespace": namespace, "name": name}
        });
        self.put("configmaps", object).await;
    }

    async fn until(&self, what: &str, wanted: impl Fn(&Snapshots) -> bool) -> Arc<Snapshots> {
        let mut topic = self.topic.clone();
        match tokio::time::timeout(LIMIT, topic.wait_for(|all| wanted(all))).await {
            Ok(all) => all,
            Err(_) => panic!("waited in vain until {what}: {:?}", names(&self.topic.latest())),
        }
    }

    async fn until_secrets(&self, expected: &[&str]) -> Arc<Snapshots> {
        self.until(&format!("there are {expected:?}"), |all| {
            all.synced(["secrets"]) && names(all) == expected
        })
        .await
    }

    /// Each state that is published from now on, until the test ends.
    fn published(&self) -> tokio::sync::mpsc::UnboundedReceiver<Arc<Snapshots>> {
        let (sender, receiver) = tokio::sync::mpsc::unbounded_channel();
        let mut topic = self.topic.clone();
        tokio::spawn(async move { while sender.send(topic.changed().await).is_ok() {} });
        receiver
    }
}

/// A configuration that names this, in which the store of ConfigMaps has something else, as far as names go.
fn spec(named: &str) -> HAProxyTemplateConfigSpec {
    spec_of(named, "others")
}

fn spec_of(named: &str, resources: &str) -> HAProxyTemplateConfigSpec {
    let spec = json!({
        "watchedResources": {"configmaps": {"apiVersion": "v1", "resources": resources}},
        "credentialsSecretRef": {"name": "c"}, "podSelector": {"matchLabels": {"a": "b"}},
        "templatingSettings": {"extraContext": {"certificate": named}},
    });
    serde_json::from_value(spec).unwrap()
}

fn secret(namespace: &str, name: &str, value: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Secret", "stringData": {"key": value},
        "metadata": {"namespace": namespace, "name": name}
    })
}

fn names(all: &Snapshots) -> Vec<String> {
    let secrets = all.get("secrets").cloned().unwrap_or_default();
    secrets.iter().map(|o| format!("{}/{}", o.reference.namespace, o.reference.name)).collect()
}

fn value(store: &Snapshot, namespace: &str, name: &str) -> Value {
    store.get(namespace, name).unwrap().value().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_named_is_there_from_the_start_and_follows_its_changes() {
    let mut stage = Stage::of(&["start", "other"]).await;
    for name in ["used", "unused"] {
        stage.secret("start", name, "1").await;
        stage.secret("other", name, "1").await;
    }
    stage.secret("other", "far", "1").await;
    stage.naming("start", "a", "certificate: used\n").await;
    stage.naming("start", "b", "see other/far").await;
    // The Secrets come first, and wait for those who name them.
    stage.watch("secrets");
    stage.watch("configmaps");
    let all = stage.until_secrets(&["other/far", "start/used"]).await;
    let store = all.get("secrets").unwrap();
    let used = value(store, "start", "used");
    assert_eq!((&used["data"]["key"], &used["kind"]), (&json!("MQ=="), &json!("Secret")));
    assert!(used["metadata"].get("resourceVersion").is_none());
    assert_eq!(store.matching(&["start".into(), "Opaque".into()]).count(), 1, "it is indexed by its fields");
    stage.secret("start", "unused", "2").await;
    stage.secret("start", "used", "2").await;
    let changed =
        |all: &Snapshots| value(all.get("secrets").unwrap(), "start", "used")["data"]["key"] == json!("Mg==");
    stage.until("the change is there", changed).await;
    delete(&stage.client, "secrets", secret("start", "used", "")).await;
    stage.until_secrets(&["other/far"]).await;
    // Its name still stands there.
    stage.secret("start", "used", "3").await;
    stage.until_secrets(&["other/far", "start/used"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn who_names_a_secret_is_never_seen_without_it() {
    let mut stage = Stage::of(&["together"]).await;
    stage.watch("configmaps");
    stage.watch("secrets");
    stage.until_secrets(&[]).await;
    for number in 0..20 {
        stage.secret("together", &format!("s{number}"), "1").await;
    }
    // Their metadata has come when one that is behind them and named has.
    stage.naming("together", "last", "s19").await;
    stage.until_secrets(&["together/s19"]).await;
    let mut published = stage.published();
    for number in 0..19 {
        stage.naming("together", &format!("c{number}"), &format!("s{number}")).await;
    }
    let has = |all: &Snapshots, store: &str, name: &str| {
        all.get(store).is_some_and(|store| store.get("together", name).is_some())
    };
    loop {
        let all = published.recv().await.unwrap();
        for number in 0..19 {
            if has(&all, "configmaps", &format!("c{number}")) {
                assert!(has(&all, "secrets", &format!("s{number}")), "c{number} came before its Secret");
            }
        }
        if has(&all, "configmaps", "c18") {
            break;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_configuration_and_a_review_name_secrets() {
    let mut stage = Stage::of(&["asked", "edge"]).await;
    for name in ["default", "reviewed", "other"] {
        stage.secret("edge", name, "1").await;
    }
    stage.watch("configmaps");
    stage.watch("secrets");
    stage.until_secrets(&[]).await;
    let review = async |resource, namespace| {
        let by = NameOrigin::Object { resource, namespace };
        stage.stores.named().fetch_named_by(by, br#"{"secret":"reviewed"}"#).await;
        names(&stage.topic.latest())
    };
    assert_eq!(review("ingresses", "asked").await, [""; 0], "that of another namespace");
    assert_eq!(review("ingresses", "edge").await, ["edge/reviewed"]);
    stage.stores.named().follow(&spec("default"), ["configmaps".into()].into());
    stage.until_secrets(&["edge/default", "edge/reviewed"]).await;
}

/// It may be a default for everybody's routes.
#[tokio::test(flavor = "multi_thread")]
async fn a_name_in_a_config_map_is_for_all_namespaces() {
    let mut stage = Stage::of(&["settings", "shop"]).await;
    stage.stores.named().follow(&spec_of("", "configmaps"), ["configmaps".into()].into());
    for namespace in ["settings", "shop"] {
        stage.secret(namespace, "upstream-ca", "1").await;
        stage.secret(namespace, "late-ca", "1").await;
    }
    stage.naming("settings", "first", "server-ca-secret: upstream-ca").await;
    stage.watch("configmaps");
    stage.watch("secrets");
    stage.until_secrets(&["settings/upstream-ca", "shop/upstream-ca"]).await;
    stage.naming("settings", "second", "server-ca-secret: late-ca").await;
    stage
        .until_secrets(&["settings/late-ca", "settings/upstream-ca", "shop/late-ca", "shop/upstream-ca"])
        .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_restarted_watch_holds_what_it_held_and_fetches_what_has_changed() {
    let mut stage = Stage::of(&["again"]).await;
    for name in ["first", "second", "third"] {
        stage.secret("again", name, "1").await;
    }
    stage.naming("again", "names", "first, second").await;
    stage.watch("configmaps");
    stage.watch("secrets");
    let before = stage.until_secrets(&["again/first", "again/second"]).await;
    stage.running.remove("secrets");
    // Nobody names it any more; it stays all the same.
    stage.naming("again", "names", "first").await;
    stage.secret("again", "first", "2").await;
    stage.watch("secrets");
    let changed = |all: &Snapshots| {
        value(all.get("secrets").unwrap(), "again", "first")["data"]["key"] == json!("Mg==")
    };
    let after = stage.until("the change is there", changed).await;
    assert_eq!(names(&after), ["again/first", "again/second"]);
    let version = |all: &Snapshots| all.get("secrets").unwrap().get("again", "second").unwrap().version;
    assert_eq!(version(&before), version(&after));
}

#[tokio::test(flavor = "multi_thread")]
async fn who_may_not_get_a_secret_is_told_which_right_is_missing_until_it_is_there() {
    let mut stage = Stage::seen_by(NOBODY, &["rights"]).await;
    let may = |verbs: Value| {
        json!({
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role",
            "metadata": {"namespace": "rights", "name": "reader"},
            "rules": [{"apiGroups": [""], "resources": ["secrets", "configmaps"], "verbs": verbs}]
        })
    };
    let binding = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding",
        "metadata": {"namespace": "rights", "name": "reader"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "reader"},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "nobody"}]
    });
    stage.put("roles", may(json!(["list", "watch"]))).await;
    stage.put("rolebindings", binding).await;
    stage.secret("rights", "used", "1").await;
    stage.naming("rights", "names", "used").await;
    stage.watch("configmaps");
    stage.watch("secrets");
    let mut troubles = stage.stores.troubles();
    let missing = troubles.wait_for(|all| all.contains_key("secrets"));
    let missing = tokio::time::timeout(LIMIT, missing).await.unwrap();
    assert!(missing["secrets"].contains("get, list, watch"), "{}", missing["secrets"]);
    assert!(!stage.topic.latest().synced(["secrets"]), "who waits for Secrets is served without them");
    // Who names one that cannot be had is seen without it.
    stage.naming("rights", "others", "used").await;
    stage
        .until("the other one is there", |all| {
            all.get("configmaps").is_some_and(|maps| maps.get("rights", "others").is_some())
        })
        .await;
    stage.put("roles", may(json!(["get", "list", "watch"]))).await;
    stage.until_secrets(&["rights/used"]).await;
    let over = troubles.wait_for(|all| !all.contains_key("secrets"));
    tokio::time::timeout(LIMIT, over).await.unwrap();
}

/// More than anybody waits for.
#[tokio::test(flavor = "multi_thread")]
async fn one_object_may_name_hundreds() {
    let mut stage = Stage::of(&["hundreds"]).await;
    let names: Vec<String> = (0..200).map(|number| format!("s{number:03}")).collect();
    for name in &names {
        stage.secret("hundreds", name, "1").await;
    }
    stage.watch("configmaps");
    stage.watch("secrets");
    stage.until_secrets(&[]).await;
    stage.naming("hundreds", "all", &names.join(" ")).await;
    let all: Vec<String> = names.iter().map(|name| format!("hundreds/{name}")).collect();
    stage.until_secrets(&all.iter().map(String::as_str).collect::<Vec<_>>()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn names_that_come_while_the_store_begins_are_not_missed() {
    let mut stage = Stage::of(&["beginning"]).await;
    for number in 0..30 {
        stage.secret("beginning", &format!("s{number:02}"), "1").await;
    }
    stage.watch("configmaps");
    for number in 0..30 {
        if number % 5 == 0 {
            stage.watch("secrets");
        }
        stage.naming("beginning", &format!("c{number}"), &format!("s{number:02}")).await;
    }
    let all: Vec<String> = (0..30).map(|number| format!("beginning/s{number:02}")).collect();
    stage.until_secrets(&all.iter().map(String::as_str).collect::<Vec<_>>()).await;
}
