//! One watch under test: its store, its events and its changes, awaited with a limit.

use haptic_model::{Event, Snapshot, Snapshots, StoreLimits, crd::WatchedResource, pipeline::Cause};
use haptic_runtime::{Envelope, Events, Topic};
use haptic_watch::{OpenedSource, Pool, Stores, WatchSpec, WatchTask, pump::RunningPump};
use std::{sync::Arc, time::Duration};
use tokio::sync::mpsc::{Receiver, UnboundedReceiver, UnboundedSender, unbounded_channel};

const LIMIT: Duration = Duration::from_secs(90);

/// What is published with a snapshot.
#[allow(dead_code)]
pub struct Changed {
    /// How many objects were created, modified and deleted, and one of them.
    pub cause: Cause,
    /// Whether the store is read to its end for the first time.
    pub initial: bool,
}

pub struct Watching {
    name: String,
    job: WatchTask,
    running: Option<RunningPump>,
    topics: Topic<Snapshots>,
    events: Receiver<Envelope<Event>>,
    changes: UnboundedReceiver<Changed>,
}

/// Events are made first: a directory needs them too.
pub type Told = (Events, Receiver<Envelope<Event>>);

pub fn events() -> Told {
    Events::channel(10_000)
}

#[allow(dead_code)]
pub fn resource(api_version: &str, plural: &str) -> WatchedResource {
    WatchedResource {
        api_version: api_version.into(),
        resources: plural.into(),
        index_by: vec!["metadata.namespace".into(), "metadata.name".into()],
        ..WatchedResource::default()
    }
}

impl Watching {
    pub fn start(origin: OpenedSource, resource: WatchedResource, told: Told) -> Self {
        Self::limited(origin, resource, told, StoreLimits::default())
    }

    pub fn limited(origin: OpenedSource, resource: WatchedResource, told: Told, limits: StoreLimits) -> Self {
        let (stores, topics) = Stores::new();
        let (changed, changes) = unbounded_channel();
        let ignore = vec!["metadata.managedFields".to_owned()];
        let spec = Arc::new(WatchSpec::new(&resource.resources, &resource, &ignore, limits));
        tokio::spawn(follow(topics.clone(), resource.resources.clone(), changed));
        let job = WatchTask { spec, origin, stores, pool: Pool::new(None), guarding: None, events: told.0 };
        let running = Some(job.start());
        Self { name: resource.resources, job, running, topics, events: told.1, changes }
    }

    /// As the supervisor does it after a panic.
    #[allow(dead_code)]
    pub fn restart(&mut self) {
        self.running = None;
        self.running = Some(self.job.start());
    }

    /// The store, once it is as `wanted`.
    pub async fn until(&self, what: &str, wanted: impl Fn(&Snapshot) -> bool) -> Arc<Snapshot> {
        let mut topics = self.topics.clone();
        let there = topics.wait_for(|all| all.get(&self.name).is_some_and(|store| wanted(store)));
        match tokio::time::timeout(LIMIT, there).await {
            Ok(all) => all.get(&self.name).unwrap().clone(),
            Err(_) => panic!("waited {LIMIT:?} in vain until {what}; the store holds {:?}", self.names()),
        }
    }

    /// The store, once its objects have these names.
    #[allow(dead_code)]
    pub async fn until_named(&self, names: &[&str]) -> Arc<Snapshot> {
        self.until(&format!("the objects are {names:?}"), |store| names_of(store) == names).await
    }

    /// The text of the first event that `wanted` gives one for.
    #[allow(dead_code)]
    pub async fn event(&mut self, what: &str, wanted: impl Fn(&Event) -> Option<String>) -> String {
        let found = async {
            loop {
                let envelope = self.events.recv().await.unwrap();
                if let Some(text) = wanted(&envelope.payload) {
                    return text;
                }
            }
        };
        match tokio::time::timeout(LIMIT, found).await {
            Ok(text) => text,
            Err(_) => panic!("waited {LIMIT:?} in vain for {what}"),
        }
    }

