//! The task behind one watch: takes updates from the source, writes the store, publishes, tells.
//!
//! It runs on the shared runtime, never on an arbiter. What is waiting is taken as one batch: an isolated change is
//! published at once, a burst once a batch, and an initial list once, at its end.

use crate::{
    ingest::{Ingest, SpecError},
    pool::Pool,
    source::{OpenedSource, WatchSource, on_demand::OnDemand},
    spec::WatchSpec,
    stores::{Claim, Stores},
    update::{ListScope, Update},
    writer::StoreWriter,
};
use haptic_model::{
    Event, MassDeletion, ObjectRef, RejectedObjects, Remarks, config::AcceptedConfig, store::FetchObject,
};
use haptic_runtime::{Events, Topic};
use std::{
    collections::BTreeSet,
    fmt,
    sync::Arc,
    time::{Duration, Instant},
};
use tokio::{
    sync::{Notify, mpsc, watch},
    task::JoinHandle,
};

/// So many malformed objects are remembered, to say when they are mended.
const MALFORMED: usize = 1000;
/// Updates that may wait between source and pump, and the most that are published as one.
const BATCH: usize = 512;
/// The same failure is told again after this time.
const REMIND: Duration = Duration::from_secs(60);

/// What decides about objects that vanish at once; clones read the same.
#[derive(Clone, Debug)]
pub struct Guarding {
    /// Says for how long they are held.
    pub config: Topic<Option<AcceptedConfig>>,
    /// Says how many there were, and what is confirmed.
    pub remarks: Topic<Remarks>,
}

/// Everything one watch needs. Each [`Self::start`] is one life of its pump.
#[derive(Clone)]
pub struct WatchTask {
    /// What to watch.
    pub spec: Arc<WatchSpec>,
    /// Where.
    pub origin: OpenedSource,
    /// Where snapshots go.
    pub stores: Stores,
    /// What all of them may take.
    pub pool: Pool,
    /// Holds objects that vanish at once; without it they are gone.
    pub guarding: Option<Guarding>,
    /// Who observes.
    pub events: Events,
}

/// A running pump; it ends when this is dropped.
#[derive(Debug)]
pub struct RunningPump(Aborting<()>);

/// A task that ends when this is dropped.
#[derive(Debug)]
pub(crate) struct Aborting<T>(pub(crate) JoinHandle<T>);

impl WatchTask {
    /// Starts a pump. Any earlier pump of the same store can publish nothing from now on.
    #[must_use]
    pub fn start(&self) -> RunningPump {
        RunningPump(Aborting(tokio::spawn(self.clone().run())))
    }

    async fn run(self) {
        let ingest = match Ingest::new(&self.spec) {
            Ok(ingest) => Arc::new(ingest),
            Err(error) => return self.refuse(&error).await,
        };
        let source = WatchSource::new(&self.origin, &self.spec, &ingest, &self.pool, &self.stores);
        let (claim, base) = self.stores.claim(&self.spec.name);
        let fetch = source.on_demand();
        let base = base.with_fetch(fetch.clone().map(|fetch| fetch as Arc<dyn FetchObject>));
        let mut writer = StoreWriter::new(base, self.spec.limits).with_own_status(self.spec.owns_status());
        if let Some(guarding) = &self.guarding {
            let expected = guarding.remarks.latest().watched.get(&*self.spec.name).copied();
            // What an earlier process held for some that are no longer named has not vanished.
            writer = writer.guarded(expected.filter(|_| !self.spec.is_named()));
        }
        let (sender, updates) = mpsc::channel(BATCH);
        let (wanted, wants) = watch::channel(BTreeSet::new());
        let _source = Aborting(tokio::spawn(source.run(sender, wants)));
        let pump = Pump {
            job: self,
            claim,
            writer,
            fetch,
            wanted,
            failure: None,
            told_synced: false,
            held: None,
            rejected: RejectedObjects::default(),
            malformed: BTreeSet::new(),
            waiting: Vec::new(),
        };
        pump.run(updates).await;
    }

    /// A configuration that cannot work is said once and then left alone until it changes.
    async fn refuse(&self, error: &SpecError) {
        let (claim, _) = self.stores.claim(&self.spec.name);
        claim.note_trouble(Some(&error.to_string()));
        self.events.emit(Event::WatchFailed { resource: self.spec.name.clone(), message: error.to_string() });
        std::future::pending().await
    }
}

