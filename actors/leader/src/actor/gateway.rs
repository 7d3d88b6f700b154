//! GatewayStatusActor: writes statuses of the Gateway API and keeps the Services of Gateways, while this replica leads.

use crate::{
    gateway::{
        service_api::ServiceApi,
        services::{self, ServicesBrought},
        state::GatewayState,
        status_api::GatewayStatusApi,
        work::{self, StatusDone},
    },
    reporting::{GatewayReporting, Report},
};
use actix::prelude::*;
use futures::FutureExt;
use haptic_model::pipeline::{Leadership, Rendered};
use haptic_runtime::{
    Alarm, OwnHandle, Publisher, Topic, Work,
    messages::{
        BundleProposed, BundleValidated, ConfigActivated, LeadershipChanged, PodStatesChanged,
        QuarantineChanged, ReadyPodsChanged, StoresChanged,
    },
};
use kube::Client;
use serde_json::json;
use std::{sync::Arc, time::Duration};
use tokio::time::Instant;

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
    state: GatewayState,
    running: RunningRounds,
    alarm: Alarm,
}

/// Dropped, they are given up amid a call.
#[derive(Default)]
struct RunningRounds {
    statuses: Option<Work>,
    services: Option<Work>,
}

/// A round of statuses has ended.
#[derive(Message)]
#[rtype(result = "()")]
struct StatusesWritten(Vec<StatusDone>);

/// A round of Services has ended.
#[derive(Message)]
#[rtype(result = "()")]
struct ServicesWritten(ServicesBrought);

impl GatewayStatusActor {
    /// An actor that has received nothing yet.
    #[must_use]
    pub fn new(own: OwnHandle<Self>, options: GatewayStatusOptions) -> Self {
        let state = GatewayState::new(Instant::now());
        Self { own, options, state, running: RunningRounds::default(), alarm: Alarm::default() }
    }

    /// Begins every round that it is time for.
    fn advance(&mut self, context: &mut Context<Self>) {
        if !self.state.writes() {
            return;
        }
        let now = Instant::now();
        self.begin_services(context, now);
        self.begin_statuses(context, now);
        let (due, later, written) = self.state.sizes();
        self.own.set_detail(&json!({"due": due, "later": later, "written": written}));
        let statuses = self.state.next_statuses(now).filter(|_| self.running.statuses.is_none());
        let next = statuses.into_iter().chain(self.state.next_services()).min();
        self.alarm.set(next.map(|next| next.max(now + Duration::from_millis(1))), context, Self::advance);
    }

    fn begin_statuses(&mut self, context: &mut Context<Self>, now: Instant) {
        if self.running.statuses.is_some() {
            return;
        }
        let works = self.state.begin_statuses(now);
        if works.is_empty() {
            return;
        }
        let GatewayStatusOptions { client, leadership, .. } = self.options.clone();
        let api = GatewayStatusApi::new(client);
        let Some(shared) = self.state.round_context(api, leadership, now, work::timestamp()) else { return };
        let round = work::round(works, shared);
        self.running.statuses = Some(Work::start(context, round.map(StatusesWritten)));
    }

    fn begin_services(&mut self, context: &mut Context<Self>, now: Instant) {
        let Some(inputs) = self.state.begin_services(now) else { return };
        let GatewayStatusOptions { client, leadership, .. } = self.options.clone();
        let round = services::bring(inputs, ServiceApi::new(client), leadership);
        self.running.services = Some(Work::start(context, round.map(ServicesWritten)));
    }

    fn report(&self, what: Report, why: Option<String>) {
        let mut now = GatewayReporting::clone(&self.options.reporting.latest());
        match why {
            Some(why) => now.failures.insert(what, why),
            None => now.failures.remove(&what),
        };
        self.options.reporting.publish_if_changed(now);
    }

    fn rendered(&mut self, rendered: &Rendered, context: &mut Context<Self>) {
        if self.state.rendered(rendered, Instant::now()) {
            self.advance(context);
        }
    }
}

haptic_runtime::supervised!(GatewayStatusActor);

impl Handler<ConfigActivated> for GatewayStatusActor {
    type Result = ();

    fn handle(&mut self, active: ConfigActivated, context: &mut Self::Context) {
        if let Some(config) = active.as_ref() {
            self.state.activated(config);
            self.advance(context);
        }
    }
}

impl Handler<StoresChanged> for GatewayStatusActor {
    type Result = ();

    fn handle(&mut self, stores: StoresChanged, context: &mut Self::Context) {
        self.state.stored(stores.payload);
        self.advance(context);
    }
}

impl Handler<QuarantineChanged> for GatewayStatusActor {
    type Result = ();

    fn handle(&mut self, quarantine: QuarantineChanged, context: &mut Self::Context) {
        self.state.quarantined(quarantine.payload);
        self.advance(context);
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

impl Handler<PodStatesChanged> for GatewayStatusActor {
    type Result = ();

    fn handle(&mut self, pods: PodStatesChanged, context: &mut Self::Context) {
        if self.state.run(pods.payload) {
            self.advance(context);
        }
    }
}

impl Handler<ReadyPodsChanged> for GatewayStatusActor {
    type Result = ();

    fn handle(&mut self, ready: ReadyPodsChanged, context: &mut Self::Context) {
        self.state.ready(ready.payload);
        self.advance(context);
    }
}

impl Handler<LeadershipChanged> for GatewayStatusActor {
    type Result = ();

    fn handle(&mut self, leadership: LeadershipChanged, context: &mut Self::Context) {
        if self.state.led(leadership.leads, Instant::now()) {
            self.running = RunningRounds::default();
            self.options.reporting.publish_if_changed(GatewayReporting::default());
            self.advance(context);
        }
    }
}

impl Handler<StatusesWritten> for GatewayStatusActor {
    type Result = ();

    fn handle(&mut self, StatusesWritten(done): StatusesWritten, context: &mut Self::Context) {
        self.running.statuses = None;
        let why = self.state.take_statuses(done, Instant::now());
        self.report(Report::GatewayStatuses, why);
        self.advance(context);
    }
}

impl Handler<ServicesWritten> for GatewayStatusActor {
    type Result = ();

    fn handle(&mut self, ServicesWritten(brought): ServicesWritten, context: &mut Self::Context) {
        self.running.services = None;
        let why = self.state.take_services(brought, Instant::now());
        self.report(Report::GatewayServices, why);
        self.advance(context);
    }
}
