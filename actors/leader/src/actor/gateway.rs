//! GatewayStatusActor: writes statuses of the Gateway API and keeps the Services of Gateways, while this replica leads.

use crate::{
    gateway::{
        held::{self, HeldRoute},
        kinds::{GatewayKind, KindSource, StatusKey},
        progress::FleetProgress,
        queue::StatusQueue,
        service::PREFIX,
        service_api::ServiceApi,
        services::{self, ServiceInputs, ServicesBrought},
        status::GatewayAddresses,
        status_api::GatewayStatusApi,
        work::{self, ObjectVerdict, RoundContext, StatusDone, StatusOutcome, StatusWork, StoredObject},
    },
    reporting::{GatewayReporting, Report},
    rounds::Rounds,
};
use actix::prelude::*;
use haptic_model::{
    ActiveConfig, HaproxyPod, Object, Quarantine, ReadyPod, Snapshot, Snapshots,
    crd::{GatewayServiceMode, HAProxyTemplateConfigSpec},
    gateway::{self, NamespacedName},
    pipeline::{Leadership, PodState, Rendered},
};
use haptic_runtime::{
    Alarm, OwnHandle, Publisher, Topic, Work,
    messages::{
        BundleProposed, BundleValidated, ConfigActivated, LeadershipChanged, PodStatesChanged,
        QuarantineChanged, ReadyPodsChanged, StoresChanged,
    },
};
use kube::Client;
use serde_json::{Value, json};
use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
    time::Duration,
};
use tokio::time::Instant;

/// So many statuses are looked at in one round: what comes meanwhile waits no longer than that takes.
const AT_ONCE: usize = 200;
/// The status of one object is not written more often than this, however often it changes.
const BETWEEN_WRITES: Duration = Duration::from_millis(200);
/// A status that the API server makes something else of is written again after this time.
const IN_VAIN: Duration = Duration::from_secs(60);
/// Services are looked at again so long after a round, and after one in which something failed.
const SERVICES: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(10));

/// What a [`GatewayStatusActor`] is built from; the same for each of its lives.
#[derive(Clone)]
pub struct GatewayStatusOptions {
    /// The API server.
    pub client: Client,
    /// Read right before each write.
    pub leadership: Topic<Leadership>,
    /// What cannot be written.
    pub reporting: Arc<Publisher<GatewayReporting>>,
}

/// Writes what only the leader writes for the Gateway API.
pub struct GatewayStatusActor {
    own: OwnHandle<Self>,
    options: GatewayStatusOptions,
    config: Option<Arc<ActiveConfig>>,
    sources: BTreeMap<GatewayKind, KindSource>,
    queue: StatusQueue,
    snapshots: Arc<Snapshots>,
    pods: Arc<BTreeMap<HaproxyPod, PodState>>,
    ready: Arc<Vec<ReadyPod>>,
    quarantine: Arc<Quarantine>,
    /// The routes that it holds back.
    held: BTreeMap<StatusKey, HeldRoute>,
    /// How each Gateway is reached, once that is known.
    addresses: BTreeMap<NamespacedName, GatewayAddresses>,
    /// Services that were made and that the store does not have yet.
    made: BTreeMap<NamespacedName, Arc<Value>>,
    written: HashMap<StatusKey, WrittenStatus>,
    /// Statuses that the API server will not take.
    refused: BTreeMap<StatusKey, String>,
    writes: usize,
    services: Rounds,
    running: RunningRounds,
    leads: bool,
    alarm: Alarm,
}

/// What was written last of an object.
struct WrittenStatus {
    /// What the store had then: as long as it has that, the object is as it was written.
    seen: Arc<Object>,
    object: Arc<Value>,
    /// It is not written again before.
    not_before: Instant,
}

/// Dropped, they are given up amid a call.
#[derive(Default)]
struct RunningRounds {
    statuses: Option<Work>,
    services: Option<Work>,
}

