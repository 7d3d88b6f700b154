//! How a HAProxy pod is asked and changed, whatever listens on it.
//!
//! A transport only carries: it decides nothing, remembers nothing of the pod and never retries what could have
//! had an effect. Its futures stay on their thread, because awc's client does.

mod agent;
pub mod caller;
mod error;
mod tls;

pub use agent::AgentTransport;
pub use error::{Peer, TransportError};

use futures::future::LocalBoxFuture;
use haptic_model::{
    ActiveConfig, HaproxyPod,
    agent_api::{Apply, Outcome, RunningBundle, Runtime, Status},
};
use std::{rc::Rc, sync::Arc};

/// The answer to a call, later.
pub type CallFuture<'a, T> = LocalBoxFuture<'a, Result<T, TransportError>>;

/// One pod, as the deployment sees it.
pub trait Transport {
    /// How the pod and its HAProxy are.
    fn status(&self) -> CallFuture<'_, Status>;

    /// The files of what it runs; `None` when the pod cannot give them back.
    fn running_bundle(&self) -> CallFuture<'_, Option<RunningBundle>>;

    /// What HAProxy itself says of its servers and maps.
    fn runtime(&self) -> CallFuture<'_, Runtime>;

    /// The number of its incarnations, once it is another one than `not` or after a while.
    fn incarnation(&self, not: u64) -> CallFuture<'_, u64>;

    /// Brings it from one bundle to another. After an error it is unknown what the pod runs: read its status.
    fn apply(&self, order: Arc<Apply>) -> CallFuture<'_, Outcome>;
}

/// Makes the transport to a pod under a configuration.
pub type Connect =
    Arc<dyn Fn(&HaproxyPod, &ActiveConfig) -> Result<Rc<dyn Transport>, TransportError> + Send + Sync>;
