//! ResolveActor: keeps what names lead to.

use crate::keeper::Keeper;
use actix::{fut::wrap_future, prelude::*};
use haptic_runtime::Seat;

/// Runs a [`Keeper`].
pub struct ResolveActor {
    seat: Seat<Self>,
    keeper: Keeper,
}

impl ResolveActor {
    /// An actor that begins when it is started.
    #[must_use]
    pub fn new(seat: Seat<Self>, keeper: Keeper) -> Self {
        Self { seat, keeper }
    }
}

impl Actor for ResolveActor {
    type Context = Context<Self>;

    fn started(&mut self, context: &mut Self::Context) {
        let seat = self.seat.clone();
        let shown = move |size: &_| seat.set_detail(size);
        context.spawn(wrap_future(self.keeper.clone().run(shown)));
    }
}

impl Supervised for ResolveActor {
    fn restarting(&mut self, _: &mut Self::Context) {
        *self = self.seat.rebuild();
    }
}
