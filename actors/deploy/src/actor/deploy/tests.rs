//! One deployment against a pod whose answers are scripted, in paused time.

use super::scene::*;
use crate::deployment::test_bundles;
use haptic_model::{
    Event, Fleet, Generation, HaproxyVersion,
    agent_api::{Epoch, Method, Outcome},
    pipeline::Leadership,
};
use std::{sync::Arc, time::Duration};
use tokio::time::Instant;

#[actix_rt::test]
async fn the_first_bundle_is_one_reload_and_a_server_change_is_one_call_without() {
    let mut scene = Scene::new();
    scene.validate(bundle(1, 1));
    let (generation, reload) = scene.deployed().await;
    assert_eq!(generation, 1);
    assert!(reload.unwrap().contains("first configuration"));
    assert_eq!(scene.calls(), ["status", "apply 1"]);
    scene.validate(bundle(1, 2));
    assert_eq!(scene.deployed().await, (2, None));
    assert_eq!(scene.calls(), ["apply 2"]);
    let (_, order) = scene.order(1);
    assert_eq!(order.base, Some(bundle(1, 1).digest));
    assert_eq!(order.contents.keys().collect::<Vec<_>>(), ["haproxy.cfg"], "the map is there already");
    assert_eq!(scene.deployed_so_far(), Some(Generation(2)));
}

#[actix_rt::test]
async fn a_pod_that_runs_the_bundle_already_is_only_asked() {
    let mut scene = Scene::new();
    scene.pod.0.lock().unwrap().runs(&bundle(1, 1), 77);
    scene.validate(bundle(1, 1));
    assert_eq!(scene.deployed().await, (1, None));
    assert_eq!(scene.calls(), ["status"]);
}

#[actix_rt::test]
async fn a_restarted_controller_reads_what_the_pod_runs_and_changes_only_the_difference() {
    let mut scene = Scene::new();
    scene.pod.0.lock().unwrap().runs(&bundle(1, 1), 77);
    scene.validate(bundle(1, 2));
    assert_eq!(scene.deployed().await, (1, None));
    assert_eq!(scene.calls(), ["status", "bundle", "apply 1"]);
}

#[actix_rt::test]
async fn reloads_keep_their_interval_and_the_newest_bundle_wins_the_wait() {
    let mut scene = Scene::new();
    scene.validate(bundle(1, 1));
    scene.deployed().await;
    scene.validate(bundle(2, 1));
    scene.pass(Duration::from_millis(500)).await;
    scene.validate(bundle(3, 1));
    let (generation, reload) = scene.deployed().await;
    assert_eq!((generation, reload.as_deref()), (3, Some("global section: maxconn changed")));
    let gap = scene.order(1).0 - scene.order(0).0;
    assert!(gap >= Duration::from_secs(2) && gap < Duration::from_millis(2100), "{gap:?}");
    scene.validate(bundle(3, 2));
    scene.deployed().await;
    let gap = scene.order(2).0 - scene.order(1).0;
    assert!(gap < Duration::from_millis(100), "a change without a reload waits for nothing: {gap:?}");
}

#[actix_rt::test]
async fn while_a_slow_deployment_runs_only_the_newest_bundle_waits() {
    let mut scene = Scene::new();
    scene.validate(bundle(1, 1));
    scene.deployed().await;
    scene.pod.0.lock().unwrap().delay = Duration::from_secs(5);
    for server in 2..6 {
        scene.validate(bundle(1, server));
        scene.pass(Duration::from_millis(10)).await;
    }
    assert_eq!(scene.deployed().await.0, 2);
    assert_eq!(scene.deployed().await.0, 5);
    assert_eq!(scene.calls(), ["status", "apply 1", "apply 2", "apply 5"]);
}

#[actix_rt::test]
async fn a_conflict_is_read_and_planned_again_at_once() {
    let mut scene = Scene::new();
    scene.validate(bundle(1, 1));
    scene.deployed().await;
    scene.pod.0.lock().unwrap().runs(&bundle(1, 9), 5);
    scene.calls();
    scene.validate(bundle(1, 2));
    assert_eq!(scene.deployed().await, (2, None));
    assert_eq!(scene.calls(), ["apply 2", "status", "bundle", "apply 2"]);
}

