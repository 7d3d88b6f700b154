//! Puts the webhook together: the actor that keeps its identity, and what answers.

use super::{
    configuration::Own,
    desk::Desk,
    identity::keeper::{KeeperArguments, keep},
    service::Admission,
    standing::Standing,
    workshop::Board,
};
use crate::leading::LeadingBy;
use actix::{fut::wrap_future, prelude::*};
use haptic_runtime::{CellReader, Events, Seat};
use haptic_validate::{CheckLimits, Checker};

/// Keeps path, certificate and registration. See [`keep`].
pub struct WebhookActor {
    seat: Seat<Self>,
    arguments: KeeperArguments,
}

impl WebhookActor {
    /// An actor that begins when it is started.
    #[must_use]
    pub fn new(seat: Seat<Self>, arguments: KeeperArguments) -> Self {
        Self { seat, arguments }
    }
}

impl Actor for WebhookActor {
    type Context = Context<Self>;

    fn started(&mut self, context: &mut Self::Context) {
        context.spawn(wrap_future(keep(self.arguments.clone())));
    }
}

impl Supervised for WebhookActor {
    fn restarting(&mut self, _: &mut Self::Context) {
        *self = self.seat.rebuild();
    }
}

/// What answers reviews; `None` without an API server that could ask.
#[must_use]
pub fn admission(
    leading: &LeadingBy,
    board: Board,
    standing: CellReader<Standing>,
    checker: &Checker,
    events: Events,
) -> Option<Admission> {
    let LeadingBy::Lease { client, namespace, name } = leading else { return None };
    let own = Own { namespace: namespace.clone(), name: name.clone() };
    let limits = CheckLimits { at_once: 1, ..CheckLimits::default() };
    let (objects, configurations) = (checker.apart(limits), checker.apart(limits));
    let desk = Desk::open(board.clone(), objects);
    Some(Admission::new(standing, board, own, desk, configurations, client, events))
}
