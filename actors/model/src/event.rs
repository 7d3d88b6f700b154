//! What happens, told by every stage to whoever observes: commentary, metrics, event history, status.
//!
//! Events carry conclusions, never state: an observer that misses one loses a line, nothing else.

use crate::{
    diagnostic::Diagnostic,
    figure::{CachingStage, TimedPart, WaitingStage},
    finding::FindingsChange,
    generation::Generation,
    limits::{Limit, LimitReached},
    mass_deletion::MassDeletion,
    pipeline::Cause,
    quarantine::{Quarantined, Released},
};
use haptic_text::{Digest, ObjectRef};
use std::{collections::BTreeMap, fmt, sync::Arc, time::Duration};

/// The validators of a configuration that were asked at once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Asked {
    /// Who answered.
    pub answered: Vec<&'static str>,
    /// Who did not, which is the controller's own trouble.
    pub silent: Vec<&'static str>,
    /// How long all of them took.
    pub took: Duration,
}

/// What a configuration is called in events.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConfigName {
    /// Its own name: `namespace/name`.
    Own(Arc<str>),
    /// Where it is looked for, in words: `configuration file a.yaml`.
    Source(Arc<str>),
}

/// One happening.
#[derive(Clone, Debug)]
pub enum Event {
    /// A configuration is in force.
    ConfigAccepted {
        /// Which.
        name: ConfigName,
        /// Its number in this process.
        revision: u64,
        /// Who was asked.
        asked: Asked,
    },
    /// A configuration was refused; the one before stays in force.
    ConfigRejected {
        /// Which.
        name: ConfigName,
        /// Everything that is wrong with it.
        diagnostics: Vec<Diagnostic>,
        /// Who was asked; nobody when it could not be read.
        asked: Asked,
    },
    /// The configuration in force was deleted; it stays in force.
    ConfigDeleted {
        /// Which.
        name: ConfigName,
    },
    /// The credentials changed.
    CredentialsChanged,
    /// The Secret of the credentials is not there, lacks a key or may not be read, or is whole again.
    CredentialsTroubled {
        /// Of which configuration.
        name: ConfigName,
        /// What is wrong with it; `None` when it is over.
        why: Option<Diagnostic>,
    },
    /// A store has read its initial list to the end.
    StoreSynced {
        /// The watched resource's name.
        resource: Arc<str>,
        /// Objects in it.
        objects: usize,
    },
    /// A store's size, after it changed.
    StoreSize {
        /// The watched resource's name.
        resource: Arc<str>,
        /// Objects in it.
        objects: usize,
    },
    /// A watch failed and is tried again.
    WatchFailed {
        /// The watched resource's name.
        resource: Arc<str>,
        /// What the API server said, and what to do.
        message: String,
    },
    /// Most objects of a watched resource vanished at once, and are held.
    MassDeletionHeld {
        /// Which, how many, for how long.
        missing: MassDeletion,
    },
    /// They are not held any more.
    MassDeletionEnded {
        /// The watched resource's name.
        resource: Arc<str>,
        /// How many are gone now; 0: they are there again, or were deleted one by one.
        let_go: usize,
    },
    /// An object, or objects of a namespace, are left out because they are too large or too many.
    LimitReached {
        /// Which, and by which limit.
        reached: LimitReached,
    },
    /// How many objects of a watched resource are beyond each limit now: a figure, nothing that is told.
    LeftOut {
        /// The watched resource's name.
        resource: Arc<str>,
        /// How many, by limit.
        counts: [(Limit, usize); Limit::OF_STORES.len()],
    },
    /// An object could not be read and is left out.
    ObjectMalformed {
        /// Which.
        object: Arc<ObjectRef>,
        /// Why.
        message: String,
    },
    /// An object that could not be read can be, or is gone.
    ObjectMended {
        /// Which.
        object: Arc<ObjectRef>,
    },
    /// A file of the resources directory, or one of its objects, was left out; what it gave before stays.
    ManifestRefused {
        /// The file.
        file: Arc<str>,
        /// Where in it, why, and what to do.
        message: String,
    },
    /// All of a file that was refused can be read again, or the file is gone.
    ManifestMended {
        /// The file.
        file: Arc<str>,
    },
    /// A file holds what nobody asks for.
    ManifestIgnored {
        /// The file.
        file: Arc<str>,
        /// What.
        message: String,
    },
    /// A reconcile begins.
    ReconcileStarted {
        /// Its number.
        generation: Generation,
        /// Why.
        cause: Cause,
        /// For how long its first change has waited.
        waited: Duration,
    },
    /// A render is done.
    Rendered {
        /// Its number.
        generation: Generation,
        /// Bytes of all files.
        bytes: usize,
        /// Files.
        files: usize,
        /// Of the bundle.
        digest: Digest,
        /// How long it took.
        took: Duration,
        /// Blocks of objects that were kept from the render before.
        kept: usize,
        /// Blocks of objects that were printed.
        printed: usize,
        /// Blocks of objects that had to be printed anew whatever had changed, by template.
        uncacheable: BTreeMap<Arc<str>, usize>,
    },
    /// A render that kept what did not change was not what a full render gives, which was used. A bug.
    RenderDiffered {
        /// Its number.
        generation: Generation,
        /// Where.
        diagnostic: Diagnostic,
    },
    /// A render failed; the last good bundle stays.
    RenderFailed {
        /// Its number.
        generation: Generation,
        /// `metadata.generation` of the configuration it is made from.
        configuration: i64,
        /// Why.
        diagnostics: Vec<Diagnostic>,
    },
    /// What is held back, so that it does not stop the others, is not what it was.
    QuarantineChanged {
        /// With which generation.
        generation: Generation,
        /// What is held back now and was not before, or for another reason.
        entered: Vec<Arc<Quarantined>>,
        /// What was and is not any more.
        left: Vec<Released>,
        /// How many are held back now.
        held: usize,
    },
    /// A bundle passed.
    Validated {
        /// Its number.
        generation: Generation,
        /// `metadata.generation` of the configuration it was made from.
        configuration: i64,
        /// How long the checks took.
        took: Duration,
        /// Whether the answer was known already.
        cached: bool,
    },
    /// A bundle was refused; the last good one stays.
    ValidationFailed {
        /// Its number.
        generation: Generation,
        /// `metadata.generation` of the configuration it is made from.
        configuration: i64,
        /// Why.
        diagnostics: Vec<Diagnostic>,
        /// How long the checks took.
        took: Duration,
    },
    /// A stage gave a warning that holds nothing back.
    Warned {
        /// Its number.
        generation: Generation,
        /// What.
        diagnostic: Diagnostic,
    },
    /// Something is found at objects that was not, or is not any more; it holds nothing back.
    FindingsChanged {
        /// Its number.
        generation: Generation,
        /// What.
        change: FindingsChange,
    },
    /// A HAProxy pod was found.
    PodDiscovered {
        /// `namespace/name`.
        pod: Arc<str>,
    },
    /// A HAProxy pod is gone.
    PodGone {
        /// `namespace/name`.
        pod: Arc<str>,
    },
    /// A pod runs a generation.
    Deployed {
        /// Its number.
        generation: Generation,
        /// `namespace/name`.
        pod: Arc<str>,
        /// Why a reload was needed; `None`: runtime only, or nothing to do.
        reload: Option<String>,
        /// The kind of that reason, one of a few.
        reload_kind: Option<&'static str>,
        /// Runtime operations sent.
        operations: usize,
        /// Files written.
        files: usize,
        /// From the first call to the acknowledgement.
        took: Duration,
        /// From the first change seen to the acknowledgement; `None`: that says nothing of how fast the pod follows, for it
        /// had it already, or came after the change.
        lag: Option<Duration>,
    },
    /// A pod could not be brought to a generation; it is tried again.
    DeployFailed {
        /// Its number.
        generation: Generation,
        /// `namespace/name`.
        pod: Arc<str>,
        /// Why, in HAProxy's words where they are known.
        message: String,
        /// When it is tried again.
        retry_in: Duration,
    },
    /// A generation that was live already was refused by its check: the pod goes back to a checked one.
    TakenBack {
        /// The refused one's number.
        generation: Generation,
        /// `namespace/name`.
        pod: Arc<str>,
        /// The checked one's number.
        to: Generation,
        /// What is wrong with the refused one, with its template line and object.
        why: String,
    },
    /// What HAProxy printed while it was reloaded.
    HaproxySaid {
        /// The number of what it was reloaded with.
        generation: Generation,
        /// `namespace/name`.
        pod: Arc<str>,
        /// Its words.
        text: String,
    },
    /// A pod does not run what it was brought to: somebody else changed it.
    DriftFound {
        /// `namespace/name`.
        pod: Arc<str>,
        /// What differs.
        what: String,
    },
    /// An actor failed and runs again.
    ActorRestarted {
        /// Its name.
        actor: Arc<str>,
        /// The panic.
        reason: String,
        /// How often so far.
        restarts: u32,
    },
    /// This process began or ceased to lead.
    LeadershipChanged {
        /// Whether it leads now.
        leads: bool,
        /// Why, where it is not an election that was won or given up.
        why: Option<&'static str>,
    },
    /// The Lease cannot be read or written, or can be again. Who leads goes on leading until its time is over.
    ElectionTroubled {
        /// The Lease's name.
        lease: Arc<str>,
        /// What the API server said; `None` when it is over.
        why: Option<String>,
    },
    /// Nothing can be rendered before this is there.
    Awaited {
        /// `waiting for …`, or what is wrong with it.
        what: String,
        /// Whether something is wrong, and it is not only yet to come.
        is_wrong: bool,
    },
    /// The admission webhook did not let a change pass unseen: it was refused, or could not be judged.
    Reviewed {
        /// The watched resource's name, or that of the configuration's kind.
        resource: Arc<str>,
        /// `namespace/name`.
        object: String,
        /// Whether it was refused; otherwise the configuration's failure policy decided.
        refused: bool,
        /// What is wrong with it, or why it could not be judged.
        why: String,
        /// Whether the API server was only asked what would happen.
        dry_run: bool,
        /// How long it took.
        took: Duration,
    },
    /// An observer had no room for so many events. Told to it alone, by its own mouth.
    EventsLost {
        /// How many since it was told last.
        events: u64,
    },
    /// What a part of a stage took: a figure, nothing that is told.
    Timed {
        /// Which part.
        part: TimedPart,
        /// Its number.
        generation: Generation,
        /// `namespace/name`, where it is work on one pod.
        pod: Option<Arc<str>>,
        /// How long.
        took: Duration,
    },
    /// How a pod is to be brought to a generation: a figure, nothing that is told.
    Planned {
        /// Its number.
        generation: Generation,
        /// `namespace/name`.
        pod: Arc<str>,
        /// `nothing`, `runtime` or `reload`.
        kind: &'static str,
        /// Runtime operations.
        operations: usize,
        /// How long planning took.
        took: Duration,
    },
    /// For how long work waited until a stage began with it: a figure, nothing that is told.
    Waited {
        /// Which stage.
        stage: WaitingStage,
        /// How long.
        took: Duration,
    },
    /// What a stage keeps in memory so that it looks only at what changed: a figure, nothing that is told.
    Kept {
        /// Which one.
        by: CachingStage,
        /// How much.
        bytes: usize,
    },
}

