//! The registry of actors and arbiters: who lives, who is stuck, by name.
//!
//! It only reports. Liveness endpoints ask [`Health::why_not_live`]; debug endpoints ask [`Health::actors`] and
//! [`Health::why_not_observed`], too: nothing that observers do or fail to do ends the process.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use tokio::time::Instant;

use crate::stats::{ActorState, ActorStats, Lifecycle, lock};

/// How many ended actors stay visible; pods come and go, the list must not grow with them.
const DEPARTED_KEPT: usize = 32;

/// A cheap handle to the registry; clones share it.
#[derive(Clone, Debug, Default)]
pub struct Health(Arc<Mutex<Registry>>);

/// What depends on an actor or an arbiter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum HealthRole {
    /// The process's work: while it is dead or stuck, the process is not live.
    #[default]
    Works,
    /// Nothing: it tells what others do, and they go on without it.
    Observes,
}

#[derive(Debug, Default)]
struct Registry {
    actors: Vec<Arc<ActorStats>>,
    pulses: Vec<Arc<Pulse>>,
}

/// The heartbeat of one arbiter.
#[derive(Debug)]
pub(crate) struct Pulse {
    arbiter: String,
    role: HealthRole,
    bound: Duration,
    times: Mutex<PulseTimes>,
}

#[derive(Debug)]
struct PulseTimes {
    /// When the unanswered ping was sent.
    asked: Option<Instant>,
    /// When the pinger itself last ran.
    beat: Instant,
    stopped: bool,
}

impl Health {
    /// An empty registry.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Every known actor by name, with the latest ended ones.
    #[must_use]
    pub fn actors(&self) -> Vec<ActorState> {
        let mut states: Vec<_> = lock(&self.0).actors.iter().map(|stats| stats.state()).collect();
        states.sort_by(|a, b| a.name.cmp(&b.name));
        states
    }

    /// Whether nothing speaks against liveness.
    #[must_use]
    pub fn is_live(&self) -> bool {
        self.why_not_live().is_empty()
    }

    /// One sentence for each dead or stuck actor and each silent arbiter that works; empty when all is well.
    #[must_use]
    pub fn why_not_live(&self) -> Vec<String> {
        self.problems_of(HealthRole::Works)
    }

    /// The same for those that only observe: somebody should know, and the process goes on.
    #[must_use]
    pub fn why_not_observed(&self) -> Vec<String> {
        self.problems_of(HealthRole::Observes)
    }

    fn problems_of(&self, role: HealthRole) -> Vec<String> {
        let registry = lock(&self.0);
        let actors = registry.actors.iter().filter(|stats| stats.role == role);
        let arbiters = registry.pulses.iter().filter(|pulse| pulse.role == role);
        actors
            .filter_map(|stats| stats.problem())
            .chain(arbiters.filter_map(|pulse| pulse.problem()))
            .collect()
    }

    /// One sentence for each actor that works, and from which a message is withheld: part of readiness.
    #[must_use]
    pub fn why_withheld(&self) -> Vec<String> {
        let registry = lock(&self.0);
        let working = registry.actors.iter().filter(|stats| stats.role == HealthRole::Works);
        working.filter_map(|stats| stats.why_withheld()).collect()
    }

    /// Whether every actor that works is running (or has ended as it should): part of readiness.
    #[must_use]
    pub fn all_running(&self) -> bool {
        let registry = lock(&self.0);
        let mut working = registry.actors.iter().filter(|stats| stats.role == HealthRole::Works);
        working.all(|stats| matches!(stats.lifecycle(), Lifecycle::Running | Lifecycle::Done))
    }

    /// Makes the actor of that name panic at its next turn, for tests of whole processes; whether there is one.
    #[cfg(debug_assertions)]
    #[must_use]
    pub fn make_panic(&self, actor: &str) -> bool {
        self.living(actor).map(|stats| stats.ask_to_panic()).is_some()
    }

    /// Makes the actor of that name block its thread until it is told to go on; whether there is one.
    #[cfg(debug_assertions)]
    #[must_use]
    pub fn make_block(&self, actor: &str, blocked: bool) -> bool {
        self.living(actor).map(|stats| stats.ask_to_block(blocked)).is_some()
    }

