//! The agent's folder: what lies where in it, and that only one agent uses it.
//!
//! ```text
//! agent.cfg            the agent's own few lines of HAProxy configuration (its socket)
//! current ->           the bundle that HAProxy starts with: a symbolic link, swapped atomically
//! bundles/7/           one complete bundle; folders in it are links into trees/, so that an unchanged one is shared
//! bundles/7.json       its digests
//! trees/7.maps/
//! epoch.json           the newest leadership seen
//! live.json            there while HAProxy runs something else than `current`
//! reload-pending       there while `current` may not be what HAProxy runs
//! ledger.json          what the agent did to the running worker and HAProxy cannot tell
//! haproxy.log          what HAProxy writes to its standard error
//! haproxy.pid lock master.sock worker.sock
//! ```

use crate::options::AgentError;
use std::{
    fs::{DirBuilder, File, OpenOptions, TryLockError},
    io::Write,
    os::unix::{ffi::OsStrExt, fs::DirBuilderExt, fs::OpenOptionsExt},
    path::{Path, PathBuf},
    time::Duration,
};

/// A socket's path may have 107 bytes; HAProxy binds it under a temporary name first: `PATH.4194304.tmp`.
const LONGEST_SOCKET: usize = 107 - ".4194304.tmp".len();
/// An agent that was just replaced may still be ending.
const LOCK_TIMEOUT: Duration = Duration::from_secs(5);

/// The paths in an agent's folder.
#[derive(Clone, Debug)]
pub(crate) struct AgentFolder {
    root: PathBuf,
    sockets: PathBuf,
}

impl AgentFolder {
    /// Makes the folder ready for use.
    pub(crate) fn prepare(dir: &Path, socket_dir: Option<&Path>) -> Result<Self, AgentError> {
        let root = made(dir)?;
        let sockets = socket_dir.map_or_else(|| Ok(root.clone()), made)?;
        let folder = Self { root, sockets };
        let length = folder.worker_socket().as_os_str().as_bytes().len();
        if length > LONGEST_SOCKET {
            return Err(refused(
                &folder.sockets,
                format!(
                    "sockets in it would have names of {length} bytes and {LONGEST_SOCKET} are possible; give a shorter folder with --socket-dir"
                ),
            ));
        }
        for inner in [folder.bundles(), folder.trees()] {
            if inner.is_symlink() {
                return Err(refused(
                    &inner,
                    "it is a symbolic link, and files would go elsewhere; remove it".to_owned(),
                ));
            }
            made(&inner)?;
        }
        Ok(folder)
    }

    /// Makes sure that no other agent uses the folder, for as long as the file lives.
    pub(crate) async fn lock(&self) -> Result<File, AgentError> {
        let path = self.lock_file();
        let file = OpenOptions::new()
            .create(true)
            .append(true)
            .mode(0o640)
            .open(&path)
            .map_err(|e| unwritable(&path, &e))?;
        let until = tokio::time::Instant::now() + LOCK_TIMEOUT;
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(file),
                Err(TryLockError::Error(e)) => return Err(unwritable(&path, &e)),
                Err(TryLockError::WouldBlock) if tokio::time::Instant::now() > until => {
                    return Err(refused(
                        &self.root,
                        "another agent uses it; stop that one, or give another folder with --dir".to_owned(),
                    ));
                }
                Err(TryLockError::WouldBlock) => tokio::time::sleep(Duration::from_millis(50)).await,
            }
        }
    }

    /// Whether somebody removed all that is in it since it was locked. One file that is gone, as where somebody cleans away old ones, is no
    /// reason to end HAProxy.
    pub(crate) fn is_lost(&self) -> bool {
        let is_gone = |path: PathBuf| path.try_exists().is_ok_and(|exists| !exists);
        is_gone(self.lock_file()) && is_gone(self.bundles())
    }

    pub(crate) fn lost(&self) -> AgentError {
        refused(&self.root, "it was removed, and HAProxy's sockets with it; start again".to_owned())
    }

    fn lock_file(&self) -> PathBuf {
        self.root.join("lock")
    }

    pub(crate) fn root(&self) -> &Path {
        &self.root
    }
    pub(crate) fn agent_config(&self) -> PathBuf {
        self.root.join("agent.cfg")
    }
    pub(crate) fn current(&self) -> PathBuf {
        self.root.join("current")
    }
    /// The name HAProxy is started with.
    pub(crate) fn current_config(&self) -> PathBuf {
        self.root.join("current/haproxy.cfg")
    }
    pub(crate) fn bundles(&self) -> PathBuf {
        self.root.join("bundles")
    }
    pub(crate) fn trees(&self) -> PathBuf {
        self.root.join("trees")
    }
    pub(crate) fn epoch(&self) -> PathBuf {
        self.root.join("epoch.json")
    }
    pub(crate) fn live(&self) -> PathBuf {
        self.root.join("live.json")
    }
    pub(crate) fn reload_pending(&self) -> PathBuf {
        self.root.join("reload-pending")
    }
    pub(crate) fn ledger(&self) -> PathBuf {
        self.root.join("ledger.json")
    }
    pub(crate) fn log(&self) -> PathBuf {
        self.root.join("haproxy.log")
    }
    pub(crate) fn pid(&self) -> PathBuf {
        self.root.join("haproxy.pid")
    }
    pub(crate) fn master_socket(&self) -> PathBuf {
        self.sockets.join("master.sock")
    }
    pub(crate) fn worker_socket(&self) -> PathBuf {
        self.sockets.join("worker.sock")
    }

    /// The agent's own lines of configuration: relative file names, and its socket to the worker.
    pub(crate) fn write_agent_config(&self) -> Result<(), AgentError> {
        let socket = self.worker_socket().display().to_string().replace('\\', "\\\\").replace(' ', "\\ ");
        let text = format!(
            "# Written by the agent at its start.\nglobal\n    default-path config\n    stats socket {socket} mode 600 level admin expose-fd listeners\n    stats timeout 1m\n"
        );
        // There may be no room, and HAProxy is to start with what is there.
        if std::fs::read(self.agent_config()).is_ok_and(|there| there == text.as_bytes()) {
            return Ok(());
        }
        replace(&self.agent_config(), text.as_bytes()).map_err(|e| unwritable(&self.agent_config(), &e))
    }
}

