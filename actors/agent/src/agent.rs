//! An agent's start and end.

use crate::{
    api::{credentials::Authenticator, handle::AgentHandle, http, tls},
    ops::removals,
    options::{AgentError, AgentOptions},
    running::{RunningState, startup},
};
use haptic_model::agent_api::{Apply, Outcome, RunningBundle, Status};
use std::{io, net::SocketAddr, sync::Arc, time::Duration};
use tokio::task::JoinHandle;

/// Starts agents.
#[derive(Debug)]
pub struct Agent;

/// An agent at work. Dropped without [`Self::stop`], it leaves HAProxy running for the next agent of the folder, as if it had
/// been killed.
#[derive(Debug)]
pub struct RunningAgent {
    handle: AgentHandle,
    tasks: Vec<JoinHandle<()>>,
    server: Option<http::ListeningServer>,
    drain: Duration,
}

impl Agent {
    /// Starts an agent: finds or starts HAProxy, then serves.
    ///
    /// # Errors
    /// [`AgentError`]: no credentials, a folder or address that cannot be used, a HAProxy that cannot be run at all. One that
    /// does not start with the files at hand is no error: the agent keeps trying and tells so.
    pub async fn start(options: AgentOptions) -> Result<RunningAgent, AgentError> {
        let authenticator = match (&options.listen, &options.credentials) {
            (None, _) => None,
            (Some(_), None) => return Err(AgentError::NoCredentials),
            (Some(_), Some(source)) => Some(Authenticator::new(source)?),
        };
        let tls = options.tls.as_ref().map(tls::server_config).transpose()?;
        let drain = options.drain;
        let listen = options.listen;
        let state = Arc::new(RunningState::open(options).await?);
        let handle = AgentHandle::new(state.clone());
        let lock = state.apply_lock.lock().await;
        // Listening comes first: an address in use must not leave a HAProxy behind. Orders wait for the lock.
        let server = match (listen, authenticator) {
            (Some(address), Some(authenticator)) => {
                Some(http::serve(handle.clone(), address, authenticator, tls)?)
            }
            _ => None,
        };
        startup::start(&state).await?;
        drop(lock);
        let tasks = background_tasks(&state);
        Ok(RunningAgent { handle, tasks, server, drain })
    }
}

impl RunningAgent {
    /// What can be asked of it, to hand around.
    #[must_use]
    pub fn handle(&self) -> AgentHandle {
        self.handle.clone()
    }

    /// See [`AgentHandle::apply`].
    pub async fn apply(&self, apply: Apply) -> Outcome {
        self.handle.apply(apply).await
    }

    /// See [`AgentHandle::status`].
    pub async fn status(&self) -> Status {
        self.handle.status().await
    }

    /// See [`AgentHandle::bundle`].
    ///
    /// # Errors
    /// A file that cannot be read.
    pub async fn bundle(&self) -> io::Result<RunningBundle> {
        self.handle.bundle().await
    }

    /// Where it listens; the port is a real one also when port 0 was asked for.
    #[must_use]
    pub fn local_addr(&self) -> Option<SocketAddr> {
        self.server.as_ref().map(http::ListeningServer::address)
    }

    /// Ends it, and the HAProxy that it keeps: with `graceful`, its connections may finish within the drain time.
    /// An attached HAProxy is left alone. What HAProxy is being told is finished first; an order that has not come so far is
    /// refused. Nothing of the agent's holds HAProxy up: no connection to it stays open, and clients of the agent are
    /// answered meanwhile.
    pub async fn stop(mut self, graceful: bool) {
        let state = self.handle.state().clone();
        state.leave().await;
        self.abort();
        let server = self.server.take();
        let answering = async {
            if let Some(server) = server {
                server.stop(graceful).await;
            }
        };
        tokio::join!(answering, state.haproxy.end(graceful.then_some(self.drain)));
    }

    fn abort(&mut self) {
        self.tasks.drain(..).for_each(|task| task.abort());
    }
}

impl Drop for RunningAgent {
    fn drop(&mut self) {
        self.abort();
    }
}

/// The work that goes on without orders.
fn background_tasks(state: &Arc<RunningState>) -> Vec<JoinHandle<()>> {
    let (removing, watching, supervising) = (state.clone(), state.clone(), state.clone());
    vec![
        tokio::spawn(async move { removals::work(&removing.haproxy, &removing.apply_lock).await }),
        tokio::spawn(async move { watching.watch().await }),
        tokio::spawn(async move { supervising.haproxy.supervise().await }),
    ]
}
