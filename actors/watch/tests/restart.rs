//! A watch whose API server goes away and comes back.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]

mod cluster;
mod watching;

use cluster::{ADMIN, Cluster, apply, delete};
use haptic_watch::OpenedSource;
use serde_json::{Value, json};
use watching::{Watching, events, resource};

fn service(name: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Service", "metadata": {"namespace": "default", "name": name},
        "spec": {"ports": [{"port": 80}]}
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn a_watch_serves_its_old_objects_while_the_api_server_is_away_and_misses_nothing() {
    let cluster = Cluster::start().await;
    let client = cluster.client(ADMIN).await;
    apply(&client, "services", service("stays")).await;
    apply(&client, "services", service("leaves")).await;
    let mut watching =
        Watching::start(OpenedSource::Cluster(client.clone()), resource("v1", "services"), events());
    watching.until_named(&["default/kubernetes", "default/leaves", "default/stays"]).await;
    cluster.stop_api_server();
    let told = watching.failure().await;
    assert!(told.contains("cannot be reached"), "{told}");
    watching.until_named(&["default/kubernetes", "default/leaves", "default/stays"]).await;
    cluster.start_api_server().await;
    delete(&client, "services", service("leaves")).await;
    apply(&client, "services", service("new")).await;
    let store = watching.until_named(&["default/kubernetes", "default/new", "default/stays"]).await;
    assert!(store.is_synced());
}

/// The versions of objects begin again where the restored state ends, and a watch that went on from a later one would hear nothing of them.
#[tokio::test(flavor = "multi_thread")]
async fn a_watch_whose_api_server_is_restored_from_an_older_state_has_what_is_there() {
    let cluster = Cluster::start().await;
    let client = cluster.client(ADMIN).await;
    apply(&client, "services", service("stays")).await;
    apply(&client, "services", service("deleted")).await;
    let watching =
        Watching::start(OpenedSource::Cluster(client.clone()), resource("v1", "services"), events());
    watching.until_named(&["default/deleted", "default/kubernetes", "default/stays"]).await;
    cluster.save().await;
    delete(&client, "services", service("deleted")).await;
    for number in 0..50 {
        apply(&client, "services", service(&format!("later-{}", number % 2))).await;
        delete(&client, "services", service(&format!("later-{}", number % 2))).await;
    }
    apply(&client, "services", service("lost")).await;
    watching.until_named(&["default/kubernetes", "default/lost", "default/stays"]).await;
    cluster.restore().await;
    watching.until_named(&["default/deleted", "default/kubernetes", "default/stays"]).await;
    apply(&client, "services", service("new")).await;
    watching.until_named(&["default/deleted", "default/kubernetes", "default/new", "default/stays"]).await;
}
