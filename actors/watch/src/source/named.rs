//! Where a named store gets its objects from: a watch of metadata, and a request for each object that others name.
//!
//! What it sends is what a watch of whole objects would send, for those that are named.

use super::{
    backoff::Backoff, discovery::DiscoveredResource, kubernetes::KubernetesSource, messages, offers::Closed,
    on_demand,
};
use crate::{
    ingest::{Ingest, Ingested},
    named::{KnownObjects, MetadataChange, Question, Registration, ToFetch, lock},
    spec::WatchSpec,
    stores::Stores,
    update::{ListScope, Update},
};
use futures::StreamExt;
use haptic_model::{ObjectRef, gateway::NamespacedName};
use kube::Client;
use std::{
    collections::{BTreeMap, BTreeSet, HashMap, HashSet},
    fmt,
    sync::Arc,
    time::Duration,
};
use tokio::{
    sync::{mpsc, watch},
    task::JoinHandle,
    time::Instant,
};

/// So many updates of metadata may wait.
const BATCH: usize = 512;
/// So many requests are under way at once.
const AT_ONCE: usize = 32;
/// So many are fetched before anybody else is heard, and more where there are more namespaces: each has its share of them.
const ROUND: usize = 64;
/// Who publishes objects that name more of one namespace at once does not wait for the rest: that would be everybody's wait.
const WAITED_FOR: usize = 16;
/// One that is not answered is tried again: the others wait for it.
const TIMEOUT: Duration = Duration::from_secs(5);
/// The store begins without what cannot be had for so long while other objects can: nobody else waits for it any longer.
const FIRST_TIMEOUT: Duration = Duration::from_secs(30);
/// Looking through all objects for new names is done in no more than this part of the time.
const REST: u32 = 10;

/// Sends the objects of one named store.
pub(crate) struct NamedSource {
    pub metadata: KubernetesSource,
    pub client: Client,
    pub spec: Arc<WatchSpec>,
    /// For whole objects.
    pub ingest: Arc<Ingest>,
    pub stores: Stores,
}

/// How an object goes to the store: as one of a list, as a change, or offered again.
type AsUpdate = fn(ListScope, Ingested) -> Update;

struct NamedPump {
    source: NamedSource,
    served: DiscoveredResource,
    out: mpsc::Sender<Update>,
    registration: Registration,
    /// Running lists, with what they have named so far.
    lists: HashMap<ListScope, HashSet<Arc<ObjectRef>>>,
    /// What an earlier life of this source had given to the store.
    before: BTreeSet<NamespacedName>,
    /// What is to be fetched before anything else is sent.
    fetches: BTreeMap<NamespacedName, (ToFetch, AsUpdate)>,
    /// New objects, which somebody may name.
    new: BTreeSet<NamespacedName>,
    /// When these may be looked for next.
    next_look: Instant,
    /// Those of them that are being looked for, and since when.
    look: Option<(JoinHandle<BTreeSet<NamespacedName>>, Instant)>,
    /// What could not be fetched, and when it is tried again.
    failed: BTreeSet<NamespacedName>,
    retry_at: Instant,
    retries: Backoff,
}

impl NamedSource {
    /// Sends updates for as long as `out` is open.
    pub(crate) async fn run(self, out: mpsc::Sender<Update>, wanted: watch::Receiver<BTreeSet<ListScope>>) {
        let (sender, updates) = mpsc::channel(BATCH);
        let (registration, questions) = self.stores.named().register(&self.spec.name);
        let metadata = self.metadata.clone();
        let before = self.stores.last(&self.spec.name);
        let before = before.iter().map(|object| name_of(&object.reference)).collect();
        let objects = NamedPump {
            served: metadata.discovered(),
            source: self,
            out: out.clone(),
            registration,
            lists: HashMap::new(),
            before,
            fetches: BTreeMap::new(),
            new: BTreeSet::new(),
            next_look: Instant::now(),
            look: None,
            failed: BTreeSet::new(),
            retry_at: Instant::now(),
            retries: Backoff::new(),
        };
        tokio::select! {
            () = metadata.run(sender, wanted) => {}
            Err(Closed) = objects.run(updates, questions) => {}
            () = out.closed() => {}
        }
    }
}

