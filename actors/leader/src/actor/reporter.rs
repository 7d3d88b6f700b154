//! ReporterActor: receives what is to be reported, and reports it to the API server while this replica leads.

use crate::{
    notices::{api::NoticeApi, limiter::Limiter, notice},
    publish::{PublishTask, Published},
    report::{
        api::{StatusApi, StatusAtServer},
        health::FailedGeneration,
    },
    reporter::{AddressTask, EventTask, ReportInputs, StatusTask, WrittenAddresses, standing},
    reporting::{GatewayReporting, Report, Reporting, record},
};
use actix::prelude::*;
use futures::FutureExt;
use haptic_runtime::{
    Alarm, Envelope, OwnHandle, Publisher, Work,
    messages::{
        BundleValidated, ConfigAccepted, ConfigActivated, ConfigValidated, EventEmitted, LeadershipChanged,
        MassDeletionsHeld, ObjectsRejected, PodStatesChanged, QuarantineChanged, StoresChanged,
        StoresTroubled,
    },
};
use kube::Client;
use std::{collections::BTreeMap, sync::Arc};
use tokio::time::Instant;

/// What a [`ReporterActor`] is built from; the same for each of its lives.
#[derive(Clone)]
pub struct ReporterOptions {
    /// The API server.
    pub client: Client,
    /// The configuration's namespace.
    pub namespace: Arc<str>,
    /// Its name.
    pub name: Arc<str>,
    /// The name under which this process reports.
    pub identity: Arc<str>,
    /// What cannot be reported.
    pub reporting: Arc<Publisher<Reporting>>,
}

/// How it goes with what is written for the Gateway API, which an actor of its own does.
type GatewayReported = Envelope<GatewayReporting>;

/// Reports to the API server what only the leader reports.
pub struct ReporterActor {
    own: OwnHandle<Self>,
    options: ReporterOptions,
    notices: NoticeApi,
    inputs: ReportInputs,
    /// How the newest generation failed.
    failed: Option<FailedGeneration>,
    /// The configuration's `metadata.uid`.
    uid: Option<String>,
    limiter: Limiter,
    /// While this replica leads.
    tasks: Option<Tasks>,
    alarm: Alarm,
}

/// What a leader does. Dropped, it is given up amid a call.
struct Tasks {
    status: StatusTask,
    addresses: AddressTask,
    published: PublishTask,
    events: EventTask,
    running: BTreeMap<Report, Work>,
}

/// A round of the status has ended, with the resource as it is then.
#[derive(Message)]
#[rtype(result = "()")]
struct StatusReported(Option<StatusAtServer>, Result<(), String>);

/// A round of the addresses has ended, with those that are written.
#[derive(Message)]
#[rtype(result = "()")]
struct AddressesReported(WrittenAddresses, Result<(), String>);

/// A round of what is rendered has ended, with what is at the API server.
#[derive(Message)]
#[rtype(result = "()")]
struct BundlePublished(Option<Published>, Result<(), String>);

/// An Event was written, or could not be.
#[derive(Message)]
#[rtype(result = "()")]
struct NoticeReported(Result<(), String>);

impl ReporterActor {
    /// An actor that has received nothing yet.
    #[must_use]
    pub fn new(own: OwnHandle<Self>, options: ReporterOptions) -> Self {
        let ReporterOptions { client, namespace, name, identity, .. } = options.clone();
        Self {
            own,
            notices: NoticeApi::new(client, &identity, namespace, name),
            options,
            inputs: ReportInputs::default(),
            failed: None,
            uid: None,
            limiter: Limiter::new(Instant::now()),
            tasks: None,
            alarm: Alarm::default(),
        }
    }

    fn lead(&mut self, context: &mut Context<Self>) {
        let (ReporterOptions { client, namespace, name, .. }, now) = (&self.options, Instant::now());
        let mut events = EventTask::new(now);
        events.add(standing::all(&self.inputs, self.failed.as_ref()));
        if let Some(validated) = &self.inputs.validated {
            events.add_findings(&validated.rendered.findings);
        }
        self.tasks = Some(Tasks {
            status: StatusTask::new(StatusApi::new(client.clone(), namespace, name), now),
            addresses: AddressTask::new(now),
            published: PublishTask::new(now),
            events,
            running: BTreeMap::new(),
        });
        self.advance(context);
    }

    /// Another replica reports from now on.
    fn follow(&mut self) {
        if self.tasks.take().is_some() {
            self.options.reporting.publish(Reporting::default());
        }
    }