impl fmt::Display for ConfigName {
    /// A name follows its kind; words say it already.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Own(name) => write!(f, "configuration {name}"),
            Self::Source(words) => f.write_str(words),
        }
    }
}

impl Event {
    /// The event's name, for counting and filtering.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::ConfigAccepted { .. } => "ConfigAccepted",
            Self::ConfigRejected { .. } => "ConfigRejected",
            Self::ConfigDeleted { .. } => "ConfigDeleted",
            Self::CredentialsChanged => "CredentialsChanged",
            Self::CredentialsTroubled { .. } => "CredentialsTroubled",
            Self::StoreSynced { .. } => "StoreSynced",
            Self::StoreSize { .. } => "StoreSize",
            Self::WatchFailed { .. } => "WatchFailed",
            Self::MassDeletionHeld { .. } => "MassDeletionHeld",
            Self::MassDeletionEnded { .. } => "MassDeletionEnded",
            Self::LimitReached { .. } => "LimitReached",
            Self::LeftOut { .. } => "LeftOut",
            Self::ObjectMalformed { .. } => "ObjectMalformed",
            Self::ObjectMended { .. } => "ObjectMended",
            Self::ManifestRefused { .. } => "ManifestRefused",
            Self::ManifestMended { .. } => "ManifestMended",
            Self::ManifestIgnored { .. } => "ManifestIgnored",
            Self::ReconcileStarted { .. } => "ReconcileStarted",
            Self::Rendered { .. } => "Rendered",
            Self::RenderDiffered { .. } => "RenderDiffered",
            Self::RenderFailed { .. } => "RenderFailed",
            Self::QuarantineChanged { .. } => "QuarantineChanged",
            Self::Validated { .. } => "Validated",
            Self::ValidationFailed { .. } => "ValidationFailed",
            Self::Warned { .. } => "Warned",
            Self::FindingsChanged { .. } => "FindingsChanged",
            Self::PodDiscovered { .. } => "PodDiscovered",
            Self::PodGone { .. } => "PodGone",
            Self::Deployed { .. } => "Deployed",
            Self::DeployFailed { .. } => "DeployFailed",
            Self::TakenBack { .. } => "TakenBack",
            Self::HaproxySaid { .. } => "HaproxySaid",
            Self::DriftFound { .. } => "DriftFound",
            Self::ActorRestarted { .. } => "ActorRestarted",
            Self::LeadershipChanged { .. } => "LeadershipChanged",
            Self::ElectionTroubled { .. } => "ElectionTroubled",
            Self::Awaited { .. } => "Awaited",
            Self::Reviewed { .. } => "Reviewed",
            Self::EventsLost { .. } => "EventsLost",
            Self::Timed { .. } => "Timed",
            Self::Planned { .. } => "Planned",
            Self::Waited { .. } => "Waited",
            Self::Kept { .. } => "Kept",
        }
    }

    /// Whether it is for metrics alone: no line, no history.
    #[must_use]
    pub fn is_figure(&self) -> bool {
        matches!(
            self,
            Self::Timed { .. }
                | Self::Planned { .. }
                | Self::Waited { .. }
                | Self::Kept { .. }
                | Self::LeftOut { .. }
        )
    }

    /// The generation it belongs to, if any.
    #[must_use]
    pub fn generation(&self) -> Option<Generation> {
        match self {
            Self::ReconcileStarted { generation, .. }
            | Self::Rendered { generation, .. }
            | Self::RenderDiffered { generation, .. }
            | Self::RenderFailed { generation, .. }
            | Self::QuarantineChanged { generation, .. }
            | Self::Validated { generation, .. }
            | Self::ValidationFailed { generation, .. }
            | Self::Warned { generation, .. }
            | Self::FindingsChanged { generation, .. }
            | Self::Deployed { generation, .. }
            | Self::TakenBack { generation, .. }
            | Self::HaproxySaid { generation, .. }
            | Self::Timed { generation, .. }
            | Self::Planned { generation, .. }
            | Self::DeployFailed { generation, .. } => Some(*generation),
            _ => None,
        }
    }
}
