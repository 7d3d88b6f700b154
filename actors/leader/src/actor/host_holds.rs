//! HostHoldsActor: hands what is kept of hosts from one controller to the next.

use crate::{
    host_holds::{
        ReadHolds,
        api::{HoldsFailure, HostHoldsApi},
        record,
    },
    rounds::Rounds,
};
use actix::prelude::*;
use futures::FutureExt;
use haptic_model::{HostHolds, config::AcceptedConfig, host_holds, pipeline::Leadership};
use haptic_runtime::{
    Alarm, OwnHandle, Publisher, Topic, Work, cpu,
    messages::{ConfigAccepted, HostHoldsChanged, LeadershipChanged},
};
use kube::Client;
use std::{sync::Arc, time::Duration};
use tokio::time::Instant;

/// The record is not written more often; preparing takes at most one hundredth of the time.
const BETWEEN: Duration = Duration::from_secs(1);
const SHARE: u32 = 100;
/// How often it is written while time passes and nothing else changes: after a restart a hold lasts at most so much longer.
const REFRESH: Duration = Duration::from_secs(60);
/// How often a replica tries to read it.
const RETRY: Duration = Duration::from_millis(100);
/// Renders wait up to this time for it; a replica that may not read it goes on without.
const FIRST_TIMEOUT: Duration = Duration::from_secs(5);
/// After a failure.
const BACKOFF: Duration = Duration::from_secs(15);
/// A new leader's first render takes up what it has read: until then it writes nothing that lacks this.
const TAKING_UP: Duration = Duration::from_secs(5);

/// What a [`HostHoldsActor`] is built from; the same for each of its lives.
#[derive(Clone)]
pub struct HostHoldsOptions {
    /// The API server.
    pub client: Client,
    /// Read right before the record is written.
    pub leadership: Topic<Leadership>,
    /// What was read.
    pub read: Arc<Publisher<ReadHolds>>,
}

/// Reads the record, and writes it while this replica leads.
pub struct HostHoldsActor {
    own: OwnHandle<Self>,
    options: HostHoldsOptions,
    accepted: Option<AcceptedConfig>,
    holds: Option<HostHolds>,
    leads: bool,
    /// Whether the record is to be read before anything is written.
    is_unread: bool,
    /// Whether there is a record that says anything.
    is_there: bool,
    began: Option<Instant>,
    rounds: Rounds,
    work: Option<Work>,
    trouble: Option<HoldsFailure>,
    alarm: Alarm,
}

/// The record was read, if there is one.
#[derive(Message)]
#[rtype(result = "()")]
struct RecordRead(Result<Option<String>, HoldsFailure>);

/// The record was written with these, or could not be.
#[derive(Message)]
#[rtype(result = "()")]
struct RecordWritten {
    holds: HostHolds,
    /// The time that preparing it took.
    prepared: Result<Duration, HoldsFailure>,
}

impl HostHoldsActor {
    /// An actor that has received nothing yet.
    #[must_use]
    pub fn new(own: OwnHandle<Self>, options: HostHoldsOptions) -> Self {
        Self {
            own,
            options,
            accepted: None,
            holds: None,
            leads: false,
            is_unread: true,
            is_there: false,
            began: None,
            rounds: Rounds::new(Instant::now()),
            work: None,
            trouble: None,
            alarm: Alarm::default(),
        }
    }

    fn advance(&mut self, context: &mut Context<Self>) {
        let wanted = |config: &&AcceptedConfig| host_holds::is_wanted(&config.spec);
        let Some(config) = self.accepted.as_ref().filter(wanted) else { return };
        let now = Instant::now();
        if !self.rounds.begin(now) {
            return self.alarm.set(self.rounds.next(), context, Self::advance);
        }
        let api = HostHoldsApi::new(&self.options.client, config);
        if self.is_unread {
            self.began.get_or_insert(now);
            self.work = Some(Work::start(context, read(api).map(RecordRead)));
            return;
        }
        let Some(holds) = self.to_write() else { return self.rounds.ended(now, None) };
        let hold = config.spec.controller.host_hold.get();
        let write = write(api, holds.clone(), hold, self.options.leadership.clone());
        self.work = Some(Work::start(context, write.map(|prepared| RecordWritten { holds, prepared })));
    }

