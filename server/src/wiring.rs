//! The pipeline, wired: what each actor subscribes to, and what it publishes. `ARCHITECTURE.md` has the picture.
//!
//! Actors subscribe to [topics] where they are started, and each handler of an actor is one thing that it reacts to
//! ([`haptic_runtime::messages`]). Addresses, publishers and subscriptions are constructor arguments; there is no registry.

pub mod leading;
mod observers;
mod started;
mod stores;
mod supervision;
mod topics;

use crate::logging::LogLevel;
use actix::ArbiterHandle;
use haptic_commentator::{SpanSink, Upkeep};
use haptic_config::{ActivationActor, ConfigActor, actor::ConfigOptions, source::ConfigSource};
use haptic_debounce::{DebounceActor, DebounceOptions, Generations};
use haptic_deploy::{
    DeployTopics, DiscoveryActor, DiscoveryArguments, FleetActor, FleetArguments, FleetPublishers, PlanCache,
};
use haptic_inspect::Readers;
use haptic_leader::certificate::DefaultCertificate;
use haptic_model::{ActiveConfig, HaproxyPod};
use haptic_render::{
    Checked, RenderLimits, Renderer,
    actor::{RenderActor, RenderOptions},
};
use haptic_resolve::{ResolveActor, ResolveOptions, ResolvedNames};
use haptic_runtime::{ActorHandle, Arbiters, Events, Health, Publisher, Spec, Supervision, Topic};
use haptic_validate::{Checker, ValidateActor, ValidateOptions, memory};
use haptic_watch::{ObjectSource, Pool, RunningWatches, WatchSet, WatchSetActor};
use haptic_webhook::{
    ReviewActor, ReviewQueue, WebhookActor, WebhookOptions,
    endpoint::{EndpointState, EndpointWriter},
    render_cache::LiveTopics,
    service::checker_of_its_own,
};
use leading::{BeforeLeading, Leading, LeadingBy};
use observers::Sinks;
use started::Started;
use std::{io, sync::Arc};
use stores::OtherStoresActor;
use topics::{ConfigPublishers, DiscoveryPublishers, Edges, RenderPublishers, Topics, ValidatePublishers};

/// What differs between a cluster and one machine.
#[derive(Clone)]
pub struct Environment {
    /// Where the configuration comes from.
    pub source: ConfigSource,
    /// Where the watched objects come from.
    pub objects: ObjectSource,
    /// Which pods there are.
    pub pods: Pods,
    pub leading: LeadingBy,
    /// The certificate for hosts that have none, as a Secret; where a Lease says who leads, the leader keeps it instead.
    pub certificate: DefaultCertificate,
    pub checker: Checker,
    /// The level of the log.
    pub log_level: LogLevel,
    /// Folds the metrics' histograms from time to time.
    pub upkeep: Option<Upkeep>,
    /// Where spans go, if they go anywhere.
    pub traces: Option<SpanSink>,
    /// Whether each render is made a second time, in full, and compared.
    pub paranoid: bool,
}

/// Which HAProxy pods there are.
#[derive(Clone)]
pub enum Pods {
    /// Those that the configuration selects.
    Selected(kube::Client),
    /// Always this one.
    Fixed(HaproxyPod),
}

/// The running pipeline: what it publishes, and how it is ended.
pub struct Pipeline {
    /// What everything else may read.
    pub readers: Readers,
    /// What the admission webhook is called by.
    pub endpoint: Topic<EndpointState>,
    /// Where changes wait to be reviewed, if there is an API server.
    pub reviews: Option<ReviewQueue>,
    /// Receives what happens outside of the pipeline.
    pub events: Events,
    /// Says that the process is ending.
    pub draining: Publisher<bool>,
    watches: RunningWatches,
    intake: IntakeActors,
    fleet: ActorHandle<FleetActor>,
    leading: Leading,
}

/// The actors that take in changes.
struct IntakeActors {
    config: ActorHandle<ConfigActor>,
    watch_set: ActorHandle<WatchSetActor>,
    discovery: Option<ActorHandle<DiscoveryActor>>,
}