impl NamedPump {
    async fn run(
        mut self,
        mut updates: mpsc::Receiver<Update>,
        mut questions: mpsc::UnboundedReceiver<Question>,
    ) -> Result<(), Closed> {
        let mut batch = Vec::with_capacity(BATCH);
        loop {
            let is_ready = self.known(|known| known.is_ready);
            let may_look = is_ready && !self.new.is_empty() && self.look.is_none();
            let next_look = self.next_look;
            let (retry_at, has_failed) = (self.retry_at, !self.failed.is_empty());
            tokio::select! {
                read = updates.recv_many(&mut batch, BATCH) => {
                    if read == 0 {
                        return Err(Closed);
                    }
                    for update in batch.drain(..) {
                        self.take(update).await?;
                    }
                }
                Some(question) = questions.recv() => self.answer(question).await?,
                () = tokio::time::sleep_until(next_look), if may_look => {
                    let new = std::mem::take(&mut self.new);
                    self.look = Some((self.look_for(&new), Instant::now()));
                }
                named = found(&mut self.look) => {
                    if let Some((_, began)) = self.look.take() {
                        self.next_look = Instant::now() + began.elapsed() * REST;
                    }
                    self.want(named, Update::Put);
                }
                () = tokio::time::sleep_until(retry_at), if has_failed => {
                    let failed = std::mem::take(&mut self.failed);
                    self.want(failed, Update::Put);
                }
                () = std::future::ready(()), if !self.fetches.is_empty() => {}
            }
            let round = shared_out(&self.fetches, ROUND);
            self.fetch_only(round).await?;
        }
    }

    /// Fetches what is asked for, before everything that waits to be fetched.
    async fn answer(&mut self, question: Question) -> Result<(), Closed> {
        let mut of_namespaces: HashMap<Arc<str>, usize> = HashMap::new();
        let (waited_for, rest): (Vec<_>, Vec<_>) =
            question.objects.into_iter().partition(|(namespace, _)| {
                let count = of_namespaces.entry(namespace.clone()).or_default();
                *count += 1;
                *count <= WAITED_FOR
            });
        self.want(rest, Update::Put);
        self.want(waited_for.iter().cloned(), Update::Put);
        self.fetch_only(waited_for).await?;
        self.send(Update::Awaited(question.answered)).await
    }

    /// Fetches these of what is to be fetched.
    async fn fetch_only(&mut self, names: Vec<NamespacedName>) -> Result<(), Closed> {
        let now = names.into_iter().filter_map(|name| self.fetches.remove_entry(&name)).collect();
        let later = std::mem::replace(&mut self.fetches, now);
        let fetched = self.fetch().await;
        self.fetches = later;
        fetched
    }

    /// Takes one update of metadata.
    async fn take(&mut self, update: Update) -> Result<(), Closed> {
        match update {
            Update::Listed(scope, object) => {
                let reference = object.object.reference.clone();
                self.lists.entry(scope.clone()).or_default().insert(reference.clone());
                match self.see(&scope, &object) {
                    MetadataChange::Same => return self.send(Update::Kept(scope, reference)).await,
                    MetadataChange::Changed => self.want([name_of(&reference)], Update::Listed),
                    MetadataChange::NotHeld => {}
                }
            }
            Update::Put(scope, object) => {
                let name = name_of(&object.object.reference);
                match self.see(&scope, &object) {
                    MetadataChange::Same => {}
                    MetadataChange::Changed => self.want([name], Update::Put),
                    MetadataChange::NotHeld => drop(self.new.insert(name)),
                }
            }
            Update::Offered(scope, object) => {
                let reference = object.object.reference;
                if self.known(|known| known.is_held(&reference)) {
                    let name = name_of(&reference);
                    self.fetches.insert(name, (ToFetch { scope, reference }, Update::Offered));
                }
            }
            Update::Gone(scope, reference) => {
                let name = name_of(&reference);
                self.fetches.remove(&name);
                self.new.remove(&name);
                self.failed.remove(&name);
                if self.known(|known| known.forget(&reference)) {
                    self.send(Update::Gone(scope, reference)).await?;
                }
            }
            Update::ListEnded(scope) => {
                self.end_list(&scope).await?;
                self.send(Update::ListEnded(scope)).await?;
            }
            Update::Scopes(scopes) => {
                self.known(|known| known.forget_all(|scope, _| !scopes.contains(scope)));
                self.send(Update::Scopes(scopes)).await?;
            }
            Update::ListBegun(scope) => {
                self.lists.insert(scope.clone(), HashSet::new());
                self.send(Update::ListBegun(scope)).await?;
            }
            other => {
                self.fetch().await?;
                self.send(other).await?;
            }
        }
        Ok(())
    }

