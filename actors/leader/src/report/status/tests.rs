//! What the status says, and when it is written.

use super::*;
use haptic_model::{
    Generation, Limit, ObjectRef, RejectedObjects, config::ConfigVerdict, crd::LeaderElectionSpec,
    limits::Crowded,
};
use std::sync::Arc;

fn healthy() -> ReportedHealth {
    let judgement = ConfigVerdict {
        resource_generation: 3,
        uid: None,
        problems: Vec::new(),
        leader_election: Some(LeaderElectionSpec::default()),
        credentials: None,
    };
    ReportedHealth {
        judgement,
        progress: Progress::Rendered,
        checked: Some(3),
        failed: None,
        fleet: FleetHealth::Deployed(3),
        quarantine: Arc::default(),
        missing: Arc::default(),
        rejected: Arc::default(),
        watched: BTreeMap::new(),
        reporting: Arc::default(),
    }
}

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(1_000_000_000 + second).unwrap()
}

fn written(health: &ReportedHealth) -> HAProxyTemplateConfigStatus {
    changed(&HAProxyTemplateConfigStatus::default(), health, at(0)).unwrap()
}

fn condition<'a>(status: &'a HAProxyTemplateConfigStatus, kind: &str) -> &'a Condition {
    status.conditions.iter().find(|condition| condition.type_ == kind).unwrap()
}

fn verdicts(status: &HAProxyTemplateConfigStatus) -> Vec<(&str, &str)> {
    status.conditions.iter().map(|c| (c.type_.as_str(), c.status.as_str())).collect()
}

/// What a condition says, and of which generation.
fn spoken<'a>(status: &'a HAProxyTemplateConfigStatus, kind: &str) -> (&'a str, Option<i64>) {
    let condition = condition(status, kind);
    (&condition.status, condition.observed_generation)
}

/// A newer configuration than the one that pods run, accepted.
fn accepted(progress: Progress) -> ReportedHealth {
    let judgement = ConfigVerdict { resource_generation: 4, ..healthy().judgement };
    ReportedHealth { judgement, progress, ..healthy() }
}

#[test]
fn a_configuration_is_ready_when_it_is_in_force_and_not_when_it_is_accepted() {
    let before = written(&healthy());
    assert_eq!(spoken(&before, "Ready"), ("True", Some(3)));
    let comes = changed(&before, &accepted(Progress::Comes), at(1)).unwrap();
    assert_eq!(comes.observed_generation, Some(4));
    for kind in ["Ready", "Deployed"] {
        assert_eq!(spoken(&comes, kind), ("Unknown", Some(4)), "{kind}");
    }
    let catching = ReportedHealth { fleet: FleetHealth::Catching, ..accepted(Progress::Rendered) };
    let catches = changed(&comes, &catching, at(2)).unwrap();
    assert_eq!(spoken(&catches, "Deployed"), ("Unknown", Some(4)), "pods are on their way to it");
    assert_eq!(changed(&catches, &catching, at(2)), None);
    let there = ReportedHealth { checked: Some(4), ..accepted(Progress::Rendered) };
    let there = changed(&comes, &there, at(3)).unwrap();
    assert_eq!((spoken(&there, "Ready"), spoken(&there, "Deployed")), (("True", Some(4)), ("True", Some(4))));
}

#[test]
fn a_configuration_is_valid_when_it_was_rendered_and_checked_and_unknown_before() {
    let before = written(&healthy());
    let comes = changed(&before, &accepted(Progress::Comes), at(1)).unwrap();
    let waits = changed(&before, &accepted(Progress::Waits("gateways: forbidden".into())), at(1)).unwrap();
    for status in [&comes, &waits] {
        assert_eq!(status.validation_status, Some(ValidationStatus::Unknown));
        assert_eq!(status.last_validated, before.last_validated, "nothing was found valid");
    }
    assert!(waits.validation_message.unwrap().contains("gateways: forbidden"));
    let there = ReportedHealth { checked: Some(4), ..accepted(Progress::Rendered) };
    let there = changed(&comes, &there, at(3)).unwrap();
    assert_eq!(there.validation_status, Some(ValidationStatus::Valid));
    assert_eq!(there.validation_message.as_deref(), Some(ACCEPTED));
    assert_eq!(there.last_validated.as_deref(), Some("2001-09-09T01:46:43Z"));
}

#[test]
fn credentials_that_change_leave_what_is_deployed_as_it_is() {
    let before = written(&healthy());
    assert_eq!(changed(&before, &ReportedHealth { progress: Progress::Comes, ..healthy() }, at(1)), None);
}

