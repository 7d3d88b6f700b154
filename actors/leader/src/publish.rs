//! Publishes what was rendered, and which pods run it, as resources of the configuration's namespace.
//!
//! An observer: it reads the board, and nobody reads what it writes. Work is done only when something changed, and no
//! object is written more than once in ten seconds; a bundle that takes long to prepare is prepared less often. Only that pods
//! have caught up is told at once: until then the status says that they are behind, and others already say that all is well.

pub mod api;
pub mod content;
pub mod status;

use crate::{
    reporter::ReportBoard,
    reporting::{Reporting, Telling, note},
};
use api::{PublishApi, Written};
use content::Wanted;
use haptic_model::{
    crd::{HAProxyCfgStatus, PublishedFile},
    pipeline::Validated,
};
use haptic_runtime::{CellWriter, cpu};
use kube::Client;
use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};
use tokio::time::Instant;

/// No object is written more often. Its status is one of its own: Kubernetes writes it apart.
pub const BETWEEN: Duration = Duration::from_secs(10);
/// Preparing takes at most one hundredth of the time.
const SHARE: u32 = 100;
/// After failures, which are most often of rights or missing definitions, the pause doubles up to this.
const LONGEST_REST: Duration = Duration::from_secs(60);
/// While there is nothing to publish or nobody to own it.
const IDLE: Duration = Duration::from_secs(1);
/// Hundreds of files are not one burst of writes.
const BETWEEN_WRITES: Duration = Duration::from_millis(20);

/// What is at the API server already, as far as this leader knows.
#[derive(Debug, Default)]
struct Published {
    written: Written,
    status: HAProxyCfgStatus,
    /// What preparing took, the last time.
    prepared: Duration,
}

/// Keeps the published resources as they should be, until the future is dropped. `uid`: of the configuration, their owner.
pub async fn keep(
    client: &Client,
    mut board: ReportBoard,
    reporting: &CellWriter<Reporting>,
    uid: &Mutex<Option<String>>,
) {
    let (mut published, mut rest) = (None, BETWEEN);
    loop {
        let owner = uid.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let config = board.config.read().as_ref().clone();
        let validated = board.validated.read().as_ref().clone();
        let (Some(owner), Some(config), Some(validated)) = (owner, config, validated) else {
            tokio::time::sleep(IDLE).await;
            continue;
        };
        let api = PublishApi::new(client.clone(), &config.namespace, &config.name, &owner);
        let done = bring(&api, &board, &config.name, &validated, &mut published).await;
        let failed = done.is_err();
        if !failed {
            let omitted = published.as_ref().map(Published::omitted);
            reporting.update(|reporting| Reporting { omitted, ..reporting.clone() });
        }
        note(reporting, Telling::Published, done);
        if failed {
            published = None;
            tokio::time::sleep(rest).await;
            rest = LONGEST_REST.min(rest * 2);
            continue;
        }
        rest = BETWEEN;
        let prepared = published.as_ref().map_or(Duration::ZERO, |published| published.prepared);
        let is_behind = published.as_ref().is_some_and(|published| status::is_behind(&published.status));
        tokio::select! {
            () = tokio::time::sleep(BETWEEN.max(prepared * SHARE)) => {}
            () = caught_up(&board), if is_behind => continue,
        }
        tokio::select! {
            _ = board.validated.changed() => {}
            _ = board.pods.changed() => {}
            _ = board.quarantine.changed() => {}
            _ = board.config.changed() => {}
        }
    }
}

/// Until all pods run what was validated last.
async fn caught_up(board: &ReportBoard) {
    let (mut pods, mut validated) = (board.pods.clone(), board.validated.clone());
    loop {
        let newest = validated.read();
        if newest.as_ref().as_deref().is_some_and(|newest| status::is_reached(newest, &pods.read())) {
            return;
        }
        tokio::select! {
            _ = pods.changed() => {}
            _ = validated.changed() => {}
        }
    }
}

/// Files first, then the status, which is written whatever became of the files: a status that is no longer true misleads.
async fn bring(
    api: &PublishApi,
    board: &ReportBoard,
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
        Ok(()) => status::Missing::TooLarge(known.omitted()),
        Err(why) => status::Missing::Refused(why.clone()),
    };
    let (pods, quarantine) = (board.pods.read(), board.quarantine.read());
    let now = jiff::Timestamp::now();
    let status = status::status(&known.status, validated, &pods, &quarantine, &missing, now);
    let has_status = known.written.contains_key(&(content::CONFIG.to_owned(), config.to_owned()));
    if has_status && status != known.status {
        api.write_status(&status).await?;
        known.status = status;
    }
    files
}

impl Published {
    async fn bring_files(&mut self, api: &PublishApi, wanted: Vec<Wanted>) -> Result<(), String> {
        self.prepared = Duration::ZERO;
        let is_written =
            |file: &&Wanted| self.written.get(&file.key()).is_some_and(|found| found.digest == file.digest);
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

    async fn prepare(&mut self, file: &Wanted) -> Result<PublishedFile, String> {
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