    /// A list has ended: what it did not name is gone, and what others name of it is fetched. A store's first one waits until the other stores
    /// are read, because nobody knows before what they name, and until all of that is fetched.
    async fn end_list(&mut self, ended: &ListScope) -> Result<(), Closed> {
        let listed = self.lists.remove(ended).unwrap_or_default();
        self.known(|known| known.forget_all(|scope, object| scope == ended && !listed.contains(object)));
        let is_first = !self.known(|known| known.is_ready);
        if is_first {
            let (named, mut topic) = (self.source.stores.named().clone(), self.source.stores.topic());
            let had_any = !self.before.is_empty();
            topic.wait_for(|snapshots| had_any || named.is_complete(snapshots)).await;
            // Who publishes from here on asks; what was published before is looked through.
            self.registration.begin();
        }
        let of_list = |object: &&Arc<ObjectRef>| listed.contains(*object);
        let not_held =
            self.known(|known| known.not_held().filter(of_list).map(|object| name_of(object)).collect());
        let mut named = self.look_for(&not_held).await.unwrap_or_default();
        named.extend(not_held.intersection(&self.before).cloned());
        let fetched = named.len();
        self.want(named, Update::Listed);
        self.fetch().await?;
        let began = Instant::now();
        // A controller that may not read Secrets would serve everybody without certificates.
        while is_first
            && !self.failed.is_empty()
            && (self.failed.len() == fetched || began.elapsed() < FIRST_TIMEOUT)
        {
            tokio::time::sleep_until(self.retry_at).await;
            let failed = std::mem::take(&mut self.failed);
            self.want(failed, Update::Listed);
            self.fetch().await?;
        }
        Ok(())
    }

    /// Looks for those of `objects` that any other object or the configuration names.
    fn look_for(&self, objects: &BTreeSet<NamespacedName>) -> JoinHandle<BTreeSet<NamespacedName>> {
        let mut wanted = KnownObjects::default();
        self.known(|known| {
            for found in objects.iter().filter_map(|object| known.to_fetch(object)) {
                wanted.see(&found.scope, &found.reference, "");
            }
        });
        let stores = &self.source.stores;
        tokio::task::spawn_blocking(stores.named().looking_for(wanted, &stores.read()))
    }

    /// These are to be fetched and sent, as far as they are there.
    fn want(&mut self, objects: impl IntoIterator<Item = NamespacedName>, as_update: AsUpdate) {
        for name in objects {
            if let Some(to_fetch) = self.known(|known| known.to_fetch(&name)) {
                self.new.remove(&name);
                self.fetches.insert(name, (to_fetch, as_update));
            }
        }
    }

