//! Brings the running watches to those the configuration names. Unchanged ones are not touched.

use crate::{
    actor::WatchActor,
    pool::Pool,
    pump::{Guarding, OnChange, WatchJob},
    source::Origin,
    spec::{WatchSpec, diff},
    stores::Stores,
};
use actix::{Actor, ArbiterHandle, Context, Handler, Supervised};
use haptic_model::{ActiveConfig, Remarks};
use haptic_runtime::{ActorSpec, CellReader, Events, Keeper, Kept, Look, Seat, Supervision};
use serde_json::json;
use std::{
    collections::BTreeMap,
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

/// What the set of watches needs; the factory of its actor keeps one and clones it for each life.
#[derive(Clone)]
pub struct WatchSet {
    /// The configuration that was accepted last: what it watches is watched.
    pub accepted: CellReader<Option<Arc<ActiveConfig>>>,
    /// The configuration in force: what it watches stays watched until the accepted one has taken its place.
    pub in_force: CellReader<Option<Arc<ActiveConfig>>>,
    /// Where all watches look.
    pub origin: Origin,
    /// Where all snapshots go.
    pub stores: Stores,
    /// What they may take together.
    pub pool: Pool,
    /// What the configuration's resource says beside its spec.
    pub remarks: CellReader<Remarks>,
    /// Who observes.
    pub events: Events,
    /// Who acts on changes.
    pub on_change: OnChange,
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
    actor: Kept<WatchActor>,
}

/// The actor of the set: looks at the configuration when it starts and at each [`Look`].
#[derive(Debug)]
pub struct WatchSetActor {
    seat: Seat<Self>,
    set: WatchSet,
}

impl WatchSetActor {
    /// The actor of `set`.
    #[must_use]
    pub fn new(seat: Seat<Self>, set: WatchSet) -> Self {
        Self { seat, set }
    }

    fn look(&self) {
        if let Some(accepted) = self.set.accepted.read().as_ref() {
            let mut wanted = WatchSpec::all(&accepted.spec);
            if let Some(in_force) = self.set.in_force.read().as_ref() {
                for (name, spec) in WatchSpec::all(&in_force.spec) {
                    wanted.entry(name).or_insert(spec);
                }
            }
            self.set.bring_to(&wanted);
            self.seat.set_detail(&json!({"watches": self.set.running.names()}));
        }
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

    fn start(&self, spec: Arc<WatchSpec>) -> Kept<WatchActor> {
        let name = format!("watch/{}", spec.name);
        let job = WatchJob {
            spec,
            origin: self.origin.clone(),
            stores: self.stores.clone(),
            pool: self.pool.clone(),
            guarding: Some(Guarding { config: self.accepted.clone(), remarks: self.remarks.clone() }),
            events: self.events.clone(),
            on_change: self.on_change.clone(),
        };
        Keeper::start(&self.arbiter, ActorSpec::named(name), &self.supervision, move |seat| {
            WatchActor::new(seat, job.clone())
        })
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

impl Actor for WatchSetActor {
    type Context = Context<Self>;

    fn started(&mut self, _: &mut Self::Context) {
        self.look();
    }
}

impl Handler<Look> for WatchSetActor {
    type Result = ();

    fn handle(&mut self, _: Look, context: &mut Self::Context) {
        self.seat.received::<Look>(context);
        self.look();
    }
}

impl Supervised for WatchSetActor {
    fn restarting(&mut self, _: &mut Self::Context) {
        *self = self.seat.rebuild();
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
