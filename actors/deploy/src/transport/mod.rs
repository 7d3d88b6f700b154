//! How a HAProxy pod is asked and changed, whatever listens on it.
//!
//! A transport only carries: it decides nothing, remembers nothing of the pod and never retries what could have
//! had an effect. Its futures stay on their thread, because awc's client does.

mod agent;
mod tls;

pub use agent::AgentTransport;

use futures::future::LocalBoxFuture;
use haptic_model::{
    ActiveConfig, HaproxyPod, Transport as Kind,
    agent_api::{Apply, Outcome, RunningBundle, Runtime, Status},
};
use std::{rc::Rc, sync::Arc, time::Duration};

/// The answer to a call, later.
pub type Answer<'a, T> = LocalBoxFuture<'a, Result<T, TransportError>>;

/// One pod, as the deployment sees it.
pub trait Transport {
    /// How the pod and its HAProxy are.
    fn status(&self) -> Answer<'_, Status>;

    /// The files of what it runs.
    fn running_bundle(&self) -> Answer<'_, RunningBundle>;

    /// What HAProxy itself says of its servers and maps.
    fn runtime(&self) -> Answer<'_, Runtime>;

    /// The number of its incarnations, once it is another one than `not` or after a while.
    fn incarnation(&self, not: u64) -> Answer<'_, u64>;

    /// Brings it from one bundle to another. After an error it is unknown what the pod runs: read its status.
    fn apply(&self, order: Arc<Apply>) -> Answer<'_, Outcome>;
}

/// Makes the transport to a pod under a configuration: [`connect`], or a test's own.
pub type Connect =
    Arc<dyn Fn(&HaproxyPod, &ActiveConfig) -> Result<Rc<dyn Transport>, TransportError> + Send + Sync>;

/// Why a call failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TransportError {
    /// All known credentials were refused.
    #[error(
        "the agent on {address} refused the credentials: does its Secret hold the same username and password as \
         the one of credentialsSecretRef?"
    )]
    Unauthorised {
        /// `IP:port`.
        address: String,
    },
    /// No connection was made.
    #[error("no connection to {address} ({cause}): is the agent running on {address}?")]
    Unreachable {
        /// `IP:port`.
        address: String,
        /// The operating system's words.
        cause: String,
    },
    /// The connection was made, but not a TLS one.
    #[error(
        "no TLS with {address} ({cause}): compare dataplane.scheme and dataplane.caBundle with the agent's certificate"
    )]
    Tls {
        /// `IP:port`.
        address: String,
        /// The library's words.
        cause: String,
    },
    /// No answer in time.
    #[error(
        "{address} gave no answer to {call} within {limit:?}: is HAProxy's pod overloaded, or dataplane.deploymentTimeout too short?"
    )]
    Timeout {
        /// `IP:port`.
        address: String,
        /// The call's path.
        call: &'static str,
        /// The limit.
        limit: Duration,
    },
    /// The connection broke before the whole answer was there.
    #[error("the connection to {address} broke during {call}: {cause}")]
    Broken {
        /// `IP:port`.
        address: String,
        /// The call's path.
        call: &'static str,
        /// The library's words.
        cause: String,
    },
    /// Something else listens there.
    #[error(
        "what listens on {address} is not a HAPTIC agent: {call} was answered by {answer}; check dataplane.port and podSelector"
    )]
    NotAnAgent {
        /// `IP:port`.
        address: String,
        /// The call's path.
        call: &'static str,
        /// Status and the beginning of the body.
        answer: String,
    },
    /// The agent answered, but could not do it.
    #[error("the agent on {address} answered {call} with {answer}")]
    Failed {
        /// `IP:port`.
        address: String,
        /// The call's path.
        call: &'static str,
        /// Status and the beginning of the body.
        answer: String,
    },
    /// The configuration does not allow a connection.
    #[error("{0}")]
    Setup(String),
}

/// The transport that `config` asks for.
///
/// # Errors
/// [`TransportError::Setup`] with what to change in the configuration.
pub fn connect(pod: &HaproxyPod, config: &ActiveConfig) -> Result<Rc<dyn Transport>, TransportError> {
    match config.spec.dataplane.transport {
        Kind::Agent => Ok(Rc::new(AgentTransport::new(pod, config)?)),
        Kind::DataPlaneApi => Err(TransportError::Setup(
            "dataplane.transport dataplaneapi is not available in this version: use agent".to_owned(),
        )),
    }
}
