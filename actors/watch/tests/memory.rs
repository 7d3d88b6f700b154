//! That an on-demand store holds no objects: resident memory of two processes that watch the same 10,000 Secrets.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "tests"
)]

mod cluster;
mod watching;

use cluster::{ADMIN, Cluster, client_at};
use futures::{StreamExt, TryStreamExt, stream};
use haptic_model::crd::{StoreKind, WatchedResource};
use haptic_watch::Origin;
use k8s_openapi::api::core::v1::Secret;
use kube::{Api, Client, api::PostParams};
use serde_json::{Value, json};
use std::{process::Command, time::Instant};
use watching::{Watching, events, resource};

/// The allocator of the real program.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const SECRETS: usize = 10_000;
const BYTES_EACH: usize = 4096;
const STORE: &str = "HAPTIC_TEST_STORE";
const URL: &str = "HAPTIC_TEST_URL";

/// The test starts this program again, once for each kind of store.
fn main() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    match std::env::var(STORE) {
        Ok(store) => runtime.block_on(watch(&store)),
        Err(_) => runtime.block_on(an_on_demand_store_holds_no_objects()),
    }
}

async fn an_on_demand_store_holds_no_objects() {
    let cluster = Cluster::start().await;
    create_secrets(&cluster.client(ADMIN).await).await;
    let [empty, full, on_demand] = ["empty", "full", "on-demand"].map(|store| measure(store, &cluster.url()));
    println!("empty     {empty}\nfull      {full}\non-demand {on_demand}");
    let number = |of: &Value, name: &str| of[name].as_u64().unwrap();
    let content = (SECRETS * BYTES_EACH) as u64;
    assert!(number(&full, "bytes") >= content);
    assert_eq!(number(&on_demand, "bytes"), 0);
    let saved = number(&full, "resident").saturating_sub(number(&on_demand, "resident"));
    assert!(saved >= content, "an on-demand store saves {saved} bytes only, of {content} of content");
}

fn measure(store: &str, url: &str) -> Value {
    let output =
        Command::new(std::env::current_exe().unwrap()).env(STORE, store).env(URL, url).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    let answer = text.lines().last().and_then(|line| serde_json::from_str(line).ok());
    answer.unwrap_or_else(|| {
        panic!("no answer from the {store} process: {}", String::from_utf8_lossy(&output.stderr))
    })
}

async fn watch(store: &str) {
    let client = client_at(&std::env::var(URL).unwrap(), ADMIN).await;
    let kind = if store == "full" { StoreKind::Full } else { StoreKind::OnDemand };
    let began = Instant::now();
    let (selector, expected) = if store == "empty" { ("none=selected", 0) } else { ("", SECRETS) };
    let secrets =
        WatchedResource { store: kind, label_selector: Some(selector.into()), ..resource("v1", "secrets") };
    let before = resident();
    let watching = Watching::start(Origin::Cluster(client), secrets, events());
    let snapshot = watching.until("all Secrets are there", |store| store.len() == expected).await;
    let took = began.elapsed();
    println!(
        "{}",
        json!({
            "bytes": snapshot.bytes(), "resident": resident() - before,
            "synced_ms": u64::try_from(took.as_millis()).unwrap()
        })
    );
}

/// Bytes, from the second number of `/proc/self/statm`, which counts pages.
fn resident() -> usize {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap();
    statm.split_whitespace().nth(1).unwrap().parse::<usize>().unwrap() * 4096
}

async fn create_secrets(client: &Client) {
    let api: Api<Secret> = Api::namespaced(client.clone(), "default");
    let create = |number: usize| {
        let api = api.clone();
        async move {
            let secret: Secret = serde_json::from_value(json!({
                "metadata": {"name": format!("s{number:05}")},
                "stringData": {"content": "x".repeat(BYTES_EACH)}
            }))
            .unwrap();
            api.create(&PostParams::default(), &secret).await
        }
    };
    stream::iter((0..SECRETS).map(create))
        .buffer_unordered(64)
        .try_for_each(|_| async { Ok(()) })
        .await
        .unwrap();
}