impl GatewayStatusActor {
    /// An actor that has received nothing yet.
    #[must_use]
    pub fn new(own: OwnHandle<Self>, options: GatewayStatusOptions) -> Self {
        Self {
            own,
            options,
            config: None,
            sources: BTreeMap::new(),
            queue: StatusQueue::default(),
            snapshots: Arc::default(),
            pods: Arc::default(),
            ready: Arc::default(),
            quarantine: Arc::default(),
            held: BTreeMap::new(),
            addresses: BTreeMap::new(),
            made: BTreeMap::new(),
            written: HashMap::new(),
            refused: BTreeMap::new(),
            writes: 0,
            services: Rounds::new(Instant::now()),
            running: RunningRounds::default(),
            leads: false,
            alarm: Alarm::default(),
        }
    }

    /// Begins every round that it is time for.
    fn advance(&mut self, context: &mut Context<Self>) {
        if !self.leads || self.sources.is_empty() {
            return;
        }
        let now = Instant::now();
        self.begin_services(context, now);
        self.begin_statuses(context, now);
        let is_next = self.running.statuses.is_none() && self.queue.judged().is_some();
        let statuses = self.queue.next(now).filter(|_| is_next);
        let (due, later) = self.queue.sizes();
        self.own.set_detail(&json!({"due": due, "later": later, "written": self.writes}));
        if let Some(next) = statuses.into_iter().chain(self.services.next()).min() {
            self.alarm.set(next.max(now + Duration::from_millis(1)), context, Self::advance);
        }
    }

    fn begin_statuses(&mut self, context: &mut Context<Self>, now: Instant) {
        if self.running.statuses.is_some() || self.queue.judged().is_none() {
            return;
        }
        let keys = self.queue.take(AT_ONCE, now);
        let works: Vec<StatusWork> = keys.into_iter().filter_map(|key| self.work_on(key, now)).collect();
        let Some(config) = self.config.as_ref().filter(|_| !works.is_empty()) else { return };
        let round = work::round(
            works,
            RoundContext {
                api: GatewayStatusApi::new(self.options.client.clone()),
                leadership: self.options.leadership.clone(),
                controller: gateway::controller_name(&config.spec.templating_settings.extra_context).into(),
                verdicts: self.queue.verdicts().clone(),
                fleet: self.queue.fleet().clone(),
                has_addresses: config.spec.controller.gateway.service_mode != GatewayServiceMode::None,
                began: now,
                now: work::timestamp(),
            },
        );
        self.running.statuses = Some(Work::start(context, round, |done, actor: &mut Self, context| {
            actor.running.statuses = None;
            actor.take_statuses(done, Instant::now());
            actor.advance(context);
        }));
    }

    /// The look at `key`, unless there is nothing to look at, or it is too early.
    fn work_on(&mut self, key: StatusKey, now: Instant) -> Option<StatusWork> {
        let source = self.sources.get(&key.kind)?.clone();
        let seen = self.queue.store(key.kind)?.get(&key.namespace, &key.name)?.clone();
        let verdict = self.verdict_of(&key)?;
        let mut object = if source.is_complete { StoredObject::InStore } else { StoredObject::Unknown };
        if let Some(written) = self.written.get(&key) {
            if written.not_before > now {
                self.queue.postpone(key, written.not_before);
                return None;
            }
            if Arc::ptr_eq(&written.seen, &seen) {
                object = StoredObject::Written(written.object.clone());
            } else {
                self.written.remove(&key);
            }
        }
        let waiting = self.queue.waiting(&key).cloned();
        Some(StatusWork { key, source, object, verdict, waiting, seen })
    }

