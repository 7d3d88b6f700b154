//! The agent's disk: the bundle that HAProxy starts with, and what the next agent has to know.

pub(crate) mod bundles;
pub(crate) mod folder;
pub(crate) mod ledger;
pub(crate) mod live;
pub mod request;
pub(crate) mod target;

use crate::options::AgentError;
use bundles::{Bundles, StoredBundle};
use folder::{AgentFolder, unwritable};
use haptic_model::Epoch;
use std::{
    fs::File,
    io,
    path::Path,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};
use target::TargetBundle;

/// The agent's folder, which this agent alone uses.
#[derive(Debug)]
pub(crate) struct Disk {
    pub(crate) folder: AgentFolder,
    /// Held while files are written. A task that needs the apply lock too takes this one first.
    pub(crate) writing: tokio::sync::Mutex<()>,
    bundles: Arc<Bundles>,
    state: Mutex<DiskState>,
    _lock: File,
}

#[derive(Debug)]
struct DiskState {
    epoch: Epoch,
    stored: Option<Arc<StoredBundle>>,
}

/// Why something could not be read or written.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct DiskError(String);

impl Disk {
    pub(crate) async fn open(dir: &Path, socket_dir: Option<&Path>) -> Result<Self, AgentError> {
        let folder = AgentFolder::prepare(dir, socket_dir)?;
        let lock = folder.lock().await?;
        folder.write_agent_config()?;
        let problem = |e: io::Error| unwritable(folder.root(), &e);
        let (bundles, stored) = Bundles::open(folder.clone()).map_err(problem)?;
        if let Some(stored) = stored.as_ref().filter(|_| !folder.reload_pending().exists()) {
            bundles.sweep(stored.number());
        }
        let epoch = std::fs::read(folder.epoch()).ok().and_then(|text| serde_json::from_slice(&text).ok());
        let state = DiskState { epoch: epoch.unwrap_or_default(), stored: stored.map(Arc::new) };
        Ok(Self {
            folder,
            writing: tokio::sync::Mutex::default(),
            bundles: Arc::new(bundles),
            state: Mutex::new(state),
            _lock: lock,
        })
    }

    fn state(&self) -> MutexGuard<'_, DiskState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The newest leadership seen.
    pub(crate) fn epoch(&self) -> Epoch {
        self.state().epoch
    }

    pub(crate) fn store_epoch(&self, epoch: Epoch) -> io::Result<()> {
        folder::replace(&self.folder.epoch(), &serde_json::to_vec(&epoch)?)?;
        self.state().epoch = epoch;
        Ok(())
    }

    // --- bundles -----------------------------------------------------------------------------------

    /// The bundle that counts.
    pub(crate) fn stored(&self) -> Option<Arc<StoredBundle>> {
        self.state().stored.clone()
    }

    /// `stored` counts; those before are removed.
    pub(crate) fn set_stored(&self, stored: StoredBundle) {
        let (bundles, keep) = (self.bundles.clone(), stored.number());
        self.state().stored = Some(Arc::new(stored));
        drop(tokio::task::spawn_blocking(move || bundles.sweep(keep)));
    }

    /// All bundles on disk.
    pub(crate) fn bundles(&self) -> &Bundles {
        &self.bundles
    }

