//! Reads watched objects once, through the same watches that a controller keeps running.

use super::names;
use haptic_model::{Event, HAProxyTemplateConfigSpec, Snapshots};
use haptic_runtime::{Envelope, Events};
use haptic_validate::memory;
use haptic_watch::{ObjectSource, OpenedSource, Pool, Stores, WatchSpec, WatchTask};
use std::{sync::Arc, time::Duration};

/// A folder or cluster that takes longer than this to read does not answer.
const TIMEOUT: Duration = Duration::from_secs(60);

/// Room for what is wrong with the objects.
const PROBLEMS: usize = 10_000;

/// What was read.
#[derive(Debug)]
pub struct ReadObjects {
    /// The watched objects, and what the names of Services lead to.
    pub snapshots: Snapshots,
    /// One sentence for each object that could not be used.
    pub problems: Vec<String>,
    /// One sentence for each kind that nobody watches.
    pub ignored: Vec<String>,
}

/// Reads the watched objects of `spec` from `source`.
///
/// # Errors
/// When the folder or the API server cannot be read.
pub async fn read(spec: &HAProxyTemplateConfigSpec, source: &ObjectSource) -> Result<ReadObjects, String> {
    let (events, mut received) = Events::channel(PROBLEMS);
    let from = source.open(&events).map_err(|error| error.to_string())?;
    let name = match source {
        ObjectSource::Cluster(_) => "the cluster".to_owned(),
        ObjectSource::Folder(folder) => folder.display().to_string(),
    };
    let (stores, mut snapshots) = Stores::new();
    let pool = Pool::new(memory::MemoryLimit::read().map(|limit| limit.bytes));
    let start = |spec: Arc<WatchSpec>| {
        let job = WatchTask {
            guarding: None,
            spec,
            origin: from.clone(),
            stores: stores.clone(),
            pool: pool.clone(),
            events: events.clone(),
        };
        job.start()
    };
    let _running: Vec<_> = WatchSpec::all(spec).into_values().map(start).collect();
    let wanted = || spec.watched_resources.keys().map(String::as_str);
    let read = tokio::time::timeout(TIMEOUT, snapshots.wait_for(|s| s.synced(wanted()))).await.ok();
    if let OpenedSource::Directory(directory) = &from {
        directory.report_unwatched_kinds().await;
    }
    let (mut problems, mut ignored) = (Vec::new(), Vec::new());
    while let Ok(event) = received.try_recv() {
        problems.extend(problem(&event));
        if let Event::ManifestIgnored { message, .. } = &*event.payload {
            ignored.push(message.clone());
        }
    }
    problems.extend(untold(events.dropped()));
    match read {
        Some(read) => {
            let snapshots = names::beside(spec, (*read).clone()).await;
            Ok(ReadObjects { snapshots, problems, ignored })
        }
        None => {
            problems.insert(0, format!("{name} was not read within {} s", TIMEOUT.as_secs()));
            problems.dedup();
            Err(problems.join("; "))
        }
    }
}

/// That there was no room for some of what is wrong.
fn untold(lost: u64) -> Option<String> {
    (lost > 0)
        .then(|| format!("{lost} more sentences are left out: correct these first, and read the rest then"))
}

fn problem(event: &Envelope<Event>) -> Option<String> {
    match &*event.payload {
        Event::ObjectMalformed { object, message } => Some(format!("{object}: {message}")),
        Event::WatchFailed { resource, message } => Some(format!("{resource}: {message}")),
        Event::ManifestRefused { message, .. } => Some(message.clone()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[tokio::test(flavor = "multi_thread")]
    async fn what_is_wrong_is_told_or_counted_however_much_it_is() {
        let spec: HAProxyTemplateConfigSpec = serde_json::from_value(json!({
            "credentialsSecretRef": {"name": "c"}, "podSelector": {"matchLabels": {"a": "b"}},
            "watchedResources": {"services": {"apiVersion": "v1", "resources": "services"}},
        }))
        .unwrap();
        let folder = tempfile::tempdir().unwrap();
        let broken = 1500;
        for number in 0..broken {
            std::fs::write(folder.path().join(format!("{number}.yaml")), "just text\n").unwrap();
        }
        let read = read(&spec, &ObjectSource::Folder(folder.path().to_owned())).await.unwrap();
        assert_eq!(read.problems.len(), broken);
        assert_eq!(untold(0), None);
        assert!(untold(500).unwrap().starts_with("500 more"));
    }
}
