//! The task behind one watch: takes updates from the source, writes the store, publishes, tells.
//!
//! It runs on the shared runtime, never on an arbiter. What is waiting is taken as one batch: an isolated change is
//! published at once, a burst once a batch, and an initial list once, at its end.

use crate::{
    ingest::{Ingest, SpecError},
    source::{Origin, Source, on_demand::OnDemand},
    spec::WatchSpec,
    stores::{Claim, Stores},
    update::{Scope, Update},
    writer::StoreWriter,
};
use haptic_model::{
    ActiveConfig, Event, LeftOut, MassDeletion, ObjectRef, Remarks, pipeline::Cause, store::FetchObject,
};
use haptic_runtime::{CellReader, Events};
use std::{
    collections::BTreeSet,
    fmt,
    sync::Arc,
    time::{Duration, Instant},
};
use tokio::{
    sync::{mpsc, watch},
    task::JoinHandle,
};

/// So many malformed objects are remembered, to say when they are mended.
const MALFORMED: usize = 1000;
/// Updates that may wait between source and pump, and the most that are published as one.
const BATCH: usize = 512;
/// The same failure is told again after this time.
const REMIND: Duration = Duration::from_secs(60);

/// What a publication changed.
#[derive(Clone, Debug)]
pub struct Changed {
    /// The watched resource's name.
    pub resource: Arc<str>,
    /// How many objects were created, modified and deleted, and one of them.
    pub cause: Cause,
    /// Whether this is the end of the initial list.
    pub initial: bool,
    /// When the first of these changes arrived.
    pub seen: Instant,
}

/// Called after each publication, on the pump's task; must not wait. This is where the debounce stage is nudged.
pub type OnChange = Arc<dyn Fn(Changed) + Send + Sync>;

/// What decides about objects that vanish at once; clones read the same.
#[derive(Clone, Debug)]
pub struct Guarding {
    /// Says for how long they are held.
    pub config: CellReader<Option<Arc<ActiveConfig>>>,
    /// Says how many there were, and what is confirmed.
    pub remarks: CellReader<Remarks>,
}

/// Everything one watch needs. Each [`Self::start`] is one life of its pump.
#[derive(Clone)]
pub struct WatchJob {
    /// What to watch.
    pub spec: Arc<WatchSpec>,
    /// Where.
    pub origin: Origin,
    /// Where snapshots go.
    pub stores: Stores,
    /// Holds objects that vanish at once; without it they are gone.
    pub guarding: Option<Guarding>,
    /// Who observes.
    pub events: Events,
    /// Who acts on changes.
    pub on_change: OnChange,
}

/// A running pump; it ends when this is dropped.
#[derive(Debug)]
pub struct Running(JoinHandle<()>);

/// A task that ends when this is dropped.
#[derive(Debug)]
pub(crate) struct Aborting<T>(pub(crate) JoinHandle<T>);

impl WatchJob {
    /// Starts a pump. Any earlier pump of the same store can publish nothing from now on.
    #[must_use]
    pub fn start(&self) -> Running {
        Running(tokio::spawn(self.clone().run()))
    }

    async fn run(self) {
        let ingest = match Ingest::new(&self.spec) {
            Ok(ingest) => Arc::new(ingest),
            Err(error) => return self.refuse(&error).await,
        };
        let source = Source::new(&self.origin, &self.spec, &ingest);
        let (claim, base) = self.stores.claim(&self.spec.name);
        let fetch = source.on_demand();
        let base = base.with_fetch(fetch.clone().map(|fetch| fetch as Arc<dyn FetchObject>));
        let mut writer = StoreWriter::new(base, self.spec.limits);
        if let Some(guarding) = &self.guarding {
            writer = writer.guarded(guarding.remarks.read().watched.get(&*self.spec.name).copied());
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
            left_out: LeftOut::default(),
            malformed: BTreeSet::new(),
        };
        pump.run(updates).await;
    }

    /// A configuration that cannot work is said once and then left alone until it changes.
    async fn refuse(&self, error: &SpecError) {
        self.events.tell(Event::WatchFailed { resource: self.spec.name.clone(), message: error.to_string() });
        std::future::pending().await
    }
}

struct Pump {
    job: WatchJob,
    claim: Claim,
    writer: StoreWriter,
    fetch: Option<Arc<OnDemand>>,
    /// The namespaces whose objects the source is to offer again.
    wanted: watch::Sender<BTreeSet<Scope>>,
    failure: Option<(String, Instant)>,
    told_synced: bool,
    /// What was told to be held.
    held: Option<MassDeletion>,
    /// What was told to be left out.
    left_out: LeftOut,
    /// What was told to be malformed, as far as that is remembered.
    malformed: BTreeSet<Arc<ObjectRef>>,
}

