//! HAProxy itself: its processes, its reloads and its command sockets.

pub(crate) mod answer;
pub(crate) mod channel;
pub(crate) mod connection;
pub(crate) mod process;
pub(crate) mod supervisor;

use crate::{
    disk::{folder::AgentFolder, ledger::WorkerLedger},
    metrics::Metrics,
    options::{AgentError, HaproxyMode},
};
use answer::Processes;
use channel::SocketError;
use connection::{Sockets, Worker};
use process::{Launch, NotStarted};
use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};
use supervisor::HaproxySupervisor;
use tokio::time::Instant;

/// How long a new worker may take to be the one that accepts connections.
const TAKEOVER: Duration = Duration::from_secs(10);

/// The HAProxy that an agent looks after.
#[derive(Debug)]
pub(crate) struct HaproxyProcess {
    pub(crate) sockets: Sockets,
    pub(crate) ledger: WorkerLedger,
    pub(crate) metrics: Arc<Metrics>,
    folder: AgentFolder,
    /// `None` when attached.
    supervisor: Option<HaproxySupervisor>,
    status: Mutex<ProcessStatus>,
}

/// What was seen last of its processes.
#[derive(Debug, Default)]
struct ProcessStatus {
    version: String,
    reloads: ReloadCount,
    /// 0 before any was seen.
    master: u32,
    worker: u32,
    /// The master does not answer.
    gone: bool,
}

/// Reloads since the agent's start that succeeded, from HAProxy's own count, which starts at 0 with each HAProxy.
#[derive(Debug, Default)]
struct ReloadCount {
    seen: Option<Processes>,
    total: u64,
}

/// Why HAProxy does not run a bundle.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NotUp {
    /// HAProxy's own words.
    #[error("{0}")]
    Refused(String),
    /// It was killed, could not be started, or was not asked: the agent's disk is in trouble.
    #[error("{0}")]
    Failed(String),
    /// It cannot be asked: it may have been killed meanwhile, whatever the bundle is.
    #[error(transparent)]
    Lost(#[from] SocketError),
}

impl From<NotStarted> for NotUp {
    fn from(why: NotStarted) -> Self {
        if why.is_refusal { Self::Refused(why.to_string()) } else { Self::Failed(why.to_string()) }
    }
}

impl ReloadCount {
    fn observe(&mut self, now: &Processes) {
        let Some(seen) = self.seen.replace(now.clone()) else { return };
        let same = now.master == seen.master && now.reloads >= seen.reloads;
        let known = if same { seen } else { Processes::default() };
        // HAProxy forgets the failed ones with the next that succeeds.
        let failed = now.failed.checked_sub(known.failed).unwrap_or(now.failed);
        self.total += (now.reloads - known.reloads).saturating_sub(failed);
    }
}

impl HaproxyProcess {
    pub(crate) async fn open(mode: HaproxyMode, folder: &AgentFolder) -> Result<Self, AgentError> {
        let metrics = Arc::new(Metrics::new());
        let times = metrics.round_trips.clone();
        let (sockets, supervisor, version) = match mode {
            HaproxyMode::Spawn { binary, args, launcher } => {
                let binary = process::find_program(binary)?;
                let version = process::version_of(&binary).await?;
                let (master, worker) = (folder.master_socket(), folder.worker_socket());
                let sockets = Sockets::new(master, worker, false, times);
                let launch =
                    Launch { binary, args, launcher, folder: folder.clone(), sockets: sockets.clone() };
                (sockets, Some(HaproxySupervisor::new(launch)), version)
            }
            HaproxyMode::Attach { master_socket } => {
                (Sockets::new(master_socket, folder.worker_socket(), true, times), None, String::new())
            }
        };
        Ok(Self {
            sockets,
            ledger: WorkerLedger::open(folder.ledger()),
            metrics,
            folder: folder.clone(),
            supervisor,
            status: Mutex::new(ProcessStatus { version, ..ProcessStatus::default() }),
        })
    }

    // --- status ------------------------------------------------------------------------------------

    fn status(&self) -> MutexGuard<'_, ProcessStatus> {
        self.status.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn version(&self) -> String {
        self.status().version.clone()
    }

    pub(crate) fn set_version(&self, version: &str) {
        let mut status = self.status();
        if status.version != version {
            version.clone_into(&mut status.version);
        }
    }

    pub(crate) fn reloads(&self) -> u64 {
        self.status().reloads.total
    }

    /// Asks the master for its processes.
    pub(crate) async fn processes(&self) -> Result<Processes, SocketError> {
        let processes = self.sockets.processes().await?;
        self.status().reloads.observe(&processes);
        self.observe(&processes);
        Ok(processes)
    }

