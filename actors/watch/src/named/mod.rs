//! Stores that hold what others name: of a resource with many objects that nobody names, such as Secrets, only metadata is
//! watched, and the data of those is fetched that a watched object or the configuration names.
//!
//! An object names another one if that one's name stands anywhere in it as a word, and its namespace, too, where it is in another
//! one. A name in the configuration or in a ConfigMap is for all namespaces: it may be a default for everybody's routes. That is
//! more than templates ask for, and needs no knowledge of fields and annotations. What was named once stays in the store until it
//! is deleted or the process ends: nobody has to be asked whether somebody still names it.
//!
//! Whoever publishes an object waits until what it names is in the store, a second at most: nobody is told that a Secret is missing
//! because it is just being fetched.

mod known;
mod words;

use haptic_model::{HAProxyTemplateConfigSpec, Object, Snapshot, Snapshots, gateway::NamespacedName};
pub(crate) use known::{KnownObjects, MetadataChange, Reach, ToFetch};
use memchr::memmem;
use std::{
    collections::{BTreeMap, BTreeSet, HashSet},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};
use tokio::sync::{Notify, mpsc};
use words::words;

/// Nobody waits longer for what an object names.
const TIMEOUT: Duration = Duration::from_secs(1);
/// More bytes than these are looked through on a thread of their own.
const MANY_BYTES: usize = 64 << 10;
/// So many names are looked for one by one.
const FEW_NAMES: usize = 4;

/// The named stores that run, and what they need of the others; clones are the same.
#[derive(Clone, Debug, Default)]
pub struct NamedStores(Arc<Mutex<Shared>>);

#[derive(Debug, Default)]
struct Shared {
    stores: BTreeMap<Arc<str>, RegisteredStore>,
    /// The stores whose objects name others.
    naming: BTreeSet<Arc<str>>,
    configuration: Arc<ConfigurationWords>,
    /// The stores of ConfigMaps.
    config_maps: Arc<BTreeSet<Arc<str>>>,
    /// How many stores have come to be asked.
    ready: u64,
}

#[derive(Clone, Debug)]
struct RegisteredStore {
    known: SharedKnowledge,
    questions: mpsc::UnboundedSender<Question>,
}

/// What a store's source knows, and those who ask it.
pub(crate) type SharedKnowledge = Arc<Mutex<KnownObjects>>;

/// Of a named store that runs.
#[derive(Debug)]
pub(crate) struct Registration {
    stores: NamedStores,
    name: Arc<str>,
    pub known: SharedKnowledge,
}

/// Objects to fetch, and whom to tell when they are in the store.
#[derive(Debug)]
pub(crate) struct Question {
    pub objects: BTreeSet<NamespacedName>,
    pub answered: Arc<Notify>,
}

/// The words of an accepted configuration.
pub(crate) type ConfigurationWords = HashSet<Box<str>>;

/// Who names objects.
#[derive(Clone, Copy, Debug)]
pub enum NameOrigin<'n> {
    /// A configuration.
    Configuration,
    /// An object of the watched resource of that name.
    Object {
        /// The name under `watchedResources`.
        resource: &'n str,
        /// Empty for cluster-scoped objects.
        namespace: &'n str,
    },
}

/// Those who are asked, and what decides how far a name reaches.
#[derive(Clone)]
struct AskedStores {
    stores: Vec<RegisteredStore>,
    config_maps: Arc<BTreeSet<Arc<str>>>,
}

impl NamedStores {
    /// The source of the store `name` begins, and can be asked until the registration is dropped.
    pub(crate) fn register(&self, name: &Arc<str>) -> (Registration, mpsc::UnboundedReceiver<Question>) {
        let (questions, asked) = mpsc::unbounded_channel();
        let known = SharedKnowledge::default();
        self.shared().stores.insert(name.clone(), RegisteredStore { known: known.clone(), questions });
        (Registration { stores: self.clone(), name: name.clone(), known }, asked)
    }

