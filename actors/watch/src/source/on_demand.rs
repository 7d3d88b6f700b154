//! Objects of on-demand stores: fetched when a render reads them, kept for half a minute at most.
//!
//! The cache is bounded in bytes, and an object is dropped from it as soon as the watch sees a change. Called from
//! render threads, which wait here; never from the runtime's own workers.

use super::{
    directory::Directory,
    discovery::{DiscoveredResource, Served},
    messages,
    raw::RawSource,
};
use crate::{ingest::Ingest, named::NamedStores, spec::WatchSpec};
use haptic_model::{
    Object, ObjectRef,
    store::{FetchError, FetchObject},
};
use kube::{Api, Client};
use moka::sync::Cache;
use std::{
    fmt,
    sync::{Arc, Mutex, PoisonError, mpsc},
    time::Duration,
};
use tokio::runtime::Handle;

/// How long an object that nothing changed is believed.
const TIME_TO_LIVE: Duration = Duration::from_secs(30);
/// The longest a render waits for one object.
const TIMEOUT: Duration = Duration::from_secs(5);
/// Bytes of JSON kept.
const CAPACITY: u64 = 16 << 20;

/// Fetches the objects of one store.
pub struct OnDemand {
    spec: Arc<WatchSpec>,
    ingest: Arc<Ingest>,
    origin: FetchSource,
    cache: Cache<Arc<ObjectRef>, Arc<Object>>,
    /// Counts changes seen, so that an answer which a change overtook is not kept.
    changes: Mutex<u64>,
    /// Are told of what the objects name.
    named: NamedStores,
}

enum FetchSource {
    /// The resource is known once it has been discovered.
    Cluster {
        client: Client,
        runtime: Handle,
        served: DiscoveredResource,
    },
    Files(Directory),
}

impl OnDemand {
    pub(crate) fn from_cluster(
        client: Client,
        served: DiscoveredResource,
        spec: &Arc<WatchSpec>,
        ingest: &Arc<Ingest>,
        named: NamedStores,
    ) -> Arc<Self> {
        let origin = FetchSource::Cluster { client, runtime: Handle::current(), served };
        Self::new(origin, spec, ingest, named)
    }

    pub(crate) fn from_files(directory: Directory, spec: &Arc<WatchSpec>, ingest: &Arc<Ingest>) -> Arc<Self> {
        Self::new(FetchSource::Files(directory), spec, ingest, NamedStores::default())
    }

    fn new(
        origin: FetchSource,
        spec: &Arc<WatchSpec>,
        ingest: &Arc<Ingest>,
        named: NamedStores,
    ) -> Arc<Self> {
        let weigh =
            |_: &Arc<ObjectRef>, object: &Arc<Object>| u32::try_from(object.json.len()).unwrap_or(u32::MAX);
        let cache = Cache::builder().max_capacity(CAPACITY).weigher(weigh).time_to_live(TIME_TO_LIVE).build();
        let (spec, ingest) = (spec.clone(), ingest.clone());
        Arc::new(Self { spec, ingest, origin, cache, changes: Mutex::new(0), named })
    }

    /// The object changed: the next read fetches it.
    pub(crate) fn outdate(&self, reference: &Arc<ObjectRef>) {
        let mut changes = self.changes.lock().unwrap_or_else(PoisonError::into_inner);
        *changes += 1;
        self.cache.invalidate(reference);
    }

    fn changes(&self) -> u64 {
        *self.changes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn keep(&self, reference: &Arc<ObjectRef>, object: &Arc<Object>, asked_at: u64) {
        let changes = self.changes.lock().unwrap_or_else(PoisonError::into_inner);
        if *changes == asked_at {
            self.cache.insert(reference.clone(), object.clone());
        }
    }

    fn load(&self, reference: &Arc<ObjectRef>) -> Result<Option<Object>, FetchError> {
        match &self.origin {
            FetchSource::Files(directory) => directory.fetch(&self.spec, &self.ingest, reference, TIMEOUT),
            FetchSource::Cluster { client, runtime, served } => {
                let unknown = || format!("{reference} cannot be fetched: its resource is not known yet");
                let served = served.get().ok_or_else(|| FetchError::Unanswered(unknown()))?;
                let (answer, answered) = mpsc::sync_channel(1);
                let call =
                    fetch(client.clone(), served, self.spec.clone(), self.ingest.clone(), reference.clone());
                // Waiting on a channel, unlike `Handle::block_on`, cannot panic whatever thread this is.
                let task = runtime.spawn(async move { answer.send(call.await) });
                answered.recv_timeout(TIMEOUT).unwrap_or_else(|_| {
                    task.abort();
                    Err(FetchError::Unanswered(format!(
                        "{reference} cannot be fetched: the API server did not answer within {TIMEOUT:?}"
                    )))
                })
            }
        }
    }
}

impl FetchObject for OnDemand {
    fn fetch(&self, reference: &Arc<ObjectRef>) -> Result<Option<Arc<Object>>, FetchError> {
        if let Some(known) = self.cache.get(reference) {
            return Ok(Some(known));
        }
        let asked_at = self.changes();
        let Some(object) = self.load(reference)?.map(Arc::new) else { return Ok(None) };
        self.keep(reference, &object, asked_at);
        self.named.ask_for_named_by(&object);
        Ok(Some(object))
    }
}

/// One object as it is now, if it is there.
pub(super) async fn get(
    client: Client,
    served: &Served,
    reference: &ObjectRef,
) -> kube::Result<Option<RawSource<false>>> {
    let api: Api<RawSource<false>> = if served.namespaced {
        Api::namespaced_with(client, &reference.namespace, &served.resource)
    } else {
        Api::all_with(client, &served.resource)
    };
    api.get_opt(&reference.name).await
}

async fn fetch(
    client: Client,
    served: Arc<Served>,
    spec: Arc<WatchSpec>,
    ingest: Arc<Ingest>,
    reference: Arc<ObjectRef>,
) -> Result<Option<Object>, FetchError> {
    match get(client, &served, &reference).await {
        Ok(None) => Ok(None),
        Ok(Some(raw)) => ingest.take_whole(raw.typed(&served.resource)).map(Some).map_err(|malformed| {
            FetchError::Unusable(format!("{reference} cannot be used: {}", malformed.message))
        }),
        Err(error) => {
            let sentence = messages::of_call(&error, "get", &spec, &reference.namespace);
            Err(FetchError::Unanswered(format!("{reference} cannot be fetched: {sentence}")))
        }
    }
}

impl fmt::Debug for OnDemand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OnDemand").field("spec", &self.spec.name).finish_non_exhaustive()
    }
}