impl Pump {
    /// Until the source ends or a newer pump has taken over.
    async fn run(mut self, mut updates: mpsc::Receiver<Update>) {
        let mut batch = Vec::with_capacity(BATCH);
        let mut first_seen = None;
        let mut guarding = self.job.guarding.clone();
        loop {
            tokio::select! {
                read = updates.recv_many(&mut batch, BATCH) => if read == 0 { return },
                () = reconsidered(&mut guarding, self.due()), if self.held.is_some() => {}
            }
            let seen = *first_seen.get_or_insert_with(Instant::now);
            for update in batch.drain(..) {
                self.take(update);
            }
            self.look_at_missing();
            if !self.writer.is_complete() {
                continue;
            }
            if !self.publish(seen) {
                return;
            }
            self.look_at_limits();
            first_seen = None;
        }
    }

    fn take(&mut self, update: Update) {
        match &update {
            Update::Malformed(_, object, message) => {
                self.malformed(object.clone(), message.clone());
                self.outdate(object);
            }
            Update::Failed(message) => return self.failed(message.clone()),
            Update::Put(_, object) | Update::Listed(_, object) => {
                self.mended(&object.object.reference);
                self.outdate(&object.object.reference);
            }
            Update::Gone(_, reference) => {
                self.mended(reference);
                self.outdate(reference);
            }
            Update::Oversized(_, oversized) => self.outdate(&oversized.object),
            Update::ListEnded(_) => {
                self.failure = None;
                self.claim.note_trouble(None);
            }
            Update::OfferEnded(_) => self.failure = None,
            Update::Scopes(_)
            | Update::ListBegun(_)
            | Update::Kept(..)
            | Update::OfferBegun(_)
            | Update::Offered(..) => {}
        }
        self.writer.apply(update);
    }

    /// Puts what changed on the board and tells; `false` when another pump owns the store now.
    fn publish(&mut self, seen: Instant) -> bool {
        let changes = self.writer.take_changes();
        let initial = !self.told_synced;
        if changes.is_none() && !initial {
            return true;
        }
        if !self.claim.publish(self.writer.snapshot()) {
            return false;
        }
        let (resource, objects) = (self.job.spec.name.clone(), self.writer.snapshot().len());
        self.told_synced = true;
        self.job.events.tell(if initial {
            Event::StoreSynced { resource: resource.clone(), objects }
        } else {
            Event::StoreSize { resource: resource.clone(), objects }
        });
        (self.job.on_change)(Changed { resource, cause: changes.unwrap_or_default(), initial, seen });
        true
    }

    /// Tells of what is left out because of the store's limits, and asks for it when there is room.
    fn look_at_limits(&mut self) {
        if let Some(now) = self.writer.left_out().filter(|now| *now != self.left_out) {
            let resource = self.job.spec.name.clone();
            for reached in now.news(&self.left_out, &resource) {
                self.job.events.tell(Event::LimitReached { reached });
            }
            self.claim.note_left_out(&now);
            self.job.events.tell(Event::LeftOut { resource, counts: now.counts() });
            self.left_out = now;
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
                self.job.guarding.as_ref().is_some_and(|g| missing.is_confirmed(&g.remarks.read()));
            if !confirmed && since.elapsed() < missing.hold {
                if self.held.as_ref() != Some(missing) {
                    self.claim.note_missing(Some(missing));
                    self.job.events.tell(Event::MassDeletionHeld { missing: missing.clone() });
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
            self.job.events.tell(Event::MassDeletionEnded { resource, let_go });
            self.held = None;
        }
    }

    fn missing(&self) -> Option<(MassDeletion, Instant)> {
        let missing = self.writer.missing()?;
        let config = (*self.job.guarding.as_ref()?.config.read()).clone()?;
        let held = MassDeletion {
            resource: self.job.spec.name.clone(),
            missing: missing.objects,
            of: missing.of,
            at_start: missing.at_start,
            hold: config.spec.controller.mass_deletion_hold.or(Duration::ZERO),
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
        self.job.events.tell(Event::ObjectMalformed { object, message });
    }

    fn mended(&mut self, object: &Arc<ObjectRef>) {
        if let Some(object) = self.malformed.take(object) {
            self.job.events.tell(Event::ObjectMended { object });
        }
    }

    fn failed(&mut self, message: String) {
        self.claim.note_trouble(Some(&message));
        let fresh =
            self.failure.as_ref().is_none_or(|(told, when)| *told != message || when.elapsed() >= REMIND);
        if fresh {
            self.failure = Some((message.clone(), Instant::now()));
            self.job.events.tell(Event::WatchFailed { resource: self.job.spec.name.clone(), message });
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

impl Running {
    /// Resolves when the pump has ended by itself, with the reason.
    pub async fn ended(&mut self) -> String {
        match (&mut self.0).await {
            Ok(()) => "its source ended".to_owned(),
            Err(error) => error.to_string(),
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl<T> Drop for Aborting<T> {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl fmt::Debug for WatchJob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WatchJob")
            .field("spec", &self.spec)
            .field("origin", &self.origin)
            .finish_non_exhaustive()
    }
}