    /// An accepted configuration names objects, and the stores `naming` have objects that do. Called before a store is published for it.
    pub fn follow(&self, spec: &HAProxyTemplateConfigSpec, naming: BTreeSet<Arc<str>>) {
        let json = serde_json::to_vec(spec).unwrap_or_default();
        let configuration = Arc::new(words(&json).map(Box::from).collect());
        let config_maps =
            spec.watched_resources.iter().filter(|(_, watched)| watched.resources == "configmaps");
        let config_maps = config_maps.map(|(name, _)| Arc::from(name.as_str())).collect();
        let asked = {
            let shared = &mut *self.shared();
            (shared.naming, shared.config_maps) = (naming, Arc::new(config_maps));
            shared.configuration = Arc::clone(&configuration);
            shared.asked()
        };
        drop(asked.ask(asked.missing(|known| missing_in(known, &configuration))));
    }

    fn configuration(&self) -> Arc<ConfigurationWords> {
        self.shared().configuration.clone()
    }

    /// Whether the stores whose objects name others have been read to their ends.
    pub(crate) fn is_complete(&self, snapshots: &Snapshots) -> bool {
        snapshots.synced(self.shared().naming.iter().map(|name| &**name))
    }

    /// How many stores have come to be asked: where that has changed, another one looked at what was published before.
    pub(crate) fn ready(&self) -> u64 {
        self.shared().ready
    }

    /// The stores whose objects name others: all but the named ones.
    fn naming_stores(&self, snapshots: &Snapshots) -> Vec<Arc<Snapshot>> {
        let shared = self.shared();
        let naming = snapshots.iter().filter(|(name, _)| !shared.stores.contains_key(*name));
        naming.map(|(_, store)| store.clone()).collect()
    }

    /// Waits until the named stores have what a JSON text names, a second at most.
    pub async fn fetch_named_by(&self, by: NameOrigin<'_>, json: &[u8]) {
        let asked = self.asked();
        wait(asked.ask(asked.missing_of(by, json))).await;
    }

    /// Waits until the named stores have what is named by the objects that `now` has and `before` has not, a second at most.
    pub(crate) async fn fetch_named_since(&self, before: &Arc<Snapshot>, now: &Snapshot) {
        let asked = self.asked();
        if asked.stores.iter().all(|store| !lock(&store.known).is_ready) {
            return;
        }
        let changed: Vec<Arc<Object>> = now
            .differences_from(before)
            .filter_map(|difference| difference.after)
            .map(|(object, _)| object.clone())
            .collect();
        let bytes: usize = changed.iter().map(|object| object.json.len()).sum();
        let missing = if bytes <= MANY_BYTES {
            asked.missing_of_all(&changed)
        } else {
            let asked = asked.clone();
            let looked = tokio::task::spawn_blocking(move || asked.missing_of_all(&changed));
            looked.await.unwrap_or_default()
        };
        wait(asked.ask(missing)).await;
    }

    /// Asks for what `object` names, which was read just now; it does not wait.
    pub(crate) fn ask_for_named_by(&self, object: &Object) {
        let asked = self.asked();
        drop(asked.ask(asked.missing_of(NameOrigin::object(object), &object.json.bytes())));
    }

    /// What is not held, of `known`, of what any object of `snapshots` or the configuration names.
    pub(crate) fn looking_for(
        &self,
        known: KnownObjects,
        snapshots: &Snapshots,
    ) -> impl FnOnce() -> BTreeSet<NamespacedName> + Send + use<> {
        let (asked, configuration) = (self.asked(), self.configuration());
        let stores = self.naming_stores(snapshots);
        move || {
            // Bytes are found ten times as fast as words are told apart.
            let names = known.names().take(FEW_NAMES + 1);
            let names: Vec<_> = names.map(|name| memmem::Finder::new(name.as_bytes())).collect();
            let may_name = |object: &&Arc<Object>| {
                let json = object.json.bytes();
                names.len() > FEW_NAMES || names.iter().any(|name| name.find(&json).is_some())
            };
            let objects = stores.iter().flat_map(|store| store.iter()).filter(may_name);
            let missing = objects.flat_map(|object| {
                known.missing(asked.reach(NameOrigin::object(object)), words(&object.json.bytes()))
            });
            missing.chain(missing_in(&known, &configuration)).collect()
        }
    }

