//! The binary `haptic` as a library: command line, wiring, HTTP servers.
//!
//! [`wiring`] is the picture of the pipeline: which actor reads which cell and tells whom. Everything that decides
//! something lives in the stage crates.

pub mod binaries;
pub mod cli;
pub mod command;
pub mod http;
pub mod in_force;
pub mod leading;
pub mod logging;
pub mod manifests;
pub mod output;
pub mod process;
pub mod wiring;
