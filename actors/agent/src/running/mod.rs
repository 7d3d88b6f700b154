//! What HAProxy runs, beside what is on disk.

mod addresses;
pub(crate) mod apply;
pub(crate) mod audit;
pub(crate) mod startup;

use crate::{
    disk::{
        Disk, folder,
        live::{RunningRecord, WorkerIdentity},
        target::TargetBundle,
    },
    haproxy::{HaproxyProcess, channel::SocketError, connection::Worker},
    options::{AgentError, AgentOptions},
};
use haptic_model::agent_api::Running;
use std::{
    io,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, SystemTime},
};
use tokio::sync::watch;

/// How often HAProxy is looked at. One look costs it some 50 µs.
const WATCH_INTERVAL: Duration = Duration::from_millis(250);

/// What is known of the running HAProxy and of its files.
#[derive(Debug)]
pub(crate) struct RunningState {
    pub(crate) disk: Disk,
    pub(crate) haproxy: HaproxyProcess,
    /// Held while HAProxy is changed, or what counts on disk.
    pub(crate) apply_lock: tokio::sync::Mutex<()>,
    /// Counts HAProxys that were restarted without an order, from a number that no other agent begins with.
    pub(crate) incarnation: watch::Sender<u64>,
    /// Whether HAProxy is no longer to be changed.
    pub(crate) ending: watch::Sender<bool>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    loaded: LoadedBundle,
    /// The worker that `loaded` is about; `None` before HAProxy was seen.
    worker: Option<WorkerIdentity>,
    last_failure: Option<String>,
}

/// What HAProxy runs.
///
/// ```text
/// Stored ──operations──> Unknown ──all done──> Unsaved ──the same is stored──> Stored
///    ^                      │  ^                  │  └──the agent is killed──> Recorded
///    └────── a reload, or a restart of HAProxy ───┴───────────────────────────────┘
/// ```
#[derive(Clone, Debug, Default)]
pub(crate) enum LoadedBundle {
    /// What is on disk.
    #[default]
    Stored,
    /// What operations brought.
    Unsaved(Arc<TargetBundle>),
    /// What operations of an agent before this one brought: its contents are not known any more.
    Recorded(Running),
    /// Operations are under way, or ended half-way.
    Unknown {
        /// Where they began.
        from: Option<Running>,
        /// Why they ended.
        why: String,
    },
}

impl LoadedBundle {
    /// Whether it is known what HAProxy runs.
    pub(crate) fn is_exact(&self) -> bool {
        !matches!(self, Self::Unknown { .. })
    }

    /// What operations brought, if that is not on disk.
    fn unsaved(&self) -> Option<&TargetBundle> {
        if let Self::Unsaved(target) = self { Some(target) } else { None }
    }
}

impl RunningState {
    pub(crate) async fn open(options: AgentOptions) -> Result<Self, AgentError> {
        let disk = Disk::open(&options.dir, options.socket_dir.as_deref()).await?;
        let haproxy = HaproxyProcess::open(options.haproxy, &disk.folder).await?;
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        Ok(Self {
            disk,
            haproxy,
            apply_lock: tokio::sync::Mutex::default(),
            incarnation: watch::Sender::new(u64::try_from(now.as_millis()).unwrap_or_default()),
            ending: watch::Sender::new(false),
            state: Mutex::default(),
        })
    }

    /// HAProxy is not changed from now on, and no caller is kept waiting.
    pub(crate) async fn leave(&self) {
        let _lock = self.apply_lock.lock().await;
        self.ending.send_replace(true);
        self.haproxy.sockets.end();
    }

    // --- state -------------------------------------------------------------------------------------

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn loaded(&self) -> LoadedBundle {
        self.lock().loaded.clone()
    }

    /// The worker that the state is about from now on; gives the one before.
    fn set_worker(&self, worker: WorkerIdentity) -> Option<WorkerIdentity> {
        self.lock().worker.replace(worker)
    }

