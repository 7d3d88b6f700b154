//! What a recording is written in: one line of JSON for each thing that is known, in the order in which it is read again.
//!
//! First what it is a recording of; then each generation: what changed since the one before, what was held back, what was told,
//! and what a render makes of it; at last how many lines there are and their digest. Everything here is as it may be
//! shown: pseudonyms in place of what Secrets hold.

use haptic_model::{Fleet, Generation};
use haptic_text::{Digest, patch::Content};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::sync::Arc;

/// The format that is written, and the only one that is read.
pub const FORMAT: u32 = 1;

/// One line.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum RecordingLine {
    /// The first one.
    HapticRecording(RecordingHead),
    /// A generation begins.
    Generation(Opening),
    /// The configuration, where it is another one than before.
    Configuration(RecordedConfig),
    /// The pods, where they are others than before.
    Fleet(Fleet),
    /// A store that was not there before, or not of this kind.
    Store(RecordedStore),
    /// A store that is not there any more.
    NoStore(Arc<str>),
    /// An object that is new or has changed.
    Put(Put),
    /// One that is gone.
    Remove(Named),
    /// An object that this generation was rendered without.
    Held(RecordedQuarantine),
    /// What was told of this generation.
    Told(RecordedEvent),
    /// An object that the render asked for, of a store that keeps none.
    Fetched(Fetched),
    /// A file that is new or another one than in the generation that was rendered before.
    File(File),
    /// One that is gone.
    NoFile(Arc<str>),
    /// The generation ends: it was rendered.
    Rendered(RecordedRender),
    /// The generation ends: it could not be rendered.
    Failed(RecordedFailure),
    /// The last one.
    End(RecordingEnd),
}

/// Of what a recording is, and by whom.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RecordingHead {
    /// How it is written.
    pub format: u32,
    /// The version of haptic that rendered.
    pub haptic: String,
    /// The versions of HAProxy in the newest generation's fleet.
    pub haproxy: Vec<String>,
    /// `namespace/name` of the newest generation's configuration.
    pub configuration: String,
    /// When it was made, in milliseconds since 1970.
    pub made_unix_ms: u64,
    /// The first and the last generation in it.
    pub generations: (Generation, Generation),
}

/// A generation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Opening {
    /// Its number.
    pub number: Generation,
    /// When it was rendered, in milliseconds since 1970.
    pub unix_ms: u64,
    /// The digest of what was rendered then, from the real Secrets; none when it failed.
    pub digest: Option<Digest>,
}

/// A configuration, its libraries laid under it, without its tests.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RecordedConfig {
    /// Its namespace.
    pub namespace: Arc<str>,
    /// Its name.
    pub name: Arc<str>,
    /// `metadata.generation` of the resource; 0 for a file.
    pub resource_generation: i64,
    /// Its number in the process.
    pub revision: u64,
    /// All fields.
    pub spec: Value,
}

/// A store.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RecordedStore {
    /// Its name under `watchedResources`.
    pub name: Arc<str>,
    /// Whether it knows objects by reference only.
    pub on_demand: bool,
}

/// Names an object.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Named {
    /// Its store.
    pub store: Arc<str>,
    /// Empty for objects without one.
    #[serde(default, skip_serializing_if = "str::is_empty")]
    pub namespace: Arc<str>,
    /// Its name.
    pub name: Arc<str>,
}

/// An object in its store.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Put {
    /// Who it is.
    #[serde(flatten)]
    pub named: Named,
    /// What it is indexed by.
    pub key: Vec<Arc<str>>,
    /// All that the store keeps of it; none in a store on demand.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub object: Option<Value>,
}

/// An object that is not in force as it is in its store.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RecordedQuarantine {
    /// Who it is.
    #[serde(flatten)]
    pub named: Named,
    /// What is wrong with it.
    pub why: String,
    /// Its last good version, which was rendered in its place; none: it was left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instead: Option<Put>,
}

/// What was told of a generation: a line as `/debug/events` has it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RecordedEvent {
    /// The event's name.
    pub kind: String,
    /// Milliseconds since 1970.
    pub unix_ms: u64,
    /// The sentence.
    pub text: String,
}

/// An object as it was fetched; none: it was gone.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Fetched {
    /// Who it is.
    #[serde(flatten)]
    pub named: Named,
    /// All of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub object: Option<Value>,
    /// Why it could not be fetched.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

/// A rendered file.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct File {
    /// As haproxy.cfg names it.
    pub path: Arc<str>,
    /// Of its content.
    pub digest: Digest,
    /// All of it, or what differs from the one before.
    pub content: Content,
}

/// What came of a render.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RecordedRender {
    /// Of all files.
    pub digest: Digest,
    /// How many there are.
    pub files: usize,
    /// What `warn` said.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

/// Why there is no bundle.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RecordedFailure {
    /// Everything that is wrong.
    pub problems: Vec<String>,
}

/// What makes sure that all of a recording is there, as it was written.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RecordingEnd {
    /// How many lines there are before this one.
    pub lines: u64,
    /// Of all of them.
    pub digest: Digest,
}
