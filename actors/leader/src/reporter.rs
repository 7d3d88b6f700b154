//! The loop of what only the leader tells the API server: the configuration's status, Events, addresses of Ingresses.
//!
//! It reads the board whenever it leads, so a new leader goes on where the one before ended. Whatever fails here is told
//! in the log and tried again; nothing waits for it.

use crate::{
    addresses::{self, changes::Written, published, served},
    notices::{
        api::{Known, NoticeApi},
        limiter::Limiter,
        notice::{self, Notice, blamed},
    },
    publish,
    report::{
        api::{Found, StatusApi},
        health::{Failed, Fleet, Health, Lag, Progress},
        status,
    },
    reporting::{Reporting, Telling, note},
};
use haptic_model::{
    ActiveConfig, AllLeftOut, HaproxyPod, MassDeletions, Quarantine, Snapshots,
    config::Judgement,
    crd::IngressStatusSpec,
    pipeline::{Leadership, PodState, Validated},
};
use haptic_runtime::{CellReader, CellWriter, cpu};
use kube::Client;
use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};
use tokio::{sync::mpsc, time::Instant};

/// The board is looked at no more often: a storm of changes is one look a second.
const PACE: Duration = Duration::from_secs(1);
/// Who is served is looked at no more often.
const SLOW_PACE: Duration = Duration::from_secs(5);
/// Ten thousand new Ingresses are not one burst of writes.
const BETWEEN_WRITES: Duration = Duration::from_millis(20);
/// After a failed call.
const REST: Duration = Duration::from_secs(5);

/// What the leader reports from.
#[derive(Clone)]
pub struct ReportBoard {
    /// Nothing is told by others.
    pub leadership: CellReader<Leadership>,
    /// The verdict on the newest configuration.
    pub judged: CellReader<Option<Judgement>>,
    /// The newest bundle that passed all checks.
    pub validated: CellReader<Option<Arc<Validated>>>,
    /// What is known of each pod.
    pub pods: CellReader<BTreeMap<HaproxyPod, PodState>>,
    /// The watched objects.
    pub snapshots: CellReader<Snapshots>,
    /// What is held back.
    pub quarantine: CellReader<Quarantine>,
    /// Objects that vanished at once and are held.
    pub missing: CellReader<MassDeletions>,
    /// What stores do not hold because of their limits.
    pub left_out: CellReader<AllLeftOut>,
    /// The configuration in force.
    pub config: CellReader<Option<Arc<ActiveConfig>>>,
    /// The newest valid configuration: in force once its stores are read.
    pub accepted: CellReader<Option<Arc<ActiveConfig>>>,
    /// Why watched resources cannot be read at the moment.
    pub troubles: CellReader<BTreeMap<Arc<str>, String>>,
}

/// Reports while it leads.
pub struct Reporter {
    /// The API server, for statuses.
    pub status: StatusApi,
    /// The API server, for everything else.
    pub client: Client,
    /// The API server, for Events.
    pub notices: NoticeApi,
    /// What it reads.
    pub board: ReportBoard,
    /// How the newest generation failed.
    pub failed: CellReader<Option<Failed>>,
    /// What happened and may be worth an Event.
    pub happened: mpsc::Receiver<Notice>,
    /// Where it notes what it cannot report.
    pub reporting: Arc<CellWriter<Reporting>>,
}

impl Reporter {
    /// Reports until the future is dropped.
    pub async fn run(mut self) {
        let config = Arc::new(Mutex::new(None));
        let mut limiter = Limiter::new(Instant::now());
        loop {
            let mut leadership = self.board.leadership.clone();
            leadership.wait_for(|leadership| leadership.leads).await;
            // What happened before belongs to another leader.
            while self.happened.try_recv().is_ok() {}
            let (board, reporting) = (&self.board, &*self.reporting);
            tokio::select! {
                _ = leadership.wait_for(|leadership| !leadership.leads) => {}
                () = keep_status(self.status.clone(), board.clone(), self.failed.clone(), reporting, &config) => {}
                () = keep_addresses(&self.client, board.clone(), reporting) => {}
                () = publish::keep(&self.client, board.clone(), reporting, &config) => {}
                () = tell(&self.notices, board, &self.failed, &mut self.happened, &mut limiter, reporting, &config) => {}
            }
            // Another replica tells from now on.
            self.reporting.publish(Reporting::default());
        }
    }
}

