//! Each thing that may follow a check, and when one begins.

use super::*;
use haptic_model::{ActiveConfig, BundleFile, FileKey, ObjectRef, PreviousFailures, Snapshot, Snapshots};
use haptic_text::{Blame, Fragment, LineBlame, Text};

const OBJECTS: [&str; 3] = ["a", "b", "c"];
/// It prints as the others do, and is in no store and of no namespace.
const UNSTORED: &str = "ports";

fn config(express: bool) -> Arc<ActiveConfig> {
    let spec = serde_json::json!({
        "credentialsSecretRef": {"name": "c"},
        "podSelector": {"matchLabels": {"a": "b"}},
        "validation": {"express": express},
    });
    Arc::new(ActiveConfig::of("edge", "haptic", serde_json::from_value(spec).unwrap()))
}

fn object(name: &str) -> ObjectRef {
    ObjectRef::new("ingresses", if name == UNSTORED { "" } else { "n" }, name)
}

/// What three objects print.
fn bundle() -> Bundle {
    let of = |name: &&str| {
        let lines = vec![LineBlame { template: 0, object: None, line: 1 }];
        let blame = Blame { block: Some(Arc::new(object(name))), lines, ..Blame::default() };
        Fragment::new(format!("# {name}\n"), Arc::new(blame))
    };
    let text = Text::new(OBJECTS.iter().map(of).collect());
    Bundle::new(BundleFile::new(FileKey::config(), "haproxy.cfg", text), [])
}

fn stores() -> Snapshots {
    let mut store = Snapshot::full();
    for name in OBJECTS {
        store.put(object(name), b"{}".as_slice());
    }
    Snapshots::new([("ingresses".into(), Arc::new(store))].into())
}

fn rendered(config: &Arc<ActiveConfig>, generation: u64) -> Arc<Rendered> {
    Arc::new(Rendered::of(Generation(generation), config.clone(), stores(), bundle()))
}

fn with_report(rendered: &Rendered, generation: u64) -> Arc<Rendered> {
    let previous_failures =
        PreviousFailures { newest_report: Some(Generation(generation)), ..PreviousFailures::default() };
    Arc::new(Rendered { previous_failures, ..rendered.clone() })
}

fn why() -> Diagnostic {
    Diagnostic::error("haproxy", "it fails")
}

fn failed(rendered: Arc<Rendered>, undecided: bool) -> FailedCheck {
    let verdict = CheckVerdict { diagnostics: vec![why()], undecided, ..CheckVerdict::default() };
    FailedCheck { rendered, verdict }
}

fn failing(names: &str) -> FailingByCause {
    names.split_whitespace().map(|name| (Arc::new(object(name)), why())).collect()
}

fn names(failing: &FailingByCause) -> String {
    failing.iter().map(|(object, _)| &*object.name).collect::<Vec<_>>().join(" ")
}

/// The step in a few words; who is only suspected is in brackets.
fn shown(step: &NextCheckStep) -> String {
    let and = |live: &LiveBundle| if *live == LiveBundle::Reverted { ", refused" } else { "" };
    match step {
        NextCheckStep::Search(live) => format!("search{}", and(live)),
        NextCheckStep::CheckAtLength(unproven) => format!("at length ({})", names(unproven)),
        NextCheckStep::CheckLater(live) => format!("later{}", and(live)),
        NextCheckStep::FailAndCheckLater => "fails, later".into(),
        NextCheckStep::Fail { found, live } => {
            format!("fails: {} ({}){}", names(&found.proven), names(&found.suspects), and(live))
        }
    }
}

#[test]
fn who_failed_a_check_is_searched_for_and_the_bundle_stays_while_the_one_before_was_good() {
    let (express, careful) = (config(true), config(false));
    let good = |config: &Arc<ActiveConfig>| CheckHistory::new(Some(rendered(config, 1)), None);
    let refused = CheckHistory::new(Some(rendered(&express, 1)), Some(rendered(&express, 2)));
    for (history, config, undecided, expected) in [
        (&good(&express), &express, false, "search"),
        (&refused, &express, false, "search, refused"),
        (&good(&careful), &careful, false, "search, refused"),
        (&good(&config(true)), &express, false, "search, refused"),
        (&CheckHistory::default(), &express, false, "search, refused"),
        (&CheckHistory::default(), &express, true, "search"),
    ] {
        assert_eq!(shown(&history.after_check(&failed(rendered(config, 3), undecided))), expected);
    }
}

#[test]
fn what_follows_a_search_depends_on_what_is_found_and_on_whether_anything_good_is_known() {
    let config = config(true);
    let templates = || Some(Nobodys::Templates(why()));
    let machine = || Some(Nobodys::Machine(why()));
    let (decided, undecided, known, unknown) = (false, true, true, false);
    for (is_undecided, is_known, proven, suspects, nobodys, expected) in [
        (decided, known, "a", "", None, "fails: a ()"),
        (decided, known, "a", "b", None, "fails: a (b)"),
        (decided, known, "", "", templates(), "fails:  (), refused"),
        (decided, known, "", "", Some(Nobodys::Nothing), "fails:  (), refused"),
        (decided, known, "", "", machine(), "later, refused"),
        (decided, known, UNSTORED, "", None, "fails, later"),
        (decided, unknown, "a", "b", None, "fails: a (), refused"),
        (decided, unknown, "", "a", None, "fails:  (a), refused"),
        (decided, unknown, "", "a b", None, "later"),
        (undecided, known, "a", "", None, "fails: a ()"),
        (undecided, known, "", "a", None, "fails:  (a)"),
        (undecided, known, "", "", templates(), "fails:  (), refused"),
        (undecided, known, "", "", machine(), "later"),
        (undecided, known, "", "", None, "at length ()"),
        (undecided, known, UNSTORED, "", None, "at length ()"),
        (undecided, unknown, "", "a b", None, "at length (a b)"),
    ] {
        let history = CheckHistory::new(is_known.then(|| rendered(&config, 1)), None);
        let found = FailureCauses { proven: failing(proven), suspects: failing(suspects), nobodys };
        let told = format!("{found:?}");
        let next = history.after_search(&failed(rendered(&config, 2), is_undecided), found);
        assert_eq!(shown(&next), expected, "undecided: {is_undecided}, good: {is_known}, {told}");
    }
}

