//! Who leads, wired: by a Lease in a cluster, alone on one machine.

use crate::wiring::keep;
use actix::ArbiterHandle;
use haptic_leader::{
    CertificateActor, Fence, LeaderActor, LeaderArguments, ReportBoard, ReporterActor, ReporterArguments,
    StepDown, Succession,
    certificate::keeper::{DefaultCertificate, Keeper},
    identity,
    reporting::Reporting,
    succession::folder_of_this_pod,
};
use haptic_model::{ActiveConfig, config::Judgement, pipeline::Leadership};
use haptic_runtime::{CellReader, CellWriter, Events, Kept, Supervision, cell};
use std::sync::Arc;

/// How it is found out whether this process leads.
#[derive(Clone)]
pub enum LeadingBy {
    /// It is the only one.
    Itself,
    /// It has to hold a Lease, unless the configuration says otherwise.
    Lease {
        /// The API server.
        client: kube::Client,
        /// Where the Lease is: the configuration's namespace.
        namespace: Arc<str>,
        /// The configuration's name, for its status.
        name: Arc<str>,
    },
}

/// Whether this process leads, and how it stops.
pub struct Leading {
    /// The cell that everybody reads.
    pub leadership: CellReader<Leadership>,
    actor: Option<Kept<LeaderActor>>,
}

/// What is there before it is known who leads: the one that leads reports, and a reporter observes.
pub struct Beginning {
    by: LeadingBy,
    identity: Arc<str>,
    writer: CellWriter<Leadership>,
    /// The cell that everybody reads.
    pub leadership: CellReader<Leadership>,
}

impl Beginning {
    /// Nobody leads yet, unless nobody else can.
    #[must_use]
    pub fn of(by: LeadingBy) -> Self {
        let first = match &by {
            LeadingBy::Itself => haptic_leader::sole_replica(),
            LeadingBy::Lease { .. } => Leadership::default(),
        };
        let (writer, leadership) = cell(first);
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

    /// What tells the API server about `board`, where there is one.
    #[must_use]
    pub fn reporter(
        &self,
        board: ReportBoard,
        reporting: CellWriter<Reporting>,
        arbiter: &ArbiterHandle,
        supervision: &Supervision,
    ) -> Option<Kept<ReporterActor>> {
        let LeadingBy::Lease { client, namespace, name } = self.by.clone() else { return None };
        let (identity, reporting) = (Arc::clone(&self.identity), Arc::new(reporting));
        let arguments = ReporterArguments { client, namespace, name, identity, board, reporting };
        let reporter = move |seat| ReporterActor::new(seat, arguments.clone());
        Some(keep(arbiter, "reporter", supervision, reporter))
    }
}

impl Beginning {
    /// Keeps `certificate`, the one for hosts that have none, in a Secret; on one machine nobody has to.
    pub fn keep_certificate(
        &self,
        accepted: &CellReader<Option<Arc<ActiveConfig>>>,
        certificate: CellWriter<DefaultCertificate>,
        arbiter: &ArbiterHandle,
        supervision: &Supervision,
    ) {
        let LeadingBy::Lease { client, .. } = self.by.clone() else { return };
        let keeper = Keeper {
            client,
            leadership: self.leadership.clone(),
            config: accepted.clone(),
            certificate: Arc::new(certificate),
        };
        let actor = move |seat| CertificateActor::new(seat, keeper.clone());
        keep(arbiter, "default-certificate", supervision, actor);
    }
}

impl Leading {
    /// Begins to find out.
    pub fn start(
        beginning: Beginning,
        config: &CellReader<Option<Arc<ActiveConfig>>>,
        judged: &CellReader<Option<Judgement>>,
        events: &Events,
        arbiter: &ArbiterHandle,
        supervision: &Supervision,
    ) -> Self {
        let Beginning { by, identity, writer, leadership } = beginning;
        let LeadingBy::Lease { client, namespace, .. } = by else { return Self { leadership, actor: None } };
        let succession = folder_of_this_pod().map(|folder| Succession::open(&folder, &identity));
        let arguments = LeaderArguments {
            client,
            namespace,
            identity,
            succession: Arc::new(succession.unwrap_or_default()),
            config: config.clone(),
            judged: judged.clone(),
            fence: Fence::new(writer, events.clone()),
        };
        let actor =
            keep(arbiter, "leader", supervision, move |seat| LeaderActor::new(seat, arguments.clone()));
        Self { leadership, actor: Some(actor) }
    }

    /// Stops leading and releases the Lease, so that another replica leads at once.
    pub async fn step_down(&self) {
        if let Some(actor) = &self.actor
            && actor.post::<StepDown>().send(StepDown).await.is_ok()
        {
            actor.exited().await;
        }
    }
}
