//! Brings the fleet of HAProxy pods to the newest validated bundle, with as few reloads as HAProxy allows.
//!
//! * [`discovery`] says which pods there are, [`roster`] what is known of each.
//! * [`planner`] says how a pod gets from what it runs to what it should run.
//! * [`transport`] carries that to the pod.
//! * [`actor`] has one actor for each pod, which attempts that whenever something changes (`deployment`).
//!
//! This crate renders nothing and checks nothing: what it deploys has passed every check before.

pub mod actor;
mod deployment;
pub mod discovery;
pub mod planner;
pub mod roster;
pub mod transport;

pub use actor::{
    DeployActor, DeployTopics, DiscoveryActor, DiscoveryArguments, FleetActor, FleetArguments,
    FleetPublishers, deployment_name,
};
pub use deployment::DeploymentState;
pub use planner::{Plan, PlanCache, Reason, ReasonKind, RunningView, TransportLimits, Verdict, plan};
pub use roster::PodStates;
pub use transport::{AgentTransport, Connect, Transport, TransportError};
