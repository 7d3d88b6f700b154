//! CertificateActor: keeps the certificate for hosts that have none.

use crate::{
    certificate::{
        DefaultCertificate,
        upkeep::{UpkeepFailure, publish, read_or_make, report},
    },
    rounds::Rounds,
};
use actix::prelude::*;
use futures::FutureExt;
use haptic_model::{config::AcceptedConfig, default_certificate, pipeline::Leadership};
use haptic_runtime::{
    Alarm, OwnHandle, Publisher, Topic, Work,
    messages::{ConfigAccepted, LeadershipChanged},
};
use kube::Client;
use serde_json::Value;
use std::sync::Arc;
use tokio::time::Instant;

/// What a [`CertificateActor`] is built from; the same for each of its lives.
#[derive(Clone)]
pub struct CertificateOptions {
    /// The API server.
    pub client: Client,
    /// Read right before a Secret is written.
    pub leadership: Topic<Leadership>,
    /// What is found or made.
    pub certificate: Arc<Publisher<DefaultCertificate>>,
}

/// Looks at the Secret from time to time, and at once when something changed.
pub struct CertificateActor {
    own: OwnHandle<Self>,
    options: CertificateOptions,
    /// The configuration that was accepted last: it says whether a certificate is wanted.
    accepted: Option<AcceptedConfig>,
    began: Option<Instant>,
    rounds: Rounds,
    looking: Option<Work>,
    trouble: Option<UpkeepFailure>,
    alarm: Alarm,
}

/// A look at the Secret has ended: it is the one to serve, if there is one.
#[derive(Message)]
#[rtype(result = "()")]
struct SecretExamined(Result<Option<Value>, UpkeepFailure>);

impl CertificateActor {
    /// An actor that has received nothing yet.
    #[must_use]
    pub fn new(own: OwnHandle<Self>, options: CertificateOptions) -> Self {
        Self {
            own,
            options,
            accepted: None,
            began: None,
            rounds: Rounds::new(Instant::now()),
            looking: None,
            trouble: None,
            alarm: Alarm::default(),
        }
    }

    fn advance(&mut self, context: &mut Context<Self>) {
        let wanted = |config: &&AcceptedConfig| default_certificate::is_wanted(&config.spec);
        let Some(config) = self.accepted.as_ref().filter(wanted) else { return };
        let now = Instant::now();
        if !self.rounds.begin(now) {
            return self.alarm.set(self.rounds.next(), context, Self::advance);
        }
        self.began.get_or_insert(now);
        let CertificateOptions { client, leadership, .. } = self.options.clone();
        // What changes from here on makes another look due.
        let reading = read_or_make(client, leadership, config.0.clone());
        self.looking = Some(Work::start(context, reading.map(SecretExamined)));
    }
}

haptic_runtime::supervised!(CertificateActor);

impl Handler<ConfigAccepted> for CertificateActor {
    type Result = ();

    fn handle(&mut self, accepted: ConfigAccepted, context: &mut Self::Context) {
        self.accepted = (*accepted).clone();
        self.rounds.changed();
        self.advance(context);
    }
}

impl Handler<LeadershipChanged> for CertificateActor {
    type Result = ();

    /// A replica that leads from now on may make it.
    fn handle(&mut self, _: LeadershipChanged, context: &mut Self::Context) {
        self.rounds.changed();
        self.advance(context);
    }
}

impl Handler<SecretExamined> for CertificateActor {
    type Result = ();

    fn handle(&mut self, SecretExamined(found): SecretExamined, context: &mut Self::Context) {
        self.looking = None;
        let now = Instant::now();
        let pause = publish(&self.options.certificate, &found, self.began.unwrap_or(now));
        self.rounds.ended(now, Some(now + pause));
        let is_known = matches!(*self.options.certificate.latest(), DefaultCertificate::Secret(_));
        report(&mut self.trouble, found.err().filter(|failure| failure.costs_a_certificate(is_known)));
        self.advance(context);
    }
}
