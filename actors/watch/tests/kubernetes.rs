//! Watches against a real API server.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]

mod cluster;
mod watching;

use cluster::{ADMIN, Cluster, NOBODY, apply, delete};
use haptic_model::{
    StoreLimits,
    crd::{StoreKind, WatchedResource},
};
use haptic_watch::OpenedSource;
use kube::Client;
use serde_json::{Value, json};
use tokio::sync::OnceCell;
use watching::{Watching, events, names_of, resource};

/// One for all tests of this file; each uses namespaces of its own.
static CLUSTER: OnceCell<Cluster> = OnceCell::const_new();

async fn cluster() -> &'static Cluster {
    CLUSTER.get_or_init(Cluster::start).await
}

async fn with_namespaces(names: &[&str]) -> Client {
    let client = cluster().await.client(ADMIN).await;
    for name in names {
        apply(&client, "namespaces", namespace(name, "none")).await;
    }
    client
}

fn namespace(name: &str, team: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": {"team": team}}})
}

fn config_map(namespace: &str, name: &str, content: &str) -> Value {
    let label = content.get(..10).unwrap_or(content);
    json!({
        "apiVersion": "v1", "kind": "ConfigMap", "data": {"x": content},
        "metadata": {"namespace": namespace, "name": name, "labels": {"app": label}}
    })
}

fn watch(client: &Client, resource: WatchedResource) -> Watching {
    Watching::start(OpenedSource::Cluster(client.clone()), resource, events())
}

fn config_maps_of(namespaces: &[&str]) -> WatchedResource {
    let namespaces = namespaces.iter().map(|name| (*name).to_owned()).collect();
    WatchedResource { namespaces, ..resource("v1", "configmaps") }
}

