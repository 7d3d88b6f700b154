//! A configuration file, read again whenever its folder changes (editors rename, mounted volumes swap links).

use crate::{
    document,
    intake::{ObservedConfig, SourceState},
    overlay::FileOverlay,
};
use haptic_model::secret::Credentials;
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
    loop {
        let trouble = watcher.as_ref().err().cloned();
        seen.publish_if_changed(SourceState {
            config: laid_over(read(&path).await, overlay),
            credentials: Some(Ok(credentials.clone())),
            trouble,
        });
        changed.notified().await;
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
