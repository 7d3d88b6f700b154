//! The running agent: what it holds, how it starts and ends, what it tells.

use crate::{
    answer::Processes,
    apply::NotUp,
    bundles::{Bundles, Stored},
    comparison::Round,
    connection::{SocketError, Sockets},
    credentials::Gate,
    folder::{self, Folder},
    http,
    keep::Keeper,
    ledger::Ledger,
    live::{Identity, Live},
    metrics::{self, Metrics},
    options::{AgentError, AgentOptions, HaproxyMode},
    process::Launch,
    removals, tls,
    watch::Sight,
};
use haptic_model::{
    Epoch, HaproxyVersion,
    agent_api::{Apply, Incarnation, Outcome, RunningBundle, Runtime, Status},
};
use std::{
    fs::File,
    io,
    net::SocketAddr,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, SystemTime},
};
use tokio::{sync::watch, task::JoinHandle};

/// How long a question for the next incarnation is kept waiting.
const LONGEST_WAIT: Duration = Duration::from_secs(25);

/// Starts agents.
#[derive(Debug)]
pub struct Agent;

/// An agent at work. Dropped without [`Self::stop`], it leaves HAProxy running for the next agent of the folder, as if it had
/// been killed.
#[derive(Debug)]
pub struct RunningAgent {
    handle: AgentHandle,
    tasks: Vec<JoinHandle<()>>,
    server: Option<http::RunningServer>,
    drain: Duration,
}

/// What can be asked of a running agent. Cheap to clone.
#[derive(Clone, Debug)]
pub struct AgentHandle(Arc<Inner>);

/// Everything that the agent's functions share.
#[derive(Debug)]
pub(crate) struct Inner {
    pub(crate) folder: Folder,
    pub(crate) sockets: Sockets,
    /// `None` when attached.
    pub(crate) keeper: Option<Keeper>,
    pub(crate) ledger: Ledger,
    pub(crate) metrics: Metrics,
    pub(crate) sight: Sight,
    pub(crate) round: Round,
    /// Held while HAProxy is changed, or what counts on disk.
    pub(crate) turn: Arc<tokio::sync::Mutex<()>>,
    /// Held while files are written. Whoever needs both takes it first.
    pub(crate) disk: tokio::sync::Mutex<()>,
    /// Counts HAProxys that began anew without an order, from a number that no other agent begins with.
    pub(crate) incarnation: watch::Sender<u64>,
    /// Set at the end, so that nobody is kept waiting.
    leaving: watch::Sender<bool>,
    bundles: Arc<Bundles>,
    state: Mutex<State>,
    ending: AtomicBool,
    _lock: File,
}

#[derive(Debug, Default)]
struct State {
    epoch: Epoch,
    stored: Option<Arc<Stored>>,
    live: Live,
    /// The worker that `live` is about; `None` before HAProxy was seen.
    worker: Option<Identity>,
    setback: Option<String>,
    reloads: ReloadCount,
    version: String,
}

/// Reloads since the agent's start that succeeded, from HAProxy's own count, which begins anew with each HAProxy.
#[derive(Debug, Default)]
struct ReloadCount {
    seen: Option<Processes>,
    total: u64,
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

impl Agent {
    /// Starts an agent: finds or starts HAProxy, then serves.
    ///
    /// # Errors
    /// [`AgentError`]: no credentials, a folder or address that cannot be used, a HAProxy that cannot be run at all. One that
    /// does not start with the files at hand is no error: the agent keeps trying and tells so.
    pub async fn start(options: AgentOptions) -> Result<RunningAgent, AgentError> {
        let gate = match (&options.listen, &options.credentials) {
            (None, _) => None,
            (Some(_), None) => return Err(AgentError::NoCredentials),
            (Some(_), Some(source)) => Some(Gate::new(source)?),
        };
        let tls = options.tls.as_ref().map(tls::server_config).transpose()?;
        let drain = options.drain;
        let listen = options.listen;
        let inner = Arc::new(Inner::open(options).await?);
        let turn = inner.turn.clone().lock_owned().await;
        let handle = AgentHandle(inner);
        // Listening comes first: an address in use must not leave a HAProxy behind. Orders wait for their turn.
        let server = match (listen, gate) {
            (Some(address), Some(gate)) => Some(http::serve(handle.clone(), address, gate, tls)?),
            _ => None,
        };
        handle.0.begin().await?;
        drop(turn);
        let tasks = handle.0.work();
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
        self.server.as_ref().map(http::RunningServer::address)
    }

