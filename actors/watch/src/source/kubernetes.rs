//! List and watch through the API server, one watch for each namespace that is asked for.
//!
//! Everything is tried again for ever, with back-off; what a person must do something about is said as a sentence.

use super::{
    backoff::Backoff,
    discovery::{DiscoveredResource, DiscoveryFailure, Served, discover},
    messages::{self, Remedy},
    offers::Offers,
    raw::{PAGE, RawSource},
};
use crate::{
    ingest::{Ingest, Ingested},
    pool::Pool,
    spec::WatchSpec,
    update::{ListScope, Update},
};
use futures::StreamExt;
use haptic_model::crd::WatchedResource;
use k8s_openapi::api::core::v1::Namespace;
use kube::{
    Api, Client, ResourceExt,
    api::ApiResource,
    runtime::watcher::{self, Event, watcher},
};
use std::{
    collections::{BTreeMap, BTreeSet},
    pin::pin,
    sync::Arc,
    time::Duration,
};
use tokio::{
    sync::{mpsc::Sender, watch},
    task::{AbortHandle, JoinSet},
};

/// A kind that may be absent is looked for again after this time.
const UNTIL_INSTALLED: Duration = Duration::from_secs(3);

/// Watches one resource in a cluster.
#[derive(Clone)]
pub(crate) struct KubernetesSource {
    client: Client,
    spec: Arc<WatchSpec>,
    ingest: Arc<Ingest>,
    pool: Pool,
    discovered: DiscoveredResource,
}

/// Why a watch came to an end.
enum WatchEnd {
    /// Nobody listens any more.
    Closed,
    /// It must be looked up again: why.
    Rediscover(String),
}

type WatchFuture = Result<std::convert::Infallible, WatchEnd>;

impl KubernetesSource {
    pub(crate) fn new(client: Client, spec: Arc<WatchSpec>, ingest: Arc<Ingest>, pool: Pool) -> Self {
        Self { client, spec, ingest, pool, discovered: DiscoveredResource::default() }
    }

    /// The resource, once it is known.
    pub(crate) fn discovered(&self) -> DiscoveredResource {
        self.discovered.clone()
    }

    /// Watches until `out` is closed.
    pub(crate) async fn run(self, out: Sender<Update>, wanted: watch::Receiver<BTreeSet<ListScope>>) {
        let mut backoff = Backoff::new();
        loop {
            let failure = match discover(&self.client, &self.spec).await {
                Ok(served) => {
                    backoff.reset();
                    match self.watch(Arc::new(served), &out, wanted.clone()).await {
                        WatchEnd::Closed => return,
                        WatchEnd::Rediscover(message) => Update::Failed(message),
                    }
                }
                Err(DiscoveryFailure::NotServed(message)) if self.spec.resource.optional => {
                    backoff.reset();
                    Update::Absent(message)
                }
                Err(DiscoveryFailure::NotServed(message) | DiscoveryFailure::Failed(message)) => {
                    Update::Failed(message)
                }
            };
            let is_absent = matches!(failure, Update::Absent(_));
            if out.send(failure).await.is_err() {
                return;
            }
            tokio::select! {
                () = tokio::time::sleep(UNTIL_INSTALLED), if is_absent => {}
                () = backoff.wait(), if !is_absent => {}
                () = out.closed() => return,
            }
        }
    }

    async fn watch(
        &self,
        served: Arc<Served>,
        out: &Sender<Update>,
        wanted: watch::Receiver<BTreeSet<ListScope>>,
    ) -> WatchEnd {
        let resource = &self.spec.resource;
        let by_namespace = !resource.namespaces.is_empty() || resource.selects_namespaces().is_some();
        if by_namespace && !served.namespaced {
            let name = &self.spec.name;
            return WatchEnd::Rediscover(format!(
                "{} are not in any namespace: remove namespaces and namespaceSelector of watchedResources.{name}",
                resource.resources
            ));
        }
        self.discovered.set(served.clone());
        let offers = Offers {
            client: self.client.clone(),
            spec: self.spec.clone(),
            ingest: self.ingest.clone(),
            served: served.clone(),
            pool: self.pool.clone(),
            out: out.clone(),
        };
        let ended = tokio::select! {
            ended = self.watch_all(&served, out) => ended,
            Err(_) = offers.run(wanted) => Err(WatchEnd::Closed),
        };
        match ended {
            Err(end) => end,
            Ok(never) => match never {},
        }
    }

