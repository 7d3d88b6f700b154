//! Publishes what was rendered, and which pods run it, as resources of the configuration's namespace.
//!
//! An observer: it reads the board, and nobody reads what it writes. Work is done only when something changed, and no
//! object is written more than once in ten seconds; a bundle that takes long to prepare is prepared less often.

pub mod api;
pub mod content;
pub mod pods;

use crate::reporter::{ReportBoard, report};
use api::{PublishApi, Written};
use haptic_model::{ActiveConfig, crd::HAProxyCfgStatus, pipeline::Validated};
use haptic_runtime::cpu;
use kube::Client;
use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};
use tokio::time::Instant;

/// No object is written more often.
const BETWEEN: Duration = Duration::from_secs(10);
/// Preparing takes at most one hundredth of the time.
const SHARE: u32 = 100;
/// After a failure, which is most often one of rights or missing definitions.
const REST: Duration = Duration::from_secs(60);
/// While there is nothing to publish or nobody to own it.
const IDLE: Duration = Duration::from_secs(1);
/// Hundreds of files are not one burst of writes.
const BETWEEN_WRITES: Duration = Duration::from_millis(20);

/// What is at the API server already, as far as this leader knows.
#[derive(Debug)]
struct Published {
    written: Written,
    status: HAProxyCfgStatus,
    omitted: Vec<String>,
}

/// Keeps the published resources as they should be, until the future is dropped. `uid`: of the configuration, their owner.
pub async fn keep(client: &Client, mut board: ReportBoard, uid: &Mutex<Option<String>>) {
    let (mut published, mut trouble) = (None, None);
    loop {
        let owner = uid.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let config = board.config.read().as_ref().clone();
        let validated = board.validated.read().as_ref().clone();
        let (Some(owner), Some(config), Some(validated)) = (owner, config, validated) else {
            tokio::time::sleep(IDLE).await;
            continue;
        };
        let api = PublishApi::new(client.clone(), &config.namespace, &config.name, &owner);
        let began = Instant::now();
        let done = bring(&api, &board, &config, &validated, &mut published).await;
        let pause = if done.is_err() { REST } else { BETWEEN.max(began.elapsed() * SHARE) };
        if done.is_err() {
            published = None;
        }
        report(&mut trouble, done, "what is rendered is not published, which nothing depends on");
        tokio::time::sleep(pause).await;
        tokio::select! {
            _ = board.validated.changed() => {}
            _ = board.pods.changed() => {}
            _ = board.config.changed() => {}
        }
    }
}

async fn bring(
    api: &PublishApi,
    board: &ReportBoard,
    config: &ActiveConfig,
    validated: &Arc<Validated>,
    published: &mut Option<Published>,
) -> Result<(), String> {
    let known = match published {
        Some(known) => known,
        None => {
            let (written, status) = api.read().await?;
            published.insert(Published { written, status, omitted: Vec::new() })
        }
    };
    let wanted = content::wanted(&config.name, validated.bundle());
    let is_written = |file: &&content::Wanted| known.written.get(&file.key()) == Some(&file.digest);
    let changed: Vec<_> = wanted.iter().filter(|file| !is_written(file)).collect();
    for file in changed {
        let of_file = Arc::clone(&file.file);
        let spec =
            cpu("publish", move || content::spec(&of_file)).await.map_err(|panicked| panicked.to_string())?;
        known.omitted.retain(|omitted| !omitted.starts_with(&*spec.path));
        known.omitted.extend(spec.omitted.as_ref().map(|why| format!("{}: {why}", spec.path)));
        api.write(file, &spec).await?;
        known.written.insert(file.key(), file.digest.clone());
        tokio::time::sleep(BETWEEN_WRITES).await;
    }
    let surplus: Vec<_> =
        known.written.keys().filter(|key| wanted.iter().all(|file| file.key() != **key)).cloned().collect();
    for key in surplus {
        api.delete(&key).await?;
        known.written.remove(&key);
    }
    let status =
        pods::status(&known.status, validated, &board.pods.read(), &known.omitted, jiff::Timestamp::now());
    if status != known.status {
        api.write_status(&status).await?;
        known.status = status;
    }
    Ok(())
}
