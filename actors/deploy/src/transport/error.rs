//! Why a pod could not be asked or changed, in words that a user can act on.

use std::{fmt, time::Duration};

/// What listens on a pod, as people call it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Peer(pub &'static str);

impl fmt::Display for Peer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

/// Why a call failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TransportError {
    /// All known credentials were refused.
    #[error(
        "the {peer} on {address} refused the credentials: does it know the same username and password as \
         the Secret of credentialsSecretRef?"
    )]
    Unauthorised {
        /// Who refused.
        peer: Peer,
        /// `IP:port`.
        address: String,
    },
    /// No connection was made.
    #[error("no connection to {address} ({cause}): is the {peer} running on {address}?")]
    Unreachable {
        /// Who should be there.
        peer: Peer,
        /// `IP:port`.
        address: String,
        /// The operating system's words.
        cause: String,
    },
    /// The connection was made, but not a TLS one.
    #[error(
        "no TLS with {address} ({cause}): compare dataplane.scheme and dataplane.caBundle with the {peer}'s certificate"
    )]
    Tls {
        /// Whose certificate it is.
        peer: Peer,
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
        "what listens on {address} is not the {peer} of a HAProxy pod: {call} was answered by {answer}; check dataplane.port, \
         dataplane.transport and podSelector"
    )]
    Stranger {
        /// Who should be there.
        peer: Peer,
        /// `IP:port`.
        address: String,
        /// The call's path.
        call: &'static str,
        /// Status and the beginning of the body.
        answer: String,
    },
    /// It answered, but could not do it.
    #[error("the {peer} on {address} answered {call} with {answer}")]
    Failed {
        /// Who answered.
        peer: Peer,
        /// `IP:port`.
        address: String,
        /// The call's path.
        call: &'static str,
        /// Status and the beginning of the body.
        answer: String,
    },
    /// What can only happen to one kind of transport, in its words.
    #[error("{0}")]
    Own(String),
    /// The configuration does not allow a connection.
    #[error("{0}")]
    Setup(String),
}