#[test]
fn a_configuration_that_waits_for_resources_says_for_which_and_is_not_ready() {
    let waits = accepted(Progress::Waits("gateways: forbidden. Allow list".into()));
    let status = changed(&written(&healthy()), &waits, at(1)).unwrap();
    for kind in ["Ready", "Deployed"] {
        let told = condition(&status, kind);
        assert_eq!((&*told.status, &*told.reason), ("False", "ResourcesUnreadable"), "{kind}");
        assert_eq!(told.observed_generation, Some(4));
        assert!(told.message.contains("gateways: forbidden. Allow list"), "{}", told.message);
    }
}

#[test]
fn what_failed_of_the_configuration_before_says_nothing_of_the_new_one() {
    let failing = ReportedHealth { failed: failed(FailedStage::Render, None), ..healthy() };
    let before = written(&failing);
    assert_eq!(before.validation_status, Some(ValidationStatus::Invalid));
    let repaired = ReportedHealth { failed: failing.failed, ..accepted(Progress::Comes) };
    let status = changed(&before, &repaired, at(1)).unwrap();
    assert_eq!(status.validation_status, Some(ValidationStatus::Unknown), "nothing is known of it yet");
    assert_eq!(condition(&status, "TemplatesValid").status, "True");
    assert_eq!(spoken(&status, "Ready"), ("Unknown", Some(4)));
}

#[test]
fn credentials_that_cannot_be_had_are_a_condition_and_nothing_is_taken_away() {
    let mut health = healthy();
    health.judgement.credentials = Some(Diagnostic::error("basic", "Secret edge/creds: it does not exist"));
    let status = changed(&written(&healthy()), &health, at(1)).unwrap();
    for kind in ["Ready", "CredentialsValid"] {
        let told = condition(&status, kind);
        assert_eq!((&*told.status, &*told.reason), ("False", "CredentialsUnreadable"), "{kind}");
        assert!(told.message.contains("Secret edge/creds"), "{}", told.message);
    }
    assert_eq!(condition(&status, "Deployed").status, "True");
    assert_eq!(status.validation_status, Some(ValidationStatus::Valid));
    assert_eq!(spoken(&changed(&status, &healthy(), at(2)).unwrap(), "Ready"), ("True", Some(3)));
}

fn failed(stage: FailedStage, object: Option<&str>) -> Option<FailedGeneration> {
    let object = object.map(|name| Arc::new(ObjectRef::new("ingresses", "default", name)));
    let diagnostics = vec![Diagnostic::error("render", "no host").of_object(object)];
    Some(FailedGeneration { generation: Generation(7), configuration: 3, stage, diagnostics })
}

#[test]
fn all_is_well() {
    let status = written(&healthy());
    assert_eq!(status.validation_status, Some(ValidationStatus::Valid));
    assert_eq!(status.observed_generation, Some(3));
    assert_eq!(status.last_validated.as_deref(), Some("2001-09-09T01:46:40Z"));
    let all = [
        ("Ready", "True"),
        ("TemplatesValid", "True"),
        ("CredentialsValid", "True"),
        ("Deployed", "True"),
        ("Quarantined", "False"),
        ("DeletionsHeld", "False"),
        ("LimitsReached", "False"),
    ];
    assert_eq!(verdicts(&status), all);
    assert_eq!(condition(&status, "Quarantined").reason, "None");
}

#[test]
fn nothing_new_is_not_written_whoever_leads_and_however_much_time_passes() {
    let status = written(&healthy());
    assert_eq!(changed(&status, &healthy(), at(86_400)), None);
    let through_the_api: HAProxyTemplateConfigStatus =
        serde_json::from_value(serde_json::to_value(&status).unwrap()).unwrap();
    assert_eq!(changed(&through_the_api, &healthy(), at(86_400)), None);
}

#[test]
fn a_fleet_that_catches_up_changes_nothing() {
    let status = written(&healthy());
    assert_eq!(changed(&status, &ReportedHealth { fleet: FleetHealth::Catching, ..healthy() }, at(9)), None);
    let first = written(&ReportedHealth { fleet: FleetHealth::Catching, ..healthy() });
    assert_eq!(condition(&first, "Deployed").status, "Unknown");
    assert_eq!(condition(&first, "Ready").status, "Unknown");
}

