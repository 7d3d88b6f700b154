//! What goes live before its check has ended, and what becomes of it.

use super::scene::{Scene, bundle, refused};
use haptic_model::{
    Event, HaproxyVersion,
    agent_api::{Method, Outcome},
};
use haptic_text::Digest;
use std::time::Duration;
use tokio::time::Instant;

/// A pod that runs a checked bundle and has it on disk.
async fn settled() -> Scene {
    let mut scene = Scene::new();
    scene.validate(bundle(1, 1));
    assert_eq!(scene.deployed().await.0, 1);
    scene.calls();
    scene
}

fn running(scene: &Scene) -> Option<Digest> {
    scene.pod.0.lock().unwrap().status.running.map(|running| running.digest)
}

fn stored(scene: &Scene) -> Option<Digest> {
    scene.pod.0.lock().unwrap().status.stored.map(|stored| stored.digest)
}

#[actix_rt::test]
async fn a_change_by_operations_is_live_before_its_check_and_stored_after_it() {
    let mut scene = settled().await;
    let rendered = scene.propose(bundle(1, 2));
    assert_eq!(scene.deployed().await, (2, None));
    scene.pass(Duration::from_secs(1)).await;
    assert_eq!(scene.calls(), ["apply 2"]);
    assert!(matches!(scene.order(1).1.method, Method::Runtime { store: false, .. }));
    assert_eq!((running(&scene), stored(&scene)), (Some(bundle(1, 2).digest), Some(bundle(1, 1).digest)));
    scene.pass_check(rendered);
    scene.pass(Duration::from_secs(1)).await;
    assert_eq!(scene.calls(), ["store 2"]);
    assert_eq!(stored(&scene), Some(bundle(1, 2).digest));
    let store = scene.order(2).1;
    assert!(store.contents.is_empty(), "the pod has them already: {:?}", store.contents);
    scene.pass(Duration::from_secs(10)).await;
    assert!(scene.calls().is_empty(), "nothing is left to do");
}

#[actix_rt::test]
async fn where_the_configuration_wants_it_nothing_is_live_before_its_check() {
    let mut scene = settled().await;
    scene.wants_checks_first();
    scene.validate(bundle(1, 1));
    assert_eq!(scene.deployed().await, (2, None));
    let rendered = scene.propose(bundle(1, 2));
    scene.pass(Duration::from_secs(5)).await;
    assert!(scene.calls().is_empty());
    scene.pass_check(rendered);
    assert_eq!(scene.deployed().await, (3, None));
    assert_eq!((running(&scene), stored(&scene)), (Some(bundle(1, 2).digest), Some(bundle(1, 2).digest)));
}

#[actix_rt::test]
async fn a_new_configuration_is_live_only_once_it_has_passed() {
    let mut scene = settled().await;
    scene.reconfigure(|_| {});
    let rendered = scene.propose(bundle(1, 2));
    scene.pass(Duration::from_secs(5)).await;
    assert!(scene.calls().is_empty());
    scene.pass_check(rendered);
    assert_eq!(scene.deployed().await, (2, None));
    scene.propose(bundle(1, 3));
    assert_eq!(scene.deployed().await, (3, None), "from then on its changes are as quick as any");
}

#[actix_rt::test]
async fn a_change_that_needs_a_reload_waits_for_its_check() {
    let mut scene = settled().await;
    let rendered = scene.propose(bundle(2, 1));
    scene.pass(Duration::from_secs(5)).await;
    assert!(scene.calls().is_empty());
    let checked = Instant::now();
    scene.pass_check(rendered);
    let (generation, reload) = scene.deployed().await;
    assert_eq!((generation, reload.as_deref()), (2, Some("global section: maxconn changed")));
    assert!(checked.elapsed() < Duration::from_millis(100));
    assert_eq!(stored(&scene), Some(bundle(2, 1).digest));
}

#[actix_rt::test]
async fn nothing_goes_live_unchecked_before_the_first_check_of_this_process() {
    let mut scene = Scene::new();
    scene.pod.0.lock().unwrap().runs(&bundle(1, 1), 77);
    let rendered = scene.propose(bundle(1, 2));
    scene.pass(Duration::from_secs(5)).await;
    assert_eq!(scene.calls(), ["status"]);
    scene.pass_check(rendered);
    assert_eq!(scene.deployed().await, (1, None));
}