    /// What was decided about `key`; `None`: it is not known yet how it is reached, and that is looked at when it is.
    fn verdict_of(&self, key: &StatusKey) -> Option<ObjectVerdict> {
        let (verdicts, name) = (self.queue.verdicts(), (key.namespace.clone(), key.name.clone()));
        Some(match key.kind {
            GatewayKind::Class => ObjectVerdict::Class(verdicts.classes.get(&key.name)?.clone()),
            GatewayKind::Gateway => match verdicts.gateways.get(&name) {
                Some(verdict) => ObjectVerdict::Gateway(verdict.clone(), self.addresses.get(&name)?.clone()),
                None => ObjectVerdict::Abandoned(self.queue.abandoned(key)),
            },
            GatewayKind::ListenerSet => match verdicts.listener_sets.get(&name) {
                Some(verdict) => ObjectVerdict::ListenerSet(verdict.clone()),
                None => ObjectVerdict::Abandoned(self.queue.abandoned(key)),
            },
            GatewayKind::Route(kind) => {
                let verdict = verdicts.routes.get(&(kind, name)).cloned();
                match self.held.get(key) {
                    Some(held) => ObjectVerdict::HeldRoute(held.clone(), verdict),
                    None => verdict.map_or(ObjectVerdict::None, ObjectVerdict::Route),
                }
            }
            GatewayKind::Policy => {
                verdicts.policies.get(&name).cloned().map_or(ObjectVerdict::None, ObjectVerdict::Policy)
            }
        })
    }

    fn take_statuses(&mut self, done: Vec<StatusDone>, now: Instant) {
        let (mut failed, mut why) = (Vec::new(), None);
        for StatusDone { key, outcome, seen, waits } in done {
            self.refused.remove(&key);
            match outcome {
                StatusOutcome::Right => {}
                StatusOutcome::Written { object, in_vain } => {
                    self.writes += 1;
                    self.queue.written(&key);
                    if in_vain {
                        tracing::warn!("{key}: the API server stores another status than is written");
                    }
                    let not_before = now + if in_vain { IN_VAIN } else { BETWEEN_WRITES };
                    self.written.insert(key.clone(), WrittenStatus { seen, object, not_before });
                }
                StatusOutcome::Failed(sentence) => {
                    why.get_or_insert(sentence);
                    failed.push(key);
                    continue;
                }
                StatusOutcome::Refused(sentence) => {
                    self.refused.insert(key, sentence);
                    continue;
                }
                StatusOutcome::Abandoned => continue,
            }
            if waits {
                self.queue.waits(key, now);
            }
        }
        if !failed.is_empty() {
            self.queue.failed(failed, now);
        }
        let why = why.or_else(|| self.refused.values().next().cloned());
        self.report(Report::GatewayStatuses, why);
    }

    fn begin_services(&mut self, context: &mut Context<Self>, now: Instant) {
        let Some(config) = self.config.clone() else { return };
        if !self.services.begin(now) {
            return;
        }
        let read = |kind| self.queue.store(kind).filter(|store| store.is_synced()).cloned();
        let inputs = ServiceInputs {
            verdicts: self.queue.verdicts().clone(),
            services: self.store_of(&config.spec, "v1", "services"),
            slices: self.store_of(&config.spec, "discovery.k8s.io/v1", "endpointslices"),
            gateways: read(GatewayKind::Gateway),
            classes: read(GatewayKind::Class),
            pods: self.ready.clone(),
            made: std::mem::take(&mut self.made),
            config,
        };
        let api = ServiceApi::new(self.options.client.clone());
        let round = services::bring(inputs, api, self.options.leadership.clone());
        self.running.services = Some(Work::start(context, round, |brought, actor: &mut Self, context| {
            actor.running.services = None;
            actor.take_services(brought, Instant::now());
            actor.advance(context);
        }));
    }

    fn take_services(&mut self, brought: ServicesBrought, now: Instant) {
        let ServicesBrought { addresses, made, writes, failures } = brought;
        self.writes += writes;
        let before = std::mem::replace(&mut self.addresses, addresses);
        let changed = self.addresses.iter().filter(|(name, now)| before.get(*name) != Some(now));
        for (namespace, name) in changed.map(|(name, _)| name) {
            self.queue.look_at(StatusKey::new(GatewayKind::Gateway, namespace, name));
        }
        // What was made has no EndpointSlices yet.
        if made.keys().any(|name| !self.made.contains_key(name)) {
            self.services.changed();
        }
        self.made = made;
        let (pause, retry) = SERVICES;
        self.services.ended(now + pause, (!failures.is_empty()).then_some(now + retry));
        let why = failures.iter().next().map(|((namespace, name), why)| format!("{namespace}/{name}: {why}"));
        self.report(Report::GatewayServices, why);
    }

