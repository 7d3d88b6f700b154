//! Brings the running watches to those that the accepted and the active configuration name. Unchanged ones are not touched.

use crate::{
    actor::WatchActor,
    pool::Pool,
    pump::{Guarding, WatchTask},
    source::OpenedSource,
    spec::{WatchSpec, diff},
    stores::Stores,
};
use actix::{ArbiterHandle, Handler};
use haptic_model::{ActiveConfig, Remarks, config::AcceptedConfig};
use haptic_runtime::{
    ActorHandle, Events, OwnHandle, Spec, Supervision, Topic,
    messages::{ConfigAccepted, ConfigActivated},
};
use serde_json::json;
use std::{
    collections::BTreeMap,
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

/// What the set of watches needs; the factory of its actor keeps one and clones it for each life.
#[derive(Clone)]
pub struct WatchSet {
    /// Says for how long objects that vanish at once are held.
    pub accepted: Topic<Option<AcceptedConfig>>,
    /// Where all watches look.
    pub origin: OpenedSource,
    /// Where all snapshots go.
    pub stores: Stores,
    /// What they may take together.
    pub pool: Pool,
    /// What the configuration's resource says beside its spec.
    pub remarks: Topic<Remarks>,
    /// Who observes.
    pub events: Events,
    /// Where the watches' actors run.
    pub arbiter: ArbiterHandle,
    /// How they are kept.
    pub supervision: Supervision,
    /// The running watches outlive a restart of the set's own actor: start with the default.
    pub running: RunningWatches,
}

/// The watches that run.
#[derive(Clone, Debug, Default)]
pub struct RunningWatches(Arc<Mutex<BTreeMap<Arc<str>, Child>>>);

#[derive(Debug)]
struct Child {
    spec: Arc<WatchSpec>,
    actor: ActorHandle<WatchActor>,
}

/// The actor of the set.
#[derive(Debug)]
pub struct WatchSetActor {
    own: OwnHandle<Self>,
    set: WatchSet,
    /// What it watches is watched.
    accepted: Option<AcceptedConfig>,
    /// What it watches stays watched until the accepted one has taken its place. `None`: not received in this life, and nothing may be
    /// given up for want of it.
    active: Option<Arc<Option<Arc<ActiveConfig>>>>,
}

impl WatchSetActor {
    /// The actor of `set`.
    #[must_use]
    pub fn new(own: OwnHandle<Self>, set: WatchSet) -> Self {
        Self { own, set, accepted: None, active: None }
    }

    fn bring_to_configurations(&self) {
        let (Some(accepted), Some(active)) = (&self.accepted, &self.active) else { return };
        let mut wanted = WatchSpec::all(&accepted.spec);
        if let Some(active) = active.as_ref() {
            for (name, spec) in WatchSpec::all(&active.spec) {
                wanted.entry(name).or_insert(spec);
            }
        }
        let naming = wanted.values().filter(|spec| !spec.is_named()).map(|spec| spec.name.clone());
        self.set.stores.named().follow(&accepted.spec, naming.collect());
        self.set.bring_to(&wanted);
        self.set.stores.prepared_for(accepted.revision);
        self.own.set_detail(&json!({"watches": self.set.running.names()}));
    }
}

impl WatchSet {
    fn bring_to(&self, wanted: &BTreeMap<Arc<str>, Arc<WatchSpec>>) {
        let mut running = self.running.lock();
        let specs = running.iter().map(|(name, child)| (name.clone(), child.spec.clone())).collect();
        let plan = diff(&specs, wanted);
        for name in plan.stop {
            if let Some(child) = running.remove(&name) {
                child.actor.dismiss();
                self.stores.forget(&name);
                self.pool.leave(&name);
            }
        }
        for spec in &plan.replace {
            if let Some(child) = running.remove(&spec.name) {
                child.actor.dismiss();
                self.stores.hide(&spec.name);
            }
        }
        for spec in plan.start.into_iter().chain(plan.replace) {
            let actor = self.start(spec.clone());
            running.insert(spec.name.clone(), Child { spec, actor });
        }
    }

    fn start(&self, spec: Arc<WatchSpec>) -> ActorHandle<WatchActor> {
        let name = format!("watch/{}", spec.name);
        let job = WatchTask {
            spec,
            origin: self.origin.clone(),
            stores: self.stores.clone(),
            pool: self.pool.clone(),
            guarding: Some(Guarding { config: self.accepted.clone(), remarks: self.remarks.clone() }),
            events: self.events.clone(),
        };
        Spec::named(name)
            .start(&self.arbiter, &self.supervision, move |own| WatchActor::new(own, job.clone()))
    }
}

impl RunningWatches {
    /// Names of the running watches.
    #[must_use]
    pub fn names(&self) -> Vec<Arc<str>> {
        self.lock().keys().cloned().collect()
    }

    /// Ends all watches, as the first step of a shutdown. Stores stay as they are.
    pub fn dismiss(&self) {
        for child in std::mem::take(&mut *self.lock()).into_values() {
            child.actor.dismiss();
        }
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<Arc<str>, Child>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

haptic_runtime::supervised!(WatchSetActor);

impl Handler<ConfigAccepted> for WatchSetActor {
    type Result = ();

    fn handle(&mut self, accepted: ConfigAccepted, _: &mut Self::Context) {
        self.accepted = (*accepted).clone();
        self.bring_to_configurations();
    }
}

impl Handler<ConfigActivated> for WatchSetActor {
    type Result = ();

    fn handle(&mut self, active: ConfigActivated, _: &mut Self::Context) {
        self.active = Some(active.payload);
        self.bring_to_configurations();
    }
}

impl fmt::Debug for WatchSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WatchSet")
            .field("origin", &self.origin)
            .field("running", &self.running.names())
            .finish_non_exhaustive()
    }
}