#[tokio::test(flavor = "multi_thread")]
async fn objects_are_listed_then_watched_and_listed_or_watched_their_bytes_are_the_same() {
    let client = with_namespaces(&["listed"]).await;
    apply(&client, "configmaps", config_map("listed", "one", "1")).await;
    let mut watching = watch(&client, config_maps_of(&["listed"]));
    let listed = watching.until_named(&["listed/one"]).await;
    assert!(listed.is_synced() && watching.change().await.initial);
    let object = listed.get("listed", "one").unwrap().value().unwrap();
    assert_eq!((&object["kind"], &object["apiVersion"]), (&json!("ConfigMap"), &json!("v1")));
    assert!(
        object["metadata"].get("managedFields").is_none()
            && object["metadata"].get("resourceVersion").is_none()
    );
    apply(&client, "configmaps", config_map("listed", "two", "1")).await;
    let watched = watching.until_named(&["listed/one", "listed/two"]).await;
    let change = watching.change().await;
    assert_eq!((change.initial, change.cause.created, change.cause.modified), (false, 1, 0));
    // A restarted watch lists what was watched before: were the bytes different, its version would change.
    watching.restart();
    apply(&client, "configmaps", config_map("listed", "three", "1")).await;
    let again = watching.until_named(&["listed/one", "listed/three", "listed/two"]).await;
    let two = |store: &haptic_model::Snapshot| store.get("listed", "two").unwrap().version;
    assert_eq!(two(&again), two(&watched));
    delete(&client, "configmaps", config_map("listed", "one", "1")).await;
    watching.until_named(&["listed/three", "listed/two"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn labels_and_fields_select() {
    let client = with_namespaces(&["selected"]).await;
    for name in ["a", "b"] {
        apply(&client, "configmaps", config_map("selected", name, name)).await;
    }
    let by_label = watch(
        &client,
        WatchedResource { label_selector: Some("app=a".into()), ..config_maps_of(&["selected"]) },
    );
    let by_field = watch(
        &client,
        WatchedResource { field_selector: Some("metadata.name=b".into()), ..config_maps_of(&["selected"]) },
    );
    by_label.until_named(&["selected/a"]).await;
    by_field.until_named(&["selected/b"]).await;
    apply(&client, "configmaps", config_map("selected", "a", "other")).await;
    by_label.until_named(&[]).await;
    let mut refused = watch(
        &client,
        WatchedResource { field_selector: Some("data.x=1".into()), ..config_maps_of(&["selected"]) },
    );
    assert!(refused.failure().await.contains("watchedResources.configmaps.fieldSelector"));
}

#[tokio::test(flavor = "multi_thread")]
async fn several_namespaces_are_one_store() {
    let client = with_namespaces(&["several-1", "several-2", "several-3"]).await;
    for namespace in ["several-1", "several-2", "several-3"] {
        apply(&client, "configmaps", config_map(namespace, "x", "1")).await;
    }
    let watching = watch(&client, config_maps_of(&["several-1", "several-3"]));
    watching.until_named(&["several-1/x", "several-3/x"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn namespaces_are_selected_live_by_their_labels() {
    let client = with_namespaces(&["team-1", "team-2"]).await;
    for namespace in ["team-1", "team-2"] {
        apply(&client, "configmaps", config_map(namespace, "x", "1")).await;
    }
    let watching = watch(
        &client,
        WatchedResource { namespace_selector: Some("team=web".into()), ..resource("v1", "configmaps") },
    );
    watching.until_named(&[]).await;
    apply(&client, "namespaces", namespace("team-2", "web")).await;
    watching.until_named(&["team-2/x"]).await;
    apply(&client, "namespaces", namespace("team-1", "web")).await;
    watching.until_named(&["team-1/x", "team-2/x"]).await;
    apply(&client, "namespaces", namespace("team-2", "mail")).await;
    watching.until_named(&["team-1/x"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_empty_selector_takes_the_objects_of_all_namespaces_and_of_kinds_that_are_in_none() {
    let client = with_namespaces(&["unselected-1", "unselected-2"]).await;
    for namespace in ["unselected-1", "unselected-2"] {
        let mut labelled = config_map(namespace, "x", "1");
        labelled["metadata"]["labels"] = json!({"of": "unselected"});
        apply(&client, "configmaps", labelled).await;
    }
    for empty in ["", " "] {
        let unselected = |resource: WatchedResource, labels: &str| WatchedResource {
            namespace_selector: Some(empty.into()),
            label_selector: Some(labels.into()),
            ..resource
        };
        let watching = watch(&client, unselected(resource("v1", "configmaps"), "of=unselected"));
        watching.until_named(&["unselected-1/x", "unselected-2/x"]).await;
        let labels = "kubernetes.io/metadata.name=unselected-1";
        let watching = watch(&client, unselected(resource("v1", "namespaces"), labels));
        watching.until_named(&["/unselected-1"]).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn one_namespaces_junk_is_left_out_and_another_ones_changes_are_not_and_a_free_place_is_taken() {
    let client = with_namespaces(&["limit-junk", "limit-shop"]).await;
    for name in ["a", "b", "c", "d", "e"] {
        apply(&client, "configmaps", config_map("limit-junk", name, "1")).await;
    }
    let limits = StoreLimits { object_bytes: 1000, objects_per_namespace: 3, ..StoreLimits::default() };
    let maps = config_maps_of(&["limit-junk", "limit-shop"]);
    let mut watching = Watching::limited(OpenedSource::Cluster(client.clone()), maps, events(), limits);
    watching.until_named(&["limit-junk/a", "limit-junk/b", "limit-junk/c"]).await;
    let told = watching.limit().await;
    assert!(told.contains("more than 3 configmaps in namespace limit-junk"), "{told}");
    apply(&client, "configmaps", config_map("limit-junk", "z", "1")).await;
    apply(&client, "configmaps", config_map("limit-shop", "x", "1")).await;
    let junk = |name: &str| format!("limit-junk/{name}");
    let (a, b, c, d) = (junk("a"), junk("b"), junk("c"), junk("d"));
    watching.until_named(&[&a, &b, &c, "limit-shop/x"]).await;
    delete(&client, "configmaps", config_map("limit-junk", "b", "1")).await;
    watching.until_named(&[&a, &c, &d, "limit-shop/x"]).await;
    watching.restart();
    apply(&client, "configmaps", config_map("limit-shop", "y", "1")).await;
    watching.until_named(&[&a, &c, &d, "limit-shop/x", "limit-shop/y"]).await;
    apply(&client, "configmaps", config_map("limit-shop", "x", &"l".repeat(2000))).await;
    let told = loop {
        let told = watching.limit().await;
        if told.contains("limit-shop/x") {
            break told;
        }
    };
    assert!(told.contains("stays in force as it was"), "{told}");
}

#[tokio::test(flavor = "multi_thread")]
async fn missing_permission_is_told_with_verbs_resource_and_group() {
    let client = cluster().await.client(NOBODY).await;
    let mut watching = watch(&client, resource("networking.k8s.io/v1", "ingresses"));
    let told = watching.failure().await;
    for part in
        ["403", "ClusterRole", "get, list, watch", "\"ingresses\"", "\"networking.k8s.io\"", "all namespaces"]
    {
        assert!(told.contains(part), "`{part}` is missing in: {told}");
    }
    let mut namespaced = watch(&client, config_maps_of(&["somewhere"]));
    let told = namespaced.failure().await;
    assert!(told.contains("a Role ") && told.contains("in namespace somewhere"), "{told}");
    assert!(!told.contains(NOBODY));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_crd_may_be_installed_later_and_its_objects_may_have_any_shape() {
    let client = with_namespaces(&["crd"]).await;
    let mut watching = watch(&client, resource("tests.example/v1", "gadgets"));
    let told = watching.failure().await;
    assert!(told.contains("no gadgets in tests.example/v1") && told.contains("install the CRD"), "{told}");
    apply(&client, "customresourcedefinitions", definition("tests.example")).await;
    watching.until_named(&[]).await;
    let odd = json!({
        "apiVersion": "tests.example/v1", "kind": "Gadget", "metadata": {"namespace": "crd", "name": "odd"},
        "spec": [1, null, {"deep": {"x": "y"}}], "status": "not an object"
    });
    apply(&client, "gadgets", odd).await;
    let store = watching.until_named(&["crd/odd"]).await;
    assert_eq!(store.get("crd", "odd").unwrap().value().unwrap()["status"], "not an object");

    // More than JSON readers take: that object stays as it was or is left out, and ends neither a watch nor a list.
    let nested = |name: &str| {
        let deep = (0..300).fold(json!("y"), |inner, _| json!({ "x": inner }));
        json!({"apiVersion": "tests.example/v1", "kind": "Gadget", "metadata": {"namespace": "crd", "name": name}, "deep": deep})
    };
    apply(&client, "gadgets", nested("bottomless")).await;
    apply(&client, "gadgets", nested("odd")).await;
    apply(&client, "gadgets", gadget("after")).await;
    let store = watching.until_named(&["crd/after", "crd/odd"]).await;
    assert_eq!(store.get("crd", "odd").unwrap().value().unwrap()["status"], "not an object");
    watch(&client, resource("tests.example/v1", "gadgets")).until_named(&["crd/after"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_crd_that_is_removed_is_told_as_missing_and_one_that_comes_back_is_watched() {
    let client = with_namespaces(&["removed"]).await;
    let gadget = json!({
        "apiVersion": "removed.example/v1", "kind": "Gadget", "metadata": {"namespace": "removed", "name": "one"}
    });
    apply(&client, "customresourcedefinitions", definition("removed.example")).await;
    let watching = watch(&client, resource("removed.example/v1", "gadgets"));
    let optional = WatchedResource { optional: true, ..resource("removed.example/v1", "gadgets") };
    let optional = watch(&client, optional);
    watching.until_named(&[]).await;
    apply(&client, "gadgets", gadget.clone()).await;
    watching.until_named(&["removed/one"]).await;
    optional.until_named(&["removed/one"]).await;
    delete(&client, "customresourcedefinitions", definition("removed.example")).await;
    watching.until_unreadable("serves no gadgets in removed.example/v1: install the CRD").await;
    optional.until_named(&[]).await;
    optional.until_readable().await;
    apply(&client, "customresourcedefinitions", definition("removed.example")).await;
    watching.until_readable().await;
    apply(&client, "gadgets", gadget).await;
    watching.until_named(&["removed/one"]).await;
    optional.until_named(&["removed/one"]).await;
}

fn definition(group: &str) -> Value {
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("gadgets.{group}")},
        "spec": {
            "group": group, "scope": "Namespaced", "names": {"plural": "gadgets", "kind": "Gadget"},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {
                "type": "object", "x-kubernetes-preserve-unknown-fields": true
            }}}]
        }
    })
}

fn gadget(name: &str) -> Value {
    json!({"apiVersion": "tests.example/v1", "kind": "Gadget", "metadata": {"namespace": "crd", "name": name}})
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unknown_plural_is_told_with_the_right_one() {
    let client = with_namespaces(&[]).await;
    let told = watch(&client, resource("networking.k8s.io/v1", "ingress")).failure().await;
    assert!(told.contains("did you mean `ingresses`?"), "{told}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_on_demand_store_fetches_what_is_read_and_notices_changes() {
    let client = with_namespaces(&["demand"]).await;
    let secret = |value: &str| {
        json!({
            "apiVersion": "v1", "kind": "Secret", "metadata": {"namespace": "demand", "name": "tls"}, "stringData": {"key": value}
        })
    };
    apply(&client, "secrets", secret("old")).await;
    let on_demand = WatchedResource {
        store: StoreKind::OnDemand,
        namespaces: vec!["demand".into()],
        ..resource("v1", "secrets")
    };
    let watching = watch(&client, on_demand);
    let store = watching.until_named(&["demand/tls"]).await;
    assert_eq!((store.bytes(), names_of(&store).len()), (0, 1));
    let load = |store: std::sync::Arc<haptic_model::Snapshot>| async move {
        let read = move || {
            store.load(store.get("demand", "tls").unwrap()).unwrap().map(|object| object.value().unwrap())
        };
        tokio::task::spawn_blocking(read).await.unwrap()
    };
    assert_eq!(load(store.clone()).await.unwrap()["data"]["key"], "b2xk");
    apply(&client, "secrets", secret("new")).await;
    let changed = watching.until("the change is seen", |now| now.version() > store.version()).await;
    assert_eq!(load(changed.clone()).await.unwrap()["data"]["key"], "bmV3");
    delete(&client, "secrets", secret("")).await;
    watching.until_named(&[]).await;
    assert!(load(changed).await.is_none(), "an older snapshot is told that the object is gone");
}