    fn report(&self, what: Report, why: Option<String>) {
        let mut now = GatewayReporting::clone(&self.options.reporting.latest());
        match why {
            Some(why) => now.failures.insert(what, why),
            None => now.failures.remove(&what),
        };
        self.options.reporting.publish_if_changed(now);
    }

    /// The first store of that kind; empty when it is not watched.
    fn store_of(&self, spec: &HAProxyTemplateConfigSpec, version: &str, plural: &str) -> Arc<Snapshot> {
        let mut watched = spec.watched_resources.iter();
        let name = watched.find(|(_, one)| one.api_version == version && one.resources == plural);
        name.and_then(|(name, _)| self.snapshots.get(name)).cloned().unwrap_or_default()
    }

    /// Whether a Service or EndpointSlice of a Gateway differs between the stores and `before`, or the one that all share.
    fn services_differ_from(&self, before: &Snapshots) -> bool {
        let Some(config) = &self.config else { return false };
        let shared =
            config.spec.controller.ingress_status.as_ref().and_then(|shared| shared.service.as_ref());
        let is_one = |object: &Arc<Object>| {
            let name = &*object.reference.name;
            name.starts_with(PREFIX) || shared.is_some_and(|shared| shared.name == name)
        };
        let watched = config.spec.watched_resources.iter().filter(|(_, one)| {
            matches!(
                (&*one.api_version, &*one.resources),
                ("v1", "services") | ("discovery.k8s.io/v1", "endpointslices")
            )
        });
        watched.into_iter().any(|(name, _)| {
            let (Some(before), Some(now)) = (before.get(name), self.snapshots.get(name)) else { return true };
            now.differences_from(before)
                .any(|one| [one.before, one.after].into_iter().flatten().any(|(object, _)| is_one(object)))
        })
    }

    /// Whether a GatewayClass differs: one that another controller takes over has its Gateways' Services go.
    fn classes_differ_from(&self, before: &Snapshots) -> bool {
        let Some(source) = self.sources.get(&GatewayKind::Class) else { return false };
        let store = |all: &Snapshots| all.get(&source.store).cloned();
        match (store(before), store(&self.snapshots)) {
            (Some(before), Some(now)) => !now.is_unchanged_since(&before),
            (before, now) => before.is_some() != now.is_some(),
        }
    }

    fn fleet_changed(&mut self, context: &mut Context<Self>) {
        let deployed = |ready: &ReadyPod| self.pods.get(&ready.pod).and_then(|state| state.deployed);
        let staying = self.ready.iter().filter(|ready| !ready.terminating);
        let fleet = FleetProgress { pods: staying.map(deployed).collect() };
        if fleet != **self.queue.fleet() {
            self.queue.acknowledged(fleet);
            self.advance(context);
        }
    }
}

haptic_runtime::supervised!(GatewayStatusActor);

impl Handler<ConfigActivated> for GatewayStatusActor {
    type Result = ();

    fn handle(&mut self, active: ConfigActivated, context: &mut Self::Context) {
        let Some(config) = active.as_ref() else { return };
        let controller = |config: &Arc<ActiveConfig>| {
            gateway::controller_name(&config.spec.templating_settings.extra_context).to_owned()
        };
        let is_another = self.config.as_ref().map(controller) != Some(controller(config));
        self.sources = GatewayKind::sources(
            &config.spec.watched_resources,
            &config.spec.watched_resources_ignore_fields,
        );
        self.config = Some(config.clone());
        self.stores_changed();
        self.held_changed();
        self.services.changed();
        if is_another {
            self.queue.everything();
        }
        self.advance(context);
    }
}

impl Handler<StoresChanged> for GatewayStatusActor {
    type Result = ();

