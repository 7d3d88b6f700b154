//! What HAProxy runs, when that is not what is on disk, and a small record of it.
//!
//! Operations bring a bundle to HAProxy before its files may be stored. The record tells the next agent what a HAProxy that
//! outlived this one runs. It is written without waiting for the disk: what it is about ends with the machine as well.

use crate::{agent::Inner, connection::SocketError, folder, target::Target};
use haptic_model::agent_api::Running;
use serde::{Deserialize, Serialize};
use std::{io, sync::Arc};

/// Which process HAProxy's worker is. In a container, each start may have the same pid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Identity {
    pub(crate) pid: u32,
    /// Seconds since 1970.
    pub(crate) started: u64,
}

/// What HAProxy runs.
///
/// ```text
/// Stored ──operations──> Unknown ──all done──> Ahead ──the same is stored──> Stored
///    ^                      │  ^                 │  └──the agent is killed──> Remembered
///    └────── a reload, or a restart of HAProxy ──┴──────────────────────────────┘
/// ```
#[derive(Clone, Debug, Default)]
pub(crate) enum Live {
    /// What is on disk.
    #[default]
    Stored,
    /// What operations brought.
    Ahead(Arc<Target>),
    /// What operations of an agent before this one brought: its contents are not known any more.
    Remembered(Running),
    /// Operations are under way, or ended half-way.
    Unknown {
        /// Where they began.
        from: Option<Running>,
        /// Why they ended.
        why: String,
    },
}

/// `live.json`: there while HAProxy does not run what is on disk.
#[derive(Serialize, Deserialize)]
struct Record {
    worker: Identity,
    running: Option<Running>,
    /// False while operations are under way.
    exact: bool,
}

impl Live {
    /// Whether it is known what HAProxy runs.
    pub(crate) fn is_exact(&self) -> bool {
        !matches!(self, Self::Unknown { .. })
    }

    /// The bundle beside what is stored, with its contents.
    pub(crate) fn target(&self) -> Option<&Target> {
        if let Self::Ahead(target) = self { Some(target) } else { None }
    }
}

impl Inner {
    /// The bundle that HAProxy runs; for one that is not known exactly, the last one that was.
    pub(crate) fn running(&self) -> Option<Running> {
        match self.live() {
            Live::Stored => self.stored().map(|stored| stored.running()),
            Live::Ahead(target) => Some(target.running()),
            Live::Remembered(running) => Some(running),
            Live::Unknown { from, .. } => from,
        }
    }

    /// Remembers what HAProxy runs, also for the next agent. Only with the turn.
    ///
    /// # Errors
    /// The record cannot be written.
    pub(crate) fn now_live(&self, live: Live) -> io::Result<()> {
        self.set_live(live);
        let (running, exact) = match self.live() {
            Live::Stored => {
                self.forget_record();
                return Ok(());
            }
            live => (self.running(), live.is_exact()),
        };
        let Some(worker) = self.worker() else { return Ok(()) };
        let (path, new) = (self.folder.live(), self.folder.live().with_extension("new"));
        std::fs::write(&new, serde_json::to_vec(&Record { worker, running, exact })?)?;
        std::fs::rename(new, path)
    }

    /// What the record says of the HAProxy that `worker` is.
    pub(crate) fn recall(&self, worker: Identity) -> Live {
        let record = std::fs::read(self.folder.live()).ok();
        let Some(record) = record.and_then(|text| serde_json::from_slice::<Record>(&text).ok()) else {
            return Live::Stored;
        };
        if record.worker != worker {
            return Live::Stored;
        }
        match record.running {
            running if running.map(|r| r.digest) == self.stored().map(|s| s.digest) && record.exact => {
                Live::Stored
            }
            Some(running) if record.exact => Live::Remembered(running),
            from => Live::Unknown { from, why: "the agent was killed while it changed HAProxy".to_owned() },
        }
    }

    /// As [`Self::now_live`], where nothing can be done about a record that cannot be written.
    pub(crate) fn note(&self, live: Live) {
        if let Err(error) = self.now_live(live) {
            tracing::warn!(%error, "what HAProxy runs cannot be noted");
        }
    }

