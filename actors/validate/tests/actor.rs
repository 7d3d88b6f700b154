//! The actor, with a checker that does not always come to its end.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod imitation;
mod stage;

use haptic_model::{
    Bundle, BundleFile, Event, FileKey, Generation, ObjectRef,
    figure::TimedPart,
    pipeline::{PodState, Rendered},
};
use haptic_text::{Blame, Fragment, LineBlame, Text};
use haptic_validate::{CheckLimits, Checker, Sandbox};
use imitation::imitation;
use stage::{changed, of_bundle, pod, stage};
use std::{collections::BTreeMap, path::Path, sync::Arc, time::Duration};

/// A checker that is killed at its first check, and content from then on.
fn killed_once(folder: &Path) -> Checker {
    let tried = folder.join("tried");
    let check = format!("[ -e {0} ] || {{ : > {0}; kill -9 $$; }}", tried.display());
    Checker::new(imitation(folder, &check), CheckLimits::default(), Sandbox::none())
}

/// A checker that refuses whatever says `bad`.
fn refusing_bad(folder: &Path) -> Checker {
    let check = "grep -q bad haproxy.cfg && { echo '[ALERT]    (1) : config : no' >&2; exit 1; }; exit 0";
    Checker::new(imitation(folder, check), CheckLimits::default(), Sandbox::none())
}

/// A bundle in which one object says `word`.
fn rendered(generation: u64, word: &str, newest_report: Option<u64>) -> Rendered {
    of_block(ObjectRef::new("ingresses", "n", "one"), generation, word, newest_report)
}

/// The same of another one.
fn of_block(block: ObjectRef, generation: u64, word: &str, newest_report: Option<u64>) -> Rendered {
    let of_one = Blame {
        block: Some(Arc::new(block)),
        lines: vec![LineBlame { template: 0, object: None, line: 1 }; 3],
        ..Blame::default()
    };
    let text = Fragment::new(format!("defaults\n    mode http\n    # {word}\n"), Arc::new(of_one));
    let config = BundleFile::new(FileKey::config(), "haproxy.cfg", Text::new(vec![text]));
    of_bundle(generation, Bundle::new(config, []), newest_report)
}

#[actix::test]
async fn a_checker_that_is_killed_refuses_nothing_and_is_asked_again() {
    let folder = tempfile::tempdir().unwrap();
    let mut stage = stage(killed_once(folder.path()));
    stage.rendered.publish(Some(Arc::new(rendered(1, "fine", None))));
    changed(&mut stage.validated).await;
    assert!(stage.validated.latest().is_some() && stage.refused.latest().is_none());
    assert!(stage.failure_reports.latest().is_empty());
    while let Ok(event) = stage.told.try_recv() {
        assert!(!matches!(&*event.payload, Event::ValidationFailed { .. }), "nothing was refused");
    }
}

#[actix::test]
async fn a_machine_that_cannot_check_blames_nobody_and_is_asked_again() {
    let folder = tempfile::tempdir().unwrap();
    let broken = folder.path().join("broken");
    std::fs::write(&broken, "").unwrap();
    let check = format!("[ -e {} ] && kill -9 $$; exit 0", broken.display());
    let checker = Checker::new(imitation(folder.path(), &check), CheckLimits::default(), Sandbox::none());
    let mut stage = stage(checker);
    stage.rendered.publish(Some(Arc::new(rendered(1, "fine", None))));
    loop {
        let event = tokio::time::timeout(Duration::from_secs(60), stage.told.recv()).await.unwrap().unwrap();
        match &*event.payload {
            Event::ValidationFailed { .. } => panic!("nothing was refused"),
            Event::Warned { diagnostic, .. } => {
                let said = diagnostic.to_string();
                assert!(said.contains("no object is at fault") && said.contains("again in 1 s"), "{said}");
                break;
            }
            _ => {}
        }
    }
    std::fs::remove_file(&broken).unwrap();
    changed(&mut stage.validated).await;
    assert!(stage.failure_reports.latest().is_empty() && stage.refused.latest().is_none());
}

#[actix::test]
async fn what_was_rendered_before_the_report_was_received_is_not_checked() {
    let folder = tempfile::tempdir().unwrap();
    let mut stage = stage(refusing_bad(folder.path()));
    stage.rendered.publish(Some(Arc::new(rendered(1, "bad", None))));
    changed(&mut stage.failure_reports).await;
    assert_eq!(stage.failure_reports.latest()[0].objects.len(), 1);
    stage.rendered.publish(Some(Arc::new(rendered(2, "bad too", None))));
    loop {
        let event = tokio::time::timeout(Duration::from_secs(60), stage.told.recv()).await.unwrap().unwrap();
        if matches!(&*event.payload, Event::Timed { part: TimedPart::Syntax, generation: Generation(2), .. })
        {
            break;
        }
    }
    stage.rendered.publish(Some(Arc::new(rendered(3, "fine", Some(1)))));
    changed(&mut stage.validated).await;
    let passed = (*stage.validated.latest()).clone().unwrap();
    assert_eq!(passed.generation(), Generation(3));
    while let Ok(event) = stage.told.try_recv() {
        if let Event::ValidationFailed { generation, .. } = &*event.payload {
            panic!("{generation} was checked");
        }
    }
    assert_eq!(stage.failure_reports.latest().len(), 1);
}

