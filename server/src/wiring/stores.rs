//! The stores that no watch fills: the default certificate, what the names of Services lead to, and what is kept of hosts.

use actix::Handler;
use haptic_leader::{certificate::DefaultCertificate, host_holds::ReadHolds};
use haptic_model::{Snapshot, default_certificate, external_names, host_holds, pipeline::Cause};
use haptic_resolve::ResolvedNames;
use haptic_runtime::{Envelope, OwnHandle};
use haptic_watch::{Stores, stores::Claim};

/// The certificate for hosts that have none is another one.
pub(super) type CertificateChanged = Envelope<DefaultCertificate>;
/// Names of Services lead elsewhere.
pub(super) type NamesResolved = Envelope<ResolvedNames>;
/// What an earlier controller kept of hosts was read.
pub(super) type HoldsRead = Envelope<ReadHolds>;

/// Fills them.
pub(super) struct OtherStoresActor {
    own: OwnHandle<Self>,
    certificate: (Claim, Snapshot),
    names: (Claim, Snapshot),
    holds: (Claim, Snapshot),
}

impl OtherStoresActor {
    pub(super) fn new(own: OwnHandle<Self>, stores: &Stores) -> Self {
        let certificate = stores.claim(&default_certificate::STORE.into());
        let holds = stores.claim(&host_holds::STORE.into());
        Self { own, certificate, names: stores.claim(&external_names::STORE.into()), holds }
    }
}

haptic_runtime::supervised!(OtherStoresActor);

impl Handler<CertificateChanged> for OtherStoresActor {
    type Result = ();

    fn handle(&mut self, certificate: CertificateChanged, _: &mut Self::Context) {
        let secret = match &*certificate {
            DefaultCertificate::Awaited => return,
            DefaultCertificate::None => None,
            DefaultCertificate::Secret(secret) => Some(&**secret),
        };
        let (claim, snapshot) = &mut self.certificate;
        *snapshot = default_certificate::store(std::mem::take(snapshot), secret);
        claim.publish(snapshot, Cause::other("default certificate"));
    }
}

impl Handler<NamesResolved> for OtherStoresActor {
    type Result = ();

    fn handle(&mut self, names: NamesResolved, _: &mut Self::Context) {
        let Some(known) = &*names else { return };
        let (claim, snapshot) = &mut self.names;
        let before = snapshot.clone();
        *snapshot = external_names::store(std::mem::take(snapshot), known);
        let is_news = !snapshot.is_unchanged_since(&before) || !before.is_synced();
        claim.publish(snapshot, if is_news { Cause::other("external names") } else { Cause::default() });
    }
}

impl Handler<HoldsRead> for OtherStoresActor {
    type Result = ();

    fn handle(&mut self, holds: HoldsRead, _: &mut Self::Context) {
        let Some(record) = &*holds else { return };
        let (claim, snapshot) = &mut self.holds;
        *snapshot = host_holds::store(std::mem::take(snapshot), record);
        claim.publish(snapshot, Cause::other("what is kept of hosts"));
    }
}
