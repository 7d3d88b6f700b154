//! CertificateActor: keeps the certificate for hosts that have none.

use crate::certificate::keeper::Keeper;
use actix::{fut::wrap_future, prelude::*};
use haptic_runtime::Seat;

/// Runs a [`Keeper`].
pub struct CertificateActor {
    seat: Seat<Self>,
    keeper: Keeper,
}

impl CertificateActor {
    /// An actor that begins when it is started.
    #[must_use]
    pub fn new(seat: Seat<Self>, keeper: Keeper) -> Self {
        Self { seat, keeper }
    }
}

impl Actor for CertificateActor {
    type Context = Context<Self>;

    fn started(&mut self, context: &mut Self::Context) {
        context.spawn(wrap_future(self.keeper.clone().run()));
    }
}

impl Supervised for CertificateActor {
    fn restarting(&mut self, _: &mut Self::Context) {
        *self = self.seat.rebuild();
    }
}
