//! What a controller notes on a pod with the Data Plane API, as a file of its general storage: which bundle the pod was brought
//! to, by whom, and how that shows there. The next controller reads it, and so need not bring again what is there already.

use haptic_model::{
    Digest,
    agent_api::{Epoch, Running},
};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The note.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Record {
    /// The bundle that HAProxy runs, and that lies on its disk.
    pub running: Running,
    /// Whose it is.
    pub epoch: Epoch,
    /// Of haproxy.cfg's content as the API wrote it.
    pub written: Digest,
    /// The worker that was seen to run it.
    pub worker_pid: u32,
    /// The bundle's other files, as they were sent.
    pub files: BTreeMap<String, Digest>,
    /// Whether operations were about to be sent: HAProxy may run more than this says.
    #[serde(default)]
    pub half_way: bool,
    /// Certificates that were about to be written: no call gives them back, so what is there is unknown.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unsure: Vec<String>,
}
