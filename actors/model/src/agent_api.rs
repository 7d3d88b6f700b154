//! What controller and agent say to each other, over HTTP with JSON bodies.
//!
//! `GET /v1/status` -> [`Status`]; `GET /v1/bundle` -> [`RunningBundle`]; `POST /v1/apply` [`Apply`] -> [`Outcome`];
//! `GET /v1/incarnation?not=N` -> [`Incarnation`], once it is another one than N; `GET /v1/runtime` -> [`Runtime`]. All need Basic credentials.
//! `GET /readyz` (is a bundle of a controller running?) and `GET /healthz` need none.
//!
//! What HAProxy *runs* may be ahead of what is *stored*: operations bring a change at once, while its files are stored only
//! after every check has passed. A restart of HAProxy therefore brings the last checked bundle, and the controller the rest.

use crate::{
    fleet::Capabilities,
    generation::Generation,
    operation::{Operation, ServerState},
    version::HaproxyVersion,
};
use haptic_text::{Digest, patch::Content};
use serde::{Deserialize, Serialize};
use std::{collections::BTreeMap, net::IpAddr};

/// Bytes of all files of one bundle.
pub const LARGEST_BUNDLE: usize = 64 << 20;
/// Bytes of one body: of what JSON escapes, a byte of a bundle takes two.
pub const LARGEST_BODY: usize = 2 * LARGEST_BUNDLE;

/// A message as JSON, in memory that need not grow: megabytes would be there twice meanwhile. `bytes`: about how many its contents have.
///
/// # Errors
/// Never in practice: it is plain data.
pub fn written(message: &impl Serialize, bytes: usize) -> serde_json::Result<Vec<u8>> {
    let mut json = Vec::with_capacity(bytes + bytes / 8);
    serde_json::to_writer(&mut json, message)?;
    Ok(json)
}

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
    /// Whether it runs exactly that. False after operations that it refused half-way: a reload gives a known state again.
    pub exact: bool,
    /// What a reload or a restart brings; `None` while that is the bootstrap file.
    pub stored: Option<Running>,
    /// Another number whenever HAProxy or the agent has begun anew without an order to.
    pub incarnation: u64,
    /// Why HAProxy no longer runs what the last order brought it to.
    pub setback: Option<String>,
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
    /// Whether the files on disk are those of `stored`, byte for byte.
    pub intact: bool,
    /// The version of the Data Plane API that said all this; `None`: an agent did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data_plane_api: Option<HaproxyVersion>,
}

impl Status {
    /// What can be changed on the pod.
    #[must_use]
    pub fn capabilities(&self) -> Capabilities {
        match self.data_plane_api {
            Some(api) => Capabilities::through_data_plane_api(self.version, api),
            None => Capabilities::of(self.version),
        }
    }
}

/// A bundle that HAProxy runs, or that is on disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Running {
    /// The bundle's digest.
    pub digest: Digest,
    /// The controller's generation that brought it. Starts anew with each controller process: not an identity.
    pub generation: Generation,
}

/// How often HAProxy or the agent began anew; see [`Status::incarnation`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Incarnation {
    /// Only to be compared for being the same.
    pub incarnation: u64,
}

/// What HAProxy itself says of its servers, and of what it has loaded from files, whoever changed them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Runtime {
    /// All servers.
    pub servers: Vec<RunningServer>,
    /// Entries of each map, by its path.
    pub maps: BTreeMap<String, usize>,
    /// Files of the running bundle of which HAProxy has something else in memory: of those that were looked at this time.
    /// One look after another reaches all.
    #[serde(default)]
    pub changed: Vec<ChangedFile>,
}

/// A file of which HAProxy has something else in memory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ChangedFile {
    /// Its path in the bundle.
    pub path: String,
    /// What HAProxy took it for.
    pub loaded: LoadedAs,
    /// For people: `has other entries`.
    pub what: String,
}

/// What HAProxy has made of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum LoadedAs {
    /// Entries of a map.
    Map,
    /// Patterns of an ACL.
    Acl,
    /// A certificate with its key.
    Certificate,
}

/// One server as HAProxy shows it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RunningServer {
    /// Its backend.
    pub backend: String,
    /// Its name.
    pub server: String,
    /// Where it is; `None` for what is not an IP address.
    pub address: Option<IpAddr>,
    /// Its port.
    pub port: u16,
    /// Its weight as it was set.
    pub weight: u32,
    /// Its administrative state.
    pub state: ServerState,
}

/// The running bundle's files, for a controller that does not know them. Those of the stored one, when the agent does not
/// know them either: the digest tells.
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
    /// What the order was made against: what HAProxy runs, or for [`Method::Store`] what is on disk. Anything else there is
    /// a [`Outcome::Conflict`].
    pub base: Option<Digest>,
    /// The bundle's digest afterwards, over its files' paths and digests.
    pub target: Digest,
    /// haproxy.cfg's path among the files.
    pub config: String,
    /// The bundle that `files` is the difference from, which runs or is on disk; `None`: all files of the target are listed.
    pub since: Option<Digest>,
    /// Digests of the target's files; `None`: no longer one of them.
    pub files: BTreeMap<String, Option<Digest>>,
    /// Content of those files that the pod does not have.
    pub contents: BTreeMap<String, Content>,
    /// What is done with it.
    pub method: Method,
}

/// What is done with a bundle.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "by", rename_all = "camelCase")]
pub enum Method {
    /// The running process follows it by operations.
    Runtime {
        /// In order.
        operations: Vec<Operation>,
        /// Whether the files are stored afterwards: only those of a bundle that passed every check are.
        store: bool,
    },
    /// The files, so that a later reload or restart brings this bundle. The running process stays as it is. Only for a
    /// bundle that passed every check.
    Store,
    /// The files, then one reload. Only for a bundle that passed every check.
    Reload {
        /// Why, in words of a person: `global section: maxconn changed`.
        reason: String,
    },
}

/// What became of an [`Apply`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Outcome {
    /// HAProxy runs the target, read back and verified; or it is stored, when that was the order.
    Applied {
        /// Whether a reload happened.
        reloaded: bool,
        /// The worker that now runs.
        worker_pid: u32,
        /// What HAProxy said during the reload.
        log: String,
    },
    /// Something else than `base` is there: plan again from that.
    Conflict {
        /// What is.
        running: Option<Digest>,
    },
    /// A newer leader has spoken.
    Stale {
        /// The newest leadership seen.
        epoch: Epoch,
    },
    /// The pod does not have what the order refers to.
    Missing {
        /// The files whose contents it lacks; none when it does not know [`Apply::since`]: everything must be sent.
        paths: Vec<String>,
    },
    /// HAProxy refused; what ran before still runs.
    Refused {
        /// HAProxy's own words, or the failed check.
        message: String,
        /// True when only runtime operations failed: one reload may bring the target.
        reload_may_help: bool,
    },
    /// Something else than HAProxy's judgement stopped it: a disk, a socket that broke, a HAProxy that is gone. It tells nothing of
    /// the target.
    Failed {
        /// What.
        message: String,
    },
}
