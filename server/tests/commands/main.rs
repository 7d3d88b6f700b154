//! The program as users call it: exit codes and what is printed.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, reason = "tests")]

mod bad_input;
mod config_view;
mod environment;
mod explain;
mod first_steps;
mod libraries;
mod local;
mod memory;
mod migrate;
mod migrate_compare;
mod migrate_convert;
mod place;
mod plan;
mod reference;
mod render;
mod replay;
mod signals;
mod validate;