struct Pump {
    job: WatchTask,
    claim: Claim,
    writer: StoreWriter,
    fetch: Option<Arc<OnDemand>>,
    /// The namespaces whose objects the source is to offer again.
    wanted: watch::Sender<BTreeSet<ListScope>>,
    failure: Option<(String, Instant)>,
    told_synced: bool,
    /// What was told to be held.
    held: Option<MassDeletion>,
    /// What was told to be left out.
    rejected: RejectedObjects,
    /// What was told to be malformed, as far as that is remembered.
    malformed: BTreeSet<Arc<ObjectRef>>,
    /// Who waits until what was taken is published.
    waiting: Vec<Arc<Notify>>,
}

impl Pump {
    /// Until the source ends or a newer pump has taken over.
    async fn run(mut self, mut updates: mpsc::Receiver<Update>) {
        let mut batch = Vec::with_capacity(BATCH);
        let mut guarding = self.job.guarding.clone();
        let mut level = self.job.pool.changes();
        loop {
            tokio::select! {
                read = updates.recv_many(&mut batch, BATCH) => if read == 0 { return },
                () = level.next() => {}
                () = reconsidered(&mut guarding, self.due()), if self.held.is_some() => {}
            }
            for update in batch.drain(..) {
                self.take(update);
            }
            self.share();
            self.look_at_missing();
            if !self.writer.is_complete() {
                continue;
            }
            if !self.publish().await {
                return;
            }
            self.waiting.drain(..).for_each(|waiting| waiting.notify_one());
            self.look_at_limits();
        }
    }

    fn take(&mut self, update: Update) {
        match &update {
            Update::Malformed(_, object, message) => {
                self.malformed(object.clone(), message.clone());
                self.outdate(object);
            }
            Update::Failed(message) => return self.failed(message.clone()),
            Update::Absent(message) if !self.writer.snapshot().is_empty() => {
                return self.failed(message.clone());
            }
            Update::Absent(_) => {
                self.failure = None;
                self.claim.note_trouble(None);
            }
            Update::Put(_, object) | Update::Listed(_, object) => {
                self.mended(&object.object.reference);
                self.outdate(&object.object.reference);
            }
            Update::Gone(_, reference) => {
                self.mended(reference);
                self.outdate(reference);
            }
            Update::Oversized(_, oversized) => self.outdate(&oversized.object),
            Update::ListEnded(_) | Update::Recovered => {
                self.failure = None;
                self.claim.note_trouble(None);
            }
            Update::OfferEnded(_) => self.failure = None,
            Update::Awaited(waiting) => self.waiting.push(waiting.clone()),
            Update::Scopes(_)
            | Update::ListBegun(_)
            | Update::Kept(..)
            | Update::OfferBegun(_)
            | Update::Offered(..) => {}
        }
        self.writer.apply(update);
    }

    /// Asks for what the store wants to take, and gives up what it may not.
    fn share(&mut self) {
        let (spec, pool) = (&self.job.spec, &self.job.pool);
        pool.ask(&spec.name, self.writer.wants(), spec.limits.watched_bytes);
        self.writer.set_level(pool.level());
    }

    /// Publishes what changed, with what that names; `false` when another pump owns the store now.
    async fn publish(&mut self) -> bool {
        let change = self.writer.take_changes();
        let initial = !self.told_synced;
        if change.is_none() && !initial {
            return true;
        }
        let (stores, now) = (&self.job.stores, self.writer.snapshot());
        let before = (!self.job.spec.is_named()).then(|| stores.last(&self.job.spec.name));
        let ready = stores.named().ready();
        if let Some(before) = &before {
            stores.named().fetch_named_since(before, now).await;
        }
        if !self.claim.publish(now, change.unwrap_or_default()) {
            return false;
        }
        // A named store that has come meanwhile may have looked before this was there.
        if let Some(before) = before.filter(|_| stores.named().ready() != ready) {
            stores.named().fetch_named_since(&before, now).await;
        }
        let (resource, objects) = (self.job.spec.name.clone(), self.writer.snapshot().len());
        self.told_synced = true;
        self.job.events.emit(if initial {
            Event::StoreSynced { resource, objects }
        } else {
            Event::StoreSize { resource, objects }
        });
        true
    }