type ConfigUid = Mutex<Option<String>>;

/// Keeps the resource's status as it should be.
async fn keep_status(
    api: StatusApi,
    mut board: ReportBoard,
    mut failed: CellReader<Option<Failed>>,
    reporting: &CellWriter<Reporting>,
    uid: &ConfigUid,
) {
    let (mut lag, mut known, mut published) = (Lag::default(), None, reporting.reader());
    let mut told_of = None;
    loop {
        let judged = board.judged.read().as_ref().clone();
        if judged != told_of {
            // The resource may be another one of the same name, which has no status yet.
            (known, told_of) = (None, judged.clone());
        }
        let accepted = board.accepted.read();
        let validated = board.validated.read();
        let validated = validated.as_ref().as_deref();
        let (snapshots, troubles) = (board.snapshots.read(), board.troubles.read());
        let progress = Progress::of(accepted.as_ref().as_deref(), validated, &snapshots, &troubles);
        let fleet = lag.look(validated, &board.pods.read(), Instant::now());
        let catching = matches!(fleet, Fleet::Catching);
        let quarantine = board.quarantine.read();
        let health = judged.map(|judgement| Health {
            judgement,
            progress,
            checked: validated.map(|validated| validated.rendered.config.resource_generation),
            failed: failed.read().as_ref().clone(),
            fleet,
            quarantine,
            missing: board.missing.read(),
            left_out: board.left_out.read(),
            watched: counted(&board),
            reporting: published.read(),
        });
        let done = match &health {
            Some(health) => bring(&api, &mut known, health).await,
            None => Ok(()),
        };
        if let Some(found) = &known {
            uid.lock().unwrap_or_else(PoisonError::into_inner).clone_from(&found.uid);
        }
        let failed_again = done.is_err();
        note(reporting, Telling::Status, done);
        tokio::time::sleep(if failed_again { REST } else { PACE }).await;
        if failed_again {
            known = None;
            continue;
        }
        tokio::select! {
            _ = board.judged.changed() => {}
            _ = board.accepted.changed() => {}
            _ = board.troubles.changed() => {}
            _ = board.validated.changed() => {}
            _ = board.pods.changed() => {}
            _ = board.quarantine.changed() => {}
            _ = board.missing.changed() => {}
            _ = board.left_out.changed() => {}
            _ = failed.changed() => {}
            _ = published.changed() => {}
            () = tokio::time::sleep(PACE), if catching => {}
        }
    }
}

/// How many objects of each watched resource there are, those that are held among them.
fn counted(board: &ReportBoard) -> BTreeMap<String, usize> {
    let (snapshots, config) = (board.snapshots.read(), board.config.read());
    let watched = config.iter().flat_map(|config| config.spec.watched_resources.keys());
    let read =
        watched.filter_map(|name| Some((name, snapshots.get(name).filter(|store| store.is_synced())?)));
    read.map(|(name, store)| (name.clone(), store.len())).collect()
}

/// Writes the status if it is not as `health` says.
async fn bring(api: &StatusApi, known: &mut Option<Found>, health: &Health) -> Result<(), String> {
    if known.is_none() {
        *known = api.read().await?;
    }
    // Deleted: there is nothing to write to.
    let Some(found) = known else { return Ok(()) };
    if let Some(status) = status::changed(&found.status, health, jiff::Timestamp::now()) {
        api.write(&status).await?;
        found.status = status;
    }
    Ok(())
}

/// Keeps the addresses of the Ingresses that are served as they should be.
async fn keep_addresses(client: &Client, mut board: ReportBoard, reporting: &CellWriter<Reporting>) {
    let mut written = BTreeMap::new();
    loop {
        let config = board.config.read().as_ref().clone();
        let wanted = config.as_ref().and_then(|config| config.spec.controller.ingress_status.clone());
        if let (Some(config), true) = (config, wanted.is_some() || !written.is_empty()) {
            let done =
                bring_addresses(client, &board, &config, wanted.unwrap_or_default(), &mut written).await;
            note(reporting, Telling::Addresses, done);
        }
        // What is rendered changes all the time; who is served does not.
        tokio::time::sleep(SLOW_PACE).await;
        tokio::select! {
            _ = board.validated.changed() => {}
            _ = board.config.changed() => {}
            () = tokio::time::sleep(SLOW_PACE) => {}
        }
    }
}

