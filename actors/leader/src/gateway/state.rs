//! What is known of the Gateway API's objects, and what becomes known.
//!
//! What rounds begin and end with is in files of their own: [`status_rounds`], [`service_rounds`].

mod service_rounds;
mod status_rounds;

use super::{
    held::{self, HeldRoute},
    kinds::{GatewayKind, KindSource, StatusKey},
    ports_since::PortsSince,
    progress::FleetProgress,
    queue::StatusQueue,
    service_stores, services,
    status::GatewayAddresses,
    written::StatusWrites,
};
use crate::rounds::Rounds;
use haptic_model::{
    ActiveConfig, Generation, HaproxyPod, Quarantine, ReadyPod, Snapshots,
    gateway::{self, NamespacedName},
    pipeline::{PodState, Rendered},
};
use serde_json::Value;
use std::{collections::BTreeMap, sync::Arc};
use tokio::time::Instant;

/// What is known, and what is to be done about it.
pub(crate) struct GatewayState {
    config: Option<Arc<ActiveConfig>>,
    sources: BTreeMap<GatewayKind, KindSource>,
    snapshots: Arc<Snapshots>,
    pods: Arc<BTreeMap<HaproxyPod, PodState>>,
    ready: Arc<Vec<ReadyPod>>,
    quarantine: Arc<Quarantine>,
    /// The routes that it holds back.
    held: BTreeMap<StatusKey, HeldRoute>,
    queue: StatusQueue,
    written: StatusWrites,
    services: Rounds,
    /// Since when each Gateway has its ports.
    ports: Arc<PortsSince>,
    /// The first generation that a port of a Service waits for.
    awaited: Option<Generation>,
    /// Services that were made and that the store does not have yet.
    made: BTreeMap<NamespacedName, Arc<Value>>,
    /// How each Gateway is reached, once that is known.
    addresses: BTreeMap<NamespacedName, GatewayAddresses>,
    writes: usize,
    leads: bool,
}

impl GatewayState {
    /// Nothing is known.
    pub(crate) fn new(now: Instant) -> Self {
        Self {
            config: None,
            sources: BTreeMap::new(),
            snapshots: Arc::default(),
            pods: Arc::default(),
            ready: Arc::default(),
            quarantine: Arc::default(),
            held: BTreeMap::new(),
            queue: StatusQueue::default(),
            written: StatusWrites::default(),
            services: Rounds::new(now),
            ports: Arc::default(),
            awaited: None,
            made: BTreeMap::new(),
            addresses: BTreeMap::new(),
            writes: 0,
            leads: false,
        }
    }

    /// Whether this replica writes anything.
    pub(crate) fn writes(&self) -> bool {
        self.leads && !self.sources.is_empty()
    }

    /// How many statuses are to be looked at now, how many later, and how much was written.
    pub(crate) fn sizes(&self) -> (usize, usize, usize) {
        let (due, later) = self.queue.sizes();
        (due, later, self.writes)
    }

    /// When the next round of statuses begins, if none is under way.
    pub(crate) fn next_statuses(&self, now: Instant) -> Option<Instant> {
        self.queue.next(now).filter(|_| self.queue.validated().is_some())
    }

    /// When the next round of Services begins.
    pub(crate) fn next_services(&self) -> Option<Instant> {
        self.services.next()
    }

    pub(crate) fn activated(&mut self, config: &Arc<ActiveConfig>) {
        let is_another = self.config.as_deref().map(controller) != Some(controller(config));
        let spec = &config.spec;
        self.sources = GatewayKind::sources(&spec.watched_resources, &spec.watched_resources_ignore_fields);
        self.config = Some(config.clone());
        self.queue_stored();
        self.queue_held();
        self.services.changed();
        if is_another {
            self.queue.everything();
        }
    }

    pub(crate) fn stored(&mut self, snapshots: Arc<Snapshots>) {
        let before = std::mem::replace(&mut self.snapshots, snapshots);
        if self.sources.is_empty() {
            return;
        }
        self.queue_stored();
        let differ =
            |config: &Arc<ActiveConfig>| service_stores::differ(&config.spec, &before, &self.snapshots);
        let classes = self.sources.get(&GatewayKind::Class);
        let classes_differ =
            classes.is_some_and(|of| service_stores::classes_differ(&of.store, &before, &self.snapshots));
        if classes_differ || self.config.as_ref().is_some_and(differ) {
            self.services.changed();
        }
    }

    fn queue_stored(&mut self) {
        for (kind, source) in &self.sources {
            if let Some(store) = self.snapshots.get(&source.store).filter(|store| store.is_synced()) {
                self.queue.stored(*kind, store);
            }
        }
    }

    pub(crate) fn quarantined(&mut self, quarantine: Arc<Quarantine>) {
        self.quarantine = quarantine;
        self.queue_held();
    }

    /// Looks at the routes that are held back and were not, or otherwise, or are no more.
    fn queue_held(&mut self) {
        let now = held::routes(&self.quarantine, &self.sources);
        let before = std::mem::replace(&mut self.held, now);
        let all = before.keys().chain(self.held.keys());
        let changed: Vec<StatusKey> =
            all.filter(|key| before.get(*key) != self.held.get(*key)).cloned().collect();
        changed.into_iter().for_each(|key| self.queue.look_at(key));
    }

    /// Takes up the verdicts of what is rendered, unless those of something newer are known; whether it does.
    pub(crate) fn rendered(&mut self, rendered: &Rendered, now: Instant) -> bool {
        let generation = rendered.reconcile.generation;
        if self.queue.validated() >= Some(generation) {
            return false;
        }
        let verdicts = &rendered.gateway_verdicts;
        if services::may_differ(&self.queue.verdicts().gateways, &verdicts.gateways) {
            self.ports = Arc::new(self.ports.after(generation, &verdicts.gateways));
            self.services.changed();
        }
        self.queue.rendered(generation, verdicts, now);
        true
    }

    /// Whether the ready pods run something else than before.
    pub(crate) fn run(&mut self, pods: Arc<BTreeMap<HaproxyPod, PodState>>) -> bool {
        self.pods = pods;
        self.acknowledged()
    }

    pub(crate) fn ready(&mut self, ready: Arc<Vec<ReadyPod>>) {
        self.ready = ready;
        self.services.changed();
        self.acknowledged();
    }

    fn acknowledged(&mut self) -> bool {
        let deployed = |ready: &ReadyPod| self.pods.get(&ready.pod).and_then(|state| state.deployed);
        let staying = self.ready.iter().filter(|ready| !ready.terminating);
        let fleet = FleetProgress { pods: staying.map(deployed).collect() };
        let is_another = fleet != **self.queue.fleet();
        if is_another {
            self.queue.acknowledged(fleet);
            self.lead_where_run();
        }
        is_another
    }

    /// Looks at Services again where the pods have what a port waits for.
    fn lead_where_run(&mut self) {
        if self.awaited.is_some_and(|awaited| self.queue.fleet().has_run(awaited)) {
            self.services.changed();
        }
    }

    /// Whether this replica leads has become known; whether it is news.
    pub(crate) fn led(&mut self, leads: bool, now: Instant) -> bool {
        if self.leads == leads {
            return false;
        }
        self.leads = leads;
        // What this replica wrote, another one may have changed since.
        (self.written, self.made, self.addresses) = Default::default();
        self.services = Rounds::new(now);
        if leads {
            self.queue.everything();
        }
        true
    }
}

fn controller(config: &ActiveConfig) -> &str {
    gateway::controller_name(&config.spec.templating_settings.extra_context)
}
