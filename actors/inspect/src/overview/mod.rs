//! A controller and its fleet at a glance: what `/debug/overview` answers, what the page there and `haptic status` show.
//!
//! Plain data. [`live`] makes it of what the controller publishes, [`published`] of what the leader publishes in the cluster, [`text`] formats it.
//! What cannot be known is absent, and never a guess.

mod activity;
pub mod live;
mod problems;
pub mod published;
pub mod text;

use haptic_model::PublishedInstead;
use serde::{Deserialize, Serialize};
use std::{
    collections::BTreeMap,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

/// Everything at one moment.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Overview {
    /// When, in milliseconds since 1970.
    pub taken_unix_ms: u64,
    /// What it rests on.
    pub rests_on: RestsOn,
    /// Who says so.
    pub replica: Replica,
    /// The configuration.
    pub config: Config,
    /// What was rendered last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rendered: Option<GenerationStage>,
    /// What passed all checks last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub checked: Option<GenerationStage>,
    /// Since when, in milliseconds since 1970.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub checked_since_unix_ms: Option<u64>,
    /// Every HAProxy pod.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pods: Option<Vec<PodOverview>>,
    /// Every object that is held back.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quarantine: Option<Vec<QuarantinedObjects>>,
    /// How many findings there are at objects, by kind.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub findings: Option<BTreeMap<String, usize>>,
    /// Every store.
    pub stores: Vec<StoreOverview>,
    /// What is wrong, the worst first. Empty: all is well.
    pub problems: Vec<OverviewProblem>,
    /// The latest of what happened, oldest first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recent: Option<Vec<RecentEvent>>,
}

/// Where an overview comes from.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct RestsOn {
    /// Who says so.
    pub source: OverviewSource,
    /// In words, and how old it is.
    pub said: String,
    /// What cannot be known from there, and why.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unknown: Vec<String>,
}

/// Who says how everything is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OverviewSource {
    /// The controller itself, at `/debug`.
    #[default]
    Debug,
    /// The API server: what the leader publishes there.
    Published,
}

/// One controller process.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Replica {
    /// Its version.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// Whether it leads.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub leads: Option<bool>,
    /// What is known of who leads.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub leader: Option<String>,
}

/// The configuration.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Config {
    /// `namespace/name`, when one is in force.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// `waiting`, `valid`, `invalid` or `deleted`: of the newest one.
    pub state: String,
    /// Why it is not in force.
    pub why: Vec<String>,
    /// Whether anything of it has passed all checks, where that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub passed: Option<bool>,
    /// `metadata.generation` of the one in force.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resource_generation: Option<i64>,
}

/// A generation at a stage.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct GenerationStage {
    /// Its number.
    pub generation: u64,
    /// The bundle's digest.
    pub digest: String,
    /// Files in the bundle.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub files: Option<usize>,
    /// Their bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes: Option<usize>,
    /// How long the stage took.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub took_ms: Option<u64>,
}

/// How a pod stands to what it should run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PodStanding {
    /// It has not answered yet; or it ran something else when it was asked, by a replica that does not lead.
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
pub struct PodOverview {
    /// `namespace/name`.
    pub pod: String,
    /// Where its agent or Data Plane API listens.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub address: Option<String>,
    /// HAProxy's version.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub haproxy: Option<String>,
    /// How it stands.
    pub standing: PodStanding,
    /// What its deployment is doing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub activity: Option<String>,
    /// The newest generation it acknowledged.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deployed: Option<u64>,
    /// The digest of what it runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub running: Option<String>,
    /// From the first change seen to the acknowledgement of that generation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lag_ms: Option<u64>,
    /// What was done to it last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_plan: Option<PlanOverview>,
    /// When its HAProxy or its agent was last seen to have begun anew, in milliseconds since 1970.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub began_anew_unix_ms: Option<u64>,
    /// Why the last attempt failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_error: Option<String>,
}

/// What one order did to a pod.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PlanOverview {
    /// Where it brought the pod.
    pub generation: u64,
    /// Why HAProxy was reloaded; absent: it was not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reload: Option<String>,
    /// How many operations of each kind were done at run time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub operations: Option<BTreeMap<String, usize>>,
    /// Paths of files written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub written: Option<Vec<String>>,
    /// Paths of files deleted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deleted: Option<Vec<String>>,
    /// How long it took.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub took_ms: Option<u64>,
    /// When, in milliseconds since 1970.
    pub unix_ms: u64,
}

/// An object that is held back.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct QuarantinedObjects {
    /// Which.
    pub object: String,
    /// What is wrong with it.
    pub why: String,
    /// `last good version`, `defaults` or `left out`.
    pub in_force: PublishedInstead,
    /// Whether nothing is proven yet.
    pub suspected: bool,
    /// Since which generation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<u64>,
}

/// One store of watched objects.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct StoreOverview {
    /// The watched resource's name.
    pub name: String,
    /// What the API server calls them: the name is the configuration's own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resources: Option<String>,
    /// How many objects.
    pub objects: usize,
    /// Whether that is only about right.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub about: bool,
    /// Their bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes: Option<usize>,
    /// Whether the initial list was read to its end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub synced: Option<bool>,
    /// Why it cannot be read at the moment.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trouble: Option<String>,
    /// What it does not hold because of its limits, in sentences.
    pub left_out: Vec<String>,
}

/// How bad it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ProblemSeverity {
    /// Something is not as it should be until somebody acts.
    #[default]
    Error,
    /// Worth a look; everything is served.
    Warning,
}

/// One thing that is wrong.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct OverviewProblem {
    /// How bad it is.
    pub severity: ProblemSeverity,
    /// A short title: `pod behind`.
    pub what: String,
    /// Whom it concerns: an object, a pod, a resource, an actor.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub object: Option<String>,
    /// The cause, and where it is known what to do.
    pub why: String,
}

/// One line of what happened.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct RecentEvent {
    /// When, in milliseconds since 1970.
    pub unix_ms: u64,
    /// Its importance.
    pub level: String,
    /// The event's name.
    pub kind: String,
    /// The generation it belongs to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub generation: Option<u64>,
    /// The object it concerns.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub object: Option<String>,
    /// The sentence.
    pub text: String,
}

impl Overview {
    /// Whether everything is in force everywhere, and nothing is refused.
    #[must_use]
    pub fn is_well(&self) -> bool {
        self.problems.iter().all(|problem| problem.severity != ProblemSeverity::Error)
    }

    /// The pods that are known.
    #[must_use]
    pub fn pods(&self) -> &[PodOverview] {
        self.pods.as_deref().unwrap_or_default()
    }

    /// The objects that are known to be held back.
    #[must_use]
    pub fn quarantine(&self) -> &[QuarantinedObjects] {
        self.quarantine.as_deref().unwrap_or_default()
    }

    /// How many pods run what they should.
    #[must_use]
    pub fn converged(&self) -> usize {
        self.pods().iter().filter(|pod| pod.standing == PodStanding::Converged).count()
    }
}

/// Milliseconds since 1970.
fn since_1970(time: SystemTime) -> u64 {
    millis(time.duration_since(UNIX_EPOCH).unwrap_or_default())
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