    /// Runs work on the bundles, and the one that counts, off the async threads.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Bundles, Option<&StoredBundle>) -> T + Send + 'static,
    ) -> Result<T, DiskError> {
        let (bundles, stored) = (self.bundles.clone(), self.stored());
        let work = tokio::task::spawn_blocking(move || work(&bundles, stored.as_deref())).await;
        work.map_err(|e| DiskError(format!("the agent failed while it worked on its files: {e}")))
    }

    /// Whether the files that count are as they were written.
    pub(crate) async fn intact(&self) -> bool {
        let intact = self.run(|bundles, stored| stored.is_none_or(|stored| bundles.intact(stored))).await;
        intact.unwrap_or(false)
    }

    /// Writes a bundle beside the one that counts.
    pub(crate) async fn write(&self, target: Arc<TargetBundle>) -> Result<StoredBundle, DiskError> {
        let written = self.run(move |bundles, before| bundles.write(before, &target)).await?;
        written.map_err(|e| DiskError(format!("the files cannot be written: {e}")))
    }

    /// Makes a bundle count, or with `None` the bootstrap file.
    pub(crate) async fn activate(&self, number: Option<u64>) -> Result<(), DiskError> {
        let active = self.run(move |bundles, _| bundles.activate(number)).await?;
        active.map_err(|e| DiskError(format!("the files cannot be put in place: {e}")))
    }

    /// Removes a bundle that never counted.
    pub(crate) async fn remove(&self, number: u64) -> Result<(), DiskError> {
        self.run(move |bundles, _| bundles.remove(number)).await
    }

    // --- a reload under way ------------------------------------------------------------------------

    /// Notes that `current` may not be what HAProxy runs, and what it ran before.
    pub(crate) fn begin_reload(&self, before: Option<u64>) -> Result<(), DiskError> {
        let noted = serde_json::to_vec(&before).map_err(io::Error::other);
        let noted = noted.and_then(|text| folder::replace(&self.folder.reload_pending(), &text));
        noted.map_err(|e| DiskError(format!("the agent cannot note the reload: {e}")))
    }

    pub(crate) fn end_reload(&self) {
        if let Err(error) = std::fs::remove_file(self.folder.reload_pending())
            && error.kind() != io::ErrorKind::NotFound
        {
            tracing::warn!(%error, "the note of a finished reload cannot be removed");
        }
    }

    pub(crate) fn is_reload_pending(&self) -> bool {
        self.folder.reload_pending().exists()
    }

    /// What HAProxy ran before the reload that is pending.
    pub(crate) fn before_reload(&self) -> Option<Option<u64>> {
        serde_json::from_slice(&std::fs::read(self.folder.reload_pending()).ok()?).ok()
    }

    /// After a reload that a killed agent began and HAProxy does not take: the bundle before counts again.
    pub(crate) fn revert_reload(&self) -> Result<(), AgentError> {
        let Some(before) = self.before_reload() else { return Ok(()) };
        self.bundles.activate(before).map_err(|e| unwritable(&self.folder.current(), &e))?;
        self.state().stored = before.and_then(|number| self.bundles.load(number)).map(Arc::new);
        self.end_reload();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use haptic_model::{Generation, agent_api::Running};
    use haptic_text::Digest;
    use ledger::{Removal, WorkerLedger};
    use live::{RunningRecord, WorkerIdentity};

    /// Agents of different versions follow each other in one folder.
    #[tokio::test]
    async fn files_of_other_agents_are_read_and_written_as_they_are() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path();
        let digest = Digest::of(b"global\n");
        let put = |name: &str, text: &str| std::fs::write(root.join(name), text).unwrap();

        let live = format!(
            r#"{{"worker":{{"pid":7,"started":1}},"running":{{"digest":"{digest}","generation":3}},"exact":true}}"#
        );
        put("live.json", &live);
        let record = RunningRecord::read(&root.join("live.json")).unwrap();
        assert_eq!(record.worker, WorkerIdentity { pid: 7, started: 1 });
        assert_eq!(
            (record.running, record.exact),
            (Some(Running { digest, generation: Generation(3) }), true)
        );
        record.write(&root.join("live.json")).unwrap();
        assert_eq!(std::fs::read_to_string(root.join("live.json")).unwrap(), live);

        let ledger = r#"{"worker":7,"waiting":[[{"server":{"backend":"b","server":"s"}},""],[{"backend":{"backend":"b"}},"web"]],"added":{"c":"web"}}"#;
        put("ledger.json", ledger);
        let read = WorkerLedger::open(root.join("ledger.json"));
        assert_eq!(read.waiting(), [Removal::server("b", "s"), Removal::backend("b")]);
        assert_eq!(read.begin([("d".to_owned(), "web".to_owned())].into()).unwrap()["c"], "web");
        let written = std::fs::read_to_string(root.join("ledger.json")).unwrap();
        assert_eq!(written, ledger.replace(r#""c":"web""#, r#""c":"web","d":"web""#));

        std::fs::create_dir_all(root.join("bundles/5")).unwrap();
        put("bundles/5/haproxy.cfg", "global\n");
        put(
            "bundles/5.json",
            &format!(
                r#"{{"config":"haproxy.cfg","running":{{"digest":"{digest}","generation":3,"files":{{"haproxy.cfg":"{digest}"}}}}}}"#
            ),
        );
        std::os::unix::fs::symlink("bundles/5", root.join("current")).unwrap();
        put("epoch.json", r#"{"leaseCreated":5,"transitions":2}"#);
        put("reload-pending", "4");
        let disk = Disk::open(root, None).await.unwrap();
        let stored = disk.stored().unwrap();
        assert_eq!((stored.number(), stored.size(), stored.generation), (5, (1, 7), Generation(3)));
        assert_eq!((disk.epoch().transitions, disk.before_reload()), (2, Some(Some(4))));
    }
}