/// A pipeline that cannot start.
#[derive(Debug, thiserror::Error)]
pub enum WiringError {
    /// The operating system gives no thread.
    #[error("no thread for an arbiter: {0}")]
    Thread(#[from] io::Error),
    /// The folder of manifests cannot be read.
    #[error(transparent)]
    Folder(#[from] haptic_watch::source::directory::DirectoryError),
}

/// Starts every actor. Call it within [`haptic_runtime::run`].
///
/// # Errors
/// When there is no thread for an arbiter, or the folder of manifests cannot be read.
pub fn start(environment: Environment, arbiters: &Arbiters, health: Health) -> Result<Pipeline, WiringError> {
    let Environment { source, objects, pods, leading, certificate, checker, .. } = environment;
    let threads = Threads::start(arbiters)?;
    let beginning = BeforeLeading::of(leading);
    let topics = Topics::new(health, beginning.leadership.clone(), certificate, beginning.holds());
    let Topics { readers, edges, publishers } = topics;
    let supervision = supervision::unobserved(&readers.actors);
    let observing =
        Started { readers: &readers, edges: &edges, arbiter: &threads.observe, supervision: &supervision };
    let reporter = beginning.reporter(&observing, publishers.reporter);
    beginning.gateway_status(&observing, publishers.gateway_status);
    let sinks =
        Sinks { log_level: environment.log_level, upkeep: environment.upkeep, traces: environment.traces };
    let events = observers::start(&observing, sinks, reporter);
    let supervision = supervision::observed(readers.actors.clone(), &events);
    let wiring = Wiring { threads, readers, edges, events, supervision };

    wiring.fill_other_stores(publishers.resolve);
    let leading = wiring.on(&wiring.threads.lead);
    beginning.keep_certificate(&leading, publishers.default_certificate);
    beginning.keep_holds(&leading, publishers.host_holds);
    let api_server = beginning.api_server();
    let leading = Leading::start(beginning, &wiring);
    let config = wiring.read_configuration(source, publishers.config);
    let watches = RunningWatches::default();
    let watch_set = wiring.watch(&objects, &watches)?;
    wiring.activate(publishers.activation);
    let render = wiring.render(environment.paranoid, publishers.render);
    wiring.debounce(&render);
    let reviews = wiring.admit(api_server, &render, &checker, publishers.webhook);
    wiring.validate(checker, publishers.validate);
    let discovery = wiring.discover(pods, publishers.discovery);
    let fleet = wiring.deploy(publishers.fleet);

    let Wiring { readers, edges, events, .. } = wiring;
    let intake = IntakeActors { config, watch_set, discovery };
    let (endpoint, draining) = (edges.endpoint, publishers.draining);
    Ok(Pipeline { readers, endpoint, reviews, events, draining, watches, intake, fleet, leading })
}

/// The threads that actors run on.
struct Threads {
    observe: ArbiterHandle,
    intake: ArbiterHandle,
    render: ArbiterHandle,
    deploy: ArbiterHandle,
    lead: ArbiterHandle,
    /// Has one actor only, which nothing may keep from its work.
    fence: ArbiterHandle,
}

impl Threads {
    fn start(arbiters: &Arbiters) -> io::Result<Self> {
        Ok(Self {
            observe: arbiters.start_observing("observe")?,
            intake: arbiters.start("intake")?,
            render: arbiters.start("render")?,
            deploy: arbiters.start("deploy")?,
            lead: arbiters.start("lead")?,
            fence: arbiters.start("fence")?,
        })
    }
}

/// What the actors are started with.
struct Wiring {
    threads: Threads,
    readers: Readers,
    edges: Edges,
    events: Events,
    supervision: Supervision,
}

impl Wiring {
    fn on<'w>(&'w self, arbiter: &'w ArbiterHandle) -> Started<'w> {
        Started { readers: &self.readers, edges: &self.edges, arbiter, supervision: &self.supervision }
    }

    /// Those that hold no watched objects: the default certificate, what names of Services lead to, and what is kept of hosts.
    fn fill_other_stores(&self, names: Publisher<ResolvedNames>) {
        let stores = self.edges.stores.clone();
        Spec::named("stores")
            .subscribes(&self.edges.certificate)
            .subscribes(&self.edges.names)
            .subscribes(&self.edges.read_holds)
            .start(&self.threads.intake, &self.supervision, move |own| OtherStoresActor::new(own, &stores));
        let options = ResolveOptions { names: Arc::new(names), dns: None };
        Spec::named("resolve").subscribes(&self.readers.accepted).subscribes(&self.readers.snapshots).start(
            &self.threads.intake,
            &self.supervision,
            move |own| ResolveActor::new(own, options.clone()),
        );
    }

    /// The admission webhook, where there is an API server to call it: its path and certificate, and what evaluates reviews.
    fn admit(
        &self,
        api_server: Option<(kube::Client, Arc<str>)>,
        render: &ActorHandle<RenderActor>,
        checker: &Checker,
        endpoint: EndpointWriter,
    ) -> Option<ReviewQueue> {
        let (client, namespace) = api_server?;
        let (leadership, endpoint) = (self.readers.leadership.clone(), Arc::new(endpoint));
        let options = WebhookOptions { client, namespace, leadership, endpoint };
        Spec::named("webhook").subscribes(&self.readers.config).subscribes(&self.readers.leadership).start(
            &self.threads.lead,
            &self.supervision,
            move |own| WebhookActor::new(own, options.clone()),
        );
        let (topics, renderer) = (LiveTopics::of(&self.readers), render.mailbox());
        let checker = checker_of_its_own(checker);
        let actor = move |own| ReviewActor::new(own, topics.clone(), renderer.clone(), checker.clone());
        let review = self.on(&self.threads.lead).keep("review", actor);
        Some(ReviewQueue::of(&review, self.edges.stores.named().clone()))
    }

    fn read_configuration(
        &self,
        source: ConfigSource,
        publishers: ConfigPublishers,
    ) -> ActorHandle<ConfigActor> {
        let options = ConfigOptions {
            source,
            validators: haptic_inspect::validators(),
            accepted: Arc::new(publishers.accepted),
            state: Arc::new(publishers.state),
            config_verdict: Arc::new(publishers.config_verdict),
            remarks: Arc::new(publishers.remarks),
            events: self.events.clone(),
        };
        let actor = move |own| ConfigActor::new(own, options.clone());
        self.on(&self.threads.intake).keep("config", actor)
    }

    fn watch(
        &self,
        objects: &ObjectSource,
        running: &RunningWatches,
    ) -> Result<ActorHandle<WatchSetActor>, WiringError> {
        let set = WatchSet {
            accepted: self.readers.accepted.clone(),
            origin: objects.open(&self.events)?,
            stores: self.edges.stores.clone(),
            pool: Pool::new(memory::MemoryLimit::read().map(|limit| limit.bytes)),
            remarks: self.edges.remarks.clone(),
            events: self.events.clone(),
            arbiter: self.threads.intake.clone(),
            supervision: self.supervision.clone(),
            running: running.clone(),
        };
        let spec = Spec::named("watches").subscribes(&self.readers.config).subscribes(&self.readers.accepted);
        let actor = move |own| WatchSetActor::new(own, set.clone());
        Ok(spec.start(&self.threads.intake, &self.supervision, actor))
    }

    /// Makes the newest valid configuration the active one, once its stores are read.
    fn activate(&self, active: Publisher<Option<Arc<ActiveConfig>>>) {
        let active = Arc::new(active);
        Spec::named("activation")
            .subscribes(&self.readers.accepted)
            .subscribes(&self.readers.snapshots)
            .start(&self.threads.intake, &self.supervision, move |own| {
                ActivationActor::new(own, Arc::clone(&active))
            });
    }

    fn debounce(&self, render: &ActorHandle<RenderActor>) {
        let options = DebounceOptions {
            generations: Generations::default(),
            render: render.mailbox(),
            events: self.events.clone(),
        };
        Spec::named("debounce")
            .subscribes(&self.readers.config)
            .subscribes(&self.readers.snapshots)
            .subscribes(&self.readers.fleet)
            .subscribes(&self.edges.failure_reports)
            .subscribes(&self.edges.failed_reloads)
            .subscribes(&self.readers.quarantine)
            .subscribes(&self.readers.validated)
            .start(&self.threads.intake, &self.supervision, move |own| {
                DebounceActor::new(own, options.clone())
            });
    }

    fn render(&self, paranoid: bool, publishers: RenderPublishers) -> ActorHandle<RenderActor> {
        let options = RenderOptions {
            rendered: Arc::new(publishers.rendered),
            attempted: Arc::new(publishers.attempted),
            quarantine: Arc::new(publishers.quarantine),
            holds: Arc::new(publishers.holds),
            set_aside: Arc::new(publishers.set_aside),
            events: self.events.clone(),
            limits: RenderLimits::default(),
            renderer: if paranoid { || Renderer::checked(Checked::Always) } else { Renderer::default },
        };
        let actor = move |own| RenderActor::new(own, options.clone());
        self.on(&self.threads.render).keep("render", actor)
    }

    fn validate(&self, checker: Checker, publishers: ValidatePublishers) {
        let options = ValidateOptions {
            checker,
            candidate: Arc::new(publishers.candidate),
            validated: Arc::new(publishers.validated),
            refused: Arc::new(publishers.refused),
            failure_reports: Arc::new(publishers.failure_reports),
            events: self.events.clone(),
        };
        Spec::named("validate")
            .subscribes(&self.readers.fleet)
            .subscribes(&self.readers.pods)
            .subscribes(&self.readers.rendered)
            .start(&self.threads.render, &self.supervision, move |own| {
                ValidateActor::new(own, options.clone())
            });
    }

    fn discover(
        &self,
        pods: Pods,
        DiscoveryPublishers { pods: discovered, ready }: DiscoveryPublishers,
    ) -> Option<ActorHandle<DiscoveryActor>> {
        let client = match pods {
            Pods::Selected(client) => client,
            Pods::Fixed(pod) => {
                discovered.publish(vec![pod]);
                return None;
            }
        };
        let (discovered, ready) = (Arc::new(discovered), Arc::new(ready));
        let arguments = DiscoveryArguments { client, ready, events: self.events.clone() };
        let spec = Spec::named("discovery").subscribes(&self.readers.config);
        Some(spec.start(&self.threads.intake, &self.supervision, move |own| {
            DiscoveryActor::new(own, arguments.clone(), Arc::clone(&discovered))
        }))
    }

    fn deploy(&self, publishers: FleetPublishers) -> ActorHandle<FleetActor> {
        let topics = DeployTopics {
            leadership: self.readers.leadership.clone(),
            candidate: self.edges.candidate.clone(),
            validated: self.readers.validated.clone(),
            refused: self.readers.refused.clone(),
            config: self.readers.config.clone(),
        };
        let arguments = FleetArguments {
            topics,
            events: self.events.clone(),
            plans: PlanCache::within(haptic_data_plane_api::objections),
            connect: Arc::new(crate::transports::connect),
            arbiter: self.threads.deploy.clone(),
            supervision: self.supervision.clone(),
        };
        let publishers = Arc::new(publishers);
        let actor = move |own| FleetActor::new(own, arguments.clone(), Arc::clone(&publishers));
        Spec::named("fleet").subscribes(&self.edges.discovered).start(
            &self.threads.deploy,
            &self.supervision,
            actor,
        )
    }
}

impl Pipeline {
    /// Takes in no more changes; what is under way goes on.
    pub async fn stop_intake(&self) {
        self.intake.config.dismiss();
        self.intake.watch_set.dismiss();
        self.watches.dismiss();
        self.intake.config.exited().await;
        self.intake.watch_set.exited().await;
        if let Some(discovery) = &self.intake.discovery {
            discovery.dismiss();
            discovery.exited().await;
        }
    }

    /// Ends all deployments. An agent finishes by itself what it was told whole, so a pod is never left half-way.
    pub async fn stop_deploying(&self) {
        self.fleet.dismiss();
        self.fleet.exited().await;
    }

    /// Hands over to another replica; deployments must have ended.
    pub async fn step_down(&self) {
        self.leading.step_down().await;
    }

    /// Waits until observers have heard everything.
    pub async fn flush_observers(&self) {
        self.events.flushed().await;
    }
}
