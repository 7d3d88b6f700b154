//! What the agent did to the running worker and HAProxy cannot tell: which deleted servers and backends still wait to be
//! removed, and from which defaults sections the last order's backends came. It lies on disk too, so that an agent that
//! takes over from a killed one goes on: [`WorkerLedger::save`] follows each batch of changes. It ends with the worker.

use serde::{Deserialize, Serialize};
use std::{
    collections::BTreeMap,
    path::PathBuf,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};
use tokio::{sync::Notify, time::Instant};

/// A deletion that takes longer is reported.
pub(crate) const LONG: Duration = Duration::from_secs(30);

/// What waits to be removed. Servers come first: a backend goes only without any.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Removal {
    Server { backend: String, server: String },
    Backend { backend: String },
}

/// The ledger of one agent's folder.
#[derive(Debug)]
pub(crate) struct WorkerLedger {
    path: PathBuf,
    state: Mutex<LedgerState>,
    /// Something new waits.
    pub(crate) more: Notify,
}

#[derive(Debug)]
struct LedgerState {
    worker: u32,
    waiting: BTreeMap<Removal, PendingRemoval>,
    /// Defaults sections by backend.
    added: BTreeMap<String, String>,
    /// Operations may have been carried out that nobody knows of: an earlier order, or agent, was not seen to its end.
    unsure: bool,
    /// Not on disk yet.
    unwritten: bool,
}

#[derive(Clone, Debug)]
struct PendingRemoval {
    /// What it was made from: the defaults section of a backend, or the parameters of a server that cannot change.
    origin: String,
    since: Instant,
    reported: bool,
}

/// `ledger.json`.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
struct LedgerFile {
    worker: u32,
    waiting: Vec<(Removal, String)>,
    added: BTreeMap<String, String>,
}

impl WorkerLedger {
    /// Goes on with what an earlier agent wrote to the file at `path`.
    pub(crate) fn open(path: PathBuf) -> Self {
        let written: LedgerFile =
            std::fs::read(&path).ok().and_then(|text| serde_json::from_slice(&text).ok()).unwrap_or_default();
        let waiting =
            written.waiting.into_iter().map(|(removal, origin)| (removal, PendingRemoval::since_now(origin)));
        let state = LedgerState {
            worker: written.worker,
            waiting: waiting.collect(),
            added: written.added,
            unsure: true,
            unwritten: false,
        };
        let ledger = Self { path, state: Mutex::new(state), more: Notify::new() };
        ledger.more.notify_one();
        ledger
    }

    /// This worker runs now. What is known of another one is dropped.
    pub(crate) fn worker_runs(&self, worker: u32) {
        let mut state = self.lock();
        if worker == 0 || state.worker == worker {
            return;
        }
        let (waiting, added) = (BTreeMap::new(), BTreeMap::new());
        *state = LedgerState { worker, waiting, added, unsure: false, unwritten: true };
        self.write(&mut state);
    }

    // --- operations --------------------------------------------------------------------------------

    /// Operations begin that add these backends from these defaults sections. Gives those of earlier operations of which it
    /// is not known whether they were carried out; `None` when everything is known.
    pub(crate) fn begin(&self, adding: BTreeMap<String, String>) -> Option<BTreeMap<String, String>> {
        let mut state = self.lock();
        let before = state.unsure.then(|| state.added.clone());
        state.unsure = true;
        if adding.is_empty() && (state.added.is_empty() || before.is_some()) {
            return before;
        }
        let known = before.clone().unwrap_or_default();
        state.added = adding.into_iter().chain(known).collect();
        self.write(&mut state);
        before
    }

    /// A backend that was to be added is another one.
    pub(crate) fn not_added(&self, backend: &str) {
        let mut state = self.lock();
        state.unwritten |= state.added.remove(backend).is_some();
    }

    /// HAProxy runs what the operations asked for.
    pub(crate) fn done(&self) {
        self.lock().unsure = false;
    }

    // --- removals ----------------------------------------------------------------------------------

    /// This will be removed when it can be.
    pub(crate) fn wait_for(&self, removal: Removal, origin: &str) {
        let mut state = self.lock();
        state.waiting.entry(removal).or_insert_with(|| PendingRemoval::since_now(origin.to_owned()));
        state.unwritten = true;
        self.more.notify_one();
    }

    /// This stays, or is gone. Gives what it was made from, when it was waiting.
    pub(crate) fn cancel(&self, removal: &Removal) -> Option<String> {
        let mut state = self.lock();
        let was = state.waiting.remove(removal)?;
        state.unwritten = true;
        Some(was.origin)
    }

    /// Everything that waits, servers first.
    pub(crate) fn waiting(&self) -> Vec<Removal> {
        self.lock().waiting.keys().cloned().collect()
    }

    /// How many wait, and how many of them for longer than [`LONG`].
    pub(crate) fn counts(&self) -> (usize, usize) {
        let state = self.lock();
        (state.waiting.len(), state.waiting.values().filter(|w| w.since.elapsed() > LONG).count())
    }

