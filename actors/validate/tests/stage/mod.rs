//! The actor, and what it is connected with.
#![allow(dead_code, reason = "each test uses some of it")]

use actix_rt::Arbiter;
use haptic_model::{
    ActiveConfig, Bundle, Complaints, Event, Fleet, Generation, Hindsight, Snapshots,
    pipeline::{Cause, Reconcile, Refused, Rendered, Validated},
};
use haptic_runtime::{
    ActorSpec, CellReader, CellWriter, Envelope, Events, Health, Keeper, Kept, Supervision, cell,
};
use haptic_validate::{
    Checker,
    actor::{ValidateActor, ValidateOptions},
};
use std::{
    sync::Arc,
    time::{Duration, Instant},
};
use tokio::sync::mpsc;

/// What a render made, which had heard of complaints up to `heard`.
pub fn of_bundle(generation: u64, bundle: Bundle, heard: Option<u64>) -> Rendered {
    let spec = r#"{"credentialsSecretRef":{"name":"c"},"podSelector":{"matchLabels":{"a":"b"}}}"#;
    Rendered {
        reconcile: Reconcile {
            generation: Generation(generation),
            cause: Cause::default(),
            triggered: Instant::now(),
        },
        config: Arc::new(ActiveConfig::of("edge", "haptic", serde_json::from_str(spec).unwrap())),
        snapshots: Snapshots::default(),
        fleet: Arc::default(),
        bundle,
        took: Duration::ZERO,
        warnings: Vec::new(),
        hindsight: Hindsight { heard: heard.map(Generation), ..Hindsight::default() },
    }
}

/// The stage, and what it is connected with.
pub struct Stage {
    pub rendered: CellWriter<Option<Arc<Rendered>>>,
    pub validated: CellReader<Option<Arc<Validated>>>,
    pub refused: CellReader<Option<Arc<Refused>>>,
    pub complaints: CellReader<Complaints>,
    pub told: mpsc::Receiver<Envelope<Event>>,
    _fleet: CellWriter<Fleet>,
    _actor: Kept<ValidateActor>,
}

pub fn stage(checker: Checker) -> Stage {
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

pub async fn changed<T: Send + Sync>(cell: &mut CellReader<T>) {
    tokio::time::timeout(Duration::from_secs(60), cell.changed()).await.expect("it changes in the end");
}