    pub(crate) fn last_failure(&self) -> Option<String> {
        self.lock().last_failure.clone()
    }

    /// The bundle that HAProxy runs; for one that is not known exactly, the last one that was.
    pub(crate) fn running(&self) -> Option<Running> {
        match self.loaded() {
            LoadedBundle::Stored => self.disk.stored().map(|stored| stored.running()),
            LoadedBundle::Unsaved(target) => Some(target.running()),
            LoadedBundle::Recorded(running) => Some(running),
            LoadedBundle::Unknown { from, .. } => from,
        }
    }

    /// The bundle that HAProxy runs, when its contents are known.
    pub(crate) fn target(&self) -> Option<Arc<TargetBundle>> {
        match self.loaded() {
            LoadedBundle::Unsaved(target) => Some(target),
            LoadedBundle::Stored => self.disk.stored().map(|stored| Arc::new(stored.as_target())),
            _ => None,
        }
    }

    /// Remembers what HAProxy runs, also for the next agent. Only with the apply lock.
    ///
    /// # Errors
    /// The record cannot be written.
    fn set_loaded(&self, loaded: LoadedBundle) -> io::Result<()> {
        let (is_stored, exact) = (matches!(loaded, LoadedBundle::Stored), loaded.is_exact());
        self.lock().loaded = loaded;
        if is_stored {
            folder::removed(&self.disk.folder.live());
            return Ok(());
        }
        let Some(worker) = self.lock().worker else { return Ok(()) };
        RunningRecord { worker, running: self.running(), exact }.write(&self.disk.folder.live())
    }

    /// As [`Self::set_loaded`], where nothing can be done about a record that cannot be written.
    fn note_loaded(&self, loaded: LoadedBundle) {
        if let Err(error) = self.set_loaded(loaded) {
            tracing::warn!(%error, "what HAProxy runs cannot be noted");
        }
    }

    /// What an earlier agent recorded of the HAProxy that `worker` is.
    fn recorded(&self, worker: WorkerIdentity) -> LoadedBundle {
        let record = RunningRecord::read(&self.disk.folder.live()).filter(|record| record.worker == worker);
        let Some(record) = record else { return LoadedBundle::Stored };
        match record.running {
            running if running.map(|r| r.digest) == self.disk.stored().map(|s| s.digest) && record.exact => {
                LoadedBundle::Stored
            }
            Some(running) if record.exact => LoadedBundle::Recorded(running),
            from => LoadedBundle::Unknown {
                from,
                why: "the agent was killed while it changed HAProxy".to_owned(),
            },
        }
    }

    // --- restarts ----------------------------------------------------------------------------------

    /// A connection to the worker that runs. Another one than before, which no order has started, runs what is on disk. Only with the
    /// apply lock.
    ///
    /// # Errors
    /// HAProxy does not answer.
    async fn connect(&self) -> Result<Worker, SocketError> {
        let connection = self.haproxy.current_worker().await?;
        let worker = connection.identity();
        match self.set_worker(worker) {
            Some(before) if before == worker => {}
            None if !self.loaded().is_exact() => self.note_loaded(self.loaded()),
            _ => self.restarted(),
        }
        Ok(connection)
    }

    /// As [`Self::connect`], for whoever has nothing to say to the worker: the connection is kept.
    async fn connect_idle(&self) -> Result<WorkerIdentity, SocketError> {
        let connection = self.connect().await?;
        let worker = connection.identity();
        self.haproxy.sockets.keep(connection);
        Ok(worker)
    }

    fn restarted(&self) {
        let lost = !matches!(self.loaded(), LoadedBundle::Stored);
        let failure = lost.then(|| "HAProxy was restarted and began with the files on disk".to_owned());
        if let Some(failure) = &failure {
            tracing::warn!("{failure}; a controller has to bring what came after them");
        }
        self.lock().last_failure = failure;
        self.note_loaded(LoadedBundle::Stored);
        self.incarnation.send_modify(|incarnation| *incarnation += 1);
    }