    /// What is to be written, if this replica may and there is anything to say.
    fn to_write(&self) -> Option<HostHolds> {
        let holds = self.holds.as_ref().filter(|_| self.leads)?;
        (self.is_there || !holds.is_empty()).then(|| holds.clone())
    }

    /// Logs trouble when it begins and when it changes.
    fn report(&mut self, now: Option<HoldsFailure>) {
        if let Some(why) = &now
            && self.trouble != now
        {
            tracing::warn!(
                "after a restart of controllers namespaces that lost a host may not have it back, and Gateways may have other ports of HAProxy: {why}"
            );
        }
        self.trouble = now;
    }
}

async fn read(api: HostHoldsApi) -> Result<Option<String>, HoldsFailure> {
    let found = api.read().await?;
    found.map(|file| record::read(&file)).transpose().map_err(|why| api.unreadable(&why))
}

/// Writes the record, unless another replica leads by then; the time that preparing it took.
async fn write(
    api: HostHoldsApi,
    holds: HostHolds,
    hold: Duration,
    leadership: Topic<Leadership>,
) -> Result<Duration, HoldsFailure> {
    let began = Instant::now();
    let file = cpu("host holds", move || record::written(&holds, hold, began.into_std())).await;
    let file = file.map_err(|panicked| HoldsFailure::NotDone(panicked.to_string()))?;
    let prepared = began.elapsed();
    if leadership.latest().leads {
        api.write(&file).await?;
    }
    Ok(prepared)
}

haptic_runtime::supervised!(HostHoldsActor);

impl Handler<ConfigAccepted> for HostHoldsActor {
    type Result = ();

    fn handle(&mut self, accepted: ConfigAccepted, context: &mut Self::Context) {
        self.accepted = (*accepted).clone();
        self.rounds.changed();
        self.advance(context);
    }
}

impl Handler<HostHoldsChanged> for HostHoldsActor {
    type Result = ();

    fn handle(&mut self, holds: HostHoldsChanged, context: &mut Self::Context) {
        self.holds = (*holds).clone();
        self.rounds.changed();
        self.advance(context);
    }
}

impl Handler<LeadershipChanged> for HostHoldsActor {
    type Result = ();

    /// Who begins to lead reads what the leader before has written since.
    fn handle(&mut self, leadership: LeadershipChanged, context: &mut Self::Context) {
        self.is_unread |= leadership.leads && !self.leads;
        self.leads = leadership.leads;
        self.rounds.changed();
        self.advance(context);
    }
}

impl Handler<RecordRead> for HostHoldsActor {
    type Result = ();

    fn handle(&mut self, RecordRead(found): RecordRead, context: &mut Self::Context) {
        self.work = None;
        let now = Instant::now();
        let known = self.options.read.latest();
        let began = self.began.unwrap_or(now);
        let is_early = known.is_none() && began.elapsed() < FIRST_TIMEOUT;
        let found = found.map(|found| found.map_or_else(|| "{}".into(), Arc::<str>::from));
        let pause = match &found {
            Ok(record) => {
                self.is_unread = false;
                self.is_there = &**record != "{}";
                let is_first = known.is_none();
                let is_news = self.options.read.publish_if_changed(Some(record.clone()));
                if is_news && !is_first { TAKING_UP } else { Duration::ZERO }
            }
            Err(HoldsFailure::NotDone(_)) if is_early => RETRY,
            Err(_) => {
                // Somebody has to serve: who had what is known by ages alone.
                if known.is_none() {
                    self.options.read.publish(Some("{}".into()));
                }
                BACKOFF
            }
        };
        self.rounds.changed();
        self.rounds.ended(now + pause, None);
        self.report(found.err().filter(|why| !is_early || matches!(why, HoldsFailure::Refused(_))));
        self.advance(context);
    }
}

impl Handler<RecordWritten> for HostHoldsActor {
    type Result = ();

    fn handle(&mut self, RecordWritten { holds, prepared }: RecordWritten, context: &mut Self::Context) {
        self.work = None;
        let now = Instant::now();
        match &prepared {
            Ok(prepared) => {
                self.is_there = !holds.is_empty();
                let pause = BETWEEN.max(*prepared * SHARE);
                self.rounds.ended(now + pause, holds.is_counting().then_some(now + REFRESH.max(pause)));
            }
            Err(_) => self.rounds.ended(now + BACKOFF, Some(now + BACKOFF)),
        }
        self.report(prepared.err());
        self.advance(context);
    }
}
