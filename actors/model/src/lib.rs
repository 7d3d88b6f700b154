//! The plain data every stage speaks: configuration, objects, rendered text, bundles, plans, events.
//!
//! Nothing here does I/O, knows an actor or waits for anything. Stages meet in these types and nowhere else.

pub mod agent_api;
pub mod bundle;
pub mod cause;
pub mod config;
pub mod crd;
pub mod default_certificate;
pub mod diagnostic;
pub mod event;
pub mod external_names;
pub mod figure;
mod file_identity;
pub mod finding;
pub mod fleet;
pub mod gateway;
pub mod generation;
pub mod host_holds;
pub mod host_name;
pub mod layout;
pub mod limits;
pub mod map_entry;
pub mod mass_deletion;
pub mod object;
pub mod object_json;
pub mod operation;
pub mod pipeline;
pub mod quarantine;
pub mod quotation;
pub mod selector;
pub mod shared;
pub mod store;
pub mod version;
pub mod yaml;

pub use agent_api::Epoch;
pub use bundle::{Bundle, BundleFile, FileKey, FileKind};
pub use config::ActiveConfig;
pub use crd::{HAProxyTemplateConfig, HAProxyTemplateConfigSpec};
pub use diagnostic::{Diagnostic, Severity};
pub use event::Event;
pub use file_identity::FileIdentity;
pub use finding::{Finding, FindingKind, FindingPlace, Findings, FindingsChange, ObjectFinding};
pub use fleet::{Capabilities, Fleet, HaproxyPod, ReadyPod, TransportKind};
pub use generation::Generation;
pub use haptic_text::ObjectRef;
pub use host_holds::{HostHold, HostHolds};
pub use layout::Layout;
pub use limits::{AllRejected, Limit, LimitReached, Oversized, RejectedObjects, StoreLimits};
pub use mass_deletion::{MassDeletion, MassDeletions, Remarks};
pub use object::Object;
pub use object_json::ObjectJson;
pub use operation::Operation;
pub use quarantine::{
    FailedReloads, FailureReport, FailureReports, Instead, PreviousFailures, PublishedInstead, Quarantine,
    Quarantined, Released,
};
pub use shared::SharedValues;
pub use store::{Snapshot, Snapshots};
pub use version::HaproxyVersion;
