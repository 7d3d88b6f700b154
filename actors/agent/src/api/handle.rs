//! What can be asked of a running agent.

use crate::{
    metrics::Gauges,
    running::{LoadedBundle, RunningState, audit::AuditRound},
};
use haptic_model::{
    HaproxyVersion,
    agent_api::{Apply, Incarnation, Outcome, RunningBundle, Runtime, Status},
};
use std::{io, sync::Arc, time::Duration};

/// How long a question for the next incarnation is kept waiting.
const LONGEST_WAIT: Duration = Duration::from_secs(25);

/// What can be asked of a running agent. Cheap to clone.
#[derive(Clone, Debug)]
pub struct AgentHandle {
    state: Arc<RunningState>,
    audit: Arc<AuditRound>,
}

impl AgentHandle {
    pub(crate) fn new(state: Arc<RunningState>) -> Self {
        Self { state, audit: Arc::default() }
    }

    pub(crate) fn state(&self) -> &Arc<RunningState> {
        &self.state
    }

    /// Carries out an order. It is finished even when the caller stops waiting.
    pub async fn apply(&self, apply: Apply) -> Outcome {
        let state = self.state.clone();
        let outcome = tokio::spawn(async move { state.apply(apply).await }).await.unwrap_or_else(|error| {
            let message = format!("the agent failed while it applied this: {error}");
            Outcome::Failed { message }
        });
        self.state.haproxy.metrics.applied(&outcome);
        outcome
    }

    /// How agent and HAProxy are, read from HAProxy and the disk now.
    pub async fn status(&self) -> Status {
        let state = &self.state;
        let (haproxy, disk) = (&state.haproxy, &state.disk);
        state.refresh().await;
        let processes = haproxy.processes().await;
        let worker = haproxy.sockets.worker().await;
        if let Ok(worker) = &worker {
            haproxy.set_version(&worker.version);
        }
        let intact = disk.intact().await;
        let version_text = haproxy.version();
        Status {
            version: version_text.parse().unwrap_or(HaproxyVersion::new(0, 0)),
            version_text,
            running: state.running(),
            exact: state.loaded().is_exact(),
            stored: disk.stored().map(|stored| stored.running()),
            incarnation: *state.incarnation.borrow(),
            setback: state.last_failure(),
            epoch: disk.epoch(),
            worker_pid: worker.as_ref().map_or(0, |w| w.pid),
            old_workers: processes.as_ref().map_or(0, |p| p.old_workers),
            reloads: haproxy.reloads(),
            // A master that just reloads is silent for a while.
            alive: worker.is_ok(),
            intact,
            data_plane_api: None,
        }
    }

    /// The running bundle's files, or where they are not known the stored one's; an empty one while HAProxy runs the bootstrap
    /// file.
    ///
    /// # Errors
    /// A file that cannot be read.
    pub async fn bundle(&self) -> io::Result<RunningBundle> {
        let loaded = self.state.loaded();
        let read = self.state.disk.run(move |bundles, stored| match (loaded, stored) {
            (LoadedBundle::Unsaved(target), stored) => target.read(bundles, stored),
            (_, Some(stored)) => bundles.read(stored),
            (_, None) => Ok(RunningBundle::default()),
        });
        read.await.map_err(io::Error::other)?
    }

    /// What HAProxy itself says of its servers and maps.
    ///
    /// # Errors
    /// It does not answer.
    pub async fn runtime(&self) -> io::Result<Runtime> {
        self.audit.runtime(&self.state).await.map_err(io::Error::other)
    }

    /// The number of incarnations once it is another one than `not`, or after a while.
    pub async fn incarnation(&self, not: u64) -> Incarnation {
        let state = &self.state;
        let (mut incarnation, mut ending) = (state.incarnation.subscribe(), state.ending.subscribe());
        tokio::select! {
            _ = incarnation.wait_for(|now| *now != not) => {}
            _ = ending.wait_for(|ending| *ending) => {}
            () = tokio::time::sleep(LONGEST_WAIT) => {}
        }
        let incarnation = *state.incarnation.borrow();
        Incarnation { incarnation }
    }

    /// Whether HAProxy runs a controller's bundle: only then it should get traffic.
    pub async fn ready(&self) -> bool {
        self.state.disk.stored().is_some() && self.state.haproxy.sockets.worker().await.is_ok()
    }

    /// Figures in Prometheus' text format.
    pub async fn metrics(&self) -> String {
        let haproxy = &self.state.haproxy;
        let processes = haproxy.processes().await.unwrap_or_default();
        let stored = self.state.disk.stored();
        let (files, bytes) = stored.as_ref().map(|stored| stored.size()).unwrap_or_default();
        let (pending, overdue) = haproxy.ledger.counts();
        haproxy.metrics.page(&Gauges {
            haproxy_up: processes.worker > 0,
            haproxy_version: haproxy.version(),
            worker_pid: processes.worker,
            old_workers: processes.old_workers,
            reloads: haproxy.reloads(),
            bundle_applied: stored.is_some(),
            bundle_files: files,
            bundle_bytes: bytes,
            pending_deletions: pending as u64,
            overdue_deletions: overdue as u64,
        })
    }

    /// Deleted servers that still finish connections.
    #[must_use]
    pub fn pending_deletions(&self) -> usize {
        self.state.haproxy.ledger.counts().0
    }
}
