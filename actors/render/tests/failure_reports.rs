//! What a check or a pod refuses, and whom it goes back for.

use crate::support::{
    Setup,
    cluster::{Cluster, TEMPLATE, cluster, note, put, report},
};
use haptic_model::{FailureReport, Snapshot};
use serde_json::json;
use std::{collections::BTreeMap, sync::Arc, time::Duration};

#[test]
fn what_a_check_refuses_goes_back_and_is_tried_again_when_it_changes_or_after_a_rest() {
    let mut cluster = cluster();
    cluster.change(|setup| put(put(setup, "a", "good.example"), "b", "b.example"));
    cluster.render();
    cluster.change(|setup| put(setup, "a", "bad.example"));
    let outcome = cluster.render_unchecked(None);
    let report = report(&cluster, &outcome, "a", false);
    let text = cluster.render_unchecked(Some(&report)).rendering.unwrap().bundle.config.text.clone();
    assert!(text.contains("good.example") && !text.contains("bad.example"));
    assert_eq!(cluster.held(), ["a true"]);
    assert_eq!(cluster.quarantine.next_try(cluster.now), Some(Duration::from_secs(240)));
    cluster.render_unchecked(Some(&report)).rendering.unwrap();
    assert_eq!(cluster.held(), ["a true"], "a report counts once");
    // The first time, what its block had read counts at once.
    cluster.change(|setup| note(setup, "a", "fine"));
    let outcome = cluster.render_unchecked(None);
    assert_eq!(cluster.held(), Vec::<String>::new());
    let again = self::report(&cluster, &outcome, "a", false);
    cluster.render_unchecked(Some(&again)).rendering.unwrap();
    cluster.change(|setup| note(setup, "a", "better"));
    cluster.render();
    assert_eq!(cluster.held(), ["a true"], "a service that changes all the time costs no check each time");
    assert_eq!(cluster.quarantine.next_try(cluster.now), Some(Duration::from_secs(30)));
    cluster.now += Duration::from_secs(30);
    let outcome = cluster.render_unchecked(None);
    assert_eq!(cluster.held(), Vec::<String>::new());
    let again = self::report(&cluster, &outcome, "a", false);
    cluster.render_unchecked(Some(&again)).rendering.unwrap();
    cluster.render();
    assert_eq!(
        cluster.quarantine.next_try(cluster.now),
        Some(Duration::from_secs(1)),
        "another version is tried then"
    );
    cluster.now += Duration::from_secs(1);
    assert_eq!(cluster.quarantine.next_try(cluster.now), Some(Duration::from_secs(59)));
    cluster.now += Duration::from_secs(59);
    assert_eq!(cluster.quarantine.next_try(cluster.now), Some(Duration::from_secs(900)));
    cluster.change(|setup| put(setup, "a", "other.example"));
    assert!(cluster.render().rendering.unwrap().bundle.config.text.contains("other.example"));
    assert_eq!(cluster.held(), Vec::<String>::new());
}

#[test]
fn what_is_live_but_not_checked_yet_stands_in_until_a_check_refuses_it() {
    let mut cluster = cluster();
    cluster.change(|setup| put(setup, "b", "b.example"));
    cluster.render();
    cluster.change(|setup| put(setup, "a", "first.example"));
    let first = cluster.render_unchecked(None);
    cluster.change(|setup| put(setup, "a", "fails"));
    let second = cluster.render_unchecked(None);
    assert!(second.rendering.unwrap().bundle.config.text.contains("first.example"));
    assert_eq!(cluster.held(), ["a true"]);
    let report = report(&cluster, &first, "a", false);
    let third = cluster.render_unchecked(Some(&report));
    let text = third.rendering.unwrap().bundle.config.text.clone();
    assert!(!text.contains("first.example") && text.contains("b.example"), "{text}");
    assert_eq!(cluster.held(), ["a false"]);
    cluster.render();
    cluster.change(|setup| put(setup, "a", "registered"));
    assert!(!cluster.render().rendering.unwrap().bundle.config.text.contains("first.example"));
    assert_eq!(cluster.held(), ["a false"]);
}

#[test]
fn a_suspect_whose_own_object_did_not_change_stays_as_long_as_another_one_is_held() {
    let mut cluster = cluster();
    cluster.change(|setup| note(put(put(setup, "a", "a.example"), "b", "b.example"), "b", "fine"));
    cluster.render();
    cluster.change(|setup| note(put(setup, "a", "other.example"), "b", "other"));
    let outcome = cluster.render_unchecked(None);
    let report = |names: &[&str]| {
        let all = names.iter().map(|name| self::report(&cluster, &outcome, name, true));
        let suspects = all.flat_map(|report| report.suspects.clone()).collect();
        Arc::new(FailureReport { suspects, ..(*self::report(&cluster, &outcome, "a", true)).clone() })
    };
    let (both, last) = (report(&["a", "b"]), report(&["b"]));
    cluster.render_unchecked(Some(&both)).rendering.unwrap();
    assert_eq!(cluster.held(), ["a true"]);
    cluster.render_unchecked(Some(&last)).rendering.unwrap();
    assert_eq!(cluster.held(), ["a true", "b false"], "it is nobody else");
}

