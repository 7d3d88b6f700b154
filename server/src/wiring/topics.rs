//! The topics between actors. Each publisher goes to the one actor that may publish; topics are cloned to all that read or subscribe.

use haptic_commentator::{History, Recording};
use haptic_config::ConfigState;
use haptic_deploy::FleetPublishers;
use haptic_inspect::Readers;
use haptic_leader::{GatewayReporting, Reporting, certificate::DefaultCertificate, host_holds::ReadHolds};
use haptic_model::{
    ActiveConfig, Epoch, FailedReloads, FailureReports, HaproxyPod, HostHolds, Quarantine, ReadyPod, Remarks,
    config::{AcceptedConfig, ConfigVerdict},
    pipeline::{Attempts, Candidate, Leadership, Refused, Rendered, SetAside, Validated},
};
use haptic_resolve::ResolvedNames;
use haptic_runtime::{Health, Publisher, Topic, topic};
use haptic_watch::Stores;
use haptic_webhook::endpoint::{EndpointState, EndpointWriter};
use std::sync::Arc;

/// A message of which there may be none yet.
type MaybeMessage<T> = Option<Arc<T>>;

pub(super) struct Topics {
    pub readers: Readers,
    pub edges: Edges,
    pub publishers: Publishers,
}

/// What one actor publishes for another one, and nothing else reads.
pub(super) struct Edges {
    pub stores: Stores,
    pub remarks: Topic<Remarks>,
    pub attempted: Topic<Attempts>,
    pub candidate: Topic<MaybeMessage<Candidate>>,
    pub failure_reports: Topic<FailureReports>,
    pub failed_reloads: Topic<FailedReloads>,
    pub led: Topic<Epoch>,
    pub discovered: Topic<Vec<HaproxyPod>>,
    pub ready: Topic<Vec<ReadyPod>>,
    pub gateway_reporting: Topic<GatewayReporting>,
    pub certificate: Topic<DefaultCertificate>,
    pub names: Topic<ResolvedNames>,
    pub holds: Topic<Option<HostHolds>>,
    pub read_holds: Topic<ReadHolds>,
    pub endpoint: Topic<EndpointState>,
}

/// The writing ends, by the actor that gets them.
pub(super) struct Publishers {
    pub config: ConfigPublishers,
    pub activation: Publisher<MaybeMessage<ActiveConfig>>,
    pub render: RenderPublishers,
    pub validate: ValidatePublishers,
    pub discovery: DiscoveryPublishers,
    pub fleet: FleetPublishers,
    pub reporter: Publisher<Reporting>,
    pub gateway_status: Publisher<GatewayReporting>,
    pub default_certificate: Publisher<DefaultCertificate>,
    pub resolve: Publisher<ResolvedNames>,
    pub host_holds: Publisher<ReadHolds>,
    pub webhook: EndpointWriter,
    pub draining: Publisher<bool>,
}

/// The publishers of one actor, each with the message that its topic begins with.
macro_rules! publishers {
    ($name:ident { $($topic:ident: $message:ty = $first:expr,)+ }) => {
        pub(super) struct $name {
            $(pub $topic: Publisher<$message>,)+
        }

        impl $name {
            fn new() -> Self {
                Self { $($topic: publisher($first),)+ }
            }
        }
    };
}

publishers!(ConfigPublishers {
    accepted: Option<AcceptedConfig> = None,
    state: ConfigState = ConfigState::Waiting("starting".into()),
    config_verdict: Option<ConfigVerdict> = None,
    remarks: Remarks = Remarks::default(),
});

publishers!(RenderPublishers {
    rendered: MaybeMessage<Rendered> = None,
    attempted: Attempts = Attempts::new(),
    quarantine: Quarantine = Quarantine::default(),
    holds: Option<HostHolds> = None,
    set_aside: MaybeMessage<SetAside> = None,
});

publishers!(ValidatePublishers {
    candidate: MaybeMessage<Candidate> = None,
    validated: MaybeMessage<Validated> = None,
    refused: MaybeMessage<Refused> = None,
    failure_reports: FailureReports = FailureReports::new(),
});

publishers!(DiscoveryPublishers {
    pods: Vec<HaproxyPod> = Vec::new(),
    ready: Vec<ReadyPod> = Vec::new(),
});

impl Topics {
    /// Empty ones, but for what is known from the start.
    pub fn new(
        actors: Health,
        leadership: Topic<Leadership>,
        certificate: DefaultCertificate,
        holds: ReadHolds,
    ) -> Self {
        let (stores, snapshots) = Stores::new();
        let (endpoint_writer, endpoint, webhook) = EndpointWriter::new();
        let publishers = Publishers {
            config: ConfigPublishers::new(),
            activation: publisher(None),
            render: RenderPublishers::new(),
            validate: ValidatePublishers::new(),
            discovery: DiscoveryPublishers::new(),
            fleet: FleetPublishers::default(),
            reporter: publisher(Reporting::default()),
            gateway_status: publisher(GatewayReporting::default()),
            default_certificate: publisher(certificate),
            resolve: publisher(None),
            host_holds: publisher(holds),
            webhook: endpoint_writer,
            draining: publisher(false),
        };
        let readers = Readers {
            actors,
            config: publishers.activation.topic(),
            accepted: publishers.config.accepted.topic(),
            config_verdict: publishers.config.config_verdict.topic(),
            config_state: publishers.config.state.topic(),
            snapshots,
            troubles: stores.troubles(),
            rejected: stores.rejected(),
            rendered: publishers.render.rendered.topic(),
            validated: publishers.validate.validated.topic(),
            refused: publishers.validate.refused.topic(),
            set_aside: publishers.render.set_aside.topic(),
            leadership,
            pods: publishers.fleet.pods.topic(),
            fleet: publishers.fleet.fleet.topic(),
            quarantine: publishers.render.quarantine.topic(),
            webhook,
            reporting: publishers.reporter.topic(),
            draining: publishers.draining.topic(),
            history: History::new(),
            recording: Recording::default(),
        };
        let edges = Edges {
            stores,
            remarks: publishers.config.remarks.topic(),
            attempted: publishers.render.attempted.topic(),
            candidate: publishers.validate.candidate.topic(),
            failure_reports: publishers.validate.failure_reports.topic(),
            failed_reloads: publishers.fleet.failed_reloads.topic(),
            led: publishers.fleet.led.topic(),
            discovered: publishers.discovery.pods.topic(),
            ready: publishers.discovery.ready.topic(),
            gateway_reporting: publishers.gateway_status.topic(),
            certificate: publishers.default_certificate.topic(),
            names: publishers.resolve.topic(),
            holds: publishers.render.holds.topic(),
            read_holds: publishers.host_holds.topic(),
            endpoint,
        };
        Self { readers, edges, publishers }
    }
}

fn publisher<T>(value: T) -> Publisher<T> {
    topic(value).0
}
