//! The binary `haptic` as a library: command line, wiring, HTTP servers.
//!
//! `wiring` is the picture of the pipeline: which actor reads which cell and tells whom. Everything that decides
//! something lives in the stage crates, in `inspect` or in `webhook`.

mod cli;
pub mod command;
mod http;
mod logging;
pub mod output;
mod process;
mod transports;
mod wiring;
