//! The stores of objects that options name, with those changes of content left out that take a reload and wait for their turn.
//!
//! An object that waits stands there as it was; one that is new and waits is not there, and one that is deleted is gone at once. Where
//! nobody waits a store is the watched one itself.

use super::{named_contents::NamedContent, named_objects::NamedKind};
use crate::{
    claims::QualifiedName,
    reload_pace::{Meanwhile, ReloadPace, ReloadsPerMinute},
    userlists::Limits,
};
use haptic_model::{Finding, FindingKind, Findings, Object, ObjectRef, Snapshot, Snapshots, store::Key};
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Instant,
};

/// The watched resources that hold such objects.
const STORES: [(&str, NamedKind); 2] =
    [("labelledsecrets", NamedKind::Secret), ("labelledconfigmaps", NamedKind::ConfigMap)];

/// The stores, from render to render.
#[derive(Clone, Debug, Default)]
pub(crate) struct PacedContents {
    pace: ReloadPace<NamedContent>,
    stores: BTreeMap<&'static str, PacedStore>,
    findings: Findings,
}

#[derive(Clone, Debug)]
struct PacedStore {
    /// As it is watched.
    source: Arc<Snapshot>,
    /// As it counts.
    counting: Arc<Snapshot>,
    /// The objects that wait.
    waiting: BTreeSet<Arc<ObjectRef>>,
}

/// What is known beside the stores.
pub(crate) struct ContentContext<'c> {
    /// The options that name an object.
    pub options: &'c dyn Fn(NamedKind, &QualifiedName) -> BTreeSet<&'static str>,
    pub limits: Limits,
    /// The time, and how many reloads are many; without it nothing waits.
    pub clock: Option<(Instant, ReloadsPerMinute)>,
}

/// One version of an object, and the key that it is under.
type StoredVersion = (Arc<Object>, Key);

impl PacedContents {
    /// The same with all objects to come.
    pub fn emptied(&self) -> Self {
        Self { pace: self.pace.clone(), ..Self::default() }
    }

    /// `all` with the stores as they count.
    pub fn beside(&mut self, all: Snapshots, context: &ContentContext<'_>) -> Snapshots {
        self.pace.set_clock(context.clock);
        if context.clock.is_none() {
            self.findings = Findings::default();
            self.stores.values_mut().for_each(PacedStore::release);
        }
        let mut beside = all;
        for (name, kind) in STORES {
            match beside.get(name).filter(|store| !store.is_on_demand()).cloned() {
                Some(source) => beside = beside.with(name.into(), self.updated(name, kind, &source, context)),
                None => self.forget(name),
            }
        }
        beside
    }

    /// When the next change counts.
    pub fn due(&self) -> Option<Instant> {
        self.pace.due()
    }

    /// The findings at objects that wait.
    pub fn findings(&self) -> &Findings {
        &self.findings
    }

    /// A store as it counts now.
    fn updated(
        &mut self,
        name: &'static str,
        kind: NamedKind,
        source: &Arc<Snapshot>,
        context: &ContentContext<'_>,
    ) -> Arc<Snapshot> {
        let is_free = !self.stores.contains_key(name);
        let mut store = self.stores.remove(name).unwrap_or_else(|| PacedStore::to_come(source));
        let before = std::mem::replace(&mut store.source, source.clone());
        let mut touched: BTreeSet<Arc<ObjectRef>> =
            self.pace.due_objects().filter(|object| *object.resource == *name).cloned().collect();
        for difference in source.differences_from(&before) {
            touched
                .extend(difference.after.or(difference.before).map(|(object, _)| object.reference.clone()));
        }
        let mut versions = Vec::new();
        for object in touched {
            let version = |store: &Snapshot| -> Option<StoredVersion> {
                let (object, key) = store.entry(&object.namespace, &object.name)?;
                Some((object.clone(), key.clone()))
            };
            let (known, wanted) = (version(&before), version(source));
            let version = self.admit(kind, &object, (known, wanted), is_free, context);
            let meanwhile = self.pace.meanwhile(&object);
            self.findings.set(&object, meanwhile.map(|it| delayed(kind, it)).into_iter().collect());
            match meanwhile {
                Some(_) => _ = store.waiting.insert(object.clone()),
                None => _ = store.waiting.remove(&object),
            }
            versions.push((object, version));
        }
        store.count(versions);
        let counting = store.counting.clone();
        self.stores.insert(name, store);
        counting
    }

    /// The version of an object that counts.
    fn admit(
        &mut self,
        kind: NamedKind,
        object: &Arc<ObjectRef>,
        (known, wanted): (Option<StoredVersion>, Option<StoredVersion>),
        is_free: bool,
        context: &ContentContext<'_>,
    ) -> Option<StoredVersion> {
        let options = (context.options)(kind, &(object.namespace.clone(), object.name.clone()));
        let content =
            |(object, key): &StoredVersion| NamedContent::of(object, key, &options, &context.limits);
        let is_named = !options.is_empty();
        let Some(wanted) = wanted.clone().filter(|_| is_named) else {
            self.pace.delete(object, known.filter(|_| is_named).as_ref().map(content).as_ref());
            return wanted;
        };
        // An older version stands in for one that HAProxy refuses: while that one counts nobody's changes go live.
        if known.as_ref().is_some_and(|known| wanted.0.version < known.0.version) {
            self.pace.delete(object, None);
            return Some(wanted);
        }
        let known = known.as_ref().map(content).map(Arc::new);
        let wanted = Arc::new(content(&wanted));
        let counting = self.pace.admit(object, known.as_ref(), wanted, is_free)?;
        Some((counting.object.clone(), counting.key.clone()))
    }

    fn forget(&mut self, name: &'static str) {
        let Some(store) = self.stores.remove(name) else { return };
        for object in &store.waiting {
            self.pace.delete(object, None);
            self.findings.set(object, Vec::new());
        }
    }
}

impl PacedStore {
    /// With all objects to come.
    fn to_come(source: &Arc<Snapshot>) -> Self {
        let counting = source.clone();
        Self { source: Arc::new(Snapshot::full()), counting, waiting: BTreeSet::new() }
    }

    /// Of these objects other versions count than before.
    fn count(&mut self, versions: Vec<(Arc<ObjectRef>, Option<StoredVersion>)>) {
        if self.waiting.is_empty() {
            self.counting = self.source.clone();
            return;
        }
        if versions.is_empty() {
            return;
        }
        let counting = Arc::make_mut(&mut self.counting);
        for (object, version) in versions {
            match version {
                Some((version, key)) => counting.restore(version, key),
                None => _ = counting.remove(&object),
            }
        }
    }

    /// Nobody waits.
    fn release(&mut self) {
        self.waiting.clear();
        self.counting = self.source.clone();
    }
}

fn delayed(kind: NamedKind, meanwhile: Meanwhile) -> Finding {
    let word = if kind == NamedKind::ConfigMap { "ConfigMap" } else { "Secret" };
    let meanwhile = match meanwhile {
        Meanwhile::Former => "its former content counts",
        Meanwhile::Nothing => "it counts as if it were not there",
    };
    let sentence = format!(
        "a change of this {word} takes a reload of HAProxy, and it or others that options name in its namespace have had several lately (extraContext.reloadsPerMinute): until it is its turn {meanwhile}"
    );
    Finding::new(FindingKind::ReloadDelayed, sentence)
}