    async fn watch_all(&self, served: &Arc<Served>, out: &Sender<Update>) -> WatchFuture {
        let resource = &self.spec.resource;
        match resource.selects_namespaces() {
            None if resource.namespaces.is_empty() => {
                self.fixed([ListScope::from("")].into(), served, out).await
            }
            None => {
                let scopes = resource.namespaces.iter().map(|name| ListScope::from(name.as_str())).collect();
                self.fixed(scopes, served, out).await
            }
            Some(selector) => self.selected(selector, served, out).await,
        }
    }

    async fn fixed(
        &self,
        scopes: BTreeSet<ListScope>,
        served: &Arc<Served>,
        out: &Sender<Update>,
    ) -> WatchFuture {
        let mut watches = Watches::default();
        watches.follow(self, scopes, served, out).await?;
        watches.ended().await
    }

    /// Namespaces come and go with their labels.
    async fn selected(&self, selector: &str, served: &Arc<Served>, out: &Sender<Update>) -> WatchFuture {
        let namespaces: Api<RawSource<true>> =
            Api::all_with(self.client.clone(), &ApiResource::erase::<Namespace>(&()));
        let config = watcher::Config::default().labels(selector);
        let mut stream = pin!(watcher(namespaces, config));
        let mut watches = Watches::default();
        let mut backoff = Backoff::new();
        let (mut selected, mut listing) = (BTreeSet::<ListScope>::new(), BTreeSet::<ListScope>::new());
        loop {
            let event = tokio::select! {
                ended = watches.ended(), if !watches.tasks.is_empty() => return ended,
                () = out.closed() => return Err(WatchEnd::Closed),
                event = stream.next() => event,
            };
            match event {
                Some(Ok(Event::Init)) => listing.clear(),
                Some(Ok(Event::InitApply(namespace))) => {
                    listing.insert(namespace.name_any().into());
                }
                Some(Ok(event)) => {
                    backoff.reset();
                    match event {
                        Event::Apply(namespace) => {
                            selected.insert(namespace.name_any().into());
                        }
                        Event::Delete(namespace) => {
                            selected.remove(namespace.name_any().as_str());
                        }
                        _ => selected = std::mem::take(&mut listing),
                    }
                    watches.follow(self, self.allowed(&selected), served, out).await?;
                }
                Some(Err(error)) => {
                    self.recover(&error, &namespaces_spec(&self.spec), "", &mut backoff, out).await?;
                }
                None => return Err(WatchEnd::Rediscover("the watch of namespaces ended".into())),
            }
        }
    }

    /// Of the selected namespaces those that `namespaces` names, if it names any.
    fn allowed(&self, selected: &BTreeSet<ListScope>) -> BTreeSet<ListScope> {
        let named = &self.spec.resource.namespaces;
        selected
            .iter()
            .filter(|name| named.is_empty() || named.iter().any(|n| **n == ***name))
            .cloned()
            .collect()
    }

    /// Watches one scope for ever.
    async fn scope(self, scope: ListScope, served: Arc<Served>, out: Sender<Update>) -> WatchFuture {
        if self.spec.watches_metadata() {
            self.scope_of::<true>(scope, served, out).await
        } else {
            self.scope_of::<false>(scope, served, out).await
        }
    }

    async fn scope_of<const METADATA: bool>(
        self,
        scope: ListScope,
        served: Arc<Served>,
        out: Sender<Update>,
    ) -> WatchFuture {
        let mut backoff = Backoff::new();
        loop {
            let client = self.client.clone();
            let api: Api<RawSource<METADATA>> = if scope.is_empty() {
                Api::all_with(client, &served.resource)
            } else {
                Api::namespaced_with(client, &scope, &served.resource)
            };
            let mut stream = pin!(watcher(api, self.watch_config()));
            let mut turn = None;
            while let Some(event) = stream.next().await {
                match event {
                    Ok(event) => {
                        match event {
                            Event::Init => turn = self.pool.turn().await,
                            Event::InitDone => drop(turn.take()),
                            _ => {}
                        }
                        // A list that begins is not yet a success.
                        if !matches!(event, Event::Init) {
                            backoff.reset();
                        }
                        let update = self.update(event, &scope, &served);
                        out.send(update).await.map_err(|_| WatchEnd::Closed)?;
                    }
                    Err(error) => {
                        drop(turn.take());
                        if self.recover(&error, &self.spec, &scope, &mut backoff, &out).await? {
                            break;
                        }
                    }
                }
            }
        }
    }