    fn asked(&self) -> AskedStores {
        self.shared().asked()
    }

    fn shared(&self) -> MutexGuard<'_, Shared> {
        lock(&self.0)
    }
}

impl Registration {
    /// From now on whoever publishes an object asks for what it names.
    pub fn begin(&self) {
        lock(&self.known).is_ready = true;
        self.stores.shared().ready += 1;
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        let stores = &mut self.stores.shared().stores;
        if stores.get(&self.name).is_some_and(|store| Arc::ptr_eq(&store.known, &self.known)) {
            stores.remove(&self.name);
        }
    }
}

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Shared {
    fn asked(&self) -> AskedStores {
        AskedStores { stores: self.stores.values().cloned().collect(), config_maps: self.config_maps.clone() }
    }
}

impl<'n> NameOrigin<'n> {
    fn object(object: &'n Object) -> Self {
        Self::Object { resource: &object.reference.resource, namespace: &object.reference.namespace }
    }
}

impl AskedStores {
    /// How far a name reaches.
    fn reach<'n>(&self, by: NameOrigin<'n>) -> Reach<'n> {
        match by {
            NameOrigin::Object { resource, namespace } if !self.config_maps.contains(resource) => {
                Reach::Namespace(namespace)
            }
            _ => Reach::Everywhere,
        }
    }

    /// What each store lacks of what these objects name. Nobody who has a lock is waited for longer than for one object.
    fn missing_of_all(&self, objects: &[Arc<Object>]) -> Vec<BTreeSet<NamespacedName>> {
        let mut all = vec![BTreeSet::new(); self.stores.len()];
        for object in objects {
            let missing = self.missing_of(NameOrigin::object(object), &object.json.bytes());
            all.iter_mut().zip(missing).for_each(|(all, missing)| all.extend(missing));
        }
        all
    }

    fn missing_of(&self, by: NameOrigin<'_>, json: &[u8]) -> Vec<BTreeSet<NamespacedName>> {
        let reach = self.reach(by);
        self.missing(|known| known.missing(reach, words(json)))
    }

    fn missing(
        &self,
        of: impl Fn(&KnownObjects) -> BTreeSet<NamespacedName>,
    ) -> Vec<BTreeSet<NamespacedName>> {
        let missing = |store: &RegisteredStore| {
            let known = lock(&store.known);
            if known.is_ready { of(&known) } else { BTreeSet::new() }
        };
        self.stores.iter().map(missing).collect()
    }

    /// Asks each store for what is missing in it; gives those who tell when it is there.
    fn ask(&self, missing: Vec<BTreeSet<NamespacedName>>) -> Vec<Arc<Notify>> {
        let asked = self.stores.iter().zip(missing).filter(|(_, objects)| !objects.is_empty());
        let answers = asked.filter_map(|(store, objects)| {
            let answered = Arc::new(Notify::new());
            let question = Question { objects, answered: answered.clone() };
            store.questions.send(question).is_ok().then_some(answered)
        });
        answers.collect()
    }
}

async fn wait(answers: Vec<Arc<Notify>>) {
    if !answers.is_empty() {
        let all = futures::future::join_all(answers.iter().map(|answered| answered.notified()));
        let _timed_out = tokio::time::timeout(TIMEOUT, all).await;
    }
}

fn missing_in(known: &KnownObjects, configuration: &ConfigurationWords) -> BTreeSet<NamespacedName> {
    known.missing(Reach::Everywhere, configuration.iter().map(|word| &**word))
}
