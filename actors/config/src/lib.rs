//! Configuration: from the API server or a file, to the one that is in force.
//!
//! A configuration is read, normalised, asked about by all validators at once, and only then replaces the one
//! before it. An invalid or deleted one never takes anything away. This crate decides; it renders nothing.

pub mod actor;
pub mod candidate;
mod config_map;
pub mod credentials;
pub mod document;
mod file_forms;
pub mod intake;
pub mod library;
mod named_tests;
pub mod overlay;
pub mod positions;
mod replaced_fields;
pub mod schema;
pub mod source;
pub mod validators;

pub use actor::{ConfigActor, activation::ActivationActor};
pub use candidate::ConfigCandidate;
pub use document::{crd, crd_yaml, crds, load_file, parse};
pub use intake::{ConfigState, ObservedConfig, SourceState};
pub use overlay::FileOverlay;
pub use validators::{Validator, scatter_gather};