    /// What the agent knows of another worker ends here, whatever replaced it.
    fn observe(&self, now: &Processes) {
        if now.worker == 0 {
            return;
        }
        let (master, worker) = {
            let mut status = self.status();
            let before = (status.master, status.worker);
            (status.master, status.worker, status.gone) = (now.master, now.worker, false);
            before
        };
        if worker == now.worker {
            return;
        }
        self.ledger.worker_runs(now.worker);
        if worker == 0 {
            return;
        }
        self.metrics.worker_changed();
        if master == now.master {
            tracing::info!(
                worker = now.worker,
                before = worker,
                old_workers = now.old_workers,
                "another worker runs"
            );
        } else {
            tracing::warn!(
                master = now.master,
                worker = now.worker,
                "HAProxy was started anew; it runs what is on disk"
            );
        }
    }

    /// The master does not answer.
    pub(crate) fn observe_end(&self, error: &SocketError) {
        let mut status = self.status();
        if !status.gone && status.worker != 0 {
            tracing::warn!(%error, "HAProxy is gone");
        }
        status.gone = true;
    }

    /// A connection to the worker that the master calls current. Just after a reload the old one may still accept.
    pub(crate) async fn current_worker(&self) -> Result<Worker, SocketError> {
        let until = Instant::now() + TAKEOVER;
        loop {
            let current = self.processes().await?.worker;
            let worker = self.sockets.idle_worker(current).await?;
            if worker.pid == current || Instant::now() > until {
                self.set_version(&worker.version);
                return Ok(worker);
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    // --- process -----------------------------------------------------------------------------------

    /// Whether a HAProxy runs already, perhaps one of an earlier agent.
    pub(crate) async fn find(&self) -> bool {
        match &self.supervisor {
            Some(supervisor) => supervisor.find().await,
            None => self.sockets.processes().await.is_ok(),
        }
    }

    /// Whether the agent starts it, not something else.
    pub(crate) fn is_supervised(&self) -> bool {
        self.supervisor.is_some()
    }

    /// Starts it with the files on disk.
    pub(crate) async fn start(&self) -> Result<(), NotUp> {
        let Some(supervisor) = &self.supervisor else { return Ok(()) };
        Ok(supervisor.start().await?)
    }

    /// Reloads HAProxy, or starts it when it is down.
    pub(crate) async fn bring_up(&self) -> Result<(Worker, String), NotUp> {
        if let Some(supervisor) = &self.supervisor
            && !supervisor.is_up()
            && supervisor.start_now().await?
        {
            return Ok((self.current_worker().await?, String::new()));
        }
        let (success, log) = match self.sockets.reload().await {
            Ok(outcome) => outcome,
            Err(error) => self.reloaded_after_all().await.ok_or(error)?,
        };
        let current = self.folder.current();
        if !success {
            let _counted = self.processes().await;
            let message = answer::failure(&log, &current);
            return Err(if answer::is_refusal(&log) {
                NotUp::Refused(message)
            } else {
                NotUp::Failed(message)
            });
        }
        Ok((self.current_worker().await?, answer::remarks(&log, &current)))
    }

    /// Whether a reload whose answer was lost succeeded, by HAProxy's own count.
    async fn reloaded_after_all(&self) -> Option<(bool, String)> {
        let seen = self.reloads();
        self.processes().await.ok()?;
        (self.reloads() > seen).then(|| (true, String::new()))
    }

    /// Has a HAProxy that is down started soon.
    pub(crate) fn start_soon(&self) {
        if let Some(supervisor) = self.supervisor.as_ref().filter(|supervisor| !supervisor.is_up()) {
            supervisor.wake();
        }
    }

    /// For ever: keeps it running, unless something else does.
    pub(crate) async fn supervise(&self) {
        if let Some(supervisor) = &self.supervisor {
            supervisor.run().await;
        }
    }

    /// Ends it, unless something else keeps it running: with `drain`, its connections may finish for so long.
    pub(crate) async fn end(&self, drain: Option<Duration>) {
        if let Some(supervisor) = &self.supervisor {
            supervisor.end(drain).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reloads_are_counted_over_haproxys_restarts_but_not_from_before_the_agent() {
        let mut count = ReloadCount::default();
        let seen = [
            (10, 5, 0, 0),
            (10, 6, 0, 1),
            (10, 7, 1, 1),
            (10, 8, 0, 2),
            (20, 0, 0, 2),
            (20, 2, 0, 4),
            (20, 1, 0, 5),
        ];
        for (master, reloads, failed, total) in seen {
            count.observe(&Processes { master, reloads, failed, ..Processes::default() });
            assert_eq!(count.total, total, "master {master}, {reloads} reloads, {failed} failed");
        }
    }
}
