//! Reads a folder of manifests once, through the same watches that `haptic local` keeps running.

use crate::cli::Failure;
use haptic_model::{Event, HAProxyTemplateConfigSpec, Snapshots};
use haptic_runtime::{Envelope, Events};
use haptic_watch::{Directory, Origin, Stores, WatchJob, WatchSpec};
use std::{path::Path, sync::Arc, time::Duration};

/// A folder that takes longer than this to read is on a disk that does not answer.
const PATIENCE: Duration = Duration::from_secs(60);

/// Room for what is wrong with the manifests.
const PROBLEMS: usize = 1000;

/// The watched objects of `spec` in `folder`, and one sentence for each manifest that could not be used.
///
/// # Errors
/// When the folder cannot be read.
pub async fn read(
    spec: &HAProxyTemplateConfigSpec,
    folder: &Path,
) -> Result<(Snapshots, Vec<String>), Failure> {
    let (events, mut told) = Events::channel(PROBLEMS);
    let directory = Directory::open(folder, events.clone()).map_err(Failure::because)?;
    let (stores, mut snapshots) = Stores::new();
    let start = |spec: Arc<WatchSpec>| {
        let job = WatchJob {
            spec,
            origin: Origin::Directory(directory.clone()),
            stores: stores.clone(),
            events: events.clone(),
            on_change: Arc::new(|_| {}),
        };
        job.start()
    };
    let _running: Vec<_> = WatchSpec::all(spec).into_values().map(start).collect();
    let all_read = snapshots.wait_for(|s| s.synced(spec.watched_resources.keys().map(String::as_str)));
    let read = tokio::time::timeout(PATIENCE, all_read).await;
    let read =
        read.map_err(|_| Failure::Because(format!("{} was not read within a minute", folder.display())))?;
    let mut problems = Vec::new();
    while let Ok(event) = told.try_recv() {
        problems.extend(problem(&event));
    }
    Ok(((*read).clone(), problems))
}

fn problem(event: &Envelope<Event>) -> Option<String> {
    match &*event.payload {
        Event::ObjectMalformed { object, message } => Some(format!("{object}: {message}")),
        Event::WatchFailed { resource, message } => Some(format!("{resource}: {message}")),
        Event::ManifestRefused { message, .. } => Some(message.clone()),
        _ => None,
    }
}