    /// The actor of that name unless it has ended: one that rests between two lives is there, too.
    #[cfg(debug_assertions)]
    fn living(&self, actor: &str) -> Option<Arc<ActorStats>> {
        let registry = lock(&self.0);
        let ended = |stats: &ActorStats| matches!(stats.lifecycle(), Lifecycle::Done | Lifecycle::Dead);
        registry.actors.iter().find(|stats| *stats.name == *actor && !ended(stats)).cloned()
    }

    /// Makes an actor known. A later actor of the same name takes an ended one's place.
    pub(crate) fn enrol(&self, name: Arc<str>, busy_bound: Duration, role: HealthRole) -> Arc<ActorStats> {
        let stats = Arc::new(ActorStats::new(name, busy_bound, role));
        let actors = &mut lock(&self.0).actors;
        actors.retain(|other| other.lifecycle() != Lifecycle::Done || other.name != stats.name);
        let departed = actors.iter().filter(|other| other.lifecycle() == Lifecycle::Done).count();
        if departed > DEPARTED_KEPT
            && let Some(oldest) = actors.iter().position(|other| other.lifecycle() == Lifecycle::Done)
        {
            actors.remove(oldest);
        }
        actors.push(Arc::clone(&stats));
        stats
    }

    pub(crate) fn enrol_pulse(&self, arbiter: &str, bound: Duration, role: HealthRole) -> Arc<Pulse> {
        let times = Mutex::new(PulseTimes { asked: None, beat: Instant::now(), stopped: false });
        let pulse = Arc::new(Pulse { arbiter: arbiter.to_owned(), role, bound, times });
        lock(&self.0).pulses.push(Arc::clone(&pulse));
        pulse
    }
}

impl Pulse {
    /// Whether a ping may be sent: none is unanswered. Notes that the pinger lives.
    pub(crate) fn ask(&self) -> bool {
        let mut times = lock(&self.times);
        let now = Instant::now();
        times.beat = now;
        if times.asked.is_some() {
            return false;
        }
        times.asked = Some(now);
        true
    }

    pub(crate) fn answered(&self) {
        lock(&self.times).asked = None;
    }

    pub(crate) fn stopped(&self) {
        lock(&self.times).stopped = true;
    }

    fn problem(&self) -> Option<String> {
        let times = lock(&self.times);
        let name = &self.arbiter;
        if times.stopped {
            return Some(format!("arbiter {name} has stopped"));
        }
        if let Some(silent) = times.asked.map(|asked| asked.elapsed()).filter(|silent| *silent > self.bound) {
            return Some(format!(
                "arbiter {name} has not answered for {silent:.1?} (bound {:.1?})",
                self.bound
            ));
        }
        // The pinger runs on the shared runtime: when it is late, the runtime's workers are all blocked.
        let late = times.beat.elapsed();
        (late > self.bound * 2).then(|| {
            format!(
                "the shared runtime has not pinged arbiter {name} for {late:.1?}: its workers are blocked"
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ended_actors_stay_visible_but_do_not_pile_up() {
        let health = Health::new();
        for pod in 0..100 {
            let name = format!("deploy pod-{pod}").into();
            health.enrol(name, Duration::from_secs(1), HealthRole::Works).set_lifecycle(Lifecycle::Done);
        }
        let names: Vec<_> = health.actors().into_iter().map(|actor| actor.name).collect();
        assert!(names.len() <= DEPARTED_KEPT + 2, "{} kept", names.len());
        assert!(names.iter().any(|name| name == "deploy pod-99"));
        assert!(health.is_live());
    }

    #[test]
    fn an_actor_that_returns_replaces_its_ended_namesake() {
        let health = Health::new();
        health
            .enrol("deploy a".into(), Duration::from_secs(1), HealthRole::Works)
            .set_lifecycle(Lifecycle::Done);
        health
            .enrol("deploy a".into(), Duration::from_secs(1), HealthRole::Works)
            .set_lifecycle(Lifecycle::Running);
        assert_eq!(health.actors().len(), 1);
        assert_eq!(health.actors()[0].state, Lifecycle::Running);
    }

    #[test]
    fn an_observer_that_restarts_or_is_dead_is_named_and_takes_neither_liveness_nor_readiness() {
        let health = Health::new();
        let observer = health.enrol("metrics".into(), Duration::from_secs(1), HealthRole::Observes);
        assert!(health.all_running(), "whether it has begun is nobody's business");
        observer.set_lifecycle(Lifecycle::Dead);
        assert!(health.is_live() && health.all_running());
        assert_eq!(health.why_not_observed(), ["actor metrics is dead: no reason recorded"]);
    }
}