    /// Tells of what is left out because of the store's limits, and asks for it when there is room.
    fn look_at_limits(&mut self) {
        if let Some(now) = self.writer.rejected().filter(|now| *now != self.rejected) {
            let resource = self.job.spec.name.clone();
            for reached in now.news(&self.rejected, &resource) {
                self.job.events.emit(Event::LimitReached { reached });
            }
            self.claim.note_rejected(&now);
            self.job.events.emit(Event::LeftOut { resource, counts: now.counts() });
            self.rejected = now;
        }
        let wanting = self.writer.wanting();
        self.wanted.send_if_modified(|wanted| {
            let differs = *wanted != wanting;
            *wanted = wanting;
            differs
        });
    }

    /// Tells of what is held because it vanished at once, and lets it go when it is confirmed, or held for long enough.
    fn look_at_missing(&mut self) {
        let now = self.missing();
        if let Some((missing, since)) = &now {
            let confirmed =
                self.job.guarding.as_ref().is_some_and(|g| missing.is_confirmed(&g.remarks.latest()));
            if !confirmed && since.elapsed() < missing.hold {
                if self.held.as_ref() != Some(missing) {
                    self.claim.note_missing(Some(missing));
                    self.job.events.emit(Event::MassDeletionHeld { missing: missing.clone() });
                    self.held = Some(missing.clone());
                }
                return;
            }
            self.writer.let_go();
        }
        if now.is_some() || self.held.is_some() {
            self.claim.note_missing(None);
            let let_go = now.map_or(0, |(missing, _)| missing.missing);
            let resource = self.job.spec.name.clone();
            self.job.events.emit(Event::MassDeletionEnded { resource, let_go });
            self.held = None;
        }
    }

    fn missing(&self) -> Option<(MassDeletion, Instant)> {
        let missing = self.writer.missing()?;
        let config = (*self.job.guarding.as_ref()?.config.latest()).clone()?;
        let held = MassDeletion {
            resource: self.job.spec.name.clone(),
            missing: missing.objects,
            of: missing.of,
            at_start: missing.at_start,
            hold: config.spec.controller.mass_deletion_hold.get(),
            config: format!("{}/{}", config.namespace, config.name).into(),
        };
        Some((held, missing.since))
    }

    /// When what is held was held for long enough.
    fn due(&self) -> Option<Instant> {
        self.missing().map(|(missing, since)| since + missing.hold)
    }

    fn outdate(&self, reference: &Arc<ObjectRef>) {
        if let Some(fetch) = &self.fetch {
            fetch.outdate(reference);
        }
    }

    fn malformed(&mut self, object: Arc<ObjectRef>, message: String) {
        if self.malformed.len() < MALFORMED {
            self.malformed.insert(object.clone());
        }
        self.job.events.emit(Event::ObjectMalformed { object, message });
    }

    fn mended(&mut self, object: &Arc<ObjectRef>) {
        if let Some(object) = self.malformed.take(object) {
            self.job.events.emit(Event::ObjectMended { object });
        }
    }

    fn failed(&mut self, message: String) {
        self.claim.note_trouble(Some(&message));
        let fresh = self
            .failure
            .as_ref()
            .is_none_or(|(reported, when)| *reported != message || when.elapsed() >= REMIND);
        if fresh {
            self.failure = Some((message.clone(), Instant::now()));
            self.job.events.emit(Event::WatchFailed { resource: self.job.spec.name.clone(), message });
        }
    }
}

/// Until what is held may be decided otherwise.
async fn reconsidered(guarding: &mut Option<Guarding>, due: Option<Instant>) {
    let (Some(Guarding { config, remarks }), Some(due)) = (guarding, due) else {
        return std::future::pending().await;
    };
    tokio::select! {
        _ = config.changed() => {}
        _ = remarks.changed() => {}
        () = tokio::time::sleep_until(due.into()) => {}
    }
}

impl RunningPump {
    /// Resolves when the pump has ended by itself, with the reason.
    pub async fn ended(&mut self) -> String {
        match (&mut self.0.0).await {
            Ok(()) => "its source ended".to_owned(),
            Err(error) => error.to_string(),
        }
    }
}

impl<T> Drop for Aborting<T> {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl fmt::Debug for WatchTask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WatchJob")
            .field("spec", &self.spec)
            .field("origin", &self.origin)
            .finish_non_exhaustive()
    }
}
