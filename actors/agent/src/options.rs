//! What an agent is told at its start, and why it may refuse to start.

use haptic_model::config::Credentials;
use haptic_text::Sensitive;
use std::{net::SocketAddr, path::PathBuf, time::Duration};

/// All that an agent is told.
#[derive(Clone, Debug)]
pub struct AgentOptions {
    /// Where to serve HTTP; `None` when used in-process only.
    pub listen: Option<SocketAddr>,
    /// The agent's folder: bundles, state and (unless `socket_dir` is given) sockets. Nothing else is ever written to.
    pub dir: PathBuf,
    /// Where HAProxy's sockets go when `dir` is too long for them: their paths are limited by the kernel.
    pub socket_dir: Option<PathBuf>,
    /// Which HAProxy.
    pub haproxy: HaproxyMode,
    /// Who may call; needed to listen.
    pub credentials: Option<CredentialsSource>,
    /// HTTPS instead of HTTP.
    pub tls: Option<TlsSource>,
    /// How long a graceful stop lets HAProxy finish its connections.
    pub drain: Duration,
}

/// Which HAProxy an agent looks after.
#[derive(Clone, Debug)]
pub enum HaproxyMode {
    /// Starts one and keeps it running.
    Spawn {
        /// The program.
        binary: PathBuf,
        /// Arguments before the agent's own (`-m 512`, `-dr`).
        args: Vec<String>,
        /// What is executed in its place, and becomes the command behind its own words.
        launcher: Vec<String>,
    },
    /// Uses one that something else keeps running, started as
    /// `haproxy -W -S SOCKET -f DIR/agent.cfg -f DIR/current/haproxy.cfg`.
    Attach {
        /// Its master socket (`-S`).
        master_socket: PathBuf,
    },
}

/// Where the certificate for HTTPS comes from.
#[derive(Clone, Debug)]
pub enum TlsSource {
    /// PEM files, read anew when they change.
    Files {
        /// The certificate chain.
        certificate: PathBuf,
        /// Its private key.
        key: PathBuf,
    },
    /// Made at the start, for these names and addresses; callers cannot verify it.
    SelfSigned {
        /// Names and addresses.
        names: Vec<String>,
    },
}

/// Where the agent's credentials come from.
#[derive(Clone, Debug)]
pub enum CredentialsSource {
    /// Given once.
    Fixed(Credentials),
    /// A mounted Secret: a folder with the files `dataplane_username` and `dataplane_password`, read anew when it changes.
    Dir(PathBuf),
}

impl CredentialsSource {
    /// From `HAPTIC_USERNAME` and `HAPTIC_PASSWORD`.
    ///
    /// # Errors
    /// [`AgentError::NoCredentials`] and [`AgentError::HalfCredentials`], as far as they are unset or empty.
    pub fn from_env() -> Result<Self, AgentError> {
        given_in_env()?.map(Self::Fixed).ok_or(AgentError::NoCredentials)
    }
}

/// What `HAPTIC_USERNAME` and `HAPTIC_PASSWORD` say, if they are set.
///
/// # Errors
/// [`AgentError::HalfCredentials`] when one of them is unset or empty and the other is not.
pub fn given_in_env() -> Result<Option<Credentials>, AgentError> {
    let value = |name| std::env::var(name).ok().filter(|value| !value.is_empty());
    match (value("HAPTIC_USERNAME"), value("HAPTIC_PASSWORD")) {
        (Some(username), Some(password)) => {
            Ok(Some(Credentials { username, password: Sensitive::new(password) }))
        }
        (None, None) => Ok(None),
        _ => Err(AgentError::HalfCredentials),
    }
}

impl AgentOptions {
    /// An in-process agent that keeps `binary` running, with its files in `dir`.
    #[must_use]
    pub fn in_process(dir: impl Into<PathBuf>, binary: impl Into<PathBuf>) -> Self {
        Self {
            listen: None,
            dir: dir.into(),
            socket_dir: None,
            haproxy: HaproxyMode::Spawn { binary: binary.into(), args: Vec::new(), launcher: Vec::new() },
            credentials: None,
            tls: None,
            drain: Duration::from_secs(15),
        }
    }
}

/// Why an agent does not start.
#[derive(Debug, thiserror::Error)]
pub enum AgentError {
    /// An address to listen on without credentials.
    #[error(
        "the agent has no credentials and would let anyone configure HAProxy: set HAPTIC_USERNAME and HAPTIC_PASSWORD, or give --credentials-dir a folder with the files dataplane_username and dataplane_password"
    )]
    NoCredentials,
    /// A name without a password, or the reverse.
    #[error("one of HAPTIC_USERNAME and HAPTIC_PASSWORD is set, the other is not: set both, or none")]
    HalfCredentials,
    /// Credentials that cannot be used.
    #[error("the agent's credentials cannot be used: {0}")]
    Credentials(String),
    /// The folder cannot be used.
    #[error("the agent's folder {path} cannot be used: {problem}")]
    Folder {
        /// Which one.
        path: PathBuf,
        /// Why, and what to do.
        problem: String,
    },
    /// A certificate or key that cannot be used.
    #[error("the agent's certificate cannot be used: {0}")]
    Tls(String),
    /// HAProxy does not start.
    #[error("HAProxy does not start: {0}")]
    Haproxy(String),
    /// The address cannot be listened on.
    #[error(
        "the agent cannot listen on {address}: {problem}; give another --listen, or end what uses that port"
    )]
    Listen {
        /// Which one.
        address: SocketAddr,
        /// The system's words.
        problem: std::io::Error,
    },
}
