//! One file a subcommand: what it needs, then what it does. Beside them is what several of them need.

mod agent;
mod benchmark;
mod binaries;
mod bundle_folder;
pub mod check_in_sandbox;
mod cluster;
mod config;
mod debug_client;
mod dispatch;
pub mod end_with_parent;
mod explain;
mod init;
mod input;
mod library;
mod local;
mod migrate;
mod plan;
mod print;
mod record;
mod reference;
mod render;
mod replay;
mod run;
mod status;
mod validate;

pub use dispatch::dispatch;