    /// Ends it, and the HAProxy that it keeps: with `graceful`, its connections may finish within the drain time.
    /// An attached HAProxy is left alone. What HAProxy is being told is finished first; an order that has not come so far is
    /// refused. Nothing of the agent's holds HAProxy up: no connection to it stays open, and clients of the agent are
    /// answered meanwhile.
    pub async fn stop(mut self, graceful: bool) {
        let agent = self.handle.clone();
        agent.0.leave().await;
        self.abort();
        let server = self.server.take();
        let answering = async {
            if let Some(server) = server {
                server.stop(graceful).await;
            }
        };
        let draining = async {
            if let Some(keeper) = &agent.0.keeper {
                keeper.end(graceful.then_some(self.drain)).await;
            }
        };
        tokio::join!(answering, draining);
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

impl AgentHandle {
    /// Carries out an order. It is finished even when the caller stops waiting.
    pub async fn apply(&self, apply: Apply) -> Outcome {
        let inner = self.0.clone();
        let outcome = tokio::spawn(async move { inner.apply(apply).await }).await.unwrap_or_else(|error| {
            let message = format!("the agent failed while it applied this: {error}");
            Outcome::Failed { message }
        });
        self.0.metrics.applied(&outcome);
        outcome
    }

    /// How agent and HAProxy are, read from HAProxy and the disk now.
    pub async fn status(&self) -> Status {
        let inner = &self.0;
        inner.glance().await;
        let processes = inner.look().await;
        let worker = inner.sockets.worker().await;
        if let Ok(worker) = &worker {
            inner.now_version(&worker.version);
        }
        let intact = inner.intact().await;
        let version_text = inner.state().version.clone();
        Status {
            version: version_text.parse().unwrap_or(HaproxyVersion::new(0, 0)),
            version_text,
            running: inner.running(),
            exact: inner.live().is_exact(),
            stored: inner.stored().map(|stored| stored.running()),
            incarnation: *inner.incarnation.borrow(),
            setback: inner.setback(),
            epoch: inner.epoch(),
            worker_pid: worker.as_ref().map_or(0, |w| w.pid),
            old_workers: processes.as_ref().map_or(0, |p| p.old_workers),
            reloads: inner.reloads(),
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
        let (live, stored) = (self.0.live(), self.0.stored());
        let bundles = self.0.bundles.clone();
        let read = move || match (live, stored) {
            (Live::Ahead(target), stored) => target.read(&bundles, stored.as_deref()),
            (_, Some(stored)) => bundles.read(&stored),
            (_, None) => Ok(RunningBundle::default()),
        };
        tokio::task::spawn_blocking(read).await.map_err(io::Error::other)?
    }

    /// What HAProxy itself says of its servers and maps.
    ///
    /// # Errors
    /// It does not answer.
    pub async fn runtime(&self) -> io::Result<Runtime> {
        self.0.runtime().await.map_err(io::Error::other)
    }

    /// The number of incarnations once it is another one than `not`, or after a while.
    pub async fn incarnation(&self, not: u64) -> Incarnation {
        let (mut incarnation, mut leaving) = (self.0.incarnation.subscribe(), self.0.leaving.subscribe());
        tokio::select! {
            _ = incarnation.wait_for(|now| *now != not) => {}
            _ = leaving.wait_for(|leaving| *leaving) => {}
            () = tokio::time::sleep(LONGEST_WAIT) => {}
        }
        let incarnation = *self.0.incarnation.borrow();
        Incarnation { incarnation }
    }

    /// Whether HAProxy runs a controller's bundle: only then it should get traffic.
    pub async fn ready(&self) -> bool {
        self.0.stored().is_some() && self.0.sockets.worker().await.is_ok()
    }

    /// Figures in Prometheus' text format.
    pub async fn metrics(&self) -> String {
        let inner = &self.0;
        let processes = inner.look().await.unwrap_or_default();
        let stored = inner.stored();
        let (files, bytes) = stored.as_ref().map(|stored| stored.size()).unwrap_or_default();
        let (pending, overdue) = inner.ledger.counts();
        let version = inner.state().version.clone();
        let now = metrics::Now {
            haproxy_up: processes.worker > 0,
            haproxy_version: version,
            worker_pid: processes.worker,
            old_workers: processes.old_workers,
            reloads: inner.reloads(),
            bundle_applied: stored.is_some(),
            bundle_files: files,
            bundle_bytes: bytes,
            pending_deletions: pending as u64,
            overdue_deletions: overdue as u64,
        };
        metrics::text(&now, &inner.metrics, inner.sockets.times())
    }

    /// Deleted servers that still finish connections.
    #[must_use]
    pub fn pending_deletions(&self) -> usize {
        self.0.ledger.counts().0
    }
}

impl Inner {
    pub(crate) async fn open(options: AgentOptions) -> Result<Self, AgentError> {
        let folder = Folder::prepare(&options.dir, options.socket_dir.as_deref())?;
        let lock = folder.lock().await?;
        folder.write_agent_config()?;
        let problem =
            |e: io::Error| AgentError::Folder { path: folder.root().to_owned(), problem: e.to_string() };
        let (bundles, stored) = Bundles::open(folder.clone()).map_err(problem)?;
        if let Some(stored) = stored.as_ref().filter(|_| !folder.reload_pending().exists()) {
            bundles.sweep(stored.number());
        }
        let epoch = std::fs::read(folder.epoch()).ok().and_then(|text| serde_json::from_slice(&text).ok());
        let (sockets, keeper, version) = match options.haproxy {
            HaproxyMode::Spawn { binary, args } => {
                let binary = found(binary)?;
                let version = version_of(&binary).await?;
                let (master, worker) = (folder.master_socket(), folder.worker_socket());
                let sockets = Sockets::new(master, worker, false);
                let launch = Launch { binary, args, folder: folder.clone(), sockets: sockets.clone() };
                (sockets, Some(Keeper::new(launch)), version)
            }
            HaproxyMode::Attach { master_socket } => {
                let sockets = Sockets::new(master_socket, folder.worker_socket(), true);
                (sockets, None, String::new())
            }
        };
        let stored = stored.map(Arc::new);
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let (incarnation, _) = watch::channel(u64::try_from(now.as_millis()).unwrap_or_default());
        let state = State { epoch: epoch.unwrap_or_default(), stored, version, ..State::default() };
        Ok(Self {
            ledger: Ledger::open(folder.ledger()),
            metrics: Metrics::default(),
            sight: Sight::default(),
            round: Round::default(),
            folder,
            sockets,
            keeper,
            turn: Arc::default(),
            disk: tokio::sync::Mutex::default(),
            incarnation,
            leaving: watch::Sender::new(false),
            bundles: Arc::new(bundles),
            state: Mutex::new(state),
            ending: AtomicBool::new(false),
            _lock: lock,
        })
    }

    /// Brings HAProxy up with what is on disk; finishes what a killed agent left half-done.
    async fn begin(&self) -> Result<(), AgentError> {
        let lives = match &self.keeper {
            Some(keeper) => keeper.find().await,
            None => self.sockets.processes().await.is_ok(),
        };
        // What HAProxy counted before this agent is not this agent's.
        let _before = self.look().await;
        let outcome = match (&self.keeper, lives) {
            (_, true) if self.is_reload_due() => self.bring_up().await.map(drop),
            (_, true) => match self.take_over().await {
                None => return Ok(()),
                Some(why) => self.start_over(why).await,
            },
            (Some(keeper), false) => keeper.start().await.map_err(NotUp::from),
            (None, false) if self.is_reload_due() => return self.step_back_for_a_start().await,
            (None, false) => return Ok(()),
        };
        match outcome {
            Ok(()) => self.reload_is_done(),
            Err(problem) if self.stored().is_none() && self.due_reload().is_none() => {
                return Err(AgentError::Haproxy(problem.to_string()));
            }
            Err(problem) => {
                tracing::error!(%problem, "HAProxy does not take the files on disk");
                self.step_back().await?;
                if matches!(problem, NotUp::Lost(_)) {
                    let why = "HAProxy was lost while it was reloaded".to_owned();
                    self.set_live(Live::Unknown { from: None, why });
                }
                return Ok(());
            }
        }
        if let Ok(worker) = self.current_worker().await {
            self.now_worker(worker.identity());
            self.note(Live::Stored);
        }
        let _counted = self.look().await;
        Ok(())
    }

    /// Takes over the HAProxy that an earlier agent left running; gives why what it runs is not known.
    async fn take_over(&self) -> Option<String> {
        let worker = self.current_worker().await.ok()?.identity();
        self.now_worker(worker);
        let live = self.recall(worker);
        self.set_live(live.clone());
        if let Live::Unknown { why, .. } = live { Some(why) } else { None }
    }

    /// One reload of the files on disk, because it is not known what HAProxy runs.
    async fn start_over(&self, why: String) -> Result<(), NotUp> {
        tracing::warn!(reason = why, "HAProxy is reloaded with the files on disk");
        self.set_setback(Some(format!("{why}; HAProxy was reloaded with the files on disk")));
        self.bring_up().await.map(drop)
    }

    /// After a reload that a killed agent began and HAProxy does not take: the bundle before counts again.
    async fn step_back(&self) -> Result<(), AgentError> {
        let Some(before) = self.due_reload() else { return Ok(()) };
        self.bundles
            .activate(before)
            .map_err(|e| AgentError::Folder { path: self.folder.current(), problem: e.to_string() })?;
        self.state().stored = before.and_then(|number| self.bundles.load(number)).map(Arc::new);
        self.reload_is_done();
        Ok(())
    }

    /// After a reload that a killed agent began, while something else starts the HAProxy that is down: it may not start with
    /// the new bundle, and nobody would tell.
    async fn step_back_for_a_start(&self) -> Result<(), AgentError> {
        tracing::warn!(
            "HAProxy is down and a reload was never seen to succeed: the bundle before counts again"
        );
        self.step_back().await?;
        let why = "HAProxy was started while the bundle before was put back".to_owned();
        self.set_live(Live::Unknown { from: None, why });
        Ok(())
    }

    /// Starts the work that goes on by itself.
    fn work(self: &Arc<Self>) -> Vec<JoinHandle<()>> {
        let removing = self.clone();
        let watching = self.clone();
        let mut tasks = vec![
            tokio::spawn(async move {
                removals::work(&removing.ledger, &removing.sockets, &removing.turn).await;
            }),
            tokio::spawn(async move { watching.watch().await }),
        ];
        if self.keeper.is_some() {
            let keeping = self.clone();
            tasks.push(tokio::spawn(async move {
                if let Some(keeper) = &keeping.keeper {
                    keeper.keep().await;
                }
            }));
        }
        tasks
    }

    /// HAProxy is not changed from now on, and nobody is kept waiting.
    async fn leave(&self) {
        let _turn = self.turn.lock().await;
        self.ending.store(true, Ordering::Relaxed);
        self.leaving.send_replace(true);
        self.sockets.end();
    }

    /// Whether HAProxy is no longer to be changed.
    pub(crate) fn is_ending(&self) -> bool {
        self.ending.load(Ordering::Relaxed)
    }

    // --- state -------------------------------------------------------------------------------------

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn epoch(&self) -> Epoch {
        self.state().epoch
    }

    pub(crate) fn stored(&self) -> Option<Arc<Stored>> {
        self.state().stored.clone()
    }

    pub(crate) fn live(&self) -> Live {
        self.state().live.clone()
    }

    /// See [`Inner::now_live`], which also notes it on disk.
    pub(crate) fn set_live(&self, live: Live) {
        self.state().live = live;
    }

    pub(crate) fn worker(&self) -> Option<Identity> {
        self.state().worker
    }

    /// The worker that HAProxy's state is about from now on; gives the one before.
    pub(crate) fn now_worker(&self, worker: Identity) -> Option<Identity> {
        self.state().worker.replace(worker)
    }

    /// Whatever worker is seen next is another one.
    pub(crate) fn forget_worker(&self) {
        self.state().worker = None;
    }

    fn setback(&self) -> Option<String> {
        self.state().setback.clone()
    }

    pub(crate) fn set_setback(&self, setback: Option<String>) {
        self.state().setback = setback;
    }

    pub(crate) fn reloads(&self) -> u64 {
        self.state().reloads.total
    }

    pub(crate) fn now_version(&self, version: &str) {
        let mut state = self.state();
        if state.version != version {
            version.clone_into(&mut state.version);
        }
    }

    /// `stored` counts; those before are removed.
    pub(crate) fn now_stored(&self, stored: Stored) {
        let (bundles, keep) = (self.bundles.clone(), stored.number());
        self.state().stored = Some(Arc::new(stored));
        drop(tokio::task::spawn_blocking(move || bundles.sweep(keep)));
    }

    /// Remembers the newest leadership, also on disk.
    pub(crate) fn remember(&self, epoch: Epoch) -> io::Result<()> {
        folder::replace(&self.folder.epoch(), &serde_json::to_vec(&epoch)?)?;
        self.state().epoch = epoch;
        Ok(())
    }

    /// Asks the master for its processes.
    pub(crate) async fn look(&self) -> Result<Processes, SocketError> {
        let processes = self.sockets.processes().await?;
        self.state().reloads.observe(&processes);
        self.seen(&processes);
        Ok(processes)
    }

    pub(crate) async fn intact(&self) -> bool {
        let Some(stored) = self.stored() else { return true };
        self.on_disk(move |bundles| bundles.intact(&stored)).await.unwrap_or(false)
    }

    /// Runs disk work off the async threads.
    pub(crate) async fn on_disk<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Bundles) -> T + Send + 'static,
    ) -> Result<T, NotUp> {
        let bundles = self.bundles.clone();
        let work = tokio::task::spawn_blocking(move || work(&bundles)).await;
        work.map_err(|error| NotUp::Failed(format!("the agent failed while it worked on its files: {error}")))
    }

    // --- a reload under way ------------------------------------------------------------------------

    /// Notes that `current` may not be what HAProxy runs, and what it ran before.
    pub(crate) fn reload_is_due(&self, before: Option<u64>) -> io::Result<()> {
        folder::replace(&self.folder.reload_pending(), &serde_json::to_vec(&before)?)
    }

    pub(crate) fn reload_is_done(&self) {
        if let Err(error) = std::fs::remove_file(self.folder.reload_pending())
            && error.kind() != io::ErrorKind::NotFound
        {
            tracing::warn!(%error, "the note of a finished reload cannot be removed");
        }
    }

    fn is_reload_due(&self) -> bool {
        self.folder.reload_pending().exists()
    }

    fn due_reload(&self) -> Option<Option<u64>> {
        serde_json::from_slice(&std::fs::read(self.folder.reload_pending()).ok()?).ok()
    }

    /// Has a HAProxy that is down started soon.
    pub(crate) fn hurry(&self) {
        if let Some(keeper) = &self.keeper {
            keeper.hurry();
        }
    }
}

/// The program's full path: HAProxy starts itself anew by its name on a reload.
fn found(binary: std::path::PathBuf) -> Result<std::path::PathBuf, AgentError> {
    let missing = || {
        AgentError::Haproxy(format!(
            "there is no program {}; install HAProxy 3.0 or later, or give its path with --haproxy",
            binary.display()
        ))
    };
    if binary.components().count() > 1 {
        return binary.canonicalize().map_err(|_| missing());
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).map(|dir| dir.join(&binary)).find(|file| file.is_file()).ok_or_else(missing)
}

/// What `haproxy -v` says: `3.4.7-1`.
async fn version_of(binary: &std::path::Path) -> Result<String, AgentError> {
    let problem = |what: String| AgentError::Haproxy(format!("{} -v: {what}", binary.display()));
    let output =
        tokio::process::Command::new(binary).arg("-v").output().await.map_err(|e| problem(e.to_string()))?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let version = text.strip_prefix("HAProxy version ").and_then(|rest| rest.split_whitespace().next());
    version.map(str::to_owned).ok_or_else(|| problem("this is not HAProxy".to_owned()))
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