    /// Fetches all that is to be fetched.
    async fn fetch(&mut self) -> Result<(), Closed> {
        if self.fetches.is_empty() {
            return Ok(());
        }
        let fetches = std::mem::take(&mut self.fetches);
        let Some(served) = self.served.get() else {
            self.failed.extend(fetches.into_keys());
            self.retry_at = Instant::now() + self.retries.pause();
            return Ok(());
        };
        let client = &self.source.client;
        let requests = fetches.into_values().map(|(to_fetch, as_update)| {
            let (client, served) = (client.clone(), served.clone());
            async move {
                let answer = on_demand::get(client, &served, &to_fetch.reference);
                let answer = tokio::time::timeout(TIMEOUT, answer).await;
                (to_fetch, as_update, answer)
            }
        });
        let mut answers = std::pin::pin!(futures::stream::iter(requests).buffer_unordered(AT_ONCE));
        let mut failure = None;
        while let Some((ToFetch { scope, reference }, as_update, answer)) = answers.next().await {
            let update = match answer {
                Ok(Ok(Some(raw))) => {
                    lock(&self.registration.known).hold(&reference, &raw.version());
                    self.source.ingest.update(raw.typed(&served.resource), &scope, as_update)
                }
                // The watch says the same, or has not heard of it yet.
                Ok(Ok(None)) => Update::Gone(scope, reference),
                unanswered => {
                    failure = Some(match unanswered {
                        Ok(Err(error)) => {
                            messages::of_call(&error, "get", &self.source.spec, &reference.namespace)
                        }
                        _ => format!(
                            "the API server did not answer within {TIMEOUT:?} when asked for {reference}"
                        ),
                    });
                    self.failed.insert(name_of(&reference));
                    Update::Kept(scope, reference)
                }
            };
            self.out.send(update).await.map_err(|_| Closed)?;
        }
        match failure {
            Some(failure) => {
                self.retry_at = Instant::now() + self.retries.pause();
                self.send(Update::Failed(failure)).await
            }
            None if self.retries.failures() > 0 && self.failed.is_empty() => {
                self.retries.reset();
                self.send(Update::Recovered).await
            }
            None => Ok(()),
        }
    }

    fn see(&self, scope: &ListScope, object: &Ingested) -> MetadataChange {
        self.known(|known| known.see(scope, &object.object.reference, &object.stamp))
    }

    fn known<T>(&self, read: impl FnOnce(&mut KnownObjects) -> T) -> T {
        read(&mut lock(&self.registration.known))
    }

    async fn send(&self, update: Update) -> Result<(), Closed> {
        self.out.send(update).await.map_err(|_| Closed)
    }
}

/// About so many of `fetches`, and one of each namespace at least: who has thousands keeps nobody waiting.
fn shared_out<T>(fetches: &BTreeMap<NamespacedName, T>, about: usize) -> Vec<NamespacedName> {
    let mut of_namespaces: HashMap<&Arc<str>, usize> = HashMap::new();
    for (namespace, _) in fetches.keys() {
        *of_namespaces.entry(namespace).or_default() += 1;
    }
    let share = (about / of_namespaces.len().max(1)).max(1);
    of_namespaces.values_mut().for_each(|left| *left = share);
    let mine = |(namespace, _): &&NamespacedName| match of_namespaces.get_mut(namespace) {
        Some(left) if *left > 0 => {
            *left -= 1;
            true
        }
        _ => false,
    };
    fetches.keys().filter(mine).cloned().collect()
}

/// What was looked for and found; never, while nothing is looked for.
async fn found(
    look: &mut Option<(JoinHandle<BTreeSet<NamespacedName>>, Instant)>,
) -> BTreeSet<NamespacedName> {
    match look {
        Some((task, _)) => task.await.unwrap_or_default(),
        None => std::future::pending().await,
    }
}

fn name_of(reference: &ObjectRef) -> NamespacedName {
    (reference.namespace.clone(), reference.name.clone())
}

impl fmt::Debug for NamedSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NamedSource").field("spec", &self.spec).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_namespace_has_its_share_of_a_round() {
        let flood = (0..1000).map(|number| ("a", format!("s{number}")));
        let all = flood.chain([("z", "renewed".to_owned())]);
        let fetches = all.map(|(namespace, name)| ((namespace.into(), name.into()), ())).collect();
        let round = shared_out(&fetches, 64);
        assert_eq!(round.len(), 33);
        assert!(round.iter().any(|(namespace, _)| &**namespace == "z"));
        assert_eq!(shared_out(&fetches, 1).len(), 2, "one of each");
    }
}
