//! The actor, and what it is connected with.
#![allow(dead_code, reason = "each test uses some of it")]

use actix_rt::Arbiter;
use haptic_model::{
    ActiveConfig, Bundle, Event, FailureReports, Fleet, Generation, HaproxyPod, PreviousFailures, Snapshot,
    Snapshots,
    pipeline::{PodState, Refused, Rendered, Validated},
};
use haptic_runtime::{ActorHandle, Envelope, Events, Health, Publisher, Spec, Supervision, Topic, topic};
use haptic_validate::{
    Checker,
    actor::{ValidateActor, ValidateOptions},
};
use std::{collections::BTreeMap, sync::Arc, time::Duration};
use tokio::sync::mpsc;

/// What a render made that had received reports up to `newest_report`.
pub fn of_bundle(generation: u64, bundle: Bundle, newest_report: Option<u64>) -> Rendered {
    let spec = r#"{"credentialsSecretRef":{"name":"c"},"podSelector":{"matchLabels":{"a":"b"}}}"#;
    let config = Arc::new(ActiveConfig::of("edge", "haptic", serde_json::from_str(spec).unwrap()));
    let previous_failures =
        PreviousFailures { newest_report: newest_report.map(Generation), ..PreviousFailures::default() };
    let snapshots = stores_of(&bundle);
    Rendered { previous_failures, ..Rendered::of(Generation(generation), config, snapshots, bundle) }
}

/// Stores with all objects that a bundle has blocks of, but for those without a namespace.
fn stores_of(bundle: &Bundle) -> Snapshots {
    let mut stores: BTreeMap<Arc<str>, Snapshot> = BTreeMap::new();
    let objects = bundle.changed_since(None);
    for reference in objects.into_iter().filter(|object| !object.namespace.is_empty()) {
        let store = stores.entry(reference.resource.clone()).or_insert_with(Snapshot::full);
        store.put(reference, b"{}".as_slice());
    }
    Snapshots::new(stores.into_iter().map(|(name, store)| (name, Arc::new(store))).collect())
}

/// The stage, and what it is connected with.
pub struct Stage {
    pub rendered: Publisher<Option<Arc<Rendered>>>,
    pub validated: Topic<Option<Arc<Validated>>>,
    pub refused: Topic<Option<Arc<Refused>>>,
    pub failure_reports: Topic<FailureReports>,
    pub told: mpsc::Receiver<Envelope<Event>>,
    pub pods: Publisher<BTreeMap<HaproxyPod, PodState>>,
    _fleet: Publisher<Fleet>,
    _actor: ActorHandle<ValidateActor>,
}

pub fn stage(checker: Checker) -> Stage {
    let (rendered_writer, rendered) = topic(None);
    let (validated_writer, validated) = topic(None);
    let (refused_writer, refused) = topic(None);
    let (failure_reports_writer, failure_reports) = topic(FailureReports::new());
    let (events, told) = Events::channel(64);
    let (_fleet, fleet) = topic(Fleet::default());
    let (pods, states) = topic(BTreeMap::new());
    let options = ValidateOptions {
        checker,
        candidate: Arc::new(topic(None).0),
        validated: Arc::new(validated_writer),
        refused: Arc::new(refused_writer),
        failure_reports: Arc::new(failure_reports_writer),
        events,
    };
    let supervision = Supervision::new(Health::default());
    let _actor = Spec::named("validate").subscribes(&fleet).subscribes(&states).subscribes(&rendered).start(
        &Arbiter::current(),
        &supervision,
        move |own| ValidateActor::new(own, options.clone()),
    );
    Stage { rendered: rendered_writer, validated, refused, failure_reports, told, pods, _fleet, _actor }
}

/// A pod.
pub fn pod() -> HaproxyPod {
    HaproxyPod::at("n", "one", ([10, 0, 0, 1], 5555))
}

pub async fn changed<T: Send + Sync>(topic: &mut Topic<T>) {
    tokio::time::timeout(Duration::from_secs(60), topic.changed()).await.expect("it changes in the end");
}
