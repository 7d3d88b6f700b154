//! The pipeline, wired: which actor reads which cell of the board, and whom it tells.
//!
//! ```text
//!  source ──> ConfigActor ──active config──┐                                    ┌─> DeployActor(pod a) ─> HAProxy
//!  origin ──> WatchActor(ingresses) ─┐     v                                    ├─> DeployActor(pod b) ─> HAProxy
//!         ──> WatchActor(services)  ─┼─> DebounceActor ─> RenderActor ─> ValidateActor
//!         ──> WatchActor(...)       ─┤      Reconcile       rendered       candidate, validated
//!  names  ──> ResolveActor ──────────┘
//!  pods   ──> DiscoveryActor ──discovered pods─────────────────────────────────┤
//!  lease  ──> LeaderActor ───────leadership─────────────────────────────────────┘
//!  Secret ──> WebhookActor ──path, certificate──> admission webhook
//!                     every stage ──Event──> CommentatorActor, MetricsActor
//! ```
//!
//! Messages say only "look" (or order a reconcile); state is on the board. Addresses and cells are constructor
//! arguments; there is no registry.

use crate::{
    default_certificate, external_names, in_force,
    leading::{Beginning, Leading, LeadingBy},
    tests_of_config, unused,
    webhook::{identity::keeper::KeeperArguments, standing::Standing, start::WebhookActor},
};
use actix::ArbiterHandle;
use haptic_commentator::{
    CommentatorActor, History, Level, MetricsActor, Observed, Recorded, RecorderActor, Recording, SpanSink,
    TracesActor,
};
use haptic_config::{ConfigActor, ConfigState, Validator, actor::ConfigOptions, source::Source};
use haptic_debounce::{Changes, DebounceActor, Generations, Inputs};
use haptic_deploy::{
    Board, DiscoveryActor, DiscoveryArguments, FleetActor, FleetArguments, PodStates, Roster,
};
use haptic_leader::{ReportBoard, Reporting, certificate::keeper::DefaultCertificate};
use haptic_model::{
    ActiveConfig, AllLeftOut, Complaints, Diagnostic, Event, Fleet, HAProxyTemplateConfigSpec, HaproxyPod,
    Quarantine, Remarks, Snapshots,
    config::Judgement,
    pipeline::{Attempts, Leadership, Refused, Rendered, SetAside, Validated},
};
use haptic_render::{
    Checked, Limits, Renderer,
    actor::{RenderActor, RenderOptions},
    compile,
};
use haptic_resolve::{Keeper as ResolveKeeper, ResolveActor};
use haptic_runtime::{
    ActorSpec, Arbiters, CellReader, CellWriter, Envelope, Events, Health, Keeper, Kept, Losses, Observer,
    Post, Restart, RestartPolicy, Supervision, cell,
};
use haptic_validate::{Checker, ValidateActor, ValidateOptions, memory};
use haptic_watch::{Origin, Pool, RunningWatches, Stores, Troubles, WatchSet, WatchSetActor};
use std::{io, sync::Arc};

/// Events each observer may lag behind before it loses some.
const OBSERVED_BACKLOG: usize = 4096;

/// What differs between a cluster and one machine.
#[derive(Clone)]
pub struct Outside {
    /// Where the configuration comes from.
    pub source: Source,
    /// Where the watched objects come from; made with the events it tells of.
    pub origin: OriginOf,
    /// Which pods there are.
    pub pods: Pods,
    /// Who leads.
    pub leading: LeadingBy,
    /// The certificate for hosts that have none, as a Secret; where a Lease says who leads, the leader keeps it instead.
    pub certificate: DefaultCertificate,
    /// Runs `haproxy -c`.
    pub checker: Checker,
    /// The level that somebody wants of the log in place of the configured ones.
    pub forced_level: CellReader<Option<Level>>,
    /// Where spans go, if anybody wants them.
    pub traces: Option<SpanSink>,
    /// Whether each render is made a second time, in full, and compared.
    pub paranoid: bool,
}

