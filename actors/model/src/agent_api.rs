//! What controller and agent say to each other, over HTTP with JSON bodies.
//!
//! `GET /v1/status` -> [`Status`]; `GET /v1/bundle` -> [`RunningBundle`]; `POST /v1/apply` [`Apply`] -> [`Outcome`].
//! All three need Basic credentials. `GET /readyz` (is a bundle of a controller running?) and `GET /healthz` need none.

use crate::{digest::Digest, generation::Generation, operation::Operation, version::HaproxyVersion};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Which leadership an order comes from; agents refuse orders of an older one. The default is that of a controller
/// without an election, which is never too old.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Epoch {
    /// When the Lease was created, in milliseconds since 1970: a deleted and new-made Lease is newer.
    pub lease_created: i64,
    /// How often the Lease changed hands.
    pub transitions: i64,
}

/// How an agent and its HAProxy are.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Status {
    /// The running HAProxy's version.
    pub version: HaproxyVersion,
    /// Its full version string, for people.
    pub version_text: String,
    /// What it runs; `None` while it runs the bootstrap file.
    pub running: Option<Running>,
    /// The newest leadership seen.
    pub epoch: Epoch,
    /// The current worker; 0 while HAProxy is down.
    pub worker_pid: u32,
    /// Old workers that still finish connections.
    pub old_workers: u32,
    /// Reloads since the agent started, counted on HAProxy itself.
    pub reloads: u64,
    /// Whether HAProxy's socket answers.
    pub alive: bool,
    /// Whether the files on disk are those of `running`, byte for byte.
    pub intact: bool,
}

/// What a HAProxy runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Running {
    /// The bundle's digest.
    pub digest: Digest,
    /// The controller's generation that brought it. Starts anew with each controller process: not an identity.
    pub generation: Generation,
    /// Digest of every file by path.
    pub files: BTreeMap<String, Digest>,
}

/// The running bundle's files, for a controller that does not know them.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RunningBundle {
    /// haproxy.cfg's path among `files`.
    pub config: String,
    /// Content by path.
    pub files: BTreeMap<String, String>,
}

/// Brings a pod from one bundle to another. Applying it twice is the same as once.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Apply {
    /// Who orders.
    pub epoch: Epoch,
    /// For logs and status.
    pub generation: Generation,
    /// What the plan was made against; anything else running is a [`Outcome::Conflict`].
    pub base: Option<Digest>,
    /// The bundle's digest afterwards, over `files`' paths and digests.
    pub target: Digest,
    /// haproxy.cfg's path among `files`.
    pub config: String,
    /// Every file of the target. A file not listed is deleted once HAProxy no longer uses it.
    pub files: BTreeMap<String, Digest>,
    /// Content of those files that the pod does not have.
    pub contents: BTreeMap<String, String>,
    /// How the running process gets there.
    pub method: Method,
}

/// How the running process gets to the target.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "by", rename_all = "camelCase")]
pub enum Method {
    /// The operations first, so that traffic is right at once; then the files, so that a later reload changes nothing.
    Runtime {
        /// In order.
        operations: Vec<Operation>,
    },
    /// The files, then one reload.
    Reload {
        /// Why, in words of a person: `global section: maxconn changed`.
        reason: String,
    },
}

/// What became of an [`Apply`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Outcome {
    /// HAProxy runs the target; read back and verified.
    Applied {
        /// Whether a reload happened.
        reloaded: bool,
        /// The worker that now runs.
        worker_pid: u32,
        /// What HAProxy said during the reload.
        log: String,
    },
    /// Something else than `base` is running: plan again from that.
    Conflict {
        /// What runs.
        running: Option<Digest>,
    },
    /// A newer leader has spoken.
    Stale {
        /// The newest leadership seen.
        epoch: Epoch,
    },
    /// Contents that the pod does not have were not sent.
    Missing {
        /// Their paths.
        paths: Vec<String>,
    },
    /// HAProxy refused; what ran before still runs.
    Refused {
        /// HAProxy's own words, or the failed check.
        message: String,
        /// True when only runtime operations failed: one reload may bring the target.
        reload_may_help: bool,
    },
}
