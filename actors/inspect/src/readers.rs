//! What the pipeline publishes, for everything that shows or judges it.

use haptic_commentator::{History, Recording};
use haptic_config::ConfigState;
use haptic_deploy::PodStates;
use haptic_leader::Reporting;
use haptic_model::{
    ActiveConfig, AllRejected, Findings, Fleet, Quarantine, Snapshots,
    config::{AcceptedConfig, ConfigVerdict},
    pipeline::{Leadership, Refused, Rendered, SetAside, Validated},
};
use haptic_runtime::{Health, Topic, topic};
use haptic_watch::Troubles;
use std::sync::Arc;

/// All of it. Clones read the same.
#[derive(Clone, Debug)]
pub struct Readers {
    /// Actors and arbiters.
    pub actors: Health,
    /// The active configuration.
    pub config: Topic<Option<Arc<ActiveConfig>>>,
    /// The newest valid configuration, active once its stores are read.
    pub accepted: Topic<Option<AcceptedConfig>>,
    /// The verdict on the newest configuration.
    pub config_verdict: Topic<Option<ConfigVerdict>>,
    /// Why there is or is no configuration.
    pub config_state: Topic<ConfigState>,
    /// All stores.
    pub snapshots: Topic<Snapshots>,
    /// Why watched resources cannot be read at the moment.
    pub troubles: Topic<Troubles>,
    /// Objects that stores do not hold because of their limits.
    pub rejected: Topic<AllRejected>,
    /// The newest bundle.
    pub rendered: Topic<Option<Arc<Rendered>>>,
    /// The newest bundle that passed all checks.
    pub validated: Topic<Option<Arc<Validated>>>,
    /// The bundle that was checked last, if it was refused.
    pub refused: Topic<Option<Arc<Refused>>>,
    /// The newest configuration, while another one is rendered in its place.
    pub set_aside: Topic<Option<Arc<SetAside>>>,
    /// Whether this process leads.
    pub leadership: Topic<Leadership>,
    /// The state of each pod.
    pub pods: Topic<PodStates>,
    /// The pods as templates see them.
    pub fleet: Topic<Fleet>,
    /// Quarantined objects.
    pub quarantine: Topic<Quarantine>,
    /// Why the configured admission webhook cannot be called.
    pub webhook: Topic<Option<String>>,
    /// Reports that the API server refuses.
    pub reporting: Topic<Reporting>,
    /// Whether the process is ending.
    pub draining: Topic<bool>,
    /// The latest events.
    pub history: History,
    /// The inputs of the last generations.
    pub recording: Recording,
}

impl Readers {
    /// What is found at objects in the newest bundle.
    #[must_use]
    pub fn findings(&self) -> Findings {
        (*self.rendered.latest()).as_ref().map(|rendered| rendered.findings.clone()).unwrap_or_default()
    }
}

impl Default for Readers {
    /// Those of a pipeline that has published nothing, and never will.
    fn default() -> Self {
        Self {
            actors: Health::new(),
            config: topic(None).1,
            accepted: topic(None).1,
            config_verdict: topic(None).1,
            config_state: topic(ConfigState::Waiting("starting".into())).1,
            snapshots: topic(Snapshots::default()).1,
            troubles: topic(Troubles::new()).1,
            rejected: topic(AllRejected::default()).1,
            rendered: topic(None).1,
            validated: topic(None).1,
            refused: topic(None).1,
            set_aside: topic(None).1,
            leadership: topic(Leadership::default()).1,
            pods: topic(PodStates::new()).1,
            fleet: topic(Fleet::default()).1,
            quarantine: topic(Quarantine::default()).1,
            webhook: topic(None).1,
            reporting: topic(Reporting::default()).1,
            draining: topic(false).1,
            history: History::new(),
            recording: Recording::default(),
        }
    }
}