#[test]
fn where_the_whole_comes_to_no_end_whoever_is_not_cleared_waits_or_whoever_changed_most() {
    let config = config(true);
    let good = rendered(&config, 1);
    let history = CheckHistory::new(Some(good.clone()), None);
    let changed = rendered(&config, 2);
    for (rendered, undecided, unproven, expected) in [
        (&changed, false, "a", "search"),
        (&changed, true, "a", "fails:  (a)"),
        (&changed, true, "a b", "fails:  (a b c)"),
        (&changed, true, "", "fails:  (a b c)"),
        (&good, true, "", "later"),
        (&changed, true, UNSTORED, "later"),
    ] {
        let check = failed(rendered.clone(), undecided);
        assert_eq!(
            shown(&history.after_check_at_length(&check, failing(unproven))),
            expected,
            "{unproven:?}"
        );
    }
}

#[test]
fn what_is_validated_is_not_checked_again_nor_what_most_likely_holds_the_reported_mistake() {
    let config = config(true);
    let (first, nobody) = (rendered(&config, 1), BTreeMap::new());
    let mut history = CheckHistory::default();
    assert_eq!(history.time_of(&first, &nobody), CheckTime::Now);
    history.refused(first.clone());
    assert_eq!(history.time_of(&first, &nobody), CheckTime::Never);
    history.reported(Generation(1));
    let second = rendered(&config, 2);
    assert_eq!(history.time_of(&second, &nobody), CheckTime::Never);
    assert_eq!(history.time_of(&with_report(&second, 1), &nobody), CheckTime::Now);
}

#[test]
fn a_check_that_no_pod_waits_for_comes_after_a_rest() {
    let config = config(true);
    let mut history = CheckHistory::default();
    history.passed(rendered(&config, 1), Duration::from_secs(2));
    let waits_for = |generation: u64| {
        let pod = HaproxyPod::at("n", "one", ([10, 0, 0, 1], 5555));
        let awaits_check = Some(Generation(generation));
        BTreeMap::from([(pod, PodState { awaits_check, ..PodState::default() })])
    };
    let next = rendered(&config, 2);
    assert!(matches!(history.time_of(&next, &waits_for(1)), CheckTime::At(_)));
    assert_eq!(history.time_of(&next, &waits_for(2)), CheckTime::Now);
    let of_another_configuration = rendered(&self::config(true), 2);
    assert_eq!(history.time_of(&of_another_configuration, &waits_for(1)), CheckTime::Now);
    history.refused(rendered(&config, 3));
    assert_eq!(history.time_of(&next, &waits_for(1)), CheckTime::Now);
}

#[test]
fn checks_that_say_nothing_are_ever_further_apart_until_one_is_decided() {
    let (config, nobody) = (config(true), BTreeMap::new());
    let first = rendered(&config, 1);
    let mut history = CheckHistory::new(Some(first.clone()), None);
    let pauses: Vec<u64> = (0..8).map(|_| history.rests().as_secs()).collect();
    assert_eq!(pauses, [1, 2, 4, 8, 16, 32, 60, 60]);
    assert_eq!(history.time_of(&first, &nobody), CheckTime::Never);
    history.rested();
    assert_eq!(history.time_of(&first, &nobody), CheckTime::Now, "nothing is known of it");
    history.decided();
    assert_eq!(history.rests().as_secs(), 1);
}

#[test]
fn templates_are_reported_only_if_they_are_others_than_those_that_passed() {
    let (config, another) = (config(true), config(true));
    let history = CheckHistory::new(Some(rendered(&config, 1)), None);
    let report = |config, found| history.failure_report(&rendered(config, 2), found, Duration::ZERO);
    let templates = || FailureCauses { nobodys: Some(Nobodys::Templates(why())), ..FailureCauses::default() };
    assert!(report(&config, templates()).is_none());
    assert_eq!(report(&another, templates()).unwrap().templates, Some(why()));
    assert!(report(&config, FailureCauses::default()).is_none());
    let of_object = FailureCauses { proven: failing("a"), ..FailureCauses::default() };
    assert_eq!(names(&report(&config, of_object).unwrap().objects), "a");
}

#[test]
fn what_is_no_objects_fault_is_told_behind_what_the_check_said() {
    let said = |nobodys| {
        let found = FailureCauses { nobodys, ..FailureCauses::default() };
        failed(rendered(&config(true), 1), false).with_fault_of(&found).verdict.diagnostics
    };
    assert_eq!(said(Some(Nobodys::Nothing)), [why()]);
    let of_templates = said(Some(Nobodys::Templates(why())));
    assert!(of_templates[1].message.contains("a fault of the templates, and of no object"));
    let warned: Vec<_> = failed(rendered(&config(true), 1), true).warnings(Duration::from_secs(4)).collect();
    assert!(
        warned[0].message.ends_with("it is checked again in 4 s") && warned[0].severity == Severity::Warning
    );
}
