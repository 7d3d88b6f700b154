//! Proves a bundle valid: syntax against HAProxy's own keyword tables, then `haproxy -c` in a private folder.
//!
//! Runs a bundle for the requests of tests, too. The structure of the output is proven while it is rendered; this crate never
//! changes a bundle, and never runs anything but HAProxy, in its sandbox.

pub mod actor;
pub mod binaries;
mod cheap_passwords;
mod check_rest;
pub mod checker;
mod data_plane_api;
mod decision;
mod durations;
pub mod folder;
pub mod listeners;
pub mod memory;
mod policy;
mod process;
mod rendered_name;
pub mod report;
pub mod requests;
pub mod sandbox;
mod search;
pub mod syntax;
pub mod verdict;

pub use actor::{ValidateActor, ValidateOptions};
pub use binaries::{Binaries, Binary};
pub use checker::{CheckLimits, Checker};
pub use memory::Budget;
pub use sandbox::Sandbox;
pub use verdict::CheckVerdict;