/// Where watched objects come from.
#[derive(Clone)]
pub enum OriginOf {
    /// The API server.
    Cluster(kube::Client),
    /// A folder of manifests.
    Folder(std::path::PathBuf),
}

/// Which HAProxy pods there are.
#[derive(Clone)]
pub enum Pods {
    /// Those that the configuration selects.
    Selected(kube::Client),
    /// Always this one.
    Fixed(HaproxyPod),
}

/// The running pipeline: what its servers show, and how it is ended.
pub struct Pipeline {
    /// Actors and arbiters.
    pub health: Health,
    /// The configuration in force.
    pub config: CellReader<Option<Arc<ActiveConfig>>>,
    /// The newest valid configuration: in force once its stores are read.
    pub accepted: CellReader<Option<Arc<ActiveConfig>>>,
    /// The verdict on the newest configuration.
    pub judged: CellReader<Option<Judgement>>,
    /// How the configuration is.
    pub config_state: CellReader<ConfigState>,
    /// All stores.
    pub snapshots: CellReader<Snapshots>,
    /// Why watched resources cannot be read at the moment.
    pub troubles: CellReader<Troubles>,
    /// What stores do not hold because of their limits.
    pub left_out: CellReader<AllLeftOut>,
    /// What was rendered last.
    pub rendered: CellReader<Option<Arc<Rendered>>>,
    /// What passed all checks last.
    pub validated: CellReader<Option<Arc<Validated>>>,
    /// What was checked last, when it was refused.
    pub refused: CellReader<Option<Arc<Refused>>>,
    /// The newest configuration, while another one is rendered in its place.
    pub set_aside: CellReader<Option<Arc<SetAside>>>,
    /// Whether this process leads.
    pub leadership: CellReader<Leadership>,
    /// What is known of each pod.
    pub pods: CellReader<PodStates>,
    /// What is held back.
    pub quarantine: CellReader<Quarantine>,
    /// The pods as templates see them.
    pub fleet_view: CellReader<Fleet>,
    /// What the admission webhook is called by.
    pub webhook: CellReader<Standing>,
    /// What cannot be told to the API server.
    pub reporting: CellReader<Reporting>,
    /// What happened.
    pub history: History,
    /// What the last generations were made from.
    pub recording: Recording,
    /// Who is told.
    pub events: Events,
    watches: RunningWatches,
    intake: Intake,
    fleet: Kept<FleetActor>,
    leading: Leading,
}

