//! Configuration: from the API server or a file, to the one that is in force.
//!
//! A configuration is read, normalised, asked about by all validators at once, and only then replaces the one
//! before it. An invalid or deleted one never takes anything away. This crate decides; it renders nothing.

pub mod actor;
pub mod candidate;
pub mod credentials;
pub mod document;
mod file_forms;
pub mod intake;
pub mod library;
mod named_tests;
pub mod overlay;
pub mod places;
pub mod schema;
pub mod source;
pub mod validators;

pub use actor::ConfigActor;
pub use candidate::Candidate;
pub use document::{crd, crd_yaml, crds, load_file, parse};
pub use intake::{ConfigState, Observation, ObservedConfig};
pub use overlay::Overlay;
pub use validators::{Validator, scatter_gather};