    /// Tells and waits; whether the list must begin anew.
    async fn recover(
        &self,
        error: &watcher::Error,
        spec: &WatchSpec,
        namespace: &str,
        backoff: &mut Backoff,
        out: &Sender<Update>,
    ) -> Result<bool, WatchEnd> {
        let remedy = messages::remedy(error, backoff.failures());
        let sentence = messages::of_watch(error, spec, namespace);
        match remedy {
            Remedy::Rediscover => return Err(WatchEnd::Rediscover(sentence)),
            Remedy::Routine => tracing::debug!(resource = &*spec.name, %error, "watch interrupted"),
            Remedy::Wait | Remedy::List => {
                out.send(Update::Failed(sentence)).await.map_err(|_| WatchEnd::Closed)?;
            }
        }
        backoff.wait().await;
        Ok(remedy == Remedy::List)
    }

    /// Pages, so that a list never exists as one document; bookmarks, so that a quiet watch is resumed.
    fn watch_config(&self) -> watcher::Config {
        watcher::Config {
            label_selector: self.spec.resource.label_selector.clone(),
            field_selector: self.spec.resource.field_selector.clone(),
            page_size: Some(PAGE),
            ..watcher::Config::default()
        }
    }

    fn update<const METADATA: bool>(
        &self,
        event: Event<RawSource<METADATA>>,
        scope: &ListScope,
        served: &Served,
    ) -> Update {
        let update = |raw: RawSource<METADATA>, taken: fn(ListScope, Ingested) -> Update| {
            self.ingest.update(raw.typed(&served.resource), scope, taken)
        };
        match event {
            Event::Init => Update::ListBegun(scope.clone()),
            Event::InitDone => Update::ListEnded(scope.clone()),
            Event::InitApply(raw) => update(raw, Update::Listed),
            Event::Apply(raw) => update(raw, Update::Put),
            Event::Delete(raw) => match self.ingest.reference(&raw.typed(&served.resource)) {
                Ok(reference) => Update::Gone(scope.clone(), reference),
                Err(malformed) => Update::Malformed(scope.clone(), malformed.object, malformed.message),
            },
        }
    }
}

/// The running watches, one for each scope.
#[derive(Default)]
struct Watches {
    tasks: JoinSet<WatchFuture>,
    by_scope: BTreeMap<ListScope, AbortHandle>,
    is_reported: bool,
}

impl Watches {
    /// Makes the running watches those of `scopes`.
    async fn follow(
        &mut self,
        source: &KubernetesSource,
        scopes: BTreeSet<ListScope>,
        served: &Arc<Served>,
        out: &Sender<Update>,
    ) -> Result<(), WatchEnd> {
        if self.is_reported && self.by_scope.keys().eq(&scopes) {
            return Ok(());
        }
        self.is_reported = true;
        self.by_scope.retain(|scope, watch| {
            let stays = scopes.contains(scope);
            if !stays {
                watch.abort();
            }
            stays
        });
        out.send(Update::Scopes(scopes.clone())).await.map_err(|_| WatchEnd::Closed)?;
        for scope in scopes {
            if !self.by_scope.contains_key(&scope) {
                let watch = source.clone().scope(scope.clone(), served.clone(), out.clone());
                self.by_scope.insert(scope, self.tasks.spawn(watch));
            }
        }
        Ok(())
    }

    /// Resolves when one of the watches has ended for a reason; aborted ones have none.
    async fn ended(&mut self) -> WatchFuture {
        while let Some(ended) = self.tasks.join_next().await {
            match ended {
                Ok(ended) => return ended,
                Err(error) if error.is_cancelled() => {}
                Err(error) => {
                    return Err(WatchEnd::Rediscover(format!("the watch failed in itself: {error}")));
                }
            }
        }
        std::future::pending().await
    }
}

/// How errors name the watch of namespaces behind a `namespaceSelector`.
fn namespaces_spec(spec: &WatchSpec) -> WatchSpec {
    let resource = WatchedResource {
        api_version: "v1".into(),
        resources: "namespaces".into(),
        ..WatchedResource::default()
    };
    WatchSpec::new(&spec.name, &resource, &[], spec.limits)
}

impl std::fmt::Debug for KubernetesSource {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("KubernetesSource").field("spec", &self.spec).finish_non_exhaustive()
    }
}