/// The actors that take in changes.
struct Intake {
    config: Kept<ConfigActor>,
    watch_set: Kept<WatchSetActor>,
    discovery: Option<Kept<DiscoveryActor>>,
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
pub fn start(outside: Outside, arbiters: &Arbiters, health: Health) -> Result<Pipeline, WiringError> {
    let observe = arbiters.start_observing("observe")?;
    let intake = arbiters.start("intake")?;
    let render = arbiters.start("render")?;
    let deploy = arbiters.start("deploy")?;
    let lead = arbiters.start("lead")?;

    // The board. Each writer goes to the one actor that may write.
    let (accepted_writer, accepted) = cell(None);
    let (config_writer, config) = cell(None);
    let (state_writer, config_state) = cell(ConfigState::Waiting("starting".into()));
    let (stores, snapshots) = Stores::new();
    let troubles = stores.troubles();
    let missing = stores.missing();
    let left_out = stores.left_out();
    let (rendered_writer, rendered) = cell(None);
    let (attempted_writer, attempted) = cell(Attempts::new());
    let (candidate_writer, candidate) = cell(None);
    let (validated_writer, validated) = cell(None);
    let (refused_writer, refused) = cell(None);
    let (states_writer, pods) = cell(PodStates::new());
    let (fleet_writer, fleet_view) = cell(Fleet::default());
    let (discovered_writer, discovered) = cell(Vec::new());
    let (complaints_writer, complaints) = cell(Complaints::new());
    let (failed_reloads_writer, failed_reloads) = cell(Complaints::new());
    let (quarantine_writer, quarantine) = cell(Quarantine::default());
    let (set_aside_writer, set_aside) = cell(None);
    let (again_writer, again) = cell(0_u64);
    let (remarks_writer, remarks) = cell(Remarks::default());

    let (judged_writer, judged) = cell(None);
    let beginning = Beginning::of(outside.leading);
    let leadership = beginning.leadership.clone();
    let (standing_writer, webhook) = cell(Standing::Off);
    let api_server = beginning.api_server();

    let history = History::new();
    let (reporting_writer, reporting) = cell(Reporting::default());
    let reporter = {
        let board = ReportBoard {
            leadership: leadership.clone(),
            judged: judged.clone(),
            config: config.clone(),
            accepted: accepted.clone(),
            troubles: troubles.clone(),
            validated: validated.clone(),
            pods: pods.clone(),
            snapshots: snapshots.clone(),
            quarantine: quarantine.clone(),
            missing,
            left_out: left_out.clone(),
        };
        beginning.reporter(board, reporting_writer, &observe, &unobserved(&health))
    };
    let (certificate_writer, certificate) = cell(outside.certificate);
    let (names_writer, names) = cell(None);
    let recording = Recording::default();
    let recorded = Recorded { attempted, config: config.clone(), recording: recording.clone() };
    let observed = Observed {
        config: config.clone(),
        fleet: fleet_view.clone(),
        forced_level: outside.forced_level,
        history: history.clone(),
        losses: Losses::default(),
    };
    let events =
        observers(&observe, &health, observed, recorded, outside.traces, reporter.as_ref().map(Kept::post));
    let supervision = supervise(health.clone(), &events);
    let changes = Changes::new();
    tokio::spawn(default_certificate::follow(certificate, stores.clone(), changes.clone()));
    tokio::spawn(external_names::follow(names, stores.clone(), changes.clone()));
    {
        let names = Arc::new(names_writer);
        let keeper =
            ResolveKeeper { config: accepted.clone(), snapshots: snapshots.clone(), names, dns: None };
        keep(&intake, "resolve", &supervision, move |seat| ResolveActor::new(seat, keeper.clone()));
    }
    beginning.keep_certificate(&accepted, certificate_writer, &lead, &supervision);
    let leading = Leading::start(beginning, &config, &judged, &events, &lead, &supervision);
    if let Some((client, namespace)) = api_server {
        let arguments = KeeperArguments {
            client,
            namespace,
            config: config.clone(),
            leadership: leadership.clone(),
            standing: Arc::new(standing_writer),
        };
        keep(&lead, "webhook", &supervision, move |seat| WebhookActor::new(seat, arguments.clone()));
    }

    let config_actor = {
        let options = ConfigOptions {
            source: outside.source,
            validators: validators(),
            active: Arc::new(accepted_writer),
            state: Arc::new(state_writer),
            judged: Arc::new(judged_writer),
            remarks: Arc::new(remarks_writer),
            events: events.clone(),
        };
        keep(&intake, "config", &supervision, move |seat| ConfigActor::new(seat, options.clone()))
    };

    let watches = RunningWatches::default();
    let watch_set = {
        let changes = changes.clone();
        let set = WatchSet {
            accepted: accepted.clone(),
            in_force: config.clone(),
            origin: origin(outside.origin, &events)?,
            stores,
            pool: Pool::new(memory::Limit::read().map(|limit| limit.bytes)),
            remarks,
            events: events.clone(),
            on_change: Arc::new(move |changed| changes.note(changed.cause)),
            arbiter: intake.clone(),
            supervision: supervision.clone(),
            running: watches.clone(),
        };
        keep(&intake, "watches", &supervision, move |seat| WatchSetActor::new(seat, set.clone()))
    };
    tokio::spawn(in_force::follow(accepted.clone(), snapshots.clone(), config_writer, watch_set.post()));
    note_on_change(fleet_view.clone(), changes.clone(), "fleet");
    note_on_change(complaints.clone(), changes.clone(), "quarantine");
    note_on_change(failed_reloads.clone(), changes.clone(), "quarantine");
    note_on_change(again, changes.clone(), "quarantine");
    tokio::spawn(follow_suspects(validated.clone(), quarantine.clone(), changes.clone()));

    let render_actor = {
        let options = RenderOptions {
            config: config.clone(),
            snapshots: snapshots.clone(),
            fleet: fleet_view.clone(),
            rendered: Arc::new(rendered_writer),
            attempted: Arc::new(attempted_writer),
            validated: validated.clone(),
            complaints: vec![complaints, failed_reloads],
            quarantine: Arc::new(quarantine_writer),
            set_aside: Arc::new(set_aside_writer),
            again: Arc::new(again_writer),
            events: events.clone(),
            limits: Limits::default(),
            renderer: if outside.paranoid {
                || Renderer::checked(Checked::Always)
            } else {
                Renderer::default
            },
        };
        keep(&render, "render", &supervision, move |seat| RenderActor::new(seat, options.clone()))
    };

    {
        let inputs = Inputs {
            changes,
            config: config.clone(),
            snapshots: snapshots.clone(),
            generations: Generations::default(),
            render: render_actor.post(),
            events: events.clone(),
        };
        keep(&intake, "debounce", &supervision, move |seat| DebounceActor::new(seat, inputs.clone()));
    }

    {
        let options = ValidateOptions {
            checker: outside.checker,
            rendered: rendered.clone(),
            fleet: fleet_view.clone(),
            candidate: Arc::new(candidate_writer),
            validated: Arc::new(validated_writer),
            refused: Arc::new(refused_writer),
            complaints: Arc::new(complaints_writer),
            events: events.clone(),
        };
        keep(&render, "validate", &supervision, move |seat| ValidateActor::new(seat, options.clone()));
    }

    let discovery = discover(outside.pods, discovered_writer, &config, &events, &intake, &supervision);
    let fleet = {
        let arguments = FleetArguments::new(
            discovered,
            Board {
                leadership: leadership.clone(),
                candidate,
                validated: validated.clone(),
                refused: refused.clone(),
                config: config.clone(),
            },
            Roster::new(states_writer, fleet_writer).complaining_to(failed_reloads_writer),
            events.clone(),
            deploy.clone(),
            supervision.clone(),
        );
        keep(&deploy, "fleet", &supervision, move |seat| FleetActor::new(seat, arguments.clone()))
    };

    Ok(Pipeline {
        health,
        config,
        accepted,
        judged,
        config_state,
        snapshots,
        troubles,
        left_out,
        rendered,
        validated,
        refused,
        set_aside,
        leadership,
        pods,
        quarantine,
        fleet_view,
        webhook,
        reporting,
        history,
        recording,
        events,
        watches,
        intake: Intake { config: config_actor, watch_set, discovery },
        fleet,
        leading,
    })
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

/// Who is asked before a configuration comes into force.
#[must_use]
pub fn validators() -> Vec<Validator> {
    let mut all = Validator::built_in();
    all.push(Validator::pure("template", template_problems));
    all.push(Validator::pure("unused", unused::unused));
    all.push(Validator::pure("tests", tests_of_config::problems));
    all
}

/// What is wrong with the templates themselves.
fn template_problems(spec: &HAProxyTemplateConfigSpec) -> Vec<Diagnostic> {
    compile(spec).err().unwrap_or_default()
}

fn observers(
    arbiter: &ArbiterHandle,
    health: &Health,
    observed: Observed,
    recorded: Recorded,
    traces: Option<SpanSink>,
    reporter: Option<Post<Envelope<Event>>>,
) -> Events {
    let supervision = unobserved(health);
    let (losses, fleet) = (observed.losses.clone(), observed.fleet.clone());
    let commentator =
        keep(arbiter, "commentator", &supervision, move |seat| CommentatorActor::new(seat, observed.clone()));
    let metrics = keep(arbiter, "metrics", &supervision, MetricsActor::new);
    let traces = traces.map(|sink| {
        let actor = move |seat| TracesActor::new(seat, fleet.clone(), sink.clone());
        keep(arbiter, "traces", &supervision, actor).post()
    });
    let recorder =
        keep(arbiter, "recorder", &supervision, move |seat| RecorderActor::new(seat, recorded.clone()));
    let others = [Some(metrics.post()), Some(recorder.post()), traces, reporter]
        .into_iter()
        .flatten()
        .map(Observer::from);
    let all = std::iter::once(Observer::new(commentator.post(), losses)).chain(others);
    Events::new(OBSERVED_BACKLOG, all.collect())
}

/// How observers are kept: their restarts are logged by the Keeper and told to nobody, for the events would go to
/// themselves; and however often they fail, or hang, what they observe goes on.
fn unobserved(health: &Health) -> Supervision {
    let counted = |restart: &Restart| haptic_commentator::metrics::restarted(&restart.actor);
    Supervision::new(health.clone()).observing().policy(RestartPolicy::endless()).on_restart(counted)
}

fn supervise(health: Health, events: &Events) -> Supervision {
    let events = events.clone();
    Supervision::new(health).on_restart(move |restart| {
        events.tell(Event::ActorRestarted {
            actor: restart.actor.clone(),
            reason: restart.reason.clone(),
            restarts: restart.restarts,
        });
    })
}

fn discover(
    pods: Pods,
    discovered: CellWriter<Vec<HaproxyPod>>,
    config: &CellReader<Option<Arc<ActiveConfig>>>,
    events: &Events,
    arbiter: &ArbiterHandle,
    supervision: &Supervision,
) -> Option<Kept<DiscoveryActor>> {
    match pods {
        Pods::Fixed(pod) => {
            discovered.publish(vec![pod]);
            None
        }
        Pods::Selected(client) => {
            let arguments = DiscoveryArguments {
                client,
                config: config.clone(),
                discovered: Arc::new(discovered),
                events: events.clone(),
            };
            Some(keep(arbiter, "discovery", supervision, move |seat| {
                DiscoveryActor::new(seat, arguments.clone())
            }))
        }
    }
}

fn origin(origin: OriginOf, events: &Events) -> Result<Origin, WiringError> {
    Ok(match origin {
        OriginOf::Cluster(client) => Origin::Cluster(client),
        OriginOf::Folder(folder) => {
            Origin::Directory(haptic_watch::Directory::open(&folder, events.clone())?)
        }
    })
}

pub(crate) fn keep<A: haptic_runtime::Stage>(
    arbiter: &ArbiterHandle,
    name: &'static str,
    supervision: &Supervision,
    factory: impl Fn(haptic_runtime::Seat<A>) -> A + Send + Sync + 'static,
) -> Kept<A> {
    Keeper::start(arbiter, ActorSpec::named(name), supervision, factory)
}

/// What is only suspected is tried again, half by half, whenever a bundle without it has passed.
async fn follow_suspects(
    mut validated: CellReader<Option<Arc<Validated>>>,
    quarantine: CellReader<Quarantine>,
    changes: Changes,
) {
    loop {
        validated.changed().await;
        if quarantine.read().suspects() > 0 {
            changes.note_other("quarantine");
        }
    }
}

fn note_on_change<T: Send + Sync + 'static>(mut seen: CellReader<T>, changes: Changes, what: &'static str) {
    tokio::spawn(async move {
        loop {
            seen.changed().await;
            changes.note_other(what);
        }
    });
}
