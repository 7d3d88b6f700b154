//! A configuration file, looked at whenever its folder changes (editors rename, mounted volumes swap links). What else is written in its folder,
//! such as a log, costs a look at its bytes and no more.

use crate::{
    document,
    intake::{ObservedConfig, SourceState},
    overlay::FileOverlay,
};
use haptic_model::{FileIdentity, config::Credentials};
use haptic_runtime::Publisher;
use haptic_text::Digest;
use notify::{
    EventKind, RecursiveMode, Watcher,
    event::{AccessKind, AccessMode},
};
use std::{
    fs,
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, SystemTime},
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
    let mut watched = WatchedFolder::of(&path, &changed);
    let mut known = None;
    loop {
        let looks = FileLooks::of(&path);
        let file = path.clone();
        let (now, read) = match tokio::task::spawn_blocking(move || read(&file, known)).await {
            Ok(read) => read,
            Err(_) => (None, Some(ObservedConfig::Unknown)),
        };
        known = now;
        if let Some(config) = read {
            let (config, trouble) = (laid_over(config, overlay), watched.watcher.as_ref().err().cloned());
            seen.publish_if_changed(SourceState {
                config,
                credentials: Some(Ok(credentials.clone())),
                trouble,
            });
        }
        changes(&changed, &path, &looks).await;
        if watched.is_replaced(&path) {
            watched = WatchedFolder::of(&path, &changed);
        }
    }
}

/// Until there is an event, or the file looks different than `before`: what a link leads to, and a folder that takes the place
/// of the watched one, change without an event.
async fn changes(changed: &Notify, path: &Path, before: &FileLooks) {
    loop {
        let event = tokio::time::timeout(LOOK, changed.notified()).await;
        if event.is_ok() || FileLooks::of(path) != *before {
            return;
        }
    }
}

/// How often it is looked at what comes without an event.
const LOOK: Duration = Duration::from_secs(2);

/// What tells from outside that the file is another one, or says something else: the folder that it is in, and itself.
#[derive(Debug, PartialEq, Eq)]
struct FileLooks {
    folder: Option<FileIdentity>,
    file: Option<(FileIdentity, u64, Option<SystemTime>)>,
}

impl FileLooks {
    fn of(path: &Path) -> Self {
        let file = fs::metadata(path).ok();
        Self {
            folder: fs::metadata(folder_of(path)).ok().as_ref().map(FileIdentity::of),
            file: file.map(|file| (FileIdentity::of(&file), file.len(), file.modified().ok())),
        }
    }
}

/// The folder of a file. A watch stays with a folder that was moved or removed.
struct WatchedFolder {
    identity: Option<FileIdentity>,
    watcher: Result<notify::RecommendedWatcher, String>,
}

impl WatchedFolder {
    fn of(path: &Path, changed: &Arc<Notify>) -> Self {
        // Before it is watched: one that is put in its place meanwhile differs.
        let identity = FileLooks::of(path).folder;
        Self { identity, watcher: watch_folder(path, changed.clone()) }
    }

    fn is_replaced(&self, path: &Path) -> bool {
        let now = FileLooks::of(path).folder;
        now.is_some() && now != self.identity
    }
}

/// The digest of what the file says, if it can be read, and the configuration that this is: none if it says what `known` is of.
fn read(path: &Path, known: Option<Digest>) -> (Option<Digest>, Option<ObservedConfig>) {
    if !path.exists() {
        return (None, Some(ObservedConfig::Absent));
    }
    let text = match document::text_of(path) {
        Ok(text) => text,
        Err(problems) => return (None, Some(ObservedConfig::Unreadable(0, problems))),
    };
    let digest = Some(Digest::of(text.as_bytes()));
    let config = || match document::parse(&text, &path.display().to_string()) {
        Ok(candidate) => ObservedConfig::Found(candidate),
        Err(problems) => ObservedConfig::Unreadable(0, problems),
    };
    (digest, (digest != known).then(config))
}

fn laid_over(config: ObservedConfig, overlay: &FileOverlay) -> ObservedConfig {
    match config {
        ObservedConfig::Found(candidate) => ObservedConfig::Found(overlay.over(candidate)),
        other => other,
    }
}

fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

fn watch_folder(path: &Path, changed: Arc<Notify>) -> Result<notify::RecommendedWatcher, String> {
    let on_event = move |event: notify::Result<notify::Event>| {
        if event.map_or(true, |event| may_have_changed(event.kind)) {
            changed.notify_one();
        }
    };
    let mut watcher = notify::recommended_watcher(on_event).map_err(|e| e.to_string())?;
    watcher.watch(folder_of(path), RecursiveMode::NonRecursive).map_err(|e| e.to_string())?;
    Ok(watcher)
}

/// Reading the file is an event, too: answering it by reading would never end.
fn may_have_changed(kind: EventKind) -> bool {
    !matches!(kind, EventKind::Access(access) if access != AccessKind::Close(AccessMode::Write))
}

#[cfg(test)]
mod tests {
    use super::*;
    use notify::event::{CreateKind, ModifyKind, RenameMode};

    #[test]
    fn a_file_with_the_bytes_of_before_is_not_parsed_again() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("config.yaml");
        let mut known = None;
        let mut look = |text: Option<&str>| {
            match text {
                Some(text) => std::fs::write(&path, text).unwrap(),
                None => std::fs::remove_file(&path).unwrap(),
            }
            let (now, config) = read(&path, known);
            known = now;
            config
        };
        assert!(matches!(look(Some("a: 1")), Some(ObservedConfig::Unreadable(..))));
        assert!(look(Some("a: 1")).is_none());
        assert!(matches!(look(Some("a: 2")), Some(ObservedConfig::Unreadable(..))));
        assert!(matches!(look(None), Some(ObservedConfig::Absent)));
        assert!(look(Some("a: 2")).is_some(), "it was gone meanwhile");
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
