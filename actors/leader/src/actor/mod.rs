//! The crate's actors: the only modules that know actix.

mod certificate;
mod fence;
mod gateway;
mod host_holds;
mod leader;
mod reporter;

pub use certificate::{CertificateActor, CertificateOptions};
pub use fence::{DeadlineMoved, FenceActor};
pub use gateway::{GatewayStatusActor, GatewayStatusOptions};
pub use host_holds::{HostHoldsActor, HostHoldsOptions};
pub use leader::{LeaderActor, LeaderOptions, StepDown};
pub use reporter::{ReporterActor, ReporterOptions};