    /// HAProxy may run the files that were on disk, or those that are, and here is `why`. A reload will make it known. Only
    /// with the apply lock.
    fn lose(&self, why: &str) {
        let why = why.to_owned();
        tracing::warn!("{why}; a controller has to have it reloaded");
        self.lock().worker = None;
        self.note_loaded(LoadedBundle::Unknown { from: self.running(), why });
        self.incarnation.send_modify(|incarnation| *incarnation += 1);
    }

    /// Notices a restart. An order under way is not waited for: it notices itself.
    pub(crate) async fn refresh(&self) {
        let Ok(worker) = self.haproxy.sockets.worker().await else { return };
        if Some(worker.identity()) == self.lock().worker {
            return;
        }
        drop(worker);
        let Ok(_lock) = self.apply_lock.try_lock() else { return };
        if let Err(error) = self.connect_idle().await {
            tracing::debug!(%error, "HAProxy began anew and does not answer yet");
        }
    }

    /// For ever: notices within a second that HAProxy was restarted, reloaded by someone else or crashed, also when nobody
    /// asks and also of a HAProxy that something else keeps running.
    pub(crate) async fn watch(&self) {
        loop {
            tokio::time::sleep(WATCH_INTERVAL).await;
            self.haproxy.metrics.fold();
            self.haproxy.sockets.close_old();
            // In the midst of a reload HAProxy has counted it and does not know yet whether it fails.
            let Ok(lock) = self.apply_lock.try_lock() else { continue };
            let seen = self.haproxy.processes().await;
            drop(lock);
            match seen {
                Ok(_) => self.refresh().await,
                // A master that reloads says nothing for a while.
                Err(SocketError::Silent { .. }) => {}
                Err(error) => self.haproxy.observe_end(&error),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::HaproxyMode;
    use haptic_model::Generation;
    use haptic_text::Digest;

    const WORKER: WorkerIdentity = WorkerIdentity { pid: 7, started: 1 };

    /// An agent beside a HAProxy that is not there.
    async fn beside_nobody(dir: &std::path::Path) -> RunningState {
        let haproxy = HaproxyMode::Attach { master_socket: dir.join("nobody.sock") };
        RunningState::open(AgentOptions { haproxy, ..AgentOptions::in_process(dir, "") }).await.unwrap()
    }

    #[tokio::test]
    async fn after_sight_is_lost_the_last_known_bundle_is_no_longer_taken_for_what_runs_whoever_answers_next()
    {
        let dir = tempfile::tempdir().unwrap();
        let state = beside_nobody(dir.path()).await;
        let known = Running { digest: Digest::of(b"known"), generation: Generation(3) };
        state.set_worker(WORKER);
        state.set_loaded(LoadedBundle::Recorded(known)).unwrap();
        let (before, mut told) = (*state.incarnation.borrow(), state.incarnation.subscribe());
        state.lose("HAProxy was lost while it was reloaded");
        assert!(told.has_changed().unwrap() && *told.borrow_and_update() == before + 1, "who waits is told");
        assert_eq!(state.lock().worker, None, "the same worker is a stranger, too");
        let LoadedBundle::Unknown { from, why } = state.loaded() else { panic!("{:?}", state.loaded()) };
        assert_eq!((from, why.as_str()), (Some(known), "HAProxy was lost while it was reloaded"));
        assert_eq!(state.running(), Some(known));
        // Once a worker is known, the next agent is told so, too.
        assert_eq!(state.set_worker(WORKER), None);
        state.note_loaded(state.loaded());
        assert!(!state.recorded(WORKER).is_exact(), "{:?}", state.recorded(WORKER));
        state.note_loaded(LoadedBundle::Stored);
        assert!(state.recorded(WORKER).is_exact());
    }
}