#[actix_rt::test]
async fn a_pod_that_always_conflicts_is_retried_with_pauses() {
    let mut scene = Scene::new();
    scene.script((0..8).map(|_| Ok(Outcome::Conflict { running: None })));
    scene.validate(bundle(1, 1));
    assert!(scene.failed().await.contains("does another controller deploy to it"));
    assert!(scene.calls().len() <= 8);
    assert_eq!(scene.deployed().await.0, 1);
}

#[actix_rt::test]
async fn operations_that_the_socket_refuses_become_one_reload() {
    let mut scene = Scene::new();
    scene.validate(bundle(1, 1));
    scene.deployed().await;
    scene.script([refused(true)]);
    scene.validate(bundle(1, 2));
    let (generation, reload) = scene.deployed().await;
    assert_eq!((generation, reload.as_deref()), (2, Some("HAProxy's socket refused: No such server.")));
    scene.validate(bundle(1, 3));
    assert_eq!(scene.deployed().await, (3, None), "the next change goes through the socket again");
}

#[actix_rt::test]
async fn a_refused_reload_is_told_in_haproxys_words_and_tried_again() {
    let mut scene = Scene::new();
    scene.script([refused(false), refused(false)]);
    scene.validate(bundle(1, 1));
    assert!(scene.failed().await.contains("No such server."));
    assert!(scene.states.latest()[&target()].last_error.is_some());
    assert_eq!(scene.deployed().await.0, 1);
    assert!(scene.states.latest()[&target()].last_error.is_none());
}

#[actix_rt::test]
async fn a_reload_that_stays_refused_is_tried_less_and_less_often() {
    let mut scene = Scene::new();
    scene.script((0..10).map(|_| refused(false)));
    scene.validate(bundle(1, 1));
    for _ in 0..10 {
        scene.failed().await;
    }
    assert_eq!(scene.deployed().await.0, 1);
    let gap = scene.order(10).0 - scene.order(9).0;
    assert!(gap >= Duration::from_secs(90), "{gap:?}");
}

#[actix_rt::test]
async fn what_a_pod_cannot_carry_out_is_nobodys_fault_however_often_and_tried_again() {
    let (mut scene, [before, after]) = (Scene::new(), before_and_after_an_object_came());
    scene.validate(before);
    assert_eq!(scene.deployed().await.0, 1);
    scene.script((0..3).map(|_| Ok(Outcome::Failed { message: "No space left on device".into() })));
    scene.validate(after);
    for _ in 0..3 {
        assert!(scene.failed().await.contains("the pod could not carry it out: No space left on device"));
    }
    assert_eq!(scene.deployed().await.0, 2);
    assert!(scene.failed_reloads.latest().0.is_empty());
}

#[actix_rt::test]
async fn a_bundle_that_haproxy_refuses_twice_is_what_changed_ones_fault() {
    let (mut scene, [before, after]) = (Scene::new(), before_and_after_an_object_came());
    scene.snapshots = test_bundles::stores_of(&after);
    scene.validate(before);
    assert_eq!(scene.deployed().await.0, 1);
    scene.script([refused(false), refused(false)]);
    scene.validate(after);
    scene.failed().await;
    assert!(scene.failed_reloads.latest().0.is_empty(), "once may be the pod's own trouble");
    scene.failed().await;
    let report = scene.failed_reloads.latest().0.first().cloned().expect("a report");
    assert_eq!(report.objects.iter().map(|(object, _)| &*object.name).collect::<Vec<_>>(), ["b"]);
}

#[actix_rt::test]
async fn after_a_timeout_the_pod_is_asked_before_anything_is_sent_again() {
    let mut scene = Scene::new();
    scene.script([timeout()]);
    scene.validate(bundle(1, 1));
    assert!(scene.failed().await.contains("gave no answer to /v1/apply within 30s"));
    assert_eq!(scene.deployed().await.0, 1);
    assert_eq!(scene.calls(), ["status", "apply 1", "status", "apply 1"]);
}

#[actix_rt::test]
async fn pauses_between_failures_grow_to_their_cap() {
    let mut scene = Scene::new();
    scene.script((0..10).map(|_| timeout()));
    scene.validate(bundle(1, 1));
    assert_eq!(scene.deployed().await.0, 1);
    let gaps: Vec<Duration> = (1..10).map(|n| scene.order(n).0 - scene.order(n - 1).0).collect();
    assert!(gaps[8] >= Duration::from_secs(9), "{gaps:?}");
    assert!(gaps.iter().all(|gap| *gap <= Duration::from_secs(21)), "{gaps:?}");
}