    fn handle(&mut self, stores: StoresChanged, context: &mut Self::Context) {
        let before = std::mem::replace(&mut self.snapshots, stores.payload);
        if self.sources.is_empty() {
            return;
        }
        self.stores_changed();
        if self.services_differ_from(&before) || self.classes_differ_from(&before) {
            self.services.changed();
        }
        self.advance(context);
    }
}

impl GatewayStatusActor {
    fn stores_changed(&mut self) {
        for (kind, source) in &self.sources {
            if let Some(store) = self.snapshots.get(&source.store).filter(|store| store.is_synced()) {
                self.queue.stored(*kind, store);
            }
        }
    }
}

impl Handler<QuarantineChanged> for GatewayStatusActor {
    type Result = ();

    fn handle(&mut self, quarantine: QuarantineChanged, context: &mut Self::Context) {
        self.quarantine = quarantine.payload;
        self.held_changed();
        self.advance(context);
    }
}

impl GatewayStatusActor {
    /// Looks at the routes that are held back and were not, or otherwise, or are no more.
    fn held_changed(&mut self) {
        let now = held::routes(&self.quarantine, &self.sources);
        let before = std::mem::replace(&mut self.held, now);
        let all = before.keys().chain(self.held.keys());
        let changed: Vec<StatusKey> =
            all.filter(|key| before.get(*key) != self.held.get(*key)).cloned().collect();
        changed.into_iter().for_each(|key| self.queue.look_at(key));
    }
}

/// What pods run ahead of HAProxy's own checker they run, and its statuses do not wait for that.
impl Handler<BundleProposed> for GatewayStatusActor {
    type Result = ();

    fn handle(&mut self, candidate: BundleProposed, context: &mut Self::Context) {
        if let Some(candidate) = candidate.as_ref() {
            self.rendered(&candidate.rendered, context);
        }
    }
}

impl Handler<BundleValidated> for GatewayStatusActor {
    type Result = ();

    fn handle(&mut self, validated: BundleValidated, context: &mut Self::Context) {
        if let Some(validated) = validated.as_ref() {
            self.rendered(&validated.rendered, context);
        }
    }
}

impl GatewayStatusActor {
    /// Takes up the verdicts of what is rendered, unless those of something newer are known.
    fn rendered(&mut self, rendered: &Rendered, context: &mut Context<Self>) {
        let generation = rendered.reconcile.generation;
        if self.queue.judged() >= Some(generation) {
            return;
        }
        let verdicts = &rendered.gateway_verdicts;
        if services::may_differ(&self.queue.verdicts().gateways, &verdicts.gateways) {
            self.services.changed();
        }
        self.queue.rendered(generation, verdicts, Instant::now());
        self.advance(context);
    }
}

impl Handler<PodStatesChanged> for GatewayStatusActor {
    type Result = ();

    fn handle(&mut self, pods: PodStatesChanged, context: &mut Self::Context) {
        self.pods = pods.payload;
        self.fleet_changed(context);
    }
}

impl Handler<ReadyPodsChanged> for GatewayStatusActor {
    type Result = ();

    fn handle(&mut self, ready: ReadyPodsChanged, context: &mut Self::Context) {
        self.ready = ready.payload;
        self.services.changed();
        self.fleet_changed(context);
        self.advance(context);
    }
}

impl Handler<LeadershipChanged> for GatewayStatusActor {
    type Result = ();

    fn handle(&mut self, leadership: LeadershipChanged, context: &mut Self::Context) {
        if self.leads == leadership.leads {
            return;
        }
        self.leads = leadership.leads;
        self.running = RunningRounds::default();
        // What this replica wrote, another one may have changed since.
        (self.written, self.made) = Default::default();
        (self.refused, self.addresses) = Default::default();
        self.options.reporting.publish_if_changed(GatewayReporting::default());
        self.services = Rounds::new(Instant::now());
        if self.leads {
            self.queue.everything();
            self.advance(context);
        }
    }
}