#[test]
fn a_pod_that_stays_behind_is_named_and_its_recovery_told() {
    let behind =
        FleetHealth::Behind { pods: vec!["edge/b".into()], of: 3, why: Some("no connection".into()) };
    let status =
        changed(&written(&healthy()), &ReportedHealth { fleet: behind, ..healthy() }, at(60)).unwrap();
    let deployed = condition(&status, "Deployed");
    assert_eq!((deployed.status.as_str(), deployed.reason.as_str()), ("False", "PodsBehind"));
    assert_eq!(deployed.message, "1 of 3 pods are behind (edge/b): no connection");
    assert_eq!(deployed.last_transition_time.0, at(60));
    assert_eq!(condition(&status, "TemplatesValid").last_transition_time.0, at(0));
    assert_eq!(condition(&status, "Ready").status, "False");
    let recovered = changed(&status, &healthy(), at(90)).unwrap();
    assert_eq!(condition(&recovered, "Ready").status, "True");
    assert_eq!(recovered.last_validated, status.last_validated, "the configuration was not judged anew");
}

#[test]
fn a_refused_configuration_is_invalid_until_it_is_put_right() {
    let problems = vec![Diagnostic::error("template", "unknown function").at_template("http", 4, 2)];
    let judgement = ConfigVerdict { resource_generation: 4, problems, ..healthy().judgement };
    let status = changed(&written(&healthy()), &ReportedHealth { judgement, ..healthy() }, at(5)).unwrap();
    assert_eq!(status.validation_status, Some(ValidationStatus::Invalid));
    assert_eq!(status.validation_message.as_deref(), Some("unknown function; template http:4:2"));
    assert_eq!(status.observed_generation, Some(4));
    assert_eq!(status.last_validated.as_deref(), Some("2001-09-09T01:46:40Z"), "a refusal is no validation");
    let told = ["Ready", "TemplatesValid", "Deployed"].map(|kind| spoken(&status, kind));
    assert_eq!(told, [("False", Some(4)), ("False", Some(4)), ("True", Some(3))]);
    let judgement = ConfigVerdict { resource_generation: 5, ..healthy().judgement };
    let repaired = changed(&status, &ReportedHealth { judgement, ..healthy() }, at(9)).unwrap();
    assert_eq!(repaired.validation_message.as_deref(), Some(ACCEPTED));
    assert_eq!(condition(&repaired, "TemplatesValid").status, "True");
    assert_eq!(repaired.last_validated.as_deref(), Some("2001-09-09T01:46:49Z"));
}

#[test]
fn a_template_that_fails_is_the_configurations_fault_and_an_objects_failure_is_not() {
    let status = written(&ReportedHealth { failed: failed(FailedStage::Render, None), ..healthy() });
    assert_eq!(status.validation_status, Some(ValidationStatus::Invalid));
    assert_eq!(condition(&status, "TemplatesValid").status, "False");
    let status = written(&ReportedHealth { failed: failed(FailedStage::Check, Some("shop")), ..healthy() });
    assert_eq!(status.validation_status, Some(ValidationStatus::Valid));
    assert_eq!(condition(&status, "TemplatesValid").status, "True");
    let ready = condition(&status, "Ready");
    assert_eq!((ready.status.as_str(), ready.reason.as_str()), ("False", "CheckFailed"));
    assert!(ready.message.contains("ingresses default/shop"), "{}", ready.message);
}

#[test]
fn where_in_the_output_it_is_makes_no_difference() {
    let failed = |line| {
        let mut failed = failed(FailedStage::Check, None).unwrap();
        failed.diagnostics = vec![Diagnostic::error("haproxy", "no").at_output(
            haptic_model::FileKey::config(),
            line,
            "bind x",
        )];
        ReportedHealth { failed: Some(failed), ..healthy() }
    };
    assert_eq!(changed(&written(&failed(12)), &failed(13), at(5)), None);
}

#[test]
fn a_long_message_is_cut() {
    let mut health = healthy();
    health.judgement.problems = vec![Diagnostic::error("basic", "ü".repeat(10_000))];
    let message = written(&health).validation_message.unwrap();
    assert_eq!(message.chars().count(), LONGEST + 1);
}

