//! Watches the HAProxy pods of the configuration in force.

use crate::discovery::{self, PodSet};
use actix::{Actor, AsyncContext, Context, Supervised, fut::wrap_future};
use futures::{StreamExt, TryStreamExt};
use haptic_model::{ActiveConfig, Event, HaproxyPod};
use haptic_runtime::{CellReader, CellWriter, Events, Seat, retry};
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
    /// Says which pods, in which namespace, and where their agents listen.
    pub config: CellReader<Option<Arc<ActiveConfig>>>,
    /// Where the pods are published, sorted.
    pub discovered: Arc<CellWriter<Vec<HaproxyPod>>>,
    /// Who hears of failures.
    pub events: Events,
}

/// Publishes the pods that match `podSelector`.
pub struct DiscoveryActor {
    seat: Seat<Self>,
    arguments: DiscoveryArguments,
}

/// What a watch depends on; another one means another watch.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Target {
    namespace: Arc<str>,
    labels: String,
    port: u16,
}

impl DiscoveryActor {
    /// An actor over `arguments`; for the factory of a Keeper.
    #[must_use]
    pub fn new(seat: Seat<Self>, arguments: DiscoveryArguments) -> Self {
        Self { seat, arguments }
    }
}

impl Actor for DiscoveryActor {
    type Context = Context<Self>;

    fn started(&mut self, context: &mut Self::Context) {
        context.spawn(wrap_future(self.arguments.clone().discover()));
    }
}

impl Supervised for DiscoveryActor {
    fn restarting(&mut self, _: &mut Self::Context) {
        *self = self.seat.rebuild();
    }
}

impl DiscoveryArguments {
    async fn discover(mut self) {
        loop {
            let config = self.config.wait_for(Option::is_some).await;
            let Some(target) = config.as_ref().as_ref().map(|config| Target::of(config)) else { continue };
            let mut config = self.config.clone();
            let other = async {
                config
                    .wait_for(|config| config.as_ref().is_some_and(|config| Target::of(config) != target))
                    .await;
            };
            tokio::select! {
                () = self.watch(&target) => {}
                () = other => {}
            }
        }
    }

    /// Watches until it is dropped. A pod list that cannot be read leaves the pods as they were.
    async fn watch(&self, target: &Target) {
        let pods: Api<Pod> = Api::namespaced(self.client.clone(), &target.namespace);
        let watch = watcher(pods, watcher::Config::default().labels(&target.labels))
            .backoff(ExponentialBackoff::from(retry::pauses()));
        let mut set = PodSet::default();
        let mut events = watch.into_stream().boxed();
        loop {
            match events.try_next().await {
                Ok(Some(event)) => {
                    set.take(event, target.port);
                    if set.is_synced() {
                        self.discovered.publish_if_changed(set.pods());
                    }
                }
                Ok(None) => return,
                Err(error) => self.tell(&error, target),
            }
        }
    }

    fn tell(&self, error: &watcher::Error, target: &Target) {
        // kube's watcher wraps the API server's words; only these help a person.
        let mut cause: &dyn std::error::Error = error;
        while let Some(inner) = cause.source() {
            cause = inner;
        }
        let message = format!(
            "pods with labels {} in namespace {} cannot be watched ({cause}): may this controller's ServiceAccount \
             get, list and watch pods there? It is tried again; the pods known so far stay.",
            target.labels, target.namespace
        );
        self.events.tell(Event::WatchFailed { resource: RESOURCE.into(), message });
    }
}

impl Target {
    fn of(config: &ActiveConfig) -> Self {
        let labels = discovery::selector(&config.spec);
        Self { namespace: Arc::clone(&config.namespace), labels, port: config.spec.dataplane.port }
    }
}
