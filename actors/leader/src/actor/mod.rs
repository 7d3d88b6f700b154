//! The crate's actors: the only modules that know actix.

mod certificate;
mod leader;
mod reporter;

pub use certificate::CertificateActor;
pub use leader::{LeaderActor, LeaderArguments, StepDown};
pub use reporter::{ReporterActor, ReporterArguments};