#[test]
fn a_report_about_a_version_that_is_gone_is_nothing() {
    let mut cluster = cluster();
    cluster.change(|setup| put(setup, "a", "bad.example"));
    let outcome = cluster.render_unchecked(None);
    let report = report(&cluster, &outcome, "a", false);
    cluster.change(|setup| put(setup, "a", "good.example"));
    cluster.render_unchecked(Some(&report)).rendering.unwrap();
    assert_eq!(cluster.held(), Vec::<String>::new());
}

#[test]
fn a_report_whose_cause_was_elsewhere_and_is_gone_is_nothing_the_first_time() {
    let mut cluster = cluster();
    cluster.change(|setup| note(put(setup, "a", "a.example"), "a", "spoils it for a check"));
    let outcome = cluster.render_unchecked(None);
    let report = report(&cluster, &outcome, "a", false);
    cluster.change(|setup| note(setup, "a", "fine"));
    cluster.render_unchecked(Some(&report)).rendering.unwrap();
    assert_eq!(cluster.held(), Vec::<String>::new());
    let outcome = cluster.render_unchecked(None);
    let again = self::report(&cluster, &outcome, "a", false);
    cluster.change(|setup| note(setup, "a", "other"));
    cluster.render_unchecked(Some(&again)).rendering.unwrap();
    assert_eq!(cluster.held(), ["a false"], "what changes all the time is no excuse");
}

#[test]
fn those_only_suspected_come_back_half_by_half_as_bundles_pass() {
    let mut cluster = cluster();
    for number in 0..4 {
        cluster.change(|setup| put(setup, &format!("i{number}"), "h.example"));
    }
    let outcome = cluster.render_unchecked(None);
    let mut all = Vec::new();
    for number in 0..4 {
        all.extend(report(&cluster, &outcome, &format!("i{number}"), true).suspects.clone());
    }
    let report = report(&cluster, &outcome, "i0", true);
    let report = Arc::new(FailureReport { suspects: all, ..(*report).clone() });
    cluster.render_unchecked(Some(&report)).rendering.unwrap();
    assert_eq!(cluster.held().len(), 4);
    cluster.render();
    assert_eq!(cluster.held().len(), 4, "nothing without them has passed before this render");
    let mut left = Vec::new();
    while !cluster.held().is_empty() && left.len() < 10 {
        cluster.render();
        left.push(cluster.held().len());
    }
    assert_eq!(left, [2, 1, 0]);
}

#[test]
fn two_pods_that_fail_alike_leave_what_stands_in_for_the_object() {
    let mut cluster = cluster();
    cluster.change(|setup| put(setup, "a", "good.example"));
    cluster.render();
    cluster.change(|setup| put(setup, "a", "bad.example"));
    let outcome = cluster.render_unchecked(None);
    for _ in ["one pod", "the other"] {
        let report = report(&cluster, &outcome, "a", false);
        cluster.render_unchecked(Some(&report)).rendering.unwrap();
        assert_eq!(cluster.held(), ["a true"]);
    }
}

#[test]
fn what_a_reload_refuses_goes_back_to_what_the_pod_ran_though_all_checks_had_passed() {
    let mut cluster = cluster();
    cluster.change(|setup| put(setup, "a", "good.example"));
    cluster.render();
    let ran = cluster.good.clone();
    cluster.change(|setup| put(setup, "a", "bad.example"));
    let outcome = cluster.render();
    let report = report(&cluster, &outcome, "a", false);
    let report = Arc::new(FailureReport { good: ran, ..(*report).clone() });
    let text = cluster.render_unchecked(Some(&report)).rendering.unwrap().bundle.config.text.clone();
    assert!(text.contains("good.example") && !text.contains("bad.example"), "{text}");
    assert_eq!(cluster.held(), ["a true"]);
}

