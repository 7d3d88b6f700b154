//! The crate's actors: the only modules that know actix.

mod deploy;
mod discovery;
mod fleet;

pub use deploy::DeployActor;
pub use discovery::{DiscoveryActor, DiscoveryArguments};
pub use fleet::{DeployTopics, FleetActor, FleetArguments, FleetPublishers, deployment_name};
