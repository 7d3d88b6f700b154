//! What a controller notes on a pod with the Data Plane API, as a file of its general storage: which bundle the pod was brought
//! to, by whom, and how that shows there. The next controller reads it, and so need not bring again what is there already.

use haptic_model::agent_api::{Epoch, Running};
use haptic_text::Digest;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The note.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PodRecord {
    /// The bundle on its disk, which HAProxy runs unless it is [`Self::ahead`].
    pub running: Running,
    /// The bundle that the worker was brought to since, by operations alone: it differs from the one on disk in haproxy.cfg only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ahead: Option<Running>,
    /// Whose it is.
    pub epoch: Epoch,
    /// Of haproxy.cfg's content as the API wrote it.
    pub written: Digest,
    /// The worker that was seen to run it.
    pub worker_pid: u32,
    /// The bundle's other files, as they were sent.
    pub files: BTreeMap<String, Digest>,
    /// What the API told of certificates after they were written, by path.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty", rename = "told")]
    pub certificates: BTreeMap<String, Digest>,
    /// Whether operations were about to be sent: HAProxy may run more than this says. Beside [`Self::ahead`] it says so to
    /// controllers that do not know that field.
    #[serde(default)]
    pub half_way: bool,
    /// Certificates that were about to be written: no call gives them back, so what is there is unknown.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unsure: Vec<String>,
}

impl PodRecord {
    /// The bundle that HAProxy runs.
    pub fn runs(&self) -> Running {
        self.ahead.unwrap_or(self.running)
    }

    /// Whether HAProxy may run more than this says.
    pub fn is_cut_short(&self) -> bool {
        self.half_way && self.ahead.is_none()
    }

    /// The same while HAProxy runs `bundle`, the disk being as it was.
    pub fn running(self, bundle: Running) -> Self {
        let ahead = (bundle.digest != self.running.digest).then_some(bundle);
        Self { ahead, half_way: ahead.is_some(), ..self }
    }

    /// What it says of `worker`: another one than it speaks of has begun with what lies on the disk.
    pub fn of_worker(self, worker: u32) -> Self {
        match self.ahead {
            Some(_) if self.worker_pid != worker => {
                let on_disk = self.running;
                Self { worker_pid: worker, ..self.running(on_disk) }
            }
            _ => self,
        }
    }
}

/// Whether `there` is of a newer leadership than `epoch`, the order's.
pub(crate) fn is_newer(there: Epoch, epoch: Epoch) -> bool {
    there > epoch && epoch != Epoch::default()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Controllers of two releases follow each other.
    #[test]
    fn a_record_of_before_is_read_and_written_as_it_is() {
        let text = include_str!("../../../fixtures/stored/haptic-record.json");
        let record: PodRecord = serde_json::from_str(text).unwrap();
        assert_eq!(record.runs(), record.running);
        assert_eq!(serde_json::to_string(&record).unwrap(), text.trim_end());
    }
}
