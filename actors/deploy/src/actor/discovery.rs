//! Watches the HAProxy pods of the active configuration.

use crate::discovery::{self, PodSet};
use actix::prelude::*;
use futures::StreamExt;
use haptic_model::{ActiveConfig, Event, HaproxyPod, ReadyPod};
use haptic_runtime::{Events, OwnHandle, Publisher, Work, messages::ConfigActivated, retry};
use k8s_openapi::api::core::v1::Pod;
use kube::{
    Api, Client,
    runtime::{
        WatchStreamExt,
        watcher::{self, ExponentialBackoff, watcher},
    },
};
use std::sync::Arc;

/// The name of this watch in events; no watched resource can bear it.
const RESOURCE: &str = "HAProxy pods";

/// What discovery needs.
#[derive(Clone)]
pub struct DiscoveryArguments {
    /// The cluster.
    pub client: Client,
    /// Which of the pods take traffic.
    pub ready: Arc<Publisher<Vec<ReadyPod>>>,
    /// Who hears of failures.
    pub events: Events,
}

/// Publishes the pods that match `podSelector`, sorted.
pub struct DiscoveryActor {
    own: OwnHandle<Self>,
    arguments: DiscoveryArguments,
    discovered: Arc<Publisher<Vec<HaproxyPod>>>,
    watch: Option<Watch>,
}

/// The pods that are watched, and what is known of them.
struct Watch {
    selection: PodSelection,
    pods: PodSet,
    _work: Work,
}

/// What a watch depends on; another one means another watch.
#[derive(Clone, Debug, PartialEq, Eq)]
struct PodSelection {
    namespace: Arc<str>,
    labels: String,
    port: u16,
}

/// The API server says something of the watched pods.
#[derive(Message)]
#[rtype(result = "()")]
struct PodsWatched(watcher::Result<watcher::Event<Pod>>);

impl DiscoveryActor {
    /// An actor over `arguments`; for the factory of a supervisor.
    #[must_use]
    pub fn new(
        own: OwnHandle<Self>,
        arguments: DiscoveryArguments,
        discovered: Arc<Publisher<Vec<HaproxyPod>>>,
    ) -> Self {
        Self { own, arguments, discovered, watch: None }
    }

    fn watch(&mut self, selection: PodSelection, context: &mut Context<Self>) {
        let pods: Api<Pod> = Api::namespaced(self.arguments.client.clone(), &selection.namespace);
        let watched = watcher(pods, watcher::Config::default().labels(&selection.labels))
            .backoff(ExponentialBackoff::from(retry::pauses()));
        let work = Work::follow(context, watched.map(PodsWatched));
        self.watch = Some(Watch { selection, pods: PodSet::default(), _work: work });
    }
}

haptic_runtime::supervised!(DiscoveryActor);

impl Handler<ConfigActivated> for DiscoveryActor {
    type Result = ();

    fn handle(&mut self, active: ConfigActivated, context: &mut Self::Context) {
        let Some(selection) = active.as_ref().map(|config| PodSelection::of(config)) else { return };
        if self.watch.as_ref().is_none_or(|watch| watch.selection != selection) {
            self.watch(selection, context);
        }
    }
}

impl Handler<PodsWatched> for DiscoveryActor {
    type Result = ();

    /// A pod list that cannot be read leaves the pods as they were.
    fn handle(&mut self, PodsWatched(event): PodsWatched, _: &mut Self::Context) {
        let Some(watch) = &mut self.watch else { return };
        match event {
            Ok(event) => {
                watch.pods.take(event, watch.selection.port);
                if watch.pods.is_synced() {
                    self.discovered.publish_if_changed(watch.pods.pods());
                    self.arguments.ready.publish_if_changed(watch.pods.ready());
                }
            }
            Err(error) => self.arguments.events.emit(watch.selection.failed(&error)),
        }
    }
}

impl PodSelection {
    fn of(config: &ActiveConfig) -> Self {
        let labels = discovery::selector(&config.spec);
        Self { namespace: Arc::clone(&config.namespace), labels, port: config.spec.dataplane.port }
    }

    fn failed(&self, error: &watcher::Error) -> Event {
        // kube's watcher wraps the API server's words; only these help a person.
        let mut cause: &dyn std::error::Error = error;
        while let Some(inner) = cause.source() {
            cause = inner;
        }
        let message = format!(
            "pods with labels {} in namespace {} cannot be watched ({cause}): may this controller's ServiceAccount \
             get, list and watch pods there? It is tried again; the pods known so far stay.",
            self.labels, self.namespace
        );
        Event::WatchFailed { resource: RESOURCE.into(), message }
    }
}
