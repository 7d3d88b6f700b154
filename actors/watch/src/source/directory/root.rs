//! The directory that is read, watched for as long as it is the one of that name: a watch stays with a directory that was
//! moved or removed, and says nothing of the one that is put in its place.

use super::{hub::Message, scan::directory_identity};
use haptic_model::FileIdentity;
use notify::{RecommendedWatcher, RecursiveMode, Watcher};
use std::{
    path::{Path, PathBuf},
    sync::mpsc::Sender,
};

pub(super) struct WatchedRoot {
    path: PathBuf,
    hub: Sender<Message>,
    /// Which directory the events are of.
    identity: Option<FileIdentity>,
    /// Sends file events for as long as it lives.
    watcher: Option<RecommendedWatcher>,
}

impl WatchedRoot {
    /// Watches `path` with everything below it, and tells `hub` of what happens there.
    ///
    /// # Errors
    /// When it cannot be watched.
    pub(super) fn open(path: PathBuf, hub: Sender<Message>) -> notify::Result<Self> {
        let mut root = Self { path, hub, identity: None, watcher: None };
        root.watch()?;
        Ok(root)
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Whether another directory has the name now than the one that is watched. None that has it is no other one.
    pub(super) fn is_replaced(&self) -> bool {
        let now = directory_identity(&self.path);
        now.is_some() && now != self.identity
    }

    /// Watches the directory that has the name now, in the place of the former one.
    ///
    /// # Errors
    /// When it cannot be watched.
    pub(super) fn watch(&mut self) -> notify::Result<()> {
        (self.watcher, self.identity) = (None, None);
        // Before it is watched: one that is put in its place meanwhile differs.
        let identity = directory_identity(&self.path);
        let hub = self.hub.clone();
        let mut watcher = notify::recommended_watcher(move |event| {
            // The receiver is gone only when the process ends.
            drop(hub.send(Message::Files(event)));
        })?;
        watcher.watch(&self.path, RecursiveMode::Recursive)?;
        (self.watcher, self.identity) = (Some(watcher), identity);
        Ok(())
    }
}
