//! An agent's start and end.

use crate::{
    api::{credentials::Authenticator, handle::AgentHandle, http, tls},
    ops::removals,
    options::{AgentError, AgentOptions},
    running::{RunningState, startup},
};
use haptic_model::agent_api::{Apply, Outcome, RunningBundle, Status};
use std::{future::pending, io, net::SocketAddr, sync::Arc, time::Duration};
use tokio::task::{JoinError, JoinSet};

/// How often it is seen whether the folder is still there.
const LOOK: Duration = Duration::from_secs(2);

/// Starts agents.
#[derive(Debug)]
pub struct Agent;

/// An agent at work. Dropped without [`Self::stop`], it leaves HAProxy running for the next agent of the folder, as if it had
/// been killed.
#[derive(Debug)]
pub struct RunningAgent {
    handle: AgentHandle,
    tasks: JoinSet<()>,
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

    /// Resolves when a part of it has panicked. What that part did, nothing does any more: let another process take its place.
    pub async fn broken(&mut self) -> JoinError {
        first_panic(&mut self.tasks).await
    }

    /// Resolves when its folder was removed: HAProxy's sockets and all files are gone with it, and no order can be followed.
    pub fn folder_lost(&self) -> impl Future<Output = AgentError> + use<> {
        let state = self.handle.state().clone();
        async move {
            while !state.disk.folder.is_lost() {
                tokio::time::sleep(LOOK).await;
            }
            state.disk.folder.lost()
        }
    }

    fn abort(&mut self) {
        self.tasks.abort_all();
    }
}

impl Drop for RunningAgent {
    fn drop(&mut self) {
        self.abort();
    }
}

/// The work that goes on without orders.
fn background_tasks(state: &Arc<RunningState>) -> JoinSet<()> {
    let (removing, watching, supervising) = (state.clone(), state.clone(), state.clone());
    let mut tasks = JoinSet::new();
    tasks.spawn(async move { removals::work(&removing.haproxy, &removing.apply_lock).await });
    tasks.spawn(async move { watching.watch().await });
    tasks.spawn(async move { supervising.haproxy.supervise().await });
    tasks
}

/// Where something else keeps HAProxy running, supervision ends by itself: that is no failure.
async fn first_panic(tasks: &mut JoinSet<()>) -> JoinError {
    while let Some(ended) = tasks.join_next().await {
        match ended {
            Err(error) if error.is_panic() => return error,
            _ => {}
        }
    }
    pending().await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_task_that_panics_is_noticed_and_one_that_ends_is_not() {
        let mut tasks = JoinSet::new();
        tasks.spawn(async {});
        let noticed = tokio::time::timeout(Duration::from_millis(50), first_panic(&mut tasks)).await;
        assert!(noticed.is_err(), "{noticed:?}");
        tasks.spawn(async { panic!("planted") });
        assert!(first_panic(&mut tasks).await.is_panic());
    }
}
