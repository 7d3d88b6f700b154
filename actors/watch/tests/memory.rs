//! What stores take of resident memory, each measured in a process of its own: an on-demand store holds no objects of the 10,000
//! Secrets that it watches, and 100,000 objects of one namespace take no more than its limit allows.
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
use haptic_model::{
    Object, ObjectRef, Snapshot, StoreLimits,
    crd::{StoreKind, WatchedResource},
};
use haptic_text::Digest;
use haptic_watch::{
    OpenedSource,
    ingest::Ingested,
    quota::OVERHEAD,
    update::{ListScope, Update},
    writer::StoreWriter,
};
use k8s_openapi::api::core::v1::Secret;
use kube::{Api, Client, api::PostParams};
use serde_json::{Value, json};
use std::{process::Command, sync::Arc, time::Instant};
use watching::{Watching, events, resource};

/// The allocator of the real program.
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

const SECRETS: usize = 10_000;
const BYTES_EACH: usize = 4096;
const JUNK: usize = 100_000;
const MOST: usize = 5_000;
const STORE: &str = "HAPTIC_TEST_STORE";
const URL: &str = "HAPTIC_TEST_URL";

/// The test starts this program again, once for each kind of store.
fn main() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    match std::env::var(STORE) {
        Ok(store) if store.ends_with("junk") => fill(&store),
        Ok(store) => runtime.block_on(watch(&store)),
        Err(_) => {
            junk_of_one_namespace_takes_no_more_than_its_limit();
            runtime.block_on(an_on_demand_store_holds_no_objects());
        }
    }
}

fn junk_of_one_namespace_takes_no_more_than_its_limit() {
    let [without, with] = ["without junk", "with junk"].map(|store| measure(store, ""));
    println!("without junk {without}\nwith junk    {with}");
    let number = |of: &Value, name: &str| of[name].as_u64().unwrap();
    assert_eq!(number(&with, "objects"), number(&without, "objects"));
    assert!(number(&without, "resident") >= (2 * MOST * BYTES_EACH) as u64, "the measure measures nothing");
    let (without, with) = (number(&without, "resident"), number(&with, "resident"));
    assert!(with * 2 <= without * 3, "{with} bytes with junk, {without} without");
}

/// Two namespaces that are full; one of them has a hundred thousand objects, the oldest last, so that each has been in.
fn fill(store: &str) {
    let limits = StoreLimits { objects_per_namespace: MOST, ..StoreLimits::default() };
    let before = resident();
    let mut writer = StoreWriter::new(Snapshot::full(), limits);
    writer.apply(Update::Scopes([ListScope::from("")].into()));
    writer.apply(Update::ListBegun("".into()));
    let mut list = |namespace: &str, count: usize| {
        for number in 0..count {
            let name = format!("ingress-{number:06}");
            let object = Object {
                reference: Arc::new(ObjectRef::new("ingresses", namespace, &name)),
                version: 0,
                json: vec![b'x'; BYTES_EACH].into(),
            };
            let key = [Arc::from(namespace), Arc::from(name)].into();
            let ingested = Ingested {
                object,
                key,
                stamp: "".into(),
                created: -i64::try_from(number).unwrap(),
                takes: BYTES_EACH + OVERHEAD,
            };
            writer.apply(Update::Listed("".into(), ingested));
        }
    };
    list("shop", MOST);
    list("junk", if store == "with junk" { JUNK } else { MOST });
    writer.apply(Update::ListEnded("".into()));
    let rejected: usize = writer.rejected().unwrap().counts().iter().map(|(_, count)| count).sum();
    assert_eq!(rejected, if store == "with junk" { JUNK - MOST } else { 0 });
    println!("{}", json!({ "objects": writer.snapshot().len(), "resident": resident() - before }));
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
    let watching = Watching::start(OpenedSource::Cluster(client), secrets, events());
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

/// As keys are: nothing of it is repeated, so that it takes all of its bytes.
fn unlike_any_other(number: usize) -> String {
    let digests = (0..).map(|part| Digest::of(format!("{number} {part}").as_bytes()).to_string());
    let text: String = digests.take(BYTES_EACH / 8).collect();
    text.get(..BYTES_EACH).unwrap().to_owned()
}

async fn create_secrets(client: &Client) {
    let api: Api<Secret> = Api::namespaced(client.clone(), "default");
    let create = |number: usize| {
        let api = api.clone();
        async move {
            let secret: Secret = serde_json::from_value(json!({
                "metadata": {"name": format!("s{number:05}")},
                "stringData": {"content": unlike_any_other(number)}
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
