//! A directory of manifests in place of a cluster: `*.yaml`, `*.yml`, `*.json`, live through file events.
//!
//! One thread reads the files for all watches: each file once, however many watches there are. It keeps names and
//! digests only; contents go straight to the stores.

mod catalog;
mod hub;
mod manifest;
mod root;
mod scan;
mod signs;
mod subscriber;

use super::offers;
use crate::{
    ingest::Ingest,
    spec::WatchSpec,
    update::{ListScope, Update},
};
use haptic_model::{Object, ObjectRef, store::FetchError};
use haptic_runtime::Events;
use hub::{Fetch, Hub, Message};
use root::WatchedRoot;
use std::{
    collections::BTreeSet,
    fmt,
    path::{Path, PathBuf},
    sync::{Arc, mpsc},
    time::Duration,
};
use subscriber::DirectorySubscriber;
use tokio::sync::{mpsc::Sender, oneshot, watch};

pub(crate) use manifest::{FolderContents, Manifest};
pub(crate) use subscriber::{NamespaceLabels, Selection};

/// A watched directory; clones share it. Reading ends with the last of them.
#[derive(Clone)]
pub struct Directory(Arc<DirectoryState>);

struct DirectoryState {
    root: PathBuf,
    hub: mpsc::Sender<Message>,
}

/// A directory that cannot be watched.
#[derive(Debug, thiserror::Error)]
pub enum DirectoryError {
    /// It is not there, is no directory, or may not be read.
    #[error("{path} cannot be read: {error}; name a directory of manifests (*.yaml, *.yml, *.json)")]
    Unreadable {
        /// The path as given.
        path: PathBuf,
        /// What the operating system said.
        error: std::io::Error,
    },
    /// File events cannot be had.
    #[error(
        "changes of {path} cannot be watched: {error}; raise fs.inotify.max_user_watches if it names a limit"
    )]
    Unwatchable {
        /// The path as given.
        path: PathBuf,
        /// What the operating system said.
        error: notify::Error,
    },
}

impl Directory {
    /// Watches `root` with everything below it.
    ///
    /// # Errors
    /// When it cannot be read or watched now; what goes wrong later is an event.
    pub fn open(root: &Path, events: Events) -> Result<Self, DirectoryError> {
        let unreadable = |error| DirectoryError::Unreadable { path: root.to_owned(), error };
        let unwatchable = |error| DirectoryError::Unwatchable { path: root.to_owned(), error };
        std::fs::read_dir(root).map_err(unreadable)?;
        // Files' events name absolute paths: under another name each file would be there twice.
        let root = &std::path::absolute(root).map_err(unreadable)?;
        let (hub, messages) = mpsc::channel();
        let watched = WatchedRoot::open(root.to_owned(), hub.clone()).map_err(unwatchable)?;
        let mut worker = Hub::new(watched, events);
        std::thread::Builder::new()
            .name("manifests".into())
            .spawn(move || worker.run(&messages))
            .map_err(unreadable)?;
        Ok(Self(Arc::new(DirectoryState { root: root.to_owned(), hub })))
    }

    /// Sends the objects of `spec`, and then their changes, to `out` until it is closed; all of them again when some are `wanted`.
    pub(crate) async fn subscribe(
        self,
        spec: Arc<WatchSpec>,
        ingest: Arc<Ingest>,
        out: Sender<Update>,
        mut wanted: watch::Receiver<BTreeSet<ListScope>>,
    ) {
        loop {
            match DirectorySubscriber::new(&spec, ingest.clone(), out.clone()) {
                Ok(subscriber) => {
                    if self.0.hub.send(Message::Subscribe(subscriber)).is_err() {
                        tracing::error!(directory = %self.0.root.display(), "the manifests thread has ended");
                        return;
                    }
                }
                Err(error) => {
                    let message = format!("watchedResources.{}: {error}", spec.name);
                    drop(out.send(Update::Failed(message)).await);
                }
            }
            tokio::select! {
                () = out.closed() => return,
                _ = offers::next(&mut wanted) => {}
            }
        }
    }

    /// Tells of kinds that nobody watches now, and not when no watch has started for a while.
    pub async fn report_unwatched_kinds(&self) {
        let (sender, receiver) = oneshot::channel();
        if self.0.hub.send(Message::Kinds(sender)).is_ok() {
            drop(receiver.await);
        }
    }

    /// Reads one object from its file again.
    pub(crate) fn fetch(
        &self,
        spec: &Arc<WatchSpec>,
        ingest: &Arc<Ingest>,
        reference: &Arc<ObjectRef>,
        timeout: Duration,
    ) -> Result<Option<Object>, FetchError> {
        let (answer, answered) = mpsc::sync_channel(1);
        let fetch =
            Fetch { spec: spec.clone(), ingest: ingest.clone(), reference: reference.clone(), answer };
        let lost = || {
            let sentence = format!("{reference} cannot be read again: its directory is not read any more");
            FetchError::Unanswered(sentence)
        };
        self.0.hub.send(Message::Fetch(fetch)).map_err(|_| lost())?;
        answered.recv_timeout(timeout).unwrap_or_else(|_| Err(lost()))
    }
}

impl Drop for DirectoryState {
    fn drop(&mut self) {
        drop(self.hub.send(Message::Close));
    }
}

impl fmt::Debug for Directory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Directory").field(&self.0.root).finish()
    }
}
