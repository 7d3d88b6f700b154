//! A controller and its fleet at a glance: what `/debug/overview` answers, what the page there and `haptic status` show.
//!
//! Plain data. [`look`] makes it of the board, [`published`] of what the leader publishes in the cluster, [`told`] makes it text.

pub mod look;
pub mod problems;
pub mod told;

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Everything at one moment.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Overview {
    /// When, in milliseconds since 1970.
    pub taken_unix_ms: u64,
    /// Who says so.
    pub replica: Replica,
    /// The configuration.
    pub config: Config,
    /// What was rendered last.
    pub rendered: Option<Stage>,
    /// What passed all checks last.
    pub checked: Option<Stage>,
    /// Every HAProxy pod.
    pub pods: Vec<Pod>,
    /// Every object that is held back.
    pub quarantine: Vec<HeldBack>,
    /// Every store.
    pub stores: Vec<Store>,
    /// What is wrong, the worst first. Empty: all is well.
    pub problems: Vec<Problem>,
    /// The latest of what happened, oldest first.
    pub recent: Vec<Told>,
}

/// One controller process.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Replica {
    /// Its version.
    pub version: String,
    /// Whether it leads.
    pub leads: bool,
    /// What it knows of who leads.
    pub leader: Option<String>,
}

/// The configuration.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Config {
    /// `namespace/name`, when one is in force.
    pub name: Option<String>,
    /// `waiting`, `valid`, `invalid` or `deleted`: of the newest one.
    pub state: String,
    /// Why it is not in force.
    pub why: Vec<String>,
    /// `metadata.generation` of the one in force.
    pub resource_generation: Option<i64>,
}

/// A generation at a stage.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Stage {
    /// Its number.
    pub generation: u64,
    /// The bundle's digest.
    pub digest: String,
    /// Files in the bundle.
    pub files: usize,
    /// Their bytes.
    pub bytes: usize,
    /// How long the stage took.
    pub took_ms: u64,
}

/// How a pod stands to what it should run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Standing {
    /// It has not answered yet.
    #[default]
    Unknown,
    /// It runs what it should.
    Converged,
    /// It is being brought there.
    Behind,
    /// The last attempt failed; it is tried again.
    Failing,
}

/// One HAProxy pod.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Pod {
    /// `namespace/name`.
    pub pod: String,
    /// Where its agent or Data Plane API listens.
    pub address: String,
    /// HAProxy's version.
    pub haproxy: Option<String>,
    /// How it stands.
    pub standing: Standing,
    /// What its deployment is doing.
    pub activity: Option<String>,
    /// The newest generation it acknowledged.
    pub deployed: Option<u64>,
    /// The digest of what it runs.
    pub running: Option<String>,
    /// From the first change seen to the acknowledgement of that generation.
    pub lag_ms: Option<u64>,
    /// What was done to it last.
    pub last_plan: Option<Plan>,
    /// When its HAProxy or its agent was last seen to have begun anew, in milliseconds since 1970.
    pub began_anew_unix_ms: Option<u64>,
    /// Why the last attempt failed.
    pub last_error: Option<String>,
}

/// What one order did to a pod.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Plan {
    /// Where it brought the pod.
    pub generation: u64,
    /// Why HAProxy was reloaded; `null`: it was not.
    pub reload: Option<String>,
    /// How many operations of each kind were done at run time.
    pub operations: BTreeMap<String, usize>,
    /// Paths of files written.
    pub written: Vec<String>,
    /// Paths of files deleted.
    pub deleted: Vec<String>,
    /// How long it took.
    pub took_ms: u64,
    /// When, in milliseconds since 1970.
    pub unix_ms: u64,
}

/// An object that is held back.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct HeldBack {
    /// Which.
    pub object: String,
    /// What is wrong with it.
    pub why: String,
    /// `last good version` or `left out`.
    pub in_force: String,
    /// Whether nothing is proven yet.
    pub suspected: bool,
    /// Since which generation.
    pub since: u64,
}

/// One store of watched objects.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Store {
    /// The watched resource's name.
    pub name: String,
    /// How many objects.
    pub objects: usize,
    /// Their bytes.
    pub bytes: usize,
    /// Whether the initial list was read to its end.
    pub synced: bool,
    /// Why it cannot be read at the moment.
    pub trouble: Option<String>,
}

/// How bad it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Something is not as it should be until somebody acts.
    #[default]
    Error,
    /// Worth a look; everything is served.
    Warning,
}

/// One thing that is wrong.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Problem {
    /// How bad it is.
    pub severity: Severity,
    /// A short title: `pod behind`.
    pub what: String,
    /// Whom it concerns: an object, a pod, a resource, an actor.
    pub object: Option<String>,
    /// The cause, and where it is known what to do.
    pub why: String,
}

/// One line of what happened.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Told {
    /// When, in milliseconds since 1970.
    pub unix_ms: u64,
    /// Its importance.
    pub level: String,
    /// The event's name.
    pub kind: String,
    /// The generation it belongs to.
    pub generation: Option<u64>,
    /// The object it concerns.
    pub object: Option<String>,
    /// The sentence.
    pub text: String,
}

impl Overview {
    /// Whether everything is in force everywhere, and nothing is refused.
    #[must_use]
    pub fn is_well(&self) -> bool {
        self.problems.iter().all(|problem| problem.severity != Severity::Error)
    }

    /// How many pods run what they should.
    #[must_use]
    pub fn converged(&self) -> usize {
        self.pods.iter().filter(|pod| pod.standing == Standing::Converged).count()
    }
}
