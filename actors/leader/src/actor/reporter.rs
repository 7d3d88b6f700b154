//! ReporterActor: hears of everything, and tells the API server while this replica leads.

use crate::{
    notices::{api::NoticeApi, notice},
    report::{api::StatusApi, health::Failed},
    reporter::{ReportBoard, Reporter},
    reporting::Reporting,
};
use actix::{fut::wrap_future, prelude::*};
use haptic_model::Event;
use haptic_runtime::{CellWriter, Envelope, Seat, cell};
use std::sync::Arc;
use tokio::sync::mpsc;

/// Notices that may wait; more than the limiter would let through in a minute.
const BACKLOG: usize = 256;

/// What a [`ReporterActor`] is built from; the same for each of its lives.
#[derive(Clone)]
pub struct ReporterArguments {
    /// The API server.
    pub client: kube::Client,
    /// The configuration's namespace.
    pub namespace: Arc<str>,
    /// Its name.
    pub name: Arc<str>,
    /// Under which name this process speaks.
    pub identity: Arc<str>,
    /// What it reads.
    pub board: ReportBoard,
    /// Where it notes what it cannot report.
    pub reporting: Arc<CellWriter<Reporting>>,
}

/// Tells the API server what only the leader tells.
pub struct ReporterActor {
    seat: Seat<Self>,
    arguments: ReporterArguments,
    failed: CellWriter<Option<Failed>>,
    notices: mpsc::Sender<notice::Notice>,
    happened: Option<mpsc::Receiver<notice::Notice>>,
}

impl ReporterActor {
    /// An actor that begins when it is started.
    #[must_use]
    pub fn new(seat: Seat<Self>, arguments: ReporterArguments) -> Self {
        let (notices, happened) = mpsc::channel(BACKLOG);
        Self { seat, arguments, failed: cell(None).0, notices, happened: Some(happened) }
    }

    fn reporter(&mut self) -> Option<Reporter> {
        let ReporterArguments { client, namespace, name, identity, board, reporting } =
            self.arguments.clone();
        Some(Reporter {
            status: StatusApi::new(client.clone(), &namespace, &name),
            notices: NoticeApi::new(client.clone(), &identity, namespace, name),
            client,
            board,
            failed: self.failed.reader(),
            happened: self.happened.take()?,
            reporting,
        })
    }
}

impl Actor for ReporterActor {
    type Context = Context<Self>;

    fn started(&mut self, context: &mut Self::Context) {
        if let Some(reporter) = self.reporter() {
            context.spawn(wrap_future(reporter.run()));
        }
    }
}

impl Supervised for ReporterActor {
    fn restarting(&mut self, _: &mut Self::Context) {
        *self = self.seat.rebuild();
    }
}

impl Handler<Envelope<Event>> for ReporterActor {
    type Result = ();

    fn handle(&mut self, event: Envelope<Event>, context: &mut Self::Context) {
        self.seat.received::<Envelope<Event>>(context);
        let failed = Failed::after(self.failed.read().as_ref().clone(), &event.payload);
        self.failed.publish_if_changed(failed);
        if self.arguments.board.leadership.read().leads {
            for notice in notice::of(&event.payload) {
                // A full backlog means that the API server is slow, and the limiter would refuse most of it.
                if self.notices.try_send(notice).is_err() {
                    tracing::debug!("a notice was dropped: the API server is slow");
                }
            }
        }
    }
}
