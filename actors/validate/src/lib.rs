//! Proves a bundle valid: syntax against HAProxy's own keyword tables, then `haproxy -c` in a private folder.
//!
//! The structure of the output is proven while it is rendered; this crate never changes a bundle, and never runs
//! anything but HAProxy's checker.

pub mod actor;
pub mod binaries;
pub mod checker;
pub mod culprits;
mod data_plane_api;
pub mod folder;
pub mod listeners;
pub mod memory;
mod pace;
mod policy;
mod process;
mod rendered_name;
pub mod report;
pub mod sandbox;
mod search;
pub mod syntax;
pub mod verdict;

pub use actor::{ValidateActor, ValidateOptions};
pub use binaries::{Binaries, Binary};
pub use checker::{CheckLimits, Checker};
pub use memory::Budget;
pub use sandbox::Sandbox;
pub use verdict::Verdict;