    /// Begins every round that it is time for.
    fn advance(&mut self, context: &mut Context<Self>) {
        let Self { options, inputs, failed, uid, limiter, notices, tasks: Some(tasks), .. } = self else {
            return;
        };
        let (now, client) = (Instant::now(), &options.client);
        if let Some(round) = tasks.status.begin(inputs, failed.as_ref(), options.reporting.latest(), now) {
            tasks.run(Report::Status, context, round.map(|(known, done)| StatusReported(known, done)));
        }
        if let Some(round) = tasks.addresses.begin(client, inputs, now) {
            let round = round.map(|(written, done)| AddressesReported(written, done));
            tasks.run(Report::Addresses, context, round);
        }
        tasks.published.wake_if_reached(inputs, now);
        if let Some(round) = tasks.published.begin(client, inputs, uid.as_deref(), now) {
            let round = round.map(|(published, done)| BundlePublished(published, done));
            tasks.run(Report::Published, context, round);
        }
        if let Some(writing) = tasks.events.begin(notices, inputs, uid.as_deref(), limiter, now) {
            tasks.run(Report::Events, context, writing.map(NoticeReported));
        }
        self.alarm.set(tasks.next(now), context, Self::advance);
    }

    /// The inputs changed that these reports are made from.
    fn changed(&mut self, reports: &[Report], context: &mut Context<Self>) {
        if let Some(tasks) = &mut self.tasks {
            reports.iter().for_each(|report| tasks.changed(*report));
        }
        self.advance(context);
    }

    /// A round of `report` has ended like this.
    fn ended(&mut self, report: Report, done: Result<(), String>, context: &mut Context<Self>) {
        if record(&self.options.reporting, report, done) {
            self.changed(&[Report::Status], context);
        } else {
            self.advance(context);
        }
    }

    /// A topic's message that was published before this replica led, and is received after, is about something that went wrong before.
    fn add_lasting(&mut self, published: Instant, notices: impl IntoIterator<Item = notice::Notice>) {
        if let Some(tasks) = &mut self.tasks
            && published < tasks.events.began
        {
            tasks.events.add(notices);
        }
    }
}

impl Tasks {
    fn run<M: Message + 'static>(
        &mut self,
        report: Report,
        context: &mut Context<ReporterActor>,
        round: impl Future<Output = M> + 'static,
    ) where
        ReporterActor: Handler<M>,
    {
        self.running.insert(report, Work::start(context, round));
    }

    fn changed(&mut self, report: Report) {
        match report {
            Report::Status => self.status.rounds.changed(),
            Report::Addresses => self.addresses.rounds.changed(),
            Report::Published => self.published.rounds.changed(),
            Report::Events | Report::GatewayStatuses | Report::GatewayServices => {}
        }
    }

    /// When a round may begin that has not begun.
    fn next(&self, now: Instant) -> Option<Instant> {
        let rounds = [&self.status.rounds, &self.addresses.rounds, &self.published.rounds];
        // What could begin now and has not waits for a message.
        rounds.into_iter().filter_map(|rounds| rounds.next()).filter(|next| *next > now).min()
    }
}

haptic_runtime::supervised!(ReporterActor);

impl Handler<ConfigValidated> for ReporterActor {
    type Result = ();

    fn handle(&mut self, validated: ConfigValidated, context: &mut Self::Context) {
        self.inputs.config_verdict = (*validated).clone();
        self.add_lasting(validated.sent, validated.iter().flat_map(standing::of_verdict));
        self.changed(&[Report::Status], context);
    }
}

impl Handler<ConfigAccepted> for ReporterActor {
    type Result = ();

    fn handle(&mut self, accepted: ConfigAccepted, context: &mut Self::Context) {
        self.inputs.accepted = (*accepted).clone();
        self.changed(&[Report::Status], context);
    }
}

impl Handler<ConfigActivated> for ReporterActor {
    type Result = ();

    fn handle(&mut self, active: ConfigActivated, context: &mut Self::Context) {
        self.inputs.active = (*active).clone();
        self.changed(&[Report::Addresses, Report::Published], context);
    }
}

impl Handler<StoresChanged> for ReporterActor {
    type Result = ();

    /// Objects alone change no report: what is rendered from them does.
    fn handle(&mut self, stores: StoresChanged, _: &mut Self::Context) {
        self.inputs.snapshots = stores.payload;
    }
}

impl Handler<StoresTroubled> for ReporterActor {
    type Result = ();

    fn handle(&mut self, troubles: StoresTroubled, context: &mut Self::Context) {
        self.inputs.troubles = troubles.payload;
        self.changed(&[Report::Status], context);
    }
}

impl Handler<MassDeletionsHeld> for ReporterActor {
    type Result = ();

    fn handle(&mut self, missing: MassDeletionsHeld, context: &mut Self::Context) {
        self.inputs.missing = missing.payload;
        self.changed(&[Report::Status], context);
    }
}

