//! Who leads, wired: by a Lease in a cluster, alone on one machine.

use super::{Wiring, started::Started};
use haptic_leader::{
    CertificateActor, CertificateOptions, Fence, FenceActor, GatewayReporting, GatewayStatusActor,
    GatewayStatusOptions, HostHoldsActor, HostHoldsOptions, LeaderActor, LeaderOptions, ReporterActor,
    ReporterOptions, Reporting, StepDown, Succession, certificate::DefaultCertificate, host_holds::ReadHolds,
    identity, succession::folder_of_this_pod,
};
use haptic_model::{Event, pipeline::Leadership};
use haptic_runtime::{ActorHandle, Envelope, Mailbox, Publisher, Spec, Topic, topic};
use std::sync::Arc;

/// How it is found out whether this process leads.
#[derive(Clone)]
pub enum LeadingBy {
    /// It is the only one.
    Itself,
    /// It has to hold a Lease, unless the configuration says otherwise.
    Lease {
        client: kube::Client,
        /// Where the Lease is: the configuration's namespace.
        namespace: Arc<str>,
        /// The configuration's name, for its status.
        name: Arc<str>,
    },
}

/// Whether this process leads, and how it stops.
pub struct Leading {
    actor: Option<ActorHandle<LeaderActor>>,
}

/// What is there before it is known who leads: the one that leads reports, and a reporter observes.
pub struct BeforeLeading {
    by: LeadingBy,
    identity: Arc<str>,
    writer: Publisher<Leadership>,
    /// Whether this process leads.
    pub leadership: Topic<Leadership>,
}

impl BeforeLeading {
    /// Nobody leads yet, unless nobody else can.
    #[must_use]
    pub fn of(by: LeadingBy) -> Self {
        let first = match &by {
            LeadingBy::Itself => haptic_leader::sole_replica(),
            LeadingBy::Lease { .. } => Leadership::default(),
        };
        let (writer, leadership) = topic(first);
        Self { by, identity: identity::of_this_process().into(), writer, leadership }
    }

    /// The API server and the configuration's namespace, where there is one.
    #[must_use]
    pub fn api_server(&self) -> Option<(kube::Client, Arc<str>)> {
        match &self.by {
            LeadingBy::Itself => None,
            LeadingBy::Lease { client, namespace, .. } => Some((client.clone(), namespace.clone())),
        }
    }

    /// What is kept of hosts by an earlier process: nothing, where there is no API server that had it.
    #[must_use]
    pub fn holds(&self) -> ReadHolds {
        match &self.by {
            LeadingBy::Itself => Some("{}".into()),
            LeadingBy::Lease { .. } => None,
        }
    }

    /// Hands what is kept of hosts from one controller to the next, where there is an API server.
    pub(super) fn keep_holds(&self, started: &Started<'_>, read: Publisher<ReadHolds>) {
        let LeadingBy::Lease { client, .. } = self.by.clone() else { return };
        let options = HostHoldsOptions { client, leadership: self.leadership.clone(), read: Arc::new(read) };
        Spec::named("host-holds")
            .subscribes(&started.readers.accepted)
            .subscribes(&started.edges.holds)
            .subscribes(&self.leadership)
            .start(started.arbiter, started.supervision, move |own| {
                HostHoldsActor::new(own, options.clone())
            });
    }

    /// Starts what reports to the API server, where there is one. It subscribes to the leadership last: a new leader knows everything.
    #[must_use]
    pub(super) fn reporter(
        &self,
        started: &Started<'_>,
        reporting: Publisher<Reporting>,
    ) -> Option<Mailbox<Envelope<Event>>> {
        let Started { readers, edges, arbiter, supervision } = started;
        let LeadingBy::Lease { client, namespace, name } = self.by.clone() else { return None };
        let (identity, reporting) = (Arc::clone(&self.identity), Arc::new(reporting));
        let options = ReporterOptions { client, namespace, name, identity, reporting };
        let spec = Spec::named("reporter")
            .subscribes(&readers.config_verdict)
            .subscribes(&readers.accepted)
            .subscribes(&readers.config)
            .subscribes(&readers.snapshots)
            .subscribes(&readers.troubles)
            .subscribes(&edges.stores.missing())
            .subscribes(&readers.rejected)
            .subscribes(&readers.validated)
            .subscribes(&readers.quarantine)
            .subscribes(&readers.pods)
            .subscribes(&edges.gateway_reporting)
            .subscribes(&readers.leadership);
        let reporter = spec.start(arbiter, supervision, move |own| ReporterActor::new(own, options.clone()));
        Some(reporter.mailbox())
    }

    /// Starts what writes statuses of the Gateway API, where there is an API server.
    pub(super) fn gateway_status(&self, started: &Started<'_>, reporting: Publisher<GatewayReporting>) {
        let Started { readers, edges, arbiter, supervision } = started;
        let LeadingBy::Lease { client, .. } = self.by.clone() else { return };
        let (leadership, reporting) = (self.leadership.clone(), Arc::new(reporting));
        let options = GatewayStatusOptions { client, leadership, reporting };
        Spec::named("gateway-status")
            .subscribes(&readers.config)
            .subscribes(&readers.snapshots)
            .subscribes(&edges.candidate)
            .subscribes(&readers.validated)
            .subscribes(&readers.quarantine)
            .subscribes(&edges.ready)
            .subscribes(&readers.pods)
            .subscribes(&readers.leadership)
            .start(arbiter, supervision, move |own| GatewayStatusActor::new(own, options.clone()));
    }

    /// Keeps `certificate`, the one for hosts that have none, in a Secret; on one machine nobody has to.
    pub(super) fn keep_certificate(&self, started: &Started<'_>, certificate: Publisher<DefaultCertificate>) {
        let LeadingBy::Lease { client, .. } = self.by.clone() else { return };
        let (leadership, certificate) = (self.leadership.clone(), Arc::new(certificate));
        let options = CertificateOptions { client, leadership, certificate };
        Spec::named("default-certificate")
            .subscribes(&started.readers.accepted)
            .subscribes(&self.leadership)
            .start(started.arbiter, started.supervision, move |own| {
                CertificateActor::new(own, options.clone())
            });
    }
}

impl Leading {
    /// Begins to find out. The settings of a refused configuration come last: those of an active one count before them.
    pub(super) fn start(beginning: BeforeLeading, wiring: &Wiring) -> Self {
        let Wiring { threads, readers, edges, events, supervision, .. } = wiring;
        let BeforeLeading { by, identity, writer, .. } = beginning;
        let LeadingBy::Lease { client, namespace, .. } = by else { return Self { actor: None } };
        let fence = Fence::new(writer, events.clone());
        let fenced = fence.clone();
        Spec::named("fence")
            .subscribes(&fence.deadline())
            .start(&threads.fence, supervision, move |own| FenceActor::new(own, fenced.clone()));
        let succession = folder_of_this_pod().map(|folder| Succession::open(&folder, &identity));
        let succession = Arc::new(succession.unwrap_or_default());
        let options = LeaderOptions { client, namespace, identity, succession, fence };
        let actor = Spec::named("leader")
            .subscribes(&readers.config)
            .subscribes(&readers.config_verdict)
            .subscribes(&edges.led)
            .start(&threads.lead, supervision, move |own| LeaderActor::new(own, options.clone()));
        Self { actor: Some(actor) }
    }

    /// Stops leading and releases the Lease, so that another replica leads at once.
    pub async fn step_down(&self) {
        if let Some(actor) = &self.actor
            && actor.mailbox::<StepDown>().send(StepDown).await.is_ok()
        {
            actor.exited().await;
        }
    }
}
