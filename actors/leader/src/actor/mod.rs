//! The crate's actors: the only modules that know actix.

mod certificate;
mod fence;
mod gateway;
mod host_holds;
mod leader;
mod reporter;

use crate::rounds::Rounds;
use actix::Context;
use haptic_runtime::{Alarm, SupervisedActor};

pub use certificate::{CertificateActor, CertificateOptions};
pub use fence::{DeadlineMoved, FenceActor};
pub use gateway::{GatewayStatusActor, GatewayStatusOptions};
pub use host_holds::{HostHoldsActor, HostHoldsOptions};
pub use leader::{LeaderActor, LeaderOptions, StepDown};
pub use reporter::{ReporterActor, ReporterOptions};

/// Has `ring` called when the next round begins, if one is to come though nothing changes.
fn ring_at_next<A: SupervisedActor>(
    rounds: &Rounds,
    alarm: &Alarm,
    context: &mut Context<A>,
    ring: fn(&mut A, &mut Context<A>),
) {
    if let Some(next) = rounds.next() {
        alarm.set(next, context, ring);
    }
}