impl Handler<ObjectsRejected> for ReporterActor {
    type Result = ();

    fn handle(&mut self, rejected: ObjectsRejected, context: &mut Self::Context) {
        self.add_lasting(rejected.sent, standing::rejected(&rejected));
        self.inputs.rejected = rejected.payload;
        self.changed(&[Report::Status], context);
    }
}

impl Handler<BundleValidated> for ReporterActor {
    type Result = ();

    fn handle(&mut self, validated: BundleValidated, context: &mut Self::Context) {
        self.inputs.validated = (*validated).clone();
        if let (Some(tasks), Some(validated)) = (&mut self.tasks, &self.inputs.validated) {
            tasks.events.add_findings(&validated.rendered.findings);
        }
        self.changed(&[Report::Status, Report::Addresses, Report::Published], context);
    }
}

impl Handler<QuarantineChanged> for ReporterActor {
    type Result = ();

    fn handle(&mut self, quarantine: QuarantineChanged, context: &mut Self::Context) {
        self.add_lasting(quarantine.sent, standing::quarantined(&quarantine));
        self.inputs.quarantine = quarantine.payload;
        self.changed(&[Report::Status, Report::Published], context);
    }
}

impl Handler<PodStatesChanged> for ReporterActor {
    type Result = ();

    fn handle(&mut self, pods: PodStatesChanged, context: &mut Self::Context) {
        self.inputs.pods = pods.payload;
        self.changed(&[Report::Status, Report::Published], context);
    }
}

impl Handler<GatewayReported> for ReporterActor {
    type Result = ();

    fn handle(&mut self, gateway: GatewayReported, _: &mut Self::Context) {
        for what in [Report::GatewayStatuses, Report::GatewayServices] {
            let done = gateway.failures.get(&what).map_or(Ok(()), |why| Err(why.clone()));
            record(&self.options.reporting, what, done);
        }
    }
}

impl Handler<LeadershipChanged> for ReporterActor {
    type Result = ();

    fn handle(&mut self, leadership: LeadershipChanged, context: &mut Self::Context) {
        match (leadership.leads, &self.tasks) {
            (true, None) => self.lead(context),
            (true, Some(_)) => {}
            (false, _) => self.follow(),
        }
    }
}

impl Handler<EventEmitted> for ReporterActor {
    type Result = ();

    fn handle(&mut self, event: EventEmitted, context: &mut Self::Context) {
        self.own.received::<EventEmitted>(context);
        let failed = FailedGeneration::after(self.failed.clone(), &event.payload);
        let is_news = failed != self.failed;
        self.failed = failed;
        if let Some(tasks) = &mut self.tasks {
            tasks.events.add(notice::of(&event.payload));
        }
        if is_news {
            self.changed(&[Report::Status], context);
        } else {
            self.advance(context);
        }
    }
}

impl Handler<StatusReported> for ReporterActor {
    type Result = ();

    fn handle(&mut self, StatusReported(known, done): StatusReported, context: &mut Self::Context) {
        let Some(tasks) = &mut self.tasks else { return };
        if let Some(found) = &known
            && self.uid != found.uid
        {
            self.uid.clone_from(&found.uid);
            tasks.published.rounds.changed();
        }
        tasks.status.ended(known, done.is_ok(), Instant::now());
        self.ended(Report::Status, done, context);
    }
}

impl Handler<AddressesReported> for ReporterActor {
    type Result = ();

    fn handle(&mut self, AddressesReported(written, done): AddressesReported, context: &mut Self::Context) {
        let Some(tasks) = &mut self.tasks else { return };
        tasks.addresses.ended(written, Instant::now());
        self.ended(Report::Addresses, done, context);
    }
}

impl Handler<BundlePublished> for ReporterActor {
    type Result = ();

    fn handle(&mut self, BundlePublished(published, done): BundlePublished, context: &mut Self::Context) {
        let Some(tasks) = &mut self.tasks else { return };
        if let Some(omitted) = tasks.published.ended(published, done.is_ok(), Instant::now()) {
            let before = Reporting::clone(&self.options.reporting.latest());
            let now = Reporting { omitted: Some(omitted), ..before };
            if self.options.reporting.publish_if_changed(now) {
                tasks.changed(Report::Status);
            }
        }
        self.ended(Report::Published, done, context);
    }
}

impl Handler<NoticeReported> for ReporterActor {
    type Result = ();

    fn handle(&mut self, NoticeReported(done): NoticeReported, context: &mut Self::Context) {
        let Some(tasks) = &mut self.tasks else { return };
        tasks.events.ended();
        self.ended(Report::Events, done, context);
    }
}