#[actix_rt::test]
async fn a_newer_bundle_ends_a_pause_early() {
    let mut scene = Scene::new();
    scene.script((0..6).map(|_| timeout()));
    scene.validate(bundle(1, 1));
    for _ in 0..6 {
        scene.failed().await;
    }
    let before = Instant::now();
    scene.validate(bundle(1, 2));
    assert_eq!(scene.deployed().await.0, 2);
    assert!(before.elapsed() < Duration::from_secs(3), "{:?}", before.elapsed());
}

#[actix_rt::test]
async fn contents_that_the_pod_lost_are_sent() {
    let mut scene = Scene::new();
    scene.validate(bundle(1, 1));
    scene.deployed().await;
    scene.script([Ok(Outcome::Missing { paths: vec!["maps/h.map".into()] })]);
    scene.validate(bundle(1, 2));
    assert_eq!(scene.deployed().await.0, 2);
    assert_eq!(scene.order(2).1.contents.keys().collect::<Vec<_>>(), ["haproxy.cfg", "maps/h.map"]);
}

#[actix_rt::test]
async fn only_the_leader_deploys_and_a_new_one_does_so_at_once() {
    let mut scene = Scene::with(false);
    scene.validate(bundle(1, 1));
    scene.pass(Duration::from_secs(30)).await;
    assert_eq!(scene.calls(), ["status"], "versions are known on every replica");
    assert!(scene.states.latest()[&target()].capabilities.is_some());
    let epoch = Epoch { lease_created: 1, transitions: 4 };
    scene.leadership.publish(Leadership { leads: true, epoch });
    assert_eq!(scene.deployed().await.0, 1);
    assert_eq!(scene.order(0).1.epoch, epoch);
}

#[actix_rt::test]
async fn no_order_leaves_once_another_replica_leads() {
    let mut scene = Scene::new();
    scene.pod.0.lock().unwrap().answers_after = Duration::from_secs(4);
    scene.validate(bundle(1, 1));
    scene.pass(Duration::from_secs(2)).await;
    scene.lead(false, 1);
    scene.pass(Duration::from_secs(30)).await;
    assert!(scene.calls().iter().all(|call| call == "status"), "it was asked while this replica led");
}

#[actix_rt::test]
async fn a_standby_that_can_read_its_pod_again_forgets_why_it_could_not() {
    let scene = Scene::with(false);
    let last_error = || scene.states.latest()[&target()].last_error.clone();
    scene.pod.0.lock().unwrap().silent = true;
    scene.pass(Duration::from_secs(5)).await;
    assert!(last_error().unwrap().contains("gave no answer to /v1/status"));
    scene.pod.0.lock().unwrap().silent = false;
    scene.pass(Duration::from_secs(20)).await;
    assert_eq!(last_error(), None);
}

#[actix_rt::test]
async fn how_far_a_pod_lags_is_told_only_of_what_was_brought_to_it_for_the_first_time() {
    let mut scene = Scene::new();
    scene.pod.0.lock().unwrap().runs(&bundle(1, 1), 77);
    scene.validate(bundle(1, 1));
    assert_eq!(scene.lag().await, None, "an actor or a leader before brought it, who knows when");
    scene.validate(bundle(1, 2));
    let lag = scene.lag().await;
    assert!(lag.is_some());
    scene.pod.0.lock().unwrap().status.running = None;
    assert_eq!(scene.lag().await, None, "it had it before somebody changed it");
    assert_eq!(scene.states.latest()[&target()].lag, lag);
}

#[actix_rt::test]
async fn a_stale_leader_says_so_and_does_not_insist() {
    let mut scene = Scene::new();
    scene.script([Ok(Outcome::Stale { epoch: Epoch::default() })]);
    scene.validate(bundle(1, 1));
    assert!(scene.failed().await.contains("newer leadership"));
}