async fn bring_addresses(
    client: &Client,
    board: &ReportBoard,
    config: &ActiveConfig,
    wanted: IngressStatusSpec,
    written: &mut BTreeMap<Arc<str>, Written>,
) -> Result<(), String> {
    let deployed = board.pods.read().values().any(|pod| pod.running.is_some());
    let (Some(validated), true) = (board.validated.read().as_ref().clone(), deployed) else { return Ok(()) };
    let service = match &wanted.service {
        Some(service) => {
            let namespace = service.namespace.as_deref().unwrap_or(&config.namespace);
            addresses::api::service(client, namespace, &service.name).await?
        }
        None => None,
    };
    let all = Arc::new(published::addresses(service.as_ref(), &wanted.addresses));
    let snapshots = board.snapshots.read();
    for resource in ingress_stores(config) {
        let Some(store) = snapshots.get(&resource).filter(|store| store.is_synced()).cloned() else {
            continue;
        };
        let (known, validated) = (written.entry(Arc::clone(&resource)).or_default(), Arc::clone(&validated));
        let (mut looked_at, all) = (std::mem::take(known), Arc::clone(&all));
        let (looked_at, changes) = cpu("reporter", move || {
            let served = served::of(validated.bundle(), &resource);
            let changes = looked_at.changes(&store, &served, &all);
            (looked_at, changes)
        })
        .await
        .map_err(|panicked| panicked.to_string())?;
        *known = looked_at;
        for change in changes {
            addresses::api::write(client, &change).await?;
            known.note(&change);
            tokio::time::sleep(BETWEEN_WRITES).await;
        }
    }
    Ok(())
}

/// The watched resources that are Ingresses.
fn ingress_stores(config: &ActiveConfig) -> Vec<Arc<str>> {
    let watched = config.spec.watched_resources.iter();
    let ingresses = watched.filter(|(_, resource)| {
        resource.resources == "ingresses" && resource.api_version.starts_with("networking.k8s.io/")
    });
    ingresses.map(|(name, _)| name.as_str().into()).collect()
}

/// Writes what happened and is news.
async fn tell(
    api: &NoticeApi,
    board: &ReportBoard,
    failed: &CellReader<Option<Failed>>,
    happened: &mut mpsc::Receiver<Notice>,
    limiter: &mut Limiter,
    reporting: &CellWriter<Reporting>,
    uid: &ConfigUid,
) {
    let mut standing = standing(board, failed).into_iter();
    while let Some(notice) = next(&mut standing, happened).await {
        if !limiter.lets(&notice, Instant::now()) {
            continue;
        }
        let uid = uid.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let (snapshots, pods) = (board.snapshots.read(), board.pods.read());
        let known = Known { snapshots: &snapshots, pods: &pods, config: uid.as_deref() };
        note(reporting, Telling::Events, api.write(&notice, &known).await);
    }
    // The sender is the actor itself.
    std::future::pending().await
}

/// What went wrong before this replica led, and still is.
fn standing(board: &ReportBoard, failed: &CellReader<Option<Failed>>) -> Vec<Notice> {
    let refused = board.judged.read().as_ref().clone().filter(|judged| !judged.problems.is_empty());
    let refused = refused.map(|judged| blamed("ConfigurationRejected", "Validate", &judged.problems));
    let judged = board.judged.read();
    let credentials = judged.as_ref().as_ref().and_then(|judged| judged.credentials.as_ref());
    let credentials = credentials.map(notice::credentials_unreadable);
    let failed = failed.read().as_ref().clone();
    let failed = failed.map(|failed| blamed(failed.reason, "Render", &failed.diagnostics));
    let held = board.quarantine.read();
    let held = held.held.values().map(notice::held_back);
    let left_out = board.left_out.read();
    let reached = left_out.iter().flat_map(|(resource, left_out)| left_out.reached(resource));
    let reached = reached.map(|reached| notice::limit_reached(&reached));
    refused.into_iter().chain(failed).flatten().chain(credentials).chain(held).chain(reached).collect()
}

async fn next(
    standing: &mut impl Iterator<Item = Notice>,
    happened: &mut mpsc::Receiver<Notice>,
) -> Option<Notice> {
    match standing.next() {
        Some(notice) => Some(notice),
        None => happened.recv().await,
    }
}