    fn forget_record(&self) {
        folder::removed(&self.folder.live());
    }

    /// Asks which worker runs. Another one than before, which no order has started, runs what is on disk. Only with the turn.
    ///
    /// # Errors
    /// HAProxy does not answer.
    pub(crate) async fn meet(&self) -> Result<Identity, SocketError> {
        let connection = self.current_worker().await?;
        let worker = connection.identity();
        self.sockets.keep(connection);
        match self.now_worker(worker) {
            Some(before) if before == worker => {}
            None if !self.live().is_exact() => self.note(self.live()),
            _ => self.began_anew(),
        }
        Ok(worker)
    }

    fn began_anew(&self) {
        let lost = !matches!(self.live(), Live::Stored);
        let setback = lost.then(|| "HAProxy was restarted and began with the files on disk".to_owned());
        if let Some(setback) = &setback {
            tracing::warn!("{setback}; a controller has to bring what came after them");
        }
        self.set_setback(setback);
        self.note(Live::Stored);
        self.incarnation.send_modify(|incarnation| *incarnation += 1);
    }

    /// HAProxy may run the files that were on disk, or those that are: nobody knows, and here is `why`. A reload will make
    /// it known. Only with the turn.
    pub(crate) fn lost_sight(&self, why: &str) {
        let why = why.to_owned();
        tracing::warn!("{why}; a controller has to have it reloaded");
        self.forget_worker();
        self.note(Live::Unknown { from: self.running(), why });
        self.incarnation.send_modify(|incarnation| *incarnation += 1);
    }

    /// One look at HAProxy. An order under way is not waited for: it notices itself.
    pub(crate) async fn glance(&self) {
        let Ok(worker) = self.sockets.worker().await else { return };
        if Some(worker.identity()) == self.worker() {
            return;
        }
        drop(worker);
        let Ok(_turn) = self.turn.try_lock() else { return };
        if let Err(error) = self.meet().await {
            tracing::debug!(%error, "HAProxy began anew and does not answer yet");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::{AgentOptions, HaproxyMode};
    use haptic_model::{Digest, Generation};

    const WORKER: Identity = Identity { pid: 7, started: 1 };

    /// An agent beside a HAProxy that is not there.
    async fn beside_nobody(dir: &std::path::Path) -> Inner {
        let haproxy = HaproxyMode::Attach { master_socket: dir.join("nobody.sock") };
        Inner::open(AgentOptions { haproxy, ..AgentOptions::in_process(dir, "") }).await.unwrap()
    }

    #[tokio::test]
    async fn after_sight_is_lost_the_last_known_bundle_is_no_longer_taken_for_what_runs_whoever_answers_next()
    {
        let dir = tempfile::tempdir().unwrap();
        let inner = beside_nobody(dir.path()).await;
        let known = Running { digest: Digest::of(b"known"), generation: Generation(3) };
        inner.now_worker(WORKER);
        inner.now_live(Live::Remembered(known)).unwrap();
        let (before, mut told) = (*inner.incarnation.borrow(), inner.incarnation.subscribe());
        inner.lost_sight("HAProxy was lost while it was reloaded");
        assert!(told.has_changed().unwrap() && *told.borrow_and_update() == before + 1, "who waits is told");
        assert_eq!(inner.worker(), None, "the same worker is a stranger, too");
        let Live::Unknown { from, why } = inner.live() else { panic!("{:?}", inner.live()) };
        assert_eq!((from, why.as_str()), (Some(known), "HAProxy was lost while it was reloaded"));
        assert_eq!(inner.running(), Some(known));
        // Once a worker is known, the next agent is told so, too.
        assert_eq!(inner.now_worker(WORKER), None);
        inner.note(inner.live());
        assert!(!inner.recall(WORKER).is_exact(), "{:?}", inner.recall(WORKER));
        inner.note(Live::Stored);
        assert!(inner.recall(WORKER).is_exact());
    }
}