/// Replaces a file by one that is complete and on disk, whatever happens meanwhile.
pub(crate) fn replace(path: &Path, content: &[u8]) -> std::io::Result<()> {
    let new = path.with_extension("new");
    let mut file = OpenOptions::new().create(true).write(true).truncate(true).mode(0o640).open(&new)?;
    file.write_all(content)?;
    file.sync_all()?;
    std::fs::rename(&new, path)?;
    sync_folder(path.parent().unwrap_or(Path::new("/")))
}

/// Removes a file or folder; one that cannot be removed is only told.
pub(crate) fn removed(path: &Path) {
    let outcome = match std::fs::symlink_metadata(path) {
        Ok(meta) if meta.is_dir() => std::fs::remove_dir_all(path),
        Ok(_) => std::fs::remove_file(path),
        Err(_) => return,
    };
    if let Err(error) = outcome {
        tracing::warn!(path = %path.display(), %error, "an old file cannot be removed");
    }
}

/// Makes the names in a folder durable.
pub(crate) fn sync_folder(path: &Path) -> std::io::Result<()> {
    File::open(path)?.sync_all()
}

/// Makes a folder for the agent and its group: bundles hold private keys.
fn made(path: &Path) -> Result<PathBuf, AgentError> {
    DirBuilder::new()
        .recursive(true)
        .mode(0o750)
        .create(path)
        .and_then(|()| path.canonicalize())
        .map_err(|e| unwritable(path, &e))
}

/// What the system refuses.
pub(crate) fn unwritable(path: &Path, error: &std::io::Error) -> AgentError {
    refused(path, format!("{error}; give --dir a folder that can be written to"))
}

fn refused(path: &Path, problem: String) -> AgentError {
    AgentError::Folder { path: path.to_owned(), problem }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_too_long_for_sockets_is_refused_with_the_way_out() {
        let dir = tempfile::tempdir().unwrap();
        let long = dir.path().join("x".repeat(100));
        let error = AgentFolder::prepare(&long, None).unwrap_err().to_string();
        assert!(error.contains("--socket-dir") && !error.contains("--dir"), "{error}");
        assert!(AgentFolder::prepare(&long, Some(dir.path())).is_ok());
    }

    #[tokio::test]
    async fn a_folder_that_was_removed_or_made_anew_is_lost() {
        let dir = tempfile::tempdir().unwrap();
        let folder = AgentFolder::prepare(&dir.path().join("haproxy"), None).unwrap();
        let _lock = folder.lock().await.unwrap();
        assert!(!folder.is_lost());
        std::fs::remove_file(folder.lock_file()).unwrap();
        assert!(!folder.is_lost(), "HAProxy and its bundles are there");
        std::fs::remove_dir_all(folder.root()).unwrap();
        assert!(folder.is_lost());
        std::fs::create_dir(folder.root()).unwrap();
        assert!(folder.is_lost() && folder.lost().to_string().contains("was removed"));
    }

    #[test]
    fn a_link_in_place_of_the_bundles_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink("/tmp", dir.path().join("bundles")).unwrap();
        let error = AgentFolder::prepare(dir.path(), None).unwrap_err().to_string();
        assert!(error.contains("symbolic link"), "{error}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_second_agent_in_one_folder_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let folder = AgentFolder::prepare(dir.path(), None).unwrap();
        let first = folder.lock().await.unwrap();
        let error = folder.lock().await.unwrap_err().to_string();
        assert!(error.contains("another agent uses it") && !error.contains("written"), "{error}");
        drop(first);
        assert!(folder.lock().await.is_ok());
    }
}