    /// Those that wait for longer than [`LONG`]; each is given once.
    pub(crate) fn newly_overdue(&self) -> Vec<Removal> {
        let mut state = self.lock();
        let overdue = state.waiting.iter_mut().filter(|(_, w)| !w.reported && w.since.elapsed() > LONG);
        overdue
            .map(|(removal, waiting)| {
                waiting.reported = true;
                removal.clone()
            })
            .collect()
    }

    /// Puts on disk what changed.
    pub(crate) fn save(&self) {
        let mut state = self.lock();
        if state.unwritten {
            self.write(&mut state);
        }
    }

    /// Not synced: a machine that fails takes HAProxy with it.
    fn write(&self, state: &mut LedgerState) {
        state.unwritten = false;
        let waiting = state.waiting.iter().map(|(removal, w)| (removal.clone(), w.origin.clone()));
        let written =
            LedgerFile { worker: state.worker, waiting: waiting.collect(), added: state.added.clone() };
        let new = self.path.with_extension("new");
        let outcome = serde_json::to_vec(&written)
            .map_err(std::io::Error::other)
            .and_then(|text| std::fs::write(&new, text))
            .and_then(|()| std::fs::rename(&new, &self.path));
        if let Err(error) = outcome {
            tracing::warn!(%error, path = %self.path.display(), "an agent that takes over would not know what waits to be removed");
        }
    }

    fn lock(&self) -> MutexGuard<'_, LedgerState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl PendingRemoval {
    fn since_now(origin: String) -> Self {
        Self { origin, since: Instant::now(), reported: false }
    }
}

impl Removal {
    pub(crate) fn server(backend: &str, server: &str) -> Self {
        Self::Server { backend: backend.to_owned(), server: server.to_owned() }
    }

    pub(crate) fn backend(backend: &str) -> Self {
        Self::Backend { backend: backend.to_owned() }
    }

    pub(crate) fn command(&self) -> String {
        format!("del {self}")
    }
}

impl std::fmt::Display for Removal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Server { backend, server } => write!(f, "server {backend}/{server}"),
            Self::Backend { backend } => write!(f, "backend {backend}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn adding(backends: &[(&str, &str)]) -> BTreeMap<String, String> {
        backends.iter().map(|(b, d)| ((*b).to_owned(), (*d).to_owned())).collect()
    }

    #[tokio::test]
    async fn an_agent_that_takes_over_goes_on_with_the_removals_of_the_same_worker() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("ledger.json");
        let first = WorkerLedger::open(path.clone());
        first.worker_runs(7);
        first.wait_for(Removal::backend("b"), "web");
        first.wait_for(Removal::server("b", "s"), "");
        first.save();
        drop(first);
        let second = WorkerLedger::open(path.clone());
        second.worker_runs(7);
        assert_eq!(second.waiting(), [Removal::server("b", "s"), Removal::backend("b")]);
        assert_eq!(second.cancel(&Removal::backend("b")).as_deref(), Some("web"));
        second.save();
        drop(second);
        let third = WorkerLedger::open(path);
        assert_eq!(third.waiting(), [Removal::server("b", "s")]);
        third.worker_runs(8);
        assert_eq!(third.waiting(), [], "another worker has none of them");
    }

    #[tokio::test]
    async fn what_an_interrupted_order_added_is_known_to_the_next_agent_and_to_the_next_order() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("ledger.json");
        let first = WorkerLedger::open(path.clone());
        first.worker_runs(7);
        assert_eq!(first.begin(adding(&[("a", "web")])), None);
        first.done();
        assert_eq!(first.begin(adding(&[("b", "web"), ("c", "web")])), None, "a is done");
        first.not_added("c");
        first.save();
        drop(first);
        let second = WorkerLedger::open(path);
        second.worker_runs(7);
        assert_eq!(second.begin(adding(&[("b", "other"), ("d", "web")])), Some(adding(&[("b", "web")])));
        assert_eq!(
            second.begin(adding(&[])),
            Some(adding(&[("b", "web"), ("d", "web")])),
            "the defaults a backend was really added from are kept"
        );
        second.done();
        assert_eq!(second.begin(adding(&[])), None);
    }

    #[tokio::test(start_paused = true)]
    async fn what_waits_long_is_told_once() {
        let dir = tempfile::tempdir().unwrap();
        let ledger = WorkerLedger::open(dir.path().join("ledger.json"));
        ledger.wait_for(Removal::server("b", "s"), "");
        assert!(ledger.newly_overdue().is_empty());
        tokio::time::advance(LONG + Duration::from_secs(1)).await;
        assert_eq!((ledger.newly_overdue().len(), ledger.counts()), (1, (1, 1)));
        assert!(ledger.newly_overdue().is_empty());
    }

    #[tokio::test]
    async fn a_file_that_is_no_ledger_is_an_empty_one() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("ledger.json");
        std::fs::write(&path, "{\"worker\":").unwrap();
        assert!(WorkerLedger::open(path).waiting().is_empty());
    }
}