#[actix::test]
async fn what_all_pods_run_is_checked_after_a_rest_and_what_one_of_them_waits_for_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let works = "i=0; while [ $i -lt 1500000 ]; do i=$((i+1)); done";
    let checker = Checker::new(imitation(folder.path(), works), CheckLimits::default(), Sandbox::none());
    let mut stage = stage(checker);
    let first = rendered(1, "fine", None);
    let config = first.config.clone();
    stage.rendered.publish(Some(Arc::new(first)));
    changed(&mut stage.validated).await;
    for generation in [2, 3] {
        let next = rendered(generation, &format!("fine {generation}"), None);
        stage.rendered.publish(Some(Arc::new(Rendered { config: config.clone(), ..next })));
        loop {
            let event =
                tokio::time::timeout(Duration::from_secs(60), stage.told.recv()).await.unwrap().unwrap();
            match &*event.payload {
                Event::Timed { part: TimedPart::Syntax, generation: read, .. } if read.0 == generation => {
                    break;
                }
                Event::Validated { generation: passed, .. } => assert_eq!(passed.0, 1),
                _ => {}
            }
        }
    }
    let waiting = PodState { awaits_check: Some(Generation(3)), ..PodState::default() };
    stage.pods.publish(BTreeMap::from([(pod(), waiting)]));
    changed(&mut stage.validated).await;
    assert_eq!((*stage.validated.latest()).as_ref().unwrap().generation(), Generation(3));
}

#[actix::test]
async fn what_objects_spoil_one_bundle_after_the_other_stays_live_for_everybody_else() {
    let folder = tempfile::tempdir().unwrap();
    let mut stage = stage(refusing_bad(folder.path()));
    let first = rendered(1, "fine", None);
    let config = first.config.clone();
    let with = |rendered| Arc::new(Rendered { config: config.clone(), ..rendered });
    stage.rendered.publish(Some(Arc::new(first)));
    changed(&mut stage.validated).await;
    stage.rendered.publish(Some(with(rendered(2, "bad", None))));
    changed(&mut stage.failure_reports).await;
    assert_eq!(stage.failure_reports.latest()[0].objects.len(), 1);
    assert!(stage.refused.latest().is_none(), "the next one takes back what is wrong");
    stage.rendered.publish(Some(with(rendered(3, "bad too", Some(2)))));
    changed(&mut stage.failure_reports).await;
    assert_eq!(stage.failure_reports.latest()[1].objects.len(), 1);
    assert!(stage.refused.latest().is_none(), "so does the one behind that");
    stage.rendered.publish(Some(with(rendered(4, "fine again", Some(3)))));
    changed(&mut stage.validated).await;
    assert!(stage.refused.latest().is_none());
}

#[actix::test]
async fn what_nobody_spoils_is_taken_back() {
    let folder = tempfile::tempdir().unwrap();
    let mut stage = stage(refusing_bad(folder.path()));
    let first = rendered(1, "fine", None);
    let config = first.config.clone();
    stage.rendered.publish(Some(Arc::new(first)));
    changed(&mut stage.validated).await;
    let ports = ObjectRef::new("gateways", "", "ports");
    let of_nobody = of_block(ports, 2, "bad", None);
    stage.rendered.publish(Some(Arc::new(Rendered { config: config.clone(), ..of_nobody })));
    changed(&mut stage.refused).await;
    assert!(stage.failure_reports.latest().is_empty());
    // Until something has passed again nothing stays that is refused.
    stage.rendered.publish(Some(Arc::new(Rendered { config, ..rendered(3, "bad", None) })));
    changed(&mut stage.refused).await;
    assert_eq!((*stage.refused.latest()).as_ref().unwrap().rendered.reconcile.generation, Generation(3));
}

#[actix::test]
async fn what_is_in_no_store_is_nobodys_fault_and_causes_no_generation() {
    let folder = tempfile::tempdir().unwrap();
    let mut stage = stage(refusing_bad(folder.path()));
    stage.rendered.publish(Some(Arc::new(rendered(1, "fine", None))));
    changed(&mut stage.validated).await;
    let ports = ObjectRef::new("gateways", "", "ports");
    stage.rendered.publish(Some(Arc::new(of_block(ports, 2, "bad", None))));
    let mut pauses = Vec::new();
    while pauses.len() < 2 {
        let event = tokio::time::timeout(Duration::from_secs(60), stage.told.recv()).await.unwrap().unwrap();
        if let Event::Warned { diagnostic, .. } = &*event.payload {
            let said = diagnostic.to_string();
            assert!(said.contains("no object is at fault"), "{said}");
            pauses.push(said.split_once("again in ").unwrap().1.to_owned());
        }
    }
    assert!(pauses[0].starts_with("1 s") && pauses[1].starts_with("2 s"), "{pauses:?}");
    assert!(stage.failure_reports.latest().is_empty(), "the renderer would render the same again");
    assert_eq!((*stage.refused.latest()).as_ref().unwrap().rendered.reconcile.generation, Generation(2));
    stage.rendered.publish(Some(Arc::new(rendered(3, "fine", None))));
    changed(&mut stage.validated).await;
}
