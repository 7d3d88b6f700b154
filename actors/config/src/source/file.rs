//! A configuration file, looked at whenever its folder changes (editors rename, mounted volumes swap links). What else is written in its folder,
//! such as a log, costs a look at its bytes and no more.

use crate::{
    document,
    intake::{ObservedConfig, SourceState},
    overlay::FileOverlay,
};
use haptic_model::{Digest, secret::Credentials};
use haptic_runtime::Publisher;
use notify::{
    EventKind, RecursiveMode, Watcher,
    event::{AccessKind, AccessMode},
};
use std::{
    path::{Path, PathBuf},
    sync::Arc,
};
use tokio::sync::Notify;

/// Observes the file at `path`; never returns.
pub async fn observe(
    path: PathBuf,
    credentials: Credentials,
    overlay: &FileOverlay,
    seen: &Publisher<SourceState>,
) {
    let changed = Arc::new(Notify::new());
    let watcher = watch_folder(&path, changed.clone());
    let mut known = KnownFile::default();
    loop {
        // Before it is read: what is written meanwhile differs from that.
        if known.is_news(digest(&path).await) {
            let trouble = watcher.as_ref().err().cloned();
            seen.publish_if_changed(SourceState {
                config: laid_over(read(&path).await, overlay),
                credentials: Some(Ok(credentials.clone())),
                trouble,
            });
        }
        changed.notified().await;
    }
}

/// The file as it was read last.
#[derive(Debug, Default)]
struct KnownFile(Option<Digest>);

impl KnownFile {
    /// Whether it has to be read: not if it has the bytes that were read last. Of one that cannot be read, why may differ.
    fn is_news(&mut self, now: Option<Digest>) -> bool {
        let before = std::mem::replace(&mut self.0, now);
        now.is_none() || before != now
    }
}

fn laid_over(config: ObservedConfig, overlay: &FileOverlay) -> ObservedConfig {
    match config {
        ObservedConfig::Found(candidate) => ObservedConfig::Found(overlay.over(candidate)),
        other => other,
    }
}

fn watch_folder(path: &Path, changed: Arc<Notify>) -> Result<notify::RecommendedWatcher, String> {
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    let told = move |event: notify::Result<notify::Event>| {
        if event.map_or(true, |event| may_have_changed(event.kind)) {
            changed.notify_one();
        }
    };
    let mut watcher = notify::recommended_watcher(told).map_err(|e| e.to_string())?;
    watcher.watch(folder, RecursiveMode::NonRecursive).map_err(|e| e.to_string())?;
    Ok(watcher)
}

/// Reading the file is an event, too: answering it by reading would never end.
fn may_have_changed(kind: EventKind) -> bool {
    !matches!(kind, EventKind::Access(access) if access != AccessKind::Close(AccessMode::Write))
}

/// That of the file's bytes, if it can be read.
async fn digest(path: &Path) -> Option<Digest> {
    tokio::fs::read(path).await.ok().map(|bytes| Digest::of(&bytes))
}

async fn read(path: &Path) -> ObservedConfig {
    let path = path.to_owned();
    let read =
        tokio::task::spawn_blocking(
            move || {
                if path.exists() { Some(document::load_file(&path)) } else { None }
            },
        );
    match read.await {
        Ok(Some(Ok(candidate))) => ObservedConfig::Found(candidate),
        Ok(Some(Err(problems))) => ObservedConfig::Unreadable(0, problems),
        Ok(None) => ObservedConfig::Absent,
        Err(_) => ObservedConfig::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use notify::event::{CreateKind, ModifyKind, RenameMode};

    #[test]
    fn a_file_with_the_bytes_of_before_is_not_read_again() {
        let (one, other) = (Some(Digest::of(b"one")), Some(Digest::of(b"other")));
        let mut known = KnownFile::default();
        let seen = [None, None, one, one, other, one, None, one].map(|now| known.is_news(now));
        assert_eq!(seen, [true, true, true, false, true, true, true, true]);
    }

    #[test]
    fn reading_is_no_change_and_writing_renaming_and_creating_are() {
        for read in [AccessKind::Open(AccessMode::Any), AccessKind::Read, AccessKind::Close(AccessMode::Read)]
        {
            assert!(!may_have_changed(EventKind::Access(read)), "{read:?}");
        }
        for write in [
            EventKind::Access(AccessKind::Close(AccessMode::Write)),
            EventKind::Modify(ModifyKind::Name(RenameMode::To)),
            EventKind::Create(CreateKind::File),
            EventKind::Any,
        ] {
            assert!(may_have_changed(write), "{write:?}");
        }
    }
}
