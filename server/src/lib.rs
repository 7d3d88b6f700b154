//! The binary `haptic` as a library: command line, wiring, HTTP servers.
//!
//! [`wiring`] is the picture of the pipeline: which actor reads which cell and tells whom. Everything that decides
//! something lives in the stage crates.

pub mod asking;
pub mod binaries;
pub mod bundle_folder;
pub mod cli;
pub mod cluster;
pub mod command;
pub mod default_certificate;
pub mod explain;
pub mod external_names;
pub mod hardening;
pub mod http;
pub mod in_force;
pub mod leading;
pub mod logging;
pub mod objects;
pub mod output;
pub mod overview;
pub mod preview;
pub mod printable;
pub mod process;
pub mod protections;
pub mod recording;
pub mod render_once;
pub mod tests_of_config;
pub mod traces;
pub mod unused;
pub mod webhook;
pub mod wiring;