#[actix_rt::test]
async fn while_newer_ones_are_live_the_checked_ones_between_reach_the_disk_only() {
    let mut scene = settled().await;
    let second = scene.propose(bundle(1, 2));
    scene.deployed().await;
    scene.propose(bundle(1, 3));
    assert_eq!(scene.deployed().await, (3, None));
    scene.pass_check(second);
    scene.pass(Duration::from_secs(1)).await;
    assert_eq!(scene.calls(), ["apply 2", "apply 3", "store 2"]);
    assert_eq!((running(&scene), stored(&scene)), (Some(bundle(1, 3).digest), Some(bundle(1, 2).digest)));
}

#[actix_rt::test]
async fn what_is_refused_after_it_went_live_is_taken_back_and_told_with_its_template_line() {
    let mut scene = settled().await;
    let rendered = scene.propose(bundle(1, 2));
    scene.deployed().await;
    scene.fail_check(rendered);
    let Event::TakenBack { generation, to, why, .. } = scene.next().await else { panic!("it is told") };
    assert_eq!((generation.0, to.0), (2, 1));
    assert!(why.contains("unknown keyword 'x'") && why.contains("main:7"), "{why}");
    assert_eq!(scene.deployed().await, (1, None));
    assert_eq!(running(&scene), Some(bundle(1, 1).digest));

    scene.propose(bundle(1, 3));
    scene.pass(Duration::from_secs(5)).await;
    assert_eq!(running(&scene), Some(bundle(1, 1).digest), "the next one would be taken back as well");
    let mended = scene.propose(bundle(1, 4));
    scene.pass_check(mended);
    assert_eq!(scene.deployed().await, (4, None));
    scene.propose(bundle(1, 5));
    assert_eq!(scene.deployed().await, (5, None), "the way is open again");
}

#[actix_rt::test]
async fn refused_operations_become_one_reload_once_their_check_has_passed() {
    let mut scene = settled().await;
    scene.pass(Duration::from_secs(10)).await;
    scene.script([refused(true)]);
    scene.pod.0.lock().unwrap().status.exact = false;
    let rendered = scene.propose(bundle(1, 2));
    scene.pass(Duration::from_secs(1)).await;
    assert_eq!(scene.calls(), ["apply 2", "status"], "no second order before the check has ended");
    scene.pass_check(rendered);
    let (generation, reload) = scene.deployed().await;
    assert_eq!((generation, reload.as_deref()), (2, Some("HAProxy's socket refused: No such server.")));
    assert_eq!(stored(&scene), Some(bundle(1, 2).digest));
}

#[actix_rt::test]
async fn refused_operations_whose_check_fails_too_become_one_reload_of_the_checked_file() {
    let mut scene = settled().await;
    scene.script([refused(true)]);
    let rendered = scene.propose(bundle(1, 2));
    scene.pass(Duration::from_secs(10)).await;
    scene.fail_check(rendered);
    let (generation, reload) = scene.deployed().await;
    assert_eq!((generation, reload.as_deref()), (1, Some("HAProxy's socket refused: No such server.")));
    assert_eq!(running(&scene), Some(bundle(1, 1).digest));
}

#[actix_rt::test]
async fn a_haproxy_that_begins_anew_with_older_files_gets_the_newest_within_a_second() {
    let mut scene = settled().await;
    scene.propose(bundle(1, 2));
    scene.deployed().await;
    let died = Instant::now();
    scene.pod.0.lock().unwrap().begin_anew("HAProxy was restarted");
    let Event::DriftFound { what, .. } = scene.next().await else { panic!("it is told") };
    assert!(what.contains("HAProxy was restarted"), "{what}");
    assert_eq!(scene.deployed().await, (2, None));
    assert!(died.elapsed() < Duration::from_secs(1), "{:?}", died.elapsed());
    assert_eq!(running(&scene), Some(bundle(1, 2).digest));
}

#[actix_rt::test]
async fn what_neither_agent_nor_controller_know_any_more_costs_one_reload() {
    let mut scene = Scene::new();
    scene.pod.0.lock().unwrap().runs(&bundle(1, 1), 76);
    scene.pod.0.lock().unwrap().status.running.as_mut().unwrap().digest = bundle(1, 7).digest;
    scene.validate(bundle(1, 2));
    let (generation, reload) = scene.deployed().await;
    assert_eq!(generation, 1);
    assert!(reload.unwrap().contains("neither agent nor controller"), "it is told why");
    assert_eq!(scene.calls(), ["status", "bundle", "apply 1"]);
}

