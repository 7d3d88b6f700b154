//! A configuration file, read again whenever its folder changes (editors rename, mounted volumes swap links).

use crate::{
    document,
    intake::{Observation, ObservedConfig},
};
use haptic_model::secret::Credentials;
use haptic_runtime::CellWriter;
use notify::{RecursiveMode, Watcher};
use std::{
    path::{Path, PathBuf},
    sync::Arc,
};
use tokio::sync::Notify;

/// Observes the file at `path`; never returns.
pub async fn observe(path: PathBuf, credentials: Credentials, seen: &CellWriter<Observation>) {
    let changed = Arc::new(Notify::new());
    let watcher = watch_folder(&path, changed.clone());
    loop {
        let trouble = watcher.as_ref().err().cloned();
        seen.publish_if_changed(Observation {
            config: read(&path).await,
            credentials: Some(Ok(credentials.clone())),
            trouble,
        });
        changed.notified().await;
    }
}

fn watch_folder(path: &Path, changed: Arc<Notify>) -> Result<notify::RecommendedWatcher, String> {
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    let told = move |_: notify::Result<notify::Event>| changed.notify_one();
    let mut watcher = notify::recommended_watcher(told).map_err(|e| e.to_string())?;
    watcher.watch(folder, RecursiveMode::NonRecursive).map_err(|e| e.to_string())?;
    Ok(watcher)
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
        Ok(Some(Err(problems))) => ObservedConfig::Unreadable(problems),
        Ok(None) => ObservedConfig::Absent,
        Err(_) => ObservedConfig::Unknown,
    }
}
