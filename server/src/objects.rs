//! Reads watched objects once, through the same watches that a controller keeps running.

use crate::{cli::Failure, external_names, output, wiring::OriginOf};
use haptic_model::{Event, HAProxyTemplateConfigSpec, Snapshots};
use haptic_runtime::{Envelope, Events};
use haptic_watch::{Directory, Origin, Stores, WatchJob, WatchSpec};
use std::{sync::Arc, time::Duration};

/// A folder or cluster that takes longer than this to read does not answer.
const PATIENCE: Duration = Duration::from_secs(60);

/// Room for what is wrong with the objects.
const PROBLEMS: usize = 1000;

/// What was read.
#[derive(Debug)]
pub struct Read {
    /// The watched objects, and what the names of Services lead to.
    pub snapshots: Snapshots,
    /// One sentence for each object that could not be used.
    pub problems: Vec<String>,
    /// One sentence for each kind that nobody watches.
    pub ignored: Vec<String>,
}

impl Read {
    /// Tells of everything that is not in the snapshots; whether something should be.
    pub fn complain(&self) -> bool {
        self.ignored.iter().chain(&self.problems).for_each(|sentence| output::complain(sentence));
        !self.problems.is_empty()
    }
}

/// Reads the watched objects of `spec` from `origin`.
///
/// # Errors
/// When the folder or the API server cannot be read.
pub async fn read(spec: &HAProxyTemplateConfigSpec, origin: &OriginOf) -> Result<Read, Failure> {
    let (events, mut told) = Events::channel(PROBLEMS);
    let (from, name) = match origin {
        OriginOf::Cluster(client) => (Origin::Cluster(client.clone()), "the cluster".to_owned()),
        OriginOf::Folder(folder) => (
            Origin::Directory(Directory::open(folder, events.clone()).map_err(Failure::because)?),
            folder.display().to_string(),
        ),
    };
    let (stores, mut snapshots) = Stores::new();
    let start = |spec: Arc<WatchSpec>| {
        let job = WatchJob {
            guarding: None,
            spec,
            origin: from.clone(),
            stores: stores.clone(),
            events: events.clone(),
            on_change: Arc::new(|_| {}),
        };
        job.start()
    };
    let _running: Vec<_> = WatchSpec::all(spec).into_values().map(start).collect();
    let wanted = || spec.watched_resources.keys().map(String::as_str);
    let read = tokio::time::timeout(PATIENCE, snapshots.wait_for(|s| s.synced(wanted()))).await.ok();
    if let Origin::Directory(directory) = &from {
        directory.tell_unwatched_kinds().await;
    }
    let (mut problems, mut ignored) = (Vec::new(), Vec::new());
    while let Ok(event) = told.try_recv() {
        problems.extend(problem(&event));
        if let Event::ManifestIgnored { message, .. } = &*event.payload {
            ignored.push(message.clone());
        }
    }
    match read {
        Some(read) => {
            let snapshots = external_names::beside(spec, (*read).clone()).await;
            Ok(Read { snapshots, problems, ignored })
        }
        None => {
            problems.insert(0, format!("{name} was not read within {} s", PATIENCE.as_secs()));
            problems.dedup();
            Err(Failure::Because(problems.join("; ")))
        }
    }
}

fn problem(event: &Envelope<Event>) -> Option<String> {
    match &*event.payload {
        Event::ObjectMalformed { object, message } => Some(format!("{object}: {message}")),
        Event::WatchFailed { resource, message } => Some(format!("{resource}: {message}")),
        Event::ManifestRefused { message, .. } => Some(message.clone()),
        _ => None,
    }
}