#[test]
fn of_suspects_that_cost_a_reload_the_one_at_fault_is_alone_after_a_few_tries() {
    let mut cluster = cluster();
    cluster.change(|setup| put(setup, "always", "always.example"));
    cluster.render();
    let ran = cluster.good.clone();
    for number in 0..16 {
        cluster.change(|setup| put(setup, &format!("i{number:02}"), "h.example"));
    }
    let (mut reloads, mut took) = (0, Duration::ZERO);
    let mut back: BTreeMap<String, bool> = BTreeMap::new();
    loop {
        let outcome = cluster.render();
        let text = outcome.rendering.as_ref().unwrap().bundle.config.text.to_string();
        let held: Vec<String> = cluster.held().iter().map(|held| held.replace(" false", "")).collect();
        let tried: Vec<String> = (0..16)
            .map(|n| format!("i{n:02}"))
            .filter(|n| !held.contains(n) && !back.contains_key(n))
            .collect();
        if !tried.is_empty() {
            reloads += 1;
        }
        if text.contains("backend i11\n") {
            let [first, ..] = &*tried else { panic!("nothing was tried") };
            if tried.len() == 1 {
                assert_eq!(first, "i11");
                break;
            }
            let suspects: Vec<_> = tried
                .iter()
                .flat_map(|name| report(&cluster, &outcome, name, true).suspects.clone())
                .collect();
            let all = report(&cluster, &outcome, first, true);
            let all = Arc::new(FailureReport { suspects, good: ran.clone(), ..(*all).clone() });
            cluster.render_unchecked(Some(&all)).rendering.unwrap();
        } else {
            back.extend(tried.into_iter().map(|name| (name, true)));
        }
        let next = cluster.quarantine.next_try(cluster.now).unwrap();
        // Once a bundle without them has passed, those that are due are tried at once.
        let is_rest = next.is_zero() || (5..=30).contains(&next.as_secs());
        assert!(is_rest, "a reload ends before the next one is tried: {next:?}");
        cluster.now += next;
        took += next;
        assert!(reloads < 25, "{held:?}");
    }
    assert_eq!(back.len(), 15, "everybody else is back by then");
    assert!(took < Duration::from_secs(150), "{took:?}");
}

/// The ConfigMap of another controller, with a value.
fn settings(setup: Setup, value: &str) -> Setup {
    let object = json!({"metadata": {"namespace": "edge", "name": "theirs"}, "data": {"limit-rate": value}});
    setup.object("configmaps", "edge", "theirs", &["edge", "theirs"], object)
}

#[test]
fn settings_that_spoil_what_did_not_change_go_back_themselves() {
    let mut setup = Setup::new(TEMPLATE)
        .with("watchedResources/configmaps", json!({"apiVersion": "v1", "resources": "configmaps"}))
        .extra(json!({"annotationFamilies": {"ingress-nginx": {"configMap": "edge/theirs"}}}));
    setup.stores.insert("configmaps".into(), Snapshot::full());
    let mut cluster = Cluster::new(put(put(setup, "a", "a.example"), "b", "b.example"));
    cluster.render();
    for (before, is_former) in [(None, "theirs false"), (Some("500"), "theirs true")] {
        if let Some(good) = before {
            cluster.change(|setup| settings(setup, good));
            cluster.render();
            assert_eq!(cluster.held(), Vec::<String>::new(), "it is good again");
        }
        cluster.change(|setup| settings(setup, "5000000"));
        let outcome = cluster.render_unchecked(None);
        let reports = ["a", "b"].map(|name| report(&cluster, &outcome, name, false));
        let objects = reports.iter().flat_map(|report| report.objects.clone()).collect();
        let both = Arc::new(FailureReport { objects, ..(*reports[0]).clone() });
        let text = cluster.render_unchecked(Some(&both)).rendering.unwrap().bundle.config.text.clone();
        assert!(text.contains("a.example") && text.contains("b.example"), "{text}");
        assert_eq!(cluster.held(), [is_former]);
    }
}

#[test]
fn settings_that_are_right_again_by_then_stay_and_so_do_those_of_others_at_fault() {
    let mut setup = Setup::new(TEMPLATE)
        .with("watchedResources/configmaps", json!({"apiVersion": "v1", "resources": "configmaps"}))
        .extra(json!({"annotationFamilies": {"ingress-nginx": {"configMap": "edge/theirs"}}}));
    setup.stores.insert("configmaps".into(), Snapshot::full());
    let mut cluster = Cluster::new(settings(put(setup, "a", "a.example"), "500"));
    cluster.render();
    cluster.change(|setup| settings(setup, "5000000"));
    let outcome = cluster.render_unchecked(None);
    let late = report(&cluster, &outcome, "a", false);
    cluster.change(|setup| settings(setup, "600"));
    cluster.render_unchecked(Some(&late)).rendering.unwrap();
    assert!(!cluster.held().iter().any(|held| held.starts_with("theirs")), "{:?}", cluster.held());
    // What it reads in its own namespace changed as well: nobody has settings wait by that.
    cluster.render();
    cluster.change(|setup| note(settings(setup, "700"), "a", "spoils it"));
    let outcome = cluster.render_unchecked(None);
    let own = report(&cluster, &outcome, "a", false);
    cluster.render_unchecked(Some(&own)).rendering.unwrap();
    assert!(!cluster.held().iter().any(|held| held.starts_with("theirs")), "{:?}", cluster.held());
}
