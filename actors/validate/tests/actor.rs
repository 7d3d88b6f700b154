//! The actor, with a checker that does not always come to its end.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod imitation;

use actix_rt::Arbiter;
use haptic_model::{
    ActiveConfig, Bundle, BundleFile, Complaints, Event, FileKey, Fleet, Generation, Hindsight, ObjectRef,
    Snapshots, Text,
    pipeline::{Cause, Reconcile, Refused, Rendered, Validated},
    text::{Blame, Fragment, LineBlame},
};
use haptic_runtime::{
    ActorSpec, CellReader, CellWriter, Envelope, Events, Health, Keeper, Kept, Supervision, cell,
};
use haptic_validate::{
    CheckLimits, Checker, Sandbox,
    actor::{ValidateActor, ValidateOptions},
};
use imitation::imitation;
use std::{
    path::Path,
    sync::Arc,
    time::{Duration, Instant},
};
use tokio::sync::mpsc;

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
fn rendered(generation: u64, word: &str, heard: Option<u64>) -> Rendered {
    let spec = r#"{"credentialsSecretRef":{"name":"c"},"podSelector":{"matchLabels":{"a":"b"}}}"#;
    let of_one = Blame {
        block: Some(Arc::new(ObjectRef::new("ingresses", "n", "one"))),
        lines: vec![LineBlame { template: 0, object: None, line: 1 }; 3],
        ..Blame::default()
    };
    let text = Fragment::new(format!("defaults\n    mode http\n    # {word}\n"), Arc::new(of_one));
    let config = BundleFile::new(FileKey::config(), "haproxy.cfg", Text::new(vec![text]));
    Rendered {
        reconcile: Reconcile {
            generation: Generation(generation),
            cause: Cause::default(),
            triggered: Instant::now(),
        },
        config: Arc::new(ActiveConfig::of("edge", "haptic", serde_json::from_str(spec).unwrap())),
        snapshots: Snapshots::default(),
        fleet: Arc::default(),
        bundle: Bundle::new(config, []),
        took: Duration::ZERO,
        warnings: Vec::new(),
        hindsight: Hindsight { heard: heard.map(Generation), ..Hindsight::default() },
    }
}

/// The stage, and what it is connected with.
struct Stage {
    rendered: CellWriter<Option<Arc<Rendered>>>,
    validated: CellReader<Option<Arc<Validated>>>,
    refused: CellReader<Option<Arc<Refused>>>,
    complaints: CellReader<Complaints>,
    told: mpsc::Receiver<Envelope<Event>>,
    _fleet: CellWriter<Fleet>,
    _actor: Kept<ValidateActor>,
}

fn stage(checker: Checker) -> Stage {
    let (rendered_writer, rendered) = cell(None);
    let (validated_writer, validated) = cell(None);
    let (refused_writer, refused) = cell(None);
    let (complaints_writer, complaints) = cell(Complaints::new());
    let (events, told) = Events::channel(64);
    let (_fleet, fleet) = cell(Fleet::default());
    let options = ValidateOptions {
        checker,
        rendered,
        fleet,
        candidate: Arc::new(cell(None).0),
        validated: Arc::new(validated_writer),
        refused: Arc::new(refused_writer),
        complaints: Arc::new(complaints_writer),
        events,
    };
    let supervision = Supervision::new(Health::default());
    let _actor =
        Keeper::start(&Arbiter::current(), ActorSpec::named("validate"), &supervision, move |seat| {
            ValidateActor::new(seat, options.clone())
        });
    Stage { rendered: rendered_writer, validated, refused, complaints, told, _fleet, _actor }
}

async fn changed<T: Send + Sync>(cell: &mut CellReader<T>) {
    tokio::time::timeout(Duration::from_secs(60), cell.changed()).await.expect("it changes in the end");
}

#[actix::test]
async fn a_checker_that_is_killed_refuses_nothing_and_is_asked_again() {
    let folder = tempfile::tempdir().unwrap();
    let mut stage = stage(killed_once(folder.path()));
    stage.rendered.publish(Some(Arc::new(rendered(1, "fine", None))));
    changed(&mut stage.validated).await;
    assert!(stage.validated.read().is_some() && stage.refused.read().is_none());
    assert!(stage.complaints.read().is_empty());
    let mut warned = false;
    while let Ok(event) = stage.told.try_recv() {
        match &*event.payload {
            Event::ValidationFailed { .. } => panic!("nothing was refused"),
            Event::Warned { diagnostic, .. } => warned |= diagnostic.message.contains("checked again in 1 s"),
            _ => {}
        }
    }
    assert!(warned, "nobody is told");
}

#[actix::test]
async fn what_was_rendered_before_anybody_heard_of_a_complaint_is_not_checked() {
    let folder = tempfile::tempdir().unwrap();
    let mut stage = stage(refusing_bad(folder.path()));
    stage.rendered.publish(Some(Arc::new(rendered(1, "bad", None))));
    changed(&mut stage.complaints).await;
    assert_eq!(stage.complaints.read()[0].objects.len(), 1);
    stage.rendered.publish(Some(Arc::new(rendered(2, "bad too", None))));
    loop {
        let event = tokio::time::timeout(Duration::from_secs(60), stage.told.recv()).await.unwrap().unwrap();
        if matches!(&*event.payload, Event::Timed { part: "syntax", generation: Generation(2), .. }) {
            break;
        }
    }
    stage.rendered.publish(Some(Arc::new(rendered(3, "fine", Some(1)))));
    changed(&mut stage.validated).await;
    let passed = (*stage.validated.read()).clone().unwrap();
    assert_eq!(passed.generation(), Generation(3));
    while let Ok(event) = stage.told.try_recv() {
        if let Event::ValidationFailed { generation, .. } = &*event.payload {
            panic!("{generation} was checked");
        }
    }
    assert_eq!(stage.complaints.read().len(), 1);
}
