//! Servers that follow their endpoints while everything else that changed waits for a check and a reload.

use super::scene::{Scene, refused};
use crate::deployment::other_changes;
use haptic_model::{Bundle, BundleFile, Event, FileKey, ObjectRef, agent_api::Method};
use haptic_text::{Blame, Digest, Fragment, Text};
use serde_json::json;
use std::{sync::Arc, time::Duration};

/// One object's backend with this server, below a `maxconn` that only a reload changes.
fn bundle(maxconn: u32, server: u8) -> Bundle {
    let block = Some(Arc::new(ObjectRef::new("ingresses", "n", "a")));
    let pieces = vec![
        Fragment::new(format!("global\n maxconn {maxconn}\n"), Arc::default()),
        Fragment::new(
            format!("backend b\n server a 10.0.0.{server}:80\n"),
            Arc::new(Blame { block, ..Blame::default() }),
        ),
    ];
    Bundle::new(BundleFile::new(FileKey::config(), "haproxy.cfg", Text::new(pieces)), [])
}

/// A pod that runs a checked bundle, has it on disk and may be reloaded.
async fn settled() -> Scene {
    let mut scene = Scene::new();
    scene.snapshots = other_changes::tests::put(&scene.snapshots, "ingresses", "n", "a", &json!({}));
    scene.validate(bundle(1, 1));
    assert_eq!(scene.deployed().await.0, 1);
    scene.pass(Duration::from_secs(10)).await;
    scene.calls();
    scene
}

fn digests(scene: &Scene) -> (Option<Digest>, Option<Digest>) {
    let pod = scene.pod.0.lock().unwrap();
    let digest = |of: Option<haptic_model::agent_api::Running>| of.map(|running| running.digest);
    (digest(pod.status.running), digest(pod.status.stored))
}

fn is(running: (u32, u8), stored: (u32, u8)) -> (Option<Digest>, Option<Digest>) {
    (Some(bundle(running.0, running.1).digest), Some(bundle(stored.0, stored.1).digest))
}

#[actix_rt::test]
async fn servers_follow_while_the_rest_is_checked_and_the_reload_brings_all() {
    let mut scene = settled().await;
    scene.propose(bundle(2, 2));
    assert_eq!(scene.deployed().await, (1, None));
    assert_eq!(digests(&scene), is((1, 2), (1, 1)));
    assert!(matches!(scene.order(1).1.method, Method::Runtime { store: false, .. }));
    assert_eq!(scene.calls(), ["apply 1"]);
    scene.pass(Duration::from_secs(200)).await;
    assert!(scene.calls().iter().all(|call| call == "status"), "it stays");
    let newest = scene.propose(bundle(2, 3));
    assert_eq!(scene.deployed().await, (1, None));
    assert_eq!(digests(&scene), is((1, 3), (1, 1)));
    scene.pass_check(newest);
    let (generation, reload) = scene.deployed().await;
    assert_eq!((generation, reload.as_deref()), (3, Some("global section: maxconn changed")));
    assert_eq!(digests(&scene), is((2, 3), (2, 3)));
}

#[actix_rt::test]
async fn servers_do_not_wait_for_the_time_between_two_reloads() {
    let mut scene = settled().await;
    scene.validate(bundle(2, 1));
    assert!(scene.deployed().await.1.is_some());
    scene.validate(bundle(3, 2));
    assert_eq!(scene.deployed().await, (2, None));
    assert_eq!(digests(&scene), is((2, 2), (2, 1)));
    let (generation, reload) = scene.deployed().await;
    assert!(generation == 3 && reload.is_some());
    assert_eq!(digests(&scene), is((3, 2), (3, 2)));
}

#[actix_rt::test]
async fn what_went_ahead_of_a_refused_bundle_is_taken_back() {
    let mut scene = settled().await;
    let rendered = scene.propose(bundle(2, 2));
    scene.deployed().await;
    scene.fail_check(rendered);
    let Event::TakenBack { generation, to, .. } = scene.next().await else { panic!("it is told") };
    assert_eq!((generation.0, to.0), (2, 1));
    assert_eq!(scene.deployed().await, (1, None));
    assert_eq!(digests(&scene), is((1, 1), (1, 1)));
    scene.propose(bundle(2, 3));
    scene.pass(Duration::from_secs(5)).await;
    assert_eq!(digests(&scene), is((1, 1), (1, 1)), "the next one would be taken back as well");
}

#[actix_rt::test]
async fn a_haproxy_that_dies_meanwhile_ends_where_all_others_do() {
    let mut scene = settled().await;
    let rendered = scene.propose(bundle(2, 2));
    scene.deployed().await;
    scene.pod.0.lock().unwrap().begin_anew("HAProxy was restarted");
    let Event::DriftFound { what, .. } = scene.next().await else { panic!("it is told") };
    assert!(what.contains("HAProxy was restarted"), "{what}");
    scene.pass(Duration::from_secs(1)).await;
    assert_eq!(digests(&scene).1, is((1, 1), (1, 1)).1);
    scene.pass_check(rendered);
    while scene.deployed().await.0 < 2 {}
    assert_eq!(digests(&scene), is((2, 2), (2, 2)));
}

#[actix_rt::test]
async fn servers_that_the_socket_refuses_come_with_a_reload() {
    let mut scene = settled().await;
    scene.script([refused(true)]);
    scene.pod.0.lock().unwrap().status.exact = false;
    let rendered = scene.propose(bundle(2, 2));
    scene.pass(Duration::from_secs(1)).await;
    scene.pass_check(rendered);
    while scene.deployed().await.0 < 2 {}
    assert_eq!(digests(&scene), is((2, 2), (2, 2)));
}

#[actix_rt::test]
async fn servers_of_an_object_that_changed_wait_with_it() {
    let mut scene = settled().await;
    scene.snapshots =
        other_changes::tests::put(&scene.snapshots, "ingresses", "n", "a", &json!({ "guard": 1 }));
    scene.propose(bundle(2, 2));
    scene.pass(Duration::from_secs(5)).await;
    assert!(scene.calls().is_empty());
}

#[actix_rt::test]
async fn nothing_goes_ahead_where_the_configuration_wants_checks_first() {
    let mut scene = settled().await;
    scene.wants_checks_first();
    scene.validate(bundle(1, 1));
    scene.propose(bundle(2, 2));
    scene.pass(Duration::from_secs(5)).await;
    assert!(scene.calls().is_empty());
}
