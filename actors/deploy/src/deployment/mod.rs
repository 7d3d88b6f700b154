//! One pod, brought to the newest validated bundle and kept there. Knows no actor: an [`DeployAttempt`] is a future, and what it learns
//! of its pod is [`PodProgress`].

mod attempt;
mod context;
mod drift;
mod drift_repair;
mod failure;
mod order;
pub(crate) mod other_changes;
mod pod_status;
mod progress;
mod refused_reload;
mod state;
mod storing;
mod targets;
#[cfg(test)]
pub(crate) mod test_bundles;

pub(crate) use attempt::{DeployAttempt, NextStep};
pub(crate) use context::{Deployment, PodPublishers};
pub(crate) use failure::DeployFailure;
pub(crate) use progress::PodProgress;
pub(crate) use refused_reload::RefusedReload;
pub use state::DeploymentState;
pub(crate) use targets::NewestBundles;