#[actix_rt::test]
async fn a_pod_that_forgot_what_an_order_refers_to_is_sent_everything() {
    let mut scene = settled().await;
    scene.script([Ok(haptic_model::agent_api::Outcome::Missing { paths: vec![] })]);
    scene.propose(bundle(1, 2));
    assert_eq!(scene.deployed().await, (2, None));
    let order = scene.order(2).1;
    assert_eq!((order.since, order.files.len(), order.contents.len()), (None, 2, 2));
}

#[actix_rt::test]
async fn files_that_cannot_be_stored_are_tried_again_with_pauses_and_hold_nothing_up() {
    let mut scene = settled().await;
    let second = scene.propose(bundle(1, 2));
    scene.deployed().await;
    scene.script((0..6).map(|_| Ok(Outcome::Failed { message: "No space left on device".into() })));
    scene.pass_check(second);
    for _ in 0..6 {
        assert!(scene.failed().await.contains("could not store its files"));
    }
    scene.propose(bundle(1, 3));
    assert_eq!(scene.deployed().await, (3, None));
    scene.pass(Duration::from_secs(30)).await;
    assert_eq!(stored(&scene), Some(bundle(1, 2).digest));
}

#[actix_rt::test]
async fn what_the_pods_own_checker_refuses_to_store_is_reloaded_which_finds_who_is_at_fault() {
    let mut scene = settled().await;
    let second = scene.propose(bundle(1, 2));
    scene.deployed().await;
    scene.script([refused(false), refused(false)]);
    scene.calls();
    scene.pass_check(second);
    assert!(scene.failed().await.contains("No such server"));
    assert_eq!(scene.calls(), ["store 2", "apply 2"]);
    assert!(matches!(scene.order(3).1.method, Method::Reload { .. }));
}

#[actix_rt::test]
async fn an_agent_stores_files_with_the_operations() {
    let mut scene = settled().await;
    scene.validate(bundle(1, 2));
    scene.deployed().await;
    scene.pass(Duration::from_millis(10)).await;
    assert_eq!(scene.calls(), ["apply 2"], "an agent writes them with the operations");
}

#[actix_rt::test]
async fn where_operations_store_nothing_an_order_of_its_own_does() {
    let mut scene = Scene::new();
    scene.pod.0.lock().unwrap().status.data_plane_api = Some(HaproxyVersion::new(3, 4));
    scene.validate(bundle(1, 1));
    scene.deployed().await;
    scene.validate(bundle(1, 2));
    scene.deployed().await;
    scene.pass(Duration::from_millis(10)).await;
    assert_eq!(scene.calls(), ["status", "apply 1", "apply 2", "store 2"]);
    assert_eq!(stored(&scene), running(&scene));
}

#[actix_rt::test]
async fn what_somebody_changed_through_the_socket_is_told_and_set_right_without_a_reload() {
    let mut scene = settled().await;
    scene.pod.0.lock().unwrap().weight = 7;
    let Event::DriftFound { what, .. } = scene.next().await else { panic!("it is told") };
    assert_eq!(what, "server b/a has weight 7, not 1");
    scene.pass(Duration::from_secs(1)).await;
    assert_eq!(scene.pod.0.lock().unwrap().weight, 1);
    assert_eq!(scene.calls(), ["status", "apply 1"]);
    scene.pass(Duration::from_secs(300)).await;
    assert!(scene.calls().iter().all(|call| call == "status"), "once was enough");
}

#[actix_rt::test]
async fn what_changes_under_another_leader_while_it_is_looked_at_is_left_to_that_leader() {
    let mut scene = settled().await;
    scene.pass(Duration::from_secs(30)).await;
    scene.pod.0.lock().unwrap().is_looked_at_for = Duration::from_secs(20);
    scene.pod.0.lock().unwrap().weight = 7;
    scene.pass(Duration::from_secs(40)).await;
    assert_eq!(scene.calls(), ["status"], "it is looked at");
    scene.lead(false, 1);
    scene.pass(Duration::from_secs(30)).await;
    assert_eq!(scene.drift_so_far(), 0);
    assert!(scene.calls().iter().all(|call| call == "status"), "nothing is set right");
}
