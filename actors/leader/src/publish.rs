//! Publishes what was rendered, and which pods run it, as resources of the configuration's namespace.
//!
//! Nothing in the pipeline reads what is written here. Work is done only when something changed, and no
//! object is written more than once in ten seconds; a bundle that takes long to prepare is prepared less often. Only that pods
//! have caught up is written at once: until then the status says that they are behind, and others already say that all is well.

pub mod api;
pub mod content;
pub mod status;

use crate::{reporter::ReportInputs, rounds::Rounds};
use api::{PublishApi, WrittenFiles};
use content::FileToPublish;
use haptic_model::{
    crd::{HAProxyCfgStatus, PublishedFile},
    pipeline::Validated,
};
use haptic_runtime::cpu;
use kube::Client;
use std::{sync::Arc, time::Duration};
use tokio::time::Instant;

/// No object is written more often. Its status is one of its own: Kubernetes writes it apart.
pub const BETWEEN: Duration = Duration::from_secs(10);
/// Preparing takes at most one hundredth of the time.
const SHARE: u32 = 100;
/// After failures, which are most often of rights or missing definitions, the pause doubles up to this.
const LONGEST_BACKOFF: Duration = Duration::from_secs(60);
/// Hundreds of files are not one burst of writes.
const BETWEEN_WRITES: Duration = Duration::from_millis(20);

/// What is at the API server already, as far as this leader knows.
#[derive(Debug, Default)]
pub(crate) struct Published {
    written: WrittenFiles,
    status: HAProxyCfgStatus,
    /// What preparing took, the last time.
    prepared: Duration,
}

/// The published resources, and when they are looked at again.
pub(crate) struct PublishTask {
    pub(crate) rounds: Rounds,
    published: Option<Published>,
    /// `metadata.uid` of the configuration that it belongs to.
    owner: Option<String>,
    backoff: Duration,
}

impl PublishTask {
    pub(crate) fn new(now: Instant) -> Self {
        Self { rounds: Rounds::new(now), published: None, owner: None, backoff: BETWEEN }
    }

    /// One round, if it is time for one and there is something to publish. `uid`: of the configuration, their owner.
    pub(crate) fn begin(
        &mut self,
        client: &Client,
        inputs: &ReportInputs,
        uid: Option<&str>,
        now: Instant,
    ) -> Option<impl Future<Output = (Option<Published>, Result<(), String>)> + use<>> {
        let (owner, config, validated) = (uid?, inputs.active.clone()?, inputs.validated.clone()?);
        if !self.rounds.begin(now) {
            return None;
        }
        if self.owner.as_deref() != Some(owner) {
            (self.owner, self.published) = (Some(owner.to_owned()), None);
        }
        let api = PublishApi::new(client.clone(), &config.namespace, &config.name, owner);
        let (inputs, mut published) = (inputs.clone(), self.published.take());
        Some(async move {
            let done = bring(&api, &inputs, &config.name, &validated, &mut published).await;
            (published, done)
        })
    }

    /// Takes up what a round ended with; if all of it was published, the files that are too long to be.
    pub(crate) fn ended(
        &mut self,
        published: Option<Published>,
        is_done: bool,
        now: Instant,
    ) -> Option<Vec<String>> {
        if !is_done {
            let again = now + self.backoff;
            self.rounds.ended(again, Some(again));
            self.backoff = LONGEST_BACKOFF.min(self.backoff * 2);
            return None;
        }
        self.backoff = BETWEEN;
        let prepared = published.as_ref().map_or(Duration::ZERO, |published| published.prepared);
        self.rounds.ended(now + BETWEEN.max(prepared * SHARE), None);
        self.published = published;
        self.published.as_ref().map(Published::omitted)
    }

    /// Ends the pause when all pods run what was validated last, and the status still says that they are behind.
    pub(crate) fn wake_if_reached(&mut self, inputs: &ReportInputs, now: Instant) {
        let is_behind = self.published.as_ref().is_some_and(|known| status::is_behind(&known.status));
        let is_reached = |newest: &Arc<Validated>| status::is_reached(newest, &inputs.pods);
        if is_behind && inputs.validated.as_ref().is_some_and(is_reached) {
            self.rounds.wake(now);
        }
    }
}

/// Files first, then the status, which is written whatever became of the files: a status that is no longer true misleads.
async fn bring(
    api: &PublishApi,
    inputs: &ReportInputs,
    config: &str,
    validated: &Arc<Validated>,
    published: &mut Option<Published>,
) -> Result<(), String> {
    let known = match published {
        Some(known) => known,
        None => {
            let (written, status) = api.read().await?;
            published.insert(Published { written, status, ..Published::default() })
        }
    };
    let files = known.bring_files(api, content::wanted(config, validated.bundle())).await;
    let missing = match &files {
        Ok(()) => status::MissingFiles::TooLarge(known.omitted()),
        Err(why) => status::MissingFiles::Refused(why.clone()),
    };
    let now = jiff::Timestamp::now();
    let status = status::status(&known.status, validated, &inputs.pods, &inputs.quarantine, &missing, now);
    let has_status = known.written.contains_key(&(content::CONFIG.to_owned(), config.to_owned()));
    if has_status && status != known.status {
        api.write_status(&status).await?;
        known.status = status;
    }
    files
}

impl Published {
    async fn bring_files(&mut self, api: &PublishApi, wanted: Vec<FileToPublish>) -> Result<(), String> {
        self.prepared = Duration::ZERO;
        let is_written = |file: &&FileToPublish| {
            self.written.get(&file.key()).is_some_and(|found| found.digest == file.digest)
        };
        let changed: Vec<_> = wanted.iter().filter(|file| !is_written(file)).collect();
        for file in changed {
            let spec = self.prepare(file).await?;
            self.written.insert(file.key(), api.write(file, &spec).await?);
            tokio::time::sleep(BETWEEN_WRITES).await;
        }
        let surplus: Vec<_> = self
            .written
            .keys()
            .filter(|key| wanted.iter().all(|file| file.key() != **key))
            .cloned()
            .collect();
        for key in surplus {
            api.delete(&key).await?;
            self.written.remove(&key);
        }
        Ok(())
    }

    async fn prepare(&mut self, file: &FileToPublish) -> Result<PublishedFile, String> {
        let (began, of_file) = (Instant::now(), Arc::clone(&file.file));
        let spec =
            cpu("publish", move || content::spec(&of_file)).await.map_err(|panicked| panicked.to_string())?;
        self.prepared += began.elapsed();
        Ok(spec)
    }

    fn omitted(&self) -> Vec<String> {
        self.written.values().filter_map(|found| found.omitted.clone()).collect()
    }
}
