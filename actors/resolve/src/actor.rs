//! ResolveActor: follows the names of Services, has them resolved, and publishes what they lead to.

use crate::{
    dns::Dns,
    resolution::{Resolution, ResolvedNames, question},
    table::LookupResponse,
};
use actix::prelude::*;
use futures::FutureExt;
use haptic_model::{Snapshots, config::AcceptedConfig};
use haptic_runtime::{
    Alarm, OwnHandle, Publisher, deliver,
    messages::{ConfigAccepted, StoresChanged},
};
use std::sync::Arc;
use tokio::time::Instant;

/// What a [`ResolveActor`] is built from; the same for each of its lives.
#[derive(Clone)]
pub struct ResolveOptions {
    /// What the names lead to.
    pub names: Arc<Publisher<ResolvedNames>>,
    /// Who is asked; `None`: the name servers of this machine.
    pub dns: Option<Dns>,
}

/// Knows what names lead to.
pub struct ResolveActor {
    own: OwnHandle<Self>,
    options: ResolveOptions,
    /// The configuration that was accepted last: it says which stores hold Services.
    accepted: Option<AcceptedConfig>,
    stores: Arc<Snapshots>,
    resolution: Resolution,
    dns: Result<Dns, String>,
    alarm: Alarm,
}

/// A name server says what a name leads to.
#[derive(Message)]
#[rtype(result = "()")]
struct NameAnswered(Arc<str>, LookupResponse);

impl ResolveActor {
    /// An actor that knows what the one before it published.
    #[must_use]
    pub fn new(own: OwnHandle<Self>, options: ResolveOptions) -> Self {
        Self {
            own,
            resolution: Resolution::continuing(&options.names.latest()),
            dns: options.dns.clone().ok_or_else(String::new),
            options,
            accepted: None,
            stores: Arc::default(),
            alarm: Alarm::default(),
        }
    }

    fn advance(&mut self, context: &mut Context<Self>) {
        let now = Instant::now();
        if let Some(accepted) = &self.accepted {
            self.resolution.update(&accepted.spec, &self.stores, now);
        }
        let due = self.resolution.take_due(now);
        if !due.is_empty() && self.dns.is_err() {
            self.dns = Dns::of_system();
        }
        for name in due {
            let asked = question(self.dns.clone(), name);
            deliver(context, asked.map(|(name, answer)| NameAnswered(name, answer)));
        }
        if let Some(known) = self.resolution.take_news(now) {
            self.options.names.publish_if_changed(Some(Arc::new(known)));
            self.own.set_detail(&self.resolution.size());
        }
        self.alarm.set(self.resolution.next(now), context, Self::advance);
    }
}

haptic_runtime::supervised!(ResolveActor);

impl Handler<ConfigAccepted> for ResolveActor {
    type Result = ();

    fn handle(&mut self, accepted: ConfigAccepted, context: &mut Self::Context) {
        self.accepted = (*accepted).clone();
        self.advance(context);
    }
}

impl Handler<StoresChanged> for ResolveActor {
    type Result = ();

    fn handle(&mut self, stores: StoresChanged, context: &mut Self::Context) {
        self.stores = stores.payload;
        self.advance(context);
    }
}

impl Handler<NameAnswered> for ResolveActor {
    type Result = ();

    fn handle(&mut self, NameAnswered(name, answer): NameAnswered, context: &mut Self::Context) {
        self.resolution.answered(&name, answer, Instant::now());
        self.advance(context);
    }
}
