//! What only the leader reports to the API server: the configuration's status, addresses of Ingresses, what is rendered, Events.
//!
//! Each of the four is a task that is done in rounds while this replica leads. A new leader has the newest message of every topic, so it
//! goes on where the one before ended. What fails is logged and tried again; nothing waits for it.

mod addresses;
mod events;
mod status;

pub(crate) use addresses::{AddressTask, WrittenAddresses};
pub(crate) use events::{EventTask, standing};
pub(crate) use status::StatusTask;

use haptic_model::{
    ActiveConfig, AllRejected, HaproxyPod, MassDeletions, Quarantine, Snapshots,
    config::{AcceptedConfig, ConfigVerdict},
    pipeline::{PodState, Validated},
};
use std::{collections::BTreeMap, sync::Arc};

/// What reports are made from: the newest message of each topic.
#[derive(Clone, Default)]
pub(crate) struct ReportInputs {
    pub config_verdict: Option<ConfigVerdict>,
    pub validated: Option<Arc<Validated>>,
    pub pods: Arc<BTreeMap<HaproxyPod, PodState>>,
    pub snapshots: Arc<Snapshots>,
    pub quarantine: Arc<Quarantine>,
    /// Objects that vanished at once and are held.
    pub missing: Arc<MassDeletions>,
    /// What stores do not hold because of their limits.
    pub rejected: Arc<AllRejected>,
    pub active: Option<Arc<ActiveConfig>>,
    /// The newest valid configuration: active once its stores are read.
    pub accepted: Option<AcceptedConfig>,
    /// Why watched resources cannot be read at the moment.
    pub troubles: Arc<BTreeMap<Arc<str>, String>>,
}
