//! The crate's actors: the only modules that know actix.

mod leader;
mod reporter;

pub use leader::{LeaderActor, LeaderArguments, StepDown};
pub use reporter::{ReporterActor, ReporterArguments};
