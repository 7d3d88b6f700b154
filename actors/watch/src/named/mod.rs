//! Stores that hold what others name: of a resource with many objects that nobody names, such as Secrets, only metadata is watched, and the data of
//! those is fetched that a watched object or the configuration names.
//!
//! An object names another one if that one's name stands anywhere in it as a word, and its namespace, too, where it is in another
//! one. That is more than templates ask for, and needs no knowledge of fields and annotations. What was named once stays in the store until it is deleted or
//! the process ends: nobody has to be asked whether somebody still names it.
//!
//! Whoever publishes an object waits until what it names is in the store, a second at most: nobody is told that a Secret is missing
//! because it is just being fetched.

mod known;
mod words;

use haptic_model::{HAProxyTemplateConfigSpec, Object, Snapshot, Snapshots};
pub(crate) use known::{KnownObjects, MetadataChange, ObjectName, ToFetch};
use std::{
    collections::{BTreeMap, BTreeSet, HashSet},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};
use tokio::sync::{Notify, mpsc};
use words::words;

/// Nobody waits longer for what an object names.
const PATIENCE: Duration = Duration::from_secs(1);
/// So many questions may wait; one more is not asked, and its object is published without what it names.
const QUESTIONS: usize = 64;

/// The named stores that run, and what they need of the others; clones are the same.
#[derive(Clone, Debug, Default)]
pub struct NamedStores(Arc<Mutex<Shared>>);

#[derive(Debug, Default)]
struct Shared {
    stores: BTreeMap<Arc<str>, NamedStore>,
    /// The stores whose objects name others.
    naming: BTreeSet<Arc<str>>,
    configuration: Arc<ConfigurationWords>,
}

#[derive(Clone, Debug)]
struct NamedStore {
    known: SharedKnowledge,
    questions: mpsc::Sender<Question>,
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
    pub objects: BTreeSet<ObjectName>,
    pub answered: Arc<Notify>,
}

/// What an accepted configuration may name.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct ConfigurationWords {
    namespace: Arc<str>,
    words: HashSet<Box<str>>,
}

impl NamedStores {
    /// The source of the store `name` begins, and can be asked until the registration is dropped.
    pub(crate) fn register(&self, name: &Arc<str>) -> (Registration, mpsc::Receiver<Question>) {
        let (questions, asked) = mpsc::channel(QUESTIONS);
        let known = SharedKnowledge::default();
        self.shared().stores.insert(name.clone(), NamedStore { known: known.clone(), questions });
        (Registration { stores: self.clone(), name: name.clone(), known }, asked)
    }

    /// An accepted configuration of `namespace` names objects, and these stores have objects that do. Called before the stores are published for it.
    pub fn follow(&self, namespace: &Arc<str>, spec: &HAProxyTemplateConfigSpec, naming: BTreeSet<Arc<str>>) {
        let json = serde_json::to_vec(spec).unwrap_or_default();
        let words = words(&json).map(Box::from).collect();
        let configuration = ConfigurationWords { namespace: namespace.clone(), words };
        let shared = &mut *self.shared();
        shared.naming = naming;
        if *shared.configuration != configuration {
            shared.configuration = Arc::new(configuration);
        }
    }

    pub(crate) fn configuration(&self) -> Arc<ConfigurationWords> {
        self.shared().configuration.clone()
    }

    /// Whether the stores whose objects name others have been read to their ends.
    pub(crate) fn is_complete(&self, snapshots: &Snapshots) -> bool {
        snapshots.synced(self.shared().naming.iter().map(|name| &**name))
    }

    /// The stores whose objects name others: all but the named ones.
    pub(crate) fn naming_stores(&self, snapshots: &Snapshots) -> BTreeMap<Arc<str>, Arc<Snapshot>> {
        let shared = self.shared();
        let naming = snapshots.iter().filter(|(name, _)| !shared.stores.contains_key(*name));
        naming.map(|(name, store)| (name.clone(), store.clone())).collect()
    }

    /// Waits until the named stores have what `object` names, a second at most.
    pub async fn fetch_named_by(&self, namespace: &str, json: &[u8]) {
        self.fetch(|known| known.missing(namespace, words(json))).await;
    }

    /// Waits until the named stores have what is named by the objects that `now` has and `before` has not, a second at most.
    pub(crate) async fn fetch_named_since(&self, before: &Snapshot, now: &Snapshot) {
        self.fetch(|known| missing_since(known, before, now)).await;
    }

    /// Asks for what `object` names, which was read just now; it does not wait.
    pub(crate) fn ask_for_named_by(&self, object: &Object) {
        let answers = self.ask(|known| known.missing(&object.reference.namespace, words(&object.json)));
        drop(answers);
    }

    async fn fetch(&self, missing: impl Fn(&KnownObjects) -> BTreeSet<ObjectName>) {
        let answers = self.ask(missing);
        if answers.is_empty() {
            return;
        }
        let all = futures::future::join_all(answers.iter().map(|answered| answered.notified()));
        let _timed_out = tokio::time::timeout(PATIENCE, all).await;
    }

    fn ask(&self, missing: impl Fn(&KnownObjects) -> BTreeSet<ObjectName>) -> Vec<Arc<Notify>> {
        let stores: Vec<NamedStore> = self.shared().stores.values().cloned().collect();
        let asked = stores.iter().filter_map(|store| {
            let known = lock(&store.known);
            let objects = if known.is_ready { missing(&known) } else { BTreeSet::new() };
            drop(known);
            let answered = Arc::new(Notify::new());
            let question = Question { objects, answered: answered.clone() };
            let is_asked = !question.objects.is_empty() && store.questions.try_send(question).is_ok();
            is_asked.then_some(answered)
        });
        asked.collect()
    }

    fn shared(&self) -> MutexGuard<'_, Shared> {
        lock(&self.0)
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

/// What is not held of what is named by the objects that `now` has and `before` has not.
pub(crate) fn missing_since(known: &KnownObjects, before: &Snapshot, now: &Snapshot) -> BTreeSet<ObjectName> {
    let changed = now.differences_from(before).filter_map(|difference| difference.after);
    changed.flat_map(|(object, _)| missing_of(known, object)).collect()
}

/// What is not held of what `configuration` names.
pub(crate) fn missing_in(known: &KnownObjects, configuration: &ConfigurationWords) -> BTreeSet<ObjectName> {
    known.missing(&configuration.namespace, configuration.words.iter().map(|word| &**word))
}

fn missing_of(known: &KnownObjects, object: &Object) -> BTreeSet<ObjectName> {
    known.missing(&object.reference.namespace, words(&object.json))
}