#[actix_rt::test]
async fn drift_is_found_told_and_taken_back() {
    let mut scene = Scene::new();
    scene.validate(bundle(1, 1));
    scene.deployed().await;
    let start = Instant::now();
    scene.pod.0.lock().unwrap().status.running = None;
    let Event::DriftFound { what, .. } = scene.next().await else { panic!("drift expected") };
    assert!(what.contains("bootstrap"), "{what}");
    assert!(start.elapsed() <= Duration::from_secs(61));
    assert_eq!(scene.deployed().await.0, 1);
}

/// Another leader brings the pod to another bundle meanwhile.
#[actix_rt::test]
async fn a_replica_that_does_not_lead_any_more_compares_no_pods() {
    let mut scene = Scene::new();
    scene.validate(bundle(1, 1));
    scene.deployed().await;
    scene.lead(false, 1);
    scene.pod.0.lock().unwrap().runs(&bundle(1, 2), 7);
    scene.pass(Duration::from_secs(200)).await;
    scene.validate(bundle(1, 2));
    scene.lead(true, 2);
    scene.pass(Duration::from_secs(200)).await;
    assert_eq!(scene.drift_so_far(), 0);
    scene.pod.0.lock().unwrap().status.running = None;
    scene.pass(Duration::from_secs(61)).await;
    assert_eq!(scene.drift_so_far(), 1, "what is changed while it leads is found");
}

#[actix_rt::test]
async fn a_leadership_that_ends_while_a_pod_is_asked_finds_no_drift() {
    let mut scene = Scene::new();
    scene.validate(bundle(1, 1));
    scene.deployed().await;
    let asked = Duration::from_secs(61);
    scene.pod.0.lock().unwrap().answers_after = Duration::from_secs(5);
    scene.pass(asked).await;
    assert_eq!(scene.calls().last().map(String::as_str), Some("status"));
    scene.lead(false, 1);
    scene.pod.0.lock().unwrap().runs(&bundle(1, 2), 7);
    scene.pass(Duration::from_secs(100)).await;
    assert_eq!(scene.drift_so_far(), 0);
}

#[actix_rt::test]
async fn files_that_somebody_changed_are_written_again_without_a_reload() {
    let mut scene = Scene::new();
    scene.validate(bundle(1, 1));
    scene.deployed().await;
    scene.pod.0.lock().unwrap().status.intact = false;
    let Event::DriftFound { what, .. } = scene.next().await else { panic!("drift expected") };
    assert!(what.contains("files on its disk"), "{what}");
    scene.pass(Duration::from_secs(1)).await;
    assert!(scene.pod.0.lock().unwrap().status.intact);
    assert_eq!(scene.order(1).1.method, Method::Store);
}

#[actix_rt::test]
async fn a_haproxy_that_is_down_is_waited_for() {
    let mut scene = Scene::new();
    scene.validate(bundle(1, 1));
    scene.deployed().await;
    scene.pod.0.lock().unwrap().status.alive = false;
    assert!(scene.failed().await.contains("does not answer its socket"));
    scene.pod.0.lock().unwrap().status.alive = true;
    scene.pass(Duration::from_secs(20)).await;
    assert!(scene.states.latest()[&target()].last_error.is_none());
}

/// A pod that can add no backends, as the fleet then says.
async fn pod_without_dynamic_backends(scene: &mut Scene) -> Fleet {
    let version = HaproxyVersion::new(3, 2);
    scene.pod.0.lock().unwrap().status.version = version;
    scene.validate(bundle(1, 1));
    scene.pass(Duration::from_secs(5)).await;
    Fleet::of_version(version)
}

#[actix_rt::test]
async fn what_was_rendered_without_knowing_the_pod_waits_for_what_knows_it() {
    let mut scene = Scene::new();
    let fleet = pod_without_dynamic_backends(&mut scene).await;
    assert_eq!(scene.calls(), ["status"], "it is asked, and nothing is brought");
    scene.fleet = Arc::new(fleet);
    scene.validate(bundle(2, 1));
    assert_eq!(scene.deployed().await.0, 2);
    assert_eq!(scene.calls(), ["apply 2"]);
}

#[actix_rt::test]
async fn when_no_render_knows_the_pod_it_gets_what_there_is() {
    let mut scene = Scene::new();
    pod_without_dynamic_backends(&mut scene).await;
    assert_eq!(scene.deployed().await.0, 1);
}
