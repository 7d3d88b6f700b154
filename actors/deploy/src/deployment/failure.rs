//! Why a pod is not where it should be.

use crate::transport::TransportError;
use haptic_runtime::CpuPanicked;

/// Why a pod is not at its bundle; each is tried again after a while.
#[derive(Clone, Debug, thiserror::Error)]
pub(crate) enum DeployFailure {
    /// It could not be asked or told.
    #[error(transparent)]
    Transport(#[from] TransportError),
    /// HAProxy did not take it; what ran before still runs.
    #[error("HAProxy refused the new configuration and keeps the one before: {0}")]
    Refused(String),
    /// Something on the pod was in the way; the bundle is not at fault.
    #[error("the pod could not carry it out: {0}")]
    Failed(String),
    /// Another controller leads.
    #[error("a controller with a newer leadership deploys to this pod: this one must not")]
    Stale,
    /// Its files could not be stored; what HAProxy runs is not affected.
    #[error("the pod could not store its files, and a restart of it would bring older ones: {0}")]
    NotStored(String),
    /// It asked for the same contents again.
    #[error("the pod still lacks {0} after they were sent: is its disk full?")]
    StillMissing(String),
    /// HAProxy is down.
    #[error("HAProxy on the pod does not answer its socket: see the log of its container")]
    Down,
    /// It runs something else each time it is asked.
    #[error("the pod does not settle ({0}): does another controller deploy to it as well?")]
    Unsettled(&'static str),
    /// What it sent cannot be used.
    #[error("what the pod says it runs cannot be used: {0}")]
    Unreadable(String),
    /// The planner failed.
    #[error(transparent)]
    Planner(#[from] CpuPanicked),
}