#[test]
fn what_is_held_back_is_told_in_the_sentences_that_its_events_say() {
    let held = |name: &str| {
        let object = Arc::new(ObjectRef::new("ingresses", "default", name));
        let why = Diagnostic::error("render", "no host");
        let (since, at) = (Generation(3), std::time::Instant::now());
        (
            object.clone(),
            Arc::new(haptic_model::Quarantined {
                object,
                why,
                instead: haptic_model::Instead::Nothing,
                suspected: false,
                since,
                at,
            }),
        )
    };
    let quarantine = haptic_model::Quarantine { held: ["a", "b", "c", "d", "e", "f", "g"].map(held).into() };
    let status = written(&ReportedHealth { quarantine: Arc::new(quarantine), ..healthy() });
    let told = condition(&status, "Quarantined");
    assert_eq!((told.status.as_str(), told.reason.as_str()), ("True", "ObjectsHeldBack"));
    assert!(told.message.starts_with(&held("a").1.to_string()), "{}", told.message);
    assert!(told.message.ends_with("\nand 2 more"), "{}", told.message);
    assert_eq!(condition(&status, "Ready").status, "True", "the others are served");
}

#[test]
fn what_vanished_at_once_is_a_condition_and_counts_are_written_when_they_are_others() {
    let missing = haptic_model::MassDeletion {
        resource: "ingresses".into(),
        missing: 30,
        of: 40,
        at_start: false,
        hold: std::time::Duration::from_secs(600),
        config: "edge/first".into(),
    };
    let watched = |count| BTreeMap::from([("ingresses".to_owned(), count)]);
    let missing = Arc::new([(missing.resource.clone(), missing)].into());
    let before = written(&ReportedHealth { missing, watched: watched(100), ..healthy() });
    let held = before.conditions.iter().find(|condition| condition.type_ == "DeletionsHeld").unwrap();
    assert!(held.status == "True" && held.message.contains("confirm-deletion=ingresses:30"), "{held:?}");
    assert_eq!(before.watched_objects["ingresses"], 100);
    let count = |now| {
        let health = ReportedHealth { watched: watched(now), ..healthy() };
        changed(&before, &health, at(9)).unwrap().watched_objects["ingresses"]
    };
    assert_eq!([100, 120, 80, 126, 74, 0].map(count), [100, 100, 100, 126, 74, 0]);
    let unread = changed(&before, &healthy(), at(9)).unwrap();
    assert_eq!(unread.watched_objects["ingresses"], 100, "what is not read is not forgotten");
}

#[test]
fn what_is_left_out_is_a_condition_that_stays_as_it_is_while_only_numbers_change() {
    let rejected = |count| {
        let crowded = Crowded { by: Limit::ObjectsPerNamespace, most: 20, rejected: count };
        let of_store =
            RejectedObjects { crowded: [("junk".into(), crowded)].into(), ..RejectedObjects::default() };
        ReportedHealth { rejected: Arc::new([("ingresses".into(), of_store)].into()), ..healthy() }
    };
    let status = written(&rejected(5));
    let told = condition(&status, "LimitsReached");
    assert_eq!((told.status.as_str(), told.reason.as_str()), ("True", "ObjectsLeftOut"));
    assert!(told.message.contains("more than 20 ingresses in namespace junk"), "{}", told.message);
    assert_eq!(condition(&status, "Ready").status, "True", "the others are served");
    assert!(changed(&status, &rejected(90_000), at(9)).is_none());
    assert_eq!(condition(&written(&healthy()), "LimitsReached").status, "False");
}

#[test]
fn that_publishing_is_refused_is_a_condition_until_it_is_not_and_disturbs_no_other() {
    let reporting = |failure: Option<&str>, omitted: Option<&[&str]>| {
        Arc::new(crate::Reporting {
            failures: failure.map(|why| (Report::Published, why.to_owned())).into_iter().collect(),
            omitted: omitted.map(|omitted| omitted.iter().map(|&file| file.to_owned()).collect()),
        })
    };
    let refused = ReportedHealth { reporting: reporting(Some("forbidden. Allow patch"), None), ..healthy() };
    let status = written(&refused);
    let told = condition(&status, "Published");
    assert_eq!(
        (&*told.status, &*told.reason, &*told.message),
        ("False", "Refused", "forbidden. Allow patch")
    );
    assert_eq!(condition(&status, "Ready").status, "True");
    assert_eq!(changed(&status, &healthy(), at(9)), None, "a new leader has not tried yet");
    let status =
        changed(&status, &ReportedHealth { reporting: reporting(None, Some(&[])), ..healthy() }, at(9))
            .unwrap();
    assert_eq!(condition(&status, "Published").status, "True");
    let long = ["maps/a.map: 2000000 bytes"];
    let status =
        changed(&status, &ReportedHealth { reporting: reporting(None, Some(&long)), ..healthy() }, at(9));
    assert_eq!(condition(&status.unwrap(), "Published").reason, "TooLarge");
}