    #[allow(dead_code)]
    pub async fn failure(&mut self) -> String {
        let failed = |event: &Event| match event {
            Event::WatchFailed { message, .. } => Some(message.clone()),
            _ => None,
        };
        self.event("a failure of the watch", failed).await
    }

    /// Waits until nothing keeps it from being read.
    #[allow(dead_code)]
    pub async fn until_readable(&self) {
        let mut troubles = self.job.stores.troubles();
        let over = troubles.wait_for(|all| !all.contains_key(self.name.as_str()));
        if tokio::time::timeout(LIMIT, over).await.is_err() {
            panic!("waited {LIMIT:?} in vain until it can be read: {:?}", self.trouble());
        }
    }

    /// Waits until it cannot be read for a reason with these words.
    #[allow(dead_code)]
    pub async fn until_unreadable(&self, words: &str) {
        let mut troubles = self.job.stores.troubles();
        let told =
            troubles.wait_for(|all| all.get(self.name.as_str()).is_some_and(|why| why.contains(words)));
        if tokio::time::timeout(LIMIT, told).await.is_err() {
            panic!("waited {LIMIT:?} in vain until {words:?} keeps it from being read: {:?}", self.trouble());
        }
    }

    /// Why it cannot be read, as readiness shows it.
    #[allow(dead_code)]
    pub fn trouble(&self) -> Option<String> {
        self.job.stores.troubles().latest().get(self.name.as_str()).cloned()
    }

    #[allow(dead_code)]
    pub async fn limit(&mut self) -> String {
        let reached = |event: &Event| match event {
            Event::LimitReached { reached } => Some(reached.to_string()),
            _ => None,
        };
        self.event("a limit that is reached", reached).await
    }

    #[allow(dead_code)]
    pub async fn refusal(&mut self) -> String {
        let refused = |event: &Event| match event {
            Event::ManifestRefused { message, .. } => Some(message.clone()),
            _ => None,
        };
        self.event("a refused manifest", refused).await
    }

    #[allow(dead_code)]
    pub async fn ignored(&mut self) -> String {
        let ignored = |event: &Event| match event {
            Event::ManifestIgnored { message, .. } => Some(message.clone()),
            _ => None,
        };
        self.event("an ignored manifest", ignored).await
    }

    /// The file that nothing is wrong with any more.
    #[allow(dead_code)]
    pub async fn mended(&mut self) -> String {
        let mended = |event: &Event| match event {
            Event::ManifestMended { file } => Some(file.to_string()),
            _ => None,
        };
        self.event("a mended manifest", mended).await
    }

    #[allow(dead_code)]
    pub async fn change(&mut self) -> Changed {
        tokio::time::timeout(LIMIT, self.changes.recv()).await.unwrap().unwrap()
    }

    /// How many snapshots were published, as far as events of them were not taken yet.
    #[allow(dead_code)]
    pub fn publications(&mut self) -> usize {
        let events = std::iter::from_fn(|| self.events.try_recv().ok());
        events.filter(|event| matches!(**event, Event::StoreSynced { .. } | Event::StoreSize { .. })).count()
    }

    fn names(&self) -> Vec<String> {
        self.topics.latest().get(&self.name).map(|store| names_of(store)).unwrap_or_default()
    }
}

/// Snapshots that are published while this task has no turn are one change.
async fn follow(mut stores: Topic<Snapshots>, name: String, changed: UnboundedSender<Changed>) {
    let mut before = stores.latest();
    loop {
        let now = stores.changed().await;
        let initial = !before.synced([&*name]) && now.synced([&*name]);
        let cause = now.changes().since(before.changes());
        before = now;
        if (initial || cause.is_some())
            && changed.send(Changed { initial, cause: cause.unwrap_or_default() }).is_err()
        {
            return;
        }
    }
}

pub fn names_of(store: &Snapshot) -> Vec<String> {
    store.iter().map(|object| format!("{}/{}", object.reference.namespace, object.reference.name)).collect()
}
