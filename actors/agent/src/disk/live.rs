//! `live.json`: there while HAProxy does not run what is on disk.
//!
//! Operations bring a bundle to HAProxy before its files may be stored. The record tells the next agent what a HAProxy that
//! outlived this one runs. It is written without waiting for the disk: what it is about ends with the machine as well.

use haptic_model::agent_api::Running;
use serde::{Deserialize, Serialize};
use std::{io, path::Path};

/// Which process HAProxy's worker is. In a container, each start may have the same pid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct WorkerIdentity {
    pub(crate) pid: u32,
    /// Seconds since 1970.
    pub(crate) started: u64,
}

/// What one worker runs.
#[derive(Serialize, Deserialize)]
pub(crate) struct RunningRecord {
    pub(crate) worker: WorkerIdentity,
    pub(crate) running: Option<Running>,
    /// False while operations are under way.
    pub(crate) exact: bool,
}

impl RunningRecord {
    pub(crate) fn read(path: &Path) -> Option<Self> {
        serde_json::from_slice(&std::fs::read(path).ok()?).ok()
    }

    pub(crate) fn write(&self, path: &Path) -> io::Result<()> {
        let new = path.with_extension("new");
        std::fs::write(&new, serde_json::to_vec(self)?)?;
        std::fs::rename(new, path)
    }
}
